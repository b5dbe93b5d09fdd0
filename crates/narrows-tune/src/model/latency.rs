//! How long messages take at most.

use narrows::strategy::{Notification, Strategy};

use super::notice::Noticed;
use super::pace::Pace;
use super::parameters::Costs;
use super::parts::Parts;
use super::{Flow, Latency, picos, sum};

/// When the last part of a request is back, of which one takes the time `alone` by itself.
fn behind(alone: u64, parts: &Parts, pace: &Pace) -> u64 {
    let each = match pace.depth {
        1 => alone,
        depth => (alone / depth).max(parts.own()).max(parts.callee),
    };
    sum(&[alone, (pace.burst - 1).saturating_mul(each)])
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
    let pace = flow.pace(strategy);
    let Pace { period, burst, depth, gathered } = pace;
    let (source, aligned) = match strategy.notification {
        Notification::Poll { every } | Notification::Timer { every } => {
            let every = picos(every);
            let rare = period.is_some_and(|period| every > period);
            let source = if rare { sum(&[every, after]) } else { sum(&[told, worked, after]) };
            (source, worked.div_ceil(every).max(1).saturating_mul(every))
        }
        _ => (sum(&[told, worked, after]), sum(&[told, worked, after])),
    };
    let (source, aligned) = match strategy.parts.count {
        1 => (source, aligned),
        _ => (behind(source, parts, &pace), behind(aligned, parts, &pace)),
    };
    let ticks = turnaround.checked_div(costs.callee.tick).map_or(0, |ticks| ticks + 1);
    let alone = sum(&[
        costs.callee.ticked.saturating_mul(ticks),
        parts.seldom,
        parts.seldom,
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
