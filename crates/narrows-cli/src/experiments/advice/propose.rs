//! What is worth a trial, by the model.

use super::judge::complexity;
use super::{Assignment, Question, fits};
use crate::formats::strategy::{NOTIFICATIONS, callee, kind};
use crate::rig::plan::{Least, Limits, NoPlan, Planner, Subject};
use narrows::strategy::{Placement, Strategy, Transfer};

/// Ways of each other notification, and of each other way to move payload, that are tried for a
/// flow beside what it has; and others of the same kind.
const OTHERS: usize = 2;
const SAME: usize = 4;
/// Ways that differ from what it has in one thing.
const NEAR: usize = 24;

/// The transfers and the placements.
const TRANSFERS: [Transfer; 4] =
    [Transfer::Copy, Transfer::SingleCopy, Transfer::InPlace, Transfer::CopyEngine];
const PLACEMENTS: [Placement; 2] = [Placement::Internal, Placement::External];

/// Whether two strategies differ in times, numbers and acknowledgements only.
pub(crate) fn same_kind(one: &Strategy, other: &Strategy) -> bool {
    let of = |by: &Strategy| (kind(by), callee(by), by.transfer, by.placement);
    of(one) == of(other)
}

/// Whether two strategies differ in one thing, where a transfer and how many requests go in one
/// message are one: what gathers well differs by transfer. So are a placement and how requests are
/// cut: parts are for a place where a whole one does not fit.
fn are_near(one: &Strategy, other: &Strategy) -> bool {
    let same = [
        (one.notification, one.callee) == (other.notification, other.callee),
        (one.transfer, one.granularity) == (other.transfer, other.granularity),
        (one.placement, one.parts) == (other.placement, other.parts),
        one.acknowledgement == other.acknowledgement,
    ];
    same.into_iter().filter(|same| !same).count() == 1
}

/// The flows that have one strategy: those that are alike, such as the sessions of one flow.
pub(crate) fn groups(subjects: &[Subject]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (number, subject) in subjects.iter().enumerate() {
        let alike = |first: usize| {
            let other = &subjects[first];
            other.flow == subject.flow && other.strategies == subject.strategies
        };
        match groups.iter_mut().find(|group| alike(group[0])) {
            Some(group) => group.push(number),
            None => groups.push(vec![number]),
        }
    }
    groups
}

pub(super) struct Proposer<'a> {
    question: &'a Question<'a>,
    groups: Vec<Vec<usize>>,
}

impl<'a> Proposer<'a> {
    pub fn new(question: &'a Question<'a>) -> Proposer<'a> {
        Proposer { question, groups: groups(question.subjects) }
    }

    /// The best plan; then the best in which every flow has a notification, a transfer or a
    /// placement.
    pub fn starts(&self) -> Result<Vec<Assignment>, NoPlan> {
        let mut all = vec![self.plan(self.question.subjects.to_vec())?];
        let mut add = |allowed: &dyn Fn(&Strategy) -> bool| {
            let of = self.question.subjects.iter().map(|subject| subject.among(allowed));
            let made = self.plan(of.collect());
            if let Some(made) = made.ok().filter(|made| !all.contains(made)) {
                all.push(made);
            }
        };
        for name in NOTIFICATIONS {
            add(&|by| kind(by) == name);
        }
        for transfer in TRANSFERS {
            add(&|by| by.transfer == transfer);
        }
        for placement in PLACEMENTS {
            add(&|by| by.placement == placement);
        }
        Ok(all)
    }

    /// One plan, in which flows that are alike have the same.
    fn plan(&self, subjects: Vec<Subject>) -> Result<Assignment, NoPlan> {
        let machine = self.question.machine;
        let planner = Planner::new(machine, &subjects, self.question.least)?;
        let alike = machine.dsps == 1;
        let limits = Limits { memory: machine.memory, alike, ..Limits::default() };
        let plan = planner.plan_with(&limits)?;
        let mut made: Assignment = plan.given.iter().map(|one| one.way.strategy).collect();
        for group in &self.groups {
            for flow in group {
                made[*flow] = made[group[0]];
            }
        }
        Ok(made)
    }

    /// What two groups of flows have if they exchange their notifications, by the best plan; and
    /// what differs from an assignment in one group: of each other notification, transfer and
    /// placement the best by the model, the best of the same kind, and what differs in one thing.
    pub fn beside(&self, best: &[Strategy]) -> Vec<Assignment> {
        let Question { machine, subjects, least, .. } = *self.question;
        let mut all = self.exchanged(best);
        let ways: Vec<(&Vec<usize>, Vec<Strategy>)> =
            self.groups.iter().filter_map(|group| Some((group, self.ways(group)?))).collect();
        // Each kind of change of every group before the next kind: not all may be tried.
        let mut add = |most: usize, allowed: &dyn Fn(&Strategy, &Strategy) -> bool| {
            for (group, ways) in &ways {
                let has = best[group[0]];
                let others = ways.iter().filter(|by| **by != has && allowed(by, &has));
                let made = others.filter_map(|by| {
                    let mut made = best.to_vec();
                    for flow in *group {
                        made[*flow] = *by;
                    }
                    fits(machine, subjects, &made, least).map(|_| made)
                });
                for made in made.take(most) {
                    if !all.contains(&made) {
                        all.push(made);
                    }
                }
            }
        };
        for name in NOTIFICATIONS {
            add(OTHERS, &|by, _| kind(by) == name);
        }
        add(SAME, &|by, has| kind(by) == kind(has));
        for transfer in TRANSFERS {
            add(OTHERS, &|by, has| by.transfer == transfer && by.notification == has.notification);
        }
        for placement in PLACEMENTS {
            add(OTHERS, &|by, has| by.placement == placement && by.transfer == has.transfer);
        }
        add(SAME, &|by, has| same_kind(by, has));
        add(NEAR, &|by, has| are_near(by, has));
        all
    }

    /// What the flows of a group may travel by, the best by the model first.
    fn ways(&self, group: &[usize]) -> Option<Vec<Strategy>> {
        let Question { machine, subjects, least, .. } = *self.question;
        let planner = Planner::new(machine, &subjects[group[0]..=group[0]], least).ok()?;
        let mut ways: Vec<_> = planner.ways(0).to_vec();
        // The model does not tell acknowledgements apart where nobody waits for a block.
        ways.sort_by_key(|way| {
            let key = match least {
                Least::Load => u64::from(way.cost),
                Least::Latency => way.estimate.latency.bound,
            };
            (key, complexity(&way.strategy))
        });
        Some(ways.iter().map(|way| way.strategy).collect())
    }

    /// Of each two groups of flows with different notifications the best plan in which each has
    /// that of the other. No change of one group leads there where the flows take less together
    /// if one of them looks, whichever it is, than if none does or both do.
    fn exchanged(&self, best: &[Strategy]) -> Vec<Assignment> {
        let pairs = self.groups.iter().enumerate();
        let pairs =
            pairs.flat_map(|(at, one)| self.groups[at + 1..].iter().map(move |it| (one, it)));
        let differ = |one: &[usize], other: &[usize]| kind(&best[one[0]]) != kind(&best[other[0]]);
        let pairs = pairs.filter(|(one, other)| differ(one, other));
        let plan = |(one, other): (&Vec<usize>, &Vec<usize>)| {
            let of = |(flow, subject): (usize, &Subject)| {
                let has = best[flow];
                match (one.contains(&flow), other.contains(&flow)) {
                    (true, _) => subject.among(|by| kind(by) == kind(&best[other[0]])),
                    (_, true) => subject.among(|by| kind(by) == kind(&best[one[0]])),
                    _ => subject.among(|by| *by == has),
                }
            };
            self.plan(self.question.subjects.iter().enumerate().map(of).collect()).ok()
        };
        pairs.filter_map(plan).collect()
    }
}
