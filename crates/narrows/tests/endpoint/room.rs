//! Messages where there is no room, or none is given back.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use crate::common::ground::inside;
use crate::common::world::{SECOND, bytes, in_use, open, opened, pair_with, serve};
use narrows::endpoint::{Address, Limits, Message, PortError, Select, SendError, What};
use narrows::strategy::{Placement, Strategy};

#[test]
fn refusals_wait_for_room_and_wake_who_sleeps() {
    inside(|| {
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
    });
}

#[test]
fn what_comes_while_another_port_is_looked_at_is_not_slept_over() {
    inside(|| {
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
    });
}

#[test]
fn a_full_ring_holds_the_sender_and_loses_nothing() {
    inside(|| {
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
    });
}

#[test]
fn a_pool_that_is_used_up_recovers_when_messages_are_released() {
    inside(|| {
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
        pair.a
            .send(1, to, Message::new(&bytes(5000, 2)).tag(2), SECOND)
            .expect("a block came back");
        assert_eq!(pair.tags(&Select::default()), [1, 2]);
        pair.check_empty();
    });
}

#[test]
fn a_message_held_in_place_stays_while_hundreds_pass() {
    inside(|| {
        let mut pair = open();
        let kept = bytes(900, 42);
        pair.send(0, 999, &kept).expect("room");
        let (held, _) = pair.next();
        for tag in 0..500 {
            pair.send(0, tag, &bytes(900, tag.into())).expect("room");
            assert_eq!(pair.tags(&Select::default()), [tag]);
        }
        let mut b = pair.b.borrow_mut();
        let same = b.read_in_place(&held, |source| crate::common::world::all(source) == kept);
        assert_eq!(same, Some(true));
        b.release(held);
        drop(b);
        pair.check_empty();
    });
}

#[test]
fn a_full_inbox_leaves_messages_in_the_ring() {
    inside(|| {
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
        assert_eq!(nothing, Err(PortError::Deadline));
        let spent = pair.b.borrow().platform().state.waits.get() - waits;
        assert!(spent < 10, "a node whose inbox is full sleeps; it looked {spent} times");
        assert_eq!(pair.tags(&Select::default()), (0..sent).collect::<Vec<_>>());
        pair.check_empty();
    });
}

#[test]
fn a_receiver_that_never_waits_gives_credit_for_what_it_keeps() {
    inside(|| {
        let mut pair = open();
        let none = Select { port: Some(3), ..Select::default() };
        for tag in 0..300 {
            pair.send(0, tag, b"kept for later").expect("the inbox has room, so the ring has");
            assert_eq!(pair.b.borrow_mut().try_receive(1, &none), Ok(None));
        }
        assert_eq!(pair.tags(&Select::default()), (0..300).collect::<Vec<_>>());
        pair.check_empty();
    });
}

#[test]
fn a_flood_on_one_link_leaves_another_undisturbed() {
    inside(|| {
        let mut pair = open();
        let mut c = pair.world.node("c", Limits::default());
        c.open(1).expect("free");
        let link = c.hunt(&crate::common::world::name("b"), None).expect("b is there");
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
    });
}

#[test]
fn two_that_send_to_each_other_until_full_do_not_stop_each_other() {
    inside(|| {
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
    });
}

#[test]
fn a_sleeping_sender_is_woken_by_what_comes_back() {
    inside(|| {
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
    });
}
