//! The page of a comparison.

use super::Compared;
use super::carried::Refused;
use super::row::Row;
use crate::base::page::Page;
use crate::base::page::chart::{Cell, Chart, Data, Kind};
use crate::base::page::words::figure;

/// Changes that are told in words, and that are drawn.
const TOLD: usize = 6;
const DRAWN: usize = 40;

/// The page.
pub(super) fn page(compared: &Compared) -> Page {
    let [before, after] = &compared.files;
    let mut page = Page::new(format!("compare {before} with {after}"), &compared.report.machine);
    // Where the figures are from is not here, as far as anybody knows.
    page.here = false;
    let rows = compared.sorted();
    let [changed, ..] = compared.counts();
    let summary = compared.summary();
    let mut characters = summary.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    page.headline = first.unwrap_or_default() + characters.as_str();
    page.why = match rows.first() {
        Some(row) if changed > 0 => format!("The largest change: {}", told(row)),
        _ if compared.unlike() > 0 => "Some was not compared: other traffic was carried.".into(),
        _ => "No change is larger than what rounds of the same run differ by.".into(),
    };
    for row in rows.iter().take(changed).skip(1).take(TOLD) {
        page.find(row.name.as_str(), told(row));
    }
    if changed > TOLD + 1 {
        page.find("And more", format!("{} more changed by more than noise.", changed - TOLD - 1));
    }
    page.notes.clone_from(&compared.report.notes);
    page.first = Some(chart(&rows));
    page.section("All figures", "", vec![table(&rows)]);
    let only = compared.only.iter().zip(&compared.files).map(|(names, file)| {
        let mut data = Data::new(&["figure"]);
        names.iter().for_each(|name| data.row([Cell::from(name)]));
        Chart::table(format!("Only in {file}"), "", data)
    });
    if !compared.refused.is_empty() {
        page.section("Refused", "", vec![refused(&compared.refused)]);
    }
    page.section("Not in both", "", only.collect());
    page
}

fn refused(rows: &[Refused]) -> Chart {
    let mut data = Data::new(&["flow and strategy", "before", "after"]);
    for Refused { name, before, after } in rows {
        data.row([Cell::from(name), before.as_ref().into(), after.as_ref().into()]);
    }
    Chart::table("What could not be carried, and why", "", data)
}

fn told(row: &Row) -> String {
    let (before, after) = (figure(row.before, &row.unit), figure(row.after, &row.unit));
    let change = row.change_percent.map_or(String::new(), |change| format!(", {change:+.1} %"));
    let interval = row
        .interval_percent
        .filter(|[low, high]| low != high)
        .map(|[low, high]| format!(" (95 %: {low:+.1} to {high:+.1} %)"));
    let word = match row.better() {
        Some(true) => "better",
        Some(false) => "worse",
        None => "the same",
    };
    format!(
        "{} was {before} and is {after}{change}{}: {word}.",
        row.name,
        interval.unwrap_or_default()
    )
}

/// The changes whose noise is known.
fn chart(rows: &[&Row]) -> Chart {
    let mut data = Data::new(&["figure", "change %", "from %", "to %", "more than noise"]);
    let known = rows.iter().filter(|row| row.significant.is_some() && row.change_percent.is_some());
    let count = known.clone().count();
    for row in known.take(DRAWN) {
        let mut name = row.name.clone();
        if data.rows.iter().any(|known| known.first() == Some(&Cell::from(&name))) {
            name += &format!(", {}", row.unit);
        }
        data.row([
            Cell::from(name),
            row.change_percent.into(),
            row.interval_percent.map(|[low, _]| low).into(),
            row.interval_percent.map(|[_, high]| high).into(),
            row.significant.into(),
        ]);
    }
    let says = match count > DRAWN {
        true => format!("The first {DRAWN} of {count}; all are in the table. "),
        false => String::new(),
    };
    Chart {
        title: "Change of each figure in percent, with its interval of 95 %".into(),
        says: says + "An interval that reaches over 0 may be noise.",
        kind: Some(Kind::Interval {
            label: "figure".into(),
            value: "change %".into(),
            low: Some("from %".into()),
            high: Some("to %".into()),
            bound: None,
            sure: Some("more than noise".into()),
            means: "more than noise".into(),
            otherwise: "may be noise".into(),
            reference: 0.0,
            reference_means: "no change".into(),
            unit: "% more than before".into(),
            log: false,
        }),
        data,
    }
}

fn table(rows: &[&Row]) -> Chart {
    let mut data = Data::new(&[
        "figure",
        "before",
        "after",
        "unit",
        "change %",
        "from %",
        "to %",
        "more than noise",
        "why not known",
    ]);
    for row in rows {
        data.row([
            Cell::from(&row.name),
            row.before.into(),
            row.after.into(),
            Cell::from(&row.unit),
            row.change_percent.into(),
            row.interval_percent.map(|[low, _]| low).into(),
            row.interval_percent.map(|[_, high]| high).into(),
            row.significant.into(),
            row.reason.as_ref().into(),
        ]);
    }
    Chart::table("Every figure, those first that changed most", "", data)
}
