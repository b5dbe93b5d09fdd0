//! What a node sleeps on: a set that says what can be done at the rendezvous, and one of all bells.

use std::sync::OnceLock;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::io;
use rustix::time::Timespec;

use crate::bells::Bell;
use crate::bells::carry::{Carry, Waiting};
use crate::bells::idle::Idle;
use crate::bells::set::{CARRY, is_supervision, listen_to, no_events, wait_for};
use crate::memory::fork::Maker;

/// Seconds that a copy of a node sleeps at a time.
const LONGEST_REST: i64 = 3600;

/// What a node sleeps on.
pub(crate) struct Sets {
    /// Everything that can happen at the rendezvous.
    pub rendezvous: OwnedFd,
    /// Rung when there is news of the rendezvous, if a thread of its own takes the turns there.
    pub told: Option<Bell>,
    /// All bells, and [supervision](Sets::supervision).
    pub bells: OwnedFd,
    /// The links that the node carries itself while it waits, if there have been any.
    pub carry: OnceLock<Carry>,
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
        match self.waiting() {
            None => wait_for(&self.bells, events, timeout),
            Some(waiting) => waiting.sleep(&self.bells, events, timeout),
        }
    }

    /// Sleeps until a bell rings, for a thread that does not have the node. Whether there is
    /// something to do at the rendezvous.
    pub(crate) fn sleep_without(&self, within: Option<Duration>) -> bool {
        // What is too long for the system is for good.
        let within = within.and_then(|within| within.try_into().ok());
        let mut events = no_events::<16>();
        // What fails here ends the sleep, as an interruption does.
        let heard = self.sleep(&mut events, within).unwrap_or(0);
        events.iter().take(heard).any(is_supervision)
    }

    /// What the node carries itself while it waits; nothing without a thread that looks after it
    /// when the node computes.
    ///
    /// # Errors
    /// What the system says if it has no room for it.
    pub(crate) fn carry(&self) -> io::Result<Option<&Carry>> {
        if self.told.is_none() || self.carry.get().is_some() {
            return Ok(self.carry.get());
        }
        let carry = Carry::new(self.bells.as_fd())?;
        listen_to(&self.rendezvous, carry.as_fd(), CARRY, false)?;
        Ok(Some(self.carry.get_or_init(|| carry)))
    }

    /// A wait, for a node that has links to carry meanwhile.
    #[inline]
    pub(crate) fn waiting(&self) -> Option<Waiting<'_>> {
        let carry = self.carry.get().filter(|carry| carry.has_links())?;
        // What a copy would carry is its parent's.
        (!self.maker.is_another()).then(|| carry.begin())
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
