//! Workload files: each is refused with its place, or has what the command relies on.

use std::path::Path;

use narrows_cli::base::failure::Kind;
use narrows_cli::formats::strategy::Policy;
use narrows_cli::formats::workload;
use narrows_cli::formats::workload::{MAX_BYTES, MAX_DEPTH, MAX_DURATION, MAX_FLOWS, Source};

/// The bytes are the file.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let workload = match workload::parse(Path::new("fuzzed.toml"), text) {
        Ok(workload) => workload,
        Err(failure) => {
            assert_eq!(failure.kind, Kind::Workload);
            assert!(failure.to_string().contains("fuzzed.toml"), "{failure}");
            return;
        }
    };
    assert!(!workload.duration.is_zero() && workload.duration <= MAX_DURATION);
    assert!(!workload.strategies.is_empty());
    assert!(workload.strategies.iter().all(|policy| match policy {
        Policy::Same(strategy) => strategy.check().is_ok(),
        Policy::Static => workload.flows.iter().all(|flow| flow.r#static.is_some()),
        Policy::Auto => true,
    }));
    assert!((1..=MAX_FLOWS).contains(&workload.flows.len()));
    for (at, flow) in workload.flows.iter().enumerate() {
        let twins = workload.flows.iter().filter(|other| other.name == flow.name).count();
        assert_eq!(twins, 1, "{}", flow.name);
        assert!(flow.request <= MAX_BYTES && flow.response <= MAX_BYTES, "{}", flow.name);
        match &flow.source {
            Source::Own { depth, .. } => assert!((1..=MAX_DEPTH).contains(depth)),
            Source::After(other) => {
                assert!(*other < workload.flows.len() && *other != at, "{}", flow.name);
            }
        }
    }
}
