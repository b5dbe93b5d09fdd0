//! Workloads that are drawn: flows at a pace that the machine can keep, some with deadlines.

use crate::experiments::bench::against::cases::{between, micros};
use crate::formats::functions::cost::Costs;
use crate::formats::strategy::Policy;
use crate::formats::workload::{Flow, Presence, Source, Work, Workload};
use crate::rig::plan::{Least, Machine, Planner, Subject, subjects};
use fastrand::Rng;
use narrows::strategy::{Notification, Strategy};
use narrows_tune::model::{self, estimate};
use std::time::Duration;

/// The shortest and the longest message in bytes: the shortest is an order of the function `busy`.
const BYTES: [f64; 2] = [16.0, 8192.0];
/// Tries to draw flows that the model gives a plan.
const TRIES: usize = 200;
/// How long a trial runs at most: a trial itself stops after some requests.
const LONG: Duration = Duration::from_secs(3600);

/// A workload that was drawn, as the model has it.
pub(super) struct Case {
    pub workload: Workload,
    pub subjects: Vec<Subject>,
}

/// The flows with the strategies that are proposed for an objective.
pub(super) fn allowed(subjects: &[Subject], least: Least) -> Vec<Subject> {
    let spins = |by: &Strategy| by.notification == Notification::Spin;
    let of = |subject: &Subject| subject.among(|by| least == Least::Latency || !spins(by));
    subjects.iter().map(of).collect()
}

/// Draws flows, of which there are at most `flows`, until the model gives them a plan for either
/// objective; none if it never does. `longest` bounds periods, where time is not virtual.
pub(super) fn draw(seed: u64, machine: &Machine, flows: usize, longest: Duration) -> Option<Case> {
    let mut random = Rng::with_seed(seed);
    let short = model::Flow { request: 64, response: 64, burst: 1, depth: 1, ..Default::default() };
    let usual = Strategy { notification: Notification::Interrupt, ..Strategy::default() };
    let trip = estimate(&machine.costs, &short, &usual).ok()?.period as f64 / 1e6;
    (0..TRIES).find_map(|_| {
        let count = random.usize(1..=flows);
        let flows: Option<Vec<Flow>> =
            (0..count).map(|number| flow(&mut random, machine, trip, number, count)).collect();
        let flows = flows?;
        let workload = Workload {
            name: "drawn".into(),
            duration: LONG,
            strategies: vec![Policy::Static],
            memory: None,
            flows,
            changes: Vec::new(),
        };
        if workload.slowest() > Some(longest) {
            return None;
        }
        let subjects = subjects::subjects(&workload, None, &[], true).ok()?;
        let planned = [Least::Load, Least::Latency].iter().all(|least| {
            let subjects = allowed(&subjects, *least);
            Planner::new(machine, &subjects, *least).is_ok_and(|it| it.plan().is_ok())
        });
        planned.then_some(Case { workload, subjects })
    })
}

fn flow(
    random: &mut Rng,
    machine: &Machine,
    trip: f64,
    number: usize,
    count: usize,
) -> Option<Flow> {
    let one_in = |random: &mut Rng, many: u8| random.u8(..many) == 0;
    let burst = if one_in(random, 4) { random.u16(2..=4) } else { 1 };
    let depth = if one_in(random, 3) { random.u16(2..=4) } else { 1 };
    let longest = f64::from(machine.longest[1]).min(BYTES[1]);
    let bytes = |random: &mut Rng| between(random, BYTES[0], longest - 8.0) as u32;
    let made = model::Flow {
        request: bytes(random),
        response: bytes(random),
        work: micros(between(random, trip / 20.0, trip * 4.0)),
        burst,
        depth,
        ..model::Flow::default()
    };
    let usual = Strategy { notification: Notification::Interrupt, ..Strategy::default() };
    // Some part of the core that has most to do.
    let taken = estimate(&machine.costs, &made, &usual).ok()?;
    let part = between(random, 0.02, 0.6) / count as f64;
    let busy = taken.blocks.max(taken.callee) as f64 / 1e6 / part;
    let period = micros(busy * f64::from(burst));
    let jitter =
        if one_in(random, 3) { period.mul_f64(random.f64() / 2.0) } else { Duration::ZERO };
    let deadline = one_in(random, 2).then(|| period.mul_f64(between(random, 0.5, 4.0)));
    Some(Flow {
        name: format!("flow-{}", number + 1),
        work: Work::Busy(made.work),
        cost: Costs::Unsaid,
        source: Source::Own {
            input: None,
            period: Some(period),
            jitter,
            burst,
            count: None,
            depth: depth.into(),
            recorded: None,
        },
        request: made.request as usize,
        response: made.response as usize,
        deadline,
        output: None,
        parts: 1,
        r#static: None,
        presence: Presence::Always,
        seed: number as u64 + 1,
        dsp: None,
    })
}
