//! What can be left out before anything is searched, the hulls of what is left, and what a search
//! knows of each group.

use super::blocks::enough;
use super::late::filter;
use super::timing::Timing;
use super::{Choice, Dsp, Problem, Storage, Unsolved};

/// A choice that no other of its group is better than in everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub(super) choice: Choice,
    pub(super) number: u16,
}

/// A step along the hull of a group: cheaper by `saves`, for `memory` bytes more.
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
    /// The DSP that serves its flows, if that is given.
    pub(super) dsp: Option<u8>,
    /// The best that any of its choices may mean for deadlines.
    pub(super) timing: Timing,
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

    /// All of them.
    fn all<'k>(&self, kept: &'k [Kept]) -> &'k [Kept] {
        let from = self.first as usize;
        kept.get(from..from + usize::from(self.kept)).unwrap_or_default()
    }

    /// Sees what the least is that its choices take.
    fn look(&mut self, kept: &[Kept]) {
        let all = self.all(kept).iter();
        let least = |of: &dyn Fn(&Choice) -> u32| all.clone().map(|one| of(&one.choice)).min();
        let [memory, work, load] = [
            least(&|choice| choice.memory),
            least(&|choice| choice.work),
            least(&|choice| choice.load),
        ]
        .map(Option::unwrap_or_default);
        (self.least_memory, self.least_work, self.least_load) = (memory, work, load);
    }
}

/// Sums over flows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) cost: u64,
    pub(super) memory: u64,
    pub(super) work: u64,
    pub(super) load: u64,
}

impl Sums {
    /// The least that the flows of groups take, and the cost of their smallest choices.
    pub(super) fn least<'g>(groups: impl IntoIterator<Item = &'g State>, kept: &[Kept]) -> Sums {
        let mut least = Sums::default();
        for group in groups {
            let flows = u64::from(group.left);
            let smallest = group.choice(kept, 0).map_or(0, |one| one.choice.cost);
            least.cost += flows * u64::from(smallest);
            least.memory += flows * u64::from(group.least_memory);
            least.work += flows * u64::from(group.least_work);
            least.load += flows * u64::from(group.least_load);
        }
        least
    }

    /// Whether these DSPs have as much memory and work as this takes.
    fn fit(&self, dsps: &[Dsp]) -> Result<(), Unsolved> {
        let sum = |of: &dyn Fn(&Dsp) -> u32| dsps.iter().map(|dsp| u64::from(of(dsp))).sum();
        let [memory, work]: [u64; 2] = [sum(&|dsp| dsp.memory), sum(&|dsp| dsp.work)];
        if self.memory > memory {
            return Err(Unsolved::Memory(self.memory - memory));
        }
        if self.work > work {
            return Err(Unsolved::Work(self.work - work));
        }
        Ok(())
    }
}

/// Whether even the least of everything is too much.
fn fit(problem: &Problem<'_>, groups: &[State], kept: &[Kept]) -> Result<(), Unsolved> {
    let all = Sums::least(groups, kept);
    if groups.iter().any(|group| group.dsp.is_none()) {
        all.fit(problem.dsps)?;
    } else {
        for (number, dsp) in problem.dsps.iter().enumerate() {
            let here = groups.iter().filter(|group| group.dsp.map(usize::from) == Some(number));
            Sums::least(here, kept).fit(core::slice::from_ref(dsp))?;
        }
    }
    match all.load.checked_sub(problem.load) {
        Some(ppm @ 1..) => Err(Unsolved::Load(ppm)),
        _ => Ok(()),
    }
}

/// Fills the storage's kept choices, groups and steps. The number of steps.
///
/// # Errors
/// [`Unsolved::Memory`] or [`Unsolved::Work`] for a group none of whose choices fits any DSP, or
/// if all together do not fit; [`Unsolved::Late`] for one that is late by all of them.
pub(super) fn reduce(problem: &Problem<'_>, storage: &mut Storage<'_>) -> Result<usize, Unsolved> {
    let most = |of: &dyn Fn(&Dsp) -> u32, served: Option<u8>| {
        let all = problem.dsps.iter().enumerate();
        let here = all.filter(|(dsp, _)| served.is_none_or(|served| usize::from(served) == *dsp));
        here.map(|(_, dsp)| of(dsp)).max().unwrap_or(0)
    };
    let mut kept = 0;
    for (number, group) in problem.groups.iter().enumerate() {
        let from = group.first as usize;
        let choices = problem.choices.get(from..from + usize::from(group.choices));
        let choices = choices.ok_or(Unsolved::Malformed)?;
        let room = storage.kept.get_mut(kept..).ok_or(Unsolved::Storage)?;
        let (memory, work) = (most(&|dsp| dsp.memory, group.dsp), most(&|dsp| dsp.work, group.dsp));
        let fits = |number: usize, choice: &Choice| {
            choice.memory <= memory && choice.work <= work && problem.blocks.fit(from + number)
        };
        let better = |one: &Kept, other: &Kept| {
            dominates(&one.choice, &other.choice)
                && as_good(
                    problem,
                    from + usize::from(one.number),
                    from + usize::from(other.number),
                )
        };
        let count = keep(choices, room, fits, better);
        if count == 0 && group.flows > 0 {
            return Err(lacking(choices, memory, work));
        }
        let state = storage.groups.get_mut(number).ok_or(Unsolved::Storage)?;
        *state = State {
            first: kept as u32,
            kept: count as u16,
            left: group.flows,
            dsp: group.dsp,
            ..State::default()
        };
        state.look(storage.kept);
        kept += count;
    }
    let groups = storage.groups.get_mut(..problem.groups.len()).ok_or(Unsolved::Storage)?;
    fit(problem, groups, storage.kept)?;
    if !enough(problem, core::iter::empty(), groups, |group, kind| {
        least_blocks(problem, groups, storage.kept, group, kind)
    }) {
        return Err(Unsolved::Blocks);
    }
    if problem.deadlines.any() {
        filter(problem, groups, storage.kept)?;
        groups.iter_mut().for_each(|group| group.look(storage.kept));
        fit(problem, groups, storage.kept)?;
    }
    let mut steps = 0;
    for (number, group) in groups.iter().enumerate() {
        let into = storage.steps.get_mut(steps..).ok_or(Unsolved::Storage)?;
        steps += hull(group.all(storage.kept), number as u16, into);
    }
    let all = storage.steps.get_mut(..steps).ok_or(Unsolved::Storage)?;
    all.sort_unstable_by(Step::before);
    Ok(steps)
}

/// The least that a flow of a group needs of a kind of blocks.
pub(super) fn least_blocks(
    problem: &Problem<'_>,
    groups: &[State],
    kept: &[Kept],
    number: usize,
    kind: usize,
) -> u64 {
    let (Some(group), Some(of)) = (groups.get(number), problem.groups.get(number)) else {
        return 0;
    };
    let kinds = problem.blocks.there.len();
    let needs = |one: &Kept| {
        let choice = of.first as usize + usize::from(one.number);
        problem.blocks.needs.get(choice * kinds + kind).copied().unwrap_or(0)
    };
    group.all(kept).iter().map(needs).min().map_or(0, u64::from)
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
        Unsolved::Blocks
    }
}

/// Copies the choices that fit and that no other dominates, the smallest first. How many there are.
fn keep(
    choices: &[Choice],
    room: &mut [Kept],
    fits: impl Fn(usize, &Choice) -> bool,
    better: impl Fn(&Kept, &Kept) -> bool,
) -> usize {
    let mut count = 0;
    for (number, choice) in choices.iter().enumerate().filter(|(at, choice)| fits(*at, choice)) {
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
        if before.iter().any(|other| better(other, &one)) {
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

/// Whether a choice is as good for blocks and deadlines as another of its group: its DSP waits in
/// the same way then.
fn as_good(problem: &Problem<'_>, one: usize, other: usize) -> bool {
    let Problem { blocks, deadlines, .. } = problem;
    blocks.within(one, other)
        && deadlines.own(one) == deadlines.own(other)
        && (0..deadlines.ways as u16)
            .all(|way| deadlines.of(one, way).within(&deadlines.of(other, way)))
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
