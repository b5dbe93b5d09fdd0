//! One life of the subject under `strace`, and what has to hold after it.

use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use narrows_host::Options;
use rustix::net::SocketAddrUnix;
use rustix::process::{Pid, Signal, kill_process_group};

use super::common::stranger::socket;
use super::partner::Partner;
use super::places::{CLEANING, Faults, calls, errors};
use super::subject::{AGAIN, FAULTS, HANG, LASTING, MARK, PLACE, SCENE, links};

/// How often it is looked whether the traced process has ended.
const LOOK: Duration = Duration::from_millis(1);

/// What a life came to.
pub struct Life {
    /// Calls that failed as they were told to.
    pub failed: usize,
    /// Errors that the subject was given.
    pub errors: Vec<String>,
}

/// Runs a scene in which nothing fails. The calls that can.
///
/// # Errors
/// The scene does not even work without faults.
pub fn traced(scene: &str) -> Result<Vec<(String, u32)>, String> {
    let place = tempfile::tempdir().unwrap();
    let (life, trace) = run(scene, None, place.path())?;
    if !life.errors.is_empty() {
        return Err(format!("errors without a fault: {:?}", life.errors));
    }
    Ok(calls(&trace, MARK))
}

/// Runs a scene in which calls fail.
///
/// # Errors
/// What was promised and does not hold.
pub fn life(faults: &Faults) -> Result<Life, String> {
    let place = tempfile::tempdir().unwrap();
    run(&faults.scene, Some(faults), place.path()).map(|(life, _)| life)
}

fn run(scene: &str, faults: Option<&Faults>, place: &Path) -> Result<(Life, String), String> {
    let (nodes, trace) = (place.join("nodes"), place.join("trace"));
    std::fs::create_dir(&nodes).unwrap();
    if scene == "succeeds" {
        die(&nodes);
    }
    let partner = links(scene).then(|| Partner::open(&nodes, scene == "hunted"));
    let mut subject = start(scene, faults, &nodes, &trace);
    let over = AtomicBool::new(false);
    let (ended, partner) = std::thread::scope(|scope| {
        let partner = scope.spawn(|| partner.map_or(Ok(()), |partner| partner.work(&over)));
        let ended = await_end(&mut subject);
        over.store(true, Ordering::Release);
        (ended, partner.join().expect("the partner does not panic"))
    });
    let said = ended?;
    partner?;
    let trace = std::fs::read_to_string(&trace).unwrap();
    let errors = said.lines().filter_map(|line| line.strip_prefix("error: ")).map(Into::into);
    let errors: Vec<String> = errors.collect();
    if let Some(error) = errors.iter().find(|error| error.contains("is running")) {
        return Err(format!("an error that says what is not so: {error}"));
    }
    // A node that does not open leaves nothing of its own. What a dead one had left stays then, and
    // what a call that fails at the end keeps the node from removing, or a second one as it tidies
    // up behind the first: the next node removes all that.
    let opened = errors.is_empty();
    let two = faults.is_some_and(|faults| faults.calls.len() > 1);
    nothing_left(&nodes, faults, !links(scene) && (opened || two || scene == "succeeds"))?;
    let failed = trace.lines().filter(|line| line.ends_with("(INJECTED)")).count();
    Ok((Life { failed, errors }, trace))
}

/// Leaves what a node of the subject's name leaves that is killed.
fn die(nodes: &Path) {
    let domain = nodes.join("default");
    std::fs::DirBuilder::new().mode(0o700).create(&domain).unwrap();
    let address = SocketAddrUnix::new(domain.join("subject")).unwrap();
    rustix::net::bind(socket(), &address).unwrap();
}

fn start(scene: &str, faults: Option<&Faults>, nodes: &Path, trace: &Path) -> Child {
    let mut names: Vec<&str> = errors().map(|(name, _)| name).collect();
    names.extend(["stat", "statx"]);
    // A call that this architecture does not have is no error.
    let names: Vec<String> = names.into_iter().map(|name| format!("?{name}")).collect();
    let mut command = Command::new("strace");
    command.args(["--follow-forks", "--quiet=all", "--signal=none", "--output"]).arg(trace);
    command.arg(format!("--trace={}", names.join(",")));
    if let Some(faults) = faults {
        let word = |yes| if yes { "1" } else { "0" };
        command.args(faults.injections());
        command.env(FAULTS, faults.calls.len().to_string());
        command.env(AGAIN, word(faults.come_again())).env(LASTING, word(faults.last()));
    }
    command.arg("--").arg(std::env::current_exe().unwrap());
    command
        .env("RUST_BACKTRACE", "0")
        .env(SCENE, scene)
        .env(PLACE, nodes)
        .env_remove("NARROWS_CARRIER");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    command.spawn().unwrap_or_else(|error| match error.kind() {
        ErrorKind::NotFound => panic!(
            "there is no strace, which makes system calls fail: install it with ci/setup, or \
             Debian's package strace"
        ),
        _ => panic!("strace does not start: {error}"),
    })
}

/// Waits until the traced process has ended well, and gives what it printed.
fn await_end(subject: &mut Child) -> Result<String, String> {
    let end = Instant::now() + HANG;
    let status = loop {
        if let Some(status) = subject.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            // The process that is traced, and strace.
            let _ = kill_process_group(Pid::from_child(subject), Signal::KILL);
            let _ = subject.wait();
            return Err("it does not end".into());
        }
        std::thread::sleep(LOOK);
    };
    let (mut said, mut why) = (String::new(), String::new());
    subject.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    subject.stderr.take().unwrap().read_to_string(&mut why).unwrap();
    if status.success() { Ok(said) } else { Err(format!("{status}: {said}{why}")) }
}

/// What is in the directory when all nodes are gone; or, where one may have been kept from removing
/// it, when another has come and gone.
fn nothing_left(nodes: &Path, faults: Option<&Faults>, kept: bool) -> Result<(), String> {
    let left = || -> Vec<_> {
        let domain = nodes.join("default");
        let entries = [nodes, &domain].into_iter().filter_map(|path| std::fs::read_dir(path).ok());
        entries.flatten().map(|entry| entry.unwrap().path()).collect()
    };
    let cleans = |faults: &Faults| {
        let cleans = |name: &str| CLEANING.iter().any(|(call, _)| *call == name);
        faults.last() || faults.calls.iter().any(|fault| cleans(&fault.call))
    };
    if kept || faults.is_some_and(cleans) {
        // What could not be removed is removed by the next node that opens and closes there.
        drop(Options::new("next").directory(nodes).open().map_err(|error| error.to_string())?);
    }
    let left = left();
    if left.is_empty() { Ok(()) } else { Err(format!("left in the directory: {left:?}")) }
}
