//! `narrows advise`: what each flow of a workload should travel by, tried before it is said.
//!
//! `experiments/advice` proposes, tries and judges; `words` says what came of it,
//! `row` is that for programs, and `file` writes the workload with the strategies. Of a workload of
//! tasks instead of flows `tasks` says which belong on one processor, and of flows through
//! accelerators `offload` says how many ports and how much credit are enough.

mod file;
pub mod flags;
mod offload;
mod page;
mod row;
mod said;
mod tasks;
mod words;

use crate::answers::tune::{self, flags::Objective};
use crate::base::failure::{Failure, Kind};
use crate::base::machine::{Machine as Here, Root};
use crate::base::options::{Global, HOST};
use crate::base::output;
use crate::base::page::{Page, PageOut};
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::table::listed;
use crate::base::threads;
use crate::experiments::advice::{
    Assignment, Extent, Judge, MOST, Question, advise, fits, groups, trial,
};
use crate::experiments::run::longest;
use crate::formats::recording::{self, Playing};
use crate::formats::workload::{self, Offers, Presence, Workload};
use crate::formats::{self, platform, strategy};
use crate::rig::costs;
use crate::rig::costs::machine::{Measured, measured};
use crate::rig::peer::{Options, Peer, cores_of};
use crate::rig::plan::{Least, Machine, Subject, refused, subjects};
use crate::rig::sim;
use flags::Advise;
use narrows_sim::chip::Chip;
use narrows_sim::time::Frequency;
use said::Said;
use serde::Serialize;
use std::time::Duration;
use words::Group;

/// Parts per million of a percent.
const PERCENT: f64 = 1e4;
/// How long all trials on this machine take together, how long one of them at least and at most,
/// the periods of the slowest flow that it should have, and how often each is repeated.
const BUDGET: Duration = Duration::from_secs(10);
const SHORT: Duration = Duration::from_millis(150);
const LONG: Duration = Duration::from_millis(600);
const PERIODS: u32 = 12;
const ROUNDS: [u32; 2] = [3, 9];
/// Proposals that are tried on this machine.
const PROPOSALS: usize = 10;

/// Asks, tries, and says.
///
/// # Errors
/// [`Kind::Workload`] with the flows that cannot be planned and by how much; or what a trial fails
/// with.
pub fn run(global: &Global, args: &Advise) -> Result<(), Failure> {
    let page = PageOut::new(&args.page)?;
    if let Some(file) = &args.from {
        let workload = recording::read(file, Playing { speed: 1.0, cost: None })?;
        return of_flows(global, args, page, &workload, "");
    }
    let text = workload::text(&args.workload)?;
    if let Some(graph) = formats::tasks::parse(&args.workload, &text)? {
        return tasks::run(global, args, &page, &graph);
    }
    if let Some(work) = formats::offload::parse(&args.workload, &text)? {
        return offload::run(global, args, &page, &work);
    }
    of_flows(global, args, page, &workload::parse(&args.workload, &text)?, &text)
}

/// Of a workload of flows, with its text if it was written down.
fn of_flows(
    global: &Global,
    args: &Advise,
    page: PageOut,
    workload: &Workload,
    text: &str,
) -> Result<(), Failure> {
    let chip = (args.on != HOST).then(|| platform::load(&args.on)).transpose()?;
    if let Some(directory) = &args.out {
        output::make_directory(directory)?;
        output::probe_directory(directory)?;
    }
    let progress = Progress::new(0, global.json);
    progress.say("measuring");
    let asked = Asked { global, args, workload, progress: &progress };
    let said = match &chip {
        Some(chip) => asked.on_chip(chip)?,
        None => asked.here()?,
    };
    drop(progress);
    let place = chip.as_ref().map_or_else(|| Here::look(&Root::default()), sim::machine);
    let written = match &args.out {
        Some(directory) => {
            let chosen: Vec<_> = said.chosen(workload);
            Some(file::write(directory, (&args.workload, text), &chosen)?)
        }
        None => None,
    };
    let rows = said.rows(workload);
    let command = said.command(args, written.as_deref());
    if global.json {
        let mut report = Report::new("advise", place.clone(), rows.clone());
        report.notes = vec![said.uncertainty(), format!("To try it: {command}")];
        report.notes.extend(said.untimed.clone());
        report.print()?;
    } else {
        let simulated = place.elsewhere().filter(|_| place.r#virtual);
        let heading = simulated.unwrap_or_else(|| format!("on {}", place.line()));
        output::print(said.text(workload, &heading, &command).as_bytes())?;
    }
    page.write(|| page::page(&place, &workload.name, &said, &rows, &command))
}

/// Prints what was found of a workload of another kind than strategies carry, and writes its page.
fn print<R: Serialize>(
    global: &Global,
    page: &PageOut,
    name: &str,
    report: &Report<R>,
    text: fn(&Report<R>) -> String,
) -> Result<(), Failure> {
    if global.json {
        report.print()?;
    } else {
        let heading = report.machine.elsewhere().unwrap_or_default();
        output::print(format!("{name} {heading}\n\n{}", text(report)).as_bytes())?;
    }
    page.write(|| Page::of(report))
}

/// What is asked, and of what.
struct Asked<'a> {
    global: &'a Global,
    args: &'a Advise,
    workload: &'a Workload,
    progress: &'a Progress,
}

impl Asked<'_> {
    fn least(&self) -> Least {
        match self.args.objective {
            Objective::Latency => Least::Latency,
            Objective::Load | Objective::Energy => Least::Load,
        }
    }

    fn dsps(&self) -> u8 {
        self.args.dsps.unwrap_or(self.workload.dsps())
    }

    fn subjects(&self, place: Option<(&Chip, usize)>) -> Result<Vec<Subject>, Failure> {
        let mut named = Vec::new();
        strategy::append(&mut named, self.args.strategy.iter().flat_map(|one| one.0.clone()));
        let spin = self.args.objective == Objective::Latency;
        subjects::subjects(self.workload, place, &named, spin)
    }

    fn machine(&self, measured: &Measured) -> Result<Machine, Failure> {
        let there = measured.machine()?.memory;
        let memory = self.args.memory.or(self.workload.memory.map(|memory| memory.min(there)));
        measured.within(memory, self.dsps(), (self.args.load * PERCENT) as u64)
    }

    /// Tries on a chip; if its clock is to be least, at each until one is enough.
    fn on_chip(&self, chip: &Chip) -> Result<Said, Failure> {
        let cores = sim::cores(self.global, chip)?;
        let own = chip.cores.get(cores.caller);
        let clocks = tune::clocks(self.args.objective, &self.args.clocks, own)?;
        let Some((highest, others)) = clocks.split_last() else {
            return self.at_clock(chip, cores.callee, None);
        };
        for clock in others {
            let slower = chip.clone().with_clock(cores.caller, Frequency(*clock));
            match self.at_clock(&slower, cores.callee, Some(*clock)) {
                Ok(said) if said.found.best().is_some_and(|best| said.judge.holds(best)) => {
                    return Ok(said);
                }
                Err(failure) if failure.kind != Kind::Workload => return Err(failure),
                _ => {}
            }
        }
        let highest = *highest;
        let chip = chip.clone().with_clock(cores.caller, Frequency(highest));
        self.at_clock(&chip, cores.callee, Some(highest))
    }

    fn at_clock(&self, chip: &Chip, callee: usize, clock: Option<u64>) -> Result<Said, Failure> {
        let Asked { global, workload, .. } = *self;
        let chip = &chip.clone().with_free_timers();
        let subjects = self.subjects(Some((chip, callee)))?;
        let offers = Offers::new(workload, Some(&chip.name))?;
        let measured = measured(global, Some(chip), longest(workload))?;
        let machine = self.machine(&measured)?;
        let least = self.least();
        self.progress.expect(MOST as u64);
        self.progress.say("simulating");
        let said =
            self.said(machine, subjects, true, |(machine, subjects), assignments, extent| {
                let tried = threads::each(assignments, |one| {
                    let fit = fits(machine, subjects, one, least).unwrap_or_default();
                    let on = (chip, machine.dsps);
                    let made = trial::on_chip(global, on, (workload, &offers), (one, fit), extent);
                    self.progress.step();
                    made
                });
                tried.into_iter().collect()
            })?;
        Ok(Said {
            clock,
            untimed: chip.cores.get(callee).and_then(|core| offers.untimed(core)),
            ..said
        })
    }

    fn here(&self) -> Result<Said, Failure> {
        tune::clocks(self.args.objective, &self.args.clocks, None)?;
        if self.dsps() > 1 {
            let text =
                "several cores are called on a chip only, here one process is: name one with --on";
            return Err(Failure::new(Kind::Usage, text));
        }
        let global = self.global;
        let cores = cores_of(global)?;
        let subjects = self.subjects(None)?;
        let offers = Offers::new(self.workload, None)?;
        let options = Options {
            priority: global.priority,
            lock_memory: global.lock_memory,
            longest: longest(self.workload).max(costs::LONG),
            functions: offers.foreign(),
            ..Options::default()
        };
        let mut peer = Peer::start(cores, &options)?;
        let measured = Measured::by(&mut peer, None)?;
        let machine = self.machine(&measured)?;
        let workload = &settled(self.workload);
        let span = span(workload);
        let least = self.least();
        self.progress.say("running");
        self.said(machine, subjects, false, |(machine, subjects), assignments, _| {
            let few: Vec<_> = assignments.iter().take(PROPOSALS).collect();
            let each = span.as_secs_f64() * few.len() as f64;
            let rounds = (BUDGET.as_secs_f64() / each.max(1e-3)) as u32;
            let rounds = rounds.clamp(ROUNDS[0], ROUNDS[1]);
            let with = few
                .into_iter()
                .map(|one| (one.clone(), fits(machine, subjects, one, least).unwrap_or_default()));
            let with: Vec<_> = with.collect();
            self.progress.expect(with.len() as u64 * u64::from(rounds));
            let step = || self.progress.step();
            trial::here(&mut peer, (workload, &offers), &with, rounds, span, step)
        })
    }

    fn said(
        &self,
        machine: Machine,
        subjects: Vec<Subject>,
        search: bool,
        mut tried: impl FnMut(
            (&Machine, &[Subject]),
            &[Assignment],
            Extent,
        ) -> Result<Vec<trial::Trial>, Failure>,
    ) -> Result<Said, Failure> {
        let judge = Judge { least: self.least(), load: self.args.load };
        let question =
            Question { machine: &machine, subjects: &subjects, least: judge.least, search };
        let found =
            advise(&question, &judge, |all, extent| tried((&machine, &subjects), all, extent))?;
        let found = found.map_err(|why| refused(&subjects, &why))?;
        let Some(best) = found.best() else {
            return Err(Failure::new(Kind::Internal, "nothing was tried: report this defect"));
        };
        if let Some(why) = &best.refused {
            return Err(Failure::new(Kind::Workload, format!("no strategy carries flow {why}")));
        }
        let repeats = best.loads.len();
        let (whole, part) = (found.trials.len(), found.looked - found.trials.len());
        let how = if search { "simulated" } else { "run here" };
        let mut how = format!("{whole} strategies were {how}, {repeats} times each");
        if search && part > 0 {
            how += &format!(", and {part} until they were far from the best");
        }
        let groups = groups(&subjects)
            .into_iter()
            .map(|flows| Group { name: called(&subjects, &flows), flows });
        let groups = groups.collect();
        let objective = self.args.objective;
        Ok(Said {
            found,
            judge,
            objective,
            dsps: machine.dsps,
            groups,
            how,
            clock: None,
            untimed: None,
        })
    }
}

/// A workload whose flows are all there from the beginning and stay.
fn settled(workload: &Workload) -> Workload {
    let mut made = workload.clone();
    made.changes.clear();
    for flow in &mut made.flows {
        flow.presence = Presence::Always;
    }
    made
}

/// How long one trial on this machine runs.
fn span(workload: &Workload) -> Duration {
    let slowest = workload.slowest().unwrap_or_default();
    slowest.saturating_mul(PERIODS).clamp(SHORT, LONG).min(workload.duration)
}

/// What flows that have one strategy are called: sessions by their flow's name.
fn called(subjects: &[Subject], flows: &[usize]) -> String {
    let names: Vec<&str> = flows.iter().map(|flow| subjects[*flow].name.as_str()).collect();
    let stem = |name: &str| name.rsplit_once('-').map(|(stem, _)| stem.to_owned());
    match names.first().and_then(|first| stem(first)) {
        Some(first)
            if names.len() > 1 && names.iter().all(|name| stem(name) == Some(first.clone())) =>
        {
            first
        }
        _ => listed(&names),
    }
}
