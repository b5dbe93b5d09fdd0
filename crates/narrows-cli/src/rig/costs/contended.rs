//! What copies take more while the other core copies too.

use super::{Bench, LONG};
use crate::base::failure::Failure;
use crate::base::statistics::median;
use crate::formats::functions::Order;
use crate::formats::strategy::literal;
use crate::rig::place::Place;
use narrows::endpoint::CallError;
use narrows_tune::model::{Access, WHOLE};

/// Pairs of calls.
const PAIRS: usize = 12;
/// More than that is none of the memory's: each core waits for all that the other copies.
const MOST: f64 = 2.0;

impl<P: Place> Bench<'_, P> {
    /// By what part of it a copy in external memory takes longer while the other core copies there
    /// too, in parts per million: of two requests in a row the second is copied in while the first
    /// is copied out. Nothing where blocks are too short or too few to tell.
    pub(super) fn contended(
        &mut self,
        long: usize,
        [here, there]: [&Access<f64>; 2],
    ) -> Result<u32, Failure> {
        let fits = self.classes.iter().any(|one| one.size as usize >= long && one.count > 1);
        if long < LONG || !fits {
            return Ok(0);
        }
        let by = literal("copy_batched/interrupt/external");
        let opened = self.peer.try_flow("busy", by, long as u32);
        let flow = opened.map_err(|error| self.peer.explain_flow("busy", by, error))?;
        let order = Order { busy_ns: 0, response: self.short as u32, call: 0 }.to_bytes();
        let (mut out, mut back) = (vec![0; long], vec![0; self.short]);
        out.get_mut(..order.len()).unwrap_or_default().copy_from_slice(&order);
        let mut more = Vec::new();
        for _ in 0..PAIRS * self.rounds {
            let mut took = [0.0; 2];
            for took in &mut took {
                let before = self.peer.node.platform().time();
                let started = self.peer.node.flow(flow).start(&out[..]);
                started.map_err(|error| self.peer.explain_call(CallError::Start(error)))?;
                *took = self.peer.node.platform().time().since(before).as_secs_f64();
            }
            more.push(took[1] - took[0]);
            let mut left = 2;
            while left > 0 {
                match self.peer.node.flow(flow).try_finish(&mut back) {
                    Ok(Some(_)) => left -= 1,
                    Ok(None) => self.peer.node.flow(flow).wait(None),
                    Err(error) => return Err(self.peer.explain_call(error)),
                }
            }
        }
        let closed = self.peer.node.flow(flow).close();
        closed.map_err(|error| self.peer.explain_flow("busy", by, error))?;
        let both = here.write.min(there.read) * long as f64;
        let part = median(&mut more).unwrap_or_default() / both.max(f64::MIN_POSITIVE);
        Ok((part.clamp(0.0, MOST) * f64::from(WHOLE)) as u32)
    }
}
