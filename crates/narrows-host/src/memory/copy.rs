//! The copying of payload into memory that a peer can read, and out of memory that it can write.
//!
//! A peer may write while this node reads, against the rules or because it has gone mad. A plain
//! read would race with that, which Rust does not define. So a peer's bytes are loaded by volatile
//! reads or in assembly: each load happens once, and gives what the memory held, whatever wrote
//! that.
#![allow(unsafe_code)]

use std::ptr::{self, NonNull};

/// Bytes from which on it counts how they are moved. `memcpy` (glibc 2.36) goes from the end to the
/// front, or from 2 KiB on takes one instruction, by how source and target lie within their pages.
/// What another core has written comes at 3 to 30 GiB/s then, by alignment and by process (Zen 4,
/// near cores), and at 30 by vectors from the front to the end.
pub(crate) const LONG: usize = 256;

/// Copies one `T`, whatever its alignment.
///
/// # Safety
/// Both are valid for its size, and any bytes are a `T`. With `PEERS`, a peer may write the source
/// meanwhile.
#[inline(always)]
unsafe fn piece<const PEERS: bool, T: Copy>(from: *const u8, to: *mut u8) {
    #[derive(Clone, Copy)]
    #[repr(C, packed)]
    struct Unaligned<T>(T);
    let (from, to) = (from.cast::<Unaligned<T>>(), to.cast::<Unaligned<T>>());
    // SAFETY: the caller vouches for the size, and the type has no alignment.
    unsafe { to.write(if PEERS { from.read_volatile() } else { from.read() }) };
}

/// Copies the 16 bytes that begin at `AT` and, if there is a length, the last 16 of this many
/// instead.
///
/// # Safety
/// As for [`piece`].
#[inline(always)]
unsafe fn sixteen<const PEERS: bool, const AT: usize>(
    from: *const u8,
    to: *mut u8,
    len: Option<usize>,
) {
    let at = len.map_or(AT, |len| len - 16);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if PEERS {
        use std::arch::{asm, x86_64::__m128i};
        let vector: __m128i;
        // SAFETY: the caller vouches for 16 bytes at both, and no instruction here asks for
        // alignment. In assembly: there is no volatile load of a vector that need not be aligned.
        // And with the address as it is: to make another is an instruction more.
        unsafe {
            match len {
                Some(len) => asm!(
                    "movdqu {vector}, [{from} + {len} - 16]",
                    from = in(reg) from,
                    len = in(reg) len,
                    vector = out(xmm_reg) vector,
                    options(readonly, nostack, preserves_flags)
                ),
                None => asm!(
                    "movdqu {vector}, [{from} + {at}]",
                    from = in(reg) from,
                    at = const AT,
                    vector = out(xmm_reg) vector,
                    options(readonly, nostack, preserves_flags)
                ),
            }
            std::arch::x86_64::_mm_storeu_si128(to.add(at).cast(), vector);
        }
        return;
    }
    // SAFETY: as the caller says.
    unsafe { piece::<PEERS, u128>(from.add(at), to.add(at)) };
}

/// Copies bytes from the front to the end.
///
/// # Safety
/// As for [`copy`], with at least 64 bytes.
#[inline(never)]
unsafe fn copy_long(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if len >= VECTORS && std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: the processor has it, and the caller vouches for the rest.
        return unsafe { by_vectors(from, to, len) };
    }
    // SAFETY: the caller vouches for it.
    unsafe { by_sixteens(from, to, len) };
}

/// As [`copy_long`], on any processor.
///
/// # Safety
/// As for [`copy_long`].
unsafe fn by_sixteens(from: *const u8, to: *mut u8, len: usize) {
    const STEP: usize = 64;
    let last = len - STEP;
    let mut at = 0;
    loop {
        // SAFETY: a step ends where `len` does, at the latest.
        unsafe {
            let (from, to) = (from.add(at), to.add(at));
            sixteen::<true, 0>(from, to, None);
            sixteen::<true, 16>(from, to, None);
            sixteen::<true, 32>(from, to, None);
            sixteen::<true, 48>(from, to, None);
        }
        if at == last {
            break;
        }
        // The last step has bytes of the one before, if there is no whole one left.
        at = last.min(at + STEP);
    }
}

/// Bytes of a page.
#[cfg(any(test, all(target_arch = "x86_64", not(miri))))]
const PAGE: usize = 4096;
/// Bytes of a vector.
#[cfg(target_arch = "x86_64")]
const VECTOR: usize = 32;
/// Bytes of four.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const VECTORS: usize = 4 * VECTOR;

/// Copies by steps of eight vectors, in two halves.
///
/// A load waits for a store made just before if both lie at the same place of their pages, but for
/// a part of a vector, as if they were of the same bytes (Zen 4). Where the target begins a little
/// behind the source within a page, that would be each load from the second step on. There the
/// second half goes first: the stores that the first would wait for were made two halves ago.
///
/// # Safety
/// As for [`copy_long`], with at least [`VECTORS`] bytes, on a processor that has these vectors.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx")]
unsafe fn by_vectors(from: *const u8, to: *mut u8, len: usize) {
    const STEP: usize = 2 * VECTORS;
    let Some(last) = len.checked_sub(STEP) else {
        // SAFETY: both end where `len` does, at the latest, and may have bytes in common.
        unsafe {
            four(from, to);
            if len > VECTORS {
                four(from.add(len - VECTORS), to.add(len - VECTORS));
            }
        }
        return;
    };
    let behind = to.addr().wrapping_sub(from.addr()) % PAGE;
    let halves = if (1..STEP).contains(&behind) { [VECTORS, 0] } else { [0, VECTORS] };
    let mut at = 0;
    loop {
        for half in halves {
            // SAFETY: a step ends where `len` does, at the latest.
            unsafe { four(from.add(at + half), to.add(at + half)) };
        }
        if at == last {
            break;
        }
        // Between the first step and the last no store lies in two cache lines, wherever the target
        // begins. The last has bytes of the one before, if there is no whole one left.
        at = last.min(at + STEP - (to.addr() + at) % VECTOR);
    }
}

/// Copies four vectors.
///
/// # Safety
/// As for [`copy_long`], of [`VECTORS`] bytes.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
#[target_feature(enable = "avx")]
unsafe fn four(from: *const u8, to: *mut u8) {
    use std::arch::x86_64::{__m256i, _mm256_storeu_si256 as store};
    let (one, two, three, four): (__m256i, __m256i, __m256i, __m256i);
    // SAFETY: the caller vouches for the bytes, and no instruction here asks for alignment.
    unsafe {
        std::arch::asm!(
            "vmovdqu {one}, [{from}]",
            "vmovdqu {two}, [{from} + 32]",
            "vmovdqu {three}, [{from} + 64]",
            "vmovdqu {four}, [{from} + 96]",
            from = in(reg) from,
            one = out(ymm_reg) one,
            two = out(ymm_reg) two,
            three = out(ymm_reg) three,
            four = out(ymm_reg) four,
            options(readonly, nostack, preserves_flags)
        );
        store(to.cast(), one);
        store(to.add(32).cast(), two);
        store(to.add(64).cast(), three);
        store(to.add(96).cast(), four);
    }
}

/// Copies `len` bytes.
///
/// Up to 64 bytes go in loads and stores of fixed size that overlap; a call costs as much as moving
/// a slot.
///
/// # Safety
/// Both ranges are valid for `len` bytes and do not overlap. With `PEERS`, a peer may write the
/// source meanwhile: the bytes are then of either state, and nothing may be concluded from a second
/// look.
#[inline(always)]
pub(crate) unsafe fn copy<const PEERS: bool>(from: *const u8, to: *mut u8, len: usize) {
    /// # Safety
    /// As for `copy`, with at least one `T` and at most two.
    #[inline(always)]
    unsafe fn ends<const PEERS: bool, T: Copy>(from: *const u8, to: *mut u8, len: usize) {
        let last = len - size_of::<T>();
        // SAFETY: both the first and the last are within `len`.
        unsafe {
            piece::<PEERS, T>(from, to);
            piece::<PEERS, T>(from.add(last), to.add(last));
        }
    }
    // SAFETY: each piece is within the length that its branch says, on ranges that the caller
    // vouches for.
    unsafe {
        match len {
            LONG.. => copy_long(from, to, len),
            65.. if PEERS => copy_long(from, to, len),
            65.. => ptr::copy_nonoverlapping(from, to, len),
            49.. => {
                sixteen::<PEERS, 0>(from, to, None);
                sixteen::<PEERS, 16>(from, to, None);
                sixteen::<PEERS, 32>(from, to, None);
                sixteen::<PEERS, 0>(from, to, Some(len));
            }
            32.. => {
                sixteen::<PEERS, 0>(from, to, None);
                sixteen::<PEERS, 16>(from, to, None);
                sixteen::<PEERS, 0>(from, to, Some(len));
            }
            16.. => {
                sixteen::<PEERS, 0>(from, to, None);
                sixteen::<PEERS, 0>(from, to, Some(len));
            }
            8.. => ends::<PEERS, u64>(from, to, len),
            4.. => ends::<PEERS, u32>(from, to, len),
            2.. => ends::<PEERS, u16>(from, to, len),
            1 => piece::<PEERS, u8>(from, to),
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
    unsafe { copy::<true>(from.as_ptr(), to.as_mut_ptr(), to.len()) };
}

/// The first 8 bytes of memory that a peer can write.
///
/// # Safety
/// `from` is valid for this many.
#[inline(always)]
pub(crate) unsafe fn first_eight(from: NonNull<u8>) -> [u8; 8] {
    let mut to = [0; 8];
    // SAFETY: as the caller says.
    unsafe { piece::<true, u64>(from.as_ptr(), to.as_mut_ptr()) };
    to
}

/// Copies into memory that a peer can read.
///
/// # Safety
/// `to` is valid for writing `from.len()` bytes.
#[inline(always)]
pub(crate) unsafe fn copy_in(from: &[u8], to: NonNull<u8>) {
    // SAFETY: as in `copy_out`, the other way round.
    unsafe { copy::<false>(from.as_ptr(), to.as_ptr(), from.len()) };
}

/// As [`copy_in`], around the caches. False if nothing was copied: the processor or where it goes
/// to does not allow it.
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
    unsafe { copy::<false>(from.as_ptr().add(whole), to.add(whole), from.len() - whole) };
    // Such stores are not ordered by what publishes them.
    _mm_sfence();
}

/// Copies a payload to its slot, loading it word by word. Its maker did so a moment ago by stores
/// no longer than a word, and a vector that is loaded from several of these has to wait until they
/// have left the store buffer, behind the stores to the slot before, whose line the other core has
/// to let go of first. The last bytes first: a stream of slots that are each stored forwards takes
/// 1.4 times as long on a Zen 4.
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
            let mut at = (len - 1) / PAIR * PAIR;
            while at > 2 * PAIR {
                at -= PAIR;
                pair::<0>(bytes.add(at), to_bytes.add(at));
            }
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
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn pair<const AT: usize>(from: *const u8, to: *mut u8) {
    let both: std::arch::x86_64::__m128i;
    // SAFETY: reads the 16 bytes that the caller vouches for. Written out: the compiler would make
    // one load of the two.
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

/// Copies two words of 8 bytes, `AT` bytes on, on other processors and under Miri.
///
/// # Safety
/// As for [`copy`], with 16 bytes more than `AT`.
#[inline(always)]
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn pair<const AT: usize>(from: *const u8, to: *mut u8) {
    for at in [AT + 8, AT] {
        // SAFETY: 16 bytes, which the caller vouches for.
        unsafe { piece::<true, u64>(from.add(at), to.add(at)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Miri takes minutes for more.
    const LONGEST: usize = if cfg!(miri) { 320 } else { 2500 };
    const APART: usize = if cfg!(miri) { 61 } else { 1 };

    /// Whether a way to copy moves all bytes of all lengths from `least` to `most`, and no others.
    fn copies(way: unsafe fn(*const u8, *mut u8, usize), least: usize, most: usize) {
        let source: Vec<u8> = (0..LONGEST + 64).map(|at| (at * 7 % 251) as u8 | 1).collect();
        let lengths = (0..600).chain(LONGEST - 300..=LONGEST).step_by(APART);
        for len in lengths.filter(|len| (least..=most).contains(len)) {
            for (from, at) in [(0, 0), (1, 0), (0, 1), (17, 40), (63, 33), (3, 16), (7, 48)] {
                // A page apart: some ways go by where the two lie within theirs.
                let mut both = vec![0; PAGE + LONGEST + 64];
                let (page, target) = both.split_at_mut(PAGE);
                page[..source.len()].copy_from_slice(&source);
                // SAFETY: both are at least 64 bytes longer than the longest, and apart.
                unsafe { way(page.as_ptr().add(from), target.as_mut_ptr().add(at), len) };
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
        copies(|from, to, len| unsafe { copy::<false>(from, to, len) }, 0, LONGEST);
        // SAFETY: as above.
        copies(|from, to, len| unsafe { copy::<true>(from, to, len) }, 0, LONGEST);
        copies(by_sixteens, 64, LONGEST);
        copies(copy_long, 64, LONGEST);
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

    /// A core that has seen the word which announces a payload sees all of the payload, though
    /// stores around the caches wait for nothing that comes behind them.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn what_is_written_around_the_caches_is_there_before_what_announces_it() {
        use std::sync::atomic::{AtomicU32, Ordering};
        use std::thread::yield_now;

        const ROUNDS: u32 = 20_000;
        #[repr(align(64))]
        struct Line(std::cell::UnsafeCell<[u8; 96]>);
        // SAFETY: the two threads take turns at it.
        unsafe impl Sync for Line {}

        let payload = Line(std::cell::UnsafeCell::new([0; 96]));
        let (announced, read) = (AtomicU32::new(0), AtomicU32::new(0));
        let wait_for = |word: &AtomicU32, round| {
            let mut looks = 0_u32;
            while word.load(Ordering::Acquire) < round {
                looks += 1;
                if looks.is_multiple_of(4096) {
                    yield_now();
                }
            }
        };
        let mut wrong = 0;
        std::thread::scope(|scope| {
            let payload = &payload;
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    wait_for(&read, round - 1);
                    let to = NonNull::new(payload.0.get().cast()).unwrap();
                    // SAFETY: this many bytes, of which the other thread has read the last.
                    if !unsafe { copy_around(&[round as u8; 96], to) } {
                        // SAFETY: as above.
                        unsafe { copy_in(&[round as u8; 96], to) };
                    }
                    announced.store(round, Ordering::Release);
                }
            });
            for round in 1..=ROUNDS {
                wait_for(&announced, round);
                let mut seen = [0; 96];
                // SAFETY: as many bytes.
                unsafe { copy_out(NonNull::new(payload.0.get().cast()).unwrap(), &mut seen) };
                read.store(round, Ordering::Release);
                wrong += u32::from(seen != [round as u8; 96]);
            }
        });
        assert_eq!(wrong, 0, "of {ROUNDS}");
    }
}
