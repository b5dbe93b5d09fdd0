//! Measuring the stack beside what the machine itself allows.
//!
//! Two processes, each pinned to its core, do everything: a *round* is a batch of the
//! [limit](crate::rig::limit) and a batch of each thing measured, in turns, so that what disturbs one
//! disturbs the other. A row is the median of all rounds, and its ratio the median of the rounds'
//! own ratios.
//!
//! On a simulated chip both sides are processes of one simulation, and a batch of the limit is one of
//! its own.

pub mod against;
mod bounds;
pub mod choice;
pub mod flags;
mod floors;
mod idle;
pub(crate) mod linx;
pub mod mcapi;
mod phases;
mod pingpong;
mod scaling;
mod simulator;
mod sizes;
mod soak;
mod spans;
mod storm;
mod throughput;
pub mod traffic;
mod tune;

use narrows::strategy::{Placement, Strategy, Transfer};
use narrows_host::Host;
use narrows_sim::chip::Chip;

use crate::base::failure::{Failure, Kind};
use crate::base::machine::{Machine, Root};
use crate::base::options::Global;
use crate::base::output;
use crate::base::progress::Progress;
use crate::base::report::{BenchRow, Bound, Report, bench_text};
use crate::experiments::bench::flags::{Bench, Which};
use crate::rig::pair::Pair;
use crate::rig::place::Place;
use crate::rig::sim;
use against::flags::Beside;

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
    /// What else is to be known when reading them, in sentences.
    notes: Vec<String>,
}

impl Section {
    /// The same, with a reading of how many of its bounds are met, and which are not.
    fn judged(self) -> Section {
        let bounds = self.rows.iter().filter(|row| row.bound.is_some()).count();
        if bounds == 0 {
            return self;
        }
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

    /// A bound on what is promised of this machine; of a chip nothing is.
    fn bound(&self, bound: Bound) -> Option<Bound> {
        Some(bound).filter(|_| self.args.place.platform().is_none())
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

/// What a bench was asked for.
struct Asked<'a> {
    global: &'a Global,
    args: &'a Bench,
    /// Where it runs; on this machine if there is none.
    chip: Option<Chip>,
}

impl Asked<'_> {
    /// The longest message that memory of this placement carries, as far as that is known before.
    fn longest(&self, placement: Placement) -> usize {
        let longest = |chip: &Chip| {
            let classes = chip.link.classes.iter().filter(|class| class.placement == placement);
            classes.map(|class| class.size as usize).max().unwrap_or(0)
        };
        self.chip.as_ref().map_or(choice::LONGEST, longest)
    }

    /// The sizes asked for, or those of the usual ones that memory of this placement carries.
    fn sizes(&self, placement: Placement, usual: &[usize]) -> Result<Vec<usize>, Failure> {
        let longest = self.longest(placement);
        let usual: Vec<usize> = usual.iter().copied().filter(|size| *size <= longest).collect();
        choice::sizes(&self.args.bytes, &usual)
    }

    /// Each strategy with each of its sizes.
    fn trials(&self, strategies: &[Strategy], usual: &[usize]) -> Result<Vec<Trial>, Failure> {
        let mut trials = Vec::new();
        for strategy in strategies {
            let sizes = self.sizes(strategy.placement, usual)?;
            trials.extend(sizes.into_iter().map(|bytes| (*strategy, bytes)));
        }
        Ok(trials)
    }

    /// Those of the usual placements that there is memory of.
    fn placements<'p>(&self, usual: &[&'p str]) -> Vec<&'p str> {
        let there = |name: &&str| match &self.chip {
            None => true,
            Some(_) => [Placement::Internal, Placement::External]
                .into_iter()
                .any(|placement| placement.to_string() == **name && self.longest(placement) > 0),
        };
        usual.iter().copied().filter(there).collect()
    }

    /// Every combination of what was chosen, or else of what is usual.
    fn strategies(&self, usual: [&[&str]; 3]) -> Result<Vec<Strategy>, Failure> {
        let Bench { transfer, notify, placement, .. } = self.args;
        let [transfers, notifications, placements] = usual;
        let usual = [transfers, notifications, &self.placements(placements)];
        choice::strategies([transfer, notify, placement], usual)
    }

    fn machine(&self) -> Machine {
        let here = || Machine::look(&Root::default());
        self.chip.as_ref().map_or_else(here, sim::machine)
    }
}

/// What is measured: a strategy, and bytes of a message.
type Trial = (Strategy, usize);

/// Measures what is asked for and prints it.
///
/// # Errors
/// What is asked for cannot be, the machine refuses it, or the other process is gone.
pub fn run(global: &Global, args: &Bench) -> Result<(), Failure> {
    sensible(global, args)?;
    let chip = args.place.chip(global)?;
    let asked = Asked { global, args, chip };
    let sections = match args.which {
        Which::Limit => floors::run(&asked)?,
        Which::Bounds => bounds::run(&asked)?,
        Which::Pingpong => pingpong::run(&asked)?,
        Which::Throughput => throughput::run(&asked)?,
        Which::Phases => phases::run(&asked)?,
        Which::Sizes => sizes::run(&asked)?,
        Which::Storm => return storm::run(&asked),
        Which::Soak => return soak::run(&asked),
        Which::Sim => return simulator::run(global, args),
        Which::Scaling => scaling::run(&asked)?,
        Which::Mcapi => mcapi::run(global, args, asked.chip.as_ref())?,
        Which::Tune => match args.against.against {
            Some(beside) => return against::run(global, args, beside),
            None => tune::run(global, args)?,
        },
        Which::T0 | Which::T1 | Which::T2 | Which::T3 | Which::T4 | Which::T5 | Which::T6 => {
            return linx::run(&asked);
        }
    };
    let machine = asked.machine();
    if global.json {
        let notes = sections.iter().flat_map(|section| section.notes.clone()).collect();
        let rows = sections.into_iter().flat_map(|section| section.rows).collect();
        let report = Report::new(&format!("bench {}", args.which.name()), machine, rows);
        return Report { notes, ..report }.print();
    }
    let heading = machine.simulated().map(|on| on + "\n\n").unwrap_or_default();
    output::print((heading + &text(&sections)).as_bytes())
}

/// Whether every flag that was given means something here.
fn sensible(global: &Global, args: &Bench) -> Result<(), Failure> {
    let (storm, soak) = (args.which == Which::Storm, args.which == Which::Soak);
    let sim = args.which == Which::Sim;
    let tune = args.which == Which::Tune;
    let simulator = tune && args.against.against == Some(Beside::Simulator);
    let linx = linx::is_one(args.which);
    if let Some(why) =
        only_here(args.which).filter(|_| args.place.platform().is_some() && !simulator)
    {
        let which = args.which.name();
        let sentence = format!("bench {which} {why}: leave --on out, or choose another bench");
        return Err(Failure::new(Kind::Usage, sentence));
    }
    let flags = [
        ("--seed", args.seed.is_some(), storm || simulator),
        ("--against", args.against.against.is_some(), tune),
        ("--cases", args.against.cases.is_some(), simulator),
        ("--case", args.against.case.is_some(), simulator),
        ("--for", args.time.is_some(), soak),
        ("--systemc", args.systemc.is_some(), sim),
        ("--transfer", !args.transfer.is_empty(), !sim && !tune && !linx),
        ("--notify", !args.notify.is_empty(), !sim && !tune && !linx),
        ("--placement", !args.placement.is_empty(), !sim && !tune && !linx),
        ("--driver", !args.linx.driver.is_empty(), linx),
        ("--stack", !args.linx.stack.is_empty(), linx),
        ("--cached", args.linx.cached, linx),
        ("--mtu", args.linx.mtu.is_some(), linx),
        ("--handler-stopped", args.linx.handler_stopped, linx),
        ("--counter", args.linx.counter.is_some(), linx),
        ("--rounds", args.rounds.is_some(), !soak && !simulator),
        ("--bytes", !args.bytes.is_empty(), !storm && !soak && !tune),
        ("--priority", global.priority.is_some(), !soak && !tune),
        ("--lock-memory", global.lock_memory, !storm && !soak && !tune),
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

/// Why a bench cannot be made on a simulated chip.
fn only_here(which: Which) -> Option<&'static str> {
    match which {
        // Both are of this machine's own time, of which a simulated chip has none.
        Which::Sim => Some("times the simulator itself, with a chip of its own"),
        Which::Tune => Some("times the choosing of strategies on this machine"),
        _ => None,
    }
}

/// What the figures say, each under its heading, and then the tables they are taken from.
fn text(sections: &[Section]) -> String {
    let wrapped = |indent: &str, text: &str| crate::base::table::wrap(indent, text);
    let readings = sections.iter().filter(|section| !section.reading.is_empty()).map(|section| {
        let said = [&section.reading].into_iter().chain(&section.notes);
        said.fold(wrapped("", &section.heading), |text, said| text + &wrapped("  ", said))
    });
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
    /// What both sides have to be able to do.
    trials: &'a [Trial],
    /// The longest message of all.
    longest: usize,
    /// So many steps are taken.
    steps: usize,
}

impl<'a> Needs<'a> {
    /// Of a bench that takes so many steps for each trial.
    fn of(trials: &'a [Trial], each: usize) -> Needs<'a> {
        let longest = trials.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
        Needs { trials, longest, steps: each * trials.len() }
    }

    fn engine(&self) -> bool {
        self.trials.iter().any(|(strategy, _)| strategy.transfer == Transfer::CopyEngine)
    }

    /// A task for two sides that are linked.
    fn task<'b, P: Place>(
        &self,
        global: &Global,
        args: &'b Bench,
        mut pair: Pair<P>,
    ) -> Result<Task<'b, P>, Failure> {
        for trials in self.trials.chunk_by(|one, other| one.0 == other.0) {
            let longest = trials.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
            if let Some((strategy, _)) = trials.first() {
                pair.check(*strategy, longest)?;
            }
        }
        let progress = Progress::new(self.steps as u64, global.json);
        Ok(Task { pair, args, progress, done: 0 })
    }
}

/// Makes a bench where it is asked for.
fn make(
    asked: &Asked<'_>,
    needs: &Needs<'_>,
    bench: impl Measure,
) -> Result<Vec<Section>, Failure> {
    let Asked { global, args, chip } = asked;
    let Some(chip) = chip else { return bench.measure(&mut begin(global, args, needs)?) };
    let room = sim::Needs { longest: needs.longest, ..sim::Needs::default() };
    let limits = sim::ChipLimits::new(chip, sim::cores(global, chip)?);
    sim::run(global, chip, &room, |mut peer| {
        peer.limits = Some(limits);
        let pair = Pair::new(peer, needs.longest)?;
        bench.measure(&mut needs.task(global, args, pair)?)
    })
}

/// Starts both processes of a bench.
fn begin<'a>(global: &Global, args: &'a Bench, needs: &Needs<'_>) -> Result<Task<'a>, Failure> {
    let pair = Pair::start(global, needs.engine(), needs.longest, None)?;
    pair.warn();
    needs.task(global, args, pair)
}

/// The rounds asked for, or the usual ones. A simulated chip is not disturbed: rounds differ only by
/// what the ones before have left in caches and rings.
fn rounds(args: &Bench, usual: u16) -> u16 {
    const VIRTUAL: u16 = 3;
    let usual = if args.place.platform().is_some() { usual.min(VIRTUAL) } else { usual };
    args.rounds.unwrap_or(usual)
}

/// Iterations of a batch, if one takes so many nanoseconds.
fn iterations(ns: f64) -> u64 {
    (BATCH_NS / ns.max(1.0)).clamp(8.0, 8192.0) as u64
}
