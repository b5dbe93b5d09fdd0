//! The search itself: depth first, without recursion. Each level fixes the choice and the DSP of
//! one flow.

use super::blocks::enough;
use super::late::{Meeting, Placed, bear};
use super::pack::{pack, take};
use super::reduce::{Kept, State, Step, Sums, least_blocks, reduce};
use super::relax::{Relaxed, relax};
use super::{Choice, Dsp, Found, MAX_DSPS, Pick, Problem, Storage, Unsolved};

/// A level of the search: a flow of a group, and what it has been given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Nothing below this level costs less.
    bound: u64,
    group: u16,
    /// The choice to begin with; others follow by their distance from it.
    centre: u16,
    /// How many choices have had their turn on all DSPs.
    turn: u32,
    /// The next DSP.
    dsp: u8,
    /// What is fixed at the moment, if anything is.
    fixed: Option<(u16, u8)>,
    /// The group's floor before.
    floor: u16,
}

pub(super) struct Search<'p, 's, 'b> {
    problem: &'p Problem<'p>,
    groups: &'s mut [State],
    kept: &'s [Kept],
    steps: &'s [Step],
    frames: &'s mut [Frame],
    trial: &'s mut [Pick],
    picks: &'b mut [Pick],
    /// What the DSPs have left.
    dsps: [Dsp; MAX_DSPS],
    /// Whether which DSP serves a group is for the search to say: then it is of all groups.
    free: bool,
    /// Whether anything was late, or lacked blocks.
    late: bool,
    crowded: bool,
    /// Of flows that are fixed.
    fixed: Sums,
    /// Of flows that are left: the least that each takes, and the cost of their smallest choices.
    least: Sums,
    depth: usize,
    best: Option<u64>,
    nodes: u32,
}

/// What becomes of a node.
enum Node {
    /// Nothing better is below it, or what is has been found.
    Done,
    /// A flow of the group is to be fixed, choices near `centre` first.
    Branch { group: u16, centre: u16, bound: u64 },
}

impl<'p, 's, 'b> Search<'p, 's, 'b> {
    pub fn new(
        problem: &'p Problem<'p>,
        storage: &'s mut Storage<'_>,
        picks: &'b mut [Pick],
    ) -> Result<Search<'p, 's, 'b>, Unsolved> {
        let steps = reduce(problem, storage)?;
        let mut dsps = [Dsp::default(); MAX_DSPS];
        for (left, dsp) in dsps.iter_mut().zip(problem.dsps) {
            *left = *dsp;
        }
        let flows = problem.flows();
        let mut search = Search {
            problem,
            groups: storage.groups.get_mut(..problem.groups.len()).unwrap_or_default(),
            kept: storage.kept,
            steps: storage.steps.get(..steps).unwrap_or_default(),
            frames: storage.frames,
            trial: storage.trial.get_mut(..flows).unwrap_or_default(),
            picks: picks.get_mut(..flows).unwrap_or_default(),
            dsps,
            free: problem.groups.iter().any(|group| group.dsp.is_none()),
            late: false,
            crowded: false,
            fixed: Sums::default(),
            least: Sums::default(),
            depth: 0,
            best: None,
            nodes: 0,
        };
        search.least = Sums::least(&*search.groups, search.kept);
        Ok(search)
    }

    /// Searches until the end or the limit.
    pub fn run(mut self, limit: u32) -> Result<Found, Unsolved> {
        // The bound of what is left when the search stops at its limit.
        let mut open = None;
        let mut node = Some(self.visit());
        loop {
            if let Some(Node::Branch { group, centre, bound }) = node.take() {
                let floor = self.groups.get(usize::from(group)).map_or(0, |group| group.floor);
                let frame = Frame { bound, group, centre, floor, ..Frame::default() };
                if let Some(place) = self.frames.get_mut(self.depth) {
                    *place = frame;
                    self.depth += 1;
                }
            }
            if self.depth == 0 {
                break;
            }
            if self.nodes >= limit {
                let frames = self.frames.get(..self.depth).unwrap_or_default();
                open = frames.iter().map(|frame| frame.bound).min();
                break;
            }
            if self.next() {
                node = Some(self.visit());
            } else {
                self.depth -= 1;
            }
        }
        match (self.best, open) {
            (Some(cost), open) => Ok(Found {
                cost,
                bound: open.map_or(cost, |open| open.min(cost)),
                nodes: self.nodes,
            }),
            (None, Some(_)) => Err(Unsolved::Limit),
            (None, None) if self.late => Err(Unsolved::Deadlines),
            (None, None) if self.crowded => Err(Unsolved::Blocks),
            (None, None) => Err(Unsolved::Division),
        }
    }

    /// Looks at the flows that are left, and keeps what is better than all before.
    fn visit(&mut self) -> Node {
        self.nodes += 1;
        if self.lacks_more() {
            return Node::Done;
        }
        let Some(beside) = self.beside() else { return Node::Done };
        let Relaxed { bound, cost, between, worth } =
            relax(self.groups, self.steps, self.least.cost, beside, self.free);
        let (bound, cost) = (self.fixed.cost + bound, self.fixed.cost + cost);
        let cut = |best: Option<u64>, bound| best.is_some_and(|best| bound >= best);
        if cut(self.best, bound) {
            return Node::Done;
        }
        let Some(bound) = self.tighter(bound, &worth) else { return Node::Done };
        if cut(self.best, bound) {
            return Node::Done;
        }
        if self.best.is_none_or(|best| cost < best) && self.seat() {
            self.best = Some(cost);
            self.picks.copy_from_slice(self.trial);
            if bound >= cost {
                return Node::Done;
            }
        }
        match between.or_else(|| self.largest()) {
            Some(group) => {
                let centre = self.groups.get(usize::from(group)).map_or(0, |group| group.at);
                Node::Branch { group, centre, bound }
            }
            None => Node::Done,
        }
    }

    /// What DSPs have beside the smallest choices of the flows that are left: of all in the first
    /// place if any may serve them. None if that is too little.
    fn beside(&self) -> Option<[u64; MAX_DSPS]> {
        let mut memory = self.dsps.map(|dsp| u64::from(dsp.memory));
        if self.free {
            let all: u64 = memory.iter().sum();
            memory = [0; MAX_DSPS];
            memory[0] = all - self.least.memory;
            return Some(memory);
        }
        for group in self.groups.iter() {
            let place = memory.get_mut(usize::from(group.dsp.unwrap_or(0)))?;
            let least = u64::from(group.left) * u64::from(group.least_memory);
            *place = place.checked_sub(least)?;
        }
        Some(memory)
    }

    /// What everything below a node costs at least, where blocks and deadlines leave flows fewer
    /// choices than the relaxation knows of: each of its memories counts at what it is `worth` to
    /// that. None if some flow has no choice left.
    fn tighter(&mut self, bound: u64, worth: &[(u64, u64); MAX_DSPS]) -> Option<u64> {
        let Search { problem, groups, kept, frames, depth, .. } = self;
        let fixed = frames.get(..*depth).unwrap_or_default().iter().filter_map(|frame| {
            let (at, dsp) = frame.fixed?;
            let number = groups.get(usize::from(frame.group))?.choice(kept, at)?.number;
            let first = problem.groups.get(usize::from(frame.group))?.first as usize;
            Some(Placed { choice: first + usize::from(number), dsp })
        });
        let least = |group, kind| least_blocks(problem, groups, kept, group, kind);
        if !enough(problem, fixed.clone(), groups, least) {
            self.crowded = true;
            return None;
        }
        if !problem.deadlines.any() {
            return Some(bound);
        }
        let Some(meeting) = Meeting::of(problem, fixed, Some(groups)) else {
            self.late = true;
            return None;
        };
        // In parts of a memory's bytes, so that all is whole; of each memory by itself.
        let mut sums = [0_u128; MAX_DSPS];
        for (group, of) in groups.iter().zip(problem.groups).filter(|(group, _)| group.left > 0) {
            let place = group.dsp.filter(|_| !self.free).map_or(0, usize::from);
            let (saves, bytes) = worth.get(place).copied().unwrap_or((0, 1));
            let may = (group.floor..group.kept).filter_map(|at| {
                let one = group.choice(kept, at)?;
                let admitted = meeting.admits(group, of.first as usize + usize::from(one.number));
                let Choice { cost, memory, .. } = one.choice;
                let cost = u128::from(cost) * u128::from(bytes);
                admitted.then_some(cost + u128::from(memory) * u128::from(saves))
            });
            let Some(least) = may.min() else {
                self.late = true;
                return None;
            };
            *sums.get_mut(place)? += least * u128::from(group.left);
        }
        let mut least = u128::from(self.fixed.cost);
        for (place, (sum, (saves, bytes))) in sums.into_iter().zip(worth).enumerate() {
            let there: u64 = match self.free {
                true if place > 0 => 0,
                true => self.dsps.iter().map(|dsp| u64::from(dsp.memory)).sum(),
                false => self.dsps.get(place).map_or(0, |dsp| dsp.memory.into()),
            };
            let there = u128::from(there) * u128::from(*saves);
            least += sum.saturating_sub(there).div_ceil(u128::from(*bytes));
        }
        Some(bound.max(u64::try_from(least).unwrap_or(u64::MAX)))
    }

    /// Whether there are blocks for flows as they are on trial, and they bear each other.
    fn holds(&mut self) -> bool {
        let groups = self.problem.groups.iter();
        let flows = groups.flat_map(|group| core::iter::repeat_n(group, group.flows.into()));
        let placed = flows.zip(&*self.trial).map(|(group, pick)| Placed {
            choice: group.first as usize + usize::from(pick.choice),
            dsp: pick.dsp,
        });
        let room = enough(self.problem, placed.clone(), &[], |_, _| 0);
        let held = !self.problem.deadlines.any() || bear(self.problem, placed);
        self.crowded |= !room;
        self.late |= !held;
        room && held
    }

    fn lacks_more(&self) -> bool {
        let load = self.fixed.load + self.least.load;
        let (mut memory, mut work) = (0, 0);
        for dsp in &self.dsps {
            memory += u64::from(dsp.memory);
            work += u64::from(dsp.work);
        }
        self.least.memory > memory || self.least.work > work || load > self.problem.load
    }

    /// The group of the flow that is hardest to find a place for.
    fn largest(&self) -> Option<u16> {
        let left = self.groups.iter().enumerate().filter(|(_, group)| group.left > 0);
        let size = |group: &State| {
            let choice = group.choice(self.kept, group.at).map(|one| one.choice);
            choice.map_or((0, 0), |choice| (choice.memory, choice.work))
        };
        left.max_by_key(|(_, group)| size(group)).map(|(number, _)| number as u16)
    }

    /// Writes the picks of the relaxation that was made whole to the trial. False if they are none.
    fn seat(&mut self) -> bool {
        if !self.light() {
            return false;
        }
        for group in self.groups.iter_mut() {
            group.seated = 0;
        }
        for frame in self.frames.get(..self.depth).unwrap_or_default() {
            let Some((number, dsp)) = frame.fixed else { continue };
            let offset = offset(self.problem, frame.group);
            let Some(group) = self.groups.get_mut(usize::from(frame.group)) else { return false };
            let Some(one) = group.choice(self.kept, number) else { return false };
            let place = self.trial.get_mut(offset + usize::from(group.seated));
            let Some(place) = place else { return false };
            *place = Pick { choice: one.number, dsp };
            group.seated += 1;
        }
        let offsets = self.problem.groups.iter().scan(0, |next, group| {
            let offset = *next;
            *next += usize::from(group.flows);
            Some(offset)
        });
        let mut dsps = self.dsps;
        let dsps = dsps.get_mut(..self.problem.dsps.len()).unwrap_or_default();
        pack(self.groups, self.kept, dsps, offsets, self.trial) && self.holds()
    }

    /// Whether what was made whole keeps to the load.
    fn light(&self) -> bool {
        if self.problem.load == u64::MAX {
            return true;
        }
        let load = |group: &State, number| {
            group.choice(self.kept, number).map_or(0, |one| u64::from(one.choice.load))
        };
        let sums = self.groups.iter().map(|group| {
            let raised = u64::from(group.raised);
            let rest = u64::from(group.left) - raised;
            rest * load(group, group.at) + raised * load(group, group.next)
        });
        self.fixed.load + sums.sum::<u64>() <= self.problem.load
    }

    /// Fixes the flow of the deepest level to what has its turn. False if all have had it; then the
    /// flow is left again.
    fn next(&mut self) -> bool {
        let Some(mut frame) = self.frames.get(self.depth - 1).copied() else { return false };
        let number = usize::from(frame.group);
        if frame.fixed.is_some() {
            self.unfix(&mut frame);
        }
        let Some(group) = self.groups.get(number).copied() else { return false };
        let last = 2 * u32::from(group.kept);
        while frame.turn <= last {
            let choice = near(frame.centre, frame.turn, group.kept).filter(|at| *at >= frame.floor);
            let one = choice.and_then(|at| Some((at, *group.choice(self.kept, at)?)));
            let dsp = usize::from(frame.dsp);
            let Some((at, one)) = one.filter(|_| dsp < self.problem.dsps.len()) else {
                (frame.turn, frame.dsp) = (frame.turn + 1, 0);
                continue;
            };
            frame.dsp += 1;
            if group.dsp.is_some_and(|served| usize::from(served) != dsp) || self.has_twin(dsp) {
                continue;
            }
            if !self.dsps.get_mut(dsp).is_some_and(|here| take(here, &one)) {
                continue;
            }
            frame.fixed = Some((at, dsp as u8));
            self.count(number, &one, true);
            if let Some(group) = self.groups.get_mut(number) {
                group.floor = at;
            }
            self.store(frame);
            return true;
        }
        self.store(frame);
        false
    }

    /// Whether another DSP before this one can do all that it can: what one of two with the same
    /// left can do, so can the other; where flows take more than that, if there are none at either.
    fn has_twin(&self, dsp: usize) -> bool {
        if self.problem.groups.iter().any(|group| group.dsp.is_some()) {
            return false;
        }
        let fixed = self.frames.get(..self.depth - 1).unwrap_or_default();
        let alone = !self.problem.deadlines.any() && self.problem.blocks.there.is_empty();
        let used = |at: usize| {
            let here = |frame: &Frame| frame.fixed.is_some_and(|(_, dsp)| usize::from(dsp) == at);
            !alone && fixed.iter().any(here)
        };
        let same = |other: usize| self.dsps.get(other) == self.dsps.get(dsp);
        (0..dsp).any(|other| same(other) && !used(other) && !used(dsp))
    }

    fn store(&mut self, frame: Frame) {
        if let Some(place) = self.frames.get_mut(self.depth - 1) {
            *place = frame;
        }
    }

    fn unfix(&mut self, frame: &mut Frame) {
        let Some((at, dsp)) = frame.fixed.take() else { return };
        let number = usize::from(frame.group);
        let Some(group) = self.groups.get_mut(number) else { return };
        group.floor = frame.floor;
        let Some(one) = group.choice(self.kept, at).copied() else { return };
        if let Some(dsp) = self.dsps.get_mut(usize::from(dsp)) {
            dsp.memory += one.choice.memory;
            dsp.work += one.choice.work;
        }
        self.count(number, &one, false);
    }

    /// Moves a flow of a group from those that are left to those that are fixed, or back.
    fn count(&mut self, number: usize, one: &Kept, fixed: bool) {
        let Some(group) = self.groups.get_mut(number) else { return };
        let smallest = group.choice(self.kept, 0).map_or(0, |one| one.choice.cost);
        let least = [smallest, group.least_memory, group.least_work, group.least_load];
        let Sums { cost, memory, work, load } = &mut self.least;
        let sums = [cost, memory, work, load];
        if fixed {
            group.left -= 1;
            sums.into_iter().zip(least).for_each(|(sum, one)| *sum -= u64::from(one));
            self.fixed.cost += u64::from(one.choice.cost);
            self.fixed.load += u64::from(one.choice.load);
        } else {
            group.left += 1;
            sums.into_iter().zip(least).for_each(|(sum, one)| *sum += u64::from(one));
            self.fixed.cost -= u64::from(one.choice.cost);
            self.fixed.load -= u64::from(one.choice.load);
        }
    }
}

/// The choice whose turn it is: the centre, one more, one less, two more and so on. None if there
/// is no such choice.
fn near(centre: u16, turn: u32, count: u16) -> Option<u16> {
    let far = i64::from(turn.div_ceil(2));
    let at = i64::from(centre) + if turn % 2 == 1 { far } else { -far };
    u16::try_from(at).ok().filter(|at| *at < count)
}

/// Where the picks of a group begin.
fn offset(problem: &Problem<'_>, group: u16) -> usize {
    let before = problem.groups.get(..usize::from(group)).unwrap_or_default();
    before.iter().map(|group| usize::from(group.flows)).sum()
}
