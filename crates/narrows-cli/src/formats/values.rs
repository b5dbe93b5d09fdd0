//! What the values of options are read by, each with the sentence that says what was expected.

use crate::base::number;
use crate::formats::functions::MAX_DURATION;
use crate::formats::strategy::{self, Policy};
use crate::formats::workload::MAX_BYTES;
use narrows::strategy::Strategy;
use std::time::Duration;

/// The strategies that one name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice(pub Vec<Strategy>);

/// As [`Choice`], for commands that can carry flows by strategies of their own too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policies(pub Vec<Policy>);

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    crate::formats::workload::parse_duration(text).ok_or_else(|| {
        format!(
            "expected a duration above zero and up to {}, such as 20ms or 10s",
            humantime::format_duration(MAX_DURATION)
        )
    })
}

pub(crate) fn bytes(text: &str) -> Result<usize, String> {
    number::size(1..=MAX_BYTES as u64)(text)
}

pub(crate) fn strategy_name(text: &str) -> Result<Choice, String> {
    strategy::expand(text).map(Choice).map_err(|error| strategy::explain(text, &error))
}

pub(crate) fn policy_name(text: &str) -> Result<Policies, String> {
    strategy::policies(text).map(Policies).map_err(|error| strategy::explain(text, &error))
}

pub(crate) fn full_strategy(text: &str) -> Result<Strategy, String> {
    text.parse().map_err(|error| strategy::explain(text, &error))
}
