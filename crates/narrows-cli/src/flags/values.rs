//! What the values of options are read by, each with the sentence that says what was expected.

use super::{Choice, Cores, Policies};
use crate::strategy;
use crate::workload::{MAX_BYTES, MAX_DURATION};
use narrows::strategy::Strategy;
use std::time::Duration;

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    crate::workload::parse_duration(text).ok_or_else(|| {
        format!(
            "expected a duration above zero and up to {}, such as 20ms or 10s",
            humantime::format_duration(MAX_DURATION)
        )
    })
}

pub(super) fn bytes(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (1..=MAX_BYTES).contains(&count) => Ok(count),
        _ => Err(format!("expected a size from 1 to {MAX_BYTES} bytes")),
    }
}

pub(crate) fn strategy_name(text: &str) -> Result<Choice, String> {
    strategy::expand(text).map(Choice).map_err(|error| error.to_string())
}

pub(super) fn policy_name(text: &str) -> Result<Policies, String> {
    strategy::policies(text).map(Policies).map_err(|error| error.to_string())
}

/// A size of memory such as `16KiB`, or a number of bytes.
pub(crate) fn memory(text: &str) -> Result<u32, String> {
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("B", 1), ("", 1)];
    let found = units.iter().find_map(|(name, times)| Some((text.strip_suffix(name)?, *times)));
    let (digits, times) = found.unwrap_or((text, 1));
    let whole = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let bytes =
        digits.parse().ok().filter(|_| whole).and_then(|count: u32| count.checked_mul(times));
    bytes.ok_or_else(|| "expected a size such as 16KiB, of less than 4 GiB".to_owned())
}

pub(super) fn full_strategy(text: &str) -> Result<Strategy, String> {
    text.parse().map_err(|error: narrows::strategy::StrategyError| error.to_string())
}

pub(super) fn cores(text: &str) -> Result<Cores, String> {
    let expected = || "expected two different cores, such as 0,1".to_owned();
    let (caller, callee) = text.split_once(',').ok_or_else(expected)?;
    match (caller.trim().parse(), callee.trim().parse()) {
        (Ok(caller), Ok(callee)) if caller != callee => Ok(Cores { caller, callee }),
        _ => Err(expected()),
    }
}
