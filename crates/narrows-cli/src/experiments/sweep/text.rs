//! What a sweep says on the screen: what there is, then the rows as far as they fit a screen.

use super::file::Carried;
use super::grid::Grid;
use super::journal::Journal;
use super::rows::{Columns, Row};
use crate::base::table::{Align, Table, number, wrap};
use std::path::Path;

/// Rows that are shown at most; all of them are in the file.
const ROWS: usize = 40;

/// A row's place in the grid, in short.
pub(super) fn of(columns: &Columns, row: Option<&Row>) -> String {
    let Some(row) = row else { return String::new() };
    let cell = |name| columns.cell(row, name);
    let cells: Vec<&str> =
        ["platform"].iter().chain(columns.behind).map(|name| cell(name)).collect();
    cells.join(" ")
}

/// The summary and the table.
pub(super) fn text(grid: &Grid<'_>, journal: &Journal, kept: usize, files: &[&Path]) -> String {
    let (columns, done) = (&journal.columns, journal.points.len());
    let name = grid.sweep.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    let mut lines = format!("{name}: {done} of {} points, {kept} from before", grid.points);
    lines += &format!("; {} in {}", rows(journal.rows().count()), files.join(" and "));
    let mut text = wrap("", &lines);
    let refused = journal.rows().map(|row| columns.cell(row, "refused"));
    let refused: Vec<&str> = refused.filter(|why| !why.is_empty()).collect();
    if let Some(first) = refused.first() {
        let words = format!("{} without figures, the first because {first}", rows(refused.len()));
        text += &wrap("", &words);
    }
    text.push('\n');
    text + &table(grid, journal)
}

fn rows(count: usize) -> String {
    if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }
}

/// The columns that tell rows apart: what is the same in all rows is no news.
pub(super) fn named<'a>(grid: &'a Grid<'_>, columns: &Columns, rows: &[&Row]) -> Vec<&'a str> {
    let keys = grid.sweep.settings.iter().map(|one| one.key.as_str());
    let named = ["platform"].into_iter().chain(keys).chain(columns.behind.iter().copied());
    let differs = |name: &&str| {
        let mut cells = rows.iter().map(|row| columns.cell(row, name));
        let first = cells.next();
        cells.any(|cell| Some(cell) != first)
    };
    let mut named: Vec<&str> = named.filter(differs).collect();
    if named.is_empty() {
        named.push("platform");
    }
    named
}

fn table(grid: &Grid<'_>, journal: &Journal) -> String {
    let columns = &journal.columns;
    let figures = |row: &&Row| columns.cell(row, "refused").is_empty();
    let rows: Vec<&Row> = journal.rows().filter(figures).collect();
    let named = named(grid, columns, &rows);
    let packets = matches!(grid.sweep.carried, Carried::Packets { .. });
    let heads = match packets {
        true => ["Mbit/s", "efficiency %", "trip µs"],
        false => ["trip µs", "p99", "load %"],
    };
    let heads = heads.map(|head| (head, Align::Right));
    // The keys, which may be long and many, take one column.
    let named_head = named.join(", ");
    let heads: Vec<_> = [(named_head.as_str(), Align::Left)].into_iter().chain(heads).collect();
    let mut table = Table::new(&heads);
    for row in rows.iter().take(ROWS) {
        let figure = |name, unit| {
            let figure = columns.cell(row, name).parse::<f64>();
            number(figure.map_or(0.0, |figure| figure / unit))
        };
        let place: Vec<&str> = named.iter().map(|name| columns.cell(row, name)).collect();
        let cells = match packets {
            true => ["throughput_mbit_s", "efficiency_percent", "round_trip_us"]
                .map(|name| figure(name, 1.0)),
            false => [
                figure("rtt_median_ns", 1e3),
                figure("rtt_p99_ns", 1e3),
                format!("{}, {}", figure("caller_percent", 1.0), figure("callee_percent", 1.0)),
            ],
        };
        table.row([place.join(", ")].into_iter().chain(cells).collect());
    }
    let more = match rows.len().saturating_sub(ROWS) {
        0 => String::new(),
        more => format!("and {more} more\n"),
    };
    table.render() + &more
}
