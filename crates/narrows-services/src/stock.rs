//! A publisher's slots, and who still has which.

use std::collections::VecDeque;

use narrows::endpoint::Address;
use narrows::memory::{Delivery, Overflow};
use narrows_host::{OwnWords, PeerRegion, PeerWords, Place, full_fence};

/// A subscriber, as its publisher has it.
pub(crate) struct Subscriber {
    pub(crate) at: Address,
    pub(crate) queue: Delivery<OwnWords, PeerWords>,
    /// Where it notes what it takes and holds.
    pub(crate) note: Place,
    pub(crate) _mapped: PeerRegion,
}

/// Those that there are, each at its place.
pub(crate) type Subscribers = [Option<Subscriber>];

/// A slot: by whom it may still be read, and when it was published last.
#[derive(Default)]
struct Slot {
    /// Subscribers, by their place, and the position that each was given.
    with: Vec<(usize, u32)>,
    published: u64,
    lent: bool,
}

/// See the module page.
pub(crate) struct Stock {
    slots: Vec<Slot>,
    /// The latest, oldest first: what a subscriber may have that joins later.
    history: VecDeque<(usize, [u32; 2])>,
    keeps: usize,
    published: u64,
}

impl Stock {
    /// So many slots, and how many messages are kept for whoever joins later.
    pub(crate) fn new(count: usize, keeps: usize) -> Stock {
        let slots = (0..count).map(|_| Slot::default()).collect();
        Stock { slots, history: VecDeque::new(), keeps, published: 0 }
    }

    /// Lends a slot to be written that nobody reads. Where there is none, the oldest that only
    /// subscribers wait for who let messages be lost.
    pub(crate) fn lend(&mut self, to: &mut Subscribers) -> Option<usize> {
        // From the first on: a slot that was read a moment ago is still in a cache.
        let free = (0..self.slots.len()).find(|slot| {
            let kept = self.is_kept(*slot);
            !kept && self.slots.get_mut(*slot).is_some_and(|one| one.is_free(*slot, to))
        });
        let free = free.or_else(|| self.revoke(to))?;
        self.slots.get_mut(free)?.lent = true;
        Some(free)
    }

    fn is_kept(&self, slot: usize) -> bool {
        self.history.iter().any(|(kept, _)| *kept == slot)
    }

    /// Takes back the oldest slot that only waits where messages may be lost.
    fn revoke(&mut self, from: &mut Subscribers) -> Option<usize> {
        let mut before = 0;
        loop {
            // The oldest after the one that was looked at last. None was published twice.
            let others = self.slots.iter().enumerate().filter(|(_, one)| one.published > before);
            let (number, oldest) = others.min_by_key(|(_, one)| one.published)?;
            before = oldest.published;
            let kept = self.is_kept(number);
            let slot = self.slots.get_mut(number)?;
            if kept || slot.lent {
                continue;
            }
            // Nothing is taken from anyone for the sake of a slot that another keeps.
            let waits_only = slot.with.iter().all(|(at, position)| {
                let Some(Some(Subscriber { queue, .. })) = from.get_mut(*at) else { return true };
                match queue.waits(*position) {
                    true => queue.terms().overflow == Overflow::DropOldest,
                    false => !queue.holds(number as u32),
                }
            });
            if !waits_only {
                continue;
            }
            // What one takes meanwhile, it holds.
            slot.with.retain(|(at, position)| {
                let Some(Some(Subscriber { queue, .. })) = from.get_mut(*at) else { return false };
                if queue.waits(*position) {
                    queue.revoke(*position, full_fence);
                }
                queue.holds(number as u32)
            });
            if slot.with.is_empty() {
                return Some(number);
            }
        }
    }

    /// What was lent is not published.
    pub(crate) fn put_back(&mut self, slot: usize) {
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.lent = false;
        }
    }

    /// A slot was published: to these subscribers, at these positions.
    pub(crate) fn published(&mut self, slot: usize, words: [u32; 2], with: Vec<(usize, u32)>) {
        self.published += 1;
        let published = self.published;
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = Slot { with, published, lent: false };
        }
        self.history.push_back((slot, words));
        while self.history.len() > self.keeps {
            self.history.pop_front();
        }
    }

    /// Gives a subscriber that joins the latest of what is kept.
    pub(crate) fn catch_up(&mut self, at: usize, to: &mut Subscriber, count: usize) {
        let from = self.history.len().saturating_sub(count);
        for (slot, words) in self.history.iter().skip(from) {
            if let Ok(Some(position)) = to.queue.push(*slot as u32, *words, full_fence)
                && let Some(slot) = self.slots.get_mut(*slot)
            {
                slot.with.push((at, position));
            }
        }
    }

    /// A subscriber is gone: it has nothing any more.
    pub(crate) fn forget(&mut self, at: usize) {
        for slot in &mut self.slots {
            slot.with.retain(|(of, _)| *of != at);
        }
    }
}

impl Slot {
    /// Whether nobody reads it, nor may.
    fn is_free(&mut self, number: usize, to: &mut Subscribers) -> bool {
        if self.lent {
            return false;
        }
        self.with.retain(|(at, position)| {
            let Some(Some(Subscriber { queue, .. })) = to.get_mut(*at) else { return false };
            queue.waits(*position) || queue.holds(number as u32)
        });
        self.with.is_empty()
    }
}
