//! What a process takes of the processors, in nanoseconds.

use crate::base::threads::had;
use std::collections::BTreeMap;
use std::path::Path;

/// The time that each thread of a process has run, by its number.
///
/// `/proc/PID/schedstat` is of the first thread alone, and `/proc/PID/stat` counts in hundredths of
/// a second, of which a call takes a few.
pub(crate) fn threads(pid: u32) -> BTreeMap<u32, u64> {
    let folder = Path::new("/proc").join(pid.to_string()).join("task");
    let Ok(entries) = std::fs::read_dir(folder) else { return BTreeMap::new() };
    let one = |entry: std::fs::DirEntry| {
        let thread = entry.file_name().to_str()?.parse().ok()?;
        Some((thread, had(&entry.path())?))
    };
    entries.filter_map(|entry| one(entry.ok()?)).collect()
}

/// What was used between two looks. A thread that ended between them is left out.
pub(crate) fn used(before: &BTreeMap<u32, u64>, after: &BTreeMap<u32, u64>) -> u64 {
    after
        .iter()
        .map(|(thread, time)| time.saturating_sub(before.get(thread).copied().unwrap_or(0)))
        .sum()
}

/// The time of a process whose threads come and go: it is looked at now and then, so that of a
/// thread that ends only the time since the last look is missed.
pub(crate) struct Meter {
    pid: u32,
    seen: BTreeMap<u32, u64>,
    /// Of threads that have ended.
    ended: u64,
}

impl Meter {
    pub fn new(pid: u32) -> Meter {
        Meter { pid, seen: BTreeMap::new(), ended: 0 }
    }

    /// Looks at it.
    pub fn look(&mut self) {
        let now = threads(self.pid);
        for (thread, time) in std::mem::replace(&mut self.seen, now) {
            // A number that stands for another thread has begun again.
            if self.seen.get(&thread).is_none_or(|now| *now < time) {
                self.ended += time;
            }
        }
    }

    /// Nanoseconds until the last look.
    pub fn used(&self) -> u64 {
        self.ended + self.seen.values().sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_thread_that_works_is_counted_and_one_that_ended_is_not() {
        let before = threads(std::process::id());
        let end = Instant::now() + Duration::from_millis(30);
        while Instant::now() < end {}
        let after = threads(std::process::id());
        assert!(used(&before, &after) > 0);
        assert_eq!(used(&BTreeMap::from([(1, 5), (2, 9)]), &BTreeMap::from([(2, 12), (3, 4)])), 7);
        assert!(threads(0).is_empty());
    }

    #[test]
    fn a_meter_keeps_what_ended_threads_have_used() {
        let mut meter = Meter::new(std::process::id());
        let begun = std::thread::spawn(|| {
            let end = Instant::now() + Duration::from_millis(30);
            while Instant::now() < end {}
            std::thread::park();
        });
        std::thread::sleep(Duration::from_millis(60));
        meter.look();
        let used = meter.used();
        begun.thread().unpark();
        begun.join().expect("it ends");
        meter.look();
        assert!(meter.used() >= used && used > 0, "{used} {}", meter.used());
    }
}
