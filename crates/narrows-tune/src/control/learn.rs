//! What running flows say of their costs.

use core::time::Duration;

use crate::model::{Costs, Estimate};

/// Figures of so many calls make a mean.
const CALLS: u32 = 16;
/// A cost is another if it differs by more than such a part.
const PART: u64 = 10;

/// Whether a figure differs so much from what was thought, in the same unit, that it is to be planned
/// with.
pub fn differs(thought: u64, found: u64) -> bool {
    thought.abs_diff(found) > thought.max(found) / PART
}

/// Gathers what spans say of the calls of one flow by one strategy: the time of the calling core for
/// them, and the time until the response was there. Times in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Learner {
    count: u32,
    own: u64,
    turnaround: u64,
}

/// What was learnt of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learnt {
    /// The function's own time on the other core.
    pub work: Duration,
    /// The calling core's time for a request (O^R), in picoseconds.
    pub request: u64,
}

impl Learner {
    /// Another call: time of the calling core in phases A, B and E, and from the end of B to the beginning
    /// of E.
    pub fn add(&mut self, own: u64, turnaround: u64) {
        self.count += 1;
        self.own = self.own.saturating_add(own);
        self.turnaround = self.turnaround.saturating_add(turnaround);
    }

    /// What calls by interrupt say, once there are enough of them; then gathering begins anew.
    /// `made` is what was estimated, of a flow with such `work`.
    pub fn learnt(&mut self, costs: &Costs, made: &Estimate, work: Duration) -> Option<Learnt> {
        if self.count < CALLS {
            return None;
        }
        let mean = |sum: u64| sum / u64::from(self.count);
        let (own, turnaround) = (mean(self.own), mean(self.turnaround));
        *self = Learner::default();
        // Of what was estimated, the request is what spans see beside the copies.
        let copies = made.caller.saturating_sub(costs.caller.request + costs.caller.interrupt);
        let notice = costs.caller.interrupt.saturating_add(costs.wake);
        let thought = made.turnaround.saturating_add(notice);
        let picos = crate::model::picos(work).saturating_add(turnaround).saturating_sub(thought);
        Some(Learnt {
            work: Duration::from_nanos(picos / 1000),
            request: own.saturating_sub(copies),
        })
    }
}
