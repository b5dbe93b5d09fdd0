//! The checks against trees of files made here.

use super::*;
use crate::base::machine::Machine;

struct Tree {
    place: tempfile::TempDir,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> Tree {
        let place = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = place.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Tree { place }
    }

    fn examine(&self) -> Vec<Finding> {
        examine(&Root::at(self.place.path()))
    }

    fn level(&self, check: &str) -> Level {
        self.examine().into_iter().find(|one| one.check == check).unwrap().level
    }
}

const SPOILED: &[(&str, &str)] = &[
    (
        "proc/cpuinfo",
        "processor : 0\nmodel name : Slow 1\nflags : fpu tsc hypervisor\nprocessor : 1\n",
    ),
    ("proc/sys/kernel/osrelease", "6.1.0\n"),
    ("proc/stat", "cpu  50 0 30 10 0 0 0 10 0 0\ncpu0 1 1\n"),
    ("proc/loadavg", "1.50 0.2 0.1 1/80 123\n"),
    ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0\n"),
    ("proc/self/cgroup", "3:memory:/a\n0::/a/b\n"),
    ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
    ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
    (
        "proc/self/limits",
        "Limit Soft Hard Units\nMax locked memory         65536    65536   bytes\n\
         Max realtime priority     0   0\nMax open files            256  256 files\n",
    ),
    ("proc/sys/kernel/numa_balancing", "1\n"),
    ("sys/devices/system/cpu/online", "0-1\n"),
    ("sys/devices/system/cpu/isolated", "\n"),
    ("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
    ("sys/devices/system/cpu/cpu0/cpuidle/state3/latency", "133\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "acpi_pm\n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
];

#[test]
fn a_spoiled_machine_is_all_findings() {
    let tree = Tree::new(SPOILED);
    for one in tree.examine() {
        assert_ne!(one.level, Level::Good, "{one:?}");
        assert!(!one.effect.is_empty() && !one.advice.is_empty(), "{one:?}");
    }
    for check in ["cores", "frequency", "steal time", "counter", "cpu quota"] {
        assert_eq!(tree.level(check), Level::Bad, "{check}");
    }
    let machine = Machine::look(&Root::at(tree.place.path()));
    assert_eq!((machine.cpu.as_str(), machine.cores), ("Slow 1", 2));
    assert!(machine.virtualised);
}

#[test]
fn a_good_machine_has_none() {
    let tree = Tree::new(&[
        ("proc/cpuinfo", "model name : Fast 1\nflags : tsc constant_tsc nonstop_tsc\n"),
        ("proc/stat", "cpu  50 0 30 1000 0 0 0 0 0 0\n"),
        ("proc/loadavg", "0.00 0.00 0.00 1/80 123\n"),
        ("proc/self/cgroup", "1:cpu,cpuacct:/\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ("proc/self/limits", "Max locked memory unlimited unlimited bytes\n"),
        ("sys/devices/system/cpu/online", "0-7\n"),
        ("sys/devices/system/cpu/isolated", "6-7\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ]);
    for one in tree.examine() {
        assert_eq!(one.level, Level::Good, "{one:?}");
    }
}

#[test]
fn quota_of_the_first_version_is_found() {
    let tree = Tree::new(&[
        ("proc/self/cgroup", "1:cpu:/a\n"),
        ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "400000\n"),
        ("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
    ]);
    assert_eq!(tree.level("cpu quota"), Level::Note);
}

#[test]
fn missing_and_nonsensical_files_are_survived() {
    let empty = Tree::new(&[]);
    assert_eq!(empty.examine().len(), machine::ALL.len());
    let nonsense: Vec<(&str, &str)> =
        SPOILED.iter().map(|(path, _)| (*path, "\u{1}? : -\n")).collect();
    assert_eq!(Tree::new(&nonsense).examine().len(), machine::ALL.len());
}
