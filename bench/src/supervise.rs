//! Makes a visit: starts its process, waits for what it found, and ends it with all its children if
//! it takes too long.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::contender::{Contender, Mode, Setup};
use crate::visit::{self, Found};

/// What opening and closing a pair may take, beside the measuring.
const GRACE: Duration = Duration::from_secs(15);

/// Which pair to visit.
#[derive(Clone, Copy)]
pub struct Cell {
    /// Whose pair it is.
    pub contender: &'static dyn Contender,
    /// How it waits.
    pub mode: Mode,
    /// Bytes of a message.
    pub bytes: usize,
}

/// Visits a pair for `millis` milliseconds; 0 is a smoke test.
///
/// # Errors
/// Why there is no result, in a sentence.
pub fn visit(cell: &Cell, cores: (usize, usize), millis: u64, number: u64) -> io::Result<Found> {
    let directory = tempfile::Builder::new().prefix("nb").tempdir()?;
    let setup = Setup {
        bytes: cell.bytes,
        mode: cell.mode,
        depth: crate::depth(cell.bytes),
        directory: directory.path().to_owned(),
        tag: format!("nb{}n{number}", std::process::id()),
        cores,
    };
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("visit").arg(millis.to_string());
    command.args(visit::arguments(cell.contender, &setup));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let deadline = Instant::now() + GRACE + Duration::from_millis(10 * millis);
    let output = read(&mut child, deadline);
    // All of the group: an end or a driver that the visit left behind goes too.
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
    sweep(&setup.tag);
    let errors = said(&mut child);
    let failed = |what: &str| io::Error::other(format!("{what}{errors}"));
    let text = output?.ok_or_else(|| failed("it did not end in time"))?;
    serde_json::from_slice(&text).map_err(|_| failed("it gave no result"))
}

/// All that a process writes, until it closes its output; none if that takes too long.
fn read(child: &mut Child, deadline: Instant) -> io::Result<Option<Vec<u8>>> {
    let Some(mut output) = child.stdout.take() else { return Ok(None) };
    let mut text = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: 1_000_000 };
        let mut set = [PollFd::new(&output, PollFlags::IN)];
        if poll(&mut set, Some(&left))? == 0 {
            continue;
        }
        let mut part = [0; 65536];
        match output.read(&mut part)? {
            0 => return Ok(Some(text)),
            count => text.extend_from_slice(part.get(..count).unwrap_or_default()),
        }
    }
}

/// The first line that a process that has ended wrote about its errors.
fn said(child: &mut Child) -> String {
    let mut text = String::new();
    if let Some(errors) = child.stderr.take() {
        let _ = errors.take(4096).read_to_string(&mut text);
    }
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    match line.strip_prefix("narrows-bench: ").unwrap_or(line) {
        "" => String::new(),
        line => format!(": {line}"),
    }
}

/// Removes shared memory that a pair with this tag left behind because it was killed.
fn sweep(tag: &str) {
    let places = [Path::new("/dev/shm"), Path::new("/dev/mqueue")];
    for entry in places.iter().filter_map(|place| place.read_dir().ok()).flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(tag) {
            let path = entry.path();
            let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
        }
    }
}
