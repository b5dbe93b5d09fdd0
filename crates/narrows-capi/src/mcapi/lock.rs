//! A node's lock.

use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::{Condvar, Mutex};

/// A lock that is taken and given back in one instruction each if no thread waits for it. What it
/// protects is the slot's affair: the slot unlocks for the thread that has the lock.
#[repr(C)]
pub(super) struct Lock {
    /// [`TAKEN`], and [`AWAITED`] if a thread waits for it, taken or not.
    state: AtomicU32,
    /// How many threads wait.
    waiting: Mutex<u32>,
    free: Condvar,
}

const TAKEN: u32 = 1;
const AWAITED: u32 = 2;

impl Lock {
    pub const fn new() -> Lock {
        Lock { state: AtomicU32::new(0), waiting: Mutex::new(0), free: Condvar::new() }
    }

    /// Takes the lock, in turn. A thread has it that has set TAKEN where it was not set.
    #[inline(never)]
    pub fn lock(&self) {
        let mut waiting = self.waiting.lock();
        *waiting += 1;
        // A thread that unlocks from now on takes `waiting` before it notifies: by then this thread
        // waits. Acquire: as in `try_lock`.
        while self.state.fetch_or(TAKEN | AWAITED, Ordering::Acquire) & TAKEN != 0 {
            self.free.wait(&mut waiting);
        }
        *waiting -= 1;
        if *waiting == 0 {
            // Relaxed: the next thread that waits sets it again, with `waiting` locked.
            self.state.fetch_and(!AWAITED, Ordering::Relaxed);
        }
    }

    /// Takes the lock, if nobody has it.
    #[inline(always)]
    pub fn try_lock(&self) -> bool {
        // Acquire: pairs with the release in `unlock`, and sees what the thread before did with the
        // node.
        self.state.fetch_or(TAKEN, Ordering::Acquire) & TAKEN == 0
    }

    /// Unlocks, for the thread that has the lock. True if another thread waits: then `pass_on`
    /// wakes it.
    #[inline(always)]
    #[must_use]
    pub fn unlock(&self) -> bool {
        self.state.fetch_sub(TAKEN, Ordering::Release) != TAKEN
    }

    /// Wakes a thread that waits, once the lock is free.
    #[cold]
    #[inline(never)]
    pub extern "C" fn pass_on(&self) {
        drop(self.waiting.lock());
        self.free.notify_one();
    }
}
