//! Sides of channels that are taken out of their link.

use std::time::Duration;

use crate::common::world::{Pair, Side, bytes, pair_with, small};
use narrows::endpoint::{Channel, InPlace, Inlet, Limits, LinkError, Node, SendError};
use narrows::platform::Lost;
use narrows::strategy::Placement;

const SLOTS: u32 = 8;
const BRIEFLY: Option<Duration> = Some(Duration::from_micros(5));

/// A pair with channels; nothing drives the other end while one waits.
fn linked() -> Pair {
    let limits = Limits { links: 2, ..Limits::default() };
    let layout = || small().with_channels(3, SLOTS).expect("possible");
    let mut pair = pair_with(limits, limits, |state| state.layout.set(layout()));
    pair.a.platform().off_wait();
    settle(&mut pair.a);
    settle(&mut pair.b.borrow_mut());
    pair
}

/// Gives back all that is held back for a batch.
fn settle(node: &mut Node<Side>) {
    node.arm();
    node.disarm();
}

/// Takes the next packet off a channel, as long as its link is there.
fn take_packet(node: &Node<Side>, inlet: &mut Inlet<Side>) -> Option<InPlace> {
    let link = inlet.link();
    let peer = (node.peer_region(link)?, node.peer_layout(link)?);
    let mut taken = None;
    inlet.take_packet(|| peer, |packet| taken = Some(packet))?;
    taken
}

/// Channel `ring` from `a` to `b`, as each names it.
fn ends(pair: &Pair, ring: u16) -> (Channel, Channel) {
    (Channel { link: pair.to_b, ring }, Channel { link: pair.to_a, ring })
}

#[test]
fn what_was_taken_out_is_no_channel_until_it_is_put_back() {
    let mut pair = linked();
    let (to, from) = ends(&pair, 1);
    let outlet = pair.a.take_outlet(to).expect("a channel");
    let inlet = pair.b.borrow_mut().take_inlet(from).expect("a channel");
    assert!(pair.a.take_outlet(to).is_none());
    assert!(pair.b.borrow_mut().take_inlet(from).is_none());
    assert_eq!(pair.a.channel(to).try_send_word(1, 8, 0), Err(SendError::Unknown));
    assert_eq!(pair.b.borrow_mut().channel(from).try_take(), Err(LinkError::Unknown));
    pair.a.put_outlet(outlet);
    pair.b.borrow_mut().put_inlet(inlet);
    assert_eq!(pair.a.channel(to).try_send_word(1, 8, 0), Ok(()));
    let taken = pair.b.borrow_mut().channel(from).try_take();
    assert!(taken.is_ok_and(|taken| taken.is_some_and(|arrival| arrival.word == 1)));
    let nowhere = Channel { ring: 3, ..to };
    assert!(pair.a.take_outlet(nowhere).is_none() && pair.a.take_inlet(nowhere).is_none());
}

#[test]
fn words_and_packets_go_from_outlet_to_inlet_as_far_as_there_is_room() {
    let mut pair = linked();
    let (to, from) = ends(&pair, 0);
    let mut outlet = pair.a.take_outlet(to).expect("a channel");
    let mut b = pair.b.borrow_mut();
    let mut inlet = b.take_inlet(from).expect("a channel");
    assert!(inlet.is_empty() && b.take_word(&mut inlet, 8).is_none());
    assert_eq!(pair.a.post_word(&mut outlet, 0, 9, 0), None, "no word is that long");
    for n in 0..u64::from(SLOTS) {
        assert_eq!(pair.a.post_word(&mut outlet, n, 8, 0), Some(false));
        assert!(!inlet.is_empty());
    }
    assert_eq!(pair.a.post_word(&mut outlet, 9, 8, 0), None, "no slot is free");
    assert_eq!(b.take_word(&mut inlet, 4), None, "it is longer");
    assert!(take_packet(&b, &mut inlet).is_none(), "it is none");
    // Credit is due when a quarter of the ring was taken.
    for n in 0..u64::from(SLOTS) {
        assert_eq!(b.take_word(&mut inlet, 8), Some((n, n > 0)));
    }
    assert!(inlet.is_empty());
    b.credit(&mut inlet);
    assert_eq!(pair.a.post_word(&mut outlet, 9, 8, 0), None, "room that is not known of");
    pair.a.put_outlet(outlet);
    assert_eq!(pair.a.channel(to).try_send_packet(b"short", Placement::Internal, 0), Ok(()));
    let mut outlet = pair.a.take_outlet(to).expect("a channel");
    let (short, long) = (bytes(64, 1), bytes(65, 2));
    assert_eq!(
        pair.a.post_short_packet(&mut outlet, b"shorter", Placement::Internal, 0),
        Some(false)
    );
    let place = Placement::Internal;
    assert_eq!(pair.a.post_short_packet(&mut outlet, &long, place, 0), None);
    assert_eq!(pair.a.post_short_packet(&mut outlet, &short, place, 0), Some(false));
    assert_eq!(pair.a.post_packet(&mut outlet, &long, place, 0), Some(false));
    assert_eq!(pair.a.post_packet(&mut outlet, &[0; 1 << 20], place, 0), None);
    assert_eq!(b.take_word(&mut inlet, 5), None, "it is a packet");
    for sent in [&b"short"[..], b"shorter", &short, &long] {
        let packet = take_packet(&b, &mut inlet).expect("sent");
        let (at, len, block) = (packet.offset as usize, packet.len as usize, packet.block);
        let region = pair.world.region("a", "b").bytes();
        assert_eq!(region.get(at..at + len), Some(sent));
        if b.give_block(pair.to_a, block) {
            b.give_all(pair.to_a);
        }
    }
    assert!(take_packet(&b, &mut inlet).is_none());
}

#[test]
fn what_came_back_is_looked_for_without_putting_an_outlet_back() {
    let mut pair = linked();
    let ((words, to_words), (packets, to_packets)) = (ends(&pair, 0), ends(&pair, 1));
    let mut words = pair.a.take_outlet(words).expect("a channel");
    let mut packets = pair.a.take_outlet(packets).expect("a channel");
    let mut b = pair.b.borrow_mut();
    let mut taken_words = b.take_inlet(to_words).expect("a channel");
    let mut taken_packets = b.take_inlet(to_packets).expect("a channel");
    let place = Placement::Internal;
    for n in 0..4 * SLOTS {
        assert_eq!(pair.a.post_word_anew(&mut words, n.into(), 8, 0), Some(false), "{n}");
        assert_eq!(
            pair.a.post_packet(&mut packets, &n.to_le_bytes(), place, 0),
            Some(false),
            "{n}"
        );
        assert!(b.take_word(&mut taken_words, 8).is_some_and(|(word, _)| word == n.into()));
        let packet = take_packet(&b, &mut taken_packets).expect("sent");
        b.give_block(pair.to_a, packet.block);
        b.credit(&mut taken_words);
        b.credit(&mut taken_packets);
        b.give_all(pair.to_a);
    }
    for n in 0..SLOTS {
        assert_eq!(pair.a.post_word_anew(&mut words, n.into(), 8, 0), Some(false));
    }
    assert_eq!(pair.a.post_word_anew(&mut words, 0, 8, 0), None, "nothing came back");
    assert_eq!(pair.a.post_word_anew(&mut words, 0, 9, 0), None, "no word is that long");
}

/// The two directions of a channel have the same number. When the receiver of one direction takes
/// its side out, a sender that waits for room in the other direction does not notice.
#[test]
fn room_is_waited_for_whether_or_not_the_other_direction_is_taken_out() {
    for out in [false, true] {
        let mut pair = linked();
        let (to, from) = ends(&pair, 0);
        let inlet = if out { pair.a.take_inlet(to) } else { None };
        (0..SLOTS).for_each(|_| pair.a.channel(to).try_send_word(1, 8, 0).expect("room"));
        assert_eq!(pair.a.channel(to).try_send_word(1, 8, 0), Err(SendError::RingFull));
        assert_eq!(pair.a.channel(to).wait_for_room(BRIEFLY), Err(LinkError::Deadline));
        assert_eq!(pair.a.channel(to).want_room(true), Ok(()));
        assert!(!pair.a.arm(), "nothing has come");
        let rings = pair.a.platform().rings();
        {
            let mut b = pair.b.borrow_mut();
            let mut inlet = b.take_inlet(from).expect("a channel");
            assert!(b.take_word(&mut inlet, 8).is_some());
            b.credit(&mut inlet);
        }
        assert_eq!(pair.a.platform().rings(), rings + 1, "who waits for room is rung");
        pair.a.disarm();
        assert!(pair.a.arm(), "there is room");
        pair.a.disarm();
        assert_eq!(pair.a.channel(to).try_send_word(1, 8, 0), Ok(()));
        assert_eq!(pair.a.channel(to).want_room(false), Ok(()));
        let _ = inlet.map(|inlet| pair.a.put_inlet(inlet));
    }
}

#[test]
fn who_sleeps_is_rung_for_what_an_outlet_sends() {
    let mut pair = linked();
    let (to, from) = ends(&pair, 2);
    let mut outlet = pair.a.take_outlet(to).expect("a channel");
    let mut b = pair.b.borrow_mut();
    b.channel(from).watch(true).expect("a channel");
    assert!(!b.arm());
    let rings = b.platform().rings();
    assert_eq!(pair.a.post_word(&mut outlet, 1, 8, 0), Some(true), "the receiver is armed");
    assert_eq!(b.platform().rings(), rings);
    pair.a.ring_for(&outlet);
    assert_eq!(b.platform().rings(), rings + 1);
    b.disarm();
    assert_eq!(pair.a.post_word(&mut outlet, 1, 8, 0), Some(false));
}

#[test]
fn what_a_dead_peer_sent_can_be_taken_when_its_channel_is_put_back() {
    let mut pair = linked();
    let (from, to) = ends(&pair, 0);
    (0..3).for_each(|n| pair.b.borrow_mut().channel(to).try_send_word(n, 8, 0).expect("room"));
    let inlet = pair.a.take_inlet(from).expect("a channel");
    let mut outlet = pair.a.take_outlet(from).expect("a channel");
    pair.world.kill("b");
    pair.a.poll();
    assert_eq!(pair.a.post_word(&mut outlet, 1, 8, 0), Some(false), "it does not look");
    let packet = pair.a.post_packet(&mut outlet, b"x", Placement::Internal, 0);
    assert_eq!(packet, None, "the link has ended");
    pair.a.put_outlet(outlet);
    pair.a.put_inlet(inlet);
    for n in 0..3 {
        let word = pair.a.channel(from).try_take().map(|taken| taken.map(|arrival| arrival.word));
        assert_eq!(word, Ok(Some(n)));
    }
    let gone = Lost::Died;
    assert_eq!(pair.a.channel(from).try_take(), Err(LinkError::Gone(gone)));
    assert_eq!(pair.a.channel(from).try_send_word(1, 8, 0), Err(SendError::Gone(gone)));
}

#[test]
fn what_is_put_back_after_its_link_was_closed_is_forgotten() {
    let mut pair = linked();
    let (to, _) = ends(&pair, 0);
    let (outlet, inlet) = (pair.a.take_outlet(to), pair.a.take_inlet(to));
    let (outlet, mut inlet) = (outlet.expect("a channel"), inlet.expect("a channel"));
    pair.a.link(pair.to_b).close();
    assert!(take_packet(&pair.a, &mut inlet).is_none());
    pair.a.credit(&mut inlet);
    pair.a.ring_for(&outlet);
    pair.a.put_outlet(outlet);
    pair.a.put_inlet(inlet);
    assert!(pair.a.take_outlet(to).is_none() && pair.a.take_inlet(to).is_none());
}

#[test]
fn credit_that_an_inlet_owes_when_it_is_put_back_is_given_before_a_wait() {
    let mut pair = linked();
    let (to, from) = ends(&pair, 0);
    let mut outlet = pair.a.take_outlet(to).expect("a channel");
    for round in 0..3 {
        for n in 0..u64::from(SLOTS) {
            assert_eq!(pair.a.post_word_anew(&mut outlet, n, 8, 0), Some(false), "round {round}");
        }
        let mut b = pair.b.borrow_mut();
        let mut inlet = b.take_inlet(from).expect("a channel");
        while b.take_word(&mut inlet, 8).is_some() {}
        b.put_inlet(inlet);
        settle(&mut b);
    }
}

#[test]
fn a_link_whose_packets_are_kept_without_it_is_over_when_it_ends() {
    let limits = Limits { links: 1, ..Limits::default() };
    let layout = || small().with_channels(3, SLOTS).expect("possible");
    for forgotten in [false, true] {
        let mut pair = pair_with(limits, limits, |state| state.layout.set(layout()));
        pair.a.platform().off_wait();
        let (from, to) = ends(&pair, 0);
        let sent = pair.b.borrow_mut().channel(to).try_send_packet(b"kept", Placement::Internal, 0);
        assert_eq!(sent, Ok(()));
        assert!(pair.a.channel(from).try_take().is_ok_and(|taken| taken.is_some()));
        if forgotten {
            pair.a.forget_block(pair.to_b);
        }
        pair.world.kill("b");
        pair.a.poll();
        let _other = pair.world.node("c", limits);
        let hunted = pair.a.hunt(&"c".parse().expect("a name"), BRIEFLY);
        assert_eq!(hunted.is_ok(), forgotten, "{hunted:?}");
    }
}

#[test]
fn no_more_blocks_are_lent_than_the_peer_can_return_at_once() {
    // The peer has a place to return each of its own blocks, which are fewer.
    let few = narrows::memory::Layout::new(
        64,
        64,
        &[crate::common::world::class(Placement::Internal, 64, 2)],
    );
    let many = narrows::memory::Layout::new(
        64,
        64,
        &[crate::common::world::class(Placement::Internal, 64, 40)],
    );
    let layouts = [many, few].map(|layout| layout.and_then(|l| l.with_channels(1, 64)));
    let layouts = layouts.map(|layout| std::cell::Cell::new(layout.ok()));
    let mut next = std::cell::Cell::new(0);
    let mut pair = pair_with(Limits::default(), Limits::default(), |state| {
        state.layout.set(layouts[next.replace(next.get() + 1)].take().expect("possible"));
    });
    assert_eq!(*next.get_mut(), 2);
    pair.a.platform().off_wait();
    let (to, from) = ends(&pair, 0);
    let (_, theirs) = pair.a.link(pair.to_b).layouts().expect("up");
    let most = theirs.blocks();
    for way in 0..3 {
        let mut outlet = (way == 1).then(|| pair.a.take_outlet(to).expect("a channel"));
        if way == 2 {
            for node in [&mut pair.a, &mut pair.b.borrow_mut()] {
                node.open(1).expect("free");
            }
        }
        let port = narrows::endpoint::Address { link: pair.to_b, port: 1 };
        let place = Placement::Internal;
        let internal = narrows::strategy::Strategy { placement: place, ..Default::default() };
        pair.a.set_strategy(internal);
        let mut send = |a: &mut Node<Side>| match (way, &mut outlet) {
            (1, Some(outlet)) => a.post_short_packet(outlet, &[1; 60], place, 0).is_some(),
            (2, _) => a.try_send(1, port, &[1; 60]).is_ok(),
            _ => a.channel(to).try_send_packet(&[1; 60], place, 0).is_ok(),
        };
        let sent = (0..64).take_while(|_| send(&mut pair.a)).count();
        assert_eq!(sent, most as usize, "way {way}");
        outlet.into_iter().for_each(|outlet| pair.a.put_outlet(outlet));
        let mut b = pair.b.borrow_mut();
        while let Ok(Some(packet)) = b.channel(from).try_take() {
            b.channel(from).release(packet.block.expect("a packet"));
        }
        while way == 2 && matches!(b.try_receive_into(1, &mut []), Ok(Some(_))) {}
        settle(&mut b);
        drop(b);
        settle(&mut pair.a);
        assert_eq!(crate::common::world::in_use(&mut pair.a, pair.to_b), (0, 0));
    }
}
