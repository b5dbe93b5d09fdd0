//! The short way over the memory: what fits a slot or a block that is free, and a message that can
//! be taken straight to where it is used. What it cannot do it leaves as it was, for the long way.

use super::{Ack, Block, Descriptor, Producer, Shared};
use crate::platform::{Memory, OwnMemory, Platform};
use crate::strategy::{Placement, Strategy, Transfer};

/// Bytes of a payload that is short.
pub const SHORT: usize = 64;

/// What takes the long way.
pub struct More;

/// What the short way goes by of a strategy. Small: a whole one that is handed on is stored and read
/// back, in pieces that the processor may not be able to put together at once.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// How messages are acknowledged.
    pub ack: Ack,
    /// Where the block is of what does not fit a slot; none if it is not this core that copies.
    pool: Option<Placement>,
}

impl From<&Strategy> for Way {
    #[inline(always)]
    fn from(strategy: &Strategy) -> Way {
        let copied = strategy.transfer != Transfer::CopyEngine;
        let pool = copied.then_some(strategy.placement);
        Way { ack: strategy.acknowledgement.wanted(), pool }
    }
}

impl<P: Platform> Shared<P> {
    /// Publishes a message if it fits a slot that is known to be free. False if it did not. The bell
    /// is separate.
    #[inline(always)]
    pub fn post_in_slot(&mut self, mut descriptor: Descriptor, payload: &[u8]) -> bool {
        let fits = payload.len() <= Self::IN_SLOT && self.tx.known_room();
        if fits {
            descriptor.len = payload.len() as u32;
            self.tx.publish(&descriptor, payload);
        }
        fits
    }

    /// As [`Shared::post_in_slot`], of a packed descriptor that has neither length nor priority.
    #[inline(always)]
    pub fn post_words_in_slot(&mut self, words: [u32; 3], priority: u8, payload: &[u8]) -> bool {
        let fits = payload.len() <= Self::IN_SLOT && self.tx.known_room();
        if fits {
            let words = Descriptor::completed(words, payload.len() as u32, priority);
            self.tx.publish_words(words, priority, payload);
        }
        fits
    }

    /// As [`Shared::post_in_slot`], looking for credit if need be; and what does not fit a slot in a
    /// block.
    #[inline(always)]
    pub fn post(&mut self, descriptor: Descriptor, way: Way, payload: &[u8]) -> bool {
        (self.tx.known_room() || self.credited())
            && (self.post_in_slot(descriptor, payload)
                || self.post_in_block(descriptor, way, payload))
    }

    /// Publishes a message in a block, if a slot is known to be free, a block is, and this core's
    /// copying may bring it there. False if it did not. The bell is separate.
    #[inline(always)]
    pub fn post_in_block(&mut self, mut descriptor: Descriptor, way: Way, payload: &[u8]) -> bool {
        if !self.tx.known_room() {
            return false;
        }
        if payload.len() <= SHORT && self.tx.fetches() {
            self.fetch_blocks();
        }
        let block = way.pool.and_then(|pool| self.bring(pool, payload));
        let Some(block) = block else { return false };
        descriptor.len = payload.len() as u32;
        descriptor.block = Some(block);
        self.tx.publish(&descriptor, &[]);
        true
    }

    /// Whether the peer has given credit. If it gave what it cannot have, the long way says so.
    #[inline(never)]
    fn credited(&mut self) -> bool {
        self.tx.room() == Ok(true)
    }

    /// As [`Shared::bring`], of so few bytes that it is a matter of some moves.
    #[inline(always)]
    pub(super) fn bring_short(&mut self, pool: Placement, payload: &[u8]) -> Option<Block> {
        if payload.len() > SHORT || self.pool.lent() >= self.most_lent {
            return None;
        }
        let (block, offset) = self.pool.take_first(pool, payload.len() as u32)?;
        // It cannot fail: the layout was seen to be inside the region.
        self.own.write_short(offset, payload).ok()?;
        self.own.clean(offset, payload.len() as u32);
        Some(block)
    }

    /// Copies a payload to a free block and lends that to the peer.
    #[inline(never)]
    pub(super) fn bring(&mut self, pool: Placement, payload: &[u8]) -> Option<Block> {
        let len = u32::try_from(payload.len()).ok()?;
        if self.pool.lent() >= self.most_lent {
            return None;
        }
        let (block, offset) = match self.pool.take_quickly(pool, len) {
            Some(taken) => taken,
            None => self.find_block(pool, len)?,
        };
        if self.own.write(offset, payload).is_err() {
            let _ = self.pool.reclaim(block);
            return None;
        }
        self.own.clean(offset, len);
        Some(block)
    }

    /// Fetches the first lines of the blocks that are taken next, of one for each slot whose line is.
    #[cold]
    #[inline(never)]
    fn fetch_blocks(&self) {
        let blocks = self.pool.coming().take(Producer::<P::Own, P::Peer>::TOGETHER as usize);
        for offset in blocks {
            // It cannot fail: the layout was seen to be inside the region.
            let _ = self.own.write_short(offset, &[0]);
        }
    }

    /// Takes a block to lend, whatever was taken last, and looks for returned ones if none of the smallest
    /// that will do is free.
    #[inline(never)]
    fn find_block(&mut self, pool: Placement, len: u32) -> Option<(Block, u32)> {
        if self.pool.is_short_of(pool, len) {
            self.reclaim().ok()?;
        }
        self.pool.take_to_lend(pool, len).ok()
    }

    /// Takes the next message straight to where it is used, if it is one whose credit may gather, it is
    /// for `port`, none behind it may be more urgent, and it is in the slot or, if blocks are `copied`
    /// out by this core, in one. `place` has somewhere for its bytes; what does not fit there is cut
    /// off. If it is to be `SHORT`, it is in the slot and leaves no batch of credit behind: nothing has to
    /// be called then. None if no message is there.
    ///
    /// # Errors
    /// [`More`], also if there is no place: the message, whatever it is, is still the next, and
    /// [`Shared::take`] says what is wrong with it if anything is.
    #[inline(always)]
    pub fn take_into<'a, const SHORT: bool>(
        &mut self,
        platform: &P,
        port: u16,
        copied: bool,
        place: impl FnOnce(&Descriptor) -> Option<&'a mut [u8]>,
    ) -> Result<Option<Descriptor>, More> {
        let Some(words) = self.rx.words() else { return Ok(None) };
        // Read once: the compiler would read it again behind every look at the peer's memory.
        let number = self.rx.next();
        let descriptor = Descriptor::usual(words).ok_or(More)?;
        if descriptor.target != port || self.rx.overtaken(number) {
            return Err(More);
        }
        let mut batch = self.rx.is_due(number);
        if SHORT && (batch || descriptor.block.is_some()) {
            return Err(More);
        }
        let to = place(&descriptor).ok_or(More)?;
        let fits = to.len().min(descriptor.len as usize);
        let to = to.get_mut(..fits).ok_or(More)?;
        if let Some(block) = descriptor.block {
            if !copied {
                return Err(More);
            }
            self.collect_and_return(block, descriptor.len, to).ok_or(More)?;
            batch |= self.returner.holds_batch();
        } else {
            if descriptor.len as usize > Self::IN_SLOT {
                return Err(More);
            }
            self.rx.payload(to);
        }
        self.rx.take(number, words[0]);
        if batch {
            let taken = self.rx.owed();
            self.flush(platform);
            self.gather(taken);
        }
        Ok(Some(descriptor))
    }

    /// As [`Consumer::gather`](super::Consumer::gather). Who has sent meanwhile may be waited for, and
    /// does not pause.
    fn gather(&mut self, taken: u32) {
        let sent = self.tx.sent();
        let before = core::mem::replace(&mut self.sent, sent);
        self.rx.gather(taken, sent == before);
    }

    #[inline(always)]
    fn collect_and_return(&mut self, block: Block, len: u32, to: &mut [u8]) -> Option<()> {
        let (offset, size) = self.theirs.block(block)?;
        if len > size {
            return None;
        }
        self.peer.invalidate(offset, len);
        self.peer.read(offset, to).ok()?;
        self.returner.give(block);
        Some(())
    }
}
