//! A timer that is readable when it has expired.

use std::time::Duration;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

pub(crate) struct Timer(OwnedFd);

impl Timer {
    /// One that is not set.
    ///
    /// # Errors
    /// What the system says if it has no room for it.
    pub(crate) fn new() -> io::Result<Timer> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        timerfd_create(TimerfdClockId::Monotonic, flags).map(Timer)
    }

    /// Expires once, after this time.
    ///
    /// # Errors
    /// What the system says. The same is true of [`Timer::each`].
    pub(crate) fn once(&self, after: Duration) -> io::Result<()> {
        self.set(Duration::ZERO, after)
    }

    /// Expires again and again, once in every period.
    pub(crate) fn each(&self, period: Duration) -> io::Result<()> {
        self.set(period, period)
    }

    fn set(&self, interval: Duration, value: Duration) -> io::Result<()> {
        let [it_interval, it_value] = [interval, value].map(|time| Timespec {
            tv_sec: time.as_secs().cast_signed(),
            tv_nsec: time.subsec_nanos().into(),
        });
        let times = Itimerspec { it_interval, it_value };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &times).map(drop)
    }

    /// Forgets how often it has expired.
    pub(crate) fn hear(&self) {
        let _ = io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
