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
pub mod sink;
mod sizes;
mod soak;
mod spans;
mod storm;
mod throughput;
pub mod traffic;

use narrows::strategy::{Strategy, Transfer};
use narrows_host::Host;

use crate::failure::{Failure, Kind};
use crate::flags::{Bench, Global, Which};
use crate::machine::{Machine, Root};
use crate::output;
use crate::place::Place;
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
struct Task<'a, P: Place = Host> {
    pair: Pair<P>,
    args: &'a Bench,
    progress: Progress,
    done: u64,
}

impl<P: Place> Task<'_, P> {
    fn rounds(&self, usual: u16) -> usize {
        usize::from(rounds(self.args, usual))
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
    let flags = [
        ("--seed", args.seed.is_some(), storm),
        ("--for", args.time.is_some(), soak),
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

/// A bench that can be made wherever the stack runs.
trait Measure {
    /// Takes the task's steps, each of which measures something.
    fn measure<P: Place>(self, task: &mut Task<'_, P>) -> Result<Vec<Section>, Failure>;
}

/// What a bench needs to begin.
struct Needs<'a> {
    /// Everything is by one of these.
    strategies: &'a [Strategy],
    /// Bytes of messages.
    sizes: &'a [usize],
    /// So many steps are taken.
    steps: usize,
}

impl Needs<'_> {
    fn engine(&self) -> bool {
        self.strategies.iter().any(|s| s.transfer == Transfer::CopyEngine)
    }

    fn longest(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or(0)
    }

    /// A task for two sides that are linked.
    fn task<'a, P: Place>(
        &self,
        global: &Global,
        args: &'a Bench,
        mut pair: Pair<P>,
    ) -> Result<Task<'a, P>, Failure> {
        for strategy in self.strategies {
            pair.check(*strategy, self.longest())?;
        }
        let progress = Progress::new(self.steps as u64, global.json);
        Ok(Task { pair, args, progress, done: 0 })
    }
}

/// Makes a bench where it is asked for.
fn make(
    global: &Global,
    args: &Bench,
    needs: &Needs<'_>,
    bench: impl Measure,
) -> Result<Vec<Section>, Failure> {
    bench.measure(&mut begin(global, args, needs)?)
}

/// Starts both processes of a bench.
fn begin<'a>(global: &Global, args: &'a Bench, needs: &Needs<'_>) -> Result<Task<'a>, Failure> {
    let pair = Pair::start(global, needs.engine(), needs.longest(), None)?;
    pair.warn();
    needs.task(global, args, pair)
}

/// The rounds asked for, or the usual ones.
fn rounds(args: &Bench, usual: u16) -> u16 {
    args.rounds.unwrap_or(usual)
}

/// Iterations of a batch, if one takes so many nanoseconds.
fn iterations(ns: f64) -> u64 {
    (BATCH_NS / ns.max(1.0)).clamp(8.0, 8192.0) as u64
}
