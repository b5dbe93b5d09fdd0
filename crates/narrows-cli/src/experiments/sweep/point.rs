//! One point of a sweep over links: both sides on its chip, its traffic by its strategy.

use super::file::Traffic;
use crate::base::failure::{Failure, Kind};
use crate::base::latencies::Latencies;
use crate::base::options::{Cores, Global};
use crate::base::statistics::{Summary, median};
use crate::base::table::one_line;
use crate::experiments::run::{self, Fared, Outcome};
use crate::formats::strategy::Policy;
use crate::formats::workload::{Offers, Workload};
use crate::rig::pair::Pair;
use crate::rig::peer::Peer;
use crate::rig::sim::{self, Needs};
use narrows::strategy::Strategy;
use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::time::Time;
use std::sync::atomic::{AtomicBool, Ordering};

/// Calls before those that are measured: they fill caches, and the stack's own state settles.
const WARM_UP: u64 = 16;

/// Columns behind the keys, and those of figures, with why there are none.
pub(super) const BEHIND: [&str; 4] = ["strategy", "workload", "flow", "bytes"];
pub(super) const FIGURES: [&str; 13] = [
    "refused",
    "calls",
    "rtt_min_ns",
    "rtt_median_ns",
    "rtt_mean_ns",
    "rtt_p99_ns",
    "rtt_max_ns",
    "caller_percent",
    "callee_percent",
    "calls_per_second",
    "bytes_per_second",
    "end_ns",
    "hash",
];

/// How one flow fared at a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Figures {
    /// What the flow belongs to.
    pub workload: String,
    pub flow: String,
    /// Of a request.
    pub bytes: usize,
    /// Why it could not run; then all but the last two are nothing.
    refused: Option<String>,
    calls: u64,
    /// Smallest, median, mean, 99th percentile and largest round trip in nanoseconds.
    trips: [f64; 5],
    /// Of the caller's core and of the callee's, in percent.
    load: [f64; 2],
    calls_per_second: f64,
    bytes_per_second: f64,
    /// When the simulation ended.
    end: Time,
    /// Of all stores.
    hash: u64,
}

impl Figures {
    /// Cells of a row, in the order of the columns. Of round trips, the smallest, the mean and the
    /// largest are exact.
    pub fn cells(&self, strategy: Strategy) -> Vec<String> {
        let figure = |value: &f64| format!("{value:.3}");
        let mut cells = vec![strategy.to_string(), self.workload.clone(), self.flow.clone()];
        cells.push(self.bytes.to_string());
        cells.extend(match &self.refused {
            Some(why) => {
                let mut cells = vec![one_line(why)];
                cells.resize(11, String::new());
                cells
            }
            None => {
                let mut cells = vec![String::new(), self.calls.to_string()];
                cells.extend(self.trips.iter().chain(&self.load).map(figure));
                cells.extend([&self.calls_per_second, &self.bytes_per_second].map(figure));
                cells
            }
        });
        cells.push(format!("{}.{:03}", self.end.0 / 1000, self.end.0 % 1000));
        cells.push(format!("{:016x}", self.hash));
        cells
    }

    /// Sets what is told by the round trips, less what stamps took of each.
    fn measured(&mut self, trips: &Latencies, deducted: f64) {
        let Summary { median, p99, max, .. } = trips.summary(deducted);
        let (min, mean) = trips.least_and_mean(deducted);
        self.trips = [min, median, mean, p99, max];
    }
}

/// Simulates a point: a row's figures for each of its flows. None if it was stopped.
///
/// # Errors
/// The simulation got stuck, or a link broke.
pub(super) fn simulate(
    global: &Global,
    chip: &Chip,
    (strategy, traffic): (Strategy, &Traffic),
    stop: &AtomicBool,
) -> Result<Option<Vec<Figures>>, Failure> {
    let cores = sim::cores(global, chip)?;
    let (longest, offered) = match traffic {
        Traffic::Calls { bytes, .. } => (*bytes, Offers::default()),
        Traffic::Workload { workload, .. } => {
            (run::longest(workload), Offers::new(workload, Some(&chip.name))?)
        }
    };
    let needs = Needs { longest, offers: offered.further(), ..Needs::default() };
    let (mut all, outcome) = sim::simulate(global, chip, &needs, |mut peer| match traffic {
        Traffic::Calls { bytes, count } => {
            let calls = Calls { cores, strategy, bytes: *bytes, count: *count };
            calls.make(peer, stop).map(|one| vec![one])
        }
        Traffic::Workload { workload, inputs } => {
            let policy = Policy::Same(strategy);
            let outcome = run::once(&mut peer, (workload, &offered), inputs, policy, stop)?;
            figures(workload, &offered, outcome)
        }
    })?;
    for one in &mut all {
        (one.end, one.hash) = (outcome.end, outcome.hash);
    }
    Ok((!stop.load(Ordering::Relaxed)).then_some(all))
}

/// Calls of `echo`, one after the other.
struct Calls {
    cores: Cores,
    strategy: Strategy,
    bytes: usize,
    count: u64,
}

impl Calls {
    fn make(&self, peer: Peer<Cpu>, stop: &AtomicBool) -> Result<Figures, Failure> {
        let Calls { cores, strategy, bytes, count } = *self;
        let mut one =
            Figures { workload: "calls".into(), flow: "echo".into(), bytes, ..Figures::default() };
        let mut pair = Pair::new(peer, bytes)?;
        match pair.check(strategy, bytes) {
            Ok(()) => {}
            Err(failure) if failure.kind == Kind::Usage => {
                one.refused = Some(failure.to_string());
                return Ok(one);
            }
            Err(failure) => return Err(failure),
        }
        let cpu = pair.peer.node.platform().clone();
        let busy = || [cores.caller, cores.callee].map(|core| cpu.busy_on(core));
        let flow = pair.echo(strategy)?;
        for number in 0..WARM_UP {
            pair.trip(flow, &strategy, number, bytes)?;
        }
        let (start, used) = (cpu.time(), busy());
        let mut trips = Latencies::default();
        for number in 0..count {
            if stop.load(Ordering::Relaxed) {
                return Ok(one);
            }
            let began = cpu.time();
            pair.trip(flow, &strategy, number, bytes)?;
            trips.push(cpu.time().since(began).0 as f64 / 1e3);
        }
        let (took, now) = (cpu.time().since(start), busy());
        pair.intact(bytes)?;
        pair.close(flow, strategy)?;
        let took = took.0 as f64;
        let load = |(now, before): (Time, Time)| 100.0 * now.since(before).0 as f64 / took;
        one.calls = count;
        one.measured(&trips, 0.0);
        one.load = [load((now[0], used[0])), load((now[1], used[1]))];
        one.calls_per_second = count as f64 / (took / 1e12);
        one.bytes_per_second = one.calls_per_second * 2.0 * bytes as f64;
        Ok(one)
    }
}

/// The figures of a workload's flows, as `narrows run` has them.
fn figures(
    workload: &Workload,
    offers: &Offers,
    outcome: Outcome,
) -> Result<Vec<Figures>, Failure> {
    let load = outcome.load();
    let Outcome { flows, wall, failure, .. } = outcome;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let seconds = wall.as_secs_f64();
    let each = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
    let mut all = Vec::new();
    for (number, (flow, fared)) in workload.flows.iter().zip(flows).enumerate() {
        let mut one = Figures {
            workload: workload.name.clone(),
            flow: flow.name.clone(),
            bytes: flow.request,
            load,
            ..Figures::default()
        };
        match fared {
            Fared::Refused(why) => one.refused = Some(why),
            Fared::Ran(ran, calls) => {
                if let (Some(offer), 1..) = (offers.get(number), ran.wrong) {
                    return Err(offer.body.differs(ran.wrong));
                }
                let stamps = median(&mut calls.iter().map(|call| call.stamps).collect::<Vec<_>>());
                one.calls = ran.received;
                one.measured(&ran.rtt, stamps.unwrap_or(0.0));
                one.calls_per_second = each(ran.received as f64);
                one.bytes_per_second = one.calls_per_second * (flow.request + flow.response) as f64;
            }
        }
        all.push(one);
    }
    Ok(all)
}
