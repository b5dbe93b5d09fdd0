//! The other side, as its caller sees it. On this machine that is a process: starts it, links to
//! it, and sees it off.
//!
//! ```no_run
//! use narrows_cli::base::options::Cores;
//! use narrows_cli::rig::peer::{Options, Peer};
//! use narrows_cli::rig::service::Mode;
//! # use std::time::Duration;
//! # let (request, mut response) = ([0; 48], [0; 48]);
//!
//! let cores = Cores { caller: 0, callee: 1 };
//! let mut peer = Peer::start(cores, &Options { limits: true, ..Options::default() })?;
//! let strategy = "copy/spin/internal".parse().map_err(|_| "no strategy")?;
//! let echo = peer.flow("echo", strategy, 48)?;
//! let done = peer.node.flow(echo).call(&request, &mut response, Some(Duration::from_secs(1)));
//! done.map_err(|error| peer.explain_call(error))?;
//!
//! peer.mode(Mode::Limits)?; // and back with Mode::Calls
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Dropping a [`Peer`] ends its process, whatever that is busy with.

mod explain;
mod node;
mod process;

pub(crate) use node::{Settings, caller, not_opened, open, small};

use crate::base::failure::{Failure, Kind};
use crate::base::options::{Cores, Global};
use crate::formats::functions::foreign::Named;
use crate::rig::phases::Scale;
use crate::rig::place::{Other, Place, Process};
use crate::rig::service::{self, Mode, Page, TraceOrder};
use explain::nonsense;
use narrows::endpoint::{FlowError, FlowId, Node};
use narrows::link::LinkId;
use narrows::strategy::{Placement, Strategy};
use narrows_host::{Host, Trace, system};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// What the name of the directory of both nodes begins with.
pub const DIRECTORY: &str = "narrows-run-";

/// The domain of both nodes.
pub const DOMAIN: &str = "run";
/// The name of this side's node.
pub const CALLER: &str = "caller";
/// The name of the other side's.
pub const CALLEE: &str = "callee";

/// Longest wait for the other process to appear, and to answer what is asked of itself.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of a response to a question of [`crate::rig::service`], where messages can be as long.
pub(crate) const ANSWER: u32 = 65536;

/// How the other process is to be.
#[derive(Clone, Debug)]
pub struct Options {
    /// The real-time priority of both sides.
    pub priority: Option<u8>,
    /// Whether both sides lock their memory.
    pub lock_memory: bool,
    /// Whether both sides have a copy engine.
    pub engine: bool,
    /// The longest request, response or message in bytes.
    pub longest: usize,
    /// Whether [`Peer::limits`] is wanted.
    pub limits: bool,
    /// Links that each side's node has room for, with a region for each that is small; if none are
    /// named, one with the usual region.
    pub links: Option<usize>,
    /// Functions of shared libraries that the other side offers beside the library.
    pub functions: Vec<Named>,
    /// The program to start; this one if none is named.
    pub program: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            priority: None,
            lock_memory: false,
            engine: false,
            longest: ANSWER as usize,
            limits: false,
            links: None,
            functions: Vec::new(),
            program: None,
        }
    }
}

/// The cores of this machine that were named, or the first two that this process may run on.
///
/// # Errors
/// [`Kind::Usage`]: it may not run on one of them, or on one only.
pub fn cores_of(global: &Global) -> Result<Cores, Failure> {
    // As it was at first: a thread that is pinned since may run on one only.
    static THERE: OnceLock<Vec<usize>> = OnceLock::new();
    let there = THERE.get_or_init(system::cores);
    let said = global.cores;
    let absent =
        |cores: Cores| [cores.caller, cores.callee].into_iter().find(|core| !there.contains(core));
    if let Some(core) = said.and_then(absent) {
        let there: Vec<_> = there.iter().map(usize::to_string).collect();
        let there = there.join(", ");
        let text = format!("--cores: this process cannot run on core {core}, only on {there}");
        return Err(Failure::new(Kind::Usage, text));
    }
    match (said, &there[..]) {
        (Some(cores), _) => Ok(cores),
        (None, &[caller, callee, ..]) => Ok(Cores { caller, callee }),
        _ => Err(Failure::new(
            Kind::Usage,
            "this process may use one core only, but caller and callee need one each: start it \
             without 'taskset' or a cpuset; or name that core twice, as in '--cores 0,0', which \
             'run' and 'bench pingpong' take",
        )),
    }
}

/// A directory for the nodes of one run, removed when it is dropped.
///
/// # Errors
/// [`Kind::Output`] if it cannot be made.
pub(crate) fn directory() -> Result<tempfile::TempDir, Failure> {
    tempfile::Builder::new().prefix(DIRECTORY).tempdir().map_err(|error| {
        let sentence = format!(
            "cannot make a directory for the nodes in {}: {error}; set TMPDIR to one that you can \
             write to",
            std::env::temp_dir().display()
        );
        Failure::new(Kind::Output, sentence)
    })
}

/// The other side and the link to it.
pub struct Peer<P: Place = Host> {
    /// This side's node.
    pub node: Node<P>,
    /// The link to the other side.
    pub link: LinkId,
    /// Links to further cores that serve as the other side does, if there are any.
    pub further: Vec<LinkId>,
    /// What the machine itself allows, between the same two sides, if it was asked for. Another
    /// process takes part in [`Mode::Limits`].
    pub limits: Option<P::Allowed>,
    /// Sentences about what the machine refused, and what stands in for what it has not.
    pub warnings: Vec<String>,
    /// How the other side is asked about itself.
    asking: Strategy,
    answer: Vec<u8>,
    /// The other side, beside the link. Last: when it is dropped, everything else is closed.
    pub other: P::Other,
}

impl Peer {
    /// Starts the process and links to it. Pins this thread to the caller's core.
    ///
    /// # Errors
    /// A sentence about what the machine refused, or the other process said.
    pub fn start(cores: Cores, options: &Options) -> Result<Peer, Failure> {
        let engines = options.engine.then(|| engine_cores(cores));
        let directory = directory()?;
        let settings = |name: &str, core, engine| Settings {
            directory: directory.path().to_owned(),
            domain: DOMAIN.into(),
            name: name.into(),
            core,
            engine,
            longest: options.longest,
            links: options.links,
        };
        let callee = settings(CALLEE, cores.callee, engines.map(|(_, engine)| engine));
        let caller = settings(CALLER, cores.caller, engines.map(|(engine, _)| engine));
        let (limits, child) = process::spawn(options, &callee)?;
        let mut other = Process { child, directory };
        let opened = (|| {
            let mut node = open(&caller)?;
            let link = process::hunt(&mut node, &mut other)?;
            Ok((node, link))
        })();
        let (node, link) = opened.inspect_err(|_| other.kill())?;
        let mut warnings = settle(options);
        if let Some((Some(caller), Some(callee))) = engines {
            let beside = if [caller, callee] == [cores.caller, cores.callee] {
                ", where they compete with the sides they work for: no core is to spare"
            } else {
                ""
            };
            warnings.push(format!(
                "copy_engine: each side's engine is a thread, here on cores {caller} and \
                 {callee}{beside}"
            ));
        }
        let mut peer = Peer::new(node, link, other);
        (peer.limits, peer.warnings) = (limits, warnings);
        Ok(peer)
    }
}

impl<P: Place> Peer<P> {
    /// Over a link that is up.
    pub(crate) fn new(mut node: Node<P>, link: LinkId, other: P::Other) -> Peer<P> {
        let mut longest = |placement| {
            let both = node.link(link).layouts();
            both.map_or(0, |(own, theirs)| own.longest(placement).min(theirs.longest(placement)))
        };
        let usual = Strategy::default();
        let placement = match longest(usual.placement) {
            0 => Placement::Internal,
            _ => usual.placement,
        };
        let answer = vec![0; longest(placement).min(ANSWER) as usize];
        let asking = Strategy { placement, ..usual };
        Peer {
            node,
            link,
            further: Vec::new(),
            limits: None,
            warnings: Vec::new(),
            asking,
            answer,
            other,
        }
    }

    /// The links to all cores that serve, the other side's first.
    pub fn links(&self) -> impl Iterator<Item = LinkId> {
        [self.link].into_iter().chain(self.further.iter().copied())
    }

    /// What the stamps of both sides are.
    pub fn scale(&self) -> Scale {
        let platform = self.node.platform();
        let own = platform.stamps();
        Scale { tick: platform.tick(), own, theirs: self.other.stamps().unwrap_or(own) }
    }

    /// Opens a flow to a function of the other side.
    ///
    /// # Errors
    /// The stack's; [`Peer::explain_flow`] makes a sentence of it.
    pub fn try_flow(
        &mut self,
        function: &str,
        strategy: Strategy,
        longest: u32,
    ) -> Result<FlowId, FlowError> {
        self.try_flow_to(self.link, function, strategy, longest)
    }

    /// As [`Peer::try_flow`], to a function of the core at the other end of a link.
    ///
    /// # Errors
    /// As [`Peer::try_flow`].
    pub fn try_flow_to(
        &mut self,
        link: LinkId,
        function: &str,
        strategy: Strategy,
        longest: u32,
    ) -> Result<FlowId, FlowError> {
        let name = function.parse().map_err(|_| FlowError::NotFound)?;
        self.node.open_flow(link, &name, strategy, longest, Some(PATIENCE))
    }

    /// As [`Peer::try_flow`], with a sentence where it fails.
    ///
    /// # Errors
    /// [`Kind::Name`] if there is no such function, [`Kind::Peer`] if the other side is gone.
    pub fn flow(
        &mut self,
        function: &str,
        strategy: Strategy,
        longest: u32,
    ) -> Result<FlowId, Failure> {
        let opened = self.try_flow(function, strategy, longest);
        opened.map_err(|error| self.explain_flow(function, strategy, error))
    }

    /// Asks the other side something over a flow that is opened and closed for it: a flow that
    /// stays open has a say in how the other side waits.
    fn ask(&mut self, function: &str, request: &[u8]) -> Result<&[u8], Failure> {
        let strategy = self.asking;
        let longest = u32::try_from(self.answer.len()).unwrap_or(u32::MAX);
        let flow = self.flow(function, strategy, longest)?;
        let called = self.node.flow(flow).call(request, &mut self.answer, Some(PATIENCE));
        let len = called.map_err(|error| self.explain_call(error))?;
        let closed = self.node.flow(flow).close();
        closed.map_err(|error| self.explain_flow(function, strategy, error))?;
        Ok(self.answer.get(..len).unwrap_or_default())
    }

    /// Processor time that the other side has used.
    ///
    /// # Errors
    /// The other side is gone or silent.
    pub fn cpu_time(&mut self) -> Result<Duration, Failure> {
        let answer = self.ask(service::CPU, &[])?;
        let nanos = answer.try_into().map(u64::from_le_bytes).map_err(|_| nonsense())?;
        Ok(Duration::from_nanos(nanos))
    }

    /// Says what the other side serves from now on. [`Mode::Messages`] ends by a message with the
    /// tag [`service::LAST`], not by this.
    ///
    /// # Errors
    /// The other side is gone or silent.
    pub fn mode(&mut self, mode: Mode) -> Result<(), Failure> {
        self.ask(service::MODE, &service::to_bytes(&mode)).map(|_| ())
    }

    /// Turns stamps on, on both sides; those from before are forgotten.
    ///
    /// # Errors
    /// The other side is gone or silent.
    pub fn trace(&mut self) -> Result<(), Failure> {
        self.ask(service::TRACE, &service::to_bytes(&TraceOrder::On))?;
        self.node.platform().take_trace();
        self.node.platform_mut().set_tracing(true);
        Ok(())
    }

    /// Turns stamps off and fetches them: this side's, and the other's.
    ///
    /// # Errors
    /// The other side is gone or silent.
    pub fn take_trace(&mut self) -> Result<(Trace, Trace), Failure> {
        self.node.platform_mut().set_tracing(false);
        let own = self.node.platform().take_trace();
        self.ask(service::TRACE, &service::to_bytes(&TraceOrder::Off))?;
        let mut theirs = Trace::default();
        loop {
            let from = u32::try_from(theirs.records.len()).unwrap_or(u32::MAX);
            let answer = self.ask(service::TRACE, &service::to_bytes(&TraceOrder::Page(from)))?;
            let page = Page::from_bytes(answer).ok_or_else(nonsense)?;
            theirs.overwritten = page.overwritten;
            let empty = page.records.is_empty();
            theirs.records.extend(page.records);
            if theirs.records.len() >= page.kept as usize || empty {
                return Ok((own, theirs));
            }
        }
    }
}

impl<P: Place> Drop for Peer<P> {
    fn drop(&mut self) {
        for link in [self.link].into_iter().chain(self.further.drain(..)) {
            self.node.link(link).close();
        }
        self.limits = None;
        self.other.dismiss();
    }
}

/// Cores for the two copy engines: others than the two in use if there are any, else each beside
/// its own side.
fn engine_cores(cores: Cores) -> (Option<usize>, Option<usize>) {
    let mut free =
        system::cores().into_iter().filter(|core| ![cores.caller, cores.callee].contains(core));
    let first = free.next();
    let second = free.next().or(first);
    (first.or(Some(cores.caller)), second.or(Some(cores.callee)))
}

/// Applies what is asked for this side; what is refused is said, not failed for.
fn settle(options: &Options) -> Vec<String> {
    let priority = options.priority.map(system::real_time);
    let locked = options.lock_memory.then(system::lock_memory);
    let all = [priority, locked, Some(system::precise_timers())];
    all.into_iter().flatten().filter_map(|done| Some(done.err()?.to_string())).collect()
}
