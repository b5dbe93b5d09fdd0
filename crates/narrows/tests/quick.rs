//! The short way of a message makes no difference but to speed: by it as by the long way, whatever is
//! sent comes out the most urgent first.
#![cfg(not(loom))]

mod common;

use common::world::{Pair, pair};
use narrows::endpoint::{Address, Message, Select, What};
use narrows::strategy::{self, Acknowledgement};
use proptest::prelude::*;

/// What a receiver sees of a message.
type Seen = (What, u16, usize, u8, u16, Vec<u8>);

#[derive(Clone, Copy, Debug)]
enum Step {
    Send { port: u16, priority: u8, len: usize },
    Receive { port: u16, room: usize },
    Poll,
    Acknowledge(Acknowledgement),
}

fn step() -> impl Strategy<Value = Step> {
    let len = prop_oneof![0usize..=48, Just(49), Just(64), Just(1000)];
    let acks = [Acknowledgement::Interrupt, Acknowledgement::Lazy, Acknowledgement::Batched];
    prop_oneof![
        8 => (1u16..=4, 0u8..=8, len).prop_map(|(port, priority, len)| Step::Send {
            port,
            priority,
            len
        }),
        8 => (1u16..=3, prop_oneof![Just(0usize), Just(20), Just(1000)])
            .prop_map(|(port, room)| Step::Receive { port, room }),
        1 => Just(Step::Poll),
        1 => prop::sample::select(acks.to_vec()).prop_map(Step::Acknowledge),
    ]
}

/// Messages on the way at a time: there is room for them whichever way they are taken.
const MOST: usize = 8;

/// Ports 1 to 3 open on both sides; 4 is not.
fn open() -> Pair {
    let mut pair = pair();
    for port in 1..4 {
        pair.a.open(port).expect("free");
        pair.b.borrow_mut().open(port).expect("free");
    }
    pair
}

fn payload(tag: u16, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at as u16 ^ tag) as u8).collect()
}

/// Receives at `b`, by the short way or by the long one.
fn receive(pair: &Pair, short: bool, port: u16, room: usize) -> Option<Seen> {
    let mut b = pair.b.borrow_mut();
    let mut buffer = vec![0; room];
    let received = if short {
        b.try_receive_into(port, &mut buffer).expect("open")?
    } else {
        let lent = b.try_receive(port, &Select::default()).expect("open")?;
        let fits = lent.len.min(room);
        b.read(&lent, 0, &mut buffer[..fits]).expect("all there");
        let received = *lent;
        b.release(lent);
        received
    };
    let r = received;
    buffer.truncate(r.len);
    Some((r.what, r.from.port, r.len, r.priority, r.tag, buffer))
}

/// What has been sent to a port and not received: port, priority, tag and length.
type Waiting = Vec<(u16, u8, u16, usize)>;

/// What has to come next: the most urgent, and of those the first.
fn next(waiting: &mut Waiting, port: u16, room: usize) -> Option<Seen> {
    let mine = waiting.iter().enumerate().filter(|(_, m)| m.0 == port);
    let (at, _) = mine.min_by_key(|(at, m)| (m.1, *at))?;
    let (_, priority, tag, len) = waiting.remove(at);
    let mut bytes = payload(tag, len);
    bytes.truncate(room);
    Some((What::Message, 1, len, priority, tag, bytes))
}

/// Takes these steps; what is received is compared with what has to come. Returns what came back.
fn run(steps: &[Step], short: bool) -> Vec<u16> {
    let mut pair = open();
    pair.world.tracing.set(!short);
    let (mut waiting, mut refused, mut on_the_way) = (Waiting::new(), Vec::new(), 0);
    let check = |pair: &Pair, waiting: &mut Waiting, port, room| {
        let message = receive(pair, short, port, room);
        assert_eq!(message, next(waiting, port, room));
        message.is_some()
    };
    for (tag, step) in (0..).zip(steps) {
        match *step {
            Step::Send { port, priority, len } if waiting.len() + on_the_way < MOST => {
                let to = Address { link: pair.to_b, port };
                let bytes = payload(tag, len);
                let message = Message::new(&bytes).priority(priority).tag(tag);
                pair.a.try_send(1, to, message).expect("room");
                if port < 4 {
                    waiting.push((port, priority.min(7), tag, len));
                } else {
                    on_the_way += 1;
                }
            }
            Step::Send { .. } => {
                // What is refused has to be heard of before more is sent.
                for port in 1..4 {
                    while check(&pair, &mut waiting, port, 1000) {}
                }
            }
            Step::Receive { port, room } => {
                check(&pair, &mut waiting, port, room);
            }
            Step::Poll => {
                pair.a.poll();
                pair.b.borrow_mut().poll();
            }
            Step::Acknowledge(acknowledgement) => {
                let strategy = strategy::Strategy::default();
                pair.a.set_strategy(strategy::Strategy { acknowledgement, ..strategy });
            }
        }
        while let Some(back) = pair.a.try_receive_into(1, &mut []).expect("open") {
            assert_eq!(back.what, What::Refused);
            refused.push(back.tag);
            on_the_way -= 1;
        }
    }
    for port in 1..4 {
        while check(&pair, &mut waiting, port, 1000) {}
    }
    pair.check_empty();
    while let Some(back) = pair.a.try_receive_into(1, &mut []).expect("open") {
        refused.push(back.tag);
    }
    refused
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_short_way_differs_in_nothing(steps in prop::collection::vec(step(), 1..80)) {
        prop_assert_eq!(run(&steps, true), run(&steps, false));
    }
}
