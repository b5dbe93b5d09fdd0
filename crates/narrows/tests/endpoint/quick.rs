//! The short way of a message makes no difference but to speed: by it as by the long way, whatever
//! is sent comes out the most urgent first.

use std::time::Duration;

use crate::common::ground::inside;
use crate::common::world::{Pair, Side, name, open};
use narrows::endpoint::{Address, Limits, Message, Node, PortError, Select, SendError, What};
use narrows::platform::Lost;
use narrows::strategy::{self, Acknowledgement};
use proptest::prelude::*;

/// What a receiver sees of a message.
type Seen = (What, u16, usize, u8, u16, Vec<u8>);

#[derive(Clone, Copy, Debug)]
enum Step {
    Send { port: u16, priority: u8, len: usize },
    SendAll { port: u16, priority: u8, len: usize, count: usize },
    Receive { port: u16, room: usize },
    ReceiveAll { port: u16, room: usize },
    Poll,
    Acknowledge(Acknowledgement),
}

fn step() -> impl Strategy<Value = Step> {
    let len = || prop_oneof![0usize..=48, Just(49), Just(64), Just(1000)];
    let room = || prop_oneof![Just(0usize), Just(20), Just(1000)];
    let acks = [Acknowledgement::Interrupt, Acknowledgement::Lazy, Acknowledgement::Batched];
    prop_oneof![
        8 => (1u16..=4, 0u8..=8, len()).prop_map(|(port, priority, len)| Step::Send {
            port,
            priority,
            len
        }),
        4 => (1u16..=4, 0u8..=8, len(), 1usize..=MOST).prop_map(|(port, priority, len, count)| {
            Step::SendAll { port, priority, len, count }
        }),
        8 => (1u16..=3, room()).prop_map(|(port, room)| Step::Receive { port, room }),
        4 => (1u16..=3, room()).prop_map(|(port, room)| Step::ReceiveAll { port, room }),
        1 => Just(Step::Poll),
        1 => prop::sample::select(acks.to_vec()).prop_map(Step::Acknowledge),
    ]
}

/// Messages on the way at a time: there is room for them whichever way they are taken.
const MOST: usize = 8;

fn payload(tag: u16, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at as u16 ^ tag) as u8).collect()
}

/// Which way messages take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Long,
    Short,
    /// The short one, many in one call.
    Together,
}

/// Receives what is there at `b`, in one call.
fn receive_all(pair: &Pair, port: u16, room: usize) -> Vec<Seen> {
    let mut all = Vec::new();
    let count = pair.b.borrow_mut().try_receive_all(port, &mut vec![0; room], |r, bytes| {
        all.push((r.what, r.from.port, r.len, r.priority, r.tag, bytes.to_vec()));
    });
    assert_eq!(count, Ok(all.len()));
    all
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
fn run(steps: &[Step], way: Way) -> Vec<u16> {
    let mut pair = open();
    let short = way != Way::Long;
    let mut tag = 0;
    pair.world.tracing.set(!short);
    let (mut waiting, mut refused) = (Waiting::new(), Vec::new());
    // Those to the closed port since all were heard of: the same whichever way is taken.
    let mut unheard = 0;
    let check = |pair: &Pair, waiting: &mut Waiting, port, room| {
        let message = receive(pair, short, port, room);
        assert_eq!(message, next(waiting, port, room));
        message.is_some()
    };
    for step in steps {
        tag += 1;
        match *step {
            Step::Send { port, priority, len } if waiting.len() + unheard < MOST => {
                let to = Address { link: pair.to_b, port };
                let bytes = payload(tag, len);
                let message = Message::new(&bytes).priority(priority).tag(tag);
                pair.a.try_send(1, to, message).expect("room");
                if port < 4 {
                    waiting.push((port, priority.min(7), tag, len));
                } else {
                    unheard += 1;
                }
            }
            Step::Send { .. } => {
                // What is refused has to be heard of before more is sent.
                for port in 1..4 {
                    while check(&pair, &mut waiting, port, 1000) {}
                }
                unheard = 0;
            }
            Step::SendAll { port, priority, len, count } => {
                let count = count.min(MOST.saturating_sub(waiting.len() + unheard));
                let to = Address { link: pair.to_b, port };
                let tags = tag..tag + count as u16;
                tag = tags.end;
                let payloads: Vec<_> = tags.clone().map(|tag| payload(tag, len)).collect();
                let mut messages: Vec<_> = payloads
                    .iter()
                    .zip(tags.clone())
                    .map(|(bytes, tag)| Message::new(bytes).priority(priority).tag(tag))
                    .collect();
                if way == Way::Together {
                    assert_eq!(pair.a.send_all(1, to, &mut messages, None), Ok(count));
                } else {
                    for message in messages {
                        pair.a.try_send(1, to, message).expect("room");
                    }
                }
                match port {
                    4 => unheard += count,
                    _ => waiting.extend(tags.map(|tag| (port, priority.min(7), tag, len))),
                }
            }
            Step::ReceiveAll { port, room } if way == Way::Together => {
                for seen in receive_all(&pair, port, room) {
                    assert_eq!(Some(seen), next(&mut waiting, port, room));
                }
                assert!(next(&mut waiting, port, room).is_none(), "all that was there");
            }
            Step::ReceiveAll { port, room } => while check(&pair, &mut waiting, port, room) {},
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
        let long = inside(|| run(&steps, Way::Long));
        prop_assert_eq!(&inside(|| run(&steps, Way::Short)), &long);
        prop_assert_eq!(&inside(|| run(&steps, Way::Together)), &long);
    }
}

#[test]
fn as_many_are_sent_as_there_is_room_for_and_the_rest_is_the_callers() {
    inside(|| {
        let mut pair = open();
        let to = Address { link: pair.to_b, port: 1 };
        let payloads: Vec<_> = (0..20).map(|tag| payload(tag, 30)).collect();
        let mut messages: Vec<_> =
            payloads.iter().zip(0..).map(|(bytes, tag)| Message::new(bytes).tag(tag)).collect();
        let at_once = Some(Duration::ZERO);
        // The ring has 16 slots.
        assert_eq!(pair.a.send_all(1, to, &mut messages, at_once), Ok(16));
        assert_eq!(pair.a.send_all(1, to, &mut messages[16..], at_once), Err(SendError::Deadline));
        let tags =
            |pair: &Pair| receive_all(pair, 1, 30).iter().map(|seen| seen.4).collect::<Vec<_>>();
        assert_eq!(tags(&pair), (0..16).collect::<Vec<_>>());
        assert_eq!(pair.a.send_all(1, to, &mut messages[16..], at_once), Ok(4));
        assert_eq!(tags(&pair), [16, 17, 18, 19]);

        let long = vec![0; 1 << 20];
        let too_long = || Message::new(&long);
        let mut messages = [Message::new(b"a"), too_long(), Message::new(b"b")];
        assert_eq!(pair.a.send_all(1, to, &mut messages, at_once), Ok(1));
        let refused = pair.a.send_all(1, to, &mut messages[1..], at_once);
        assert!(matches!(refused, Err(SendError::TooLong { .. })), "{refused:?}");
        assert_eq!(pair.a.send_all(9, to, &mut messages, at_once), Err(SendError::Closed));
        assert_eq!(tags(&pair), [0]);
    });
}

#[test]
fn a_sleeper_is_rung_once_for_all_that_are_sent_together() {
    inside(|| {
        let mut pair = open();
        let to = Address { link: pair.to_b, port: 1 };
        let rung = |pair: &Pair| pair.b.borrow().platform().rings();
        let mut messages = [Message::new(b"a"), Message::new(b"b"), Message::new(b"c")];
        assert_eq!(pair.a.send_all(1, to, &mut messages, None), Ok(3));
        assert_eq!(rung(&pair), 0, "it does not sleep");
        assert_eq!(receive_all(&pair, 1, 9).len(), 3);
        while pair.b.borrow_mut().arm() {}
        assert_eq!(pair.a.send_all(1, to, &mut messages, None), Ok(3));
        assert_eq!(rung(&pair), 1);
    });
}

#[test]
fn messages_of_several_links_come_whichever_was_the_last_to_bring_one() {
    inside(|| {
        let mut pair = open();
        let mut c = pair.world.node("c", Limits::default());
        c.open(1).expect("free");
        let link = c.hunt(&name("b"), None).expect("b is there");
        pair.b.borrow_mut().poll();
        let (from_a, from_c) = (pair.to_b, link);
        // More than a ring, so that each place is used again while another link is the likeliest.
        for round in 0..100 {
            let of_c = [1, 17, 0][round % 3];
            for n in 0..of_c {
                let sent = c.try_send(1, Address { link: from_c, port: 1 }, Message::new(&[n]));
                assert_eq!(sent.is_ok(), n < 16, "what was held back was given: {round} {n}");
            }
            if round % 2 == 0 {
                let message = Message::new(b"a").priority(0);
                pair.a.try_send(1, Address { link: from_a, port: 1 }, message).expect("room");
                let first = receive(&pair, true, 1, 1).expect("it came");
                assert_eq!(first.5, b"a", "the most urgent of all links");
            }
            for n in 0..of_c.min(16) {
                assert_eq!(receive(&pair, true, 1, 1).expect("it came").5, [n]);
            }
            assert_eq!(receive(&pair, true, 1, 1), None);
            pair.b.borrow_mut().wait_any(Some(Duration::ZERO));
            pair.b.borrow_mut().wait_any(Some(Duration::ZERO));
        }
        let last =
            pair.b.borrow().links().find(|(_, peer)| *peer == name("c")).expect("it is up").0;
        pair.b.borrow_mut().link(last).close();
        pair.a.try_send(1, Address { link: from_a, port: 1 }, Message::new(b"a")).expect("room");
        assert!(receive(&pair, true, 1, 1).is_some_and(|seen| seen.5 == b"a"));
    });
}

#[test]
fn messages_over_several_links_go_where_they_are_sent_in_whatever_order() {
    inside(|| {
        let mut pair = open();
        let mut c = pair.world.node("c", Limits::default());
        c.open(1).expect("free");
        c.hunt(&name("b"), None).expect("b is there");
        let mut b = pair.b.borrow_mut();
        b.poll();
        let links: Vec<_> = b.links().map(|(link, peer)| (link, peer == name("c"))).collect();
        for order in [[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 0, 1]] {
            // Something changes, so the first message finds its route anew.
            b.close(1).expect("it is open");
            b.open(1).expect("free");
            for (tag, at) in (1..).zip(order) {
                let (link, of_c) = links[at];
                let sent = b.try_send(1, Address { link, port: 1 }, Message::new(b"x").tag(tag));
                sent.expect("room");
                let came = |node: &mut Node<Side>| {
                    node.try_receive_into(1, &mut [0; 8]).expect("open").map(|seen| seen.tag)
                };
                let came = [came(&mut pair.a), came(&mut c)];
                let expected = if of_c { [None, Some(tag)] } else { [Some(tag), None] };
                assert_eq!(came, expected, "{order:?}");
            }
        }
    });
}

#[test]
fn of_two_links_that_brought_nothing_before_the_most_urgent_message_comes_first() {
    inside(|| {
        let mut pair = open();
        let mut others = ["c", "d"].map(|node| {
            let mut other = pair.world.node(node, Limits::default());
            other.open(1).expect("free");
            let link = other.hunt(&name("b"), None).expect("b is there");
            pair.b.borrow_mut().poll();
            (other, Address { link, port: 1 })
        });
        for first in [0, 1, 1, 0] {
            let to_b = Address { link: pair.to_b, port: 1 };
            pair.a.try_send(1, to_b, Message::new(b"likeliest")).expect("room");
            assert_eq!(receive(&pair, true, 1, 9).expect("it came").5, b"likeliest");
            for (at, (other, to)) in others.iter_mut().enumerate() {
                let message = Message::new(b"x").priority(if at == first { 0 } else { 7 });
                other.try_send(1, *to, message).expect("room");
            }
            let priorities = [(); 2].map(|()| receive(&pair, true, 1, 1).expect("it came").3);
            assert_eq!(priorities, [0, 7]);
        }
    });
}

#[test]
fn a_port_that_was_looked_at_in_vain_still_tells_of_an_end_and_of_being_closed() {
    inside(|| {
        let mut pair = open();
        {
            let mut b = pair.b.borrow_mut();
            b.link(pair.to_a).attach(1).expect("room");
            assert_eq!(b.try_receive_into(1, &mut []), Ok(None));
            assert_eq!(b.try_receive_into(1, &mut []), Ok(None));
        }
        pair.kill_a();
        let mut b = pair.b.borrow_mut();
        b.poll();
        let told = b.try_receive_into(1, &mut []).expect("open").map(|received| received.what);
        assert_eq!(told, Some(What::PeerGone(Lost::Died)));
        assert_eq!(b.try_receive_into(1, &mut []), Ok(None));
        b.close(1).expect("open");
        assert_eq!(b.try_receive_into(1, &mut []), Err(PortError::Closed));
    });
}

#[test]
fn before_a_wait_every_link_is_given_what_was_held_back() {
    inside(|| {
        for short in [true, false] {
            let mut pair = open();
            let mut c = pair.world.node("c", Limits::default());
            c.open(1).expect("free");
            let link = c.hunt(&name("b"), None).expect("b is there");
            pair.b.borrow_mut().poll();
            let (from_a, from_c) = (pair.to_b, link);
            for round in 0..40 {
                for _ in 0..3 {
                    let to = Address { link: from_c, port: 1 };
                    c.try_send(1, to, Message::new(b"c")).expect("room");
                    assert_eq!(receive(&pair, short, 1, 1).expect("it came").5, b"c");
                }
                let to = Address { link: from_a, port: 1 };
                pair.a.try_send(1, to, Message::new(b"a")).expect("room");
                assert_eq!(receive(&pair, short, 1, 1).expect("it came").5, b"a");
                pair.b.borrow_mut().wait_any(Some(Duration::ZERO));
                pair.b.borrow_mut().wait_any(Some(Duration::ZERO));
                for _ in 0..16 {
                    let sent = c.try_send(1, Address { link: from_c, port: 1 }, Message::new(b"c"));
                    assert_eq!(sent, Ok(()), "round {round}");
                }
                for _ in 0..16 {
                    assert!(receive(&pair, short, 1, 1).is_some());
                }
                pair.b.borrow_mut().wait_any(Some(Duration::ZERO));
                pair.b.borrow_mut().wait_any(Some(Duration::ZERO));
            }
        }
    });
}

#[test]
fn messages_that_wait_for_another_port_do_not_hide_those_behind_them() {
    inside(|| {
        let mut pair = open();
        let mut c = pair.world.node("c", Limits::default());
        c.open(1).expect("free");
        let to_b = c.hunt(&name("b"), None).expect("b is there");
        pair.b.borrow_mut().poll();
        let to_1 = Address { link: pair.to_b, port: 1 };
        pair.a.try_send(1, to_1, Message::new(b"a")).expect("room");
        assert_eq!(receive(&pair, true, 1, 1).expect("it came").5, b"a");
        // More than the ring has slots: the next message is in one that was used before.
        for n in 0..40 {
            let sent = c.try_send(1, Address { link: to_b, port: 2 }, Message::new(b"c"));
            assert_eq!(sent, Ok(()), "message {n}");
            assert_eq!(pair.b.borrow_mut().available(1), Ok(0));
        }
        assert_eq!(receive(&pair, true, 1, 1), None);
        c.try_send(1, Address { link: to_b, port: 1 }, Message::new(b"c")).expect("room");
        assert_eq!(receive(&pair, true, 1, 1).expect("it came").5, b"c");
    });
}

#[test]
fn what_the_short_way_rests_on_may_change_between_any_two_messages() {
    inside(|| {
        let mut pair = open();
        let to_b = Address { link: pair.to_b, port: 1 };
        let there_and_back = |pair: &mut Pair| {
            let to_a = Address { link: pair.to_a, port: 1 };
            for _ in 0..2 {
                pair.a.try_send(1, to_b, Message::new(b"there")).expect("room");
                assert_eq!(receive(pair, true, 1, 5).expect("it came").5, b"there");
                pair.b.borrow_mut().try_send(1, to_a, Message::new(b"back")).expect("room");
                let back = pair.a.try_receive_into(1, &mut []).expect("open").expect("it came");
                assert_eq!((back.from.link, back.len), (pair.to_b, 4));
            }
        };
        there_and_back(&mut pair);
        pair.a.close(1).expect("open");
        assert_eq!(pair.a.try_send(1, to_b, b"no"), Err(SendError::Closed));
        assert_eq!(pair.a.try_receive_into(1, &mut []), Err(PortError::Closed));
        pair.a.open(1).expect("free");
        there_and_back(&mut pair);

        let mut c = pair.world.node("c", Limits::default());
        c.open(1).expect("free");
        let from_c = c.hunt(&name("a"), None).expect("a is there");
        pair.a.poll();
        let to_c = pair.a.links().find(|(_, peer)| *peer == name("c")).expect("it is up").0;
        let to_c = Address { link: to_c, port: 1 };
        there_and_back(&mut pair);
        let with_c = |pair: &mut Pair, c: &mut narrows::endpoint::Node<_>| {
            for _ in 0..2 {
                pair.a.try_send(1, to_c, Message::new(b"c")).expect("room");
                assert_eq!(c.try_receive_into(1, &mut []).expect("open").map(|r| r.len), Some(1));
                let to_a = Address { link: from_c, port: 1 };
                c.try_send(1, to_a, Message::new(b"of c")).expect("room");
                let back = pair.a.try_receive_into(1, &mut []).expect("open").expect("it came");
                assert_eq!((back.from.link, back.len), (to_c.link, 4));
            }
        };
        with_c(&mut pair, &mut c);
        there_and_back(&mut pair);
        pair.a.link(to_c.link).close();
        assert_eq!(pair.a.try_send(1, to_c, b"no"), Err(SendError::Unknown));
        there_and_back(&mut pair);
        assert_eq!(pair.a.try_send(1, to_c, b"no"), Err(SendError::Unknown));

        let usual = strategy::Strategy::default();
        let acknowledgement = Acknowledgement::Interrupt;
        pair.a.set_strategy(strategy::Strategy { acknowledgement, ..usual });
        for _ in 0..2 {
            let rung = pair.a.platform().rings();
            pair.a.try_send(1, to_b, b"now").expect("room");
            receive(&pair, true, 1, 5).expect("it came");
            assert_eq!(pair.a.platform().rings(), rung + 1, "acknowledged at once");
        }
        pair.a.set_strategy(usual);
        there_and_back(&mut pair);

        pair.kill_b();
        pair.a.poll();
        assert_eq!(pair.a.try_send(1, to_b, b"no"), Err(SendError::Gone(Lost::Died)));
        assert_eq!(pair.a.try_receive_into(1, &mut []), Ok(None));
    });
}

#[test]
fn what_the_route_of_a_flow_rests_on_may_change_between_any_two_messages() {
    inside(|| {
        let mut pair = open();
        let to_b = Address { link: pair.to_b, port: 1 };
        let usual = strategy::Strategy::default();
        let flow = pair.a.open_flow_to(to_b, usual, None).expect("port 1 is open");
        let there = |pair: &mut Pair, from: u16| {
            for _ in 0..2 {
                pair.a.flow(flow).try_send(from, b"there").expect("room");
                let came = receive(pair, true, 1, 5).expect("it came");
                assert_eq!((came.1, came.5), (from, b"there".to_vec()));
            }
        };
        there(&mut pair, 1);
        there(&mut pair, 2);
        there(&mut pair, 1);
        pair.a.close(1).expect("open");
        assert_eq!(pair.a.flow(flow).try_send(1, b"no"), Err(SendError::Closed));
        there(&mut pair, 2);
        pair.a.open(1).expect("free");
        there(&mut pair, 1);

        let acknowledgement = Acknowledgement::Interrupt;
        let prompt = strategy::Strategy { acknowledgement, ..usual };
        pair.a.flow(flow).switch(prompt, None).expect("agreed");
        let rung = pair.a.platform().rings();
        there(&mut pair, 1);
        assert_eq!(pair.a.platform().rings(), rung + 2, "each acknowledged at once");

        pair.kill_b();
        pair.a.poll();
        assert_eq!(pair.a.flow(flow).try_send(1, b"no"), Err(SendError::Gone(Lost::Died)));
    });
}

#[test]
fn the_only_link_is_closed_between_two_messages() {
    inside(|| {
        let mut pair = open();
        let to_b = Address { link: pair.to_b, port: 1 };
        for _ in 0..2 {
            pair.a.try_send(1, to_b, b"there").expect("room");
            assert_eq!(pair.a.try_receive_into(1, &mut []), Ok(None));
        }
        pair.a.link(pair.to_b).close();
        assert_eq!(pair.a.try_receive_into(1, &mut []), Ok(None));
        assert_eq!(pair.a.try_send(1, to_b, b"no"), Err(SendError::Unknown));
    });
}
