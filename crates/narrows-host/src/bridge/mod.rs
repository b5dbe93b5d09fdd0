//! Links with nodes of other machines, or of other network namespaces: over TCP, from one *bridge*
//! to another.
//!
//! A bridge stands for a node that is elsewhere: a node that hunts its name here links with the
//! stand-in over frames, and the bridge at the other end links with the node itself. Neither node
//! knows, and neither program changes. A link that breaks is one whose peer has died; a hunt makes
//! a new one.
//!
//! TCP leaves the machine, so both ends have [`Keys`], unless they are told to do without.
//!
//! ```
//! use std::time::Duration;
//!
//! use narrows_host::bridge::{self, Event};
//! use narrows_host::Options;
//!
//! // Two directories, as on two machines.
//! let (here, there) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! let offers = bridge::Options::new().directory(there.path()).listen("127.0.0.1:0".parse()?);
//! let offers = offers.offer("dsp").start(|event: &Event| println!("{event}"))?;
//! let address = offers.address().expect("it listens");
//! let reaches = bridge::Options::new().directory(here.path()).reach("dsp", address);
//! let _reaches = reaches.start(|event: &Event| println!("{event}"))?;
//!
//! let mut dsp = Options::new("dsp").directory(there.path()).node()?;
//! let mut gpp = Options::new("gpp").directory(here.path()).node()?;
//! let link = gpp.hunt(&"dsp".parse()?, Some(Duration::from_secs(5)))?;
//! # let _ = (link, &mut dsp);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ends;
mod event;
mod keys;
mod line;
mod link;
mod open;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use narrows::link::Name;

pub use event::{Event, Who, Why};
pub use keys::{KeyError, Keys, NoKey, PublicKey};

use crate::bells::Bell;
use crate::error::OpenError;
use crate::rendezvous::directory::{Directory, PATIENCE};
use ends::StandIn;

/// What hears what a bridge tells of.
type Tell = Box<dyn Fn(&Event) + Send + Sync>;

/// What a bridge is to be like.
#[derive(Clone, Debug, Default)]
pub struct Options {
    domain: Option<String>,
    directory: Option<PathBuf>,
    keys: Option<Keys>,
    listen: Option<SocketAddr>,
    offered: Vec<String>,
    reached: Vec<(String, SocketAddr)>,
}

/// Why a bridge did not start. Nothing is left behind.
#[derive(Debug)]
#[non_exhaustive]
pub enum BridgeError {
    /// A name is none, or the directory or a name in it cannot be had.
    Open(OpenError),
    /// The address cannot be listened at.
    Listen(SocketAddr, io::Error),
    /// It would do nothing: it reaches no node and offers none.
    Idle,
    /// It offers nodes and listens nowhere, or listens and offers none.
    Half,
    /// The system has no thread or descriptor for it.
    System(io::Error),
}

impl fmt::Display for BridgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BridgeError::Open(error) => error.fmt(f),
            BridgeError::Listen(address, error) => {
                write!(f, "cannot listen at {address}: {error}")
            }
            BridgeError::Idle => f.write_str("a bridge reaches nodes or offers some"),
            BridgeError::Half => {
                f.write_str("a bridge that offers nodes listens at an address, and the reverse")
            }
            BridgeError::System(error) => write!(f, "the bridge did not start: {error}"),
        }
    }
}

impl std::error::Error for BridgeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BridgeError::Open(error) => error.source(),
            BridgeError::Listen(_, error) | BridgeError::System(error) => Some(error),
            _ => None,
        }
    }
}

impl From<OpenError> for BridgeError {
    fn from(error: OpenError) -> BridgeError {
        BridgeError::Open(error)
    }
}

impl Options {
    /// A bridge of the domain `default` that does nothing yet.
    #[must_use]
    pub fn new() -> Options {
        Options::default()
    }

    /// The domain whose nodes it serves.
    #[must_use]
    pub fn domain(mut self, domain: impl Into<String>) -> Options {
        self.domain = Some(domain.into());
        self
    }

    /// The directory that the domain's is in, instead of what the environment says.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Options {
        self.directory = Some(directory.into());
        self
    }

    /// This end's key and those that it trusts. Without any, everybody who reaches the address is
    /// let in, and everybody on the way reads along.
    #[must_use]
    pub fn keys(mut self, keys: Keys) -> Options {
        self.keys = Some(keys);
        self
    }

    /// Where other bridges connect to.
    #[must_use]
    pub fn listen(mut self, address: SocketAddr) -> Options {
        self.listen = Some(address);
        self
    }

    /// A node of this machine that they may hunt.
    #[must_use]
    pub fn offer(mut self, name: impl Into<String>) -> Options {
        self.offered.push(name.into());
        self
    }

    /// A node of another machine, and the address of the bridge that offers it.
    #[must_use]
    pub fn reach(mut self, name: impl Into<String>, address: SocketAddr) -> Options {
        self.reached.push((name.into(), address));
        self
    }

    /// Starts the bridge, and has somebody told what happens: by its threads, so not for long.
    ///
    /// # Errors
    /// See [`BridgeError`].
    pub fn start(
        self,
        tell: impl Fn(&Event) + Send + Sync + 'static,
    ) -> Result<Bridge, BridgeError> {
        if self.offered.is_empty() && self.reached.is_empty() {
            return Err(BridgeError::Idle);
        }
        if self.offered.is_empty() != self.listen.is_none() {
            return Err(BridgeError::Half);
        }
        let parse = |text: &str| text.parse::<Name>().map_err(|_| OpenError::Name(text.into()));
        let domain = parse(self.domain.as_deref().unwrap_or("default"))?;
        let offered: Result<Vec<Name>, _> = self.offered.iter().map(|name| parse(name)).collect();
        let shared = Arc::new(Shared {
            stop: Bell::new().map_err(|e| BridgeError::System(e.into()))?,
            domain,
            directory: self.directory,
            keys: self.keys,
            offered: offered?,
            tell: Box::new(tell),
            strangers: AtomicUsize::new(0),
            threads: AtomicUsize::new(0),
            links: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
        });
        let bind = |address| {
            let bound = TcpListener::bind(address);
            let bound = bound.and_then(|bound| bound.set_nonblocking(true).map(|()| bound));
            bound.map_err(|error| BridgeError::Listen(address, error))
        };
        let listener = self.listen.map(bind).transpose()?;
        let address = listener.as_ref().and_then(|listener| listener.local_addr().ok());
        let mut stand_ins = Vec::new();
        for (name, address) in &self.reached {
            stand_ins.push(StandIn::new(&shared, parse(name)?, *address)?);
        }
        let served = Arc::clone(&shared);
        let thread = thread::Builder::new().name("narrows-bridge".into());
        let thread = thread.spawn(move || ends::serve(&served, listener, stand_ins));
        let thread = Some(thread.map_err(BridgeError::System)?);
        Ok(Bridge { shared, address, thread })
    }
}

/// What the threads of a bridge share.
struct Shared {
    /// Rung once, and never heard: all threads see it.
    stop: Bell,
    domain: Name,
    directory: Option<PathBuf>,
    keys: Option<Keys>,
    offered: Vec<Name>,
    tell: Tell,
    /// Connections that have not said which node they look for.
    strangers: AtomicUsize,
    /// Threads that carry or greet.
    threads: AtomicUsize,
    links: AtomicUsize,
    refused: AtomicU64,
}

impl Shared {
    fn directory(&self) -> Result<(Directory, crate::rendezvous::directory::Lock), OpenError> {
        Directory::open(self.directory.as_deref(), &self.domain, PATIENCE)
    }
}

/// A bridge, until it is dropped: then its links end.
pub struct Bridge {
    shared: Arc<Shared>,
    address: Option<SocketAddr>,
    thread: Option<JoinHandle<()>>,
}

impl Bridge {
    /// Where it listens, if it does.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Links that go over it now.
    #[must_use]
    pub fn links(&self) -> usize {
        self.shared.links.load(Ordering::Relaxed)
    }

    /// Connections that were turned away so far.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.shared.refused.load(Ordering::Relaxed)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.shared.stop.ring();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
