//! Channels: rings beside the messages of a link.

use std::time::Duration;

use crate::common::world::{
    Pair, SECOND, Side, World, bytes, in_use, name, pair, pair_with, small,
};
use narrows::endpoint::{
    Address, Arrival, Channel, Failure, Limits, LinkError, Message, Node, PortError, SendError,
};
use narrows::memory::{Block, Corrupt, Layout};
use narrows::platform::Lost;
use narrows::strategy::{Notification, Placement};

const SLOTS: u32 = 8;
const RINGS: u16 = 3;
const BRIEFLY: Option<Duration> = Some(Duration::from_micros(5));

fn layout() -> Layout {
    small().with_channels(RINGS, SLOTS).expect("possible")
}

/// A pair with channels; nothing drives the other end while one waits.
fn linked() -> Pair {
    let limits = Limits { links: 2, ..Limits::default() };
    let mut pair = pair_with(limits, limits, |state| state.layout.set(layout()));
    pair.a.platform().off_wait();
    // That the link came up is no news any more.
    settle(&mut pair.a);
    settle(&mut pair.b.borrow_mut());
    pair
}

/// Channel `ring` from `a` to `b`, as each names it.
fn ends(pair: &Pair, ring: u16) -> (Channel, Channel) {
    (Channel { link: pair.to_b, ring }, Channel { link: pair.to_a, ring })
}

fn take(node: &mut Node<Side>, from: Channel) -> Option<Arrival> {
    node.channel(from).try_take().expect("up")
}

/// Gives back all that is held back for a batch.
fn settle(node: &mut Node<Side>) {
    node.arm();
    node.disarm();
}

/// The bytes of a packet, read where they are.
fn read(pair: &Pair, arrival: &Arrival) -> Vec<u8> {
    let b = pair.b.borrow();
    let (_, at) = b.place_of(pair.to_a, arrival.block.expect("a packet")).expect("a block");
    let region = pair.world.region("a", "b").bytes();
    region[at as usize..][..arrival.len as usize].to_vec()
}

#[test]
fn a_packet_is_read_in_parts_and_not_beyond_its_block() {
    let mut pair = linked();
    let (to, from) = ends(&pair, 1);
    pair.a.channel(to).try_send_packet(&bytes(100, 3), Placement::Internal, 0).expect("room");
    let packet = take(&mut pair.b.borrow_mut(), from).expect("sent");
    let block = packet.block.expect("a packet");
    let mut b = pair.b.borrow_mut();
    let mut part = [0; 40];
    assert_eq!(b.channel(from).read(block, 60, &mut part), Ok(()));
    assert!(part == bytes(100, 3)[60..]);
    let size = b.link(pair.to_a).layouts().expect("up").1.longest(Placement::Internal) as usize;
    for (at, len) in [(size, 1), (size - 1, 2), (usize::MAX, 1), (u32::MAX as usize, 1)] {
        let beyond = b.channel(from).read(block, at, &mut part[..len]);
        assert_eq!(beyond, Err(Failure::Refused), "{len} at {at}");
    }
    b.channel(from).release(block);
    b.link(pair.to_a).close();
    assert_eq!(b.channel(from).read(block, 0, &mut part), Err(Failure::Refused));
}

#[test]
fn a_link_has_the_channels_that_both_sides_have() {
    let world = World::new();
    let (mut a, mut b) = (world.node("a", Limits::default()), world.node("b", Limits::default()));
    a.platform().state.layout.set(small().with_channels(5, 16).expect("possible"));
    b.platform().state.layout.set(small().with_channels(2, 4).expect("possible"));
    let to_b = a.hunt(&name("b"), SECOND).expect("there");
    let to_a = b.hunt(&name("a"), SECOND).expect("there");
    assert_eq!((a.link(to_b).channels(), b.link(to_a).channels()), (Ok((2, 2)), Ok((2, 2))));
    for ring in 0..5 {
        let (to, from) = (Channel { link: to_b, ring }, Channel { link: to_a, ring });
        let there = ring < 2;
        assert_eq!(a.channel(to).try_send_word(7, 8, 0).is_ok(), there);
        assert_eq!(a.channel(to).try_send_packet(b"x", Placement::Internal, 0).is_ok(), there);
        assert_eq!(b.channel(from).is_ready(), there);
        assert_eq!(b.channel(from).try_take().is_ok(), there);
        assert_eq!(b.channel(from).watch(true).is_ok(), there);
        assert_eq!(a.channel(to).want_room(true).is_ok(), there);
        if !there {
            assert_eq!(a.channel(to).try_send_word(7, 8, 0), Err(SendError::Unknown));
            assert_eq!(b.channel(from).try_take(), Err(LinkError::Unknown));
            assert_eq!((b.channel(from).available(), a.channel(to).unsent()), (0, 0));
            assert_eq!(a.channel(to).wait_for_room(SECOND), Err(LinkError::Unknown));
        }
    }
    // A ring has the slots that its sender gave it.
    let (to, from) = (Channel { link: to_a, ring: 1 }, Channel { link: to_b, ring: 1 });
    let sent = (0..20).take_while(|n| b.channel(to).try_send_word(*n, 8, 0).is_ok()).count();
    assert_eq!((sent, a.channel(from).available()), (4, 4));

    let mut plain = pair();
    assert_eq!(plain.a.link(plain.to_b).channels(), Ok((0, 0)));
}

#[test]
fn words_of_every_length_come_in_order_round_and_round_the_ring() {
    let mut pair = linked();
    let (to, from) = ends(&pair, 1);
    for round in 0..40_u64 {
        for n in 0..=round % u64::from(SLOTS) {
            let value = round << 32 | n;
            pair.a.channel(to).try_send_word(value, n as u32, round as u16).expect("room");
        }
        assert!(pair.b.borrow_mut().channel(from).is_ready());
        assert_eq!(pair.b.borrow_mut().channel(from).available(), (round % 8) as u32 + 1);
        for n in 0..=round % u64::from(SLOTS) {
            let got = take(&mut pair.b.borrow_mut(), from);
            let word = round << 32 | n;
            let expected = Arrival { len: n as u32, tag: round as u16, block: None, word };
            assert_eq!(got, Some(expected));
        }
        assert_eq!(take(&mut pair.b.borrow_mut(), from), None);
        settle(&mut pair.b.borrow_mut());
    }
    assert_eq!(
        pair.a.channel(to).try_send_word(0, 9, 0),
        Err(SendError::TooLong { limit: 8 }),
        "a word has 8 bytes"
    );
}

#[test]
fn channels_and_messages_keep_out_of_each_others_way() {
    let mut pair = linked();
    pair.a.open(1).expect("free");
    pair.b.borrow_mut().open(1).expect("free");
    for n in 0..5_u64 {
        for ring in 0..RINGS {
            let (to, _) = ends(&pair, ring);
            pair.a.channel(to).try_send_word(n * 10 + u64::from(ring), 8, ring).expect("room");
        }
        let to = Address { link: pair.to_b, port: 1 };
        pair.a.try_send(1, to, Message::new(b"between").tag(n as u16)).expect("room");
    }
    let mut b = pair.b.borrow_mut();
    for n in 0..5 {
        let got = b.try_receive_into(1, &mut [0; 8]).expect("open").expect("sent");
        assert_eq!(got.tag, n);
    }
    for ring in 0..RINGS {
        for n in 0..5 {
            let from = Channel { link: pair.to_a, ring };
            assert_eq!(take(&mut b, from).expect("sent").word, n * 10 + u64::from(ring));
        }
    }
}

#[test]
fn a_full_ring_has_room_again_when_credit_came_back() {
    let mut pair = linked();
    let (to, from) = ends(&pair, 0);
    for n in 0..u64::from(SLOTS) {
        pair.a.channel(to).try_send_word(n, 8, 0).expect("room");
    }
    assert_eq!(pair.a.channel(to).try_send_word(9, 8, 0), Err(SendError::RingFull));
    assert_eq!(
        pair.a.channel(to).try_send_packet(b"x", Placement::External, 0),
        Err(SendError::RingFull)
    );
    assert_eq!(in_use(&mut pair.a, pair.to_b), (0, 0), "no block is kept for what was not sent");
    assert_eq!(pair.a.channel(to).unsent(), SLOTS);
    take(&mut pair.b.borrow_mut(), from).expect("sent");
    assert_eq!(pair.a.channel(to).unsent(), SLOTS - 1, "known before there is credit");
    assert_eq!(pair.a.channel(to).try_send_word(9, 8, 0), Err(SendError::RingFull));
    // A quarter of the slots is given without a wait.
    (0..2).for_each(|_| assert!(take(&mut pair.b.borrow_mut(), from).is_some()));
    assert_eq!(pair.a.channel(to).try_send_word(9, 8, 0), Ok(()));
    // And the rest before one.
    settle(&mut pair.b.borrow_mut());
    for n in 10..12 {
        pair.a.channel(to).try_send_word(n, 8, 0).expect("room");
    }
    assert_eq!(pair.a.channel(to).try_send_word(9, 8, 0), Err(SendError::RingFull));
    let rest: Vec<u64> =
        std::iter::from_fn(|| Some(take(&mut pair.b.borrow_mut(), from)?.word)).collect();
    assert_eq!(rest, [3, 4, 5, 6, 7, 9, 10, 11]);
    assert_eq!(pair.a.channel(to).unsent(), 0);
}

#[test]
fn packets_are_read_where_they_are_and_given_back_in_any_order() {
    let mut pair = linked();
    let (to, from) = ends(&pair, 2);
    let sizes = [0, 1, 48, 64, 65, 1000];
    for (n, size) in sizes.into_iter().enumerate() {
        pair.a
            .channel(to)
            .try_send_packet(&bytes(size, n), Placement::External, n as u16)
            .expect("room");
    }
    let mut arrivals = Vec::new();
    for (n, size) in sizes.into_iter().enumerate() {
        let got = take(&mut pair.b.borrow_mut(), from).expect("sent");
        assert_eq!((got.len as usize, got.tag, got.word), (size, n as u16, 0));
        assert!(read(&pair, &got) == bytes(size, n), "packet {n}");
        arrivals.push(got);
    }
    assert_eq!(in_use(&mut pair.a, pair.to_b), (6, 0));
    for n in [3, 0, 5, 1, 2, 4] {
        let block = arrivals[n].block.expect("a packet");
        pair.b.borrow_mut().channel(from).release(block);
    }
    settle(&mut pair.b.borrow_mut());
    assert_eq!(in_use(&mut pair.a, pair.to_b), (0, 0));
    assert_eq!(
        pair.a.channel(to).try_send_packet(&[0; 65537], Placement::External, 0),
        Err(SendError::TooLong { limit: 65536 })
    );
    assert!(pair.b.borrow().place_of(pair.to_a, Block(0xf000)).is_none());
}

#[test]
fn a_pool_that_is_empty_fails_a_packet_until_a_block_came_back() {
    let mut pair = linked();
    let (to, from) = ends(&pair, 0);
    // Two blocks of 64 KiB, which nothing smaller can stand in for.
    for tag in 0..2 {
        pair.a
            .channel(to)
            .try_send_packet(&bytes(5000, 0), Placement::Internal, tag)
            .expect("a block");
    }
    let again =
        |pair: &mut Pair| pair.a.channel(to).try_send_packet(&[1; 5000], Placement::Internal, 2);
    assert_eq!(again(&mut pair), Err(SendError::PoolEmpty));
    assert_eq!(pair.a.channel(to).unsent(), 2);
    let first = take(&mut pair.b.borrow_mut(), from).expect("sent");
    pair.b.borrow_mut().channel(from).release(first.block.expect("a packet"));
    assert_eq!(again(&mut pair), Ok(()), "one of two is more than may be held back");
}

#[test]
fn a_sleeper_is_rung_for_a_channel_that_it_watches_and_for_no_other() {
    let mut pair = linked();
    let ((to, from), (to_other, _)) = (ends(&pair, 1), ends(&pair, 2));
    pair.b.borrow_mut().channel(from).watch(true).expect("a channel");
    let rings = |pair: &Pair| pair.b.borrow().platform().rings();
    let before = rings(&pair);
    pair.a.channel(to).try_send_word(1, 8, 0).expect("room");
    assert_eq!(rings(&pair), before, "it does not sleep");
    assert!(pair.b.borrow_mut().arm(), "something is there");
    take(&mut pair.b.borrow_mut(), from).expect("sent");
    assert!(!pair.b.borrow_mut().arm());
    pair.a.channel(to_other).try_send_word(2, 8, 0).expect("room");
    assert_eq!(rings(&pair), before, "not that one");
    pair.a.channel(to).try_send_packet(b"three", Placement::Internal, 0).expect("room");
    assert_eq!(rings(&pair), before + 1);
    pair.b.borrow_mut().disarm();
    pair.b.borrow_mut().channel(from).watch(false).expect("a channel");
    assert!(!pair.b.borrow_mut().arm(), "it is not watched any more");
    pair.a.channel(to).try_send_word(4, 8, 0).expect("room");
    assert_eq!(rings(&pair), before + 1);
}

#[test]
fn a_wait_ends_with_what_comes_over_a_channel_whatever_the_notification() {
    for notification in [
        Notification::Spin,
        Notification::Interrupt,
        Notification::Poll { every: Duration::from_micros(3) },
        Notification::Timer { every: Duration::from_micros(3) },
        Notification::Hybrid { longest: Duration::from_micros(2) },
        Notification::Coalesced { messages: 2, within: Duration::from_secs(9) },
    ] {
        let mut pair = linked();
        pair.a.set_notification(notification);
        let (from, to) = ends(&pair, 1);
        pair.a.channel(from).watch(true).expect("a channel");
        pair.a.wait_any(BRIEFLY);
        let (b, mut sent) = (pair.b.clone(), 0);
        pair.a.platform().on_wait(move || {
            sent += 1;
            if sent == 50 || sent == 60 {
                b.borrow_mut().channel(to).try_send_word(sent, 8, 0).expect("room");
            }
        });
        let began = pair.a.platform().state.waits.get();
        while !pair.a.channel(from).is_ready() {
            pair.a.wait_any(SECOND);
        }
        let waits = pair.a.platform().state.waits.get() - began;
        assert!(waits <= 10, "{notification:?}: {waits} waits");
        assert_eq!(take(&mut pair.a, from).expect("sent").word, 50);
    }
}

#[test]
fn a_wait_for_messages_is_not_kept_awake_by_a_channel() {
    let mut pair = linked();
    let (from, to) = ends(&pair, 1);
    pair.a.open(1).expect("free");
    pair.a.channel(from).watch(true).expect("a channel");
    pair.b.borrow_mut().channel(to).try_send_word(1, 8, 0).expect("room");
    let began = pair.a.platform().state.waits.get();
    assert_eq!(pair.a.receive_into(1, &mut [], BRIEFLY), Err(PortError::Deadline));
    let waits = pair.a.platform().state.waits.get() - began;
    assert!(waits < 5, "{waits} waits");
}

#[test]
fn a_sender_that_waits_for_room_is_rung_when_slots_or_blocks_come_back() {
    for packets in [false, true] {
        for notification in [Notification::Interrupt, Notification::Spin] {
            let mut pair = linked();
            pair.a.set_notification(notification);
            let (to, from) = ends(&pair, 1);
            let send = |a: &mut Node<Side>, tag| match packets {
                true => a.channel(to).try_send_packet(&[3; 5000], Placement::Internal, tag),
                false => a.channel(to).try_send_word(3, 8, tag),
            };
            let mut sent = 0;
            while send(&mut pair.a, sent).is_ok() {
                sent += 1;
            }
            assert_eq!(sent, if packets { 2 } else { 8 });
            assert_eq!(pair.a.channel(to).wait_for_room(BRIEFLY), Err(LinkError::Deadline));
            let (b, mut turns, mut taken) = (pair.b.clone(), 0, 0);
            pair.a.platform().on_wait(move || {
                turns += 1;
                if turns % 20 == 0 {
                    let mut b = b.borrow_mut();
                    let Some(got) = take(&mut b, from) else { return };
                    assert_eq!(got.tag, taken);
                    taken += 1;
                    if let Some(block) = got.block {
                        b.channel(from).release(block);
                    }
                }
            });
            let began = pair.a.platform().state.waits.get();
            for tag in sent..sent + 30 {
                while send(&mut pair.a, tag).is_err() {
                    pair.a.channel(to).wait_for_room(SECOND).expect("the peer is there");
                }
            }
            let waits = pair.a.platform().state.waits.get() - began;
            assert!(waits < 100, "{waits} waits");
        }
    }
}

#[test]
fn room_that_is_wanted_ends_waits_until_it_is_not() {
    let mut pair = linked();
    let (to, from) = ends(&pair, 0);
    (0..SLOTS).for_each(|_| pair.a.channel(to).try_send_word(1, 8, 0).expect("room"));
    assert_eq!(pair.a.channel(to).try_send_word(1, 8, 0), Err(SendError::RingFull));
    let rings = pair.a.platform().rings();
    pair.a.channel(to).want_room(true).expect("a channel");
    assert!(!pair.a.arm());
    take(&mut pair.b.borrow_mut(), from).expect("sent");
    assert_eq!(pair.a.platform().rings(), rings, "credit is held back");
    settle(&mut pair.b.borrow_mut());
    assert_eq!(pair.a.platform().rings(), rings + 1);
    pair.a.disarm();
    assert!(pair.a.arm(), "there is news");
    pair.a.disarm();
    assert_eq!(pair.a.channel(to).try_send_word(1, 8, 0), Ok(()));
    pair.a.channel(to).want_room(false).expect("a channel");
    assert!(!pair.a.arm());
    (0..2).for_each(|_| assert!(take(&mut pair.b.borrow_mut(), from).is_some()));
    settle(&mut pair.b.borrow_mut());
    assert_eq!(pair.a.platform().rings(), rings + 1);
}

#[test]
fn room_for_messages_is_wanted_in_the_same_way() {
    let mut pair = linked();
    pair.a.open(1).expect("free");
    pair.b.borrow_mut().open(1).expect("free");
    let to = Address { link: pair.to_b, port: 1 };
    while pair.a.try_send(1, to, b"x").is_ok() {}
    pair.a.link(pair.to_b).want_room(true).expect("a link");
    assert!(!pair.a.arm());
    let rings = pair.a.platform().rings();
    while let Ok(Some(_)) = pair.b.borrow_mut().try_receive_into(1, &mut []) {}
    settle(&mut pair.b.borrow_mut());
    assert!(pair.a.platform().rings() > rings);
    assert!(pair.a.arm());
    pair.a.disarm();
    assert_eq!(pair.a.try_send(1, to, b"x"), Ok(()));
}

/// What one sender of a link finds out must reach another that waits.
#[test]
fn blocks_that_came_back_unnoticed_still_end_a_wait() {
    let mut pair = linked();
    let ((to, from), (other, _)) = (ends(&pair, 0), ends(&pair, 1));
    while pair.a.channel(to).try_send_packet(&[1; 5000], Placement::Internal, 0).is_ok() {}
    pair.a.channel(to).want_room(true).expect("a channel");
    assert!(!pair.a.arm());
    pair.a.disarm();
    let got = take(&mut pair.b.borrow_mut(), from).expect("sent");
    settle(&mut pair.b.borrow_mut());
    assert!(pair.a.arm(), "credit");
    pair.a.disarm();
    assert!(!pair.a.arm());
    pair.a.disarm();
    pair.b.borrow_mut().channel(from).release(got.block.expect("a packet"));
    settle(&mut pair.b.borrow_mut());
    // The other sender takes note of what came back, and needs another kind of block.
    let mut sent = 0;
    while pair.a.channel(other).try_send_packet(&[1; 2000], Placement::External, 0).is_ok() {
        sent += 1;
    }
    assert_eq!(sent, 4);
    assert!(pair.a.arm(), "a block is there");
}

#[test]
fn what_a_dead_peer_had_sent_can_be_taken_and_what_it_had_not_taken_is_counted() {
    let mut pair = linked();
    let ((to, from), (back, of_b)) = (ends(&pair, 0), ends(&pair, 1));
    let of_b = Channel { link: of_b.link, ring: back.ring };
    for n in 0..6 {
        pair.a.channel(to).try_send_word(n, 8, 0).expect("room");
    }
    pair.a.channel(to).try_send_packet(b"lent", Placement::Internal, 0).expect("room");
    (0..4).for_each(|_| assert!(take(&mut pair.b.borrow_mut(), from).is_some()));
    pair.b.borrow_mut().channel(of_b).try_send_word(70, 8, 0).expect("room");
    pair.b
        .borrow_mut()
        .channel(of_b)
        .try_send_packet(b"last", Placement::Internal, 1)
        .expect("room");
    pair.world.kill("b");
    pair.a.poll();
    let gone = LinkError::Gone(Lost::Died);
    assert_eq!(pair.a.link(pair.to_b).check(), Err(gone));
    assert_eq!(pair.a.channel(to).unsent(), 3);
    assert_eq!(pair.a.link(pair.to_b).undelivered(|_, _| panic!("no message")), Ok(0));
    assert_eq!(pair.a.link(pair.to_b).blocks_in_use(), Ok((0, 0)));
    assert_eq!(pair.a.channel(to).try_send_word(1, 8, 0), Err(SendError::Gone(Lost::Died)));
    assert_eq!(pair.a.channel(to).wait_for_room(SECOND), Err(gone));
    assert_eq!(take(&mut pair.a, back).expect("sent").word, 70);
    let packet = take(&mut pair.a, back).expect("sent");
    let block = packet.block.expect("a packet");
    let (_, at) = pair.a.place_of(pair.to_b, block).expect("its memory stays");
    let bytes = pair.world.region("b", "a").bytes();
    assert_eq!(&bytes[at as usize..][..4], b"last");
    assert_eq!(pair.a.channel(back).try_take(), Err(gone));
    pair.a.channel(back).release(block);
    pair.a.link(pair.to_b).close();
    assert_eq!(pair.a.channel(back).try_take(), Err(LinkError::Unknown));
    assert!(pair.a.place_of(pair.to_b, block).is_none());
}

#[test]
fn a_peer_that_is_alive_in_truth_fills_an_ended_ring_once() {
    let mut pair = linked();
    let (from, to) = ends(&pair, 0);
    pair.world.kill("b");
    pair.a.poll();
    let mut taken = 0;
    for n in 0..100 {
        let _ = pair.b.borrow_mut().channel(to).try_send_word(n, 8, 0);
        match pair.a.channel(from).try_take() {
            Ok(Some(_)) => taken += 1,
            ended => assert_eq!(ended, Err(LinkError::Gone(Lost::Died))),
        }
        settle(&mut pair.b.borrow_mut());
    }
    assert!((1..=SLOTS).contains(&taken), "{taken}");
}

#[test]
fn an_ended_link_keeps_its_place_while_a_packet_of_its_is_held() {
    let limits = Limits { links: 1, ..Limits::default() };
    let mut pair = pair_with(limits, limits, |state| state.layout.set(layout()));
    pair.a.platform().off_wait();
    let (from, to) = ends(&pair, 0);
    pair.b.borrow_mut().channel(to).try_send_packet(b"held", Placement::Internal, 0).expect("room");
    let packet = take(&mut pair.a, from).expect("sent");
    pair.world.kill("b");
    pair.a.poll();
    let _other = pair.world.node("c", limits);
    assert!(matches!(pair.a.hunt(&name("c"), BRIEFLY), Err(LinkError::Hunt(_))));
    pair.a.channel(from).release(packet.block.expect("a packet"));
    assert!(pair.a.hunt(&name("c"), SECOND).is_ok());
}

/// Words of a slot or of a channel's control lines that no honest peer writes.
#[test]
fn a_peer_that_breaks_the_rules_of_a_channel_ends_its_link_with_a_reason() {
    let parts = layout().parts().map(|(_, bytes)| bytes);
    let lines = parts[..4].iter().sum::<u32>();
    let slots = lines + parts[4];
    // Channel 1's ring starts behind number start + 2.
    let start = (u32::MAX - 20).wrapping_add(2);
    let slot = slots + SLOTS * 64 + start % SLOTS * 64;
    let usual = 8 << 8 | 1 << 5;
    let in_slot = 0xffff << 16;
    for (first, last, reason) in [
        (usual, in_slot, None),
        (8 << 8 | 2 << 5, in_slot, Some(Corrupt::Kind)),
        (8 << 8 | 1 << 5 | 1, in_slot, Some(Corrupt::Kind)),
        (8 << 8 | 7 << 5, in_slot, Some(Corrupt::Kind)),
        (9 << 8 | 1 << 5, in_slot, Some(Corrupt::Length)),
        (0xff_ffff << 8 | 1 << 5, in_slot, Some(Corrupt::Length)),
        (64 << 8 | 1 << 5, 0, None),
        (65 << 8 | 1 << 5, 0, Some(Corrupt::Length)),
        (usual, 4 << 16, Some(Corrupt::Block)),
        (usual, 0xf000 << 16, Some(Corrupt::Block)),
    ] {
        let mut pair = linked();
        let (from, _) = ends(&pair, 1);
        let region = pair.world.region("b", "a");
        region.poke(slot + 4, first);
        region.poke(slot + 12, last);
        region.poke(slot, start.wrapping_add(1));
        let got = pair.a.channel(from).try_take();
        match reason {
            None => assert!(matches!(got, Ok(Some(_))), "{first:x} {last:x}: {got:?}"),
            Some(what) => {
                let gone = LinkError::Gone(Lost::Corrupt(what));
                assert_eq!(got, Err(gone), "{first:x} {last:x}");
                assert_eq!(pair.a.link(pair.to_b).check(), Err(gone));
                assert_eq!(pair.a.channel(from).try_take(), Err(gone), "nothing more");
            }
        }
    }
    // Credit for more than was sent.
    let mut pair = linked();
    let (to, _) = ends(&pair, 1);
    while pair.a.channel(to).try_send_word(1, 8, 0).is_ok() {}
    pair.world.region("b", "a").poke(lines + 384 + 128, SLOTS + 1);
    let gone = Lost::Corrupt(Corrupt::Credit);
    assert_eq!(pair.a.channel(to).try_send_word(1, 8, 0), Err(SendError::Gone(gone)));
    // The taken word is believed as far as it can be true.
    let mut pair = linked();
    pair.a.channel(to).try_send_word(1, 8, 0).expect("room");
    for taken in [2, 77, u32::MAX] {
        pair.world.region("b", "a").poke(lines + 384 + 256, taken);
        assert_eq!(pair.a.channel(to).unsent(), 1, "{taken}");
    }
    // A block that is given back and was not lent.
    for block in [0, 0xf000] {
        let mut pair = linked();
        let (_, from) = ends(&pair, 1);
        pair.b.borrow_mut().channel(from).release(Block(block));
        settle(&mut pair.b.borrow_mut());
        assert!(
            matches!(pair.a.link(pair.to_b).blocks_in_use(), Err(LinkError::Gone(_))),
            "{block}"
        );
    }
}

#[test]
fn nothing_is_asked_of_the_platforms_storage_once_a_link_is_up() {
    let mut pair = linked();
    let before = pair.a.platform().state.storages.get();
    let (to, from) = ends(&pair, 0);
    pair.a.channel(to).want_room(true).expect("a channel");
    for n in 0..100 {
        pair.a.channel(to).try_send_word(n, 8, 0).expect("room");
        pair.a.channel(to).try_send_packet(b"packet", Placement::External, 0).expect("room");
        for _ in 0..2 {
            let got = take(&mut pair.b.borrow_mut(), from).expect("sent");
            if let Some(block) = got.block {
                pair.b.borrow_mut().channel(from).release(block);
            }
        }
        settle(&mut pair.b.borrow_mut());
        pair.a.wait_any(BRIEFLY);
    }
    assert_eq!(pair.a.platform().state.storages.get(), before);
    assert_eq!(in_use(&mut pair.a, pair.to_b), (0, 0));
}

#[test]
fn a_channel_is_watched_until_it_is_not_however_often_that_is_said() {
    let mut pair = linked();
    let (to, from) = ends(&pair, 1);
    let rings = |pair: &Pair| pair.b.borrow().platform().rings();
    for _ in 0..2 {
        pair.b.borrow_mut().channel(from).watch(true).expect("a channel");
    }
    assert!(!pair.b.borrow_mut().arm());
    let before = rings(&pair);
    pair.a.channel(to).try_send_word(1, 8, 0).expect("room");
    assert_eq!(rings(&pair), before + 1);
    pair.b.borrow_mut().disarm();
    take(&mut pair.b.borrow_mut(), from).expect("sent");
    // A node that is armed and looks away is not rung any more.
    assert!(!pair.b.borrow_mut().arm());
    pair.b.borrow_mut().channel(from).watch(false).expect("a channel");
    pair.a.channel(to).try_send_word(2, 8, 0).expect("room");
    assert_eq!(rings(&pair), before + 1);
}

#[test]
fn who_waits_for_several_entries_is_rung_for_the_last_of_them() {
    let mut pair = linked();
    let (to, from) = ends(&pair, 1);
    let rings = |pair: &Pair| pair.b.borrow().platform().rings();
    for packets in [false, true] {
        pair.b.borrow_mut().channel(from).watch(true).expect("a channel");
        assert!(!pair.b.borrow_mut().arm_for(3));
        let before = rings(&pair);
        for n in 1..=3 {
            let sent = match packets {
                true => pair.a.channel(to).try_send_packet(b"packet", Placement::External, n),
                false => pair.a.channel(to).try_send_word(1, 8, n),
            };
            sent.expect("room");
            assert_eq!(rings(&pair), before + u32::from(n == 3), "{n}");
        }
        let mut b = pair.b.borrow_mut();
        b.disarm();
        for n in 1..=3 {
            let got = take(&mut b, from).expect("sent");
            assert_eq!(got.tag, n);
            got.block.into_iter().for_each(|block| b.channel(from).release(block));
        }
        settle(&mut b);
    }
}

#[test]
fn a_wait_for_room_leaves_what_other_waits_include_as_it_was() {
    for wanted in [false, true] {
        let mut pair = linked();
        let ((to, from), (other, of_other)) = (ends(&pair, 1), ends(&pair, 2));
        for to in [to, other] {
            (0..SLOTS).for_each(|_| pair.a.channel(to).try_send_word(1, 8, 0).expect("room"));
        }
        pair.a.channel(to).want_room(wanted).expect("a channel");
        pair.a.channel(other).want_room(true).expect("a channel");
        pair.a.channel(other).want_room(true).expect("a channel");
        assert_eq!(pair.a.channel(to).wait_for_room(BRIEFLY), Err(LinkError::Deadline));
        assert!(!pair.a.arm());
        while take(&mut pair.b.borrow_mut(), from).is_some() {}
        settle(&mut pair.b.borrow_mut());
        pair.a.disarm();
        assert_eq!(pair.a.arm(), wanted, "room in the channel that was waited for");
        pair.a.disarm();
        while take(&mut pair.b.borrow_mut(), of_other).is_some() {}
        settle(&mut pair.b.borrow_mut());
        assert!(pair.a.arm(), "room in the other");
        pair.a.disarm();
    }
}

#[test]
fn room_for_messages_and_in_a_channel_that_come_together_are_not_slept_through() {
    let mut pair = linked();
    let (to, from) = ends(&pair, 1);
    pair.a.open(1).expect("free");
    pair.b.borrow_mut().open(1).expect("free");
    let port = Address { link: pair.to_b, port: 1 };
    while pair.a.try_send(1, port, b"x").is_ok() {}
    (0..SLOTS).for_each(|_| pair.a.channel(to).try_send_word(1, 8, 0).expect("room"));
    pair.a.link(pair.to_b).want_room(true).expect("a link");
    pair.a.channel(to).want_room(true).expect("a channel");
    assert!(!pair.a.arm());
    pair.a.disarm();
    while let Ok(Some(_)) = pair.b.borrow_mut().try_receive_into(1, &mut []) {}
    while take(&mut pair.b.borrow_mut(), from).is_some() {}
    settle(&mut pair.b.borrow_mut());
    assert!(pair.a.arm(), "there is room for both");
}

#[test]
fn a_packet_as_long_as_the_longest_block_waits_for_one() {
    let mut pair = linked();
    let (to, _) = ends(&pair, 0);
    let longest = vec![1; 65536];
    let place = Placement::Internal;
    assert_eq!(pair.a.channel(to).try_send_packet(&longest, place, 0), Ok(()));
    assert_eq!(pair.a.channel(to).try_send_packet(&longest, place, 0), Ok(()));
    let full = pair.a.channel(to).try_send_packet(&longest, place, 0);
    assert_eq!(full, Err(SendError::PoolEmpty));
    let limit = 65536;
    let longer = vec![1; 65537];
    let refused = pair.a.channel(to).try_send_packet(&longer, place, 0);
    assert_eq!(refused, Err(SendError::TooLong { limit }));
    let refused = pair.a.channel(to).try_send_word(1, 9, 0);
    assert_eq!(refused, Err(SendError::TooLong { limit: 8 }), "though there is a slot");
}

#[test]
fn of_an_ended_channel_the_ring_is_filled_once_behind_what_was_taken() {
    let mut pair = linked();
    let (from, to) = ends(&pair, 0);
    for n in 0..3 * u64::from(SLOTS) {
        pair.b.borrow_mut().channel(to).try_send_word(n, 8, 0).expect("room");
        assert_eq!(take(&mut pair.a, from).map(|arrival| arrival.word), Some(n));
        settle(&mut pair.a);
    }
    for n in 0..4 {
        pair.b.borrow_mut().channel(to).try_send_word(n, 8, 0).expect("room");
    }
    pair.world.kill("b");
    pair.a.poll();
    let rest: Vec<_> = (0..4).filter_map(|_| take(&mut pair.a, from)).collect();
    assert_eq!(rest.len(), 4, "what it had sent is there");
    assert_eq!(pair.a.channel(from).try_take(), Err(LinkError::Gone(Lost::Died)));
}

#[test]
fn a_program_that_only_sends_over_a_channel_learns_that_its_peer_is_gone() {
    for packets in [false, true] {
        let mut pair = linked();
        let (to, _) = ends(&pair, 0);
        let send = |a: &mut Node<Side>| match packets {
            true => a.channel(to).try_send_packet(&[3; 5000], Placement::Internal, 0),
            false => a.channel(to).try_send_word(3, 8, 0),
        };
        while send(&mut pair.a).is_ok() {}
        pair.world.kill("b");
        let errors = [send(&mut pair.a), send(&mut pair.a)];
        assert_eq!(errors[1], Err(SendError::Gone(Lost::Died)), "{errors:?}");
    }
}
