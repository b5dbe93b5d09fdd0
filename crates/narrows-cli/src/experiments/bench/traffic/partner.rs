//! `narrows partner`: the other process of a storm or a soak, and what starts it.
//!
//! It leaves when its link is lost, so it does not outlive the process that started it.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use narrows::endpoint::Limits;
use narrows::link::{LinkId, Name};
use narrows::platform::Lost;
use narrows_host::{Node, Options, system};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::flags::Partner as Args;
use super::load::{Load, PORT, Profile, Trouble};
use super::record::Record;
use super::{INBOX, LONGEST, PATIENCE};
use super::{churn, member};
use crate::base::failure::{Failure, Kind};
use crate::base::options::Global;
use crate::rig::{callee, peer, place};

/// The name of the node that starts partners.
pub const STARTER: &str = "survivor";

/// How long a partner that hunts is waited for before it is seen whether it is still there.
const LOOK: Duration = Duration::from_millis(50);
/// The same for one that is hunted: giving up a hunt takes a half-made link with it, so this is far
/// longer than making one takes.
const HUNT: Duration = Duration::from_secs(2);

/// What a partner is to be.
#[derive(Clone, Debug)]
pub struct Role<'a> {
    /// Its node's name.
    pub name: &'a str,
    /// The core it runs on.
    pub core: usize,
    /// The real-time priority it runs at.
    pub priority: Option<u8>,
    /// Whether its node has a copy engine.
    pub engine: bool,
    /// Whether it hunts the starter, rather than be hunted.
    pub hunts: bool,
    /// What it sends.
    pub profile: Profile,
    /// What else it is to do than the traffic of two.
    pub part: Part,
}

/// What a partner does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The traffic of two.
    Traffic,
    /// The member of the first number, of a mesh of as many as the second says.
    Member(u16, u16),
    /// Nodes that link and go again, this many times a second; 0 is as often as they can.
    Churn(u32),
}

/// Opens a node of either side and pins the thread.
///
/// # Errors
/// What the machine refused.
pub fn open(directory: &Path, name: &str, core: usize, engine: bool) -> Result<Node, Failure> {
    let mut options = Options::new(name).directory(directory).core(core);
    if engine {
        options = options.copy_engine(None);
    }
    node(options, 4)
}

/// Opens a node with places for this many links.
///
/// # Errors
/// What the machine refused.
pub fn node(options: Options, links: usize) -> Result<Node, Failure> {
    let host = options.open().map_err(|error| peer::not_opened(&error))?;
    let limits = Limits { links, endpoints: 4, flows: 8, inbox: INBOX, longest: LONGEST };
    let node = Node::new(host, limits);
    let mut node = node.map_err(|error| internal(&error.to_string()))?;
    node.open(PORT).map_err(|error| internal(&error.to_string()))?;
    Ok(node)
}

/// Runs this thread at a real-time priority, if one is asked for.
///
/// # Errors
/// The machine refuses it.
pub fn prioritise(priority: Option<u8>) -> Result<(), Failure> {
    let set = priority.map_or(Ok(()), system::real_time);
    set.map_err(|error| Failure::new(Kind::Usage, error.to_string()))
}

fn internal(sentence: &str) -> Failure {
    Failure::new(Kind::Internal, sentence)
}

/// A process that was started and not yet waited for.
pub struct Process {
    handle: OwnedFd,
    id: u32,
}

impl Process {
    /// Sends a signal.
    ///
    /// # Errors
    /// What the system says of it.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        pidfd_send_signal(&self.handle, signal).map_err(Into::into)
    }

    /// Waits until the process has ended; false if it does not within that time.
    pub fn await_end(&self, within: Duration) -> bool {
        let mut set = [PollFd::new(&self.handle, PollFlags::IN)];
        let within = Timespec {
            tv_sec: within.as_secs().cast_signed(),
            tv_nsec: within.subsec_nanos().into(),
        };
        poll(&mut set, Some(&within)).is_ok_and(|ready| ready > 0)
    }

    /// The process's number.
    pub fn id(&self) -> u32 {
        self.id
    }
}

/// A partner, from its starter's side.
pub struct Partner {
    child: Child,
    /// The process, to signal it and to wait for its end.
    pub process: Process,
    /// What it was told.
    pub record: Rc<Record>,
}

impl Partner {
    /// Starts a partner.
    ///
    /// # Errors
    /// The system has no process or no memory to give.
    pub fn start(directory: &Path, role: &Role<'_>) -> Result<Partner, Failure> {
        let failed = |error: io::Error| {
            internal(&format!("cannot start the {}'s process: {error}", role.name))
        };
        let (record, file) = Record::create().map_err(failed)?;
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.arg("partner").arg("--directory").arg(directory).args(arguments(role));
        command.stdin(Stdio::from(file)).stdout(Stdio::null()).stderr(Stdio::piped());
        // A group of its own: what the terminal sends to stop the starter is the starter's.
        command.process_group(0);
        // On its own core from the beginning: on the starter's it may not get to run.
        let spawned = std::thread::scope(|scope| {
            let begin = scope.spawn(|| {
                let _ = system::pin(role.core);
                command.spawn()
            });
            begin.join().unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::Other)))
        });
        let mut child = spawned.map_err(failed)?;
        let opened = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        let handle = opened.map_err(|error| {
            let _ = child.kill();
            let _ = child.wait();
            failed(error.into())
        })?;
        let process = Process { handle, id: child.id() };
        Ok(Partner { child, process, record: Rc::new(record) })
    }

    /// How the process ended, if it has or does within that time.
    pub fn ended(&mut self, within: Duration) -> Option<String> {
        place::ended(&mut self.child, within)
    }

    /// Links with the partner.
    ///
    /// # Errors
    /// It does not come, or left.
    pub fn link(&mut self, node: &mut Node, role: &Role<'_>) -> Result<LinkId, Failure> {
        let name: Name = role.name.parse().map_err(|_| internal("no name of a node"))?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let found = match role.hunts {
                true => await_link(node, &name, LOOK),
                false => node.hunt(&name, Some(HUNT)).ok(),
            };
            if let Some(link) = found {
                return Ok(link);
            }
            let how = match self.ended(Duration::ZERO) {
                Some(how) => how,
                None if Instant::now() >= deadline => "does not answer".into(),
                None => continue,
            };
            return Err(Failure::new(Kind::Peer, format!("the {}'s process {how}", role.name)));
        }
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn await_link(node: &mut Node, name: &Name, within: Duration) -> Option<LinkId> {
    let deadline = Instant::now() + within;
    loop {
        node.poll();
        if let Some((link, _)) = node.links().find(|(_, of)| of == name) {
            return Some(link);
        }
        let left = deadline.checked_duration_since(Instant::now())?;
        node.wait_any(Some(left));
    }
}

fn arguments(role: &Role<'_>) -> Vec<OsString> {
    let Profile { active, strategy, seed } = role.profile;
    let (core, seed, strategy) = (role.core.to_string(), seed.to_string(), strategy.to_string());
    let mut words = vec!["--name", role.name, "--core", &core, "--seed", &seed];
    words.extend(["--strategy", &strategy]);
    let priority = role.priority.map(|priority| priority.to_string());
    words.extend(priority.iter().flat_map(|priority| ["--priority", priority]));
    words.extend(active.then_some("--active"));
    words.extend(role.engine.then_some("--engine"));
    words.extend(role.hunts.then_some("--hunts"));
    let part = match role.part {
        Part::Traffic => Vec::new(),
        Part::Member(number, of) => vec![format!("--number={number}"), format!("--members={of}")],
        Part::Churn(rate) => vec![format!("--churn={rate}")],
    };
    words.extend(part.iter().map(String::as_str));
    words.into_iter().map(OsString::from).collect()
}

/// Makes traffic until the link is lost.
///
/// # Errors
/// It cannot begin, or the stack said what it must not say.
pub fn run(global: &Global, args: &Args) -> Result<(), Failure> {
    let record = Record::open(io::stdin().as_fd()).map_err(|_| {
        Failure::new(
            Kind::Usage,
            "bench storm and bench soak start this; it does nothing by itself",
        )
    })?;
    if let (Some(number), Some(members)) = (args.number, args.members) {
        return member::run(args, &record, number, members);
    }
    if let Some(rate) = args.churn {
        return churn::run(args, &record, rate);
    }
    let mut node = open(&args.directory, &args.name, args.core, args.engine)?;
    prioritise(global.priority)?;
    let name: Name = STARTER.parse().map_err(|_| internal("no name of a node"))?;
    let linked = match args.hunts {
        true => node.hunt(&name, Some(PATIENCE)).ok(),
        false => await_link(&mut node, &name, PATIENCE),
    };
    let link = linked.ok_or_else(|| internal("who started this does not answer"))?;
    let profile = Profile { active: args.active, strategy: args.strategy, seed: args.seed };
    let ended = Load::new(&mut node, link, profile).and_then(|mut load| {
        loop {
            if !load.turn(&mut node, &record)? {
                load.rest(&mut node, &record)?;
            }
        }
    });
    drop(node);
    match ended {
        Err(Trouble::Defect(sentence)) => Err(internal(&sentence)),
        Err(Trouble::Lost(Lost::Closed)) | Ok(()) => Ok(()),
        Err(Trouble::Lost(_)) => {
            // The process that started this was killed and could not tidy up.
            callee::remove(&args.directory);
            Ok(())
        }
    }
}
