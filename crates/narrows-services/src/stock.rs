//! A publisher's slots, and which subscriber still has which.
//!
//! The publisher has a stretch of memory for all slots that there may ever be, of which pages are
//! made as they are used. So there are more slots, or longer ones, as soon as they are needed, and
//! nobody has to be told: a message says where it is.

use std::collections::VecDeque;

use narrows::endpoint::Address;
use narrows::memory::{Delivery, Overflow};
use narrows_host::{OwnWords, PeerRegion, PeerWords, Place, full_fence};

use crate::join::MOST_SLOTS;

/// Bytes of a cache line, to which slots are aligned.
pub(crate) const LINE: u32 = 64;

/// Bytes of slots that are used in turn at most, and at least: several times what a core's own
/// cache has, and more than that.
const IN_TURN: u32 = 4 << 20;
const LEAST: u32 = 2 << 20;

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

/// A slot: where it is and how long, by whom it may still be read, and when it was published last.
struct Slot {
    at: u32,
    size: u32,
    /// Subscribers, by their place, and the position that each was given.
    with: Vec<(usize, u32)>,
    published: u64,
    lent: bool,
}

/// See the module page.
pub(crate) struct Stock {
    /// The longer ones behind the shorter ones.
    slots: Vec<Slot>,
    /// The latest, oldest first: what a subscriber may have that joins later.
    history: VecDeque<(usize, [u32; 2])>,
    keeps: usize,
    published: u64,
    /// The slot that was published last.
    last: usize,
    /// Where the next slot goes, and where the memory ends.
    next: u32,
    end: u32,
}

impl Stock {
    /// `count` slots of `size` bytes in memory from `next` to `end`. `keeps` messages are kept for
    /// subscribers that join later.
    pub(crate) fn new((count, size): (u32, u32), (next, end): (u32, u32), keeps: usize) -> Stock {
        let (slots, history) = Default::default();
        let mut stock = Stock { slots, history, keeps, published: 0, last: 0, next, end };
        stock.add(count, size);
        stock
    }

    /// Bytes of the longest message that has a slot.
    pub(crate) fn longest(&self) -> u32 {
        self.slots.last().map_or(0, |slot| slot.size)
    }

    /// How many slots a message has whatever its length.
    pub(crate) fn for_all(&self) -> u32 {
        let longest = self.longest();
        self.slots.iter().rev().take_while(|slot| slot.size == longest).count() as u32
    }

    /// Bytes of all slots that there may be.
    pub(crate) fn limit(&self) -> u32 {
        self.end.saturating_sub(self.slots.first().map_or(self.next, |slot| slot.at))
    }

    /// Makes more slots, for messages of `len` bytes: as many as are wanted, as long as half of the
    /// memory that is left stays so, and `least` at least. False if there is no room for those.
    pub(crate) fn grow(&mut self, len: u32, least: u32, wanted: u32) -> bool {
        let longest = self.longest();
        // At least twice as long as the others, so that there are few lengths.
        let longer = if len > longest { 2 * u64::from(longest) } else { 0 };
        let len = u64::from(len.max(longest).max(1));
        [len.max(longer), len].into_iter().any(|size| {
            let size = size.next_multiple_of(LINE.into());
            let fit = u64::from(self.end - self.next) / size;
            let fit = fit.min((MOST_SLOTS as usize - self.slots.len()) as u64);
            let count = u64::from(wanted).min(fit / 2).max(least.max(1).into());
            if count <= fit {
                self.add(count as u32, size as u32);
            }
            count <= fit
        })
    }

    fn add(&mut self, count: u32, size: u32) {
        let (with, published, lent) = Default::default();
        let slots = (0..count).map(|number| Slot {
            at: self.next + number * size,
            size,
            with: Vec::clone(&with),
            published,
            lent,
        });
        self.slots.extend(slots);
        self.next += count * size;
    }

    /// Where a slot is.
    pub(crate) fn place(&self, slot: usize) -> u32 {
        self.slots.get(slot).map_or(0, |slot| slot.at)
    }

    /// Lends a slot to be written that nobody reads, for a message of `len` bytes. Where no slot is
    /// free, more are made. Where there can be no more, it is the oldest whose message only
    /// subscribers wait for that may lose messages.
    pub(crate) fn lend(&mut self, len: u32, to: &mut Subscribers) -> Option<usize> {
        let count = self.slots.len();
        let free = self.free(len, to);
        let free = free.or_else(|| self.grow(len, 1, self.for_all()).then_some(count));
        let free = free.or_else(|| self.revoke(len, to))?;
        self.slots.get_mut(free)?.lent = true;
        Some(free)
    }

    /// Of those that are long enough some in turn, and then the first of the others.
    fn free(&mut self, len: u32, to: &mut Subscribers) -> Option<usize> {
        let first = self.slots.partition_point(|slot| slot.size < len);
        let end = self.slots.len();
        let turns = first + self.turns(first);
        let next = if (first..turns).contains(&(self.last + 1)) { self.last + 1 } else { first };
        let mut order = (next..turns).chain(first..next).chain(turns..end);
        order.find(|slot| {
            let free = |one: &mut Slot| one.is_free(*slot, to);
            !self.is_kept(*slot) && self.slots.get_mut(*slot).is_some_and(free)
        })
    }

    /// How many from this one on are used in turn. What was just read is still in its readers'
    /// caches, from where its writer would have to fetch each line; what is as many bytes old is
    /// not. Where that are more bytes than there are, the first one is as good as any.
    fn turns(&self, first: usize) -> usize {
        let size = self.slots.get(first).map_or(0, |slot| slot.size);
        let all = self.slots.len() - first;
        let turns = IN_TURN.checked_div(size).map_or(0, |turns| all.min(turns as usize));
        if turns as u64 * u64::from(size) < u64::from(LEAST) { all.min(1) } else { turns }
    }

    fn is_kept(&self, slot: usize) -> bool {
        self.history.iter().any(|(kept, _)| *kept == slot)
    }

    /// Takes back the oldest slot that only waits where messages may be lost.
    fn revoke(&mut self, len: u32, from: &mut Subscribers) -> Option<usize> {
        let mut before = 0;
        loop {
            // The oldest after the one that was looked at last. None was published twice.
            let others = self.slots.iter().enumerate().filter(|(_, one)| one.published > before);
            let (number, oldest) = others.min_by_key(|(_, one)| one.published)?;
            before = oldest.published;
            let kept = self.is_kept(number);
            let slot = self.slots.get_mut(number)?;
            if kept || slot.lent || slot.size < len {
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
        self.last = slot;
        let published = self.published;
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = Slot { with, published, lent: false, ..*slot };
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Slots that messages of `len` bytes are written to, one after the other, and read by nobody.
    fn used<const N: usize>(stock: &mut Stock, len: u32) -> [usize; N] {
        [(); N].map(|()| {
            let slot = stock.lend(len, &mut []).unwrap();
            stock.published(slot, [0; 2], Vec::new());
            slot
        })
    }

    #[test]
    fn long_slots_are_used_in_turn() {
        let long = 1 << 20;
        let mut stock = Stock::new((6, long), (0, 1 << 30), 0);
        assert_eq!(used(&mut stock, long), [1, 2, 3, 0, 1]);
        // One that is lent is passed over; the others follow where those in turn are not enough.
        assert_eq!(stock.lend(long, &mut []), Some(2));
        assert_eq!(used(&mut stock, long), [3, 0, 1, 3]);
        let lent = [(); 4].map(|()| stock.lend(long, &mut []).unwrap());
        assert_eq!(lent, [0, 1, 3, 4]);
        lent.into_iter().for_each(|slot| stock.put_back(slot));
        // Those of longer messages have a turn of their own.
        assert!(stock.grow(2 * long, 4, 4));
        assert_eq!(used(&mut stock, 2 * long), [6, 7, 6]);
        assert_eq!(used(&mut stock, long), [0, 1, 3, 0]);
    }

    #[test]
    fn short_slots_that_no_cache_would_lose_are_used_from_the_first_on() {
        let mut stock = Stock::new((32, 4096), (0, 1 << 20), 0);
        assert_eq!(used(&mut stock, 64), [0, 0, 0]);
        assert_eq!(stock.lend(64, &mut []), Some(0));
        assert_eq!(used(&mut stock, 64), [1, 1]);
    }
}
