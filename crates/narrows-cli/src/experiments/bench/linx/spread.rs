//! Figures of many signals.

use serde::Serialize;

use crate::base::statistics::percentile;

/// A figure to a thousandth: what is behind that comes of multiplying times by clocks, and of
/// means.
pub(super) fn rounded(figure: f64) -> f64 {
    (figure * 1e3).round() / 1e3
}

/// Figures of many signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub min: f64,
    pub median: f64,
    pub mean: f64,
    pub p99: f64,
    pub max: f64,
}

impl Spread {
    pub(super) fn of(mut values: Vec<f64>) -> Spread {
        values.sort_by(f64::total_cmp);
        let at = |percent| rounded(percentile(&values, percent).unwrap_or(0.0));
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        Spread {
            min: rounded(values.first().copied().unwrap_or(0.0)),
            median: at(50),
            mean: rounded(mean),
            p99: at(99),
            max: at(100),
        }
    }
}
