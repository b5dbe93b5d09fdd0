//! S4: OSEck and LINX on Nios II. The chip is `platforms/nios2-dual.toml`; here is what was run on
//! it.

mod interference;
mod latency;
mod words;

use super::s0::Run;
use crate::base::failure::Failure;
use crate::formats::platform;
use narrows_sim::chip::Chip;

/// The experiments, by their names.
pub const EXPERIMENTS: [(&str, Run); 7] = [
    ("S4.log.128", latency::log),
    ("S4.t0.cpu128", latency::cpu),
    ("S4.t0.differences", latency::differences),
    ("S4.t1", interference::blocking),
    ("S4.t0.words", words::latency),
    ("S4.t1.words", words::interference),
    ("S4.t2.words", words::burst),
];

/// The chip.
///
/// # Errors
/// As [`platform::load`].
pub fn chip() -> Result<Chip, Failure> {
    platform::load("nios2-dual")
}
