//! Routes: how a message gets to a node that is not adjacent, by way of nodes between.
//!
//! [`Table`] says over which link a message goes on. [`Relay`] keeps messages until the next node
//! has room for them, so that full nodes never wait for each other in a circle. [`Seen`] tells the
//! last node which messages it has had before. All three are state and nothing else: what moves
//! bytes drives them.

mod relay;
mod row;
mod seen;
mod table;

pub use relay::{Lie, Orphan, Relay, Slot};
pub(crate) use row::{InRow, NONE, Row};
pub use seen::{Once, Seen};
pub use table::{NoPlace, RANGES, Range, Table};

/// Links of a node, at most.
pub const LINKS: usize = 8;
/// Hops of a message, at most.
pub const HOPS: usize = 15;
