//! Where slots have 16 bytes, most of what two stacks say to each other travels in blocks.
#![cfg(not(loom))]

mod common;

use common::world::{SECOND, bytes, class, pair_with};
use narrows::endpoint::Limits;
use narrows::memory::Layout;
use narrows::strategy::{Placement, Strategy};

#[test]
fn what_stacks_say_travels_in_whatever_memory_there_is() {
    for placement in [Placement::Internal, Placement::External, Placement::Region(2)] {
        let layout = Layout::new(32, 16, &[class(placement, 64, 8), class(placement, 2048, 4)]);
        let layout = layout.expect("possible");
        let limits = Limits::default();
        let mut pair = pair_with(limits, limits, |state| state.layout.set(layout));
        assert_eq!(layout.in_slot(), 16);
        let strategy = Strategy { placement, ..Strategy::default() };
        // More often than there are blocks.
        for round in 0..10 {
            let flow = pair.flow("echo", strategy, 1000);
            for len in [5, 16, 17, 1000] {
                let mut back = vec![0; len];
                let called = pair.a.flow(flow).call(&bytes(len, round), &mut back, SECOND);
                assert_eq!((called, back), (Ok(len), bytes(len, round)), "{placement}");
            }
            pair.a.flow(flow).close().expect("idle");
        }
        pair.check_empty();
    }
}
