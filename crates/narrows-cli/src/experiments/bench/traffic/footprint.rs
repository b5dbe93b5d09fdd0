//! What a process has at a moment, as the kernel counts it.

use serde::{Deserialize, Serialize};

use crate::base::machine::Root;

/// What one process has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    /// Resident memory in KiB.
    pub rss_kib: u64,
    /// The same without what is read from files, such as the program, and with each shared page
    /// divided by the processes that share it. Other processes that run the same program change
    /// nothing in it.
    pub pss_kib: u64,
    /// Memory of no file on a disk that this process alone has and has written to, in KiB. The
    /// program's own pages are not in it: they are this process's alone as soon as nobody else runs
    /// it, and count as written to until a program that was just built has reached the disk.
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
            private_kib: private_kib(&root.text(&format!("{at}/smaps"))?),
            descriptors: root.list(&format!("{at}/fd")).len() as u64,
            mappings: root.text(&format!("{at}/maps"))?.lines().count() as u64,
        })
    }
}

/// What mappings of no file on a disk have to themselves and have written to, in KiB.
fn private_kib(smaps: &str) -> u64 {
    let (mut sum, mut counts) = (0, false);
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("Private_Dirty:") if counts => {
                sum += words.next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0);
            }
            Some(key) if key.ends_with(':') => {}
            // A mapping's first line: range, access, offset, device, inode, name.
            _ => {
                let name = words.nth(4).unwrap_or_default();
                counts = !name.starts_with('/') || name.starts_with("/memfd:");
            }
        }
    }
    sum
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
                      Private_Clean:  100 kB\nPrivate_Dirty:  520 kB\n";
        std::fs::write(process.join("smaps_rollup"), rollup).unwrap();
        let smaps = "55-56 r-xp 00000000 fe:00 264 /usr/bin/narrows\nPrivate_Dirty: 500 kB\n\
                     56-57 rw-s 00000000 00:01 7 /memfd:narrows (deleted)\nPrivate_Dirty: 16 kB\n\
                     57-58 rw-p 00000000 00:00 0 [heap]\nRss: 9 kB\nPrivate_Dirty: 3 kB\n\
                     58-59 rw-p 00000000 00:00 0\nPrivate_Dirty: 1 kB\nVmFlags: rd wr\n";
        std::fs::write(process.join("smaps"), smaps).unwrap();
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
