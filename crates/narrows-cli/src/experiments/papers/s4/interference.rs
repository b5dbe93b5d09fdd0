//! T1: a log is asked for just before a request.

use super::latency::trial;
use crate::base::failure::Failure;
use crate::experiments::bench::linx::{Case, carry_out};
use crate::experiments::papers::row::Found;
use crate::formats::linx::DriverName;
use narrows_sim::chip::Chip;

/// How long send blocks a request, alone and just behind one for a log of 1500 bytes: what the
/// source speaks of is the second request, while the other core is busy with the log.
///
/// # Errors
/// As [`carry_out`].
pub fn blocking(chip: &Chip) -> Result<Found, Failure> {
    let results = carry_out(chip, &trial(Case::Interference, DriverName::DmaAck, 32), None)?;
    let [alone, interfered] = [false, true].map(|beside| results.requests_blocked(beside).median);
    Ok([("alone".to_owned(), alone), ("interfered".to_owned(), interfered)].into())
}
