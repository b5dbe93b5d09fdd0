//! The rows that `narrows why` reports.

use super::words::side;
use crate::base::report::Report;
use narrows_trace::Step;
use serde::Serialize;

/// A message, and what it waited for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Row {
    /// The flow of a call, or the port that the message comes from.
    pub flow: u32,
    /// Its number on its link, from 1.
    pub sequence: u32,
    pub kind: String,
    pub bytes: u32,
    pub sender: String,
    pub receiver: String,
    /// When it was begun to be sent.
    pub began_us: f64,
    pub latency_us: f64,
    /// What it waited for, in the order in which it first did.
    pub causes: Vec<CauseRow>,
}

/// A cause, and how long it was one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct CauseRow {
    pub cause: &'static str,
    /// Whose doing it was.
    pub of: &'static str,
    pub us: f64,
    /// The numbers of the messages that it was queued behind.
    pub behind: Vec<u32>,
}

/// How long all messages waited for something.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct TotalRow {
    pub cause: &'static str,
    pub of: &'static str,
    pub us: f64,
    /// Of all latencies, from 0 to 1.
    pub share: f64,
    /// How many messages waited for it.
    pub messages: usize,
}

/// The object that `--json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct WhyReport {
    /// The slowest messages are its rows.
    #[serde(flatten)]
    pub report: Report<Row>,
    /// All messages that were asked for, by cause; the largest first.
    pub totals: Vec<TotalRow>,
    /// How many messages were asked for.
    pub messages: usize,
    /// How many of those the trace does not know from end to end.
    pub unfinished: usize,
    /// Events that found no room in the trace.
    pub dropped: u64,
}

/// Microseconds, to the nanosecond.
pub(super) fn micros(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

impl CauseRow {
    pub fn new(step: &Step, number: impl Fn(usize) -> u32) -> CauseRow {
        CauseRow {
            cause: step.cause.name,
            of: side(step.cause.of),
            us: micros(step.ns),
            behind: step.behind.iter().map(|place| number(*place)).collect(),
        }
    }
}
