//! Until when something is waited for.

use std::time::{Duration, Instant};

/// A moment, or none if there is no end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    /// The moment when this time from now is over.
    pub(crate) fn within(time: Option<Duration>) -> Deadline {
        Deadline(time.and_then(|time| Instant::now().checked_add(time)))
    }

    /// This moment, if there is one.
    pub(crate) fn at(moment: Option<Instant>) -> Deadline {
        Deadline(moment)
    }

    /// How much time is left.
    pub(crate) fn left(self) -> Option<Duration> {
        self.0.map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// How much of `time` is left: all of it, or what is left before the moment.
    pub(crate) fn left_of(self, time: Duration) -> Duration {
        self.left().map_or(time, |left| left.min(time))
    }

    /// Whether none is left.
    pub(crate) fn is_over(self) -> bool {
        self.left() == Some(Duration::ZERO)
    }
}
