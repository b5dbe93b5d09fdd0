//! Memory mapped from a descriptor.
#![allow(unsafe_code)]

use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use narrows::platform::OutOfRange;
use rustix::fd::BorrowedFd;
use rustix::io;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};

use super::copy::copy;
use super::fork;
use crate::system::last_error;

/// Memory that stays mapped while anything points into it.
pub(crate) struct Mapping {
    pub(crate) start: NonNull<u8>,
    pub(crate) len: u32,
    /// Whether a thread sleeps on words of it.
    slept_on: AtomicBool,
}

// SAFETY: an address and a length of memory that belongs to no thread; unmapping works from any.
unsafe impl Send for Mapping {}
// SAFETY: `Mapping` itself has no method that accesses the memory.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(crate) fn new(
        memory: BorrowedFd<'_>,
        len: u32,
        protection: ProtFlags,
    ) -> io::Result<Arc<Mapping>> {
        let flags = MapFlags::SHARED;
        // SAFETY: no address is asked for, so no existing mapping is replaced.
        let start = unsafe {
            rustix::mm::mmap(ptr::null_mut(), len as usize, protection, flags, memory, 0)?
        };
        let start: NonNull<u8> = NonNull::new(start.cast()).ok_or(io::Errno::FAULT)?;
        fork::note(start.as_ptr().expose_provenance(), len as usize, protection);
        Ok(Arc::new(Mapping { start, len, slept_on: AtomicBool::new(false) }))
    }

    /// Has the pages of a range made before they are used, as far as it is inside, and says where
    /// what is behind it begins; none if nothing is, or the system cannot.
    pub(crate) fn fill(&self, from: u32, len: u32) -> Option<u32> {
        let end = from + len.min(self.len.checked_sub(from)?);
        let page = from - from % rustix::param::page_size() as u32;
        let len = end - page;
        let start = self.range(page, len as usize).ok()?;
        // SAFETY: the range is inside the mapping; making its pages changes no byte of them.
        let made = unsafe {
            rustix::mm::madvise(start.as_ptr().cast(), len as usize, Advice::LinuxPopulateWrite)
        };
        made.ok()?;
        Some(end).filter(|next| *next < self.len)
    }

    /// Notes that a thread sleeps on words of it from now on.
    pub(crate) fn mark_slept_on(&self) {
        // Relaxed: it is said before the thread starts, and of a link that is up.
        self.slept_on.store(true, Ordering::Relaxed);
    }

    /// Has memory of this process's own take the place of the first page, with the same bytes but
    /// for one word: what was mapped there changes no more.
    pub(crate) fn keep_first_page(&self, offset: u32, word: u32) -> io::Result<()> {
        // A thread asleep on a word is woken by way of the memory that it went to sleep on.
        if self.slept_on.load(Ordering::Relaxed) {
            return Err(io::Errno::BUSY);
        }
        let page = rustix::param::page_size();
        let bytes = page.min(self.len as usize);
        if !offset.is_multiple_of(4) || offset as usize + 4 > bytes {
            return Err(io::Errno::INVAL);
        }
        let writable = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: no address is asked for, so no existing mapping is replaced. The word is inside
        // the page and aligned, and nothing points into the page yet. It takes the place of one of
        // the same size and protection in one step of the kernel's: a thread that reads there finds
        // one or the other.
        unsafe {
            let own =
                rustix::mm::mmap_anonymous(ptr::null_mut(), page, writable, MapFlags::PRIVATE)?;
            copy::<true>(self.start.as_ptr(), own.cast(), bytes);
            own.cast::<u8>().add(offset as usize).cast::<u32>().write(word.to_le());
            let moved = rustix::mm::mprotect(own, page, MprotectFlags::READ).and_then(|()| {
                let to: *mut libc::c_void = self.start.as_ptr().cast();
                // Not rustix's, which asks for the wrong flag where it calls the C library.
                let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
                match libc::mremap(own, page, page, flags, to) {
                    libc::MAP_FAILED => Err(last_error()),
                    _ => Ok(()),
                }
            });
            if moved.is_err() {
                let _ = rustix::mm::munmap(own, page);
            }
            moved
        }
    }

    /// The address of a range, if it is inside.
    #[inline]
    pub(crate) fn range(&self, offset: u32, len: usize) -> Result<NonNull<u8>, OutOfRange> {
        let room = self.len.checked_sub(offset).ok_or(OutOfRange)?;
        if len > room as usize {
            return Err(OutOfRange);
        }
        // SAFETY: `offset` is at most `len`, the size of the one mapping that `start` begins.
        Ok(unsafe { self.start.add(offset as usize) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        fork::forget(self.start.as_ptr().addr());
        // SAFETY: the range is the one `mmap` returned, and everything that points into it holds
        // the `Arc` that is gone now.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len as usize) };
    }
}
