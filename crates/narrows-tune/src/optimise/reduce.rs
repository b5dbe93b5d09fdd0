//! What can be left out before anything is searched, the hulls of what is left, and what a search
//! knows of each group.

use super::{Choice, Problem, Storage, Unsolved};

/// A choice that no other of its group is better than in everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub(super) choice: Choice,
    pub(super) number: u16,
}

/// A step along the hull of a group: so much cheaper, for so much more memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    pub(super) saves: u32,
    pub(super) memory: u32,
    pub(super) group: u16,
    /// Numbers within the kept choices of the group.
    pub(super) from: u16,
    pub(super) to: u16,
}

impl Step {
    /// Whether it saves more for a byte than another.
    fn before(&self, other: &Step) -> core::cmp::Ordering {
        let ours = u64::from(self.saves) * u64::from(other.memory);
        let theirs = u64::from(other.saves) * u64::from(self.memory);
        theirs.cmp(&ours).then(self.group.cmp(&other.group)).then(self.from.cmp(&other.from))
    }
}

/// What a search knows of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Where its kept choices begin, and how many there are.
    pub(super) first: u32,
    pub(super) kept: u16,
    /// Flows that are not fixed.
    pub(super) left: u16,
    /// The kept choice of the flow that was fixed last. As flows of a group are alike, none that
    /// is fixed later takes one before it.
    pub(super) floor: u16,
    pub(super) least_memory: u32,
    pub(super) least_work: u32,
    pub(super) least_load: u32,
    /// Where the relaxation, made whole, has the flows that are left: `raised` of them at `next`.
    pub(super) at: u16,
    pub(super) next: u16,
    pub(super) raised: u16,
    /// Flows that have their picks, while those are written down.
    pub(super) seated: u16,
}

impl State {
    /// One of the kept choices of the group.
    pub(super) fn choice<'k>(&self, kept: &'k [Kept], number: u16) -> Option<&'k Kept> {
        (number < self.kept).then(|| kept.get(self.first as usize + usize::from(number)))?
    }
}

/// Fills the storage's kept choices, groups and steps. The number of steps.
///
/// # Errors
/// [`Unsolved::Memory`] or [`Unsolved::Work`] for a group none of whose choices fits any DSP.
pub(super) fn reduce(problem: &Problem<'_>, storage: &mut Storage<'_>) -> Result<usize, Unsolved> {
    let memory = problem.dsps.iter().map(|dsp| dsp.memory).max().unwrap_or(0);
    let work = problem.dsps.iter().map(|dsp| dsp.work).max().unwrap_or(0);
    let (mut kept, mut steps) = (0, 0);
    for (number, group) in problem.groups.iter().enumerate() {
        let from = group.first as usize;
        let choices = problem.choices.get(from..from + usize::from(group.choices));
        let choices = choices.ok_or(Unsolved::Malformed)?;
        let room = storage.kept.get_mut(kept..).ok_or(Unsolved::Storage)?;
        let fits = |choice: &Choice| choice.memory <= memory && choice.work <= work;
        let count = keep(choices, room, fits);
        if count == 0 && group.flows > 0 {
            return Err(lacking(choices, memory, work));
        }
        let room = room.get_mut(..count).ok_or(Unsolved::Storage)?;
        let state = storage.groups.get_mut(number).ok_or(Unsolved::Storage)?;
        let least = |of: &dyn Fn(&Choice) -> u32| room.iter().map(|one| of(&one.choice)).min();
        *state = State {
            first: kept as u32,
            kept: count as u16,
            left: group.flows,
            least_memory: least(&|choice| choice.memory).unwrap_or(0),
            least_work: least(&|choice| choice.work).unwrap_or(0),
            least_load: least(&|choice| choice.load).unwrap_or(0),
            ..State::default()
        };
        let into = storage.steps.get_mut(steps..).ok_or(Unsolved::Storage)?;
        steps += hull(room, number as u16, into);
        kept += count;
    }
    let all = storage.steps.get_mut(..steps).ok_or(Unsolved::Storage)?;
    all.sort_unstable_by(Step::before);
    Ok(steps)
}

/// By how much the nearest choice is too large.
fn lacking(choices: &[Choice], memory: u32, work: u32) -> Unsolved {
    let bytes = choices.iter().map(|one| one.memory.saturating_sub(memory)).min().unwrap_or(0);
    let ppm = choices.iter().map(|one| one.work.saturating_sub(work)).min().unwrap_or(0);
    if ppm > 0 {
        Unsolved::Work(ppm.into())
    } else if bytes > 0 {
        Unsolved::Memory(bytes.into())
    } else {
        Unsolved::Division
    }
}

/// Copies the choices that fit and that no other dominates, the smallest first. How many there are.
fn keep(choices: &[Choice], room: &mut [Kept], fits: impl Fn(&Choice) -> bool) -> usize {
    let mut count = 0;
    for (number, choice) in choices.iter().enumerate().filter(|(_, choice)| fits(choice)) {
        if let Some(place) = room.get_mut(count) {
            *place = Kept { choice: *choice, number: number as u16 };
            count += 1;
        }
    }
    let all = room.get_mut(..count).unwrap_or_default();
    // Nothing dominates what comes before it, then.
    all.sort_unstable_by_key(|one| {
        let Choice { cost, memory, work, load } = one.choice;
        (memory, cost, work, load, one.number)
    });
    let mut kept = 0;
    for at in 0..count {
        let Some(one) = all.get(at).copied() else { break };
        let before = all.get(..kept).unwrap_or_default();
        if before.iter().any(|other| dominates(&other.choice, &one.choice)) {
            continue;
        }
        if let Some(place) = all.get_mut(kept) {
            *place = one;
            kept += 1;
        }
    }
    kept
}

fn dominates(one: &Choice, other: &Choice) -> bool {
    one.cost <= other.cost
        && one.memory <= other.memory
        && one.work <= other.work
        && one.load <= other.load
}

/// The steps of the lower convex hull of kept choices by memory and cost, beginning with the
/// cheapest of the smallest. How many there are.
fn hull(kept: &[Kept], group: u16, into: &mut [Step]) -> usize {
    let mut count: usize = 0;
    let mut at: usize = 0;
    while let Some(last) = kept.get(at) {
        // From here to whatever saves most for a byte; of these the furthest.
        let mut best: Option<Step> = None;
        for (to, next) in kept.iter().enumerate().skip(at + 1) {
            let (one, other) = (&last.choice, &next.choice);
            if other.cost >= one.cost || other.memory <= one.memory {
                continue;
            }
            let step = Step {
                saves: one.cost - other.cost,
                memory: other.memory - one.memory,
                group,
                from: at as u16,
                to: to as u16,
            };
            let better = |best: &Step| {
                u64::from(step.saves) * u64::from(best.memory)
                    >= u64::from(best.saves) * u64::from(step.memory)
            };
            if best.as_ref().is_none_or(better) {
                best = Some(step);
            }
        }
        let (Some(step), Some(place)) = (best, into.get_mut(count)) else { break };
        *place = step;
        count += 1;
        at = usize::from(step.to);
    }
    count
}
