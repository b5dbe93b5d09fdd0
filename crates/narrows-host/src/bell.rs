//! Doorbells: an event counter that a peer writes and this node sleeps on.

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, OFlags, readlinkat};
use rustix::io;

/// A doorbell: the end that is rung, or the one that is slept on.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    pub(crate) fn new() -> io::Result<Bell> {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(Bell)
    }

    /// Takes a descriptor that a peer sent, if it is what it should be: writing to a pipe or a
    /// file could block, or do worse.
    pub(crate) fn received(descriptor: OwnedFd) -> Option<Bell> {
        use std::os::fd::AsRawFd as _;
        let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
        let target = readlinkat(CWD, path, Vec::new()).ok()?;
        if target.as_bytes() != b"anon_inode:[eventfd]" {
            return None;
        }
        rustix::fs::fcntl_setfl(&descriptor, OFlags::NONBLOCK).ok()?;
        Some(Bell(descriptor))
    }

    /// Rings. A counter that is full has not been heard yet, so nothing is lost.
    #[inline]
    pub(crate) fn ring(&self) {
        let _ = io::write(&self.0, &1u64.to_ne_bytes());
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
