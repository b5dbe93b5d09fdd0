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

mod subscription;

use crate::platform::{Words, WordsMut};

pub use subscription::{Sample, Subscription, TooMany, leave};

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

/// Words of a queue of `depth` positions, a power of two.
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

impl core::fmt::Display for NoRoom {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the queue has no room: wait for its subscriber")
    }
}

impl core::error::Error for NoRoom {}

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

    /// Pushes the name of a slot, with two words for the subscriber that takes it. Gives its
    /// position; none if it was left out. `fence` is a full one.
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

    /// Whether the subscriber sleeps and is to be woken: once each time that it sleeps. Between
    /// what was pushed and this the caller has a full fence, which pairs with the one in
    /// [`Subscription::arm`].
    pub fn is_armed(&mut self) -> bool {
        let armed = self.note.load(ARMED);
        armed != 0 && core::mem::replace(&mut self.woken, armed) != armed
    }

    /// Says that nothing is pushed any more. The caller wakes the subscriber behind a full fence.
    pub fn end(&self) {
        // Release: pairs with the acquire in `Subscription::has_ended`. A subscriber that sees it
        // sees all that was pushed.
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
