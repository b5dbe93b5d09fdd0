//! The lock of a LINX node on a host, under the model checker: the host's own file, with the
//! checker's word and a kernel in which threads wait for one.
#![cfg(loom)]

#[path = "../../narrows-host/src/linx/word.rs"]
mod word;

/// The word, and what the kernel does for the threads that wait for it.
mod sync {
    pub use loom::sync::atomic::{AtomicU32, Ordering};
    use loom::sync::{Condvar, Mutex};

    loom::lazy_static! {
        /// Has the kernel's look at a word, and the wait behind it, in one step.
        static ref KERNEL: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
    }

    pub fn wait(word: &AtomicU32, value: u32) {
        let held = KERNEL.0.lock().unwrap();
        if word.load(Ordering::SeqCst) == value {
            drop(KERNEL.1.wait(held).unwrap());
        }
    }

    pub fn wake(_: &AtomicU32) {
        let _held = KERNEL.0.lock().unwrap();
        KERNEL.1.notify_one();
    }

    pub fn hint() {}
}

use std::sync::Arc;

use loom::sync::atomic::Ordering::Relaxed;
use loom::thread::spawn;
use sync::AtomicU32;
use word::Word;

struct Guarded {
    word: Word,
    /// Read and written in two steps, and in no order but the lock's.
    count: AtomicU32,
}

fn count(of: &Guarded) {
    of.word.lock();
    let count = of.count.load(Relaxed);
    of.count.store(count + 1, Relaxed);
    of.word.unlock();
}

fn model(threads: usize) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let word = Word(AtomicU32::new(0));
        let guarded = Arc::new(Guarded { word, count: AtomicU32::new(0) });
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let guarded = Arc::clone(&guarded);
                spawn(move || count(&guarded))
            })
            .collect();
        count(&guarded);
        for other in others {
            other.join().unwrap();
        }
        assert!(guarded.word.try_lock(), "nobody has it any more");
        assert_eq!(guarded.count.load(Relaxed), threads as u32);
    });
}

#[test]
fn two_threads_have_the_lock_one_after_the_other() {
    model(2);
}

#[test]
fn of_three_threads_each_has_its_turn() {
    model(3);
}
