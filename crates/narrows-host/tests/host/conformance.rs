//! Every driver × notification × placement, between two nodes in two threads.

use std::path::Path;

use crate::common::rig::Threads;
use narrows::conformance;
use narrows::endpoint::Limits;
use narrows::memory::Layout;
use narrows_host::{Node, Options};

fn node(directory: &Path, name: &str) -> Node {
    let layout =
        Layout::standard(narrows_host::LINE).and_then(|layout| layout.with_channels(2, 16));
    let options = Options::new(name).directory(directory).layout(layout.expect("possible"));
    let host = options.copy_engine(None).open();
    Node::new(host.expect("a node of a new domain"), Limits::default()).expect("storage")
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
                conformance::run(&Threads(node), strategy);
                ran += 1;
            }
            assert_eq!(ran, 12, "six notifications in two placements");
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
