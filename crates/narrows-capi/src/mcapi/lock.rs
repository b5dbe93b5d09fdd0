//! A node's lock.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::{Condvar, Mutex, lock_api};

/// A lock whose ways in and out are as short as can be if nobody waits for it.
#[repr(C)]
pub struct Lock {
    /// [`TAKEN`], and [`AWAITED`] if somebody waits for it, taken or not.
    state: AtomicU32,
    /// How many wait.
    waiting: Mutex<u32>,
    free: Condvar,
}

const TAKEN: u32 = 1;
const AWAITED: u32 = 2;

// SAFETY: only who sets TAKEN, where it was not, has it; only that one takes it off again, unlocking.
unsafe impl lock_api::RawMutex for Lock {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Lock =
        Lock { state: AtomicU32::new(0), waiting: Mutex::new(0), free: Condvar::new() };
    type GuardMarker = lock_api::GuardNoSend;

    #[inline(never)]
    fn lock(&self) {
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

    #[inline(always)]
    fn try_lock(&self) -> bool {
        self.state.fetch_or(TAKEN, Ordering::Acquire) & TAKEN == 0
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        if self.is_passed_on() {
            self.pass_on();
        }
    }
}

impl Lock {
    /// Unlocks. True if it is to be passed on to somebody who waits.
    #[inline(always)]
    pub(super) fn is_passed_on(&self) -> bool {
        self.state.fetch_sub(TAKEN, Ordering::Release) != TAKEN
    }

    /// Passes it on, once it is unlocked.
    #[cold]
    #[inline(never)]
    pub(super) extern "C" fn pass_on(&self) {
        drop(self.waiting.lock());
        self.free.notify_one();
    }
}
