//! What is due, in the order in which it happens.

use crate::time::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// At equal time, interrupts and timers come first, then what ends, then who gets a bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Interrupt,
    Completion,
    Arbitration,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The time is up.
    Stop,
    /// A process goes on, if it is still in the stretch of that number.
    Resume { process: usize, stretch: u64 },
    /// A bus chooses among those that wait.
    Arbitrate { bus: usize },
    /// The transfer on a bus is done.
    Transferred { bus: usize },
    /// A core is interrupted: that service process has work.
    Interrupt { process: usize },
    /// The doorbell of a process rings, later than it should.
    Ring { process: usize },
    /// The clock of a core ticks.
    Tick { core: usize },
    /// The rendezvous has news for a process.
    News { process: usize },
    /// A process that sleeps or spins until then, if it is still in the stretch of that number.
    Timer { process: usize, sleep: u64 },
}

impl Event {
    /// What it happens to. At equal time and rank this decides, not who asked first: that may
    /// depend on what was simulated event by event and what was computed.
    fn subject(self) -> usize {
        match self {
            Event::Resume { process, .. }
            | Event::Interrupt { process }
            | Event::Ring { process }
            | Event::News { process }
            | Event::Timer { process, .. } => process,
            Event::Stop => 0,
            Event::Arbitrate { bus } | Event::Transferred { bus } => bus,
            Event::Tick { core } => core,
        }
    }
}

struct Entry {
    at: Time,
    rank: Rank,
    number: u64,
    event: Event,
}

impl Entry {
    fn key(&self) -> (Time, Rank, usize, u64) {
        (self.at, self.rank, self.event.subject(), self.number)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key() == other.key()
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        other.key().cmp(&self.key())
    }
}

#[derive(Default)]
pub(super) struct Queue {
    heap: BinaryHeap<Entry>,
    number: u64,
}

impl Queue {
    pub fn push(&mut self, at: Time, rank: Rank, event: Event) {
        self.number += 1;
        self.heap.push(Entry { at, rank, number: self.number, event });
    }

    pub fn pop(&mut self) -> Option<(Time, Event)> {
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }

    /// What is due, in no order.
    pub fn due(&self) -> impl Iterator<Item = Event> {
        self.heap.iter().map(|entry| entry.event)
    }

    /// Whether nothing is due up to and including `until`.
    #[inline]
    pub fn clear(&self, until: Time) -> bool {
        self.heap.peek().is_none_or(|next| next.at > until)
    }
}
