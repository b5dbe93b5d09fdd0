//! When messages of a flow come.

use narrows::strategy::Strategy;

use super::{Flow, picos, sum};

impl Flow {
    /// When messages of it come, by a strategy.
    pub(super) fn pace(&self, strategy: &Strategy) -> Pace {
        let parts = strategy.parts;
        if parts.count > 1 {
            // The parts of a request are due at once.
            let burst = u64::from(self.burst) * u64::from(parts.count);
            let period = self.period.map(picos);
            return Pace { period, burst, depth: parts.at_once.into(), gathered: 0 };
        }
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

/// Messages that may be at the cores at once, if one takes the time `each` there.
pub(super) fn at_once(flow: &Flow, pace: &Pace, each: u64) -> u64 {
    let Pace { period: Some(period), burst, depth, .. } = *pace else { return pace.depth };
    let all = sum(&[each.saturating_mul(burst), picos(flow.jitter)]);
    let most = all.div_ceil(period.max(1)).max(1).saturating_mul(burst);
    most.min(depth.max(burst))
}
