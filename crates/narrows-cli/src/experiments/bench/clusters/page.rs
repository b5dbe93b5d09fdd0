//! Pages of packets between clusters: the charts of S3's figures 4 to 7, from our figures.

use super::{pingpong, throughput};
use crate::base::page::Page;
use crate::base::page::chart::{Cell, Chart, Data, Kind};
use crate::base::report::Report;
use serde::Serialize;

/// The page of packets one way: how much is carried beside the limit, and at which efficiency.
pub(super) fn throughput(report: &Report<throughput::Row>) -> Page {
    let rows = &report.results;
    let rate = rows.iter().map(|row| {
        (row.mechanism, row.packet_bytes, row.throughput_mbit_s, Some(row.limit_mbit_s))
    });
    let efficiency =
        rows.iter().map(|row| (row.mechanism, row.packet_bytes, row.efficiency_percent, None));
    let first = Chart {
        says: "Dashed is what a CPU writes to its cluster's shared memory.".into(),
        ..by_size("Throughput by size of packets", ("Mbit/s", true), rate)
    };
    let efficiency = by_size("Efficiency by size of packets", ("percent", false), efficiency);
    page(report, first, vec![efficiency])
}

/// The page of round trips: of one packet and of the whole in packets, and their efficiency.
pub(super) fn pingpong(report: &Report<pingpong::Row>) -> Page {
    let of = |one: bool| {
        let alike = move |row: &&pingpong::Row| {
            if one { row.packets == 1 } else { row.packets == pingpong::TOTAL / row.packet_bytes }
        };
        report.results.iter().filter(alike)
    };
    let trips = |title, one| {
        let figures = of(one).map(|row| (row.mechanism, row.packet_bytes, row.round_trip_us, None));
        by_size(title, ("µs", true), figures)
    };
    let efficiency =
        of(false).map(|row| (row.mechanism, row.packet_bytes, row.efficiency_percent, None));
    let charts = vec![
        trips("Round trip of 8 KiB in packets", false),
        by_size("Efficiency of 8 KiB there and back", ("percent", false), efficiency),
    ];
    page(report, trips("Round trip of one packet", true), charts)
}

fn page<R: Serialize>(report: &Report<R>, first: Chart, charts: Vec<Chart>) -> Page {
    let mut page = Page::of(report);
    let all = page.first.replace(first);
    page.section("By size of packets", "", charts);
    page.section("All figures", "", all.into_iter().collect());
    page
}

/// A line for each mechanism, of figures by the size of packets: the mechanism, bytes, the figure
/// and its limit.
fn by_size(
    title: &str,
    (unit, log): (&str, bool),
    figures: impl Iterator<Item = (&'static str, u32, f64, Option<f64>)>,
) -> Chart {
    let mut data = Data::new(&["mechanism", "bytes", "value", "limit"]);
    let mut limited = false;
    for (mechanism, bytes, value, limit) in figures {
        limited |= limit.is_some();
        data.row([Cell::from(mechanism), u64::from(bytes).into(), value.into(), limit.into()]);
    }
    let label = if log { format!("{unit}, logarithmic") } else { unit.to_owned() };
    Chart {
        title: title.into(),
        says: String::new(),
        kind: Some(Kind::Lines {
            series: Some("mechanism".into()),
            x: "bytes".into(),
            y: "value".into(),
            limit: limited.then(|| "limit".into()),
            x_label: "bytes of a packet, logarithmic".into(),
            y_label: label,
            log_x: true,
            log_y: log,
            step: false,
        }),
        data,
    }
}
