//! Switches that were decided on, one after the other.

use core::time::Duration;

use super::{ControlError, Controller, Handle, Switch};

impl Controller<'_, '_> {
    /// The next switch to carry out, if none is under way: those first that free memory.
    pub fn next_switch(&mut self) -> Option<Switch> {
        if self.under_way.is_some() {
            return None;
        }
        let mut best: Option<(i64, usize)> = None;
        for (index, state) in self.tables.flows.iter().enumerate() {
            let Some((state, target)) = state.as_ref().and_then(|one| Some((one, one.target?)))
            else {
                continue;
            };
            let memory = |number| state.estimate(&self.costs, number).map_or(0, |made| made.memory);
            let (has, wants) = (memory(state.current), memory(target));
            let dsp = state.to.unwrap_or(state.dsp);
            let used = self.memory_but(dsp, Some(index));
            let room = u64::from(self.dsps[usize::from(dsp)].memory);
            let more = i64::from(wants) - i64::from(has);
            let fits = (more <= 0 && dsp == state.dsp) || used + u64::from(wants) <= room;
            if fits && best.is_none_or(|(least, _)| more < least) {
                best = Some((more, index));
            }
        }
        let (_, index) = best?;
        let switch = self.switch(index)?;
        self.under_way = Some(switch.flow);
        if let Some(state) = &mut self.tables.flows[index] {
            state.going = true;
        }
        Some(switch)
    }

    /// The switches that were decided on and not begun.
    pub fn switches(&self) -> impl Iterator<Item = Switch> {
        (0..self.tables.flows.len()).filter_map(|index| self.switch(index))
    }

    fn switch(&self, index: usize) -> Option<Switch> {
        let state = self.tables.flows.get(index)?.as_ref().filter(|state| !state.going)?;
        let to = state.target?;
        let load = |number| state.estimate(&self.costs, number).map_or(0, |made| made.load);
        Some(Switch {
            flow: Handle { index: index as u16, life: state.life },
            from: state.strategies[usize::from(state.current)],
            to: state.strategies[usize::from(to)],
            dsp: state.to.unwrap_or(state.dsp),
            moves: state.to.is_some(),
            reason: self.reason,
            before: load(state.current),
            after: load(to),
        })
    }

    /// The switch that is under way is done.
    ///
    /// # Errors
    /// [`ControlError::Unknown`] if none is, or of another flow.
    pub fn done(&mut self, flow: Handle, now: Duration) -> Result<(), ControlError> {
        let target = self.ended(flow)?;
        let state = self.state_mut(flow)?;
        (state.current, state.switched) = (target, Some(now));
        state.dsp = state.to.take().unwrap_or(state.dsp);
        Ok(())
    }

    /// The switch that is under way has come to nothing: the flow has what it had. If the strategy
    /// was `refused`, this flow is not given it again.
    ///
    /// # Errors
    /// [`ControlError::Unknown`] if none is, or of another flow.
    pub fn failed(
        &mut self,
        flow: Handle,
        now: Duration,
        refused: bool,
    ) -> Result<(), ControlError> {
        let target = self.ended(flow)?;
        let state = self.state_mut(flow)?;
        state.switched = Some(now);
        // Of a move it is not known which of the two was refused, and the other core may be asked
        // again.
        if state.to.take().is_none() && refused {
            state.exclude(target);
        }
        Ok(())
    }

    fn ended(&mut self, flow: Handle) -> Result<u16, ControlError> {
        if self.under_way != Some(flow) {
            return Err(ControlError::Unknown);
        }
        self.under_way = None;
        let state = self.state_mut(flow)?;
        state.going = false;
        state.target.take().ok_or(ControlError::Unknown)
    }
}
