//! Workloads that are drawn: flows, their strategies, and a pace that the chip can keep.

use crate::formats::functions::cost::Costs;
use crate::formats::strategy::Policy;
use crate::formats::workload::{Flow, Presence, Source, Work, Workload};
use crate::rig::plan::{Least, Machine, Plan, Planner, Subject};
use fastrand::Rng;
use narrows::strategy::{Acknowledgement, Notification, Placement, Strategy, Transfer};
use narrows_tune::model::{self, Phases, estimate, picos};
use std::time::Duration;

/// Requests of the slowest flow, at least.
const REQUESTS: u32 = 400;
/// Requests of it before those that count for what does not come once: every block has been used
/// then.
const BEFORE: u32 = 100;
/// The longest message; of memory that has shorter blocks, those.
pub(super) const LONGEST: u32 = 8192;
/// Bytes of the shortest, which is an order of the function `busy`.
const SHORTEST: f64 = 16.0;
/// Tries to draw flows that the model gives a plan.
const TRIES: usize = 200;

/// A workload that was drawn, and what the model says of it.
pub(super) struct Case {
    /// One for all flows, or each its own.
    pub policy: Policy,
    pub workload: Workload,
    pub subjects: Vec<Subject>,
    pub plan: Plan,
    /// Time of the calling core that the model gives all flows together, in parts per million.
    pub load: Option<u32>,
    /// Half of the latencies, and 99 of 100, that the model gives each flow, in picoseconds.
    pub middle: Vec<Option<u64>>,
    pub p99: Vec<Option<u64>>,
}

/// A number between two, whose logarithm is drawn evenly.
pub(in crate::experiments::bench) fn between(random: &mut Rng, least: f64, most: f64) -> f64 {
    (least.ln() + random.f64() * (most.ln() - least.ln())).exp()
}

pub(in crate::experiments::bench) fn micros(micros: f64) -> Duration {
    Duration::from_nanos((micros * 1e3) as u64)
}

/// How one side learns of messages. `trip` is a short call's, in microseconds. A flow that has the
/// core spin does so for `all`.
fn notification(random: &mut Rng, trip: f64, all: bool) -> Notification {
    match random.usize(..if all { 5 } else { 4 }) {
        0 => Notification::Interrupt,
        1 => Notification::Poll { every: micros(between(random, trip / 4.0, trip * 8.0)) },
        2 => Notification::Hybrid { longest: micros(between(random, 10.0, 2000.0)) },
        3 => Notification::Coalesced {
            messages: random.u16(2..=8),
            within: micros(between(random, trip / 4.0, trip * 8.0)),
        },
        _ => Notification::Spin,
    }
}

/// A strategy that the machine has memory and an engine for, for one flow or for `all`. What
/// callees draw with, if they learn of requests in ways of their own, is no other's.
fn strategy(
    random: &mut Rng,
    callees: Option<&mut Rng>,
    machine: &Machine,
    trip: f64,
    all: bool,
) -> Strategy {
    let transfers = [Transfer::Copy, Transfer::SingleCopy, Transfer::InPlace, Transfer::CopyEngine];
    let transfer = transfers[random.usize(..if machine.engine { 4 } else { 3 })];
    let acks = [Acknowledgement::Interrupt, Acknowledgement::Lazy, Acknowledgement::Batched];
    let inside = machine.longest[0] > 0 && random.bool();
    let notification = notification(random, trip, all);
    Strategy {
        placement: if inside { Placement::Internal } else { Placement::External },
        transfer,
        notification,
        callee: callees.map(|random| self::notification(random, trip, false)),
        acknowledgement: acks[random.usize(..acks.len())],
        ..Strategy::default()
    }
}

/// Draws flows until the model gives them a plan; none if it never does.
pub(super) fn draw(seed: u64, machine: &Machine, callees: bool) -> Option<Case> {
    let mut random = Rng::with_seed(seed);
    let mut apart = callees.then(|| Rng::with_seed(!seed));
    let short = model::Flow { request: 64, response: 64, burst: 1, depth: 1, ..Default::default() };
    let usual = Strategy { notification: Notification::Interrupt, ..Strategy::default() };
    let trip = estimate(&machine.costs, &short, &usual).ok()?.period as f64 / 1e6;
    (0..TRIES).find_map(|_| {
        let count = random.usize(1..=3);
        let alike = random.bool();
        let first = strategy(&mut random, apart.as_mut(), machine, trip, alike || count == 1);
        let alike = alike || count == 1;
        let flows: Option<Vec<_>> = (0..count)
            .map(|_| {
                let by = match alike {
                    true => first,
                    false => strategy(&mut random, apart.as_mut(), machine, trip, false),
                };
                flow(&mut random, machine, by, trip, count)
            })
            .collect();
        let flows = flows?;
        // One that has two requests in a message has a strategy of its own.
        let same = alike && flows.iter().all(|(_, by)| *by == first);
        let policy = if same { Policy::Same(first) } else { Policy::Static };
        planned(flows, policy, machine, REQUESTS)
    })
}

/// A flow by a strategy, which may become one with several requests in a message; none if the model
/// has no answer for it.
fn flow(
    random: &mut Rng,
    machine: &Machine,
    by: Strategy,
    trip: f64,
    count: usize,
) -> Option<(model::Flow, Strategy)> {
    let one_in = |random: &mut Rng, many: u8| random.u8(..many) == 0;
    let burst = if one_in(random, 4) { random.u16(2..=4) } else { 1 };
    let depth = if one_in(random, 3) { random.u16(2..=4) } else { 1 };
    // As many as can be under way at once, and come at once if the flow has bursts.
    let spins = by.notification == Notification::Spin;
    let together = match random.u16(1..=2) {
        _ if spins => 1,
        2 if depth > 1 && burst % 2 == 0 || burst == 1 && depth == 4 => 2,
        _ => 1,
    };
    let by = Strategy { granularity: together, ..by };
    let longest = machine.longest[usize::from(by.placement == Placement::External)];
    let longest = f64::from(LONGEST.min(longest)) / f64::from(together);
    let bytes = |random: &mut Rng| between(random, SHORTEST, longest - 8.0) as u32;
    let flow = model::Flow {
        request: bytes(random),
        response: bytes(random),
        work: micros(between(random, trip / 20.0, trip * 4.0)),
        burst,
        depth,
        ..model::Flow::default()
    };
    // Some part of the core that has most to do, and no more calls than are answered.
    let made = estimate(&machine.costs, &flow, &by).ok()?;
    let part = between(random, 0.05, 0.6) / count as f64;
    let busy = made.blocks.max(made.callee) as f64 / 1e6 / part;
    let period = micros(busy * f64::from(burst) / f64::from(together));
    let jitter =
        if one_in(random, 3) { period.mul_f64(random.f64() / 2.0) } else { Duration::ZERO };
    Some((model::Flow { period: Some(period), jitter, ..flow }, by))
}

/// What the model says of flows, each by its strategy; none if it gives them no plan.
pub(super) fn planned(
    flows: Vec<(model::Flow, Strategy)>,
    policy: Policy,
    machine: &Machine,
    requests: u32,
) -> Option<Case> {
    let named = |(number, (flow, by)): (usize, (model::Flow, Strategy))| Subject {
        name: format!("flow-{}", number + 1),
        flow,
        strategies: vec![by],
    };
    let subjects: Vec<Subject> = flows.into_iter().enumerate().map(named).collect();
    let planner = Planner::new(machine, &subjects, Least::Load).ok()?;
    let plan = planner.plan().ok()?;
    // A run begins all its flows at once.
    let load = planner.load_together(&plan, Phases::Together);
    let each = (0..subjects.len()).map(|flow| planner.queued(&plan, flow, Phases::Together));
    let each = each.map(|queued| queued.map(|queued| (queued.at(50), queued.at(99))));
    let (middle, p99) = each.map(Option::unzip).unzip();
    let workload = workload(&subjects, policy, requests);
    Some(Case { policy, workload, plan, load, middle, p99, subjects })
}

fn workload(subjects: &[Subject], policy: Policy, requests: u32) -> Workload {
    let slowest = subjects.iter().filter_map(|one| one.flow.period).max().unwrap_or_default();
    let flow = |one: &Subject| Flow {
        name: one.name.clone(),
        work: Work::Busy(one.flow.work),
        cost: Costs::Unsaid,
        source: Source::Own {
            input: None,
            period: one.flow.period,
            jitter: one.flow.jitter,
            burst: one.flow.burst,
            count: None,
            depth: one.flow.depth.into(),
            recorded: None,
        },
        request: one.flow.request as usize,
        response: one.flow.response as usize,
        parts: 1,
        deadline: None,
        output: None,
        r#static: one.strategies.first().copied(),
        presence: Presence::Always,
        seed: 1,
        dsp: None,
    };
    Workload {
        name: "drawn".into(),
        duration: slowest * requests,
        strategies: vec![policy],
        memory: None,
        flows: subjects.iter().map(flow).collect(),
        changes: Vec::new(),
    }
}

impl Case {
    /// Whether the calling core spins, so that it is never idle.
    pub fn spins(&self) -> bool {
        matches!(self.policy, Policy::Same(by) if by.notification == Notification::Spin)
    }

    /// The strategy of each flow, or that of all.
    pub fn strategies(&self) -> Vec<String> {
        match self.policy {
            Policy::Same(by) => vec![by.to_string()],
            _ => self.plan.given.iter().map(|one| one.way.strategy.to_string()).collect(),
        }
    }

    /// How long it runs before what counts for load and percentile.
    pub fn before(&self) -> Duration {
        let slowest = self.subjects.iter().filter_map(|one| one.flow.period).max();
        slowest.unwrap_or_default() * BEFORE
    }

    /// The median latency of the first flow, in milliseconds.
    pub fn median(&self) -> Option<f64> {
        self.middle.first().copied().flatten().map(|picos| picos as f64 / 1e9)
    }

    /// The flows as a workload file has them.
    pub fn file(&self) -> String {
        let mut text = format!(
            "duration = \"{}ns\"\nstrategy = \"{}\"\n",
            self.workload.duration.as_nanos(),
            self.policy
        );
        for Subject { name, flow, strategies } in &self.subjects {
            text += &format!(
                "[[flow]]\nname = \"{name}\"\nfunction = \"busy\"\nbusy = \"{}ns\"\nrequest = {}\n\
                 response = {}\nperiod = \"{}ns\"\ndepth = {}\n",
                flow.work.as_nanos(),
                flow.request,
                flow.response,
                flow.period.map_or(0, picos) / 1000,
                flow.depth
            );
            if flow.burst > 1 {
                text += &format!("burst = {}\n", flow.burst);
            }
            if !flow.jitter.is_zero() {
                text += &format!("jitter = \"{}ns\"\n", flow.jitter.as_nanos());
            }
            if let (Policy::Static, Some(by)) = (self.policy, strategies.first()) {
                text += &format!("static = \"{by}\"\n");
            }
        }
        text
    }
}

/// The seed of a case.
pub(in crate::experiments::bench) fn seed(all: u64, number: u32) -> u64 {
    Rng::with_seed(all ^ (u64::from(number) << 32)).u64(..)
}
