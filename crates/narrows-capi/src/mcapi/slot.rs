//! A place for a node: its lock, and waiting in it.
//!
//! A thread that waits keeps the node locked while it sleeps, so that nothing is unlocked and
//! locked again when it wakes. A thread that wants the lock meanwhile rings the sleeping one awake.
//! Only one thread of a node waits in this way, its leader. The others, its followers, sleep
//! without the lock, and are told when something has ended.
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::mem::ManuallyDrop;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

use narrows::strategy::Notification;
use narrows_host::Bell;
use parking_lot::{Condvar, Mutex};

use super::home::Home;
use super::lock::Lock;
use super::node::Node;

/// A slot without a node.
pub(super) const NOBODY: u32 = u32::MAX;
/// How many nanoseconds a thread that looks does so before it sees whether somebody wants the lock.
pub(super) const GLANCE: u64 = 2000;

thread_local! {
    /// The slot in which this thread waits with the lock. Code that a signal's handler runs then
    /// cannot have the lock.
    static LEADS: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread waits with the lock of one of these slots, and so calls from within a
/// signal's handler.
pub(super) fn waits_in<H: Home>(slots: &[Slot<H>]) -> bool {
    let leads = LEADS.get();
    leads != 0 && slots.iter().any(|slot| std::ptr::from_ref(slot).addr() == leads)
}

/// A place for a node. Each has cache lines of its own: the locks of two do not share one. The lock
/// is first, so that the slot's address is the lock's.
#[repr(C, align(128))]
pub struct Slot<H: Home> {
    lock: Lock,
    node: Behind<Option<Box<Node<H>>>>,
    /// The node that is there.
    pub(super) id: AtomicU32,
    /// The life of the node that is there, or was last.
    pub(super) life: AtomicU64,
    /// The first life of the next node's handles, which no handle of an earlier node has.
    pub(super) first: AtomicU16,
    /// Threads that want the lock.
    wanting: AtomicU32,
    /// Whether the leader sleeps with the lock.
    asleep: AtomicBool,
    pub(super) bell: OnceLock<Bell>,
    /// A follower has it from before it unlocks the slot until it sleeps; a thread that tells the
    /// followers takes it first, and so finds them asleep.
    telling: Mutex<()>,
    told: Condvar,
    followers: AtomicU32,
}

/// What is behind a slot's lock.
struct Behind<T>(UnsafeCell<T>);

// SAFETY: it is reached through a `Locked` alone, which one thread has at a time.
unsafe impl<T: Send> Sync for Behind<T> {}

/// A slot that this thread has locked. When it is dropped, threads that wait in the slot are told
/// if something has ended, and the slot is unlocked; [`Locked::end`] is the short way of that.
pub(super) struct Locked<H: Home>(&'static Slot<H>);

impl<H: Home> Locked<H> {
    #[inline(always)]
    pub fn slot(&self) -> &'static Slot<H> {
        self.0
    }

    /// The place for a node.
    #[inline(always)]
    pub fn place(&mut self) -> &mut Option<Box<Node<H>>> {
        // SAFETY: `lock` and `try_lock` alone make a `Locked`, with the lock taken, and it is
        // unlocked when the `Locked` is no more: there is one, which is borrowed for as long as
        // what this returns.
        unsafe { &mut *self.0.node.0.get() }
    }

    /// The node, if there is one.
    #[inline(always)]
    pub fn node(&mut self) -> Option<&mut Node<H>> {
        self.place().as_deref_mut()
    }

    /// Unlocks, where nothing has ended: nobody is told.
    #[inline(always)]
    pub fn end(self) {
        if let Some(lock) = self.unlock() {
            lock.pass_on();
        }
    }

    /// As [`Locked::end`]; returns a value, which then need not be kept over a call.
    #[inline(always)]
    pub fn end_with(self, value: u64) -> u64 {
        #[cold]
        #[inline(never)]
        extern "C" fn pass_on(lock: &Lock, value: u64) -> u64 {
            lock.pass_on();
            // The compiler must not see that this is the value it passed, or it keeps its own over
            // the call.
            std::hint::black_box(value)
        }
        match self.unlock() {
            Some(lock) => pass_on(lock, value),
            None => value,
        }
    }

    /// Unlocks. The lock, if it is to be passed on.
    #[inline(always)]
    fn unlock(self) -> Option<&'static Lock> {
        let lock = &ManuallyDrop::new(self).0.lock;
        lock.unlock().then_some(lock)
    }
}

impl<H: Home> Drop for Locked<H> {
    // The rest is called with the slot, so that a `Locked` need not be in memory.
    #[inline(always)]
    fn drop(&mut self) {
        self.0.unlock();
    }
}

impl<H: Home> Slot<H> {
    pub(super) const fn new() -> Slot<H> {
        Slot {
            id: AtomicU32::new(NOBODY),
            life: AtomicU64::new(0),
            first: AtomicU16::new(0),
            lock: Lock::new(),
            node: Behind(UnsafeCell::new(None)),
            wanting: AtomicU32::new(0),
            asleep: AtomicBool::new(false),
            bell: OnceLock::new(),
            telling: Mutex::new(()),
            told: Condvar::new(),
            followers: AtomicU32::new(0),
        }
    }

    /// Locks the slot, if nobody has it locked.
    #[inline(always)]
    pub(super) fn try_lock(&'static self) -> Option<Locked<H>> {
        if self.lock.try_lock() { Some(Locked(self)) } else { None }
    }

    /// Locks the slot.
    #[inline]
    pub(super) fn lock(&'static self) -> Locked<H> {
        self.try_lock().unwrap_or_else(|| self.lock_in_turn())
    }

    /// As [`Slot::lock`]. None if the caller has it locked already, and waits.
    #[inline]
    pub(super) fn enter(&'static self) -> Option<Locked<H>> {
        self.try_lock().or_else(|| {
            let own = LEADS.get() == std::ptr::from_ref(self).addr();
            (!own).then(|| self.lock_in_turn())
        })
    }

    /// Ends a `Locked` that is dropped.
    #[inline(never)]
    fn unlock(&'static self) {
        let mut locked = ManuallyDrop::new(Locked(self));
        if let Some(node) = locked.node()
            && std::mem::take(&mut node.news)
        {
            self.tell();
        }
        if self.lock.unlock() {
            self.lock.pass_on();
        }
    }

    #[cold]
    fn lock_in_turn(&'static self) -> Locked<H> {
        // SeqCst, with the fence: pairs with the store and the fence in `lead`. The leader says
        // that it sleeps and then looks here; this thread says that it wants the lock and then
        // looks whether the leader sleeps. One sees the other.
        self.wanting.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst)
            && let Some(bell) = self.bell.get()
        {
            bell.ring();
        }
        self.lock.lock();
        let locked = Locked(self);
        self.wanting.fetch_sub(1, Ordering::SeqCst);
        locked
    }

    /// Lets the threads that want the lock have it first.
    fn lend(&'static self, locked: Locked<H>) -> Locked<H> {
        locked.end();
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

    /// Waits as a follower, without the lock, until something has ended or no time is `left`. It
    /// may return earlier for no reason.
    pub(super) fn follow(&'static self, locked: Locked<H>, left: Option<Duration>) -> Locked<H> {
        let mut telling = self.telling.lock();
        // From here on nothing can end unheard: a thread that tells needs `telling`.
        self.followers.fetch_add(1, Ordering::Relaxed);
        locked.end();
        match left {
            Some(left) => drop(self.told.wait_for(&mut telling, left)),
            None => self.told.wait(&mut telling),
        }
        drop(telling);
        let locked = self.lock();
        self.followers.fetch_sub(1, Ordering::Relaxed);
        locked
    }

    /// Waits as the leader until something came, somebody wants the lock or no time is `left`.
    pub(super) fn lead(
        &'static self,
        mut locked: Locked<H>,
        left: Option<Duration>,
        look: bool,
    ) -> Locked<H> {
        let wanted = || self.wanting.load(Ordering::SeqCst) > 0;
        if let Some(node) = locked.node().filter(|node| !wanted() && !node.unheard) {
            node.credit_shorts();
            let how = if look { Notification::Spin } else { Notification::Interrupt };
            if !look {
                self.asleep.store(true, Ordering::SeqCst);
                fence(Ordering::SeqCst);
            }
            if look || !wanted() {
                LEADS.set(std::ptr::from_ref(self).addr());
                node.stack.wait_by(how, left);
                LEADS.set(0);
            }
            if !look {
                self.asleep.store(false, Ordering::SeqCst);
            }
        }
        if wanted() { self.lend(locked) } else { locked }
    }
}
