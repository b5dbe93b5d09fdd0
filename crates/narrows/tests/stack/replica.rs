//! Media of frames, and a region carried over one that ends or whose peer lies.

use std::time::Duration;

use crate::common::carried::{Carried, End, end, formatted};
use crate::common::frames::{Line, line};
use crate::common::heap::{Core, Heap};
use narrows::conformance::frames::{self, Faulty, Medium};
use narrows::connection::replica::Pulse;
use narrows::connection::{Broken, Closed};
use narrows::driver::Frames as _;
use narrows::memory::{Ack, Block, Class, Descriptor, Kind, Layout, Placed, Shared};
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
    /// How often the node rang.
    bell: std::rc::Rc<std::cell::Cell<u32>>,
}

fn half(pulse: Pulse) -> Half {
    half_of(&layout(), pulse)
}

fn half_of(layout: &Layout, pulse: Pulse) -> Half {
    let (own, replica) = (formatted(layout), formatted(layout));
    let (mine, peer) = line(128, 1000);
    let end = end(&own, &replica, pulse, Faulty::new(mine, 1));
    let bell = std::rc::Rc::default();
    let shared = Shared::new(&Core, own, replica, std::rc::Rc::clone(&bell));
    Half { shared: shared.map_err(drop).expect("a link"), end, peer, bell }
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
fn what_a_copy_engine_still_brings_is_neither_used_nor_overtaken() {
    let patience = Duration::from_millis(5);
    let mut half = half(Pulse { heartbeat: None, patience: Some(patience) });
    half.end.line.inner.slow = 2;
    let layout = layout();
    let (block, offset) = (Block(0), layout.places().next().expect("a class").0);
    let bytes = [&first(2, 0, &offset.to_le_bytes())[..], b"bytes"].concat();
    let mut entry = entry(Descriptor { block: Some(block), ..message(5) }, &[]);
    entry[2] = 1;
    half.peer.out.borrow_mut().frames.extend([bytes, entry]);
    let receive = |half: &mut Half, at| half.end.replica.receive(&mut half.end.line, Instant(at));
    for _ in 0..2 {
        assert_eq!(receive(&mut half, 0), Ok(true));
        assert!(half.shared.take().expect("honest").is_none());
    }
    assert_eq!(receive(&mut half, 0), Ok(true));
    let taken = half.shared.take().expect("honest").expect("it is there");
    assert_eq!((taken.descriptor.block, taken.descriptor.len), (Some(block), 5));

    // An engine that never ends is a peer that is silent.
    half.end.line.inner.slow = u32::MAX;
    let again = [&first(2, 0, &offset.to_le_bytes())[..], b"bytes"].concat();
    half.peer.out.borrow_mut().frames.push_back([&again[..2], &[2, 0], &again[4..]].concat());
    assert_eq!(receive(&mut half, 0), Ok(true));
    assert_eq!(receive(&mut half, 4_999_999), Ok(true));
    assert_eq!(receive(&mut half, 5_000_000), Err(Closed::TimedOut));
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

/// What becomes of a connection whose peer sends one frame.
fn after(frame: &[u8]) -> Result<bool, Closed> {
    let mut half = half(Pulse::default());
    half.peer.try_send(frame, None).expect("room");
    half.end.replica.receive(&mut half.end.line, NOW)
}

/// A first frame: its kind, its second byte, what stands behind its number.
fn first(kind: u8, which: u8, rest: &[u8]) -> Vec<u8> {
    [&[kind, which, 0, 0], rest].concat()
}

fn entry(descriptor: Descriptor, payload: &[u8]) -> Vec<u8> {
    let words = descriptor.pack().map(u32::to_le_bytes).concat();
    first(1, 0, &[&words, payload].concat())
}

#[test]
fn a_frame_is_taken_if_it_is_as_long_as_it_says_and_ends_the_connection_if_not() {
    let in_block = |len| Descriptor { block: Some(Block(0)), ..message(len) };
    let (begin, class) = layout().places().next().expect("blocks");
    let block_size = class.size;
    let end = layout().size();
    let block = |at: u32, len: usize| first(2, 0, &[&at.to_le_bytes()[..], &vec![7; len]].concat());
    let channel = |mut frame: Vec<u8>, which| {
        frame[1] = which;
        frame
    };
    let (kind, sequence, payload) = (Broken::Kind, Broken::Sequence, Broken::Payload);
    for (frame, lie) in [
        // Signs of life and farewells, and what is too short for any frame.
        (first(5, 0, &[]), None),
        (vec![], Some(kind)),
        (vec![5], Some(kind)),
        (vec![5, 0], Some(kind)),
        (vec![5, 0, 0], Some(kind)),
        (vec![5, 0, 1, 0], Some(sequence)),
        (first(5, 0, &[0]), Some(kind)),
        (first(6, 0, &[0]), Some(kind)),
        (first(7, 0, &[]), Some(kind)),
        // Entries.
        (entry(message(5), b"bytes"), None),
        (entry(message(5), b"byte"), Some(payload)),
        (entry(message(5), b"bytes!"), Some(payload)),
        (entry(message(0), &[]), None),
        (entry(message(0), &[])[..15].to_vec(), Some(kind)),
        (entry(in_block(block_size), &[]), None),
        (entry(in_block(block_size), b"x"), Some(payload)),
        (entry(in_block(block_size + 1), &[]), Some(payload)),
        (channel(entry(message(5), b"bytes"), 1), None),
        (channel(entry(message(5), b"bytes"), 2), Some(kind)),
        // Bytes of blocks.
        (block(begin, 4), None),
        (block(begin - 4, 4), Some(payload)),
        (block(end - 4, 4), None),
        (block(end - 4, 5), Some(payload)),
        (block(end, 1), Some(payload)),
        (block(u32::MAX - 1, 4), Some(payload)),
        (block(begin, 0), Some(kind)),
        (block(begin, 0)[..7].to_vec(), Some(kind)),
        // Counts.
        (first(3, 0, &[0; 8]), None),
        (first(3, 0, &[0; 7]), Some(kind)),
        (first(3, 0, &[0; 9]), Some(kind)),
        (first(3, 2, &[0; 8]), Some(kind)),
        // Names of blocks.
        (first(4, 0, &[]), None),
        (first(4, 1, &[0; 2]), None),
        (first(4, 16, &[0; 32]), None),
        (first(4, 1, &[0; 4]), Some(kind)),
        (first(4, 2, &[0; 2]), Some(kind)),
        (first(4, 17, &[0; 34]), Some(kind)),
    ] {
        let expected = lie.map_or(Ok(true), |lie| Err(Closed::Broken(lie)));
        assert_eq!(after(&frame), expected, "{frame:?}");
    }
    assert_eq!(after(&first(6, 0, &[])), Err(Closed::Peer));
}

#[test]
fn credit_rings_a_node_that_asked_for_it_once() {
    let mut half = half(Pulse::default());
    let counts = |number: u8, credit: u8| [3, 0, number, 0, credit, 0, 0, 0, credit, 0, 0, 0];
    let after = |half: &mut Half, frame: &[u8]| {
        half.peer.try_send(frame, None).expect("room");
        assert_eq!(half.end.replica.receive(&mut half.end.line, NOW), Ok(true));
        half.end.replica.rings()
    };
    assert!(!after(&mut half, &counts(0, 0)), "nothing was asked for");
    half.shared.publish(Descriptor { ack: Ack::Interrupt, ..message(5) }, Placed::InSlot(b"bytes"));
    assert_eq!(half.end.replica.send(&mut half.end.line, NOW), Ok(true));
    assert!(after(&mut half, &counts(1, 1)));
    assert!(!after(&mut half, &counts(2, 1)), "it had been given");
}

#[test]
fn of_a_block_the_bytes_that_count_are_sent_and_no_others() {
    let mut half = half(Pulse::default());
    let block = half.shared.take_block(Placement::Internal, 300).expect("honest").expect("free");
    assert!(half.shared.write(block, 0, &[7; 300]));
    half.shared.publish(message(0), Placed::Block { block, len: 300 });
    assert_eq!(half.end.replica.send(&mut half.end.line, NOW), Ok(true));
    let sent: Vec<_> = half.peer.into.borrow().frames.iter().map(|f| (f[0], f.len())).collect();
    // Frames of 128 bytes have room for 120 behind what says where they belong.
    assert_eq!(sent, [(2, 128), (2, 128), (2, 68), (1, 16)]);
}

#[test]
fn an_end_is_quiet_until_its_node_has_something_to_say_and_is_rung_while_it_is_armed() {
    let mut half = half(Pulse::default());
    let rung = std::rc::Rc::clone(&half.bell);
    half.end.replica.arm();
    assert!(half.end.replica.is_quiet());
    half.shared.publish(message(5), Placed::InSlot(b"bytes"));
    half.shared.ring_if_armed(&Core);
    assert_eq!(rung.take(), 1);
    assert!(!half.end.replica.is_quiet(), "a message");
    assert_eq!(half.end.replica.send(&mut half.end.line, NOW), Ok(true));
    assert!(half.end.replica.is_quiet());
    // An entry in a block comes, and the node takes it, gives credit for it and returns the block.
    let in_block = Descriptor { block: Some(Block(0)), ..message(4) };
    half.peer.try_send(&entry(in_block, &[]), None).expect("room");
    assert_eq!(half.end.replica.receive(&mut half.end.line, NOW), Ok(true));
    half.end.replica.arm();
    let taken = half.shared.take().expect("honest").expect("a message");
    assert!(!half.end.replica.is_quiet(), "what was taken");
    assert_eq!(half.end.replica.send(&mut half.end.line, NOW), Ok(true));
    assert!(half.end.replica.is_quiet());
    half.shared.release(&Core, &taken.descriptor);
    half.shared.flush(&Core);
    assert_eq!(rung.take(), 1);
    assert!(!half.end.replica.is_quiet(), "credit and a block");
    assert_eq!(half.end.replica.send(&mut half.end.line, NOW), Ok(true));
    assert!(half.end.replica.is_quiet());
    half.shared.publish(message(5), Placed::InSlot(b"again"));
    assert!(!half.end.replica.is_quiet(), "a message in another slot");
    assert_eq!(half.end.replica.send(&mut half.end.line, NOW), Ok(true));
    assert!(half.end.replica.is_quiet());
    half.end.replica.disarm();
    half.shared.publish(message(5), Placed::InSlot(b"bytes"));
    half.shared.ring_if_armed(&Core);
    assert_eq!(rung.take(), 0, "an end that is not armed looks itself");
}

#[test]
fn more_blocks_than_a_frame_can_name_come_back_in_their_order() {
    let many = [Class { placement: Placement::Internal, size: 64, count: 100 }];
    let mut half = half_of(&Layout::new(64, 32, &many).expect("possible"), Pulse::default());
    for number in 0..20_u8 {
        let in_block = Descriptor { block: Some(Block(number.into())), ..message(4) };
        let mut frame = entry(in_block, &[]);
        frame[2] = number;
        half.peer.try_send(&frame, None).expect("room");
    }
    assert_eq!(half.end.replica.receive(&mut half.end.line, NOW), Ok(true));
    while let Ok(Some(taken)) = half.shared.take() {
        half.shared.release(&Core, &taken.descriptor);
    }
    half.shared.flush(&Core);
    assert_eq!(half.end.replica.send(&mut half.end.line, NOW), Ok(true));
    let frames = half.peer.into.borrow();
    let returns: Vec<_> = frames.frames.iter().filter(|frame| frame[0] == 4).collect();
    assert_eq!(
        returns.iter().map(|frame| (frame[1], frame.len())).collect::<Vec<_>>(),
        [(16, 4 + 32), (4, 4 + 8)]
    );
    let names = returns.iter().flat_map(|frame| frame[4..].chunks_exact(2));
    let names: Vec<_> = names.map(|name| u16::from_le_bytes([name[0], name[1]])).collect();
    assert_eq!(names, (0..20).collect::<Vec<_>>());
}

#[test]
fn messages_and_channels_travel_side_by_side_and_do_not_mix() {
    let regions = [formatted(&layout()), formatted(&layout())];
    let replicas = [formatted(&layout()), formatted(&layout())];
    let carried = Carried::new(&regions, &replicas);
    let node = |at: usize| {
        let (own, replica) = (regions[at].clone(), replicas[1 - at].clone());
        let shared = Shared::<Core<64>>::new(&Core, own, replica, Default::default());
        shared.map_err(drop).expect("a link")
    };
    let (mut one, mut other) = (node(0), node(1));
    for round in 0..20_u8 {
        let (long, longer) = (vec![round; 700], vec![!round; 900]);
        let block = one.take_block(Placement::Internal, 700).expect("honest").expect("free");
        assert!(one.write(block, 0, &long));
        one.publish(message(0), Placed::Block { block, len: 700 });
        assert!(
            one.post_packet(&Core, 0, &longer, Placement::Internal, 7, |_| ()),
            "round {round}"
        );
        assert!(one.post_word(&Core, 0, (round.into(), 8), 9, |_| ()));
        carried.carry().expect("honest");

        let taken = other.take().expect("honest").expect("a message");
        let mut got = vec![0; 700];
        assert!(other.read(taken.descriptor.block.expect("in a block"), 0, &mut got));
        assert!(got == long, "round {round}");
        other.release(&Core, &taken.descriptor);
        let packet = other.take_arrival(&Core, 0).flatten().expect("a packet");
        let mut got = vec![0; 900];
        assert!(other.read(packet.block.expect("in a block"), 0, &mut got));
        assert!((got == longer) && packet.tag == 7, "round {round}");
        other.give_block(&Core, packet.block.expect("in a block"));
        let word = other.take_arrival(&Core, 0).flatten().expect("a word");
        assert_eq!((word.word, word.tag), (round.into(), 9));
        other.flush(&Core);
        carried.carry().expect("honest");
        one.reclaim().expect("honest");
        assert!(one.catch_up().is_ok());
        assert!(one.channel_room(0).is_ok_and(|room| room == Some(true)));
    }
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
