//! What users write down, and how it is read and checked: the names of strategies, [`workload`]s,
//! [`platform`]s, audio files, and the [`functions`] that workloads name.

pub mod functions;
pub mod linx;
pub mod platform;
pub mod strategy;
pub mod values;
pub mod wav;
pub mod workload;
