//! When a timer ends that always runs.

use core::time::Duration;

use crate::platform::{Instant, Platform};

/// The next end of the timer, or the deadline if that is sooner.
pub(crate) fn timer_end<P: Platform>(
    platform: &P,
    deadline: Option<Instant>,
    every: Duration,
) -> Instant {
    let ends = next(platform.now(), every);
    deadline.map_or(ends, |d| d.min(ends))
}

/// The first whole multiple behind a moment: ends keep step however late a core comes to wait.
fn next(now: Instant, every: Duration) -> Instant {
    let every = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX).max(1);
    Instant((now.0 / every).saturating_add(1).saturating_mul(every))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_ends_at_multiples_however_late_it_is_waited_for() {
        let next = |now, every| next(Instant(now), Duration::from_nanos(every)).0;
        assert_eq!(
            [0, 1, 999, 1000, 1999].map(|now| next(now, 1000)),
            [1000, 1000, 1000, 2000, 2000]
        );
        assert_eq!(next(5, 0), 6);
        assert_eq!(next(u64::MAX, 1000), u64::MAX);
    }
}
