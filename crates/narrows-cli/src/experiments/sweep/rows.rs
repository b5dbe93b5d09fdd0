//! Rows of a sweep: what their columns are, and how they are written as CSV and as JSON.

use super::file::Sweep;
use super::grid::Point;
use super::point::Figures;
use super::set::bare;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Columns before the keys that are set, and between those and the figures.
const BEFORE: [&str; 3] = ["sweep", "point", "platform"];
const BEHIND: [&str; 4] = ["strategy", "workload", "flow", "bytes"];
/// Columns of figures, and why there are none.
const FIGURES: [&str; 13] = [
    "refused",
    "calls",
    "rtt_min_ns",
    "rtt_median_ns",
    "rtt_mean_ns",
    "rtt_p99_ns",
    "rtt_max_ns",
    "caller_percent",
    "callee_percent",
    "calls_per_second",
    "bytes_per_second",
    "end_ns",
    "hash",
];
/// Columns that are texts, whatever is in them.
const TEXTS: [&str; 7] = ["sweep", "platform", "strategy", "workload", "flow", "refused", "hash"];

/// A row: a cell for each column, as CSV has it. Where there is no figure, it is empty.
pub(super) type Row = Vec<String>;

/// What a sweep's rows have.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Columns {
    names: Vec<String>,
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
        let names = BEFORE.into_iter().chain(keys).chain(BEHIND).chain(FIGURES);
        Columns { names: names.map(str::to_owned).collect(), fingerprint }
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

    /// The row of a flow at a point.
    pub fn row(&self, point: &Point<'_>, figures: &Figures) -> Row {
        let mut row = vec![self.fingerprint.clone(), point.number.to_string()];
        row.push(point.chip.name.clone());
        row.extend(point.values.iter().map(|value| bare(&value.value)));
        row.push(point.strategy.to_string());
        row.extend([figures.workload.clone(), figures.flow.clone(), figures.bytes.to_string()]);
        row.extend(figures.cells());
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
                (_, _, Ok(number)) if FIGURES.contains(&name.as_str()) && !text => {
                    map.serialize_entry(name, &number)?;
                }
                (cell, ..) => map.serialize_entry(name, cell)?,
            }
        }
        map.end()
    }
}
