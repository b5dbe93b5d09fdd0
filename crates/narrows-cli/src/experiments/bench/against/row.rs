//! The rows of the model beside the simulator, and how near it has to come.

use serde::Serialize;

/// How near the model has to come, as a part of what was measured.
pub(super) const LOAD: f64 = 0.10;
pub(super) const P99: f64 = 0.20;

/// A flow of a case.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FlowRow {
    pub request: u32,
    pub response: u32,
    pub work_ms: f64,
    pub period_ms: f64,
    pub depth: u16,
    pub burst: u16,
    pub jitter_ms: f64,
    /// Requests that were answered.
    pub answered: u64,
    /// What the model says is never exceeded, and the longest that was measured.
    pub bound_ms: f64,
    pub longest_ms: f64,
    /// The 99th percentile, by the model and as it was measured.
    pub p99_ms: Option<f64>,
    pub measured_p99_ms: f64,
}

/// A workload on a chip.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CaseRow {
    pub case: u32,
    pub platform: String,
    /// One for all flows, or one for each.
    pub strategies: Vec<String>,
    /// Time of the calling core, by the model and as it was measured. A core that spins takes all
    /// of it, so that is not compared.
    pub load_percent: f64,
    pub measured_load_percent: f64,
    pub load_compared: bool,
    pub flows: Vec<FlowRow>,
}

impl CaseRow {
    /// By how much the model's load is off, as a part of the measured one.
    pub fn load_off(&self) -> Option<f64> {
        let off = self.load_percent / self.measured_load_percent - 1.0;
        self.load_compared.then_some(off)
    }
}

impl FlowRow {
    /// How much of the bound was taken.
    pub fn taken(&self) -> f64 {
        self.longest_ms / self.bound_ms
    }

    /// By how much the model's percentile is off, as a part of the measured one.
    pub fn p99_off(&self) -> Option<f64> {
        self.p99_ms.map(|p99| p99 / self.measured_p99_ms - 1.0)
    }
}
