//! Every choice of a workload, tried.

use super::draw::Case;
use crate::base::failure::Failure;
use crate::base::options::Global;
use crate::experiments::advice::trial::on_chip;
use crate::experiments::advice::{Assignment, Fit, Judge, Trial};
use crate::formats::workload::{Offers, Workload};
use crate::rig::plan::{Least, Machine, Planner, Subject};
use narrows::strategy::{Notification, Strategy};
use narrows_sim::chip::Chip;
use std::collections::HashMap;

/// Strategies of each of several flows that are combined with those of the others: those with which
/// the flow alone takes least, by either objective.
const KEPT: usize = 8;

/// The flows with the strategies that are proposed for an objective.
pub(super) fn allowed(subjects: &[Subject], least: Least) -> Vec<Subject> {
    let spins = |by: &Strategy| by.notification == Notification::Spin;
    let of = |subject: &Subject| {
        let all = subject.strategies.iter().copied();
        let all = all.filter(|by| least == Least::Latency || !spins(by));
        Subject { strategies: all.collect(), ..subject.clone() }
    };
    subjects.iter().map(of).collect()
}

/// Trials of a workload, each made once.
pub(super) struct Tries<'a> {
    global: &'a Global,
    chip: &'a Chip,
    machine: &'a Machine,
    case: &'a Case,
    made: HashMap<Assignment, Trial>,
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

    pub fn one(&mut self, assignment: &Assignment) -> Result<Trial, Failure> {
        if let Some(made) = self.made.get(assignment) {
            return Ok(made.clone());
        }
        let with = (&self.case.workload, &Offers::new(&self.case.workload, None)?);
        let made = on_chip(self.global, (self.chip, 1), with, assignment, Fit::default())?;
        self.made.insert(assignment.clone(), made.clone());
        Ok(made)
    }

    /// Every strategy of a single flow; of several flows every combination of the best of each.
    pub fn all(&mut self) -> Result<Vec<Trial>, Failure> {
        let mut combined: Vec<Assignment> = vec![Vec::new()];
        for flow in 0..self.case.subjects.len() {
            let kept = self.kept(flow)?;
            let with = |one: &Assignment| {
                let one = one.clone();
                kept.iter().map(move |by| one.iter().copied().chain([*by]).collect::<Vec<_>>())
            };
            combined = combined.iter().flat_map(|one| with(one).collect::<Vec<_>>()).collect();
        }
        combined.iter().map(|one| self.one(one)).collect()
    }

    fn kept(&self, flow: usize) -> Result<Vec<Strategy>, Failure> {
        let subjects = &self.case.subjects;
        let planner = Planner::new(self.machine, &subjects[flow..=flow], Least::Load);
        let ways = planner.map(|planner| planner.ways(0).to_vec()).unwrap_or_default();
        let all: Vec<Strategy> = ways.iter().map(|way| way.strategy).collect();
        if subjects.len() == 1 {
            return Ok(all);
        }
        let own = self.case.workload.flows[flow].clone();
        let alone = Workload { flows: vec![own], ..self.case.workload.clone() };
        let with = (&alone, &Offers::new(&alone, None)?);
        let tried =
            |by: &Strategy| on_chip(self.global, (self.chip, 1), with, &vec![*by], Fit::default());
        let trials: Vec<Trial> = all.iter().map(tried).collect::<Result<_, _>>()?;
        let mut kept = Vec::new();
        for least in [Least::Load, Least::Latency] {
            let order = Judge { least, load: 100.0 }.order(&trials);
            let best = order.iter().take(KEPT).filter_map(|at| trials.get(*at));
            crate::formats::strategy::append(&mut kept, best.map(|one| one.assignment[0]));
        }
        Ok(kept)
    }
}
