//! Measuring the stack beside what the machine itself allows.
//!
//! Two processes, each pinned to its core, do everything: a *round* is a batch of the
//! [limit] and a batch of each thing measured, in turns, so that what disturbs one
//! disturbs the other. A row is the median of all rounds, and its ratio the median of the rounds'
//! own ratios.

mod bounds;
pub mod choice;
mod crowd;
mod floors;
mod idle;
pub mod limit;
mod messages;
pub mod pair;
mod parts;
mod phases;
mod pingpong;
mod scaling;
pub mod series;
mod simulator;
pub mod sink;
mod sizes;
mod soak;
mod spans;
mod storm;
mod throughput;
pub mod traffic;

use narrows::strategy::{Strategy, Transfer};

use crate::failure::{Failure, Kind};
use crate::flags::{Bench, Global, Which};
use crate::machine::{Machine, Root};
use crate::output;
use crate::progress::Progress;
use crate::report::{BenchRow, Report, bench_text};
use pair::Pair;

/// How long a batch of the stack should take, in nanoseconds: long enough to time, short enough
/// to fall between two disturbances.
const BATCH_NS: f64 = 1.5e6;

/// Rows that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
struct Section {
    /// What they are about; empty if they are all there is.
    heading: String,
    rows: Vec<BenchRow>,
    /// What can be read in them, computed from them.
    reading: String,
}

impl Section {
    /// The same, with a reading of how many of its bounds are met, and which are not.
    fn judged(self) -> Section {
        let bounds = self.rows.iter().filter(|row| row.bound.is_some()).count();
        let missed = self.rows.iter().filter(|row| row.met == Some(false));
        let missed: Vec<String> = missed
            .map(|row| match row.bytes {
                0 => row.name.clone(),
                bytes => format!("{} of {bytes} bytes", row.name),
            })
            .collect();
        let mut reading = format!("{} of {bounds} bounds are met.", bounds - missed.len());
        if !missed.is_empty() {
            reading += &format!(" Not met: {}.", missed.join("; "));
        }
        Section { reading, ..self }
    }
}

/// What all benches work with.
struct Task<'a> {
    pair: Pair,
    args: &'a Bench,
    progress: Progress,
    done: u64,
}

impl Task<'_> {
    fn rounds(&self, usual: u16) -> usize {
        usize::from(self.args.rounds.unwrap_or(usual))
    }

    /// Says what is measured now.
    fn say(&self, what: &str) {
        self.progress.say(what);
    }

    /// A step is done.
    fn step(&mut self) {
        self.done += 1;
        self.progress.reach(self.done);
    }
}

/// Measures what is asked for and prints it.
///
/// # Errors
/// What is asked for cannot be, the machine refuses it, or the other process is gone.
pub fn run(global: &Global, args: &Bench) -> Result<(), Failure> {
    sensible(global, args)?;
    let sections = match args.which {
        Which::Limit => floors::run(global, args)?,
        Which::Bounds => bounds::run(global, args)?,
        Which::Pingpong => pingpong::run(global, args)?,
        Which::Throughput => throughput::run(global, args)?,
        Which::Phases => phases::run(global, args)?,
        Which::Sizes => sizes::run(global, args)?,
        Which::Storm => return storm::run(global, args),
        Which::Soak => return soak::run(global, args),
        Which::Sim => return simulator::run(global, args),
        Which::Scaling => scaling::run(global, args)?,
    };
    if global.json {
        let rows = sections.into_iter().flat_map(|section| section.rows).collect();
        let command = format!("bench {}", args.which.name());
        return Report::new(&command, Machine::look(&Root::default()), rows).print();
    }
    output::print(text(&sections).as_bytes())
}

/// Whether every flag that was given means something here.
fn sensible(global: &Global, args: &Bench) -> Result<(), Failure> {
    let (storm, soak) = (args.which == Which::Storm, args.which == Which::Soak);
    let sim = args.which == Which::Sim;
    let flags = [
        ("--seed", args.seed.is_some(), storm),
        ("--for", args.time.is_some(), soak),
        ("--systemc", args.systemc.is_some(), sim),
        ("--transfer", !args.transfer.is_empty(), !sim),
        ("--notify", !args.notify.is_empty(), !sim),
        ("--placement", !args.placement.is_empty(), !sim),
        ("--rounds", args.rounds.is_some(), !soak),
        ("--bytes", !args.bytes.is_empty(), !storm && !soak),
        ("--priority", global.priority.is_some(), !soak),
        ("--lock-memory", global.lock_memory, !storm && !soak),
    ];
    match flags.iter().find(|(_, given, sense)| *given && !sense) {
        None => Ok(()),
        Some((flag, ..)) => {
            let which = args.which.name();
            let sentence = format!("{flag} says nothing to bench {which}: leave it out");
            Err(Failure::new(Kind::Usage, sentence))
        }
    }
}

/// What the figures say, each under its heading, and then the tables they are taken from.
fn text(sections: &[Section]) -> String {
    let wrapped = |indent: &str, text: &str| crate::table::wrap(indent, text);
    let readings = sections
        .iter()
        .filter(|section| !section.reading.is_empty())
        .map(|section| wrapped("", &section.heading) + &wrapped("  ", &section.reading));
    let readings: String = readings.collect();
    let tables = sections.iter().map(|section| {
        let heading = match section.heading.as_str() {
            "" => String::new(),
            heading => wrapped("", heading),
        };
        heading + &bench_text(&section.rows)
    });
    Some(readings)
        .filter(|r| !r.is_empty())
        .into_iter()
        .chain(tables)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Starts both processes for a bench of `steps` steps by these strategies, with these sizes.
fn begin<'a>(
    global: &Global,
    args: &'a Bench,
    strategies: &[Strategy],
    sizes: &[usize],
    steps: usize,
) -> Result<Task<'a>, Failure> {
    let engine = strategies.iter().any(|s| s.transfer == Transfer::CopyEngine);
    let longest = sizes.iter().copied().max().unwrap_or(0);
    let mut pair = Pair::start(global, engine, longest, None)?;
    pair.warn();
    for strategy in strategies {
        pair.check(*strategy, longest)?;
    }
    let progress = Progress::new(steps as u64, global.json);
    Ok(Task { pair, args, progress, done: 0 })
}

/// Iterations of a batch, if one takes so many nanoseconds.
fn iterations(ns: f64) -> u64 {
    (BATCH_NS / ns.max(1.0)).clamp(8.0, 8192.0) as u64
}
