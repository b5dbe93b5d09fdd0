//! What wakes a hunt: births in the directory, and a slow tick in case one was missed.

use std::mem::MaybeUninit;
use std::path::Path;

use rustix::event::epoll;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::inotify;
use rustix::io;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::rendezvous::listen_to;

/// Nanoseconds between ticks.
const TICK: i64 = 20_000_000;

/// Watches a directory for births while somebody is hunted. A user's watches are limited in
/// number: without one the tick has to do.
#[derive(Default)]
pub(crate) struct Watcher(Option<OwnedFd>);

impl Watcher {
    /// Starts or stops watching.
    pub(crate) fn set(&mut self, on: bool, set: &OwnedFd, key: u64, path: &Path) {
        if on == self.0.is_some() {
            return;
        }
        if let Some(watcher) = self.0.take() {
            let _ = epoll::delete(set, &watcher);
        }
        if on {
            self.0 = Watcher::start(set, key, path).ok();
        }
    }

    fn start(set: &OwnedFd, key: u64, path: &Path) -> io::Result<OwnedFd> {
        let watcher =
            inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        inotify::add_watch(&watcher, path, inotify::WatchFlags::MOVED_TO)?;
        listen_to(set, watcher.as_fd(), key, false)?;
        Ok(watcher)
    }

    /// Reads what has happened; that it has is enough.
    pub(crate) fn drain(&self) {
        let Some(watcher) = &self.0 else { return };
        let mut buffer = [MaybeUninit::<u8>::uninit(); 4096];
        while io::read(watcher, &mut buffer).is_ok_and(|(read, _)| !read.is_empty()) {}
    }
}

/// Ticks while there is something to try again.
pub(crate) struct Ticker {
    timer: OwnedFd,
    on: bool,
}

impl Ticker {
    pub(crate) fn new() -> io::Result<Ticker> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Ticker { timer: timerfd_create(TimerfdClockId::Monotonic, flags)?, on: false })
    }

    /// Starts or stops ticking.
    pub(crate) fn set(&mut self, on: bool) {
        if on == self.on {
            return;
        }
        let every = Timespec { tv_sec: 0, tv_nsec: if on { TICK } else { 0 } };
        let times = Itimerspec { it_interval: every, it_value: every };
        if timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &times).is_ok() {
            self.on = on;
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
