//! Which word of a strategy is meant by one that is none.

use narrows::strategy::{DRIVERS, NOTIFICATIONS, OTHERS, PLACEMENTS, Strategy, StrategyError};

/// What stands before a notification that is the callee's.
const CALLEE: &str = "callee=";

/// How alike two words are, from 0 to 1, of which one may be meant by the other.
const ALIKE: f64 = 0.6;

/// What is wrong with the text of a strategy: the word that is none, and the nearest that is one,
/// or one of `more`, which stand where a strategy can.
///
/// ```
/// use narrows::strategy::Strategy;
///
/// let text = "copy/hybird=50us";
/// let error = text.parse::<Strategy>().unwrap_err();
/// let sentence = "'hybird=50us' is no word of a strategy; 'hybrid' is";
/// assert_eq!(narrows_host::explain(text, error, &[]), sentence);
/// ```
#[must_use]
pub fn explain(text: &str, error: StrategyError, more: &[&str]) -> String {
    let is_none = |word: &&str| word.parse::<Strategy>() == Err(StrategyError::Word);
    let Some(word) = text.split('/').find(is_none).filter(|_| error == StrategyError::Word) else {
        return error.to_string();
    };
    let (before, said) = match word.strip_prefix(CALLEE) {
        Some(rest) => (CALLEE, rest),
        None => ("", word),
    };
    let said = said.split('=').next().unwrap_or(said);
    let alike = |known: &&str| strsim::normalized_damerau_levenshtein(said, known);
    let all = DRIVERS.iter().chain(&NOTIFICATIONS).chain(&PLACEMENTS).chain(&OTHERS);
    let nearest = all.chain(more).max_by(|a, b| alike(a).total_cmp(&alike(b)));
    match nearest.filter(|nearest| **nearest != said && alike(nearest) >= ALIKE) {
        Some(nearest) => format!("'{word}' is no word of a strategy; '{before}{nearest}' is"),
        None => format!("'{word}' is no word of a strategy; {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(text: &str) -> String {
        explain(text, text.parse::<Strategy>().expect_err(text), &["auto"])
    }

    #[test]
    fn a_word_that_is_none_is_named_with_the_nearest_that_is_one() {
        for (name, word, nearest) in [
            ("copy_batched/sping/external", "sping", "spin"),
            ("copy/hybird=50us", "hybird=50us", "hybrid"),
            ("inplace/interrupt", "inplace", "in_place"),
            ("atuo", "atuo", "auto"),
            ("copy/interrupt/externl", "externl", "external"),
            ("spin/calle=poll", "calle=poll", "callee"),
            ("spin/callee=pol", "callee=pol", "callee=poll"),
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
}
