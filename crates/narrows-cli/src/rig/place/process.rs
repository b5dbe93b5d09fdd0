//! The other core's process: how its caller holds it, and sees it end.

use super::Other;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

/// How long the other process may take to leave by itself.
pub(crate) const FAREWELL: Duration = Duration::from_secs(1);

/// The other core's process, and the directory that both nodes are in.
pub struct Process {
    /// The process.
    pub child: Child,
    // Behind it: it is removed when the process has ended.
    pub(crate) directory: tempfile::TempDir,
}

impl Process {
    /// The directory in which both nodes are.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Other for Process {
    fn ended(&mut self, within: Duration) -> Option<String> {
        ended(&mut self.child, within)
    }

    fn dismiss(&mut self) {
        drop(self.child.stdin.take());
        if self.ended(FAREWELL).is_none() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// How a process ended, if it does within that time.
pub(crate) fn ended(child: &mut Child, within: Duration) -> Option<String> {
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
