//! A comparison for a screen of 80 columns: the sum first, then what changed.

use super::Compared;
use super::row::Row;
use crate::base::table::{self, Align, Table, number};

/// Rows that are printed besides those that changed.
const ROWS: usize = 40;
/// Names that are listed.
const NAMES: usize = 6;

/// The whole text.
pub(super) fn text(compared: &Compared) -> String {
    let [before, after] = &compared.files;
    let mut text = table::wrap("", &compared.summary());
    text += &table::wrap("", &format!("before: {before}; after: {after}"));
    let [changed, ..] = compared.counts();
    let rows = compared.sorted();
    let shown = rows.len().min(changed + ROWS);
    let mut table = Table::new(&[
        ("", Align::Left),
        ("before", Align::Right),
        ("after", Align::Right),
        ("unit", Align::Left),
        ("change", Align::Right),
        ("95 %", Align::Right),
        ("", Align::Left),
    ]);
    for row in rows.iter().take(shown) {
        table.row(cells(row));
    }
    text.push('\n');
    let lines = table.render();
    let mut lines = lines.lines().map(|line| format!("{line}\n"));
    text.extend(lines.next());
    let mut before = None;
    for (row, line) in rows.iter().zip(lines) {
        if before.replace(&row.of) != Some(&row.of) {
            text += &format!("{}\n", table::shorten(&row.of, table::WIDTH));
        }
        text += &line;
    }
    if shown < rows.len() {
        text += &format!("and {} more, all with --json\n", rows.len() - shown);
    }
    if !compared.refused.is_empty() {
        text += "\nrefused:\n";
    }
    for row in compared.refused.iter().take(ROWS) {
        let said = |what: &Option<String>| what.clone().unwrap_or_else(|| "not refused".into());
        let said = match (&row.before, &row.after) {
            (Some(before), Some(after)) if before == after => format!("before and after: {before}"),
            (before, after) => format!("before: {}; after: {}", said(before), said(after)),
        };
        text += &table::wrap("  ", &format!("{}: {said}", row.name));
    }
    if compared.refused.len() > ROWS {
        text += &format!("and {} more, all with --json\n", compared.refused.len() - ROWS);
    }
    text.push('\n');
    for note in &compared.report.notes {
        text += &table::wrap("- ", note);
    }
    text
}

fn cells(row: &Row) -> Vec<String> {
    let percent = |change: f64| match change.abs() {
        size if size >= 1000.0 => format!("{change:+.1e} %"),
        size if size >= 100.0 => format!("{change:+.0} %"),
        _ => format!("{change:+.1} %"),
    };
    let bare = |change: f64| percent(change).trim_end_matches(" %").to_owned();
    let interval = row.interval_percent.filter(|[low, high]| low != high);
    vec![
        format!("  {}", row.what),
        number(row.before),
        number(row.after),
        row.unit.clone(),
        row.change_percent.map_or_else(|| "-".into(), percent),
        interval.map(|[low, high]| format!("{} {}", bare(low), bare(high))).unwrap_or_default(),
        match (row.significant, row.better()) {
            _ if !row.same_traffic => "other",
            (None, _) => "?",
            (_, Some(true)) => "better",
            (_, Some(false)) => "WORSE",
            _ => "same",
        }
        .into(),
    ]
}

/// The first of some names, and how many more there are.
pub(super) fn shortened(names: &[String]) -> String {
    let first = names.iter().take(NAMES).cloned().collect::<Vec<_>>().join("; ");
    match names.len().saturating_sub(NAMES) {
        0 => first,
        more => format!("{first}; and {more} more"),
    }
}
