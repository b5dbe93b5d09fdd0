//! An advice in words: for each flow what to choose, why, and what the next best costs.

use crate::base::table::number;
use crate::experiments::advice::{Found, Judge, Trial, same_kind};
use crate::formats::strategy::{callee, kind};
use crate::rig::plan::Least;
use narrows::strategy::{Notification, Placement, Strategy, Transfer};

/// Flows that have one strategy, and how they are called.
pub(super) struct Group {
    pub name: String,
    pub flows: Vec<usize>,
}

impl Group {
    /// What 99 of 100 responses of its flows take at most, in microseconds; none if no response
    /// came.
    pub fn p99(&self, trial: &Trial) -> Option<f64> {
        self.flows.iter().filter_map(|flow| p99(trial, *flow)).reduce(f64::max)
    }

    /// The same in words.
    pub fn soon(&self, trial: &Trial) -> String {
        match self.p99(trial) {
            Some(late) => format!("99 of 100 responses are there within {}", time(late)),
            None => "nothing was called in the time of a trial".to_owned(),
        }
    }
}

/// The same of one flow.
pub(super) fn p99(trial: &Trial, flow: usize) -> Option<f64> {
    trial.p99.get(flow).copied().filter(|late| *late > 0.0)
}

/// What was found about a group of flows.
pub(super) struct Verdict<'f> {
    pub best: &'f Trial,
    pub runner_up: Option<&'f Trial>,
    /// Why not another, in a sentence.
    pub reason: String,
}

/// A way in which strategies differ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Axis {
    Notification,
    Callee,
    Transfer,
    Placement,
}

const AXES: [Axis; 4] = [Axis::Notification, Axis::Callee, Axis::Placement, Axis::Transfer];

impl Axis {
    fn differ(self, one: &Strategy, other: &Strategy) -> bool {
        match self {
            Axis::Notification => kind(one) != kind(other),
            Axis::Callee => one.callee.map(|_| callee(one)) != other.callee.map(|_| callee(other)),
            Axis::Transfer => one.transfer != other.transfer,
            Axis::Placement => one.placement != other.placement,
        }
    }

    /// The other's word on this axis, as the beginning of a clause.
    fn other(self, by: &Strategy) -> &'static str {
        match self {
            Axis::Notification => match by.notification {
                Notification::Interrupt => "an interrupt for each message",
                Notification::Spin => "spinning",
                Notification::Poll { .. } => "polling",
                Notification::Timer { .. } => "a timer that always looks",
                Notification::Hybrid { .. } => "looking before sleeping (hybrid)",
                Notification::Coalesced { .. } => "one bell for several messages (coalesced)",
            },
            Axis::Callee => match by.callee {
                None => "a callee that is told as the caller is",
                Some(Notification::Interrupt) => "an interrupt of the callee for each message",
                Some(Notification::Spin) => "a callee that spins",
                Some(Notification::Poll { .. }) => "a callee that polls",
                Some(Notification::Timer { .. }) => "a callee with a timer that always looks",
                Some(Notification::Hybrid { .. }) => "a callee that looks before sleeping (hybrid)",
                Some(Notification::Coalesced { .. }) => "one bell of the callee's for several",
            },
            Axis::Transfer => match by.transfer {
                Transfer::Copy => "copying on both sides",
                Transfer::SingleCopy => "a single copy",
                Transfer::InPlace => "working in place",
                Transfer::CopyEngine => "the copy engine",
            },
            Axis::Placement => match by.placement {
                Placement::Internal => "internal memory",
                Placement::External => "external memory",
                Placement::Region(_) => "the region",
            },
        }
    }
}

/// What gives words to what was measured.
pub(super) struct Speaker<'f> {
    pub found: &'f Found,
    pub judge: &'f Judge,
}

impl<'f> Speaker<'f> {
    /// Of what was tried with another strategy for a group, so that `differs` says so, that which
    /// differs least in other ways: in other groups, then on other axes. Of these the best.
    fn rival(
        &self,
        best: &Trial,
        group: &Group,
        differs: impl Fn(&Strategy, &Strategy) -> bool,
    ) -> Option<&'f Trial> {
        let first = *group.flows.first()?;
        let has = best.assignment.get(first)?;
        let all = self.found.order.iter().filter_map(|at| self.found.trials.get(*at));
        let all = all.filter(|one| one.refused.is_none());
        let rivals = all.filter(|one| one.assignment.get(first).is_some_and(|by| differs(has, by)));
        let elsewhere = |one: &Trial| {
            let both = one.assignment.iter().zip(&best.assignment).enumerate();
            both.filter(|(at, (a, b))| !group.flows.contains(at) && a != b).count()
        };
        let axes = |one: &Trial| {
            let by = one.assignment.get(first);
            AXES.iter().filter(|axis| by.is_some_and(|by| axis.differ(has, by))).count()
        };
        rivals.min_by_key(|one| (elsewhere(one) > 0, axes(one)))
    }

    /// What was found about a group.
    pub fn verdict(&self, best: &'f Trial, group: &Group) -> Verdict<'f> {
        let clauses = AXES.into_iter().filter_map(|axis| {
            let rival = self.rival(best, group, |one, other| axis.differ(one, other))?;
            let by = rival.assignment.get(*group.flows.first()?)?;
            Some(format!("{} ({by}) {}", axis.other(by), self.costs(best, rival, group)))
        });
        let clauses: Vec<String> = clauses.collect();
        let reason = match clauses.is_empty() {
            true => "nothing else was tried".to_owned(),
            false => clauses.join("; "),
        };
        let runner_up = self.runner_up(best, group);
        Verdict { best, runner_up, reason: capital(&reason) + "." }
    }

    /// The best of another kind; where others differ in this group alone, of them.
    fn runner_up(&self, best: &Trial, group: &Group) -> Option<&'f Trial> {
        let first = *group.flows.first()?;
        let has = best.assignment.get(first)?;
        let all = self.found.order.iter().filter_map(|at| self.found.trials.get(*at));
        let other = |one: &&&Trial| {
            one.refused.is_none() && one.assignment.get(first).is_some_and(|by| !same_kind(has, by))
        };
        let all: Vec<&Trial> = all.filter(|one| other(&one)).collect();
        let alone = |one: &&&Trial| {
            let both = one.assignment.iter().zip(&best.assignment).enumerate();
            both.filter(|(at, _)| !group.flows.contains(at)).all(|(_, (a, b))| a == b)
        };
        all.iter().find(alone).or(all.first()).copied()
    }

    /// What a rival takes beside the best.
    pub fn costs(&self, best: &Trial, rival: &Trial, group: &Group) -> String {
        let standing = self.judge.standing(best, rival);
        let load = match (standing.equal, self.judge.least) {
            (true, Least::Load) => "takes as much of the core".to_owned(),
            _ => more(rival.effort(), best.effort(), "load"),
        };
        let late = match (self.judge.holds(best), self.judge.holds(rival)) {
            (true, false) if rival.late > 0 => format!(", and misses {} deadlines", rival.late),
            (true, false) => ", more than the budget".to_owned(),
            _ => String::new(),
        };
        let soon = match group.p99(rival).zip(group.p99(best)) {
            Some((rival, best)) => format!(" and {}", times(rival, best)),
            None => String::new(),
        };
        format!("{load}{soon}{late}")
    }
}

/// By what part a load is more or less.
fn more(rival: f64, best: f64, what: &str) -> String {
    let part = 100.0 * (rival / best - 1.0);
    match part {
        part if part.abs() < 0.05 => format!("takes the same {what}"),
        part if part < 0.0 => format!("takes {} % less {what}", number(-part)),
        part if part >= 100.0 => format!("takes {} times the {what}", number(rival / best)),
        part => format!("takes {} % more {what}", number(part)),
    }
}

/// How much later or sooner it answers.
fn times(rival: f64, best: f64) -> String {
    match rival / best {
        same if (0.95..=1.05).contains(&same) => "answers as soon".to_owned(),
        many if many >= 2.0 => format!("answers {} times as late", number(many)),
        many if many > 1.0 => format!("answers {} % later", number(100.0 * (many - 1.0))),
        few => format!("answers {} % sooner", number(100.0 * (1.0 - few))),
    }
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A time in the unit that fits it.
pub(super) fn time(micros: f64) -> String {
    match micros {
        long if long >= 1e6 => format!("{} s", number(long / 1e6)),
        middle if middle >= 1e3 => format!("{} ms", number(middle / 1e3)),
        short => format!("{} µs", number(short)),
    }
}
