//! The memory of signals.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use narrows::connection::UDATA;
use narrows::linx::Spid;

/// Bytes of a signal's number, which it begins with.
pub const NUMBER: usize = 4;
/// The longest signal, in bytes, number included.
pub const LONGEST: usize = 65536;
/// Words in front of a signal's bytes: what is known of it, and room for the header of its frame
/// right before them, so that the frame is in one piece.
const FRONT: usize = 1 + UDATA.div_ceil(WORD);
/// How much larger than a signal memory may be that is used for it again.
const SLACK: usize = 1024;
const WORD: usize = size_of::<u128>();

/// A signal: its number and what follows it, in memory aligned for anything that C puts there.
pub struct Signal {
    // Not a box: C keeps where it is and writes there while this is moved about. And no more than
    // this, so that to move it costs nothing.
    words: NonNull<u128>,
}

/// What is known of a signal, in the first of its words.
#[repr(C, align(16))]
struct Front {
    /// Words for the signal's bytes, behind those in front.
    count: u32,
    len: u32,
    from: u32,
    /// What it was asked for by: an attach or a timeout, which can be taken back until it is
    /// received.
    mark: u32,
}

const _: () = assert!(size_of::<Front>() == WORD);

// SAFETY: it owns its words, as a box does.
unsafe impl Send for Signal {}

impl Drop for Signal {
    fn drop(&mut self) {
        let count = FRONT + self.front().count as usize;
        // SAFETY: `raw` made them as a box of `count` words, and nobody has taken them back before.
        drop(unsafe {
            Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.words.as_ptr(), count))
        });
    }
}

impl std::fmt::Debug for Signal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut signal = f.debug_struct("Signal");
        signal.field("from", &self.sender()).field("bytes", &self.bytes()).finish()
    }
}

impl Signal {
    /// A signal of `len` bytes with this number; the rest is zero. None if it is shorter than its
    /// number or longer than [`LONGEST`].
    #[must_use]
    pub fn new(len: usize, number: u32) -> Option<Signal> {
        if !(NUMBER..=LONGEST).contains(&len) {
            return None;
        }
        let mut signal = Signal::raw(len)?;
        signal.bytes_mut()[..NUMBER].copy_from_slice(&number.to_ne_bytes());
        Some(signal)
    }

    /// A signal with these bytes behind its number.
    ///
    /// # Panics
    /// They are more than fit [`LONGEST`].
    #[must_use]
    pub fn with(number: u32, rest: &[u8]) -> Signal {
        let mut signal = Signal::new(NUMBER + rest.len(), number).expect("not too long");
        signal.bytes_mut()[NUMBER..].copy_from_slice(rest);
        signal
    }

    /// Memory for any bytes; what link handlers say to each other has no number.
    pub(super) fn raw(len: usize) -> Option<Signal> {
        let count = len.div_ceil(WORD).max(1);
        let mut words: Vec<u128> = Vec::new();
        words.try_reserve_exact(FRONT + count).ok()?;
        words.resize(FRONT + count, 0);
        let words = NonNull::new(Box::into_raw(words.into_boxed_slice()).cast::<u128>())?;
        let mut signal = Signal { words };
        let (count, len) = (u32::try_from(count).ok()?, u32::try_from(len).ok()?);
        *signal.front_mut() = Front { count, len, from: Spid::NONE.0, mark: 0 };
        Some(signal)
    }

    #[inline]
    fn front(&self) -> &Front {
        // SAFETY: the first word is always there, as large and as aligned, and any bytes make a
        // `Front`.
        unsafe { self.words.cast().as_ref() }
    }

    #[inline]
    fn front_mut(&mut self) -> &mut Front {
        // SAFETY: as for `front`.
        unsafe { self.words.cast().as_mut() }
    }

    pub(super) fn set_sender(&mut self, from: Spid) {
        self.front_mut().from = from.0;
    }

    /// What it was asked for by, or 0.
    pub(super) fn mark(&self) -> u32 {
        self.front().mark
    }

    pub(super) fn set_mark(&mut self, mark: u32) {
        self.front_mut().mark = mark;
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u32 {
        let number = self.bytes().first_chunk::<NUMBER>();
        number.map_or(0, |bytes| u32::from_ne_bytes(*bytes))
    }

    /// Who sent it, or the endpoint whose it is until it is sent; nobody, if it is nobody's.
    #[must_use]
    pub fn sender(&self) -> Spid {
        Spid(self.front().from)
    }

    /// All of it, number included.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        let len = self.front().len as usize;
        // SAFETY: the words are initialised, and `len` is never more than the bytes of those behind
        // the ones in front.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().add(FRONT).cast(), len) }
    }

    /// All of it, to change.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let len = self.front().len as usize;
        // SAFETY: as for `bytes`; any bytes make a word.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_ptr().add(FRONT).cast(), len) }
    }

    /// Where it is, until it is sent or dropped, however it is moved about.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        // SAFETY: there are always words in front and at least one behind them.
        unsafe { self.words.as_ptr().add(FRONT).cast() }
    }

    /// Its frame: a place for the longest header, and the signal's bytes right behind it.
    pub(super) fn frame_mut(&mut self) -> &mut [u8] {
        let (before, len) = (FRONT * WORD - UDATA, self.front().len as usize);
        // SAFETY: as for `bytes_mut`; what is added is of the words in front, behind the first.
        unsafe {
            let front = self.words.as_ptr().cast::<u8>().add(before);
            std::slice::from_raw_parts_mut(front, UDATA + len)
        }
    }

    /// The header of its frame.
    pub(super) fn header_mut(&mut self) -> Option<&mut [u8; UDATA]> {
        self.frame_mut().first_chunk_mut()
    }

    /// Makes it the memory for a signal of `len` bytes, whatever they are, or says that it is none:
    /// too small, or so large that it is better kept for others.
    pub(super) fn reuse(&mut self, len: usize) -> bool {
        let holds = self.holds();
        let fits = len <= holds && holds <= 2 * len + SLACK;
        if fits {
            let front = self.front_mut();
            (front.len, front.from, front.mark) = (len as u32, Spid::NONE.0, 0);
        }
        fits
    }

    fn holds(&self) -> usize {
        self.front().count as usize * WORD
    }

    /// Makes it longer or shorter. If its memory is too small, it moves to other memory, where the
    /// bytes that are added are zero. False, and it stays as it is, if it would be shorter than its
    /// number or longer than [`LONGEST`], or if there is no memory.
    pub fn resize(&mut self, len: usize) -> bool {
        if !(NUMBER..=LONGEST).contains(&len) {
            return false;
        }
        if len > self.holds() {
            let Some(mut longer) = Signal::raw(len) else { return false };
            let (from, mark) = (self.front().from, self.front().mark);
            (longer.front_mut().from, longer.front_mut().mark) = (from, mark);
            let bytes = self.bytes();
            longer.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
            *self = longer;
        }
        self.front_mut().len = len as u32;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_as_long_as_it_may_be_and_begins_with_its_number() {
        assert!(Signal::new(3, 1).is_none() && Signal::new(LONGEST + 1, 1).is_none());
        let mut signal = Signal::with(7, b"abc");
        assert_eq!((signal.number(), signal.bytes().len()), (7, 7));
        assert_eq!(&signal.bytes()[4..], b"abc");
        assert_eq!(signal.as_mut_ptr() as usize % 16, 0);
        assert!(signal.resize(16) && !signal.resize(3) && !signal.resize(LONGEST + 1));
        assert_eq!(signal.bytes()[7..], [0; 9]);
        signal.set_sender(Spid(5));
        assert!(signal.resize(1000) && signal.sender() == Spid(5));
        assert_eq!(
            (signal.number(), &signal.bytes()[4..7], signal.bytes().len()),
            (7, &b"abc"[..], 1000)
        );
        assert_eq!(signal.bytes()[7..], [0; 993]);
        assert!(Signal::new(LONGEST, 1).is_some_and(|mut long| long.resize(LONGEST)));
    }

    #[test]
    fn a_frame_ends_with_the_signal_and_memory_of_about_its_size_is_used_again() {
        let mut signal = Signal::with(7, b"abc");
        let frame = signal.frame_mut();
        assert_eq!(&frame[UDATA + 4..], b"abc");
        frame.fill(9);
        assert_eq!(signal.bytes(), [9; 7]);
        assert!(signal.reuse(16) && signal.bytes().len() == 16);
        assert!(!signal.reuse(17), "too small");
        let mut long = Signal::with(7, &[0; 4000]);
        assert!(!long.reuse(16) && long.reuse(2000), "too large, and not");
    }
}
