//! Where things lie in a region. docs/WIRE.md specifies the bytes; a test holds the two together.

mod header;
mod words;

use super::Block;
use crate::strategy::Placement;

/// Up to eight block sizes of each of the two kinds of memory.
pub const MAX_CLASSES: usize = 16;

const HEADER_WORDS: u32 = 128;
const SLOTS: u32 = 1024;
/// The most slots that a ring has.
pub const MAX_SLOTS: u32 = 4096;
/// Bytes of a channel's control lines.
const CHANNEL_LINES: u32 = 384;

/// The most channels that a layout has.
pub const MAX_CHANNELS: u16 = 64;

/// One of the rings of a link's direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ring {
    /// The ring of messages.
    Messages,
    /// The ring of the channel of this number.
    Channel(u16),
}

/// Blocks of one size in one kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// The kind of memory they are in.
    pub placement: Placement,
    /// Bytes of a block.
    pub size: u32,
    /// Number of blocks.
    pub count: u32,
}

/// Why a layout cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// A line is a power of two from 32 to 128 bytes.
    Line,
    /// Slots are a power of two from 2 to 4096.
    Slots,
    /// More than 64 channels.
    Channels,
    /// No class, or more than eight of one placement.
    Classes,
    /// A class of no blocks, more than 4095, of size zero or over 16 MiB - 1, of a region over 5,
    /// or out of order: sizes of one placement must rise.
    Class,
    /// More than 65519 blocks, or a region over 1 GiB.
    Size,
}

impl core::fmt::Display for LayoutError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            LayoutError::Line => "a line must be a power of two from 32 to 128 bytes",
            LayoutError::Slots => "slots must be a power of two from 2 to 4096",
            LayoutError::Channels => "a layout has at most 64 channels",
            LayoutError::Classes => "a pool needs one to eight block sizes of each placement",
            LayoutError::Class => {
                "a block size needs 1 to 4095 blocks of 1 byte to 16 MiB - 1, sizes rising, in \
                 internal or external memory or a region from 0 to 5"
            }
            LayoutError::Size => "a region must stay under 65520 blocks and 1 GiB",
        })
    }
}

impl core::error::Error for LayoutError {}

/// Where the blocks of the classes lie: what is looked up for each block that comes. Each by
/// itself: the address of one entry of a table would have to be made first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lots {
    offsets: [u32; MAX_CLASSES],
    strides: [u32; MAX_CLASSES],
    sizes: [u32; MAX_CLASSES],
    counts: [u32; MAX_CLASSES],
}

/// The layout of one region: its rings, its return ring and its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    line: u32,
    slots: u32,
    start: u32,
    channels: u16,
    channel_slots: u32,
    classes: [Class; MAX_CLASSES],
    lots: Lots,
    used: usize,
    size: u32,
}

const UNUSED: Class = Class { placement: Placement::Internal, size: 0, count: 0 };

/// `bytes` up to the next multiple of `to`, a power of two.
fn rounded(bytes: u32, to: u32) -> u32 {
    (bytes + (to - 1)) & !(to - 1)
}

/// Whether a ring can have this many slots.
fn possible(slots: u32) -> bool {
    slots.is_power_of_two() && (2..=MAX_SLOTS).contains(&slots)
}

impl Layout {
    /// A layout of `slots` descriptor slots and the given block sizes, without channels.
    ///
    /// # Errors
    /// See [`LayoutError`].
    pub fn new(line: u32, slots: u32, classes: &[Class]) -> Result<Layout, LayoutError> {
        if !matches!(line, 32 | 64 | 128) {
            return Err(LayoutError::Line);
        }
        if !possible(slots) {
            return Err(LayoutError::Slots);
        }
        if classes.is_empty() || classes.len() > MAX_CLASSES {
            return Err(LayoutError::Classes);
        }
        let mut layout = Layout {
            line,
            slots,
            start: 0,
            channels: 0,
            channel_slots: 0,
            classes: [UNUSED; MAX_CLASSES],
            lots: Lots::default(),
            used: classes.len(),
            size: 0,
        };
        let mut blocks = 0;
        for (i, class) in classes.iter().enumerate() {
            let before = &classes[..i];
            let mut same = before.iter().filter(|c| c.placement == class.placement);
            if same.clone().count() >= 8 {
                return Err(LayoutError::Classes);
            }
            if class.size == 0
                || class.size > super::MAX_MESSAGE
                || class.count == 0
                || class.count > Block::MAX_COUNT
                || Placement::from_code(class.placement.code()) != Some(class.placement)
                || same.any(|c| c.size >= class.size)
            {
                return Err(LayoutError::Class);
            }
            blocks += class.count;
            layout.classes[i] = *class;
        }
        if blocks > 65519 {
            return Err(LayoutError::Size);
        }
        layout.place()
    }

    /// The same layout with `channels` channels to send on and as many to receive on, each with a
    /// ring of `slots` slots.
    ///
    /// # Errors
    /// [`LayoutError::Channels`], [`LayoutError::Slots`] or [`LayoutError::Size`].
    pub fn with_channels(mut self, channels: u16, slots: u32) -> Result<Layout, LayoutError> {
        if channels > MAX_CHANNELS {
            return Err(LayoutError::Channels);
        }
        if !possible(slots) {
            return Err(LayoutError::Slots);
        }
        self.channels = channels;
        self.channel_slots = if channels > 0 { slots } else { 0 };
        self.place()
    }

    /// Finds out where the blocks begin, and the size.
    fn place(mut self) -> Result<Layout, LayoutError> {
        let slots = u32::from(self.channels) * self.channel_slots * self.line;
        let mut at = u64::from(rounded(self.channel_slots_offset() + slots, 128));
        for i in 0..self.used {
            let class = self.classes[i];
            let offset = u32::try_from(at).map_err(|_| LayoutError::Size)?;
            let stride = rounded(class.size, self.line);
            self.lots.offsets[i] = offset;
            self.lots.strides[i] = stride;
            self.lots.sizes[i] = class.size;
            self.lots.counts[i] = class.count;
            at += u64::from(stride) * u64::from(class.count);
        }
        if at > 1 << 30 {
            return Err(LayoutError::Size);
        }
        self.size = rounded(at as u32, 4096);
        Ok(self)
    }

    /// The usual layout: 256 slots; internal blocks few enough to stay in a cache, external ones
    /// enough of them that they do not.
    ///
    /// # Errors
    /// The line is none.
    pub fn standard(line: u32) -> Result<Layout, LayoutError> {
        let class = |placement, size, count| Class { placement, size, count };
        // A smaller block would take a whole line as well.
        let least = line.max(64);
        Layout::new(
            line,
            256,
            &[
                class(Placement::Internal, least, 32),
                class(Placement::Internal, 1024, 16),
                class(Placement::Internal, 8192, 8),
                class(Placement::Internal, 65536, 4),
                class(Placement::External, least, 256),
                class(Placement::External, 1024, 256),
                class(Placement::External, 8192, 64),
                class(Placement::External, 65536, 48),
            ],
        )
    }

    /// The same layout whose first message has sequence number `start` + 1. Rings of several links
    /// that start at different slots do not share a cache set; for the same reason the ring of
    /// channel n starts n + 1 further on.
    #[must_use]
    pub fn starting_at(mut self, start: u32) -> Layout {
        self.start = start;
        self
    }

    /// The number before that of the first message: see [`Layout::starting_at`].
    #[must_use]
    pub fn start_of_messages(&self) -> u32 {
        self.start
    }

    /// Bytes of the region.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }
    /// Channels to send on, and as many to receive on.
    #[must_use]
    pub fn channels(&self) -> u16 {
        self.channels
    }
    /// Descriptor slots of each channel's ring; 0 without channels.
    #[must_use]
    pub fn channel_slots(&self) -> u32 {
        self.channel_slots
    }
    /// Descriptor slots of the ring of messages.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.slots
    }
    /// Bytes of a slot.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }
    /// Bytes of payload that travel in a slot.
    #[must_use]
    pub fn in_slot(&self) -> u32 {
        self.line - 16
    }
    /// The block sizes.
    #[must_use]
    pub fn classes(&self) -> &[Class] {
        &self.classes[..self.used]
    }
    /// Blocks of all classes.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.classes().iter().map(|c| c.count).sum()
    }
    /// Entries of the books over these blocks: one for each, and one for how many came back.
    #[must_use]
    pub fn books(&self) -> usize {
        self.blocks() as usize + 1
    }
    /// The longest message that a block of this placement holds.
    #[must_use]
    pub fn longest(&self, placement: Placement) -> u32 {
        let sizes = self.classes().iter().filter(|c| c.placement == placement).map(|c| c.size);
        sizes.max().unwrap_or(0)
    }
    /// Where the blocks of each size begin.
    pub fn places(&self) -> impl Iterator<Item = (u32, Class)> {
        self.lots.offsets.into_iter().zip(self.classes).take(self.used)
    }
    /// Bytes of each part of the region: header, control lines, slots, return ring, control lines
    /// and slots of channels, blocks.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, u32); 7] {
        let blocks = self.lots.offsets[0];
        let (lines, slots) = (self.channels_offset(), self.channel_slots_offset());
        [
            ("header", HEADER_WORDS * 4),
            ("control lines", SLOTS - HEADER_WORDS * 4),
            ("descriptor slots", self.slots * self.line),
            ("return ring", lines - self.returns_offset()),
            ("channels' control lines", slots - lines),
            ("channels' slots", blocks - slots),
            ("blocks", self.size - blocks),
        ]
    }

    /// The sequence number before that of a ring's first entry.
    pub(crate) fn start(&self, ring: Ring) -> u32 {
        match ring {
            Ring::Messages => self.start,
            Ring::Channel(number) => self.start.wrapping_add(u32::from(number) + 1),
        }
    }

    /// Slots of a ring.
    pub fn slots_of(&self, ring: Ring) -> u32 {
        match ring {
            Ring::Messages => self.slots,
            Ring::Channel(_) => self.channel_slots,
        }
    }
    /// Words of the return ring: every block can be on its way back at once.
    pub(crate) fn returns(&self) -> u32 {
        self.blocks().next_power_of_two().max(2)
    }
    fn returns_offset(&self) -> u32 {
        SLOTS + self.slots * self.line
    }
    fn channels_offset(&self) -> u32 {
        rounded(self.returns_offset() + self.returns() * 4, 128)
    }
    fn channel_slots_offset(&self) -> u32 {
        self.channels_offset() + u32::from(self.channels) * CHANNEL_LINES
    }
    /// Where a block lies, if there is one of that name.
    #[inline(always)]
    pub(crate) fn block(&self, block: Block) -> Option<(u32, u32)> {
        let (class, index) = (block.class(), block.index());
        let Lots { offsets, strides, sizes, counts } = &self.lots;
        if index >= counts[class] {
            return None;
        }
        Some((offsets[class] + index * strides[class], sizes[class]))
    }
}
