//! What the caller has the other side do.

use serde::{Deserialize, Serialize};

/// The longest message or packet.
pub const LONGEST: usize = 65536;
/// Bytes of an exchange of [`Traffic::Stream`].
pub const TOTAL: usize = 16384;

/// What goes between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Traffic {
    /// A scalar of 64 bits there and back.
    Scalar,
    /// A message there and back.
    Message,
    /// A packet there, read where it is and sent back from there.
    Packet,
    /// Packets one way, 16 KiB of them, and a scalar back when the last has been read.
    Stream,
}

/// Exchanges that are measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// What each is.
    pub traffic: Traffic,
    /// Bytes of a message or packet.
    pub bytes: usize,
    /// How many exchanges.
    pub count: u64,
}

impl Batch {
    /// Packets of an exchange one way.
    pub fn packets(&self) -> usize {
        TOTAL / self.bytes.max(1)
    }
}

/// What the other side is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Open a node that is linked with the caller's.
    Open {
        /// The number of the caller's node.
        node: u32,
        /// How long waits look before they sleep, in microseconds.
        look: u32,
    },
    /// Take part in a batch.
    Batch(Batch),
    /// End the node.
    Close,
}

impl Order {
    /// Whether it can be done.
    pub fn is_possible(&self) -> bool {
        match self {
            Order::Batch(batch) => (1..=LONGEST).contains(&batch.bytes),
            Order::Open { .. } | Order::Close => true,
        }
    }
}
