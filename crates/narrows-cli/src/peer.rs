//! The other core's process, from the caller's side: starts it, links to it, and sees it off.
//!
//! ```no_run
//! use narrows_cli::flags::Cores;
//! use narrows_cli::peer::{Options, Peer};
//! use narrows_cli::service::Mode;
//! # use std::time::Duration;
//! # let (request, mut response) = ([0; 48], [0; 48]);
//!
//! let cores = Cores { caller: 0, callee: 1 };
//! let mut peer = Peer::start(cores, &Options { limits: true, ..Options::default() })?;
//! let strategy = "copy/spin/internal".parse().map_err(|_| "no strategy")?;
//! let echo = peer.flow("echo", strategy, 48)?;
//! let done = peer.node.call(echo, &request[..], &mut response, Some(Duration::from_secs(1)));
//! done.map_err(|error| peer.explain_call(error))?;
//!
//! peer.mode(Mode::Limits)?; // and back with Mode::Calls
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Dropping a [`Peer`] ends its process, whatever that is busy with.

use crate::bench::limit::Limits;
use crate::failure::{Failure, Kind};
use crate::flags::Cores;
use crate::service::{self, Mode, Page, TraceOrder};
use narrows::endpoint::{self, CallError, FlowError, FlowId, LinkError, SendError};
use narrows::link::LinkId;
use narrows::memory::{Class, Layout};
use narrows::platform::Platform;
use narrows::strategy::{Placement, Strategy};
use narrows_host::{Host, Node, OpenError, Trace, system};
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What the name of the directory of both nodes begins with.
pub const DIRECTORY: &str = "narrows-run-";

/// Longest wait for the other process to appear, and to answer what is asked of itself.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the other process may take to leave by itself.
const FAREWELL: Duration = Duration::from_secs(1);
/// Bytes of a response to a question of [`crate::service`].
const ANSWER: u32 = 65536;

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
            program: None,
        }
    }
}

/// How one side's node is opened.
pub(crate) struct Settings {
    pub directory: PathBuf,
    pub domain: String,
    pub name: String,
    pub core: usize,
    /// A copy engine, and its core.
    pub engine: Option<Option<usize>>,
    pub longest: usize,
}

/// Opens one side's node and pins the thread.
pub(crate) fn open(settings: &Settings) -> Result<Node, Failure> {
    let mut options = narrows_host::Options::new(&settings.name)
        .domain(&settings.domain)
        .directory(&settings.directory)
        .core(settings.core);
    if let Some(core) = settings.engine {
        options = options.copy_engine(core);
    }
    if let Some(layout) = layout(settings.longest) {
        options = options.layout(layout);
    }
    let host = options.open().map_err(|error| {
        let kind = match error {
            OpenError::Name(_) | OpenError::Taken(_) => Kind::Name,
            OpenError::Core(_) => Kind::Usage,
            _ => Kind::Internal,
        };
        Failure::new(kind, error.to_string())
    })?;
    let longest = settings.longest.max(ANSWER as usize);
    let tables = endpoint::Limits { links: 2, endpoints: 8, flows: 80, inbox: 1024, longest };
    Node::new(host, tables).map_err(|_| {
        Failure::new(Kind::Internal, "there is no memory for the tables of a node: free some")
    })
}

/// The usual layout, with larger external blocks where messages need them.
fn layout(longest: usize) -> Option<Layout> {
    /// Bytes of the larger blocks of one side, as far as they are used.
    const LARGE: usize = 256 << 20;
    let standard = Layout::standard(Host::LINE).ok()?;
    let longest = longest.min(crate::workload::MAX_BYTES);
    if longest <= standard.longest(Placement::External) as usize {
        return Some(standard);
    }
    let size = u32::try_from(longest).ok()?;
    let count = (LARGE / longest).clamp(8, 40) as u32;
    let mut classes = standard.classes().to_vec();
    classes.push(Class { placement: Placement::External, size, count });
    Layout::new(Host::LINE, standard.slots(), &classes).ok()
}

/// The cores to use where the user names none: the first two allowed ones.
///
/// # Errors
/// [`Kind::Usage`] if only one is allowed.
pub fn default_cores() -> Result<Cores, Failure> {
    match system::cores()[..] {
        [caller, callee, ..] => Ok(Cores { caller, callee }),
        _ => Err(Failure::new(
            Kind::Usage,
            "this process may use one core only, but caller and callee need one each: start it \
             without 'taskset' or a cpuset",
        )),
    }
}

/// The other core's process and the link to it.
pub struct Peer {
    /// This side's node.
    pub node: Node,
    /// The link to the other side.
    pub link: LinkId,
    /// The other process.
    pub child: Child,
    /// What the machine itself allows, between the same two processes, if it was asked for. The
    /// other side takes part in [`Mode::Limits`].
    pub limits: Option<Limits>,
    /// Sentences about what the machine refused.
    pub warnings: Vec<String>,
    answer: Vec<u8>,
    // Last: it is removed when everything in it is closed.
    _directory: tempfile::TempDir,
}

impl Peer {
    /// Starts the process and links to it. Pins this thread to the caller's core.
    ///
    /// # Errors
    /// A sentence about what the machine refused, or the other process said.
    pub fn start(cores: Cores, options: &Options) -> Result<Peer, Failure> {
        let engines = options.engine.then(|| engine_cores(cores));
        let directory = tempfile::Builder::new().prefix(DIRECTORY).tempdir().map_err(|error| {
            let sentence = format!(
                "cannot make a directory for the two nodes in {}: {error}; set TMPDIR to one that \
                 you can write to",
                std::env::temp_dir().display()
            );
            Failure::new(Kind::Output, sentence)
        })?;
        let settings = |name: &str, core, engine| Settings {
            directory: directory.path().to_owned(),
            domain: "run".into(),
            name: name.into(),
            core,
            engine,
            longest: options.longest,
        };
        let callee = settings("callee", cores.callee, engines.map(|(_, engine)| engine));
        let (limits, mut child) = spawn(options, &callee)?;
        let opened = (|| {
            let engine = engines.map(|(engine, _)| engine);
            let mut node = open(&settings("caller", cores.caller, engine))?;
            let link = hunt(&mut node, &mut child)?;
            Ok((node, link))
        })();
        let (node, link) = opened.inspect_err(|_| {
            let _ = child.kill();
            let _ = child.wait();
        })?;
        let answer = vec![0; ANSWER as usize];
        let warnings = settle(options);
        Ok(Peer { node, link, child, limits, warnings, answer, _directory: directory })
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
        let name = function.parse().map_err(|_| FlowError::NotFound)?;
        self.node.flow(self.link, &name, strategy, longest, Some(PATIENCE))
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
        let strategy = Strategy::default();
        let flow = self.flow(function, strategy, ANSWER)?;
        let called = self.node.call(flow, request, &mut self.answer, Some(PATIENCE));
        let len = called.map_err(|error| self.explain_call(error))?;
        let closed = self.node.close_flow(flow);
        closed.map_err(|error| self.explain_flow(function, strategy, error))?;
        Ok(self.answer.get(..len).unwrap_or_default())
    }

    /// Processor time that the other process has used.
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
        self.ask(service::MODE, mode.to_string().as_bytes()).map(|_| ())
    }

    /// Turns stamps on, on both sides; those from before are forgotten.
    ///
    /// # Errors
    /// The other side is gone or silent.
    pub fn trace(&mut self) -> Result<(), Failure> {
        self.ask(service::TRACE, &TraceOrder::On.to_bytes())?;
        self.node.platform().take_trace();
        self.node.platform().set_tracing(true);
        Ok(())
    }

    /// Turns stamps off and fetches them: this side's, and the other's.
    ///
    /// # Errors
    /// The other side is gone or silent.
    pub fn take_trace(&mut self) -> Result<(Trace, Trace), Failure> {
        self.node.platform().set_tracing(false);
        let own = self.node.platform().take_trace();
        self.ask(service::TRACE, &TraceOrder::Off.to_bytes())?;
        let mut theirs = Trace::default();
        loop {
            let from = u32::try_from(theirs.records.len()).unwrap_or(u32::MAX);
            let answer = self.ask(service::TRACE, &TraceOrder::Page(from).to_bytes())?;
            let page = Page::from_bytes(answer).ok_or_else(nonsense)?;
            theirs.overwritten = page.overwritten;
            let empty = page.records.is_empty();
            theirs.records.extend(page.records);
            if theirs.records.len() >= page.kept as usize || empty {
                return Ok((own, theirs));
            }
        }
    }

    /// What a flow's error means here.
    pub fn explain_flow(
        &mut self,
        function: &str,
        strategy: Strategy,
        error: FlowError,
    ) -> Failure {
        match error {
            FlowError::Gone(_) | FlowError::Unknown => self.lost(),
            FlowError::NotFound => Failure::new(
                Kind::Name,
                format!("the other core has no function {function}: start both from one build"),
            ),
            FlowError::Deadline => silent(),
            error => {
                let why = why_not(error);
                Failure::new(Kind::Internal, format!("{function} by {strategy}: {why}"))
            }
        }
    }

    /// What a call's error means here.
    pub fn explain_call(&mut self, error: CallError) -> Failure {
        match error {
            CallError::Gone(_) | CallError::Unknown => self.lost(),
            CallError::Deadline => silent(),
            CallError::Start(error) => self.explain_send(error),
            CallError::Failed(failure) => {
                let sentence = format!(
                    "the other core refused a request ({failure:?}): start both from one build"
                );
                Failure::new(Kind::Peer, sentence)
            }
            CallError::Short { needed } => {
                let sentence = format!("a response has {needed} bytes, more than was agreed on");
                Failure::new(Kind::Peer, sentence)
            }
            CallError::Outstanding | CallError::Nothing => {
                Failure::new(Kind::Internal, "calls of a flow were mixed up: report this defect")
            }
        }
    }

    /// What a send's error means here.
    pub fn explain_send(&mut self, error: SendError) -> Failure {
        match error {
            SendError::Gone(_) | SendError::Unknown => self.lost(),
            SendError::Deadline | SendError::RingFull | SendError::PoolEmpty => silent(),
            error => Failure::new(Kind::Internal, send_error(error)),
        }
    }

    /// What became of the other process.
    pub fn lost(&mut self) -> Failure {
        let told = ended(&mut self.child, FAREWELL);
        Failure::new(
            Kind::Peer,
            match told {
                Some(how) => format!("the other core's process {how}"),
                None => "the link to the other core's process was lost; run it again".into(),
            },
        )
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.node.close(self.link);
        self.limits = None;
        drop(self.child.stdin.take());
        if ended(&mut self.child, FAREWELL).is_none() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// A sentence about a strategy that cannot be had, for a row of a report.
pub fn why_not(error: FlowError) -> String {
    match error {
        FlowError::Infeasible => "there is no copy engine, or no memory of that placement".into(),
        FlowError::Strategy(error) => error.to_string(),
        FlowError::Full => "the table of flows is full".into(),
        FlowError::NotFound => "there is no such function".into(),
        FlowError::Deadline => "the other side did not answer in time".into(),
        FlowError::Gone(_) | FlowError::Unknown => "the link was lost".into(),
        FlowError::Switching | FlowError::Outstanding => "the flow is in use".into(),
    }
}

/// A sentence about a message that cannot be sent.
pub fn send_error(error: SendError) -> String {
    match error {
        SendError::TooLong { limit } => {
            format!("the largest block of this memory has {limit} bytes")
        }
        SendError::NoEngine => "the copy engine failed".into(),
        other => format!("a message was not sent ({other:?})"),
    }
}

fn silent() -> Failure {
    Failure::new(
        Kind::Deadline,
        "the other core's process did not answer in time; see with 'narrows doctor' what keeps its \
         core busy",
    )
}

fn nonsense() -> Failure {
    Failure::new(
        Kind::Peer,
        "the other core's process answered nonsense: start both from one build",
    )
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

fn spawn(options: &Options, callee: &Settings) -> Result<(Option<Limits>, Child), Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Kind::Internal, format!("cannot start the other core's process: {error}"))
    };
    let program = options.program.clone().map_or_else(std::env::current_exe, Ok).map_err(failed)?;
    let mut command = Command::new(program);
    command.arg("callee").arg("--directory").arg(&callee.directory);
    command.args(["--domain", &callee.domain, "--name", &callee.name]);
    command.args(["--core", &callee.core.to_string(), "--longest", &callee.longest.to_string()]);
    if let Some(core) = callee.engine {
        let core = core.map_or("-1".to_owned(), |core| core.to_string());
        command.args(["--engine", &core]);
    }
    if let Some(priority) = options.priority {
        command.args(["--priority", &priority.to_string()]);
    }
    if options.lock_memory {
        command.arg("--lock-memory");
    }
    // A group of its own: what the terminal sends to stop the caller is the caller's to handle.
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    if !options.limits {
        return Ok((None, command.spawn().map_err(failed)?));
    }
    let (limits, argument) = Limits::create().map_err(failed)?;
    command.args(["--limits", &argument]);
    let child = limits.lend(|| command.spawn()).map_err(failed)?;
    Ok((Some(limits), child))
}

fn hunt(node: &mut Node, child: &mut Child) -> Result<LinkId, Failure> {
    /// How long is waited before looking whether the process is still there.
    const LOOK: Duration = Duration::from_millis(100);
    let name = "callee".parse().map_err(|_| nonsense())?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match node.hunt(&name, Some(LOOK)) {
            Ok(link) => return Ok(link),
            Err(LinkError::Deadline) => {}
            Err(error) => {
                let sentence = format!("cannot link to the other core's process ({error:?})");
                return Err(Failure::new(Kind::Peer, sentence));
            }
        }
        if let Some(how) = ended(child, Duration::ZERO) {
            return Err(Failure::new(Kind::Peer, format!("the other core's process {how}")));
        }
        if Instant::now() >= deadline {
            return Err(silent());
        }
    }
}

/// How a process ended, if it does within that time.
fn ended(child: &mut Child, within: Duration) -> Option<String> {
    let deadline = Instant::now() + within;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
            _ => return None,
        }
    };
    if let Some(signal) = status.signal() {
        return Some(format!(
            "was killed by signal {signal}; find out what kills it, and run it again"
        ));
    }
    let mut text = String::new();
    if let Some(errors) = child.stderr.take() {
        let _ = errors.take(4096).read_to_string(&mut text);
    }
    let text = text.lines().next().unwrap_or_default();
    Some(match text.strip_prefix("narrows: ").unwrap_or(text) {
        "" => format!("left with {status}; run it again"),
        said => format!("left: {said}"),
    })
}
