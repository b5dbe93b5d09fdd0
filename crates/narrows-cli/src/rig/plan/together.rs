//! The queue before the cores that the flows of a plan make together.

use super::terms::{Given, Plan};
use crate::base::statistics::percentile;
use crate::rig::plan::Planner;
use narrows_tune::model::{Phases, Stream, WHOLE, Waits, latencies, stream};

/// Latencies of which percentiles are taken, and their seed.
const SAMPLES: usize = 2000;
const SEED: u64 = 1;

/// What came of the queue for a flow.
pub(crate) struct Queued {
    /// Latencies, the shortest first, in picoseconds.
    times: Vec<u64>,
    /// What all flows take of the calling core, in parts per million.
    pub load: u32,
}

impl Queued {
    /// What this many percent of latencies do not exceed, in picoseconds.
    pub fn at(&self, percent: usize) -> u64 {
        percentile(&self.times, percent).unwrap_or_default()
    }
}

impl Planner<'_> {
    /// A flow's latencies by queueing before the cores, and what all flows take of the calling one
    /// then.
    pub fn queued(&self, plan: &Plan, flow: usize, phases: Phases) -> Option<Queued> {
        let stream = |(given, subject): (&Given, &super::terms::Subject)| {
            let by = &given.way.strategy;
            let soonest = plan.soonest(given.dsp).unwrap_or(Waits::of(by));
            let one = stream(&self.machine.costs, &subject.flow, by, soonest).ok()?;
            Some(Stream { dsp: given.dsp, ..one })
        };
        let streams: Option<Vec<Stream>> =
            plan.given.iter().zip(self.subjects).map(stream).collect();
        let mut times = vec![0; SAMPLES];
        let costs = &self.machine.costs;
        let load = latencies(costs, &mut streams?, flow, phases, SEED, &mut times)?;
        Some(Queued { times, load })
    }

    /// What all flows of a plan take of the calling core together, in parts per million: waits and
    /// looks are those of all. None if any takes what is left.
    pub fn load_together(&self, plan: &Plan, phases: Phases) -> Option<u32> {
        let slowest = self.subjects.iter().enumerate().max_by_key(|(_, one)| one.flow.period)?.0;
        let paced = plan.given.iter().all(|one| one.way.paced);
        let queued = paced.then(|| self.queued(plan, slowest, phases)).flatten()?;
        Some(queued.load.min(WHOLE))
    }
}
