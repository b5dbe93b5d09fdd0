//! One message for many receivers: a queue for each of them, of names of slots.
//!
//! A publisher writes a message to a slot of its memory once, and the slot's name to the queue of
//! each subscriber. A subscriber notes in its own memory what it has taken and which slots it
//! holds, and reads them where they are. So one slot is lent to all, none waits for another, and
//! each word has one writer. What becomes of a message for which a queue has no room is each
//! subscriber's own choice ([`Overflow`]).
//!
//! ```text
//!   publisher's memory                         subscriber's memory
//!
//!     queue   tail  lost  want    ended          taken
//!             position  slot  length  number     hold  hold  …
//!             position  slot  length  number
//!             …                                  armed  left
//! ```
//!
//! Positions of a queue are numbered from 1 and wrap round.

use crate::platform::{Words, WordsMut};

/// Words of a queue: the newest position, messages left out, whether the publisher sleeps, and
/// whether it has ended.
const TAIL: u32 = 0;
const LOST: u32 = 1;
const WANT: u32 = 2;
const ENDED: u32 = 3;
/// Where the cells begin, and words of each.
const CELLS: u32 = 4;
const CELL: u32 = 4;
/// Words of a subscriber's note: what was taken, where the holds begin, and, in a line that seldom
/// changes, for which time it sleeps, if it does, and whether it has left.
const TAKEN: u32 = 0;
const HOLD: u32 = 1;
const ARMED: u32 = 16;
const LEFT: u32 = 17;
/// How far from its position the number in a cell is that nobody is to read.
const NOWHERE: u32 = 1 << 31;

/// The most slots that a subscriber may hold.
pub const MAX_HOLDS: u32 = ARMED - HOLD;
/// Words of a subscriber's note.
pub const NOTE_WORDS: u32 = 2 * ARMED;

/// Words of a queue of so many positions, a power of two.
#[must_use]
pub const fn queue_words(depth: u32) -> u32 {
    2 * CELL * depth
}

/// What becomes of a message for which a subscriber's queue has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The publisher waits, or does without.
    Wait,
    /// It is left out, and counted.
    DropNewest,
    /// It takes the place of the oldest that was not taken, which the subscriber counts.
    DropOldest,
}

/// What publisher and subscriber agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Positions of the queue, a power of two.
    pub depth: u32,
    /// Slots that the subscriber may hold, at most [`MAX_HOLDS`].
    pub holds: u32,
    /// What becomes of a message for which there is no room.
    pub overflow: Overflow,
}

impl Terms {
    fn cell(&self, position: u32) -> u32 {
        CELLS.wrapping_add(CELL.wrapping_mul(position & self.depth.wrapping_sub(1)))
    }

    /// Whether a message may be lost that was pushed and not taken.
    fn may_lose(&self) -> bool {
        self.overflow == Overflow::DropOldest
    }
}

/// The publisher's side of a queue.
pub struct Delivery<W, R> {
    queue: W,
    note: R,
    terms: Terms,
    tail: u32,
    /// What the subscriber had taken when that was looked at last.
    taken: u32,
    lost: u32,
    /// The subscriber takes nothing any more.
    left: bool,
    /// For which of the times that it sleeps it was woken last.
    woken: u32,
}

/// A queue has no room, and its subscriber is to be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

impl<W: WordsMut, R: Words> Delivery<W, R> {
    /// A queue in [`queue_words`] that are all 0, for the subscriber whose note this is.
    pub fn new(queue: W, note: R, terms: Terms) -> Delivery<W, R> {
        Delivery { queue, note, terms, tail: 0, taken: 0, lost: 0, left: false, woken: 0 }
    }

    /// What was agreed on.
    pub fn terms(&self) -> Terms {
        self.terms
    }

    /// Messages that were left out for want of room.
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// Whether a position was taken when that was looked at last.
    fn is_taken(&self, position: u32) -> bool {
        self.taken.wrapping_sub(position) < NOWHERE
    }

    fn refresh(&mut self) {
        // Acquire: pairs with the release in `Subscription::take`. The hold of what was taken is
        // there, and its words have been read.
        self.taken = self.note.load_acquire(TAKEN);
    }

    /// Whether a message can be pushed without one being lost.
    pub fn has_room(&mut self) -> bool {
        let oldest = self.tail.wrapping_add(1).wrapping_sub(self.terms.depth);
        let has = |own: &Self| own.left || own.is_taken(oldest);
        has(self) || {
            self.refresh();
            has(self)
        }
    }

    /// Says that the publisher is going to sleep until there is room, and whether there was none
    /// before that, and the subscriber [has not left](Delivery::has_left). `fence` is a full one.
    pub fn want_room(&mut self, fence: impl FnOnce()) -> bool {
        self.queue.store(WANT, 1);
        // Pairs with the fence in `Subscription::is_wanted`, as those of `arm` and `is_armed` do.
        fence();
        !self.has_room() && !self.has_left()
    }

    /// Says that the publisher does not sleep.
    pub fn want_none(&self) {
        self.queue.store(WANT, 0);
    }

    /// Whether the subscriber takes nothing any more. From then on its queue has no message and
    /// takes none; what it holds it may read until it gives it back.
    pub fn has_left(&mut self) -> bool {
        // Acquire: pairs with the release in `leave`. What it took it is seen to hold.
        self.left = self.left || self.note.load_acquire(LEFT) != 0;
        self.left
    }

    /// Pushes the name of a slot, with two words for whoever takes it. Gives its position; none if
    /// it was left out. `fence` is a full one.
    ///
    /// # Errors
    /// [`NoRoom`]; nothing was pushed.
    pub fn push(
        &mut self,
        slot: u32,
        words: [u32; 2],
        fence: impl FnOnce(),
    ) -> Result<Option<u32>, NoRoom> {
        if self.left {
            return Ok(None);
        }
        if !self.has_room() {
            match self.terms.overflow {
                Overflow::Wait => return Err(NoRoom),
                Overflow::DropNewest => {
                    self.lost = self.lost.wrapping_add(1);
                    self.queue.store(LOST, self.lost);
                    return Ok(None);
                }
                Overflow::DropOldest => {}
            }
        }
        let position = self.tail.wrapping_add(1);
        let cell = self.terms.cell(position);
        if self.terms.may_lose() {
            self.queue.store(cell, position.wrapping_add(NOWHERE));
            // Pairs with the fence in `Subscription::take`: a subscriber that sees a word of what
            // comes sees that the cell is another's at its second look; and one that does not has
            // its hold seen by `lends`.
            fence();
        }
        for (at, word) in (1..).zip([slot, words[0], words[1]]) {
            self.queue.store(cell.wrapping_add(at), word);
        }
        // Release: pairs with the acquire in `Subscription::take`. The words and the slot's bytes
        // come before the position.
        self.queue.store_release(cell, position);
        // Release: pairs with the acquire in `Subscription::skip`.
        self.queue.store_release(TAIL, position);
        self.tail = position;
        Ok(Some(position))
    }

    /// Whether the subscriber sleeps and is to be woken: once each time that it sleeps. Between what
    /// was pushed and this the caller has a full fence, which pairs with the one in
    /// [`Subscription::arm`].
    pub fn is_armed(&mut self) -> bool {
        let armed = self.note.load(ARMED);
        armed != 0 && core::mem::replace(&mut self.woken, armed) != armed
    }

    /// Says that nothing is pushed any more. The caller wakes the subscriber behind a full fence.
    pub fn end(&self) {
        // Release: pairs with the acquire in `Subscription::has_ended`. Who sees it sees all that
        // was pushed.
        self.queue.store_release(ENDED, 1);
    }

    /// Whether a position that was pushed waits to be taken.
    pub fn waits(&mut self, position: u32) -> bool {
        let queued = self.tail.wrapping_sub(position) < self.terms.depth;
        if queued && !self.is_taken(position) {
            self.refresh();
        }
        queued && !self.left && !self.is_taken(position)
    }

    /// Takes a position back that waits, if the subscriber lets messages be lost. Whether it did;
    /// the subscriber may have taken it meanwhile, and [holds](Delivery::holds) its slot then.
    /// `fence` is a full one.
    pub fn revoke(&mut self, position: u32, fence: impl FnOnce()) -> bool {
        let revoked = self.terms.may_lose();
        if revoked {
            self.queue.store(self.terms.cell(position), position.wrapping_add(NOWHERE));
            // Pairs with the fence in `Subscription::take`, as in `push`.
            fence();
        }
        revoked
    }

    /// Whether the subscriber holds a slot of which no position [waits](Delivery::waits).
    pub fn holds(&self, slot: u32) -> bool {
        self.held().any(|held| held == slot.wrapping_add(1))
    }

    /// Whether the subscriber holds any slot.
    pub fn holds_any(&self) -> bool {
        self.held().any(|held| held != 0)
    }

    fn held(&self) -> impl Iterator<Item = u32> {
        let holds = HOLD..HOLD.wrapping_add(self.terms.holds).min(ARMED);
        // Acquire: pairs with the release in `Subscription::give_back`. The slot has been read.
        holds.into_iter().map(|at| self.note.load_acquire(at))
    }
}

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
    /// As [`Delivery::new`]; the note is of [`NOTE_WORDS`] that are all 0.
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
                    // Release: pairs with the acquire in `Delivery::refresh`. Who sees that it was
                    // taken sees the hold.
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

    /// Says that it is going to sleep, and whether nothing came before that, nor the end. `fence` is
    /// a full one.
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
    // Release: pairs with the acquire in `Delivery::has_left`. Who sees it sees what is held.
    note.store_release(LEFT, 1);
}
