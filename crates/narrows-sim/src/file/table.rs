//! A table of a file.

use super::{At, Mistake, Problem, Text, Value, listed};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table, which knows where it is written.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    source: Text<'a>,
    /// The keys that lead to it; empty for the file itself.
    path: String,
    span: Range<usize>,
    table: &'a DeTable<'a>,
}

impl<'a> Table<'a> {
    pub(super) fn new(
        source: Text<'a>,
        path: &str,
        span: Range<usize>,
        table: &'a DeTable<'a>,
    ) -> Table<'a> {
        Table { source, path: path.to_owned(), span, table }
    }

    /// The table, if it has no keys but these.
    ///
    /// # Errors
    /// Another key.
    pub fn only(self, keys: &[&str]) -> Result<Table<'a>, Mistake> {
        let unknown = self.table.iter().map(|(key, _)| key).find(|key| {
            let key: &str = key.get_ref();
            !keys.contains(&key)
        });
        match unknown {
            None => Ok(self),
            Some(key) => {
                let expected = listed(keys.iter().copied());
                let problem = Problem::UnknownKey { key: self.key(key.get_ref()), expected };
                Err(self.source.mistake(&key.span(), problem))
            }
        }
    }

    /// Where it is written.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Something is wrong at a place of it, which a sentence says.
    pub fn fail(&self, place: &Range<usize>, sentence: impl Into<String>) -> Mistake {
        self.source.fail(place, sentence)
    }

    fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// A key that may be missing.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<Value<'a>> {
        let (_, value) = self.table.iter().find(|(name, _)| &**name.get_ref() == key)?;
        Some(self.value(key, value))
    }

    /// A key that may be missing, read.
    ///
    /// # Errors
    /// What `read` says of it.
    pub fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Value<'a>) -> Result<T, Mistake>,
    ) -> Result<Option<At<T>>, Mistake> {
        self.find(key).map(|value| Ok(value.at(read(&value)?))).transpose()
    }

    /// A key that has to be there; `expected` is what it would be.
    ///
    /// # Errors
    /// It is missing.
    pub fn get(&self, key: &str, expected: &str) -> Result<Value<'a>, Mistake> {
        self.find(key).ok_or_else(|| {
            let problem = Problem::MissingKey { key: self.key(key), expected: expected.to_owned() };
            self.source.mistake(&self.span, problem)
        })
    }

    /// Every key of the table, with its place and its value.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, Range<usize>, Value<'a>)> {
        self.table.iter().map(|(key, value)| {
            let name: &str = key.get_ref();
            (name, key.span(), self.value(name, value))
        })
    }

    fn value(&self, key: &str, value: &'a Spanned<DeValue<'a>>) -> Value<'a> {
        Value::new(self.source, self.key(key), value)
    }

    /// The tables of a `[[key]]`, at most `most`. `keys` are those that mean something in each.
    ///
    /// # Errors
    /// There are more, one has another key, or it is no list of tables.
    pub fn tables(
        &self,
        key: &'static str,
        most: usize,
        keys: &[&str],
    ) -> Result<Vec<Table<'a>>, Mistake> {
        let Some(value) = self.find(key) else { return Ok(Vec::new()) };
        let expected = format!("one or more [[{key}]] tables");
        let all = value.array(&expected)?;
        if all.len() > most {
            let problem = Problem::Count { what: key, found: all.len(), most };
            return Err(value.mistake(problem));
        }
        all.iter().map(|one| one.any_table_or(&expected)?.only(keys)).collect()
    }

    /// As [`Table::tables`], and at least one.
    ///
    /// # Errors
    /// As [`Table::tables`], and there is none.
    pub fn some_tables(
        &self,
        key: &'static str,
        most: usize,
        keys: &[&str],
    ) -> Result<Vec<Table<'a>>, Mistake> {
        let all = self.tables(key, most, keys)?;
        if all.is_empty() {
            let problem = Problem::Count { what: key, found: 0, most };
            return Err(self.source.mistake(&self.source.end(), problem));
        }
        Ok(all)
    }
}
