//! Look for a while, then sleep.
//!
//! The while adapts: it grows to twice the time an answer took that a longer look would have met,
//! and halves when none would have, so that a peer that answers promptly is met at ring
//! speed and one that does not costs little processor time.

use core::time::Duration;

use super::{Awaited, interrupt, watches};
use crate::platform::{Instant, Platform, Wait, Woken};

/// The shortest look: less would not even catch an answer that is on its way.
const SHORTEST: Duration = Duration::from_micros(2);

/// How long to look before sleeping, learnt from how long answers took.
#[derive(Clone, Copy, Debug)]
pub struct Adaptive {
    window: Duration,
}

impl Default for Adaptive {
    fn default() -> Adaptive {
        Adaptive { window: Duration::MAX }
    }
}

impl Adaptive {
    fn window(&self, longest: Duration) -> Duration {
        self.window.clamp(SHORTEST.min(longest), longest)
    }

    /// Learns that an answer took `waited`.
    fn learn(&mut self, waited: Duration, longest: Duration) {
        let window = self.window(longest);
        self.window =
            if waited <= longest { waited.saturating_mul(2).max(window) } else { window / 2 };
    }
}

pub(super) fn wait<'a, P, I>(
    platform: &P,
    awaited: &I,
    longest: Duration,
    adaptive: &mut Adaptive,
    deadline: Option<Instant>,
) -> Woken
where
    P: Platform + 'a,
    I: Iterator<Item = Awaited<'a, P>> + Clone,
{
    let began = platform.now();
    let until = began + adaptive.window(longest);
    let woken =
        platform.wait(watches(awaited), Wait::Spin, Some(deadline.map_or(until, |d| d.min(until))));
    if woken != Woken::Deadline || deadline.is_some_and(|d| d <= until) {
        return woken;
    }
    let woken = interrupt::wait(platform, awaited, deadline);
    adaptive.learn(platform.now().since(began), longest);
    woken
}
