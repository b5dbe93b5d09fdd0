//! What came of a simulation, or why it cannot go on.

use crate::time::Time;
use std::fmt;

/// What a core did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreUse {
    /// How long a process or a service routine was on it.
    pub busy: Time,
    /// Of that, what its operating system took: calls, switches, entries of interrupts.
    pub system: Time,
    /// Of that, how long what was on it waited until it had a bus, but to look at a word again.
    pub waits: Time,
    /// How often it went from one process to another.
    pub switches: u64,
    /// How often it was interrupted.
    pub interrupts: u64,
}

/// How much was simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Words that cores loaded and stored, in caches and memories.
    pub words: u64,
    /// Transfers over buses, without the looks that were computed.
    pub transfers: u64,
    /// Looks that were computed.
    pub looks: u64,
    /// Transfers that stored.
    pub stores: u64,
    /// How often a process lost its core to a more urgent one.
    pub preemptions: u64,
    /// Events taken from the queue.
    pub events: u64,
    /// Bells that were lost, late or doubled.
    pub bells: u64,
    /// Words of a hostile process's that were changed.
    pub lies: u64,
}

/// What came of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// When the last process ended.
    pub end: Time,
    /// Processes that had not ended when the time was up.
    pub unfinished: Vec<String>,
    /// When the process died that was to.
    pub died: Option<Time>,
    /// Of every store: when it was, where, and what.
    pub hash: u64,
    /// What each core did, in the order of the chip's.
    pub cores: Vec<CoreUse>,
    /// How much was simulated.
    pub counts: Counts,
}

/// Why a simulation cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// Nothing will happen any more, and these have not ended.
    Deadlock {
        /// When the last thing happened.
        at: Time,
        /// Each process and what it waits for.
        waiting: Vec<(String, String)>,
    },
    /// Things go on happening at one moment.
    Still {
        /// When.
        at: Time,
        /// The process that ran last.
        process: Option<String>,
    },
    /// An access outside a memory.
    OutOfRange {
        /// When.
        at: Time,
        /// Whose.
        process: String,
        /// Which memory.
        memory: String,
        /// Where in it, in bytes.
        offset: u64,
        /// How many bytes.
        len: u64,
        /// How many it has.
        size: u64,
    },
    /// There is no room for the stack of a process.
    NoRoom {
        /// Which.
        process: String,
    },
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stuck::Deadlock { at, waiting } => {
                write!(f, "nothing can run any more at {at} of virtual time:")?;
                for (i, (process, what)) in waiting.iter().enumerate() {
                    write!(f, "{} {process} waits for {what}", if i > 0 { ";" } else { "" })?;
                }
                Ok(())
            }
            Stuck::Still { at, process } => write!(
                f,
                "virtual time stands still at {at}: {} goes on without anything that takes time",
                process.as_deref().unwrap_or("the chip")
            ),
            Stuck::OutOfRange { at, process, memory, offset, len, size } => write!(
                f,
                "{process} reached for {len} bytes at byte {offset} of {memory}, which has {size}, \
                 at {at} of virtual time"
            ),
            Stuck::NoRoom { process } => {
                write!(f, "there is no memory for the stack of {process}: run fewer processes")
            }
        }
    }
}

impl std::error::Error for Stuck {}
