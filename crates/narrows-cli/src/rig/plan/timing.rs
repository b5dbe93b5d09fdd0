//! What flows do to each other's deadlines, by every way of each and every way in which cores may
//! wait.

use super::Planner;
use super::terms::{Limits, Plan, Way};
use narrows::strategy::Parts;
use narrows_tune::model::{Buffers, Costs, Estimate, Flow, Waits, beside, picos};
use narrows_tune::optimise::{Delay, Slack, Timing};

/// The ways in which cores may wait that have some of these flows: as the quickest wants it.
#[derive(Clone, Debug)]
pub(super) struct AllWaits {
    all: Vec<Waits>,
    /// Of one and another, that of cores with a flow of each.
    pub joined: Vec<u16>,
}

impl AllWaits {
    pub fn of(ways: &[Vec<Way>]) -> AllWaits {
        let mut all: Vec<Waits> = Vec::new();
        for way in ways.iter().flatten() {
            let waits = Waits::of(&way.strategy);
            if !all.contains(&waits) {
                all.push(waits);
            }
        }
        // What two of them make together may be a third.
        let mut at = 0;
        while at < all.len() {
            for other in 0..at {
                let both = Waits::quickest([all[at], all[other]].into_iter());
                all.extend(both.filter(|both| !all.contains(both)));
            }
            at += 1;
        }
        let place = |how| all.iter().position(|one| *one == how).unwrap_or_default() as u16;
        let pairs = all.iter().flat_map(|one| all.iter().map(move |other| [*one, *other]));
        let joined = pairs.map(|pair| Waits::quickest(pair.into_iter()).map_or(0, place));
        let joined = joined.collect();
        AllWaits { all, joined }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn own(&self, way: &Way) -> u16 {
        let how = Waits::of(&way.strategy);
        self.all.iter().position(|one| *one == how).unwrap_or_default() as u16
    }

    /// What a way takes by each of them, as far as a flow that has it may find its core wait so.
    pub fn estimates(&self, costs: &Costs, flow: &Flow, way: &Way) -> Vec<Estimate> {
        let own = self.own(way);
        let of = |(number, soonest): (usize, &Waits)| {
            let joined = self.joined[usize::from(own) * self.len() + number];
            if usize::from(joined) != number {
                return way.estimate;
            }
            timed(costs, flow, way, *soonest)
        };
        self.all.iter().enumerate().map(of).collect()
    }
}

/// What a way takes where the core waits so. What budgets count stays what was chosen by, which
/// adds up.
fn timed(costs: &Costs, flow: &Flow, way: &Way, soonest: Waits) -> Estimate {
    let Estimate { load, work, memory, buffers, .. } = way.estimate;
    let made = beside(costs, flow, &way.strategy, soonest);
    made.map_or(way.estimate, |made| Estimate { load, work, memory, buffers, ..made })
}

impl Planner<'_> {
    pub(super) fn deadline(&self, flow: usize, limits: &Limits) -> u64 {
        let free = limits.free == Some(flow);
        self.subjects[flow].flow.deadline.filter(|_| !free).map_or(u64::MAX, picos)
    }

    /// As many periods as bursts may be under way: a response that takes longer, again and again,
    /// makes each request wait for the one before, and longer every time. Where looks keep step
    /// with requests there is a buffer for each that comes meanwhile.
    pub(super) fn pace(&self, flow: usize, parts: Parts) -> u64 {
        let Flow { period, depth, burst, .. } = self.subjects[flow].flow;
        // The parts of one request are under way, and none of the next.
        let depth = if parts == Parts::WHOLE { depth } else { 1 };
        let pace = period.filter(|_| self.machine.costs.buffers == Buffers::Any);
        pace.map_or(u64::MAX, |period| picos(period).saturating_mul((depth / burst).max(1).into()))
    }

    /// What a flow bears that takes what `made` says.
    pub(super) fn slack(&self, flow: usize, way: &Way, made: &Estimate, limits: &Limits) -> Slack {
        let bound = made.latency.bound;
        let Flow { period, depth, deadline, .. } = self.subjects[flow].flow;
        let parts = way.strategy.parts;
        let depth = if parts == Parts::WHOLE { depth } else { 1 };
        let jitter = self.subjects.iter().map(|one| picos(one.flow.jitter)).max().unwrap_or(0);
        // One with a deadline may fall behind for a while, if it catches up.
        let behind = period.filter(|_| depth == 1 && deadline.is_some());
        Slack {
            bound,
            alone: bound.saturating_sub(made.once[0] + made.once[1]),
            deadline: self.deadline(flow, limits),
            pace: self.pace(flow, parts),
            behind: behind.map(|period| [picos(period), jitter]),
            beside: Delay::default(),
        }
    }

    /// What a way of a flow means for deadlines by each way in which its core may wait, if `alike`
    /// flows travel alike.
    pub(super) fn timings(
        &self,
        flow: usize,
        way: usize,
        alike: u64,
        limits: &Limits,
    ) -> impl Iterator<Item = Timing> + Clone {
        let ways = self.waits.len();
        let made = &self.estimates[flow][way * ways..][..ways];
        let way = &self.ways[flow][way];
        made.iter().map(move |made| {
            let [here, elsewhere] = made.delays(way.paced);
            let slack =
                Slack { beside: here.times(alike - 1), ..self.slack(flow, way, made, limits) };
            Timing { here: here.times(alike), elsewhere: elsewhere.times(alike), slack }
        })
    }

    /// Has flows take what they do by a plan in which cores wait as the quickest of their flows
    /// wants it, and says by how much they delay each other.
    pub(super) fn join(&self, plan: &mut Plan) {
        let soonest: Vec<_> = plan.given.iter().map(|one| plan.soonest(one.dsp)).collect();
        let each = plan.given.iter_mut().zip(self.subjects).zip(soonest);
        for ((given, subject), soonest) in each {
            let way = &mut given.way;
            let soonest = soonest.unwrap_or(Waits::of(&way.strategy));
            way.estimate = timed(&self.machine.costs, &subject.flow, way, soonest);
        }
        let delays = self.delays(plan);
        for (flow, (given, delay)) in plan.given.iter_mut().zip(delays).enumerate() {
            let made = &given.way.estimate;
            let worst = self.slack(flow, &given.way, made, &Limits::default()).worst(delay);
            given.beside = worst.map_or(delay.most, |worst| worst - made.latency.bound);
        }
    }

    /// What the other flows of a plan delay each by: all that may be before it at either core.
    fn delays(&self, plan: &Plan) -> Vec<Delay> {
        let each: Vec<_> = plan
            .given
            .iter()
            .map(|one| (one.way.estimate.delays(one.way.paced), one.dsp))
            .collect();
        let all = |own: usize| {
            let others = each.iter().enumerate().filter(|(other, _)| *other != own);
            others.fold(Delay::default(), |all, (_, ([here, elsewhere], dsp))| {
                all.and(if *dsp == each[own].1 { *here } else { *elsewhere })
            })
        };
        (0..each.len()).map(all).collect()
    }

    /// Whether every flow of a plan keeps to its deadline and keeps pace.
    pub(super) fn stands(&self, plan: &Plan, limits: &Limits) -> bool {
        let all = plan.given.iter().zip(self.delays(plan)).enumerate();
        all.into_iter().all(|(flow, (one, delay))| {
            self.slack(flow, &one.way, &one.way.estimate, limits).bears(delay)
        })
    }
}
