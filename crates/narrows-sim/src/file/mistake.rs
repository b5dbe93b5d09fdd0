//! What is wrong with a file, and where.

use super::Text;
use std::fmt;
use std::ops::Range;

/// A mistake in a file. Its text is `file:line:column: sentence`, on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file.
    pub file: String,
    /// Line of the file, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The first byte of what is wrong in the text.
    pub byte: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It is not TOML; the parser's own words, and what stands there.
    Syntax(String),
    /// A key that means nothing there.
    UnknownKey {
        /// The key, with those of the tables it is in.
        key: String,
        /// The keys that do.
        expected: String,
    },
    /// A key that is not there.
    MissingKey {
        /// The key, with those of the tables it belongs in.
        key: String,
        /// What it is.
        expected: String,
    },
    /// A value of the wrong kind, out of range, that names nothing or that cannot be with the
    /// others.
    Value {
        /// Its key, with those of the tables it is in.
        key: String,
        /// The value as written.
        found: String,
        /// What it may be.
        expected: String,
    },
    /// Too few or too many tables.
    Count {
        /// What they are of.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// What this sentence says.
    Other(String),
}

impl Mistake {
    /// One at a place of a text.
    pub(super) fn new(source: &Text<'_>, span: &Range<usize>, problem: Problem) -> Mistake {
        let before = source.text.get(..span.start).unwrap_or(source.text);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Mistake {
            file: source.path.display().to_string(),
            line: before.matches('\n').count() + 1,
            column: before.get(start..).map_or(0, |rest| rest.chars().count()) + 1,
            byte: before.len(),
            problem,
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Syntax(words) | Problem::Other(words) => f.write_str(words),
            Problem::UnknownKey { key, expected } => {
                write!(f, "unknown key {key}; expected {expected}")
            }
            Problem::MissingKey { key, expected } => {
                write!(f, "{key} is missing; expected {expected}")
            }
            Problem::Value { key, found, expected } => {
                write!(f, "{key} is {found}; expected {expected}")
            }
            Problem::Count { what, found, most } => {
                write!(f, "{found} [[{what}]] tables; expected 1 to {most}")
            }
        }
    }
}

impl std::error::Error for Mistake {}
