//! What a call takes more that comes long after the one before.

use super::{Bench, Load};
use crate::base::failure::{Failure, Kind};
use crate::base::statistics::median;
use crate::formats::strategy::literal;
use crate::rig::peer::Peer;
use crate::rig::place::Place;
use narrows_tune::model::{Flow, Idle, Parameters, estimate};
use std::time::Duration;

/// How long the cores sleep before each call. Of longer sleeps no more is known to come.
const REST: Duration = Duration::from_millis(5);
/// How calls are told: those that the other core is told of too, looks that are so far apart that
/// the first one finds the response mostly, and the same with a bell for several messages.
const TOLD: [&str; 3] = ["interrupt", "poll=1ms", "coalesced=8:1ms"];

impl<P: Place> Bench<'_, P> {
    /// What calls take after sleeps beside what the model has for them by what was measured
    /// without.
    pub(crate) fn idle(&mut self, parameters: &Parameters<f64>) -> Result<Idle<f64>, Failure> {
        let impossible = |error| {
            Failure::new(Kind::Internal, format!("what was measured is impossible: {error}"))
        };
        let costs = parameters.costs().map_err(impossible)?;
        let flow = Flow {
            period: Some(REST),
            request: self.short as u32,
            response: self.short as u32,
            burst: 1,
            depth: 1,
            ..Flow::default()
        };
        let load =
            Load { rest_ns: Some(REST.as_nanos() as u64), ..Load::of(self.short, self.short) };
        let ways = TOLD.map(|told| literal(&format!("copy_batched/{told}/external")));
        // In turns, so that what else the machine does is in all of them. It makes any trip longer:
        // the least is the one that it was in least.
        let mut found = TOLD.map(|_| (Vec::new(), f64::MAX));
        for _ in 0..self.rounds {
            for (by, (callers, trip)) in ways.into_iter().zip(&mut found) {
                let point = self.round(by, load, self.counts(&by, load))?;
                callers.push(point.caller);
                *trip = trip.min(point.middle);
            }
        }
        let mut more = [[0.0; 2]; TOLD.len()];
        for ((by, (callers, trip)), more) in ways.iter().zip(&mut found).zip(&mut more) {
            let said = estimate(&costs, &flow, by).map_err(impossible)?;
            let beside = |found: f64, said: u64| (found - said as f64 * 1e-12).max(0.0);
            let caller = median(callers).unwrap_or_default();
            *more = [beside(caller, said.caller), beside(*trip, said.latency.bound)];
        }
        let [[interrupt, late], [poll, _], [coalesced, _]] = more;
        Ok(Idle { after: REST.as_secs_f64(), interrupt, poll, coalesced, late })
    }
}

/// Adds what calls take more after sleeps to what was measured of calls that follow each other.
///
/// # Errors
/// The other side is gone.
pub(crate) fn idle<P: Place>(
    peer: &mut Peer<P>,
    rounds: usize,
    parameters: &mut Parameters<f64>,
) -> Result<(), Failure> {
    parameters.idle = Bench::new(peer, rounds)?.idle(parameters)?;
    Ok(())
}
