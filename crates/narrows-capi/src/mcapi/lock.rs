//! A node's lock.

use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::{Condvar, Mutex};

/// A lock whose ways in and out are as short as can be if nobody waits for it. It says only who has it:
/// what it is the lock of, and who unlocks it, is the slot's affair.
#[repr(C)]
pub(super) struct Lock {
    /// [`TAKEN`], and [`AWAITED`] if somebody waits for it, taken or not.
    state: AtomicU32,
    /// How many wait.
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
        // Who unlocks from now on asks for `waiting`, and so finds this thread behind `wait`.
        while self.state.fetch_or(TAKEN | AWAITED, Ordering::Acquire) & TAKEN != 0 {
            self.free.wait(&mut waiting);
        }
        *waiting -= 1;
        if *waiting == 0 {
            // Relaxed: whoever waits next sets it again, behind `waiting`.
            self.state.fetch_and(!AWAITED, Ordering::Relaxed);
        }
    }

    /// Takes the lock, if nobody has it.
    #[inline(always)]
    pub fn try_lock(&self) -> bool {
        self.state.fetch_or(TAKEN, Ordering::Acquire) & TAKEN == 0
    }

    /// Unlocks: for the thread that has the lock. True if it is to be passed on to another that waits.
    #[inline(always)]
    #[must_use]
    pub fn unlock(&self) -> bool {
        self.state.fetch_sub(TAKEN, Ordering::Release) != TAKEN
    }

    /// Passes it on, once it is unlocked.
    #[cold]
    #[inline(never)]
    pub extern "C" fn pass_on(&self) {
        drop(self.waiting.lock());
        self.free.notify_one();
    }
}
