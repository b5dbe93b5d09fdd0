//! What running flows say of their costs.

use core::time::Duration;

use crate::model::{Costs, Estimate, picos};

/// Calls after which something is said.
const CALLS: u32 = 16;
/// A figure is another if it differs by more than such a part.
const PART: u64 = 10;

/// Whether a figure differs so much from what was thought, in the same unit, that it is to be
/// planned with.
pub fn differs(thought: u64, found: u64) -> bool {
    thought.abs_diff(found) > thought.max(found) / PART
}

/// Learns from the spans of a flow's calls how long the other core works for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Learner {
    count: u32,
    /// What a call takes at least, and at most, where others are in its way.
    least: u64,
    most: u64,
}

impl Learner {
    /// Another call, which travelled by interrupt: picoseconds from the end of phase B until phase
    /// E began, and how many of these the other core may have worked for calls of other flows.
    pub fn add(&mut self, away: u64, others: u64) {
        self.most = if self.count == 0 { away } else { self.most.min(away) };
        self.least = self.least.max(away.saturating_sub(others));
        self.count += 1;
    }

    /// How long the function works, once there have been enough calls; then they are forgotten. No
    /// call was away for less than its own work takes, and none for more than that and the work for
    /// others: `work` unless what was estimated with it is off either by more than a tenth. `made`
    /// was estimated with `work`.
    pub fn learnt(&mut self, costs: &Costs, made: &Estimate, work: Duration) -> Option<Duration> {
        if self.count < CALLS {
            return None;
        }
        let Learner { least, most, .. } = core::mem::take(self);
        let thought = made.turnaround + costs.caller.interrupt + costs.wake;
        let found = thought.max(least).min(most);
        if !differs(thought, found) {
            return Some(work);
        }
        let picos = picos(work).saturating_add(found).saturating_sub(thought);
        Some(Duration::from_nanos(picos / 1000))
    }
}
