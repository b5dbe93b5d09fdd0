//! What is said above all else where the controller chose.

use super::distinct;
use crate::base::page::Page;
use crate::base::report::RunReport;
use crate::base::table::{listed, number};

/// The headline, and why.
pub(super) fn headline(page: &mut Page, run: &RunReport) {
    let rows = &run.report.results;
    let of = |strategy: &str| rows.iter().find(|row| row.strategy == strategy);
    let Some(auto) = of("auto") else { return };
    let own = auto.cpu_percent.caller;
    let switches: u64 = rows.iter().map(|row| row.switches).sum();
    let others: Vec<(&str, f64)> = distinct(rows.iter().map(|row| row.strategy.as_str()))
        .into_iter()
        .filter(|name| *name != "auto")
        .filter_map(|name| Some((name, of(name)?.cpu_percent.caller)))
        .collect();
    page.headline = match others.iter().min_by(|one, other| one.1.total_cmp(&other.1)) {
        Some((name, load)) if own <= *load => format!(
            "auto takes least of the calling core: {} % instead of {} % with {name}",
            number(own),
            number(*load)
        ),
        Some((name, load)) => format!(
            "{name} takes least of the calling core: {} %, auto {} %",
            number(*load),
            number(own)
        ),
        None => format!("auto carries the flows with {} % of the calling core", number(own)),
    };
    let switching = run.decisions.iter().filter(|one| !one.switches.is_empty());
    let reasons = distinct(switching.map(|one| match one.reason.as_str() {
        "saves" => "the load that a better plan saves",
        "memory" => "want of memory",
        "deadline" => "deadlines",
        "time" => "want of time of a core",
        other => other,
    }));
    page.why = format!(
        "The controller decided {} times and switched flows {switches} times{}.",
        run.decisions.len(),
        match reasons.as_slice() {
            [] => String::new(),
            some => format!(", because of {}", listed(some)),
        }
    );
}
