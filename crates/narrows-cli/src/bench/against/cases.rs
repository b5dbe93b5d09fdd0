//! Workloads that are drawn: flows, a strategy, and a pace that the chip can keep.

use crate::strategy::Policy;
use crate::tune::plan::{Least, Machine, Plan, Planner, Subject};
use crate::workload::{Flow, Presence, Source, Work, Workload};
use fastrand::Rng;
use narrows::strategy::{Acknowledgement, Notification, Placement, Strategy, Transfer};
use narrows_tune::model::{self, Phases, estimate, picos};
use std::time::Duration;

/// Requests of the slowest flow, at least.
const REQUESTS: u32 = 400;
/// Requests of it before those that count for what does not come once: every block has been used then.
const BEFORE: u32 = 100;
/// The longest message; of memory that has shorter blocks, those.
pub(super) const LONGEST: u32 = 8192;
/// Bytes of the shortest, which is an order of the function `busy`.
const SHORTEST: f64 = 16.0;
/// Tries to draw flows that the model gives a plan.
const TRIES: usize = 200;

/// A workload that was drawn, and what the model says of it.
pub(super) struct Case {
    pub strategy: Strategy,
    pub workload: Workload,
    pub subjects: Vec<Subject>,
    pub plan: Plan,
    /// Half of the latencies, and 99 of 100, that the model gives each flow, in picoseconds.
    pub middle: Vec<Option<u64>>,
    pub p99: Vec<Option<u64>>,
}

/// A number between two, whose logarithm is drawn evenly.
fn between(random: &mut Rng, least: f64, most: f64) -> f64 {
    (least.ln() + random.f64() * (most.ln() - least.ln())).exp()
}

fn micros(micros: f64) -> Duration {
    Duration::from_nanos((micros * 1e3) as u64)
}

/// A strategy that the machine has memory and an engine for. `trip` is a short call's, in microseconds.
fn strategy(random: &mut Rng, machine: &Machine, trip: f64) -> Strategy {
    let transfers = [Transfer::Copy, Transfer::SingleCopy, Transfer::InPlace, Transfer::CopyEngine];
    let transfer = transfers[random.usize(..if machine.engine { 4 } else { 3 })];
    let acks = [Acknowledgement::Interrupt, Acknowledgement::Lazy, Acknowledgement::Batched];
    let inside = machine.longest[0] > 0 && random.bool();
    let notification = match random.usize(..5) {
        0 => Notification::Interrupt,
        1 => Notification::Spin,
        2 => Notification::Poll { every: micros(between(random, trip / 4.0, trip * 8.0)) },
        3 => Notification::Hybrid { longest: micros(between(random, 10.0, 2000.0)) },
        _ => Notification::Coalesced {
            messages: random.u16(2..=8),
            within: micros(between(random, trip / 4.0, trip * 8.0)),
        },
    };
    Strategy {
        placement: if inside { Placement::Internal } else { Placement::External },
        transfer,
        notification,
        acknowledgement: acks[random.usize(..acks.len())],
        ..Strategy::default()
    }
}

/// Draws flows until the model gives them a plan; none if it never does.
pub(super) fn draw(seed: u64, machine: &Machine) -> Option<Case> {
    let mut random = Rng::with_seed(seed);
    let short = model::Flow { request: 64, response: 64, burst: 1, depth: 1, ..Default::default() };
    let usual = Strategy { notification: Notification::Interrupt, ..Strategy::default() };
    let trip = estimate(&machine.costs, &short, &usual).ok()?.period as f64 / 1e6;
    (0..TRIES).find_map(|_| {
        let strategy = strategy(&mut random, machine, trip);
        let longest = machine.longest[usize::from(strategy.placement == Placement::External)];
        let longest = f64::from(LONGEST.min(longest));
        let count = random.usize(1..=3);
        let flows: Option<Vec<model::Flow>> = (0..count)
            .map(|_| {
                let bytes = |random: &mut Rng| between(random, SHORTEST, longest) as u32;
                let flow = model::Flow {
                    request: bytes(&mut random),
                    response: bytes(&mut random),
                    work: micros(between(&mut random, trip / 20.0, trip * 4.0)),
                    burst: 1,
                    depth: if random.u8(..4) == 0 { 2 } else { 1 },
                    ..model::Flow::default()
                };
                // Some part of the core that has most to do, and no more calls than are answered.
                let made = estimate(&machine.costs, &flow, &strategy).ok()?;
                let part = between(&mut random, 0.05, 0.6) / count as f64;
                let busy = made.blocks.max(made.callee) as f64 / 1e6 / part;
                Some(model::Flow { period: Some(micros(busy)), ..flow })
            })
            .collect();
        planned(flows?, strategy, machine, REQUESTS)
    })
}

/// What the model says of flows; none if it gives them no plan.
pub(super) fn planned(
    flows: Vec<model::Flow>,
    strategy: Strategy,
    machine: &Machine,
    requests: u32,
) -> Option<Case> {
    let named = |(number, flow): (usize, model::Flow)| Subject {
        name: format!("flow-{}", number + 1),
        flow,
        strategies: vec![strategy],
    };
    let subjects: Vec<Subject> = flows.into_iter().enumerate().map(named).collect();
    let planner = Planner::new(machine, &subjects, Least::Load).ok()?;
    let plan = planner.plan().ok()?;
    // A run begins all its flows at once.
    let of = |flow, percent| planner.latency_at(&plan, flow, Phases::Together, percent);
    let at = |percent| (0..subjects.len()).map(|flow| of(flow, percent)).collect();
    let (middle, p99) = (at(50), at(99));
    let workload = workload(&subjects, strategy, requests);
    Some(Case { strategy, workload, plan, middle, p99, subjects })
}

fn workload(subjects: &[Subject], strategy: Strategy, requests: u32) -> Workload {
    let slowest = subjects.iter().filter_map(|one| one.flow.period).max().unwrap_or_default();
    let flow = |one: &Subject| Flow {
        name: one.name.clone(),
        work: Work::Busy(one.flow.work),
        source: Source::Own {
            input: None,
            period: one.flow.period,
            count: None,
            depth: one.flow.depth.into(),
        },
        request: one.flow.request as usize,
        response: one.flow.response as usize,
        deadline: None,
        output: None,
        r#static: None,
        presence: Presence::Always,
    };
    Workload {
        name: "drawn".into(),
        duration: slowest * requests,
        strategies: vec![Policy::Same(strategy)],
        memory: None,
        flows: subjects.iter().map(flow).collect(),
        changes: Vec::new(),
    }
}

impl Case {
    /// Whether the calling core spins, so that it is never idle.
    pub fn spins(&self) -> bool {
        self.strategy.notification == Notification::Spin
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
            self.strategy
        );
        for Subject { name, flow, .. } in &self.subjects {
            text += &format!(
                "[[flow]]\nname = \"{name}\"\nfunction = \"busy\"\nbusy = \"{}ns\"\nrequest = {}\n\
                 response = {}\nperiod = \"{}ns\"\ndepth = {}\n",
                flow.work.as_nanos(),
                flow.request,
                flow.response,
                flow.period.map_or(0, picos) / 1000,
                flow.depth
            );
        }
        text
    }
}

/// The seed of a case.
pub(super) fn seed(all: u64, number: u32) -> u64 {
    Rng::with_seed(all ^ (u64::from(number) << 32)).u64(..)
}
