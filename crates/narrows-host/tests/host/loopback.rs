//! A node's link with itself: messages, channels, calls and the end of it.

use std::path::Path;

use crate::common::{PATIENCE, name};
use narrows::endpoint::{Address, Channel, Limits, LinkError, Message, Node as Stack, SendError};
use narrows::link::LinkId;
use narrows::memory::Layout;
use narrows::platform::{HuntError, Lost};
use narrows::strategy::Placement;
use narrows_host::{Node, Options};

const WITHIN: Option<std::time::Duration> = Some(PATIENCE);

fn options(directory: &Path, name: &str) -> Options {
    let layout =
        Layout::standard(narrows_host::LINE).and_then(|layout| layout.with_channels(4, 16));
    Options::new(name).directory(directory).layout(layout.expect("possible"))
}

/// A node with a link to itself: both ends of it, that which the hunt found first.
fn alone(directory: &Path) -> (Node, LinkId, LinkId) {
    let mut node = options(directory, "a").node().unwrap();
    let first = node.hunt(&name("a"), WITHIN).unwrap();
    let ends: Vec<_> = node.links().collect();
    assert_eq!(ends.len(), 2);
    assert!(ends.iter().all(|(_, peer)| *peer == name("a")));
    let (second, _) = *ends.iter().find(|(link, _)| *link != first).unwrap();
    (node, first, second)
}

#[test]
fn what_is_sent_over_one_end_comes_over_the_other() {
    let directory = tempfile::tempdir().unwrap();
    let (mut node, first, second) = alone(directory.path());
    node.open(1).unwrap();
    node.open(2).unwrap();
    let mut bytes = vec![0; 70_000];
    for (round, size) in [0, 48, 49, 5000, 65536, 20].into_iter().cycle().take(300).enumerate() {
        let (to, back) = if round % 2 == 0 { (first, second) } else { (second, first) };
        let sent: Vec<u8> = (0..size).map(|at| (at * 7 + round) as u8).collect();
        let message = Message::new(&sent).tag(round as u16);
        node.send(1, Address { link: to, port: 2 }, message, WITHIN).unwrap();
        let got = node.receive_into(2, &mut bytes, WITHIN).unwrap();
        assert_eq!((got.from, got.len), (Address { link: back, port: 1 }, size));
        assert_eq!(got.tag, round as u16);
        assert!(bytes[..size] == sent);
    }
    assert_eq!(node.hunt(&name("a"), WITHIN), Ok(first), "the first is found again");
    assert_eq!(node.links().count(), 2);
}

#[test]
fn channels_lead_from_one_end_to_the_other_and_packets_are_read_in_place() {
    let directory = tempfile::tempdir().unwrap();
    let (mut node, first, second) = alone(directory.path());
    assert_eq!(node.link(first).channels(), Ok((4, 4)));
    let (to, from) = (Channel { link: first, ring: 3 }, Channel { link: second, ring: 3 });
    node.channel(from).watch(true).unwrap();
    for round in 0..200_u64 {
        assert!(!node.channel(from).is_ready());
        let packet: Vec<u8> = (0..round * 13).map(|at| (at + round) as u8).collect();
        node.channel(to).try_send_word(round, 4, 0).unwrap();
        node.channel(to).try_send_packet(&packet, Placement::External, 7).unwrap();
        // It ends at once: something is there.
        node.wait_any(WITHIN);
        assert_eq!(node.channel(from).available(), 2);
        assert_eq!(node.channel(from).try_take().unwrap().unwrap().word, round);
        let got = node.channel(from).try_take().unwrap().unwrap();
        let block = got.block.unwrap();
        let (peer, at) = node.place_of(second, block).unwrap();
        assert!(peer.at(at, got.len).is_some());
        let mut seen = vec![0; got.len as usize];
        narrows::platform::Memory::read(peer, at, &mut seen).unwrap();
        assert!(seen == packet, "round {round}");
        node.channel(from).release(block);
    }
    // What is held back comes back before a wait.
    node.wait_any(Some(std::time::Duration::ZERO));
    assert_eq!(node.link(first).blocks_in_use(), Ok((0, 0)));
}

#[test]
fn a_sender_waits_for_room_that_its_own_node_makes() {
    let directory = tempfile::tempdir().unwrap();
    let (mut node, first, second) = alone(directory.path());
    let (to, from) = (Channel { link: first, ring: 0 }, Channel { link: second, ring: 0 });
    while node.channel(to).try_send_word(1, 8, 0).is_ok() {}
    let soon = Some(std::time::Duration::from_millis(5));
    assert_eq!(node.channel(to).wait_for_room(soon), Err(LinkError::Deadline));
    assert!(node.channel(from).try_take().unwrap().is_some());
    assert_eq!(
        node.channel(to).wait_for_room(WITHIN),
        Ok(()),
        "the wait gives the credit and sees it"
    );
    assert_eq!(node.channel(to).try_send_word(1, 8, 0), Ok(()));
}

#[test]
fn both_ends_vanish_when_either_is_closed() {
    for which in [0, 1] {
        let directory = tempfile::tempdir().unwrap();
        let (mut node, first, second) = alone(directory.path());
        node.open(1).unwrap();
        let (closed, other) = [(first, second), (second, first)][which];
        let from = Channel { link: other, ring: 0 };
        node.channel(Channel { link: closed, ring: 0 }).try_send_word(9, 8, 0).unwrap();
        node.link(other).attach(1).unwrap();
        node.link(closed).close();
        node.poll();
        assert_eq!(node.links().count(), 0);
        let gone = LinkError::Gone(Lost::Closed);
        assert_eq!(node.link(closed).check(), Err(LinkError::Unknown));
        assert_eq!(node.link(other).check(), Err(gone));
        let sent = node.channel(Channel { link: other, ring: 0 }).try_send_word(9, 8, 0);
        assert_eq!(sent, Err(SendError::Gone(Lost::Closed)));
        // What had been sent can still be taken.
        assert_eq!(node.channel(from).try_take().unwrap().unwrap().word, 9);
        assert_eq!(node.channel(from).try_take(), Err(gone));
        assert!(node.receive_into(1, &mut [], WITHIN).is_ok(), "the notice");
        // And another is made.
        let again = node.hunt(&name("a"), WITHIN).unwrap();
        assert_ne!(again, closed);
        assert_eq!(node.links().count(), 2);
        node.send(1, Address { link: again, port: 1 }, b"again", WITHIN).unwrap();
        assert_eq!(node.receive_into(1, &mut [0; 8], WITHIN).unwrap().len, 5);
    }
}

#[test]
fn there_is_room_for_both_ends_or_for_none() {
    let directory = tempfile::tempdir().unwrap();
    let host = options(directory.path(), "a").open().unwrap();
    let mut node = Stack::new(host, Limits { links: 1, ..Limits::default() }).unwrap();
    let none = Err(LinkError::Hunt(HuntError::TooManyLinks));
    assert_eq!(node.hunt(&name("a"), WITHIN), none);
    assert_eq!(node.links().count(), 0);
    // The one place is not lost by it.
    let mut other = options(directory.path(), "b").node().unwrap();
    let other = std::thread::spawn(move || {
        let met = other.hunt(&name("a"), WITHIN);
        met.map(|_| other)
    });
    node.hunt(&name("b"), WITHIN).unwrap();
    other.join().unwrap().unwrap();
}

#[test]
fn others_link_with_a_node_that_has_a_link_with_itself() {
    let directory = tempfile::tempdir().unwrap();
    let (mut node, first, _) = alone(directory.path());
    node.open(1).unwrap();
    let mut other = options(directory.path(), "b").node().unwrap();
    let other = std::thread::spawn(move || {
        let link = other.hunt(&name("a"), WITHIN).unwrap();
        other.open(1).unwrap();
        other.send(1, Address { link, port: 1 }, b"from b", WITHIN).unwrap();
        other.receive_into(1, &mut [0; 8], WITHIN).unwrap()
    });
    let to_b = node.hunt(&name("b"), WITHIN).unwrap();
    let got = node.receive_into(1, &mut [0; 8], WITHIN).unwrap();
    assert_eq!(got.from.link, to_b);
    node.link(first).close();
    node.send(1, Address { link: to_b, port: 1 }, b"to b", WITHIN).unwrap();
    assert_eq!(other.join().unwrap().len, 4);
}
