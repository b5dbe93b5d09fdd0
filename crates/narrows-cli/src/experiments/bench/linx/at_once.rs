//! What round trips that follow each other at once take.

use serde::Serialize;

/// Round trips that follow each other at once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct AtOnce {
    /// Of signals.
    pub round_trip_ns: f64,
    /// Of messages of the endpoint below, of as many bytes.
    pub endpoint_ns: f64,
    /// The median of the ratios of each round.
    pub ratio: f64,
    /// What the ratio may be at most, if that is said.
    pub bound: Option<f64>,
    pub met: Option<bool>,
}
