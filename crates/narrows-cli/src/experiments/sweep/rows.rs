//! Rows of a sweep: what their columns are, and how they are written as CSV and as JSON.

use super::file::{Carried, Sweep};
use super::grid::Point;
use super::set::bare;
use super::{packets, point};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Columns before the keys that are set.
const BEFORE: [&str; 3] = ["sweep", "point", "platform"];
/// Columns that are texts, whatever is in them.
const TEXTS: [&str; 8] =
    ["sweep", "platform", "strategy", "mechanism", "workload", "flow", "refused", "hash"];

/// A row: a cell for each column, as CSV has it. Where there is no figure, it is empty.
pub(super) type Row = Vec<String>;

/// What a sweep's rows have.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Columns {
    names: Vec<String>,
    /// What is carried and by what: the columns behind the keys that are set.
    pub behind: &'static [&'static str],
    /// Columns of figures, and why there are none.
    figures: &'static [&'static str],
    /// What every row of this sweep begins with.
    pub fingerprint: String,
}

/// A row with the names of its columns, for JSON.
pub(super) struct Named<'a> {
    columns: &'a Columns,
    row: &'a [String],
}

impl Columns {
    /// Those of a sweep. `fingerprint` tells it from others.
    pub fn new(sweep: &Sweep, fingerprint: String) -> Columns {
        let keys = sweep.settings.iter().map(|setting| setting.key.as_str());
        let (behind, figures): (&[&str], &[&str]) = match sweep.carried {
            Carried::Links { .. } => (&point::BEHIND, &point::FIGURES),
            Carried::Packets { .. } => (&packets::BEHIND, &packets::FIGURES),
        };
        let own = behind.iter().chain(figures).copied();
        let names = BEFORE.into_iter().chain(keys).chain(own).map(str::to_owned).collect();
        Columns { names, behind, figures, fingerprint }
    }

    /// The first line of a file.
    pub fn header(&self) -> String {
        line(&self.names)
    }

    /// Where a column is.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|one| one == name)
    }

    /// The cell of a row in a column; empty if there is none.
    pub fn cell<'a>(&self, row: &'a [String], name: &str) -> &'a str {
        self.place(name).and_then(|at| row.get(at)).map_or("", String::as_str)
    }

    /// The number of a row's point, if it is a row of this sweep.
    pub fn point(&self, row: &[String]) -> Option<usize> {
        let ours = row.len() == self.names.len() && row.first() == Some(&self.fingerprint);
        row.get(1).filter(|_| ours)?.parse().ok()
    }

    /// A row of a point, of which these cells are behind the keys that are set.
    pub fn row(&self, point: &Point<'_>, cells: Vec<String>) -> Row {
        let mut row = vec![self.fingerprint.clone(), point.number.to_string()];
        row.push(point.chip.name.clone());
        row.extend(point.values.iter().map(|value| bare(&value.value)));
        row.extend(cells);
        row
    }

    /// A row for JSON.
    pub fn named<'a>(&'a self, row: &'a [String]) -> Named<'a> {
        Named { columns: self, row }
    }
}

/// A line of CSV, with its end.
pub(super) fn line(cells: &[String]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // To memory, nothing fails.
    let _ = writer.write_record(cells);
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

impl Serialize for Named<'_> {
    /// Numbers are numbers, also as values of keys; an empty cell is null.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.row.len()))?;
        for (name, cell) in self.columns.names.iter().zip(self.row) {
            let text = TEXTS.contains(&name.as_str());
            match (cell.as_str(), cell.parse::<u64>(), cell.parse::<f64>()) {
                ("", ..) => map.serialize_entry(name, &())?,
                (_, Ok(number), _) if !text => map.serialize_entry(name, &number)?,
                (_, _, Ok(number)) if self.columns.figures.contains(&name.as_str()) && !text => {
                    map.serialize_entry(name, &number)?;
                }
                (cell, ..) => map.serialize_entry(name, cell)?,
            }
        }
        map.end()
    }
}
