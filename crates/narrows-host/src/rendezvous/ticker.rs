//! What wakes a hunt, and everything else at the rendezvous that has to be tried again: ticks.
//!
//! A watch on the directory would tell of a birth at once, but closing one waits in the kernel for
//! 10 ms and more: its node would serve no link for that long when the hunt ends, and a process
//! that is killed meanwhile would end, and be known to be dead, that much later.

use std::time::Duration;

use rustix::fd::{AsFd, BorrowedFd};
use rustix::io;

use crate::bells::timer::Timer;

/// Ticks as often as there is something to try again.
pub(crate) struct Ticker {
    timer: Timer,
    every: Option<Duration>,
}

impl Ticker {
    pub(crate) fn new() -> io::Result<Ticker> {
        Ok(Ticker { timer: Timer::new()?, every: None })
    }

    /// Ticks so often from now on.
    pub(crate) fn set(&mut self, period: Duration) {
        let every = Some(period);
        if every == self.every {
            return;
        }
        if self.timer.each(period).is_ok() {
            self.every = every;
        }
    }

    /// Forgets the ticks that have passed.
    pub(crate) fn drain(&self) {
        self.timer.hear();
    }
}

impl AsFd for Ticker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}
