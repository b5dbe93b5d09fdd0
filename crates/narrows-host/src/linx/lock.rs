//! A node's lock, and sleeping without it. A thread that sleeps has let go of the lock: others find
//! the node free whichever thread leads. The model checker runs this file and that of the waits as
//! they are.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use super::sync::{Mutex, MutexGuard};
use super::waits::{Awaited, Waits};

/// What is waited for together: a node.
pub(super) trait Led {
    /// The threads that wait.
    fn waits(&mut self) -> &mut Waits;

    /// Has peers ring. True if there is something already, so that nobody may.
    fn arm(&mut self) -> bool;

    /// Whether something was found that a leader would see to, by a thread that does not lead.
    fn fresh(&self) -> bool;
}

/// A node, for one thread at a time.
pub(super) struct Lock<N> {
    node: Mutex<N>,
}

/// The node, for as long as a thread has its lock.
pub(super) struct Guard<'a, N: Led> {
    node: MutexGuard<'a, N>,
}

impl<N: Led> Lock<N> {
    pub fn new(node: N) -> Lock<N> {
        Lock { node: Mutex::new(node) }
    }

    /// The node, as soon as the thread that has it lets go.
    #[inline]
    pub fn enter(&self) -> Guard<'_, N> {
        Guard { node: self.node.lock() }
    }
}

#[cfg(not(loom))]
impl<N: Led> Lock<N> {
    /// The node, if nobody has it.
    pub fn try_enter(&self) -> Option<Guard<'_, N>> {
        Some(Guard { node: self.node.try_lock()? })
    }
}

impl<N: Led> Deref for Guard<'_, N> {
    type Target = N;

    #[inline]
    fn deref(&self) -> &N {
        &self.node
    }
}

impl<N: Led> DerefMut for Guard<'_, N> {
    #[inline]
    fn deref_mut(&mut self) -> &mut N {
        &mut self.node
    }
}

impl<N: Led> Drop for Guard<'_, N> {
    #[inline]
    fn drop(&mut self) {
        self.let_go();
    }
}

impl<N: Led> Guard<'_, N> {
    /// Before the lock is let go: what others found on the node's rings is seen to by the leader.
    #[inline]
    fn let_go(&mut self) {
        if self.node.fresh() {
            self.node.waits().stir();
        }
    }

    fn unlocked(&mut self, wait: impl FnOnce()) {
        self.let_go();
        MutexGuard::unlocked(&mut self.node, wait);
    }

    /// Sleeps as the leader, by `wait`, unless there is something already.
    pub fn lead(&mut self, what: Awaited, wait: impl FnOnce()) {
        if !self.node.arm() {
            self.node.waits().leader = Some(what);
            self.unlocked(wait);
            self.node.waits().leader = None;
        }
    }

    /// Sleeps until something is told, and then waits for the lock. A thread that `leads` may be
    /// told to take the leader's place.
    pub fn sleep(&mut self, what: Awaited, leads: bool, within: Option<Duration>) {
        // With the lock, so that nothing is told in between that is not heard.
        let turn = self.node.waits().add(what, leads);
        self.unlocked(|| turn.sleep(within));
        self.node.waits().remove(&turn);
    }
}
