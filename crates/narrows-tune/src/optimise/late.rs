//! Which choices are late whatever else is chosen, and whether flows that have theirs bear each
//! other.

use super::reduce::{Kept, State};
use super::timing::{Delay, Timing};
use super::{MAX_DSPS, Problem, Unsolved};

/// A flow with a choice, by its number in [`Problem::choices`], and the DSP that serves it.
#[derive(Clone, Copy)]
pub(super) struct Placed {
    pub choice: usize,
    pub dsp: u8,
}

/// Delays in sum, of which any can be taken out again.
#[derive(Clone, Copy, Default)]
struct Sum([u128; 3]);

impl Sum {
    fn of(delay: Delay) -> Sum {
        Sum([delay.most, delay.lasting, delay.rate].map(u128::from))
    }

    fn times(self, count: u16) -> Sum {
        Sum(self.0.map(|one| one * u128::from(count)))
    }

    fn add(&mut self, other: Sum) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, one)| *sum += one);
    }

    fn and(mut self, other: Sum) -> Sum {
        self.add(other);
        self
    }

    fn without(mut self, other: Sum) -> Sum {
        self.0.iter_mut().zip(other.0).for_each(|(sum, one)| *sum = sum.saturating_sub(one));
        self
    }

    fn least(mut self, other: Sum) -> Sum {
        self.0.iter_mut().zip(other.0).for_each(|(sum, one)| *sum = (*sum).min(one));
        self
    }

    fn delay(self) -> Delay {
        let [most, lasting, rate] = self.0.map(|one| u64::try_from(one).unwrap_or(u64::MAX));
        Delay { most, lasting, rate }
    }
}

/// What a flow of a group that is left delays one of a DSP by at least.
fn least(problem: &Problem<'_>, group: &State, dsp: usize) -> Sum {
    let here = Sum::of(group.timing.here);
    let served = group.dsp.map(usize::from);
    match (problem.dsps.len(), served) {
        (1, _) => here,
        (_, Some(served)) if served == dsp => here,
        (_, Some(_)) => Sum::of(group.timing.elsewhere),
        _ => here.least(Sum::of(group.timing.elsewhere)),
    }
}

/// What all flows that are left delay one of a DSP by at least.
fn open(problem: &Problem<'_>, groups: &[State], dsp: usize) -> Sum {
    let left = groups.iter().filter(|group| group.left > 0);
    left.fold(Sum::default(), |sum, group| sum.and(least(problem, group, dsp).times(group.left)))
}

/// The DSPs that may serve a group.
fn served(problem: &Problem<'_>, group: &State) -> core::ops::Range<usize> {
    match group.dsp.map(usize::from) {
        Some(dsp) => dsp..dsp + 1,
        None => 0..problem.dsps.len(),
    }
}

/// The best of what a choice may mean.
fn hoped(problem: &Problem<'_>, group: u32, one: &Kept) -> Timing {
    let choice = group as usize + usize::from(one.number);
    problem.deadlines.hoped(choice, problem.deadlines.own(choice))
}

/// Takes choices away that are late even if all other flows delay them as little as they can, as
/// long as there are any; and says in each group what its flows do at best.
///
/// # Errors
/// [`Unsolved::Late`] for a group that has none left.
pub(super) fn filter(
    problem: &Problem<'_>,
    groups: &mut [State],
    kept: &mut [Kept],
) -> Result<(), Unsolved> {
    for number in 0..groups.len() {
        best(problem, groups, kept, number);
    }
    loop {
        let mut any = false;
        for number in 0..groups.len() {
            let (Some(group), Some(of)) = (groups.get(number).copied(), problem.groups.get(number))
            else {
                continue;
            };
            if group.left == 0 {
                continue;
            }
            let others = served(problem, &group)
                .map(|dsp| open(problem, groups, dsp).without(least(problem, &group, dsp)));
            let others = others.reduce(Sum::least).unwrap_or_default().delay();
            let from = group.first as usize;
            let room = kept.get_mut(from..from + usize::from(group.kept)).unwrap_or_default();
            let mut count = 0;
            for at in 0..room.len() {
                let Some(one) = room.get(at).copied() else { break };
                if hoped(problem, of.first, &one).slack.bears(others) {
                    room.swap(count, at);
                    count += 1;
                }
            }
            if count == 0 {
                return Err(Unsolved::Late { group: number as u16, beside: others });
            }
            if count < room.len() {
                any = true;
                if let Some(group) = groups.get_mut(number) {
                    group.kept = count as u16;
                }
                best(problem, groups, kept, number);
            }
        }
        if !any {
            return Ok(());
        }
    }
}

/// Says in a group what its flows do at best.
fn best(problem: &Problem<'_>, groups: &mut [State], kept: &[Kept], number: usize) {
    let (Some(group), Some(of)) = (groups.get_mut(number), problem.groups.get(number)) else {
        return;
    };
    let all = (0..group.kept).filter_map(|at| group.choice(kept, at));
    let timings = all.map(|one| hoped(problem, of.first, one));
    group.timing = timings.reduce(Timing::best).unwrap_or_default();
}

/// Flows that have their choices, as they are in each other's way.
pub(super) struct Meeting<'p> {
    problem: &'p Problem<'p>,
    /// How each DSP waits, if it has any flow.
    waits: [Option<u16>; MAX_DSPS],
    /// What a flow of each DSP is delayed by at least.
    delays: [Sum; MAX_DSPS],
    /// What flows of each DSP may be delayed by beyond that: at most, and again and again.
    room: [[u128; 2]; MAX_DSPS],
}

impl<'p> Meeting<'p> {
    /// Of flows that are placed, and of those that are `left` in groups, each of which does what it
    /// does at best. None if one of the first does not bear it. If no groups are left, that is
    /// certain; otherwise it may turn out that they do not.
    pub fn of(
        problem: &'p Problem<'p>,
        placed: impl Iterator<Item = Placed> + Clone,
        left: Option<&[State]>,
    ) -> Option<Meeting<'p>> {
        let deadlines = &problem.deadlines;
        let mut waits = [None; MAX_DSPS];
        for Placed { choice, dsp } in placed.clone() {
            let wait: &mut Option<u16> = waits.get_mut(usize::from(dsp))?;
            let own = deadlines.own(choice);
            *wait = Some(wait.map_or(own, |wait| deadlines.join(wait, own)));
        }
        let timing = |one: &Placed| {
            let wait = waits.get(usize::from(one.dsp)).copied().flatten().unwrap_or_default();
            match left {
                Some(_) => deadlines.hoped(one.choice, wait),
                None => deadlines.of(one.choice, wait),
            }
        };
        // What all flows of a DSP do there and elsewhere, and what all do elsewhere.
        let mut sums = [(Sum::default(), Sum::default()); MAX_DSPS];
        let mut all = Sum::default();
        for one in placed.clone() {
            let Timing { here, elsewhere, .. } = timing(&one);
            let (there, beyond) = sums.get_mut(usize::from(one.dsp))?;
            there.add(Sum::of(here));
            beyond.add(Sum::of(elsewhere));
            all.add(Sum::of(elsewhere));
        }
        let mut delays = [Sum::default(); MAX_DSPS];
        for ((dsp, delay), (there, beyond)) in
            delays.iter_mut().enumerate().zip(sums).take(problem.dsps.len())
        {
            let open = left.map_or_else(Sum::default, |left| open(problem, left, dsp));
            *delay = there.and(all.without(beyond)).and(open);
        }
        let mut room = [[u128::MAX; 2]; MAX_DSPS];
        for one in placed {
            let Timing { here, slack, .. } = timing(&one);
            let dsp = usize::from(one.dsp);
            let others = delays.get(dsp)?.without(Sum::of(here));
            if !slack.bears(others.delay()) {
                return None;
            }
            let rooms = slack.room().into_iter().zip(others.0).map(|(room, delay)| {
                if room == u64::MAX { u128::MAX } else { u128::from(room).saturating_sub(delay) }
            });
            for (least, room) in room.get_mut(dsp)?.iter_mut().zip(rooms) {
                *least = (*least).min(room);
            }
        }
        Some(Meeting { problem, waits, delays, room })
    }

    /// Whether one more flow of a group may have a choice, as far as can be told: it bears what it
    /// meets on some DSP, and flows that are placed bear it.
    pub fn admits(&self, group: &State, choice: usize) -> bool {
        let deadlines = &self.problem.deadlines;
        let own = deadlines.own(choice);
        served(self.problem, group).any(|dsp| {
            let wait = self.waits.get(dsp).copied().flatten();
            let timing = deadlines.hoped(choice, wait.map_or(own, |one| deadlines.join(one, own)));
            let least = |dsp| least(self.problem, group, dsp);
            let delay = self.delays.get(dsp).copied().unwrap_or_default();
            timing.slack.bears(delay.without(least(dsp)).delay())
                && self.room.iter().enumerate().take(self.problem.dsps.len()).all(|(at, room)| {
                    let adds = if at == dsp { timing.here } else { timing.elsewhere };
                    let more = Sum::of(adds).without(least(at));
                    more.0.iter().zip(room).all(|(more, room)| more <= room)
                })
        })
    }
}

/// Whether flows bear each other that all have their choices.
pub(super) fn bear(problem: &Problem<'_>, placed: impl Iterator<Item = Placed> + Clone) -> bool {
    Meeting::of(problem, placed, None).is_some()
}
