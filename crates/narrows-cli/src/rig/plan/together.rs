//! What the flows of a plan make of each other: delays, ways of waiting, and the queue before the
//! cores.

use super::terms::{Given, Plan};
use crate::base::statistics::percentile;
use crate::rig::plan::Planner;
use narrows::notify;
use narrows_tune::model::{Estimate, Phases, Stream, WHOLE, beside, latencies, stream};

/// Latencies of which percentiles are taken, and their seed.
const SAMPLES: usize = 2000;
const SEED: u64 = 1;

/// What other flows delay one by, in picoseconds: at most, and again and again, when no caches are
/// cold.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub(super) struct Delay {
    pub most: u64,
    pub lasting: u64,
    /// And on average, in parts per million of the time that passes.
    pub rate: u64,
}

impl Delay {
    pub fn and(self, more: Delay) -> Delay {
        Delay {
            most: self.most.saturating_add(more.most),
            lasting: self.lasting.saturating_add(more.lasting),
            rate: self.rate.saturating_add(more.rate),
        }
    }
}

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
    /// What flows take by a plan in which cores wait as the quickest of their flows wants it; and
    /// by how much longer each takes than it would alone.
    pub(super) fn join(&self, plan: &mut Plan) -> Vec<Delay> {
        let given = &plan.given;
        let soonest = |dsp| {
            let here = given.iter().filter(|one| dsp == one.dsp);
            notify::quickest(here.map(|one| one.way.strategy.notification))
        };
        let soonest: Vec<_> = given.iter().map(|one| soonest(one.dsp)).collect();
        let each = plan.given.iter_mut().zip(self.subjects).zip(soonest);
        let longer = each.map(|((Given { way, .. }, subject), soonest)| {
            let soonest = soonest.unwrap_or(way.strategy.notification);
            let made = beside(&self.machine.costs, &subject.flow, &way.strategy, soonest);
            let Estimate { load, latency: alone, .. } = way.estimate;
            // Loads stay those that were chosen by, which add up.
            way.estimate = made.map_or(way.estimate, |made| Estimate { load, ..made });
            let more = way.estimate.latency.bound.saturating_sub(alone.bound);
            Delay { most: more, lasting: more, rate: 0 }
        });
        longer.collect()
    }

    /// What the other flows of a plan delay each by: all that may be before it at either core.
    pub(super) fn delays(&self, plan: &Plan) -> Vec<Delay> {
        let of = |number: usize, dsp: u8| {
            let one = &plan.given[number];
            let Estimate { blocks, serves, once, at_once, period, .. } = one.way.estimate;
            let (there, cold) =
                if one.dsp == dsp { (serves, once[0] + once[1]) } else { (0, once[0]) };
            // Without a period its next call is there as soon as there is room: before the request,
            // and before the response.
            let turns = if one.way.paced { 1 } else { 2 };
            let lasting = blocks.saturating_mul(turns).saturating_add(there);
            // It is cold once, whatever there is of it.
            let each = lasting.saturating_sub(cold);
            let lasting = each.saturating_mul(at_once);
            let rate = u128::from(each) * u128::from(WHOLE) / u128::from(period.max(1));
            let rate = u64::try_from(rate).unwrap_or(u64::MAX);
            Delay { most: lasting.saturating_add(cold), lasting, rate }
        };
        let all = |own: usize| {
            let others = (0..plan.given.len()).filter(|other| *other != own);
            others.fold(Delay::default(), |all, other| all.and(of(other, plan.given[own].dsp)))
        };
        (0..plan.given.len()).map(all).collect()
    }

    /// A flow's latencies by queueing before the cores, and what all flows take of the calling one
    /// then.
    pub fn queued(&self, plan: &Plan, flow: usize, phases: Phases) -> Option<Queued> {
        let stream = |(given, subject): (&Given, &super::terms::Subject)| {
            let by = &given.way.strategy;
            let here = plan.given.iter().filter(|other| other.dsp == given.dsp);
            let soonest = notify::quickest(here.map(|other| other.way.strategy.notification));
            let soonest = soonest.unwrap_or(by.notification);
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
