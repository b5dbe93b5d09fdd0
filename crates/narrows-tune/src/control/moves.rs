//! Flows that are served by another DSP from a switch on.

use core::time::Duration;

use super::flow::FlowState;
use super::{Controller, Planned};
use crate::model::WHOLE;

/// A flow, by its place in the tables, that another DSP is to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub index: usize,
    pub dsp: u8,
}

impl Controller<'_, '_> {
    /// The move that saves most, one at a time: more than what moves have to save of what all flows
    /// take, if there is a plan without one, whose load is `without`. What is planned afterwards
    /// means nothing if there is a move, and is that plan if not.
    pub(super) fn moves(
        &mut self,
        now: Duration,
        without: Option<u64>,
        before: u64,
    ) -> Option<Move> {
        if !self.settings.moves || self.count < 2 {
            return None;
        }
        let saves = before.saturating_mul(u64::from(self.settings.saves)) / u64::from(WHOLE);
        // As it is now, or as it could be without a move: both have to be worse by that.
        let most = without.map_or(u64::MAX, |load| load.min(before).saturating_sub(saves));
        let mut best: Option<(u64, usize, Move)> = None;
        for index in 0..self.tables.flows.len() {
            let Some(state) = self.tables.flows[index] else { continue };
            let earlier = self.tables.flows[..index].iter().flatten();
            let mut alike = earlier.filter(|one| one.alike(&state) && one.current == state.current);
            if state.rests(Some(now), self.settings.rest) || alike.next().is_some() {
                continue;
            }
            for dsp in (0..self.count).filter(|dsp| *dsp != state.dsp) {
                let one = Move { index, dsp };
                let Some(home) = self.lodge(one, now) else { continue };
                self.keep_alike();
                let load = self.planned_load();
                let both = self.tables.flows.iter().zip(&*self.tables.planned).enumerate();
                let others = both.filter(|(other, _)| *other != index);
                let changed = |(state, planned): (&Option<FlowState<'_>>, &Planned)| {
                    state.as_ref().is_some_and(|state| state.current != planned.number)
                };
                let switches = others.filter(|(_, both)| changed(*both)).count();
                self.settle(one.index, home);
                // Of those that save as much, the one that has fewest others switch.
                let better = |(least, fewest, _)| (load, switches) < (least, fewest);
                if load < most && best.is_none_or(better) {
                    best = Some((load, switches, one));
                }
            }
        }
        if best.is_none() && without.is_some() {
            // The plan that there was.
            let _ = self.plan(Some(now)).or_else(|_| self.plan(None));
        }
        best.map(|(.., one)| one)
    }

    /// Plans as if a flow was served elsewhere, and leaves it there: where it was before. None if
    /// there is no such plan, and the flow is where it was.
    pub(super) fn lodge(&mut self, one: Move, now: Duration) -> Option<u8> {
        let home = self.tables.flows.get(one.index)?.as_ref()?.dsp;
        self.settle(one.index, one.dsp);
        if self.plan(Some(now)).is_ok() {
            return Some(home);
        }
        self.settle(one.index, home);
        None
    }

    /// Has a flow served by this DSP.
    pub(super) fn settle(&mut self, index: usize, dsp: u8) {
        if let Some(Some(state)) = self.tables.flows.get_mut(index) {
            state.dsp = dsp;
        }
    }
}
