//! A published figure, or the order of several, beside ours.

use super::figures::{Experiment, Figure, Order, Role};
use serde::Serialize;
use std::collections::BTreeMap;

/// What the simulator gave for an experiment, by the keys of its figures.
pub type Found = BTreeMap<String, f64>;

/// A figure, or an order.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Shown {
    /// A figure.
    Figure(f64),
    /// Keys of figures, the largest first.
    Order(Vec<String>),
}

/// A row of the report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The experiment's name and the figure's key in it.
    pub id: String,
    /// Where in the source.
    pub at: String,
    /// What it is.
    pub what: String,
    /// What the source has.
    pub published: Shown,
    /// What the simulator gives.
    pub ours: Shown,
    /// The unit; empty for an order.
    pub unit: String,
    /// By how much ours is larger, in percent of what was published; none for bounds and orders.
    pub error_percent: Option<f64>,
    /// What the figure may be used for.
    pub role: Role,
    /// Whether a constant of the platform file was solved from this figure, which so holds by
    /// construction.
    pub solved: bool,
    /// Whether the error is as small as the role demands; none for bounds and orders.
    pub within: Option<bool>,
    /// Whether a bound or an order is kept; none for figures.
    pub holds: Option<bool>,
    /// Why it is not as it should be; none where it is, or nobody knows.
    pub explained: Option<String>,
}

impl Row {
    /// Whether it is as it should be.
    pub fn good(&self) -> bool {
        self.within.or(self.holds).unwrap_or(false)
    }
}

/// The rows of an experiment. A key for which nothing was found makes no row.
pub fn rows(experiment: &Experiment, found: &Found) -> Vec<Row> {
    let figures = experiment.figures.iter().filter_map(|figure| {
        let ours = *found.get(&figure.key)?;
        Some(beside(experiment, figure, ours))
    });
    let orders = experiment.orders.iter().map(|order| ordered(experiment, order, found));
    figures.chain(orders).collect()
}

fn beside(experiment: &Experiment, figure: &Figure, ours: f64) -> Row {
    let error = (ours / figure.value - 1.0) * 100.0;
    let within = error.abs() <= figure.role.allowed_percent();
    Row {
        id: format!("{}.{}", experiment.id, figure.key),
        at: experiment.at.clone(),
        what: figure.what.clone(),
        published: Shown::Figure(figure.value),
        ours: Shown::Figure(ours),
        unit: figure.unit.clone(),
        error_percent: (!figure.bound).then_some(error),
        role: figure.role,
        solved: figure.solved,
        within: (!figure.bound).then_some(within),
        holds: figure.bound.then_some(ours <= figure.value),
        explained: experiment.why(&figure.key).map(str::to_owned),
    }
}

/// By what a figure has to be larger than another to come before it: less is as good as equal.
const DIFFERENT: f64 = 1.001;

/// The order of figures. Where two of ours are equal, it is not that of two that were published as
/// different.
fn ordered(experiment: &Experiment, order: &Order, found: &Found) -> Row {
    let figure = |key: &String| experiment.figures.iter().find(|figure| figure.key == *key);
    let published = |key: &String| figure(key).map_or(f64::NAN, |figure| figure.value);
    let ours = |key: &String| found.get(key).copied().unwrap_or(f64::NAN);
    let sorted = |value: &dyn Fn(&String) -> f64| {
        let mut keys = order.of.clone();
        keys.sort_by(|a, b| value(b).total_cmp(&value(a)));
        keys
    };
    let theirs = if order.in_words { order.of.clone() } else { sorted(&published) };
    let equal = |a, b| !order.in_words && published(a) <= published(b);
    let before = |a, b| equal(a, b) || ours(a) > ours(b) * DIFFERENT;
    let kept = (1..theirs.len()).all(|at| {
        let (first, rest) = theirs.split_at(at);
        first.iter().all(|a| rest.iter().all(|b| before(a, b)))
    });
    let roles = order.of.iter().filter_map(|key| Some(figure(key)?.role));
    let least = if order.in_words { Role::Check } else { Role::Input };
    let role = roles.fold(least, |all, one| if one == Role::Check { one } else { all });
    let key = format!("order.{}", order.key);
    Row {
        id: format!("{}.{key}", experiment.id),
        at: experiment.at.clone(),
        what: order.what.clone(),
        published: Shown::Order(theirs),
        ours: Shown::Order(sorted(&ours)),
        unit: String::new(),
        error_percent: None,
        role,
        solved: false,
        within: None,
        holds: Some(kept),
        explained: experiment.why(&key).map(str::to_owned),
    }
}
