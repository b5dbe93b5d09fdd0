//! The operating system of a core, as a platform file describes it.

use super::Call;
use crate::file::{Mistake, Table, Value};
use crate::time::Cost;

/// The keys of its table.
pub(super) const KEYS: [&str; 9] = [
    "switch",
    "switch_words",
    "entry_words",
    "code",
    "sleep",
    "tick",
    "tick_service",
    "calls",
    "swapping",
];
/// The most bytes of code that a cycle runs through.
const MOST_CODE: u32 = 64;
/// The most words that anything touches.
const MOST_WORDS: u32 = 1 << 16;

/// The operating system of a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct System {
    /// From one process to another.
    pub switch: Cost,
    /// Words of data that a switch loads or stores, and an interrupt's entry: they go through the
    /// data cache, or, without one, each takes what reading one from the core's home memory takes
    /// more than finding it there.
    pub switch_words: u32,
    /// See [`System::switch_words`].
    pub entry_words: u32,
    /// Bytes of code that a switch and each call run through for each cycle that they take.
    pub code: u32,
    /// What going to sleep takes.
    pub sleep: Cost,
    /// Its clock ticks on multiples of this, and timers end with a tick; nothing: they end at any
    /// moment.
    pub tick: Cost,
    /// What each tick takes of the core, whichever process runs, its interrupt's entry included;
    /// without ticks, what the end of a timer takes.
    pub tick_service: Cost,
    /// What system calls take ([`crate::rtos`]); one that is left out takes nothing.
    pub calls: Vec<(Call, CallCost)>,
    /// What a call takes that gives the core away before it returns, without the switch, where that
    /// is known to be something else.
    pub swapping: Vec<(Call, CallCost)>,
}

/// What a system call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallCost {
    /// With what it touches in the data cache.
    pub takes: Cost,
    /// Words of data that it loads or stores.
    pub words: u32,
}

impl CallCost {
    /// Nothing.
    pub const NONE: CallCost = CallCost { takes: Cost::NONE, words: 0 };
}

impl System {
    pub(super) fn read(table: &Table<'_>) -> Result<System, Mistake> {
        Ok(System {
            switch: table.cost("switch")?,
            switch_words: words(table, "switch_words")?,
            entry_words: words(table, "entry_words")?,
            code: table.find("code").map_or(Ok(0), |value| value.number(0..=MOST_CODE))?,
            sleep: table.cost("sleep")?,
            tick: table.cost("tick")?,
            tick_service: table.cost("tick_service")?,
            calls: calls(table, "calls")?,
            swapping: calls(table, "swapping")?,
        })
    }

    /// What a system call takes.
    #[must_use]
    pub fn call(&self, call: Call) -> CallCost {
        let found = self.calls.iter().find(|(of, _)| *of == call);
        found.map_or(CallCost::NONE, |(_, cost)| *cost)
    }

    /// What a system call takes that gives the core away.
    #[must_use]
    pub fn swapping(&self, call: Call) -> CallCost {
        let found = self.swapping.iter().find(|(of, _)| *of == call);
        found.map_or_else(|| self.call(call), |(_, cost)| *cost)
    }
}

/// What calls take.
fn calls(system: &Table<'_>, key: &str) -> Result<Vec<(Call, CallCost)>, Mistake> {
    let Some(value) = system.find(key) else { return Ok(Vec::new()) };
    let table = value.table(&Call::ALL.map(Call::name))?;
    let known = Call::ALL.into_iter().filter_map(|call| Some((call, table.find(call.name())?)));
    known.map(|(call, value)| Ok((call, call_cost(&value)?))).collect()
}

/// A cost, or a table of one with the words that it touches.
fn call_cost(value: &Value<'_>) -> Result<CallCost, Mistake> {
    if value.as_table().is_none() {
        return Ok(CallCost { takes: value.cost()?, words: 0 });
    }
    let table = value.table(&["takes", "words"])?;
    Ok(CallCost { takes: table.cost("takes")?, words: words(&table, "words")? })
}

/// Words of data that something touches; none if it is not said.
pub(super) fn words(table: &Table<'_>, key: &str) -> Result<u32, Mistake> {
    table.find(key).map_or(Ok(0), |value| value.number(0..=MOST_WORDS))
}
