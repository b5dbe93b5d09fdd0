//! Links that frames over a stream socket carry, between nodes that map nothing of each other.

use std::time::Duration;

use narrows::conformance::{self, Rig, Side};
use narrows::endpoint::Limits;
use narrows::memory::Layout;
use narrows_host::{Carrier, Host, Node, Options};

const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

struct Threads;

fn node(directory: &std::path::Path, name: &str) -> Node {
    let layout = Layout::standard(64).and_then(|layout| layout.with_channels(2, 16));
    let options = Options::new(name).directory(directory).layout(layout.expect("possible"));
    let host = options.copy_engine(None).carrier(Carrier::Stream).open();
    Node::new(host.expect("a node of a new domain"), Limits::default()).expect("storage")
}

impl Rig for Threads {
    type Platform = Host;

    fn run(&self, caller: Side<'_, Host>, callee: Side<'_, Host>) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::thread::scope(|scope| {
            let path = directory.path();
            let other = scope.spawn(move || {
                let mut node = node(path, "callee");
                let link = node.hunt(&"caller".parse().expect("a name"), PATIENCE).expect("a link");
                callee(&mut node, link);
            });
            let mut node = node(path, "caller");
            let name = "callee".parse().expect("a name");
            let link = node.hunt(&name, PATIENCE).expect("a link");
            caller(&mut node, link);
            drop(node);
            other.join().expect("the callee's checks passed");
        });
    }
}

#[test]
fn every_transfer_and_notification_over_frames() {
    let mut ran = 0;
    for strategy in conformance::strategies() {
        conformance::run(&Threads, strategy);
        ran += 1;
    }
    assert_eq!(ran, 60, "six transfers, five notifications, two placements");
}
