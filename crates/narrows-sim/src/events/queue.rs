//! What is due, in the order in which it happens.

use crate::time::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// At equal time, interrupts and timers come first, then what ends, then the next transfer of a
/// bus.
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
    /// The transfer on a bus, of a process, is done.
    Transferred { bus: usize, process: usize },
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
    /// Whether it is neither a clock's nor the end.
    pub fn is_of_processes(self) -> bool {
        !matches!(self, Event::Stop | Event::Tick { .. })
    }

    /// What it happens to. At equal time and rank this decides, not the order of asking: that may
    /// depend on what was simulated event by event and what was computed. So may whether a process
    /// goes on behind a transfer or behind a computation: either is its own.
    fn subject(self) -> usize {
        match self {
            Event::Resume { process, .. }
            | Event::Interrupt { process }
            | Event::Ring { process }
            | Event::News { process }
            | Event::Timer { process, .. }
            | Event::Transferred { process, .. } => process,
            Event::Stop => 0,
            Event::Arbitrate { bus } => bus,
            Event::Tick { core } => core,
        }
    }
}

/// Something due. The smaller its key, the sooner it happens: by time, and then by rank, subject
/// and the order in which it was asked for, in one number.
struct Entry {
    key: (u64, u64),
    event: Event,
}

impl Entry {
    fn at(&self) -> Time {
        Time(self.key.0)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key == other.key
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
        other.key.cmp(&self.key)
    }
}

/// Bits of the number of an event: more than can be simulated in days. Subjects have the 18 above.
const NUMBER: u32 = 44;

/// This many are kept sorted: mostly no more are due soon, and a heap costs more than moving them.
const SOON: usize = 8;

pub(super) struct Queue {
    /// What is due first, the very first last.
    soon: Vec<Entry>,
    /// The rest, none of it due before what is in `soon`.
    later: BinaryHeap<Entry>,
    number: u64,
    /// When the first of all is due; never, if nothing is.
    next: Time,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue { soon: Vec::new(), later: BinaryHeap::new(), number: 0, next: Time::NEVER }
    }
}

impl Queue {
    pub fn push(&mut self, at: Time, rank: Rank, event: Event) {
        self.number += 1;
        self.next = self.next.min(at);
        let order = (rank as u64) << 62 | (event.subject() as u64) << NUMBER | self.number;
        let entry = Entry { key: (at.0, order), event };
        if self.later.peek().is_some_and(|next| next.key < entry.key) {
            return self.later.push(entry);
        }
        let behind = self.soon.iter().rposition(|other| other.key > entry.key);
        self.soon.insert(behind.map_or(0, |place| place + 1), entry);
        if self.soon.len() > SOON {
            self.later.push(self.soon.remove(0));
        }
    }

    pub fn pop(&mut self) -> Option<(Time, Event)> {
        let first = self.soon.pop().or_else(|| self.later.pop())?;
        let next = self.soon.last().or_else(|| self.later.peek());
        self.next = next.map_or(Time::NEVER, Entry::at);
        Some((first.at(), first.event))
    }

    /// What is due next, if it is `wanted`.
    pub fn pop_if(&mut self, wanted: impl FnOnce(Event) -> bool) -> Option<(Time, Event)> {
        let next = self.soon.last().or_else(|| self.later.peek())?;
        if wanted(next.event) { self.pop() } else { None }
    }

    /// What is due, in no order.
    pub fn due(&self) -> impl Iterator<Item = Event> {
        self.soon.iter().chain(&self.later).map(|entry| entry.event)
    }

    /// Whether nothing is due up to and including `until`.
    #[inline]
    pub fn clear(&self, until: Time) -> bool {
        self.next > until || self.due().next().is_none()
    }
}
