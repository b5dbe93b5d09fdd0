//! What tables and values of a platform file hold beside what those of all files do.

use super::units;
use crate::file::{A_NAME, Mistake, Table, Value, listed};
use crate::time::{Cost, Frequency, Time};
use std::ops::RangeInclusive;

pub(super) const A_COST: &str =
    "cycles as a whole number up to 1000000000, or a time up to \"1s\", such as \"133.2us\"";
const A_FREQUENCY: &str = "a frequency from \"1Hz\" to \"10GHz\", such as \"297MHz\"";
const MOST_CYCLES: u64 = 1_000_000_000;
const MOST_TIME: Time = Time(1_000_000_000_000);
const MOST_FREQUENCY: u64 = 10_000_000_000;

impl<'a> Table<'a> {
    pub(super) fn subtable(&self, key: &str, keys: &[&str]) -> Result<Table<'a>, Mistake> {
        self.get(key, &format!("a table with {}", listed(keys.iter().copied())))?.table(keys)
    }

    pub(super) fn cost(&self, key: &str) -> Result<Cost, Mistake> {
        self.get(key, A_COST)?.cost()
    }

    /// A cost, or none if it is not there.
    pub(super) fn cost_or_none(&self, key: &str) -> Result<Cost, Mistake> {
        self.find(key).map_or(Ok(Cost::NONE), |value| value.cost())
    }

    /// A cost that has to take time: without, something could go on for ever at one moment.
    pub(super) fn some_cost(&self, key: &str) -> Result<Cost, Mistake> {
        let value = self.get(key, A_COST)?;
        match value.cost()? {
            Cost::Cycles(0) | Cost::Time(Time::ZERO) => {
                Err(value.wrong("a cost above 0, or virtual time would not advance"))
            }
            cost => Ok(cost),
        }
    }

    pub(super) fn frequency(&self, key: &str) -> Result<Frequency, Mistake> {
        self.get(key, A_FREQUENCY)?.frequency()
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, Mistake> {
        self.get(key, "true or false")?.flag()
    }

    pub(super) fn bytes(&self, key: &str, range: RangeInclusive<u32>) -> Result<u32, Mistake> {
        self.get(key, &a_size(&range))?.bytes(range)
    }

    /// A list of what holds from a number of bytes on. That number is the key `from`, in the range
    /// and rising. The list is empty if it is missing.
    pub(super) fn steps<T>(
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
    pub(super) fn power(&self, key: &str, range: RangeInclusive<u32>) -> Result<u32, Mistake> {
        self.get(key, &a_power(&range))?.power(range)
    }

    pub(super) fn name(&self) -> Result<String, Mistake> {
        self.get("name", A_NAME)?.name()
    }

    /// The place of a name among others.
    pub(super) fn place(&self, key: &str, what: &str, names: &[String]) -> Result<usize, Mistake> {
        self.get(key, &the_name(what, names))?.place(what, names)
    }
}

impl<'a> Value<'a> {
    /// A table whose keys are names of something.
    pub(super) fn table_of(&self, what: &str, names: &[String]) -> Result<Table<'a>, Mistake> {
        let keys: Vec<&str> = names.iter().map(String::as_str).collect();
        self.any_table_or(&the_name(what, names))?.only(&keys)
    }

    pub(super) fn cost(&self) -> Result<Cost, Mistake> {
        let cost = match self.as_str() {
            Some(text) => units::time(text).filter(|time| *time <= MOST_TIME).map(Cost::Time),
            None => self.as_integer().filter(|cycles| *cycles <= MOST_CYCLES).map(Cost::Cycles),
        };
        cost.ok_or_else(|| self.wrong(A_COST))
    }

    pub(super) fn frequency(&self) -> Result<Frequency, Mistake> {
        let found = self.as_str().and_then(units::frequency);
        let found = found.filter(|clock| (1..=MOST_FREQUENCY).contains(&clock.0));
        found.ok_or_else(|| self.wrong(A_FREQUENCY))
    }

    pub(super) fn bytes(&self, range: RangeInclusive<u32>) -> Result<u32, Mistake> {
        let found = match self.as_str() {
            Some(text) => units::bytes(text),
            None => self.as_integer(),
        };
        let found = found.and_then(|bytes| u32::try_from(bytes).ok());
        found.filter(|bytes| range.contains(bytes)).ok_or_else(|| self.wrong(&a_size(&range)))
    }

    fn power(&self, range: RangeInclusive<u32>) -> Result<u32, Mistake> {
        let expected = a_power(&range);
        let found = self.bytes(range).map_err(|_| self.wrong(&expected))?;
        if found.is_power_of_two() { Ok(found) } else { Err(self.wrong(&expected)) }
    }

    pub(super) fn place(&self, what: &str, names: &[String]) -> Result<usize, Mistake> {
        let expected = the_name(what, names);
        let text = self.string(&expected)?;
        names.iter().position(|name| name == text).ok_or_else(|| self.wrong(&expected))
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
