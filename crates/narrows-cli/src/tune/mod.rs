//! Chooses a strategy for each flow of a workload.
pub(crate) mod rooms;
