//! What a process has one of, and inherits from no parent.

use std::sync::OnceLock;

use narrows_host::Maker;

/// A value for each process. A child that was forked has none of its parent's: it begins with one
/// of its own, since the locks of the other are as its parent's threads left them.
pub(crate) struct OfProcess<T>(OnceLock<Box<Entry<T>>>);

struct Entry<T> {
    maker: Maker,
    value: T,
    /// Of a child.
    next: OfProcess<T>,
}

impl<T: Default> OfProcess<T> {
    pub const fn new() -> OfProcess<T> {
        OfProcess(OnceLock::new())
    }

    /// This process's value, if it has been made.
    pub fn get(&self) -> Option<&T> {
        let mut place = self;
        loop {
            let entry = place.0.get()?;
            if !entry.maker.is_another() {
                return Some(&entry.value);
            }
            place = &entry.next;
        }
    }

    /// This process's value, which is made if there is none.
    pub fn get_or_make(&self) -> &T {
        let new = || {
            Box::new(Entry { maker: Maker::this(), value: T::default(), next: OfProcess::new() })
        };
        let mut place = self;
        loop {
            let entry = place.0.get_or_init(new);
            if !entry.maker.is_another() {
                return &entry.value;
            }
            place = &entry.next;
        }
    }
}
