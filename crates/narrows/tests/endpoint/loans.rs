//! Blocks that give themselves back, two ends in one thread.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use crate::common::ground::{ADDRESSED, inside};
use crate::common::world::{Pair, SECOND, bytes, open, serve};
use narrows::endpoint::{FlowId, Message, Select, SendError};
use narrows::strategy::Strategy;

const NOW: Option<Duration> = Some(Duration::ZERO);

/// A pair, and a flow of blocks of 65536 bytes, of which the first has two.
fn pair() -> (Pair, FlowId) {
    let mut pair = open();
    let strategy: Strategy = "single_copy/internal".parse().expect("a strategy");
    let flow = pair.a.open_flow_to(pair.b_port(1), strategy, SECOND).expect("open");
    (pair, flow)
}

#[test]
fn what_is_made_in_a_loan_is_read_where_it_is_and_both_blocks_come_back() {
    inside(|| {
        let (mut pair, flow) = pair();
        for (seed, len) in [0, 1, 48, 49, 64, 900, 65536].into_iter().enumerate() {
            let made = bytes(len, seed);
            let mut loan = pair.a.flow(flow).loan(len, NOW).expect("a block");
            assert_eq!((loan.len(), loan.is_empty()), (len, len == 0));
            assert!(loan.write(len, b"x").is_err(), "behind its end");
            assert_eq!(loan.bytes().is_some(), ADDRESSED, "{len} bytes");
            let (half, rest) = made.split_at(len / 2);
            loan.write(0, half).expect("inside");
            match loan.bytes() {
                Some(bytes) => bytes[len / 2..].copy_from_slice(rest),
                None => loan.write(len / 2, rest).expect("inside"),
            }
            loan.send(1, SECOND).expect("room");
            let mut b = pair.b.borrow_mut();
            let lent = b.try_receive(1, &Select::default()).expect("open").expect("sent");
            let held = b.hold(lent);
            assert_eq!(held.len, len);
            let mut got = vec![0; len];
            held.read(0, &mut got).expect("all of it");
            assert!(got == made, "{len} bytes");
            assert!(held.read(1, &mut got).is_err() || len == 0, "behind its end");
            // SAFETY: the peer is in this thread, and does nothing.
            if let Some(bytes) = unsafe { held.trusted() } {
                assert!(bytes == made, "{len} bytes in place");
            }
        }
        pair.check_empty();
    });
}

#[test]
fn a_loan_that_is_dropped_or_cannot_be_sent_goes_back() {
    inside(|| {
        let (mut pair, flow) = pair();
        for _ in 0..5 {
            drop(pair.a.flow(flow).loan(65536, NOW).expect("a block"));
        }
        let mut sent = 0;
        while pair.send(0, sent, b"short").is_ok() {
            sent += 1;
        }
        for _ in 0..5 {
            let loan = pair.a.flow(flow).loan(65536, NOW).expect("a block");
            assert_eq!(loan.send(1, NOW), Err(SendError::Deadline), "the ring is full");
        }
        assert_eq!(pair.tags(&Select::default()).len(), usize::from(sent));
        let echo = pair.flow("echo", "single_copy/internal".parse().expect("a strategy"), 64);
        let mut loan = pair.a.flow(echo).loan(5, NOW).expect("a block");
        loan.write(0, b"hello").expect("inside");
        loan.start().expect("room");
        serve(&mut pair.b.borrow_mut());
        let mut response = [0; 5];
        pair.a.flow(echo).finish(&mut response, SECOND).expect("answered");
        assert_eq!(&response, b"hello");
        pair.check_empty();
    });
}

#[test]
fn a_loan_waits_for_a_block_and_for_no_longer_than_it_may() {
    inside(|| {
        let (mut pair, flow) = pair();
        for _ in 0..2 {
            pair.a.flow(flow).loan(65536, NOW).expect("a block").send(1, SECOND).expect("room");
        }
        for within in [NOW, Some(Duration::from_micros(500))] {
            let late = pair.a.flow(flow).loan(65536, within).map(drop);
            assert_eq!(late, Err(SendError::Deadline));
        }
        let released = Rc::new(Cell::new(false));
        let (b, done) = (pair.b.clone(), released.clone());
        pair.a.platform().on_wait(move || {
            let mut b = b.borrow_mut();
            if let Some(lent) = b.try_receive(1, &Select::default()).expect("open") {
                drop(b.hold(lent));
                done.set(true);
            }
        });
        pair.a.flow(flow).loan(65536, SECOND).map(drop).expect("a block came back");
        assert!(released.get(), "it waited");
        pair.tags(&Select::default());
        pair.check_empty();
    });
}

#[test]
fn loans_and_what_is_held_are_worth_nothing_when_the_link_is_gone() {
    inside(|| {
        let (mut pair, flow) = pair();
        let to_a = narrows::endpoint::Address { link: pair.to_a, port: 1 };
        let sent = pair.b.borrow_mut().try_send(1, to_a, Message::new(&bytes(900, 1)));
        sent.expect("room");
        let lent = pair.a.try_receive(1, &Select::default()).expect("open").expect("sent");
        let link = pair.to_b;
        pair.a.link(link).close();
        let held = pair.a.hold(lent);
        assert!(held.read(0, &mut [0]).is_err(), "the link was closed");
        // SAFETY: the peer is in this thread, and does nothing.
        assert_eq!(unsafe { held.trusted() }, None);
        drop(held);
        assert!(pair.a.flow(flow).loan(5, SECOND).is_err(), "the link was closed");
    });
}
