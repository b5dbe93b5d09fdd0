//! A figure before and after, and whether it changed by more than noise.

use super::read::Figure;
use crate::base::noise::{Change, FEWEST};
use serde::Serialize;

/// A row of the report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Row {
    /// What the figure is of, and which figure of that it is.
    pub name: String,
    /// The unit of both figures; empty for counts.
    pub unit: String,
    pub before: f64,
    pub after: f64,
    /// Whether both runs carried the same traffic by the strategy that it is of; true of a bench.
    pub same_traffic: bool,
    /// By how much it is more; none if it was 0, or other traffic was carried.
    pub change_percent: Option<f64>,
    /// Where that lies, of 95 in 100 cases; none if the noise is not known.
    pub interval_percent: Option<[f64; 2]>,
    /// Whether it changed by more than noise; none if that is not known.
    pub significant: Option<bool>,
    /// Why not.
    pub reason: Option<String>,
    #[serde(skip)]
    pub of: String,
    #[serde(skip)]
    pub what: String,
}

impl Row {
    /// `exact` figures have no noise. Nothing is compared unless they are of the `same` traffic.
    pub fn new(before: &Figure, after: &Figure, exact: bool, same: bool) -> Row {
        let Figure { of, what, unit, .. } = before.clone();
        let (old, new) = (before.value, after.value);
        let change = match old == 0.0 {
            _ if !same => None,
            true => (new == 0.0).then_some(0.0),
            false => Some(100.0 * (new - old) / old.abs()),
        };
        let (interval, significant, reason) = match exact {
            _ if !same => (None, None, Some("other traffic was carried".into())),
            true => (change.map(|change| [change; 2]), Some(old != new), None),
            false => judged(&before.rounds, &after.rounds),
        };
        Row {
            name: before.name(),
            unit,
            before: old,
            after: new,
            same_traffic: same,
            change_percent: change,
            interval_percent: interval,
            significant,
            reason,
            of,
            what,
        }
    }

    /// Whether more of it is better: of rates.
    pub fn more_is_better(&self) -> bool {
        self.unit.ends_with("/s")
    }

    /// Whether it got better; none if it did not change by more than noise.
    pub fn better(&self) -> Option<bool> {
        let changed = self.significant == Some(true) && self.after != self.before;
        changed.then(|| (self.after > self.before) == self.more_is_better())
    }
}

/// The interval, whether it is on one side of 0, and if that is not known, why.
fn judged(before: &[f64], after: &[f64]) -> (Option<[f64; 2]>, Option<bool>, Option<String>) {
    let fewest = before.len().min(after.len());
    if fewest == 0 {
        return (None, None, Some("it has no rounds".into()));
    }
    if fewest < FEWEST {
        return (None, None, Some(format!("it has {fewest} rounds, and {FEWEST} are needed")));
    }
    match Change::of(before, after) {
        Some(change) => (Some([change.low, change.high]), Some(change.is_beyond_noise()), None),
        None => (None, None, Some("its median was 0".into())),
    }
}
