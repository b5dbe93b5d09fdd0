//! How a node of this host is opened.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use narrows::endpoint::Limits;
use narrows::link::Name;
use narrows::memory::{Class, Layout, LayoutError};
use narrows::platform::Platform;
use narrows::strategy::Placement;
use rustix::event::epoll;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::Node;
use crate::bells::Bell;
use crate::bells::idle::Idle;
use crate::bells::sets::Sets;
use crate::carrier::Carrier;
use crate::engine::Engine;
use crate::error::OpenError;
use crate::host::Host;
use crate::memory::fork::Maker;
use crate::rendezvous::directory::{Directory, PATIENCE};
use crate::rendezvous::door::{Background, Door};
use crate::rendezvous::ticker::Ticker;
use crate::rendezvous::{Identity, Rendezvous};
use crate::status::Status;
use crate::trace::{Recorder, Tracer, payload_wanted};
use crate::{clock, memory, system};

/// The largest region of a peer's unless more is allowed, in bytes: where an application has all
/// new memory locked and filled, that is what a peer can have this node make at once.
const LARGEST: u32 = 64 << 20;

/// Bytes of the longest message of the standard layout.
const STANDARD: usize = memory::STANDARD as usize;
/// Bytes of blocks for messages in between, where the longest are longer.
const MIDDLE: u32 = 1 << 20;
/// How much of a region the longest blocks take, in bytes, where that is enough for the least
/// number of them.
const INTERNAL: u32 = 8 << 20;
const EXTERNAL: u32 = 24 << 20;

/// The layout for messages of `longest` bytes: the standard one, and behind it blocks for longer
/// ones.
fn layout_for(longest: usize) -> Result<Layout, LayoutError> {
    use Placement::{External, Internal};
    let standard = Layout::standard(Host::LINE)?;
    if longest <= STANDARD {
        return Ok(standard);
    }
    let size = u32::try_from(longest).map_err(|_| LayoutError::Class)?;
    let mut classes = standard.classes().to_vec();
    if size > MIDDLE {
        classes.push(Class { placement: Internal, size: MIDDLE, count: 2 });
        classes.push(Class { placement: External, size: MIDDLE, count: 8 });
    }
    classes.push(Class { placement: Internal, size, count: (INTERNAL / size).clamp(1, 4) });
    classes.push(Class { placement: External, size, count: (EXTERNAL / size).clamp(2, 40) });
    Layout::new(Host::LINE, standard.slots(), &classes)
}

/// What a node of this host is to be like.
#[derive(Clone, Debug)]
pub struct Options {
    name: String,
    domain: String,
    directory: Option<PathBuf>,
    layout: Option<Layout>,
    longest: Option<usize>,
    /// The longest message if none is named, should the system allow it.
    usual: usize,
    incoming: Option<Layout>,
    largest: Option<u32>,
    allowed: Vec<u32>,
    core: Option<usize>,
    engine: Option<Option<usize>>,
    carrier: Option<Carrier>,
    limits: Option<Limits>,
    background: bool,
    trace: Option<PathBuf>,
    trace_payload: Option<bool>,
}

impl Options {
    /// A node of this name in the domain `default`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Options {
        Options {
            name: name.into(),
            domain: "default".into(),
            directory: None,
            layout: None,
            longest: None,
            usual: STANDARD,
            incoming: None,
            largest: None,
            allowed: Vec::new(),
            core: None,
            engine: None,
            carrier: None,
            limits: None,
            background: true,
            trace: None,
            trace_payload: None,
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

    /// How many bytes the longest message, request or response of this node may have, if not 65536:
    /// each link has blocks for some longer ones then, three at least of the longest, which take no
    /// memory until they are used. Opening a node for longer ones than a region can have is
    /// [`OpenError::Longest`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// let options = narrows_host::Options::new("camera").longest_message(1 << 20);
    /// # let options = options.directory(dir.path());
    /// let node = options.node()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn longest_message(mut self, bytes: usize) -> Options {
        self.longest = Some(bytes);
        self
    }

    /// As [`Options::longest_message`], unless the program names a longest or a layout, or the
    /// system allows no memory as large as that or limits the process's addresses.
    #[doc(hidden)]
    #[must_use]
    pub fn usual_longest_message(mut self, bytes: usize) -> Options {
        self.usual = bytes;
        self
    }

    /// The layout of this node's half of each link, instead of [`Layout::standard`].
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Options {
        self.layout = Some(layout);
        self
    }

    /// The layout of this node's half of links that others hunt for, instead of that of
    /// [`Options::layout`]: a server with many clients may have smaller regions for them than for
    /// the nodes that it looks for itself.
    #[must_use]
    pub fn incoming_layout(mut self, layout: Layout) -> Options {
        self.incoming = Some(layout);
        self
    }

    /// The largest region, in bytes, that a peer may bring to a link, instead of 64 MiB or, if that
    /// is more, the size of this node's own. A peer whose region is larger is
    /// [incompatible](narrows::platform::HuntError::Incompatible).
    #[must_use]
    pub fn largest_region(mut self, bytes: u32) -> Options {
        self.largest = Some(bytes);
        self
    }

    /// Lets another user's nodes link with this one. They need a directory that both can enter;
    /// both sides have to allow the other.
    ///
    /// An allowed user can keep this node waiting (see [`Host`]), never make it read or write
    /// outside the link's memory.
    #[must_use]
    pub fn allow_uid(mut self, uid: u32) -> Options {
        self.allowed.push(uid);
        self
    }

    /// Pins the thread that opens the node to a core.
    #[must_use]
    pub fn core(mut self, core: usize) -> Options {
        self.core = Some(core);
        self
    }

    /// Gives the node a copy engine: a thread of its own, pinned to a core if one is named.
    #[must_use]
    pub fn copy_engine(mut self, core: Option<usize>) -> Options {
        self.engine = Some(core);
        self
    }

    /// What carries the links that this node hunts for, instead of what the environment says in
    /// `NARROWS_CARRIER` (`memory` or `stream`), or else memory that both processes map. A node
    /// that is hunted takes either. Over a stream nodes of the same user link only.
    #[must_use]
    pub fn carrier(mut self, carrier: Carrier) -> Options {
        self.carrier = Some(carrier);
        self
    }

    /// How large the node's tables are, other than the default.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Options {
        self.limits = Some(limits);
        self
    }

    /// Whether the node has a thread that links it with those that look for it, and notices ends
    /// of links, while the application is in no call: unless this says no, it has. Without it
    /// peers wait for the next call, and the process has no thread that it did not start.
    #[must_use]
    pub fn background(mut self, background: bool) -> Options {
        self.background = background;
        self
    }

    /// Writes a trace of what the node does to this file, behind what is there, instead of to the
    /// one that the environment names in `NARROWS_TRACE`. Several nodes and processes can write to
    /// one file. TRACES.md says what is in it.
    #[must_use]
    pub fn trace(mut self, file: impl Into<PathBuf>) -> Options {
        self.trace = Some(file.into());
        self
    }

    /// Whether the node's trace holds what messages carry too, whatever `NARROWS_TRACE_PAYLOAD`
    /// says in the environment.
    #[must_use]
    pub fn trace_payload(mut self, with_payload: bool) -> Options {
        self.trace_payload = Some(with_payload);
        self
    }

    /// Opens the node: from here on others can find it.
    ///
    /// # Errors
    /// See [`OpenError`]; each is a sentence that says what to do.
    pub fn node(self) -> Result<Node, OpenError> {
        let (limits, named) = (self.limits, self.longest.unwrap_or(0));
        let host = self.open()?;
        let longest = if limits.is_some() { named } else { host.longest_message() as usize };
        let limits = limits.unwrap_or_default();
        let limits = Limits { longest: limits.longest.max(longest), ..limits };
        Node::new(host, limits).map_err(OpenError::Node)
    }

    /// Opens the platform alone, for a program that makes the node itself: from here on others can
    /// find it.
    ///
    /// # Errors
    /// See [`OpenError`]; each is a sentence that says what to do.
    #[inline(never)]
    pub fn open(self) -> Result<Host, OpenError> {
        let parse = |text: &str| text.parse::<Name>().map_err(|_| OpenError::Name(text.into()));
        let (name, domain) = (parse(&self.name)?, parse(&self.domain)?);
        let made =
            |longest| layout_for(longest).map_err(|error| OpenError::Longest(longest, error));
        let layout = match (self.layout, self.longest) {
            (Some(layout), _) => layout,
            (None, Some(longest)) => made(longest)?,
            (None, None) => {
                let usual = made(self.usual)?;
                if memory::fits_unused(usual.size()) { usual } else { made(STANDARD)? }
            }
        };
        let incoming = self.incoming.unwrap_or(layout);
        for layout in [layout, incoming] {
            if layout.line() != Host::LINE {
                return Err(OpenError::Line(layout.line()));
            }
            let too_large = "make memory of the layout's size (see 'ulimit -f')";
            memory::fits(layout.size()).map_err(|e| OpenError::system(too_large, e))?;
        }
        if let Some(core) = self.core {
            system::pin(core).map_err(|e| OpenError::Core(e.to_string()))?;
        }
        let carrier = self.carrier.map_or_else(Carrier::of_environment, Ok)?;
        // Now rather than in the middle of the first wait.
        clock::nanos_per_tick();
        let new_set = || {
            epoll::create(epoll::CreateFlags::CLOEXEC)
                .map_err(|e| OpenError::system("make an epoll set", e))
        };
        let no_timer = |e| OpenError::system("make a timer", e);
        let no_bell = |e| OpenError::system("make a bell", e);
        let idle = Idle::new().map_err(no_timer)?;
        let sets = Arc::new(Sets {
            rendezvous: new_set()?,
            told: self.background.then(Bell::new).transpose().map_err(no_bell)?,
            bells: new_set()?,
            carry: OnceLock::new(),
            idle,
            maker: Maker::this(),
        });
        let ticker = Ticker::new().map_err(no_timer)?;
        let mut incarnation = [0; 8];
        getrandom(&mut incarnation, GetRandomFlags::empty())
            .map_err(|e| OpenError::system("get a random number", e))?;
        let incarnation = u64::from_le_bytes(incarnation);
        let engine = self.engine.map(Engine::start).transpose()?;
        let tracer = match &self.trace {
            Some(file) => Tracer::at(file).map(Some),
            None => Tracer::of_environment(),
        };
        let tracer = tracer.map_err(|error| OpenError::Trace(error.to_string()))?;

        let user = rustix::process::geteuid().as_raw();
        let status = Status::new(name, incarnation, user)
            .map_err(|e| OpenError::system("make memory for a status page", e))?;
        let (directory, lock) = Directory::open(self.directory.as_deref(), &domain, PATIENCE)?;
        // Of many nodes that are born at once the first sees to it, so that the others get on.
        if !lock.awaited {
            directory.sweep(&lock);
        }
        let bound = directory
            .bind(&lock, &name, !self.allowed.is_empty())
            .inspect_err(|_| directory.remove_if_empty(&lock))?;
        directory.withdraw_all(&name);
        directory.tell_where(&name, &status.whereabouts());
        drop(lock);
        let me = Identity {
            name,
            incarnation,
            layout,
            incoming,
            largest: self.largest.unwrap_or(LARGEST).max(layout.size()).max(incoming.size()),
            user,
            stand_in: system::stand_in(),
            allowed: self.allowed,
            carrier,
        };
        let place = (directory, bound);
        let mut rendezvous = Rendezvous::new(me, place, status, Arc::clone(&sets), ticker);
        rendezvous.start().map_err(|e| OpenError::system("prepare to wait for peers", e))?;
        let door = Arc::new(Door::new(rendezvous, Arc::clone(&sets)).map_err(no_bell)?);
        let background = Background::start(&door)
            .map_err(|e| OpenError::system("start a thread (see Options::background)", e))?;
        let with_payload = self.trace_payload.unwrap_or_else(payload_wanted);
        let recorder = tracer.map(|tracer| Recorder::new(tracer, &name, incarnation, with_payload));
        Ok(Host::new((door, background), sets, engine, recorder))
    }
}
