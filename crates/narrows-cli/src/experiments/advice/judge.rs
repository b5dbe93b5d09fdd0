//! Which of what was tried is best.

use super::trial::{Extent, Trial};
use crate::base::statistics::{deviation, median};
use crate::formats::strategy::{NOTIFICATIONS, kind};
use crate::rig::plan::Least;
use narrows::strategy::{Acknowledgement, Placement, Strategy, Transfer};

/// What is within this part of the best is equal to it: of load, and of latency.
const LOAD: f64 = 0.01;
const LATENCY: f64 = 0.05;
/// Percent of a core that nobody minds.
const LITTLE: f64 = 0.03;
/// The part of the responses that may be late where repeats differ by what else a machine does.
const LATE: f64 = 0.01;
/// In a glance, what is within this many times that of the least may have it in a whole trial. In a
/// repeat, what is equal may: all carry the same requests, so they differ by their strategies, and
/// by the moments at which the other core looks.
const GLANCE: f64 = 3.0;
/// Resamplings that say how sure an order is, and what they are drawn by.
const SAMPLES: usize = 1000;
const SEED: u64 = 1;

/// How two trials stand to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standing {
    /// Of resamplings of the repeats, the part in which the first has no more of what is to be
    /// least.
    pub confidence: f64,
    /// Whether the difference is within what repeats differ by, or too small to matter.
    pub equal: bool,
}

/// What is to be least, and within which budget.
pub(crate) struct Judge {
    pub least: Least,
    /// The most of the calling core, in percent.
    pub load: f64,
}

impl Judge {
    /// Within what parts loads and latencies are equal.
    pub const WITHIN: [f64; 2] = [LOAD, LATENCY];
    /// Percent of a core that is no difference either.
    pub const LITTLE: f64 = LITTLE;

    /// What is to be least of a trial, in each of its repeats.
    fn repeats<'t>(&self, trial: &'t Trial) -> &'t [f64] {
        match self.least {
            Least::Load => &trial.efforts,
            Least::Latency => &trial.latencies,
        }
    }

    /// What is to be least of a trial.
    pub fn value(&self, trial: &Trial) -> f64 {
        match self.least {
            Least::Load => trial.effort(),
            Least::Latency => trial.p99.iter().sum(),
        }
    }

    /// What decides between equals.
    fn second(&self, trial: &Trial) -> f64 {
        match self.least {
            Least::Load => trial.p99.iter().sum(),
            Least::Latency => trial.effort(),
        }
    }

    /// Whether a trial kept to everything that it has to. On a machine that does other things as
    /// well, one response of a hundred may be late in the median of the rounds: what stops a core
    /// for a while spoils the round of any strategy.
    pub fn holds(&self, trial: &Trial) -> bool {
        let late = match trial.noisy {
            true => median(&mut trial.lateness.clone()).is_some_and(|part| part > LATE),
            false => trial.late > 0,
        };
        trial.refused.is_none() && !late && trial.load() <= self.load + LITTLE
    }

    /// Of trials that are no whole ones, those that may be the best by a whole one, or equal to it.
    pub fn near<'t>(&self, trials: &'t [Trial], extent: Extent) -> Vec<&'t Trial> {
        let times = match extent {
            Extent::Glance => GLANCE,
            Extent::Repeat | Extent::Whole => 1.0,
        };
        // Nothing that is late in a part is in time in the whole; a load may yet be less.
        let may_hold = |trial: &&Trial| {
            let load = (self.load + LITTLE) * (1.0 + times * LOAD);
            trial.refused.is_none() && trial.late == 0 && trial.load() <= load
        };
        let mut near: Vec<&Trial> = trials.iter().filter(may_hold).collect();
        let least = near.iter().map(|trial| self.value(trial)).fold(f64::INFINITY, f64::min);
        let far = times * self.within() * least;
        near.retain(|trial| self.value(trial) - least <= self.little(trial).max(far));
        near
    }

    /// What is to be least, and what decides between equals.
    pub fn words(&self) -> [&'static str; 2] {
        match self.least {
            Least::Load => ["load", "latency"],
            Least::Latency => ["latency", "load"],
        }
    }

    /// How the first of two stands to the second.
    pub fn standing(&self, one: &Trial, other: &Trial) -> Standing {
        let (first, second) = (self.repeats(one), self.repeats(other));
        let apart: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
        let mut dice = fastrand::Rng::with_seed(SEED);
        let no_more = (0..SAMPLES).filter(|_| {
            let drawn = apart.iter().map(|_| dice.choice(&apart).copied().unwrap_or_default());
            drawn.sum::<f64>() <= 0.0
        });
        let confidence = no_more.count() as f64 / SAMPLES as f64;
        Standing { confidence, equal: self.is_equal(one, other) }
    }

    fn is_equal(&self, one: &Trial, other: &Trial) -> bool {
        let (a, b) = (self.value(one), self.value(other));
        let small = (a - b).abs() <= self.little(one).max(self.within() * a.min(b));
        small || one.noisy && (a - b).abs() <= error(self.repeats(one), self.repeats(other))
    }

    /// Within what part of the least trials are equal.
    fn within(&self) -> f64 {
        match self.least {
            Least::Load => LOAD,
            Least::Latency => LATENCY,
        }
    }

    /// By how much what is to be least may differ from that of a trial without anybody minding.
    pub fn little(&self, trial: &Trial) -> f64 {
        if trial.is_paced() && self.least == Least::Load { LITTLE } else { 0.0 }
    }

    /// All that was tried, the best first: what does not hold comes last.
    pub fn order(&self, trials: &[Trial]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..trials.len()).collect();
        let key = |at: &usize| {
            let trial = &trials[*at];
            let holds = self.holds(trial);
            (!holds, trial.refused.is_some(), if holds { 0 } else { trial.late })
        };
        order.sort_by(|a, b| {
            let values = || self.value(&trials[*a]).total_cmp(&self.value(&trials[*b]));
            key(a).cmp(&key(b)).then_with(values)
        });
        let equal = self.equal(trials, &order);
        let least = |of: &dyn Fn(&Trial) -> f64, among: &[usize]| {
            among.iter().map(|at| of(&trials[*at])).fold(f64::INFINITY, f64::min)
        };
        // Among those that are equal: what decides second, then memory, then what is simpler.
        let among = &mut order[..equal];
        let second = least(&|trial| self.second(trial), among);
        let within = match self.least {
            Least::Load => LATENCY,
            Least::Latency => LOAD,
        };
        among.sort_by(|a, b| {
            let (one, other) = (&trials[*a], &trials[*b]);
            let far = |trial: &Trial| self.second(trial) > second * (1.0 + within);
            let simple = |trial: &Trial| {
                let all: u32 = trial.assignment.iter().map(complexity).sum();
                let memory: u64 = trial.fit.memory.iter().copied().map(u64::from).sum();
                (memory, distinct(&trial.assignment), all)
            };
            let seconds = || self.second(one).total_cmp(&self.second(other));
            match (far(one), far(other)) {
                (false, false) => simple(one).cmp(&simple(other)).then_with(seconds),
                _ => far(one).cmp(&far(other)).then_with(seconds),
            }
        });
        order
    }

    /// How many at the beginning of an order are equal to the one that has least.
    pub fn equal(&self, trials: &[Trial], order: &[usize]) -> usize {
        let holding = order.iter().take_while(|at| self.holds(&trials[**at]));
        let least =
            holding.min_by(|a, b| self.value(&trials[**a]).total_cmp(&self.value(&trials[**b])));
        let Some(least) = least else { return 0 };
        let equal = |at: &&usize| {
            self.holds(&trials[**at]) && self.is_equal(&trials[**at], &trials[*least])
        };
        order.iter().take_while(equal).count()
    }
}

/// How many strategies there are.
fn distinct(assignment: &[Strategy]) -> usize {
    let mut seen = Vec::new();
    crate::formats::strategy::append(&mut seen, assignment.iter().copied());
    seen.len()
}

/// How much there is to know about a strategy: what the default of each axis does is simplest.
pub(super) fn complexity(by: &Strategy) -> u32 {
    let transfer = match by.transfer {
        Transfer::Copy => 0,
        Transfer::SingleCopy => 2,
        Transfer::InPlace => 3,
        Transfer::CopyEngine => 4,
    };
    let acknowledgement = match by.acknowledgement {
        Acknowledgement::Batched => 0,
        Acknowledgement::Lazy | Acknowledgement::Interrupt => 1,
    };
    let rank = NOTIFICATIONS.iter().position(|name| *name == kind(by));
    let notification = rank.unwrap_or_default() as u32;
    let placement = u32::from(by.placement != Placement::External);
    let callee = u32::from(by.callee.is_some());
    let merged = u32::from(by.granularity) - 1;
    let cut = u32::from(by.parts.count) - 1 + u32::from(by.parts.at_once) - 1;
    transfer + acknowledgement + notification + callee + placement + merged + cut
}

/// Twice the standard error of the mean difference of two rows of repeats, which were taken in
/// turns.
fn error(one: &[f64], other: &[f64]) -> f64 {
    let apart: Vec<f64> = one.iter().zip(other).map(|(a, b)| a - b).collect();
    2.0 * deviation(&apart) / (apart.len().max(2) as f64 - 1.0).sqrt()
}
