//! A node's lock. A thread that waits for the node keeps it, so that a wait costs what it does without
//! a lock; whoever wants the lock meanwhile rings it awake. One thread waits so, the leader; the others
//! are told when something came for them, or when there is no leader any more.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use narrows::platform::{Instant, Platform};
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::core::Core;
use crate::Bell;

/// What some threads wait for without the lock.
#[derive(Default)]
pub(super) struct Told {
    times: Mutex<u64>,
    changed: Condvar,
}

impl Told {
    /// Has those that wait look.
    pub fn tell(&self) {
        *self.times.lock() += 1;
        self.changed.notify_all();
    }

    fn times(&self) -> u64 {
        *self.times.lock()
    }

    /// Waits until it was told more often than that.
    fn wait(&self, before: u64, within: Option<Duration>) {
        let mut times = self.times.lock();
        if *times == before {
            let within = within.unwrap_or(Duration::from_secs(3600));
            self.changed.wait_for(&mut times, within);
        }
    }
}

pub(super) struct Shared {
    core: Mutex<Core>,
    /// Threads that want the lock.
    wanted: AtomicU32,
    bell: Bell,
    /// Something came for an endpoint, or nobody leads.
    pub told: Told,
    /// There is work for the link handler's thread, and for the receiving one.
    pub outgoing: Told,
    pub incoming: Told,
    /// Whether the threads are to end.
    pub over: AtomicBool,
}

pub(super) type Guard<'a> = MutexGuard<'a, Core>;

impl Shared {
    pub fn new(core: Core) -> std::io::Result<Shared> {
        let bell = Bell::new()?;
        core.around.node.platform().listen(&bell)?;
        Ok(Shared {
            core: Mutex::new(core),
            wanted: AtomicU32::new(0),
            bell,
            told: Told::default(),
            outgoing: Told::default(),
            incoming: Told::default(),
            over: AtomicBool::new(false),
        })
    }

    /// The node, as soon as who has it lets go.
    #[inline]
    pub fn enter(&self) -> Guard<'_> {
        self.core.try_lock().unwrap_or_else(|| self.enter_in_turn())
    }

    #[inline(never)]
    fn enter_in_turn(&self) -> Guard<'_> {
        // Before the bell: who hears it looks at this.
        self.wanted.fetch_add(1, Ordering::SeqCst);
        self.bell.ring();
        let guard = self.core.lock();
        self.wanted.fetch_sub(1, Ordering::SeqCst);
        guard
    }

    /// Waits until something may have come, at most until then: with the node, if nobody else does.
    pub fn wait(&self, core: &mut Guard<'_>, until: Option<Instant>) {
        let now = core.around.node.platform().now();
        let within = until.map(|until| until.since(now));
        if core.led {
            return self.sleep(&self.told, core, within);
        }
        core.led = true;
        if self.wanted.load(Ordering::SeqCst) == 0 {
            core.around.node.wait_any(within);
        }
        while self.wanted.load(Ordering::SeqCst) > 0 {
            MutexGuard::bump(core);
        }
        core.led = false;
    }

    /// Waits without the node until something is told, and then for the node.
    pub fn sleep(&self, told: &Told, core: &mut Guard<'_>, within: Option<Duration>) {
        // With the lock, so that nothing is told in between that is not seen.
        let before = told.times();
        MutexGuard::unlocked(core, || {
            told.wait(before, within);
            self.wanted.fetch_add(1, Ordering::SeqCst);
            self.bell.ring();
        });
        self.wanted.fetch_sub(1, Ordering::SeqCst);
    }

    /// Tells other threads what there is to tell, before this one goes on without the node.
    pub fn leave(&self, core: &mut Guard<'_>) {
        core.around.delivered = false;
        self.told.tell();
    }

    /// Has a thread that waits look around.
    pub fn rouse(&self) {
        self.bell.ring();
        self.told.tell();
        self.outgoing.tell();
        self.incoming.tell();
    }
}
