//! The page of a sweep: which point is best at what, and how figures go with what was varied.

use super::file::Carried;
use super::grid::Grid;
use super::journal::Journal;
use super::packets;
use super::rows::{Columns, Row};
use super::text::named;
use crate::base::failure::Failure;
use crate::base::machine::Machine;
use crate::base::page::Page;
use crate::base::page::chart::{Cell, Chart, Data, Kind};
use crate::base::page::words::{Contender, best, front, micros};
use crate::base::table::{counted, listed, number};

/// Bars that a reader still compares.
const BARS: usize = 40;
const POINTS: [(&str, &str); 4] = [
    ("min", "rtt_min_ns"),
    ("median", "rtt_median_ns"),
    ("p99", "rtt_p99_ns"),
    ("max", "rtt_max_ns"),
];

/// The page.
pub(super) fn page(grid: &Grid<'_>, journal: &Journal, failure: Option<&Failure>) -> Page {
    let columns = &journal.columns;
    let rows: Vec<&Row> =
        journal.rows().filter(|row| columns.cell(row, "refused").is_empty()).collect();
    let name = grid.sweep.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let chips: Vec<&str> = distinct(&rows, columns, "platform");
    let place = Machine {
        cpu: counted(chips.len(), "chip", "chips"),
        platform: Some(listed(&chips)),
        r#virtual: true,
        ..Machine::default()
    };
    let count = counted(grid.points, "point", "points");
    let mut page = Page::new(format!("sweep {name}: {count}"), &place);
    let named = named(grid, columns, &rows);
    let varied = listed(&named);
    page.notes.push(format!("what differs from row to row: {varied}"));
    page.notes.extend(failure.map(|failure| format!("this is not the whole sweep: {failure}")));
    match grid.sweep.carried {
        Carried::Links { .. } => links(&mut page, columns, &rows, &named),
        Carried::Packets { .. } => packets::page(&mut page, columns, &rows, &named),
    }
    if rows.is_empty() {
        page.headline = "No point has figures".into();
    }
    let refused = journal.rows().count() - rows.len();
    if refused > 0 {
        page.find(
            "Not possible",
            counted(
                refused,
                "row has no figures; the table says why.",
                "rows have no figures; the table says why.",
            ),
        );
    }
    page.section("All figures", "", vec![everything(journal)]);
    page
}

/// What is found of links: which point is the fastest, and which takes least of the calling core.
fn links(page: &mut Page, columns: &Columns, rows: &[&Row], named: &[&str]) {
    // Lengths of messages are not compared with each other: each has a best point.
    let sizes = distinct(rows, columns, "bytes");
    let figure = |row: &Row, column: &str| columns.cell(row, column).parse().unwrap_or(f64::NAN);
    let with: Vec<&str> = named.iter().copied().filter(|name| *name != "bytes").collect();
    let label = |row: &Row| place_of(columns, row, &with);
    for (at, bytes) in sizes.iter().enumerate() {
        let own: Vec<(String, &Row)> = rows
            .iter()
            .filter(|row| columns.cell(row, "bytes") == *bytes)
            .map(|row| (label(row), *row))
            .collect();
        let contenders = |column: &'static str, unit: f64| {
            own.iter().map(move |(name, row)| Contender {
                name,
                figure: figure(row, column) / unit,
                rounds: &[],
            })
        };
        let Some(fastest) = best(contenders("rtt_median_ns", 1e3), false, true) else { continue };
        let said = format!(
            "{} with {}{}.",
            fastest.first.name,
            micros(fastest.first.figure),
            fastest.beside(micros)
        );
        if at == 0 {
            let value = micros(fastest.first.figure);
            page.headline =
                format!("{bytes} bytes: {} is the fastest, {value}", fastest.first.name);
            page.why = format!("Median round trip: {said}");
        } else {
            page.find(format!("{bytes} bytes: shortest median round trip"), said);
        }
        let percent = |load: f64| format!("{} %", number(load));
        if let Some(least) = best(contenders("caller_percent", 1.0), false, true) {
            let said = format!(
                "{} with {}{}.",
                least.first.name,
                percent(least.first.figure),
                least.beside(percent)
            );
            page.find(format!("{bytes} bytes: least load of the calling core"), said);
        }
    }
    let trips = Measure {
        title: "Median round trip by size, in µs",
        sizes: "bytes",
        figures: ("rtt_median_ns", 1e3, "median round trip"),
        label: "µs, logarithmic",
        log: true,
    };
    let mut charts = vec![by_size(columns, rows, &with, &trips), spread(columns, rows, named)];
    charts.retain(|chart| !chart.is_empty());
    page.first = (!charts.is_empty()).then(|| charts.remove(0));
    page.section("Round trips", "", charts);
    page.section("Load against latency", "", vec![scatter(columns, rows, named)]);
}

pub(super) fn distinct<'a>(rows: &[&'a Row], columns: &Columns, name: &str) -> Vec<&'a str> {
    let mut all = Vec::new();
    for row in rows {
        let cell = columns.cell(row, name);
        if !all.contains(&cell) {
            all.push(cell);
        }
    }
    all
}

/// What tells a row from others, in short.
pub(super) fn place_of(columns: &Columns, row: &Row, named: &[&str]) -> String {
    // A key that is set says what its value is of; the names of the other columns say nothing new.
    let cells = named.iter().map(|name| (own_name(name), columns.cell(row, name)));
    let cells = cells.filter(|(_, cell)| !cell.is_empty()).map(|(key, cell)| match key {
        Some(key) => format!("{key}={cell}"),
        None => cell.to_owned(),
    });
    let cells: Vec<String> = cells.collect();
    if cells.is_empty() { "the only one".into() } else { cells.join(", ") }
}

/// The last two words of a key that is set; none of another column.
fn own_name(column: &str) -> Option<&str> {
    let (before, _) = column.rsplit_once('.')?;
    Some(before.rfind('.').map_or(column, |at| &column[at + 1..]))
}

/// What a chart by size is of.
pub(super) struct Measure {
    pub title: &'static str,
    /// The column that has sizes.
    pub sizes: &'static str,
    /// The column that has figures, by which they are divided, and what they then are.
    pub figures: (&'static str, f64, &'static str),
    /// What is written beside the axis.
    pub label: &'static str,
    pub log: bool,
}

/// A line for each place, if it has several sizes.
pub(super) fn by_size(columns: &Columns, rows: &[&Row], with: &[&str], of: &Measure) -> Chart {
    let Measure { title, sizes, figures: (column, unit, name), label, log } = *of;
    let mut data = Data::new(&["place", sizes, name]);
    if distinct(rows, columns, sizes).len() > 1 {
        for row in rows {
            data.row([
                Cell::from(place_of(columns, row, with)),
                number_of(columns, row, sizes, 1.0),
                number_of(columns, row, column, unit),
            ]);
        }
    }
    Chart {
        title: title.into(),
        says: String::new(),
        kind: Some(Kind::Lines {
            series: Some("place".into()),
            x: sizes.into(),
            y: name.into(),
            limit: None,
            x_label: "bytes, logarithmic".into(),
            y_label: label.into(),
            log_x: true,
            log_y: log,
            step: false,
        }),
        data,
    }
}

fn number_of(columns: &Columns, row: &Row, name: &str, unit: f64) -> Cell {
    columns.cell(row, name).parse::<f64>().ok().map(|figure| figure / unit).into()
}

fn spread(columns: &Columns, rows: &[&Row], named: &[&str]) -> Chart {
    let names: Vec<&str> = ["place"].into_iter().chain(POINTS.map(|(name, _)| name)).collect();
    let mut data = Data::new(&names);
    for row in rows.iter().take(BARS) {
        let figures = POINTS.map(|(_, column)| number_of(columns, row, column, 1e3));
        data.row([Cell::from(place_of(columns, row, named))].into_iter().chain(figures));
    }
    let says = match rows.len() > BARS {
        true => format!("The first {BARS} of {}; all are in the table below.", rows.len()),
        false => String::new(),
    };
    Chart {
        title: "Round trips, in µs".into(),
        says,
        kind: Some(Kind::Spread {
            label: "place".into(),
            points: POINTS.map(|(name, _)| name.to_owned()).into(),
            unit: "µs, logarithmic".into(),
            log: true,
        }),
        data,
    }
}

fn scatter(columns: &Columns, rows: &[&Row], named: &[&str]) -> Chart {
    let mut data = Data::new(&["place", "load of the caller", "round trip", "on the front"]);
    let figure = |row: &Row, name| columns.cell(row, name).parse().unwrap_or(f64::INFINITY);
    let points: Vec<(f64, f64)> = rows
        .iter()
        .map(|row| (figure(row, "caller_percent"), figure(row, "rtt_median_ns")))
        .collect();
    for (row, on) in rows.iter().zip(front(&points)) {
        data.row([
            Cell::from(place_of(columns, row, named)),
            number_of(columns, row, "caller_percent", 1.0),
            number_of(columns, row, "rtt_median_ns", 1e3),
            on.into(),
        ]);
    }
    if data.rows.len() < 2 {
        data.rows.clear();
    }
    Chart {
        title: "Load of the calling core against median round trip".into(),
        says: "A point on the front has no other that is better in both.".into(),
        kind: Some(Kind::Scatter {
            label: "place".into(),
            x: "load of the caller".into(),
            y: "round trip".into(),
            front: "on the front".into(),
            x_label: "load of the calling core, %".into(),
            y_label: "median round trip, µs, logarithmic".into(),
            log_y: true,
            front_means: "on the front".into(),
            others_mean: "another is better in both".into(),
        }),
        data,
    }
}

/// Every row, as the file of rows has it.
fn everything(journal: &Journal) -> Chart {
    let rows: Vec<_> = journal.rows().map(|row| journal.columns.named(row)).collect();
    Chart::table("Every row", "", Data::of(&rows))
}
