//! Regions, their layout, the pool of blocks and the ring of descriptors.
//!
//! One rule holds everywhere: every shared word has one writer. A node writes its own region only;
//! a peer maps it read-only. What a peer wrote is copied once, checked, and the copy is used.

mod channel;
mod delivery;
mod descriptor;
mod layout;
mod page;
mod pool;
mod quick;
mod returns;
mod ring;
mod shared;
mod sight;

pub(crate) use channel::Bits;
pub use channel::{Arrival, Inlet, Outlet, WORD};
pub use delivery::{
    Delivery, MAX_HOLDS, NOTE_WORDS, NoRoom, Overflow, Sample, Subscription, Terms, TooMany, leave,
    queue_words,
};
pub use descriptor::{Ack, Block, CONTROL, Descriptor, IN_SLOT, Kind, MAX_MESSAGE};
pub use layout::{Class, Layout, LayoutError, MAX_CHANNELS, MAX_CLASSES, MAX_SLOTS, Ring};
pub use page::{page_room, page_version, read_page, write_page};
pub use pool::{Pool, PoolError, Stock};
pub use quick::{More, Plain, SHORT, copied_to};
pub use returns::{Reclaimer, Returner};
pub use ring::{Consumer, Next, Producer};
pub use shared::{Placed, SetUpError, Shared, Taken};
pub use sight::{Counts, End, Glimpse, Sight};

/// A check that a peer's words failed. The link ends; nothing else is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Corrupt {
    /// The region's header is not of this protocol, version or line size, or does not add up.
    Header,
    /// A descriptor of no known kind.
    Kind,
    /// A length over the slot or the block.
    Length,
    /// A block outside the peer's pool.
    Block,
    /// More credit than was used, or credit taken back.
    Credit,
    /// A block returned that was not lent.
    Return,
    /// A control message that makes no sense.
    Control,
    /// A response that nobody asked for.
    Response,
    /// A frame that makes no sense, where frames carry the link.
    Frame,
}

impl core::fmt::Display for Corrupt {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Corrupt::Header => "its region's header does not fit this protocol",
            Corrupt::Kind => "it sent a descriptor of no known kind",
            Corrupt::Length => "it sent a length that its slot or block cannot hold",
            Corrupt::Block => "it named a block outside its pool",
            Corrupt::Credit => "it gave back more credit than it had been given messages",
            Corrupt::Return => "it returned a block that was not lent to it",
            Corrupt::Control => "it sent a control message that makes no sense",
            Corrupt::Response => "it sent a response that nobody had asked for",
            Corrupt::Frame => "it sent a frame that makes no sense",
        })
    }
}

impl core::error::Error for Corrupt {}

#[cfg(test)]
pub(crate) mod tests;
