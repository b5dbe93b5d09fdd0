//! What flows take together: each wait, look and bell is that of all of them, and copies wait for
//! each other. A plan is made by what each takes alone; of the best plans of several kinds, and of
//! what lies next to the best of them, that is taken which takes least together.

use core::mem::discriminant;
use core::time::Duration;

use narrows::strategy::{Placement, Strategy, Transfer};

use super::flow::FlowState;
use super::plan::Kind;
use super::{Controller, Planned, Tables};
use crate::model::{Stream, Waits, picos, stream, together};
use crate::optimise::MAX_DSPS;

/// Kinds of notification.
const KINDS: usize = 6;
/// Classes of a flow's strategies of which the cheapest is tried.
const CLASSES: usize = 32;
/// A class whose cheapest takes this many halves of what is planned takes together no less.
const FAR: u64 = 3;
/// Turns of the queue for a plan that is not compared with others.
const TURNS: u32 = 100_000;
/// How often all flows are gone through.
const ROUNDS: usize = 2;

/// What strategies of a flow have in common that differ only in what they take alone.
fn class(by: &Strategy) -> (Waits, Placement, bool) {
    (Waits::of(by), by.placement, by.transfer == Transfer::CopyEngine)
}

impl<'s> Controller<'_, 's> {
    /// Time of the calling core that all flows take by these strategies, in parts per million. If
    /// they ask a core for too much, what each takes alone.
    pub(super) fn together(
        &mut self,
        number: impl Fn(&FlowState<'s>, &Planned) -> u16 + Copy,
    ) -> u64 {
        let mut turns = TURNS;
        if let Some(found) = self.walk(number, u64::MAX, &mut turns) {
            return found;
        }
        let all = self.tables.flows.iter().zip(self.tables.planned.iter());
        let alone = all.filter_map(|(state, planned)| {
            let state = state.as_ref()?;
            state.estimate(&self.costs, number(state, planned))
        });
        alone.map(|made| u64::from(made.load)).sum()
    }

    /// The same by working through the queue before the cores, if that is of interest and can be.
    fn walk(
        &mut self,
        number: impl Fn(&FlowState<'s>, &Planned) -> u16 + Copy,
        most: u64,
        turns: &mut u32,
    ) -> Option<u64> {
        let Tables { flows, planned, streams, .. } = &mut self.tables;
        let costs = &self.costs;
        let all = flows.iter().zip(planned.iter());
        let all = all.filter_map(|(state, planned)| {
            let state = state.as_ref()?;
            Some((state, number(state, planned)))
        });
        let by = |(state, number): (&FlowState<'s>, u16)| {
            let by = state.strategies.get(usize::from(number)).copied();
            by.map(|by| (state.place(), by))
        };
        let mut soonest = [None; MAX_DSPS];
        for (dsp, soonest) in soonest.iter_mut().enumerate() {
            let here = all.clone().filter_map(by).filter(|(place, _)| usize::from(*place) == dsp);
            *soonest = Waits::quickest(here.map(|(_, by)| Waits::of(&by)));
        }
        let mut count = 0;
        for ((state, number), place) in all.clone().zip(streams.iter_mut()) {
            let Some((dsp, by)) = by((state, number)) else { continue };
            let soonest = soonest.get(usize::from(dsp)).copied().flatten();
            let soonest = soonest.unwrap_or(Waits::of(&by));
            let Ok(one) = stream(costs, &state.flow, &by, soonest) else { continue };
            let after = state.began.map_or(0, picos).checked_rem(one.period).unwrap_or(0);
            *place = Stream { dsp, after, ..one };
            count += 1;
        }
        let paced = streams[..count].iter().all(|one| one.period > 0);
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        paced.then(|| together(costs, &mut streams[..count], most, turns).map(u64::from))?
    }

    /// That by the plan.
    pub(super) fn load_as_planned(&mut self) -> u64 {
        self.together(|_, planned| planned.number)
    }

    /// Takes the plan that takes least together: of the one that there is, the best in which all
    /// flows have a kind of notification, and what differs from the best of these by the strategy
    /// of one flow, or of all that are alike.
    pub(super) fn improve(&mut self, now: Option<Duration>) {
        self.turns = self.settings.turns;
        let mut least = self.load_as_planned();
        self.tables.planned.iter_mut().for_each(|planned| planned.best = planned.number);
        for kind in self.kinds().into_iter().flatten() {
            if self.solve(now, Some(kind)).is_ok() {
                self.consider(&mut least);
            }
            self.restore();
        }
        // Until all flows have been gone through with nothing better.
        let flows = self.tables.flows.len();
        let (mut left, mut index) = (flows, 0);
        for _ in 0..ROUNDS * flows {
            let before = least;
            self.vary(index, now, &mut least);
            left = if least < before { flows } else { left };
            left -= 1;
            if left == 0 {
                break;
            }
            index = (index + 1) % flows;
        }
    }

    /// The kinds of notification that any flow may have.
    fn kinds(&self) -> [Option<Kind>; KINDS] {
        let mut kinds = [None; KINDS];
        let flows = self.tables.flows.iter().flatten();
        for by in flows.flat_map(|state| state.strategies) {
            let kind = Some(discriminant(&by.notification));
            if let Some(place) = kinds.iter_mut().find(|one| one.is_none() || **one == kind) {
                *place = kind;
            }
        }
        kinds
    }

    /// Keeps the plan as the best one if everything holds by it and it takes less together.
    fn consider(&mut self, least: &mut u64) {
        if self.tables.planned.iter().all(|planned| planned.number == planned.best) {
            return;
        }
        let mut turns = self.turns;
        let found = self.walk(|_, planned| planned.number, *least, &mut turns);
        self.turns = turns;
        let Some(load) = found else { return };
        if load < *least && self.breaks(|index, _| self.planned(index)).is_none() {
            *least = load;
            self.tables.planned.iter_mut().for_each(|planned| planned.best = planned.number);
        }
    }

    /// The best plan is the plan again.
    fn restore(&mut self) {
        self.tables.planned.iter_mut().for_each(|planned| planned.number = planned.best);
    }

    /// Tries other strategies for a flow, and for all that are alike and planned as it is.
    fn vary(&mut self, index: usize, now: Option<Duration>, least: &mut u64) {
        let Some(state) = self.tables.flows[index] else { return };
        let number = self.planned(index);
        let same = |made: &Controller<'_, 's>, other: usize| {
            let like = made.tables.flows[other].as_ref();
            made.planned(other) == number
                && like
                    .is_some_and(|like| like.alike(&state) && !like.rests(now, made.settings.rest))
        };
        if !same(self, index) || (0..index).any(|other| same(self, other)) {
            return;
        }
        let several = (index + 1..self.tables.flows.len()).any(|other| same(self, other));
        for other in self.cheapest(&state, number).into_iter().flatten() {
            for alone in [false, true] {
                if alone && !several {
                    continue;
                }
                for at in 0..self.tables.flows.len() {
                    if at == index || (!alone && same(self, at)) {
                        self.tables.planned[at].number = other;
                    }
                }
                self.consider(least);
                self.restore();
            }
            // What is alike to it is no longer planned as it was.
            if self.planned(index) != number {
                return;
            }
        }
    }

    /// Of each class of a flow's strategies the one that takes least alone, unless that is far more
    /// than the one that is planned.
    fn cheapest(&self, state: &FlowState<'s>, planned: u16) -> [Option<u16>; CLASSES] {
        let load = |number| state.estimate(&self.costs, number).map(|made| u64::from(made.load));
        let most = load(planned).unwrap_or(u64::MAX).saturating_mul(FAR) / 2;
        let mut found: [Option<(u64, u16)>; CLASSES] = [None; CLASSES];
        for (number, by) in (0..).zip(state.strategies) {
            let Some(takes) = load(number).filter(|load| *load <= most) else { continue };
            if number == planned || state.excluded(number) {
                continue;
            }
            let same = |(_, other): (u64, u16)| {
                let other = state.strategies.get(usize::from(other));
                other.is_some_and(|other| class(other) == class(by))
            };
            if let Some(place) = found.iter_mut().find(|one| one.is_none_or(same)) {
                let better = place.is_none_or(|(least, _)| takes < least);
                *place = if better { Some((takes, number)) } else { *place };
            }
        }
        found.map(|one| one.map(|(_, number)| number))
    }
}
