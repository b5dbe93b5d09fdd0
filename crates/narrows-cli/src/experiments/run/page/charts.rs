//! The charts of a run.

use super::{Distribution, Flow, PHASES};
use crate::base::page::chart::{Cell, Chart, Data, Kind};
use crate::base::page::words::front;
use crate::base::report::{DecisionRow, RunRow};
use crate::base::statistics::Summary;

/// Lines that can be told apart in one chart.
const SERIES: usize = 8;
const PERCENTILES: [&str; 5] = ["median", "p99", "p99.9", "p99.99", "max"];

fn percentiles_of(one: &Summary) -> [f64; 5] {
    [one.median, one.p99, one.p999, one.p9999, one.max]
}

/// Phases by strategy, the fastest first.
pub(super) fn phases(flow: &Flow<'_>) -> Chart {
    let letters = PHASES.map(|(letter, _)| letter);
    let mut data = Data::new(&["strategy", "A", "B", "C", "D", "E", "round trip"]);
    for row in &flow.rows {
        let Some(parts) = row.phase_medians() else { continue };
        let parts = parts.map(Cell::from);
        data.row(
            [Cell::from(&row.strategy)].into_iter().chain(parts).chain([row.rtt_us.median.into()]),
        );
    }
    Chart {
        title: format!("{}: phases of a call by strategy, medians in µs", flow.name),
        says: "Behind each bar is the sum of its phases.".into(),
        kind: Some(Kind::Stack {
            label: "strategy".into(),
            parts: letters.map(str::to_owned).into(),
            meanings: PHASES.map(|(letter, meaning)| format!("{letter} {meaning}")).into(),
            unit: "µs".into(),
        }),
        data,
    }
}

/// Percentiles of round trips by strategy.
pub(super) fn percentiles(flow: &Flow<'_>) -> Chart {
    let columns: Vec<&str> = ["strategy"].into_iter().chain(PERCENTILES).collect();
    let mut data = Data::new(&columns);
    for row in &flow.rows {
        let figures = percentiles_of(&row.rtt_us).map(Cell::from);
        data.row([Cell::from(&row.strategy)].into_iter().chain(figures));
    }
    Chart {
        title: format!("{}: percentiles of round trips in µs", flow.name),
        says: String::new(),
        kind: Some(Kind::Spread {
            label: "strategy".into(),
            points: PERCENTILES.map(str::to_owned).into(),
            unit: "µs, logarithmic".into(),
            log: true,
        }),
        data,
    }
}

/// The whole distribution of the fastest strategies.
pub(super) fn distribution(flow: &Flow<'_>, all: &[Distribution]) -> Chart {
    let mut data = Data::new(&["strategy", "one of", "round trip"]);
    for row in flow.rows.iter().take(SERIES) {
        let of = |one: &&Distribution| one.flow == flow.name && one.strategy == row.strategy;
        for (one_of, us) in all.iter().find(of).iter().flat_map(|one| &one.points) {
            data.row([Cell::from(&row.strategy), (*one_of).into(), (*us).into()]);
        }
    }
    let says = match flow.rows.len() {
        more if more > SERIES => format!("The {SERIES} strategies with the shortest medians. "),
        _ => String::new(),
    };
    Chart {
        title: format!("{}: what one round trip of N exceeds, in µs", flow.name),
        says: says + "At 100 a line shows p99, at 1000 p99.9.",
        kind: Some(Kind::Lines {
            series: Some("strategy".into()),
            x: "one of".into(),
            y: "round trip".into(),
            limit: None,
            x_label: "N, logarithmic".into(),
            y_label: "µs, logarithmic".into(),
            log_x: true,
            log_y: true,
            step: false,
        }),
        data,
    }
}

/// Load against latency.
pub(super) fn load(flow: &Flow<'_>) -> Chart {
    let points: Vec<(f64, f64)> =
        flow.rows.iter().map(|row| (row.cpu_percent.caller, row.rtt_us.median)).collect();
    let mut data = Data::new(&[
        "strategy",
        "load of the caller",
        "load of the callee",
        "round trip",
        "on the front",
    ]);
    for (row, on) in flow.rows.iter().zip(front(&points)) {
        let load = row.cpu_percent;
        data.row([
            Cell::from(&row.strategy),
            load.caller.into(),
            load.callee.into(),
            row.rtt_us.median.into(),
            on.into(),
        ]);
    }
    if data.rows.len() < 2 {
        data.rows.clear();
    }
    Chart {
        title: format!("{}: load of the calling core against median round trip", flow.name),
        says: "A strategy on the front has no other that is better in both.".into(),
        kind: Some(Kind::Scatter {
            label: "strategy".into(),
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

/// The load that the controller computed, after each of its decisions.
pub(super) fn loads(decisions: &[DecisionRow]) -> Chart {
    over_time(
        decisions,
        "Load of the calling core as the controller computed it",
        "load",
        "%",
        |one| one.load_after_percent,
    )
}

/// Load and memory over time, and each decision.
pub(super) fn decisions(decisions: &[DecisionRow]) -> Vec<Chart> {
    let memory =
        over_time(decisions, "Internal memory that flows have", "memory", "bytes", |one| {
            one.memory_bytes as f64
        });
    let mut data = Data::new(&[
        "at s",
        "cause",
        "flow",
        "reason",
        "load before %",
        "load after %",
        "memory bytes",
        "switches",
    ]);
    for one in decisions {
        let switches = one
            .switches
            .iter()
            .map(|switch| format!("{}: {} to {}", switch.flow, switch.from, switch.to));
        let switches = match &one.refused {
            Some(why) => why.clone(),
            None => switches.collect::<Vec<_>>().join("; "),
        };
        data.row([
            one.at_s.into(),
            Cell::from(&one.cause),
            one.flow.as_ref().into(),
            Cell::from(&one.reason),
            one.load_before_percent.into(),
            one.load_after_percent.into(),
            one.memory_bytes.into(),
            switches.into(),
        ]);
    }
    vec![loads(decisions), memory, Chart::table("Each decision", "", data)]
}

fn over_time(
    decisions: &[DecisionRow],
    title: &str,
    name: &str,
    unit: &str,
    figure: fn(&DecisionRow) -> f64,
) -> Chart {
    let mut data = Data::new(&["at s", name, "cause", "reason"]);
    for one in decisions {
        data.row([
            one.at_s.into(),
            figure(one).into(),
            Cell::from(&one.cause),
            Cell::from(&one.reason),
        ]);
    }
    Chart {
        title: format!("{title}, in {unit}"),
        says: "A point for each decision; the figure holds until the next one.".into(),
        kind: Some(Kind::Lines {
            series: None,
            x: "at s".into(),
            y: name.into(),
            limit: None,
            x_label: "seconds from the beginning".into(),
            y_label: unit.into(),
            log_x: false,
            log_y: false,
            step: true,
        }),
        data,
    }
}

/// Every row.
pub(super) fn everything(rows: &[RunRow]) -> Chart {
    let mut data = Data::new(&[
        "strategy",
        "flow",
        "A µs",
        "B µs",
        "C µs",
        "D µs",
        "E µs",
        "median µs",
        "p99 µs",
        "p99.9 µs",
        "p99.99 µs",
        "max µs",
        "jitter median µs",
        "jitter p99 µs",
        "caller %",
        "callee %",
        "calls/s",
        "bytes/s",
        "sent",
        "lost",
        "late",
        "wrong",
        "refusals",
        "not possible",
    ]);
    for row in rows {
        let medians = row.phase_medians();
        let phases = [0, 1, 2, 3, 4].map(|at| medians.map(|all| all[at]));
        let trips = percentiles_of(&row.rtt_us);
        let figures = trips.into_iter().chain([
            row.jitter_us.median,
            row.jitter_us.p99,
            row.cpu_percent.caller,
            row.cpu_percent.callee,
            row.calls_per_second,
            row.bytes_per_second,
        ]);
        let figures = figures.map(|one| Cell::from((row.received > 0).then_some(one)));
        let counts = [row.sent, row.lost, row.deadline_misses, row.wrong, row.refusals];
        let counts = counts.map(Cell::from);
        let names = [Cell::from(&row.strategy), Cell::from(&row.flow)];
        let refused = Cell::from(row.refused.as_ref());
        data.row(
            names
                .into_iter()
                .chain(phases.map(Cell::from))
                .chain(figures)
                .chain(counts)
                .chain([refused]),
        );
    }
    Chart::table("Every flow by every strategy", "", data)
}
