//! Where the stack's links lie on a chip.

use crate::file::{Mistake, Table, Value};
use narrows::memory::{Class, Layout, LayoutError, MAX_CHANNELS};
use narrows::strategy::Placement;

pub(super) const KEYS: [&str; 7] =
    ["control", "internal", "external", "slots", "channels", "channel_slots", "classes"];
pub(super) const CLASS: [&str; 3] = ["placement", "size", "count"];
/// Slots of a channel's ring where a file does not say.
const CHANNEL_SLOTS: u32 = 16;
const A_PLACEMENT: &str = "\"internal\" or \"external\"";

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

/// Descriptor slots of a ring.
fn slots(value: &Value<'_>) -> Result<u32, Mistake> {
    let count = value.number(2..=4096_u32)?;
    if count.is_power_of_two() {
        Ok(count)
    } else {
        Err(value.wrong("a power of two from 2 to 4096"))
    }
}

/// Where the links of a file are, whose table this is.
pub(super) fn read(table: &Table<'_>, memories: &[String]) -> Result<Link, Mistake> {
    let channels = table.find("channels").map(|value| value.number(0..=MAX_CHANNELS.into()));
    let channel_slots = table.find("channel_slots").map(|value| slots(&value)).transpose()?;
    let expected = "a list of blocks: { placement = \"internal\", size = 256, count = 8 }";
    let mut classes = Vec::new();
    for one in table.get("classes", expected)?.array(expected)? {
        let one = one.table(&CLASS)?;
        let placement = one.get("placement", A_PLACEMENT)?;
        let placement = match placement.string(A_PLACEMENT)? {
            "internal" => Placement::Internal,
            "external" => Placement::External,
            _ => return Err(placement.wrong(A_PLACEMENT)),
        };
        let size = one.bytes("size", 1..=narrows::memory::MAX_MESSAGE)?;
        let count = one.get("count", "a number of blocks")?.number(1..=4095)?;
        classes.push(Class { placement, size, count });
    }
    Ok(Link {
        control: table.place("control", "memory", memories)?,
        internal: table.place("internal", "memory", memories)?,
        external: table.place("external", "memory", memories)?,
        slots: slots(&table.get("slots", "descriptor slots of a ring")?)?,
        channels: channels.transpose()?.unwrap_or(0) as u16,
        channel_slots: channel_slots.unwrap_or(CHANNEL_SLOTS),
        classes,
    })
}
