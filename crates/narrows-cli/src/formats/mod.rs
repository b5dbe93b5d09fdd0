//! What users write down, and how it is read and checked: the names of strategies, [`workload`]s,
//! [`platform`]s, audio files, pictures, [`recording`]s, the [`functions`] that workloads name, and
//! files of [`tasks`] or of flows through accelerators ([`offload`]).

pub mod functions;
pub mod linx;
pub mod offload;
pub mod picture;
pub mod platform;
pub mod recording;
pub mod strategy;
pub mod tasks;
pub mod values;
pub mod wav;
pub mod workload;
