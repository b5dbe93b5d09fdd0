//! Repeats of a figure, each beside the limit that was measured just before it.

use crate::base::report::{BenchRow, Bound};
use crate::base::statistics::{median, spread};

/// Nanoseconds, for times of a round trip or of a part of it.
pub const NS: &str = "ns";

/// One row in the making.
#[derive(Clone, Debug, Default)]
pub struct Series {
    values: Vec<f64>,
    limits: Vec<f64>,
    ratios: Vec<f64>,
    bound: Option<Bound>,
}

impl Series {
    /// A series whose ratio, or whose figure where it has no limit, has to keep to this.
    pub fn bound(bound: impl Into<Option<Bound>>) -> Series {
        Series { bound: bound.into(), ..Series::default() }
    }

    /// Adds a round: the figure, and what the machine allowed in the same round, if that is known.
    pub fn push(&mut self, value: f64, limit: impl Into<Option<f64>>) {
        let limit: Option<f64> = limit.into();
        self.values.push(value);
        self.limits.extend(limit);
        self.ratios.extend(limit.filter(|limit| *limit > 0.0).map(|limit| value / limit));
    }

    /// Adds a round of a figure that nothing compares with.
    pub fn push_alone(&mut self, value: f64) {
        self.values.push(value);
    }

    /// The same series, whose ratio may differ from 1 by what repeats of its limit differ by.
    pub fn within_noise(self) -> Series {
        let noise = spread(&mut self.limits.clone()).zip(median(&mut self.limits.clone()));
        let bound = noise.map(|(spread, middle)| Bound::Most(1.0 + spread / middle));
        Series { bound, ..self }
    }

    /// The median of the figure; none without a round.
    pub fn middle(&self) -> Option<f64> {
        median(&mut self.values.clone())
    }

    /// The row; none without a round.
    pub fn row(&self, name: impl Into<String>, bytes: usize, unit: &str) -> Option<BenchRow> {
        let (value, ratio) = (self.middle()?, median(&mut self.ratios.clone()));
        let figure = ratio.unwrap_or(value);
        Some(BenchRow {
            name: name.into(),
            bytes: bytes as u64,
            unit: unit.to_owned(),
            value,
            spread: spread(&mut self.values.clone())?,
            limit: median(&mut self.limits.clone()),
            ratio,
            bound: self.bound,
            met: self.bound.map(|bound| bound.met(figure)),
            rounds: self.values.clone(),
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
    fn a_bound_is_on_the_ratio_if_there_is_one() {
        let mut series = Series::bound(Bound::Most(1.5));
        series.push(14.0, 10.0);
        let row = series.row("x", 0, NS).unwrap();
        assert_eq!((row.bound, row.met), (Some(Bound::Most(1.5)), Some(true)));
        let mut series = Series::bound(Bound::Most(1.5));
        series.push_alone(14.0);
        assert_eq!(series.row("x", 0, NS).unwrap().met, Some(false));
    }

    #[test]
    fn noise_is_what_the_limit_differs_by() {
        let mut series = Series::default();
        for limit in [10.0, 11.0, 12.0] {
            series.push(11.5, limit);
        }
        let row = series.within_noise().row("x", 0, NS).unwrap();
        assert_eq!((row.bound, row.met), (Some(Bound::Most(1.0 + 2.0 / 11.0)), Some(true)));
    }

    #[test]
    fn without_a_limit_there_is_no_ratio() {
        let mut series = Series::default();
        series.push_alone(3.0);
        let row = series.row("x", 0, NS).unwrap();
        assert_eq!((row.limit, row.ratio, row.bytes), (None, None, 0));
    }
}
