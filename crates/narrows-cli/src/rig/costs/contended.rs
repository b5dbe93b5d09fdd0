//! What copies, and all else that a core does, take more while the other core copies.

use super::{Bench, LONG, NANOS, Point};
use crate::base::failure::Failure;
use crate::base::statistics::median;
use crate::formats::functions::Order;
use crate::formats::strategy::literal;
use crate::rig::place::{Core, Place};
use narrows::endpoint::{CallError, FlowId};
use narrows::strategy::Strategy;
use narrows_tune::model::{Pool, WHOLE};
use std::time::Duration;

/// Pairs of calls.
const PAIRS: usize = 12;
/// More than that is none of the memory's: each core waits for all that the other copies.
const MOST: f64 = 2.0;
/// How many times as long as the copy of a request its function works on it.
const WORKS: f64 = 4.0;

impl<P: Place> Bench<'_, P> {
    /// By what part of it a copy in external memory takes longer while the other core copies there
    /// too, in parts per million: of two requests in a row the second is copied in while the first
    /// is copied out. Nothing where blocks are too short or too few to tell.
    pub(super) fn contended(
        &mut self,
        long: usize,
        [here, there]: [&Pool<f64>; 2],
    ) -> Result<u32, Failure> {
        let out = self.ordered(long, 0);
        let found = self.pairs(long, |bench, flow| {
            let took = bench.pair(flow, [&out, &out], Duration::ZERO)?;
            Ok(took[1] - took[0])
        })?;
        let both = here.of(long as u32).write.min(there.of(long as u32).read) * long as f64;
        Ok(part(found, both))
    }

    /// By what part of it anything but a copy takes longer while the other core copies in external
    /// memory, in parts per million: a short request is begun while a long one is copied in, and
    /// while its function works on it. `told` is a short call, and the copy of the short request
    /// takes longer as `contended` says. Nothing where blocks are too short or too few to tell.
    pub(super) fn disturbed(
        &mut self,
        long: usize,
        [here, there]: [&Pool<f64>; 2],
        told: &Point,
        contended: u32,
    ) -> Result<u32, Failure> {
        let copy = there.of(long as u32).read * long as f64;
        let first = self.ordered(long, (copy * WORKS / NANOS) as u64);
        let second = self.ordered(self.short, 0);
        // The other core has been told, and is in the middle of the copy, or of its work.
        let begun = (told.trip - told.caller).max(0.0);
        let [copies, works] = [0.5, WORKS / 2.0].map(|of| begun + copy * of);
        let mut alone = Vec::new();
        let found = self.pairs(long, |bench, flow| {
            let mut took = |apart| {
                let took = bench.pair(flow, [&first, &second], Duration::from_secs_f64(apart))?;
                Ok::<_, Failure>(took[1])
            };
            let (copies, works) = (took(copies)?, took(works)?);
            alone.push(works);
            Ok(copies - works)
        })?;
        let copied = here.of(self.short as u32).write * self.short as f64;
        let longer = copied * f64::from(contended) / f64::from(WHOLE);
        let alone = median(&mut alone).unwrap_or_default();
        Ok(part(found.map(|found| found - longer), alone - copied))
    }

    /// A request of `len` bytes for a short response, whose function works for `busy_ns`.
    fn ordered(&self, len: usize, busy_ns: u64) -> Vec<u8> {
        let mut out = vec![0; len];
        let order = Order { busy_ns, response: self.short as u32, call: 0 }.to_bytes();
        out.get_mut(..order.len()).unwrap_or_default().copy_from_slice(&order);
        out
    }

    /// The median of what pairs of requests of a flow give, of which the longest have `long` bytes.
    /// None where blocks are too short or too few to tell.
    fn pairs(
        &mut self,
        long: usize,
        mut what: impl FnMut(&mut Self, FlowId) -> Result<f64, Failure>,
    ) -> Result<Option<f64>, Failure> {
        let fits = self.classes.iter().any(|one| one.size as usize >= long && one.count > 1);
        if long < LONG || !fits {
            return Ok(None);
        }
        let by: Strategy = literal("copy_batched/interrupt/external");
        let opened = self.peer.try_flow("busy", by, long as u32);
        let flow = opened.map_err(|error| self.peer.explain_flow("busy", by, error))?;
        let mut found = Vec::new();
        for _ in 0..PAIRS * self.rounds {
            found.push(what(self, flow)?);
        }
        let closed = self.peer.node.flow(flow).close();
        closed.map_err(|error| self.peer.explain_flow("busy", by, error))?;
        Ok(median(&mut found))
    }

    /// What beginning each of two requests takes, the second `apart` after the first was begun.
    fn pair(
        &mut self,
        flow: FlowId,
        out: [&[u8]; 2],
        apart: Duration,
    ) -> Result<[f64; 2], Failure> {
        let mut took = [0.0; 2];
        for (at, took) in took.iter_mut().enumerate() {
            if at > 0 && !apart.is_zero() {
                self.peer.node.platform().core().work(apart);
            }
            let before = self.peer.node.platform().time();
            let started = self.peer.node.flow(flow).start(out[at]);
            started.map_err(|error| self.peer.explain_call(CallError::Start(error)))?;
            *took = self.peer.node.platform().time().since(before).as_secs_f64();
        }
        let (mut left, mut back) = (out.len(), vec![0; self.short]);
        while left > 0 {
            match self.peer.node.flow(flow).try_finish(&mut back) {
                Ok(Some(_)) => left -= 1,
                Ok(None) => self.peer.node.flow(flow).wait(None),
                Err(error) => return Err(self.peer.explain_call(error)),
            }
        }
        Ok(took)
    }
}

/// What something takes longer, as a part of what it takes alone, in parts per million.
fn part(longer: Option<f64>, alone: f64) -> u32 {
    let part = longer.unwrap_or_default() / alone.max(f64::MIN_POSITIVE);
    (part.clamp(0.0, MOST) * f64::from(WHOLE)) as u32
}
