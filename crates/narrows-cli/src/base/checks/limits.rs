//! The checks of what this process is allowed: processor time, locked memory, priority, files.

use super::{Finding, Level, finding, good};
use crate::base::machine::Root;

pub(super) fn quota(root: &Root) -> Finding {
    let Some((quota, period)) = limit_of_group(root) else {
        return good("cpu quota", "none");
    };
    let share = quota as f64 / period as f64;
    let found = format!("{quota} µs in each {period} µs, which is {share:.2} cores");
    finding(
        "cpu quota",
        if share < 2.0 { Level::Bad } else { Level::Note },
        found,
        "once it is used up, all threads stand still until the next period: spinning uses it \
         up fastest",
        "lift the container's or the service's limit of processor time while measuring",
    )
}

/// The tightest quota of this process's control group and those above it.
fn limit_of_group(root: &Root) -> Option<(u64, u64)> {
    let groups = root.text("proc/self/cgroup")?;
    let mut tightest: Option<(u64, u64)> = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(mut path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let first = !controllers.is_empty();
        if first && !controllers.split(',').any(|one| one == "cpu") {
            continue;
        }
        loop {
            let found = if first {
                let directory = format!("sys/fs/cgroup/{controllers}{path}");
                root.number(&format!("{directory}/cpu.cfs_quota_us"))
                    .zip(root.number(&format!("{directory}/cpu.cfs_period_us")))
            } else {
                root.text(&format!("sys/fs/cgroup{path}/cpu.max")).and_then(|text| {
                    let (quota, period) = text.split_once(' ')?;
                    Some((quota.parse().ok()?, period.parse().ok()?))
                })
            };
            if let Some((quota, period)) = found.filter(|(_, period)| *period > 0) {
                let share = |(quota, period): (u64, u64)| quota as f64 / period as f64;
                if tightest.is_none_or(|other| share((quota, period)) < share(other)) {
                    tightest = Some((quota, period));
                }
            }
            match path.rsplit_once('/') {
                Some((above, name)) if !name.is_empty() => path = above,
                _ => break,
            }
        }
    }
    tightest
}

/// The soft limit of that name: `None` if it is unknown, the largest number if unlimited.
fn limit(root: &Root, name: &str) -> Option<u64> {
    let text = root.text("proc/self/limits")?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    match rest.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

fn limited(check: &str, value: Option<u64>, enough: u64, unit: &str, poor: [&str; 2]) -> Finding {
    let found = match value {
        None => return good(check, "limit not reported here"),
        Some(u64::MAX) => return good(check, "unlimited"),
        Some(value) => format!("limit {value}{unit}"),
    };
    if value.is_some_and(|value| value >= enough) {
        return good(check, found);
    }
    let [effect, advice] = poor;
    finding(check, Level::Note, found, effect, advice)
}

pub(super) fn locked_memory(root: &Root) -> Finding {
    let effect = "--lock-memory may be refused; the first touch of each page costs a page fault";
    let advice = "ulimit -l unlimited, or memlock in /etc/security/limits.conf";
    let bytes = limit(root, "Max locked memory");
    limited("memlock", bytes, 64 << 20, " bytes", [effect, advice])
}

pub(super) fn real_time(root: &Root) -> Finding {
    let effect = "--priority is refused unless run as root; any process may interrupt";
    let advice = "ulimit -r 99, or rtprio in /etc/security/limits.conf";
    limited("rtprio", limit(root, "Max realtime priority"), 1, "", [effect, advice])
}

pub(super) fn descriptors(root: &Root) -> Finding {
    let effect = "each link takes several descriptors, so few links can be open at once";
    let advice = "ulimit -n 4096";
    limited("nofile", limit(root, "Max open files"), 1024, " files", [effect, advice])
}
