//! Problems that the model makes of flows whose requests may be cut into parts.

use std::time::Duration;

use fastrand::Rng;
use narrows::strategy::{Notification, Parts, Placement, Strategy};
use narrows_tune::model::{
    Access, Costs, Estimate, Flow, Parameters, Pool, Side, WHOLE, Waits, beside, estimate, picos,
};
use narrows_tune::optimise::{Choice, Delay, Dsp, Group, Slack, Timing};

use super::Drawn;

/// How cores wait, the quickest first.
const NOTIFICATIONS: [Notification; 3] = [
    Notification::Interrupt,
    Notification::Poll { every: Duration::from_millis(5) },
    Notification::Poll { every: Duration::from_millis(20) },
];
const COUNTS: [u16; 7] = [2, 3, 4, 5, 6, 8, 12];
/// The longest block of internal memory.
const LONGEST: usize = 8192;
/// Picoseconds of the unit of time: so long that what HiGHS rounds is less than one of them.
const UNIT: u64 = 100_000_000;
/// The most ways of a flow.
const WAYS: usize = 8;

fn machine(random: &mut Rng) -> Costs {
    let mut side = |request: f64, rate: f64| {
        let access = |rate: f64| Pool::even(Access { write: rate, read: rate, block: 0.0 });
        let rate = rate * (0.1 + random.f64());
        Side {
            request: random.f64() * request,
            interrupt: random.f64() * 80e-6,
            poll: random.f64() * 5e-6,
            look: random.f64() * 5e-6,
            timer: random.f64() * 50e-6,
            internal: access(rate * 0.1),
            external: access(rate),
            ..Side::default()
        }
    };
    let (caller, callee) = (side(500e-6, 2e-7), side(50e-6, 2e-7));
    Parameters { caller, callee, wake: random.f64() * 20e-6, ..Parameters::default() }
        .costs()
        .expect("all of them are times")
}

fn frame(random: &mut Rng) -> Flow {
    Flow {
        period: Some(Duration::from_millis(random.u64(20..200))),
        request: random.u32(1_000..40_000),
        response: random.u32(100..10_000),
        work: Duration::from_micros(random.u64(..5_000)),
        fixed: Duration::from_micros(random.u64(..200)),
        burst: 1,
        depth: 1,
        ..Flow::default()
    }
}

/// Parts that are not longer than a block, as many of them as two blocks hold if `at_once` is 2.
fn fits(flow: &Flow, by: &Strategy) -> bool {
    let long = by.parts.longest(flow.request.max(flow.response) as usize);
    by.placement == Placement::External || long <= LONGEST
}

/// Ways of a flow, half of them in parts if it can be cut at all.
fn ways(random: &mut Rng, costs: &Costs, flow: &Flow) -> Vec<Strategy> {
    let mut all: Vec<Strategy> = Vec::new();
    while all.len() < WAYS {
        let count = COUNTS[random.usize(..COUNTS.len())];
        let cut = Parts { count, at_once: random.u16(1..=2) };
        let by = Strategy {
            placement: if random.bool() { Placement::Internal } else { Placement::External },
            notification: NOTIFICATIONS[random.usize(..NOTIFICATIONS.len())],
            parts: if all.len().is_multiple_of(2) { Parts::WHOLE } else { cut },
            ..Strategy::default()
        };
        // In parts that take longer than the period nothing would keep pace.
        let made = estimate(costs, flow, &by).expect("flows and strategies are possible");
        let slow = by.parts != Parts::WHOLE && made.latency.aligned > flow.period.map_or(0, picos);
        if !slow && fits(flow, &by) {
            all.push(by);
        } else if by.parts != Parts::WHOLE && random.u8(..8) == 0 {
            all.push(Strategy { placement: Placement::External, parts: Parts::WHOLE, ..by });
        }
    }
    all
}

fn place(how: Notification) -> u16 {
    NOTIFICATIONS.iter().position(|one| *one == how).unwrap_or_default() as u16
}

/// What a way means for deadlines where the core waits so. Times are rounded to what is worse.
fn timing(made: &Estimate, flow: &Flow) -> Timing {
    let units = |delay: Delay| Delay {
        most: delay.most.div_ceil(UNIT),
        lasting: delay.lasting.div_ceil(UNIT),
        rate: 0,
    };
    let [here, elsewhere] = made.delays(true).map(units);
    let slack = Slack {
        bound: made.latency.bound.div_ceil(UNIT),
        alone: made.latency.bound.saturating_sub(made.once[0] + made.once[1]).div_ceil(UNIT),
        deadline: flow.deadline.map_or(u64::MAX, |time| picos(time) / UNIT),
        pace: flow.period.map_or(u64::MAX, |time| picos(time) / UNIT),
        ..Slack::default()
    };
    Timing { here, elsewhere, slack }
}

/// Flows with long requests, and little memory that is quick.
pub fn draw(number: u64) -> Drawn {
    let mut random = Rng::with_seed(u64::MAX / 2 - number);
    let costs = machine(&mut random);
    let mut drawn = Drawn { ways: NOTIFICATIONS.len() as u16, ..Drawn::default() };
    let count = drawn.ways;
    drawn.joined = (0..count).flat_map(|one| (0..count).map(move |other| one.min(other))).collect();
    for _ in 0..random.u16(2..=4) {
        let mut flow = frame(&mut random);
        let all = ways(&mut random, &costs, &flow);
        let of = |by: &Strategy, flow: &Flow| estimate(&costs, flow, by).expect("as above");
        let bound = of(&all[random.usize(..all.len())], &flow).latency.bound;
        let late = bound + random.u64(bound / 2..5 * bound);
        flow.deadline = (random.u8(..3) > 0).then(|| Duration::from_nanos(late / 1000));
        let first = drawn.choices.len() as u32;
        let flows = random.u16(1..=2);
        drawn.groups.push(Group { first, choices: all.len() as u16, flows, dsp: None });
        for by in &all {
            let Estimate { load, work, memory, buffers, .. } = of(by, &flow);
            drawn.choices.push(Choice { cost: load, memory, work, load });
            drawn.cut.push(by.parts != Parts::WHOLE);
            drawn.own.push(place(by.notification));
            drawn.needs.push(if by.placement == Placement::Internal { buffers } else { 0 });
            for way in 0..count {
                let how = NOTIFICATIONS[usize::from(way.min(place(by.notification)))];
                let soonest = Waits { caller: how, callee: how };
                let made = beside(&costs, &flow, by, soonest).expect("as above");
                drawn.timings.push(timing(&made, &flow));
            }
        }
    }
    let dsps = 1 + (number % 4) as usize;
    let dsp = |_| Dsp { memory: random.u32(..40_000) / dsps as u32, work: WHOLE };
    drawn.dsps = (0..dsps).map(dsp).collect();
    drawn.there = vec![random.u32(1..8)];
    drawn.load = if random.u8(..4) == 0 { random.u64(20_000..400_000) } else { u64::MAX };
    drawn
}
