//! The phases of calls in a bench, and what each is compared with: its part of what the machine
//! allows.
//!
//! A bare round trip has two ways, one for the request and one for the response. A payload that is
//! copied in and out on the other core takes two copies, of which a call needs four: the caller's
//! in (A), the callee's out and in (within C), and the caller's out (E). The way of the request
//! begins in B and ends in C, so B has no limit of its own.

use narrows::strategy::Strategy;
use narrows_host::Trace;

use crate::base::failure::Failure;
use crate::base::statistics::median;
use crate::formats::strategy::sleeps;
use crate::rig::limit::Kind;
use crate::rig::pair::Pair;
use crate::rig::phases::{Call, Scale, calls};
use crate::rig::place::Place;
use crate::rig::series::Series;

/// The names of the phases.
pub const NAMES: [&str; 5] = ["A", "B", "C", "D", "E"];

/// The middle of a batch of calls, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parts {
    /// A to E.
    pub phases: [f64; 5],
    /// What passed until the callee had taken the request, and from its response until the caller
    /// had it: B, the delivery within C, and D.
    pub bells: f64,
    /// What the stamps within a round trip cost.
    pub stamps: f64,
}

impl Parts {
    /// Out of the stamps of both sides; none if they do not tell a single call.
    pub fn of(own: &Trace, theirs: &Trace, scale: Scale) -> Option<Parts> {
        let calls = calls(&own.records, &theirs.records, scale);
        let middle =
            |of: &dyn Fn(&Call) -> f64| median(&mut calls.iter().map(of).collect::<Vec<_>>());
        let [a, b, c, d, e] = [0, 1, 2, 3, 4]
            .map(|at: usize| middle(&|call| call.phases.get(at).copied().unwrap_or_default()));
        let bells = middle(&|call| {
            let [_, b, _, d, _] = call.phases;
            b + call.delivery + d
        });
        let stamps = middle(&|call| call.stamps);
        Some(Parts { phases: [a?, b?, c?, d?, e?], bells: bells?, stamps: stamps? })
    }
}

/// The limits of one round, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floors {
    /// A bare round trip.
    pub bell: Option<f64>,
    /// The payload copied in and out.
    pub copy: Option<f64>,
}

impl Floors {
    /// Measures a batch of each.
    ///
    /// # Errors
    /// The other process is gone.
    pub fn measure<P: Place>(
        pair: &mut Pair<P>,
        strategy: &Strategy,
        bytes: usize,
    ) -> Result<Floors, Failure> {
        let bell = if sleeps(strategy) { Kind::Eventfd } else { Kind::LineEachWay };
        Ok(Floors {
            bell: pair.limit(bell, 0, strategy.placement)?,
            copy: pair.limit(Kind::Copy, bytes, strategy.placement)?,
        })
    }

    /// Adds a round to the series of the phases.
    pub fn push(self, phases: &mut [Series; 5], parts: &Parts) {
        let [a, b, c, d, e] = phases;
        let [in_a, in_b, in_c, in_d, in_e] = parts.phases;
        let half = |limit: Option<f64>| limit.map(|limit| limit / 2.0);
        a.push(in_a, half(self.copy));
        b.push(in_b, None);
        c.push(in_c, half(self.bell).zip(self.copy).map(|(bell, copy)| bell + copy));
        d.push(in_d, half(self.bell));
        e.push(in_e, half(self.copy));
    }
}
