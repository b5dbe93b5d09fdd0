//! The model beside the simulator, as text.

use super::row::{CaseRow, FlowRow, LOAD, P99};
use crate::base::report::Report;
use crate::base::statistics::percentile;
use crate::base::table::{Align, Table, wrap};

/// Cases that are named for each line.
const WORST: usize = 5;

/// A figure of a case: by how much it is off.
struct Off {
    case: u32,
    off: f64,
}

/// The part that is within, in percent, and the farthest.
fn judged(what: &str, mut all: Vec<Off>, within: f64) -> String {
    let count = all.iter().filter(|one| one.off.abs() <= within).count();
    all.sort_by(|a, b| b.off.abs().total_cmp(&a.off.abs()));
    let worst: Vec<String> = all
        .iter()
        .take(WORST)
        .map(|one| format!("{:+.0} % in case {}", one.off * 100.0, one.case))
        .collect();
    let percent = 100.0 * count as f64 / all.len().max(1) as f64;
    format!(
        "{what} within {:.0} %: {count} of {} ({percent:.1} %); farthest {}.",
        within * 100.0,
        all.len(),
        worst.join(", ")
    )
}

/// What came of it, in sentences.
pub(super) fn notes(rows: &[CaseRow], seed: u64, callees: bool) -> Vec<String> {
    let callees = if callees { " --callees" } else { "" };
    let flows = || rows.iter().flat_map(|row| row.flows.iter().map(move |flow| (row, flow)));
    let mut bounds: Vec<Off> =
        flows().map(|(row, flow)| Off { case: row.case, off: flow.taken() }).collect();
    bounds.sort_by(|a, b| b.off.total_cmp(&a.off));
    let exceeded = bounds.iter().filter(|one| one.off > 1.0).count();
    let nearest: Vec<String> = bounds
        .iter()
        .take(WORST)
        .map(|one| format!("{:.1} % of it in case {}", one.off * 100.0, one.case))
        .collect();
    let loads = rows.iter().filter_map(|row| Some(Off { case: row.case, off: row.load_off()? }));
    let p99 = flows().filter_map(|(row, flow)| Some(Off { case: row.case, off: flow.p99_off()? }));
    vec![
        format!(
            "{} workloads with {} flows of seed {seed}; each again by --seed {seed}{callees} --case N.",
            rows.len(),
            bounds.len()
        ),
        judged("Load", loads.collect(), LOAD),
        format!(
            "Latency bound exceeded: {exceeded} of {}; longest {}.",
            bounds.len(),
            nearest.join(", ")
        ),
        judged("99th percentile", p99.collect(), P99),
    ]
}

pub(super) fn text(report: &Report<CaseRow>, files: &[String]) -> String {
    let mut text: String = report.notes.iter().map(|note| wrap("", note)).collect();
    text.push('\n');
    text.push_str(&groups(&report.results));
    if let [row] = report.results.as_slice() {
        text.push('\n');
        text.push_str(&one(row));
        files.iter().for_each(|file| text.push_str(&format!("\n{file}")));
    }
    text
}

/// By chip and notification: how many figures are within, and, in percent, the largest part of a
/// bound and what 95 of 100 are within.
fn groups(rows: &[CaseRow]) -> String {
    let mut table = Table::new(&[
        ("chip", Align::Left),
        ("told by", Align::Left),
        ("load", Align::Right),
        ("bound", Align::Right),
        ("p99", Align::Right),
        ("of bound", Align::Right),
        ("load ±", Align::Right),
        ("p99 ±", Align::Right),
    ]);
    let how = |row: &CaseRow| {
        let [one] = row.strategies.as_slice() else { return "mixed".to_owned() };
        let word = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
        let how = word(one.split('/').nth(1).unwrap_or_default());
        match one.split('/').find_map(|word| word.strip_prefix("callee=")) {
            Some(callee) => format!("{how}, callee {}", word(callee)),
            None => how,
        }
    };
    let key = |row: &CaseRow| (row.platform.clone(), how(row));
    let mut keys: Vec<(String, String)> = rows.iter().map(key).collect();
    keys.sort();
    keys.dedup();
    for named in keys {
        let of: Vec<&CaseRow> = rows.iter().filter(|row| key(row) == named).collect();
        let flows: Vec<&FlowRow> = of.iter().flat_map(|row| &row.flows).collect();
        let part = |good: usize, all: usize| match all {
            0 => "-".to_owned(),
            _ => format!("{good}/{all}"),
        };
        let loads: Vec<f64> = of.iter().filter_map(|row| row.load_off()).collect();
        let p99: Vec<f64> = flows.iter().filter_map(|flow| flow.p99_off()).collect();
        let within = |all: &[f64], most: f64| {
            part(all.iter().filter(|off| off.abs() <= most).count(), all.len())
        };
        let taken = flows.iter().map(|flow| flow.taken()).fold(0.0, f64::max);
        let kept = flows.iter().filter(|flow| flow.taken() <= 1.0).count();
        let (chip, how) = named;
        table.row(vec![
            chip,
            how,
            within(&loads, LOAD),
            part(kept, flows.len()),
            within(&p99, P99),
            format!("{:.1}", taken * 100.0),
            usual(&loads),
            usual(&p99),
        ]);
    }
    table.render()
}

/// Within how many percent 95 of 100 are.
fn usual(all: &[f64]) -> String {
    let mut all: Vec<f64> = all.iter().map(|off| 100.0 * off.abs()).collect();
    all.sort_by(f64::total_cmp);
    percentile(&all, 95).map_or_else(|| "-".to_owned(), |off| format!("{off:.1}"))
}

fn one(row: &CaseRow) -> String {
    let CaseRow { platform, strategies, load_percent, measured_load_percent, .. } = row;
    let mut text = wrap("", &format!("{} on {platform}", strategies.join(", ")));
    text += &format!("load {load_percent:.3} %, measured {measured_load_percent:.3} %\n");
    for flow in &row.flows {
        let p99 = flow.p99_ms.map_or_else(|| "none".to_owned(), |p99| format!("{p99:.4}"));
        let words = format!(
            "{} + {} B, work {:.4} ms, every {:.4} ms, depth {}, burst {}, jitter {:.4} ms: bound {:.4} ms, longest {:.4} ms; \
             p99 {p99} ms, measured {:.4} ms",
            flow.request,
            flow.response,
            flow.work_ms,
            flow.period_ms,
            flow.depth,
            flow.burst,
            flow.jitter_ms,
            flow.bound_ms,
            flow.longest_ms,
            flow.measured_p99_ms
        );
        text.push_str(&wrap("", &words));
    }
    text
}
