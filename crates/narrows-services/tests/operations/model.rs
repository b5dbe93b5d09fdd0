//! What a topic is to do, on lists.

use std::collections::VecDeque;

use narrows_services::Overflow;

/// What a subscriber asked for.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub depth: usize,
    pub holds: usize,
    pub overflow: Overflow,
    pub history: usize,
}

/// A subscriber, as its publisher has it.
#[derive(Clone, Debug)]
pub struct Reader {
    pub id: u64,
    pub terms: Terms,
    /// The last positions, as many as its queue has room for: a message that was taken back leaves
    /// a hole.
    pub queue: VecDeque<Option<u64>>,
    pub held: Vec<u64>,
    pub lost: u32,
    pub left: bool,
}

impl Reader {
    fn kept(&self) -> usize {
        match self.terms.overflow {
            Overflow::DropOldest => self.terms.holds,
            Overflow::Wait | Overflow::DropNewest => self.terms.holds + self.terms.depth,
        }
    }

    fn waits_for(&self, number: u64) -> bool {
        !self.left && self.queue.contains(&Some(number))
    }

    /// Whether there is a message that it may take.
    pub fn may_take(&self) -> bool {
        self.held.len() < self.terms.holds && self.queue.iter().any(Option::is_some)
    }

    /// What it takes next; that it holds as many as it may even if there is nothing.
    pub fn take_if_it_may(&mut self) -> Took {
        if self.held.len() < self.terms.holds { self.take() } else { Took::Holds }
    }

    /// What it takes next, if it may.
    pub fn take(&mut self) -> Took {
        if self.queue.is_empty() {
            return Took::Nothing;
        }
        if self.held.len() >= self.terms.holds {
            return Took::Holds;
        }
        while let Some(next) = self.queue.pop_front() {
            if let Some(number) = next {
                self.held.push(number);
                return Took::Message(number);
            }
        }
        Took::Nothing
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum Took {
    Message(u64),
    Nothing,
    Holds,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Sent {
    Full,
    /// How many lost it, or another for it, for want of room in their queues, and how many lost one
    /// because its slot was needed.
    Done {
        lost: usize,
        revoked: usize,
    },
}

#[derive(Debug, PartialEq, Eq)]
pub enum Joined {
    Terms,
    Full,
    Done { caught_up: usize },
}

/// A topic of one publisher.
#[derive(Clone, Debug)]
pub struct Topic {
    pub slots: usize,
    /// How many slots there may be.
    most: usize,
    pub subscribers: usize,
    pub keeps: usize,
    pub readers: Vec<Reader>,
    history: VecDeque<u64>,
}

impl Topic {
    /// A topic with `slots` slots, which may become `most`.
    pub fn new((slots, most): (usize, usize), subscribers: usize, keeps: usize) -> Topic {
        let (readers, history) = Default::default();
        Topic { slots, most, subscribers, keeps, readers, history }
    }

    /// Adds at least `least` slots, if there may be that many.
    fn grow(&mut self, least: usize) -> bool {
        let left = self.most - self.slots;
        let count = self.slots.min(left / 2).max(least);
        if count <= left {
            self.slots += count;
        }
        count <= left
    }

    /// Whether it lets all of these in.
    pub fn admits(&self, all: &[Terms]) -> bool {
        let mut trial = self.clone();
        all.iter().all(|terms| matches!(trial.join(u64::MAX, *terms), Joined::Done { .. }))
    }

    pub fn reader(&mut self, id: u64) -> &mut Reader {
        self.readers.iter_mut().find(|reader| reader.id == id).expect("it subscribes")
    }

    /// Messages whose slots are not free, oldest first.
    fn used(&self) -> Vec<u64> {
        let readers = self.readers.iter();
        let mut used: Vec<u64> = readers
            .flat_map(|reader| {
                let queued = reader.queue.iter().flatten().filter(|_| !reader.left);
                queued.chain(&reader.held).copied()
            })
            .chain(self.history.iter().copied())
            .collect();
        used.sort_unstable();
        used.dedup();
        used
    }

    /// Takes back the oldest message that only waits where messages may be lost. How many lost it.
    fn revoke(&mut self) -> Option<usize> {
        let may_go = |number: &u64| {
            !self.history.contains(number)
                && self.readers.iter().all(|reader| {
                    let may_lose = reader.terms.overflow == Overflow::DropOldest;
                    !reader.held.contains(number) && (may_lose || !reader.waits_for(*number))
                })
        };
        let oldest = self.used().into_iter().find(may_go)?;
        let mut count = 0;
        for reader in self.readers.iter_mut().filter(|reader| reader.waits_for(oldest)) {
            reader.lost += 1;
            count += 1;
            for place in reader.queue.iter_mut().filter(|place| **place == Some(oldest)) {
                *place = None;
            }
        }
        Some(count)
    }

    /// Has room for one message more.
    pub fn lend(&mut self) -> Option<usize> {
        let blocks = |reader: &Reader| {
            let waits = reader.terms.overflow == Overflow::Wait && !reader.left;
            waits && reader.queue.len() == reader.terms.depth
        };
        if self.readers.iter().any(blocks) {
            return None;
        }
        if self.used().len() < self.slots || self.grow(1) { Some(0) } else { self.revoke() }
    }

    pub fn send(&mut self, number: u64) -> Sent {
        let Some(revoked) = self.lend() else { return Sent::Full };
        let mut lost = 0;
        for reader in self.readers.iter_mut().filter(|reader| !reader.left) {
            if reader.queue.len() == reader.terms.depth {
                if reader.terms.overflow == Overflow::DropNewest {
                    reader.lost += 1;
                    lost += 1;
                    continue;
                }
                // A hole was counted when it was made.
                if reader.queue.pop_front().flatten().is_some() {
                    reader.lost += 1;
                    lost += 1;
                }
            }
            reader.queue.push_back(Some(number));
        }
        self.history.push_back(number);
        while self.history.len() > self.keeps {
            self.history.pop_front();
        }
        Sent::Done { lost, revoked }
    }

    /// Whether those that left and hold nothing are let go.
    pub fn attend(&mut self) {
        self.readers.retain(|reader| !reader.left || !reader.held.is_empty());
    }

    pub fn join(&mut self, id: u64, terms: Terms) -> Joined {
        self.attend();
        let history = terms.history.min(self.keeps).min(terms.depth);
        let mut reader =
            Reader { id, terms, queue: VecDeque::new(), held: Vec::new(), lost: 0, left: false };
        let taken: usize = self.readers.iter().map(Reader::kept).sum();
        if self.readers.len() == self.subscribers {
            return Joined::Full;
        }
        let needed = taken + reader.kept() + self.keeps + 1;
        if needed > self.slots && !self.grow(needed - self.slots) {
            return Joined::Terms;
        }
        let skipped = self.history.len().saturating_sub(history);
        reader.queue.extend(self.history.iter().skip(skipped).copied().map(Some));
        let caught_up = reader.queue.len();
        self.readers.push(reader);
        Joined::Done { caught_up }
    }
}
