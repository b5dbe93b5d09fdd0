//! A queue of events in integer time, and processes that run the stack's own code on stacks of
//! their own.
//!
//! Two modes give the same end, the same store times and the same results. [`Mode::Fast`] moves the
//! clock without leaving a process when nothing else is due, and computes the looks of a waiting
//! loop instead of making them; [`Mode::Reference`] does neither, and is what the fast one is
//! tested against.

pub(crate) mod bus;
pub(crate) mod coroutine;
mod deadlock;
pub(crate) mod due;
pub(crate) mod fault;
mod lies;
mod queue;
mod report;
mod schedule;
mod spin;
pub(crate) mod state;
pub(crate) mod traced;
mod turns;

use crate::time::Time;
pub use fault::{Bells, Death, Faults, Halt, Lies, Upkeep};
pub use report::{BusUse, CacheUse, CoreUse, Counts, Outcome, Stuck, Usage};

/// How events are worked off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As few as possible.
    #[default]
    Fast,
    /// Every one, and every look of a waiting loop.
    Reference,
}

/// How a simulation is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How events are worked off.
    pub mode: Mode,
    /// When to stop, whatever still runs.
    pub until: Time,
    /// What the random numbers of a simulation come from.
    pub seed: u64,
    /// What goes wrong.
    pub faults: Faults,
}

impl Default for Settings {
    fn default() -> Settings {
        let faults = Faults::default();
        Settings { mode: Mode::Fast, until: Time::NEVER, seed: 1, faults }
    }
}

/// A process of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid(pub(crate) usize);

/// A core goes from one process to another. Service routines of interrupts run on top of whatever
/// they interrupt and are none of this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swap {
    /// When it begins.
    pub at: Time,
    /// Which core, by its place in the chip.
    pub core: usize,
    /// Whose turn it was; nobody's, if the core idled.
    pub from: Option<Pid>,
    /// Whose turn it is; nobody's, if it idles now.
    pub to: Option<Pid>,
}
