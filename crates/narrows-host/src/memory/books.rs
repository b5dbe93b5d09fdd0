//! Books of pools: where others may read them, or in this process's memory alone.
//!
//! A node's status page lies in memory that others map read-only, with places behind it for the
//! books of its links. So what is lent is seen without a word of the node's.
#![allow(unsafe_code)]

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fd::OwnedFd;
use rustix::io;

use super::Region;
use super::mapping::Mapping;

/// Places for books.
pub(crate) const PLACES: u32 = 64;
/// Bytes of a place: those of the usual layout's books and more.
pub(crate) const PLACE: u32 = 4096;
/// What is behind the books for as long as there are any.
pub(crate) const THERE: u16 = 1;

/// The places in a region, from an offset on.
pub(crate) struct Places {
    memory: Arc<Mapping>,
    from: u32,
    /// A bit for each place that is taken.
    taken: Arc<AtomicU64>,
}

impl Places {
    /// The places in a region that nobody else uses for anything.
    pub(crate) fn of(region: &Region, from: u32) -> io::Result<Places> {
        region.range(from, (PLACES * PLACE) as usize).map_err(|_| io::Errno::INVAL)?;
        Ok(Places { memory: Arc::clone(&region.0), from, taken: Arc::default() })
    }

    /// A free place, if there is one. One thread at a time looks for one.
    pub(crate) fn take(&self) -> Option<Place> {
        // Acquire: pairs with the release in `Place::drop`. The node that had it before has left
        // it.
        let number = self.taken.load(Ordering::Acquire).trailing_ones();
        if number >= PLACES {
            return None;
        }
        self.taken.fetch_or(1 << number, Ordering::Relaxed);
        let offset = self.from + number * PLACE;
        Some(Place {
            memory: Arc::clone(&self.memory),
            offset,
            number,
            taken: Arc::clone(&self.taken),
        })
    }
}

/// A place for the books of one link.
pub(crate) struct Place {
    memory: Arc<Mapping>,
    /// Where it is in its memory.
    pub offset: u32,
    number: u32,
    taken: Arc<AtomicU64>,
}

impl Drop for Place {
    fn drop(&mut self) {
        // Release: pairs with the acquire in `Places::take`.
        self.taken.fetch_and(!(1 << self.number), Ordering::Release);
    }
}

/// What others read of a region: the region itself, by this process's descriptor of it, and the
/// books of its blocks.
pub(crate) struct Shown {
    /// The descriptor that others open it by.
    pub memory: OwnedFd,
    /// Which file that is.
    pub file: u64,
    /// Where its books are.
    pub place: Arc<Place>,
}

/// The books of a pool.
pub struct Books {
    first: NonNull<u16>,
    len: usize,
    /// The place that they are in; none if they are in memory of this process's own.
    place: Option<Arc<Place>>,
}

// SAFETY: memory that belongs to no thread, and that nobody else writes.
unsafe impl Send for Books {}

impl Books {
    /// Books in memory of this process's own.
    pub(crate) fn private(len: usize) -> Option<Books> {
        let mut books = Vec::new();
        books.try_reserve_exact(len).ok()?;
        books.resize(len, 0);
        let first = NonNull::new(Box::into_raw(books.into_boxed_slice()).cast())?;
        Some(Books { first, len, place: None })
    }

    /// Books where others can read them, if there is room.
    pub(crate) fn shown(shown: &Shown, len: usize) -> Option<Books> {
        let place = &shown.place;
        // One more, which says that they are there.
        if len >= PLACE as usize / 2 {
            return Books::private(len);
        }
        let first = place.memory.range(place.offset, PLACE as usize).ok()?.cast();
        let mut books = Books { first, len, place: Some(Arc::clone(place)) };
        books.fill(0);
        books.mark(THERE);
        Some(books)
    }

    /// Says behind books that others can read whether they are there.
    fn mark(&mut self, there: u16) {
        if self.place.is_some() {
            // SAFETY: `shown` has seen to it that a place has one entry more than the books. Others
            // only read it.
            unsafe { self.first.add(self.len).write_volatile(there) };
        }
    }
}

impl Drop for Books {
    fn drop(&mut self) {
        self.mark(0);
        if self.place.is_none() {
            let books = NonNull::slice_from_raw_parts(self.first, self.len);
            // SAFETY: `private` took it from a box of that length, and it is used no more.
            drop(unsafe { Box::from_raw(books.as_ptr()) });
        }
    }
}

impl Deref for Books {
    type Target = [u16];
    #[inline(always)]
    fn deref(&self) -> &[u16] {
        // SAFETY: that many entries, made by `private` or in the mapping that the place keeps; this
        // process writes them by way of these books alone, and others only read them.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl DerefMut for Books {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u16] {
        // SAFETY: as in `deref`.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
    }
}
