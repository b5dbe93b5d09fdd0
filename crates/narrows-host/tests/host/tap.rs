//! A tap: every message of two nodes, read by a process that has neither.

use std::path::Path;
use std::time::Duration;

use crate::common::{PATIENCE, name};
use narrows::endpoint::{Address, Channel};
use narrows::link::LinkId;
use narrows::memory::{Layout, Ring};
use narrows::strategy::Placement;
use narrows_host::observe::{Observer, Passed, Tap};
use narrows_host::{Node, Options};

const PORT: u16 = 1;

/// A node with a port.
fn node(directory: &Path, name: &str) -> Node {
    let layout =
        Layout::standard(narrows_host::LINE).and_then(|layout| layout.with_channels(3, 8)).unwrap();
    let mut node = Options::new(name).directory(directory).layout(layout).node().unwrap();
    node.open(PORT).unwrap();
    node
}

/// The link of a node with the one that is called "other", which both have.
fn link(one: &mut Node, other: &mut Node) -> LinkId {
    let link = one.hunt(&name("other"), Some(PATIENCE)).unwrap();
    while other.links().next().is_none() {
        other.wait_any(Some(PATIENCE));
        other.poll();
    }
    link
}

/// Two nodes and their link.
fn linked(directory: &Path) -> (Node, Node, LinkId) {
    let (mut one, mut other) = (node(directory, "one"), node(directory, "other"));
    let link = link(&mut one, &mut other);
    (one, other, link)
}

fn tap(directory: &Path, with_payload: bool) -> Tap {
    Tap::new(Observer::new("default", Some(directory)).unwrap(), with_payload)
}

#[test]
fn each_message_is_seen_once_and_in_order_with_what_it_carries() {
    let directory = tempfile::tempdir().unwrap();
    let (mut one, mut other, link) = linked(directory.path());
    let mut tap = tap(directory.path(), true);
    let mut seen = Vec::new();
    for number in 0..1000_u32 {
        let bytes = vec![number as u8; 1 + number as usize % 200];
        one.send(PORT, Address { link, port: PORT }, &bytes[..], Some(PATIENCE)).unwrap();
        tap.take(|of, passed| match passed {
            Passed::Sent(number, descriptor, payload) => {
                assert_eq!((of.node, of.peer), (name("one"), name("other")));
                seen.push((number, descriptor.len, payload.map(<[u8]>::to_vec)));
            }
            Passed::Taken(up_to) => assert!(up_to <= seen.len() as u32),
            Passed::Missed(count) => panic!("{count} missed behind {}", seen.len()),
        });
        assert_eq!(seen.len() as u32, number + 1);
        let (_, len, payload) = seen.last().unwrap();
        assert_eq!((*len as usize, payload.as_deref()), (bytes.len(), Some(&bytes[..])));
        other.receive_into(PORT, &mut [0; 256], Some(PATIENCE)).unwrap();
    }
}

#[test]
fn a_link_that_is_noticed_late_is_read_from_its_first_message() {
    let directory = tempfile::tempdir().unwrap();
    let (mut one, mut other) = (node(directory.path(), "one"), node(directory.path(), "other"));
    let mut tap = tap(directory.path(), true);
    let link = link(&mut one, &mut other);
    for number in 0..3_u8 {
        one.send(PORT, Address { link, port: PORT }, &[number][..], Some(PATIENCE)).unwrap();
        other.receive_into(PORT, &mut [0; 8], Some(PATIENCE)).unwrap();
    }
    tap.look();
    let (mut seen, mut taken) = (Vec::new(), 0);
    tap.take(|_, passed| match passed {
        Passed::Sent(number, _, payload) => seen.push((number, payload.unwrap()[0])),
        Passed::Taken(up_to) => taken = up_to,
        Passed::Missed(count) => panic!("{count} missed"),
    });
    assert_eq!((&seen[..], taken), (&[(1, 0), (2, 1), (3, 2)][..], 3));
}

#[test]
fn what_a_link_carried_before_it_ended_is_seen_to_its_last() {
    let directory = tempfile::tempdir().unwrap();
    let (mut one, other, link) = linked(directory.path());
    let mut tap = tap(directory.path(), true);
    for number in 0..3_u8 {
        one.send(PORT, Address { link, port: PORT }, &[number][..], Some(PATIENCE)).unwrap();
    }
    drop((one, other));
    tap.look();
    let mut seen = Vec::new();
    let mut take = || {
        tap.take(|_, passed| match passed {
            Passed::Sent(number, _, payload) => seen.push((number, payload.unwrap()[0])),
            passed => panic!("{passed:?}"),
        })
    };
    take();
    take();
    assert_eq!(seen, [(1, 0), (2, 1), (3, 2)]);
}

#[test]
fn words_and_packets_of_each_channel_are_seen_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let (mut one, mut other, link) = linked(directory.path());
    let from = other.links().next().unwrap().0;
    let mut tap = tap(directory.path(), true);
    let mut seen = Vec::new();
    for number in 0..100_u8 {
        let ring = u16::from(number % 3);
        let bytes = vec![number; 1 + usize::from(number)];
        let mut to = one.channel(Channel { link, ring });
        match ring {
            0 => to.try_send_word(number.into(), 1, 0).unwrap(),
            _ => to.try_send_packet(&bytes, Placement::External, 0).unwrap(),
        }
        tap.take(|of, passed| match passed {
            Passed::Sent(number, descriptor, payload) => {
                let block = descriptor.block.is_some();
                seen.push((of.ring, number, block, payload.map(<[u8]>::to_vec)));
            }
            Passed::Taken(_) => {}
            Passed::Missed(count) => panic!("{count} missed behind {}", seen.len()),
        });
        let carried = if ring == 0 { vec![number] } else { bytes };
        let turn = 1 + u32::from(number) / 3;
        assert_eq!(seen.pop(), Some((Ring::Channel(ring), turn, ring != 0, Some(carried))));
        assert!(seen.is_empty(), "{seen:?}");
        let mut channel = other.channel(Channel { link: from, ring });
        if let Some(block) = channel.try_take().unwrap().unwrap().block {
            channel.release(block);
        }
    }
}

#[test]
fn what_was_overwritten_is_counted() {
    let directory = tempfile::tempdir().unwrap();
    let (mut one, mut other, link) = linked(directory.path());
    let mut tap = tap(directory.path(), false);
    const COUNT: u32 = 5000;
    let (mut seen, mut missed) = (0, 0);
    for number in 0..COUNT {
        one.send(PORT, Address { link, port: PORT }, b"1", Some(PATIENCE)).unwrap();
        other.receive_into(PORT, &mut [0; 8], Some(PATIENCE)).unwrap();
        if number % 1700 == 1699 || number == COUNT - 1 {
            loop {
                let before = seen + missed;
                tap.take(|_, passed| match passed {
                    Passed::Sent(..) => seen += 1,
                    Passed::Taken(_) => {}
                    Passed::Missed(count) => missed += count,
                });
                if seen + missed == before {
                    break;
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    assert!(missed > 0 && seen > 0, "{seen} {missed}");
    assert_eq!(seen + missed, COUNT);
}
