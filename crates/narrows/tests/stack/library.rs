//! What libraries built on the stack have of a node: routes that they keep, looks that do nothing
//! else, and waits in parts.

use std::time::Duration;

use crate::common::world::{Side, open};
use narrows::endpoint::{Message, Node, Select};
use narrows::memory::Plain;
use narrows::platform::Woken;
use narrows::strategy::Notification;

fn plain(bytes: &[u8]) -> Plain<'_> {
    Plain { priority: 4, tag: 7, bytes }
}

#[test]
fn a_kept_route_is_current_until_something_changes() {
    let mut pair = open();
    let to = pair.b_port(1);
    let route = pair.a.route(1, to).expect("up");
    assert!(pair.a.is_current(&route));
    assert_eq!(pair.a.post_short(&route, plain(b"x")), Some(false), "nobody sleeps");
    let longest = [1; Node::<Side>::SHORT];
    assert_eq!(pair.a.post_short(&route, plain(&longest)), Some(false));
    assert_eq!(pair.a.post_short(&route, plain(&[1; Node::<Side>::SHORT + 1])), None);
    assert_eq!(pair.tags(&Select::default()), [7, 7]);
    pair.a.close(3).expect("open");
    assert!(!pair.a.is_current(&route));
    assert_eq!(pair.a.post_short(&route, plain(b"x")), None);
    assert_eq!(pair.tags(&Select::default()), []);
}

#[test]
fn who_posts_rings_a_sleeper_itself() {
    let mut pair = open();
    let to = pair.b_port(1);
    let route = pair.a.route(1, to).expect("up");
    while pair.b.borrow_mut().arm() {}
    let rings = |pair: &crate::common::world::Pair| pair.b.borrow().platform().rings();
    let before = rings(&pair);
    assert_eq!(pair.a.post_short(&route, plain(b"x")), Some(true));
    assert_eq!(rings(&pair), before);
    pair.a.ring_link(pair.to_b);
    assert_eq!(rings(&pair), before + 1);
}

#[test]
fn a_look_takes_a_message_that_has_somewhere_to_go_and_leaves_any_other() {
    let mut pair = open();
    let to = pair.b_port(1);
    let mut b = pair.b.borrow_mut();
    // The first looks in vain see to everything else.
    assert_eq!(b.try_receive_into(1, &mut []), Ok(None));
    let mut buffer = [0; 8];
    assert_eq!(b.take_first(1, &mut buffer), None);
    assert_eq!(b.take_first_to(1, |_, _| None), (None, true), "there is none");
    assert!(!b.glance());
    for tag in [1, 2] {
        pair.a.try_send(1, to, Message::new(b"hello").tag(tag)).expect("room");
    }
    assert!(b.glance());
    assert_eq!(b.available(1), Ok(2));
    assert!(b.fresh(), "they were taken in");
    assert_eq!(b.wait_by(Notification::Interrupt, Some(Duration::ZERO)), Woken::Event);
    assert!(!b.fresh());
    for tag in [1, 2] {
        assert_eq!(b.try_receive_into(1, &mut buffer).map(|got| got.map(|r| r.tag)), Ok(Some(tag)));
    }
    assert_eq!(b.try_receive_into(1, &mut buffer), Ok(None));
    pair.a.try_send(1, to, Message::new(b"hello").tag(3)).expect("room");
    let (left, none) = b.take_first_to(1, |len, tag| {
        assert_eq!((len, tag), (5, 3));
        None
    });
    assert!(left.is_none() && !none, "it stays");
    let (taken, none) = b.take_first_to(1, |_, _| Some(&mut buffer));
    assert!(taken.is_some_and(|taken| taken.tag == 3) && !none);
    pair.a.try_send(1, to, Message::new(b"world").tag(4)).expect("room");
    assert!(b.take_first(1, &mut buffer).is_some_and(|taken| taken.tag == 4));
    assert_eq!(&buffer[..5], b"world");
}

#[test]
fn a_wait_for_several_messages_is_rung_for_the_last_of_them() {
    let mut pair = open();
    let to = pair.b_port(1);
    pair.b.borrow_mut().poll();
    let rings = |pair: &crate::common::world::Pair| pair.b.borrow().platform().rings();
    let before = rings(&pair);
    while pair.b.borrow_mut().arm_for(3) {}
    for n in 1..=3 {
        pair.a.try_send(1, to, b"x").expect("room");
        assert_eq!(rings(&pair), before + u32::from(n == 3));
    }
    assert!(pair.b.borrow_mut().arm_for(3), "they are there");
}
