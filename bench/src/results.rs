//! What was measured, and the figures that are made of it.

use serde::{Deserialize, Serialize};

use crate::contender::{Kind, Measure, Mode, Sides};
use crate::visit::Found;

/// What was measured of one contender in one mode at one size.
#[derive(Debug, Serialize, Deserialize)]
pub struct Row {
    /// The contender's name.
    pub contender: String,
    /// What it stands for.
    pub kind: Kind,
    /// What its ends run in.
    pub sides: Sides,
    /// How they wait.
    pub mode: Mode,
    /// Bytes of a message.
    pub bytes: usize,
    /// Times, of all rounds, in nanoseconds.
    pub found: Found,
    /// Why rounds are missing.
    pub failures: Vec<String>,
}

/// Figures of many times, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// The middle one.
    pub median: f64,
    /// A tenth is below.
    pub p10: f64,
    /// A tenth is above.
    pub p90: f64,
    /// One in a hundred is above.
    pub p99: f64,
}

impl Row {
    /// The figures of a measure; none if it has none.
    ///
    /// The 99th percentile of round trips is that of round trips timed one by one; the rest is of
    /// batches.
    pub fn figures(&self, measure: Measure) -> Option<Figures> {
        match measure {
            Measure::OneWay => figures(&self.found.one_way, &self.found.one_way),
            Measure::RoundTrip => {
                let single: Vec<f64> = self.found.single.iter().copied().map(f64::from).collect();
                figures(&self.found.round_trip, &single)
            }
        }
    }
}

fn figures(times: &[f64], single: &[f64]) -> Option<Figures> {
    Some(Figures {
        median: quantile(times, 0.5)?,
        p10: quantile(times, 0.1)?,
        p90: quantile(times, 0.9)?,
        p99: quantile(single, 0.99)?,
    })
}

/// The smallest of the values that at least this part of them does not exceed.
pub fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let at = (part * values.len() as f64).ceil() as usize;
    values.get(at.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let all = [0.1, 0.5, 0.9, 0.99].map(|part| quantile(&values, part));
        assert_eq!(all, [Some(10.0), Some(50.0), Some(90.0), Some(99.0)]);
        assert_eq!(quantile(&[3.0], 0.99), Some(3.0));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
