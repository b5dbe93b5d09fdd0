//! Words that shells offer for the value of an option, which may be another too: a file, or a word
//! with a number.

use crate::base::shipped;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};
use narrows_sim::chip::SHIPPED;
use std::ffi::OsStr;

/// The names of the platforms that come with the program.
pub fn platforms() -> Vec<&'static str> {
    SHIPPED.iter().map(|(name, _)| *name).collect()
}

/// The names of the workloads that come with the program.
pub fn workloads() -> Vec<&'static str> {
    shipped::names("workloads").collect()
}

/// Those of them that have flows, which can be advised and tuned: `susan` cuts an image.
pub fn flows() -> Vec<&'static str> {
    shipped::names("workloads").filter(|name| *name != "susan").collect()
}

/// The names of the sweeps that come with the program.
pub fn sweeps() -> Vec<&'static str> {
    shipped::names("sweeps").collect()
}

/// What reads a value, and which words are offered for it.
#[derive(Clone, Debug)]
pub struct Offered<P> {
    words: Vec<&'static str>,
    parser: P,
}

/// A parser that offers these words and takes what it took.
pub fn offered<P: TypedValueParser>(words: Vec<&'static str>, parser: P) -> Offered<P> {
    Offered { words, parser }
}

impl<P: TypedValueParser> TypedValueParser for Offered<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<P::Value, Error> {
        self.parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.words.iter().copied().map(PossibleValue::new)))
    }
}
