//! `bench sim`: how much the simulator simulates in a second, and how that compares with the same
//! model in SystemC.

mod model;

use crate::base::failure::{Failure, Kind};
use crate::base::machine::{Machine, Root};
use crate::base::output;
use crate::base::page::Page;
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::statistics::median;
use crate::base::table::{Align, Table, wrap};
use crate::experiments::bench::task::Asked;
use narrows_sim::chip::Chip;
use serde::Serialize;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const CHIP: &str = include_str!("chip.toml");
const SIZES: [usize; 3] = [4, 64, 1024];
const ROUNDS: u16 = 5;
/// Words that one run simulates, about.
const WORDS: u64 = 4_000_000;

/// One size.
#[derive(Debug, Serialize)]
struct Row {
    /// Bytes of a message.
    bytes: usize,
    /// Round trips of a run.
    messages: u32,
    /// Virtual time of a run.
    virtual_ns: f64,
    /// Median of all rounds. Looks in vain are not counted.
    words_per_second: f64,
    /// The same in SystemC.
    systemc_words_per_second: Option<f64>,
    /// Median of each round's own ratio to SystemC's.
    ratio: Option<f64>,
}

/// What a run came to.
struct Run {
    picos: u64,
    seconds: f64,
}

/// Measures and prints.
///
/// # Errors
/// The program for SystemC cannot be run, or does not come to the same virtual time.
pub(super) fn run(asked: &Asked<'_>, systemc: Option<&Path>) -> Result<(), Failure> {
    let Asked { global, args, .. } = asked;
    let chip = Chip::parse("bench", CHIP)
        .map_err(|mistake| Failure::new(Kind::Internal, mistake.to_string()))?;
    let sizes = if args.bytes.is_empty() { SIZES.to_vec() } else { args.bytes.clone() };
    if let Some(size) = sizes.iter().find(|size| **size == 0 || **size > model::BLOCK as usize) {
        let sentence = format!("{size} bytes: bench sim sends messages of 1 to {}", model::BLOCK);
        return Err(Failure::new(Kind::Usage, sentence));
    }
    let rounds = args.rounds.unwrap_or(ROUNDS);
    let progress = Progress::new(sizes.len() as u64 * u64::from(rounds), global.json);
    let mut rows = Vec::new();
    for (done, size) in (0..).zip(&sizes) {
        let report = |round| progress.reach(done * u64::from(rounds) + round);
        rows.push(measure(&chip, *size, rounds, systemc, report)?);
    }
    drop(progress);
    let mut report = Report::new("bench sim", Machine::look(&Root::default()), rows);
    report.notes.push(note(systemc));
    if global.json {
        report.print()?;
    } else {
        output::print(text(&report.results, systemc).as_bytes())?;
    }
    asked.page.write(|| page(&report))
}

fn measure(
    chip: &Chip,
    size: usize,
    rounds: u16,
    systemc: Option<&Path>,
    report: impl Fn(u64),
) -> Result<Row, Failure> {
    let bytes = u32::try_from(size).unwrap_or(u32::MAX);
    let words = model::words(bytes);
    let messages = u32::try_from(WORDS / words).unwrap_or(1).max(1);
    let total = (u64::from(messages) * words) as f64;
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut picos = 0;
    for round in 0..u64::from(rounds) {
        let own = simulate(chip, messages, bytes)?;
        picos = own.picos;
        ours.push(total / own.seconds);
        if let Some(program) = systemc {
            let other = other(program, messages, bytes)?;
            if other.picos != own.picos {
                let sentence = format!(
                    "{} bytes: SystemC ends at {} ps of virtual time, the simulator at {} ps: the \
                     models differ",
                    bytes, other.picos, own.picos
                );
                return Err(Failure::new(Kind::Internal, sentence));
            }
            theirs.push(total / other.seconds);
            ratios.push(other.seconds / own.seconds);
        }
        report(round + 1);
    }
    Ok(Row {
        bytes: size,
        messages,
        virtual_ns: picos as f64 / 1000.0,
        words_per_second: median(&mut ours).unwrap_or(0.0),
        systemc_words_per_second: median(&mut theirs),
        ratio: median(&mut ratios),
    })
}

fn simulate(chip: &Chip, messages: u32, bytes: u32) -> Result<Run, Failure> {
    let began = Instant::now();
    let outcome = model::run(chip, messages, bytes)
        .map_err(|stuck| Failure::new(Kind::Internal, stuck.to_string()))?;
    Ok(Run { picos: outcome.end.0, seconds: began.elapsed().as_secs_f64() })
}

/// Runs the model for SystemC.
fn other(program: &Path, messages: u32, bytes: u32) -> Result<Run, Failure> {
    let failed = |what: &str| {
        let sentence = format!(
            "{}: {what}: build it with bench/systemc/build, which needs SystemC (ci/setup bench \
             systemc)",
            program.display()
        );
        Failure::new(Kind::Input, sentence)
    };
    let ran = Command::new(program).args([messages.to_string(), bytes.to_string()]).output();
    let ran = ran.map_err(|error| failed(&error.to_string()))?;
    let text = String::from_utf8_lossy(&ran.stdout);
    let mut words = text.lines().last().unwrap_or_default().split(' ');
    let picos = words.next().and_then(|word| word.parse().ok());
    let seconds = words.next().and_then(|word| word.parse().ok());
    match (picos, seconds) {
        (Some(picos), Some(seconds)) => Ok(Run { picos, seconds }),
        _ => Err(failed("it does not say its virtual time and the seconds it took")),
    }
}

fn note(systemc: Option<&Path>) -> String {
    match systemc {
        None => "compare with SystemC by --systemc bench/systemc/pingpong".into(),
        Some(_) => "SystemC runs the same model to the same virtual time, to the picosecond".into(),
    }
}

fn page(report: &Report<Row>) -> Page {
    let fastest = report.results.iter().map(|row| row.words_per_second).fold(0.0, f64::max);
    let ratio = report.results.iter().filter_map(|row| row.ratio).reduce(f64::min);
    let beside = ratio.map(|ratio| format!("; at least {ratio:.1} times what SystemC does"));
    Page {
        headline: format!(
            "The simulator simulates up to {:.1} million words a second{}",
            fastest / 1e6,
            beside.unwrap_or_default()
        ),
        why: report.notes.join(". "),
        notes: Vec::new(),
        ..Page::of(report)
    }
}

fn text(rows: &[Row], systemc: Option<&Path>) -> String {
    let mut table = Table::new(&[
        ("bytes", Align::Right),
        ("virtual time", Align::Right),
        ("words/s", Align::Right),
        ("SystemC", Align::Right),
        ("ratio", Align::Right),
    ]);
    let millions = |words: f64| format!("{:.1} M", words / 1e6);
    for row in rows {
        table.row(vec![
            row.bytes.to_string(),
            format!("{:.3} ms", row.virtual_ns / 1e6),
            millions(row.words_per_second),
            row.systemc_words_per_second.map_or("-".into(), millions),
            row.ratio.map_or("-".into(), |ratio| format!("{ratio:.1}")),
        ]);
    }
    let heading = "Words of a ping-pong between two cores that are simulated in a second";
    format!("{heading}\n\n{}\n{}", table.render(), wrap("", &note(systemc)))
}

#[cfg(test)]
mod tests;
