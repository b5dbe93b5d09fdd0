//! What is wrong with a platform file, and where.

use narrows::memory::LayoutError;
use std::fmt;
use std::ops::Range;

/// A mistake in a platform file. Its text is `line:column: sentence`; whoever knows the file's name
/// puts it before that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Line of the file, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
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
    /// Blocks that no link can have.
    Blocks(LayoutError),
    /// What links need does not fit into a memory.
    TooLarge {
        /// The memory.
        memory: String,
        /// Its size in bytes.
        size: u64,
        /// The bytes that are needed.
        needed: u64,
        /// The regions that they are of.
        regions: u64,
    },
}

impl Mistake {
    /// One at a place of a text.
    pub(super) fn new(text: &str, span: &Range<usize>, problem: Problem) -> Mistake {
        let before = text.get(..span.start).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Mistake {
            line: before.matches('\n').count() + 1,
            column: before.get(start..).map_or(0, |rest| rest.chars().count()) + 1,
            problem,
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Syntax(words) => f.write_str(words),
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
            Problem::Blocks(why) => write!(f, "link.classes cannot be: {why}"),
            Problem::TooLarge { memory, size, needed, regions } => write!(
                f,
                "{regions} regions of links and the code of cores need {needed} bytes of memory \
                 {memory}; expected at most its {size}: fewer or smaller blocks, or fewer slots"
            ),
        }
    }
}

impl std::error::Error for Mistake {}
