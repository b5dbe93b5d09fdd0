//! A place for a node: its lock, and waiting in it.
//!
//! A thread that waits keeps the lock, so that what ends its wait costs nothing more than without
//! one; whoever wants the lock meanwhile rings it awake. Only one thread of a node waits so, its
//! leader; others are told when something has ended.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering, fence};
use std::time::Duration;

use narrows::strategy::Notification;
use narrows_host::Bell;
use parking_lot::{Condvar, Mutex, lock_api};

use super::home::Home;
use super::lock::Lock;
use super::node::Node;

/// A slot without a node.
pub(super) const NOBODY: u32 = u32::MAX;
/// How many nanoseconds a thread that looks does so before it sees whether somebody wants the lock.
pub(super) const GLANCE: u64 = 2000;

/// A place for a node, in lines of its own: the locks of two do not share one. The lock is first,
/// so that the slot's address is the lock's.
#[repr(C, align(128))]
pub struct Slot<H: Home> {
    pub(super) node: lock_api::Mutex<Lock, Option<Box<Node<H>>>>,
    /// The node that is there.
    pub(super) id: AtomicU32,
    /// The first life of the next node's handles: whatever a handle of an earlier node is kept for, it
    /// is none of this one's.
    pub(super) first: AtomicU16,
    /// Threads that want the lock.
    wanting: AtomicU32,
    /// Whether the leader sleeps with the lock.
    asleep: AtomicBool,
    pub(super) bell: OnceLock<Bell>,
    /// Who tells the threads that do not lead has it for a moment, and they have it until they sleep.
    telling: Mutex<()>,
    told: Condvar,
    followers: AtomicU32,
}

/// A locked slot.
pub(super) type Guard<'a, H> = lock_api::MutexGuard<'a, Lock, Option<Box<Node<H>>>>;

impl<H: Home> Slot<H> {
    pub(super) const fn new() -> Slot<H> {
        Slot {
            id: AtomicU32::new(NOBODY),
            first: AtomicU16::new(0),
            node: lock_api::Mutex::new(None),
            wanting: AtomicU32::new(0),
            asleep: AtomicBool::new(false),
            bell: OnceLock::new(),
            telling: Mutex::new(()),
            told: Condvar::new(),
            followers: AtomicU32::new(0),
        }
    }

    /// Locks the slot.
    #[inline]
    pub(super) fn lock(&self) -> Guard<'_, H> {
        self.node.try_lock().unwrap_or_else(|| self.lock_in_turn())
    }

    #[cold]
    fn lock_in_turn(&self) -> Guard<'_, H> {
        // SeqCst, with the fence: the leader says that it sleeps and then looks here; this thread
        // says that it wants the lock and then looks whether the leader sleeps. One sees the other.
        self.wanting.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst)
            && let Some(bell) = self.bell.get()
        {
            bell.ring();
        }
        let guard = self.node.lock();
        self.wanting.fetch_sub(1, Ordering::SeqCst);
        guard
    }

    /// Lets those who want the lock have it first.
    fn lend<'a>(&'a self, guard: Guard<'a, H>) -> Guard<'a, H> {
        drop(guard);
        while self.wanting.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
        self.lock()
    }

    /// Tells the threads that do not lead that something may have ended.
    pub(super) fn tell(&self) {
        // Relaxed: it changes with the lock held.
        if self.followers.load(Ordering::Relaxed) == 0 {
            return;
        }
        drop(self.telling.lock());
        self.told.notify_all();
    }

    /// Waits, without the lock, until something has ended or so much time is over, or for no reason less.
    pub(super) fn follow<'a>(
        &'a self,
        guard: Guard<'a, H>,
        left: Option<Duration>,
    ) -> Guard<'a, H> {
        let mut telling = self.telling.lock();
        // From here on nothing can end unheard: who tells needs this second lock.
        self.followers.fetch_add(1, Ordering::Relaxed);
        drop(guard);
        match left {
            Some(left) => drop(self.told.wait_for(&mut telling, left)),
            None => self.told.wait(&mut telling),
        }
        drop(telling);
        let guard = self.lock();
        self.followers.fetch_sub(1, Ordering::Relaxed);
        guard
    }

    /// Waits as the leader until something came, somebody wants the lock or so much time is over.
    pub(super) fn lead<'a>(
        &'a self,
        mut guard: Guard<'a, H>,
        left: Option<Duration>,
        look: bool,
    ) -> Guard<'a, H> {
        let wanted = || self.wanting.load(Ordering::SeqCst) > 0;
        if let Some(node) = guard.as_mut().filter(|node| !wanted() && !node.unheard) {
            node.credit_shorts();
            let how = if look { Notification::Spin } else { Notification::Interrupt };
            if !look {
                self.asleep.store(true, Ordering::SeqCst);
                fence(Ordering::SeqCst);
            }
            if look || !wanted() {
                node.stack.wait_by(how, left);
            }
            if !look {
                self.asleep.store(false, Ordering::SeqCst);
            }
        }
        if wanted() { self.lend(guard) } else { guard }
    }
}
