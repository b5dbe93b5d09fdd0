//! How deep a core goes idle under a node that sleeps for moments only.
//!
//! A core that has nothing to do stops the kernel's timer tick, and starts it again when it is
//! woken. Both set a timer, which on a virtual machine leaves the machine: where messages come one
//! after the other that was a third of a round trip. The tick stays where a timer is about to
//! expire, so a node that has just slept, and briefly, sets one before it sleeps again. Nothing
//! waits for it: a node that is left alone hears of it no more than of the tick.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::io;

use crate::bells::timer::Timer;
use crate::clock;

/// Nanoseconds after which the timer expires: a part of the shortest tick, which is 1 ms, and long
/// beside what setting it takes.
const HELD: u64 = 250_000;

/// Keeps the tick.
pub(crate) struct Idle {
    timer: Timer,
    held: u64,
    /// When, in ticks of the clock, the last sleep began.
    slept: AtomicU64,
    /// When the timer was set.
    set: AtomicU64,
}

impl Idle {
    pub(crate) fn new() -> io::Result<Idle> {
        Ok(Idle {
            timer: Timer::new()?,
            held: clock::ticks_in(HELD),
            slept: AtomicU64::new(0),
            set: AtomicU64::new(0),
        })
    }

    /// A sleep is about to begin.
    #[inline]
    pub(crate) fn begins(&self) {
        let now = clock::ticks();
        // Relaxed: with several threads the timer may be set once more or less.
        let apart = now.wrapping_sub(self.slept.load(Ordering::Relaxed));
        self.slept.store(now, Ordering::Relaxed);
        if ends_too_soon(now.wrapping_sub(self.set.load(Ordering::Relaxed)), apart, self.held) {
            self.hold(now);
        }
    }

    #[cold]
    fn hold(&self, now: u64) {
        self.set.store(now, Ordering::Relaxed);
        // Without it the core sleeps deeper.
        let _ = self.timer.once(Duration::from_nanos(HELD));
    }
}

/// Whether a timer that was set `since` ago and expires `held` after it was set would expire before
/// the next sleep begins, if sleeps go on beginning `apart` from each other. Not if they are so far
/// apart that any timer would.
fn ends_too_soon(since: u64, apart: u64, held: u64) -> bool {
    apart < held && since.saturating_add(apart) > held
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use narrows::platform::{Platform as _, Wait};
    use rustix::time::timerfd_gettime;

    use super::*;
    use crate::{Host, Options};

    fn runs(idle: &Idle) -> bool {
        timerfd_gettime(&idle.timer).unwrap().it_value.tv_nsec > 0
    }

    #[test]
    fn the_timer_outlasts_sleeps_that_are_close_and_is_left_alone_by_others() {
        assert!(!ends_too_soon(0, 40, 250));
        assert!(!ends_too_soon(210, 40, 250));
        assert!(ends_too_soon(211, 40, 250));
        // It has expired long ago, or was never set.
        assert!(ends_too_soon(u64::MAX, 40, 250));
        for since in [0, 100, 1000, u64::MAX] {
            assert!(!ends_too_soon(since, 250, 250));
            assert!(!ends_too_soon(since, u64::MAX, 250));
        }
    }

    #[test]
    fn who_sleeps_seldom_sets_no_timer_and_who_sleeps_often_does() {
        let idle = Idle::new().unwrap();
        for _ in 0..5 {
            idle.begins();
            assert!(!runs(&idle));
            // Longer than the timer is held.
            std::thread::sleep(Duration::from_millis(1));
        }
        let often = (0..1_000_000).any(|_| {
            idle.begins();
            runs(&idle)
        });
        assert!(often, "a million sleeps in a row set no timer");
    }

    #[test]
    fn nodes_that_sleep_often_keep_the_tick_and_loops_around_nodes_too() {
        type Act<'a> = (&'a str, &'a dyn Fn(&Host), bool);
        let sleep = |host: &Host| {
            host.wait(std::iter::empty(), Wait::Bell, Some(clock::now()));
        };
        let timer = |host: &Host| {
            host.wait(std::iter::empty(), Wait::Timer, Some(clock::now()));
        };
        let acts: [Act<'_>; 3] =
            [("a sleep", &sleep, true), ("hearing", &Host::hear, true), ("a timer", &timer, false)];
        for (what, act, keeps) in acts {
            let directory = tempfile::tempdir().unwrap();
            let host = Options::new("a").directory(directory.path()).open().unwrap();
            let kept = (0..if keeps { 1_000_000 } else { 100 }).any(|_| {
                act(&host);
                runs(&host.sets().idle)
            });
            assert_eq!(kept, keeps, "{what}");
        }
    }
}
