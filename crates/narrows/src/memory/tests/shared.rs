use super::{Core, Heap, Pair, class, formatted, message, pair};
use crate::memory::{
    Ack, Block, Corrupt, Descriptor, Kind, Layout, Placed, Plain, PoolError, SetUpError, Shared,
};
use crate::platform::Watch;
use crate::strategy::Placement;
use std::vec::Vec;

const FIRST_SLOT: u32 = 1024;
const TAKEN: u32 = 768;

fn layout(slots: u32, blocks: u32) -> Layout {
    Layout::new(64, slots, &[class(Placement::External, 100, blocks)]).expect("possible")
}

fn small() -> Pair {
    pair(&layout(4, 4), &layout(4, 4))
}

fn send_block(pair: &mut Pair, payload: &[u8], ack: Ack) -> Block {
    let len = payload.len() as u32;
    let block = pair.a.take_block(Placement::External, len).expect("honest").expect("free");
    assert!(pair.a.write(block, 0, payload));
    assert_eq!(pair.a.room(true), Ok(true));
    pair.a.publish(Descriptor { ack, ..message(1) }, Placed::Block { block, len });
    block
}

/// Takes the next message and releases it.
fn receive(pair: &mut Pair) {
    let taken = pair.b.take().expect("honest").expect("sent");
    pair.b.release(&Core, &taken.descriptor);
}

#[test]
fn a_block_travels_and_comes_back() {
    let mut pair = small();
    let sent = send_block(&mut pair, b"in a block", Ack::Lazy);
    let taken = pair.b.take().expect("honest").expect("sent");
    let mut bytes = [0; 10];
    assert!(pair.b.read(taken.descriptor.block.expect("in a block"), 0, &mut bytes));
    assert_eq!((&bytes, taken.descriptor.len), (b"in a block", 10));
    assert_eq!(pair.a.pool().lent(), 1);
    pair.b.release(&Core, &taken.descriptor);
    for _ in 0..3 {
        let other = pair.a.take_block(Placement::External, 1).expect("honest").expect("free");
        assert_ne!(other, sent);
    }
    assert_eq!(pair.a.take_block(Placement::External, 1), Ok(Ok(sent)));
    assert_eq!(pair.a.take_block(Placement::External, 1), Ok(Err(PoolError::Empty)));
    let long = pair.a.take_block(Placement::External, 101);
    assert_eq!(long, Ok(Err(PoolError::TooLong { limit: 100 })));
}

fn post_in_block(pair: &mut Pair, bytes: &[u8]) -> bool {
    let plain = Plain { priority: 0, tag: 1, bytes };
    pair.a.post_in_block(message(0).pack(), Some(Placement::External), plain)
}

#[test]
fn lines_of_the_blocks_that_come_next_are_fetched_together() {
    let layout = Layout::new(64, 8, &[class(Placement::External, 64, 8)]).expect("possible");
    let mut pair = pair(&layout, &layout);
    let first_bytes = |pair: &Pair| {
        let bytes = pair.of_a.bytes();
        [0, 1, 2, 3, 4, 5, 6, 7].map(|index| {
            let (offset, _) = pair.a.own_block(Block::new(0, index)).expect("there");
            bytes[offset as usize]
        })
    };
    let rest = first_bytes(&pair)[7];
    assert_ne!(rest, 0, "what a test would see of a block that was fetched");
    for (sent, fetched) in [(1, 4), (2, 4), (3, 4), (4, 4), (5, 8), (6, 8)] {
        assert!(post_in_block(&mut pair, &[7; 64]));
        let expected = |at| {
            if at < sent {
                7
            } else if at < fetched {
                0
            } else {
                rest
            }
        };
        assert_eq!(first_bytes(&pair), [0, 1, 2, 3, 4, 5, 6, 7].map(expected), "{sent} sent");
    }
}

#[test]
fn what_is_short_takes_no_longer_block_while_a_short_one_has_come_back() {
    let external = |size, count| class(Placement::External, size, count);
    let layout = Layout::new(64, 8, &[external(64, 2), external(4096, 2)]).expect("possible");
    for quick in [false, true] {
        let mut pair = pair(&layout, &layout);
        let mut classes = Vec::new();
        let send = |pair: &mut Pair| {
            if quick {
                assert_eq!(pair.a.room(true), Ok(true));
                assert!(post_in_block(pair, &[7; 64]));
            } else {
                send_block(pair, &[7; 64], Ack::Lazy);
            }
        };
        let mut take = |pair: &mut Pair| {
            let taken = pair.b.take().expect("honest").expect("sent");
            pair.b.release(&Core, &taken.descriptor);
            pair.b.flush(&Core);
            classes.push(taken.descriptor.block.expect("in a block").class());
        };
        for _ in 0..3 {
            (0..2).for_each(|_| send(&mut pair));
            (0..2).for_each(|_| take(&mut pair));
        }
        // All that is short is on its way: what is longer will do.
        (0..3).for_each(|_| send(&mut pair));
        (0..3).for_each(|_| take(&mut pair));
        assert_eq!(classes, [0, 0, 0, 0, 0, 0, 0, 0, 1], "quick: {quick}");
    }
}

#[test]
fn reads_and_writes_stay_inside_their_block() {
    let pair = small();
    let last = Block::new(0, 3);
    for (at, len, inside) in [(0, 100, true), (99, 1, true), (100, 0, true), (99, 2, false)] {
        assert_eq!(pair.a.write(last, at, &[0; 100][..len]), inside);
        assert_eq!(pair.a.read_back(last, at, &mut [0; 100][..len]), inside);
        assert_eq!(pair.b.read(last, at, &mut [0; 100][..len]), inside);
    }
    assert!(!pair.a.write(last, u32::MAX, &[0; 2]));
    assert!(!pair.a.write(Block::new(0, 4), 0, &[0]));
    assert!(!pair.b.read(Block::new(1, 0), 0, &mut [0]));
}

#[test]
fn an_impossible_descriptor_ends_the_link() {
    let block = |class, index| u32::from(Block::new(class, index).0) << 16;
    let kind = |kind: Kind, len: u32| len << 8 | (kind as u32) << 5;
    let none = 0xffff << 16;
    for (first, last, error) in [
        (kind(Kind::Message, 48), none, None),
        (kind(Kind::Message, 49), none, Some(Corrupt::Length)),
        (kind(Kind::Message, 100), block(0, 3), None),
        (kind(Kind::Message, 101), block(0, 3), Some(Corrupt::Length)),
        (kind(Kind::Message, 1), block(0, 4), Some(Corrupt::Block)),
        (kind(Kind::Message, 1), block(1, 0), Some(Corrupt::Block)),
        (kind(Kind::Message, 1), block(15, 4094), Some(Corrupt::Block)),
        (kind(Kind::Control, 48), block(0, 0), None),
        (kind(Kind::Control, 49), block(0, 0), Some(Corrupt::Control)),
        (kind(Kind::Control, 48), none, None),
        (0, none, Some(Corrupt::Kind)),
    ] {
        let Pair { mut b, of_a, .. } = small();
        for (word, value) in [(1, first), (2, 0), (3, last), (0, 1)] {
            of_a.poke(FIRST_SLOT + word * 4, value);
        }
        // The short way takes good messages for its port and leaves all else for the long one.
        let good = error.is_none() && first >> 5 & 7 == Kind::Message as u32;
        let mut to = [0; 200];
        let other = b.take_into::<false>(&Core, 1, true, |_| Some(&mut to[..]));
        assert!(other.is_err(), "for another port");
        if good && last != none {
            let engine = b.take_into::<false>(&Core, 0, false, |_| Some(&mut to[..]));
            assert!(engine.is_err(), "not to be copied");
            let block = b.take_into::<true>(&Core, 0, true, |_| Some(&mut to[..]));
            assert!(block.is_err(), "not in a slot");
        }
        let taken = b.take_into::<false>(&Core, 0, true, |_| Some(&mut to[..]));
        assert_eq!(taken.is_ok(), good, "{first:#x} {last:#x}");
        if taken.is_err() {
            assert_eq!(b.take().err(), error, "{first:#x} {last:#x}");
        }
    }
}

#[test]
fn a_control_message_that_came_in_a_block_looks_as_if_it_had_come_in_its_slot() {
    let mut pair = small();
    let block = pair.a.take_block(Placement::External, 20).expect("honest").expect("free");
    assert!(pair.a.write(block, 0, b"of two stacks, aside"));
    let control = Descriptor { kind: Kind::Control, ..message(1) };
    pair.a.publish(control, Placed::Block { block, len: 20 });
    let taken = pair.b.take().expect("honest").expect("sent");
    assert_eq!((taken.descriptor.block, taken.descriptor.len), (None, 20));
    assert_eq!(&taken.in_slot[..20], b"of two stacks, aside");
    pair.b.release(&Core, &taken.descriptor);
    pair.b.flush(&Core);
    while let Ok(Ok(_)) = pair.a.take_block(Placement::External, 1) {}
    assert_eq!((pair.a.pool().lent(), pair.a.pool().held()), (0, 4), "its block came back");
}

#[test]
fn a_block_that_was_not_lent_cannot_come_back() {
    let returns = FIRST_SLOT + 4 * 64;
    for (name, count) in [(0, 2), (1, 1), (0x0fff, 1), (0x1000, 1), (0xffff, 1), (0x1_0000, 1)] {
        let mut pair = small();
        assert_eq!(send_block(&mut pair, b"x", Ack::Batched), Block(0));
        while let Ok(Ok(_)) = pair.a.take_block(Placement::External, 1) {}
        pair.of_b.poke(returns, name);
        pair.of_b.poke(644, count);
        let taken = pair.a.take_block(Placement::External, 1);
        assert_eq!(taken, Err(Corrupt::Return), "{count} of {name:#x}");
        assert_eq!(pair.a.pool().lent(), 1, "a lie about {name:#x} gives nothing back");
    }
}

#[test]
fn the_sender_is_told_in_the_way_it_asked() {
    for (ack, credit, rings) in [(Ack::Batched, 0, 0), (Ack::Lazy, 1, 0), (Ack::Interrupt, 1, 1)] {
        let mut pair = pair(&layout(64, 64), &layout(64, 64));
        send_block(&mut pair, b"x", ack);
        receive(&mut pair);
        let words = (pair.of_b.word(640), pair.of_b.word(644), pair.bell_of_a.get());
        assert_eq!(words, (credit, credit, rings), "{ack:?}");
        pair.b.flush(&Core);
        assert_eq!((pair.of_b.word(640), pair.of_b.word(644)), (1, 1));
    }
}

#[test]
fn a_sender_that_sleeps_for_credit_is_rung_and_others_are_not() {
    for wanted in [false, true] {
        let mut pair = small();
        pair.a.publish(message(0), Placed::InSlot(b"x"));
        pair.a.tx.want(wanted);
        receive(&mut pair);
        assert_eq!(pair.bell_of_a.get(), u32::from(wanted));
    }
}

#[test]
fn a_receiver_is_rung_only_if_it_is_armed() {
    let mut pair = small();
    pair.a.publish(message(0), Placed::InSlot(b"x"));
    pair.a.ring_if_armed(&Core);
    assert_eq!(pair.bell_of_b.get(), 0);
    pair.b.rx.arm(1);
    pair.a.ring_if_armed(&Core);
    assert_eq!(pair.bell_of_b.get(), 1);
}

#[test]
fn what_is_given_back_goes_with_a_message_whose_bell_sends() {
    for (rung, given) in [(0, 0), (1000, 1)] {
        let mut pair = pair(&layout(256, 64), &layout(256, 64));
        send_block(&mut pair, b"x", Ack::Batched);
        receive(&mut pair);
        pair.a.rx.arm(1);
        pair.bell_of_a.set(rung);
        pair.b.publish(message(0), Placed::InSlot(b"y"));
        pair.b.ring_if_armed(&Core);
        assert_eq!(pair.bell_of_a.get(), rung + 1);
        assert_eq!((pair.of_b.word(640), pair.of_b.word(644)), (given, given));
    }
}

#[test]
fn what_is_held_back_for_a_batch_starves_no_sender() {
    for (slots, senders, receivers) in [(256, 64, 2), (256, 2, 64), (2, 64, 64), (256, 64, 64)] {
        let mut pair = pair(&layout(slots, senders), &layout(slots, receivers));
        for round in 0..300 {
            send_block(&mut pair, b"x", Ack::Batched);
            receive(&mut pair);
            assert_eq!(pair.a.room(true), Ok(true), "round {round}, {receivers} blocks opposite");
        }
    }
}

/// How many messages in blocks of this size, of which there are 48, are received until the sender
/// can see that one came back.
fn received_until_one_comes_back(size: u32) -> usize {
    let layout = Layout::new(64, 256, &[class(Placement::External, size, 48)]).expect("possible");
    let mut pair = pair(&layout, &layout);
    let returned = pair.of_b.word(644);
    (1..=48)
        .find(|_| {
            send_block(&mut pair, b"x", Ack::Batched);
            receive(&mut pair);
            pair.of_b.word(644) != returned
        })
        .expect("some come back")
}

#[test]
fn of_long_blocks_few_are_held_back() {
    let until = [100, 8192, 16384, 65536, 1 << 17, 1 << 20].map(received_until_one_comes_back);
    assert_eq!(until, [11, 11, 8, 2, 1, 1]);
}

#[test]
fn a_return_ring_smaller_than_the_pool_does_not_overflow() {
    let mut pair = pair(&layout(256, 64), &layout(256, 2));
    send_block(&mut pair, b"x", Ack::Batched);
    send_block(&mut pair, b"x", Ack::Batched);
    assert_eq!(pair.a.room(true), Ok(false));
    assert_eq!(pair.a.room(false), Ok(true));
}

#[test]
fn what_a_dead_peer_had_not_taken_is_known_and_its_blocks_come_back() {
    let mut pair = small();
    for _ in 0..3 {
        send_block(&mut pair, b"x", Ack::Batched);
    }
    assert!(matches!(pair.b.take(), Ok(Some(_))));
    assert_eq!(pair.a.first_untaken(), 1);
    for (claim, believed) in [(0, 0), (3, 3)] {
        pair.of_b.poke(TAKEN, claim);
        assert_eq!(pair.a.first_untaken(), believed);
    }
    for claim in [4, 1000, u32::MAX] {
        pair.of_b.poke(TAKEN, claim);
        assert!(pair.a.first_untaken() <= 3);
    }
    assert_eq!(pair.a.pool().lent(), 3);
    pair.a.reclaim_all();
    assert_eq!((pair.a.pool().lent(), pair.a.pool().held()), (0, 0));
}

#[test]
fn halves_that_do_not_fit_make_no_link() {
    let good = formatted(&layout(2, 1));
    let bad = Heap::new(good.bytes().len() as u32);
    let link = |own: &Heap, peer: &Heap| {
        Shared::new(&Core::<64>, own.clone(), peer.clone(), Default::default()).err()
    };
    assert_eq!(link(&bad, &good), Some(SetUpError::Own));
    assert_eq!(link(&good, &bad), Some(SetUpError::Peer(Corrupt::Header)));
    assert_eq!(link(&good, &formatted(&layout(4, 2))), None);
}

#[test]
fn a_payload_fills_a_slot_of_each_line_and_no_more() {
    fn check<const L: u32>(room: u32) {
        let class = class(Placement::Internal, 64, 1);
        let layout = Layout::new(L, 2, &[class]).expect("possible");
        assert_eq!(layout.in_slot(), room);
        let (of_a, of_b) = (formatted(&layout), formatted(&layout));
        let end = |own: &Heap, peer: &Heap| {
            Shared::new(&Core::<L>, own.clone(), peer.clone(), Default::default()).expect("a link")
        };
        let (mut a, mut b) = (end(&of_a, &of_b), end(&of_b, &of_a));
        let payload = &[7; 112][..room as usize];
        let beside = of_a.word(FIRST_SLOT + L);
        a.publish(message(0), Placed::InSlot(payload));
        assert_eq!(of_a.word(FIRST_SLOT + L), beside);
        let taken = b.take().expect("honest").expect("sent");
        assert_eq!((&taken.in_slot[..room as usize], taken.descriptor.len), (payload, room));
        assert!(taken.in_slot[room as usize..].iter().all(|byte| *byte == 0));
    }
    check::<32>(16);
    check::<64>(48);
    check::<128>(112);
}

fn would_sleep(end: &super::End) -> bool {
    !end.starved().iter().any(Watch::changed)
}

#[test]
fn a_sender_out_of_slots_sleeps_whatever_blocks_came_back() {
    let mut pair = pair(&layout(4, 8), &layout(4, 8));
    for _ in 0..2 {
        send_block(&mut pair, b"x", Ack::Lazy);
        receive(&mut pair);
    }
    for _ in 0..4 {
        send_block(&mut pair, b"x", Ack::Lazy);
    }
    assert_eq!(pair.a.room(true), Ok(false));
    assert!(would_sleep(&pair.a));
    receive(&mut pair);
    assert!(!would_sleep(&pair.a));
}

#[test]
fn a_sender_out_of_blocks_sleeps_whatever_credit_came_back() {
    let mut pair = pair(&layout(64, 2), &layout(64, 2));
    pair.a.publish(Descriptor { ack: Ack::Lazy, ..message(0) }, Placed::InSlot(b"x"));
    receive(&mut pair);
    send_block(&mut pair, b"x", Ack::Lazy);
    send_block(&mut pair, b"x", Ack::Lazy);
    assert_eq!(pair.a.take_block(Placement::External, 1), Ok(Err(PoolError::Empty)));
    assert!(would_sleep(&pair.a));
    receive(&mut pair);
    assert!(!would_sleep(&pair.a));
}

#[test]
fn a_platform_that_says_nothing_of_an_engine_has_none() {
    use crate::platform::{EngineError, Platform};
    let heap = formatted(&layout(4, 4));
    assert!(!Core::<64>.has_engine());
    assert_eq!(Core::<64>.engine_store(&heap, 0, b"x", 64), Err(EngineError));
    assert_eq!(Core::<64>.engine_fetch(&heap, 0, &mut [0], 64), Err(EngineError));
}
