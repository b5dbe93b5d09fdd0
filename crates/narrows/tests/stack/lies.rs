//! A peer that lies, and regions that are laid out otherwise. Only over the heap: a test that
//! forges has the peer's region in hand, which on a simulated chip nobody but the peer may write,
//! and a chip's links have the layout that its platform says.

use crate::common::heap::Heap;
use crate::common::world::{Pair, SECOND, bytes, name, open, pair, pair_with, serve};
use narrows::endpoint::{Address, Limits, LinkError, Message, Select, What};
use narrows::memory::Corrupt;
use narrows::platform::Lost;
use narrows::strategy::{Strategy, Transfer};

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
    pair.a.link(pair.to_b).attach(1).expect("room");
    pair.a.link(pair.to_b).attach(2).expect("room");
    let to_a = Address { link: pair.to_a, port: 1 };
    for tag in 0..200 {
        let priority = (tag % 8) as u8;
        pair.b
            .borrow_mut()
            .try_send(1, to_a, Message::new(b"one of the last").priority(priority).tag(tag))
            .expect("room");
    }
    pair.kill_b();
    let mut tags = Vec::new();
    loop {
        let got = pair.a.receive(1, &Select::default(), None).expect("more");
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
    let got = pair.a.receive(2, &Select::default(), None).expect("told too");
    assert_eq!(got.what, What::PeerGone(Lost::Died));
    pair.a.release(got);
    assert_eq!(pair.a.link(pair.to_b).attach(1), Err(LinkError::Gone(Lost::Died)));
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
            pair.a.link(pair.to_b).reclaim();
        }),
        (Corrupt::Return, |pair, b, _| {
            b.poke(644, b.word(644) + 1);
            pair.a.link(pair.to_b).reclaim();
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
        pair.a.link(pair.to_b).attach(2).expect("room");
        let region = pair.world.region("b", "a");
        lie(&mut pair, &region, 0);
        pair.a.poll();
        let gone = LinkError::Gone(Lost::Corrupt(reason));
        assert_eq!(pair.a.link(pair.to_b).check(), Err(gone), "lie {case}");
        let told = pair.a.try_receive(2, &Select::default()).expect("open").expect("told");
        assert_eq!(told.what, What::PeerGone(Lost::Corrupt(reason)));
        pair.a.release(told);
        assert_eq!(pair.a.link(pair.to_b).blocks_in_use(), Ok((0, 0)));
        pair.b.borrow_mut().poll();
        assert_eq!(pair.b.borrow_mut().link(pair.to_a).check(), Err(LinkError::Gone(Lost::Closed)));

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
            pair.a.flow(flow).start(b"x").expect("room");
        }
        words[2] |= 0xffff << 16;
        publish(&region, sent, words, payload);
        let _ = pair.a.flow(flow).complete(|_, _| {});
        let gone = LinkError::Gone(Lost::Corrupt(Corrupt::Response));
        assert_eq!(pair.a.link(pair.to_b).check(), Err(gone), "{words:x?}");
        assert_eq!(pair.a.link(pair.to_b).blocks_in_use(), Ok((0, 0)));
    }
}

#[test]
fn a_header_that_lies_makes_no_link() {
    for (word, value) in [(0, 0), (4, 9), (8, 32), (12, 3), (20, 17), (24, 0), (64 + 4, 0)] {
        let world = crate::common::world::World::new();
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
                pair.a.flow(flow).start(&bytes(300, call)).expect("room");
            }
            let _ = pair.a.flow(flow).flush();
            let (layout, _) = pair.a.link(pair.to_b).layouts().expect("up");
            let blocks: u32 = layout.parts()[..4].iter().map(|part| part.1).sum();
            for at in (blocks..layout.size()).step_by(64) {
                region.poke(at, value);
            }
            serve(&mut pair.b.borrow_mut());
            let _ = pair.a.flow(flow).complete(|_, _| {});
            // Only the liar can tell, and end the link.
            pair.b.borrow_mut().poll();
            let up = pair.b.borrow_mut().link(pair.to_a).check();
            assert!(matches!(up, Ok(()) | Err(LinkError::Gone(Lost::Closed))), "{up:?}");
        }
    }
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
    pair.kill_b();
    let last = Select { first_tag: Some(249), ..Select::default() };
    let got = pair.a.receive(1, &last, None).expect("sent");
    assert_eq!(got.tag, 249);
    pair.a.release(got);
}

#[test]
fn a_message_of_no_call_ends_its_link() {
    const NONE: u32 = 0xffff << 16;
    for to_function in [false, true] {
        let mut pair = open();
        // Each has opened the other's function, and nothing has been called.
        let flow = pair.flow("echo", Strategy::default(), 10);
        let begun =
            pair.b.borrow_mut().begin_flow(pair.to_a, &name("echo"), Strategy::default(), 10);
        let of_b = begun.expect("begun");
        for _ in 0..5 {
            serve(&mut pair.a);
            pair.b.borrow_mut().poll();
        }
        assert_eq!(pair.b.borrow_mut().flow(of_b).is_ready(), Ok(true));
        assert_eq!((flow.place(), of_b.place()), (0, 0));
        let region = pair.world.region("b", "a");
        // b has answered two questions and asked two.
        let (kind, reason) =
            if to_function { (2, Corrupt::Control) } else { (3, Corrupt::Response) };
        // A request for the second function of the library, which was not opened.
        let ports = if to_function { 1 } else { 0 };
        publish(&region, 4, [first(kind, 0), ports, NONE], [0; 2]);
        pair.a.poll();
        let gone = LinkError::Gone(Lost::Corrupt(reason));
        assert_eq!(pair.a.link(pair.to_b).check(), Err(gone), "{reason:?}");
    }
}

#[test]
fn a_peer_that_is_alive_in_truth_brings_a_ring_of_messages_more() {
    let few = Limits { inbox: 4, ..Limits::default() };
    let mut pair = crate::common::world::opened(pair_with(few, Limits::default(), |_| {}));
    let to_a = Address { link: pair.to_a, port: 1 };
    let send = |pair: &Pair| pair.b.borrow_mut().try_send(1, to_a, b"x").is_ok();
    while send(&pair) {}
    assert_eq!(pair.a.try_receive(2, &Select::default()), Ok(None));
    pair.world.kill("b");
    pair.a.poll();
    let mut received = 0;
    for _ in 0..200 {
        send(&pair);
        pair.a.poll();
        if let Some(message) = pair.a.try_receive(1, &Select::default()).expect("open") {
            received += 1;
            pair.a.release(message);
        }
        // It goes on as if it had been given credit for all.
        let region = pair.world.region("a", "b");
        region.poke(640, region.word(768));
    }
    assert!((16..=4 + 16 + 16).contains(&received), "{received}");
}
