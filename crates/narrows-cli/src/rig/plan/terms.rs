//! What is planned, what for, and what comes of it.

use narrows::memory::Class;
use narrows::strategy::{Notification, Strategy};
use narrows_tune::model::{Costs, Estimate, Flow, WHOLE, Waits};
use narrows_tune::optimise::{Found, Unsolved};

/// What flows are planned for.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// What it takes.
    pub costs: Costs,
    /// Cores to call, and bytes of internal memory of each.
    pub dsps: u8,
    pub memory: u32,
    /// Time of the calling core for all flows, in parts per million.
    pub load: u64,
    /// The longest messages in internal and in external memory.
    pub longest: [u32; 2],
    /// Whether there is a copy engine.
    pub engine: bool,
    /// Blocks of each side for each DSP; empty if there are as many as are needed.
    pub classes: Vec<Class>,
}

/// A flow to plan.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub name: String,
    pub flow: Flow,
    /// What it may travel by.
    pub strategies: Vec<Strategy>,
}

impl Subject {
    /// The same flow with those of its strategies that are allowed.
    pub fn among(&self, allowed: impl Fn(&Strategy) -> bool) -> Subject {
        let strategies = self.strategies.iter().copied().filter(|by| allowed(by)).collect();
        Subject { name: self.name.clone(), flow: self.flow, strategies }
    }
}

/// A way for a flow to travel, and what it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub strategy: Strategy,
    pub estimate: Estimate,
    /// Whether the flow has a period. If not, its load is what it takes as fast as it can be.
    pub paced: bool,
    /// What it is to have least of, in parts per million of the calling core: its load; without a
    /// period what it would be if the flow made as many calls as it can by its quickest way.
    pub cost: u32,
}

impl Way {
    /// Whether the calling core looks all the time.
    pub fn spins(&self) -> bool {
        self.strategy.notification == Notification::Spin
    }

    /// Whether the core that is called does.
    pub fn callee_spins(&self) -> bool {
        self.strategy.at_callee() == Notification::Spin
    }

    /// Time of the calling core, in parts per million: all of it for a flow that spins.
    pub fn taken(&self) -> u32 {
        if self.spins() { WHOLE } else { self.estimate.load }
    }
}

/// What a flow was given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given {
    pub way: Way,
    pub dsp: u8,
    /// What other flows delay it by at most, in picoseconds.
    pub beside: u64,
}

impl Given {
    /// How long a response takes at most, with all other flows.
    pub fn bound(&self) -> u64 {
        self.way.estimate.latency.bound.saturating_add(self.beside)
    }
}

/// A plan for all flows, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub given: Vec<Given>,
    pub found: Found,
}

impl Plan {
    /// Time of the calling core, in parts per million, for all flows that have a period: one that
    /// has none takes what is left. A flow that spins takes it all.
    pub fn load(&self) -> u64 {
        if self.given.iter().any(|one| one.way.spins()) {
            return WHOLE.into();
        }
        let paced = self.given.iter().filter(|one| one.way.paced);
        paced.map(|one| u64::from(one.way.estimate.load)).sum()
    }

    /// How a DSP waits, and how the calling core may for its flows: as the quickest of them wants
    /// it; none if it has none.
    pub(super) fn soonest(&self, dsp: u8) -> Option<Waits> {
        let here = self.given.iter().filter(|one| one.dsp == dsp);
        Waits::quickest(here.map(|one| Waits::of(&one.way.strategy)))
    }

    /// Bytes of internal memory of a DSP.
    pub fn memory(&self, dsp: u8) -> u64 {
        let here = self.given.iter().filter(|one| one.dsp == dsp);
        here.map(|one| u64::from(one.way.estimate.memory)).sum()
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NoPlan {
    /// A flow cannot travel at all, for that reason.
    Impossible(usize, String),
    /// The picoseconds that a flow needs at least, and those of them by which others delay it; more
    /// than its deadline.
    Late { flow: usize, least: u64, beside: u64 },
    /// The picoseconds that a flow needs at least for a call, and those that it has until it has to
    /// begin as many as may be under way.
    Behind { flow: usize, least: u64, most: u64 },
    /// All together take too much.
    Together(Unsolved),
    /// There is memory, but its blocks are too few or too short for all.
    Blocks,
}

/// What is to be least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Least {
    Load,
    Latency,
}

/// What a plan has to keep to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Bytes of internal memory of each DSP.
    pub memory: u32,
    /// Whether flows of a kind have to travel alike, which only one DSP can be asked for.
    pub alike: bool,
    /// A flow whose deadline does not count.
    pub free: Option<usize>,
}
