//! Traffic in which nothing can be lost, doubled, damaged or reordered unnoticed: what the kill
//! storm and the soak run between two processes.
//!
//! Both sides do the same: send messages of mixed sizes until there is no room, start calls, serve
//! the other's calls and take its messages. Every payload says its number and whether it is whole,
//! and every side counts ([`Counts`]) what it was told as it is told.

pub mod chips;
pub mod churn;
pub mod flags;
mod footprint;
mod linger;
mod load;
mod lull;
pub mod member;
mod partner;
mod payload;
mod record;
mod sheet;

pub use footprint::Footprint;
pub use load::{ECHO, Load, PORT, Profile, Trouble};
pub use lull::lull;
pub use partner::{Part, Partner, Process, Role, STARTER, node, open, prioritise, run};
pub use payload::{LONGEST, LONGEST_CALL, Longest, Payloads, number};
pub use record::{Count, Counts, Record, agree};
pub use sheet::{Cell, Phase, Sheet};

use std::time::Duration;

/// The longest wait for the other side to appear, to answer or to end.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// Messages that a node takes before its application does, as a rule.
pub const INBOX: usize = 64;
/// Messages that it takes beyond that at most, where a more urgent one is behind them: the slots of
/// the largest ring there is here, a host's.
pub const BEYOND: usize = 256;
