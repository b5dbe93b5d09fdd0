//! A set of descriptors that a thread sleeps on, and what it says of them.

use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io;
use rustix::time::Timespec;

/// In nanoseconds.
const MILLISECOND: i64 = 1_000_000;

/// What the set of all bells says of [supervision](crate::bells::sets::Sets::supervision).
pub(crate) const SUPERVISION: u64 = u64::MAX;

/// What it says of a bell of this process's own.
pub(crate) const WAKER: u64 = u64::MAX - 1;

/// What the set of the rendezvous says of [`Carry`](crate::bells::carry::Carry)'s timer.
pub(crate) const CARRY: u64 = 3;

/// Room for what a set says.
pub(crate) fn no_events<const N: usize>() -> [epoll::Event; N] {
    [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; N]
}

/// What a set says something of.
pub(crate) fn key(event: &epoll::Event) -> u64 {
    // The event is packed: its data has no place to be referred to.
    let data = event.data;
    data.u64()
}

/// Whether what the set of all bells says is of supervision.
pub(crate) fn is_supervision(event: &epoll::Event) -> bool {
    key(event) == SUPERVISION
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
