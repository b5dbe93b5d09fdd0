//! Latencies of a run of any length, in memory that does not grow.

use std::time::Duration;

/// Parts that each power of two is divided into: a figure is at most 1/32 above what was measured.
const PARTS: u64 = 32;
const BITS: u32 = PARTS.trailing_zeros();

/// How often which latency was measured.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    longest: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: vec![0; place(u64::MAX) + 1], total: 0, longest: 0 }
    }
}

/// Where a latency is counted.
fn place(nanos: u64) -> usize {
    if nanos < PARTS {
        return nanos as usize;
    }
    let power = nanos.ilog2() - BITS;
    (u64::from(power) * PARTS + (nanos >> power)) as usize
}

/// The longest latency that is counted at a place.
fn top(place: usize) -> u64 {
    let place = place as u64;
    if place < 2 * PARTS {
        return place;
    }
    let power = place / PARTS - 1;
    let first = (place % PARTS + PARTS) << power;
    first + ((1 << power) - 1)
}

impl Histogram {
    /// Counts a latency.
    pub fn push(&mut self, latency: Duration) {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        if let Some(count) = self.counts.get_mut(place(nanos)) {
            *count += 1;
        }
        self.total += 1;
        self.longest = self.longest.max(nanos);
    }

    /// How many there are.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The latency that so many percent do not exceed, in nanoseconds; none if there are none.
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        let rank = (self.total * percent.min(100)).div_ceil(100).max(1);
        let mut seen = 0;
        let reached = |count: &u64| {
            seen += count;
            seen >= rank
        };
        self.counts.iter().position(reached).map(|place| top(place).min(self.longest))
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.total, self.longest) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_order_and_cover_everything() {
        let powers = (0..64).flat_map(|power| [(1_u64 << power) - 1, 1 << power, 3 << power >> 1]);
        for nanos in powers.chain([31, 32, 33, 63, 64, 65, 1000, 123_456_789, u64::MAX]) {
            let at = place(nanos);
            assert!(top(at) >= nanos, "{nanos}");
            assert!(top(at) - nanos <= nanos / PARTS, "{nanos} counts as {}", top(at));
            assert!(at == 0 || top(at - 1) < nanos, "{nanos}");
        }
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut times = Histogram::default();
        assert_eq!(times.percentile(50), None);
        (1..=100).for_each(|n| times.push(Duration::from_nanos(n)));
        assert_eq!(times.percentile(0), Some(1));
        assert_eq!(times.percentile(50), Some(50));
        assert_eq!((times.percentile(100), times.total()), (Some(100), 100));
        times.clear();
        assert_eq!((times.percentile(99), times.total()), (None, 0));
    }
}
