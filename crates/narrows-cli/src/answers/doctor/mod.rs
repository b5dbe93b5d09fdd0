//! `narrows doctor`: what on this machine spoils a measurement, and what to do about it.
//!
//! The [checks](crate::base::checks) are those of the base, which pages of measurements name as
//! well.

pub mod flags;
mod memory;
#[cfg(test)]
mod tests;

pub use memory::parts;

use crate::base::checks::{Finding, Level};
use crate::base::machine::Machine;
use crate::base::table::{self, Align, Table};
use serde::{Deserialize, Serialize};

/// The findings for a screen of 80 columns: a summary, then what needs attention, then what is
/// as it should be.
pub fn text(machine: &Machine, findings: &[Finding]) -> String {
    let count = |level| findings.iter().filter(|one| one.level == level).count();
    let (bad, note) = (count(Level::Bad), count(Level::Note));
    let mut text = match (bad, note) {
        (0, 0) => "Nothing here spoils a measurement.\n".to_owned(),
        (0, _) => format!("{note} to know when reading figures, nothing worse.\n"),
        _ => format!("{bad} that spoil measurements, {note} to know when reading figures.\n"),
    };
    text.push_str(&table::wrap("", &machine.line()));
    for level in [Level::Bad, Level::Note] {
        for one in findings.iter().filter(|one| one.level == level) {
            let mark = if level == Level::Bad { "!" } else { "-" };
            text.push('\n');
            text.push_str(&table::wrap(&format!("{mark} {:<12} ", one.check), &one.found));
            text.push_str(&table::wrap("    so: ", &one.effect));
            if !one.advice.is_empty() {
                text.push_str(&table::wrap("    do: ", &one.advice));
            }
        }
    }
    let mut good = findings.iter().filter(|one| one.level == Level::Good).peekable();
    if good.peek().is_some() {
        text.push_str("\nAs it should be:\n");
    }
    for one in good {
        text.push_str(&table::wrap(&format!("  {:<12} ", one.check), &one.found));
    }
    text
}

/// A part of a link's memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// What the bytes are for.
    pub name: String,
    /// How many.
    pub bytes: u64,
}

/// A row of the report: a finding, or with `--memory` a part of a link's memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Row {
    /// One thing that was looked at.
    Finding(Finding),
    /// A part of a link's memory.
    Memory(Memory),
}

/// The memory of a link for a screen: a row for each part, and their sum.
pub fn memory_text(parts: &[Memory]) -> String {
    let total: u64 = parts.iter().map(|part| part.bytes).sum();
    let mut table = Table::new(&[("memory of a link", Align::Left), ("bytes", Align::Right)]);
    for part in parts {
        table.row(vec![part.name.clone(), part.bytes.to_string()]);
    }
    table.row(vec!["together".to_owned(), total.to_string()]);
    table.render()
}
