//! What a process has of the system's: descriptors, mappings, sockets, files, children.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long what has ended may still be listed.
const LISTED: Duration = Duration::from_secs(1);

/// How many of each kind this process has, or there are under its directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Possessions(BTreeMap<&'static str, usize>);

impl Possessions {
    /// Looks. What is found in `directory`, and sockets bound there, count too.
    pub fn look(directory: &Path) -> Possessions {
        let text = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let lines =
            |file: &str, word: &str| text(file).lines().filter(|l| l.contains(word)).count();
        let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
        let named = entries(Path::new("/dev/shm"))
            .filter(|entry| entry.file_name().to_string_lossy().contains("narrows"));
        let threads = entries(Path::new("/proc/self/task"));
        let children = threads.map(|thread| {
            let children = text(&thread.path().join("children").to_string_lossy());
            children.split_whitespace().count()
        });
        let below = directory.to_string_lossy();
        Possessions(BTreeMap::from([
            ("descriptors", entries(Path::new("/proc/self/fd")).count()),
            ("mappings of memory files", lines("/proc/self/maps", "memfd:")),
            ("threads", entries(Path::new("/proc/self/task")).count()),
            ("child processes", children.sum()),
            ("bound sockets", lines("/proc/net/unix", &below)),
            ("entries of the rendezvous", walk(directory)),
            ("files in /dev/shm", named.count()),
        ]))
    }

    /// What there is in the end that was not there now, or the other way round, in words; none if
    /// all is alike. Until it is, or time is up, `meanwhile` is done.
    pub fn left(&self, directory: &Path, mut meanwhile: impl FnMut()) -> Option<String> {
        let deadline = Instant::now() + LISTED;
        loop {
            let left = Possessions::look(directory).since(self);
            if left.is_none() || Instant::now() >= deadline {
                return left;
            }
            meanwhile();
        }
    }

    fn since(&self, before: &Possessions) -> Option<String> {
        let changed = self.0.iter().filter_map(|(what, now)| {
            let then = before.0.get(what).copied().unwrap_or(0);
            (*now != then).then(|| format!("{what}: {then} before, {now} after"))
        });
        let changed: Vec<String> = changed.collect();
        (!changed.is_empty()).then(|| changed.join("; "))
    }
}

fn walk(directory: &Path) -> usize {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    entries.flatten().map(|entry| 1 + walk(&entry.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn whatever_is_left_is_named() {
        let place = tempfile::tempdir().unwrap();
        let before = Possessions::look(place.path());
        let socket = UnixListener::bind(place.path().join("socket")).unwrap();
        let with = Possessions::look(place.path());
        let left = with.since(&before).unwrap();
        for what in ["bound sockets: 0 before, 1 after", "entries of the rendezvous: 0"] {
            assert!(left.contains(what), "{left}");
        }
        drop(socket);
        let after = Possessions::look(place.path());
        assert!(after.since(&before).is_some_and(|left| left.contains("rendezvous")));
        assert_eq!(with.since(&with), None);
    }
}
