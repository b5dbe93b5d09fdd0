//! The two eventfds, and the guard that wakes a reader whose counterpart has gone.
//!
//! The limit for a blocked round trip is a bare blocking read, or a bare wait on a set, so it can have
//! no deadline itself. A second thread, asleep meanwhile, supplies it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};

/// What the guard adds to a counter: a count that no honest ring leaves.
const ALARM: u64 = 2;
const ALARM_AGAIN: Duration = Duration::from_millis(10);

/// One side's view of the two eventfds.
pub struct Bells {
    /// Rung by the other side.
    pub mine: OwnedFd,
    /// Rung by this side.
    pub theirs: OwnedFd,
    /// Has `mine` in it while that is watched, and is empty otherwise: being watched makes rings dearer.
    set: OwnedFd,
    /// The guard has sounded the alarm.
    alarmed: AtomicBool,
}

impl Bells {
    pub fn create() -> io::Result<Self> {
        let bell = || eventfd(0, EventfdFlags::CLOEXEC);
        Self::new(bell()?, bell()?)
    }

    pub fn new(mine: OwnedFd, theirs: OwnedFd) -> io::Result<Self> {
        let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { mine, theirs, set, alarmed: AtomicBool::new(false) })
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
        self.take(1)
    }

    /// Takes the rings since the last time; blocks if there are none.
    ///
    /// # Errors
    /// There are not exactly so many, as for `listen`.
    #[inline(always)]
    pub fn take(&self, rings: u64) -> io::Result<()> {
        let mut count = [0; 8];
        rustix::io::read(&self.mine, &mut count)?;
        if u64::from_ne_bytes(count) == rings { Ok(()) } else { Err(out_of_turn()) }
    }

    /// Blocks until rung, in a wait on the set, and leaves the ring to be taken later.
    ///
    /// # Errors
    /// The guard has sounded the alarm.
    #[inline(always)]
    pub fn sleep(&self) -> io::Result<()> {
        let none =
            epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        let mut events = [none];
        // A read goes on by itself after a stop of the process, a wait on a set does not.
        rustix::io::retry_on_intr(|| epoll::wait(&self.set, &mut events[..], None))?;
        // Its partner is the store in `alarm`.
        if self.alarmed.load(Acquire) { Err(out_of_turn()) } else { Ok(()) }
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

    /// As `guarded`, with the bell in the set meanwhile, as the stack has its own: each ring is told of
    /// once, and need not be taken for that.
    pub fn watched<R>(
        &self,
        patience: Duration,
        work: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&self.set, &self.mine, epoll::EventData::new_u64(0), flags)?;
        let result = self.guarded(patience, work);
        epoll::delete(&self.set, &self.mine)?;
        result
    }

    /// Wakes this side: from a read, by a count that `listen` refuses; from a wait on the set, by the
    /// same; from a write that found the counter full, by emptying it.
    fn alarm(&self) {
        // Before the ring that wakes. Its partner is the load in `sleep`.
        self.alarmed.store(true, Release);
        let now = Duration::ZERO;
        if matches!(ready(&self.mine, PollFlags::OUT, now), Ok(true)) {
            let _ = rustix::io::write(&self.mine, &ALARM.to_ne_bytes());
        }
        if matches!(ready(&self.theirs, PollFlags::OUT, now), Ok(false)) {
            let _ = rustix::io::read(&self.theirs, &mut [0; 8]);
        }
    }
}

fn out_of_turn() -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        "the other process did not ring in time, or rang out of turn: it has ended or is stopped; \
         see whether it still runs, and start both afresh",
    )
}

fn ready(bell: impl AsFd, what: PollFlags, wait: Duration) -> io::Result<bool> {
    let wait = Timespec::try_from(wait).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut bells = [PollFd::new(&bell, what)];
    let count = rustix::io::retry_on_intr(|| poll(&mut bells, Some(&wait)))?;
    Ok(count > 0)
}
