//! A lock that is one word, on which the kernel lets threads wait. The model checker runs this file
//! as it is.

use super::sync::{AtomicU32, Ordering, hint, wait, wake};

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Taken, and threads may wait for it.
const AWAITED: u32 = 2;

/// How often a thread looks before it waits.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 40 };

pub(super) struct Word(pub AtomicU32);

impl Word {
    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_behind_others();
        }
    }

    #[inline]
    pub fn try_lock(&self) -> bool {
        // Acquire: sees what was done until the release of `unlock`.
        self.0.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline(never)]
    fn lock_behind_others(&self) {
        for _ in 0..LOOKS {
            // Relaxed: to take it, another look acquires.
            if self.0.load(Ordering::Relaxed) == FREE && self.try_lock() {
                return;
            }
            hint();
        }
        // Acquire: as for `try_lock`. Others may wait as well, so a thread that takes it here wakes
        // one of them when it lets go.
        while self.0.swap(AWAITED, Ordering::Acquire) != FREE {
            wait(&self.0, AWAITED);
        }
    }

    /// For the thread that has it.
    #[inline]
    pub fn unlock(&self) {
        // Release: partner of the acquires above, after which all that was done until now is seen.
        if self.0.swap(FREE, Ordering::Release) == AWAITED {
            wake(&self.0);
        }
    }
}
