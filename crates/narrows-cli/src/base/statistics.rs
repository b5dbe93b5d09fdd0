//! What is said about many measurements with a few numbers.
//!
//! A percentile is the nearest rank: the smallest measurement that at least that share of all
//! measurements does not exceed. So every figure is one that was really measured, and the median of
//! an even number is the lower of the two in the middle. Lists that are kept whole are asked here;
//! the histogram of [`latencies`](super::latencies) has the same rule, to its digits. The *spread*
//! of a bench is its 90th percentile less its 10th: what repeats of it may be expected to differ
//! by, with the outliers of a shared machine left out.

use serde::{Deserialize, Serialize};

/// Figures of many measurements, in the unit of the measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Half of the measurements are no larger.
    pub median: f64,
    /// 99 of 100 measurements are no larger.
    pub p99: f64,
    /// 999 of 1000 measurements are no larger.
    pub p999: f64,
    /// 9999 of 10000 measurements are no larger.
    pub p9999: f64,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// Each figure made by a function of it.
    pub fn map(self, of: impl Fn(f64) -> f64) -> Summary {
        let Summary { median, p99, p999, p9999, max } = self;
        let [median, p99, p999, p9999, max] = [median, p99, p999, p9999, max].map(of);
        Summary { median, p99, p999, p9999, max }
    }

    /// The figures of `values`, which end up sorted; `None` if there are none.
    pub fn of(values: &mut [f64]) -> Option<Summary> {
        values.sort_by(f64::total_cmp);
        Some(Summary {
            median: percentile(values, 50)?,
            p99: percentile(values, 99)?,
            p999: rank(values, 9990)?,
            p9999: rank(values, 9999)?,
            max: *values.last()?,
        })
    }
}

/// The nearest-rank percentile of sorted values; `None` if there are none.
pub fn percentile<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    rank(sorted, percent * 100)
}

/// The nearest rank of this many ten-thousandths.
fn rank<T: Copy>(sorted: &[T], part: usize) -> Option<T> {
    let rank = (sorted.len() * part.min(10_000)).div_ceil(10_000).max(1);
    sorted.get(rank - 1).copied()
}

/// The middle of `values`, which end up sorted; `None` if there are none.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    percentile(values, 50)
}

/// The 90th percentile less the 10th; `values` end up sorted. `None` if there are none.
pub fn spread(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    Some(percentile(values, 90)? - percentile(values, 10)?)
}

/// The absolute difference of each latency to the one before it.
pub fn jitter(latencies: &[f64]) -> Vec<f64> {
    latencies.windows(2).filter_map(|pair| Some((pair.last()? - pair.first()?).abs())).collect()
}

/// The standard deviation of all values, taken as the whole population; 0 if there are none.
pub fn deviation(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_values() {
        let mut values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let summary = Summary::of(&mut values).unwrap();
        assert_eq!(
            summary,
            Summary { median: 50.0, p99: 99.0, p999: 100.0, p9999: 100.0, max: 100.0 }
        );
        assert_eq!(spread(&mut values), Some(80.0));
        assert_eq!(percentile(&values, 0), Some(1.0));
        assert_eq!(percentile(&values, 100), Some(100.0));
        assert_eq!(percentile(&values, 1000), Some(100.0));
        assert_eq!(percentile(&[1, 2, 3_u64], 66), Some(2));
        assert_eq!(percentile(&[1, 2, 3_u64], 67), Some(3));
    }

    #[test]
    fn few_values_and_none() {
        let one = Summary::of(&mut [3.0]).unwrap();
        assert_eq!(one, Summary { median: 3.0, p99: 3.0, p999: 3.0, p9999: 3.0, max: 3.0 });
        assert_eq!(median(&mut [2.0, 1.0]), Some(1.0));
        assert_eq!(spread(&mut [3.0]), Some(0.0));
        assert_eq!(Summary::of(&mut []), None);
        assert_eq!(spread(&mut []), None);
        assert_eq!(deviation(&[]), 0.0);
    }

    #[test]
    fn jitter_is_the_difference_of_neighbours() {
        assert_eq!(jitter(&[5.0, 7.0, 4.0, 4.0]), [2.0, 3.0, 0.0]);
        assert!(jitter(&[5.0]).is_empty());
        assert_eq!(deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), 2.0);
    }
}
