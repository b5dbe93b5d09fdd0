//! Messages for many in shared slots, under the model checker: what is read while a publisher wants
//! its slot back.
#![cfg(loom)]

#[path = "loom_memory/racing.rs"]
mod racing;

use std::rc::Rc;

use loom::cell::Cell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicBool;
use loom::sync::atomic::Ordering::{AcqRel, Acquire};
use loom::thread::spawn;
use narrows::memory::{Delivery, NOTE_WORDS, Overflow, Subscription, Terms, leave, queue_words};
use racing::{Racing, full};

/// What lies in the slots: a read that is not ordered against a write fails the model.
type Payload = Rc<[Cell<u32>; 2]>;

/// A publisher of two slots, and what it knows of each.
struct Publisher {
    out: Delivery<Racing, Racing>,
    payload: Payload,
    at: [Option<u32>; 2],
}

impl Publisher {
    /// A slot that the subscriber has no more, taken back from its queue if need be.
    fn free(&mut self) -> Option<u32> {
        for back in [false, true] {
            for slot in 0..2 {
                let waits = self.at[slot].filter(|at| self.out.waits(*at));
                if waits.is_some_and(|at| !back || !self.out.revoke(at, full)) {
                    continue;
                }
                if !self.out.holds(slot as u32) {
                    return Some(slot as u32);
                }
            }
        }
        None
    }

    fn send(&mut self, number: u32) -> bool {
        if self.out.terms().overflow == Overflow::Wait && !self.out.has_room() {
            return false;
        }
        let Some(slot) = self.free() else { return false };
        self.payload[slot as usize].set(number);
        let pushed = self.out.push(slot, [number, 0], full).expect("there is room");
        self.at[slot as usize] = pushed;
        true
    }
}

fn check(depth: u32, overflow: Overflow, messages: u32, takes: u32) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(move || {
        let terms = Terms { depth, holds: 1, overflow };
        let (queue, note) = (Racing::new(queue_words(depth)), Racing::new(NOTE_WORDS));
        let payload = Payload::new([0, 0].map(Cell::new));
        let out = Delivery::new(queue.clone(), note.clone(), terms);
        let mut publisher = Publisher { out, payload: Rc::clone(&payload), at: [None; 2] };
        let reader = spawn(move || {
            let mut into = Subscription::new(queue, note, terms);
            let mut last = 0;
            for _ in 0..takes {
                let Ok(Some(sample)) = into.take(full) else { continue };
                let number = sample.words[0];
                assert!(number > last, "{number} behind {last}");
                // Nothing is lost but where that was agreed.
                assert!(overflow == Overflow::DropOldest || number == last + 1);
                last = number;
                for _ in 0..2 {
                    assert_eq!(payload[sample.slot as usize].get(), number);
                }
                into.give_back(sample);
            }
            (last, into.lost())
        });
        let mut sent = 0;
        for _ in 0..messages {
            sent += u32::from(publisher.send(sent + 1));
        }
        let (last, lost) = reader.join().unwrap();
        assert!(last <= sent && lost <= sent);
        assert!(overflow == Overflow::DropOldest || lost == 0);
    });
}

#[test]
fn what_is_held_is_not_written_though_messages_may_be_lost() {
    check(1, Overflow::DropOldest, 3, 1);
}

#[test]
fn what_is_held_in_a_longer_queue_is_not_written() {
    check(2, Overflow::DropOldest, 3, 1);
}

#[test]
fn nothing_is_lost_where_the_publisher_waits() {
    check(1, Overflow::Wait, 3, 2);
    check(2, Overflow::Wait, 3, 2);
}

/// A subscriber that goes to sleep while the publisher does something that is to be heard is woken,
/// or sees it.
fn nobody_sleeps_beside(act: fn(&mut Delivery<Racing, Racing>)) {
    loom::model(move || {
        let terms = Terms { depth: 1, holds: 1, overflow: Overflow::Wait };
        let (queue, note) = (Racing::new(queue_words(1)), Racing::new(NOTE_WORDS));
        let mut out = Delivery::new(queue.clone(), note.clone(), terms);
        let reader = spawn(move || Subscription::new(queue, note, terms).arm(full));
        act(&mut out);
        full();
        let woken = out.is_armed();
        let slept = reader.join().unwrap();
        assert!(!slept || woken);
    });
}

#[test]
fn nobody_sleeps_beside_a_message() {
    nobody_sleeps_beside(|out| assert!(out.push(0, [1, 0], full).is_ok()));
}

#[test]
fn who_sleeps_again_is_woken_again() {
    loom::model(|| {
        let terms = Terms { depth: 1, holds: 1, overflow: Overflow::Wait };
        let (queue, note) = (Racing::new(queue_words(1)), Racing::new(NOTE_WORDS));
        let mut out = Delivery::new(queue.clone(), note.clone(), terms);
        let woken = Arc::new(AtomicBool::new(false));
        let wakes = woken.clone();
        let reader = spawn(move || {
            let mut into = Subscription::new(queue, note, terms);
            into.arm(full);
            into.disarm();
            wakes.swap(false, AcqRel);
            into.arm(full)
        });
        let wake = |out: &mut Delivery<Racing, Racing>| {
            if out.is_armed() {
                woken.swap(true, AcqRel);
            }
        };
        wake(&mut out);
        out.push(0, [1, 0], full).unwrap();
        full();
        wake(&mut out);
        let slept = reader.join().unwrap();
        assert!(!slept || woken.load(Acquire));
    });
}

#[test]
fn nobody_sleeps_beside_an_end_nor_hears_of_it_before_the_last_message() {
    loom::model(|| {
        let terms = Terms { depth: 1, holds: 1, overflow: Overflow::Wait };
        let (queue, note) = (Racing::new(queue_words(1)), Racing::new(NOTE_WORDS));
        let mut out = Delivery::new(queue.clone(), note.clone(), terms);
        let reader = spawn(move || {
            let mut into = Subscription::new(queue, note, terms);
            if into.has_ended() {
                assert!(!into.is_empty());
            }
            // It is not told of what there is to take.
            into.arm(full)
        });
        out.push(0, [1, 0], full).unwrap();
        out.end();
        full();
        let woken = out.is_armed();
        let slept = reader.join().unwrap();
        assert!(!slept || woken);
    });
    nobody_sleeps_beside(|out| out.end());
}

#[test]
fn no_publisher_sleeps_beside_room() {
    for leaves in [false, true] {
        loom::model(move || {
            let terms = Terms { depth: 1, holds: 1, overflow: Overflow::Wait };
            let (queue, note) = (Racing::new(queue_words(1)), Racing::new(NOTE_WORDS));
            let mut out = Delivery::new(queue.clone(), note.clone(), terms);
            out.push(0, [1, 0], full).unwrap();
            let reader = spawn(move || {
                let mut into = Subscription::new(queue, note.clone(), terms);
                if leaves {
                    leave(&note);
                } else {
                    into.take(full).unwrap().expect("it was pushed before");
                }
                into.is_wanted(full)
            });
            let slept = out.want_room(full);
            let woken = reader.join().unwrap();
            assert!(!slept || woken);
        });
    }
}

#[test]
fn what_a_subscriber_holds_is_not_written_though_it_has_left() {
    loom::model(|| {
        let terms = Terms { depth: 1, holds: 1, overflow: Overflow::Wait };
        let (queue, note) = (Racing::new(queue_words(1)), Racing::new(NOTE_WORDS));
        let payload = Payload::new([0, 0].map(Cell::new));
        let mut out = Delivery::new(queue.clone(), note.clone(), terms);
        payload[0].set(1);
        let position = out.push(0, [1, 0], full).unwrap().expect("there is room");
        let theirs = Rc::clone(&payload);
        let reader = spawn(move || {
            let mut into = Subscription::new(queue, note.clone(), terms);
            let sample = into.take(full).unwrap().expect("it was pushed before");
            leave(&note);
            assert_eq!(theirs[0].get(), 1);
            into.give_back(sample);
        });
        if out.has_left() && !out.waits(position) && !out.holds(0) {
            payload[0].set(2);
        }
        reader.join().unwrap();
    });
}
