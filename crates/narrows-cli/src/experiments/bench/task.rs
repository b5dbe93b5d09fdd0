//! What benches of strategies have in common: rounds between two linked sides, and their rows.

use narrows::strategy::{Placement, Strategy, Transfer};
use narrows_host::Host;
use narrows_sim::chip::Chip;
use serde::Serialize;

use super::choice;
use super::flags::{Axes, Common};
use crate::base::failure::Failure;
use crate::base::machine::{Machine, Root};
use crate::base::options::Global;
use crate::base::output;
use crate::base::page::PageOut;
use crate::base::progress::Progress;
use crate::base::report::{self, BenchReport, BenchRow, Bound, Report};
use crate::base::usage::Monitor;
use crate::rig::pair::Pair;
use crate::rig::place::Place;
use crate::rig::sim;

/// How long a batch of the stack should take, in nanoseconds: long enough to time, short enough
/// to fall between two disturbances.
const BATCH_NS: f64 = 1.5e6;

/// Rows that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// What they are about; empty if they are all there is.
    pub heading: String,
    pub rows: Vec<BenchRow>,
    /// What can be read in them, computed from them.
    pub reading: String,
    /// What else is to be known when reading them, in sentences.
    pub notes: Vec<String>,
}

impl Section {
    /// The same, with a reading of how many of its bounds are met, and which are not.
    pub fn judged(self) -> Section {
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
pub struct Task<'a, P: Place = Host> {
    pub pair: Pair<P>,
    pub args: &'a Common,
    pub progress: Progress,
    pub done: u64,
}

impl<P: Place> Task<'_, P> {
    pub fn rounds(&self, usual: u16) -> usize {
        usize::from(rounds(self.args, usual))
    }

    /// A bound on what is promised of this machine; of a chip nothing is.
    pub fn bound(&self, bound: Bound) -> Option<Bound> {
        Some(bound).filter(|_| self.args.place.platform().is_none())
    }

    /// Says what is measured now.
    pub fn say(&self, what: &str) {
        self.progress.say(what);
    }

    /// A step is done.
    pub fn step(&mut self) {
        self.done += 1;
        self.progress.reach(self.done);
    }
}

/// What a bench was asked for.
pub struct Asked<'a> {
    pub global: &'a Global,
    pub args: &'a Common,
    /// Where it runs; on this machine if there is none.
    pub chip: Option<Chip>,
    /// The page of what is found.
    pub page: PageOut,
    /// Whether what chips did is printed too.
    pub details: bool,
}

impl Asked<'_> {
    /// What looks at simulations.
    pub fn monitor(&self) -> Option<&Monitor> {
        Some(&self.global.monitor)
    }

    /// Prints what was found, with what chips did: as JSON or, where that is not wanted, as words,
    /// behind which it stands among the details.
    ///
    /// # Errors
    /// [`Kind::Output`](crate::base::failure::Kind) if standard output refuses it.
    pub fn print<R: Serialize>(
        &self,
        report: &Report<R>,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let chip = self.global.monitor.rows();
        if self.global.json {
            return report::print(&BenchReport { report, chip });
        }
        let mut text = text();
        if self.details {
            chip.iter().for_each(|row| text.push_str(&row.text()));
        }
        output::print(text.as_bytes())
    }

    /// The longest message that memory of this placement carries, as far as that is known before.
    pub fn longest(&self, placement: Placement) -> usize {
        let longest = |chip: &Chip| {
            let classes = chip.link.classes.iter().filter(|class| class.placement == placement);
            classes.map(|class| class.size as usize).max().unwrap_or(0)
        };
        self.chip.as_ref().map_or(choice::LONGEST, longest)
    }

    /// The sizes asked for, or those of the usual ones that memory of this placement carries.
    pub fn sizes(&self, placement: Placement, usual: &[usize]) -> Result<Vec<usize>, Failure> {
        let longest = self.longest(placement);
        let usual: Vec<usize> = usual.iter().copied().filter(|size| *size <= longest).collect();
        choice::sizes(&self.args.bytes, &usual)
    }

    /// Each strategy with each of its sizes.
    pub fn trials(&self, strategies: &[Strategy], usual: &[usize]) -> Result<Vec<Trial>, Failure> {
        let mut trials = Vec::new();
        for strategy in strategies {
            let sizes = self.sizes(strategy.placement, usual)?;
            trials.extend(sizes.into_iter().map(|bytes| (*strategy, bytes)));
        }
        Ok(trials)
    }

    /// Those of the usual placements that there is memory of.
    pub fn placements<'p>(&self, usual: &[&'p str]) -> Vec<&'p str> {
        let there = |name: &&str| match &self.chip {
            None => true,
            Some(_) => [Placement::Internal, Placement::External]
                .into_iter()
                .any(|placement| placement.to_string() == **name && self.longest(placement) > 0),
        };
        usual.iter().copied().filter(there).collect()
    }

    /// Every combination of what was chosen, or else of what is usual.
    pub fn strategies(&self, usual: [&[&str]; 3]) -> Result<Vec<Strategy>, Failure> {
        let Axes { transfer, notify, placement } = &self.args.axes;
        let [transfers, notifications, placements] = usual;
        let usual = [transfers, notifications, &self.placements(placements)];
        choice::strategies([transfer, notify, placement], usual)
    }

    pub fn machine(&self) -> Machine {
        let here = || Machine::look(&Root::default());
        self.chip.as_ref().map_or_else(here, sim::machine)
    }
}

/// What is measured: a strategy, and bytes of a message.
pub type Trial = (Strategy, usize);

/// A bench that can be made wherever the stack runs.
pub trait Measure {
    /// Takes the task's steps, each of which measures something.
    fn measure<P: Place>(self, task: &mut Task<'_, P>) -> Result<Vec<Section>, Failure>;
}

/// What a bench needs to begin.
pub struct Needs<'a> {
    /// What both sides have to be able to do.
    pub trials: &'a [Trial],
    /// The longest message of all.
    pub longest: usize,
    /// This many steps are taken.
    pub steps: usize,
}

impl<'a> Needs<'a> {
    /// Of a bench that takes this many steps for each trial.
    pub fn of(trials: &'a [Trial], each: usize) -> Needs<'a> {
        let longest = trials.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
        Needs { trials, longest, steps: each * trials.len() }
    }

    pub fn engine(&self) -> bool {
        self.trials.iter().any(|(strategy, _)| strategy.transfer == Transfer::CopyEngine)
    }

    /// A task for two sides that are linked.
    pub fn task<'b, P: Place>(
        &self,
        global: &Global,
        args: &'b Common,
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
pub fn make(
    asked: &Asked<'_>,
    needs: &Needs<'_>,
    bench: impl Measure,
) -> Result<Vec<Section>, Failure> {
    let Asked { global, args, chip, .. } = asked;
    let Some(chip) = chip else { return bench.measure(&mut begin(global, args, needs)?) };
    let room = sim::Needs { longest: needs.longest, ..sim::Needs::default() };
    let measure = |pair| bench.measure(&mut needs.task(global, args, pair)?);
    sim::pair(global, chip, &room, measure)
}

/// Starts both processes of a bench.
pub fn begin<'a>(
    global: &Global,
    args: &'a Common,
    needs: &Needs<'_>,
) -> Result<Task<'a>, Failure> {
    let pair = Pair::start(global, needs.engine(), needs.longest, None)?;
    pair.warn();
    needs.task(global, args, pair)
}

/// The rounds asked for, or the usual ones. A simulated chip is not disturbed: rounds differ only
/// by what the ones before have left in caches and rings.
pub fn rounds(args: &Common, usual: u16) -> u16 {
    const VIRTUAL: u16 = 3;
    let usual = if args.place.platform().is_some() { usual.min(VIRTUAL) } else { usual };
    args.rounds.unwrap_or(usual)
}

/// Iterations of a batch, if one takes this many nanoseconds.
pub fn iterations(ns: f64) -> u64 {
    (BATCH_NS / ns.max(1.0)).clamp(8.0, 8192.0) as u64
}
