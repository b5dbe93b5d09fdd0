//! Messages between ports, two ends in one thread.

use crate::common::ground::inside;
use crate::common::world::{SECOND, bytes, open};
use narrows::endpoint::{Address, Message, Select, SendError, What};
use narrows::link::LinkId;
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

#[test]
fn every_size_travels_there_and_back_in_every_way() {
    inside(|| {
        for strategy in strategies() {
            let mut pair = open();
            pair.a.set_strategy(strategy);
            let over = pair.a.open_flow_to(pair.b_port(1), strategy, SECOND).expect("open");
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
                b.try_send(2, Address { port: 3, ..from }, Message::new(&got).tag(9))
                    .expect("room");
                drop(b);
                let mut back = vec![0; len + 1];
                let message = pair.a.receive_into(3, &mut back, SECOND).expect("sent");
                assert!(back[..message.len] == sent, "{len} bytes back, {strategy}");

                let mut reserved = pair.a.flow(over).reserve(len).expect("a block");
                assert!(pair.a.write(&mut reserved, 0, &sent).is_ok());
                pair.a.flow(over).try_send(1, Message::new(&mut reserved).tag(1)).expect("room");
                assert!(reserved.is_empty());
                let (message, got) = pair.next();
                assert!(got == sent, "{len} bytes reserved, {strategy}");
                pair.b.borrow_mut().release(message);
            }
            pair.check_empty();
        }
    });
}

#[test]
fn the_engine_is_used_where_it_was_chosen_and_its_failure_is_told() {
    inside(|| {
        let mut pair = open();
        pair.a.set_strategy(Strategy { transfer: Transfer::CopyEngine, ..Strategy::default() });
        pair.send(0, 0, &bytes(1000, 1)).expect("room");
        assert_eq!(pair.a.platform().state.engine_uses.get(), 1);
        pair.send(0, 2, &bytes(48, 1)).expect("room");
        assert_eq!(pair.a.platform().state.engine_uses.get(), 1, "not for what fits a slot");
        pair.a.platform().state.broken.set(true);
        assert_eq!(pair.send(0, 1, &bytes(1000, 2)), Err(SendError::NoEngine));
        assert_eq!(pair.tags(&Select::default()), [0, 2]);
        pair.check_empty();
    });
}

#[test]
fn who_has_just_sent_from_a_port_sends_from_no_closed_one() {
    inside(|| {
        let mut pair = open();
        let to = pair.b_port(1);
        for port in [1, 2, 1, 1] {
            assert_eq!(pair.a.try_send(port, to, b"x"), Ok(()));
            assert_eq!(pair.a.try_send(9, to, b"x"), Err(SendError::Closed));
        }
        assert_eq!(pair.tags(&Select::default()).len(), 4);
    });
}

#[test]
fn a_message_to_nobody_goes_to_nobody() {
    inside(|| {
        let nobody = Address { link: LinkId::NONE, port: 1 };
        let mut pair = open();
        let to = pair.b_port(1);
        assert_eq!(pair.a.try_send(0, nobody, b"x"), Err(SendError::Closed));
        pair.a.open(0).unwrap();
        for acknowledgement in [Acknowledgement::Batched, Acknowledgement::Lazy] {
            pair.a.set_strategy(Strategy { acknowledgement, ..Strategy::default() });
            for from in [0, 1] {
                assert_eq!(pair.a.try_send(from, nobody, b"x"), Err(SendError::Unknown));
                pair.a.try_send(from, to, b"x").unwrap();
                assert_eq!(pair.a.try_send(from, nobody, b"x"), Err(SendError::Unknown));
            }
        }
        assert_eq!(pair.tags(&Select::default()).len(), 4, "and what was for b came");
    });
}

#[test]
fn the_urgent_come_first_and_equals_in_order() {
    inside(|| {
        let mut pair = open();
        for (tag, priority) in [5, 0, 7, 3, 0, 5, 7, 1, 9].into_iter().enumerate() {
            pair.send(priority, tag as u16, b"x").expect("room");
        }
        assert_eq!(pair.tags(&Select::default()), [1, 4, 7, 3, 0, 5, 2, 6, 8]);
        pair.check_empty();
    });
}

#[test]
fn who_selects_leaves_the_others_where_they_are() {
    inside(|| {
        let mut pair = open();
        for tag in 0..8 {
            let (to, from) = (pair.b_port(1), 1 + tag % 2);
            pair.a
                .try_send(from, to, Message::new(&bytes(100, tag.into())).tag(tag))
                .expect("room");
        }
        let range = |first, last| Select {
            first_tag: Some(first),
            last_tag: Some(last),
            ..Select::default()
        };
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
    });
}

#[test]
fn a_message_for_a_closed_port_comes_back_as_a_refusal() {
    inside(|| {
        let mut pair = open();
        let to = pair.b_port(9);
        for (tag, len) in [(70, 3), (71, 300)] {
            pair.a.try_send(2, to, Message::new(&bytes(len, 0)).tag(tag)).expect("room");
            let refused = pair.a.receive(2, &Select::default(), SECOND).expect("told");
            assert_eq!((refused.what, refused.from), (What::Refused, to));
            assert_eq!((refused.tag, refused.len), (tag, 4));
            pair.a.release(refused);
        }
        pair.a.close(2).expect("open");
        assert_eq!(pair.a.try_send(2, to, Message::new(b"x").tag(1)), Err(SendError::Closed));
        pair.check_empty();
    });
}

#[test]
fn a_message_over_the_limit_is_refused_with_the_limit() {
    inside(|| {
        let mut pair = open();
        let long = bytes(65537, 0);
        assert_eq!(pair.send(0, 0, &long), Err(SendError::TooLong { limit: 65536 }));
        let to = pair.b_port(1);
        let error = pair.a.send(1, to, &long, SECOND);
        assert_eq!(error, Err(SendError::TooLong { limit: 65536 }));
        pair.check_empty();
    });
}

#[test]
fn a_short_buffer_cuts_a_message_and_its_header_says_how_long_it_was() {
    inside(|| {
        let mut pair = open();
        assert_eq!(pair.b.borrow_mut().try_receive_into(1, &mut []), Ok(None));
        pair.send(0, 1, b"first").expect("room");
        pair.send(5, 2, b"second").expect("room");
        let mut buffer = [0; 3];
        let mut b = pair.b.borrow_mut();
        let first = b.receive_into(1, &mut buffer, SECOND).expect("sent");
        assert_eq!((&buffer, first.len, first.tag), (b"fir", 5, 1));
        let second = b.try_receive_into(1, &mut buffer).expect("open").expect("sent");
        assert_eq!((&buffer, second.len, second.priority), (b"sec", 6, 5));
        drop(b);
        pair.check_empty();
    });
}

#[test]
fn a_reserved_message_is_still_its_makers_until_it_is_sent() {
    inside(|| {
        let mut pair = open();
        let to = pair.b_port(1);
        let flow = pair.a.open_flow_to(to, Strategy::default(), SECOND).expect("open");
        let mut made = pair.a.flow(flow).reserve(100).expect("a block");
        assert!(pair.a.write(&mut made, 0, &bytes(100, 1)).is_ok());
        while pair.send(0, 0, b"x").is_ok() {}
        assert_eq!(pair.a.flow(flow).try_send(1, &mut made), Err(SendError::RingFull));
        assert_eq!(pair.a.try_send(4, to, &mut made), Err(SendError::Closed));
        assert!(!made.is_empty());
        pair.a.send(1, to, Message::new(&mut made).tag(9), SECOND).expect("room in the end");
        assert!(made.is_empty());
        assert_eq!(pair.a.try_send(1, to, &mut made), Err(SendError::NotReserved));
        let only = Select { first_tag: Some(9), ..Select::default() };
        let mut b = pair.b.borrow_mut();
        let message = b.receive(1, &only, SECOND).expect("sent");
        let mut got = [0; 100];
        assert!(b.read(&message, 0, &mut got).is_ok());
        assert_eq!(got[..], bytes(100, 1));
        b.release(message);
        drop(b);
        pair.tags(&Select::default());
        pair.check_empty();
    });
}
