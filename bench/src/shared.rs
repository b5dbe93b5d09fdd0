//! Memory that both ends map, and the ring in it that the floors written by hand are made of.
//!
//! The ring is the least that carries a payload in order: a slot is a sequence number and the bytes
//! behind it, the receiver says now and then how far it has read. Nothing is checked and nobody is
//! distrusted, so it is no messaging, only what the machine allows.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64, fence};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::thread::futex;

use crate::contender::{Mode, Role, Setup, failed};
use crate::control::Control;

/// Bytes that move between cores at once.
const LINE: usize = 64;
/// Words of one writer each are this far apart, so that no prefetcher ties them together.
const APART: usize = 256;
/// Words before the slots: the receiver's credit, and one word each to say that one sleeps.
const HEAD: usize = 3 * APART;
/// Bytes of a slot's sequence number.
const SEQUENCE: usize = 8;

/// A mapping that both ends write.
struct Mapping {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to the process; it goes away when the last `Arc` of it does.
unsafe impl Send for Mapping {}
// SAFETY: its words are atomics, and its slots belong to one end at a time, by the ring's protocol.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(memory: impl AsFd, length: usize) -> io::Result<Mapping> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a null hint lets the kernel place it, so no existing mapping is replaced.
        let base = unsafe { mmap(ptr::null_mut(), length, access, flags, memory, 0) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { base, length })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the whole mapping made in `new`, which nothing refers to any more.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// A ring of messages from one end to the other, in shared memory.
struct Ring {
    mapping: Arc<Mapping>,
    start: usize,
    stride: usize,
    bytes: usize,
    depth: u32,
    mode: Mode,
    /// Messages sent, or received, by this end.
    count: u32,
    /// The sender: as many as the receiver has said that it has read.
    credit: u32,
}

/// Words of a ring's head.
#[derive(Clone, Copy)]
enum Head {
    /// Messages read; written by the receiver.
    Credit,
    /// The receiver sleeps, or is about to; written by it.
    ReceiverSleeps,
    /// The sender sleeps, or is about to; written by it.
    SenderSleeps,
}

impl Ring {
    fn stride(bytes: usize) -> usize {
        (SEQUENCE + bytes).next_multiple_of(LINE)
    }

    fn length(bytes: usize, depth: usize) -> usize {
        (HEAD + Ring::stride(bytes) * depth).next_multiple_of(4096)
    }

    fn new(mapping: &Arc<Mapping>, start: usize, setup: &Setup, depth: usize) -> Ring {
        let stride = Ring::stride(setup.bytes);
        assert!(start + Ring::length(setup.bytes, depth) <= mapping.length);
        assert!(depth.is_power_of_two() && start.is_multiple_of(4096));
        let mapping = Arc::clone(mapping);
        let (bytes, mode) = (setup.bytes, setup.mode);
        Ring { mapping, start, stride, bytes, depth: depth as u32, mode, count: 0, credit: 0 }
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: `at` is a multiple of 64 within this ring, which `new` found within the mapping;
        // these bytes are only reached as atomics.
        unsafe { &*self.mapping.base.as_ptr().add(self.start + at).cast() }
    }

    fn head(&self, head: Head) -> &AtomicU32 {
        self.word(head as usize * APART)
    }

    fn slot(&self, index: u32) -> usize {
        HEAD + (index & (self.depth - 1)) as usize * self.stride
    }

    /// Waits until `ready`, which looks at `word`.
    fn wait(&self, word: &AtomicU32, sleeps: Head, ready: impl Fn(u32) -> bool) -> io::Result<()> {
        loop {
            // Pairs with the release store of the side that writes the word.
            let seen = word.load(Acquire);
            if ready(seen) {
                return Ok(());
            }
            match self.mode {
                Mode::Spinning => std::hint::spin_loop(),
                Mode::Blocked | Mode::Hybrid => {
                    self.head(sleeps).store(1, Relaxed);
                    // Pairs with the fence in `tell`: either that one sees that this end sleeps,
                    // or this one sees what it stored, and the kernel does not let it sleep.
                    fence(SeqCst);
                    let woken = futex::wait(word, futex::Flags::empty(), seen, None);
                    self.head(sleeps).store(0, Relaxed);
                    match woken {
                        Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
    }

    /// Stores a word that the other end may wait for.
    fn tell(&self, word: &AtomicU32, value: u32, sleeps: Head) -> io::Result<()> {
        word.store(value, Release);
        if self.mode != Mode::Spinning {
            // Pairs with the fence in `wait`.
            fence(SeqCst);
            if self.head(sleeps).load(Relaxed) == 1 {
                futex::wake(word, futex::Flags::empty(), 1)?;
            }
        }
        Ok(())
    }

    /// Has the next message made in its slot, and sends it.
    #[inline]
    fn send(&mut self, make: impl FnOnce(&mut [u8])) -> io::Result<()> {
        if self.count.wrapping_sub(self.credit) == self.depth {
            let credit = self.head(Head::Credit);
            let count = self.count;
            self.wait(credit, Head::SenderSleeps, |read| count.wrapping_sub(read) < self.depth)?;
            self.credit = credit.load(Acquire);
        }
        let at = self.slot(self.count);
        // SAFETY: the slot lies within this ring; the receiver has read it, by its credit above,
        // and reads it again only when the sequence number below is stored.
        let bytes = unsafe {
            let slot = self.mapping.base.as_ptr().add(self.start + at + SEQUENCE);
            std::slice::from_raw_parts_mut(slot, self.bytes)
        };
        make(bytes);
        self.count = self.count.wrapping_add(1);
        self.tell(self.word(at), self.count, Head::ReceiverSleeps)
    }

    /// Waits for the next message and has it read in its slot.
    #[inline]
    fn receive(&mut self, read: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let at = self.slot(self.count);
        let next = self.count.wrapping_add(1);
        self.wait(self.word(at), Head::ReceiverSleeps, |sequence| sequence == next)?;
        // SAFETY: the slot lies within this ring; the sender has stored its sequence number, and
        // writes it again only when it has credit for it.
        let bytes = unsafe {
            let slot = self.mapping.base.as_ptr().add(self.start + at + SEQUENCE);
            std::slice::from_raw_parts(slot, self.bytes)
        };
        read(bytes)?;
        self.count = next;
        // A quarter at a time: one line there for many messages.
        if next.is_multiple_of((self.depth / 4).max(1)) {
            self.tell(self.head(Head::Credit), next, Head::SenderSleeps)?;
        }
        Ok(())
    }
}

/// A number that several processes add to.
pub struct Count(Mapping);

impl Count {
    /// A new one, and the memory that it is in.
    ///
    /// # Errors
    /// What the system refused.
    pub fn new() -> io::Result<(Count, OwnedFd)> {
        let memory = memfd_create("narrows-bench", MemfdFlags::CLOEXEC)?;
        ftruncate(&memory, 4096)?;
        Ok((Count::of(&memory)?, memory))
    }

    /// The one in this memory.
    ///
    /// # Errors
    /// What the system refused.
    pub fn of(memory: impl AsFd) -> io::Result<Count> {
        Ok(Count(Mapping::new(memory, 4096)?))
    }

    fn word(&self) -> &AtomicU64 {
        // SAFETY: a page begins with a word of 64 bits, and is mapped as long as this is; it is
        // only reached as an atomic.
        unsafe { self.0.base.cast().as_ref() }
    }

    /// Adds one.
    pub fn add(&self) {
        self.word().fetch_add(1, Release);
    }

    /// How many were added.
    pub fn get(&self) -> u64 {
        // Pairs with the release in `add`.
        self.word().load(Acquire)
    }
}

/// Two rings, one each way.
pub struct Pair {
    there: Ring,
    back: Ring,
    role: Role,
}

impl Pair {
    /// Opens one end of rings with `depth` slots.
    ///
    /// # Errors
    /// What the system refused.
    pub fn open(
        role: Role,
        setup: &Setup,
        depth: usize,
        control: &mut Control,
    ) -> io::Result<Pair> {
        let each = Ring::length(setup.bytes, depth);
        let memory = match role {
            Role::Caller => {
                let memory = memfd_create("narrows-bench", MemfdFlags::CLOEXEC)?;
                ftruncate(&memory, 2 * each as u64)?;
                control.give_fds([memory.try_clone()?])?;
                memory
            }
            Role::Callee => {
                let [memory]: [OwnedFd; 1] = control.take_fds()?;
                memory
            }
        };
        let mapping = Mapping::new(memory, 2 * each).map_err(|e| failed("map memory", e))?;
        let mapping = Arc::new(mapping);
        let there = Ring::new(&mapping, 0, setup, depth);
        Ok(Pair { there, back: Ring::new(&mapping, each, setup, depth), role })
    }

    /// Has the next message made where it is sent from.
    ///
    /// # Errors
    /// The system's, of waiting.
    #[inline]
    pub fn send(&mut self, make: impl FnOnce(&mut [u8])) -> io::Result<()> {
        match self.role {
            Role::Caller => self.there.send(make),
            Role::Callee => self.back.send(make),
        }
    }

    /// Has the next message read where it is.
    ///
    /// # Errors
    /// `read`'s, or the system's, of waiting.
    #[inline]
    pub fn receive(&mut self, read: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
        match self.role {
            Role::Caller => self.back.receive(read),
            Role::Callee => self.there.receive(read),
        }
    }
}
