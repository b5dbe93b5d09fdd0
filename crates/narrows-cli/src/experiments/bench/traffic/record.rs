//! What one side of the traffic was told, counted in memory that is still there when its process
//! is not.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, ftruncate};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// What is counted, by the side that it happens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Count {
    /// Messages that were about to be sent: one more than [`Count::Sent`] while one is.
    Tried,
    /// Messages of which this side was told that they are sent.
    Sent,
    /// Messages that the application was handed.
    Received,
    /// Calls that were about to be started.
    CallsTried,
    /// Calls of which this side was told that they are started.
    Started,
    /// Calls whose response the application was handed.
    Finished,
    /// Runs of the function that began.
    Begun,
    /// Runs of the function that made their response.
    Served,
    /// Sends that found no room.
    Full,
    /// Messages, requests and responses that were damaged, doubled or out of order.
    Wrong,
    /// Waits that ended by their deadline though something was there that should have been rung
    /// for.
    Unrung,
    /// 1 once this side makes no more traffic of its own.
    Quiet,
}

const COUNTS: usize = Count::Quiet as usize + 1;
/// Bytes of the memory file: the counts, and behind them a sheet of words. Pages that nobody writes
/// take no memory.
const LENGTH: usize = 128 << 10;
/// Where the sheet begins, in words.
const SHEET: usize = 4096 / 8;
const _: () = assert!(size_of::<Counts>() <= SHEET * 8);

/// The counts of one side, which that side alone writes.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Counts([AtomicU64; COUNTS]);

impl Counts {
    /// A count.
    pub fn get(&self, what: Count) -> u64 {
        // Acquire: pairs with the release in `set`, so that counts read later are no older.
        self.0.get(what as usize).map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Sets a count.
    pub fn set(&self, what: Count, value: u64) {
        if let Some(word) = self.0.get(what as usize) {
            // Release: pairs with the acquire in `get`. What is counted happened before.
            word.store(value, Ordering::Release);
        }
    }

    /// Counts one more.
    pub fn add(&self, what: Count) {
        self.set(what, self.get(what) + 1);
    }
}

/// Counts in a memory file, which its writer's process and another one have mapped.
#[derive(Debug)]
pub struct Record(NonNull<Counts>);

impl Record {
    /// A record of noughts, and the file that another process opens it by.
    ///
    /// # Errors
    /// The system has no memory or no descriptor to give.
    pub fn create() -> io::Result<(Record, OwnedFd)> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("narrows-record", flags)?;
        ftruncate(&file, LENGTH as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok((Record::map(file.as_fd())?, file))
    }

    /// The record of a file that [`Record::create`] gave.
    ///
    /// # Errors
    /// It is another kind of file.
    pub fn open(file: impl AsFd) -> io::Result<Record> {
        let file = file.as_fd();
        let length = File::from(file.try_clone_to_owned()?).metadata()?.len();
        let sealed = fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        if length != LENGTH as u64 || !sealed {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        Record::map(file)
    }

    /// The words behind the counts.
    pub fn sheet(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is `LENGTH` bytes of words from a page's beginning on, lives as long
        // as `self`, and is only reached as atomics, which any bytes make.
        let words = unsafe { slice::from_raw_parts(self.0.as_ptr().cast(), LENGTH / 8) };
        words.get(SHEET..).unwrap_or_default()
    }

    fn map(file: impl AsFd) -> io::Result<Record> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a null hint lets the kernel place it, so no existing mapping is replaced.
        let base = unsafe { mmap(ptr::null_mut(), LENGTH, access, MapFlags::SHARED, file, 0) }?;
        let base = NonNull::new(base.cast());
        base.map(Record).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))
    }
}

impl Deref for Record {
    type Target = Counts;

    fn deref(&self) -> &Counts {
        // SAFETY: the mapping begins on a page, is `LENGTH` bytes of a file that cannot shrink, and
        // lives as long as `self`; any bytes make counts, which are only reached as atomics.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // SAFETY: this is the whole mapping made in `map`, and every reference into it borrows
        // `self`. Failure would leave it mapped, which harms nobody.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), LENGTH) };
    }
}

/// Whether what one side was told agrees with what the other was, when both are quiet.
pub fn agree(one: &Counts, other: &Counts) -> bool {
    let arrived = |from: &Counts, to: &Counts| {
        from.get(Count::Sent) == to.get(Count::Received)
            && from.get(Count::Started) == to.get(Count::Served)
            && from.get(Count::Started) == from.get(Count::Finished)
    };
    arrived(one, other) && arrived(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_mapping_counts_the_other_reads() {
        let (ours, file) = Record::create().unwrap();
        let theirs = Record::open(&file).unwrap();
        let last = theirs.sheet().len() - 1;
        theirs.sheet()[last].store(9, Ordering::Release);
        assert_eq!(ours.sheet()[last].load(Ordering::Acquire), 9);
        drop(file);
        theirs.set(Count::Sent, 7);
        theirs.add(Count::Sent);
        theirs.add(Count::Quiet);
        drop(theirs);
        assert_eq!((ours.get(Count::Sent), ours.get(Count::Quiet)), (8, 1));
        assert_eq!(ours.get(Count::Received), 0);
    }

    #[test]
    fn another_file_is_no_record() {
        let file = tempfile::tempfile().unwrap();
        assert!(Record::open(&file).is_err());
        file.set_len(LENGTH as u64).unwrap();
        assert!(Record::open(&file).is_err(), "it could shrink");
    }
}
