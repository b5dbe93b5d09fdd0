//! S2: messages between DSPs under MQX. The chips are `platforms/quatro67.toml`, and
//! `platforms/pci44.toml` for the C44; here is what was run on them.

mod gains;
mod tables;

use super::s0::Run;
use crate::base::failure::{Failure, Kind};
use crate::experiments::bench::sra::cycle::Asked;
use crate::experiments::bench::sra::{Row, row};
use crate::formats::platform;
use narrows_sim::chip::{Chip, DmaMode};

/// The experiments, by their names.
pub const EXPERIMENTS: [(&str, Run); 6] = [
    ("S2.table1", tables::short),
    ("S2.table2", tables::long),
    ("S2.table3", tables::occupancy),
    ("S2.table4", tables::dma),
    ("S2.burst.1024", gains::packet),
    (GAINS_BESIDE, gains::frames),
];

/// The experiment that what else the board might have is told beside.
pub const GAINS_BESIDE: &str = "S2.frame.4092";
pub use gains::notes;

/// A short message of the source.
const SHORT: usize = 24;
/// What the source calls 1 kB: half of a FIFO.
const PACKET: usize = 1024;
/// A long message.
const LONG: usize = 4092;

/// The chip of most figures.
///
/// # Errors
/// As [`platform::load_any`].
pub fn chip() -> Result<Chip, Failure> {
    platform::load_any("quatro67")
}

fn measured(chip: &Chip, mode: DmaMode, bytes: usize) -> Result<Row, Failure> {
    row(chip, Asked { mode, bytes, hops: 1, monitor: None })
}

fn missing(what: &str) -> Failure {
    Failure::new(Kind::Internal, format!("quatro67 has no {what}: report this defect"))
}
