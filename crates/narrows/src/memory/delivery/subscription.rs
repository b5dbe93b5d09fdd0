//! The subscriber's side of a queue.

use super::{ARMED, ENDED, HOLD, LEFT, LOST, MAX_HOLDS, NOWHERE, TAIL, TAKEN, Terms, WANT};
use crate::memory::Overflow;
use crate::platform::{Words, WordsMut};

/// What a subscriber took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The slot, as the publisher names it: nothing of it was checked.
    pub slot: u32,
    /// The two words that came with it.
    pub words: [u32; 2],
    hold: u32,
}

/// The subscriber's side of a queue.
pub struct Subscription<R, W> {
    queue: R,
    note: W,
    terms: Terms,
    next: u32,
    /// How often it has gone to sleep.
    slept: u32,
    /// A bit for each hold.
    holds: u32,
    lost: u32,
}

/// A subscriber holds as many slots as it may, and is to give some back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

impl<R: Words, W: WordsMut> Subscription<R, W> {
    /// As [`Delivery::new`](super::Delivery::new); the note is of [`NOTE_WORDS`](super::NOTE_WORDS)
    /// that are all 0.
    pub fn new(queue: R, note: W, terms: Terms) -> Subscription<R, W> {
        Subscription { queue, note, terms, next: 1, slept: 0, holds: 0, lost: 0 }
    }

    /// Messages that were lost: those that made room for newer ones, and those that were left out.
    pub fn lost(&self) -> u32 {
        self.lost.wrapping_add(self.queue.load(LOST))
    }

    /// Whether nothing waits to be taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.load(self.terms.cell(self.next)) != self.next && self.newer().is_none()
    }

    /// How many positions behind the newest the next one is, if it has been pushed.
    fn newer(&self) -> Option<u32> {
        // Acquire: pairs with the release in `Delivery::push`.
        let behind = self.queue.load_acquire(TAIL).wrapping_sub(self.next);
        (behind < NOWHERE).then_some(behind)
    }

    /// Takes the next message, and holds its slot until it is [given
    /// back](Subscription::give_back). `fence` is a full one.
    ///
    /// # Errors
    /// [`TooMany`].
    #[inline]
    pub fn take(&mut self, fence: impl Fn()) -> Result<Option<Sample>, TooMany> {
        let hold = self.holds.trailing_ones();
        if hold >= self.terms.holds.min(MAX_HOLDS) {
            return Err(TooMany);
        }
        // A publisher that overtakes again and again, or lies, is left after a round of its queue.
        for _ in 0..=self.terms.depth {
            let (position, cell) = (self.next, self.terms.cell(self.next));
            // Acquire: pairs with the release in `Delivery::push`.
            if self.queue.load_acquire(cell) == position {
                let [slot, first, second] =
                    [1, 2, 3].map(|at| self.queue.load(cell.wrapping_add(at)));
                // Release: pairs with the acquire in `Delivery::holds`, which may see this and not
                // what was stored when the slot before was given back.
                self.note.store_release(HOLD.wrapping_add(hold), slot.wrapping_add(1));
                if !self.terms.may_lose() || self.is_still(cell, position, &fence) {
                    self.holds |= 1 << hold;
                    self.next = position.wrapping_add(1);
                    // Release: pairs with the acquire in `Delivery::refresh`. A publisher that sees
                    // that it was taken sees the hold.
                    self.note.store_release(TAKEN, position);
                    return Ok(Some(Sample { slot, words: [first, second], hold }));
                }
                // Release: as above.
                self.note.store_release(HOLD.wrapping_add(hold), 0);
            }
            if !self.skip() {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Whether a cell is not another position's by now.
    fn is_still(&self, cell: u32, position: u32, fence: impl Fn()) -> bool {
        // Pairs with the fences in `Delivery::push` and `Delivery::revoke`.
        fence();
        self.queue.load(cell) == position
    }

    /// Goes on behind a position that is lost. False if it is not there yet.
    fn skip(&mut self) -> bool {
        let Some(behind) = self.newer() else { return false };
        if self.queue.load(self.terms.cell(self.next)) == self.next {
            // It came after it was looked for.
            return true;
        }
        // What is further behind than the queue is long is lost, and at least this one.
        let step = behind.saturating_sub(self.terms.depth.wrapping_sub(1)).max(1);
        self.next = self.next.wrapping_add(step);
        self.lost = self.lost.wrapping_add(step);
        true
    }

    /// Gives back what was taken: its slot may be written again.
    #[inline]
    pub fn give_back(&mut self, sample: Sample) {
        self.holds &= !(1 << sample.hold);
        // Release: pairs with the acquire in `Delivery::holds`.
        self.note.store_release(HOLD.wrapping_add(sample.hold), 0);
    }

    /// Whether the publisher sleeps and is to be woken, after a message was taken. `fence` is a
    /// full one, and spared where the publisher waits for nobody.
    #[inline]
    pub fn is_wanted(&self, fence: impl FnOnce()) -> bool {
        self.terms.overflow == Overflow::Wait && {
            // Pairs with the fence in `Delivery::want_room`.
            fence();
            self.queue.load(WANT) != 0
        }
    }

    /// Says that it is going to sleep, and whether nothing came before that, nor the end. `fence`
    /// is a full one.
    pub fn arm(&mut self, fence: impl FnOnce()) -> bool {
        self.slept = self.slept.checked_add(1).unwrap_or(1);
        self.note.store(ARMED, self.slept);
        // Pairs with the fence before `Delivery::is_armed`: either this sees what was pushed, or
        // the publisher sees that this sleeps.
        fence();
        self.is_empty() && !self.has_ended()
    }

    /// Whether nothing is pushed any more. What was is there.
    pub fn has_ended(&self) -> bool {
        // Acquire: pairs with the release in `Delivery::end`.
        self.queue.load_acquire(ENDED) != 0
    }

    /// Says that it does not sleep.
    pub fn disarm(&self) {
        self.note.store(ARMED, 0);
    }
}

/// The subscriber takes nothing any more. What it holds is still to be given back.
pub fn leave(note: &impl WordsMut) {
    // Release: pairs with the acquire in `Delivery::has_left`. A publisher that sees it sees what
    // is held.
    note.store_release(LEFT, 1);
}
