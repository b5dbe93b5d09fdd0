//! A page that is read while it is written, under the model checker.
#![cfg(loom)]

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use loom::sync::atomic::{AtomicU32, fence};
use loom::thread::spawn;
use narrows::memory::{page_version, read_page, write_page};
use narrows::platform::{Words, WordsMut};

/// Words of a page: every one of them is looked at while it may be stored to.
#[derive(Clone)]
struct Page(Arc<[AtomicU32; 4]>);

impl Page {
    fn word(&self, index: u32) -> &AtomicU32 {
        &self.0[index as usize % 4]
    }
}

impl Words for Page {
    fn load(&self, index: u32) -> u32 {
        self.word(index).load(Relaxed)
    }
    fn load_acquire(&self, index: u32) -> u32 {
        self.word(index).load(Acquire)
    }
    fn read_bytes(&self, _: u32, _: &mut [u8]) {}
}

impl WordsMut for Page {
    fn store(&self, index: u32, value: u32) {
        self.word(index).store(value, Relaxed);
    }
    fn store_release(&self, index: u32, value: u32) {
        self.word(index).store(value, Release);
    }
    fn write_bytes(&self, _: u32, _: &[u8]) {}
}

#[test]
fn what_is_read_was_written_at_once() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(4);
    builder.check(|| {
        let page = Page(Arc::new([(); 4].map(|()| AtomicU32::new(0))));
        let full = || fence(SeqCst);
        write_page(&page, full, &[1; 8]);
        let reader = page.clone();
        spawn(move || {
            let mut bytes = [0; 8];
            let read = read_page(&reader, full, &mut bytes);
            match read {
                Some((2, length)) => assert_eq!((length, bytes), (8, [1; 8])),
                Some((4, length)) => assert_eq!((length, bytes), (8, [2; 8])),
                Some(other) => panic!("{other:?}"),
                // It was being written.
                None => assert_ne!(page_version(&reader), 2),
            }
        });
        write_page(&page, full, &[2; 8]);
    });
}
