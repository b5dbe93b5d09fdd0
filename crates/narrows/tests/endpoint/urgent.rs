//! That the most urgent message comes first, on rings that hold more than is taken at a look.

use crate::common::world::{class, opened, pair_with};
use narrows::endpoint::{Limits, Select};
use narrows::memory::Layout;
use narrows::strategy::Placement;

const SLOTS: u16 = 256;

#[test]
fn an_urgent_message_comes_first_however_many_were_sent_before_it() {
    for inbox in [1, 64, 512] {
        let layout = Layout::new(64, SLOTS.into(), &[class(Placement::External, 64, 4)]);
        let layout = layout.expect("possible");
        let limits = Limits { inbox, ..Limits::default() };
        let mut pair = opened(pair_with(limits, limits, |state| state.layout.set(layout)));
        for urgent in [0, 1, 63, 64, 150, SLOTS - 1] {
            for tag in 0..SLOTS {
                pair.send(if tag == urgent { 0 } else { 7 }, tag, b"x").expect("room");
            }
            let all = pair.tags(&Select::default());
            assert_eq!(all[0], urgent, "with an inbox of {inbox}");
            assert!(all[1..].is_sorted() && all.len() == usize::from(SLOTS));
            // Gives the credit that is held back for a batch.
            pair.b.borrow_mut().arm();
            pair.b.borrow_mut().disarm();
        }
        pair.check_empty();
    }
}

#[test]
fn of_many_urgent_messages_each_comes_before_what_is_less_urgent() {
    let layout = Layout::new(64, SLOTS.into(), &[class(Placement::External, 64, 4)]);
    let layout = layout.expect("possible");
    let mut pair = opened(pair_with(Limits::default(), Limits::default(), |state| {
        state.layout.set(layout);
    }));
    let priority = |tag: u16| (tag * 7 % 8) as u8;
    for tag in 0..SLOTS {
        pair.send(priority(tag), tag, b"x").expect("room");
    }
    let mut expected: Vec<u16> = (0..SLOTS).collect();
    expected.sort_by_key(|tag| priority(*tag));
    assert_eq!(pair.tags(&Select::default()), expected);
    pair.check_empty();
}
