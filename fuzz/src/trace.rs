//! Traces: each is refused in a sentence, or read so that causes of every latency add up.

use narrows_trace::{Causes, read};

/// The bytes are the file.
pub fn run(data: &[u8]) {
    let trace = match read(data) {
        Ok(trace) => trace,
        Err(error) => return assert!(!error.to_string().contains('\n'), "{error}"),
    };
    let (rows, names) = (trace.tracks.len(), trace.names.len());
    assert!(trace.tracks.iter().all(|track| track.parent.is_none_or(|parent| parent < rows)));
    for slice in &trace.slices {
        assert!((slice.track as usize) < rows && (slice.name as usize) < names);
        assert!(slice.begin <= slice.end && slice.end <= trace.span.1);
    }
    assert!(trace.moments.iter().all(|moment| (moment.name as usize) < names));
    let causes = Causes::new(&trace);
    for (place, message) in trace.messages.iter().enumerate() {
        let sum: u64 = causes.steps(place).iter().map(|step| step.ns).sum();
        assert_eq!(sum, message.latency().unwrap_or(0), "{message:?}");
    }
}
