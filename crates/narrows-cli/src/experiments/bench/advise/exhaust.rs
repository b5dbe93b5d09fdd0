//! Every choice of a workload, tried.

use super::draw::Case;
use crate::base::failure::Failure;
use crate::base::options::Global;
use crate::base::threads;
use crate::experiments::advice::trial::on_chip;
use crate::experiments::advice::{Assignment, Extent, Fit, Judge, Trial, fits, sifted};
use crate::formats::workload::Offers;
use crate::rig::plan::{Least, Machine, Planner, Subject};
use narrows::strategy::Strategy;
use narrows_sim::chip::Chip;
use std::collections::HashMap;

/// Strategies of each of several flows that are combined with those of the others: those with which
/// the flow alone takes least, by either objective.
const KEPT: usize = 8;

/// Trials of a workload, each made once.
pub(super) struct Tries<'a> {
    global: &'a Global,
    chip: &'a Chip,
    machine: &'a Machine,
    case: &'a Case,
    /// Of all flows, or of one of them as if it were the only one.
    made: HashMap<(Option<usize>, Extent, Assignment), Trial>,
}

impl<'a> Tries<'a> {
    pub fn new(
        global: &'a Global,
        chip: &'a Chip,
        machine: &'a Machine,
        case: &'a Case,
    ) -> Tries<'a> {
        Tries { global, chip, machine, case, made: HashMap::new() }
    }

    /// Trials of these, in their order.
    pub fn many(&mut self, all: &[Assignment], extent: Extent) -> Result<Vec<Trial>, Failure> {
        self.tried(None, all, extent)
    }

    /// Trials of all flows, or of one alone, in the order of these.
    fn tried(
        &mut self,
        alone: Option<usize>,
        all: &[Assignment],
        extent: Extent,
    ) -> Result<Vec<Trial>, Failure> {
        let key = |one: &Assignment| (alone, extent, one.clone());
        let new: Vec<_> =
            all.iter().filter(|one| !self.made.contains_key(&key(one))).cloned().collect();
        let mut workload = self.case.workload.clone();
        if let Some(flow) = alone {
            workload.flows = vec![workload.flows.swap_remove(flow)];
        }
        let (on, with) = ((self.chip, 1), (&workload, &Offers::new(&workload, None)?));
        let made = threads::each(&new, |one| {
            on_chip(self.global, on, with, (one, Fit::default()), extent)
        });
        for trial in made {
            let trial = trial?;
            self.made.insert(key(&trial.assignment), trial);
        }
        Ok(all.iter().filter_map(|one| self.made.get(&key(one))).cloned().collect())
    }

    /// What the model allows: every strategy of a single flow; of several flows every combination
    /// of the best of each.
    pub fn allowed(
        &mut self,
        subjects: &[Subject],
        least: Least,
    ) -> Result<Vec<Assignment>, Failure> {
        let mut combined: Vec<Assignment> = vec![Vec::new()];
        for flow in 0..subjects.len() {
            let kept = self.kept(subjects, flow, least)?;
            let with = |one: &Assignment| {
                let one = one.clone();
                kept.iter().map(move |by| one.iter().copied().chain([*by]).collect::<Vec<_>>())
            };
            combined = combined.iter().flat_map(|one| with(one).collect::<Vec<_>>()).collect();
        }
        combined.retain(|one| fits(self.machine, subjects, one, least).is_some());
        Ok(combined)
    }

    /// The best of these that holds.
    pub fn best(&mut self, all: &[Assignment], judge: &Judge) -> Result<Option<Trial>, Failure> {
        let mut left = all.to_vec();
        while !left.is_empty() {
            let near = sifted(&left, judge, |some, extent| self.many(some, extent))?;
            let whole = self.many(&near, Extent::Whole)?;
            let holding = whole.into_iter().filter(|one| judge.holds(one));
            let best = holding.min_by(|a, b| judge.value(a).total_cmp(&judge.value(b)));
            if best.is_some() || near.is_empty() {
                return Ok(best);
            }
            left.retain(|one| !near.contains(one));
        }
        Ok(None)
    }

    /// The strategies of a flow that have a place in some plan; of several flows the best of them.
    fn kept(
        &mut self,
        subjects: &[Subject],
        flow: usize,
        least: Least,
    ) -> Result<Vec<Strategy>, Failure> {
        let planned = |by: &Strategy| {
            let mut with = subjects.to_vec();
            with[flow].strategies = vec![*by];
            Planner::new(self.machine, &with, least).is_ok_and(|planner| planner.plan().is_ok())
        };
        let all = subjects[flow].strategies.iter().copied();
        let all: Vec<Strategy> = all.filter(planned).collect();
        if subjects.len() == 1 {
            return Ok(all);
        }
        let all: Vec<Assignment> = all.into_iter().map(|by| vec![by]).collect();
        let trials = self.tried(Some(flow), &all, Extent::Glance)?;
        let mut kept = Vec::new();
        for least in [Least::Load, Least::Latency] {
            let order = Judge { least, load: 100.0 }.order(&trials);
            let best = order.iter().take(KEPT).filter_map(|at| trials.get(*at));
            crate::formats::strategy::append(&mut kept, best.map(|one| one.assignment[0]));
        }
        Ok(kept)
    }
}
