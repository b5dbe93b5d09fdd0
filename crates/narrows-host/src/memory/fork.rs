//! What a fork leaves a child of its parent's regions: nothing.
//!
//! A child begins as a copy of its parent, with the same shared memory under it: its parent's peers
//! would read what it wrote there. So before `fork` returns in the child, memory of the child's
//! own, all zeroes, takes the place of every mapping. That costs no message an instruction. The C
//! library's `fork` sees to it (`pthread_atfork`); the bare system call does not.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};

/// Forks between the first process that had a node and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Every mapping of this process: where it begins, its length, and what may be done with it.
type Mapped = BTreeMap<usize, (usize, ProtFlags)>;
static MAPPED: Mutex<Mapped> = Mutex::new(BTreeMap::new());

/// Taken by what a child must not find half done, in whichever thread.
static TURNS: RwLock<()> = RwLock::new(());

/// What a thread that forks has, so that the child has it whole.
type Held = (RwLockWriteGuard<'static, ()>, MutexGuard<'static, Mapped>);

thread_local! {
    /// For as long as this thread forks.
    static HELD: Cell<Option<Held>> = const { Cell::new(None) };
}

/// Keeps other threads from forking for as long as it is there. A thread has one at a time, and
/// none while it forks itself.
pub(crate) fn hold_off() -> RwLockReadGuard<'static, ()> {
    TURNS.read().unwrap_or_else(PoisonError::into_inner)
}

fn mapped() -> MutexGuard<'static, Mapped> {
    MAPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

extern "C" fn before() {
    // In this order: what holds forks off maps memory.
    let turns = TURNS.write().unwrap_or_else(PoisonError::into_inner);
    let held = (turns, mapped());
    let _ = HELD.try_with(|to| to.set(Some(held)));
}

extern "C" fn in_parent() {
    let _ = HELD.try_with(Cell::take);
}

// It makes no call but the kernel's: other threads may have been anywhere in the C library.
extern "C" fn in_child() {
    // Relaxed: the child has one thread.
    FORKS.fetch_add(1, Ordering::Relaxed);
    // A thread that ends has no such variable any more, and let the lock go before it forked.
    let (turns, mapped) = HELD.try_with(Cell::take).ok().flatten().unzip();
    let mapped = mapped.or_else(|| MAPPED.try_lock().ok());
    drop(turns);
    for (start, (len, protection)) in mapped.iter().flat_map(|mapped| mapped.iter()) {
        let at = std::ptr::with_exposed_provenance_mut(*start);
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        // SAFETY: the range is one that `Mapping` mapped and has not unmapped. What points into it
        // finds as much memory as before, with the same protection.
        let replaced = unsafe { rustix::mm::mmap_anonymous(at, *len, *protection, flags) };
        if replaced.is_err() {
            // Without memory for it: code that touches it then ends the child, and harms no other.
            // SAFETY: as above, but for the protection.
            let _ = unsafe { rustix::mm::mprotect(at, *len, MprotectFlags::empty()) };
        }
    }
}

fn watch_forks() {
    static ONCE: Once = Once::new();
    // SAFETY: the functions are there as long as the library is, and the one for the child does
    // nothing that a child must not.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child));
    });
}

/// Notes a mapping. It is noted until [`forget`].
pub(super) fn note(start: usize, len: usize, protection: ProtFlags) {
    watch_forks();
    mapped().insert(start, (len, protection));
}

/// Forgets a mapping, before it is unmapped: what is there afterwards is not to be replaced.
pub(super) fn forget(start: usize) {
    mapped().remove(&start);
}

/// The process that made something. It tells whether it is this one without a system call.
///
/// For libraries that keep nodes for their callers: what a process has of its parent's is a copy,
/// whose locks are as the parent's threads left them.
#[derive(Clone, Copy, Debug)]
pub struct Maker(u32);

impl Maker {
    /// This process.
    #[must_use]
    pub fn this() -> Maker {
        watch_forks();
        Maker(FORKS.load(Ordering::Relaxed))
    }

    /// Whether this process is another, and so has a copy of what was made.
    #[inline]
    #[must_use]
    pub fn is_another(self) -> bool {
        self.0 != FORKS.load(Ordering::Relaxed)
    }
}
