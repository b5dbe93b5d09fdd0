//! Repeats of a figure, each beside the limit that was measured just before it.

use crate::report::BenchRow;
use crate::statistics::{median, spread};

/// Nanoseconds, for times of a round trip or of a part of it.
pub const NS: &str = "ns";

/// One row in the making.
#[derive(Clone, Debug, Default)]
pub struct Series {
    values: Vec<f64>,
    limits: Vec<f64>,
    ratios: Vec<f64>,
}

impl Series {
    /// Adds a round: the figure, and what the machine allowed in the same round.
    pub fn push(&mut self, value: f64, limit: f64) {
        self.values.push(value);
        self.limits.push(limit);
        if limit > 0.0 {
            self.ratios.push(value / limit);
        }
    }

    /// Adds a round of a figure that nothing compares with.
    pub fn push_alone(&mut self, value: f64) {
        self.values.push(value);
    }

    /// The median of the figure; none without a round.
    pub fn middle(&self) -> Option<f64> {
        median(&mut self.values.clone())
    }

    /// The row; none without a round.
    pub fn row(&self, name: impl Into<String>, bytes: usize, unit: &str) -> Option<BenchRow> {
        Some(BenchRow {
            name: name.into(),
            bytes: bytes as u64,
            unit: unit.to_owned(),
            value: self.middle()?,
            spread: spread(&mut self.values.clone())?,
            limit: median(&mut self.limits.clone()),
            ratio: median(&mut self.ratios.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_the_median_of_the_rounds() {
        let mut series = Series::default();
        assert!(series.row("x", 0, NS).is_none());
        for (value, limit) in [(10.0, 5.0), (40.0, 10.0), (30.0, 10.0)] {
            series.push(value, limit);
        }
        let row = series.row("x", 8, NS).unwrap();
        assert_eq!((row.value, row.spread), (30.0, 30.0));
        assert_eq!((row.limit, row.ratio), (Some(10.0), Some(3.0)));
    }

    #[test]
    fn without_a_limit_there_is_no_ratio() {
        let mut series = Series::default();
        series.push_alone(3.0);
        let row = series.row("x", 0, NS).unwrap();
        assert_eq!((row.limit, row.ratio, row.bytes), (None, None, 0));
    }
}
