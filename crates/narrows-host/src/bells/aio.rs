//! Adding to an event counter that its other owner may have made one that blocks.
//!
//! Whether writing to a counter blocks is a flag that all processes share that have it open, so its
//! peer can change it at any moment, and no flag of a single write overrides it. The kernel's own
//! way of adding never blocks: it is how a finished asynchronous operation is announced. So one
//! that has nothing to do is submitted. That takes two to three times as long as a write, and is
//! done for peers of another user only.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use rustix::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use rustix::fs::MemfdFlags;
use rustix::io::{self, Errno};

use crate::memory::fork::Maker;
use crate::system::last_error;

/// Operations that can have finished before their results are fetched.
const RESULTS: libc::c_long = 64;
const PREAD: u16 = 0;
const TELL_COUNTER: u32 = 1;

/// The kernel's `struct iocb`. Where its second and third word lie depends on the byte order, and
/// both are zero.
#[repr(C)]
#[derive(Default)]
struct Operation {
    data: u64,
    key_and_flags: [u32; 2],
    code: u16,
    priority: i16,
    descriptor: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    counter: u32,
}

/// The kernel's `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Outcome {
    words: [u64; 4],
}

const _: () = assert!(size_of::<Operation>() == 64 && size_of::<Outcome>() == 32);

/// What the process needs for it, once. A process that was forked needs its own: the kernel keeps
/// the context with the memory of the one that made it.
struct Queue {
    maker: Maker,
    context: libc::c_ulong,
    /// Memory of no bytes, to read nothing from.
    nothing: OwnedFd,
}

fn result(returned: libc::c_long) -> io::Result<libc::c_long> {
    if returned < 0 {
        return Err(last_error());
    }
    Ok(returned)
}

impl Queue {
    fn new() -> io::Result<Queue> {
        let nothing = rustix::fs::memfd_create("narrows-nothing", MemfdFlags::CLOEXEC)?;
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes the context's name to the one word it is given.
        result(unsafe { libc::syscall(libc::SYS_io_setup, RESULTS, &raw mut context) })?;
        Ok(Queue { maker: Maker::this(), context, nothing })
    }

    fn add(&self, counter: BorrowedFd<'_>) -> io::Result<()> {
        let mut operation = Operation {
            code: PREAD,
            descriptor: self.nothing.as_raw_fd().cast_unsigned(),
            flags: TELL_COUNTER,
            counter: counter.as_raw_fd().cast_unsigned(),
            ..Operation::default()
        };
        let mut list = [&raw mut operation];
        // SAFETY: one operation, which the kernel reads, and writes the key of, during the call. It
        // reads no bytes, so there is no buffer that could have to live longer.
        let submit = |list: &mut [*mut Operation; 1]| unsafe {
            libc::syscall(libc::SYS_io_submit, self.context, 1 as libc::c_long, list.as_mut_ptr())
        };
        match result(submit(&mut list)) {
            Err(Errno::AGAIN) => {
                self.forget_results();
                result(submit(&mut list)).map(drop)
            }
            submitted => submitted.map(drop),
        }
    }

    fn forget_results(&self) {
        let mut results = [Outcome::default(); RESULTS as usize];
        let mut at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the kernel writes at most as many results as there is room for, and reads the
        // time; it waits for none.
        unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                0 as libc::c_long,
                RESULTS,
                results.as_mut_ptr(),
                ptr::from_mut(&mut at_once),
            )
        };
    }
}

fn queue() -> io::Result<&'static Queue> {
    static QUEUE: AtomicPtr<Queue> = AtomicPtr::new(ptr::null_mut());
    // Acquire: pairs with the release below. The queue is made.
    let known = QUEUE.load(Ordering::Acquire);
    // SAFETY: null, or what was leaked below and is never changed.
    if let Some(queue) = unsafe { known.as_ref() }
        && !queue.maker.is_another()
    {
        return Ok(queue);
    }
    // Leaked: another thread may use the one that is there. If two make one at once, both work.
    let made = Box::leak(Box::new(Queue::new()?));
    // Release: pairs with the acquire above.
    QUEUE.store(made, Ordering::Release);
    Ok(made)
}

/// Whether this system can do it.
pub(crate) fn available() -> io::Result<()> {
    queue().map(drop)
}

/// Adds 1 to an event counter without ever blocking; a counter that is full stays so.
pub(crate) fn add(counter: BorrowedFd<'_>) -> io::Result<()> {
    queue()?.add(counter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};
    use rustix::fd::AsFd as _;

    #[test]
    fn a_forked_process_adds_as_its_parent_does() {
        let counter = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).unwrap();
        add(counter.as_fd()).unwrap();
        // SAFETY: the child allocates, which may be done after a fork, and ends at once.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let failed = add(counter.as_fd()).is_err();
            // SAFETY: ends the child without what the parent's threads have to do at their end.
            unsafe { libc::_exit(i32::from(failed)) };
        }
        assert!(child > 0, "{}", std::io::Error::last_os_error());
        let mut status = 0;
        // SAFETY: the status is written to a variable of its type.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0, "it could not add");
        let mut count = [0; 8];
        rustix::io::read(&counter, &mut count).unwrap();
        assert_eq!(u64::from_ne_bytes(count), 2);
    }
}
