//! The ring of descriptors: the sender's slots, the receiver's credit, the armed doorbell.
//!
//! A slot is full when its first word holds the sequence number that the receiver waits for; no
//! head is shared. Credit counts the messages taken and is read by the sender only when it has
//! used what it knew of. A receiver that is about to sleep arms: it stores the sequence number it
//! wants to be rung for. The sender looks at that word after a full fence behind each message, the
//! receiver looks at the slot after a full fence behind arming, so one of them sees the other.

mod consumer;
mod producer;

pub use consumer::{Consumer, Next};
pub use producer::Producer;

/// The most credit, and the most blocks, that are held back.
pub(super) const MOST_HELD_BACK: u32 = 32;
