//! From flows and what a machine takes to a strategy for each flow.

use super::blocks::{self, Needed};
use super::rooms::Rooms;
use narrows::memory::Class;
use narrows::strategy::{Placement, Strategy, Transfer};
use narrows_tune::model::{
    Buffers, Costs, Estimate, Flow, Phases, Stream, WHOLE, estimate, latencies, picos, stream,
};
use narrows_tune::optimise::{Choice, Dsp, Found, Group, Problem, Unsolved};

/// Nodes of a search.
const NODES: u32 = 2_000_000;
/// How often flows are planned anew, each time with more of what others delay them by.
const TRIES: usize = 16;
/// Points of a front, at most.
const POINTS: usize = 200;
/// Latencies of which percentiles are taken, and their seed.
const SAMPLES: usize = 2000;
const SEED: u64 = 1;

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
    /// Blocks of each side for each DSP; empty if there are as many as are needed.
    pub classes: Vec<Class>,
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
    /// Whether the flow has a period. If not, its load is what it takes as fast as it can be.
    pub paced: bool,
    /// What it is to have least of, in parts per million of the calling core: its load; without a period
    /// what it would be if the flow made as many calls as it can by its quickest way.
    pub cost: u32,
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
    /// Time of the calling core, in parts per million, for all flows that have a period: one that has
    /// none takes what is left.
    pub fn load(&self) -> u64 {
        let paced = self.given.iter().filter(|one| one.way.paced);
        paced.map(|one| u64::from(one.way.estimate.load)).sum()
    }

    /// Bytes of internal memory of a DSP.
    pub fn memory(&self, dsp: u8) -> u64 {
        let here = self.given.iter().filter(|one| one.dsp == dsp);
        here.map(|one| u64::from(one.way.estimate.memory)).sum()
    }
}

/// What other flows delay one by, in picoseconds: at most, and again and again, when no caches are cold.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
struct Delay {
    most: u64,
    lasting: u64,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NoPlan {
    /// A flow cannot travel at all, for that reason.
    Impossible(usize, String),
    /// A flow needs so many picoseconds at least, of which others delay it by so many; more than its
    /// deadline.
    Late { flow: usize, least: u64, beside: u64 },
    /// A flow needs so many picoseconds at least for a call, and has so many until it has to begin as
    /// many as may be under way.
    Behind { flow: usize, least: u64, most: u64 },
    /// All together take too much.
    Together(Unsolved),
    /// There is memory, but its blocks are too few or too short for all.
    Blocks(Placement),
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

    /// As [`Planner::plan`], within other limits. Where its bytes would do but the blocks would not, the
    /// best with fewer bytes.
    pub fn plan_with(&self, limits: &Limits) -> Result<Plan, NoPlan> {
        let mut limits = *limits;
        loop {
            let plan = self.in_bytes(&limits)?;
            let dsps = 0..self.machine.dsps;
            let missing = dsps.clone().find_map(|dsp| self.missing(&plan, dsp));
            let Some(placement) = missing else { return Ok(plan) };
            let most = dsps.map(|dsp| plan.memory(dsp)).max().unwrap_or(0);
            let less = most.checked_sub(1).filter(|_| placement == Placement::Internal);
            let less = less.and_then(|less| u32::try_from(less).ok());
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
            let delays = self.delays(&plan);
            let mut late = None;
            for (number, (one, delay)) in plan.given.iter_mut().zip(delays).enumerate() {
                one.beside = delay.most;
                let holds = self.holds(number, &one.way.estimate, delay, limits);
                if !holds && delay > beside[number] {
                    beside[number] = delay;
                    late = Some((number, one.bound(), delay.most));
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

    /// So many periods as calls may be under way: a response that takes longer, again and again, makes
    /// each request wait for the one before, and longer every time. Where looks keep step with requests
    /// there is a buffer for each that comes meanwhile.
    fn pace(&self, flow: usize) -> u64 {
        let Flow { period, depth, burst, .. } = self.subjects[flow].flow;
        let pace = period.filter(|_| self.machine.costs.buffers == Buffers::Any);
        pace.map_or(u64::MAX, |period| picos(period).saturating_mul(depth.max(burst).into()))
    }

    /// Whether a flow that others delay by so much keeps to its deadline and keeps pace.
    fn holds(&self, flow: usize, made: &Estimate, delay: Delay, limits: &Limits) -> bool {
        let bound = made.latency.bound;
        let lasting = bound.saturating_sub(made.once[0] + made.once[1]);
        bound.saturating_add(delay.most) <= self.deadline(flow, limits)
            && lasting.saturating_add(delay.lasting) <= self.pace(flow)
    }

    /// Why a flow is late that needs so much at least.
    fn late(&self, flow: usize, limits: &Limits, least: u64, beside: u64) -> NoPlan {
        match least > self.deadline(flow, limits) {
            true => NoPlan::Late { flow, least, beside },
            false => NoPlan::Behind { flow, least, most: self.pace(flow) },
        }
    }

    /// What the other flows of a plan delay each by: all that may be before it at either core.
    fn delays(&self, plan: &Plan) -> Vec<Delay> {
        let times = |number: usize| {
            let (flow, given) = (&self.subjects[number].flow, &plan.given[number]);
            let period = given.way.estimate.period.max(1);
            // As many as are at the cores at once; those that wait for a look are not.
            let Estimate { blocks, serves, .. } = given.way.estimate;
            let queued = blocks.saturating_add(serves).div_ceil(period).clamp(1, flow.depth.into());
            let burst = u64::from(flow.burst) * (1 + picos(flow.jitter) / period);
            burst.max(queued)
        };
        let of = |number: usize, dsp: u8| {
            let one = &plan.given[number];
            let Estimate { blocks, serves, once, .. } = one.way.estimate;
            let (there, cold) =
                if one.dsp == dsp { (serves, once[0] + once[1]) } else { (0, once[0]) };
            // Without a period its next call is there as soon as there is room: before the request, and
            // before the response.
            let (turns, times) = match one.way.paced {
                true => (1, times(number)),
                false => (2, u64::from(self.subjects[number].flow.depth)),
            };
            let lasting = blocks.saturating_mul(turns).saturating_add(there);
            // It is cold once, whatever there is of it.
            let lasting = lasting.saturating_sub(cold).saturating_mul(times);
            Delay { most: lasting.saturating_add(cold), lasting }
        };
        (0..plan.given.len())
            .map(|own| {
                let others = (0..plan.given.len()).filter(|other| *other != own);
                others.map(|other| of(other, plan.given[own].dsp)).fold(
                    Delay::default(),
                    |all, one| Delay {
                        most: all.most.saturating_add(one.most),
                        lasting: all.lasting.saturating_add(one.lasting),
                    },
                )
            })
            .collect()
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
                if !self.holds(flow, &way.estimate, beside[flow], limits) {
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

    /// What so many percent of a flow's latencies do not exceed, in picoseconds, by queueing before both
    /// cores.
    pub fn latency_at(
        &self,
        plan: &Plan,
        flow: usize,
        phases: Phases,
        percent: usize,
    ) -> Option<u64> {
        let own = plan.given.get(flow)?;
        let mut streams = Vec::new();
        let mut of = 0;
        for (number, (given, subject)) in plan.given.iter().zip(self.subjects).enumerate() {
            let before = stream(&self.machine.costs, &subject.flow, &given.way.strategy).ok()?;
            // Another DSP's time is nobody's here.
            let before = if given.dsp == own.dsp { before } else { elsewhere(before) };
            if number == flow {
                of = streams.len();
            }
            // Calls that overlap are as many flows, each of which has its turn so much more rarely.
            let overlap = given.bound().div_ceil(before.period.max(1)).clamp(1, DEPTH.into());
            let depth = subject.flow.depth.min(overlap as u16);
            let one = Stream { period: before.period.saturating_mul(depth.into()), ..before };
            let after = |turn: u16| Stream { after: before.period * u64::from(turn), ..one };
            streams.extend((0..depth).map(after));
        }
        let mut times = vec![0; SAMPLES];
        let made = latencies(&mut streams, of, phases, SEED, &mut times);
        made.then(|| times.get((SAMPLES * percent / 100).saturating_sub(1)).copied()).flatten()
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

/// The most calls under way of a flow that the distribution of latency tells apart.
const DEPTH: u16 = 16;

/// A flow that is before the calling core only.
fn elsewhere(stream: Stream) -> Stream {
    Stream { way: stream.way.saturating_add(stream.service), service: 0, ..stream }
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
        let paced = subject.flow.period.is_some();
        ways.push(Way { strategy: *strategy, estimate, paced, cost: estimate.load });
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
