//! From flows and what a machine takes to a strategy for each flow.

mod blocks;
mod refusal;
pub(crate) mod subjects;
mod terms;
mod timing;
mod together;

use blocks::Kinds;
use narrows::strategy::{Parts, Placement, Transfer};
use narrows_tune::model::{Estimate, WHOLE, estimate};
use narrows_tune::optimise::{
    Blocks, Choice, Deadlines, Delay, Dsp, Group, Problem, Timing, Unsolved,
};
use narrows_tune::rooms::SearchRooms;
use timing::AllWaits;

pub(crate) use crate::rig::plan::refusal::refused;
pub(crate) use crate::rig::plan::terms::{
    Given, Least, Limits, Machine, NoPlan, Plan, Subject, Way,
};

/// Nodes of a search.
const NODES: u32 = 2_000_000;
/// Points of a front, at most.
const POINTS: usize = 200;

/// Flows and what each may do.
pub(crate) struct Planner<'a> {
    pub machine: &'a Machine,
    pub subjects: &'a [Subject],
    pub least: Least,
    ways: Vec<Vec<Way>>,
    waits: AllWaits,
    /// Of each flow, what each of its ways takes by each way in which its core may wait.
    estimates: Vec<Vec<Estimate>>,
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
        let waits = AllWaits::of(&ways);
        let each = subjects.iter().zip(&ways).map(|(subject, ways)| {
            let of = |way| waits.estimates(&machine.costs, &subject.flow, way);
            ways.iter().flat_map(of).collect()
        });
        let estimates = each.collect();
        Ok(Planner { machine, subjects, least, ways, waits, estimates })
    }

    /// What a flow may travel by, of what was named for it.
    pub fn ways(&self, flow: usize) -> &[Way] {
        self.ways.get(flow).map_or(&[], Vec::as_slice)
    }

    /// The best plan, in which every flow keeps to its deadline whatever the others do.
    pub fn plan(&self) -> Result<Plan, NoPlan> {
        self.plan_with(&Limits { memory: self.machine.memory, ..Limits::default() })
    }

    /// As [`Planner::plan`], within other limits.
    pub fn plan_with(&self, limits: &Limits) -> Result<Plan, NoPlan> {
        let mut plan = self.solve(limits)?;
        self.join(&mut plan);
        Ok(plan)
    }

    /// Why a flow is late that others delay by `beside` at least.
    fn late(&self, flow: usize, limits: &Limits, beside: u64) -> NoPlan {
        let bounds = self.estimates[flow].iter().map(|made| made.latency.bound);
        let least = bounds.min().unwrap_or(0).saturating_add(beside);
        match least > self.deadline(flow, limits) {
            true => NoPlan::Late { flow, least, beside },
            false => NoPlan::Behind { flow, least, most: self.pace(flow, Parts::WHOLE) },
        }
    }

    /// The cheapest picks by which all deadlines hold.
    fn solve(&self, limits: &Limits) -> Result<Plan, NoPlan> {
        let alike = self.alike(limits);
        let kinds = Kinds::of(&self.machine.classes);
        let unit = self.unit();
        let (mut groups, mut choices, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        let (mut needs, mut own, mut timings) = (Vec::new(), Vec::new(), Vec::<Timing>::new());
        for kind in &alike {
            let (flow, first) = (kind[0], choices.len());
            let times = if limits.alike { kind.len() as u64 } else { 1 };
            for (number, way) in self.ways[flow].iter().enumerate() {
                let Estimate { load, work, memory, latency, .. } = way.estimate;
                // What has no period takes the time that is left.
                let (load, work) = if way.paced { (load, work) } else { (0, 0) };
                // A core that looks all the time has nothing left for a budget.
                let greedy = way.spins() && self.machine.load < u64::from(WHOLE);
                // By itself too late; said of the flow, not of all together.
                let bears = |one: Timing| one.slack.bears(Delay::default());
                let made = self.timings(flow, number, times, limits);
                if greedy || !made.clone().any(bears) {
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
                needs.extend(kinds.needs(&self.subjects[flow].flow, way, times as u32));
                own.push(self.waits.own(way));
                timings.extend(made);
            }
            if choices.len() == first {
                return Err(self.late(flow, limits, 0));
            }
            let flows = if limits.alike { 1 } else { kind.len() as u16 };
            let count = choices.len() - first;
            groups.push(Group { first: first as u32, choices: count as u16, flows, dsp: None });
        }
        let dsp = Dsp { memory: limits.memory, work: WHOLE };
        let dsps = vec![dsp; usize::from(self.machine.dsps)];
        let (ways, joined) = (self.waits.len(), self.waits.joined.as_slice());
        let deadlines = Deadlines { ways, joined, own: &own, timings: &timings };
        let blocks = Blocks { there: &kinds.there, needs: &needs };
        let problem = Problem {
            groups: &groups,
            choices: &choices,
            dsps: &dsps,
            load: self.machine.load,
            blocks,
            deadlines,
        };
        let mut rooms = SearchRooms::default();
        rooms.fit(&problem);
        let found = rooms.solve(&problem, NODES).map_err(|why| match why {
            Unsolved::Late { group, beside } => {
                self.late(alike[usize::from(group)][0], limits, beside.most)
            }
            Unsolved::Blocks => NoPlan::Blocks,
            why => NoPlan::Together(why),
        })?;
        let mut given = vec![None; self.subjects.len()];
        let mut picks = rooms.picks.iter();
        for (kind, group) in alike.iter().zip(&groups) {
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
    fn alike(&self, limits: &Limits) -> Vec<Vec<usize>> {
        let mut kinds: Vec<Vec<usize>> = Vec::new();
        for (number, subject) in self.subjects.iter().enumerate() {
            let same = |other: usize| {
                let others = &self.subjects[other];
                others.flow == subject.flow
                    && others.strategies == subject.strategies
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
        let has = u64::from(way.estimate.memory);
        let room = (u64::from(self.machine.memory) + has).saturating_sub(plan.memory(dsp));
        let key = |way: &Way| match self.least {
            Least::Load => u64::from(way.cost),
            Least::Latency => way.estimate.latency.bound,
        };
        let stands = |other: &Way| {
            let mut plan = plan.clone();
            plan.given[flow].way = *other;
            self.join(&mut plan);
            self.stands(&plan, &Limits::default())
        };
        let mut others: Vec<&Way> = self.ways[flow]
            .iter()
            .filter(|other| {
                other.strategy != way.strategy && u64::from(other.estimate.memory) <= room
            })
            .collect();
        others.sort_by_key(|way| (key(way), way.estimate.memory));
        others.into_iter().find(|other| stands(other)).copied()
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
        let long = strategy.parts.longest(long as usize);
        if long > longest as usize || (strategy.transfer == Transfer::CopyEngine && !machine.engine)
        {
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
