//! What the threads of this process have had of the cores, by what they do.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::base::threads::had;
use crate::formats::linx::{DriverName, Stack};

/// What threads of a layered node do; the first is all that the others do not, and the last is no
/// part of a core.
pub const ROLES: [&str; 5] =
    ["application", "interrupt", "receiver", "link handler", "copy engine"];
pub const ENGINE: usize = ROLES.len() - 1;
/// What the threads of the others are called.
const NAMES: [&str; 4] = ["linx-interrupt", "linx-receive", "linx-handler", "narrows-dma"];

/// Times by role.
pub type Times = [Duration; ROLES.len()];

/// The threads of this process there are now, and what each does. None if the system does not tell.
pub fn all() -> BTreeMap<u32, usize> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return BTreeMap::new() };
    let of = |task: fs::DirEntry| {
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        let role = NAMES.iter().position(|own| *own == name.trim()).map_or(0, |at| at + 1);
        Some((task.file_name().to_str()?.parse().ok()?, role))
    };
    tasks.flatten().filter_map(of).collect()
}

/// What these threads have had so far. Zero where the system does not tell.
pub fn times(threads: &BTreeMap<u32, usize>) -> Times {
    let mut times = Times::default();
    for (thread, role) in threads {
        let task = Path::new("/proc/self/task").join(thread.to_string());
        times[*role] += Duration::from_nanos(had(&task).unwrap_or(0));
    }
    times
}

/// By role, what was had between two looks: flat, everything is the application's but what an
/// engine had, if there is one.
pub fn between(
    stack: Stack,
    driver: Option<DriverName>,
    before: &Times,
    after: &Times,
) -> BTreeMap<&'static str, Duration> {
    let all = ROLES.iter().zip(before.iter().zip(after)).enumerate();
    let there = |at: usize| match at {
        0 => true,
        ENGINE => matches!(driver, Some(DriverName::DmaAck | DriverName::DmaNoack)),
        _ => stack == Stack::Layered,
    };
    let had = all.filter(|(at, _)| there(*at));
    had.map(|(_, (role, (before, after)))| (*role, after.saturating_sub(*before))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_works_has_its_time_under_its_role() {
        let work = || {
            let before = times(&all());
            while times(&all())[2] - before[2] < Duration::from_millis(2) {
                std::hint::black_box(0);
            }
            between(Stack::Layered, None, &before, &times(&all()))
        };
        let named = std::thread::Builder::new().name("linx-receive".to_owned());
        let had = named.spawn(work).unwrap().join().unwrap();
        assert!(had["receiver"] >= Duration::from_millis(2), "{had:?}");
        for (stack, driver, roles) in [
            (Stack::Flat, None, 1),
            (Stack::Flat, Some(DriverName::DmaAck), 2),
            (Stack::Layered, Some(DriverName::ShmAck), 4),
            (Stack::Layered, Some(DriverName::DmaNoack), 5),
        ] {
            let had = between(stack, driver, &Times::default(), &Times::default());
            assert_eq!(had.len(), roles, "{stack:?}, {driver:?}");
        }
    }
}
