//! What a process has at a moment, as the kernel counts it.

use serde::{Deserialize, Serialize};

use crate::base::machine::Root;

/// What one process has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    /// Resident memory in KiB.
    pub rss_kib: u64,
    /// The same without what is read from files, such as the program, and with each shared page
    /// divided by those who share it. Who else runs the same program changes nothing in it.
    pub pss_kib: u64,
    /// Memory that this process alone has and has written to, in KiB. The program's own pages are
    /// not in it: they are this process's alone as soon as nobody else runs it.
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
            pss_kib: of("Pss_Anon")? + of("Pss_Shmem")?,
            private_kib: of("Private_Dirty")?,
            descriptors: root.list(&format!("{at}/fd")).len() as u64,
            mappings: root.text(&format!("{at}/maps"))?.lines().count() as u64,
        })
    }
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
                      Pss_Anon: 200 kB\nPss_File: 470 kB\nPss_Shmem: 30 kB\n\
                      Private_Clean:  100 kB\nPrivate_Dirty:  20 kB\n";
        std::fs::write(process.join("smaps_rollup"), rollup).unwrap();
        std::fs::write(process.join("maps"), "a\nb\n").unwrap();
        let root = Root::at(place.path());
        let expected =
            Footprint { rss_kib: 1000, pss_kib: 230, private_kib: 20, descriptors: 1, mappings: 2 };
        assert_eq!(Footprint::look(&root, 7), Some(expected));
        assert_eq!(Footprint::look(&root, 8), None);
        let own = Footprint::look(&Root::default(), std::process::id()).unwrap();
        assert!(own.rss_kib >= own.private_kib && own.private_kib > 0);
        assert!(own.descriptors >= 3 && own.mappings > 3);
    }
}
