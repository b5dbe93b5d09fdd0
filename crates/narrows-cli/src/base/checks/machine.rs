//! The checks, each from files to a finding.

use super::limits::{descriptors, locked_memory, quota, real_time};
use super::{Finding, Level, finding, good};
use crate::base::machine::{Root, cores};

pub(super) const ALL: [fn(&Root) -> Finding; 15] = [
    core_count,
    siblings,
    isolation,
    frequency,
    idle,
    virtualisation,
    steal,
    counter,
    load,
    quota,
    locked_memory,
    real_time,
    descriptors,
    huge_pages,
    numa,
];

const CPU: &str = "sys/devices/system/cpu";

fn core_count(root: &Root) -> Finding {
    let online = root.online().len();
    let allowed = root
        .value("proc/self/status", "Cpus_allowed_list")
        .map_or(online, |list| cores(&list).len());
    let found = format!("{online} online, {allowed} of them allowed to this process");
    match allowed.min(online) {
        0 | 1 => finding(
            "cores",
            Level::Bad,
            found,
            "both ends of a link take turns on one core: a wait that would look sleeps or gives \
             way at once, and times are those of the scheduler",
            "allow two cores: taskset, the container's cpuset, or a larger machine; \
             'narrows bench pingpong --cores 0,0' shows what one core gives",
        ),
        2 => finding(
            "cores",
            Level::Note,
            found,
            "everything else on this machine shares the two cores that are measured",
            "stop other work while measuring; read medians rather than maxima",
        ),
        _ => good("cores", found),
    }
}

fn siblings(root: &Root) -> Finding {
    let shared: Vec<String> = root
        .online()
        .iter()
        .filter_map(|core| root.text(&format!("{CPU}/cpu{core}/topology/thread_siblings_list")))
        .filter(|list| cores(list).len() > 1)
        .collect();
    match shared.first() {
        None => good("siblings", "no two cores share one physical core, as far as visible"),
        Some(pair) => finding(
            "siblings",
            Level::Note,
            format!("cores {pair} are two threads of one physical core"),
            "two ends on such a pair share the first-level cache: round trips look shorter, \
             and a spinning end slows the other",
            "choose cores of different pairs with --cores A,B",
        ),
    }
}

fn isolation(root: &Root) -> Finding {
    match root.text(&format!("{CPU}/isolated")).filter(|list| !list.is_empty()) {
        Some(list) => good("isolation", format!("cores {list} are isolated; use them: --cores")),
        None => finding(
            "isolation",
            Level::Note,
            "no core is isolated".to_owned(),
            "other processes and timer ticks interrupt a measurement: p99 and max grow",
            "boot with isolcpus=A,B nohz_full=A,B rcu_nocbs=A,B and use --cores A,B",
        ),
    }
}

fn frequency(root: &Root) -> Finding {
    let mut governors: Vec<String> = root
        .online()
        .iter()
        .filter_map(|core| root.text(&format!("{CPU}/cpu{core}/cpufreq/scaling_governor")))
        .collect();
    governors.sort();
    governors.dedup();
    match governors.as_slice() {
        [] => good("frequency", "no frequency scaling to be seen from here"),
        [one] if one == "performance" => good("frequency", "governor performance"),
        _ => finding(
            "frequency",
            Level::Bad,
            format!("governor {}", governors.join(", ")),
            "a core that waits is slowed down, so sparse messages look slower than dense ones",
            "cpupower frequency-set -g performance (as root)",
        ),
    }
}

fn idle(root: &Root) -> Finding {
    let directory = format!("{CPU}/cpu0/cpuidle");
    let deepest = root
        .list(&directory)
        .iter()
        .filter(|state| root.text(&format!("{directory}/{state}/disable")).as_deref() != Some("1"))
        .filter_map(|state| root.number::<u64>(&format!("{directory}/{state}/latency")))
        .max();
    match deepest {
        Some(latency) if latency > 10 => finding(
            "idle states",
            Level::Note,
            format!("waking from the deepest one takes {latency} µs"),
            "interrupt and hybrid notification include this time whenever the core slept",
            "cpupower idle-set -D 10 (as root), or compare with --notify spin",
        ),
        Some(latency) => good("idle states", format!("waking takes at most {latency} µs")),
        None => good("idle states", "none to be seen from here"),
    }
}

fn virtualisation(root: &Root) -> Finding {
    match root.hypervisor() {
        None => good("hypervisor", "none noticed"),
        Some(kind) => finding(
            "hypervisor",
            Level::Note,
            format!("this machine runs under {kind}"),
            "interrupts between cores cost several times more than on bare metal, and the \
             cores may be taken away at any time",
            "compare ratios within one run, never times between machines",
        ),
    }
}

fn steal(root: &Root) -> Finding {
    let text = root.text("proc/stat").unwrap_or_default();
    let times: Vec<u64> = text
        .lines()
        .find_map(|line| line.strip_prefix("cpu "))
        .unwrap_or_default()
        .split_whitespace()
        // The columns after steal are parts of user time, which is already counted.
        .take(8)
        .filter_map(|field| field.parse().ok())
        .collect();
    let total: u64 = times.iter().copied().fold(0, u64::saturating_add);
    let Some(stolen) = times.get(7).filter(|_| total > 0) else {
        return good("steal time", "not reported here");
    };
    let percent = *stolen as f64 * 100.0 / total as f64;
    let found = format!("{percent:.2} % of the time since boot");
    if percent < 0.1 {
        return good("steal time", found);
    }
    let level = if percent < 2.0 { Level::Note } else { Level::Bad };
    finding(
        "steal time",
        level,
        found,
        "while the hypervisor runs somebody else, the clock goes on: p99 and max grow",
        "use dedicated cores, or measure again at a quieter time",
    )
}

fn counter(root: &Root) -> Finding {
    let source = root
        .text("sys/devices/system/clocksource/clocksource0/current_clocksource")
        .unwrap_or_else(|| "unknown".to_owned());
    let x86 = root.cpu_flag("tsc");
    let steady = root.cpu_flag("constant_tsc") && root.cpu_flag("nonstop_tsc");
    let words = match (x86, steady) {
        (false, _) => "no time-stamp counter of x86".to_owned(),
        (true, true) => "time-stamp counter constant and nonstop".to_owned(),
        (true, false) => "time-stamp counter neither constant nor nonstop for sure".to_owned(),
    };
    let found = format!("{words}; clock source {source}");
    let direct = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];
    if x86 && !steady {
        return finding(
            "counter",
            Level::Bad,
            found,
            "stamps of two cores, or before and after a change of speed, cannot be compared",
            "fix the frequency (governor performance), and trust round trips, not phases",
        );
    }
    if !direct.contains(&source.as_str()) {
        return finding(
            "counter",
            Level::Note,
            found,
            "reading the clock may be a system call, which costs as much as a short message",
            "boot with clocksource=tsc tsc=reliable if the hardware allows it",
        );
    }
    good("counter", found)
}

fn load(root: &Root) -> Finding {
    let text = root.text("proc/loadavg").unwrap_or_default();
    let Some(load) = text.split_whitespace().next().and_then(|one| one.parse::<f64>().ok()) else {
        return good("load", "not reported here");
    };
    let found = format!("{load:.2} processes on average wanted to run in the last minute");
    if load < 0.5 {
        return good("load", found);
    }
    finding(
        "load",
        Level::Note,
        found,
        "other work takes the cores and the caches in turn with the measurement",
        "stop it, or wait until it is done",
    )
}

fn huge_pages(root: &Root) -> Finding {
    let text = root.text("sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let chosen = text.split(['[', ']']).nth(1).unwrap_or("not to be seen from here");
    if chosen != "always" {
        return good("huge pages", format!("transparent huge pages: {chosen}"));
    }
    finding(
        "huge pages",
        Level::Note,
        "transparent huge pages: always".to_owned(),
        "the kernel may move memory about in the background, which shows as rare long calls",
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)",
    )
}

fn numa(root: &Root) -> Finding {
    match root.text("proc/sys/kernel/numa_balancing").as_deref() {
        Some("1" | "2" | "3") => finding(
            "numa",
            Level::Note,
            "automatic balancing between memory nodes is on".to_owned(),
            "pages are unmapped now and then to see who uses them: rare page faults in calls",
            "sysctl kernel.numa_balancing=0 (as root)",
        ),
        _ => good("numa", "no automatic balancing"),
    }
}
