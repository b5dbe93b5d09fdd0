//! When somebody looks for services that are not there yet.

use std::time::{Duration, Instant};

use narrows_host::service::OfferWatch;

use crate::deadline::Deadline;

/// When it is looked for services: when the node is told that some came, and at times where it
/// cannot be told. Its owner calls [`Lookout::looks`] before it looks, and [`Lookout::rests`] after
/// it has looked and wants more.
pub(crate) struct Lookout {
    watch: Option<OfferWatch>,
    /// When the last look was, and what the watch had heard before it.
    looked: Instant,
    seen: u32,
    /// When it is looked whatever comes.
    at: Option<Instant>,
}

impl Lookout {
    /// It is to be looked at once.
    pub(crate) fn new() -> Lookout {
        let now = Instant::now();
        Lookout { watch: None, looked: now, seen: 0, at: Some(now) }
    }

    /// It is looked now.
    pub(crate) fn looks(&mut self) {
        self.looked = Instant::now();
        self.seen = self.watch.as_ref().map_or(0, OfferWatch::heard);
    }

    /// The next look is when something came; where the node cannot be told of that, after `pause`.
    pub(crate) fn rests(&mut self, node: &narrows_host::Node, pause: Duration) {
        let was_told = self.watch.is_some();
        if !was_told {
            self.watch = node.platform().watch_offers().ok();
            self.looks();
        }
        let now = Instant::now();
        self.at = match (&self.watch, was_told) {
            (Some(_), true) => None,
            // What came since the look and before the watch is not told of.
            (Some(_), false) => Some(now),
            (None, _) => Some(now + pause),
        };
    }

    /// The next look is then, or when something comes before that.
    pub(crate) fn again(&mut self, at: Instant) {
        self.at = Some(at);
    }

    /// No more is wanted.
    pub(crate) fn ends(&mut self) {
        self.watch = None;
    }

    /// When the next look is due, if it is known.
    pub(crate) fn due(&self) -> Option<Instant> {
        match &self.watch {
            Some(watch) if watch.heard() != self.seen => Some(self.looked),
            _ => self.at,
        }
    }

    /// How long may be waited until then.
    pub(crate) fn left(&self, deadline: Deadline) -> Option<Duration> {
        deadline.left().into_iter().chain(Deadline::at(self.due()).left()).min()
    }
}
