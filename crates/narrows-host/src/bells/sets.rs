//! What a node sleeps on: a set that says what can be done at the rendezvous, and one of all bells.

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::io;
use rustix::time::Timespec;

use crate::bells::Bell;
use crate::bells::idle::Idle;
use crate::memory::fork::Maker;

/// In nanoseconds.
const MILLISECOND: i64 = 1_000_000;
/// Seconds that a copy of a node sleeps at a time.
const LONGEST_REST: i64 = 3600;

/// What the set of all bells says of [`Sets::supervision`].
pub(crate) const SUPERVISION: u64 = u64::MAX;

/// What it says of a bell of this process's own.
pub(crate) const WAKER: u64 = u64::MAX - 1;

/// What a node sleeps on.
pub(crate) struct Sets {
    /// Everything that can happen at the rendezvous.
    pub rendezvous: OwnedFd,
    /// Rung when there is news of the rendezvous, if a thread of its own takes the turns there.
    pub told: Option<Bell>,
    /// All bells, and [supervision](Sets::supervision).
    pub bells: OwnedFd,
    /// The core under the thread that sleeps on them.
    pub idle: Idle,
    pub maker: Maker,
}

impl Sets {
    /// Sleeps until a bell rings or there is something to do at the rendezvous, as [`wait_for`]
    /// does.
    pub(crate) fn sleep(
        &self,
        events: &mut [epoll::Event],
        timeout: Option<Timespec>,
    ) -> io::Result<usize> {
        if self.maker.is_another() {
            return Ok(rest(timeout));
        }
        self.idle.begins();
        wait_for(&self.bells, events, timeout)
    }

    /// As [`Sets::sleep`], on the rendezvous alone. How many descriptors have something: one at
    /// most.
    pub(crate) fn sleep_on_supervision(&self, timeout: Option<Timespec>) -> io::Result<usize> {
        if self.maker.is_another() {
            return Ok(rest(timeout));
        }
        let supervision = self.supervision();
        poll(&mut [PollFd::new(&supervision, PollFlags::IN)], timeout.as_ref())
    }

    /// What tells the node of its rendezvous.
    pub(crate) fn supervision(&self) -> BorrowedFd<'_> {
        self.told.as_ref().map_or_else(|| self.rendezvous.as_fd(), |told| told.as_fd())
    }
}

/// Sleeps, as a copy of a node does: what its sets said would be its parent's to hear. Nothing was
/// heard.
fn rest(timeout: Option<Timespec>) -> usize {
    let secs = timeout.map_or(LONGEST_REST, |timeout| timeout.tv_sec.clamp(0, LONGEST_REST));
    let nanos = timeout.map_or(0, |timeout| timeout.tv_nsec);
    std::thread::sleep(Duration::new(secs.unsigned_abs(), u32::try_from(nanos).unwrap_or(0)));
    0
}

/// Room for what a set says.
pub(crate) fn no_events<const N: usize>() -> [epoll::Event; N] {
    [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; N]
}

/// Whether what the set of all bells says is of [`Sets::supervision`].
pub(crate) fn is_supervision(event: &epoll::Event) -> bool {
    // The event is packed: its data has no place to be referred to.
    let data = event.data;
    data.u64() == SUPERVISION
}

/// Adds a descriptor to a set.
pub(crate) fn listen_to(set: &OwnedFd, fd: BorrowedFd<'_>, key: u64, edge: bool) -> io::Result<()> {
    let flags =
        if edge { epoll::EventFlags::IN | epoll::EventFlags::ET } else { epoll::EventFlags::IN };
    epoll::add(set, fd, epoll::EventData::new_u64(key), flags)
}

/// Waits for descriptors of a set, and may return before the timeout for no reason: a set waits
/// whole milliseconds, so a longer timeout is cut to them, and what is left is waited for on the
/// set's own descriptor. (One call does both, but only from Linux 5.11 on.)
pub(crate) fn wait_for(
    set: &OwnedFd,
    events: &mut [epoll::Event],
    timeout: Option<Timespec>,
) -> io::Result<usize> {
    let Some(timeout) = timeout else { return epoll::wait(set, events, None) };
    let whole = timeout.tv_nsec / MILLISECOND * MILLISECOND;
    if (timeout.tv_sec > 0 || whole > 0 || timeout.tv_nsec == 0)
        || poll(&mut [PollFd::new(set, PollFlags::IN)], Some(&timeout))? > 0
    {
        let timeout = Timespec { tv_nsec: whole, ..timeout };
        return epoll::wait(set, events, Some(&timeout));
    }
    Ok(0)
}
