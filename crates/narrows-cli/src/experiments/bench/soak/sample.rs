//! What a soak saw in an interval.

use serde::{Deserialize, Serialize};

use crate::experiments::bench::traffic::Footprint;

/// One interval of a soak: what was measured in it, and what there was at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// From the beginning to the end of the interval, in seconds.
    pub at_s: f64,
    /// Messages both ways in the interval, for each second.
    pub messages_per_second: f64,
    /// Calls of this side that were answered in the interval, for each second.
    pub calls_per_second: f64,
    /// From the start of a call to its response, behind all that was under way: half took no
    /// longer.
    pub median_us: f64,
    /// 99 of 100 took no longer.
    pub p99_us: f64,
    /// 999 of 1000 took no longer.
    pub p999_us: f64,
    /// 9999 of 10000 took no longer.
    pub p9999_us: f64,
    /// None took longer.
    pub max_us: f64,
    /// Blocks of this side that the other had.
    pub blocks: u64,
    /// What this side's process had.
    pub here: Footprint,
    /// What the other's had.
    pub there: Footprint,
}
