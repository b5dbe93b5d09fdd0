//! Random workloads on simulated chips: what the model says of them, and what the stack does.

use super::cases::{self, Case};
use super::row::{CaseRow, FlowRow};
use super::text;
use crate::base::failure::{Failure, Kind};
use crate::base::machine::Machine as Here;
use crate::base::options::Global;
use crate::base::page::Page;
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::experiments::bench::against::flags::Against;
use crate::experiments::bench::task::Asked;
use crate::experiments::run::{self, Fared, longest};
use crate::formats::platform;
use crate::formats::workload::{Offers, Workload};
use crate::rig::costs::machine::measured;
use crate::rig::plan::Machine;
use crate::rig::sim;
use narrows_sim::chip::Chip;
use std::sync::atomic::AtomicBool;

/// The chips that come with the program.
const CHIPS: [&str; 4] = ["davinci", "generic-amp", "nios2-dual", "nios2-quad"];
/// Workloads, if no other number is asked for.
const CASES: u32 = 200;
const SEED: u64 = 1;
/// Picoseconds of a millisecond.
const MS: f64 = 1e9;

/// A chip to draw for.
struct Subject {
    chip: Chip,
    machine: Machine,
}

/// Draws, simulates and prints.
///
/// # Errors
/// A chip that cannot be simulated; [`Kind::Internal`] if a bound was exceeded.
pub(super) fn run(asked: &Asked<'_>, args: &Against) -> Result<(), Failure> {
    let global = asked.global;
    let seed = args.seed.unwrap_or(SEED);
    let numbers: Vec<u32> = match args.case {
        Some(case) => vec![case],
        None => (0..args.cases.unwrap_or(CASES)).collect(),
    };
    let named = asked.args.place.platform().map(|name| vec![name]);
    let names = named.unwrap_or_else(|| CHIPS.to_vec());
    let progress = Progress::new((names.len() + numbers.len()) as u64, global.json);
    progress.say("measuring chips");
    let mut chips: Vec<Option<Subject>> = names.iter().map(|_| None).collect();
    let mut rows = Vec::new();
    let mut files = Vec::new();
    for (done, number) in (1..).zip(&numbers) {
        let which = *number as usize % names.len();
        let slot = chips.get_mut(which).zip(names.get(which));
        let Some((slot, name)) = slot else { continue };
        global.monitor.of(*name);
        if slot.is_none() {
            *slot = Some(subject(global, name)?);
        }
        let Some(subject) = slot else { continue };
        progress.say(&format!("case {number} on {name}"));
        let case = cases::draw(cases::seed(seed, *number), &subject.machine, args.callees);
        let Some(case) = case else { continue };
        rows.push(simulate(global, subject, *number, &case)?);
        if numbers.len() == 1 {
            files.push(case.file());
        }
        progress.reach(done);
    }
    drop(progress);
    let exceeded = rows.iter().flat_map(|row| &row.flows).filter(|flow| flow.taken() > 1.0).count();
    let mut report = Report::new("bench tune", machine(&names), rows);
    report.notes = text::notes(&report.results, seed, args.callees);
    asked.print(&report, || text::text(&report, &files))?;
    asked.page.write(|| Page::of(&report))?;
    match exceeded {
        0 => Ok(()),
        count => {
            let text = format!("{count} latency bounds were exceeded: report this defect");
            Err(Failure::new(Kind::Internal, text))
        }
    }
}

pub(in crate::experiments::bench) fn machine(names: &[&str]) -> Here {
    Here {
        cpu: "simulated".into(),
        cores: 2,
        kernel: "unknown".into(),
        virtualised: false,
        carrier: None,
        platform: Some(names.join(", ")),
        r#virtual: true,
    }
}

/// Measures a chip. Its stamps take nothing: what is compared is the stack, not the observer.
fn subject(global: &Global, name: &str) -> Result<Subject, Failure> {
    let chip = platform::load(name)?.with_free_timers();
    let machine = measured(global, Some(&chip), cases::LONGEST as usize)?.machine()?;
    Ok(Subject { chip, machine })
}

fn simulate(
    global: &Global,
    subject: &Subject,
    number: u32,
    case: &Case,
) -> Result<CaseRow, Failure> {
    let needs = sim::Needs { longest: longest(&case.workload), ..sim::Needs::default() };
    let inputs: Vec<_> = case.workload.flows.iter().map(|_| None).collect();
    // What comes once, such as caches that fill, is in the bound alone: so it counts for that, and
    // what follows for load and percentile.
    let before = Workload { duration: case.before(), ..case.workload.clone() };
    let stop = AtomicBool::new(false);
    let (first, outcome) = sim::run(global, &subject.chip, &needs, |mut peer| {
        let offers = Offers::new(&case.workload, None)?;
        let mut once =
            |workload| run::once(&mut peer, (workload, &offers), &inputs, case.policy, &stop);
        Ok((once(&before)?, once(&case.workload)?))
    })?;
    if let Some(failure) = first.failure.or(outcome.failure.clone()) {
        return Err(failure);
    }
    let mut flows = Vec::new();
    for (at, fared) in outcome.flows.iter().enumerate() {
        let one = case.subjects.get(at).zip(case.plan.given.get(at));
        let Some((one, given)) = one else { continue };
        let Fared::Ran(figures, _) = fared else {
            let text = format!("case {number} on {} was refused", subject.chip.name);
            return Err(Failure::new(Kind::Internal, text));
        };
        let found = figures.since_due.summary(0.0);
        let first = match first.flows.get(at) {
            Some(Fared::Ran(figures, _)) => figures.since_due.summary(0.0).max,
            _ => 0.0,
        };
        flows.push(FlowRow {
            request: one.flow.request,
            response: one.flow.response,
            work_ms: one.flow.work.as_secs_f64() * 1e3,
            period_ms: one.flow.period.unwrap_or_default().as_secs_f64() * 1e3,
            depth: one.flow.depth,
            burst: one.flow.burst,
            jitter_ms: one.flow.jitter.as_secs_f64() * 1e3,
            answered: figures.received,
            bound_ms: given.bound() as f64 / MS,
            longest_ms: found.max.max(first) / 1e6,
            p99_ms: case.p99.get(at).copied().flatten().map(|p99| p99 as f64 / MS),
            measured_p99_ms: found.p99 / 1e6,
        });
    }
    let [measured_load_percent, _] = outcome.load();
    Ok(CaseRow {
        case: number,
        platform: subject.chip.name.clone(),
        strategies: case.strategies(),
        load_percent: case.load.map_or(case.plan.load() as f64, f64::from) / 1e4,
        measured_load_percent,
        load_compared: !case.spins(),
        flows,
    })
}
