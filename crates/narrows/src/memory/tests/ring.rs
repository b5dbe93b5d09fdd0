use proptest::prelude::*;

use super::{Pair, class, formatted, heap, message, pair};
use crate::memory::{Consumer, Corrupt, Descriptor, Layout, Producer};
use crate::platform::Words;
use crate::strategy::Placement;

fn layout(slots: u32, start: u32) -> Layout {
    let class = class(Placement::Internal, 64, 1);
    Layout::new(64, slots, &[class]).expect("possible").starting_at(start)
}

const CREDIT: u32 = 640;

proptest! {
    #[test]
    fn any_words_are_a_descriptor_or_refused(words in any::<[u32; 3]>()) {
        match Descriptor::unpack(words) {
            Ok(descriptor) => prop_assert_eq!(descriptor.pack(), words),
            Err(error) => prop_assert_eq!(error, Corrupt::Kind),
        }
    }

    #[test]
    fn credit_is_believed_only_between_what_was_freed_and_what_was_sent(
        start in prop_oneof![any::<u32>(), (u32::MAX - 5)..],
        sent in 0..=4u32,
        claims in prop::collection::vec(prop_oneof![any::<u32>(), 0..6u32], 1..4),
    ) {
        let (mine, theirs) = (formatted(&layout(4, start)), formatted(&layout(4, 0)));
        let mut tx = Producer::new(&layout(4, start), &mine, &layout(4, 0), &theirs).expect("fits");
        for number in 0..sent {
            prop_assert_eq!(tx.room(), Ok(true));
            tx.publish(&message(number as u16), &[]);
        }
        let mut freed = 0;
        for claim in claims {
            theirs.poke(CREDIT, claim);
            let room = tx.room();
            if sent - freed < 4 {
                prop_assert_eq!(room, Ok(true), "credit is not looked at while there is room");
            } else if (freed..=sent).contains(&claim) {
                freed = claim;
                prop_assert_eq!(room, Ok(sent - freed < 4));
            } else {
                prop_assert_eq!(room, Err(Corrupt::Credit));
            }
        }
    }

    #[test]
    fn a_slot_of_any_words_is_taken_or_refused(words in any::<[u32; 4]>(), awaited: bool) {
        let Pair { a: mut end, of_b, .. } = pair(&layout(2, 0), &layout(2, 0));
        for (i, word) in (0..).zip(words) {
            of_b.poke(1024 + i * 4, if awaited && i == 0 { 1 } else { word });
        }
        if let Ok(Some(taken)) = end.take() {
            let limit = if taken.descriptor.block.is_some() { 64 } else { 48 };
            prop_assert!(taken.descriptor.len <= limit);
        }
    }
}

#[test]
fn sequence_numbers_wrap_round() {
    for start in [0, 1, u32::MAX - 3, u32::MAX - 1, u32::MAX] {
        let of_a = layout(4, start);
        let (mine, theirs) = (formatted(&of_a), formatted(&layout(4, 77)));
        let mut tx = Producer::new(&of_a, &mine, &layout(4, 77), &theirs).expect("fits");
        let mut rx = Consumer::new(&layout(4, 77), &theirs, &of_a, &mine).expect("fits");
        assert_eq!(rx.head(), Ok(None), "an empty ring that starts at {start}");
        let (mut sent, mut taken) = (0u16, 0u16);
        for burst in [1, 4, 2, 3, 4, 4, 1] {
            for _ in 0..burst {
                assert_eq!(tx.room(), Ok(true), "{sent} from {start}");
                tx.publish(&message(sent), &sent.to_le_bytes());
                sent += 1;
            }
            assert_eq!(tx.room(), Ok(burst < 4));
            while let Ok(Some(descriptor)) = rx.head() {
                let mut payload = [0; 2];
                rx.payload(&mut payload);
                assert_eq!((descriptor.tag, u16::from_le_bytes(payload)), (taken, taken));
                assert_eq!(tx.recall(taken.into(), &mut payload).map(|d| d.tag), Some(taken));
                rx.advance(Descriptor::of_size(descriptor.len, descriptor.priority));
                taken += 1;
            }
            assert_eq!(rx.owed(), burst);
            rx.give_credit();
            assert_eq!((rx.owed(), tx.room()), (0, Ok(true)));
        }
        assert_eq!((sent, tx.sent(), rx.taken()), (taken, sent.into(), taken.into()));
    }
}

#[test]
fn slots_ahead_are_asked_for_only_where_so_many_messages_have_gathered() {
    let of_a = layout(32, u32::MAX - 20);
    let (mine, theirs) = (formatted(&of_a), formatted(&layout(32, 0)));
    let mut tx = Producer::new(&of_a, &mine, &layout(32, 0), &theirs).expect("fits");
    let mut rx = Consumer::new(&layout(32, 0), &theirs, &of_a, &mine).expect("fits");
    // `there` messages are there when credit for `taken` is given, and slots are asked for as far
    // `ahead` then.
    for (taken, there, may_pause, ahead) in [
        (8, 0, true, 0),
        (8, 7, false, 0),
        (8, 7, true, 0),
        (8, 8, true, 4),
        (8, 20, false, 4),
        (3, 20, true, 0),
        (4, 20, true, 4),
    ] {
        for _ in 0..taken + there {
            assert_eq!(tx.room(), Ok(true));
            tx.publish(&message(0), &[]);
        }
        (0..taken).for_each(|_| rx.advance(0));
        rx.give_credit();
        rx.gather(taken, may_pause);
        for _ in 0..there {
            let slot = rx.next().wrapping_sub(1);
            rx.advance(0);
            let words = of_a.line() / 4;
            let own = slot.wrapping_mul(words);
            let asked = heap::asked().map_or(0, |asked| asked.wrapping_sub(own));
            assert_eq!(asked, ahead * words, "{taken} taken, {there} there");
        }
        // As before a wait.
        rx.give_credit();
    }
    assert_eq!(tx.room(), Ok(true));
    tx.publish(&message(0), &[]);
    rx.advance(0);
    assert_eq!(heap::asked(), None, "nothing ahead behind a wait");
}

#[test]
fn lines_are_fetched_together_of_free_slots_alone() {
    const PAYLOAD: [u8; 48] = [0xff; 48];
    let of_a = layout(8, 4);
    let (mine, theirs) = (formatted(&of_a), formatted(&layout(8, 0)));
    let mut tx = Producer::new(&of_a, &mine, &layout(8, 0), &theirs).expect("fits");
    let mut rx = Consumer::new(&layout(8, 0), &theirs, &of_a, &mine).expect("fits");
    let last_words = || [0, 1, 2, 3, 4, 5, 6, 7].map(|slot| mine.word(1024 + slot * 64 + 60));
    for number in 0..128u32 {
        let unread = number / 8 % 8;
        while tx.sent() - rx.taken() > unread {
            let mut payload = [0; 48];
            rx.payload(&mut payload);
            assert_eq!(payload, PAYLOAD, "message {} with {unread} behind it", rx.taken());
            rx.advance(0);
        }
        rx.give_credit();
        tx.catch_up().expect("credit");
        let (slot, free) = (number as usize + 4, 8 - (tx.sent() - rx.taken()));
        let mut expected = last_words();
        tx.publish(&message(0), &PAYLOAD);
        if slot.is_multiple_of(4) && free >= 4 {
            [1, 2, 3].iter().for_each(|ahead| expected[(slot + ahead) % 8] = 0);
        }
        expected[slot % 8] = u32::MAX;
        assert_eq!(last_words(), expected, "message {number}, {free} slots free");
    }
}

#[test]
fn credit_is_looked_at_where_too_few_slots_are_known_to_be_free_to_be_fetched_together() {
    const PAYLOAD: [u8; 48] = [0xff; 48];
    for (credit, believed) in [(6, true), (9, false)] {
        let of_a = layout(8, 2);
        let (mine, theirs) = (formatted(&of_a), formatted(&layout(8, 0)));
        let mut tx = Producer::new(&of_a, &mine, &layout(8, 0), &theirs).expect("fits");
        (0..6).for_each(|_| tx.publish(&message(0), &PAYLOAD));
        theirs.poke(CREDIT, credit);
        // To the first of four slots, of which one more is known to be free.
        tx.publish(&message(0), &PAYLOAD);
        let last_words = [2, 3].map(|slot| mine.word(1024 + slot * 64 + 60));
        assert_eq!(last_words, [if believed { 0 } else { u32::MAX }; 2], "credit {credit}");
        assert_eq!(tx.room(), Ok(true));
        tx.publish(&message(0), &PAYLOAD);
        assert_eq!(tx.room(), if believed { Ok(true) } else { Err(Corrupt::Credit) });
    }
}

#[test]
fn a_receiver_is_rung_for_the_message_it_named_and_not_before() {
    for start in [0, u32::MAX - 20] {
        for messages in 1..=4u32 {
            let of_a = layout(4, start);
            let (mine, theirs) = (formatted(&of_a), formatted(&layout(4, 0)));
            let mut tx = Producer::new(&of_a, &mine, &layout(4, 0), &theirs).expect("fits");
            let rx = Consumer::new(&layout(4, 0), &theirs, &of_a, &mine).expect("fits");
            assert!(!tx.must_ring(), "nobody is armed");
            rx.arm(messages);
            for number in 1..=4 {
                tx.publish(&message(0), &[]);
                assert_eq!(tx.must_ring(), number >= messages, "{number} of {messages}");
            }
            rx.disarm();
            assert!(!tx.must_ring());
        }
    }
}

#[test]
fn a_receiver_whose_threshold_would_be_zero_is_rung_all_the_same() {
    let of_a = layout(4, u32::MAX);
    let (mine, theirs) = (formatted(&of_a), formatted(&layout(4, 0)));
    let mut tx = Producer::new(&of_a, &mine, &layout(4, 0), &theirs).expect("fits");
    let rx = Consumer::new(&layout(4, 0), &theirs, &of_a, &mine).expect("fits");
    rx.arm(1);
    tx.publish(&message(0), &[]);
    assert!(tx.must_ring());
}

#[test]
fn a_watch_changes_with_the_message_even_if_it_came_before() {
    let (mine, theirs) = (formatted(&layout(2, 9)), formatted(&layout(2, 0)));
    let mut tx = Producer::new(&layout(2, 9), &mine, &layout(2, 0), &theirs).expect("fits");
    let rx = Consumer::new(&layout(2, 0), &theirs, &layout(2, 9), &mine).expect("fits");
    let early = rx.watched(1);
    assert!(!early.changed());
    tx.publish(&message(0), &[]);
    assert!(early.changed() && rx.watched(1).changed());
    assert_eq!(early.words.load(early.index), 10);
}

#[test]
fn a_message_is_recalled_until_its_slot_is_used_again() {
    let (mine, theirs) = (formatted(&layout(2, 9)), formatted(&layout(2, 0)));
    let mut tx = Producer::new(&layout(2, 9), &mine, &layout(2, 0), &theirs).expect("fits");
    for number in 0..3 {
        theirs.poke(CREDIT, number);
        assert_eq!(tx.room(), Ok(true));
        tx.publish(&message(number as u16), &number.to_le_bytes());
    }
    let mut payload = [0; 4];
    assert!(tx.recall(0, &mut payload).is_none());
    assert!(tx.recall(3, &mut payload).is_none());
    assert_eq!(tx.recall(1, &mut payload).map(|d| d.tag), Some(1));
    assert_eq!(u32::from_le_bytes(payload), 1);
}

#[test]
fn formatting_forgets_an_earlier_link() {
    let region = formatted(&layout(4, 0));
    for offset in (512..1024 + 4 * 64).step_by(4) {
        region.poke(offset, 10);
    }
    let layout = layout(4, 9);
    layout.format(&region).expect("it fits");
    let mut tx = Producer::new(&layout, &region, &layout, &region).expect("fits");
    let rx = Consumer::new(&layout, &region, &layout, &region).expect("fits");
    assert_eq!(rx.head(), Ok(None));
    assert!(!tx.must_ring() && !rx.wanted());
    for _ in 0..4 {
        assert_eq!(tx.room(), Ok(true));
        tx.publish(&message(0), &[]);
    }
    assert_eq!((tx.room(), tx.first_untaken(region.word(768))), (Ok(false), 0));
}
