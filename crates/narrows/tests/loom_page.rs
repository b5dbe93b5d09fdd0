//! A page that is read while it is written, under the model checker.
#![cfg(loom)]

#[path = "loom_memory/racing.rs"]
mod racing;

use loom::thread::spawn;
use narrows::memory::{page_version, read_page, write_page};
use racing::{Racing, full};

#[test]
fn what_is_read_was_written_at_once() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(4);
    builder.check(|| {
        let page = Racing::new(4);
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
