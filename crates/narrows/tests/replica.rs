//! Media of frames, and a region carried over one that ends or whose peer lies.
#![cfg(not(loom))]

#[path = "common/mod.rs"]
mod common;

use std::time::Duration;

use common::carried::{End, end, formatted};
use common::frames::{Line, line};
use common::heap::{Core, Heap};
use narrows::conformance::frames::{self, Faulty, Medium};
use narrows::connection::Closed;
use narrows::connection::replica::Pulse;
use narrows::driver::Frames as _;
use narrows::memory::{Ack, Class, Descriptor, Kind, Layout, Placed, Shared};
use narrows::platform::Instant;
use narrows::strategy::Placement;
use proptest::prelude::*;

const NOW: Instant = Instant(0);

/// The medium of the tests, and what a fault that does not come makes of it.
struct Lines {
    mtu: usize,
}

impl Medium for Lines {
    type End = Faulty<Line<Vec<u8>>>;

    fn pair(&self) -> [Self::End; 2] {
        let (mut a, mut b) = line(self.mtu, 7);
        (a.tells, b.tells) = (true, true);
        [Faulty::new(a, 1), Faulty::new(b, 2)]
    }
    fn buffer(&self, bytes: &[u8]) -> Vec<u8> {
        bytes.to_vec()
    }
    fn show(&self, buffer: &Vec<u8>, to: &mut [u8]) {
        to.copy_from_slice(&buffer[..to.len()]);
    }
}

#[test]
fn a_line_is_a_medium_of_frames() {
    [64, 100, 5000].into_iter().for_each(|mtu| frames::run(&Lines { mtu }));
}

fn layout() -> Layout {
    let classes = [(64, 4), (1024, 2)].map(|(size, count)| Class {
        placement: Placement::Internal,
        size,
        count,
    });
    Layout::new(64, 8, &classes).and_then(|layout| layout.with_channels(1, 4)).expect("possible")
}

/// A node's half of a link, the end beside it, and the other end of the frames.
struct Half {
    shared: Shared<Core<64>>,
    end: End,
    peer: Line<Heap>,
}

fn half(pulse: Pulse) -> Half {
    let (own, replica) = (formatted(&layout()), formatted(&layout()));
    let (mine, peer) = line(128, 1000);
    let end = end(&own, &replica, pulse, Faulty::new(mine, 1));
    let shared = Shared::new(&Core, own, replica, Default::default());
    Half { shared: shared.map_err(drop).expect("a link"), end, peer }
}

fn message(len: u32) -> Descriptor {
    let (kind, ack) = (Kind::Message, Ack::Batched);
    Descriptor { kind, ack, priority: 0, len, source: 1, target: 2, tag: 3, block: None }
}

#[test]
fn a_medium_that_ends_ends_the_connection_and_what_had_come_is_there() {
    let mut half = half(Pulse::default());
    half.shared.publish(message(5), Placed::InSlot(b"bytes"));
    half.end.line.left = Some(0);
    assert_eq!(half.end.replica.send(&mut half.end.line, NOW), Err(Closed::Lost));
    assert_eq!(half.end.replica.receive(&mut half.end.line, NOW), Err(Closed::Lost));
}

#[test]
fn an_end_beats_while_it_has_nothing_to_say_and_loses_a_peer_that_does_not() {
    let (beat, patience) = (Duration::from_millis(1), Duration::from_millis(5));
    let mut half = half(Pulse { heartbeat: Some(beat), patience: Some(patience) });
    let at = |millis: u64| Instant(millis * 1_000_000);
    for millis in 0..=4 {
        assert_eq!(half.end.replica.send(&mut half.end.line, at(millis)), Ok(true));
        assert_eq!(half.end.replica.receive(&mut half.end.line, at(millis)), Ok(false));
    }
    assert_eq!(half.peer.into.borrow().frames.len(), 4, "one a millisecond");
    assert_eq!(half.end.replica.next_look(), Some(at(5)));
    let silent = half.end.replica.receive(&mut half.end.line, at(5));
    assert_eq!(silent, Err(Closed::TimedOut));
}

#[test]
fn an_end_in_order_is_told_behind_everything() {
    let mut half = half(Pulse::default());
    half.shared.publish(message(5), Placed::InSlot(b"bytes"));
    assert_eq!(half.end.replica.send(&mut half.end.line, NOW), Ok(true));
    assert!(half.end.replica.part(&mut half.end.line, NOW));
    let kinds: Vec<u8> = half.peer.into.borrow().frames.iter().map(|frame| frame[0]).collect();
    assert_eq!(kinds, [1, 6], "an entry, and the farewell");
}

proptest! {
    #[test]
    fn whatever_a_peer_sends_ends_the_connection_or_is_a_message(
        sent in prop::collection::vec(
            (0..8_u8, 0..3_u8, prop::bool::weighted(0.97), prop::collection::vec(any::<u8>(), 0..80)),
            1..40,
        ),
    ) {
        let mut half = half(Pulse::default());
        let mut ended = None;
        for (number, (kind, which, honest, rest)) in sent.into_iter().enumerate() {
            let number = if honest { number as u16 } else { 0x5555 };
            let frame = [&[kind, which], &number.to_le_bytes()[..], &rest].concat();
            half.peer.try_send(&frame, None).expect("room");
            ended = half.end.replica.receive(&mut half.end.line, NOW).err();
            // The node takes what is there: a descriptor that it refuses ends its link, not more.
            while let Ok(Some(taken)) = half.shared.take() {
                prop_assert!(taken.descriptor.len <= 1024);
                half.shared.release(&Core, &taken.descriptor);
            }
            if ended.is_some() {
                break;
            }
        }
        let known = matches!(ended, None | Some(Closed::Broken(_) | Closed::Peer));
        prop_assert!(known, "{ended:?}");
    }
}
