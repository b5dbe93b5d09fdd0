//! A peer that dies, closes or lies.
#![cfg(not(loom))]

mod common;

use common::heap::Heap;
use common::world::{Pair, SECOND, all, bytes, in_use, name, pair, pair_with, serve};
use narrows::endpoint::{
    Address, CallError, FlowError, Limits, LinkError, Message, Select, SendError, What,
};
use narrows::memory::{Corrupt, Kind};
use narrows::platform::Lost;
use narrows::strategy::{Strategy, Transfer};

fn open() -> Pair {
    let mut pair = pair();
    for port in 1..4 {
        pair.a.open(port).expect("free");
        pair.b.borrow_mut().open(port).expect("free");
    }
    pair
}

fn kill_b(pair: &mut Pair) {
    pair.a.platform().off_wait();
    pair.world.kill("b");
    pair.a.poll();
}

#[test]
fn what_the_dead_had_not_taken_comes_back_in_order() {
    for transfer in [Transfer::Copy, Transfer::SingleCopy, Transfer::InPlace] {
        let mut pair = open();
        pair.a.set_strategy(Strategy { transfer, ..Strategy::default() });
        let to = Address { link: pair.to_b, port: 1 };
        for tag in 0..5 {
            pair.a.try_send(2, to, Message::new(&bytes(40, tag.into())).tag(tag)).expect("room");
        }
        pair.b.borrow_mut().poll();
        for tag in 5..15 {
            let len = 30 * usize::from(tag - 4);
            pair.a.try_send(2, to, Message::new(&bytes(len, tag.into())).tag(tag)).expect("room");
        }
        assert_eq!(pair.a.undelivered(pair.to_b, |_, _| panic!("it is up")), Ok(0));
        kill_b(&mut pair);
        assert_eq!(pair.a.check(pair.to_b), Err(LinkError::Gone(Lost::Died)));
        let mut tag = 5;
        let count = pair.a.undelivered(pair.to_b, |descriptor, source| {
            let ports = (descriptor.source, descriptor.target, descriptor.tag);
            assert_eq!((descriptor.kind, ports), (Kind::Message, (2, 1, tag)));
            assert!(all(source) == bytes(30 * usize::from(tag - 4), tag.into()));
            tag += 1;
        });
        assert_eq!((count, tag), (Ok(10), 15));
        assert_eq!(pair.a.try_send(2, to, b"x"), Err(SendError::Gone(Lost::Died)));
        assert_eq!(pair.a.blocks_in_use(pair.to_b), Ok((0, 0)));
    }
}

#[test]
fn calls_end_with_the_peer_behind_the_responses_that_arrived() {
    for granularity in [1, 3] {
        let mut pair = pair();
        let strategy = Strategy { granularity, ..Strategy::default() };
        let flow = pair.flow("echo", strategy, 100);
        let reserved = pair.a.reserve(flow, 100).expect("a block");
        for call in 0..6 {
            pair.a.start(flow, &bytes(90, call)).expect("room");
        }
        serve(&mut pair.b.borrow_mut());
        for call in 6..10 {
            pair.a.start(flow, &bytes(90, call)).expect("room");
        }
        kill_b(&mut pair);
        let mut to = [0; 100];
        for call in 0..6_u16 {
            let done = pair.a.finish(flow, &mut to, SECOND).expect("it arrived");
            assert_eq!((done.number, to[..90] == bytes(90, call.into())), (call, true));
        }
        let gone = Err(CallError::Gone(Lost::Died));
        assert_eq!(pair.a.finish(flow, &mut to, None), gone);
        assert_eq!(pair.a.complete(flow, |_, _| {}), Err(CallError::Gone(Lost::Died)));
        assert_eq!(pair.a.start(flow, b"x"), Err(SendError::Gone(Lost::Died)));
        assert_eq!(pair.a.switch(flow, strategy, None), Err(FlowError::Gone(Lost::Died)));
        pair.a.cancel(reserved);
        assert_eq!(pair.a.blocks_in_use(pair.to_b), Ok((0, 0)));
        pair.a.close_flow(flow).expect("over");
    }
}

#[test]
fn the_notice_comes_behind_the_last_message_however_many_there_are() {
    let small = Limits { inbox: 7, ..Limits::default() };
    let mut pair = pair_with(small, Limits::default(), |state| {
        let classes = state.layout.get();
        let wide = narrows::memory::Layout::new(64, 256, classes.classes()).expect("possible");
        state.layout.set(wide);
    });
    pair.a.open(1).expect("free");
    pair.a.open(2).expect("free");
    pair.b.borrow_mut().open(1).expect("free");
    pair.a.attach(pair.to_b, 1).expect("room");
    pair.a.attach(pair.to_b, 2).expect("room");
    let to_a = Address { link: pair.to_a, port: 1 };
    for tag in 0..200 {
        let priority = (tag % 8) as u8;
        pair.b
            .borrow_mut()
            .try_send(1, to_a, Message::new(b"one of the last").priority(priority).tag(tag))
            .expect("room");
    }
    kill_b(&mut pair);
    let mut tags = Vec::new();
    loop {
        let got = pair.a.receive(1, &Select::default(), None).expect("open").expect("more");
        let (what, tag, link) = (got.what, got.tag, got.from.link);
        pair.a.release(got);
        if what != What::Message {
            assert_eq!((what, link), (What::PeerGone(Lost::Died), pair.to_b));
            break;
        }
        tags.push(tag);
    }
    tags.sort_unstable();
    assert_eq!(tags, (0..200).collect::<Vec<_>>());
    let got = pair.a.receive(2, &Select::default(), None).expect("open").expect("told too");
    assert_eq!(got.what, What::PeerGone(Lost::Died));
    pair.a.release(got);
    assert_eq!(pair.a.attach(pair.to_b, 1), Err(LinkError::Gone(Lost::Died)));
}

#[test]
fn waits_end_with_the_peer_though_the_inbox_is_full() {
    let limits = Limits { inbox: 3, ..Limits::default() };
    let mut pair = pair_with(limits, Limits::default(), |_| {});
    pair.a.open(1).expect("free");
    pair.b.borrow_mut().open(1).expect("free");
    let flow = pair.flow("echo", Strategy::default(), 10);
    let to_a = Address { link: pair.to_a, port: 1 };
    for tag in 0..8 {
        pair.b.borrow_mut().try_send(1, to_a, Message::new(b"in the way").tag(tag)).expect("room");
    }
    pair.a.start(flow, b"x").expect("room");
    serve(&mut pair.b.borrow_mut());
    kill_b(&mut pair);
    assert_eq!(pair.a.finish(flow, &mut [0; 10], None), Err(CallError::Gone(Lost::Died)));
    for tag in 0..8 {
        let got = pair.a.receive(1, &Select::default(), None).expect("open").expect("there");
        assert_eq!(got.tag, tag);
        pair.a.release(got);
    }
    assert_eq!(pair.a.finish(flow, &mut [0; 10], None).map(|done| done.len), Ok(1));
}

#[test]
fn a_callee_forgets_the_requests_of_the_dead() {
    let limits = Limits { inbox: 4, ..Limits::default() };
    let mut pair = pair_with(Limits::default(), limits, |_| {});
    pair.b.borrow_mut().open(1).expect("free");
    let flow = pair.flow("echo", Strategy::default(), 10);
    pair.b.borrow_mut().attach(pair.to_a, 1).expect("room");
    for _ in 0..10 {
        pair.a.start(flow, b"x").expect("room");
    }
    pair.b.borrow_mut().poll();
    pair.world.kill("a");
    let mut b = pair.b.borrow_mut();
    b.poll();
    assert_eq!(serve(&mut b), 0);
    let told = b.try_receive(1, &Select::default()).expect("open").expect("told");
    assert_eq!(told.what, What::PeerGone(Lost::Died));
    b.release(told);
    assert_eq!(b.blocks_in_use(pair.to_a), Ok((0, 0)));
}

#[test]
fn the_next_life_is_linked_to_and_names_of_the_last_stay_dead() {
    let mut pair = open();
    let (old, to) = (pair.to_b, Address { link: pair.to_b, port: 1 });
    let flow = pair.flow("echo", Strategy::default(), 10);
    pair.b
        .borrow_mut()
        .try_send(1, Address { link: pair.to_a, port: 1 }, Message::new(b"x").tag(7))
        .expect("room");
    pair.a.poll();
    let held = pair.a.try_receive(1, &Select::default()).expect("open").expect("sent");
    for life in 0..20 {
        kill_b(&mut pair);
        let mut b = pair.world.node("b", Limits::default());
        b.open(1).expect("free");
        let link = pair.a.hunt(&name("b"), SECOND).expect("alive again");
        let before = pair.a.peer(pair.to_b).expect("not closed").1;
        assert_ne!(pair.a.peer(link).expect("up").1, before);
        pair.a.close(pair.to_b);
        assert_eq!(pair.a.check(pair.to_b), Err(LinkError::Unknown));
        assert_eq!(pair.a.check(old), Err(LinkError::Unknown));
        assert_eq!(pair.a.try_send(1, to, b"x"), Err(SendError::Unknown));
        assert_eq!(pair.a.start(flow, b"x"), Err(SendError::Unknown));
        assert!(pair.a.read(&held, 0, &mut [0]).is_err());
        assert_eq!(pair.a.links().count(), 1, "life {life}");
        pair.a
            .try_send(1, Address { link, port: 1 }, Message::new(b"hello").tag(life))
            .expect("room");
        b.poll();
        let got = b.try_receive(1, &Select::default()).expect("open").expect("sent");
        assert_eq!(got.tag, life);
        pair.to_a = got.from.link;
        b.release(got);
        pair.to_b = link;
    }
    pair.a.release(held);
}

#[test]
fn closing_a_link_tells_the_peer_and_keeps_nothing() {
    let mut pair = open();
    let flow = pair.flow("echo", Strategy { granularity: 4, ..Strategy::default() }, 10);
    pair.a.start(flow, b"gathered").expect("room");
    let to_a = Address { link: pair.to_a, port: 1 };
    pair.b.borrow_mut().try_send(1, to_a, &bytes(100, 0)).expect("room");
    pair.a.poll();
    pair.a.begin_switch(flow, Strategy::default()).expect("runs");
    pair.a.close(pair.to_b);
    let nothing = pair.a.try_receive(1, &Select::default());
    assert_eq!(nothing, Ok(None));
    let mut b = pair.b.borrow_mut();
    b.poll();
    assert_eq!(b.check(pair.to_a), Err(LinkError::Gone(Lost::Closed)));
    assert_eq!(in_use(&mut b, pair.to_a), (0, 0));
}

const SLOTS: u32 = 1024;

/// The offset of the slot of b's next message, by how many b has sent.
fn slot(region: &Heap, sent: u32) -> u32 {
    let (start, slots) = (region.word(16), region.word(12));
    SLOTS + start.wrapping_add(sent) % slots * 64
}

/// Has b publish a descriptor that its stack would not.
fn publish(region: &Heap, sent: u32, words: [u32; 3], payload: [u32; 2]) {
    let at = slot(region, sent);
    for (i, word) in words.into_iter().enumerate() {
        region.poke(at + 4 + 4 * i as u32, word);
    }
    region.poke(at + 16, payload[0]);
    region.poke(at + 20, payload[1]);
    region.poke(at, region.word(16).wrapping_add(sent + 1));
}

fn first(kind: u32, len: u32) -> u32 {
    len << 8 | kind << 5
}

#[test]
fn every_lie_ends_its_link_with_its_reason_and_no_other() {
    const NONE: u32 = 0xffff << 16;
    type Lie = fn(&mut Pair, &Heap, u32);
    let lies: [(Corrupt, Lie); 17] = [
        (Corrupt::Kind, |_, b, n| publish(b, n, [0, 0, NONE], [0; 2])),
        (Corrupt::Kind, |_, b, n| publish(b, n, [first(1, 4) | 3, 0, NONE], [0; 2])),
        (Corrupt::Length, |_, b, n| publish(b, n, [first(1, 49), 1, NONE], [0; 2])),
        (Corrupt::Length, |_, b, n| publish(b, n, [first(1, 65), 1, 0], [0; 2])),
        (Corrupt::Block, |_, b, n| publish(b, n, [first(1, 4), 1, 9 << 28], [0; 2])),
        (Corrupt::Block, |_, b, n| publish(b, n, [first(1, 4), 1, 0xffe << 16], [0; 2])),
        (Corrupt::Credit, |pair, b, _| {
            b.poke(640, 1000);
            let to = Address { link: pair.to_b, port: 1 };
            while pair.a.try_send(1, to, b"x").is_ok() {}
        }),
        (Corrupt::Credit, |pair, b, _| {
            b.poke(640, u32::MAX);
            pair.a.reclaim(pair.to_b);
        }),
        (Corrupt::Return, |pair, b, _| {
            b.poke(644, b.word(644) + 1);
            pair.a.reclaim(pair.to_b);
        }),
        (Corrupt::Control, |_, b, n| publish(b, n, [first(4, 0), 0, NONE], [0; 2])),
        (Corrupt::Control, |_, b, n| publish(b, n, [first(4, 4), 0, NONE], [0; 2])),
        (Corrupt::Control, |_, b, n| publish(b, n, [first(4, 4), 999, NONE], [0x103, 0])),
        (Corrupt::Control, |_, b, n| publish(b, n, [first(2, 4), 0, NONE], [0; 2])),
        (Corrupt::Control, |_, b, n| publish(b, n, [first(2, 4), 5000 << 16, NONE], [0; 2])),
        (Corrupt::Response, |_, b, n| publish(b, n, [first(3, 4), 0, NONE], [0; 2])),
        (Corrupt::Response, |_, b, n| publish(b, n, [first(3, 4), 7777, NONE], [0; 2])),
        (Corrupt::Control, |_, b, n| publish(b, n, [first(4, 49), 0, 3 << 28], [0; 2])),
    ];
    for (case, (reason, lie)) in lies.into_iter().enumerate() {
        let mut pair = open();
        let mut c = pair.world.node("c", Limits::default());
        c.open(1).expect("free");
        let c_link = c.hunt(&name("a"), None).expect("there");
        pair.a.poll();
        let to_c = pair.a.hunt(&name("c"), None).expect("linked");
        pair.a.attach(pair.to_b, 2).expect("room");
        let region = pair.world.region("b", "a");
        lie(&mut pair, &region, 0);
        pair.a.poll();
        let gone = LinkError::Gone(Lost::Corrupt(reason));
        assert_eq!(pair.a.check(pair.to_b), Err(gone), "lie {case}");
        let told = pair.a.try_receive(2, &Select::default()).expect("open").expect("told");
        assert_eq!(told.what, What::PeerGone(Lost::Corrupt(reason)));
        pair.a.release(told);
        assert_eq!(pair.a.blocks_in_use(pair.to_b), Ok((0, 0)));
        pair.b.borrow_mut().poll();
        assert_eq!(pair.b.borrow().check(pair.to_a), Err(LinkError::Gone(Lost::Closed)));

        pair.a
            .try_send(1, Address { link: to_c, port: 1 }, Message::new(b"on").tag(5))
            .expect("another link");
        let got = c.try_receive(1, &Select::default()).expect("open").expect("sent");
        assert_eq!((got.tag, got.from.link), (5, c_link));
        c.release(got);
    }
}

#[test]
fn responses_that_answer_something_else_end_the_link() {
    // The tag of another call; a message of several cut short; one frame for three calls.
    type Answer = (u16, [u32; 3], [u32; 2]);
    let cases: [Answer; 5] = [
        (1, [first(3, 4), 0, 5], [0; 2]),
        (3, [first(3, 2) | 7 << 2, 0, 0], [0; 2]),
        (3, [first(3, 4) | 7 << 2, 0, 0], [0; 2]),
        (3, [first(3, 8) | 7 << 2, 0, 0], [0xff_ffff, 0]),
        (3, [first(3, 4), 0, 0], [0; 2]),
    ];
    for (granularity, mut words, payload) in cases {
        let mut pair = pair();
        let flow = pair.flow("echo", Strategy { granularity, ..Strategy::default() }, 10);
        let region = pair.world.region("b", "a");
        let sent = 2;
        for _ in 0..granularity {
            pair.a.start(flow, b"x").expect("room");
        }
        words[2] |= 0xffff << 16;
        publish(&region, sent, words, payload);
        let _ = pair.a.complete(flow, |_, _| {});
        let gone = LinkError::Gone(Lost::Corrupt(Corrupt::Response));
        assert_eq!(pair.a.check(pair.to_b), Err(gone), "{words:x?}");
        assert_eq!(pair.a.blocks_in_use(pair.to_b), Ok((0, 0)));
    }
}

#[test]
fn a_header_that_lies_makes_no_link() {
    for (word, value) in [(0, 0), (4, 9), (8, 32), (12, 3), (20, 17), (24, 0), (64 + 4, 0)] {
        let world = common::world::World::new();
        let (mut a, _b) = (world.node("a", Limits::default()), world.node("b", Limits::default()));
        narrows::platform::Platform::hunt(a.platform(), &name("b")).expect("there");
        world.region("b", "a").poke(word, value);
        a.poll();
        assert_eq!(a.links().count(), 0, "word at {word}");
        let again = a.hunt(&name("b"), SECOND);
        assert!(again.is_ok(), "an honest region links after all");
    }
}

#[test]
fn a_payload_that_changes_while_it_is_read_in_place_harms_nobody() {
    for granularity in [1, 3] {
        let strategy = Strategy { transfer: Transfer::InPlace, granularity, ..Strategy::default() };
        for value in [0, 1, 0x0000_0100, 0x00ff_ffff, u32::MAX] {
            let mut pair = pair();
            let flow = pair.flow("echo", strategy, 500);
            let region = pair.world.region("a", "b");
            for call in 0..3 {
                pair.a.start(flow, &bytes(300, call)).expect("room");
            }
            let _ = pair.a.flush(flow);
            let (layout, _) = pair.a.layouts(pair.to_b).expect("up");
            let blocks: u32 = layout.parts()[..4].iter().map(|part| part.1).sum();
            for at in (blocks..layout.size()).step_by(64) {
                region.poke(at, value);
            }
            serve(&mut pair.b.borrow_mut());
            let _ = pair.a.complete(flow, |_, _| {});
            // Only the liar can tell, and end the link.
            pair.b.borrow_mut().poll();
            let up = pair.b.borrow().check(pair.to_a);
            assert!(matches!(up, Ok(()) | Err(LinkError::Gone(Lost::Closed))), "{up:?}");
        }
    }
}

#[test]
fn a_reservation_of_a_lost_link_is_worth_nothing() {
    let mut pair = open();
    let flow = pair.flow("echo", Strategy::default(), 10);
    let mut reserved = pair.a.reserve(flow, 100).expect("a block");
    kill_b(&mut pair);
    let error = pair.a.start(flow, &mut reserved);
    assert_eq!(error, Err(SendError::Gone(Lost::Died)));
    assert_eq!(pair.a.reserve(flow, 1).err(), Some(SendError::Gone(Lost::Died)));
    pair.a.close(pair.to_b);
    assert!(pair.a.write(&mut reserved, 0, b"x").is_err());
    pair.a.cancel(reserved);
}

#[test]
fn who_waits_for_one_message_of_the_dead_gets_it_from_behind_many() {
    let mut pair = pair_with(Limits::default(), Limits::default(), |state| {
        let classes = state.layout.get();
        let wide = narrows::memory::Layout::new(64, 256, classes.classes()).expect("possible");
        state.layout.set(wide);
    });
    pair.a.open(1).expect("free");
    pair.b.borrow_mut().open(1).expect("free");
    let to_a = Address { link: pair.to_a, port: 1 };
    for tag in 0..250 {
        pair.b.borrow_mut().try_send(1, to_a, Message::new(b"x").tag(tag)).expect("room");
    }
    pair.a.platform().off_wait();
    pair.world.kill("b");
    let last = Select { first_tag: Some(249), ..Select::default() };
    let got = pair.a.receive(1, &last, None).expect("open").expect("sent");
    assert_eq!(got.tag, 249);
    pair.a.release(got);
}
