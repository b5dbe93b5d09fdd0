//! Tables and values of a platform file, each with its place.

use super::mistake::{Mistake, Problem};
use super::units;
use crate::time::{Cost, Frequency, Time};
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(super) const A_COST: &str =
    "cycles as a whole number up to 1000000000, or a time up to \"1s\", such as \"133.2us\"";
const A_FREQUENCY: &str = "a frequency from \"1Hz\" to \"10GHz\", such as \"297MHz\"";
const A_NAME: &str = "a name of 1 to 40 letters, digits, \"-\", \"_\" and \".\"";
const A_FLAG: &str = "true or false";
const A_TABLE: &str = "a table";
const MOST_CYCLES: u64 = 1_000_000_000;
const MOST_TIME: Time = Time(1_000_000_000_000);
const MOST_FREQUENCY: u64 = 10_000_000_000;

/// A table, all of whose keys mean something.
pub(super) struct Table<'a> {
    text: &'a str,
    /// The keys that lead to it; empty for the file itself.
    path: String,
    pub span: Range<usize>,
    table: &'a DeTable<'a>,
}

/// A value and its key.
pub(super) struct Value<'a> {
    text: &'a str,
    key: String,
    pub span: Range<usize>,
    value: &'a DeValue<'a>,
}

impl<'a> Table<'a> {
    pub fn new(
        text: &'a str,
        path: &str,
        span: Range<usize>,
        table: &'a DeTable<'a>,
        keys: &[&str],
    ) -> Result<Table<'a>, Mistake> {
        let new = Table { text, path: path.to_owned(), span, table };
        let unknown = table.iter().map(|(key, _)| key).find(|key| {
            let key: &str = key.get_ref();
            !keys.contains(&key)
        });
        match unknown {
            None => Ok(new),
            Some(key) => {
                let problem = Problem::UnknownKey {
                    key: new.key(key.get_ref()),
                    expected: listed(keys.iter().copied()),
                };
                Err(Mistake::new(text, &key.span(), problem))
            }
        }
    }

    fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// A key that may be missing.
    pub fn find(&self, key: &str) -> Option<Value<'a>> {
        let (_, value) = self.table.iter().find(|(name, _)| &**name.get_ref() == key)?;
        Some(self.value(key, value))
    }

    /// A key that has to be there; `expected` is what it would be.
    pub fn get(&self, key: &str, expected: &str) -> Result<Value<'a>, Mistake> {
        self.find(key).ok_or_else(|| {
            let problem = Problem::MissingKey { key: self.key(key), expected: expected.to_owned() };
            Mistake::new(self.text, &self.span, problem)
        })
    }

    /// Every key of the table.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        self.table.iter().map(|(key, value)| {
            let key: &str = key.get_ref();
            (key, self.value(key, value))
        })
    }

    fn value(&self, key: &str, value: &'a Spanned<DeValue<'a>>) -> Value<'a> {
        Value { text: self.text, key: self.key(key), span: value.span(), value: value.get_ref() }
    }

    /// The tables of a `[[key]]`, at most so many. `keys` are those that mean something in each.
    pub fn tables(
        &self,
        key: &'static str,
        most: usize,
        keys: &[&str],
    ) -> Result<Vec<Table<'a>>, Mistake> {
        let Some(value) = self.find(key) else { return Ok(Vec::new()) };
        let all = value.array(&format!("one or more [[{key}]] tables"))?;
        if all.len() > most {
            let problem = Problem::Count { what: key, found: all.len(), most };
            return Err(Mistake::new(self.text, &value.span, problem));
        }
        all.iter().map(|one| one.table(keys)).collect()
    }

    /// As [`Table::tables`], and at least one.
    pub fn some_tables(
        &self,
        key: &'static str,
        most: usize,
        keys: &[&str],
    ) -> Result<Vec<Table<'a>>, Mistake> {
        let all = self.tables(key, most, keys)?;
        if all.is_empty() {
            let end = self.text.trim_end().len();
            let problem = Problem::Count { what: key, found: 0, most };
            return Err(Mistake::new(self.text, &(end..end), problem));
        }
        Ok(all)
    }

    pub fn subtable(&self, key: &str, keys: &[&str]) -> Result<Table<'a>, Mistake> {
        self.get(key, &format!("a table with {}", listed(keys.iter().copied())))?.table(keys)
    }

    pub fn cost(&self, key: &str) -> Result<Cost, Mistake> {
        self.get(key, A_COST)?.cost()
    }

    /// A cost, or none if it is not there.
    pub fn cost_or_none(&self, key: &str) -> Result<Cost, Mistake> {
        self.find(key).map_or(Ok(Cost::NONE), |value| value.cost())
    }

    /// A cost that has to take time: without, something could go on for ever at one moment.
    pub fn some_cost(&self, key: &str) -> Result<Cost, Mistake> {
        let value = self.get(key, A_COST)?;
        match value.cost()? {
            Cost::Cycles(0) | Cost::Time(Time::ZERO) => {
                Err(value.wrong("a cost above 0, or virtual time would not advance"))
            }
            cost => Ok(cost),
        }
    }

    pub fn frequency(&self, key: &str) -> Result<Frequency, Mistake> {
        self.get(key, A_FREQUENCY)?.frequency()
    }

    pub fn flag(&self, key: &str) -> Result<bool, Mistake> {
        self.get(key, A_FLAG)?.flag()
    }

    pub fn bytes(&self, key: &str, range: RangeInclusive<u32>) -> Result<u32, Mistake> {
        self.get(key, &a_size(&range))?.bytes(range)
    }

    /// A list of what holds from so many bytes on, `from` in that range and rising; empty if it is
    /// missing.
    pub fn steps<T>(
        &self,
        key: &str,
        expected: &str,
        keys: &[&str],
        range: RangeInclusive<u32>,
        read: impl Fn(u32, &Table<'_>) -> Result<T, Mistake>,
    ) -> Result<Vec<T>, Mistake> {
        let Some(value) = self.find(key) else { return Ok(Vec::new()) };
        let (mut all, mut next) = (Vec::new(), *range.start());
        for one in value.array(expected)? {
            let step = one.table(keys)?;
            let from = step.bytes("from", range.clone())?;
            if from < next {
                return Err(one.wrong(expected));
            }
            all.push(read(from, &step)?);
            next = from.saturating_add(1);
        }
        Ok(all)
    }

    /// A size that is a power of two.
    pub fn power(&self, key: &str, range: RangeInclusive<u32>) -> Result<u32, Mistake> {
        self.get(key, &a_power(&range))?.power(range)
    }

    pub fn name(&self) -> Result<String, Mistake> {
        let value = self.get("name", A_NAME)?;
        let text = value.string(A_NAME)?;
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if text.is_empty() || text.len() > 40 || !text.chars().all(fits) {
            return Err(value.wrong(A_NAME));
        }
        Ok(text.to_owned())
    }

    /// The place of a name among others.
    pub fn place(&self, key: &str, what: &str, names: &[String]) -> Result<usize, Mistake> {
        self.get(key, &the_name(what, names))?.place(what, names)
    }
}

impl<'a> Value<'a> {
    /// This value is not what it should be.
    pub fn wrong(&self, expected: &str) -> Mistake {
        let written = self.text.get(self.span.clone()).unwrap_or_default();
        let bare = match written {
            "\"\"" | "''" => written,
            _ => written.trim_matches(['"', '\'']),
        };
        let first = bare.lines().next().unwrap_or_default();
        let mut found: String = first.chars().take(40).collect();
        if found.len() < bare.len() {
            found.push('…');
        }
        self.at(Problem::Value { key: self.key.clone(), found, expected: expected.to_owned() })
    }

    /// Something is wrong here.
    pub fn at(&self, problem: Problem) -> Mistake {
        Mistake::new(self.text, &self.span, problem)
    }

    pub fn string(&self, expected: &str) -> Result<&'a str, Mistake> {
        self.value.as_str().ok_or_else(|| self.wrong(expected))
    }

    pub fn array(&self, expected: &str) -> Result<Vec<Value<'a>>, Mistake> {
        let all = self.value.as_array().ok_or_else(|| self.wrong(expected))?;
        let value = |item: &'a Spanned<DeValue<'a>>| Value {
            text: self.text,
            key: self.key.clone(),
            span: item.span(),
            value: item.get_ref(),
        };
        Ok(all.iter().map(value).collect())
    }

    pub fn table(&self, keys: &[&str]) -> Result<Table<'a>, Mistake> {
        let table = self.value.as_table().ok_or_else(|| self.wrong(A_TABLE))?;
        Table::new(self.text, &self.key, self.span.clone(), table, keys)
    }

    /// A table with whatever keys.
    pub fn any_table(&self) -> Result<Table<'a>, Mistake> {
        let table = self.value.as_table().ok_or_else(|| self.wrong(A_TABLE))?;
        let (text, path) = (self.text, self.key.clone());
        Ok(Table { text, path, span: self.span.clone(), table })
    }

    /// A table whose keys are names of something.
    pub fn table_of(&self, what: &str, names: &[String]) -> Result<Table<'a>, Mistake> {
        let keys: Vec<&str> = names.iter().map(String::as_str).collect();
        let table = self.value.as_table().ok_or_else(|| self.wrong(&the_name(what, names)))?;
        Table::new(self.text, &self.key, self.span.clone(), table, &keys)
    }

    pub fn is_table(&self) -> bool {
        self.value.as_table().is_some()
    }

    fn integer(&self) -> Option<u64> {
        let digits = self.value.as_integer()?;
        u64::from_str_radix(digits.as_str(), digits.radix()).ok()
    }

    pub fn number(&self, range: RangeInclusive<u32>) -> Result<u32, Mistake> {
        let number = self.integer().and_then(|number| u32::try_from(number).ok());
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            self.wrong(&format!("a whole number from {} to {}", range.start(), range.end()))
        })
    }

    pub fn cost(&self) -> Result<Cost, Mistake> {
        let cost = match self.value.as_str() {
            Some(text) => units::time(text).filter(|time| *time <= MOST_TIME).map(Cost::Time),
            None => self.integer().filter(|cycles| *cycles <= MOST_CYCLES).map(Cost::Cycles),
        };
        cost.ok_or_else(|| self.wrong(A_COST))
    }

    pub fn frequency(&self) -> Result<Frequency, Mistake> {
        let found = self.value.as_str().and_then(units::frequency);
        let found = found.filter(|clock| (1..=MOST_FREQUENCY).contains(&clock.0));
        found.ok_or_else(|| self.wrong(A_FREQUENCY))
    }

    pub fn flag(&self) -> Result<bool, Mistake> {
        self.value.as_bool().ok_or_else(|| self.wrong(A_FLAG))
    }

    pub fn bytes(&self, range: RangeInclusive<u32>) -> Result<u32, Mistake> {
        let found = match self.value.as_str() {
            Some(text) => units::bytes(text),
            None => self.integer(),
        };
        let found = found.and_then(|bytes| u32::try_from(bytes).ok());
        found.filter(|bytes| range.contains(bytes)).ok_or_else(|| self.wrong(&a_size(&range)))
    }

    fn power(&self, range: RangeInclusive<u32>) -> Result<u32, Mistake> {
        let expected = a_power(&range);
        let found = self.bytes(range).map_err(|_| self.wrong(&expected))?;
        if found.is_power_of_two() { Ok(found) } else { Err(self.wrong(&expected)) }
    }

    pub fn place(&self, what: &str, names: &[String]) -> Result<usize, Mistake> {
        let expected = the_name(what, names);
        let text = self.string(&expected)?;
        names.iter().position(|name| name == text).ok_or_else(|| self.wrong(&expected))
    }
}

/// Words one after the other, "or" before the last.
pub(super) fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "nothing".to_owned(),
    }
}

fn the_name(what: &str, names: &[String]) -> String {
    format!("the name of a {what}: {}", listed(names.iter().map(String::as_str)))
}

fn a_size(range: &RangeInclusive<u32>) -> String {
    format!("bytes from {} to {}, such as \"16KiB\" or 32", range.start(), range.end())
}

fn a_power(range: &RangeInclusive<u32>) -> String {
    format!("bytes that are a power of two from {} to {}", range.start(), range.end())
}
