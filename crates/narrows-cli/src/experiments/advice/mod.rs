//! Which strategy each flow of a workload should have: the model proposes, a run decides.
//!
//! [`propose`](mod@propose) asks the model for the best plan, and for the best of each other kind.
//! A [`trial`] carries the workload by each of them, on a simulated chip or between two processes
//! here. [`judge`] compares what was measured. Where trials cost little (on a chip), what lies next
//! to the best so far is tried too, until nothing of it is better.

mod judge;
mod propose;
#[cfg(test)]
mod tests;
pub(crate) mod trial;

pub(crate) use judge::Judge;
pub(crate) use propose::{groups, same_kind};
pub(crate) use trial::Trial;

use crate::base::failure::Failure;
use crate::rig::plan::{Least, Machine, NoPlan, Planner, Subject};
use narrows::strategy::Strategy;
use propose::Proposer;

/// A strategy for each flow, in their order.
pub(crate) type Assignment = Vec<Strategy>;

/// Assignments that are tried before the search ends, where trials cost little.
pub(crate) const MOST: usize = 96;
/// Calls in all trials, after which it ends as well.
const CALLS: f64 = 1_500_000.0;

/// What is asked.
pub(crate) struct Question<'a> {
    pub machine: &'a Machine,
    pub subjects: &'a [Subject],
    pub least: Least,
    /// Whether trials cost so little that what lies next to the best is tried too.
    pub search: bool,
}

/// What was tried, and what is best of it.
pub(crate) struct Found {
    pub trials: Vec<Trial>,
    /// The places of all trials, the best first.
    pub order: Vec<usize>,
    /// How many of them the judge cannot tell from the best.
    pub equal: usize,
}

impl Found {
    pub fn best(&self) -> Option<&Trial> {
        self.trials.get(*self.order.first()?)
    }
}

/// Proposes, tries and judges. `tried` carries a workload by each of the assignments, and is told
/// the memory that the model gives them.
///
/// # Errors
/// What a trial fails with; or why the model has no plan.
pub(crate) fn advise(
    question: &Question<'_>,
    judge: &Judge,
    mut tried: impl FnMut(&[Assignment]) -> Result<Vec<Trial>, Failure>,
) -> Result<Result<Found, NoPlan>, Failure> {
    let proposer = Proposer::new(question);
    let first = match proposer.starts() {
        Ok(first) => first,
        Err(why) => return Ok(Err(why)),
    };
    let mut trials: Vec<Trial> = Vec::new();
    let mut next = first;
    loop {
        next.retain(|one| trials.iter().all(|trial| trial.assignment != *one));
        next.truncate(MOST.saturating_sub(trials.len()));
        if next.is_empty() {
            break;
        }
        let before = judge.order(&trials).first().copied();
        trials.append(&mut tried(&next)?);
        let order = judge.order(&trials);
        let best = order.first().copied();
        let calls: f64 = trials.iter().map(|trial| trial.work).sum();
        if !question.search || best == before || calls > CALLS {
            break;
        }
        next = match best.and_then(|best| trials.get(best)) {
            Some(best) => proposer.beside(&best.assignment),
            None => Vec::new(),
        };
    }
    let order = judge.order(&trials);
    let equal = judge.equal(&trials, &order);
    Ok(Ok(Found { trials, order, equal }))
}

/// What the model gives an assignment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fit {
    /// Bytes of internal memory of each flow.
    pub memory: Vec<u32>,
    /// Which of the cores that are called serves each flow; flows that are alike take turns.
    pub dsps: Vec<Option<u8>>,
}

/// The plan in which each flow has the strategy that is named for it, if the model has one.
pub(crate) fn fits(
    machine: &Machine,
    subjects: &[Subject],
    assignment: &[Strategy],
    least: Least,
) -> Option<Fit> {
    let named = subjects.iter().zip(assignment);
    let named: Vec<Subject> =
        named.map(|(subject, by)| Subject { strategies: vec![*by], ..subject.clone() }).collect();
    let planner = Planner::new(machine, &named, least).ok()?;
    let plan = planner.plan().ok()?;
    let memory = plan.given.iter().map(|one| one.way.estimate.memory).collect();
    let mut dsps = vec![None; subjects.len()];
    for group in groups(subjects).iter().filter(|group| group.len() == 1 && machine.dsps > 1) {
        for flow in group {
            dsps[*flow] = plan.given.get(*flow).map(|one| one.dsp);
        }
    }
    Some(Fit { memory, dsps })
}
