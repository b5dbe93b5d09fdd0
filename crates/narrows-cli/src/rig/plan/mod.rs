//! From flows and what a machine takes to a strategy for each flow.

mod blocks;
mod refusal;
pub(crate) mod subjects;
mod terms;
mod together;

use crate::rig::plan::together::Delay;
use blocks::Needed;
use narrows::strategy::{Placement, Transfer};
use narrows_tune::model::{Buffers, Estimate, Flow, WHOLE, estimate, picos};
use narrows_tune::optimise::{Choice, Dsp, Group, Problem};
use narrows_tune::rooms::SearchRooms;

pub(crate) use crate::rig::plan::refusal::refused;
pub(crate) use crate::rig::plan::terms::{
    Given, Least, Limits, Machine, NoPlan, Plan, Subject, Way,
};

/// Nodes of a search.
const NODES: u32 = 2_000_000;
/// How often flows are planned anew, each time with more of what others delay them by.
const TRIES: usize = 16;
/// Requests in a row that a flow may be behind with.
const BEHIND: u64 = 1000;
/// Points of a front, at most.
const POINTS: usize = 200;

/// Flows and what each may do.
pub(crate) struct Planner<'a> {
    pub machine: &'a Machine,
    pub subjects: &'a [Subject],
    pub least: Least,
    ways: Vec<Vec<Way>>,
}

impl<'a> Planner<'a> {
    /// Asks the model about every strategy of every flow.
    pub fn new(
        machine: &'a Machine,
        subjects: &'a [Subject],
        least: Least,
    ) -> Result<Planner<'a>, NoPlan> {
        let mut ways = Vec::new();
        for (number, subject) in subjects.iter().enumerate() {
            ways.push(ways_of(machine, subject).map_err(|why| NoPlan::Impossible(number, why))?);
        }
        Ok(Planner { machine, subjects, least, ways })
    }

    /// What a flow may travel by, of what was named for it.
    pub fn ways(&self, flow: usize) -> &[Way] {
        self.ways.get(flow).map_or(&[], Vec::as_slice)
    }

    /// The best plan, in which every flow keeps to its deadline whatever the others do.
    pub fn plan(&self) -> Result<Plan, NoPlan> {
        self.plan_with(&Limits { memory: self.machine.memory, ..Limits::default() })
    }

    /// As [`Planner::plan`], within other limits. Where its bytes would do but the blocks would
    /// not, the best with fewer bytes, or with fewer buffers in external memory, whose bytes nobody
    /// counts.
    pub fn plan_with(&self, limits: &Limits) -> Result<Plan, NoPlan> {
        let mut limits = *limits;
        loop {
            let plan = match self.in_bytes(&limits) {
                Err(_) if limits.buffers.is_some() => {
                    return Err(NoPlan::Blocks(Placement::External));
                }
                made => made?,
            };
            let dsps = 0..self.machine.dsps;
            let missing = dsps.clone().find_map(|dsp| self.missing(&plan, dsp));
            let Some(placement) = missing else { return Ok(plan) };
            if placement == Placement::External {
                let outside = plan.given.iter().filter(|one| one.way.is_outside());
                let most = outside.map(|one| one.way.estimate.buffers).max().unwrap_or(0);
                limits.buffers = Some(most.checked_sub(1).ok_or(NoPlan::Blocks(placement))?);
                continue;
            }
            let most = dsps.map(|dsp| plan.memory(dsp)).max().unwrap_or(0);
            let less = most.checked_sub(1).and_then(|less| u32::try_from(less).ok());
            limits.memory = less.ok_or(NoPlan::Blocks(placement))?;
        }
    }

    /// The memory of a DSP whose blocks are not enough for a plan.
    fn missing(&self, plan: &Plan, dsp: u8) -> Option<Placement> {
        if self.machine.classes.is_empty() {
            return None;
        }
        let here = plan.given.iter().zip(self.subjects).filter(|(one, _)| one.dsp == dsp);
        let needed = here.map(|(Given { way: Way { strategy, estimate, .. }, .. }, subject)| {
            let times = u32::from(strategy.granularity);
            let bytes = [subject.flow.request, subject.flow.response];
            Needed {
                placement: strategy.placement,
                bytes: bytes.map(|one| one.saturating_mul(times)),
                count: estimate.buffers,
            }
        });
        blocks::missing(&self.machine.classes, &needed.collect::<Vec<_>>())
    }

    /// The best plan whose bytes fit.
    fn in_bytes(&self, limits: &Limits) -> Result<Plan, NoPlan> {
        let mut beside = vec![Delay::default(); self.subjects.len()];
        let mut tries = 0;
        loop {
            let mut plan = self.solve(limits, &beside)?;
            let longer = self.join(&mut plan);
            let delays = self.delays(&plan);
            let mut late = None;
            let both = delays.into_iter().zip(longer);
            for (number, (one, (delay, longer))) in plan.given.iter_mut().zip(both).enumerate() {
                let alone = one.way.estimate.latency.bound;
                let worst = self.worst(number, &one.way.estimate, delay);
                one.beside = worst.map_or(delay.most, |worst| worst.saturating_sub(alone));
                let holds = self.holds(number, &one.way.estimate, delay, limits);
                let more = delay.and(longer);
                if !holds && more > beside[number] {
                    beside[number] = more;
                    late = Some((number, one.bound(), more.most));
                }
            }
            let Some((flow, least, delay)) = late else { return Ok(plan) };
            tries += 1;
            if tries == TRIES {
                return Err(self.late(flow, limits, least, delay));
            }
        }
    }

    fn deadline(&self, flow: usize, limits: &Limits) -> u64 {
        let free = limits.free == Some(flow);
        self.subjects[flow].flow.deadline.filter(|_| !free).map_or(u64::MAX, picos)
    }

    /// So many periods as bursts may be under way: a response that takes longer, again and again,
    /// makes each request wait for the one before, and longer every time. Where looks keep step
    /// with requests there is a buffer for each that comes meanwhile.
    fn pace(&self, flow: usize) -> u64 {
        let Flow { period, depth, burst, .. } = self.subjects[flow].flow;
        let pace = period.filter(|_| self.machine.costs.buffers == Buffers::Any);
        pace.map_or(u64::MAX, |period| picos(period).saturating_mul((depth / burst).max(1).into()))
    }

    /// Whether a flow that others delay by so much keeps to its deadline and keeps pace.
    fn holds(&self, flow: usize, made: &Estimate, delay: Delay, limits: &Limits) -> bool {
        let worst = self.worst(flow, made, delay);
        worst.is_some_and(|worst| worst <= self.deadline(flow, limits))
    }

    /// The longest that a response takes if others delay the flow by so much; none if it does not
    /// keep pace. One with a deadline may fall behind for a while, if it catches up: of the
    /// requests that come until then, each waits for those before it and for what others ask of the
    /// cores meanwhile.
    fn worst(&self, flow: usize, made: &Estimate, delay: Delay) -> Option<u64> {
        let bound = made.latency.bound;
        let first = bound.saturating_add(delay.most);
        let alone = bound.saturating_sub(made.once[0] + made.once[1]);
        let lasting = alone.saturating_add(delay.lasting);
        if lasting <= self.pace(flow) {
            return Some(first);
        }
        let Flow { period: Some(period), depth: 1, deadline: Some(_), .. } =
            self.subjects[flow].flow
        else {
            return None;
        };
        let jitter = self.subjects.iter().map(|one| picos(one.flow.jitter)).max().unwrap_or(0);
        let (period, mut worst, mut until) = (picos(period), first, lasting);
        for before in 1..BEHIND {
            let due = period.saturating_mul(before);
            if until <= due {
                return Some(worst);
            }
            let passed = u128::from(until) + u128::from(jitter);
            let others = passed * u128::from(delay.rate) / u128::from(WHOLE);
            let others = u64::try_from(others).unwrap_or(u64::MAX);
            until = lasting.saturating_add(alone.saturating_mul(before)).saturating_add(others);
            worst = worst.max(until.saturating_sub(due).saturating_add(first - lasting));
        }
        None
    }

    /// Why a flow is late that needs so much at least.
    fn late(&self, flow: usize, limits: &Limits, least: u64, beside: u64) -> NoPlan {
        match least > self.deadline(flow, limits) {
            true => NoPlan::Late { flow, least, beside },
            false => NoPlan::Behind { flow, least, most: self.pace(flow) },
        }
    }

    /// The cheapest picks, if others delay each flow by so much.
    fn solve(&self, limits: &Limits, beside: &[Delay]) -> Result<Plan, NoPlan> {
        let kinds = self.kinds(beside, limits);
        let unit = self.unit();
        let (mut groups, mut choices, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        for kind in &kinds {
            let (flow, first) = (kind[0], choices.len());
            let times = if limits.alike { kind.len() as u64 } else { 1 };
            for (number, way) in self.ways[flow].iter().enumerate() {
                let Estimate { load, work, memory, latency, .. } = way.estimate;
                // What has no period takes the time that is left.
                let (load, work) = if way.paced { (load, work) } else { (0, 0) };
                let crowded = way.is_outside()
                    && limits.buffers.is_some_and(|most| way.estimate.buffers > most);
                // A core that looks all the time has nothing left for a budget.
                let greedy = way.spins() && self.machine.load < u64::from(WHOLE);
                if crowded || greedy || !self.holds(flow, &way.estimate, beside[flow], limits) {
                    continue;
                }
                let cost = match self.least {
                    Least::Load => way.cost,
                    Least::Latency => u32::try_from(latency.bound / unit).unwrap_or(u32::MAX),
                };
                let all = |one: u32| u32::try_from(u64::from(one) * times).unwrap_or(u32::MAX);
                choices.push(Choice {
                    cost: all(cost),
                    memory: all(memory),
                    work: all(work),
                    load: all(load),
                });
                numbers.push(number);
            }
            if choices.len() == first {
                let least = self.ways[flow].iter().map(|way| way.estimate.latency.bound).min();
                let delay = beside[flow].most;
                let least = least.unwrap_or(0).saturating_add(delay);
                return Err(self.late(flow, limits, least, delay));
            }
            let flows = if limits.alike { 1 } else { kind.len() as u16 };
            let count = choices.len() - first;
            groups.push(Group { first: first as u32, choices: count as u16, flows });
        }
        let dsp = Dsp { memory: limits.memory, work: WHOLE };
        let dsps = vec![dsp; usize::from(self.machine.dsps)];
        let load = self.machine.load;
        let problem = Problem { groups: &groups, choices: &choices, dsps: &dsps, load };
        let mut rooms = SearchRooms::default();
        rooms.fit(&problem);
        let found = rooms.solve(&problem, NODES).map_err(NoPlan::Together)?;
        let mut given = vec![None; self.subjects.len()];
        let mut picks = rooms.picks.iter();
        for (kind, group) in kinds.iter().zip(&groups) {
            let mut pick = None;
            for flow in kind {
                if !limits.alike || pick.is_none() {
                    pick = picks.next();
                }
                let Some(pick) = pick else { continue };
                let number = numbers[group.first as usize + usize::from(pick.choice)];
                let way = self.ways[*flow][number];
                given[*flow] = Some(Given { way, dsp: pick.dsp, beside: 0 });
            }
        }
        Ok(Plan { given: given.into_iter().flatten().collect(), found })
    }

    /// Flows that are alike, together.
    fn kinds(&self, beside: &[Delay], limits: &Limits) -> Vec<Vec<usize>> {
        let mut kinds: Vec<Vec<usize>> = Vec::new();
        for (number, subject) in self.subjects.iter().enumerate() {
            let same = |other: usize| {
                let others = &self.subjects[other];
                others.flow == subject.flow
                    && others.strategies == subject.strategies
                    && beside[other] == beside[number]
                    && limits.free != Some(other)
                    && limits.free != Some(number)
            };
            match kinds.iter_mut().find(|kind| same(kind[0])) {
                Some(kind) => kind.push(number),
                None => kinds.push(vec![number]),
            }
        }
        kinds
    }

    /// The unit of latency as a cost, in picoseconds: so that the longest is a billion.
    fn unit(&self) -> u64 {
        let bounds = self.ways.iter().flatten().map(|way| way.estimate.latency.bound);
        (bounds.max().unwrap_or(0) / 1_000_000_000).max(1)
    }

    /// The way of a flow that costs least beside the one it has, all others being as they are; of
    /// those that its deadline and the memory that is left allow.
    pub fn next(&self, plan: &Plan, flow: usize) -> Option<Way> {
        let Given { way, dsp, .. } = plan.given[flow];
        let delay = self.delays(plan).get(flow).copied()?;
        let has = u64::from(way.estimate.memory);
        let room = (u64::from(self.machine.memory) + has).saturating_sub(plan.memory(dsp));
        let key = |way: &Way| match self.least {
            Least::Load => u64::from(way.cost),
            Least::Latency => way.estimate.latency.bound,
        };
        let others = self.ways[flow].iter().filter(|other| {
            other.strategy != way.strategy
                && u64::from(other.estimate.memory) <= room
                && self.holds(flow, &other.estimate, delay, &Limits::default())
        });
        others.min_by_key(|way| (key(way), way.estimate.memory)).copied()
    }

    /// Least loads by internal memory, from the most that helps to none: (bytes, parts per
    /// million).
    pub fn front(&self) -> Vec<(u64, u64)> {
        let mut points = Vec::new();
        let mut memory = u32::MAX;
        while points.len() < POINTS {
            let limits = Limits { memory, ..Limits::default() };
            let Ok(plan) = self.plan_with(&limits) else { break };
            let most = (0..self.machine.dsps).map(|dsp| plan.memory(dsp)).max().unwrap_or(0);
            points.push((most, plan.load()));
            let Some(less) = most.checked_sub(1) else { break };
            memory = u32::try_from(less).unwrap_or(u32::MAX);
        }
        points.reverse();
        points
    }
}

/// What a flow may do, by the model.
fn ways_of(machine: &Machine, subject: &Subject) -> Result<Vec<Way>, String> {
    let mut ways = Vec::new();
    for strategy in &subject.strategies {
        let internal = strategy.placement == Placement::Internal;
        let longest = machine.longest[usize::from(!internal)];
        let message = subject.flow.request.max(subject.flow.response);
        let long = message.saturating_mul(strategy.granularity.into());
        if long > longest || (strategy.transfer == Transfer::CopyEngine && !machine.engine) {
            continue;
        }
        let made = estimate(&machine.costs, &subject.flow, strategy);
        let estimate = made.map_err(|error| error.to_string())?;
        let paced = subject.flow.period.is_some();
        let way = Way { strategy: *strategy, estimate, paced, cost: 0 };
        ways.push(Way { cost: way.taken(), ..way });
    }
    let quickest = ways.iter().map(|way| way.estimate.period).min().unwrap_or(0).max(1);
    for way in ways.iter_mut().filter(|way| !way.paced) {
        let ppm = u128::from(way.estimate.caller) * u128::from(WHOLE) / u128::from(quickest);
        way.cost = u32::try_from(ppm).unwrap_or(u32::MAX);
    }
    if ways.is_empty() {
        return Err("no strategy carries messages of its length here".to_owned());
    }
    Ok(ways)
}
