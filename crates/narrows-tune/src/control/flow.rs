//! A flow as the controller knows it.

use core::time::Duration;

use narrows::strategy::Strategy;

use super::MAX_STRATEGIES;
use crate::model::{Costs, Estimate, Flow, estimate, picos};

/// A flow under control. Another flow never has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    pub(super) index: u16,
    pub(super) life: u32,
}

impl Handle {
    /// Its place in the tables, which another flow may have later.
    pub fn place(self) -> usize {
        usize::from(self.index)
    }
}

const WORDS: usize = MAX_STRATEGIES / 64;

/// What is known of a flow, and what it has.
#[derive(Clone, Copy, Debug)]
pub struct FlowState<'s> {
    pub(super) life: u32,
    pub(super) flow: Flow,
    pub(super) strategies: &'s [Strategy],
    pub(super) dsp: u8,
    pub(super) current: u16,
    pub(super) target: Option<u16>,
    pub(super) switched: Option<Duration>,
    /// By how much it was later than its bound, in picoseconds, and when it was late last.
    pub(super) late: u64,
    pub(super) missed: Option<Duration>,
    /// Strategies that were refused.
    refused: [u64; WORDS],
}

impl<'s> FlowState<'s> {
    pub(super) fn new(life: u32, flow: Flow, strategies: &'s [Strategy], dsp: u8) -> FlowState<'s> {
        FlowState {
            life,
            flow,
            strategies,
            dsp,
            current: 0,
            target: None,
            switched: None,
            late: 0,
            missed: None,
            refused: [0; WORDS],
        }
    }

    /// The flow.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// The DSP that serves it.
    pub fn dsp(&self) -> u8 {
        self.dsp
    }

    /// What it takes by one of its strategies.
    pub(super) fn estimate(&self, costs: &Costs, number: u16) -> Option<Estimate> {
        let strategy = self.strategies.get(usize::from(number))?;
        estimate(costs, &self.flow, strategy).ok()
    }

    /// Its time of the calling core as it is, in parts per million.
    pub(super) fn load(&self, costs: &Costs) -> u64 {
        self.estimate(costs, self.current).map_or(0, |made| u64::from(made.load))
    }

    /// How long a response takes if no other flow is in the way.
    pub(super) fn bound(&self, made: &Estimate) -> u64 {
        made.latency.bound.saturating_add(self.late)
    }

    /// How long it may take, in picoseconds, if a switch may be in the way.
    pub(super) fn allowed(&self, pause: Duration) -> u64 {
        let deadline = self.flow.deadline.map(picos);
        deadline.map_or(u64::MAX, |deadline| deadline.saturating_sub(picos(pause)))
    }

    pub(super) fn exclude(&mut self, number: u16) {
        if let Some(word) = self.refused.get_mut(usize::from(number) / 64) {
            *word |= 1 << (number % 64);
        }
    }

    pub(super) fn excluded(&self, number: u16) -> bool {
        let word = self.refused.get(usize::from(number) / 64);
        word.is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    /// Whether another is planned like this one.
    pub(super) fn alike(&self, other: &FlowState<'_>) -> bool {
        self.flow == other.flow
            && self.dsp == other.dsp
            && self.late == other.late
            && self.refused == other.refused
            && self.strategies == other.strategies
    }

    pub(super) fn rests(&self, now: Duration, rest: Duration) -> bool {
        self.switched.is_some_and(|last| now.saturating_sub(last) < rest)
    }
}
