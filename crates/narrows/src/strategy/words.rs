//! The words that strategies are named by.

/// The drivers, as they are named.
pub const DRIVERS: [&str; 5] = ["copy", "copy_lazy", "single_copy", "in_place", "copy_engine"];
/// The notifications, as they are named, without their numbers.
pub const NOTIFICATIONS: [&str; 6] = ["interrupt", "spin", "poll", "timer", "hybrid", "coalesced"];
/// The placements that every link has, as they are named.
pub const PLACEMENTS: [&str; 2] = ["external", "internal"];

/// The other words, without their numbers.
pub const OTHERS: [&str; 9] = [
    "copy_batched",
    "region",
    "ack_interrupt",
    "ack_lazy",
    "ack_batched",
    "granularity",
    "parts",
    "fragment",
    "callee",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::Strategy;
    use std::format;

    #[test]
    fn every_word_is_one() {
        let all = DRIVERS.iter().chain(&NOTIFICATIONS).chain(&PLACEMENTS).chain(&OTHERS);
        for word in all {
            let numbers = ["", "=1", "=1ms", "=2", "=2:1ms", "=64", "=spin"];
            let known = |number: &&str| format!("{word}{number}").parse::<Strategy>().is_ok();
            assert!(numbers.iter().any(known), "{word}");
        }
    }
}
