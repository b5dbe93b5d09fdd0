//! What is said about many measurements with a few numbers.
//!
//! A percentile is the nearest rank: the smallest measurement that at least that share of all
//! measurements does not exceed. So every figure is one that was really measured. The *spread*
//! of a bench is its 90th percentile less its 10th: what repeats of it may be expected to
//! differ by, with the outliers of a shared machine left out.

use serde::{Deserialize, Serialize};

/// Three figures of many measurements, in the unit of the measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Half of the measurements are no larger.
    pub median: f64,
    /// 99 of 100 measurements are no larger.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// The figures of `values`, which end up sorted; `None` if there are none.
    pub fn of(values: &mut [f64]) -> Option<Summary> {
        values.sort_by(f64::total_cmp);
        Some(Summary {
            median: percentile(values, 50)?,
            p99: percentile(values, 99)?,
            max: *values.last()?,
        })
    }
}

/// The nearest-rank percentile of sorted values; `None` if there are none.
pub fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent.min(100)).div_ceil(100).max(1);
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

/// Measurements of a run whose length is not known: all of them at first, then every second, every
/// fourth and so on, so that memory stays bounded.
#[derive(Clone, Debug)]
pub struct Samples {
    kept: Vec<f64>,
    every: u64,
    seen: u64,
    min: f64,
    max: f64,
    sum: f64,
}

impl Default for Samples {
    fn default() -> Samples {
        Samples { kept: Vec::new(), every: 1, seen: 0, min: f64::INFINITY, max: 0.0, sum: 0.0 }
    }
}

impl Samples {
    /// Measurements that are kept at most.
    const MOST: usize = 1 << 20;

    /// Adds a measurement.
    pub fn push(&mut self, value: f64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += value;
        if self.seen.is_multiple_of(self.every) {
            if self.kept.len() >= Samples::MOST {
                let mut at = 0;
                self.kept.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                self.every *= 2;
            }
            self.kept.push(value);
        }
        self.seen += 1;
    }

    /// The figures, each less `deducted` but not below zero; the largest is that of all
    /// measurements, kept or not. All zero if there are none.
    pub fn summary(&self, deducted: f64) -> Summary {
        let mut values: Vec<f64> = self.kept.iter().map(|v| (v - deducted).max(0.0)).collect();
        let max = (self.max - deducted).max(0.0);
        Summary::of(&mut values).map_or_else(Summary::default, |some| Summary { max, ..some })
    }

    /// The smallest and the mean of all measurements, each less `deducted` but not below zero; zero
    /// if there are none.
    pub fn least_and_mean(&self, deducted: f64) -> (f64, f64) {
        match self.seen {
            0 => (0.0, 0.0),
            seen => ((self.min - deducted).max(0.0), (self.sum / seen as f64 - deducted).max(0.0)),
        }
    }

    /// Their standard deviation.
    pub fn deviation(&self) -> f64 {
        deviation(&self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stay_bounded_and_keep_the_largest() {
        let mut samples = Samples::default();
        assert_eq!(samples.summary(1.0), Summary::default());
        assert_eq!(samples.least_and_mean(1.0), (0.0, 0.0));
        for value in 0..(3 << 20) {
            samples.push(f64::from(value));
        }
        assert!(samples.kept.len() <= Samples::MOST);
        let summary = samples.summary(1.0);
        assert_eq!(summary.max, f64::from(3 << 20) - 2.0);
        assert_eq!(samples.least_and_mean(1.0), (0.0, f64::from((3 << 20) - 1) / 2.0 - 1.0));
        assert!((summary.median / f64::from(3 << 19) - 1.0).abs() < 0.01, "{summary:?}");
    }

    #[test]
    fn percentiles_are_measured_values() {
        let mut values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let summary = Summary::of(&mut values).unwrap();
        assert_eq!(summary, Summary { median: 50.0, p99: 99.0, max: 100.0 });
        assert_eq!(spread(&mut values), Some(80.0));
        assert_eq!(percentile(&values, 0), Some(1.0));
        assert_eq!(percentile(&values, 100), Some(100.0));
        assert_eq!(percentile(&values, 1000), Some(100.0));
    }

    #[test]
    fn few_values_and_none() {
        let one = Summary::of(&mut [3.0]).unwrap();
        assert_eq!(one, Summary { median: 3.0, p99: 3.0, max: 3.0 });
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
