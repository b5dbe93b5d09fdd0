//! What the threads of a node wait with, named in one place: the model checker puts its own there.
//!
//! A forked child goes on with what its parent's threads left. So these locks are a word each, and
//! there is no table of waiting threads that all locks of a process share. A child would find its
//! parent's threads in such a table, and take them for its own.
#![allow(unsafe_code)]

pub(super) use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::thread::futex;

use super::word::Word;
pub(super) use crate::Bell;

/// Waits until the word is woken, unless it has another value. It may end for no reason.
pub(super) fn wait(word: &AtomicU32, value: u32) {
    let _ = futex::wait(word, futex::Flags::PRIVATE, value, None);
}

/// Wakes a thread that waits for the word.
pub(super) fn wake(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::PRIVATE, 1);
}

/// What a thread does between two looks.
pub(super) fn hint() {
    std::hint::spin_loop();
}

/// [`Word`], as the guards have it.
pub(super) struct Raw(Word);

// SAFETY: between `lock` or a `try_lock` that is true and `unlock` no other thread gets that far:
// `Word` hands itself to one thread at a time, which the model checker sees to.
unsafe impl lock_api::RawMutex for Raw {
    #[allow(clippy::declare_interior_mutable_const, reason = "it is where each lock begins")]
    const INIT: Raw = Raw(Word(AtomicU32::new(0)));

    type GuardMarker = lock_api::GuardNoSend;

    #[inline]
    fn lock(&self) {
        self.0.lock();
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    #[inline]
    unsafe fn unlock(&self) {
        self.0.unlock();
    }
}

pub(super) type Mutex<T> = lock_api::Mutex<Raw, T>;
pub(super) type MutexGuard<'a, T> = lock_api::MutexGuard<'a, Raw, T>;

/// A lock that is there from the start of the process.
pub(super) const fn lasting<T>(value: T) -> Mutex<T> {
    Mutex::const_new(Raw(Word(AtomicU32::new(0))), value)
}

/// What a thread waits on that has a lock, until another that had the lock notifies it.
#[derive(Default)]
pub(super) struct Condvar(AtomicU32);

impl Condvar {
    pub fn notify_one(&self) {
        // Relaxed: what has changed is behind the lock.
        self.0.fetch_add(1, Ordering::Relaxed);
        wake(&self.0);
    }

    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        self.wait_until_told(guard, None);
    }

    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, within: Duration) {
        // What is too long for the system is for good.
        self.wait_until_told(guard, within.try_into().ok());
    }

    fn wait_until_told<T>(&self, guard: &mut MutexGuard<'_, T>, within: Option<Timespec>) {
        // Relaxed, with the lock: a thread that notifies later has had the lock later.
        let seen = self.0.load(Ordering::Relaxed);
        MutexGuard::unlocked(guard, || {
            let _ = futex::wait(&self.0, futex::Flags::PRIVATE, seen, within.as_ref());
        });
    }
}
