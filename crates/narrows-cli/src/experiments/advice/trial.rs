//! A workload carried by one strategy for each flow, again and again.

use super::{Assignment, Fit};
use crate::base::failure::Failure;
use crate::base::latencies::Latencies;
use crate::base::options::Global;
use crate::experiments::run::{self, Fared, Outcome, longest};
use crate::formats::strategy::{self, Policy};
use crate::formats::workload::{Flow, Offers, Source, Workload};
use crate::rig::peer::Peer;
use crate::rig::place::{Place, sleep_until};
use crate::rig::sim;
use narrows::endpoint::Node;
use narrows::strategy::{Notification, Strategy};
use narrows_sim::chip::Chip;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Repeats of a whole trial on a chip, each of which begins at another moment of the other core's
/// looks, the requests of the slowest flow in each, and the calls of all flows at most.
const REPEATS: u32 = 6;
const REQUESTS: u32 = 50;
const CALLS: f64 = 1500.0;
/// Bytes that take as long to simulate as a call.
const BYTES: f64 = 1024.0;
/// What a repeat lasts at most where cores look all the time, each look of which is simulated, and
/// the periods of the slowest flow that it has all the same.
const LOOKING: Duration = Duration::from_millis(200);
const LOOKED: u32 = 8;
/// Repeats where a period of the slowest flow, or the time until each has called, has some times as
/// many calls.
const FEW: u32 = 2;
const MANY: f64 = 4.0 * CALLS;
/// How long the first run takes, by whose pace the others are as long as they are, if no flow has a
/// period.
const FIRST: Duration = Duration::from_millis(2);
/// The part of the first repeat that is a glance.
const GLANCE: u32 = 4;
/// The golden ratio's part: repeats begin at moments that are spread evenly.
const SPREAD: f64 = 0.618_033_988_749_895;

/// How much of a trial on a chip is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Extent {
    /// The beginning of the first repeat.
    Glance,
    /// The first repeat.
    Repeat,
    /// All repeats.
    Whole,
}

impl Extent {
    /// Repeats, and what part of the requests each has.
    fn repeats(self) -> (u32, u32) {
        match self {
            Extent::Glance => (1, GLANCE),
            Extent::Repeat => (1, 1),
            Extent::Whole => (REPEATS, 1),
        }
    }
}

/// What was measured of an assignment.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub assignment: Assignment,
    /// What the model gives it.
    pub fit: Fit,
    /// What the flows take of the calling core and of the other one, in percent, in each repeat.
    pub loads: Vec<[f64; 2]>,
    /// What is compared as load: percent of the calling core; where a flow has no period, its
    /// microseconds for a call.
    pub efforts: Vec<f64>,
    /// Of each flow, what 99 of 100 responses take at most since their request was due, in
    /// microseconds.
    pub p99: Vec<f64>,
    /// The sum of that over the flows, in each repeat.
    pub latencies: Vec<f64>,
    /// Responses, and those of them that came after their deadline or never.
    pub received: u64,
    /// What simulating it took, in calls.
    pub work: f64,
    pub late: u64,
    /// The part that came late or never, of each repeat.
    pub lateness: Vec<f64>,
    /// Why a flow could not travel like this.
    pub refused: Option<String>,
    /// Whether repeats differ by what else a machine does.
    pub noisy: bool,
    /// Whether a flow has no period, so that loads are those of a call.
    pub endless: bool,
}

impl Trial {
    pub(super) fn new(assignment: &Assignment, fit: Fit, noisy: bool) -> Trial {
        Trial {
            assignment: assignment.clone(),
            fit,
            loads: Vec::new(),
            efforts: Vec::new(),
            p99: Vec::new(),
            latencies: Vec::new(),
            received: 0,
            work: 0.0,
            late: 0,
            lateness: Vec::new(),
            refused: None,
            noisy,
            endless: false,
        }
    }

    /// Whether all flows have a period, or follow one that has.
    pub fn is_paced(&self) -> bool {
        !self.endless
    }

    /// What is compared as load, in the mean of the repeats.
    pub fn effort(&self) -> f64 {
        self.efforts.iter().sum::<f64>() / self.efforts.len().max(1) as f64
    }

    /// What the flows take of the calling core, in percent.
    pub fn load(&self) -> f64 {
        let all = self.loads.iter().map(|[caller, _]| caller);
        all.sum::<f64>() / self.loads.len().max(1) as f64
    }

    /// Adds what one repeat brought; latencies go to `all`, in the order of the flows.
    fn add(&mut self, workload: &Workload, outcome: &Outcome, all: &mut [Latencies]) {
        let load = outcome.load();
        self.work += calls(workload, outcome);
        let (mut calls, mut latency) = (0, 0.0);
        let before = (self.received, self.late);
        for ((flow, fared), all) in workload.flows.iter().zip(&outcome.flows).zip(all) {
            let figures = match fared {
                Fared::Ran(figures, _) => figures,
                Fared::Refused(why) => {
                    self.refused.get_or_insert_with(|| format!("{}: {why}", flow.name));
                    continue;
                }
            };
            self.received += figures.received;
            self.late += figures.late + figures.sent.saturating_sub(figures.received);
            all.join(&figures.since_due);
            latency += figures.since_due.summary(0.0).p99 / 1e3;
            if is_endless(flow) {
                calls += figures.received;
                self.endless = true;
            }
        }
        let effort = match calls {
            0 => load[0],
            calls => load[0] / 100.0 * outcome.wall.as_secs_f64() * 1e6 / calls as f64,
        };
        let [received, late] = [self.received - before.0, self.late - before.1];
        self.lateness.push(late as f64 / received.max(late).max(1) as f64);
        self.loads.push(load);
        self.efforts.push(effort);
        self.latencies.push(latency);
    }
}

/// The workload with a strategy for each flow.
fn assigned(workload: &Workload, trial: &Trial, repeat: u32) -> Workload {
    let mut made = workload.clone();
    let each = made.flows.iter_mut().zip(&trial.assignment).enumerate();
    for (at, (flow, by)) in each {
        flow.r#static = Some(*by);
        flow.dsp = trial.fit.dsps.get(at).copied().flatten();
        flow.seed = flow.seed.wrapping_add(u64::from(repeat) * 1000);
    }
    made
}

/// For how long a repeat, or such a part of it, runs on a chip if the flows make this many calls a
/// second: the whole workload if flows come and go.
pub(super) fn duration(workload: &Workload, rate: f64, part: u32) -> Duration {
    if workload.is_changing() {
        return workload.duration;
    }
    let calls = CALLS / f64::from(part);
    let most =
        Duration::from_secs_f64((calls / rate.max(1e-6)).min(workload.duration.as_secs_f64()));
    let span = match workload.slowest() {
        Some(slowest) => slowest.saturating_mul(REQUESTS / part).min(most).max(slowest),
        None => most,
    };
    span.max(workload.all_heard().min(workload.duration))
}

/// Tries an assignment on a chip, whose stamps take nothing.
///
/// # Errors
/// The chip cannot be simulated, or a side of it failed.
pub(crate) fn on_chip(
    global: &Global,
    (chip, dsps): (&Chip, u8),
    (workload, offers): (&Workload, &Offers),
    (assignment, fit): (&Assignment, Fit),
    extent: Extent,
) -> Result<Trial, Failure> {
    let (repeats, part) = extent.repeats();
    let callees = usize::from(dsps);
    let needs = sim::Needs {
        longest: longest(workload),
        offers: offers.further(),
        callees,
        ..sim::Needs::default()
    };
    let inputs = workload.inputs()?;
    let looks = assignment.iter().map(strategy::pause).max().unwrap_or_default();
    let mut trial = Trial::new(assignment, fit, false);
    let mut all: Vec<Latencies> = workload.flows.iter().map(|_| Latencies::default()).collect();
    sim::run(global, chip, &needs, |mut peer| {
        // What comes once, such as caches that fill, is no part of it.
        let endless = workload.flows.iter().any(is_endless);
        let first = workload.slowest().filter(|_| !endless).map_or(FIRST, |slowest| slowest * 4);
        let first = Workload { duration: first, ..assigned(workload, &trial, 0) };
        let made = once(&mut peer, (&first, offers), &inputs)?;
        let rate = calls(workload, &made) / made.wall.as_secs_f64();
        let spins = |by: &Strategy| [by.notification, by.at_callee()].contains(&Notification::Spin);
        let mut span = duration(workload, rate, part);
        if assignment.iter().any(spins) && !workload.is_changing() {
            let periods = workload.slowest().unwrap_or_default() * LOOKED;
            span = span.min(LOOKING.max(periods));
        }
        let many = rate * span.as_secs_f64() > MANY;
        let repeats = if many { FEW.min(repeats) } else { repeats };
        for repeat in 0..repeats {
            let part = (f64::from(repeat) * SPREAD).fract();
            rest(&mut peer.node, looks.mul_f64(part));
            let made = Workload { duration: span, ..assigned(workload, &trial, repeat) };
            let outcome = once(&mut peer, (&made, offers), &inputs)?;
            trial.add(&made, &outcome, &mut all);
        }
        Ok(())
    })?;
    trial.p99 = all.iter().map(|one| one.summary(0.0).p99 / 1e3).collect();
    Ok(trial)
}

/// Whether a flow makes its next call as soon as there is room.
fn is_endless(flow: &Flow) -> bool {
    matches!(flow.source, Source::Own { period: None, .. })
}

/// Calls of all flows; long ones count more.
fn calls(workload: &Workload, outcome: &Outcome) -> f64 {
    let of = |(flow, fared): (&Flow, &Fared)| match fared {
        Fared::Ran(figures, _) => {
            let bytes = (flow.request + flow.response) as f64;
            figures.received as f64 * (1.0 + bytes / BYTES)
        }
        Fared::Refused(_) => 0.0,
    };
    workload.flows.iter().zip(&outcome.flows).map(of).sum()
}

fn rest<P: Place>(node: &mut Node<P>, time: Duration) {
    let until = node.platform().time() + time;
    sleep_until(node, until);
}

fn once<P: Place>(
    peer: &mut Peer<P>,
    with: (&Workload, &Offers),
    inputs: &[Option<Vec<i16>>],
) -> Result<Outcome, Failure> {
    let stop = AtomicBool::new(false);
    let outcome = run::once(peer, with, inputs, Policy::Static, &stop)?;
    match outcome.failure {
        Some(failure) => Err(failure),
        None => Ok(outcome),
    }
}

/// Tries assignments between two processes here, in turns: each in every round.
///
/// # Errors
/// The other process is gone.
pub(crate) fn here<P: Place>(
    peer: &mut Peer<P>,
    (workload, offers): (&Workload, &Offers),
    assignments: &[(Assignment, Fit)],
    rounds: u32,
    span: Duration,
    mut step: impl FnMut(),
) -> Result<Vec<Trial>, Failure> {
    let inputs = workload.inputs()?;
    let mut trials: Vec<Trial> =
        assignments.iter().map(|(one, fit)| Trial::new(one, fit.clone(), true)).collect();
    let mut tails: Vec<Vec<Vec<f64>>> =
        trials.iter().map(|_| vec![Vec::new(); workload.flows.len()]).collect();
    for round in 0..rounds {
        for (trial, tails) in trials.iter_mut().zip(&mut tails) {
            let made = Workload { duration: span, ..assigned(workload, trial, round) };
            let outcome = once(peer, (&made, offers), &inputs)?;
            let mut all: Vec<Latencies> =
                workload.flows.iter().map(|_| Latencies::default()).collect();
            trial.add(&made, &outcome, &mut all);
            for (tail, one) in tails.iter_mut().zip(&all) {
                tail.push(one.summary(0.0).p99 / 1e3);
            }
            step();
        }
    }
    for (trial, mut tails) in trials.iter_mut().zip(tails) {
        let median = |one: &mut Vec<f64>| crate::base::statistics::median(one).unwrap_or_default();
        trial.p99 = tails.iter_mut().map(median).collect();
    }
    Ok(trials)
}
