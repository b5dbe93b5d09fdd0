//! Models of the protocol in shared memory, over whichever accessors `crate::memory` has.

use std::time::Duration;

use loom::thread::{spawn, yield_now};
use narrows::memory::{Ack, Block, Descriptor, Kind, Placed, Plain, Taken};
use narrows::notify::{self, Adaptive, Awaited, Looks};
use narrows::platform::{Memory, Platform, Wait, WordsMut};
use narrows::strategy::{Notification, Placement};

use crate::ends::{End, explore, link, link_with};
use crate::memory::LINE;
use crate::word::SLOTS;

fn message(number: u32, ack: Ack) -> Descriptor {
    Descriptor {
        kind: Kind::Message,
        ack,
        priority: 3,
        len: 0,
        source: 1,
        target: 2,
        tag: number as u16,
        block: None,
    }
}

fn content(number: u32) -> [u8; 8] {
    (u64::from(number + 1) * 0x0101_0101_0101_0101).to_le_bytes()
}

fn publish(end: &mut End, number: u32) {
    end.shared.publish(message(number, Ack::Batched), Placed::InSlot(&content(number)));
    end.shared.ring_if_armed(&end.core);
}

fn block(end: &mut End) -> Option<Block> {
    let block = end.shared.take_block(Placement::Internal, 8);
    block.expect("an honest peer").ok()
}

fn publish_block(end: &mut End, block: Block, number: u32) {
    assert!(end.shared.write(block, 0, &content(number)));
    assert_eq!(end.shared.room(true), Ok(true));
    end.shared.publish(message(number, Ack::Batched), Placed::Block { block, len: 8 });
    end.shared.ring_if_armed(&end.core);
}

fn take(end: &mut End) -> Option<Taken> {
    end.shared.take().expect("an honest peer")
}

fn take_spinning(end: &mut End) -> Taken {
    loop {
        match take(end) {
            Some(taken) => return taken,
            None => yield_now(),
        }
    }
}

/// Sleeps as the stack does: for a message, or, if it `starves`, for credit and blocks.
fn sleep(end: &End, starves: bool, how: Notification) {
    let awaited =
        Awaited { shared: &end.shared, messages: !starves, room: starves, channels: false };
    let awaited = core::iter::once(awaited);
    let mut adaptive = Adaptive::default();
    notify::wait(&end.core, &awaited, how, Looks::Adapt(&mut adaptive), None);
}

fn take_sleeping(end: &mut End, how: Notification) -> Taken {
    loop {
        match take(end) {
            Some(taken) => return taken,
            None => sleep(end, false, how),
        }
    }
}

fn check_in_slot(taken: &Taken, number: u32) {
    assert_eq!(taken.descriptor.tag, number as u16);
    assert_eq!(taken.descriptor.len, 8);
    assert_eq!(taken.in_slot[..8], content(number));
}

fn check_block(end: &End, taken: &Taken, number: u32) {
    let mut bytes = [0; 8];
    let block = taken.descriptor.block.expect("it came in a block");
    assert!(end.shared.read(block, 0, &mut bytes));
    assert_eq!((taken.descriptor.tag, bytes), (number as u16, content(number)));
}

fn release(end: &mut End, taken: &Taken) {
    end.shared.release(&end.core, &taken.descriptor);
}

#[test]
fn messages_arrive_whole_and_in_order_and_slots_are_used_again() {
    explore(|| {
        let (mut sender, mut receiver) = link(1);
        spawn(move || {
            for number in 0..3 {
                while !sender.shared.room(false).expect("an honest peer") {
                    yield_now();
                }
                publish(&mut sender, number);
            }
        });
        for number in 0..3 {
            let taken = take_spinning(&mut receiver);
            check_in_slot(&taken, number);
            release(&mut receiver, &taken);
        }
        assert!(take(&mut receiver).is_none());
    });
}

#[test]
fn a_block_is_written_again_only_after_it_was_read() {
    explore(|| {
        let (mut sender, mut receiver) = link(1);
        spawn(move || {
            for number in 0..2 {
                let free = loop {
                    match block(&mut sender) {
                        Some(block) => break block,
                        None => yield_now(),
                    }
                };
                publish_block(&mut sender, free, number);
            }
        });
        for number in 0..2 {
            let taken = take_spinning(&mut receiver);
            check_block(&receiver, &taken, number);
            release(&mut receiver, &taken);
        }
    });
}

#[test]
fn a_sleeping_receiver_is_rung_for_the_first_message() {
    explore(|| {
        let (mut sender, mut receiver) = link(1);
        spawn(move || {
            for number in 0..2 {
                publish(&mut sender, number);
            }
        });
        for number in 0..2 {
            check_in_slot(&take_sleeping(&mut receiver, Notification::Interrupt), number);
        }
    });
}

#[test]
fn a_sleeping_receiver_is_rung_for_messages_sent_together() {
    explore(|| {
        let (mut sender, mut receiver) = link(1);
        spawn(move || {
            let contents = [content(0), content(1)];
            let messages = (0..).zip(&contents);
            let messages = messages.map(|(tag, bytes)| Plain { priority: 3, tag, bytes });
            let words = Descriptor { priority: 0, ..message(0, Ack::Batched) }.pack();
            let sent = sender.shared.post(&sender.core, words, None, messages);
            assert_eq!(sent, 2);
        });
        for number in 0..2 {
            check_in_slot(&take_sleeping(&mut receiver, Notification::Interrupt), number);
        }
    });
}

#[test]
fn a_sleeping_receiver_is_rung_for_the_message_it_named() {
    explore(|| {
        let (mut sender, mut receiver) = link(1);
        spawn(move || {
            for number in 0..2 {
                publish(&mut sender, number);
            }
        });
        for number in 0..2 {
            let how = Notification::Coalesced { messages: 2 - number, within: Duration::MAX };
            check_in_slot(&take_sleeping(&mut receiver, how), number.into());
        }
    });
}

#[test]
fn a_sender_that_sleeps_for_credit_is_rung() {
    explore(|| {
        let (mut sender, mut receiver) = link(1);
        spawn(move || {
            for number in 0..3 {
                while !sender.shared.room(false).expect("an honest peer") {
                    sleep(&sender, true, Notification::Interrupt);
                }
                publish(&mut sender, number);
            }
        });
        for number in 0..3 {
            let taken = take_spinning(&mut receiver);
            check_in_slot(&taken, number);
            release(&mut receiver, &taken);
        }
    });
}

#[test]
fn a_sender_that_sleeps_for_a_block_is_rung() {
    explore(|| {
        let (mut sender, mut receiver) = link(1);
        spawn(move || {
            for number in 0..2 {
                let free = loop {
                    if let Some(block) = block(&mut sender) {
                        break block;
                    }
                    sleep(&sender, true, Notification::Interrupt);
                };
                publish_block(&mut sender, free, number);
            }
        });
        for number in 0..2 {
            let taken = take_spinning(&mut receiver);
            check_block(&receiver, &taken, number);
            release(&mut receiver, &taken);
        }
    });
}

#[test]
fn a_sender_that_asked_to_be_told_is_rung_for_each_message() {
    explore(|| {
        let (mut sender, mut receiver) = link(1);
        spawn(move || {
            for number in 0..2 {
                let taken = take_spinning(&mut receiver);
                check_in_slot(&taken, number);
                release(&mut receiver, &taken);
            }
        });
        for number in 0..2 {
            let descriptor = message(number, Ack::Interrupt);
            sender.shared.publish(descriptor, Placed::InSlot(&content(number)));
        }
        let known = [sender.shared.tx.watched()];
        sender.core.wait(known.into_iter(), Wait::Bell, None);
    });
}

#[test]
fn what_a_dead_receiver_had_taken_is_not_touched_by_it_any_more() {
    explore(|| {
        let (mut sender, mut receiver) = link(1);
        publish(&mut sender, 0);
        publish(&mut sender, 1);
        spawn(move || {
            for number in 0..2 {
                check_in_slot(&take_spinning(&mut receiver), number);
            }
        });
        let first = sender.shared.first_untaken();
        let own = sender.shared.own();
        for number in 0..2 {
            let mut bytes = [0; 8];
            let back = sender.shared.tx.recall(number, &mut bytes).expect("its slot holds it");
            assert_eq!((back.tag, bytes), (number as u16, content(number)));
            if number < first {
                let slot = own.words(SLOTS * 4 + number * LINE, LINE / 4).expect("a slot");
                slot.write_bytes(4, &[0xee; 8]);
            }
        }
    });
}

#[test]
fn a_word_of_a_channel_arrives_whole_and_its_slot_is_used_again() {
    explore(|| {
        let (mut sender, mut receiver) = link_with(1, 1);
        spawn(move || {
            for number in 0..3 {
                while sender.shared.channel_room(0).expect("an honest peer") != Some(true) {
                    yield_now();
                }
                assert!(sender.shared.post_word(&sender.core, 0, (number + 1, 8), 0, |_| ()));
            }
        });
        let mut inlet = receiver.shared.take_inlet(0).expect("a channel");
        for number in 0..3 {
            let word = loop {
                match inlet.take_word(8) {
                    Some((word, _)) => break word,
                    None => yield_now(),
                }
            };
            assert_eq!(word, number + 1);
            receiver.shared.credit(&receiver.core, &mut inlet);
        }
    });
}
