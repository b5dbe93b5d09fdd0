//! Several links: which of them brings the next message, and what is left when one of them ends.

use std::time::Duration;

use crate::common::ground::inside;
use crate::common::world::{Pair, SECOND, Side, bytes, name, open};
use narrows::endpoint::{Address, Limits, Message, Node, Select};
use narrows::strategy::Notification;

const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

/// A third node with a link to `b`, and the address of the first port there.
fn third(pair: &Pair) -> (Node<Side>, Address) {
    let mut c = pair.world.node("c", Limits::default());
    c.open(1).expect("free");
    let link = c.hunt(&name("b"), None).expect("b is there");
    pair.b.borrow_mut().poll();
    (c, Address { link, port: 1 })
}

#[test]
fn of_two_links_each_message_ends_a_wait_and_arrives() {
    inside(|| {
        for how in [Notification::Interrupt, Notification::Spin] {
            let pair = open();
            let (mut c, from_c) = third(&pair);
            pair.b.borrow_mut().set_notification(how);
            let to_b = pair.b_port(1);
            let mut a = pair.a;
            let mut tag = 0;
            for of_c in [false, false, true, true, false] {
                for _ in 0..2 {
                    tag += 1;
                    let message = Message::new(b"x").tag(tag);
                    // Sent while `b` waits; each by the node that is not `b`.
                    let (sent, of_a) = (std::cell::Cell::new(false), !of_c);
                    let mut nodes = (a, c);
                    let cell = std::rc::Rc::new(std::cell::RefCell::new(nodes));
                    let (inner, mut message) = (cell.clone(), Some(message));
                    pair.b.borrow().platform().on_wait(move || {
                        if sent.replace(true) {
                            return;
                        }
                        let message = message.take().expect("once");
                        let (a, c) = &mut *inner.borrow_mut();
                        let done = if of_a {
                            a.try_send(1, to_b, message)
                        } else {
                            c.try_send(1, from_c, message)
                        };
                        done.expect("room");
                    });
                    let received = pair.b.borrow_mut().receive_into(1, &mut [0; 8], SECOND);
                    assert_eq!(received.map(|received| received.tag), Ok(tag), "{how:?}");
                    pair.b.borrow().platform().off_wait();
                    let Ok(taken) = std::rc::Rc::try_unwrap(cell) else { panic!("one is left") };
                    nodes = taken.into_inner();
                    (a, c) = nodes;
                }
            }
        }
    });
}

#[test]
fn a_link_that_is_closed_takes_its_messages_and_no_others() {
    inside(|| {
        let mut pair = open();
        let (mut c, from_c) = third(&pair);
        for tag in 0..4 {
            c.try_send(1, from_c, Message::new(&bytes(100, 0)).tag(100 + tag)).expect("room");
            pair.send(4, tag, &bytes(100, 0)).expect("room");
            // They wait in the order in which they came.
            assert_eq!(pair.b.borrow_mut().try_receive(2, &Select::default()), Ok(None));
        }
        let of_c = pair.b.borrow().links().find(|(_, peer)| *peer == name("c"));
        pair.b.borrow_mut().link(of_c.expect("it is up").0).close();
        assert_eq!(pair.tags(&Select::default()), [0, 1, 2, 3]);
        pair.check_empty();
    });
}

#[test]
fn a_link_that_has_ended_and_was_not_closed_keeps_nobody_awake() {
    inside(|| {
        for wanting in [false, true] {
            let mut pair = open();
            let mut c = pair.world.node("c", Limits::default());
            let to_c = pair.a.hunt(&name("c"), None).expect("c is there");
            c.poll();
            // Then each wait finds out anew what is waited for on every link.
            pair.a.link(to_c).want_room(wanting).expect("a link");
            pair.kill_b();
            pair.a.poll();
            // What there was to be said of the end has been said.
            while pair.a.arm() {}
            let waits = pair.a.platform().state.waits.get();
            pair.a.wait_any(Some(Duration::from_micros(1)));
            assert!(pair.a.platform().state.waits.get() > waits);
        }
    });
}

#[test]
fn of_two_links_the_urgent_message_comes_first_whichever_was_the_likelier() {
    inside(|| {
        for waits in [false, true] {
            let pair = open();
            let (mut c, from_c) = third(&pair);
            pair.b.borrow_mut().set_notification(Notification::Interrupt);
            let to_b = pair.b_port(1);
            let b = pair.b.clone();
            let receive = || b.borrow_mut().receive_into(1, &mut [0; 8], SECOND).expect("sent").tag;
            let mut a = pair.a;
            for round in 0..3 {
                // The link to `a` is the likelier: it was the last to bring anything.
                a.try_send(1, to_b, Message::new(b"x").tag(5)).expect("room");
                assert_eq!(receive(), 5);
                let mut both = (a, c);
                let send = move |both: &mut (Node<Side>, Node<Side>)| {
                    let [low, high] = [7, 0].map(|priority| Message::new(b"x").priority(priority));
                    both.0.try_send(1, to_b, low.tag(7)).expect("room");
                    both.1.try_send(1, from_c, high.tag(0)).expect("room");
                };
                if waits {
                    let shared = std::rc::Rc::new(std::cell::RefCell::new(Some(both)));
                    let (inside, mut sent) = (shared.clone(), false);
                    b.borrow().platform().on_wait(move || {
                        if !std::mem::replace(&mut sent, true) {
                            inside.borrow_mut().iter_mut().for_each(send);
                        }
                    });
                    assert_eq!(receive(), 0, "round {round}");
                    b.borrow().platform().off_wait();
                    both = shared.take().expect("they are there");
                } else {
                    send(&mut both);
                    assert_eq!(receive(), 0, "round {round}");
                }
                assert_eq!(receive(), 7, "round {round}");
                (a, c) = both;
            }
        }
    });
}

#[test]
fn a_wait_includes_the_link_that_is_left_when_the_likelier_one_was_closed() {
    inside(|| {
        let pair = open();
        let (mut c, from_c) = third(&pair);
        pair.b.borrow_mut().set_notification(Notification::Interrupt);
        c.try_send(1, from_c, b"x").expect("room");
        let got = pair.b.borrow_mut().receive_into(1, &mut [0; 8], SECOND);
        let of_c = got.expect("sent").from.link;
        pair.b.borrow_mut().link(of_c).close();
        c.poll();
        let (a, to_b) = (
            std::rc::Rc::new(std::cell::RefCell::new(pair.a)),
            Address { link: pair.to_b, port: 1 },
        );
        let (sender, mut sent) = (a.clone(), false);
        pair.b.borrow().platform().on_wait(move || {
            if !std::mem::replace(&mut sent, true) {
                sender.borrow_mut().try_send(1, to_b, b"y").expect("room");
            }
        });
        // Without a deadline only the message can end the wait.
        let got = pair.b.borrow_mut().receive(1, &Select::default(), None).expect("rung");
        pair.b.borrow_mut().release(got);
        drop(a);
    });
}

#[test]
fn before_a_wait_each_of_three_links_is_given_what_was_held_back() {
    inside(|| {
        let mut pair = open();
        let (mut c, from_c) = third(&pair);
        let mut d = pair.world.node("d", Limits::default());
        d.open(1).expect("free");
        let link = d.hunt(&name("b"), None).expect("b is there");
        let from_d = Address { link, port: 1 };
        pair.b.borrow_mut().poll();
        let to_b = pair.b_port(1);
        for round in 0..3 {
            let mut send = |pair: &mut Pair| {
                [
                    pair.a.try_send(1, to_b, b"x").is_ok(),
                    c.try_send(1, from_c, b"x").is_ok(),
                    d.try_send(1, from_d, b"x").is_ok(),
                ]
            };
            // Fewer than a batch of credit.
            (0..3).for_each(|_| assert_eq!(send(&mut pair), [true; 3]));
            let take = |pair: &Pair| {
                let mut b = pair.b.borrow_mut();
                while let Ok(Some(_)) = b.try_receive_into(1, &mut []) {}
                b.wait_any(AT_ONCE);
                b.wait_any(AT_ONCE);
            };
            take(&pair);
            let sent = (0..16).map(|_| send(&mut pair)).filter(|sent| *sent == [true; 3]).count();
            assert_eq!(sent, 16, "all that was held back came back: round {round}");
            take(&pair);
        }
    });
}

#[test]
fn traffic_that_never_pauses_hides_no_news() {
    inside(|| {
        for into in [false, true] {
            let mut pair = open();
            let to = pair.b_port(1);
            let mut c = pair.world.node("c", Limits::default());
            let mut next = || {
                pair.a.try_send(1, to, b"x").expect("room");
                let mut b = pair.b.borrow_mut();
                if into {
                    assert!(b.receive_into(1, &mut [], SECOND).is_ok());
                } else {
                    let received = b.receive(1, &Select::default(), SECOND).expect("sent");
                    b.release(received);
                }
                b.links().count()
            };
            assert_eq!((0..3).map(|_| next()).max(), Some(1));
            let _ = c.hunt(&name("b"), None).expect("b is there");
            let known = (0..1000).position(|_| next() == 2);
            assert!(known.is_some(), "a thousand messages and it has not heard of c: {into}");
        }
    });
}
