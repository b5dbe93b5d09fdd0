//! Round trips that follow each other at once, beside those of the endpoint below.

use narrows::strategy::Strategy;
use narrows_host::linx::{Endpoint, Select, Signal, Spid};

use super::super::at_once::AtOnce;
use super::super::spread::rounded;
use super::{Bench, order, silent};
use crate::base::failure::Failure;
use crate::base::statistics::median;
use crate::experiments::bench::task::iterations;
use crate::formats::linx::Stack;
use crate::rig::limit::{LAP, Laps};
use crate::rig::linx::end::PATIENCE;
use crate::rig::linx::side;
use crate::rig::service::linx::Order;

/// How much longer a round trip of signals may take, flat, than one of messages of the endpoint
/// below.
const BOUND: f64 = 1.2;
/// Round trips by which it is judged how many a batch is to have.
const FIRST: u64 = 64;

impl Bench<'_> {
    /// Round trips of both stacks and of the endpoint below, in turns.
    pub(super) fn at_once(
        &mut self,
        stacks: &[Stack],
        bytes: usize,
        rounds: usize,
    ) -> Result<Vec<AtOnce>, Failure> {
        let strategy = Strategy::default();
        // As many of each as there are to time.
        let count = iterations(self.pair.messages(strategy, bytes, FIRST)?);
        let mut counts = Vec::new();
        for stack in stacks {
            counts.push(iterations(self.echo(*stack, bytes, FIRST)?));
        }
        let mut trips: Vec<Vec<(f64, f64)>> = vec![Vec::new(); stacks.len()];
        for _ in 0..rounds {
            let endpoint = self.pair.messages(strategy, bytes, count)?;
            for ((stack, count), trips) in stacks.iter().zip(&counts).zip(&mut trips) {
                trips.push((self.echo(*stack, bytes, *count)?, endpoint));
            }
        }
        let middle = |values: Vec<f64>| median(&mut values.clone()).unwrap_or(f64::NAN);
        Ok(stacks
            .iter()
            .zip(trips)
            .map(|(stack, trips)| {
                let ratio = trips.iter().map(|(own, below)| own / below).collect();
                let ratio = rounded(middle(ratio));
                let bound = (*stack == Stack::Flat).then_some(BOUND);
                AtOnce {
                    round_trip_ns: rounded(middle(trips.iter().map(|(own, _)| *own).collect())),
                    endpoint_ns: rounded(middle(trips.iter().map(|(_, below)| *below).collect())),
                    ratio,
                    bound,
                    met: bound.map(|bound| ratio <= bound),
                }
            })
            .collect())
    }

    /// A batch of round trips of signals: nanoseconds of one, the median.
    fn echo(&mut self, stack: Stack, bytes: usize, count: u64) -> Result<f64, Failure> {
        order(self.pair, Order::Echo(stack, count as u32))?;
        let mut laps = Laps::new(count);
        laps.begin();
        let to = self.to(stack).map(Spid);
        let own = self.ends.of(stack).linx().zip(to);
        let mut signal = own.and_then(|_| Signal::new(bytes.max(8), 0));
        if let Some((own, to)) = own {
            for number in 0..count {
                laps.iteration(LAP);
                signal = signal.and_then(|signal| there_and_back(own, to, number as u32, signal));
            }
        }
        laps.finish();
        if signal.is_none() {
            return Err(silent(self.pair));
        }
        Ok(laps.middle().unwrap_or_default())
    }
}

/// Sends a signal and receives it back, to be sent again: as the endpoint below sends one buffer
/// again and again.
#[inline(always)]
fn there_and_back(own: &Endpoint, to: Spid, id: u32, mut signal: Signal) -> Option<Signal> {
    side::mark(&mut signal, id)?;
    own.send(to, signal).ok()?;
    let back = own.receive(&Select::any(), Some(PATIENCE))?;
    (side::marked(&back) == Some(id)).then_some(back)
}
