//! The short way over the memory: what fits a slot or a block that is free, and a message that can
//! be taken straight to where it is used. What it cannot do it leaves as it was, for the long way.

use super::{Block, Descriptor, Producer, Shared};
use crate::platform::{Memory, OwnMemory, Platform};
use crate::strategy::{Placement, Strategy, Transfer};

/// Bytes of a payload that is short.
pub const SHORT: usize = 64;

/// What takes the long way.
pub struct More;

/// A message whose payload is in private memory.
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a> {
    /// 0 is the most urgent, 7 the least; what is above counts as 7.
    pub priority: u8,
    /// The sender's mark.
    pub tag: u16,
    /// The payload.
    pub bytes: &'a [u8],
}

/// The pool that this core copies a payload to which does not fit a slot; none if it is not this
/// core that copies.
#[inline(always)]
pub fn copied_to(strategy: &Strategy) -> Option<Placement> {
    (strategy.transfer != Transfer::CopyEngine).then_some(strategy.placement)
}

impl<P: Platform> Shared<P> {
    /// Publishes a message if it fits a slot that is known to be free. False if it did not. `words`
    /// are those of a descriptor that has neither length nor priority, tag or block. The bell is
    /// separate.
    #[inline(always)]
    pub fn post_in_slot(&mut self, words: [u32; 3], message: Plain<'_>) -> bool {
        let Plain { priority, tag, bytes } = message;
        let fits = bytes.len() <= Self::IN_SLOT && self.tx.known_room();
        if fits {
            let priority = priority.min(7);
            let words = Descriptor::completed(words, bytes.len() as u32, priority, tag, None);
            self.tx.publish_words(words, priority, bytes);
        }
        fits
    }

    /// As [`Shared::post_in_slot`], in a block of this pool, if one is free.
    #[inline(always)]
    pub fn post_in_block(
        &mut self,
        words: [u32; 3],
        pool: Option<Placement>,
        message: Plain<'_>,
    ) -> bool {
        let Plain { priority, tag, bytes } = message;
        if !self.tx.known_room() {
            return false;
        }
        if bytes.len() <= SHORT && self.tx.fetches() {
            self.fetch_blocks();
        }
        let block = pool.and_then(|pool| self.bring(pool, bytes));
        let Some(block) = block else { return false };
        let priority = priority.min(7);
        let words = Descriptor::completed(words, bytes.len() as u32, priority, tag, Some(block));
        self.tx.publish_words(words, priority, &[]);
        true
    }

    /// Publishes messages in their order, each in a slot or, if it does not fit one, in a block of
    /// this pool, up to the first for which there is no room at once, and then rings if need be.
    /// Returns how many it published.
    #[inline(always)]
    pub fn post<'a>(
        &mut self,
        platform: &P,
        words: [u32; 3],
        pool: Option<Placement>,
        messages: impl Iterator<Item = Plain<'a>>,
    ) -> usize {
        let mut sent = 0;
        for message in messages {
            let posted = (self.tx.known_room() || self.credited())
                && (self.post_in_slot(words, message) || self.post_in_block(words, pool, message));
            if !posted {
                break;
            }
            sent += 1;
        }
        if sent > 0 {
            self.ring_if_armed(platform);
        }
        sent
    }

    /// Whether the peer has given credit. If it gave what it cannot have, the long way says so.
    #[inline(never)]
    fn credited(&mut self) -> bool {
        self.tx.room() == Ok(true)
    }

    /// As [`Shared::bring`], of at most [`SHORT`] bytes, which are a matter of some moves.
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

    /// Fetches the first lines of the blocks that are taken next, of one for each slot whose line
    /// is.
    #[cold]
    #[inline(never)]
    fn fetch_blocks(&self) {
        let blocks = self.pool.coming().take(Producer::<P::Own, P::Peer>::TOGETHER as usize);
        for offset in blocks {
            // It cannot fail: the layout was seen to be inside the region.
            let _ = self.own.write_short(offset, &[0]);
        }
    }

    /// Takes a block to lend, whatever was taken last, and looks for returned ones if none of the
    /// smallest that will do is free.
    #[inline(never)]
    fn find_block(&mut self, pool: Placement, len: u32) -> Option<(Block, u32)> {
        if self.pool.is_short_of(pool, len) {
            self.reclaim().ok()?;
        }
        self.pool.take_to_lend(pool, len).ok()
    }

    /// Takes the next message straight to where it is used, if it is one whose credit may gather,
    /// it is for `port`, none behind it may be more urgent, and it is in the slot or, if blocks are
    /// `copied` out by this core, in one. `place` has somewhere for its bytes; what does not fit
    /// there is cut off. If it is to be `SHORT`, it is in the slot and leaves no batch of credit
    /// behind: nothing has to be called then. None if no message is there.
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

    /// As [`Consumer::gather`](super::Consumer::gather). A node that has sent meanwhile may be
    /// waited for, and does not pause.
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
