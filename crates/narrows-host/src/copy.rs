//! The copying of payload into memory that a peer can read, and out of memory that it can write.
#![allow(unsafe_code)]

use std::ptr::{self, NonNull};
use std::sync::atomic::{Ordering, compiler_fence};

/// Bytes from which on it counts how they are moved. `memcpy` (glibc 2.36) goes from the end to the front, or
/// from 2 KiB on takes one instruction, by how source and target lie within their pages. What another core has
/// written comes at 3 to 30 GiB/s then, by alignment and by process (Zen 4, near cores), and at 30 by vectors
/// from the front to the end.
pub(crate) const LONG: usize = 256;

/// Copies bytes from the front to the end.
///
/// # Safety
/// As for [`copy`], with at least [`LONG`] bytes.
#[inline(never)]
unsafe fn copy_long(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: the processor has it, and the caller vouches for the rest.
        return unsafe { by_vectors(from, to, len) };
    }
    // SAFETY: the caller vouches for it.
    unsafe { by_pieces(from, to, len) };
}

/// As [`copy_long`], in pieces that `memcpy` moves by several vectors.
///
/// # Safety
/// As for [`copy`].
unsafe fn by_pieces(from: *const u8, to: *mut u8, len: usize) {
    const PIECE: usize = 1024;
    for at in (0..len).step_by(PIECE) {
        // SAFETY: what is left behind `at`, which is below `len`, at most.
        unsafe { ptr::copy_nonoverlapping(from.add(at), to.add(at), (len - at).min(PIECE)) };
    }
}

/// Bytes of a vector.
#[cfg(target_arch = "x86_64")]
const VECTOR: usize = 32;

/// # Safety
/// As for [`copy_long`], on a processor that has these vectors.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn by_vectors(from: *const u8, to: *mut u8, len: usize) {
    use std::arch::x86_64::{_mm256_loadu_si256 as load, _mm256_storeu_si256 as store};
    const STEP: usize = 128;
    let mut at = 0;
    while at < len {
        // The last step has bytes of the one before, if there is no whole one left.
        let here = at.min(len - STEP);
        // SAFETY: a step ends where `len` does, at the latest, and that is more than one.
        unsafe {
            let (from, to) = (from.add(here), to.add(here));
            let parts = [0, 32, 64, 96].map(|part| load(from.add(part).cast()));
            for (part, vector) in [0, 32, 64, 96].into_iter().zip(parts) {
                store(to.add(part).cast(), vector);
            }
        }
        at += STEP;
    }
}

/// Copies `len` bytes.
///
/// Up to 64 bytes go in loads and stores of fixed size that overlap; a call to `memcpy` costs as
/// much as moving a slot.
///
/// # Safety
/// Both ranges are valid for `len` bytes and do not overlap. Another process may write the source
/// meanwhile: the bytes are then of either state, and nothing may be concluded from a second look.
#[inline(always)]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    /// # Safety
    /// As for `copy`, with `N <= len <= 2 * N`.
    #[inline(always)]
    unsafe fn ends<const N: usize>(from: *const u8, to: *mut u8, len: usize) {
        // SAFETY: both the first and the last `N` bytes are within `len`.
        unsafe {
            ptr::copy_nonoverlapping(from, to, N);
            ptr::copy_nonoverlapping(from.add(len - N), to.add(len - N), N);
        }
    }
    // SAFETY: each call is made with a length between its size and twice that, as the branches say,
    // on ranges that the caller vouches for.
    unsafe {
        match len {
            LONG.. => copy_long(from, to, len),
            65.. => ptr::copy_nonoverlapping(from, to, len),
            49..=64 => ends::<32>(from, to, len),
            32..=48 => {
                ptr::copy_nonoverlapping(from, to, 32);
                ptr::copy_nonoverlapping(from.add(len - 16), to.add(len - 16), 16);
            }
            16..32 => ends::<16>(from, to, len),
            8..16 => ends::<8>(from, to, len),
            4..8 => ends::<4>(from, to, len),
            2..4 => ends::<2>(from, to, len),
            1 => to.write(from.read()),
            0 => {}
        }
    }
}

/// Copies out of memory that a peer can write.
///
/// # Safety
/// `from` is valid for `to.len()` bytes.
#[inline(always)]
pub(crate) unsafe fn copy_out(from: NonNull<u8>, to: &mut [u8]) {
    // SAFETY: the caller vouches for `from`; `to` is a borrowed slice, and no slice overlaps a
    // region, which is only reached through raw pointers.
    unsafe { copy(from.as_ptr(), to.as_mut_ptr(), to.len()) };
    // The compiler must not read the region again where the copy is used.
    compiler_fence(Ordering::SeqCst);
}

/// Copies into memory that a peer can read.
///
/// # Safety
/// `to` is valid for writing `from.len()` bytes.
#[inline(always)]
pub(crate) unsafe fn copy_in(from: &[u8], to: NonNull<u8>) {
    // SAFETY: as in `copy_out`, the other way round.
    unsafe { copy(from.as_ptr(), to.as_ptr(), from.len()) };
}

/// As [`copy_in`], around the caches. False if nothing was copied: the processor or where it goes to does not allow
/// it.
///
/// # Safety
/// As for [`copy_in`].
pub(crate) unsafe fn copy_around(from: &[u8], to: NonNull<u8>) -> bool {
    #[cfg(target_arch = "x86_64")]
    if to.addr().get().is_multiple_of(VECTOR) && std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: the processor has it, the target is aligned, and the caller vouches for the rest.
        unsafe { stream(from, to.as_ptr()) };
        return true;
    }
    let _ = (from, to);
    false
}

/// # Safety
/// As for [`copy_in`], to where a vector is aligned, on a processor that has them.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn stream(from: &[u8], to: *mut u8) {
    use std::arch::x86_64::{_mm_sfence, _mm256_loadu_si256, _mm256_stream_si256};
    let whole = from.len() / VECTOR * VECTOR;
    for at in (0..whole).step_by(VECTOR) {
        // SAFETY: a vector that begins at `at` ends within `whole`.
        unsafe {
            let vector = _mm256_loadu_si256(from.as_ptr().add(at).cast());
            _mm256_stream_si256(to.add(at).cast(), vector);
        }
    }
    // SAFETY: what is left behind `whole`, less than a vector.
    unsafe { copy(from.as_ptr().add(whole), to.add(whole), from.len() - whole) };
    // Such stores are not ordered by what publishes them.
    _mm_sfence();
}

/// Copies a payload to its slot, loading it word by word. Who made it a moment ago did so by stores no longer
/// than a word, and a vector that is loaded from several of these has to wait until they have left the store
/// buffer, behind the stores to the slot before, whose line the other core has to let go of first. The last
/// bytes first: a stream of slots that are each stored forwards takes 1.4 times as long on a Zen 4.
///
/// # Safety
/// `to` is valid for writing `from.len()` bytes, of which there are at most
/// [`IN_SLOT`](narrows::memory::IN_SLOT).
#[inline(always)]
pub(crate) unsafe fn copy_to_slot(from: &[u8], to: NonNull<u8>) {
    let (bytes, to_bytes, len) = (from.as_ptr(), to.as_ptr(), from.len());
    if len < PAIR {
        // SAFETY: the caller vouches for it.
        return unsafe { copy_in(from, to) };
    }
    // SAFETY: as in `copy_in`; each pair ends within `len`, as the branches say.
    unsafe {
        pair::<0>(bytes.add(len - PAIR), to_bytes.add(len - PAIR));
        if len > 2 * PAIR {
            pair::<PAIR>(bytes, to_bytes);
        }
        pair::<0>(bytes, to_bytes);
    }
}

/// Bytes of two words.
const PAIR: usize = 16;

/// Copies two words of 8 bytes, `AT` bytes on.
///
/// # Safety
/// As for [`copy`], with 16 bytes more than `AT`.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
unsafe fn pair<const AT: usize>(from: *const u8, to: *mut u8) {
    let both: std::arch::x86_64::__m128i;
    // SAFETY: reads the 16 bytes that the caller vouches for. Written out: the compiler would make one load
    // of the two.
    unsafe {
        std::arch::asm!(
            "movq {both}, [{from} + {at}]",
            "movhps {both}, [{from} + {at} + 8]",
            at = const AT,
            from = in(reg) from,
            both = out(xmm_reg) both,
            options(readonly, nostack, preserves_flags)
        );
        std::arch::x86_64::_mm_storeu_si128(to.add(AT).cast(), both);
    }
}

/// As above.
///
/// # Safety
/// As there.
#[inline(always)]
#[cfg(not(target_arch = "x86_64"))]
unsafe fn pair<const AT: usize>(from: *const u8, to: *mut u8) {
    #[derive(Clone, Copy)]
    #[repr(C, packed)]
    struct Word(u64);
    // SAFETY: 16 bytes, which the caller vouches for, and the type has no alignment. Volatile: the compiler
    // would make one load of the two.
    unsafe {
        let words = [8, 0].map(|at| (at, from.add(AT + at).cast::<Word>().read_volatile()));
        words.into_iter().for_each(|(at, word)| to.add(AT + at).cast::<Word>().write(word));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: usize = 2500;

    /// Whether a way to copy moves all bytes of all lengths from `least` to `most`, and no others.
    fn copies(way: unsafe fn(*const u8, *mut u8, usize), least: usize, most: usize) {
        let source: Vec<u8> = (0..LONGEST + 64).map(|at| (at * 7 % 251) as u8 | 1).collect();
        let lengths = (0..600).chain(LONGEST - 300..=LONGEST);
        for len in lengths.filter(|len| (least..=most).contains(len)) {
            for (from, at) in [(0, 0), (1, 0), (0, 1), (17, 40), (63, 33), (3, 16), (7, 48)] {
                let mut target = vec![0; LONGEST + 64];
                // SAFETY: both vectors are 64 bytes longer than the longest, and apart.
                unsafe { way(source.as_ptr().add(from), target.as_mut_ptr().add(at), len) };
                let (before, rest) = target.split_at(at);
                let (copied, behind) = rest.split_at(len);
                assert_eq!(copied, &source[from..from + len], "{len} bytes");
                assert!(before.iter().chain(behind).all(|byte| *byte == 0), "{len} bytes");
            }
        }
    }

    #[test]
    fn every_length_is_copied_and_nothing_beside_it() {
        // SAFETY: what `copies` vouches for.
        copies(|from, to, len| unsafe { copy(from, to, len) }, 0, LONGEST);
        copies(by_pieces, 0, LONGEST);
        copies(copy_long, LONG, LONGEST);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn every_length_is_copied_around_the_caches_where_a_vector_is_aligned() {
        let way = |from, to: *mut u8, len| {
            // SAFETY: what `copies` vouches for; the source is private.
            unsafe {
                let (from, to) =
                    (std::slice::from_raw_parts(from, len), NonNull::new_unchecked(to));
                let possible = to.addr().get().is_multiple_of(VECTOR)
                    && std::arch::is_x86_feature_detected!("avx");
                assert_eq!(copy_around(from, to), possible);
                if !possible {
                    copy_in(from, to);
                }
            }
        };
        copies(way, 0, LONGEST);
    }

    #[test]
    fn every_payload_of_a_slot_is_copied_and_nothing_beside_it() {
        let way = |from, to, len| {
            // SAFETY: what `copies` vouches for; the source is private.
            unsafe {
                copy_to_slot(std::slice::from_raw_parts(from, len), NonNull::new_unchecked(to))
            }
        };
        copies(way, 0, narrows::memory::IN_SLOT);
    }
}
