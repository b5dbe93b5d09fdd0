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
}
