//! Flows that come: they begin at once, or when others have made room.

use core::time::Duration;

use narrows::strategy::Strategy;

use super::flow::FlowState;
use super::{ControlError, Controller, Handle, MAX_STRATEGIES, Start, Tables};
use crate::model::{Flow, estimate};

impl<'s> Controller<'_, 's> {
    /// A flow comes, which may travel by any of these strategies, the first of them safe. It begins
    /// with that one, and changes when more is known of it; if it is `known` already, it begins
    /// with the best that there is room for as things are.
    ///
    /// # Errors
    /// Why it cannot be carried beside the others; nothing has changed then. After
    /// [`ControlError::NoRoom`] it can be [reserved](Controller::reserve).
    pub fn arrive(
        &mut self,
        flow: Flow,
        strategies: &'s [Strategy],
        known: bool,
    ) -> Result<Start, ControlError> {
        let index = self.enter(flow, strategies)?;
        if let Some(state) = &mut self.tables.flows[index] {
            state.waits = false;
        }
        if !self.beginning(index, known) {
            self.tables.flows[index] = None;
            return Err(ControlError::NoRoom);
        }
        self.start(index)
    }

    /// Lets a flow in that there is a plan with, and that cannot begin while the others have what
    /// they have. From now on it counts in what is decided: the next decision has the others
    /// switch, and [`Controller::begin`] says when they have.
    ///
    /// # Errors
    /// As [`Controller::arrive`]; [`ControlError::NoRoom`] if others would be late while they
    /// switch. While a switch is under way its flow counts as if it was to keep what it switches
    /// to: what is refused then may be tried again when the switch has ended.
    pub fn reserve(
        &mut self,
        flow: Flow,
        strategies: &'s [Strategy],
    ) -> Result<Handle, ControlError> {
        let index = self.enter(flow, strategies)?;
        // There is a plan: it was placed by one.
        let planned = self.plan(None).map(|_| self.planned(index));
        let state = self.tables.flows[index].as_mut().ok_or(ControlError::Unknown)?;
        state.current = planned?;
        Ok(Handle { index: index as u16, life: state.life })
    }

    /// What a flow begins with that was reserved; none as long as something would not hold then, or
    /// a switch is under way. If there is none and no switch is to come, the others could not make
    /// room, and it has to leave.
    ///
    /// # Errors
    /// [`ControlError::Unknown`].
    pub fn begin(&mut self, flow: Handle, now: Duration) -> Result<Option<Start>, ControlError> {
        let index = usize::from(flow.index);
        let state = self.state_mut(flow)?;
        if state.waits {
            state.waits = false;
            let number = state.current;
            if self.under_way.is_some() || !self.begins(index, number) {
                self.state_mut(flow)?.waits = true;
                return Ok(None);
            }
            self.state_mut(flow)?.began = Some(now);
        }
        self.start(index).map(Some)
    }

    /// What a flow has begun with.
    fn start(&self, index: usize) -> Result<Start, ControlError> {
        let state = self.tables.flows.get(index).and_then(Option::as_ref);
        let state = state.ok_or(ControlError::Unknown)?;
        let flow = Handle { index: index as u16, life: state.life };
        Ok(Start { flow, dsp: state.dsp, strategy: state.strategies[usize::from(state.current)] })
    }

    /// Gives a flow its place in the tables, and says which that is.
    fn enter(&mut self, flow: Flow, strategies: &'s [Strategy]) -> Result<usize, ControlError> {
        if strategies.is_empty() || strategies.len() > MAX_STRATEGIES {
            return Err(ControlError::Strategies);
        }
        for strategy in strategies {
            estimate(&self.costs, &flow, strategy)?;
        }
        let index = self.tables.flows.iter().position(Option::is_none);
        let index = index.filter(|index| *index < self.room()).ok_or(ControlError::Full)?;
        self.lives = self.lives.wrapping_add(1);
        let new = FlowState::new(self.lives, flow, strategies, 0);
        let placed = match self.place(index, new) {
            Err(_) if self.forget() => self.place(index, new),
            placed => placed,
        };
        if let Err(error) = placed {
            self.tables.flows[index] = None;
            return Err(error);
        }
        Ok(index)
    }

    /// Puts a flow where all together cost least.
    fn place(&mut self, index: usize, new: FlowState<'s>) -> Result<(), ControlError> {
        let mut best: Option<(u64, u8)> = None;
        let mut why = ControlError::Full;
        for dsp in 0..self.count {
            self.tables.flows[index] = Some(FlowState { dsp, ..new });
            match self.plan(None) {
                Ok(load) if best.is_none_or(|(least, _)| load < least) => best = Some((load, dsp)),
                Ok(_) => {}
                Err(error) => why = error,
            }
        }
        let (_, dsp) = best.ok_or(why)?;
        self.tables.flows[index] = Some(FlowState { dsp, ..new });
        Ok(())
    }

    /// How many flows all tables have room for.
    fn room(&self) -> usize {
        let Tables { flows, planned, groups, members, picks, streams, .. } = &self.tables;
        let least = flows.len().min(planned.len()).min(groups.len()).min(streams.len());
        least.min(members.len()).min(picks.len()).min(usize::from(u16::MAX))
    }

    /// Gives a flow what it can begin with beside all others as they are, so that everything holds:
    /// the safe strategy if it is not known, or else the cheapest. False if there is nothing.
    fn beginning(&mut self, index: usize, known: bool) -> bool {
        if !known && self.begins(index, 0) {
            return true;
        }
        let mut last = None;
        loop {
            let Some(Some(state)) = self.tables.flows.get(index) else { return false };
            let cost = |number: u16| {
                let made = state.estimate(&self.costs, number)?;
                Some((made.load, made.memory, number))
            };
            let all = (0..state.strategies.len() as u16).filter_map(cost);
            let next = all.filter(|one| last.is_none_or(|last| *one > last)).min();
            let Some(next) = next else { return false };
            if self.begins(index, next.2) {
                return true;
            }
            last = Some(next);
        }
    }

    /// Whether everything holds with such a strategy of a flow, which it has from now on; memory
    /// that a switch under way has not given back is not there yet.
    fn begins(&mut self, index: usize, number: u16) -> bool {
        if let Some(Some(state)) = self.tables.flows.get_mut(index) {
            state.current = number;
        }
        let has = |dsp: u8| u64::from(self.dsps[usize::from(dsp)].memory);
        self.stands().is_none() && (0..self.count).all(|dsp| self.memory(dsp) <= has(dsp))
    }
}
