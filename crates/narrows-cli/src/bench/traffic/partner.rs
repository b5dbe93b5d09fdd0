//! `narrows partner`: the other process of a storm or a soak, and what starts it.
//!
//! It leaves when its link is lost, so it does not outlive who started it.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use narrows::endpoint::Limits;
use narrows::link::{LinkId, Name};
use narrows::platform::Lost;
use narrows_host::{Node, Options};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::load::{Load, PORT, Profile, Trouble};
use super::record::Record;
use super::{INBOX, LONGEST, PATIENCE};
use crate::failure::{Failure, Kind};
use crate::{callee, flags, peer};

/// The name of the node that starts partners.
pub const STARTER: &str = "survivor";

/// What a partner is to be.
#[derive(Clone, Debug)]
pub struct Role<'a> {
    /// Its node's name.
    pub name: &'a str,
    /// The core it runs on.
    pub core: usize,
    /// Whether its node has a copy engine.
    pub engine: bool,
    /// Whether it hunts the starter, rather than be hunted.
    pub hunts: bool,
    /// What it sends.
    pub profile: Profile,
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
    let host = options.open().map_err(|error| peer::not_opened(&error))?;
    let limits = Limits { links: 4, endpoints: 4, flows: 8, inbox: INBOX, longest: LONGEST };
    let node = Node::new(host, limits);
    let mut node = node.map_err(|error| internal(&error.to_string()))?;
    node.open(PORT).map_err(|error| internal(&error.to_string()))?;
    Ok(node)
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

    /// Waits until the process has ended; false if it does not.
    pub fn await_end(&self) -> bool {
        let mut set = [PollFd::new(&self.handle, PollFlags::IN)];
        let patience = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
        poll(&mut set, Some(&patience)).is_ok_and(|ready| ready > 0)
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
    pub record: Record,
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
        let mut child = command.process_group(0).spawn().map_err(failed)?;
        let opened = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        let handle = opened.map_err(|error| {
            let _ = child.kill();
            let _ = child.wait();
            failed(error.into())
        })?;
        let process = Process { handle, id: child.id() };
        Ok(Partner { child, process, record })
    }

    /// How the process ended, if it has or does within that time.
    pub fn ended(&mut self, within: Duration) -> Option<String> {
        peer::ended(&mut self.child, within)
    }

    /// Links with the partner.
    ///
    /// # Errors
    /// It does not come, or left.
    pub fn link(&mut self, node: &mut Node, role: &Role<'_>) -> Result<LinkId, Failure> {
        let name: Name = role.name.parse().map_err(|_| internal("no name of a node"))?;
        let found = if role.hunts { await_link(node, &name) } else { hunt(node, &name) };
        found.ok_or_else(|| {
            let how = self.ended(Duration::ZERO).unwrap_or_else(|| "does not answer".into());
            Failure::new(Kind::Peer, format!("the {}'s process {how}", role.name))
        })
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn hunt(node: &mut Node, name: &Name) -> Option<LinkId> {
    node.hunt(name, Some(PATIENCE)).ok()
}

fn await_link(node: &mut Node, name: &Name) -> Option<LinkId> {
    let deadline = Instant::now() + PATIENCE;
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
    words.extend(active.then_some("--active"));
    words.extend(role.engine.then_some("--engine"));
    words.extend(role.hunts.then_some("--hunts"));
    words.into_iter().map(OsString::from).collect()
}

/// Makes traffic until the link is lost.
///
/// # Errors
/// It cannot begin, or the stack said what it must not say.
pub fn run(args: &flags::Partner) -> Result<(), Failure> {
    let record = Record::open(io::stdin().as_fd()).map_err(|_| {
        Failure::new(
            Kind::Usage,
            "bench storm and bench soak start this; it does nothing by itself",
        )
    })?;
    let mut node = open(&args.directory, &args.name, args.core, args.engine)?;
    let name: Name = STARTER.parse().map_err(|_| internal("no name of a node"))?;
    let linked = if args.hunts { hunt(&mut node, &name) } else { await_link(&mut node, &name) };
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
            // Who started this was killed and could not tidy up.
            callee::remove(&args.directory);
            Ok(())
        }
    }
}
