//! Two linked nodes of a process, each in a thread of its own.

use std::path::Path;
use std::time::{Duration, Instant};

use super::PATIENCE;
use narrows::conformance::{Rig, Side};
use narrows_host::{Host, Node};

/// Nodes that are opened so.
pub struct Threads(pub fn(&Path, &str) -> Node);

impl Rig for Threads {
    type Platform = Host;

    fn run(&self, caller: Side<'_, Host>, callee: Side<'_, Host>) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        self.run_in(directory.path(), caller, callee);
    }
}

impl Threads {
    /// The same, where the nodes are given this directory.
    pub fn run_in(&self, path: &Path, caller: Side<'_, Host>, callee: Side<'_, Host>) {
        std::thread::scope(|scope| {
            let other = scope.spawn(move || {
                let mut node = self.0(path, "callee");
                let deadline = Instant::now() + PATIENCE;
                loop {
                    let up = node.links().next();
                    if let Some((link, _)) = up {
                        callee(&mut node, link);
                        return;
                    }
                    assert!(Instant::now() < deadline, "the caller did not link");
                    node.wait_any(Some(Duration::from_secs(1)));
                    node.poll();
                }
            });
            let mut node = self.0(path, "caller");
            let name = "callee".parse().expect("a name");
            let link = node.hunt(&name, Some(PATIENCE)).expect("a link");
            caller(&mut node, link);
            drop(node);
            // By name: ThreadSanitizer sees the end of a thread that is joined.
            other.join().expect("the callee's checks passed");
        });
    }
}
