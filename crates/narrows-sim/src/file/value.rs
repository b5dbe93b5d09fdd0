//! A value of a file.

use super::{At, Mistake, Problem, Table, Text};
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::DeValue;

const A_FLAG: &str = "true or false";
const A_TABLE: &str = "a table";
pub(crate) const A_NAME: &str = "a name of 1 to 40 letters, digits, \"-\", \"_\" and \".\"";

/// A value, which knows its key and where it is written.
#[derive(Clone, Debug)]
pub struct Value<'a> {
    source: Text<'a>,
    key: String,
    span: Range<usize>,
    value: &'a DeValue<'a>,
}

impl<'a> Value<'a> {
    pub(super) fn new(source: Text<'a>, key: String, value: &'a Spanned<DeValue<'a>>) -> Value<'a> {
        Value { source, key, span: value.span(), value: value.get_ref() }
    }

    /// This value is not what it should be.
    #[must_use]
    pub fn wrong(&self, expected: &str) -> Mistake {
        self.source.wrong(&self.key, &self.span, expected)
    }

    /// Something is wrong here.
    #[must_use]
    pub fn mistake(&self, problem: Problem) -> Mistake {
        self.source.mistake(&self.span, problem)
    }

    /// Something is wrong here, which a sentence says.
    pub fn fail(&self, sentence: impl Into<String>) -> Mistake {
        self.source.fail(&self.span, sentence)
    }

    /// What this value means, with its place.
    pub fn at<T>(&self, value: T) -> At<T> {
        At { value, key: self.key.clone(), span: self.span.clone() }
    }

    /// Where it is written.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// As it is written, with its quotes.
    #[must_use]
    pub fn written(&self) -> &'a str {
        self.source.text.get(self.span.clone()).unwrap_or_default()
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    /// The number, if it is a whole one that is not negative.
    #[must_use]
    pub fn as_integer(&self) -> Option<u64> {
        let digits = self.value.as_integer()?;
        u64::from_str_radix(digits.as_str(), digits.radix()).ok()
    }

    /// The table, if it is one.
    #[must_use]
    pub fn as_table(&self) -> Option<Table<'a>> {
        let table = self.value.as_table()?;
        Some(Table::new(self.source, &self.key, self.span.clone(), table))
    }

    /// The values of a list, if it is one; they have its key.
    #[must_use]
    pub fn as_array(&self) -> Option<Vec<Value<'a>>> {
        let all = self.value.as_array()?.iter();
        Some(all.map(|item| Value::new(self.source, self.key.clone(), item)).collect())
    }

    /// A text.
    ///
    /// # Errors
    /// The value is no text.
    pub fn string(&self, expected: &str) -> Result<&'a str, Mistake> {
        self.as_str().ok_or_else(|| self.wrong(expected))
    }

    /// A list.
    ///
    /// # Errors
    /// The value is no list.
    pub fn array(&self, expected: &str) -> Result<Vec<Value<'a>>, Mistake> {
        self.as_array().ok_or_else(|| self.wrong(expected))
    }

    /// Each of a list that has some, or this value itself.
    ///
    /// # Errors
    /// The list is empty.
    pub fn each(&self, expected: &str) -> Result<Vec<Value<'a>>, Mistake> {
        match self.as_array() {
            Some(all) if all.is_empty() => Err(self.wrong(expected)),
            Some(all) => Ok(all),
            None => Ok(vec![self.clone()]),
        }
    }

    /// A table of these keys alone.
    ///
    /// # Errors
    /// The value is no table, or has another key.
    pub fn table(&self, keys: &[&str]) -> Result<Table<'a>, Mistake> {
        self.any_table()?.only(keys)
    }

    /// A table with any keys.
    ///
    /// # Errors
    /// The value is no table.
    pub fn any_table(&self) -> Result<Table<'a>, Mistake> {
        self.any_table_or(A_TABLE)
    }

    /// As [`Value::any_table`], where something more than a table is expected.
    ///
    /// # Errors
    /// The value is no table.
    pub fn any_table_or(&self, expected: &str) -> Result<Table<'a>, Mistake> {
        self.as_table().ok_or_else(|| self.wrong(expected))
    }

    /// A whole number of a range.
    ///
    /// # Errors
    /// It is none, or out of the range.
    pub fn number<T>(&self, range: RangeInclusive<T>) -> Result<T, Mistake>
    where
        T: TryFrom<u64> + PartialOrd + Display,
    {
        let number = self.as_integer().and_then(|number| T::try_from(number).ok());
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            self.wrong(&format!("a whole number from {} to {}", range.start(), range.end()))
        })
    }

    /// A whole number, at least this.
    ///
    /// # Errors
    /// It is none, or less.
    pub fn number_from(&self, least: u64) -> Result<u64, Mistake> {
        let number = self.as_integer().filter(|number| *number >= least);
        number.ok_or_else(|| self.wrong(&format!("a whole number from {least} up")))
    }

    /// True or false.
    ///
    /// # Errors
    /// It is neither.
    pub fn flag(&self) -> Result<bool, Mistake> {
        self.value.as_bool().ok_or_else(|| self.wrong(A_FLAG))
    }

    /// A name of something that the file describes.
    ///
    /// # Errors
    /// It is too long, or has other letters than names have.
    pub fn name(&self) -> Result<String, Mistake> {
        let text = self.string(A_NAME)?;
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if text.is_empty() || text.len() > 40 || !text.chars().all(fits) {
            return Err(self.wrong(A_NAME));
        }
        Ok(text.to_owned())
    }
}
