//! A plan as text.

use super::row::{NextRow, PlanRow};
use crate::base::table::{Align, Table, counted, number, wrap};

/// Points of a front that are printed.
const POINTS: usize = 8;

/// The summary, a line for each flow, and what there is to know about them.
pub(super) fn text(row: &PlanRow, heading: &str) -> String {
    let mut text = wrap("", heading);
    text.push('\n');
    text.push_str(&wrap("", &summary(row)));
    text.push('\n');
    for flow in &row.flows {
        let core = if row.memory_bytes.len() > 1 {
            format!(" to core {}", flow.dsp)
        } else {
            String::new()
        };
        text.push_str(&wrap("  ", &format!("{}{core}: {}", flow.name, flow.strategy)));
    }
    text.push('\n');
    text.push_str(&table(row));
    let nexts = row.flows.iter().filter_map(|flow| Some((flow, flow.next.as_ref()?)));
    for (flow, next) in nexts {
        let NextRow { strategy, load_percent, memory_bytes, latency_bound_ms, equal } = next;
        let load = match equal {
            Some(true) => "equal load".to_owned(),
            _ => format!("{:+.3} % load", load_percent - flow.load_percent),
        };
        let words = format!(
            "Next for {}: {strategy}, {load}, {:+} B, {:+.3} ms.",
            flow.name,
            i64::from(*memory_bytes) - i64::from(flow.memory_bytes),
            latency_bound_ms - flow.latency_bound_ms
        );
        text.push_str(&wrap("", &words));
    }
    for flow in &row.flows {
        let Some(calls) = flow.calls_per_second else { continue };
        let words = format!(
            "{} has no period: alone it makes {} calls a second and takes {:.1} % of the calling core; \
             here it takes what the others leave, and is in no sum.",
            flow.name,
            number(calls),
            flow.load_percent
        );
        text.push_str(&wrap("", &words));
    }
    if let Some(all) = row.load_together_percent.filter(|_| row.flows.len() > 1) {
        let words = format!("With waits and looks that are those of all flows: {all:.3} %.");
        text.push_str(&wrap("", &words));
    }
    let near = match row.load_within_percent {
        Some(percent) => format!(
            "95 of 100 are within {percent:.0} % of what is simulated, and what differs by less is \
             called equal"
        ),
        None if row.flows.iter().any(|flow| flow.strategy.contains("/callee=")) => {
            "narrows bench tune --against simulator --callees says how near they come".to_owned()
        }
        None => "narrows bench tune --against host says how near they come here".to_owned(),
    };
    let words = format!("Loads are the model's: {near}. narrows advise tries them.");
    text.push_str(&wrap("", &words));
    text.push_str(&wrap("", &binding(row)));
    if let Some(alike) = &row.r#static {
        let words = format!(
            "With one strategy for all flows of a kind: {:.3} % and {} B.",
            alike.load_percent, alike.memory_bytes
        );
        text.push_str(&wrap("", &words));
    }
    let step = row.front.len().div_ceil(POINTS).max(1);
    let points = row.front.iter().step_by(step);
    let points: Vec<String> = points
        .map(|point| format!("{} B {:.3} %", point.memory_bytes, point.load_percent))
        .collect();
    text.push_str(&wrap("", &format!("Least loads by internal memory: {}.", points.join(", "))));
    text
}

fn summary(row: &PlanRow) -> String {
    let clock = match row.clock_hz {
        Some(hertz) => format!(" at {} MHz", number(hertz as f64 / 1e6)),
        None => String::new(),
    };
    let memory: Vec<String> = row.memory_bytes.iter().map(u64::to_string).collect();
    let proven = match row.gap_percent {
        gap if gap > 0.0 => format!("at most {gap:.2} % from the best"),
        _ => "nothing is better".to_owned(),
    };
    format!(
        "{}, least {}{clock}: {:.3} % of the calling core of {} %, {} B of internal memory of {} B \
         each; {proven} ({}).",
        row.workload,
        row.objective,
        row.load_percent,
        number(row.load_budget_percent),
        memory.join(" and "),
        row.memory_budget_bytes,
        counted(row.nodes as usize, "node", "nodes")
    )
}

fn table(row: &PlanRow) -> String {
    let mut table = Table::new(&[
        ("flow", Align::Left),
        ("load %", Align::Right),
        ("DSP %", Align::Right),
        ("memory B", Align::Right),
        ("p99 ms", Align::Right),
        ("bound ms", Align::Right),
        ("deadline ms", Align::Right),
    ]);
    for flow in &row.flows {
        let ms = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.3}"));
        table.row(vec![
            flow.name.clone(),
            format!("{:.3}", flow.load_percent),
            format!("{:.3}", flow.work_percent),
            flow.memory_bytes.to_string(),
            ms(flow.latency_p99_ms),
            ms(Some(flow.latency_bound_ms)),
            ms(flow.deadline_ms),
        ]);
    }
    table.render()
}

fn binding(row: &PlanRow) -> String {
    let unit = if row.objective == "latency" { "ms" } else { "%" };
    let all: Vec<String> = row
        .binds
        .iter()
        .map(|one| {
            let of = one.flow.as_ref().map_or(String::new(), |flow| format!(" of {flow}"));
            let limit = if one.limit == "blocks" { "number of blocks" } else { one.limit };
            format!("the {limit}{of} (without it {:.3} {unit})", one.without)
        })
        .collect();
    match all.as_slice() {
        [] => "Nothing binds.".to_owned(),
        all => format!("What binds: {}.", all.join(", ")),
    }
}
