//! An advice as `--json` prints it.

use serde::Serialize;

/// What a flow should travel by.
#[derive(Clone, Debug, Serialize)]
pub(super) struct AdviceRow {
    /// Its name in the workload.
    pub flow: String,
    pub strategy: String,
    /// Which of the cores that are called serves it, from 0.
    pub dsp: u8,
    /// Why not another, in a sentence.
    pub reason: String,
    /// What all flows take of the calling core, each by its strategy, as measured.
    pub load_percent: f64,
    /// What 99 of 100 responses of the flow take at most since their request was due, as measured;
    /// none if no response came.
    pub p99_us: Option<f64>,
    pub deadline_us: Option<f64>,
    /// Internal memory of the flow.
    pub memory_bytes: u32,
    /// Of 1000 resamplings of the repeats, the part in which the choice has no more of what is to
    /// be least than the runner-up; 1 where there is none.
    pub confidence: f64,
    /// The best of another kind.
    pub runner_up: Option<RunnerUp>,
}

/// The best strategy of another kind that a flow was tried with.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RunnerUp {
    pub strategy: String,
    pub load_percent: f64,
    pub p99_us: Option<f64>,
    /// Whether it cannot be told from the choice, in what is to be least.
    pub equal: bool,
}
