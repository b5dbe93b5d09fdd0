//! What a process has at a moment, as the kernel counts it.

use serde::{Deserialize, Serialize};

use crate::base::machine::Root;

/// What one process has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    /// Resident memory in KiB.
    pub rss_kib: u64,
    /// The same, with each shared page divided by those who share it.
    pub pss_kib: u64,
    /// Memory that nobody shares, in KiB.
    pub private_kib: u64,
    /// Open descriptors.
    pub descriptors: u64,
    /// Mappings.
    pub mappings: u64,
}

impl Footprint {
    /// Looks at a process; none if the system does not let this one, or it is gone.
    pub fn look(root: &Root, process: u32) -> Option<Footprint> {
        let at = format!("proc/{process}");
        let text = root.text(&format!("{at}/smaps_rollup"))?;
        let of = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key))?;
            line.trim_start_matches(':').split_whitespace().next()?.parse::<u64>().ok()
        };
        Some(Footprint {
            rss_kib: of("Rss")?,
            pss_kib: of("Pss")?,
            private_kib: of("Private_Clean")? + of("Private_Dirty")?,
            descriptors: root.list(&format!("{at}/fd")).len() as u64,
            mappings: root.text(&format!("{at}/maps"))?.lines().count() as u64,
        })
    }
}

/// One interval of a soak: what was measured in it, and what there was at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// From the beginning to the end of the interval, in seconds.
    pub at_s: f64,
    /// Messages both ways in the interval, for each second.
    pub messages_per_second: f64,
    /// Calls of this side that were answered in the interval, for each second.
    pub calls_per_second: f64,
    /// From the start of a call to its response, behind all that was under way: half took no
    /// longer.
    pub median_us: f64,
    /// 99 of 100 took no longer.
    pub p99_us: f64,
    /// Blocks of this side that the other had.
    pub blocks: u64,
    /// What this side's process had.
    pub here: Footprint,
    /// What the other's had.
    pub there: Footprint,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_read_as_it_writes() {
        let place = tempfile::tempdir().unwrap();
        let process = place.path().join("proc/7");
        std::fs::create_dir_all(process.join("fd/3")).unwrap();
        let rollup = "5581 - [rollup]\nRss:   1000 kB\nPss:    700 kB\nPss_Dirty: 9 kB\n\
                      Private_Clean:  100 kB\nPrivate_Dirty:  20 kB\n";
        std::fs::write(process.join("smaps_rollup"), rollup).unwrap();
        std::fs::write(process.join("maps"), "a\nb\n").unwrap();
        let root = Root::at(place.path());
        let expected = Footprint {
            rss_kib: 1000,
            pss_kib: 700,
            private_kib: 120,
            descriptors: 1,
            mappings: 2,
        };
        assert_eq!(Footprint::look(&root, 7), Some(expected));
        assert_eq!(Footprint::look(&root, 8), None);
        let own = Footprint::look(&Root::default(), std::process::id()).unwrap();
        assert!(own.rss_kib >= own.private_kib && own.descriptors >= 3 && own.mappings > 3);
    }
}
