//! Which strategy each flow of a workload should have: the model proposes, a run decides.
//!
//! [`propose`](mod@propose) asks the model for the best plan, and for the best of each other kind.
//! A [`trial`] carries the workload by each of them, on a simulated chip or between two processes
//! here. [`judge`] compares what was measured. Where trials cost little (on a chip), what lies next
//! to the best so far is tried too, until nothing of it is better; what is far from the best in a
//! part of a trial is not tried further.

mod judge;
mod propose;
#[cfg(test)]
mod tests;
pub(crate) mod trial;

pub(crate) use judge::Judge;
pub(crate) use propose::{groups, same_kind};
pub(crate) use trial::{Extent, Trial};

use crate::base::failure::Failure;
use crate::rig::plan::{Least, Machine, NoPlan, Planner, Subject};
use narrows::strategy::Strategy;
use propose::Proposer;
use std::cell::Cell;

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
    /// How many assignments were tried, in part or as a whole.
    pub looked: usize,
    /// The whole trials.
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

/// Proposes, tries and judges. `tried` carries a workload by each of the assignments, as far as it
/// is told.
///
/// # Errors
/// What a trial fails with; or why the model has no plan.
pub(crate) fn advise(
    question: &Question<'_>,
    judge: &Judge,
    mut tried: impl FnMut(&[Assignment], Extent) -> Result<Vec<Trial>, Failure>,
) -> Result<Result<Found, NoPlan>, Failure> {
    let proposer = Proposer::new(question);
    let mut looked = match proposer.starts() {
        Ok(first) => first,
        Err(why) => return Ok(Err(why)),
    };
    let calls = Cell::new(0.0);
    let mut tried = |some: &[Assignment], extent| {
        let made = tried(some, extent)?;
        calls.set(calls.get() + made.iter().map(|trial| trial.work).sum::<f64>());
        Ok::<_, Failure>(made)
    };
    let mut trials = tried(&looked, Extent::Whole)?;
    let mut order = judge.order(&trials);
    while let Some(best) = order.first().and_then(|at| trials.get(*at)) {
        if !question.search || calls.get() > CALLS {
            break;
        }
        let mut next = proposer.beside(&best.assignment);
        next.retain(|one| !looked.contains(one));
        next.truncate(MOST.saturating_sub(looked.len()));
        looked.extend_from_slice(&next);
        // Of what is late, a whole trial says which is so least.
        if judge.holds(best) {
            let has = best.assignment.clone();
            next.push(has.clone());
            next = sifted(&next, judge, &mut tried)?;
            next.retain(|one| *one != has);
        }
        let before = order.first().copied();
        trials.append(&mut tried(&next, Extent::Whole)?);
        order = judge.order(&trials);
        if order.first().copied() == before {
            break;
        }
    }
    let equal = judge.equal(&trials, &order);
    Ok(Ok(Found { looked: looked.len(), trials, order, equal }))
}

/// Those of many assignments that are worth a whole trial: what is far from the best of them is so
/// in a part of one already.
///
/// # Errors
/// What a trial fails with.
pub(crate) fn sifted(
    all: &[Assignment],
    judge: &Judge,
    mut tried: impl FnMut(&[Assignment], Extent) -> Result<Vec<Trial>, Failure>,
) -> Result<Vec<Assignment>, Failure> {
    let mut left = all.to_vec();
    for extent in [Extent::Glance, Extent::Repeat] {
        let trials = tried(&left, extent)?;
        left = judge.near(&trials, extent).into_iter().map(|one| one.assignment.clone()).collect();
    }
    Ok(left)
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
