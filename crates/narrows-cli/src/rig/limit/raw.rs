//! The memory both sides of a limit share, and the three instructions that safe Rust lacks.
//!
//! Nothing here trusts the other side: it may write any byte of the mapping at any time, so
//! words are atomics, bytes are only ever copied, and every offset is this side's own.
#![allow(unsafe_code)]

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Slots in the ring, a power of two: enough that credits in batches never empty it.
pub const SLOTS: u64 = 256;
/// Bytes that travel in a slot, beside its sequence number.
pub const SLOT_PAYLOAD: usize = 48;
/// The largest payload in bytes.
pub const MAX_BYTES: usize = 256 << 10;

/// Lines sit this far apart in bytes, so that a prefetcher that fetches neighbours in pairs
/// does not tie two of them together.
const LINE_STRIDE: usize = 256;
const SLOT_STRIDE: usize = 64;
/// Bytes that no two areas share, and no two buffers: a prefetcher does not cross them, so
/// reading one buffer does not disturb the writing of the next.
pub const PAGE: usize = 4096;
/// Bytes between a buffer and the next one's page, so that they do not share a cache set.
const STAGGER: usize = 256;
const SLOTS_AT: usize = PAGE;
const BACK_SLOTS_AT: usize = SLOTS_AT + SLOTS as usize * SLOT_STRIDE;
const THERE_AT: usize = BACK_SLOTS_AT + SLOTS as usize * SLOT_STRIDE;
/// Room for a pool's blocks of the largest of its usual sizes.
const THERE_LEN: usize = 12 * MAX_BYTES;
const BACK_AT: usize = THERE_AT + THERE_LEN;
const BACK_LEN: usize = THERE_LEN;
/// Length of the shared memory in bytes.
pub const LENGTH: usize = BACK_AT + BACK_LEN;

const _: () = assert!((Line::Credit as usize + 1) * LINE_STRIDE <= SLOTS_AT);
const _: () = assert!(SLOTS.is_power_of_two() && 8 + SLOT_PAYLOAD <= SLOT_STRIDE);

/// The lines of words. All but `Both` have one writer.
#[derive(Clone, Copy)]
#[repr(usize)]
pub enum Line {
    /// What the caller asks for; written by the caller.
    Command,
    /// The command the callee has begun; written by the callee.
    Begun,
    /// The command the callee has ended, and how; written by the callee.
    Ended,
    /// The caller's turn; written by the caller.
    There,
    /// The callee's turn; written by the callee.
    Back,
    /// One line written by both sides in turn.
    Both,
    /// Messages taken out of the ring or the stream; written by the callee.
    Credit,
}

/// Which of the two rings, and of the two areas of payload.
#[derive(Clone, Copy)]
pub enum Area {
    /// Written by the caller.
    There,
    /// Written by the callee.
    Back,
}

/// A writable mapping of [`LENGTH`] bytes, shared with the other side, and one of the same that
/// cannot be written through.
pub struct Mapping {
    base: NonNull<u8>,
    seen: NonNull<u8>,
}

// SAFETY: the mapping belongs to the process, not to a thread; it goes away in `drop` only.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `memory`, whose length the caller has checked to be [`LENGTH`] and sealed.
    ///
    /// # Errors
    /// What the system says of the mapping.
    pub fn new(memory: impl AsFd) -> io::Result<Self> {
        let base = map(&memory, LENGTH, ProtFlags::READ | ProtFlags::WRITE)?;
        match map(&memory, LENGTH, ProtFlags::READ) {
            Ok(seen) => Ok(Self { base, seen }),
            Err(error) => {
                // SAFETY: the whole mapping made above, which nothing refers to.
                let _ = unsafe { munmap(base.as_ptr().cast(), LENGTH) };
                Err(error)
            }
        }
    }

    /// As [`Mapping::line`], to be read alone: this side cannot write it.
    #[inline(always)]
    pub fn seen(&self, line: Line) -> &AtomicU64 {
        let at = line as usize * LINE_STRIDE;
        // SAFETY: as in `word`, of the other mapping, which is as long; a word of it is loaded
        // alone.
        unsafe { &*self.seen.as_ptr().add(at).cast::<AtomicU64>() }
    }

    /// The first word of a line.
    #[inline(always)]
    pub fn line(&self, line: Line) -> &AtomicU64 {
        self.word::<0>(line)
    }

    /// Word `INDEX` of a line.
    #[inline(always)]
    pub fn word<const INDEX: usize>(&self, line: Line) -> &AtomicU64 {
        const { assert!(INDEX < 8) };
        let at = line as usize * LINE_STRIDE + INDEX * 8;
        // SAFETY: `at` is a multiple of 8 below `SLOTS_AT`, asserted above; the base is page
        // aligned, lives as long as `self`, and these bytes are only reached as atomics.
        unsafe { &*self.base.as_ptr().add(at).cast::<AtomicU64>() }
    }

    #[inline(always)]
    fn slot(&self, ring: Area, index: u64) -> *mut u8 {
        let first = match ring {
            Area::There => SLOTS_AT,
            Area::Back => BACK_SLOTS_AT,
        };
        let at = first + (index & (SLOTS - 1)) as usize * SLOT_STRIDE;
        // SAFETY: the mask keeps `at` below `THERE_AT`, inside the mapping.
        unsafe { self.base.as_ptr().add(at) }
    }

    /// The sequence number of the slot that message `index` uses.
    #[inline(always)]
    pub fn sequence(&self, ring: Area, index: u64) -> &AtomicU64 {
        // SAFETY: a slot starts on a multiple of 64 bytes inside the mapping, which lives as
        // long as `self`; its first word is only reached as an atomic.
        unsafe { &*self.slot(ring, index).cast::<AtomicU64>() }
    }

    /// Copies a payload into the slot of message `index`.
    #[inline(always)]
    pub fn fill_slot(&self, ring: Area, index: u64, payload: &[u8; SLOT_PAYLOAD]) {
        let (from, to) = (payload.as_ptr().cast::<u64>(), self.slot(ring, index).cast::<u64>());
        // The last first, as the stack stores them. Volatile: as they are written here.
        for at in (0..SLOT_PAYLOAD / 8).rev() {
            // SAFETY: 8 + 48 bytes fit a slot, asserted above, which is aligned to its size;
            // `payload` is private memory, of bytes.
            unsafe { to.add(1 + at).write_volatile(from.add(at).read_unaligned()) }
        }
    }

    /// Copies the payload of message `index` out of its slot.
    #[inline(always)]
    pub fn drain_slot(&self, ring: Area, index: u64, payload: &mut [u8; SLOT_PAYLOAD]) {
        // SAFETY: as in `fill_slot`, the other way.
        unsafe { ptr::copy_nonoverlapping(self.slot(ring, index).add(8), payload.as_mut_ptr(), 48) }
    }

    /// Asks for the line of the slot of message `index`, to be written soon.
    #[inline(always)]
    pub fn prefetch_slot(&self, ring: Area, index: u64) {
        prefetch_for_write(self.slot(ring, index));
    }

    /// Divides an area into buffers of `bytes`, at most `most` of them. Those of up to a line lie
    /// close together, as slots do.
    ///
    /// `None` if not even one fits.
    pub fn buffers(&self, area: Area, bytes: usize, most: usize) -> Option<Buffers<'_>> {
        let (at, length) = match area {
            Area::There => (THERE_AT, THERE_LEN),
            Area::Back => (BACK_AT, BACK_LEN),
        };
        let stride = match bytes {
            0..=SLOT_STRIDE => SLOT_STRIDE,
            _ => bytes.checked_next_multiple_of(PAGE)?.checked_add(STAGGER)?,
        };
        let count = (length / stride).min(most);
        if count == 0 {
            return None;
        }
        Some(self.divided(at, bytes, stride, 1 << count.ilog2()))
    }

    /// Divides an area into `count` blocks of `size` bytes, of which `bytes` are used, side by side
    /// as in a pool.
    ///
    /// `None` if they do not fit.
    pub fn blocks(&self, area: Area, bytes: usize, size: usize, count: u64) -> Option<Buffers<'_>> {
        let (at, length) = match area {
            Area::There => (THERE_AT, THERE_LEN),
            Area::Back => (BACK_AT, BACK_LEN),
        };
        let needed = size.checked_mul(usize::try_from(count).ok()?)?;
        let fits = count > 0 && bytes <= size && needed <= length;
        fits.then(|| self.divided(at, bytes, size, count))
    }

    /// `count` buffers a `stride` apart, which the caller has seen to fit behind `at`.
    fn divided(&self, at: usize, bytes: usize, stride: usize, count: u64) -> Buffers<'_> {
        // SAFETY: `at` is where one of both areas begins, inside either mapping.
        let (base, seen) = unsafe { (self.base.as_ptr().add(at), self.seen.as_ptr().add(at)) };
        let mask = if count.is_power_of_two() { count - 1 } else { u64::MAX };
        Buffers { base, from: base, seen, bytes, stride, count, mask, mapping: PhantomData }
    }
}

/// Maps the beginning of `memory`.
fn map(memory: impl AsFd, length: usize, access: ProtFlags) -> io::Result<NonNull<u8>> {
    let flags = MapFlags::SHARED | MapFlags::POPULATE;
    // SAFETY: a null hint lets the kernel place it, so no existing mapping is replaced.
    let base = unsafe { mmap(ptr::null_mut(), length, access, flags, memory, 0) }?;
    NonNull::new(base.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: these are the whole mappings made in `new`, and every reference into them borrows
        // `self`. Failure would leave them mapped, which harms nobody.
        unsafe {
            let _ = munmap(self.base.as_ptr().cast(), LENGTH);
            let _ = munmap(self.seen.as_ptr().cast(), LENGTH);
        }
    }
}

/// Equal buffers of shared memory, used round and round.
pub struct Buffers<'a> {
    base: *mut u8,
    /// Where they are read: as `base`, or as `seen`.
    from: *const u8,
    /// The same memory, where it cannot be written.
    seen: *const u8,
    bytes: usize,
    stride: usize,
    count: u64,
    /// What is left of an index that the count divides into, where that is a mask.
    mask: u64,
    mapping: PhantomData<&'a Mapping>,
}

impl Buffers<'_> {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The same buffers, read where this side cannot write them.
    pub fn seen(self) -> Self {
        Self { from: self.seen, ..self }
    }

    #[inline(always)]
    fn offset(&self, index: u64) -> usize {
        let index = match self.mask {
            u64::MAX => index % self.count,
            mask => index & mask,
        };
        index as usize * self.stride
    }

    #[inline(always)]
    fn at(&self, index: u64) -> *mut u8 {
        // SAFETY: `count` buffers of `stride` bytes fit the area, checked when divided.
        unsafe { self.base.add(self.offset(index)) }
    }

    /// Asks for the first line of message `index`'s buffer, to be written soon.
    #[inline(always)]
    pub fn prefetch(&self, index: u64) {
        prefetch_for_write(self.at(index));
    }

    /// Copies private bytes into the buffer of message `index`, as many as both have.
    #[inline(always)]
    pub fn write(&self, index: u64, from: &[u8]) {
        let length = from.len().min(self.bytes);
        // SAFETY: at most `bytes` are written, which is at most the stride; `from` is private
        // memory, so the two do not overlap.
        unsafe { copy(from.as_ptr(), self.at(index), length) }
    }

    /// Copies the buffer of message `index` into private memory, as much as both have.
    #[inline(always)]
    pub fn read(&self, index: u64, to: &mut [u8]) {
        let length = to.len().min(self.bytes);
        // SAFETY: as in `at`, in either mapping, and as in `write`, the other way.
        unsafe { copy(self.from.add(self.offset(index)), to.as_mut_ptr(), length) }
    }
}

/// Copies bytes; a line goes without a call, which takes as long as moving it.
///
/// # Safety
/// Both are valid for `length` bytes and do not overlap.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: the caller vouches for both, and the length of the first copy is `length`.
    unsafe {
        match length {
            SLOT_STRIDE => ptr::copy_nonoverlapping(from, to, SLOT_STRIDE),
            _ => ptr::copy_nonoverlapping(from, to, length),
        }
    }
}

#[inline(always)]
fn prefetch_for_write(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint; it neither faults nor changes anything.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch is a hint; it neither faults nor changes anything.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) line, options(nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = line;
}

/// The time-stamp counter, after everything before it has been executed; nought on processors
/// that `clock` does not use it on.
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut core = 0;
        // SAFETY: `clock` calls this only where the processor says that it has the instruction.
        unsafe { std::arch::x86_64::__rdtscp(&mut core) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Takes over a descriptor that the parent process left open for this one.
///
/// # Errors
/// The number is a standard stream's, or nothing is open under it.
pub fn adopt(number: RawFd) -> io::Result<OwnedFd> {
    if number <= 2 {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: used for one call that only asks whether the number is open.
    rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(number) })?;
    // SAFETY: it is open, and `Limits::inherit` promises that it was passed to this process for
    // this use alone, so nobody else here owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
