//! Values with a unit, as a workload file has them.

use super::{MAX_BYTES, parse_duration};
use crate::base::number;
use narrows_sim::file::{Mistake, Value};
use std::time::Duration;

const A_DURATION: &str = "a duration above zero, such as \"20ms\"";
const A_SIZE: &str = "a size of memory, such as \"16KiB\", of less than 4 GiB";

pub(crate) fn duration(value: &Value<'_>) -> Result<Duration, Mistake> {
    let text = value.string(A_DURATION)?;
    parse_duration(text).ok_or_else(|| {
        let too_long = humantime::parse_duration(text).is_ok_and(|time| !time.is_zero());
        value.wrong(if too_long { "at most 24h" } else { A_DURATION })
    })
}

/// Bytes of a message: a number, or a text with a unit.
pub(crate) fn bytes(value: &Value<'_>) -> Result<usize, Mistake> {
    match value.as_str() {
        None => value.number(1..=MAX_BYTES),
        Some(text) => number::size(1..=MAX_BYTES as u64)(text)
            .map_err(|_| value.wrong(&format!("1 to {MAX_BYTES} bytes, such as \"4KiB\""))),
    }
}

/// Bytes of memory, likewise.
pub(super) fn size(value: &Value<'_>) -> Result<u32, Mistake> {
    match value.as_str() {
        None => value.number(0..=u32::MAX).map_err(|_| value.wrong(A_SIZE)),
        Some(text) => number::size(0..=u32::MAX.into())(text).map_err(|_| value.wrong(A_SIZE)),
    }
}
