//! From flows and what a machine takes to a strategy for each flow.

use super::rooms::Rooms;
use narrows::strategy::{Placement, Strategy, Transfer};
use narrows_tune::model::{Costs, Estimate, Flow, WHOLE, estimate, picos};
use narrows_tune::optimise::{Choice, Dsp, Found, Group, Problem, Unsolved};

/// Nodes of a search.
const NODES: u32 = 2_000_000;
/// How often flows are planned anew, each time with more of what others delay them by.
const TRIES: usize = 16;
/// Points of a front, at most.
const POINTS: usize = 200;

/// What flows are planned for.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// What it takes.
    pub costs: Costs,
    /// Cores to call, and bytes of internal memory of each.
    pub dsps: u8,
    pub memory: u32,
    /// Time of the calling core for all flows, in parts per million.
    pub load: u64,
    /// The longest messages in internal and in external memory.
    pub longest: [u32; 2],
    /// Whether there is a copy engine.
    pub engine: bool,
}

/// A flow to plan.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub name: String,
    pub flow: Flow,
    /// What it may travel by.
    pub strategies: Vec<Strategy>,
}

/// A way for a flow to travel, and what it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub strategy: Strategy,
    pub estimate: Estimate,
}

/// What a flow was given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given {
    pub way: Way,
    pub dsp: u8,
    /// What other flows delay it by at most, in picoseconds.
    pub beside: u64,
}

impl Given {
    /// How long a response takes at most, with all other flows.
    pub fn bound(&self) -> u64 {
        self.way.estimate.latency.bound.saturating_add(self.beside)
    }
}

/// A plan for all flows, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub given: Vec<Given>,
    pub found: Found,
}

impl Plan {
    /// Time of the calling core, in parts per million.
    pub fn load(&self) -> u64 {
        self.given.iter().map(|one| u64::from(one.way.estimate.load)).sum()
    }

    /// Bytes of internal memory of a DSP.
    pub fn memory(&self, dsp: u8) -> u64 {
        let here = self.given.iter().filter(|one| one.dsp == dsp);
        here.map(|one| u64::from(one.way.estimate.memory)).sum()
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NoPlan {
    /// A flow cannot travel at all, for that reason.
    Impossible(usize, String),
    /// A flow needs so many picoseconds at least, of which others delay it by so many; more than its
    /// deadline.
    Late { flow: usize, least: u64, beside: u64 },
    /// All together take too much.
    Together(Unsolved),
}

/// What is to be least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Least {
    Load,
    Latency,
}

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

    /// The best plan, in which every flow keeps to its deadline whatever the others do.
    pub fn plan(&self) -> Result<Plan, NoPlan> {
        self.plan_with(&Limits { memory: self.machine.memory, alike: false, free: None })
    }

    pub fn plan_with(&self, limits: &Limits) -> Result<Plan, NoPlan> {
        let mut beside = vec![0; self.subjects.len()];
        let mut tries = 0;
        loop {
            let mut plan = self.solve(limits, &beside)?;
            let delays = self.delays(&plan);
            let mut late = None;
            for (number, (one, delay)) in plan.given.iter_mut().zip(delays).enumerate() {
                one.beside = delay;
                let deadline = self.deadline(number, limits);
                if one.bound() > deadline && delay > beside[number] {
                    beside[number] = delay;
                    late = Some((number, one.bound(), delay));
                }
            }
            let Some((flow, least, delay)) = late else { return Ok(plan) };
            tries += 1;
            if tries == TRIES {
                return Err(NoPlan::Late { flow, least, beside: delay });
            }
        }
    }

    fn deadline(&self, flow: usize, limits: &Limits) -> u64 {
        let free = limits.free == Some(flow);
        self.subjects[flow].flow.deadline.filter(|_| !free).map_or(u64::MAX, picos)
    }

    /// What the other flows of a plan delay each by at most: all that may be before it at either core.
    fn delays(&self, plan: &Plan) -> Vec<u64> {
        let times = |number: usize| {
            let flow = &self.subjects[number].flow;
            let period = plan.given[number].way.estimate.period.max(1);
            u64::from(flow.burst) * (1 + picos(flow.jitter) / period)
        };
        let of = |number: usize, dsp: u8| {
            let one = &plan.given[number];
            let there = if one.dsp == dsp { one.way.estimate.callee } else { 0 };
            (one.way.estimate.blocks.saturating_add(there)).saturating_mul(times(number))
        };
        (0..plan.given.len())
            .map(|own| {
                let others = (0..plan.given.len()).filter(|other| *other != own);
                others.map(|other| of(other, plan.given[own].dsp)).sum()
            })
            .collect()
    }

    /// The cheapest picks, if others delay each flow by so much.
    fn solve(&self, limits: &Limits, beside: &[u64]) -> Result<Plan, NoPlan> {
        let kinds = self.kinds(beside, limits);
        let unit = self.unit();
        let (mut groups, mut choices, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        for kind in &kinds {
            let (flow, first) = (kind[0], choices.len());
            let deadline = self.deadline(flow, limits);
            let times = if limits.alike { kind.len() as u64 } else { 1 };
            for (number, way) in self.ways[flow].iter().enumerate() {
                let Estimate { load, work, memory, latency, .. } = way.estimate;
                if latency.bound.saturating_add(beside[flow]) > deadline {
                    continue;
                }
                let cost = match self.least {
                    Least::Load => load,
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
                let least = least.unwrap_or(0).saturating_add(beside[flow]);
                return Err(NoPlan::Late { flow, least, beside: beside[flow] });
            }
            let flows = if limits.alike { 1 } else { kind.len() as u16 };
            let count = choices.len() - first;
            groups.push(Group { first: first as u32, choices: count as u16, flows });
        }
        let dsp = Dsp { memory: limits.memory, work: WHOLE };
        let dsps = vec![dsp; usize::from(self.machine.dsps)];
        let load = self.machine.load;
        let problem = Problem { groups: &groups, choices: &choices, dsps: &dsps, load };
        let mut rooms = Rooms::default();
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
    fn kinds(&self, beside: &[u64], limits: &Limits) -> Vec<Vec<usize>> {
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
        let Given { way, dsp, beside } = plan.given[flow];
        let has = u64::from(way.estimate.memory);
        let room = (u64::from(self.machine.memory) + has).saturating_sub(plan.memory(dsp));
        let deadline = self.deadline(flow, &Limits::default());
        let key = |way: &Way| match self.least {
            Least::Load => u64::from(way.estimate.load),
            Least::Latency => way.estimate.latency.bound,
        };
        let others = self.ways[flow].iter().filter(|other| {
            other.strategy != way.strategy
                && u64::from(other.estimate.memory) <= room
                && other.estimate.latency.bound.saturating_add(beside) <= deadline
        });
        others.min_by_key(|way| (key(way), way.estimate.memory)).copied()
    }

    /// Least loads by internal memory, from the most that helps to none: (bytes, parts per million).
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

/// What a plan has to keep to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Bytes of internal memory of each DSP.
    pub memory: u32,
    /// Whether flows of a kind have to travel alike, which only one DSP can be asked for.
    pub alike: bool,
    /// A flow whose deadline does not count.
    pub free: Option<usize>,
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
        ways.push(Way { strategy: *strategy, estimate });
    }
    if ways.is_empty() {
        return Err("no strategy carries messages of its length here".to_owned());
    }
    Ok(ways)
}
