//! A peer by its name, through several lives.

use std::path::Path;
use std::time::Duration;

use narrows::endpoint::{LinkError, Message, SendError};
use narrows_host::{Node, Options, Peer, PeerError};

const PORT: u16 = 1;
const WITHIN: Option<Duration> = Some(Duration::from_secs(20));

fn node(directory: &Path, name: &str) -> Node {
    let mut node = Options::new(name).directory(directory).node().unwrap();
    node.open(PORT).unwrap();
    node
}

/// The numbers, priorities and tags of all messages that are there. The sender may know of the link
/// a moment sooner than the node.
fn take_all(node: &mut Node) -> Vec<(u8, u8, u16)> {
    let mut byte = [0; 100];
    let first = node.receive_into(PORT, &mut byte, WITHIN).expect("a message");
    let mut all = vec![(byte[0], first.priority, first.tag)];
    while let Ok(Some(message)) = node.try_receive_into(PORT, &mut byte) {
        all.push((byte[0], message.priority, message.tag));
    }
    all
}

#[test]
fn what_one_life_had_not_taken_goes_to_the_next_in_order_and_before_what_is_new() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let mut node_a = node(directory, "a");
    let mut b = Peer::new("b".parse().unwrap());
    let first = node(directory, "b");
    for number in 0..5 {
        // The last does not fit a slot.
        let bytes = vec![number; if number == 4 { 100 } else { 1 }];
        let message = Message::new(&bytes).tag(7);
        b.send(&mut node_a, PORT, PORT, message, WITHIN).unwrap();
    }
    assert_eq!(b.lives(), 1);
    // It has looked at nothing.
    drop(first);
    let mut second = node(directory, "b");
    // Until it has heard of the end it may send to the first.
    for number in 5..10 {
        b.send(&mut node_a, PORT, PORT, &[number], WITHIN).unwrap();
    }
    while b.link_now(&mut node_a).is_none() || b.lives() == 1 {
        node_a.wait_any(Some(Duration::from_millis(1)));
        node_a.poll();
        b.link(&mut node_a, WITHIN).unwrap();
    }
    b.send(&mut node_a, PORT, PORT, Message::new(&[10]).priority(7), WITHIN).unwrap();
    let usual = (0..10).map(|number| (number, 4, if number < 5 { 7 } else { 0 }));
    let expected: Vec<_> = usual.chain([(10, 7, 0)]).collect();
    assert_eq!(take_all(&mut second), expected);
    assert_eq!(b.lives(), 2);
    assert_eq!(b.take_back().count(), 0);
}

#[test]
fn what_was_not_delivered_can_be_taken_back_instead() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let mut node_a = node(directory, "a");
    let mut b = Peer::new("b".parse().unwrap());
    let first = node(directory, "b");
    b.send(&mut node_a, PORT, 3, Message::new(b"for later").priority(2).tag(9), WITHIN).unwrap();
    drop(first);
    while b.link_now(&mut node_a).is_some() {
        node_a.wait_any(Some(Duration::from_millis(1)));
        node_a.poll();
    }
    let back: Vec<_> = b.take_back().collect();
    let [back] = &back[..] else { panic!("{back:?}") };
    assert_eq!((back.from, back.to, back.priority, back.tag), (PORT, 3, 2, 9));
    assert_eq!(back.bytes, b"for later");
    assert_eq!(b.take_back().count(), 0);
}

#[test]
fn a_peer_that_does_not_come_is_an_error_in_time_and_its_message_stays_with_the_caller() {
    let directory = tempfile::tempdir().unwrap();
    let mut node_a = node(directory.path(), "a");
    let mut b = Peer::new("b".parse().unwrap());
    let brief = Some(Duration::from_millis(20));
    let error = b.send(&mut node_a, PORT, PORT, b"lost", brief).unwrap_err();
    assert_eq!(error, PeerError::Link(LinkError::Deadline));
    assert_eq!((b.lives(), b.take_back().count()), (0, 0));
    let mut late = node(directory.path(), "b");
    b.send(&mut node_a, PORT, PORT, &[1], WITHIN).unwrap();
    assert_eq!(take_all(&mut late), [(1, 4, 0)]);
    let closed = b.send(&mut node_a, 99, PORT, &[2], WITHIN);
    assert_eq!(closed, Err(PeerError::Send(SendError::Closed)));
}
