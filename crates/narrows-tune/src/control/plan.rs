//! The plan that flows would have if they were all chosen now.

use core::mem::{Discriminant, discriminant};
use core::time::Duration;

use narrows::strategy::{Notification, Strategy};

use super::flow::FlowState;
use super::{ControlError, Controller, Reason, Tables};
use crate::model::{Estimate, WHOLE, picos};
use crate::optimise::{
    Blocks, Choice, Deadlines, Group, Problem, Slack, Timing, Unsolved, optimise,
};

/// A kind of notification, whatever its times.
pub(super) type Kind = Discriminant<Notification>;

/// What a flow is planned to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Planned {
    pub(super) number: u16,
    /// That of the best plan so far, where several are compared.
    pub(super) best: u16,
    /// Whether it is in a group already.
    grouped: bool,
}

impl<'s> Controller<'_, 's> {
    /// Plans all flows, and gives their time of the calling core. Flows that have not rested `now`
    /// keep what they have.
    ///
    /// # Errors
    /// There is no plan in which every deadline holds, or none that can be switched to.
    pub(super) fn plan(&mut self, now: Option<Duration>) -> Result<u64, ControlError> {
        self.tables.planned.fill(Planned::default());
        self.solve(now, None)?;
        let load = self.planned_load();
        match load.saturating_sub(self.load) {
            0 if self.awaits() && self.breaks(|index, _| self.planned(index)).is_some() => {
                Err(ControlError::NoRoom)
            }
            0 => Ok(load),
            over => Err(ControlError::Together(Unsolved::Load(over))),
        }
    }

    /// Whether a flow waits for others to make room. They switch before it begins, and have to keep
    /// their deadlines beside each other meanwhile, and beside it afterwards.
    fn awaits(&self) -> bool {
        self.tables.flows.iter().flatten().any(|state| state.waits)
    }

    fn late(&self, least: u64, beside: u64) -> ControlError {
        let pause = picos(self.settings.pause);
        ControlError::Late {
            least: least.saturating_add(pause),
            beside: beside.saturating_add(pause),
        }
    }

    pub(super) fn planned(&self, index: usize) -> u16 {
        self.tables.planned.get(index).map_or(0, |planned| planned.number)
    }

    /// Time of the calling core by the plan, each flow for itself, in parts per million.
    pub(super) fn planned_load(&self) -> u64 {
        let both = self.tables.flows.iter().zip(&*self.tables.planned);
        both.filter_map(|(state, planned)| {
            state.as_ref()?.estimate(&self.costs, planned.number).map(|made| u64::from(made.load))
        })
        .sum()
    }

    /// What other flows delay one by at most: all that may be before it at either core.
    /// Those without a `number` are left out.
    pub(super) fn beside(
        &self,
        own: usize,
        number: impl Fn(usize, &FlowState<'s>) -> Option<u16>,
    ) -> u64 {
        let Some(Some(this)) = self.tables.flows.get(own) else { return 0 };
        let others = self.tables.flows.iter().enumerate().filter(|(other, _)| *other != own);
        let delays = others.filter_map(|(other, state)| {
            let state = state.as_ref()?;
            let made = state.estimate(&self.costs, number(other, state)?)?;
            let [here, elsewhere] = made.delays(state.flow.period.is_some());
            Some(if state.place() == this.place() { here.most } else { elsewhere.most })
        });
        delays.fold(0, u64::saturating_add)
    }

    /// The same, if every other flow that has begun keeps its strategy.
    pub(super) fn beside_as_is(&self, own: usize) -> u64 {
        self.beside(own, |_, state| (!state.waits).then(|| state.has()))
    }

    /// The cheapest picks by which all deadlines hold, each flow at the DSP that serves it. Flows
    /// for which there are strategies of that `kind` of notification only have those.
    pub(super) fn solve(
        &mut self,
        now: Option<Duration>,
        kind: Option<Kind>,
    ) -> Result<(), ControlError> {
        let (groups, members) = self.group(now, kind)?;
        if members == 0 {
            return Ok(());
        }
        let tables = &mut self.tables;
        let choices = tables.groups[..groups]
            .last()
            .map_or(0, |last| last.first as usize + usize::from(last.choices));
        let timings = &tables.timings[..choices];
        let problem = Problem {
            groups: &tables.groups[..groups],
            choices: &tables.choices[..choices],
            dsps: &self.dsps[..usize::from(self.count)],
            load: u64::MAX,
            blocks: Blocks::default(),
            deadlines: Deadlines { ways: 1, joined: &[0], own: &[], timings },
        };
        let found = optimise(
            &problem,
            &mut tables.search,
            &mut tables.picks[..members],
            self.settings.limit,
        );
        if let Err(Unsolved::Late { group, beside }) = found {
            let group = &tables.groups[usize::from(group)];
            let own = &timings[group.first as usize..][..usize::from(group.choices)];
            let least = own.iter().map(|one| one.slack.bound).min().unwrap_or(0);
            return Err(self.late(least.saturating_add(beside.most), beside.most));
        }
        found.map_err(ControlError::Together)?;
        let mut at = 0;
        for group in &tables.groups[..groups] {
            for _ in 0..group.flows {
                let number = group.first as usize + usize::from(tables.picks[at].choice);
                let flow = usize::from(tables.members[at]);
                tables.planned[flow].number = tables.numbers[number];
                at += 1;
            }
        }
        Ok(())
    }

    /// Puts flows that are alike into groups, with the choices that they have: how many groups and
    /// flows.
    fn group(
        &mut self,
        now: Option<Duration>,
        kind: Option<Kind>,
    ) -> Result<(usize, usize), ControlError> {
        let (mut groups, mut members, mut used) = (0, 0, 0);
        let (awaits, pause) = (self.awaits(), self.settings.pause);
        self.tables.planned.iter_mut().for_each(|planned| planned.grouped = false);
        for index in 0..self.tables.flows.len() {
            let Some(state) = self.tables.flows[index] else { continue };
            if self.tables.planned[index].grouped {
                continue;
            }
            let rests = state.rests(now, self.settings.rest);
            let meanwhile = awaits.then(|| self.beside_as_is(index));
            let first = used;
            let mut least = u64::MAX;
            let of = |by: &Strategy| kind.is_none_or(|kind| kind == discriminant(&by.notification));
            let free = rests || !state.strategies.iter().any(of);
            for number in 0..state.strategies.len() as u16 {
                let allowed = free || state.strategies.get(usize::from(number)).is_some_and(of);
                if !allowed || state.excluded(number) || (rests && number != state.has()) {
                    continue;
                }
                let Some(made) = state.estimate(&self.costs, number) else { continue };
                least = least.min(state.bound(&made));
                let (bound, slowly) = (state.bound(&made), state.allowed_meanwhile(number, pause));
                let late = meanwhile.is_some_and(|beside| bound.saturating_add(beside) > slowly);
                if late || state.falls_behind(&self.costs, number, &made) {
                    continue;
                }
                let Estimate { load, work, memory, .. } = made;
                let Tables { choices, numbers, timings, .. } = &mut self.tables;
                let room = (choices.get_mut(used), numbers.get_mut(used), timings.get_mut(used));
                let (Some(choice), Some(place), Some(timing)) = room else {
                    return Err(ControlError::Full);
                };
                *choice = Choice { cost: load, memory, work, load };
                *place = number;
                let [here, elsewhere] = made.delays(state.flow.period.is_some());
                let deadline = if awaits { state.allowed(number, pause) } else { slowly };
                let slack = Slack { bound, deadline, ..Slack::default() };
                *timing = Timing { here, elsewhere, slack };
                used += 1;
            }
            if used == first {
                return Err(self.late(least, 0));
            }
            let mut flows = 0;
            for other in index..self.tables.flows.len() {
                let Some(like) = self.tables.flows[other] else { continue };
                let same = other == index
                    || (!rests
                        && !self.tables.planned[other].grouped
                        && !like.rests(now, self.settings.rest)
                        && state.alike(&like)
                        && state.looks() == like.looks());
                if same {
                    self.tables.members[members] = other as u16;
                    self.tables.planned[other].grouped = true;
                    members += 1;
                    flows += 1;
                }
            }
            let (first, choices) = (first as u32, (used - first) as u16);
            self.tables.groups[groups] = Group { first, choices, flows, dsp: Some(state.place()) };
            groups += 1;
        }
        Ok((groups, members))
    }

    /// What does not hold as things are, if anything, or will not when those begin that wait.
    pub(super) fn stands(&self) -> Option<Reason> {
        self.breaks(|_, state| state.has())
    }

    /// What would not hold with these strategies.
    pub(super) fn breaks(
        &self,
        number: impl Fn(usize, &FlowState<'s>) -> u16 + Copy,
    ) -> Option<Reason> {
        let of = |index: usize| {
            let state = self.tables.flows[index].as_ref()?;
            Some((state, state.estimate(&self.costs, number(index, state))?))
        };
        let (awaits, pause) = (self.awaits(), self.settings.pause);
        let all = 0..self.tables.flows.len();
        let mut load = 0;
        for dsp in 0..self.count {
            let has = self.dsps[usize::from(dsp)];
            let (mut memory, mut work) = (0, 0);
            for (_, made) in all.clone().filter_map(of).filter(|(state, _)| state.place() == dsp) {
                memory += u64::from(made.memory);
                work += u64::from(made.work);
                load += u64::from(made.load);
            }
            if memory > u64::from(has.memory) {
                return Some(Reason::Memory);
            }
            if work > u64::from(has.work.min(WHOLE)) {
                return Some(Reason::Time);
            }
        }
        if load > self.load {
            return Some(Reason::Time);
        }
        for index in all {
            let Some((state, made)) = of(index) else { continue };
            if state.excluded(number(index, state)) {
                return Some(Reason::Refused);
            }
            let own = number(index, state);
            let late = |those: bool, allowed: u64| {
                let with = |state: &FlowState<'s>| those || !state.waits;
                let beside = |other, state: &_| with(state).then(|| number(other, state));
                state.bound(&made).saturating_add(self.beside(index, beside)) > allowed
            };
            if late(false, state.allowed_meanwhile(own, pause))
                || (awaits && late(true, state.allowed(own, pause)))
                || state.falls_behind(&self.costs, own, &made)
            {
                return Some(Reason::Deadline);
            }
        }
        None
    }

    /// Of flows that are alike, those keep what they have that the plan gives to any of them.
    pub(super) fn keep_alike(&mut self) {
        for one in 0..self.tables.flows.len() {
            let Some(state) = self.tables.flows[one] else { continue };
            if state.going || state.waits || self.planned(one) == state.current {
                continue;
            }
            let has = (0..self.tables.flows.len()).find(|other| {
                let like = self.tables.flows[*other];
                let others = |like: FlowState<'_>| {
                    !like.going && like.alike(&state) && like.current != state.current
                };
                like.is_some_and(others) && self.planned(*other) == state.current
            });
            if let Some(other) = has {
                let mine = self.planned(one);
                self.tables.planned[other].number = mine;
                self.tables.planned[one].number = state.current;
                // A switch from a strategy may keep a request back for longer than from another.
                if self.breaks(|index, _| self.planned(index)).is_some() {
                    self.tables.planned[other].number = state.current;
                    self.tables.planned[one].number = mine;
                }
            }
        }
    }

    /// Takes switches out of the plan that save little, if it holds without them. Gives what all
    /// flows take together by it.
    pub(super) fn keep_little(&mut self) -> u64 {
        let mut then = self.load_as_planned();
        for index in 0..self.tables.flows.len() {
            let Some(state) = self.tables.flows[index] else { continue };
            let planned = self.planned(index);
            if state.going || state.waits || planned == state.current {
                continue;
            }
            let least = state.load(&self.costs) * u64::from(self.settings.saves) / u64::from(WHOLE);
            self.tables.planned[index].number = state.current;
            let without = self.load_as_planned();
            if then + least < without || self.breaks(|index, _| self.planned(index)).is_some() {
                self.tables.planned[index].number = planned;
            } else {
                then = without;
            }
        }
        then
    }
}
