//! What came of a simulation, or why it cannot go on.

pub use crate::part::cache::CacheUse;
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
    /// How much of `busy` went to interrupts: their entries and service routines.
    pub interrupt_time: Time,
    /// Words that were accessed by way of its data cache, if it has one.
    pub data: Option<CacheUse>,
    /// Lines of code that it ran through, if it has an instruction cache.
    pub instructions: Option<CacheUse>,
    /// Lines, or parts of them, that its second level was asked for, if it has one.
    pub second: Option<CacheUse>,
}

impl CoreUse {
    fn since(self, before: CoreUse) -> CoreUse {
        let cache = |now: Option<CacheUse>, then: Option<CacheUse>| {
            now.map(|now| now.since(then.unwrap_or_default()))
        };
        CoreUse {
            busy: self.busy.since(before.busy),
            system: self.system.since(before.system),
            waits: self.waits.since(before.waits),
            switches: self.switches - before.switches,
            interrupts: self.interrupts - before.interrupts,
            interrupt_time: self.interrupt_time.since(before.interrupt_time),
            data: cache(self.data, before.data),
            instructions: cache(self.instructions, before.instructions),
            second: cache(self.second, before.second),
        }
    }

    fn with(self, other: CoreUse) -> CoreUse {
        let cache = |one: Option<CacheUse>, other: Option<CacheUse>| match (one, other) {
            (Some(one), Some(other)) => Some(one.with(other)),
            (one, other) => one.or(other),
        };
        CoreUse {
            busy: self.busy + other.busy,
            system: self.system + other.system,
            waits: self.waits + other.waits,
            switches: self.switches + other.switches,
            interrupts: self.interrupts + other.interrupts,
            interrupt_time: self.interrupt_time + other.interrupt_time,
            data: cache(self.data, other.data),
            instructions: cache(self.instructions, other.instructions),
            second: cache(self.second, other.second),
        }
    }
}

/// What a bus did. A transfer counts once it is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusUse {
    /// Transfers, looks of waiting loops among them.
    pub transfers: u64,
    /// How long transfers had it.
    pub busy: Time,
    /// How long transfers waited for it, but those that look at a word again: what cores'
    /// [`waits`](CoreUse::waits) have, and what engines and other parts wait.
    pub waited: Time,
}

impl BusUse {
    /// `looks` looks at words had it, `each` for that time.
    pub(super) fn looked(&mut self, looks: u64, each: Time) {
        self.transfers += looks;
        self.busy += each * looks;
    }

    fn since(self, before: BusUse) -> BusUse {
        BusUse {
            transfers: self.transfers - before.transfers,
            busy: self.busy.since(before.busy),
            waited: self.waited.since(before.waited),
        }
    }

    fn with(self, other: BusUse) -> BusUse {
        BusUse {
            transfers: self.transfers + other.transfers,
            busy: self.busy + other.busy,
            waited: self.waited + other.waited,
        }
    }
}

/// What the parts of a chip did in a while.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How long the while was.
    pub time: Time,
    /// Each core, in the order of the chip's.
    pub cores: Vec<CoreUse>,
    /// Each bus, in the order of the chip's.
    pub buses: Vec<BusUse>,
}

impl Usage {
    /// What they did since the end of an earlier while that began when this one did.
    #[must_use]
    pub fn since(&self, before: &Usage) -> Usage {
        let cores = self.cores.iter().zip(&before.cores);
        let buses = self.buses.iter().zip(&before.buses);
        Usage {
            time: self.time.since(before.time),
            cores: cores.map(|(now, then)| now.since(*then)).collect(),
            buses: buses.map(|(now, then)| now.since(*then)).collect(),
        }
    }

    /// What they did in both of two whiles, of the same chip.
    #[must_use]
    pub fn with(&self, other: &Usage) -> Usage {
        let cores = self.cores.iter().zip(&other.cores);
        let buses = self.buses.iter().zip(&other.buses);
        Usage {
            time: self.time + other.time,
            cores: cores.map(|(one, other)| one.with(*other)).collect(),
            buses: buses.map(|(one, other)| one.with(*other)).collect(),
        }
    }
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
    /// When the simulation stopped: then, or when the time was up.
    pub stopped: Time,
    /// Processes that had not ended when the time was up.
    pub unfinished: Vec<String>,
    /// When the process died that was to.
    pub died: Option<Time>,
    /// Of every store: when it was, where, and what.
    pub hash: u64,
    /// What each core did, in the order of the chip's.
    pub cores: Vec<CoreUse>,
    /// What each bus did, in the order of the chip's.
    pub buses: Vec<BusUse>,
    /// How much was simulated.
    pub counts: Counts,
}

impl Outcome {
    /// What the parts of the chip did until the simulation stopped.
    #[must_use]
    pub fn usage(&self) -> Usage {
        Usage { time: self.stopped, cores: self.cores.clone(), buses: self.buses.clone() }
    }
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
        /// The process that made it.
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
    /// An access to a memory that the core does not reach.
    Barred {
        /// When.
        at: Time,
        /// The process that made it.
        process: String,
        /// Which memory.
        memory: String,
    },
    /// There is no room for the stack of a process.
    NoRoom {
        /// The process.
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
            Stuck::Barred { at, process, memory } => write!(
                f,
                "{process} reached for {memory}, which is private to other cores, at {at} of virtual \
                 time"
            ),
            Stuck::NoRoom { process } => {
                write!(f, "there is no memory for the stack of {process}: run fewer processes")
            }
        }
    }
}

impl std::error::Error for Stuck {}
