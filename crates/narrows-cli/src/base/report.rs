//! What the command prints: one JSON object, or tables. `docs/JSON.md` describes the object; the
//! tables of a run are in [`crate::experiments::run`].

use crate::base::failure::{Failure, Kind};
use crate::base::machine::Machine;
use crate::base::output;
use crate::base::statistics::Summary;
use crate::base::table::{Align, Table, number};
use crate::base::usage::ChipRow;
use serde::{Deserialize, Serialize};

/// The number of the form that the object has. It rises when a key changes its meaning.
pub const FORMAT: u32 = 1;

/// The object that `--json` prints; `R` is the kind of row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report<R> {
    /// The form of the object: [`FORMAT`].
    pub format: u32,
    /// The version of the command that measured.
    pub version: String,
    /// What was asked for, such as `run` or `bench pingpong`.
    pub command: String,
    /// Where it was measured.
    pub machine: Machine,
    /// A row for each result.
    pub results: Vec<R>,
    /// Sentences to know when reading the figures.
    pub notes: Vec<String>,
}

impl<R: Serialize> Report<R> {
    /// A report of these rows, without notes.
    pub fn new(command: &str, machine: Machine, results: Vec<R>) -> Report<R> {
        Report {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: command.to_owned(),
            machine,
            results,
            notes: Vec::new(),
        }
    }

    /// Prints the report as one JSON object.
    ///
    /// # Errors
    /// [`Kind::Output`] if standard output refuses it.
    pub fn print(&self) -> Result<(), Failure> {
        print(self)
    }
}

/// Prints a report that has more than [`Report`] as one JSON object.
///
/// # Errors
/// [`Kind::Output`] if standard output refuses it.
pub fn print(report: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_vec_pretty(report).map_err(|error| {
        Failure::new(Kind::Internal, format!("the report does not fit into JSON: {error}"))
    })?;
    text.push(b'\n');
    output::print(&text)
}

/// The object of a run: decisions as well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// What every report has.
    #[serde(flatten)]
    pub report: Report<RunRow>,
    /// What the controller decided, in the order of time.
    pub decisions: Vec<DecisionRow>,
    /// What the chip did by each strategy; empty on this machine.
    pub chip: Vec<ChipRow>,
}

/// The object of a bench that may be of a chip.
#[derive(Serialize)]
pub struct BenchReport<'a, R> {
    /// What every report has.
    #[serde(flatten)]
    pub report: &'a Report<R>,
    /// What the chip did; empty on this machine.
    pub chip: Vec<ChipRow>,
}

impl RunReport {
    /// As [`Report::print`].
    ///
    /// # Errors
    /// As [`Report::print`].
    pub fn print(&self) -> Result<(), Failure> {
        print(self)
    }
}

/// A figure of a bench.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRow {
    /// What was measured.
    pub name: String,
    /// Bytes of a message; 0 where there is none.
    pub bytes: u64,
    /// The unit of value, spread and limit.
    pub unit: String,
    /// The median of all repeats.
    pub value: f64,
    /// The 90th percentile less the 10th of all repeats.
    pub spread: f64,
    /// What the machine itself allows, measured in between; absent where nothing compares.
    pub limit: Option<f64>,
    /// The value divided by the limit; absent where there is no limit.
    pub ratio: Option<f64>,
    /// What the ratio has to keep to, or the value where there is no ratio; absent where nothing
    /// was promised.
    pub bound: Option<Bound>,
    /// Whether the figure keeps that bound.
    pub met: Option<bool>,
    /// The figure of each round, in the order of time.
    pub rounds: Vec<f64>,
}

/// What a figure has to keep to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// It may be no more.
    Most(f64),
    /// It may be no less.
    Least(f64),
}

impl Bound {
    /// Whether a figure keeps to it.
    pub fn met(self, figure: f64) -> bool {
        match self {
            Bound::Most(most) => figure <= most,
            Bound::Least(least) => figure >= least,
        }
    }
}

/// How one flow fared by one strategy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// The flow's name in the workload.
    pub flow: String,
    /// The strategy: driver, notification and placement, then what else differs from the usual.
    pub strategy: String,
    /// Why the flow could not run by this strategy; then all figures are 0.
    pub refused: Option<String>,
    /// How often the flow came and was not carried, as there was no room for it beside the others.
    #[serde(default)]
    pub refusals: u64,
    /// Why not, the first time.
    #[serde(default)]
    pub first_refusal: Option<String>,
    /// Where the time of a call went, less the stamps; absent where no call has all stamps.
    pub phases_us: Option<Phases>,
    /// The calls that the phases are of: those that both sides still had all stamps of.
    pub phase_calls: u64,
    /// Of those, calls that were answered before their caller was out of phase B.
    pub overlaps: u64,
    /// What the stamps in a round trip cost: the median, which round trips are less.
    pub stamps_us: f64,
    /// From the request's start to the response's end, less the stamps.
    pub rtt_us: Summary,
    /// From when requests were due until their responses were there, as deadlines count.
    #[serde(default)]
    pub since_due_us: Summary,
    /// The flow's deadline, if it has one.
    #[serde(default)]
    pub deadline_us: Option<f64>,
    /// The median of `rtt_us` in each part of the run, in the order of time; parts in which nothing
    /// was received are left out.
    pub parts_us: Vec<f64>,
    /// The absolute difference of each round trip to the one before it.
    pub jitter_us: Jitter,
    /// Processor time over time.
    pub cpu_percent: Load,
    /// Responses a second.
    pub calls_per_second: f64,
    /// Bytes of requests and responses a second.
    pub bytes_per_second: f64,
    /// Requests sent.
    pub sent: u64,
    /// Responses received.
    pub received: u64,
    /// Requests sent whose response never came.
    pub lost: u64,
    /// Responses that came later than the flow's deadline.
    pub deadline_misses: u64,
    /// Responses that are not what the function makes of the request on this core.
    pub wrong: u64,
    /// How often the flow changed its strategy.
    pub switches: u64,
    /// The audio that came back, of flows that decode any.
    pub audio: Option<Audio>,
}

/// What the controller decided in a run, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DecisionRow {
    /// By which of the run's strategies: `auto`.
    pub strategy: String,
    /// When, from the beginning of that strategy's run.
    pub at_s: f64,
    /// What happened: `arrived`, `left`, `missed`, `learnt`, `failed` or `rested`.
    pub cause: String,
    /// The flow that it happened to.
    pub flow: Option<String>,
    /// Why flows switch or stay: `best`, `little`, `saves`, `memory`, `deadline`, `time` or
    /// `refused`.
    pub reason: String,
    /// What all flows were reckoned to take of the calling core.
    pub load_before_percent: f64,
    /// And after all switches.
    pub load_after_percent: f64,
    /// Internal memory that flows took then.
    pub memory_bytes: u64,
    /// And that they took of the core, of those that are called, of which they took most.
    pub memory_most_bytes: u64,
    /// What was to be switched.
    pub switches: Vec<SwitchRow>,
    /// Why there was no plan, or why the flow was not carried.
    pub refused: Option<String>,
}

/// A switch of a flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SwitchRow {
    /// Its name in the workload.
    pub flow: String,
    /// The strategy that it had.
    pub from: String,
    /// The strategy that it was to have.
    pub to: String,
    /// The core that was to serve it from then on, in the order of the cores that are called, if
    /// another.
    pub core: Option<u8>,
    /// What it was reckoned to take of the calling core.
    pub load_before_percent: f64,
    /// And afterwards.
    pub load_after_percent: f64,
    /// From when nothing new was started until both sides had the new strategy; none if it did not
    /// come to that.
    pub took_ms: Option<f64>,
    /// Why it came to nothing; the flow goes on by the strategy that it had.
    pub failed: Option<String>,
}

impl RunRow {
    /// The medians of A to E, where calls have all stamps.
    pub fn phase_medians(&self) -> Option<[f64; 5]> {
        let Phases { a, b, c, d, e } = self.phases_us?;
        Some([a, b, c, d, e].map(|one| one.median))
    }
}

/// The phases of a call, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct Phases {
    /// The caller copies the request into shared memory.
    pub a: Summary,
    /// Control message and doorbell.
    pub b: Summary,
    /// Everything on the other core.
    pub c: Summary,
    /// Notification and handling of the response.
    pub d: Summary,
    /// Copy of the result to the caller.
    pub e: Summary,
}

/// Jitter, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Jitter {
    /// Half of the differences are no larger.
    pub median: f64,
    /// 99 of 100 differences are no larger.
    pub p99: f64,
    /// The largest difference.
    pub max: f64,
    /// The standard deviation of the differences.
    pub deviation: f64,
}

/// The load of both sides, in percent of one core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Of the side that calls.
    pub caller: f64,
    /// Of the side that is called.
    pub callee: f64,
}

/// Audio that came back, compared with the codec's reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Audio {
    /// Where it was written; absent without `--out`.
    pub file: Option<String>,
    /// Samples that came back.
    pub samples: u64,
    /// Samples that are not what the codec makes of the input on this core.
    pub differing: u64,
}

/// The table of a bench; bounds have a column where there are any.
pub fn bench_text(rows: &[BenchRow]) -> String {
    let mut columns = vec![
        ("bench", Align::Left),
        ("bytes", Align::Right),
        ("value", Align::Right),
        ("spread", Align::Right),
        ("limit", Align::Right),
        ("ratio", Align::Right),
        ("unit", Align::Left),
    ];
    if rows.iter().any(|row| row.bound.is_some()) {
        columns.push(("bound", Align::Left));
    }
    let mut table = Table::new(&columns);
    let known = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    for row in rows {
        let bytes = if row.bytes == 0 { "-".to_owned() } else { row.bytes.to_string() };
        table.row(vec![
            row.name.clone(),
            bytes,
            number(row.value),
            number(row.spread),
            known(row.limit),
            known(row.ratio),
            row.unit.clone(),
            bound_text(row),
        ]);
    }
    table.render()
}

fn bound_text(row: &BenchRow) -> String {
    let Some(bound) = row.bound else { return String::new() };
    let met = if row.met == Some(true) { "met" } else { "not met" };
    match bound {
        Bound::Most(most) => format!("≤ {}: {met}", number(most)),
        Bound::Least(least) => format!("≥ {}: {met}", number(least)),
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
