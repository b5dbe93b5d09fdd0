//! Several messages, ports and links at a time, and waits that something else ends first.

use std::time::Duration;

use crate::common::ground::inside;
use crate::common::world::{Pair, SECOND, Side, State, bytes, class, open, opened, pair_with};
use narrows::endpoint::{Address, Limits, Message, Node, PortError, Received, Select, SendError};
use narrows::memory::Layout;
use narrows::strategy::{Notification, Placement, Strategy};

const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

/// Runs each of `steps` in a wait of its own.
fn in_turn(node: &Node<Side>, steps: Vec<Box<dyn FnOnce()>>) {
    let mut steps = steps.into_iter();
    node.platform().on_wait(move || {
        if let Some(step) = steps.next() {
            step();
        }
    });
}

#[test]
fn many_go_over_a_flow_in_one_call() {
    inside(|| {
        let mut pair = open();
        let to = pair.b_port(1);
        let flow = pair.a.open_flow_to(to, Strategy::default(), SECOND).expect("open");
        let mut messages: Vec<_> = (0..20).map(|tag| Message::new(b"x").tag(tag)).collect();
        pair.a.platform().off_wait();
        let sent = pair.a.flow(flow).send_all(1, &mut messages, AT_ONCE).expect("room");
        // The ring has 16 slots.
        assert!((14..=16).contains(&sent), "{sent}");
        let none = pair.a.flow(flow).send_all(1, &mut messages[sent..], AT_ONCE);
        assert_eq!(none, Err(SendError::Deadline));
        assert_eq!(pair.tags(&Select::default()), (0..sent as u16).collect::<Vec<_>>());
        pair.b.borrow_mut().arm();
        assert_eq!(pair.a.flow(flow).send(1, Message::new(b"x").tag(99), SECOND), Ok(()));
        assert_eq!(pair.tags(&Select::default()), [99]);
    });
}

#[test]
fn many_are_sent_while_room_comes_back() {
    inside(|| {
        let mut pair = open();
        let to = pair.b_port(1);
        let (b, got) = (pair.b.clone(), std::rc::Rc::new(std::cell::RefCell::default()));
        let tags = got.clone();
        pair.a.platform().on_wait(move || {
            let mut b = b.borrow_mut();
            let tags: &mut Vec<u16> = &mut tags.borrow_mut();
            let _ = b.try_receive_all(1, &mut [], |received, _| tags.push(received.tag));
            b.arm();
            b.disarm();
        });
        let mut messages: Vec<_> = (0..50).map(|tag| Message::new(b"x").tag(tag)).collect();
        assert_eq!(pair.a.send_all(1, to, &mut messages, SECOND), Ok(50));
        let _ = pair.b.borrow_mut().try_receive_all(1, &mut [], |received, _| {
            got.borrow_mut().push(received.tag);
        });
        assert_eq!(*got.borrow(), (0..50).collect::<Vec<_>>());
    });
}

#[test]
fn a_wait_for_many_ends_with_the_first_that_come() {
    inside(|| {
        let mut pair = open();
        let to = Address { link: pair.to_a, port: 1 };
        let (b, mut left) = (pair.b.clone(), 2);
        pair.a.platform().on_wait(move || {
            if left > 0 {
                left -= 1;
                b.borrow_mut().try_send(1, to, b"x").expect("room");
                b.borrow_mut().try_send(1, to, b"y").expect("room");
            }
        });
        let mut seen = Vec::new();
        let count = pair.a.receive_all(1, &mut [0; 8], |_, bytes| seen.extend(bytes), SECOND);
        assert_eq!((count, &seen[..]), (Ok(2), &b"xy"[..]));
        let count = pair.a.receive_all(1, &mut [], |_, _| (), SECOND);
        assert_eq!(count, Ok(2));
        let briefly = Some(Duration::from_micros(5));
        let count = pair.a.receive_all(1, &mut [], |_, _| (), briefly);
        assert_eq!(count, Err(PortError::Deadline));
        assert_eq!(pair.a.receive_all(9, &mut [], |_, _| (), briefly), Err(PortError::Closed));
    });
}

#[test]
fn one_call_hands_out_64_messages_at_most_wherever_they_wait() {
    inside(|| {
        for waiting in [0, 58, 64] {
            let mut pair = open();
            let mut tag = 0;
            let mut fill = |pair: &mut Pair, most: u16| {
                while tag < most && pair.send(4, tag, b"x").is_ok() {
                    tag += 1;
                }
                tag
            };
            // What is looked for at another port is taken in and waits.
            while fill(&mut pair, waiting) < waiting {
                let mut b = pair.b.borrow_mut();
                assert_eq!(b.try_receive(2, &Select::default()), Ok(None));
                b.arm();
                b.disarm();
            }
            assert_eq!(pair.b.borrow_mut().try_receive(2, &Select::default()), Ok(None));
            pair.b.borrow_mut().arm();
            pair.b.borrow_mut().disarm();
            let all = fill(&mut pair, u16::MAX);
            assert_eq!(all, waiting + 16, "and as many as the ring has slots");
            let mut tags = Vec::new();
            let mut count = Vec::new();
            while tags.len() < usize::from(all) {
                let each = |received: &Received, _: &[u8]| tags.push(received.tag);
                count.push(pair.b.borrow_mut().try_receive_all(1, &mut [], each).expect("open"));
            }
            assert_eq!(tags, (0..all).collect::<Vec<_>>());
            assert_eq!(count[0], usize::from(all).min(64), "{count:?}");
        }
    });
}

#[test]
fn a_wait_for_a_message_goes_on_when_something_else_came() {
    inside(|| {
        for how in [Notification::Interrupt, Notification::Spin] {
            for into in [false, true] {
                let mut pair = open();
                pair.a.set_notification(how);
                let (b, link) = (pair.b.clone(), pair.to_a);
                let send = |port: u16| -> Box<dyn FnOnce()> {
                    let b = b.clone();
                    Box::new(move || {
                        b.borrow_mut().try_send(1, Address { link, port }, b"x").expect("room");
                    })
                };
                in_turn(&pair.a, vec![send(2), send(2), send(1)]);
                let port = if into {
                    pair.a.receive_into(1, &mut [0; 8], SECOND).map(|received| received.from.port)
                } else {
                    let received = pair.a.receive(1, &Select::default(), SECOND);
                    received.map(|lent| {
                        let port = lent.from.port;
                        pair.a.release(lent);
                        port
                    })
                };
                assert_eq!(port, Ok(1), "{how:?}");
            }
        }
    });
}

#[test]
fn nothing_is_lost_where_urgent_messages_have_filled_the_inbox() {
    inside(|| {
        let limits = Limits { inbox: 1, ..Limits::default() };
        let mut pair = opened(pair_with(limits, limits, |_| {}));
        let mut sent = 0;
        for _ in 0..10 {
            // Each is more urgent than the one before it, as far as there are priorities.
            while pair.send(7 - (sent % 8) as u8, sent, b"x").is_ok() {
                sent += 1;
            }
            let mut b = pair.b.borrow_mut();
            assert_eq!(b.try_receive(2, &Select::default()), Ok(None));
            b.arm();
            b.disarm();
        }
        let mut tags = Vec::new();
        for _ in 0..10 {
            tags.extend(pair.tags(&Select::default()));
        }
        tags.sort_unstable();
        assert_eq!(tags, (0..sent).collect::<Vec<_>>());
        pair.check_empty();
    });
}

#[test]
fn a_receiver_that_never_waits_gives_blocks_back_before_their_sender_has_none() {
    inside(|| {
        // Two blocks, where the nodes choose how their regions are laid out.
        let layout = Layout::new(64, 16, &[class(Placement::Internal, 1024, 2)]);
        let layout = layout.expect("possible");
        let prepare = |state: &State| state.layout.set(layout);
        let mut pair = opened(pair_with(Limits::default(), Limits::default(), prepare));
        let to = pair.b_port(1);
        let strategy = Strategy { placement: Placement::Internal, ..Strategy::default() };
        pair.a.set_strategy(strategy);
        for round in 0..20 {
            pair.a.try_send(1, to, &bytes(1000, round)).expect("a block came back");
            let mut got = [0; 1000];
            let received = pair.b.borrow_mut().try_receive_into(1, &mut got);
            assert!(received.is_ok_and(|received| received.is_some()));
            assert_eq!(got[..], bytes(1000, round));
        }
    });
}

#[test]
fn a_request_in_the_only_block_of_its_length_goes_alone_where_others_are_gathered() {
    inside(|| {
        let classes = [class(Placement::Internal, 128, 4), class(Placement::Internal, 1024, 1)];
        let layout = Layout::new(64, 16, &classes).expect("possible");
        let prepare = |state: &State| state.layout.set(layout);
        let mut pair = opened(pair_with(Limits::default(), Limits::default(), prepare));
        let strategy = "in_place/internal/granularity=2".parse().expect("possible");
        let flow = pair.flow("echo", strategy, 400);
        // Short ones are gathered, and what was gathered before a long one goes before it.
        for len in [400, 40, 50, 400, 40, 400] {
            let sent = bytes(len, len);
            let mut made = pair.a.flow(flow).reserve(len).expect("a block");
            assert!(pair.a.write(&mut made, 0, &sent).is_ok());
            let mut got = vec![0; len];
            assert_eq!(pair.a.flow(flow).call(&mut made, &mut got, SECOND), Ok(len));
            assert!(got == sent);
        }
        pair.check_empty();
    });
}
