//! What is said to the controller, and what it says.

use core::time::Duration;

use narrows::strategy::Strategy;

use super::Handle;

/// What keeps the controller calm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What switches that are not necessary have to save, in parts per million of what the flows
    /// take of the calling core that would switch: each for itself where that can be told, and all
    /// together.
    pub saves: u32,
    /// The least time from one switch of a flow to the next that is not necessary.
    pub rest: Duration,
    /// For how long a switch may keep requests back: deadlines have to hold with that.
    pub pause: Duration,
    /// Nodes of a search.
    pub limit: u32,
    /// Turns of the queue before the cores that are worked through in a decision, to compare what
    /// plans take together.
    pub turns: u32,
    /// Whether flows may be moved from one DSP to another. That asks for a plan for every kind of
    /// flow and DSP at each decision.
    pub moves: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            saves: 20_000,
            rest: Duration::from_millis(500),
            pause: Duration::ZERO,
            limit: 20_000,
            turns: 10_000,
            moves: true,
        }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A flow came.
    Arrived,
    /// A flow left.
    Left,
    /// A flow's sizes, period, work or deadline are others.
    Changed,
    /// Memory or time of a core are more or less than before.
    Budget,
    /// A response came later than its deadline.
    Missed,
    /// The machine's costs are others than was thought.
    Learnt,
    /// A strategy was refused, or a switch came to nothing.
    Failed,
    /// Time has passed: what had to rest may switch.
    Rested,
}

impl Cause {
    /// A word for it, the same everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Arrived => "arrived",
            Cause::Left => "left",
            Cause::Changed => "changed",
            Cause::Budget => "budget",
            Cause::Missed => "missed",
            Cause::Learnt => "learnt",
            Cause::Failed => "failed",
            Cause::Rested => "rested",
        }
    }
}

/// Why flows switch, or do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// What there is, is the best.
    Best,
    /// Something better saves too little.
    Little,
    /// It saves enough.
    Saves,
    /// What is in use does not fit into internal memory.
    Memory,
    /// A deadline would be missed, or a flow falls behind its period.
    Deadline,
    /// A core is asked for more than its time.
    Time,
    /// A flow has a strategy that was refused.
    Refused,
}

impl Reason {
    /// A word for it, the same everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Best => "best",
            Reason::Little => "little",
            Reason::Saves => "saves",
            Reason::Memory => "memory",
            Reason::Deadline => "deadline",
            Reason::Time => "time",
            Reason::Refused => "refused",
        }
    }

    /// Whether flows have to switch.
    pub fn necessary(self) -> bool {
        !matches!(self, Reason::Best | Reason::Little | Reason::Saves)
    }
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What happened.
    pub cause: Cause,
    /// Why flows switch or stay.
    pub reason: Reason,
    /// How many are to switch.
    pub switches: u16,
    /// Time of the calling core as things are, in parts per million.
    pub before: u64,
    /// After all switches.
    pub after: u64,
}

/// A flow that is to change its strategy, or the DSP that serves it, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The flow.
    pub flow: Handle,
    /// What it has.
    pub from: Strategy,
    /// What it is to have.
    pub to: Strategy,
    /// The DSP that serves it from then on.
    pub dsp: u8,
    /// Whether that DSP is another than before.
    pub moves: bool,
    /// Why.
    pub reason: Reason,
    /// Its time of the calling core now, in parts per million.
    pub before: u32,
    /// Afterwards.
    pub after: u32,
}

/// What a flow is begun with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The name of the flow from now on.
    pub flow: Handle,
    /// The DSP that serves it, until a switch moves it.
    pub dsp: u8,
    /// What it begins with.
    pub strategy: Strategy,
}
