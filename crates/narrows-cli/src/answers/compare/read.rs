//! Reading what `--json` has printed, and the figures in it.

use super::carried::Flow;
use crate::base::failure::{Failure, Kind};
use crate::base::machine::Machine;
use crate::base::output::without_code;
use crate::base::report::{BenchRow, FORMAT, Report, RunRow};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The longest report, in bytes.
const MOST: u64 = 256 << 20;
/// Characters of a text of the file that are said.
const SAID: usize = 40;

/// What a file has.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// The command that printed it.
    pub command: String,
    /// Whose: as it names itself.
    pub version: String,
    pub machine: Machine,
    pub figures: Vec<Figure>,
    /// The flows of a run.
    pub flows: Vec<Flow>,
}

/// A figure that can be compared.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    /// What it is of, and which figure of that it is.
    pub of: String,
    pub what: String,
    pub unit: String,
    /// The strategy of a run; empty of a bench.
    pub strategy: String,
    pub value: f64,
    /// The same in each round; empty if there are none.
    pub rounds: Vec<f64>,
}

impl Figure {
    /// What is the same of a figure in two reports.
    pub fn key(&self) -> [String; 3] {
        [&self.of, &self.what, &self.unit].map(String::clone)
    }

    /// What it is of, and which figure of that it is.
    pub fn name(&self) -> String {
        let Figure { of, what, .. } = self;
        if what.is_empty() { of.clone() } else { format!("{of}, {what}") }
    }
}

/// How a file is named in messages.
pub(super) fn name(path: &Path) -> String {
    match path.as_os_str() == "-" {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}

/// Reads a report.
///
/// # Errors
/// [`Kind::Input`] if it cannot be read, is of another program or version, or has no figures that
/// can be compared.
pub(super) fn read(path: &Path) -> Result<Measured, Failure> {
    let name = name(path);
    let refuse = |cause: String| {
        let advice = "name a file that `narrows run --json` or `narrows bench … --json` printed";
        Failure::new(Kind::Input, format!("cannot compare {name}: {cause}: {advice}"))
    };
    let text = text(path).map_err(&refuse)?;
    parse(&text).map_err(refuse)
}

fn text(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = match path.as_os_str() == "-" {
        true => io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes),
        false => File::open(path).and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes)),
    };
    read.map_err(|error| without_code(&error))?;
    if bytes.len() as u64 > MOST {
        return Err(format!("it is larger than {} MiB", MOST >> 20));
    }
    String::from_utf8(bytes).map_err(|_| "it is no text".to_owned())
}

/// The report of a text, or why it is none.
pub(super) fn parse(text: &str) -> Result<Measured, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
    let has = |key: &str| value.get(key).is_some();
    let command = value.get("command").and_then(Value::as_str);
    let (Some(command), true) = (command, has("machine") && has("results")) else {
        return Err("it is JSON of another program, without command, machine and results".into());
    };
    let version = value.get("version").and_then(Value::as_str).unwrap_or("unknown").to_owned();
    match value.get("format").and_then(Value::as_u64) {
        None => {
            return Err(
                "an older narrows printed it, which does not say `format`: measure again".into()
            );
        }
        Some(format) if format != u64::from(FORMAT) => {
            return Err(format!(
                "it has format {format}, printed by narrows {}, and this narrows {} reads format \
                 {FORMAT}",
                said(&version),
                env!("CARGO_PKG_VERSION")
            ));
        }
        Some(_) => {}
    }
    let command = command.to_owned();
    let (machine, figures, flows) = match command.as_str() {
        "run" => {
            let Report { machine, results, .. } = rows::<RunRow>(value, &command)?;
            let flows = results.iter().map(Flow::new).collect();
            (machine, results.iter().flat_map(of_run).collect(), flows)
        }
        bench if bench.starts_with("bench ") => {
            let Report { machine, results, .. } = rows::<BenchRow>(value, &command)?;
            (machine, results.into_iter().map(of_bench).collect(), Vec::new())
        }
        other => return Err(format!("its rows, of {}, have no rounds to compare", said(other))),
    };
    Ok(Measured { command, version, machine, figures, flows })
}

fn rows<R: DeserializeOwned>(value: Value, command: &str) -> Result<Report<R>, String> {
    serde_json::from_value(value).map_err(|error| {
        format!("its rows, of {}, are none that can be compared ({error})", said(command))
    })
}

/// A text of the file, as it is fit for a sentence.
pub(super) fn said(text: &str) -> String {
    format!("{:?}", text.chars().take(SAID).collect::<String>())
}

/// Names come from a file that anybody may have written.
pub(super) fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn of_bench(row: BenchRow) -> Figure {
    let (name, unit) = (plain(&row.name), plain(&row.unit));
    // A strategy is what a figure is of; the rest of the name says which figure it is.
    let (strategy, rest): (Vec<&str>, Vec<&str>) =
        name.split(' ').partition(|word| word.matches('/').count() >= 2);
    let (of, mut what) = match strategy.is_empty() {
        true => (name.clone(), String::new()),
        false => (strategy.join(" "), rest.join(" ")),
    };
    if row.bytes > 0 {
        let gap = if what.is_empty() { "" } else { " " };
        what += &format!("{gap}{} B", row.bytes);
    }
    Figure { of, what, unit, strategy: String::new(), value: row.value, rounds: row.rounds }
}

fn of_run(row: &RunRow) -> Vec<Figure> {
    if row.received == 0 {
        return Vec::new();
    }
    let of = plain(&format!("{} {}", row.flow, row.strategy));
    let one = |what: &str, unit: &str, value: f64, rounds: &[f64]| Figure {
        of: of.clone(),
        what: what.into(),
        unit: unit.into(),
        strategy: plain(&row.strategy),
        value,
        rounds: rounds.to_vec(),
    };
    vec![
        one("median", "µs", row.rtt_us.median, &row.parts_us),
        one("p99", "µs", row.rtt_us.p99, &[]),
        one("caller", "%", row.cpu_percent.caller, &[]),
        one("callee", "%", row.cpu_percent.callee, &[]),
        one("rate", "calls/s", row.calls_per_second, &[]),
        one("late", "", row.deadline_misses as f64, &[]),
        one("lost", "", row.lost as f64, &[]),
    ]
}
