//! The two eventfds, and what wakes a reader whose counterpart has gone.
//!
//! The limit for a blocked round trip is a bare blocking read, or a bare wait on a set, so it can
//! have no deadline itself. A [`Guard`] supplies it.

use std::cell::{Cell, OnceCell};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use super::guard::Guard;

/// What the guard adds to a counter: a count that no honest ring leaves.
const ALARM: u64 = 2;
/// How long a timer that holds the tick runs, and after which part of that it is set again.
const HELD: Duration = Duration::from_micros(250);
const SET_AGAIN: Duration = Duration::from_micros(190);

/// One side's view of the two eventfds.
pub struct Bells {
    /// Rung by the other side.
    pub mine: OwnedFd,
    /// Rung by this side.
    pub theirs: OwnedFd,
    /// Has `mine` in it while that is watched, and is empty otherwise: being watched makes rings
    /// dearer.
    set: OwnedFd,
    /// The guard has sounded the alarm.
    alarmed: Arc<AtomicBool>,
    guard: OnceCell<Guard>,
    /// Holds the tick, and when it was set.
    timer: OwnedFd,
    set_at: Cell<Option<Instant>>,
}

impl Bells {
    pub fn create() -> io::Result<Self> {
        let bell = || eventfd(0, EventfdFlags::CLOEXEC);
        Self::new(bell()?, bell()?)
    }

    pub fn new(mine: OwnedFd, theirs: OwnedFd) -> io::Result<Self> {
        let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        let (guard, set_at) = (OnceCell::new(), Cell::new(None));
        Ok(Self { mine, theirs, set, alarmed: Arc::default(), guard, timer, set_at })
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
    /// There are not exactly this many, as for `listen`.
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

    /// Has this core keep its timer tick while it sleeps, as the stack does: where a timer is about
    /// to expire the tick is not stopped.
    #[inline(always)]
    pub fn hold_tick(&self) -> io::Result<()> {
        let now = Instant::now();
        if self.set_at.get().is_none_or(|set| now.duration_since(set) >= SET_AGAIN) {
            self.set_at.set(Some(now));
            let none = Timespec { tv_sec: 0, tv_nsec: 0 };
            let held = Timespec { tv_sec: 0, tv_nsec: HELD.subsec_nanos().into() };
            let times = Itimerspec { it_interval: none, it_value: held };
            timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &times)?;
        }
        Ok(())
    }

    /// Does `work`; from `patience` on, keeps waking it from any wait for a bell.
    pub fn guarded<R>(
        &self,
        patience: Duration,
        work: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        let _watch = self.guard()?.watch(patience);
        work()
    }

    fn guard(&self) -> io::Result<&Guard> {
        if let Some(guard) = self.guard.get() {
            return Ok(guard);
        }
        let alarm = Alarm {
            mine: self.mine.try_clone()?,
            theirs: self.theirs.try_clone()?,
            alarmed: Arc::clone(&self.alarmed),
        };
        let guard = Guard::start(move || alarm.sound())?;
        Ok(self.guard.get_or_init(|| guard))
    }

    /// As `guarded`, with the bell in the set meanwhile, as the stack has its own: each ring is
    /// told of once, and need not be taken for that.
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
}

/// What the guard has of both eventfds.
struct Alarm {
    mine: OwnedFd,
    theirs: OwnedFd,
    alarmed: Arc<AtomicBool>,
}

impl Alarm {
    /// Wakes this side: from a read, by a count that `listen` refuses; from a wait on the set, by
    /// the same; from a write that found the counter full, by emptying it.
    fn sound(&self) {
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
