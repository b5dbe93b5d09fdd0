//! Packets between clusters: what `bench throughput` and `bench pingpong` measure, at a point of a
//! sweep, and what its page says of them.

use super::page::{Measure, by_size, distinct, place_of};
use super::rows::{Columns, Row};
use crate::base::failure::{Failure, Kind};
use crate::base::options::Global;
use crate::base::page::Page;
use crate::base::page::words::{Contender, best, micros};
use crate::base::table::{number, one_line};
use crate::experiments::bench::clusters::ends::Ends;
use crate::experiments::bench::clusters::{pingpong, throughput};
use crate::rig::cluster::Mechanism;
use narrows_sim::chip::Chip;

/// Columns behind the keys, and those of figures, with why there are none.
pub(super) const BEHIND: [&str; 2] = ["mechanism", "packet_bytes"];
pub(super) const FIGURES: [&str; 5] =
    ["refused", "hops", "throughput_mbit_s", "efficiency_percent", "round_trip_us"];

/// Simulates a point: the cells of its row behind the keys that are set.
///
/// # Errors
/// The cores that the command line names cannot be, or packets are lost.
pub(super) fn simulate(
    global: &Global,
    chip: &Chip,
    mechanism: Mechanism,
    bytes: u32,
) -> Result<Vec<String>, Failure> {
    let ends = Ends::asked(global, chip)?;
    let one_way = throughput::row(chip, None, ends, mechanism, bytes);
    let trip = pingpong::row(chip, None, ends, mechanism, (bytes, 1));
    let mut cells = vec![mechanism.name().to_owned(), bytes.to_string()];
    match one_way.and_then(|one_way| Ok((one_way, trip?))) {
        Ok((one_way, trip)) => {
            cells.extend([String::new(), one_way.hops.to_string()]);
            let figures =
                [one_way.throughput_mbit_s, one_way.efficiency_percent, trip.round_trip_us];
            cells.extend(figures.map(|figure| format!("{figure:.3}")));
        }
        // A FIFO has no room, or credit never comes back: that is found, too.
        Err(failure) if failure.kind == Kind::Workload => {
            cells.push(one_line(&failure.to_string()));
            cells.resize(BEHIND.len() + FIGURES.len(), String::new());
        }
        Err(failure) => return Err(failure),
    }
    Ok(cells)
}

/// What is found: which point carries most, and which is soonest there and back.
pub(super) fn page(page: &mut Page, columns: &Columns, rows: &[&Row], named: &[&str]) {
    // Packets of different sizes are not compared with each other: each has a best point.
    let sizes = distinct(rows, columns, "packet_bytes");
    let with: Vec<&str> = named.iter().copied().filter(|name| *name != "packet_bytes").collect();
    for (at, bytes) in sizes.iter().enumerate() {
        let own: Vec<(String, &Row)> = rows
            .iter()
            .filter(|row| columns.cell(row, "packet_bytes") == *bytes)
            .map(|row| (place_of(columns, row, &with), *row))
            .collect();
        let contenders = |column: &'static str| {
            own.iter().map(move |(name, row)| {
                let figure = columns.cell(row, column).parse().unwrap_or(f64::NAN);
                Contender { name, figure, rounds: &[] }
            })
        };
        let rate = |rate: f64| format!("{} Mbit/s", number(rate));
        let Some(most) = best(contenders("throughput_mbit_s"), true, true) else { continue };
        let said =
            format!("{} with {}{}.", most.first.name, rate(most.first.figure), most.beside(rate));
        if at == 0 {
            let (name, most) = (most.first.name, rate(most.first.figure));
            page.headline = format!("packets of {bytes} bytes: {name} carries most, {most}");
            page.why = format!("Throughput: {said}");
        } else {
            page.find(format!("{bytes} bytes: highest throughput"), said);
        }
        if let Some(least) = best(contenders("round_trip_us"), false, true) {
            let (name, trip) = (least.first.name, micros(least.first.figure));
            let said = format!("{name} with {trip}{}.", least.beside(micros));
            page.find(format!("{bytes} bytes: shortest round trip of a packet"), said);
        }
    }
    let chart = |title, (column, name), label, log| {
        let figures = (column, 1.0, name);
        let measure = Measure { title, sizes: "packet_bytes", figures, label, log };
        by_size(columns, rows, &with, &measure)
    };
    let (rate, efficiency) = ("throughput_mbit_s", "efficiency_percent");
    let mut charts = vec![
        chart("Throughput by size of packets", (rate, "Mbit/s"), "Mbit/s, logarithmic", true),
        chart("Efficiency by size of packets", (efficiency, "percent"), "percent", false),
        chart("Round trip of one packet", ("round_trip_us", "round trip"), "µs, logarithmic", true),
    ];
    charts.retain(|chart| !chart.is_empty());
    page.first = (!charts.is_empty()).then(|| charts.remove(0));
    page.section("By size of packets", "", charts);
}
