//! What is counted of a direction.

use std::time::Instant;

use hdrhistogram::Histogram;

/// See the module page.
#[derive(Clone, Debug)]
pub struct Figures {
    pub frames: u64,
    pub late: u64,
    /// Not carried by the DSP.
    pub dropped: u64,
    /// Of those, coded by the gateway itself.
    pub own: u64,
    /// Frames that the DSP could not use.
    pub failed: u64,
    /// From when a frame was due until its answer came, in microseconds.
    pub answers: Histogram<u64>,
    pub first: Option<Instant>,
    pub last: Option<Instant>,
}

impl Figures {
    pub(crate) fn new() -> Figures {
        Figures {
            frames: 0,
            late: 0,
            dropped: 0,
            own: 0,
            failed: 0,
            // Up to an hour, to a hundredth.
            answers: Histogram::new_with_bounds(1, 3_600_000_000, 2)
                .expect("such bounds are within limits"),
            first: None,
            last: None,
        }
    }
}
