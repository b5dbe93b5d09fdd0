//! What a node costs that sleeps, as the kernel counts it while the node's thread is asleep.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use narrows_host::Node;

use crate::base::failure::{Failure, Kind};

/// The node sleeps this much longer than it is looked at.
const MARGIN: Duration = Duration::from_millis(300);
/// Looks that may be spoilt by a machine that is late.
const TRIES: u32 = 10;

/// What a thread used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// How long it was looked at.
    pub during: Duration,
    /// Processor time.
    pub time: Duration,
    /// How often it gave its core up by itself, which it has to be woken for.
    pub switches: u64,
}

/// Lets a node sleep in a thread of its own, and looks at that from outside.
///
/// # Errors
/// The kernel does not say what a thread uses, or the machine is too busy to look in time.
pub fn look(node: &mut Node, during: Duration) -> Result<Used, Failure> {
    for _ in 0..TRIES {
        if let Some(used) = attempt(node, during).map_err(|error| unknown(&error))? {
            return Ok(used);
        }
    }
    let text = "the machine is too busy to look at a sleeping node in time: end other programs";
    Err(Failure::new(Kind::Deadline, text))
}

/// None if the node may have been about to wake when it was looked at last.
fn attempt(node: &mut Node, during: Duration) -> io::Result<Option<Used>> {
    thread::scope(|scope| {
        let (tell, told) = channel();
        scope.spawn(move || {
            let _ = tell.send((fs::read_link("/proc/thread-self"), Instant::now()));
            let deadline = Instant::now() + during + MARGIN;
            while let Some(left) = deadline.checked_duration_since(Instant::now()) {
                node.wait_any(Some(left));
            }
        });
        let (task, began) = told.recv().map_err(io::Error::other)?;
        let task = Path::new("/proc").join(task?);
        while !asleep(&task)? {
            if began.elapsed() > MARGIN / 2 {
                return Ok(None);
            }
            thread::yield_now();
        }
        let (start, before) = (Instant::now(), counted(&task)?);
        thread::sleep(during.saturating_sub(began.elapsed()));
        let after = counted(&task)?;
        let used = Used {
            during: start.elapsed(),
            time: after.0.saturating_sub(before.0),
            switches: after.1.saturating_sub(before.1),
        };
        Ok((began.elapsed() < during + MARGIN / 2).then_some(used))
    })
}

/// Whether a thread sleeps until something happens.
fn asleep(task: &Path) -> io::Result<bool> {
    let text = fs::read_to_string(task.join("stat"))?;
    // The name before the state may have spaces and brackets of its own.
    Ok(text.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S')))
}

/// Processor time and voluntary switches of a thread until now.
fn counted(task: &Path) -> io::Result<(Duration, u64)> {
    let schedule = fs::read_to_string(task.join("schedstat"))?;
    let nanos = schedule.split_whitespace().next().and_then(|word| word.parse().ok());
    let status = fs::read_to_string(task.join("status"))?;
    let switches = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    let switches = switches.and_then(|count| count.trim().parse().ok());
    match (nanos, switches) {
        (Some(nanos), Some(switches)) => Ok((Duration::from_nanos(nanos), switches)),
        _ => Err(io::Error::other("its words are not those expected")),
    }
}

fn unknown(error: &io::Error) -> Failure {
    let text = format!(
        "what a sleeping thread uses cannot be read from /proc ({error}): mount it, on a kernel \
         with CONFIG_SCHED_INFO"
    );
    Failure::new(Kind::Internal, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_thread_is_told_from_a_sleeping_one() {
        let task = Path::new("/proc").join(fs::read_link("/proc/thread-self").unwrap());
        assert!(!asleep(&task).unwrap());
        let before = counted(&task).unwrap();
        let start = narrows_host::system::thread_time();
        while narrows_host::system::thread_time() < start + Duration::from_millis(20) {}
        thread::sleep(Duration::from_millis(1));
        let after = counted(&task).unwrap();
        assert!(after.0 >= before.0 + Duration::from_millis(15), "{before:?} {after:?}");
        assert!(after.1 > before.1, "{before:?} {after:?}");
        assert!(counted(Path::new("/proc/none")).is_err());
    }
}
