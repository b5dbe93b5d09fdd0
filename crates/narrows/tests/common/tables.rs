//! Reads the tables of a page.

use std::string::{String, ToString};
use std::vec::Vec;

const WIRE: &str = include_str!("../../../../docs/WIRE.md");

/// The cells of the tables whose first heading is `first` under the heading `section`.
pub fn table(section: &str, first: &str) -> Vec<Vec<String>> {
    let title = |line: &str| line.strip_prefix('#').map(|l| l.trim_matches(['#', ' ']).to_string());
    let lines = WIRE.lines().skip_while(|line| title(line).as_deref() != Some(section)).skip(1);
    let rows: Vec<Vec<String>> = lines
        .take_while(|line| title(line).is_none())
        .map(|line| line.trim().trim_matches('|').split('|').map(|c| c.trim().into()).collect())
        .skip_while(|cells: &Vec<String>| cells.len() < 2 || cells[0] != first)
        .skip(2)
        .take_while(|cells| cells.len() >= 2)
        .collect();
    assert!(!rows.is_empty(), "WIRE.md has no table of {first} in its section {section}");
    rows
}

/// A number of a table, decimal or hexadecimal.
pub fn number(cell: &str) -> u32 {
    let parsed = match cell.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => cell.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("WIRE.md says {cell:?} where a number was expected"))
}

/// The number in the first cell of the row whose cell `column` is or begins with `name`.
pub fn find(rows: &[Vec<String>], column: usize, name: &str) -> u32 {
    let named = |cell: &str| cell == name || cell.starts_with(&(name.to_string() + ":"));
    let row = rows.iter().find(|row| named(&row[column]));
    number(&row.unwrap_or_else(|| panic!("WIRE.md has no row {name:?}"))[0])
}
