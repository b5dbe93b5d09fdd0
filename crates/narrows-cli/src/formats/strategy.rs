//! What `all` stands for where a strategy can be named, in workload files and after `--strategy`.
//! The names themselves are the stack's: [`narrows::strategy`].

use narrows::strategy::{Notification, Strategy, StrategyError};
use std::fmt;

/// How all flows of a run travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// All by the same strategy.
    Same(Strategy),
    /// Each by the one that the workload gives it.
    Static,
    /// Each as the controller chooses while it runs.
    Auto,
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::Same(strategy) => strategy.fmt(f),
            Policy::Static => f.write_str("static"),
            Policy::Auto => f.write_str("auto"),
        }
    }
}

impl From<Strategy> for Policy {
    fn from(strategy: Strategy) -> Policy {
        Policy::Same(strategy)
    }
}

/// The policies that a name stands for: `static`, `auto`, or strategies.
///
/// # Errors
/// As [`expand`].
pub fn policies(name: &str) -> Result<Vec<Policy>, StrategyError> {
    match name {
        "static" => Ok(vec![Policy::Static]),
        "auto" => Ok(vec![Policy::Auto]),
        name => Ok(expand(name)?.into_iter().map(Policy::Same).collect()),
    }
}

/// The drivers, as they are named.
pub const DRIVERS: [&str; 5] = ["copy", "copy_lazy", "single_copy", "in_place", "copy_engine"];
/// The notifications, as they are named.
pub const NOTIFICATIONS: [&str; 5] = ["interrupt", "spin", "poll", "hybrid", "coalesced"];
/// The placements that every link has, as they are named.
pub const PLACEMENTS: [&str; 2] = ["external", "internal"];

/// The strategies that a name stands for: one, or all of them.
///
/// # Errors
/// What is wrong with the name.
pub fn expand(name: &str) -> Result<Vec<Strategy>, StrategyError> {
    if name != "all" {
        return Ok(vec![name.parse()?]);
    }
    let mut all = Vec::new();
    for driver in DRIVERS {
        for notification in NOTIFICATIONS {
            for placement in PLACEMENTS {
                all.push(format!("{driver}/{notification}/{placement}").parse()?);
            }
        }
    }
    Ok(all)
}

/// Appends those that are not there yet.
pub fn append<T: PartialEq>(all: &mut Vec<T>, more: impl IntoIterator<Item = T>) {
    for one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
}

/// Whether a side that waits so sleeps, rather than looks.
pub fn sleeps(strategy: &Strategy) -> bool {
    !matches!(strategy.notification, Notification::Spin | Notification::Hybrid { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_every_choice_with_every_other() {
        let mut all = Vec::new();
        append(&mut all, expand("all").unwrap());
        assert_eq!(all.len(), 50);
        append(&mut all, expand("copy/spin/internal").unwrap());
        assert_eq!(all.len(), 50);
        for strategy in all {
            assert_eq!(expand(&strategy.to_string()), Ok(vec![strategy]));
        }
        assert_eq!(expand("all/spin"), Err(StrategyError::Word));
    }
}
