//! Words under the model checker, every one of which is looked at while it may be stored to.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use loom::sync::atomic::{AtomicU32, fence};
use narrows::platform::{Words, WordsMut};

/// Words, whose number is a power of two.
#[derive(Clone)]
pub struct Racing(Arc<[AtomicU32]>);

impl Racing {
    /// Words that are all 0.
    pub fn new(words: u32) -> Racing {
        Racing((0..words).map(|_| AtomicU32::new(0)).collect())
    }

    fn word(&self, index: u32) -> &AtomicU32 {
        &self.0[index as usize & (self.0.len() - 1)]
    }
}

impl Words for Racing {
    fn load(&self, index: u32) -> u32 {
        self.word(index).load(Relaxed)
    }
    fn load_acquire(&self, index: u32) -> u32 {
        self.word(index).load(Acquire)
    }
    fn read_bytes(&self, _: u32, _: &mut [u8]) {}
}

impl WordsMut for Racing {
    fn store(&self, index: u32, value: u32) {
        self.word(index).store(value, Relaxed);
    }
    fn store_release(&self, index: u32, value: u32) {
        self.word(index).store(value, Release);
    }
    fn write_bytes(&self, _: u32, _: &[u8]) {}
}

/// A full fence.
pub fn full() {
    fence(SeqCst);
}
