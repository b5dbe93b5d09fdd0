//! The other core's process: how it is started, found and ends.

use super::explain::{nonsense, silent};
use super::{Options, PATIENCE, Settings};
use crate::base::failure::{Failure, Kind};
use crate::formats::functions::foreign::Named;
use crate::rig::limit::Limits;
use crate::rig::place::{FAREWELL, Other, Process, ended};
use narrows::endpoint::LinkError;
use narrows::link::LinkId;
use narrows_host::Node;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(super) fn spawn(
    options: &Options,
    callee: &Settings,
) -> Result<(Option<Limits>, Child), Failure> {
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
    if let Some(links) = callee.links {
        command.args(["--links", &links.to_string()]);
    }
    for Named { file, function } in &options.functions {
        command.arg("--library").arg(file).args(["--function", function]);
    }
    if let Some(priority) = options.priority {
        command.args(["--priority", &priority.to_string()]);
    }
    if options.lock_memory {
        command.arg("--lock-memory");
    }
    // A group of its own: what the terminal sends to stop the caller is the caller's to handle.
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    if !options.limits {
        return Ok((None, command.spawn().map_err(failed)?));
    }
    let (limits, argument) = Limits::create().map_err(failed)?;
    command.args(["--limits", &argument]);
    let child = limits.lend(|| command.spawn()).map_err(failed)?;
    Ok((Some(limits), child))
}

/// How long is hunted before looking whether the process is still there. A hunt that is given up
/// takes a half-made link with it, so this is far longer than setting one up takes.
const LOOK: Duration = Duration::from_secs(2);

pub(super) fn hunt(node: &mut Node, process: &mut Process) -> Result<LinkId, Failure> {
    let name = super::CALLEE.parse().map_err(|_| nonsense())?;
    await_ready(&mut process.child)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let error = match node.hunt(&name, Some(LOOK)) {
            Ok(link) => return Ok(link),
            Err(error) => error,
        };
        if let Some(how) = process.ended(Duration::ZERO) {
            return Err(Failure::new(Kind::Peer, format!("the other core's process {how}")));
        }
        if error != LinkError::Deadline {
            let sentence = format!("the other core's node cannot be linked to: {error}");
            return Err(Failure::new(Kind::Peer, sentence));
        }
        if Instant::now() >= deadline {
            return Err(silent());
        }
    }
}

/// Waits until the process says, by a byte on its standard output, that its node is open.
fn await_ready(child: &mut Child) -> Result<(), Failure> {
    let mut said = false;
    if let Some(mut output) = child.stdout.take() {
        let mut set = [PollFd::new(&output, PollFlags::IN)];
        let patience = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
        match rustix::event::poll(&mut set, Some(&patience)) {
            Ok(0) => return Err(silent()),
            _ => said = output.read(&mut [0]).is_ok_and(|read| read > 0),
        }
    }
    if said {
        return Ok(());
    }
    let how = ended(child, FAREWELL).unwrap_or_else(|| "closed its output".into());
    Err(Failure::new(Kind::Peer, format!("the other core's process {how}")))
}
