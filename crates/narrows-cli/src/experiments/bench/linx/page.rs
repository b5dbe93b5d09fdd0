//! The page of `bench t0` to `t6`.

use super::{Case, Row};
use crate::base::machine::Machine;
use crate::base::page::Page;
use crate::base::page::chart::{Cell, Chart, Data, Kind};
use crate::base::page::words::{Contender, best};
use crate::base::table::{listed, number};

/// Series of signals that can be told apart in one chart.
const SERIES: usize = 8;
const POINTS: [&str; 5] = ["min", "median", "mean", "p99", "max"];

/// The page.
pub(super) fn page(name: &str, case: Case, machine: &Machine, rows: &[Row], clock: &str) -> Page {
    let mut page = Page::new(format!("bench {name}"), machine);
    page.notes
        .push(format!("{clock}. Latency is from just before send until receive has returned."));
    let first: Vec<&Row> =
        rows.iter().filter(|row| matches!(row.signal, "request" | "burst")).collect();
    let sizes = distinct(&first);
    for (at, bytes) in sizes.iter().enumerate() {
        let own: Vec<(String, &Row)> = first
            .iter()
            .filter(|row| row.bytes == *bytes)
            .map(|row| (label(row, rows), *row))
            .collect();
        let contender = |figure: fn(&Row) -> f64| {
            own.iter().map(move |(name, row)| Contender { name, figure: figure(row), rounds: &[] })
        };
        let Some(fastest) =
            best(contender(|row| row.latency_cycles.median), false, machine.r#virtual)
        else {
            continue;
        };
        let cycles = |value: f64| format!("{} cycles", number(value));
        let said = format!(
            "{} with {}{}.",
            fastest.first.name,
            cycles(fastest.first.figure),
            fastest.beside(cycles)
        );
        if at == 0 {
            page.headline = format!(
                "{} has the shortest latency: {} of {bytes} bytes, {}",
                fastest.first.name,
                own.first().map_or("a signal", |(_, row)| row.signal),
                cycles(fastest.first.figure)
            );
            page.why = format!("Median latency: {said}");
        } else {
            page.find(format!("{bytes} bytes: shortest median latency"), said);
        }
        for (about, figure) in [
            ("blocks its sender least", (|row| row.blocking_cycles.median) as fn(&Row) -> f64),
            ("has the least worst latency", |row| row.latency_cycles.max),
        ] {
            if let Some(least) = best(contender(figure), false, machine.r#virtual) {
                let said = format!(
                    "{} with {}{}.",
                    least.first.name,
                    cycles(least.first.figure),
                    least.beside(cycles)
                );
                page.find(format!("{bytes} bytes: {about}"), said);
            }
        }
    }
    page.find("Endpoint below", at_once(rows));
    let series = series(rows, name);
    let latencies = latencies(rows);
    let beside = match case {
        Case::Burst | Case::Interference if !series.is_empty() => {
            page.first = Some(series);
            vec![latencies]
        }
        _ => {
            page.first = Some(latencies);
            vec![series]
        }
    };
    page.section("Latencies", "", beside);
    let mut table = Data::of(rows);
    let skipped = |name: &String| name == "signals";
    let kept: Vec<usize> = (0..table.columns.len())
        .filter(|at| table.columns.get(*at).is_some_and(|name| !skipped(name)))
        .collect();
    table.rows = table
        .rows
        .iter()
        .map(|row| kept.iter().filter_map(|at| row.get(*at).cloned()).collect())
        .collect();
    table.columns.retain(|name| !skipped(name));
    page.section("All figures", "", vec![Chart::table("Each flow and purpose", "", table)]);
    page
}

fn distinct(rows: &[&Row]) -> Vec<usize> {
    let mut sizes: Vec<usize> = rows.iter().map(|row| row.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// A name that no other row of the same signal and size has.
fn label(row: &Row, rows: &[Row]) -> String {
    let mut words = vec![row.driver.to_owned(), row.stack.to_owned()];
    words.extend(row.counter.map(str::to_owned));
    words.extend(row.mtu.map(|mtu| format!("frames of {mtu}")));
    if rows.iter().any(|one| (one.from, one.to) != (row.from, row.to) && one.signal == row.signal) {
        words.push(format!("{} to {}", row.from, row.to));
    }
    words.join(" ")
}

fn at_once(rows: &[Row]) -> String {
    let said: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let once = row.at_once.as_ref()?;
            Some(format!("{} of {} bytes {:.2}", row.stack, row.bytes, once.ratio))
        })
        .collect();
    let words: Vec<&str> = said.iter().map(String::as_str).collect();
    match words.is_empty() {
        true => String::new(),
        false => {
            format!("Round trips of signals divided by those of messages: {}.", listed(&words))
        }
    }
}

fn latencies(rows: &[Row]) -> Chart {
    let columns: Vec<&str> = ["signal"].into_iter().chain(POINTS).collect();
    let mut data = Data::new(&columns);
    for row in rows {
        let name = format!("{} {}, {} B", label(row, rows), row.signal, row.bytes);
        let one = &row.latency_cycles;
        data.row(
            [Cell::from(name)]
                .into_iter()
                .chain([one.min, one.median, one.mean, one.p99, one.max].map(Cell::from)),
        );
    }
    Chart {
        title: "Latency of signals in cycles".into(),
        says: String::new(),
        kind: Some(Kind::Spread {
            label: "signal".into(),
            points: POINTS.map(str::to_owned).into(),
            unit: "cycles, logarithmic".into(),
            log: true,
        }),
        data,
    }
}

/// The latency of each signal, in the order of sending.
fn series(rows: &[Row], name: &str) -> Chart {
    let mut data = Data::new(&["driver and stack", "signal", "latency"]);
    let mut shown: Vec<&Row> = rows.iter().filter(|row| !row.signals.is_empty()).collect();
    shown.sort_by(|one, other| one.latency_cycles.median.total_cmp(&other.latency_cycles.median));
    for row in shown.iter().take(SERIES) {
        let name = format!("{}, {} B", label(row, rows), row.bytes);
        for (at, signal) in row.signals.iter().enumerate() {
            data.row([Cell::from(&name), (at + 1).into(), signal.latency_cycles.into()]);
        }
    }
    let cut = match shown.len() > SERIES {
        true => format!("The {SERIES} with the shortest median latencies."),
        false => String::new(),
    };
    Chart {
        title: format!("{name}: latency of each signal in the order of sending, in cycles"),
        says: cut,
        kind: Some(Kind::Lines {
            series: Some("driver and stack".into()),
            x: "signal".into(),
            y: "latency".into(),
            limit: None,
            x_label: "number of the signal".into(),
            y_label: "cycles".into(),
            log_x: false,
            log_y: false,
            step: false,
        }),
        data,
    }
}
