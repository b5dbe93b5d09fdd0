//! Strategies on this machine: whether the model ranks them as they are measured.

use super::cases;
use crate::base::failure::{Failure, Kind};
use crate::base::machine::{Machine as Here, Root};
use crate::base::options::Global;
use crate::base::page::Page;
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::statistics::median;
use crate::base::table::{Align, Table, number, wrap};
use crate::experiments::bench::task::Asked;
use crate::experiments::bench::task::rounds;
use crate::experiments::run::{self, Fared};
use crate::formats::strategy::Policy;
use crate::formats::workload::Offers;
use crate::rig::costs::machine::measured;
use crate::rig::pair::Pair;
use crate::rig::peer::cores_of;
use crate::rig::plan::Machine;
use narrows::strategy::Strategy;
use narrows_tune::model::Flow;
use serde::Serialize;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Bytes of a request and of its response, and microseconds of work.
const SHAPES: [(u32, u32, u64); 3] = [(64, 64, 20), (4096, 4096, 100), (32768, 64, 50)];
const PERIOD: Duration = Duration::from_millis(5);
/// Requests of a run.
const REQUESTS: u32 = 40;
/// Runs of each strategy, in turns, if no other number is asked for: of two that are alike all five
/// of one are above all of the other in one of 126 cases.
const ROUNDS: u16 = 5;
const DRIVERS: [&str; 4] = ["copy", "copy_batched", "single_copy", "in_place"];
const NOTIFICATIONS: [&str; 5] = ["interrupt", "hybrid", "spin", "poll=1ms", "coalesced=8:1ms"];
/// Percent.
const WHOLE_CORE: f64 = 100.0;
/// By how much two have to differ for their order to count, and in how many pairs it has to be
/// right.
const APART: f64 = 0.10;
const RIGHT: f64 = 0.90;

/// A shape of calls by a strategy.
#[derive(Clone, Debug, Serialize)]
struct Row {
    request: u32,
    response: u32,
    work_us: u64,
    strategy: String,
    /// Time of the calling core, by the model and measured: the median of all rounds, and the least
    /// and the most of them.
    load_percent: f64,
    measured_load_percent: f64,
    measured_load_range_percent: [f64; 2],
    /// Half of all responses come within, by the model and measured, likewise.
    median_ms: f64,
    measured_median_ms: f64,
    measured_median_range_ms: [f64; 2],
}

/// What the model says, what was measured, and within what the rounds were.
struct Figure {
    said: f64,
    found: f64,
    range: [f64; 2],
}

impl Row {
    /// None of a strategy that spins, which takes all of the core: no model is needed for that.
    fn load(&self) -> Option<Figure> {
        let Row { load_percent, measured_load_percent, measured_load_range_percent, .. } = *self;
        (load_percent < WHOLE_CORE).then_some(Figure {
            said: load_percent,
            found: measured_load_percent,
            range: measured_load_range_percent,
        })
    }

    fn latency(&self) -> Option<Figure> {
        let Row { median_ms, measured_median_ms, measured_median_range_ms, .. } = *self;
        let range = measured_median_range_ms;
        Some(Figure { said: median_ms, found: measured_median_ms, range })
    }
}

/// What the model says of a shape by a strategy, and what was measured.
struct Trial {
    shape: (u32, u32, u64),
    case: cases::Case,
    loads: Vec<f64>,
    medians: Vec<f64>,
}

/// Pairs whose order is told.
#[derive(Default)]
struct Ranked {
    right: usize,
    all: usize,
}

/// Measures and prints.
///
/// # Errors
/// The other process is gone.
pub(super) fn run(asked: &Asked<'_>) -> Result<(), Failure> {
    let Asked { global, args, .. } = asked;
    let rounds = rounds(args, ROUNDS);
    // Both measurements have this thread on one core; the other is known only before.
    let cores = cores_of(global)?;
    let global = &Global { cores: Some(cores), ..(*global).clone() };
    let longest = SHAPES.iter().map(|(request, ..)| *request as usize).max().unwrap_or(0);
    let machine = measured(global, None, longest)?.machine()?;
    let mut trials = trials(&machine);
    let progress = Progress::new(trials.len() as u64 * u64::from(rounds), global.json);
    progress.say("running");
    let mut pair = Pair::start(global, false, longest, None)?;
    let mut done = 0;
    for _ in 0..rounds {
        for trial in &mut trials {
            let Trial { case, .. } = trial;
            let never = AtomicBool::new(false);
            let offers = Offers::new(&case.workload, None)?;
            let traffic = (&case.workload, &offers);
            let made = run::once(&mut pair.peer, traffic, &[None], case.policy, &never)?;
            if let Some(failure) = made.failure {
                return Err(failure);
            }
            let [Fared::Ran(figures, _)] = &made.flows[..] else {
                let text = format!("{} was refused: report this defect", case.policy);
                return Err(Failure::new(Kind::Internal, text));
            };
            let [load, _] = made.load();
            trial.loads.push(load);
            trial.medians.push(figures.since_due.summary(0.0).median / 1e6);
            done += 1;
            progress.reach(done);
        }
    }
    drop(progress);
    let rows: Vec<Row> = trials.iter_mut().map(row).collect();
    let mut report = Report::new("bench tune", Here::look(&Root::default()), rows);
    report.notes = notes(&report.results);
    asked.print(&report, || text(&report))?;
    asked.page.write(|| Page::of(&report))
}

/// Every shape by every strategy that the model gives it.
fn trials(machine: &Machine) -> Vec<Trial> {
    let mut all = Vec::new();
    for shape in SHAPES {
        let (request, response, work) = shape;
        let flow = Flow {
            period: Some(PERIOD),
            request,
            response,
            work: Duration::from_micros(work),
            burst: 1,
            depth: 1,
            ..Flow::default()
        };
        for placement in crate::formats::strategy::PLACEMENTS {
            for driver in DRIVERS {
                for notification in NOTIFICATIONS {
                    let text = format!("{driver}/{notification}/{placement}");
                    let strategy: Option<Strategy> = text.parse().ok();
                    let case = strategy.and_then(|by| {
                        cases::planned(vec![(flow, by)], Policy::Same(by), machine, REQUESTS)
                    });
                    all.extend(case.map(|case| Trial {
                        shape,
                        case,
                        loads: Vec::new(),
                        medians: Vec::new(),
                    }));
                }
            }
        }
    }
    all
}

fn row(trial: &mut Trial) -> Row {
    let (request, response, work_us) = trial.shape;
    let spins = trial.case.spins();
    let load = trial.case.plan.load() as f64 / 1e4;
    Row {
        request,
        response,
        work_us,
        strategy: trial.case.policy.to_string(),
        // Between calls it spins as well.
        load_percent: if spins { WHOLE_CORE } else { load },
        measured_load_range_percent: range(&trial.loads),
        measured_load_percent: median(&mut trial.loads).unwrap_or_default(),
        median_ms: trial.case.median().unwrap_or_default(),
        measured_median_range_ms: range(&trial.medians),
        measured_median_ms: median(&mut trial.medians).unwrap_or_default(),
    }
}

fn range(all: &[f64]) -> [f64; 2] {
    let of = |pick: fn(f64, f64) -> f64| all.iter().copied().reduce(pick).unwrap_or_default();
    [of(f64::min), of(f64::max)]
}

/// Pairs of one shape that differ, as measured, by more than [`APART`], and those of them that the
/// model has in the measured order. A pair that it has alike is not among the latter. Of those that
/// differ `clearly` all rounds of one were above all of the other.
fn ranked(rows: &[Row], figure: impl Fn(&Row) -> Option<Figure>, clearly: bool) -> Ranked {
    let mut ranked = Ranked::default();
    for (at, one) in rows.iter().enumerate() {
        for other in rows.iter().skip(at + 1) {
            let alike = (one.request, one.response) == (other.request, other.response);
            let (Some(one), Some(other)) = (figure(one), figure(other)) else { continue };
            let (low, high) = if one.found < other.found { (one, other) } else { (other, one) };
            let apart = high.found > low.found * (1.0 + APART);
            if alike && apart && (!clearly || high.range[0] > low.range[1]) {
                ranked.all += 1;
                ranked.right += usize::from(high.said > low.said);
            }
        }
    }
    ranked
}

fn notes(rows: &[Row]) -> Vec<String> {
    let part = |ranked: &Ranked| ranked.right as f64 / ranked.all.max(1) as f64;
    let said = |what: &str, figure: fn(&Row) -> Option<Figure>| {
        let (clear, all) = (ranked(rows, figure, true), ranked(rows, figure, false));
        let met = if part(&clear) >= RIGHT { "met" } else { "not met" };
        format!(
            "{what}: of {} pairs that differ by more than {:.0} %, and in every round, the model has \
             {} in the measured order, {:.1} % (at least {:.0} %: {met}); of all {} that differ by so \
             much {}, {:.1} %.",
            clear.all,
            APART * 100.0,
            clear.right,
            part(&clear) * 100.0,
            RIGHT * 100.0,
            all.all,
            all.right,
            part(&all) * 100.0
        )
    };
    vec![said("Load, without those that spin", Row::load), said("Median latency", Row::latency)]
}

fn text(report: &Report<Row>) -> String {
    let mut text: String = report.notes.iter().map(|note| wrap("", note)).collect();
    for shape in SHAPES {
        let (request, response, work) = shape;
        text.push_str(&format!("\n{request} B and {response} B, {work} µs of work every 5 ms\n"));
        let mut table = Table::new(&[
            ("strategy", Align::Left),
            ("load %", Align::Right),
            ("measured", Align::Right),
            ("median ms", Align::Right),
            ("measured", Align::Right),
        ]);
        for row in report.results.iter().filter(|row| row.request == request) {
            table.row(vec![
                row.strategy.clone(),
                number(row.load_percent),
                number(row.measured_load_percent),
                number(row.median_ms),
                number(row.measured_median_ms),
            ]);
        }
        text.push_str(&table.render());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::documented::assert_keys;

    #[test]
    fn pairs_count_that_differ_and_are_of_one_shape() {
        let row = |request, said, found: f64| Row {
            request,
            response: 0,
            work_us: 0,
            strategy: String::new(),
            load_percent: said,
            measured_load_percent: found,
            measured_load_range_percent: [found - 1.0, found + 1.0],
            median_ms: 0.0,
            measured_median_ms: 0.0,
            measured_median_range_ms: [0.0; 2],
        };
        let value = serde_json::to_value(row(1, 1.0, 1.0)).unwrap();
        assert_keys("Rows of `bench tune --against` > `--against host`", &value);
        let count = |rows: &[Row], clearly| {
            let Ranked { right, all } = ranked(rows, Row::load, clearly);
            (right, all)
        };
        let rows = [row(1, 1.0, 10.0), row(1, 2.0, 11.5), row(1, 3.0, 12.5), row(1, 9.0, 5.0)];
        assert_eq!(count(&rows, false), (2, 5));
        assert_eq!(count(&rows, true), (1, 4), "10 and 11.5 are within each other's rounds");
        assert_eq!(count(&[row(1, 1.0, 1.0), row(2, 1.0, 9.0)], false), (0, 0));
        assert_eq!(count(&[row(1, 1.0, 1.0), row(1, WHOLE_CORE, 99.0)], true), (0, 0), "it spins");
        for (low, high) in [(1.0, 9.0), (9.0, 1.0)] {
            assert_eq!(count(&[row(1, 2.0, low), row(1, 2.0, high)], true), (0, 1), "a tie");
        }
    }
}
