//! From what was measured to the rows of the report.

use super::lane::Figures;
use super::round::{Fared, Outcome, Plan};
use crate::base::latencies::Latencies;
use crate::base::report::{Audio, Jitter, Load, Phases, RunRow};
use crate::base::statistics::{Summary, median};
use crate::formats::strategy::Policy;
use crate::formats::workload::Work;
use crate::rig::phases::Call;

/// What is made of a flow's figures.
pub(super) struct Made {
    pub row: RunRow,
    /// The first pass of its audio.
    pub audio: Vec<i16>,
    /// Its round trips, and what stamps took of each in nanoseconds.
    pub trips: Option<(Latencies, f64)>,
}

/// A row for each flow, with the audio of its first pass.
pub(super) fn rows(plan: &Plan<'_>, strategy: Policy, outcome: Outcome) -> Vec<Made> {
    let seconds = outcome.wall.as_secs_f64();
    let [caller, callee] = outcome.load();
    let load = Load { caller, callee };
    let Outcome { flows, switches, .. } = outcome;
    let row = |((flow, fared), switches): ((&crate::formats::workload::Flow, Fared), u64)| {
        let blank = RunRow {
            flow: flow.name.clone(),
            strategy: strategy.to_string(),
            cpu_percent: load,
            deadline_us: flow.deadline.map(|time| time.as_secs_f64() * 1e6),
            switches,
            ..RunRow::default()
        };
        let (figures, calls) = match fared {
            Fared::Refused(why) => {
                return Made {
                    row: RunRow { refused: Some(why), ..blank },
                    audio: Vec::new(),
                    trips: None,
                };
            }
            Fared::Ran(figures, calls) => (figures, calls),
        };
        let stamps = median(&mut calls.iter().map(|call| call.stamps).collect::<Vec<f64>>());
        // Stamps are of calls, and a request may be several.
        let calls_each = match strategy {
            Policy::Same(strategy) => f64::from(strategy.parts.count),
            Policy::Static | Policy::Auto => 1.0,
        };
        let stamps = stamps.unwrap_or(0.0) * calls_each;
        let each = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        let bytes = figures.received as f64 * (flow.request + flow.response) as f64;
        let row = RunRow {
            phases_us: phases(&calls),
            phase_calls: calls.len() as u64,
            overlaps: calls.iter().filter(|call| call.overlap).count() as u64,
            stamps_us: stamps / 1e3,
            rtt_us: micros(figures.rtt.summary(stamps)),
            since_due_us: micros(figures.since_due.summary(0.0)),
            parts_us: figures
                .parts
                .medians()
                .into_iter()
                .map(|nanos| (nanos - stamps).max(0.0) / 1e3)
                .collect(),
            jitter_us: jitter(&figures),
            calls_per_second: each(figures.received as f64),
            bytes_per_second: each(bytes),
            sent: figures.sent,
            received: figures.received,
            lost: figures.sent - figures.received.min(figures.sent),
            deadline_misses: figures.late,
            refusals: figures.refusals,
            first_refusal: figures.first_refusal,
            wrong: figures.wrong,
            audio: matches!(flow.work, Work::Decode(_)).then_some(Audio {
                file: None,
                samples: figures.samples,
                differing: figures.differing,
            }),
            ..blank
        };
        Made { row, audio: figures.returned, trips: Some((figures.rtt, stamps)) }
    };
    plan.workload.flows.iter().zip(flows).zip(switches).map(row).collect()
}

fn micros(nanos: Summary) -> Summary {
    nanos.map(|nanos| nanos / 1e3)
}

fn jitter(figures: &Figures) -> Jitter {
    let Summary { median, p99, max, .. } = micros(figures.jitter.summary(0.0));
    Jitter { median, p99, max, deviation: figures.jitter.deviation() / 1e3 }
}

fn phases(calls: &[Call]) -> Option<Phases> {
    let phase = |at: usize| {
        let times = calls.iter().filter_map(|call| call.phases.get(at).copied());
        Summary::of(&mut times.collect::<Vec<f64>>()).map(micros)
    };
    Some(Phases { a: phase(0)?, b: phase(1)?, c: phase(2)?, d: phase(3)?, e: phase(4)? })
}
