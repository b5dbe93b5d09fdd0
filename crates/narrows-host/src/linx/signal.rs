//! The memory of signals.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use narrows::link::handler::Spid;

/// Bytes of a signal's number, which it begins with.
pub const NUMBER: usize = 4;
/// The longest signal, in bytes, number included.
pub const LONGEST: usize = 65536;

/// A signal: its number and what follows it, in memory aligned for anything that C puts there.
#[derive(Debug)]
pub struct Signal {
    // Not a box: C keeps where it is and writes there while this is moved about.
    words: NonNull<u128>,
    count: usize,
    len: usize,
    pub(super) from: Spid,
    /// What it was asked for by: an attach or a timeout, which can be taken back until it is received.
    pub(super) mark: u32,
}

// SAFETY: it owns its words, as a box does.
unsafe impl Send for Signal {}

impl Drop for Signal {
    fn drop(&mut self) {
        // SAFETY: `raw` made them as a box of so many words, and nobody has taken them back before.
        drop(unsafe {
            Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.words.as_ptr(), self.count))
        });
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
        let count = len.div_ceil(size_of::<u128>()).max(1);
        let mut words: Vec<u128> = Vec::new();
        words.try_reserve_exact(count).ok()?;
        words.resize(count, 0);
        let words = NonNull::new(Box::into_raw(words.into_boxed_slice()).cast::<u128>())?;
        Some(Signal { words, count, len, from: Spid::NONE, mark: 0 })
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u32 {
        let number = self.bytes().first_chunk::<NUMBER>();
        number.map_or(0, |bytes| u32::from_ne_bytes(*bytes))
    }

    /// Who sent it, as this node numbers them; nobody, if it was not received.
    #[must_use]
    pub fn sender(&self) -> Spid {
        self.from
    }

    /// All of it, number included.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the words are initialised, and `len` is never more than their bytes.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.len) }
    }

    /// All of it, to change.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `bytes`; any bytes make a word.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_ptr().cast(), self.len) }
    }

    /// Where it is, until it is sent or dropped, however it is moved about.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.words.as_ptr().cast()
    }

    /// Makes it longer or shorter, up to what its memory holds. False if that is less, or less than
    /// its number would be left.
    pub fn resize(&mut self, len: usize) -> bool {
        let fits = (NUMBER..=(self.count * size_of::<u128>()).min(LONGEST)).contains(&len);
        if fits {
            self.len = len;
        }
        fits
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
        assert!(signal.resize(16) && !signal.resize(17) && !signal.resize(3));
        assert_eq!(signal.bytes()[7..], [0; 9]);
        assert!(Signal::new(LONGEST, 1).is_some_and(|mut long| long.resize(LONGEST)));
    }
}
