//! When messages come, and how long they take at most.

use narrows::strategy::{Notification, Strategy};

use super::notice::Noticed;
use super::parameters::Costs;
use super::parts::Parts;
use super::{Flow, Latency, picos, sum};

impl Flow {
    /// When messages of it come, by a strategy.
    pub(super) fn pace(&self, strategy: &Strategy) -> Pace {
        let (count, burst) = (u64::from(strategy.granularity.max(1)), u64::from(self.burst));
        let depth = (u64::from(self.depth) / count).max(1);
        let whole = burst % count == 0;
        let (periods, burst) = if whole { (1, burst / count) } else { (count, burst) };
        let waits = if whole { 0 } else { (count - 1).div_ceil(u64::from(self.burst)) };
        let times = |times| self.period.map(|period| picos(period).saturating_mul(times));
        Pace { period: times(periods), burst, depth, gathered: times(waits).unwrap_or(0) }
    }
}

/// When messages of a flow come.
pub(super) struct Pace {
    /// From one burst of them to the next, in picoseconds, if that is not whenever there is room.
    pub period: Option<u64>,
    /// Messages of a burst.
    pub burst: u64,
    /// Messages that may be under way.
    pub depth: u64,
    /// What the first request of a message waits for the last, in picoseconds.
    pub gathered: u64,
}

/// Messages that may be at the cores at once, if one takes so long there.
pub(super) fn at_once(flow: &Flow, pace: &Pace, each: u64) -> u64 {
    let Pace { period: Some(period), burst, depth, .. } = *pace else { return pace.depth };
    let all = sum(&[each.saturating_mul(burst), picos(flow.jitter)]);
    let most = all.div_ceil(period.max(1)).max(1).saturating_mul(burst);
    most.min(depth.max(burst))
}

pub(super) fn latency(
    costs: &Costs,
    flow: &Flow,
    strategy: &Strategy,
    parts: &Parts,
    noticed: &Noticed,
) -> Latency {
    let Parts { before, after, .. } = *parts;
    let turnaround = parts.turnaround();
    let worked = sum(&[before, turnaround]);
    let told = sum(&[noticed.late, noticed.busy]);
    let Pace { period, burst, depth, gathered } = flow.pace(strategy);
    let (source, aligned) = match strategy.notification {
        Notification::Poll { every } => {
            let every = picos(every);
            let rare = period.is_some_and(|period| every > period);
            let source = if rare { sum(&[every, after]) } else { sum(&[told, worked, after]) };
            (source, worked.div_ceil(every).max(1).saturating_mul(every))
        }
        _ => (sum(&[told, worked, after]), sum(&[told, worked, after])),
    };
    let ticks = turnaround.checked_div(costs.callee.tick).map_or(0, |ticks| ticks + 1);
    let alone = sum(&[
        costs.ticked.saturating_mul(ticks),
        costs.seldom,
        costs.seldom,
        parts.late,
        worked,
        noticed.step,
        told,
        after,
        parts.ack,
        parts.more[0],
        parts.more[1],
    ]);
    // Of those under way before it each may be in its way at the calling core.
    let ahead = period.map_or(0, |period| alone.saturating_sub(1) / period.max(1));
    let ahead = ahead.saturating_mul(burst).min(depth - 1);
    let overlap = ahead.saturating_mul(sum(&[parts.own(), noticed.busy]));
    // Of a burst as many are begun at once as may be, so that one is taken while the next is
    // served, and the next as many when those have been answered.
    let rounds = burst.div_ceil(depth).max(1);
    let together = burst.min(depth).max(1) - 1;
    let served = sum(&[parts.callee, parts.engine_there]);
    let taken = sum(&[noticed.busy, after, parts.ack]);
    let each = sum(&[before, sum(&parts.engine), served.max(taken)]);
    let queued = (rounds - 1).saturating_mul(alone);
    let queued = sum(&[queued, rounds.saturating_mul(together).saturating_mul(each)]);
    let bound = sum(&[alone, gathered, queued, overlap, picos(flow.jitter)]);
    Latency { source, aligned, bound }
}
