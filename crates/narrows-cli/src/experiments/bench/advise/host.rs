//! On this machine: what is chosen for workloads of one flow, beside the best of all strategies.

use super::draw::{self, Case, allowed};
use super::row::CaseRow;
use crate::base::failure::Failure;
use crate::base::options::HOST;
use crate::base::progress::Progress;
use crate::experiments::advice::{Assignment, Fit, Judge, Question, Trial, advise, fits, trial};
use crate::experiments::bench::task::Asked;
use crate::formats::workload::Offers;
use crate::rig::costs::machine::Measured;
use crate::rig::peer::{Options, Peer, cores_of};
use crate::rig::plan::{Least, Machine, Planner};
use narrows::strategy::{Acknowledgement, Placement};
use std::time::Duration;

/// Workloads, if no other number is asked for.
pub(super) const CASES: u32 = 20;
/// The longest period that is drawn, how many periods a run has, and how long it is at least.
const PERIOD: Duration = Duration::from_millis(20);
const PERIODS: u32 = 12;
const SHORT: Duration = Duration::from_millis(100);
/// Rounds in which everything is tried, and rounds in which the choice and the best are again: of
/// many that are tried the best is so by luck as well.
const ROUNDS: u32 = 3;
const AGAIN: u32 = 7;

/// Draws, asks, tries everything.
///
/// # Errors
/// The other process is gone.
pub(super) fn run(
    asked: &Asked<'_>,
    seeds: &[(u32, u64)],
    progress: &Progress,
) -> Result<Vec<CaseRow>, Failure> {
    let cores = cores_of(asked.global)?;
    let mut peer = Peer::start(cores, &Options::default())?;
    let machine = Measured::by(&mut peer, None)?.machine()?;
    let mut rows = Vec::new();
    for (number, seed) in seeds {
        progress.say(&format!("workload {number} here"));
        if let Some(case) = draw::draw(*seed, &machine, 1, PERIOD) {
            for least in [Least::Load, Least::Latency] {
                rows.extend(compare(&mut peer, &machine, *number, &case, least)?);
            }
        }
        progress.step();
    }
    Ok(rows)
}

fn compare(
    peer: &mut Peer,
    machine: &Machine,
    number: u32,
    case: &Case,
    least: Least,
) -> Result<Option<CaseRow>, Failure> {
    let subjects = allowed(&case.subjects, least);
    let judge = Judge { least, load: 100.0 };
    let question = Question { machine, subjects: &subjects, least, search: false };
    let planner = Planner::new(machine, &subjects, least);
    let ways = planner.map(|planner| planner.ways(0).to_vec()).unwrap_or_default();
    // Both memories are one here, and nobody waits for a block, however it is acknowledged.
    let all = ways.into_iter().map(|way| way.strategy).filter(|by| {
        by.placement == Placement::External && by.acknowledgement == Acknowledgement::Batched
    });
    // A strategy that does not keep pace takes less, because it carries less.
    let paced = |one: &Assignment| fits(machine, &subjects, one, least).is_some();
    let mut all: Vec<Assignment> = all.map(|by| vec![by]).filter(paced).collect();
    let offers = Offers::new(&case.workload, None)?;
    let span = (case.workload.slowest().unwrap_or_default() * PERIODS).max(SHORT);
    let mut tried = |which: &[Assignment], rounds| -> Result<Vec<Trial>, Failure> {
        let with: Vec<_> = which.iter().map(|one| (one.clone(), Fit::default())).collect();
        trial::here(peer, (&case.workload, &offers), &with, rounds, span, || ())
    };
    let mut trials = Vec::new();
    let found = advise(&question, &judge, |proposed, _| {
        crate::formats::strategy::append(&mut all, proposed.iter().cloned());
        trials = tried(&all, ROUNDS)?;
        let of = |one: &Assignment| trials.iter().find(|trial| trial.assignment == *one).cloned();
        Ok(proposed.iter().filter_map(of).collect())
    })?;
    // The workload was drawn until the model had a plan.
    let Ok(found) = found else { return Ok(None) };
    let best = judge.order(&trials).first().and_then(|at| trials.get(*at)).cloned();
    let (Some(chosen), Some(best)) = (found.best(), best) else { return Ok(None) };
    let both = [chosen.assignment.clone(), best.assignment.clone()];
    let again = tried(&both, AGAIN)?;
    let [chosen, best] = again.as_slice() else { return Ok(None) };
    // If they are one, they differ by what else the machine did.
    let best = if chosen.assignment == best.assignment { chosen } else { best };
    Ok(Some(CaseRow {
        case: number,
        platform: HOST.to_owned(),
        least,
        holds: judge.holds(chosen) || !judge.holds(best),
        equal: judge.standing(chosen, best).equal,
        chosen: CaseRow::names(chosen),
        value: judge.value(chosen),
        best: CaseRow::names(best),
        best_value: judge.value(best),
        tried: found.looked,
        of: trials.len(),
    }))
}
