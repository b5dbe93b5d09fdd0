//! What on this machine spoils a measurement: `narrows doctor` says all of it, and a page of
//! measurements what is to be known when reading them.
//!
//! The checks read `/proc` and `/sys` and change nothing. A file that is missing makes its finding
//! say less, never fail.

mod limits;
mod machine;
#[cfg(test)]
mod tests;

use crate::base::machine::Root;
use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Good,
    /// Makes some figures worse; know it when reading them.
    Note,
    /// Figures cannot be trusted, or something will not work.
    Bad,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was looked at.
    pub check: String,
    /// How much it matters.
    pub level: Level,
    /// What was found.
    pub found: String,
    /// What that does to a measurement.
    pub effect: String,
    /// What to do about it; empty if there is nothing to do.
    pub advice: String,
}

fn finding(check: &str, level: Level, found: String, effect: &str, advice: &str) -> Finding {
    Finding {
        check: check.to_owned(),
        level,
        found,
        effect: effect.to_owned(),
        advice: advice.to_owned(),
    }
}

fn good(check: &str, found: impl Into<String>) -> Finding {
    finding(check, Level::Good, found.into(), "it does no harm", "")
}

/// Looks at everything below `root`.
pub fn examine(root: &Root) -> Vec<Finding> {
    machine::ALL.iter().map(|check| check(root)).collect()
}
