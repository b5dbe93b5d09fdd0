//! The search itself: depth first, without recursion. Each level fixes the choice and the DSP of
//! one flow.

use super::pack::{pack, take};
use super::reduce::{Kept, State, Step, reduce};
use super::relax::{Relaxed, relax};
use super::{Dsp, Found, MAX_DSPS, Pick, Problem, Storage, Unsolved};

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

/// Sums over flows.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    cost: u64,
    memory: u64,
    work: u64,
    load: u64,
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
            fixed: Sums::default(),
            least: Sums::default(),
            depth: 0,
            best: None,
            nodes: 0,
        };
        for group in search.groups.iter() {
            let flows = u64::from(group.left);
            let smallest = group.choice(search.kept, 0).map_or(0, |one| one.choice.cost);
            search.least.cost += flows * u64::from(smallest);
            search.least.memory += flows * u64::from(group.least_memory);
            search.least.work += flows * u64::from(group.least_work);
            search.least.load += flows * u64::from(group.least_load);
        }
        Ok(search)
    }

    /// Searches until the end or the limit.
    pub fn run(mut self, limit: u32) -> Result<Found, Unsolved> {
        self.lacks()?;
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
            (None, None) => Err(Unsolved::Division),
        }
    }

    /// Whether even the least of everything is too much.
    fn lacks(&self) -> Result<(), Unsolved> {
        let sum = |of: &dyn Fn(&Dsp) -> u32| self.dsps.iter().map(|dsp| u64::from(of(dsp))).sum();
        let missing = |least: u64, there: u64| least.checked_sub(there).filter(|more| *more > 0);
        if let Some(bytes) = missing(self.least.memory, sum(&|dsp| dsp.memory)) {
            return Err(Unsolved::Memory(bytes));
        }
        if let Some(ppm) = missing(self.least.work, sum(&|dsp| dsp.work)) {
            return Err(Unsolved::Work(ppm));
        }
        match missing(self.least.load, self.problem.load) {
            Some(ppm) => Err(Unsolved::Load(ppm)),
            None => Ok(()),
        }
    }

    /// Looks at the flows that are left, and keeps what is better than all before.
    fn visit(&mut self) -> Node {
        self.nodes += 1;
        if self.lacks_more() {
            return Node::Done;
        }
        let memory: u64 = self.dsps.iter().map(|dsp| u64::from(dsp.memory)).sum();
        let beside = memory - self.least.memory;
        let Relaxed { bound, cost, between } =
            relax(self.groups, self.steps, self.least.cost, beside);
        let (bound, cost) = (self.fixed.cost + bound, self.fixed.cost + cost);
        if self.best.is_some_and(|best| bound >= best) {
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
        pack(self.groups, self.kept, dsps, offsets, self.trial)
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
            let (before, from) = self.dsps.split_at_mut(dsp);
            let Some(here) = from.first_mut() else { continue };
            // What one of two DSPs with the same left can do, so can the other.
            if before.contains(here) || !take(here, &one) {
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
