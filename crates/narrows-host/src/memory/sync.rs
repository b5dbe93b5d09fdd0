//! How shared memory is reached: the processor's atomics, fences, copies and hints. The model
//! checker puts its own in the place of this module (`crates/narrows/tests/loom_host.rs`).
#![allow(unsafe_code)]

use std::ptr::NonNull;
pub(crate) use std::sync::atomic::{AtomicU32 as Word, Ordering, fence};

use crate::memory::copy::{copy_in, copy_out, copy_to_slot};

/// Slots whose lines a writer fetches together, a power of two.
pub(crate) const TOGETHER: usize = 8;
/// Whether a writer does.
pub(crate) const TOUCHES: bool = cfg!(target_arch = "x86_64");
/// Slots ahead of the one it reads that a reader asks for.
pub(crate) const READ_AHEAD: u32 = if cfg!(target_arch = "x86_64") { 8 } else { 0 };

/// Copies payload from where it begins in memory that a peer can write.
///
/// # Safety
/// As for [`copy_out`].
#[inline(always)]
pub(crate) unsafe fn read(from: NonNull<Word>, to: &mut [u8]) {
    // SAFETY: as the caller says.
    unsafe { copy_out(from.cast(), to) };
}

/// As [`read`], 8 bytes.
///
/// # Safety
/// As for [`read`].
#[inline(always)]
pub(crate) unsafe fn first_eight(from: NonNull<Word>) -> [u8; 8] {
    // SAFETY: as the caller says.
    unsafe { crate::memory::copy::first_eight(from.cast()) }
}

/// Copies payload to memory of this node's own.
///
/// # Safety
/// As for [`copy_in`].
#[inline(always)]
pub(crate) unsafe fn write(from: &[u8], to: NonNull<Word>) {
    // SAFETY: as the caller says.
    unsafe { copy_in(from, to.cast()) };
}

/// As [`write`], to a slot.
///
/// # Safety
/// As for [`copy_to_slot`].
#[inline(always)]
pub(crate) unsafe fn write_slot(from: &[u8], to: NonNull<Word>) {
    // SAFETY: as the caller says.
    unsafe { copy_to_slot(from, to.cast()) };
}

/// Stores something to the end of the first cache line of each of these slots, which are free:
/// their lines come at the same time.
#[inline(always)]
pub(crate) fn touch<const WORDS: usize>(slots: &[[Word; WORDS]; TOGETHER]) {
    const { assert!(WORDS >= 16) };
    #[cfg(target_arch = "x86_64")]
    // Written out: it is to be no loop where code is made short.
    // SAFETY: each is a byte of one of the slots, which have at least 64 and may be written.
    unsafe {
        std::arch::asm!(
            "mov byte ptr [{slots} + 60], 0",
            "mov byte ptr [{slots} + {slot} + 60], 0",
            "mov byte ptr [{slots} + 2 * {slot} + 60], 0",
            "mov byte ptr [{slots} + 3 * {slot} + 60], 0",
            "mov byte ptr [{slots} + 4 * {slot} + 60], 0",
            "mov byte ptr [{slots} + 5 * {slot} + 60], 0",
            "mov byte ptr [{slots} + 6 * {slot} + 60], 0",
            "mov byte ptr [{slots} + 7 * {slot} + 60], 0",
            slots = in(reg) slots,
            slot = const WORDS * 4,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slots;
}

/// Asks for the line of a word that will be read.
#[inline(always)]
pub(crate) fn prefetch_to_read(word: NonNull<Word>) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint without effect on memory, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(word.as_ptr().cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}

/// Asks for the line of a word behind `first` that will be written to.
#[inline(always)]
pub(crate) fn prefetch_to_write(first: NonNull<Word>, word: u32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint without effect on memory, registers or flags, whatever the address.
    unsafe {
        std::arch::asm!(
            "prefetchw [{} + {} * 4]",
            in(reg) first.addr().get(),
            in(reg) word as usize,
            options(nomem, nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (first, word);
}

/// Orders every store before it against every load after it.
#[inline(always)]
pub fn full_fence() {
    // A locked operation on the own stack is a full barrier and takes half as long as `mfence`.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: or-ing zero leaves the word on top of the stack, which is always mapped, as it is.
    unsafe {
        std::arch::asm!("lock or dword ptr [rsp], 0", options(nostack));
    }
    #[cfg(not(target_arch = "x86_64"))]
    fence(Ordering::SeqCst);
}
