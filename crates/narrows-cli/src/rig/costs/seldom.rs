//! What comes now and then: calls that take longer than others, ticks, and how late a sleep ends.

use super::{Bench, CALLS};
use crate::base::failure::Failure;
use crate::base::statistics::median;
use crate::formats::functions::Order;
use crate::rig::place::{Core as _, Place, sleep_until};
use narrows::platform::Instant;
use narrows::strategy::Strategy;
use std::time::Duration;

/// Calls of which the longest is looked for: more than a class has blocks mostly.
const SELDOM: u32 = 100;
/// Ticks of a short sleep, and of a long one.
const SLEEPS: [u32; 2] = [8, 40];

/// Ticks until a moment.
fn ticks(at: Instant, tick: Duration) -> u64 {
    let nanos = u64::try_from(tick.as_nanos()).unwrap_or(u64::MAX);
    let since = u64::try_from(at.since(Instant(0)).as_nanos()).unwrap_or(u64::MAX);
    since.checked_div(nanos).unwrap_or(0)
}

impl<P: Place> Bench<'_, P> {
    /// By how much the longest of many calls with sleeps of this many nanoseconds between them is
    /// longer than their mean; by how much those are, but for calls that a tick of the other core
    /// falls into, that are more than half as much longer than the mean, and how many calls have
    /// one of those among them: medians of all rounds.
    pub(super) fn seldom(
        &mut self,
        by: Strategy,
        nanos: u64,
        tick: Duration,
    ) -> Result<(f64, f64, u32), Failure> {
        let (mut all, mut found) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            let soon = |now: Instant| now + Duration::from_nanos(nanos);
            let trips = self.apart(by, SELDOM, soon)?;
            let took = |(from, to): &(Instant, Instant)| to.since(*from).as_secs_f64();
            let mean = trips.iter().map(took).sum::<f64>() / f64::from(SELDOM);
            let longest = trips.iter().map(took).fold(0.0, |most: f64, trip| most.max(trip - mean));
            all.push(longest);
            let quiet = trips.iter().filter(|(from, to)| ticks(*from, tick) == ticks(*to, tick));
            let more = quiet.map(|trip| took(trip) - mean);
            found.extend(more.filter(|more| *more > longest / 2.0));
        }
        let calls = SELDOM as usize * self.rounds;
        let one_in = calls.checked_div(found.len()).unwrap_or(0) as u32;
        let middle = |values: &mut Vec<f64>| median(values).unwrap_or_default();
        Ok((middle(&mut all), middle(&mut found), one_in))
    }

    /// What a tick of the other core takes: by how much calls are longer that it falls into than
    /// those between two. None if calls are so long that there is one in most.
    pub(super) fn ticked(
        &mut self,
        by: Strategy,
        trip: f64,
        tick: Duration,
    ) -> Result<f64, Failure> {
        let half = Duration::from_secs_f64(trip / 2.0);
        if tick.is_zero() || half * 8 > tick {
            return Ok(0.0);
        }
        let mut mean = |until: Duration| {
            let next =
                |now: Instant| Instant(0) + (tick * (ticks(now, tick) + 2) as u32 + until - half);
            let trips = self.apart(by, CALLS, next)?;
            let all = trips.iter().map(|(from, to)| to.since(*from).as_secs_f64()).sum::<f64>();
            Ok::<f64, Failure>(all / trips.len().max(1) as f64)
        };
        let (into, between) = (mean(Duration::ZERO)?, mean(tick / 2)?);
        Ok((into - between).max(0.0))
    }

    /// The part of the calling core's time that its own ticks take: what a long sleep takes of it
    /// more than a short one.
    pub(super) fn ticking(&mut self, tick: Duration) -> Result<f64, Failure> {
        if tick.is_zero() {
            return Ok(0.0);
        }
        let mut found = Vec::new();
        for _ in 0..self.rounds {
            let [short, long] = SLEEPS.map(|ticks| {
                let node = &mut self.peer.node;
                let before = (node.platform().core().used(), node.platform().time());
                sleep_until(node, before.1 + tick * ticks);
                let after = (node.platform().core().used(), node.platform().time());
                [after.0.saturating_sub(before.0), after.1.since(before.1)]
            });
            let more = |which: usize| long[which].saturating_sub(short[which]).as_secs_f64();
            let [used, passed] = [0, 1].map(more);
            found.push(used / passed);
        }
        Ok(median(&mut found).unwrap_or_default())
    }

    /// This many calls, each begun at a moment that follows from when the one before was over: when
    /// they were to begin, and when they ended.
    fn apart(
        &mut self,
        by: Strategy,
        calls: u32,
        next: impl Fn(Instant) -> Instant,
    ) -> Result<Vec<(Instant, Instant)>, Failure> {
        let flow = self.peer.flow("busy", by, self.short as u32)?;
        let order = Order { busy_ns: 0, response: self.short as u32, call: 0 }.to_bytes();
        let (mut out, mut back) = (vec![0; self.short], vec![0; self.short]);
        out.get_mut(..order.len()).unwrap_or_default().copy_from_slice(&order);
        let mut trips = Vec::new();
        for _ in 0..calls {
            let until = next(self.peer.node.platform().time());
            sleep_until(&mut self.peer.node, until);
            self.call(flow, &by, &out, &mut back)?;
            trips.push((until, self.peer.node.platform().time()));
        }
        let closed = self.peer.node.flow(flow).close();
        closed.map_err(|error| self.peer.explain_flow("busy", by, error))?;
        Ok(trips)
    }

    /// How late a sleep of this many nanoseconds ends: the median of all rounds.
    pub(super) fn late(&mut self, nanos: u64) -> Result<f64, Failure> {
        let mut lates = Vec::new();
        for _ in 0..self.rounds {
            let node = &mut self.peer.node;
            let mut late = 0.0;
            for _ in 0..CALLS {
                let until = node.platform().time() + Duration::from_nanos(nanos);
                sleep_until(node, until);
                late += node.platform().time().since(until).as_secs_f64();
            }
            lates.push(late / f64::from(CALLS));
        }
        Ok(median(&mut lates).unwrap_or_default())
    }
}
