//! The page of a plan: what each flow is given, what that costs, and what more memory would buy.

use super::row::{FlowRow, PlanRow};
use crate::base::machine::Machine;
use crate::base::page::Page;
use crate::base::page::chart::{Cell, Chart, Data, Kind};
use crate::base::table::{counted, number};

/// Flows whose strategy is told in words.
const FLOWS: usize = 6;

/// The page.
pub(super) fn page(place: &Machine, row: &PlanRow) -> Page {
    let count = counted(row.flows.len(), "flow", "flows");
    let mut page =
        Page::new(format!("tune {}: {count}, least {}", row.workload, row.objective), place);
    let strategies = distinct(&row.flows);
    page.headline = match strategies.as_slice() {
        [one] => format!("{one} for all flows: {} % of the calling core", number(row.load_percent)),
        several => format!(
            "{} strategies for {count}: {} % of the calling core",
            several.len(),
            number(row.load_percent)
        ),
    };
    page.why = why(row);
    for flow in row.flows.iter().take(FLOWS) {
        let next = flow.next.as_ref().map(|next| {
            format!(
                "; next best is {} with {} % and at most {} ms",
                next.strategy,
                number(next.load_percent),
                number(next.latency_bound_ms)
            )
        });
        let deadline = flow.deadline_ms.map(|ms| format!(" of the {} ms that it has", number(ms)));
        let said = format!(
            "{} takes {} % of the calling core and at most {} ms{}{}.",
            flow.strategy,
            number(flow.load_percent),
            number(flow.latency_bound_ms),
            deadline.unwrap_or_default(),
            next.unwrap_or_default()
        );
        page.find(flow.name.as_str(), said);
    }
    page.find("The limit", limits(row));
    if row.gap_percent > 0.0 {
        page.notes.push(format!(
            "the search ended at its limit: another plan could be cheaper by at most {} %",
            number(row.gap_percent)
        ));
    }
    page.notes.push(
        "figures are computed by a model whose constants were measured, not measured themselves"
            .into(),
    );
    let mut charts = vec![bounds(row), front(row)];
    if row.front.len() > 1 {
        charts.swap(0, 1);
    }
    charts.retain(|chart| !chart.is_empty());
    page.first = (!charts.is_empty()).then(|| charts.remove(0));
    page.section("What flows are given", "", charts);
    page.section("All figures", "", vec![Chart::table("Every flow", "", Data::of(&row.flows))]);
    page
}

fn distinct(flows: &[FlowRow]) -> Vec<&str> {
    let mut all: Vec<&str> = flows.iter().map(|flow| flow.strategy.as_str()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What the plan is better than.
fn why(row: &PlanRow) -> String {
    let memory: u64 = row.memory_bytes.iter().sum();
    let mut said = format!(
        "Flows take {memory} bytes of internal memory, of {} on each called core.",
        row.memory_budget_bytes
    );
    if let Some(clock) = row.clock_hz {
        said += &format!(
            " {} MHz are the lowest clock at which there is a plan.",
            number(clock as f64 / 1e6)
        );
    }
    if let Some(alike) = &row.r#static {
        let saved = alike.load_percent - row.load_percent;
        said += &match saved > 0.005 {
            true => format!(
                " The best plan with one strategy for all flows of a kind takes {} %.",
                number(alike.load_percent)
            ),
            false => " One strategy for all flows of a kind is as good.".to_owned(),
        };
    }
    said
}

/// Which limits hold the plan back.
fn limits(row: &PlanRow) -> String {
    let unit = if row.objective == "latency" { "ms" } else { "%" };
    let said = row.binds.iter().map(|bind| {
        let of = bind.flow.as_ref().map_or(String::new(), |flow| format!(" of {flow}"));
        format!(
            "Without the limit of {}{of} there is a plan with {} {unit}.",
            bind.limit,
            number(bind.without)
        )
    });
    let said: Vec<String> = said.collect();
    match said.is_empty() {
        true => "No limit of memory, blocks, time or deadlines holds the plan back.".into(),
        false => said.join(" "),
    }
}

/// Latency bounds of flows beside their deadlines.
fn bounds(row: &PlanRow) -> Chart {
    let mut data = Data::new(&["flow", "strategy", "p99", "bound", "deadline"]);
    for flow in &row.flows {
        data.row([
            Cell::from(&flow.name),
            Cell::from(&flow.strategy),
            flow.latency_p99_ms.into(),
            flow.latency_bound_ms.into(),
            flow.deadline_ms.into(),
        ]);
    }
    Chart {
        title: "Latency of each flow, in ms".into(),
        says: "99 of 100 responses come within p99; none comes later than the bound.".into(),
        kind: Some(Kind::Spread {
            label: "flow".into(),
            points: ["p99", "bound", "deadline"].map(str::to_owned).into(),
            unit: "ms, logarithmic".into(),
            log: true,
        }),
        data,
    }
}

/// Load against memory.
fn front(row: &PlanRow) -> Chart {
    let mut data = Data::new(&["memory", "load"]);
    for point in &row.front {
        data.row([point.memory_bytes.into(), point.load_percent.into()]);
    }
    Chart {
        title: "What internal memory buys: least load, in %".into(),
        says: "The front: each point is the best plan within so much memory.".into(),
        kind: Some(Kind::Lines {
            series: None,
            x: "memory".into(),
            y: "load".into(),
            limit: None,
            x_label: "bytes of internal memory".into(),
            y_label: "load of the calling core, %".into(),
            log_x: false,
            log_y: false,
            step: true,
        }),
        data,
    }
}
