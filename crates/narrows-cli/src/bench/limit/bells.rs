//! The two eventfds, and the guard that wakes a reader whose counterpart has gone.
//!
//! The limit for a blocked round trip is a bare blocking read, so the read itself can have no
//! deadline. A second thread, asleep meanwhile, supplies it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// What the guard adds to a counter: a count that no honest ring leaves.
const ALARM: u64 = 2;
const ALARM_AGAIN: Duration = Duration::from_millis(10);

/// One side's view of the two eventfds.
pub struct Bells {
    /// Rung by the other side.
    pub mine: OwnedFd,
    /// Rung by this side.
    pub theirs: OwnedFd,
}

impl Bells {
    pub fn create() -> io::Result<Self> {
        let bell = || eventfd(0, EventfdFlags::CLOEXEC);
        Ok(Self { mine: bell()?, theirs: bell()? })
    }

    /// Rings the other side.
    #[inline(always)]
    pub fn ring(&self) -> io::Result<()> {
        rustix::io::write(&self.theirs, &1u64.to_ne_bytes())?;
        Ok(())
    }

    /// Blocks until rung.
    ///
    /// # Errors
    /// Anything but exactly one ring is waiting: the two sides are out of step, or the guard
    /// has sounded the alarm.
    #[inline(always)]
    pub fn listen(&self) -> io::Result<()> {
        let mut count = [0; 8];
        rustix::io::read(&self.mine, &mut count)?;
        match u64::from_ne_bytes(count) {
            1 => Ok(()),
            _ => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the other process did not ring in time, or rang out of turn: it has ended or is \
                 stopped; see whether it still runs, and start both afresh",
            )),
        }
    }

    /// Sleeps until rung or until `wait` has passed, and says which; takes the ring.
    pub fn listen_for(&self, wait: Duration) -> io::Result<bool> {
        if !ready(&self.mine, PollFlags::IN, wait)? {
            return Ok(false);
        }
        self.listen()?;
        Ok(true)
    }

    /// Does `work`; from `patience` on, keeps waking it from any wait for a bell.
    pub fn guarded<R>(
        &self,
        patience: Duration,
        work: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        let (finished, guard) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            std::thread::Builder::new().name("limit guard".into()).spawn_scoped(
                scope,
                move || {
                    let mut wait = patience;
                    while guard.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                        self.alarm();
                        wait = ALARM_AGAIN;
                    }
                },
            )?;
            let result = work();
            drop(finished);
            result
        })
    }

    /// Wakes this side: from a read, by a count that `listen` refuses; from a write that found
    /// the counter full, by emptying it.
    fn alarm(&self) {
        let now = Duration::ZERO;
        if matches!(ready(&self.mine, PollFlags::OUT, now), Ok(true)) {
            let _ = rustix::io::write(&self.mine, &ALARM.to_ne_bytes());
        }
        if matches!(ready(&self.theirs, PollFlags::OUT, now), Ok(false)) {
            let _ = rustix::io::read(&self.theirs, &mut [0; 8]);
        }
    }
}

fn ready(bell: impl AsFd, what: PollFlags, wait: Duration) -> io::Result<bool> {
    let wait = Timespec::try_from(wait).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut bells = [PollFd::new(&bell, what)];
    let count = rustix::io::retry_on_intr(|| poll(&mut bells, Some(&wait)))?;
    Ok(count > 0)
}
