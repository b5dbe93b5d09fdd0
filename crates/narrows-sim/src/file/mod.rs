//! The one reader of files in TOML: platforms, workloads, sweeps, and tables of published figures.
//!
//! A [`Text`] is a text and its file's name. It is read into a [`Document`], whose tables and
//! values know where they are written, or at once into a type of serde. Either way a mistake is
//! told as `file:line:column: sentence`.

mod mistake;
mod table;
#[cfg(test)]
mod tests;
mod value;

pub use mistake::{Mistake, Problem};
pub use table::Table;
pub(crate) use value::A_NAME;
pub use value::Value;

use serde::de::DeserializeOwned;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::DeTable;

/// A text and the file that it is from.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// The file's path, or what stands for it in a message.
    pub path: &'a Path,
    /// What is in it.
    pub text: &'a str,
}

/// A file that is TOML.
#[derive(Debug)]
pub struct Document<'a> {
    source: Text<'a>,
    table: Spanned<DeTable<'a>>,
}

/// A value that was read, with its key and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<T> {
    /// What was read.
    pub value: T,
    /// Its key, with those of the tables it is in.
    pub key: String,
    /// Its bytes in the text.
    pub span: Range<usize>,
}

impl<'a> Text<'a> {
    /// Reads the text.
    ///
    /// # Errors
    /// It is not TOML.
    pub fn parse(self) -> Result<Document<'a>, Mistake> {
        let table = DeTable::parse(self.text).map_err(|error| self.refused(&error))?;
        Ok(Document { source: self, table })
    }

    /// Reads the text into a type of serde.
    ///
    /// # Errors
    /// It is not TOML, or not what the type asks for.
    pub fn into<T: DeserializeOwned>(self) -> Result<T, Mistake> {
        toml::from_str(self.text).map_err(|error| self.refused(&error))
    }

    /// Something is wrong at a place.
    #[must_use]
    pub fn mistake(&self, span: &Range<usize>, problem: Problem) -> Mistake {
        Mistake::new(self, span, problem)
    }

    /// Something is wrong at a place, which a sentence says.
    pub fn fail(&self, span: &Range<usize>, sentence: impl Into<String>) -> Mistake {
        self.mistake(span, Problem::Other(sentence.into()))
    }

    /// The value of a key is not what it should be; `span` is the value's.
    #[must_use]
    pub fn wrong(&self, key: &str, span: &Range<usize>, expected: &str) -> Mistake {
        let written = self.text.get(span.clone()).unwrap_or_default();
        let bare = match written {
            "\"\"" | "''" => written,
            _ => written.trim_matches(['"', '\'']),
        };
        let first = bare.lines().next().unwrap_or_default();
        let mut found: String = first.chars().take(40).collect();
        if found.len() < bare.len() {
            found.push('…');
        }
        let (key, expected) = (key.to_owned(), expected.to_owned());
        self.mistake(span, Problem::Value { key, found, expected })
    }

    /// The place where something that is missing would go.
    #[must_use]
    pub fn end(&self) -> Range<usize> {
        let end = self.text.trim_end().len();
        end..end
    }

    /// What the parser refuses, on one line.
    fn refused(&self, error: &toml::de::Error) -> Mistake {
        let span = error.span().unwrap_or(0..0);
        let found = self.text.get(span.clone()).and_then(|found| found.lines().next());
        let found = found.map_or(String::new(), |found| format!(": {found}"));
        let words = error.message().trim_end().replace('\n', "; ") + &found;
        self.mistake(&span, Problem::Syntax(words))
    }
}

impl<'a> Document<'a> {
    /// The whole file as a table, with these keys alone.
    ///
    /// # Errors
    /// Another key.
    pub fn top(&'a self, keys: &[&str]) -> Result<Table<'a>, Mistake> {
        self.any().only(keys)
    }

    /// The whole file as a table with any keys.
    pub fn any(&'a self) -> Table<'a> {
        Table::new(self.source, "", 0..0, self.table.get_ref())
    }
}

impl<T> At<T> {
    /// This value is not what it should be.
    #[must_use]
    pub fn wrong(&self, source: &Text<'_>, expected: &str) -> Mistake {
        source.wrong(&self.key, &self.span, expected)
    }
}

/// Words one after the other, "or" before the last.
pub fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "nothing".to_owned(),
    }
}
