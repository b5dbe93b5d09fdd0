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

/// Nobody looks longer than a few times what waking takes, so an answer that came within the
/// longest look is used at most that many times as much later. Without that allowance an answer
/// that just missed a short look would seem slow for the very reason that it was slept through.
const WAKING: u32 = 2;

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
    /// How long to look now, at most `longest`.
    #[must_use]
    pub fn window(&self, longest: Duration) -> Duration {
        self.window.clamp(SHORTEST.min(longest), longest)
    }

    /// Learns that an answer took `waited`, waking included.
    pub fn learn(&mut self, waited: Duration, longest: Duration) {
        let window = self.window(longest);
        let prompt = waited <= longest.saturating_mul(1 + WAKING);
        self.window = if prompt { waited.saturating_mul(2).max(window) } else { window / 2 };
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
        platform.wait(watches(awaited), Wait::Look, Some(deadline.map_or(until, |d| d.min(until))));
    if woken != Woken::Deadline || deadline.is_some_and(|d| d <= until) {
        return woken;
    }
    let woken = interrupt::wait(platform, awaited, deadline);
    adaptive.learn(platform.now().since(began), longest);
    woken
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_micros(50);

    fn after(waits: &[u64]) -> Duration {
        let mut adaptive = Adaptive::default();
        for micros in waits {
            adaptive.learn(Duration::from_micros(*micros), LONGEST);
        }
        adaptive.window(LONGEST)
    }

    #[test]
    fn it_looks_long_at_first_and_short_where_answers_are_slow() {
        assert_eq!(after(&[]), LONGEST);
        assert_eq!(after(&[1000; 3]), LONGEST / 8);
        assert_eq!(after(&[20_000; 30]), SHORTEST);
    }

    #[test]
    fn an_answer_that_was_slept_through_but_came_promptly_is_looked_for_again() {
        // 40 µs on its way, and 100 to wake.
        let mut waits = [20_000; 11];
        waits[10] = 140;
        assert_eq!(after(&waits), LONGEST);
        waits[10] = 3;
        assert_eq!(after(&waits), Duration::from_micros(6));
    }

    #[test]
    fn one_slow_answer_among_prompt_ones_does_not_end_looking() {
        assert_eq!(after(&[80, 20_000, 80, 20_000]), LONGEST / 2);
    }
}
