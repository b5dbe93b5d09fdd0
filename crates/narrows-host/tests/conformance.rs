//! Every driver × notification × placement, between two nodes in two threads.

use std::time::{Duration, Instant};

use narrows::conformance::{self, Rig, Side};
use narrows::endpoint::Limits;
use narrows::memory::Layout;
use narrows_host::{Host, Node, Options};

struct Threads;

fn node(directory: &std::path::Path, name: &str) -> Node {
    let layout = Layout::standard(64).and_then(|layout| layout.with_channels(2, 16));
    let options = Options::new(name).directory(directory).layout(layout.expect("possible"));
    let host = options.copy_engine(None).open();
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
                let deadline = Instant::now() + Duration::from_secs(20);
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
            let mut node = node(path, "caller");
            let name = "callee".parse().expect("a name");
            let link = node.hunt(&name, Some(Duration::from_secs(20))).expect("a link");
            caller(&mut node, link);
            drop(node);
            // By name: ThreadSanitizer sees the end of a thread that is joined.
            other.join().expect("the callee's checks passed");
        });
    }
}

/// A test for each transfer, so that they run side by side.
macro_rules! of {
    ($($test:ident: $driver:literal,)+) => {$(
        #[test]
        fn $test() {
            let named = |strategy: &narrows::strategy::Strategy| {
                strategy.to_string().split('/').next() == Some($driver)
            };
            let mut ran = 0;
            for strategy in conformance::strategies().filter(named) {
                conformance::run(&Threads, strategy);
                ran += 1;
            }
            assert_eq!(ran, 10, "five notifications in two placements");
        }
    )+};
}

of! {
    copy_with_interrupt_acknowledgement: "copy",
    copy_with_lazy_acknowledgement: "copy_lazy",
    copy_with_batched_acknowledgement: "copy_batched",
    single_copy: "single_copy",
    in_place: "in_place",
    copy_engine: "copy_engine",
}
