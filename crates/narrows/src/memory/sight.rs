//! A link's memory as a process sees it that is neither of its ends: by loads alone, so that the
//! ends do not notice. Counts are of a moment each, and wrap round at 2³².

use super::{Block, Corrupt, Descriptor, IN_SLOT, Layout, Ring};
use crate::platform::{Memory, OutOfRange, Words};

/// A node's region of a link, to be looked at.
pub struct Sight<Q: Memory> {
    memory: Q,
    layout: Layout,
}

/// What the owner of a region says of a link as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Blocks of the peer's that it has given back.
    pub returned: u32,
    /// Whether it sleeps until it has credit or blocks.
    pub wants: bool,
    /// The [core](crate::platform::Platform::core_number) on which it waited last; 0 if that is
    /// not known.
    pub core: u32,
}

/// What the owner of a region says of a ring's two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Entries that it has sent.
    pub sent: u32,
    /// Entries that it has taken of what its peer sent.
    pub taken: u32,
    /// Entries that it has taken and given credit for.
    pub credit: u32,
    /// Whether it sleeps, and is to be rung when something comes.
    pub sleeps: bool,
}

/// What a slot shows of the entry of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glimpse {
    /// It has not been sent.
    NotYet,
    /// A later one has taken its slot, or may be taking it.
    Overwritten,
    /// The entry, which is in its slot.
    There(Descriptor),
    /// What is there is no message.
    Nonsense,
}

impl<Q: Memory> Sight<Q> {
    /// A region whose header is read and checked.
    ///
    /// # Errors
    /// [`Corrupt::Header`].
    pub fn new(memory: Q, line: u32) -> Result<Sight<Q>, Corrupt> {
        let layout = Layout::read(&memory, line)?;
        Ok(Sight { memory, layout })
    }

    /// How the region is laid out.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What its owner says of the link.
    ///
    /// # Errors
    /// The region is smaller than its layout, which it is not.
    pub fn end(&self) -> Result<End, OutOfRange> {
        let (memory, layout) = (&self.memory, &self.layout);
        Ok(End {
            returned: layout.credit_in(memory, Ring::Messages)?.load(1),
            wants: layout.want_in(memory)?.load(0) != 0,
            core: layout.core_in(memory)?.load(0),
        })
    }

    /// What its owner says of a ring.
    ///
    /// # Errors
    /// There is no such channel.
    pub fn counts(&self, ring: Ring) -> Result<Counts, OutOfRange> {
        let (memory, layout) = (&self.memory, &self.layout);
        Ok(Counts {
            taken: layout.taken_in(memory, ring)?.load(0),
            credit: layout.credit_in(memory, ring)?.load(0),
            sleeps: layout.armed_in(memory, ring)?.load(0) != 0,
            sent: self.sent(ring)?,
        })
    }

    /// Entries that its owner has taken of what its peer sent on a ring.
    ///
    /// # Errors
    /// There is no such channel.
    pub fn taken(&self, ring: Ring) -> Result<u32, OutOfRange> {
        // Acquire: pairs with the release in `Consumer::pass`.
        Ok(self.layout.taken_in(&self.memory, ring)?.load_acquire(0))
    }

    /// The entry of this number, from 1, that its owner sent on a ring, and what its slot has of
    /// the payload. The process that looks has no part in the protocol: a sender waits for its
    /// receiver alone.
    ///
    /// # Errors
    /// There is no such channel.
    pub fn entry(
        &self,
        ring: Ring,
        number: u32,
        fence: impl FnOnce(),
        to: &mut [u8; IN_SLOT],
    ) -> Result<Glimpse, OutOfRange> {
        let slots = self.layout.slots_in(&self.memory, ring)?;
        let (start, count) = (self.layout.start(ring), self.layout.slots_of(ring));
        let sequence = start.wrapping_add(number);
        let at = |sequence: u32| sequence.wrapping_sub(1).wrapping_mul(self.layout.line() / 4);
        // Acquire: pairs with the release in `Producer::write`.
        let Some(words) = slots.load_slot(at(sequence), sequence) else {
            let found = slots.load(at(sequence));
            let by = found.wrapping_sub(sequence);
            // Zero is in a slot that was never written.
            let later = found != 0 && by != 0 && by <= u32::MAX / 2 && by.is_multiple_of(count);
            return Ok(if later { Glimpse::Overwritten } else { Glimpse::NotYet });
        };
        let in_slot = self.layout.in_slot() as usize;
        slots.read_slot(at(sequence), to.get_mut(..in_slot).unwrap_or_default());
        // What was read comes before the look that follows.
        fence();
        // A sender writes its slots in turn: it is not at this one again before the one in front
        // of it has been written in that round. Relaxed: nothing behind it is read.
        let before = sequence.wrapping_add(count).wrapping_sub(1);
        if count > 1 && slots.load(at(before)) == before || slots.load(at(sequence)) != sequence {
            return Ok(Glimpse::Overwritten);
        }
        Ok(Descriptor::unpack(words).map_or(Glimpse::Nonsense, Glimpse::There))
    }

    /// Reads a block of its owner's pool. False if that is not inside the block. It may be written
    /// meanwhile, unless it is known to be lent still afterwards.
    pub fn block(&self, block: Block, to: &mut [u8]) -> bool {
        let place = self.layout.block(block).filter(|(_, size)| to.len() <= *size as usize);
        place.is_some_and(|(offset, _)| self.memory.read(offset, to).is_ok())
    }

    /// Entries that its owner has sent. The slots are those of one round up to the last that was
    /// written, and of the round before from there on.
    fn sent(&self, ring: Ring) -> Result<u32, OutOfRange> {
        let slots = self.layout.slots_in(&self.memory, ring)?;
        let (start, count) = (self.layout.start(ring), self.layout.slots_of(ring));
        let number = |at: u32| {
            let slot = start.wrapping_add(at).wrapping_mul(self.layout.line() / 4);
            // Relaxed: nothing behind it is read.
            slots.load(slot)
        };
        // Zero is in a slot that was never written, and in one of 2³².
        let later = |number: u32, than: u32| {
            let by = number.wrapping_sub(than);
            number != 0 && by.is_multiple_of(count) && by <= u32::MAX / 2
        };
        let first = number(0);
        if !first.wrapping_sub(start.wrapping_add(1)).is_multiple_of(count) || first == 0 {
            return Ok(0);
        }
        let (mut written, mut end) = (0, count);
        while end - written > 1 {
            let middle = written + (end - written) / 2;
            if later(number(middle), first.wrapping_add(middle)) {
                written = middle;
            } else {
                end = middle;
            }
        }
        Ok(first.wrapping_add(written).wrapping_sub(start))
    }
}
