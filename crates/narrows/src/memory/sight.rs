//! A link's memory as somebody sees it who is neither of its ends: by loads alone, so that the ends
//! do not notice. Counts are of a moment each, and wrap round at 2³².

use super::{Corrupt, Layout, Ring};
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
