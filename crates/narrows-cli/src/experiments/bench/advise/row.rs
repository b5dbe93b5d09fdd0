//! How near to the best the choices are.

use crate::base::table::{Align, Table};
use crate::experiments::advice::{Judge, Trial};
use crate::rig::plan::Least;
use serde::Serialize;

/// Within what part of the best a choice is right, of load and of latency.
const LOAD: f64 = 0.02;
const LATENCY: f64 = 0.10;
/// Farthest cases that are told.
const TOLD: usize = 5;

/// A workload and an objective.
#[derive(Clone, Debug)]
pub(super) struct CaseRow {
    pub case: u32,
    pub platform: String,
    pub least: Least,
    /// Whether what was chosen kept to everything.
    pub holds: bool,
    /// Whether trials cannot tell it from the best, or the difference is one that nobody minds.
    pub equal: bool,
    pub chosen: String,
    pub value: f64,
    pub best: String,
    pub best_value: f64,
    /// What `advise` tried, and all that there is.
    pub tried: usize,
    pub of: usize,
}

impl CaseRow {
    pub fn names(trial: &Trial) -> String {
        let all: Vec<String> = trial.assignment.iter().map(ToString::to_string).collect();
        all.join(" and ")
    }

    /// By what part of the best it is more.
    fn apart(&self) -> f64 {
        self.value / self.best_value - 1.0
    }

    fn is_near(&self) -> bool {
        let within = if self.least == Least::Load { LOAD } else { LATENCY };
        self.holds && (self.equal || self.apart() <= within)
    }
}

/// A platform and an objective.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PlatformRow {
    pub platform: String,
    pub objective: &'static str,
    pub workloads: usize,
    /// Of them, those in which the choice is within 2 % or a little (load), or 10 % (p99), of the
    /// best.
    pub within_percent: f64,
    /// What was tried for a choice, and all that there is, in the mean.
    pub tried: f64,
    pub choices: f64,
    /// By how much the farthest choice is more than the best.
    pub farthest_percent: f64,
}

fn name(least: Least) -> &'static str {
    match least {
        Least::Load => "load",
        Least::Latency => "latency",
    }
}

impl PlatformRow {
    /// One for each objective that was judged.
    pub fn of(platform: &str, rows: &[CaseRow]) -> Vec<PlatformRow> {
        let of = |least: Least| {
            let rows: Vec<&CaseRow> = rows.iter().filter(|row| row.least == least).collect();
            let count = rows.len();
            let near = rows.iter().filter(|row| row.is_near()).count();
            let mean = |of: fn(&CaseRow) -> usize| {
                rows.iter().map(|row| of(row) as f64).sum::<f64>() / count as f64
            };
            PlatformRow {
                platform: platform.to_owned(),
                objective: name(least),
                workloads: count,
                within_percent: 100.0 * near as f64 / count as f64,
                tried: mean(|row| row.tried),
                choices: mean(|row| row.of),
                farthest_percent: 100.0 * rows.iter().map(|row| row.apart()).fold(0.0, f64::max),
            }
        };
        let judged = |least: &Least| rows.iter().any(|row| row.least == *least);
        [Least::Load, Least::Latency].into_iter().filter(judged).map(of).collect()
    }
}

/// What is farthest from the best.
pub(super) fn notes(rows: &[CaseRow], seed: u64) -> Vec<String> {
    let near = rows.iter().filter(|row| row.is_near()).count();
    let mut notes = vec![format!(
        "{near} of {} choices are within {:.0} % or {} % of a core (load), or {:.0} % (p99), of the \
         best that all trials found; each again by --seed {seed} --case N.",
        rows.len(),
        100.0 * LOAD,
        Judge::LITTLE,
        100.0 * LATENCY
    )];
    let mut far: Vec<&CaseRow> = rows.iter().filter(|row| !row.is_near()).collect();
    far.sort_by(|a, b| b.apart().total_cmp(&a.apart()));
    let told = if rows.len() <= 2 { rows.iter().collect() } else { far };
    notes.extend(told.iter().take(TOLD).map(|row| {
        format!(
            "Workload {} on {}, {}: {} has {:+.1} % of {}{}; {} of {} tried.",
            row.case,
            row.platform,
            name(row.least),
            row.chosen,
            100.0 * row.apart(),
            row.best,
            if row.holds { "" } else { " and misses deadlines" },
            row.tried,
            row.of
        )
    }));
    notes
}

pub(super) fn table(rows: &[PlatformRow]) -> String {
    let mut table = Table::new(&[
        ("platform", Align::Left),
        ("least", Align::Left),
        ("workloads", Align::Right),
        ("near %", Align::Right),
        ("farthest %", Align::Right),
        ("tried", Align::Right),
        ("of", Align::Right),
    ]);
    for row in rows {
        table.row(vec![
            row.platform.clone(),
            row.objective.to_owned(),
            row.workloads.to_string(),
            format!("{:.1}", row.within_percent),
            format!("{:.1}", row.farthest_percent),
            format!("{:.0}", row.tried),
            format!("{:.0}", row.choices),
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_workload_was_judged_by_has_no_row() {
        let spinning = CaseRow {
            case: 1,
            platform: "chip".to_owned(),
            least: Least::Latency,
            holds: true,
            equal: false,
            chosen: String::new(),
            value: 1.05,
            best: String::new(),
            best_value: 1.0,
            tried: 2,
            of: 4,
        };
        let rows = PlatformRow::of("chip", &[spinning]);
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        assert_eq!((row.objective, row.workloads, row.within_percent), ("latency", 1, 100.0));
        assert_eq!((row.tried, row.choices), (2.0, 4.0));
        assert!(PlatformRow::of("chip", &[]).is_empty());
    }
}
