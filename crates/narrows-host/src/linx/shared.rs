//! A node's lock, and waiting for the node. Who sleeps has let go of the lock: others find the node
//! free whoever leads.

use std::ops::{Deref, DerefMut};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use narrows::platform::{Platform, Woken};
use narrows::strategy::Notification;
use parking_lot::{Mutex, MutexGuard};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Stack;
use super::core::Core;
use super::waits::Awaited;

/// How long a leader looks before it sleeps, at most. Meanwhile it has the lock.
const LOOK: Duration = Duration::from_micros(50);

pub(super) struct Shared {
    core: Mutex<Core>,
    /// Readable when a peer, or this node's own bell, has rung.
    rings: OwnedFd,
    /// Whether the node's own threads are to end.
    pub over: AtomicBool,
}

/// The node, for as long as a thread has its lock.
pub(super) struct Guard<'a> {
    core: MutexGuard<'a, Core>,
}

impl Deref for Guard<'_> {
    type Target = Core;

    #[inline]
    fn deref(&self) -> &Core {
        &self.core
    }
}

impl DerefMut for Guard<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Core {
        &mut self.core
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.core.let_go();
    }
}

impl Guard<'_> {
    fn unlocked(&mut self, wait: impl FnOnce()) {
        self.core.let_go();
        MutexGuard::unlocked(&mut self.core, wait);
    }
}

impl Shared {
    pub fn new(core: Core) -> std::io::Result<Shared> {
        let rings = core.around.node.platform().as_fd().try_clone_to_owned()?;
        Ok(Shared { core: Mutex::new(core), rings, over: AtomicBool::new(false) })
    }

    /// The node, as soon as who has it lets go.
    #[inline]
    pub fn enter(&self) -> Guard<'_> {
        Guard { core: self.core.lock() }
    }

    /// Waits until something may have come, at most for so long: as the leader, if there is none.
    pub fn wait(&self, core: &mut Guard<'_>, what: Awaited, within: Option<Duration>) {
        if core.around.waits.leader.is_some() {
            return self.sleep_for(core, what, true, within);
        }
        self.lead(core, what, within);
        // Whatever ended the wait may have been room.
        core.around.waits.tell(Awaited::Room);
    }

    fn lead(&self, core: &mut Guard<'_>, what: Awaited, within: Option<Duration>) {
        // Not in the way that was agreed with peers: they would choose how long this has the lock.
        let window = match core.stack {
            Stack::Flat => core.look.window(LOOK),
            // An interrupt does not look, and the other threads of its node have work to do.
            Stack::Layered => Duration::ZERO,
        };
        let look = within.map_or(window, |within| within.min(window));
        let around = &mut core.around;
        let looks = !look.is_zero();
        let met = looks && around.node.wait_by(Notification::Spin, Some(look)) != Woken::Deadline;
        if met || within.is_some_and(|within| within <= window) {
            return;
        }
        let began = around.node.platform().now();
        if !around.node.arm() {
            core.around.waits.leader = Some(what);
            let left = within.map(|within| within.saturating_sub(window));
            core.unlocked(|| self.sleep_on_rings(left));
            core.around.waits.leader = None;
            core.around.node.platform().hear();
            core.around.node.poll();
        }
        let core = &mut **core;
        core.around.node.disarm();
        core.look.learn(window + core.around.node.platform().now().since(began), LOOK);
    }

    fn sleep_on_rings(&self, within: Option<Duration>) {
        let within = within.map(|within| Timespec {
            tv_sec: i64::try_from(within.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(within.subsec_nanos()),
        });
        // What fails here ends the sleep, as an interruption does.
        let _ = poll(&mut [PollFd::new(&self.rings, PollFlags::IN)], within.as_ref());
    }

    /// Waits without the node until something is told, and then for the node.
    pub fn sleep(&self, core: &mut Guard<'_>, what: Awaited, within: Option<Duration>) {
        self.sleep_for(core, what, false, within);
    }

    fn sleep_for(
        &self,
        core: &mut Guard<'_>,
        what: Awaited,
        leads: bool,
        within: Option<Duration>,
    ) {
        // With the lock, so that nothing is told in between that is not heard.
        let turn = core.around.waits.add(what, leads);
        core.unlocked(|| turn.sleep(within));
        core.around.waits.remove(&turn);
    }
}
