//! One message for many: what each subscriber finds, beside lists.

use std::collections::VecDeque;
use std::vec;
use std::vec::Vec;

use super::Heap;
use crate::memory::{
    Delivery, NOTE_WORDS, NoRoom, Overflow, Sample, Subscription, Terms, TooMany, leave,
    queue_words,
};
use crate::platform::{Memory, OwnMemory, WordsMut};

type Plain = <Heap as Memory>::Words;

/// Makes this number of words that are all 0.
fn words(count: u32) -> impl Fn() -> Plain {
    let heap = Heap::new(4 * count);
    heap.write(0, &vec![0; 4 * count as usize]).expect("all of them");
    move || heap.words(0, count).expect("all of them")
}

fn none() {}

/// Both sides of a queue, and its words.
struct Queue {
    out: Delivery<Plain, Plain>,
    into: Subscription<Plain, Plain>,
    queue: Plain,
    note: Plain,
}

fn queue(depth: u32, holds: u32, overflow: Overflow) -> Queue {
    let terms = Terms { depth, holds, overflow };
    let (queue, note) = (words(queue_words(depth)), words(NOTE_WORDS));
    let out = Delivery::new(queue(), note(), terms);
    Queue { out, into: Subscription::new(queue(), note(), terms), queue: queue(), note: note() }
}

fn push(queue: &mut Queue, slot: u32) -> Result<Option<u32>, NoRoom> {
    queue.out.push(slot, [slot + 100, 7], none)
}

fn take(queue: &mut Queue) -> Result<Option<Sample>, TooMany> {
    queue.into.take(none)
}

fn slots(queue: &mut Queue) -> Vec<u32> {
    let mut all = Vec::new();
    while let Ok(Some(sample)) = take(queue) {
        assert_eq!(sample.words, [sample.slot + 100, 7]);
        all.push(sample.slot);
        queue.into.give_back(sample);
    }
    all
}

#[test]
fn each_subscriber_meets_its_own_end_of_a_full_queue() {
    let [mut waits, mut newest, mut oldest] =
        [Overflow::Wait, Overflow::DropNewest, Overflow::DropOldest]
            .map(|overflow| queue(4, 2, overflow));
    for slot in 0..4 {
        for queue in [&mut waits, &mut newest, &mut oldest] {
            assert_eq!(push(queue, slot), Ok(Some(slot + 1)));
        }
    }
    assert_eq!(push(&mut waits, 4), Err(NoRoom));
    assert_eq!(push(&mut newest, 4), Ok(None));
    assert_eq!(push(&mut oldest, 4), Ok(Some(5)));
    assert_eq!(slots(&mut waits), [0, 1, 2, 3]);
    assert_eq!(slots(&mut newest), [0, 1, 2, 3]);
    assert_eq!(slots(&mut oldest), [1, 2, 3, 4]);
    let lost = [&waits, &newest, &oldest].map(|queue| queue.into.lost());
    assert_eq!((lost, newest.out.lost()), ([0, 1, 1], 1));
    for queue in [&mut waits, &mut newest, &mut oldest] {
        assert!(queue.into.is_empty());
        assert!(push(queue, 9).is_ok());
        assert!(!queue.into.is_empty());
        assert_eq!(slots(queue), [9]);
    }
}

#[test]
fn what_is_held_is_seen_and_no_more_than_was_agreed() {
    let mut queue = queue(8, 2, Overflow::Wait);
    for slot in 0..4 {
        let position = push(&mut queue, slot).unwrap().unwrap();
        assert!(queue.out.waits(position) && !queue.out.holds(slot));
    }
    let first = take(&mut queue).unwrap().unwrap();
    let second = take(&mut queue).unwrap().unwrap();
    assert_eq!(take(&mut queue), Err(TooMany));
    assert!(!queue.out.waits(1) && !queue.out.waits(2) && queue.out.waits(3));
    assert!(queue.out.holds(0) && queue.out.holds(1) && !queue.out.holds(2));
    queue.into.give_back(first);
    assert!(!queue.out.holds(0) && queue.out.holds(1));
    let third = take(&mut queue).unwrap().unwrap();
    queue.into.give_back(second);
    assert!(!queue.out.holds(1) && queue.out.holds(third.slot));
    // A subscriber that says that it holds more is not believed.
    queue.note.store(1 + 2, 3 + 1);
    assert!(!queue.out.holds(3));
}

#[test]
fn what_is_revoked_is_lost_if_that_was_agreed() {
    for (overflow, revoked) in
        [(Overflow::Wait, false), (Overflow::DropNewest, false), (Overflow::DropOldest, true)]
    {
        let mut queue = queue(4, 2, overflow);
        (0..3).for_each(|slot| assert!(push(&mut queue, slot).is_ok()));
        assert_eq!(queue.out.revoke(2, none), revoked);
        assert_eq!(slots(&mut queue), if revoked { &[0, 2][..] } else { &[0, 1, 2] });
        assert_eq!(queue.into.lost(), u32::from(revoked));
    }
}

#[test]
fn a_queue_of_one_has_the_latest() {
    let mut queue = queue(1, 1, Overflow::DropOldest);
    for slot in 0..10 {
        assert!(push(&mut queue, slot).is_ok());
    }
    assert_eq!(slots(&mut queue), [9]);
    assert_eq!(queue.into.lost(), 9);
    push(&mut queue, 5).unwrap();
    assert_eq!(slots(&mut queue), [5]);
}

#[test]
fn who_sleeps_is_woken_and_who_finds_something_does_not_sleep() {
    let mut queue = queue(2, 1, Overflow::Wait);
    for _ in 0..3 {
        assert!(queue.into.arm(none) && queue.out.is_armed());
        assert!(!queue.out.is_armed(), "it was woken");
    }
    queue.into.disarm();
    assert!(!queue.out.is_armed());
    push(&mut queue, 0).unwrap();
    assert!(!queue.into.arm(none));
    assert_eq!(slots(&mut queue), [0]);
    assert!(queue.into.arm(none) && !queue.into.has_ended());
    queue.out.end();
    assert!(!queue.into.arm(none) && queue.into.has_ended());
}

#[test]
fn nonsense_of_the_other_side_ends_nothing() {
    let mut queue = queue(4, 2, Overflow::DropOldest);
    for wrong in [1, 5, u32::MAX, 1 << 31, 77] {
        // What a publisher says: that there is far more, and that cells are of other positions.
        queue.queue.store(0, wrong);
        (4..20).for_each(|word| queue.queue.store(word, wrong));
        if let Ok(Some(sample)) = take(&mut queue) {
            queue.into.give_back(sample);
        }
        // What a subscriber says: that it has taken what there is not.
        (0..32).for_each(|word| queue.note.store(word, wrong));
        assert!(push(&mut queue, 1).is_ok());
        let _ = (queue.out.waits(1), queue.out.holds(1), queue.out.is_armed());
    }
}

/// A small generator, the same each time.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn random_pushes_and_takes_are_those_of_a_list() {
    for seed in 1..400_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let depth = 1 << (random(&mut state) % 4);
        let overflow = [Overflow::Wait, Overflow::DropNewest, Overflow::DropOldest]
            [random(&mut state) as usize % 3];
        let mut queue = queue(depth, 3, overflow);
        let (mut list, mut lost, mut held) = (VecDeque::new(), 0, Vec::new());
        for slot in 0..300 {
            match random(&mut state) % 8 {
                0..4 => match (push(&mut queue, slot), list.len() as u32 == depth) {
                    (Ok(Some(_)), false) => list.push_back(slot),
                    (Ok(Some(_)), true) => {
                        assert_eq!(overflow, Overflow::DropOldest);
                        list.pop_front();
                        list.push_back(slot);
                        lost += 1;
                    }
                    (Ok(None), true) => {
                        assert_eq!(overflow, Overflow::DropNewest);
                        lost += 1;
                    }
                    (Err(NoRoom), true) => assert_eq!(overflow, Overflow::Wait),
                    other => panic!("{seed}: {other:?}"),
                },
                4..7 => match take(&mut queue) {
                    Ok(None) => assert!(list.is_empty()),
                    Ok(Some(sample)) => {
                        assert_eq!(list.pop_front(), Some(sample.slot), "{seed}");
                        held.push(sample);
                    }
                    Err(TooMany) => assert_eq!(held.len(), 3),
                },
                _ => {
                    if let Some(sample) = held.pop() {
                        queue.into.give_back(sample);
                    }
                }
            }
            let all: Vec<u32> = held.iter().map(|sample| sample.slot).collect();
            assert!((0..=slot).all(|slot| queue.out.holds(slot) == all.contains(&slot)));
            assert_eq!(queue.into.is_empty(), list.is_empty(), "{seed}");
        }
        held.into_iter().for_each(|sample| queue.into.give_back(sample));
        assert!(slots(&mut queue).into_iter().eq(list), "{seed}");
        assert_eq!(queue.into.lost(), lost, "{seed}");
    }
}

#[test]
fn one_that_has_left_is_sent_nothing_and_keeps_what_it_holds() {
    for overflow in [Overflow::Wait, Overflow::DropNewest, Overflow::DropOldest] {
        let mut queue = queue(2, 2, overflow);
        let first = push(&mut queue, 0).unwrap().unwrap();
        let second = push(&mut queue, 1).unwrap().unwrap();
        let held = take(&mut queue).unwrap().unwrap();
        leave(&queue.note);
        assert!(queue.out.waits(second), "it was not looked");
        assert!(queue.out.has_left() && queue.out.has_room());
        assert_eq!(push(&mut queue, 2), Ok(None));
        assert_eq!(queue.out.lost(), 0);
        assert!(!queue.out.waits(first) && !queue.out.waits(second));
        assert!(queue.out.holds(0) && !queue.out.holds(1) && queue.out.holds_any());
        queue.into.give_back(held);
        assert!(!queue.out.holds(0) && !queue.out.holds_any());
    }
}
