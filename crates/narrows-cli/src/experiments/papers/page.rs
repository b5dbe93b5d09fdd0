//! The page of published figures: how far ours are from them.

use super::figures::{Experiment, Role};
use super::row::{Row, Shown};
use super::text::summary;
use crate::base::machine::Machine;
use crate::base::page::Page;
use crate::base::page::chart::{Cell, Chart, Data, Kind};
use crate::base::table::{counted, one_line};

/// Misses that are told.
const MISSES: usize = 6;
/// Checks in the first chart.
const CHECKS: usize = 14;

/// The page.
pub(super) fn page(
    machine: &Machine,
    experiments: &[(&Experiment, Vec<Row>)],
    notes: &[String],
) -> Page {
    let rows: Vec<&Row> = experiments.iter().flat_map(|(_, rows)| rows).collect();
    let checks = rows.iter().filter(|row| row.role == Role::Check);
    let (count, good) = (checks.clone().count(), checks.filter(|row| row.good()).count());
    let mut page = Page::new("papers: published figures beside the simulator's", machine);
    page.headline = match count - good {
        0 => format!("All {count} checks, published figures and orders, come out as they should"),
        missed => format!(
            "{good} of {count} checks, published figures and orders, come out, {missed} do not"
        ),
    };
    page.why = one_line(&summary(&rows));
    let mut missed: Vec<&&Row> = rows.iter().filter(|row| !row.good()).collect();
    let off = |row: &Row| row.error_percent.map_or(f64::INFINITY, f64::abs);
    missed.sort_by(|one, other| off(other).total_cmp(&off(one)));
    for row in missed.iter().take(MISSES) {
        let said = match row.error_percent {
            Some(error) => format!("{error:+.1} % from what was published"),
            None => "An order or a bound that does not hold".to_owned(),
        };
        let why = row.explained.as_deref().unwrap_or("not explained");
        page.find(format!("Missed: {} ({})", row.what, row.id), format!("{said}: {why}."));
    }
    if missed.len() > MISSES {
        let more = counted(missed.len() - MISSES, "miss is", "misses are");
        page.find("And more", format!("{more} in the tables below, each with its reason."));
    }
    page.notes = notes.to_vec();
    page.notes.push(format!(
        "an input is a figure that the simulator was set from and may be off by {} %; a check has to \
         come out by itself, within {} %",
        Role::Input.allowed_percent(),
        Role::Check.allowed_percent()
    ));
    page.first = Some(farthest(&rows));
    let charts = experiments.iter().map(|(of, rows)| {
        let named = rows.iter().map(|row| (row.what.clone(), row));
        errors(format!("{}, {}: error of ours in percent", of.id, of.at), &of.what, named)
    });
    page.section("Each experiment", "A mark at 0 is what was published.", charts.collect());
    let tables = experiments.iter().map(|(of, rows)| table(of, rows)).collect();
    page.section("All figures", "", tables);
    page
}

/// The checks that are farthest from what was published.
fn farthest(rows: &[&Row]) -> Chart {
    let mut checks: Vec<(&Row, f64)> = rows
        .iter()
        .filter(|row| row.role == Role::Check)
        .filter_map(|row| Some((*row, row.error_percent?.abs())))
        .collect();
    checks.sort_by(|one, other| other.1.total_cmp(&one.1));
    let named = checks.iter().take(CHECKS).map(|(row, _)| (row.id.clone(), *row));
    errors("Checks farthest from what was published, in percent".into(), "", named)
}

/// The errors of figures with their names, in percent.
fn errors<'a>(title: String, says: &str, rows: impl Iterator<Item = (String, &'a Row)>) -> Chart {
    let mut data =
        Data::new(&["figure", "published", "ours", "unit", "error %", "as it should be"]);
    for (name, row) in rows {
        let (Shown::Figure(published), Shown::Figure(ours)) = (&row.published, &row.ours) else {
            continue;
        };
        let Some(error) = row.error_percent else { continue };
        data.row([
            Cell::from(name),
            (*published).into(),
            (*ours).into(),
            Cell::from(&row.unit),
            error.into(),
            row.good().into(),
        ]);
    }
    Chart {
        title,
        says: says.to_owned(),
        kind: Some(Kind::Interval {
            label: "figure".into(),
            value: "error %".into(),
            low: None,
            high: None,
            bound: None,
            sure: Some("as it should be".into()),
            means: "as near as it has to be".into(),
            otherwise: "missed".into(),
            reference: 0.0,
            reference_means: "published".into(),
            unit: "% above what was published".into(),
            log: false,
        }),
        data,
    }
}

fn table(experiment: &Experiment, rows: &[Row]) -> Chart {
    let mut data = Data::new(&[
        "id",
        "what",
        "published",
        "ours",
        "unit",
        "error %",
        "role",
        "as it should be",
        "why not",
    ]);
    for row in rows {
        data.row([
            Cell::from(&row.id),
            Cell::from(&row.what),
            shown(&row.published),
            shown(&row.ours),
            Cell::from(&row.unit),
            row.error_percent.into(),
            Cell::from(row.role.name()),
            row.good().into(),
            row.explained.as_ref().filter(|_| !row.good()).into(),
        ]);
    }
    Chart::table(format!("{}, {}", experiment.id, experiment.at), experiment.what.as_str(), data)
}

fn shown(shown: &Shown) -> Cell {
    match shown {
        Shown::Figure(figure) => (*figure).into(),
        Shown::Order(keys) => keys.join(" > ").into(),
    }
}
