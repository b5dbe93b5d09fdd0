//! The way back of blocks: a ring of block names that the receiver writes and the sender reads
//! when it needs blocks. It has a place for every block, so it cannot overflow.

use core::ops::DerefMut;

use super::{Block, Corrupt, Layout, Pool};
use crate::platform::{Memory, OutOfRange, OwnMemory, Words, WordsMut};

/// Index of the word that counts returned blocks, behind the credit word.
const RETURNED: u32 = 1;

/// The receiver's side: names blocks it is done with.
pub struct Returner<O: OwnMemory> {
    ring: O::Words,
    counts: O::Words,
    given: u32,
    published: u32,
}

impl<O: OwnMemory> Returner<O> {
    /// The return ring in `own` memory.
    ///
    /// # Errors
    /// The region is smaller than its layout.
    pub fn new(layout: &Layout, own: &O) -> Result<Self, OutOfRange> {
        let (ring, counts) = (layout.returns_in(own)?, layout.credit_in(own)?);
        Ok(Returner { ring, counts, given: 0, published: 0 })
    }

    /// Names a block that its owner may use again; seen by the owner after [`Returner::publish`].
    #[inline]
    pub fn give(&mut self, block: Block) {
        self.ring.store(self.given, u32::from(block.0));
        self.given = self.given.wrapping_add(1);
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
        let (ring, counts) = (theirs.returns_in(peer)?, theirs.credit_in(peer)?);
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
        for _ in 0..new {
            let name = self.ring.load(self.seen);
            self.seen = self.seen.wrapping_add(1);
            pool.reclaim(Block(u16::try_from(name).map_err(|_| Corrupt::Return)?))?;
        }
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
