//! What is seen of programs in C that know nothing of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use narrows_host::observe::{Observer, domains};

/// What was seen.
#[derive(Debug, Default)]
pub struct Found {
    /// Nodes whose pages were read, with their processes.
    pub nodes: BTreeSet<(String, u32)>,
    /// The most that went over a link.
    pub most: u32,
}

/// Looks until it is told that it is over.
pub struct Onlooker {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Found>,
}

impl Onlooker {
    /// Looks at all nodes that meet in a directory.
    pub fn start(meeting: &Path) -> Onlooker {
        let over = Arc::new(AtomicBool::new(false));
        let (ended, meeting) = (Arc::clone(&over), meeting.to_path_buf());
        let thread = std::thread::spawn(move || {
            let mut found = Found::default();
            // Release and acquire: nothing but the flag is handed over.
            while !ended.load(Ordering::Acquire) {
                for domain in domains(Some(&meeting)).unwrap_or_default() {
                    let Ok(mut observer) = Observer::new(domain.as_str(), Some(&meeting)) else {
                        continue;
                    };
                    for seen in observer.look() {
                        let Ok(status) = seen.status else { continue };
                        found.nodes.insert((seen.name.to_string(), status.process));
                        for counts in status.links.iter().filter_map(|link| link.counts) {
                            let all = counts.sent.wrapping_add(counts.channels_sent);
                            found.most = found.most.max(all);
                        }
                    }
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            found
        });
        Onlooker { over, thread }
    }

    /// What was seen until now.
    pub fn end(self) -> Found {
        self.over.store(true, Ordering::Release);
        self.thread.join().expect("it only looks")
    }
}
