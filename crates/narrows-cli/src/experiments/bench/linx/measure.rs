//! What is measured of a test case.

use std::collections::BTreeMap;

use narrows_sim::chip::Chip;
use narrows_sim::engine::Settings;
use narrows_sim::time::Time;
use serde::Serialize;

use super::SHORTEST_FRAME;
use super::account::{Did, Queues};
use super::at_once::AtOnce;
use super::cases;
use super::cases::{Measured, Sent, Traffic};
use super::core::Setup;
use super::spread::{Spread, rounded};
use crate::base::failure::Failure;
use crate::base::statistics::jitter;
use crate::base::usage::Monitor;
use crate::formats::linx::{Counter, DriverName, Stack};
use crate::rig::linx::side::Purpose;

/// A test case of S4 section 3.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Latency,
    Interference,
    Burst,
    Throughput,
    Pairs,
    OneAsks,
    AllAsk,
}

/// How often t0 asks: S4 took 10 measurements.
const ROUNDS: u32 = 10;
/// Signals of a burst.
const SIGNALS: u32 = 100;
/// Files of t3.
const FILES: u32 = 8;
/// The log of t1.
const LOG: usize = 1500;
/// What a frame has more room for than the longest signal has bytes, where nothing else is said.
const HEADERS: usize = 44;
/// The longest frame that is chosen where nothing is said.
const LONGEST_FRAME: usize = 2048;

impl Case {
    /// The sizes that S4 presents.
    pub fn sizes(self) -> Vec<usize> {
        match self {
            Case::Interference | Case::Burst => vec![32],
            Case::Throughput => vec![65000],
            Case::Pairs | Case::OneAsks | Case::AllAsk => vec![32, 128],
            Case::Latency => vec![16, 32, 64, 128, 256, 512, 1024],
        }
    }

    /// Requests, or signals of a burst, where nothing else is asked for.
    pub fn usual_rounds(self) -> u32 {
        match self {
            Case::Burst => SIGNALS,
            Case::Throughput => FILES,
            _ => ROUNDS,
        }
    }

    pub fn flows(self, cores: usize) -> Vec<(usize, usize)> {
        match self {
            Case::Pairs => (0..cores.max(2) / 2).map(|pair| (pair * 2, pair * 2 + 1)).collect(),
            Case::OneAsks => (1..cores.max(2)).map(|other| (0, other)).collect(),
            Case::AllAsk => (1..cores.max(2)).map(|other| (other, 0)).collect(),
            _ => vec![(0, 1)],
        }
    }
}

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    pub case: Case,
    pub driver: DriverName,
    pub stack: Stack,
    pub counter: Option<Counter>,
    pub bytes: usize,
    /// Bytes of the longest frame; chosen if there is none.
    pub mtu: Option<usize>,
    pub cached: bool,
    /// Whether the link handler is stopped while a burst is sent.
    pub stopped: bool,
    pub rounds: Option<u32>,
    /// Bytes of the log of t1, where that is to have another length.
    pub log: Option<usize>,
}

impl Trial {
    /// Bytes of the log, if one is asked for.
    fn log(&self) -> usize {
        if self.case == Case::Interference { self.log.unwrap_or(LOG) } else { 0 }
    }

    /// Bytes of the longest frame that an area has room for.
    fn area(&self) -> usize {
        let longest = self.bytes.max(self.log()) + HEADERS;
        let usual = if self.stack == Stack::Flat { longest } else { longest.min(LONGEST_FRAME) };
        self.mtu.unwrap_or(usual).max(SHORTEST_FRAME).next_multiple_of(4)
    }
}

/// What came of a trial.
pub(crate) struct Results {
    measured: Measured,
    hertz: f64,
}

/// Carries a trial out, which the monitor looks at if there is one.
///
/// # Errors
/// As [`cases::run`].
pub(crate) fn carry_out(
    chip: &Chip,
    trial: &Trial,
    monitor: Option<&Monitor>,
) -> Result<Results, Failure> {
    carry_out_under(chip, trial, Settings::default(), monitor)
}

fn carry_out_under(
    chip: &Chip,
    trial: &Trial,
    settings: Settings,
    monitor: Option<&Monitor>,
) -> Result<Results, Failure> {
    let traffic = match trial.case {
        Case::Burst => Traffic::Burst {
            signals: trial.rounds.unwrap_or(trial.case.usual_rounds()),
            stopped: trial.stopped && trial.stack == Stack::Layered,
        },
        Case::Throughput => Traffic::Burst {
            signals: trial.rounds.unwrap_or(trial.case.usual_rounds()),
            stopped: trial.stack == Stack::Layered,
        },
        _ => {
            let rounds = trial.rounds.unwrap_or(trial.case.usual_rounds());
            Traffic::Requests { rounds, log: trial.log() }
        }
    };
    let setup = Setup { driver: trial.driver, stack: trial.stack, counter: trial.counter };
    let run = cases::Run {
        setup,
        traffic,
        bytes: trial.bytes,
        mtu: trial.area(),
        cached: trial.cached,
        flows: trial.case.flows(chip.cores.len()),
        instrumented: true,
        settings,
        monitor: monitor.cloned(),
    };
    let hertz = chip.cores.first().map_or(1.0, |core| core.clock.0 as f64);
    Ok(Results { measured: cases::run(chip, &run)?, hertz })
}

/// Cycles that cores were busy.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct CpuCycles {
    /// The sending core, from send until the signal was received: the median.
    pub sender: f64,
    /// The receiving core, likewise.
    pub receiver: f64,
    /// All of the run, by core and layer.
    pub layers: Vec<BTreeMap<&'static str, f64>>,
}

/// A simulated core, in the whole run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CoreRow {
    pub interrupts: u64,
    pub bus_wait_cycles: f64,
    pub longest_queue: Queues,
}

/// What a simulated core did until a signal was received.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Meanwhile {
    pub busy_cycles: f64,
    pub layers: BTreeMap<&'static str, f64>,
    pub interrupts: u64,
    pub bus_wait_cycles: f64,
}

/// One signal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Single {
    /// Since the first signal of the run was sent.
    pub sent_cycles: f64,
    pub blocking_cycles: f64,
    pub latency_cycles: f64,
    /// Since the receive before it returned; none of the first that was received.
    pub deliver_difference_cycles: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<Meanwhile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<Meanwhile>,
}

/// A flow's signals of one purpose.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Row {
    pub driver: &'static str,
    pub stack: &'static str,
    pub counter: Option<&'static str>,
    pub cached: bool,
    /// Of `--mtu`; none where nothing was asked for.
    pub mtu: Option<usize>,
    pub signal: &'static str,
    pub from: usize,
    pub to: usize,
    pub bytes: usize,
    pub latency_cycles: Spread,
    pub blocking_cycles: Spread,
    pub deliver_difference_cycles: Spread,
    pub jitter_cycles: Spread,
    /// From a request's send until its reply was received.
    pub round_trip_cycles: Option<Spread>,
    pub total_cycles: f64,
    pub cpu_cycles: CpuCycles,
    pub throughput_mbit_s: f64,
    /// What is known of each core of a simulated chip beside [`CpuCycles::layers`].
    pub cores: Vec<CoreRow>,
    /// Each signal, in the order of sending.
    pub signals: Vec<Single>,
    /// Of requests of t0 on a host: round trips that follow each other at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_once: Option<AtOnce>,
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Purpose::Request => "request",
            Purpose::Reply => "reply",
            Purpose::LogRequest => "log request",
            Purpose::Log => "log",
            Purpose::Burst => "burst",
            Purpose::Confirmation => "confirmation",
        }
    }
}

impl Results {
    /// What was measured, on cores of such a clock.
    pub(super) fn new(measured: Measured, hertz: f64) -> Results {
        Results { measured, hertz }
    }

    fn cycles(&self, time: Time) -> f64 {
        rounded(time.micros() * self.hertz / 1e6)
    }

    fn of(&self, purpose: Purpose) -> impl Iterator<Item = &Sent> {
        self.measured.signals.iter().filter(move |one| one.purpose == purpose)
    }

    /// The median of a request's figure, or of a burst's.
    pub fn request(&self, figure: impl Fn(&Row) -> f64, trial: &Trial) -> f64 {
        self.rows(trial).first().map_or(f64::NAN, figure)
    }

    /// How long requests blocked their senders that came just behind one for a log, and the others.
    pub fn requests_blocked(&self, beside: bool) -> Spread {
        let mut before = None;
        let mut found = Vec::new();
        for one in &self.measured.signals {
            if one.purpose == Purpose::Request && (before == Some(Purpose::LogRequest)) == beside {
                found.push(self.cycles(one.returned.since(one.sent)));
            }
            if matches!(one.purpose, Purpose::Request | Purpose::LogRequest) {
                before = Some(one.purpose);
            }
        }
        Spread::of(found)
    }

    /// A row for each flow and purpose, those that were sent first.
    pub fn rows(&self, trial: &Trial) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for first in &self.measured.signals {
            let (purpose, flow) = (first.purpose, first.flow);
            let known =
                |row: &Row| (row.signal, row.from, row.to) == (purpose.name(), flow.0, flow.1);
            if !rows.iter().any(known) {
                rows.push(self.row(trial, purpose, flow));
            }
        }
        rows
    }

    /// Signals of a flow, with when each of them was received, in that order.
    fn singles(&self, all: &[&Sent], received: &[Time]) -> Vec<Single> {
        let first = self.measured.signals.iter().map(|one| one.sent).min().unwrap_or_default();
        let meanwhile = |did: &Did| {
            (!did.by.is_empty()).then(|| Meanwhile {
                busy_cycles: self.cycles(did.busy),
                layers: did.by.iter().map(|(name, time)| (*name, self.cycles(*time))).collect(),
                interrupts: did.interrupts,
                bus_wait_cycles: self.cycles(did.waits),
            })
        };
        let before = |one: &Sent| {
            let at = received.partition_point(|other| *other < one.received);
            received.get(at.checked_sub(1)?).copied()
        };
        let single = |one: &&Sent| Single {
            sent_cycles: self.cycles(one.sent.since(first)),
            blocking_cycles: self.cycles(one.returned.since(one.sent)),
            latency_cycles: self.cycles(one.received.since(one.sent)),
            deliver_difference_cycles: before(one)
                .map(|before| self.cycles(one.received.since(before))),
            sender: meanwhile(&one.did[0]),
            receiver: meanwhile(&one.did[1]),
        };
        all.iter().map(single).collect()
    }

    fn row(&self, trial: &Trial, purpose: Purpose, flow: (usize, usize)) -> Row {
        let all: Vec<&Sent> = self.of(purpose).filter(|one| one.flow == flow).collect();
        let of =
            |figure: &dyn Fn(&Sent) -> f64| all.iter().map(|one| figure(one)).collect::<Vec<f64>>();
        let latencies = of(&|one| self.cycles(one.received.since(one.sent)));
        let mut received: Vec<_> = all.iter().map(|one| one.received).collect();
        received.sort();
        let differences =
            received.windows(2).map(|pair| self.cycles(pair[1].since(pair[0]))).collect();
        let trips = self.of(Purpose::Reply).filter(|one| one.flow == (flow.1, flow.0));
        let round_trip = (purpose == Purpose::Request).then(|| {
            let pairs = all.iter().zip(trips);
            let trips =
                pairs.map(|(asked, replied)| self.cycles(replied.received.since(asked.sent)));
            Spread::of(trips.collect())
        });
        let first = all.iter().map(|one| one.sent).min().unwrap_or_default();
        let last = received.last().copied().unwrap_or_default();
        let total = self.cycles(last.since(first));
        // Not from the first receive: where the application is the least urgent, it has all at
        // once.
        let span = last.since(first).micros();
        let bits = all.iter().map(|one| one.bytes as f64 * 8.0).sum::<f64>();
        let median = |values: Vec<f64>| Spread::of(values).median;
        let cores = self.measured.cores.iter().map(|core| CoreRow {
            interrupts: core.did.interrupts,
            bus_wait_cycles: self.cycles(core.did.waits),
            longest_queue: core.queues,
        });
        let layers = self.measured.layers.iter();
        let layers = layers
            .map(|core| core.iter().map(|(name, time)| (*name, self.cycles(*time))).collect());
        Row {
            driver: trial.driver.name(),
            stack: trial.stack.name(),
            counter: trial.counter.map(Counter::name),
            cached: trial.cached,
            mtu: trial.mtu,
            signal: purpose.name(),
            from: flow.0,
            to: flow.1,
            bytes: all.first().map_or(0, |one| one.bytes),
            latency_cycles: Spread::of(latencies.clone()),
            blocking_cycles: Spread::of(of(&|one| self.cycles(one.returned.since(one.sent)))),
            deliver_difference_cycles: Spread::of(differences),
            jitter_cycles: Spread::of(jitter(&latencies)),
            round_trip_cycles: round_trip,
            total_cycles: total,
            cpu_cycles: CpuCycles {
                sender: median(of(&|one| self.cycles(one.did[0].busy))),
                receiver: median(of(&|one| self.cycles(one.did[1].busy))),
                layers: layers.collect(),
            },
            throughput_mbit_s: if span > 0.0 { rounded(bits / span) } else { 0.0 },
            cores: cores.collect(),
            signals: self.singles(&all, &received),
            at_once: None,
        }
    }
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
