//! The way back of blocks: a ring of block names that the receiver writes and the sender reads
//! when it needs blocks. It has a place for every block, so it cannot overflow.

use core::ops::DerefMut;

use super::ring::MOST_HELD_BACK;
use super::{Block, Corrupt, Layout, MAX_CLASSES, Pool, Ring};
use crate::platform::{Memory, OutOfRange, OwnMemory, Words, WordsMut};

/// Index of the word that counts returned blocks, behind the credit word.
const RETURNED: u32 = 1;
/// What [`Returner::left`] begins with.
const FULL: i32 = MOST_HELD_BACK as i32 - 1;
/// The most bytes of blocks held back: a sender of long payloads is to have almost all of its pool,
/// and what a batch saves is little beside the copying of one.
const MOST_BYTES_HELD_BACK: u32 = 128 << 10;

/// The receiver's side: names blocks it is done with.
pub struct Returner<O: OwnMemory> {
    ring: O::Words,
    counts: O::Words,
    given: u32,
    published: u32,
    /// What a block of each class counts when it is held back: [`MOST_HELD_BACK`] by as many as may
    /// be.
    weights: [u8; MAX_CLASSES],
    /// What those that are held back may count more, less one: none is when that is below 0, which
    /// takes no comparison behind a subtraction.
    left: i32,
}

impl<O: OwnMemory> Returner<O> {
    /// The return ring in `own` memory, for blocks of the pool of a peer whose layout is `theirs`.
    ///
    /// # Errors
    /// The region is smaller than its layout.
    pub fn new(mine: &Layout, own: &O, theirs: &Layout) -> Result<Self, OutOfRange> {
        let (ring, counts) = (mine.returns_in(own)?, mine.credit_in(own, Ring::Messages)?);
        let mut weights = [MOST_HELD_BACK as u8; MAX_CLASSES];
        for (weight, class) in weights.iter_mut().zip(theirs.classes()) {
            // A quarter of them and of the ring that they return by, so that what is withheld for
            // a batch never starves a sender.
            let quarter = class.count.min(mine.returns()) / 4;
            let batch = quarter.min(MOST_BYTES_HELD_BACK / class.size).clamp(1, MOST_HELD_BACK);
            *weight = MOST_HELD_BACK.div_ceil(batch) as u8;
        }
        Ok(Returner { ring, counts, given: 0, published: 0, weights, left: FULL })
    }

    /// Names a block that its owner may use again; seen by the owner after [`Returner::publish`].
    #[inline]
    pub fn give(&mut self, block: Block) {
        let given = self.given;
        self.given = given.wrapping_add(1);
        self.ring.store(given, u32::from(block.0));
        self.left = self.left.wrapping_sub(i32::from(self.weights[block.class()]));
    }

    /// Whether a batch of blocks has gathered.
    #[inline(always)]
    pub fn holds_batch(&self) -> bool {
        self.left < 0
    }

    /// Blocks named and not yet published.
    #[inline]
    pub fn owed(&self) -> u32 {
        self.given.wrapping_sub(self.published)
    }

    /// Lets the owner see what was given.
    #[inline]
    pub fn publish(&mut self) {
        if self.owed() != 0 {
            // Release: pairs with the acquire in `Reclaimer::reclaim`. The names stored above and
            // the end of this core's reads of the blocks come before the count.
            self.counts.store_release(RETURNED, self.given);
            self.published = self.given;
            self.left = FULL;
        }
    }
}

/// The owner's side: takes returned blocks back into the books.
pub struct Reclaimer<Q: Memory> {
    ring: Q::Words,
    counts: Q::Words,
    seen: u32,
}

impl<Q: Memory> Reclaimer<Q> {
    /// The return ring in the `peer`'s memory, whose layout is `theirs`. It holds names of blocks
    /// of this node's pool.
    ///
    /// # Errors
    /// The region is smaller than its layout.
    pub fn new(theirs: &Layout, peer: &Q) -> Result<Self, OutOfRange> {
        let (ring, counts) = (theirs.returns_in(peer)?, theirs.credit_in(peer, Ring::Messages)?);
        Ok(Reclaimer { ring, counts, seen: 0 })
    }

    /// Takes back what the peer returned since the last time.
    ///
    /// # Errors
    /// The peer returned what it did not have: [`Corrupt::Return`].
    pub fn reclaim<B: DerefMut<Target = [u16]>>(
        &mut self,
        pool: &mut Pool<B>,
    ) -> Result<u32, Corrupt> {
        // Acquire: pairs with the release in `Returner::publish`. The names are there, and the
        // peer has finished reading the blocks that are about to be written again.
        let returned = self.counts.load_acquire(RETURNED);
        let new = returned.wrapping_sub(self.seen);
        if new > pool.lent() {
            return Err(Corrupt::Return);
        }
        pool.reclaim_some(new, |at| self.ring.load(self.seen.wrapping_add(at)))?;
        self.seen = returned;
        Ok(new)
    }

    /// What to watch while waiting for blocks: words, index and the value last seen.
    pub fn watched(&self) -> crate::platform::Watch<'_, Q::Words> {
        crate::platform::Watch {
            words: &self.counts,
            index: RETURNED,
            value: self.seen,
            until: false,
        }
    }
}
