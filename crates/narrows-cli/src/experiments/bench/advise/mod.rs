//! `bench advise`: what `advise` chooses for random workloads, beside the best of all choices.

mod draw;
mod exhaust;
pub mod flags;
mod host;
mod row;

use crate::base::failure::Failure;
use crate::base::machine::{Machine as Here, Root};
use crate::base::options::{Global, HOST};
use crate::base::page::Page;
use crate::base::progress::Progress;
use crate::base::report::Report;
use crate::base::table::wrap;
use crate::experiments::advice::{Judge, Question, advise};
use crate::experiments::bench::against::cases::seed as number_seed;
use crate::experiments::bench::against::simulated;
use crate::experiments::bench::grid::CHIPS;
use crate::experiments::bench::task::Asked;
use crate::formats::platform;
use crate::rig::costs;
use crate::rig::costs::machine::measured;
use crate::rig::plan::{Least, Machine};
use draw::Case;
use exhaust::Tries;
use flags::Advise;
use narrows_sim::chip::Chip;
use row::{CaseRow, PlatformRow};
use std::time::Duration;

const CASES: u32 = 200;
const SEED: u64 = 1;
/// Flows of a workload at most.
const FLOWS: usize = 2;

/// Draws, asks, tries everything, and prints.
///
/// # Errors
/// A chip that cannot be simulated.
pub(super) fn run(asked: &Asked<'_>, args: &Advise) -> Result<(), Failure> {
    let global = asked.global;
    let seed = args.seed.unwrap_or(SEED);
    let here = args.place.on.as_deref() == Some(HOST);
    let numbers: Vec<u32> = match args.case {
        Some(case) => vec![case],
        None => (0..args.cases.unwrap_or(if here { host::CASES } else { CASES })).collect(),
    };
    if here {
        let progress = Progress::new(numbers.len() as u64, global.json);
        let seeds: Vec<_> = numbers.iter().map(|one| (*one, number_seed(seed, *one))).collect();
        let rows = host::run(asked, &seeds, &progress)?;
        drop(progress);
        let platforms = PlatformRow::of(HOST, &rows);
        return said(asked, Here::look(&Root::default()), platforms, &rows, seed);
    }
    let names = args.place.platform().map_or(CHIPS.to_vec(), |name| vec![name]);
    let progress = Progress::new((names.len() * numbers.len()) as u64, global.json);
    let mut platforms = Vec::new();
    let mut cases = Vec::new();
    let mut done = 0;
    for name in &names {
        global.monitor.of(*name);
        let chip = platform::load(name)?.with_free_timers();
        let machine = measured(global, Some(&chip), costs::LONG)?.machine()?;
        let mut rows = Vec::new();
        for number in &numbers {
            progress.say(&format!("workload {number} on {name}"));
            if let Some(case) =
                draw::draw(number_seed(seed, *number), &machine, FLOWS, Duration::MAX)
            {
                rows.extend(compare(global, &chip, &machine, *number, &case)?);
            }
            done += 1;
            progress.reach(done);
        }
        platforms.extend(PlatformRow::of(name, &rows));
        cases.append(&mut rows);
    }
    drop(progress);
    said(asked, simulated::machine(&names), platforms, &cases, seed)
}

/// Prints what came of it.
fn said(
    asked: &Asked<'_>,
    place: Here,
    platforms: Vec<PlatformRow>,
    cases: &[CaseRow],
    seed: u64,
) -> Result<(), Failure> {
    let mut report = Report::new("bench advise", place, platforms);
    report.notes = row::notes(cases, seed);
    asked.print(&report, || {
        let text: String = report.notes.iter().map(|note| wrap("", note)).collect();
        text + "\n" + &row::table(&report.results)
    })?;
    asked.page.write(|| Page::of(&report))
}

/// What is chosen for a workload, for each of both objectives, beside the best of all.
fn compare(
    global: &Global,
    chip: &Chip,
    machine: &Machine,
    number: u32,
    case: &Case,
) -> Result<Vec<CaseRow>, Failure> {
    let mut tries = Tries::new(global, chip, machine, case);
    let mut rows = Vec::new();
    for least in [Least::Load, Least::Latency] {
        let subjects = draw::allowed(&case.subjects, least);
        let judge = Judge { least, load: 100.0 };
        let question = Question { machine, subjects: &subjects, least, search: true };
        let found = advise(&question, &judge, |some, extent| tries.many(some, extent))?;
        // The workload was drawn until the model had a plan.
        let Ok(found) = found else { continue };
        let Some(chosen) = found.best().cloned() else { continue };
        let fit = tries.allowed(&subjects, least)?;
        if fit.is_empty() {
            continue;
        }
        let best = tries.best(&fit, &judge)?.into_iter().chain([chosen.clone()]);
        let best = best.min_by(|a, b| judge.value(a).total_cmp(&judge.value(b)));
        let best = best.as_ref().unwrap_or(&chosen);
        rows.push(CaseRow {
            case: number,
            platform: chip.name.clone(),
            least,
            holds: judge.holds(&chosen),
            equal: judge.value(&chosen) - judge.value(best) <= judge.little(&chosen),
            chosen: CaseRow::names(&chosen),
            value: judge.value(&chosen),
            best: CaseRow::names(best),
            best_value: judge.value(best),
            tried: found.looked,
            of: fit.len(),
        });
    }
    Ok(rows)
}
