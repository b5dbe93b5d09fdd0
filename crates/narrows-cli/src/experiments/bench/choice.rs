//! What a bench is asked to compare: strategies from the words of each axis, and sizes.

use std::fmt;

use narrows::strategy::Strategy;

use crate::base::failure::{Failure, Kind};
use crate::rig::limit;

/// One choice on one axis of a strategy, as it is written in a strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word(String);

/// An axis that a bench can be asked to compare choices of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axis {
    Transfer,
    Notify,
    Placement,
}

impl Axis {
    /// The words before any `=`, with a pattern for what may follow.
    fn words(self) -> &'static [&'static str] {
        match self {
            Axis::Transfer => {
                &["copy", "copy_lazy", "copy_batched", "single_copy", "in_place", "copy_engine"]
            }
            Axis::Notify => {
                &["interrupt", "spin", "poll=TIME", "timer=TIME", "hybrid=TIME", "coalesced=N:TIME"]
            }
            Axis::Placement => &["internal", "external", "region=N"],
        }
    }

    fn word(self, text: &str) -> Result<Word, String> {
        let name = text.split('=').next().unwrap_or_default();
        let known = self.words().iter().any(|word| word.split('=').next() == Some(name));
        if !known {
            return Err(format!("expected {}", self.words().join(", ")));
        }
        match text.parse::<Strategy>() {
            Ok(_) => Ok(Word(text.to_owned())),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// A way for bytes to move, for the command line.
///
/// # Errors
/// What was expected instead.
pub fn transfer(text: &str) -> Result<Word, String> {
    Axis::Transfer.word(text)
}

/// A way to learn of messages, for the command line.
///
/// # Errors
/// What was expected instead.
pub fn notify(text: &str) -> Result<Word, String> {
    Axis::Notify.word(text)
}

/// A place for payload, for the command line.
///
/// # Errors
/// What was expected instead.
pub fn placement(text: &str) -> Result<Word, String> {
    Axis::Placement.word(text)
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Every combination of the words of three axes; an axis without words has its defaults.
///
/// # Errors
/// [`Kind::Usage`] for a combination that is no strategy.
pub fn strategies(chosen: [&[Word]; 3], defaults: [&[&str]; 3]) -> Result<Vec<Strategy>, Failure> {
    let mut names = vec![String::new()];
    for (chosen, defaults) in chosen.into_iter().zip(defaults) {
        let words = words(chosen, defaults);
        let join = |name: &String, word: &String| match name.is_empty() {
            true => word.clone(),
            false => format!("{name}/{word}"),
        };
        let words = &words;
        names = names.iter().flat_map(|n| words.iter().map(move |w| join(n, w))).collect();
    }
    names.iter().map(|name| strategy(name)).collect()
}

/// The words chosen for an axis, or its defaults.
pub fn words(chosen: &[Word], defaults: &[&str]) -> Vec<String> {
    match chosen {
        [] => defaults.iter().map(|word| (*word).to_owned()).collect(),
        chosen => chosen.iter().map(Word::to_string).collect(),
    }
}

/// The strategy of that name.
///
/// # Errors
/// [`Kind::Usage`] if it is none.
pub fn strategy(name: &str) -> Result<Strategy, Failure> {
    name.parse().map_err(|error| Failure::new(Kind::Usage, format!("strategy {name}: {error}")))
}

/// The longest payload that a bench carries, in bytes: what its limit is measured with.
pub const LONGEST: usize = limit::MAX_BYTES;

/// The sizes asked for, or the usual ones.
///
/// # Errors
/// [`Kind::Usage`] for one that a message cannot have.
pub fn sizes(chosen: &[usize], defaults: &[usize]) -> Result<Vec<usize>, Failure> {
    if let Some(size) = chosen.iter().find(|size| **size > LONGEST) {
        let text = format!(
            "--bytes {size} is more than a message carries here: choose sizes up to {LONGEST} bytes"
        );
        return Err(Failure::new(Kind::Usage, text));
    }
    Ok(if chosen.is_empty() { defaults.to_vec() } else { chosen.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_belong_to_their_axis() {
        assert!(transfer("in_place").is_ok() && notify("poll=5ms").is_ok());
        assert!(placement("region=3").is_ok());
        assert!(transfer("spin").unwrap_err().contains("copy_engine"));
        assert!(notify("internal").unwrap_err().contains("coalesced=N:TIME"));
        assert!(notify("poll=5").is_err() && placement("region=9").is_err());
    }

    #[test]
    fn axes_multiply_and_keep_their_defaults() {
        let words = |list: &[&str]| list.iter().map(|w| Word((*w).to_owned())).collect::<Vec<_>>();
        let transfers = words(&["copy", "in_place"]);
        let defaults: [&[&str]; 3] = [&["copy_batched"], &["spin", "interrupt"], &["external"]];
        let found = strategies([&transfers, &[], &[]], defaults).unwrap();
        let names: Vec<String> = found.iter().map(Strategy::to_string).collect();
        let expected = [
            "copy/spin/external",
            "copy/interrupt/external",
            "in_place/spin/external",
            "in_place/interrupt/external",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn sizes_have_an_end() {
        assert_eq!(sizes(&[], &[1, 2]).unwrap(), [1, 2]);
        let failure = sizes(&[48, LONGEST + 1], &[]).unwrap_err();
        assert_eq!(failure.kind, Kind::Usage);
        assert!(failure.to_string().contains("choose sizes up to"), "{failure}");
    }
}
