//! What the command prints: one JSON object, or tables. `docs/JSON.md` describes the object.

use crate::failure::{Failure, Kind};
use crate::machine::Machine;
use crate::output;
use crate::statistics::Summary;
use crate::table::{Align, Table, number};
use serde::{Deserialize, Serialize};

/// The object that `--json` prints; `R` is the kind of row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report<R> {
    /// What was asked for, such as `run` or `bench pingpong`.
    pub command: String,
    /// Where it was measured.
    pub machine: Machine,
    /// A row for each result.
    pub results: Vec<R>,
}

impl<R: Serialize> Report<R> {
    /// A report of these rows.
    pub fn new(command: &str, machine: Machine, results: Vec<R>) -> Report<R> {
        Report { command: command.to_owned(), machine, results }
    }

    /// Prints the report as one JSON object.
    ///
    /// # Errors
    /// [`Kind::Output`] if standard output refuses it.
    pub fn print(&self) -> Result<(), Failure> {
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| {
            Failure::new(Kind::Internal, format!("the report does not fit into JSON: {error}"))
        })?;
        text.push(b'\n');
        output::print(&text)
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
}

/// How one flow fared by one strategy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// The flow's name in the workload.
    pub flow: String,
    /// The strategy, as transfer/notify/placement.
    pub strategy: String,
    /// Where the time of a call went.
    pub phases_us: Phases,
    /// From the request's start to the response's end.
    pub rtt_us: Summary,
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
    /// The audio that came back, of flows that write any.
    pub audio: Option<Audio>,
}

/// The phases of a call, in microseconds. All are zero where nothing was received.
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

/// The table of a bench.
pub fn bench_text(rows: &[BenchRow]) -> String {
    let mut table = Table::new(&[
        ("bench", Align::Left),
        ("bytes", Align::Right),
        ("value", Align::Right),
        ("spread", Align::Right),
        ("limit", Align::Right),
        ("ratio", Align::Right),
        ("unit", Align::Left),
    ]);
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
        ]);
    }
    table.render()
}

/// The tables of a run: a summary, then each flow's round trips, phases and loads.
pub fn run_text(rows: &[RunRow]) -> String {
    let sum = |count: fn(&RunRow) -> u64| rows.iter().map(count).sum::<u64>();
    let mut text = format!(
        "{} sent, {} received, {} lost, {} late\n",
        sum(|row| row.sent),
        sum(|row| row.received),
        sum(|row| row.lost),
        sum(|row| row.deadline_misses)
    );
    let mut flows: Vec<&str> = Vec::new();
    for row in rows {
        if !flows.contains(&row.flow.as_str()) {
            flows.push(&row.flow);
        }
    }
    for flow in flows {
        let rows: Vec<&RunRow> = rows.iter().filter(|row| row.flow == flow).collect();
        text.push_str(&format!("\n{flow}: round trip and jitter in µs\n"));
        text.push_str(&round_trips(&rows));
        text.push_str(&format!("\n{flow}: phases in µs\n"));
        text.push_str(&phases(&rows));
        text.push_str(&format!("\n{flow}: throughput, and load in % of a core\n"));
        text.push_str(&loads(&rows));
        text.push_str(&audio(&rows));
    }
    text
}

fn round_trips(rows: &[&RunRow]) -> String {
    let mut table = right(&["strategy", "median", "p99", "max", "jitter", "±", "lost", "late"]);
    for row in rows {
        table.row(vec![
            row.strategy.clone(),
            number(row.rtt_us.median),
            number(row.rtt_us.p99),
            number(row.rtt_us.max),
            number(row.jitter_us.median),
            number(row.jitter_us.deviation),
            row.lost.to_string(),
            row.deadline_misses.to_string(),
        ]);
    }
    table.render()
}

fn phases(rows: &[&RunRow]) -> String {
    let mut table = right(&["strategy", "", "A", "B", "C", "D", "E"]);
    for row in rows {
        let all = &row.phases_us;
        let phases = [all.a, all.b, all.c, all.d, all.e];
        let figures = [
            ("median", phases.map(|phase| phase.median)),
            ("p99", phases.map(|phase| phase.p99)),
            ("max", phases.map(|phase| phase.max)),
        ];
        for (line, (name, figures)) in figures.into_iter().enumerate() {
            let strategy = if line == 0 { row.strategy.clone() } else { String::new() };
            let cells = figures.map(number);
            table.row([strategy, name.to_owned()].into_iter().chain(cells).collect());
        }
    }
    table.render()
}

fn loads(rows: &[&RunRow]) -> String {
    let mut table = right(&["strategy", "calls/s", "KiB/s", "caller %", "callee %"]);
    for row in rows {
        table.row(vec![
            row.strategy.clone(),
            number(row.calls_per_second),
            number(row.bytes_per_second / 1024.0),
            number(row.cpu_percent.caller),
            number(row.cpu_percent.callee),
        ]);
    }
    table.render()
}

fn audio(rows: &[&RunRow]) -> String {
    let mut text = String::new();
    for row in rows {
        let Some(audio) = &row.audio else { continue };
        let verdict = match audio.differing {
            0 => "all as the codec's reference".to_owned(),
            differing => format!("{differing} differ from the codec's reference"),
        };
        let place = audio.file.as_ref().map(|file| format!(", in {file}")).unwrap_or_default();
        let line = format!("{}: {} samples back, {verdict}{place}", row.strategy, audio.samples);
        text.push_str(&crate::table::wrap("", &line));
    }
    text
}

fn right(names: &[&str]) -> Table {
    let columns: Vec<(&str, Align)> = names
        .iter()
        .enumerate()
        .map(|(at, name)| (*name, if at == 0 { Align::Left } else { Align::Right }))
        .collect();
    Table::new(&columns)
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
