//! What `all` stands for where a strategy can be named, in workload files and after `--strategy`.
//! The names themselves are the stack's: [`narrows::strategy`].

pub use narrows::strategy::{DRIVERS, NOTIFICATIONS, PLACEMENTS};
use narrows::strategy::{Notification, Strategy, StrategyError};
use std::fmt;
use std::time::Duration;

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

/// What else stands where a strategy can.
const OTHERS: [&str; 3] = ["all", "static", "auto"];

/// The drivers, with the one that differs only in how it acknowledges.
pub fn drivers() -> Vec<&'static str> {
    DRIVERS.into_iter().chain(["copy_batched"]).collect()
}

/// What shells offer where a strategy can be named: words that are one by themselves, `all`, and
/// `others`.
pub fn offered(others: &[&'static str]) -> Vec<&'static str> {
    let words = drivers().into_iter().chain(NOTIFICATIONS).chain(PLACEMENTS);
    words.chain(["all"]).chain(others.iter().copied()).collect()
}

/// What is wrong with the name of a strategy: the word that is none, and the nearest that is one.
pub fn explain(name: &str, error: &StrategyError) -> String {
    narrows_host::explain(name, *error, &OTHERS)
}

/// Appends those that are not there yet.
pub fn append<T: PartialEq>(all: &mut Vec<T>, more: impl IntoIterator<Item = T>) {
    for one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
}

/// A strategy that this program names itself.
///
/// # Panics
/// The name is none, which is a defect of the program: nothing is measured by another strategy
/// than the one that was meant.
pub fn literal(name: &str) -> Strategy {
    name.parse().expect("the program names a strategy")
}

/// The word of a strategy's notification, without its times.
pub fn kind(strategy: &Strategy) -> &'static str {
    word(strategy.notification)
}

/// The word of how the callee learns of requests, likewise.
pub fn callee(strategy: &Strategy) -> &'static str {
    word(strategy.at_callee())
}

fn word(notification: Notification) -> &'static str {
    match notification {
        Notification::Interrupt => "interrupt",
        Notification::Spin => "spin",
        Notification::Poll { .. } => "poll",
        Notification::Timer { .. } => "timer",
        Notification::Hybrid { .. } => "hybrid",
        Notification::Coalesced { .. } => "coalesced",
    }
}

/// Whether a side that waits so sleeps, rather than looks.
pub fn sleeps(strategy: &Strategy) -> bool {
    let looks = |how| matches!(how, Notification::Spin | Notification::Hybrid { .. });
    !(looks(strategy.notification) && looks(strategy.at_callee()))
}

/// From one look of a side's own to the next, of the side that looks less often.
pub fn pause(strategy: &Strategy) -> Duration {
    strategy.notification.pause().max(strategy.at_callee().pause())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_every_choice_with_every_other() {
        let mut all = Vec::new();
        append(&mut all, expand("all").unwrap());
        assert_eq!(all.len(), 60);
        append(&mut all, expand("copy/spin/internal").unwrap());
        assert_eq!(all.len(), 60);
        for strategy in all {
            assert_eq!(expand(&strategy.to_string()), Ok(vec![strategy]));
        }
        assert_eq!(expand("all/spin"), Err(StrategyError::Word));
    }

    #[test]
    fn a_word_that_is_none_is_named_with_the_nearest_that_is_one() {
        let explained = |name: &str| explain(name, &expand(name).expect_err(name));
        for (name, word, nearest) in [
            ("copy_batched/sping/external", "sping", "spin"),
            ("copy/hybird=50us", "hybird=50us", "hybrid"),
            ("inplace/interrupt", "inplace", "in_place"),
            ("atuo", "atuo", "auto"),
            ("copy/interrupt/externl", "externl", "external"),
            ("spin/calle=poll", "calle=poll", "callee"),
            ("spin/callee=pol", "callee=pol", "callee=poll"),
        ] {
            let sentence = format!("'{word}' is no word of a strategy; '{nearest}' is");
            assert_eq!(explained(name), sentence);
        }
        assert!(explained("quickly").starts_with("'quickly' is no word of a strategy; a strategy"));
        assert_eq!(explained("copy/poll=0s"), StrategyError::Time.to_string());
        assert!(explained("all/spin").starts_with("'all' is no word of a strategy; a strategy"));
    }
}
