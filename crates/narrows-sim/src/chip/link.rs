//! Where the stack's links lie on a chip.

use narrows::memory::{Class, Layout, LayoutError};
use narrows::strategy::Placement;

/// Where links between cores lie, and what they are made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The memory of rings and control words, by its place in
    /// [`Chip::memories`](super::Chip::memories). Reached past caches.
    pub control: usize,
    /// The memory of blocks in internal memory.
    pub internal: usize,
    /// The memory of blocks in external memory.
    pub external: usize,
    /// Descriptor slots of a ring.
    pub slots: u32,
    /// Channels of a link in each direction.
    pub channels: u16,
    /// Descriptor slots of a channel's ring.
    pub channel_slots: u32,
    /// Block sizes.
    pub classes: Vec<Class>,
}

impl Link {
    /// That of cores that have no memory in common.
    pub(super) const NONE: Link = Link {
        control: 0,
        internal: 0,
        external: 0,
        slots: 0,
        channels: 0,
        channel_slots: 0,
        classes: Vec::new(),
    };

    /// The layout of each node's region, with lines of this many bytes.
    pub(crate) fn layout(&self, line: u32) -> Result<Layout, LayoutError> {
        let layout = Layout::new(line, self.slots, &self.classes)?;
        layout.with_channels(self.channels, self.channel_slots)
    }

    /// The memory for blocks of a placement.
    #[must_use]
    pub fn memory(&self, placement: Placement) -> usize {
        match placement {
            Placement::Internal => self.internal,
            _ => self.external,
        }
    }
}
