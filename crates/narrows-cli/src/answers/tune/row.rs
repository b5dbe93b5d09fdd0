//! A plan as `--json` prints it.

use serde::Serialize;

/// A strategy of a flow.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FlowRow {
    /// Its name in the workload.
    pub name: String,
    /// What it is given.
    pub strategy: String,
    /// The core that it calls, of those that can be called.
    pub dsp: u8,
    /// Time of the calling core. Without a period: if it were alone, and no part of the sum.
    pub load_percent: f64,
    /// Without a period: what it reaches alone.
    pub calls_per_second: Option<f64>,
    /// Time of the core that it calls.
    pub work_percent: f64,
    /// Internal memory.
    pub memory_bytes: u32,
    /// The longest that a response can take, with all other flows.
    pub latency_bound_ms: f64,
    /// The same as the source computes it, and if looks are in step: this flow alone.
    pub latency_source_ms: f64,
    pub latency_aligned_ms: f64,
    /// What 99 of 100 responses do not exceed, by queueing at the core that is called.
    pub latency_p99_ms: Option<f64>,
    pub deadline_ms: Option<f64>,
    /// What it would have otherwise.
    pub next: Option<NextRow>,
}

/// Another strategy of a flow, all others being as they are.
#[derive(Clone, Debug, Serialize)]
pub(super) struct NextRow {
    pub strategy: String,
    pub load_percent: f64,
    pub memory_bytes: u32,
    pub latency_bound_ms: f64,
    /// Whether the loads differ by no more than the model is off by; null where nobody measured
    /// that.
    pub equal: Option<bool>,
}

/// One strategy for all flows of a kind.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StaticRow {
    /// A strategy for each flow, in their order.
    pub strategies: Vec<String>,
    pub load_percent: f64,
    pub memory_bytes: u64,
}

/// A limit without which there is a better plan.
#[derive(Clone, Debug, Serialize)]
pub(super) struct BindingRow {
    /// `memory`, `load` or `deadline`.
    pub limit: &'static str,
    /// The flow whose deadline it is.
    pub flow: Option<String>,
    /// What is to be least without it: percent or milliseconds.
    pub without: f64,
}

/// A point of the front.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PointRow {
    pub memory_bytes: u64,
    pub load_percent: f64,
}

/// A plan.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PlanRow {
    pub workload: String,
    pub objective: &'static str,
    /// The clock of the calling core, where it was chosen.
    pub clock_hz: Option<u64>,
    pub flows: Vec<FlowRow>,
    pub load_percent: f64,
    /// With waits and looks that are those of all flows; null if one of them has no period.
    pub load_together_percent: Option<f64>,
    pub load_budget_percent: f64,
    /// Of each core that can be called.
    pub memory_bytes: Vec<u64>,
    pub memory_budget_bytes: u32,
    pub r#static: Option<StaticRow>,
    pub binds: Vec<BindingRow>,
    pub front: Vec<PointRow>,
    pub nodes: u32,
    pub gap_percent: f64,
    /// 95 of 100 loads of the model are within this part of the simulated ones; null where nobody
    /// measured that.
    pub load_within_percent: Option<f64>,
}
