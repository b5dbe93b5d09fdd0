//! Getting rid of what other users sent.
//!
//! Closing a descriptor asks its file system, and one that its sender runs answers when it likes.
//! So this process's own threads close at once only what the kernel vouches for, memory files and
//! event counters. The rest is closed by threads that have nothing else to do and may hang.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use rustix::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, readlinkat};
use rustix::io::{self, Errno};

use crate::system;

/// Threads of a process that close at the same time.
const THREADS: usize = 4;
/// Descriptors that wait to be closed while all of them hang, until nobody is let in.
const FULL: usize = 64;

struct Pile {
    threads: usize,
    /// In the order in which they came: later ones keep none waiting.
    waiting: VecDeque<OwnedFd>,
}

static PILE: Mutex<Pile> = Mutex::new(Pile { threads: 0, waiting: VecDeque::new() });

fn with<R>(act: impl FnOnce(&mut Pile) -> R) -> R {
    act(&mut PILE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The name of a descriptor, which says what it is: no file has one without a slash.
fn called(descriptor: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    Ok(readlinkat(CWD, path, Vec::new())?.into_bytes())
}

/// Whether it is an event counter. Asked of the descriptor's name alone.
pub(crate) fn is_counter(descriptor: BorrowedFd<'_>) -> io::Result<bool> {
    Ok(called(descriptor)? == b"anon_inode:[eventfd]")
}

/// Whether it is a memory file: no other has seals. Asked of the descriptor alone.
fn is_memory(descriptor: BorrowedFd<'_>) -> io::Result<bool> {
    match rustix::fs::fcntl_get_seals(descriptor) {
        Ok(_) => Ok(true),
        Err(Errno::INVAL) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A descriptor that somebody sent: closing it keeps nobody waiting, whatever it is.
#[derive(Debug)]
pub(crate) struct Foreign(Option<OwnedFd>);

impl Foreign {
    pub(crate) fn new(descriptor: OwnedFd) -> Foreign {
        Foreign(Some(descriptor))
    }

    fn if_it_is(
        mut self,
        kind: impl FnOnce(BorrowedFd<'_>) -> io::Result<bool>,
    ) -> io::Result<Option<OwnedFd>> {
        let is = self.0.as_ref().map_or(Ok(false), |descriptor| kind(descriptor.as_fd()))?;
        Ok(self.0.take_if(|_| is))
    }

    /// The descriptor, if it is an event counter.
    ///
    /// # Errors
    /// The system does not say what it is. So for the other kinds.
    pub(crate) fn counter(self) -> io::Result<Option<OwnedFd>> {
        self.if_it_is(is_counter)
    }

    /// The descriptor, if it is a socket. Asked of its name alone, as of a counter.
    pub(crate) fn socket(self) -> io::Result<Option<OwnedFd>> {
        self.if_it_is(|descriptor| Ok(called(descriptor)?.starts_with(b"socket:[")))
    }

    /// The descriptor, if it is a memory file.
    pub(crate) fn memory(&self) -> io::Result<Option<BorrowedFd<'_>>> {
        let Some(descriptor) = self.0.as_ref().map(AsFd::as_fd) else { return Ok(None) };
        Ok(is_memory(descriptor)?.then_some(descriptor))
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let harmless =
            |fd: &OwnedFd| is_memory(fd.as_fd()) == Ok(true) || is_counter(fd.as_fd()) == Ok(true);
        if let Some(descriptor) = self.0.take_if(|descriptor| !harmless(descriptor)) {
            close(descriptor);
        }
    }
}

/// Whether all threads that close may hang, and others wait for them.
pub(crate) fn is_stuck() -> bool {
    with(|pile| pile.threads == THREADS && !pile.waiting.is_empty())
}

/// Whether no more should be taken in that has to be closed.
pub(crate) fn is_full() -> bool {
    with(|pile| pile.waiting.len() >= FULL)
}

/// Has a descriptor closed by a thread that may hang.
pub(crate) fn close(descriptor: OwnedFd) {
    let one_more = with(|pile| {
        pile.waiting.push_back(descriptor);
        let one_more = pile.threads < THREADS;
        pile.threads += usize::from(one_more);
        one_more
    });
    if one_more && system::in_background("narrows-closing", close_all).is_err() {
        // What waits is closed by the next thread.
        with(|pile| pile.threads -= 1);
    }
}

fn close_all() {
    while let Some(descriptor) = with(|pile| {
        let next = pile.waiting.pop_front();
        pile.threads -= usize::from(next.is_none());
        next
    }) {
        drop(descriptor);
    }
}
