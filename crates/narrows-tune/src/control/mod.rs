//! Chooses anew while flows run: when one comes or goes, when sizes, periods, budgets or costs
//! change, when a deadline was missed.
//!
//! A [`Controller`] knows the flows, what they travel by and what there is. [`Controller::decide`]
//! plans anew by the [optimiser](mod@crate::optimise) and says whether anything is to change, and
//! why; [`Controller::next_switch`] hands out the switches one after the other, those first that
//! free memory, so that what is in use never exceeds the budget on the way. The caller that carries
//! them out says how each ended.
//!
//! What is not necessary is done only if it pays, and not twice in a short time: see [`Settings`].
//! Everything is in [`Tables`] that the caller hands in, and nothing allocates, blocks or computes
//! with floating point.

mod carry;
mod decide;
mod enter;
mod error;
mod flow;
mod learn;
mod moves;
mod plan;
#[cfg(test)]
mod tests;
mod together;
mod words;

use core::time::Duration;

use narrows::strategy::Strategy;

use crate::model::{Costs, Flow, ModelError, Stream, estimate, picos};
use crate::optimise::{Choice, Dsp, Group, MAX_DSPS, Pick, Storage, Timing};

pub use error::ControlError;
pub use flow::{FlowState, Handle};
pub use learn::{Learner, differs};
pub use plan::Planned;
pub use words::{Cause, Decision, Reason, Settings, Start, Switch};

/// The most strategies that one flow can be given.
pub const MAX_STRATEGIES: usize = 256;

/// Room for a number of flows, and the strategies of all of them.
#[derive(Debug)]
pub struct Tables<'a, 's> {
    /// One for each flow.
    pub flows: &'a mut [Option<FlowState<'s>>],
    /// What each is to have: one for each flow.
    pub planned: &'a mut [Planned],
    /// One for each flow.
    pub groups: &'a mut [Group],
    /// The flows of all groups, one for each flow.
    pub members: &'a mut [u16],
    /// One for each strategy of each flow, and so the next.
    pub choices: &'a mut [Choice],
    /// What choices mean for deadlines: one for each strategy of each flow.
    pub timings: &'a mut [Timing],
    /// Which strategy a choice is.
    pub numbers: &'a mut [u16],
    /// One for each flow.
    pub picks: &'a mut [Pick],
    /// The flows before the cores: one for each flow.
    pub streams: &'a mut [Stream],
    /// What the optimiser works in.
    pub search: Storage<'a>,
}

/// See the module page.
#[derive(Debug)]
pub struct Controller<'a, 's> {
    tables: Tables<'a, 's>,
    costs: Costs,
    dsps: [Dsp; MAX_DSPS],
    count: u8,
    load: u64,
    settings: Settings,
    lives: u32,
    under_way: Option<Handle>,
    reason: Reason,
    /// Turns of the queue that a decision has left.
    turns: u32,
}

impl<'a, 's> Controller<'a, 's> {
    /// For a machine with these costs, DSPs and time of the calling core, in parts per million.
    ///
    /// # Errors
    /// [`ControlError::Budget`] for no DSP or too many, or a core without any time.
    pub fn new(
        tables: Tables<'a, 's>,
        costs: Costs,
        dsps: &[Dsp],
        load: u64,
        settings: Settings,
    ) -> Result<Controller<'a, 's>, ControlError> {
        let mut made = Controller {
            tables,
            costs,
            dsps: [Dsp::default(); MAX_DSPS],
            count: 0,
            load,
            settings,
            lives: 0,
            under_way: None,
            reason: Reason::Best,
            turns: 0,
        };
        let enough = dsps.iter().all(|dsp| dsp.work > 0) && load > 0;
        if !(1..=MAX_DSPS).contains(&dsps.len()) || !enough {
            return Err(ControlError::Budget);
        }
        for (place, dsp) in made.dsps.iter_mut().zip(dsps) {
            *place = *dsp;
        }
        made.count = dsps.len() as u8;
        made.tables.flows.fill(None);
        Ok(made)
    }

    /// A flow leaves, in the middle of a switch too.
    ///
    /// # Errors
    /// [`ControlError::Unknown`].
    pub fn leave(&mut self, flow: Handle) -> Result<(), ControlError> {
        self.state(flow)?;
        self.tables.flows[usize::from(flow.index)] = None;
        if self.under_way == Some(flow) {
            self.under_way = None;
        }
        Ok(())
    }

    /// A flow's sizes, period, work or deadline are others from now on.
    ///
    /// # Errors
    /// [`ControlError::Unknown`], or what is wrong with it; it stays as it was then.
    pub fn change(&mut self, flow: Handle, to: Flow) -> Result<(), ControlError> {
        let costs = self.costs;
        let state = self.state_mut(flow)?;
        for strategy in state.strategies {
            estimate(&costs, &to, strategy)?;
        }
        state.flow = to;
        state.late = 0;
        Ok(())
    }

    /// A DSP has more or less for flows from now on.
    ///
    /// # Errors
    /// [`ControlError::Budget`] for a DSP that is not there, or is to have no time.
    pub fn set_dsp(&mut self, dsp: u8, has: Dsp) -> Result<(), ControlError> {
        if dsp >= self.count || has.work == 0 {
            return Err(ControlError::Budget);
        }
        self.dsps[usize::from(dsp)] = has;
        Ok(())
    }

    /// All flows together may take `load` of the calling core from now on, in parts per million.
    ///
    /// # Errors
    /// [`ControlError::Budget`] for nothing.
    pub fn set_load(&mut self, load: u64) -> Result<(), ControlError> {
        if load == 0 {
            return Err(ControlError::Budget);
        }
        self.load = load;
        Ok(())
    }

    /// The machine's costs are these from now on.
    pub fn set_costs(&mut self, costs: Costs) {
        self.costs = costs;
    }

    /// What the machine is taken to cost.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// A response took `latency`, which is more than its deadline. What it was beyond the bound is
    /// allowed for from now on, for a while.
    ///
    /// # Errors
    /// [`ControlError::Unknown`].
    pub fn missed(
        &mut self,
        flow: Handle,
        now: Duration,
        latency: Duration,
    ) -> Result<(), ControlError> {
        let costs = self.costs;
        let state = self.state_mut(flow)?;
        let Some(made) = state.estimate(&costs, state.current) else { return Ok(()) };
        let beyond = picos(latency).saturating_sub(made.latency.bound);
        state.late = state.late.max(beyond);
        state.missed = Some(now);
        Ok(())
    }

    /// The strategy that a flow has.
    pub fn strategy_of(&self, flow: Handle) -> Option<Strategy> {
        let state = self.state(flow).ok()?;
        state.strategies.get(usize::from(state.current)).copied()
    }

    /// A flow as it is known.
    pub fn flow(&self, flow: Handle) -> Option<&FlowState<'s>> {
        self.state(flow).ok()
    }

    /// How long a response of a flow takes at most beside all others as they are, in picoseconds;
    /// what was promised is that this is within its deadline, but for a while after what there is
    /// has become less.
    pub fn bound(&self, flow: Handle) -> Option<u64> {
        let state = self.state(flow).ok()?;
        let own = state.estimate(&self.costs, state.has())?;
        Some(own.latency.bound.saturating_add(self.beside_as_is(usize::from(flow.index))))
    }

    /// Time of the calling core that all flows take together as they are, in parts per million; of
    /// one that waits for others, what it is to begin with.
    pub fn current_load(&mut self) -> u64 {
        self.together(|state, _| state.has())
    }

    /// Bytes of internal memory that flows take of a DSP as they are.
    pub fn memory(&self, dsp: u8) -> u64 {
        self.memory_but(dsp, None)
    }

    fn memory_but(&self, dsp: u8, but: Option<usize>) -> u64 {
        let all = self.tables.flows.iter().enumerate();
        let others = all.filter(|(index, _)| Some(*index) != but);
        let others = others.filter_map(|(_, state)| state.as_ref());
        others.map(|state| u64::from(state.memory(&self.costs, dsp))).sum()
    }

    fn state(&self, flow: Handle) -> Result<&FlowState<'s>, ControlError> {
        let found = self.tables.flows.get(usize::from(flow.index)).and_then(Option::as_ref);
        found.filter(|state| state.life == flow.life).ok_or(ControlError::Unknown)
    }

    fn state_mut(&mut self, flow: Handle) -> Result<&mut FlowState<'s>, ControlError> {
        let found = self.tables.flows.get_mut(usize::from(flow.index)).and_then(Option::as_mut);
        found.filter(|state| state.life == flow.life).ok_or(ControlError::Unknown)
    }
}

impl From<ModelError> for ControlError {
    fn from(error: ModelError) -> ControlError {
        ControlError::Model(error)
    }
}
