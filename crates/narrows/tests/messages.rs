//! Messages between ports, two ends in one thread.
#![cfg(not(loom))]

mod common;

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use common::world::{Pair, SECOND, bytes, in_use, pair, pair_with, serve};
use narrows::endpoint::{Address, Lent, Limits, Message, Select, SendError, What};
use narrows::strategy::{Acknowledgement, Placement, Strategy, Transfer};

const SIZES: [usize; 8] = [0, 1, 47, 48, 49, 64, 1024, 65536];

fn strategies() -> impl Iterator<Item = Strategy> {
    let transfers = [Transfer::Copy, Transfer::SingleCopy, Transfer::InPlace, Transfer::CopyEngine];
    let acks = [Acknowledgement::Interrupt, Acknowledgement::Lazy, Acknowledgement::Batched];
    transfers.into_iter().flat_map(move |transfer| {
        acks.into_iter().flat_map(move |acknowledgement| {
            [Placement::Internal, Placement::External].map(|placement| Strategy {
                transfer,
                acknowledgement,
                placement,
                ..Strategy::default()
            })
        })
    })
}

/// A pair with ports 1 to 3 open on both sides.
fn open() -> Pair {
    opened(pair())
}

fn opened(mut pair: Pair) -> Pair {
    for port in 1..4 {
        pair.a.open(port).expect("free");
        pair.b.borrow_mut().open(port).expect("free");
    }
    pair
}

impl Pair {
    fn b_port(&self, port: u16) -> Address {
        Address { link: self.to_b, port }
    }
    fn send(&mut self, priority: u8, tag: u16, payload: &[u8]) -> Result<(), SendError> {
        let to = self.b_port(1);
        self.a.try_send(1, to, Message::new(payload).priority(priority).tag(tag))
    }
    fn tags(&mut self, select: &Select) -> Vec<u16> {
        let mut b = self.b.borrow_mut();
        let mut tags = Vec::new();
        while let Some(message) = b.try_receive(1, select).expect("open") {
            tags.push(message.tag);
            b.release(message);
        }
        tags
    }
    /// The next message at b, and its bytes.
    fn next(&mut self) -> (Lent, Vec<u8>) {
        let mut b = self.b.borrow_mut();
        let message = b.try_receive(1, &Select::default()).expect("open").expect("sent");
        let mut got = vec![0; message.len];
        assert!(b.read(&message, 0, &mut got).is_ok());
        (message, got)
    }
}

#[test]
fn every_size_travels_there_and_back_in_every_way() {
    for strategy in strategies() {
        let mut pair = open();
        pair.a.set_strategy(strategy);
        let over = pair.a.flow_to(pair.b_port(1), strategy, SECOND).expect("open");
        for (seed, len) in SIZES.into_iter().enumerate() {
            let sent = bytes(len, seed);
            pair.send(3, seed as u16, &sent).expect("room");
            let (message, got) = pair.next();
            assert_eq!((message.what, message.len, message.priority), (What::Message, len, 3));
            assert_eq!((message.tag, message.from.port), (seed as u16, 1));
            assert!(got == sent, "{len} bytes, {strategy}");
            let from = message.from;
            let mut b = pair.b.borrow_mut();
            b.set_strategy(strategy);
            b.release(message);
            b.try_send(2, Address { port: 3, ..from }, Message::new(&got).tag(9)).expect("room");
            drop(b);
            let mut back = vec![0; len + 1];
            let message = pair.a.receive_into(3, &mut back, SECOND).expect("open").expect("sent");
            assert!(back[..message.len] == sent, "{len} bytes back, {strategy}");

            let mut reserved = pair.a.reserve(over, len).expect("a block");
            assert!(pair.a.write(&mut reserved, 0, &sent).is_ok());
            pair.a.try_send_over(over, 1, Message::new(&mut reserved).tag(1)).expect("room");
            assert!(reserved.is_empty());
            let (message, got) = pair.next();
            assert!(got == sent, "{len} bytes reserved, {strategy}");
            pair.b.borrow_mut().release(message);
        }
        pair.check_empty();
    }
}

#[test]
fn the_engine_is_used_where_it_was_chosen_and_its_failure_is_told() {
    let mut pair = open();
    pair.a.set_strategy(Strategy { transfer: Transfer::CopyEngine, ..Strategy::default() });
    pair.send(0, 0, &bytes(1000, 1)).expect("room");
    assert_eq!(pair.a.platform().state.engine_uses.get(), 1);
    pair.a.platform().state.broken.set(true);
    assert_eq!(pair.send(0, 1, &bytes(1000, 2)), Err(SendError::NoEngine));
    assert_eq!(pair.tags(&Select::default()), [0]);
    pair.check_empty();
}

#[test]
fn the_urgent_come_first_and_equals_in_order() {
    let mut pair = open();
    for (tag, priority) in [5, 0, 7, 3, 0, 5, 7, 1, 9].into_iter().enumerate() {
        pair.send(priority, tag as u16, b"x").expect("room");
    }
    assert_eq!(pair.tags(&Select::default()), [1, 4, 7, 3, 0, 5, 2, 6, 8]);
    pair.check_empty();
}

#[test]
fn who_selects_leaves_the_others_where_they_are() {
    let mut pair = open();
    for tag in 0..8 {
        let (to, from) = (pair.b_port(1), 1 + tag % 2);
        pair.a.try_send(from, to, Message::new(&bytes(100, tag.into())).tag(tag)).expect("room");
    }
    let range =
        |first, last| Select { first_tag: Some(first), last_tag: Some(last), ..Select::default() };
    assert_eq!(pair.tags(&range(3, 4)), [3, 4]);
    assert_eq!(pair.tags(&range(7, 7)), [7]);
    assert_eq!(pair.tags(&range(0, 0)), [0]);
    let to_a = pair.to_a;
    assert_eq!(pair.tags(&Select { port: Some(2), ..Select::default() }), [1, 5]);
    assert_eq!(pair.tags(&Select { port: Some(9), ..Select::default() }), []);
    assert_eq!(pair.tags(&Select { link: Some(to_a), ..range(6, 6) }), [6]);
    pair.send(4, 11, b"x").expect("room");
    assert_eq!(pair.tags(&Select::default()), [2, 11]);
    pair.check_empty();
}

#[test]
fn a_message_for_a_closed_port_comes_back_as_a_refusal() {
    let mut pair = open();
    let to = pair.b_port(9);
    for (tag, len) in [(70, 3), (71, 300)] {
        pair.a.try_send(2, to, Message::new(&bytes(len, 0)).tag(tag)).expect("room");
        let refused = pair.a.receive(2, &Select::default(), SECOND).expect("open").expect("told");
        assert_eq!((refused.what, refused.from), (What::Refused, to));
        assert_eq!((refused.tag, refused.len), (tag, 4));
        pair.a.release(refused);
    }
    pair.a.close_port(2).expect("open");
    assert_eq!(pair.a.try_send(2, to, Message::new(b"x").tag(1)), Err(SendError::Closed));
    pair.check_empty();
}

#[test]
fn refusals_wait_for_room_and_wake_who_sleeps() {
    let mut pair = open();
    {
        let mut b = pair.b.borrow_mut();
        let to = Address { link: pair.to_a, port: 1 };
        while b.try_send(1, to, b"fills the ring").is_ok() {}
    }
    let to = pair.b_port(9);
    pair.a.try_send(2, to, Message::new(&bytes(100, 0)).tag(5)).expect("room");
    serve(&mut pair.b.borrow_mut());
    let rings = pair.b.borrow().platform().rings();
    pair.b.borrow_mut().arm();
    let mut refused = None;
    for _ in 0..40 {
        if let Some(m) = pair.a.try_receive(1, &Select::default()).expect("open") {
            pair.a.release(m);
        }
        pair.a.arm();
        if pair.b.borrow().platform().rings() > rings {
            serve(&mut pair.b.borrow_mut());
        }
        refused = refused.or(pair.a.try_receive(2, &Select::default()).expect("open"));
    }
    let refused = refused.expect("b was rung when it had room for its answer");
    assert_eq!((refused.what, refused.tag), (What::Refused, 5));
    pair.a.release(refused);
    pair.check_empty();
}

#[test]
fn what_comes_while_another_port_is_looked_at_is_not_slept_over() {
    let mut pair = open();
    let waits = Rc::new(Cell::new(0));
    let mut b = pair.b.borrow_mut();
    let count = waits.clone();
    b.platform().on_wait(move || count.set(count.get() + 1));
    b.poll();
    b.arm();
    assert!(!b.arm(), "nothing came");
    b.wait_any(Some(Duration::from_millis(1)));
    assert!(waits.take() > 0, "so there was a wait");
    for armed in [true, false] {
        assert_eq!(b.try_receive(1, &Select::default()), Ok(None));
        let to = Address { link: pair.to_b, port: 1 };
        pair.a.try_send(1, to, b"for the port that was looked at").expect("room");
        assert_eq!(b.try_receive(2, &Select::default()), Ok(None));
        if armed {
            assert!(b.arm());
            assert!(!b.arm(), "it is said once");
        } else {
            b.wait_any(SECOND);
            assert_eq!(waits.get(), 0, "there was no wait");
        }
        let message = b.try_receive(1, &Select::default()).expect("open").expect("taken in");
        b.release(message);
    }
    drop(b);
    pair.check_empty();
}

#[test]
fn a_message_over_the_limit_is_refused_with_the_limit() {
    let mut pair = open();
    let long = bytes(65537, 0);
    assert_eq!(pair.send(0, 0, &long), Err(SendError::TooLong { limit: 65536 }));
    let to = pair.b_port(1);
    let error = pair.a.send(1, to, &long, SECOND);
    assert_eq!(error, Err(SendError::TooLong { limit: 65536 }));
    pair.check_empty();
}

#[test]
fn a_full_ring_holds_the_sender_and_loses_nothing() {
    let mut pair = open();
    let mut sent = 0;
    while pair.send(0, sent, b"short").is_ok() {
        sent += 1;
    }
    assert_eq!((sent, pair.send(0, sent, b"short")), (16, Err(SendError::RingFull)));
    assert_eq!(pair.tags(&Select::default()), (0..16).collect::<Vec<_>>());
    pair.b.borrow_mut().arm();
    pair.send(0, 16, b"short").expect("room again");
    assert_eq!(pair.tags(&Select::default()), [16]);
    pair.check_empty();
}

#[test]
fn a_pool_that_is_used_up_recovers_when_messages_are_released() {
    let mut pair = open();
    pair.a.set_strategy(Strategy { placement: Placement::Internal, ..Strategy::default() });
    for tag in 0..2 {
        pair.send(0, tag, &bytes(5000, tag.into())).expect("a block");
    }
    assert_eq!(pair.send(0, 2, &bytes(5000, 2)), Err(SendError::PoolEmpty));
    let to = pair.b_port(1);
    let short = Some(Duration::from_millis(1));
    let late = pair.a.send(1, to, Message::new(&bytes(5000, 2)).tag(2), short);
    assert_eq!(late, Err(SendError::Deadline));
    let (message, _) = pair.next();
    pair.b.borrow_mut().release(message);
    pair.a.send(1, to, Message::new(&bytes(5000, 2)).tag(2), SECOND).expect("a block came back");
    assert_eq!(pair.tags(&Select::default()), [1, 2]);
    pair.check_empty();
}

#[test]
fn a_message_held_in_place_stays_while_hundreds_pass() {
    let mut pair = open();
    let kept = bytes(900, 42);
    pair.send(0, 999, &kept).expect("room");
    let (held, _) = pair.next();
    for tag in 0..500 {
        pair.send(0, tag, &bytes(900, tag.into())).expect("room");
        assert_eq!(pair.tags(&Select::default()), [tag]);
    }
    let mut b = pair.b.borrow_mut();
    let same = b.read_in_place(&held, |source| common::world::all(source) == kept);
    assert_eq!(same, Some(true));
    b.release(held);
    drop(b);
    pair.check_empty();
}

#[test]
fn a_full_inbox_leaves_messages_in_the_ring() {
    let limits = Limits { inbox: 5, ..Limits::default() };
    let mut pair = opened(pair_with(Limits::default(), limits, |_| {}));
    let mut sent: u16 = 0;
    for _ in 0..100 {
        while pair.send(0, sent, &bytes(60, sent.into())).is_ok() {
            sent += 1;
        }
        pair.b.borrow_mut().poll();
        pair.b.borrow_mut().arm();
    }
    assert_eq!(sent, 5 + 16);
    let waits = pair.b.borrow().platform().state.waits.get();
    let none = Select { port: Some(3), ..Select::default() };
    let nothing = pair.b.borrow_mut().receive(1, &none, Some(Duration::from_millis(5)));
    assert_eq!(nothing, Ok(None));
    let spent = pair.b.borrow().platform().state.waits.get() - waits;
    assert!(spent < 10, "a node whose inbox is full sleeps; it looked {spent} times");
    assert_eq!(pair.tags(&Select::default()), (0..sent).collect::<Vec<_>>());
    pair.check_empty();
}

#[test]
fn a_receiver_that_never_waits_gives_credit_for_what_it_keeps() {
    let mut pair = open();
    let none = Select { port: Some(3), ..Select::default() };
    for tag in 0..300 {
        pair.send(0, tag, b"kept for later").expect("the inbox has room, so the ring has");
        assert_eq!(pair.b.borrow_mut().try_receive(1, &none), Ok(None));
    }
    assert_eq!(pair.tags(&Select::default()), (0..300).collect::<Vec<_>>());
    pair.check_empty();
}

#[test]
fn a_flood_on_one_link_leaves_another_undisturbed() {
    let mut pair = open();
    let mut c = pair.world.node("c", Limits::default());
    c.open(1).expect("free");
    let link = c.hunt(&common::world::name("b"), None).expect("b is there");
    pair.b.borrow_mut().poll();
    for round in 0..200 {
        for tag in 0..20 {
            let _ = pair.send(0, tag, &bytes(60, 0));
            let to = pair.b_port(9);
            let _ = pair.a.try_send(1, to, Message::new(&bytes(60, 0)).tag(tag));
        }
        c.try_send(1, Address { link, port: 2 }, Message::new(&bytes(60, 1)).tag(round))
            .expect("room");
        let mut b = pair.b.borrow_mut();
        let got = b.try_receive(2, &Select::default()).expect("open").expect("from c");
        assert_eq!(got.tag, round);
        b.release(got);
    }
    pair.tags(&Select::default());
    while let Some(m) = pair.a.try_receive(1, &Select::default()).expect("open") {
        pair.a.release(m);
        pair.a.arm();
        serve(&mut pair.b.borrow_mut());
    }
    pair.tags(&Select::default());
    pair.b.borrow_mut().arm();
    c.poll();
    assert_eq!(in_use(&mut c, link), (0, 0));
}

#[test]
fn two_that_send_to_each_other_until_full_do_not_stop_each_other() {
    let mut pair = open();
    let (to_a, b) = (Address { link: pair.to_a, port: 1 }, pair.b.clone());
    let counter = std::rc::Rc::new(std::cell::Cell::new(0));
    let count = counter.clone();
    pair.a.platform().on_wait(move || {
        let mut b = b.borrow_mut();
        b.poll();
        if b.try_send(1, to_a, Message::new(&bytes(40, 0)).tag(count.get())).is_ok() {
            count.set(count.get() + 1);
        }
    });
    let to = pair.b_port(1);
    for tag in 0..400 {
        pair.a
            .send(1, to, Message::new(&bytes(40, 0)).tag(tag), SECOND)
            .expect("b takes in what comes");
        while let Some(m) = pair.a.try_receive(1, &Select::default()).expect("open") {
            pair.a.release(m);
        }
    }
    assert_eq!(pair.tags(&Select::default()), (0..400).collect::<Vec<_>>());
    assert!(counter.get() > 0, "a had to wait, and b sent meanwhile");
}

#[test]
fn a_short_buffer_cuts_a_message_and_its_header_says_how_long_it_was() {
    let mut pair = open();
    assert_eq!(pair.b.borrow_mut().try_receive_into(1, &mut []), Ok(None));
    pair.send(0, 1, b"first").expect("room");
    pair.send(5, 2, b"second").expect("room");
    let mut buffer = [0; 3];
    let mut b = pair.b.borrow_mut();
    let first = b.receive_into(1, &mut buffer, SECOND).expect("open").expect("sent");
    assert_eq!((&buffer, first.len, first.tag), (b"fir", 5, 1));
    let second = b.try_receive_into(1, &mut buffer).expect("open").expect("sent");
    assert_eq!((&buffer, second.len, second.priority), (b"sec", 6, 5));
    drop(b);
    pair.check_empty();
}

#[test]
fn a_reserved_message_is_still_its_makers_until_it_is_sent() {
    let mut pair = open();
    let to = pair.b_port(1);
    let flow = pair.a.flow_to(to, Strategy::default(), SECOND).expect("open");
    let mut made = pair.a.reserve(flow, 100).expect("a block");
    assert!(pair.a.write(&mut made, 0, &bytes(100, 1)).is_ok());
    while pair.send(0, 0, b"x").is_ok() {}
    assert_eq!(pair.a.try_send_over(flow, 1, &mut made), Err(SendError::RingFull));
    assert_eq!(pair.a.try_send(4, to, &mut made), Err(SendError::Closed));
    assert!(!made.is_empty());
    pair.a.send(1, to, Message::new(&mut made).tag(9), SECOND).expect("room in the end");
    assert!(made.is_empty());
    assert_eq!(pair.a.try_send(1, to, &mut made), Err(SendError::NotReserved));
    let only = Select { first_tag: Some(9), ..Select::default() };
    let mut b = pair.b.borrow_mut();
    let message = b.receive(1, &only, SECOND).expect("open").expect("sent");
    let mut got = [0; 100];
    assert!(b.read(&message, 0, &mut got).is_ok());
    assert_eq!(got[..], bytes(100, 1));
    b.release(message);
    drop(b);
    pair.tags(&Select::default());
    pair.check_empty();
}

#[test]
fn a_sleeping_sender_is_woken_by_what_comes_back() {
    let mut pair = open();
    while pair.send(0, 0, b"x").is_ok() {}
    pair.a.set_notification(narrows::strategy::Notification::Interrupt);
    let b = pair.b.clone();
    let mut turns = 0;
    pair.a.platform().on_wait(move || {
        turns += 1;
        if turns == 5 {
            let mut b = b.borrow_mut();
            let got = b.try_receive(1, &Select::default()).expect("open").expect("sent");
            b.release(got);
            b.arm();
        }
    });
    let to = pair.b_port(1);
    pair.a.send(1, to, Message::new(b"x").tag(1), None).expect("room in the end");
    assert!(pair.a.platform().rings() > 0);
}
