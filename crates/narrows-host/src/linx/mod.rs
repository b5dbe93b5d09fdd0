//! LINX on this host: endpoints that send each other signals, find each other by name, and hear of
//! each other's end, in one process or in many, without a daemon.
//!
//! An [`Endpoint`] belongs to a node, and a node is found by its name. [`open`] opens an endpoint
//! on a node of its own, of the same name, so that an endpoint that hunts that name finds it;
//! [`Node::open`] opens a node for several endpoints, which are hunted as `node/endpoint`. Links
//! between nodes come up when they are hunted through, over the rendezvous of this crate.
//!
//! ```
//! use narrows_host::linx::{Options, Select, Signal};
//! use std::time::Duration;
//!
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path();
//! const SOON: Option<Duration> = Some(Duration::from_secs(5));
//! const HUNT: u32 = 1;
//! const HELLO: u32 = 2;
//!
//! let client = Options::new("client").directory(dir).open()?;
//! // It may be hunted before it is there.
//! client.hunt("server", Signal::with(HUNT, &[]))?;
//! let other = std::thread::spawn({
//!     let options = Options::new("server").directory(dir);
//!     move || {
//!         let server = options.open().unwrap();
//!         let hello = server.receive(&Select::any(), SOON).unwrap();
//!         let from = hello.sender();
//!         // A signal that was received can be sent on.
//!         server.send(from, hello).unwrap();
//!         // Until the client is gone: what it had not received would go with this endpoint.
//!         server.attach(from, Signal::with(HUNT, &[])).unwrap();
//!         server.receive(&Select::any(), SOON)
//!     }
//! });
//! let found = client.receive(&Select::only(&[HUNT]), SOON).expect("it appears");
//! client.send(found.sender(), Signal::with(HELLO, b"hello")).map_err(|(why, _)| why)?;
//! let answer = client.receive(&Select::any(), SOON).expect("an answer in time");
//! assert_eq!((answer.number(), &answer.bytes()[4..]), (HELLO, &b"hello"[..]));
//! # drop(client);
//! # other.join().unwrap();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod around;
mod bare;
mod core;
mod driver;
mod endpoint;
mod incoming;
mod local;
mod lock;
mod node;
mod quick;
mod reach;
mod registry;
mod select;
mod shared;
mod siblings;
mod signal;
mod sync;
mod threads;
mod unit;
mod waits;
mod word;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use narrows::connection::Settings;
use narrows::endpoint::Limits as NodeLimits;
use narrows::linx::{Handler, Limits};
use narrows::platform::Platform;

pub use endpoint::{Endpoint, OUTBOX};
pub use narrows::linx::{HandlerError, Path, PathError, Spid};
pub use node::Node;
pub use registry::About;
pub use select::Select;
pub use signal::{LONGEST, NUMBER, Signal};

use self::core::Core;
use self::registry::Registry;
use self::shared::Shared;
use self::waits::Waits;
use crate::{Bell, Host, OpenError};

/// Links that a node has at most.
const LINKS: usize = 1024;
/// What a node's link handler has room for: each peer's node may have an endpoint that is known
/// here.
const LIMITS: Limits = Limits {
    endpoints: 4 * LINKS,
    links: LINKS,
    hunts: 512,
    attaches: 2048,
    roaming: true,
    common: None,
};

/// Where the layers of a node run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Stack {
    /// All of them in the thread that calls, over the flattened connection.
    #[default]
    Flat,
    /// The link handler, the connection's receiving side and the interrupt's work in a thread each,
    /// over the point-to-point connection.
    Layered,
}

/// Why something was not done.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The node could not be opened.
    Open(OpenError),
    /// Not a path of names.
    Path(PathError),
    /// The link handler refused.
    Handler(HandlerError),
    /// The tables or the threads of a node could not be made.
    Resources,
    /// The signal is shorter than its number or longer than [`LONGEST`].
    Length,
    /// The endpoint was closed meanwhile.
    Closed,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Open(why) => why.fmt(f),
            Error::Path(why) => why.fmt(f),
            Error::Handler(why) => why.fmt(f),
            Error::Resources => {
                f.write_str("there is not enough memory, or no room for threads, for a LINX node")
            }
            Error::Closed => f.write_str("the endpoint was closed by another thread"),
            Error::Length => write!(
                f,
                "a signal has at least the {NUMBER} bytes of its number and at most {LONGEST}"
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Open(why) => why.source(),
            Error::Path(why) => why.source(),
            Error::Handler(why) => why.source(),
            _ => None,
        }
    }
}

impl From<OpenError> for Error {
    fn from(why: OpenError) -> Error {
        Error::Open(why)
    }
}

impl From<PathError> for Error {
    fn from(why: PathError) -> Error {
        Error::Path(why)
    }
}

impl From<HandlerError> for Error {
    fn from(why: HandlerError) -> Error {
        Error::Handler(why)
    }
}

/// What a LINX node of this host is to be like.
#[derive(Clone, Debug)]
pub struct Options {
    name: String,
    domain: String,
    directory: Option<PathBuf>,
    stack: Stack,
    window: u16,
    heartbeat: Option<Duration>,
    mtu: usize,
    counter: Counter,
}

/// What a node does so that bursts leave the application its time.
#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    /// Messages of a link that wake a thread that sleeps, and how long fewer may wait.
    coalesce: Option<(u32, Duration)>,
    /// Frames that wait for the receiving thread before no more are taken.
    mask: Option<usize>,
}

impl Options {
    /// A node of this name in the domain `linx`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Options {
        Options {
            name: name.into(),
            domain: "linx".into(),
            directory: None,
            stack: Stack::Flat,
            window: 8192,
            heartbeat: None,
            mtu: driver::MTU,
            counter: Counter::default(),
        }
    }

    /// The domain: nodes meet those of the same one only.
    #[must_use]
    pub fn domain(mut self, domain: impl Into<String>) -> Options {
        self.domain = domain.into();
        self
    }

    /// The directory that the domain's is made in, instead of what the environment says.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Options {
        self.directory = Some(directory.into());
        self
    }

    /// Where the layers run.
    #[must_use]
    pub fn stack(mut self, stack: Stack) -> Options {
        self.stack = stack;
        self
    }

    /// Signals of a link that wait for this node's endpoints before the other side has to wait.
    #[must_use]
    pub fn window(mut self, signals: u16) -> Options {
        self.window = signals;
        self
    }

    /// Has links end whose other side is silent for three times this long, and says so often that
    /// this one lives. For nodes whose threads see to it: [`Stack::Layered`], or endpoints that
    /// always receive. Without it a peer is supervised by the system, which reports its death, not
    /// its silence.
    #[must_use]
    pub fn heartbeat(mut self, every: Duration) -> Options {
        self.heartbeat = Some(every);
        self
    }

    /// Bytes of the longest frame, header included, at least 64: longer signals travel in several.
    /// For [`Stack::Layered`]; flat cuts nothing up, so no longer signal is sent or received then.
    #[must_use]
    pub fn mtu(mut self, bytes: usize) -> Options {
        self.mtu = bytes.clamp(64, driver::MTU);
        self
    }

    /// Has a thread that sleeps woken by this many messages of a link, or after `within`. It does
    /// not look before it sleeps then.
    #[must_use]
    pub fn coalesce(mut self, messages: u32, within: Duration) -> Options {
        self.counter.coalesce = Some((messages.max(1), within));
        self
    }

    /// With [`Stack::Layered`]: has the interrupt's thread take no frames while this many wait for
    /// the receiving thread.
    #[must_use]
    pub fn mask(mut self, frames: usize) -> Options {
        self.counter.mask = Some(frames.max(1));
        self
    }

    /// Opens a node with an endpoint of the same name, which plain hunts for that name find.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn open(self) -> Result<Endpoint, Error> {
        let name = self.name.clone();
        self.node()?.open(Some(&name))
    }

    /// Opens a node without endpoints.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn node(self) -> Result<Node, Error> {
        let layout = driver::layout(Host::LINE).map_err(|_| Error::Resources)?;
        let no_name = |name: &String| OpenError::Name(name.clone());
        let name = registry::key(&self.name).ok_or_else(|| no_name(&self.name))?;
        let domain = self.domain.parse().map_err(|_| no_name(&self.domain))?;
        let mut options = crate::Options::new(name.as_str()).domain(self.domain).layout(layout);
        if let Some(directory) = &self.directory {
            options = options.directory(directory);
        }
        let flows = LINKS + 1;
        let limits = NodeLimits { links: LINKS, endpoints: 2, flows, inbox: 512, longest: 64 };
        let host = options.open()?;
        let mut node = crate::Node::new(host, limits).map_err(OpenError::Node)?;
        node.open(driver::FRAMES).map_err(|_| Error::Resources)?;
        let common = Some(registry::first_of_links()?);
        let limits = Limits { common, ..LIMITS };
        let handler = Handler::new(node.platform(), limits).map_err(|_| Error::Resources)?;
        let patience = self.heartbeat.map(|every| 3 * every);
        let settings = Settings {
            window: self.window,
            longest: LONGEST as u32,
            heartbeat: self.heartbeat,
            patience,
        };
        let bell = Bell::new().map_err(|_| Error::Resources)?;
        node.platform().listen(&bell).map_err(|_| Error::Resources)?;
        let waits = Waits::new(bell);
        let (settings, counter) = ((settings, self.mtu), self.counter);
        let registry = Registry::open(self.directory, domain, name)?;
        let core = Core::new(registry, node, handler, self.stack, settings, counter, waits);
        let shared = Arc::new(Shared::new(core));
        siblings::add(&shared);
        Node::new(shared, self.stack)
    }
}

/// Opens an endpoint on a node of its own, with everything else at its default.
///
/// # Errors
/// See [`Error`].
pub fn open(name: &str) -> Result<Endpoint, Error> {
    Options::new(name).open()
}
