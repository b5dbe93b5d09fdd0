//! What wakes a hunt, and everything else at the rendezvous that has to be tried again: ticks.
//!
//! A watch on the directory would tell of a birth at once, but closing one waits in the kernel for
//! 10 ms and more: its node would serve no link for that long when the hunt ends, and a process
//! that is killed meanwhile would end, and be known to be dead, that much later.

use std::time::Duration;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// Ticks as often as there is something to try again.
pub(crate) struct Ticker {
    timer: OwnedFd,
    every: Option<Duration>,
}

impl Ticker {
    pub(crate) fn new() -> io::Result<Ticker> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Ticker { timer: timerfd_create(TimerfdClockId::Monotonic, flags)?, every: None })
    }

    /// Ticks so often from now on.
    pub(crate) fn set(&mut self, period: Duration) {
        let every = Some(period);
        if every == self.every {
            return;
        }
        let period = Timespec {
            tv_sec: period.as_secs().cast_signed(),
            tv_nsec: period.subsec_nanos().into(),
        };
        let times = Itimerspec { it_interval: period, it_value: period };
        if timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &times).is_ok() {
            self.every = every;
        }
    }

    /// Forgets the ticks that have passed.
    pub(crate) fn drain(&self) {
        let _ = io::read(&self.timer, &mut [0; 8]);
    }
}

impl AsFd for Ticker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}
