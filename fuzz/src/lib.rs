//! What the fuzz targets do with their bytes: one module each, with a function `run` that the
//! fuzzer calls and that `tests/replay.rs` calls with every file of the corpus.
//!
//! Whatever the bytes are, `run` returns: a panic, an access outside of memory or an endless loop
//! is a finding.

#[path = "../../crates/narrows/tests/common/mod.rs"]
#[allow(missing_docs)]
mod common;
#[path = "../../crates/narrows/tests/stack/mqx/net.rs"]
#[allow(missing_docs, dead_code)]
mod net;

pub mod control;
pub mod descriptor;
pub mod frames;
mod input;
pub mod link;
pub mod platform;
pub mod queues;
pub mod rendezvous;
pub mod status;
pub mod strategy;
pub mod trace;
mod victim;
pub mod workload;

/// A target's name and what it does with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 11] = [
    ("control", control::run),
    ("descriptor", descriptor::run),
    ("frames", frames::run),
    ("link", link::run),
    ("platform", platform::run),
    ("queues", queues::run),
    ("rendezvous", rendezvous::run),
    ("status", status::run),
    ("strategy", strategy::run),
    ("trace", trace::run),
    ("workload", workload::run),
];
