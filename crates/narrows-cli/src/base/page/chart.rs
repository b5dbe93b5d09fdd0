//! A chart and its data. The script draws it from the table that the page has of the data.

use crate::base::table::number;
use serde::Serialize;
use serde_json::Value;

/// A chart, or a table alone.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub says: String,
    /// How it is drawn; a table alone without.
    pub kind: Option<Kind>,
    /// What it is drawn of.
    pub data: Data,
}

/// How a chart is drawn. What is said of columns are their names.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Kind {
    /// A bar for each row, of parts one after the other.
    Stack {
        /// The column that names rows; no two may have the same name.
        label: String,
        /// The columns of the parts.
        parts: Vec<String>,
        /// What the parts are, for the legend.
        meanings: Vec<String>,
        /// The unit of the parts.
        unit: String,
    },
    /// Several figures of each row on one scale.
    Spread {
        /// The column that names rows; no two may have the same name.
        label: String,
        /// The columns of the figures.
        points: Vec<String>,
        /// Their unit.
        unit: String,
        /// Whether the scale is logarithmic.
        log: bool,
    },
    /// A figure of each row beside a reference.
    Interval {
        /// The column that names rows; no two may have the same name.
        label: String,
        /// The column of the figure.
        value: String,
        /// The column where an interval begins.
        low: Option<String>,
        /// The column where an interval ends.
        high: Option<String>,
        /// The column of a bound.
        bound: Option<String>,
        /// The column that says `yes` or `no`, by which marks are told apart.
        sure: Option<String>,
        /// What a mark means with `yes`, and without such a column.
        means: String,
        /// And with `no`.
        otherwise: String,
        /// The figure that all are beside.
        reference: f64,
        /// What that is.
        reference_means: String,
        /// The label of the scale.
        unit: String,
        /// Whether the scale is logarithmic.
        log: bool,
    },
    /// A line for each series.
    Lines {
        /// The column that names series.
        series: Option<String>,
        /// The column across.
        x: String,
        /// The column up.
        y: String,
        /// A second column up, dashed.
        limit: Option<String>,
        /// The label of the scale across.
        x_label: String,
        /// The label of the scale up.
        y_label: String,
        /// Whether the scale across is logarithmic.
        log_x: bool,
        /// Whether the scale up is logarithmic.
        log_y: bool,
        /// Whether a figure holds until the next one.
        step: bool,
    },
    /// A point for each row; less is better on both scales.
    Scatter {
        /// The column that names rows.
        label: String,
        /// The column across.
        x: String,
        /// The column up.
        y: String,
        /// The column that says `yes` where a point is on the front.
        front: String,
        /// The label of the scale across.
        x_label: String,
        /// The label of the scale up.
        y_label: String,
        /// Whether the scale up is logarithmic.
        log_y: bool,
        /// What points on the front are.
        front_means: String,
        /// What the other points are.
        others_mean: String,
    },
}

/// A table: names of columns, and rows of cells.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// The names.
    pub columns: Vec<String>,
    /// The rows, each with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A figure.
    Figure(f64),
    /// A cell with nothing in it.
    Empty,
}

impl Chart {
    /// A table alone.
    pub fn table(title: impl Into<String>, says: impl Into<String>, data: Data) -> Chart {
        Chart { title: title.into(), says: says.into(), kind: None, data }
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.data.rows.is_empty()
    }
}

impl Data {
    /// A table without rows.
    pub fn new(columns: &[&str]) -> Data {
        Data { columns: columns.iter().map(|name| (*name).to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// A table of rows as JSON has them: a column for each key, `a.b` for a key in a key. Of an
    /// array there is how many it has.
    pub fn of<R: Serialize>(rows: &[R]) -> Data {
        let rows: Vec<Vec<(String, Cell)>> = rows
            .iter()
            .map(|row| {
                let mut cells = Vec::new();
                flatten("", &serde_json::to_value(row).unwrap_or_default(), &mut cells);
                cells
            })
            .collect();
        let mut data = Data::default();
        for (name, _) in rows.iter().flatten() {
            if !data.columns.contains(name) {
                data.columns.push(name.clone());
            }
        }
        for row in &rows {
            let cell = |name: &String| row.iter().find(|(own, _)| own == name);
            let cells =
                data.columns.iter().map(|name| cell(name).map(|(_, cell)| cell.clone()).into());
            data.rows.push(cells.collect());
        }
        data
    }

    /// The table as CSV.
    pub fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        // To memory, nothing fails.
        let _ = writer.write_record(&self.columns);
        for row in &self.rows {
            let _ = writer.write_record(row.iter().map(Cell::exactly));
        }
        String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }
}

fn flatten(name: &str, value: &Value, cells: &mut Vec<(String, Cell)>) {
    let cell = match value {
        Value::Object(keys) => {
            for (key, value) in keys {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(&name, value, cells);
            }
            return;
        }
        Value::Null => Cell::Empty,
        Value::Bool(is) => (*is).into(),
        Value::Number(number) => number.as_f64().into(),
        Value::String(text) => text.into(),
        Value::Array(all) => all.len().into(),
    };
    cells.push((name.to_owned(), cell));
}

impl Cell {
    /// With all its digits.
    pub fn exactly(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Figure(figure) => figure.to_string(),
            Cell::Empty => String::new(),
        }
    }

    /// As a table shows it: whole numbers whole, others with three significant digits.
    pub fn shown(&self) -> String {
        match self {
            Cell::Figure(figure) if figure.fract() != 0.0 => number(*figure),
            other => other.exactly(),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Cell {
        Cell::Text(text.clone())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<f64> for Cell {
    /// A figure that is no number is none.
    fn from(figure: f64) -> Cell {
        if figure.is_finite() { Cell::Figure(figure) } else { Cell::Empty }
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Cell {
        Cell::Figure(count as f64)
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Cell {
        Cell::Figure(count as f64)
    }
}

impl From<bool> for Cell {
    fn from(is: bool) -> Cell {
        if is { "yes" } else { "no" }.into()
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(cell: Option<T>) -> Cell {
        cell.map_or(Cell::Empty, Into::into)
    }
}
