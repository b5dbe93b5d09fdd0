//! What one thread writes and another reads: events of a node, in a ring without a lock.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, Ordering};

use super::event::Event;

/// Events that fit: 2 MiB of them.
pub(super) const EVENTS: usize = if cfg!(loom) { 2 } else { 1 << 16 };

/// Words of an event: when, and what.
const WORDS: usize = 4;

/// The ring, for its two threads.
pub(super) struct Ring {
    words: Box<[AtomicU64]>,
    /// Events written.
    head: AtomicU64,
    /// Events read.
    tail: AtomicU64,
    /// Events for which there was no room.
    dropped: AtomicU64,
}

impl Ring {
    pub fn new() -> Ring {
        let words = (0..EVENTS * WORDS).map(|_| AtomicU64::new(0)).collect();
        let zero = || AtomicU64::new(0);
        Ring { words, head: zero(), tail: zero(), dropped: zero() }
    }

    fn place(&self, number: u64) -> &[AtomicU64] {
        let from = (number as usize & (EVENTS - 1)) * WORDS;
        self.words.get(from..from + WORDS).unwrap_or_default()
    }

    /// Writes an event. If there is no room, it counts it and returns false. For one thread at a
    /// time.
    #[inline]
    pub fn put(&self, ticks: u64, event: &Event) -> bool {
        // Relaxed: this thread alone writes it.
        let head = self.head.load(Ordering::Relaxed);
        // Acquire: pairs with the release in `take`. What was there has been read.
        if head.wrapping_sub(self.tail.load(Ordering::Acquire)) >= EVENTS as u64 {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        let [first, second, third] = event.pack();
        for (word, value) in self.place(head).iter().zip([ticks, first, second, third]) {
            word.store(value, Ordering::Relaxed);
        }
        // Release: pairs with the acquire in `take`. The words come before the number that says
        // they are there.
        self.head.store(head.wrapping_add(1), Ordering::Release);
        true
    }

    /// Reads what there is. For one thread at a time.
    pub fn take(&self, mut each: impl FnMut(u64, Event)) {
        // Acquire: pairs with the release in `put`.
        let head = self.head.load(Ordering::Acquire);
        // Relaxed: this thread alone writes it.
        let mut tail = self.tail.load(Ordering::Relaxed);
        while tail != head {
            let mut words = self.place(tail).iter().map(|word| word.load(Ordering::Relaxed));
            let mut next = || words.next().unwrap_or_default();
            let ticks = next();
            if let Some(event) = Event::unpack([next(), next(), next()]) {
                each(ticks, event);
            }
            tail = tail.wrapping_add(1);
        }
        // Release: pairs with the acquire in `put`.
        self.tail.store(tail, Ordering::Release);
    }

    /// How many had no room since this was asked last.
    pub fn dropped(&self) -> u64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_in_order_and_those_without_room_are_counted() {
        let ring = Ring::new();
        for number in 0..EVENTS as u32 + 5 {
            ring.put(number.into(), &Event::Lost(number));
        }
        let mut next = 0;
        ring.take(|ticks, event| {
            assert_eq!((ticks, event), (next, Event::Lost(next as u32)));
            next += 1;
        });
        assert_eq!((next, ring.dropped(), ring.dropped()), (EVENTS as u64, 5, 0));
        ring.put(1, &Event::Rang);
        let mut rest = Vec::new();
        ring.take(|_, event| rest.push(event));
        assert_eq!(rest, [Event::Rang]);
    }

    #[test]
    fn what_two_threads_pass_is_whole() {
        let ring = Ring::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..200_000_u64 {
                    ring.put(number, &Event::Lost(number as u32));
                }
            });
            let (mut last, mut seen, mut lost) = (0, 0, 0);
            while seen + lost < 200_000 {
                ring.take(|ticks, event| {
                    assert!(ticks >= last, "{ticks} behind {last}");
                    assert_eq!(event, Event::Lost(ticks as u32));
                    (last, seen) = (ticks, seen + 1);
                });
                lost += ring.dropped();
            }
        });
    }
}
