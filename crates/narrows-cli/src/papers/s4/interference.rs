//! T1: a log is asked for just before a request.

use super::latency::trial;
use crate::bench::linx::flags::DriverName;
use crate::bench::linx::{Case, carry_out};
use crate::failure::Failure;
use crate::papers::row::Found;
use narrows_sim::chip::Chip;

/// How long send blocks a reply, alone and behind a log of 1500 bytes.
///
/// # Errors
/// As [`carry_out`].
pub fn blocking(chip: &Chip) -> Result<Found, Failure> {
    let results = carry_out(chip, &trial(Case::Interference, DriverName::DmaAck, 32))?;
    let [alone, interfered] = [false, true].map(|beside| results.replies_blocked(beside).median);
    Ok([("alone".to_owned(), alone), ("interfered".to_owned(), interfered)].into())
}
