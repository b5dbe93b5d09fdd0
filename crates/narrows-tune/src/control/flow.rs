//! A flow as the controller knows it.

use core::time::Duration;

use narrows::strategy::{Parts, Strategy};

use super::MAX_STRATEGIES;
use crate::model::{Buffers, Costs, Estimate, Flow, estimate, picos};

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
    /// Whether it has not begun: others may have to make room before. What it has is what it is to
    /// begin with then.
    pub(super) waits: bool,
    pub(super) target: Option<u16>,
    /// The DSP that serves it from that switch on, if another.
    pub(super) to: Option<u8>,
    /// Whether the switch to the target is being carried out.
    pub(super) going: bool,
    pub(super) switched: Option<Duration>,
    /// When its first request was due, since it was decided on then.
    pub(super) began: Option<Duration>,
    /// By how much it was later than its bound, in picoseconds, and when it was late last.
    pub(super) late: u64,
    pub(super) missed: Option<Duration>,
    /// Until then it switches only if it has to: nothing would have helped against a flow's being
    /// late.
    pub(super) calm: Duration,
    /// Strategies that were refused.
    pub(super) refused: [u64; WORDS],
}

impl<'s> FlowState<'s> {
    pub(super) fn new(life: u32, flow: Flow, strategies: &'s [Strategy], dsp: u8) -> FlowState<'s> {
        FlowState {
            life,
            flow,
            strategies,
            dsp,
            current: 0,
            waits: true,
            target: None,
            to: None,
            going: false,
            switched: None,
            began: None,
            late: 0,
            missed: None,
            calm: Duration::ZERO,
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

    /// The DSP that serves it, or is about to.
    pub(super) fn place(&self) -> u8 {
        self.to.filter(|_| self.going).unwrap_or(self.dsp)
    }

    /// What it takes by one of its strategies.
    pub(super) fn estimate(&self, costs: &Costs, number: u16) -> Option<Estimate> {
        let strategy = self.strategies.get(usize::from(number))?;
        estimate(costs, &self.flow, strategy).ok()
    }

    /// The strategy that it has, or is about to have.
    pub(super) fn has(&self) -> u16 {
        self.target.filter(|_| self.going).unwrap_or(self.current)
    }

    /// Its time of the calling core by that, in parts per million.
    pub(super) fn load(&self, costs: &Costs) -> u64 {
        self.estimate(costs, self.has()).map_or(0, |made| u64::from(made.load))
    }

    /// Bytes of internal memory of a DSP that it may have at any moment.
    pub(super) fn memory(&self, costs: &Costs, dsp: u8) -> u32 {
        if self.waits {
            return 0;
        }
        let of = |number| self.estimate(costs, number).map_or(0, |made| made.memory);
        let leaves = if dsp == self.dsp { of(self.current) } else { 0 };
        let comes = if dsp == self.place() { of(self.has()) } else { 0 };
        leaves.max(comes)
    }

    /// How long a response takes by one of its strategies if no other flow is in the way, with what
    /// misses have taught.
    pub(super) fn bound(&self, made: &Estimate) -> u64 {
        made.latency.bound.saturating_add(self.late)
    }

    /// How long it may take by one of its strategies, in picoseconds, once it has it. A switch to
    /// another may keep a request back: for a pause, and until the other core has looked for the
    /// proposal as this strategy has it look.
    pub(super) fn allowed(&self, number: u16, pause: Duration) -> u64 {
        self.allowed_with(self.looks_by(number), pause)
    }

    /// The same while it switches to that strategy: its request may be kept back until the other
    /// core looks as it is, too.
    pub(super) fn allowed_meanwhile(&self, number: u16, pause: Duration) -> u64 {
        self.allowed_with(self.looks_by(number).max(self.looks()), pause)
    }

    fn allowed_with(&self, looks: u64, pause: Duration) -> u64 {
        let Some(deadline) = self.flow.deadline.map(picos) else { return u64::MAX };
        deadline.saturating_sub(picos(pause)).saturating_sub(looks)
    }

    /// From one look of the other core to the next by one of its strategies, in picoseconds; 0 if
    /// it is told.
    fn looks_by(&self, number: u16) -> u64 {
        let strategy = self.strategies.get(usize::from(number));
        strategy.map_or(0, |strategy| picos(strategy.at_callee().pause()))
    }

    /// The same by the strategy that it has; 0 if it has not begun.
    pub(super) fn looks(&self) -> u64 {
        if self.waits { 0 } else { self.looks_by(self.has()) }
    }

    /// Whether its calls end as fast as requests come by a strategy by which it takes that, each of
    /// which keeps one of those that may be under way, as it mostly is: what comes once, or beside
    /// others, is caught up with. Where looks keep step with requests there is a buffer for each
    /// that comes meanwhile.
    fn keeps_pace(&self, costs: &Costs, number: u16, made: &Estimate) -> bool {
        let Flow { period, depth, burst, .. } = self.flow;
        // The parts of one request are under way, and none of the next.
        let by = self.strategies.get(usize::from(number));
        let depth = if by.is_some_and(|by| by.parts != Parts::WHOLE) { 1 } else { depth };
        let Some(period) = period.filter(|_| costs.buffers == Buffers::Any) else { return true };
        let most = picos(period).saturating_mul((depth / burst.max(1)).max(1).into());
        made.latency.aligned <= most
    }

    /// Whether it falls behind by the strategy by which it takes that, and does not by another.
    pub(super) fn falls_behind(&self, costs: &Costs, number: u16, made: &Estimate) -> bool {
        let others = 0..self.strategies.len() as u16;
        let allowed = others.filter(|other| !self.excluded(*other));
        let mut all = allowed.filter_map(|other| Some((other, self.estimate(costs, other)?)));
        let keeps = |(other, made): (u16, Estimate)| self.keeps_pace(costs, other, &made);
        !self.keeps_pace(costs, number, made) && all.any(keeps)
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
            && self.place() == other.place()
            && self.late == other.late
            && self.refused == other.refused
            && self.strategies == other.strategies
    }

    /// Whether it is to stay as it is, for its last switch is not long ago or not even over, or
    /// switching did not help.
    pub(super) fn rests(&self, now: Option<Duration>, rest: Duration) -> bool {
        let recent =
            |now: Duration| self.switched.is_some_and(|last| now.saturating_sub(last) < rest);
        self.going || now.is_some_and(|now| now < self.calm || recent(now))
    }
}
