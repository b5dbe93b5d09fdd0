//! Which word of a strategy is meant by one that is none.

use core::fmt;

use super::{Strategy, StrategyError};

/// The drivers, as they are named.
pub const DRIVERS: [&str; 5] = ["copy", "copy_lazy", "single_copy", "in_place", "copy_engine"];
/// The notifications, as they are named, without their numbers.
pub const NOTIFICATIONS: [&str; 5] = ["interrupt", "spin", "poll", "hybrid", "coalesced"];
/// The placements that every link has, as they are named.
pub const PLACEMENTS: [&str; 2] = ["external", "internal"];

/// The other words, without their numbers.
const OTHERS: [&str; 7] = [
    "copy_batched",
    "region",
    "ack_interrupt",
    "ack_lazy",
    "ack_batched",
    "granularity",
    "fragment",
];

/// The longest word that may be meant for another, in bytes.
const LONGEST: usize = 24;
/// How alike two words are, in thousandths, of which one may be meant by the other.
const ALIKE: usize = 600;

/// What is wrong with the text of a strategy, as a sentence.
#[derive(Clone, Copy, Debug)]
pub struct Explained<'a> {
    text: &'a str,
    error: StrategyError,
    more: &'a [&'a str],
}

/// What is wrong with the text of a strategy: the word that is none, and the nearest that is one,
/// or one of `more`, which stand where a strategy can.
///
/// ```
/// use narrows::strategy::{Strategy, explain};
///
/// let text = "copy/hybird=50us";
/// let error = text.parse::<Strategy>().unwrap_err();
/// let sentence = "'hybird=50us' is no word of a strategy; 'hybrid' is";
/// assert_eq!(explain(text, error, &[]).to_string(), sentence);
/// ```
#[must_use]
pub fn explain<'a>(text: &'a str, error: StrategyError, more: &'a [&'a str]) -> Explained<'a> {
    Explained { text, error, more }
}

impl fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_none = |word: &&str| word.parse::<Strategy>() == Err(StrategyError::Word);
        let wrong = self.text.split('/').find(is_none);
        let Some(word) = wrong.filter(|_| self.error == StrategyError::Word) else {
            return self.error.fmt(f);
        };
        let said = word.split('=').next().unwrap_or(word);
        let all = DRIVERS.iter().chain(&NOTIFICATIONS).chain(&PLACEMENTS).chain(&OTHERS);
        let known = all.chain(self.more);
        let nearest = known.max_by_key(|known| likeness(said, known));
        match nearest.filter(|nearest| **nearest != said && likeness(said, nearest) >= ALIKE) {
            Some(nearest) => write!(f, "'{word}' is no word of a strategy; '{nearest}' is"),
            None => write!(f, "'{word}' is no word of a strategy; {}", self.error),
        }
    }
}

/// How alike two words are, in thousandths.
fn likeness(a: &str, b: &str) -> usize {
    let longer = a.len().max(b.len());
    if longer == 0 || longer > LONGEST {
        return 0;
    }
    1000 - 1000 * distance(a, b).min(longer) / longer
}

/// How many letters are put in, left out, changed or swapped with the next to make one word of the
/// other. Neither is longer than [`LONGEST`].
fn distance(a: &str, b: &str) -> usize {
    let mut before = [0; LONGEST + 1];
    let mut last: [usize; LONGEST + 1] = core::array::from_fn(|n| n);
    let mut left = None;
    for (i, x) in (1..).zip(a.bytes()) {
        let mut row = [i; LONGEST + 1];
        let mut up = None;
        for (j, y) in (1..=LONGEST).zip(b.bytes()) {
            let changed = last[j - 1] + usize::from(x != y);
            let mut least = changed.min(last[j] + 1).min(row[j - 1] + 1);
            // There is a letter before each then.
            if left == Some(y) && up == Some(x) {
                least = least.min(before[j.saturating_sub(2)] + 1);
            }
            row[j] = least;
            up = Some(y);
        }
        (before, last) = (last, row);
        left = Some(x);
    }
    last[b.len().min(LONGEST)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::string::ToString as _;

    fn explained(text: &str) -> std::string::String {
        explain(text, text.parse::<Strategy>().expect_err(text), &["auto"]).to_string()
    }

    #[test]
    fn a_word_that_is_none_is_named_with_the_nearest_that_is_one() {
        for (name, word, nearest) in [
            ("copy_batched/sping/external", "sping", "spin"),
            ("copy/hybird=50us", "hybird=50us", "hybrid"),
            ("inplace/interrupt", "inplace", "in_place"),
            ("atuo", "atuo", "auto"),
            ("copy/interrupt/externl", "externl", "external"),
        ] {
            assert_eq!(
                explained(name),
                format!("'{word}' is no word of a strategy; '{nearest}' is")
            );
        }
        let none = "is no word of a strategy; a strategy";
        assert!(explained("quickly").starts_with(&format!("'quickly' {none}")));
        assert!(explained("").starts_with(&format!("'' {none}")));
        let long = "x".repeat(1000);
        assert!(explained(&long).starts_with(&format!("'{long}' {none}")));
        assert_eq!(explained("copy/poll=0s"), StrategyError::Time.to_string());
    }

    #[test]
    fn every_word_is_one() {
        let all = DRIVERS.iter().chain(&NOTIFICATIONS).chain(&PLACEMENTS).chain(&OTHERS);
        for word in all {
            let numbers = ["", "=1", "=1ms", "=2:1ms", "=64"];
            let known = |number: &&str| format!("{word}{number}").parse::<Strategy>().is_ok();
            assert!(numbers.iter().any(known), "{word}");
        }
    }

    #[test]
    fn the_distance_of_words_counts_their_differences() {
        let cases = [("", "abc", 3), ("abc", "", 3), ("abc", "abc", 0), ("abc", "acb", 1)];
        for (a, b, count) in cases.into_iter().chain([("ab", "b", 1), ("ab", "cd", 2)]) {
            assert_eq!((distance(a, b), distance(b, a)), (count, count), "{a} {b}");
        }
    }
}
