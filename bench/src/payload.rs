//! What every contender carries: a payload that its sender writes in full and its receiver reads in
//! full, in the same way for all.
//!
//! Word `i` of message `number` is `number × K + i`. So no two messages are alike, every byte is
//! written and read, and what a sum has to be is known without a second pass.

use std::io;

/// Spreads message numbers over all bits of a word.
const K: u64 = 0x9e37_79b9_7f4a_7c15;
/// Bytes of a word; all sizes are multiples of it.
pub const WORD: usize = 8;

/// Word `at` of message `number`.
#[inline]
pub fn word(number: u64, at: usize) -> u64 {
    number.wrapping_mul(K).wrapping_add(at as u64)
}

/// Writes message `number` in full.
#[inline]
pub fn make(number: u64, to: &mut [u8]) {
    make_part(number, 0, to);
}

/// Writes the part of message `number` that begins at byte `at`.
#[inline]
pub fn make_part(number: u64, at: usize, to: &mut [u8]) {
    let first = word(number, at / WORD);
    let (words, _) = to.as_chunks_mut::<WORD>();
    for (i, word) in words.iter_mut().enumerate() {
        *word = first.wrapping_add(i as u64).to_le_bytes();
    }
}

/// Reads a message in full, and says whether it is `number` and nothing else.
#[inline]
pub fn check(number: u64, bytes: usize, from: &[u8]) -> io::Result<()> {
    let mut reader = Reader::default();
    reader.read(from);
    reader.finish(number, bytes)
}

/// As [`check`], of a message that comes as words.
#[inline]
pub fn check_words(number: u64, words: usize, from: &[u64]) -> io::Result<()> {
    let sum = from.iter().copied().fold(0, u64::wrapping_add);
    let (first, last) = (from.first().copied(), from.last().copied());
    let reader = Reader {
        sum,
        words: from.len() as u64,
        first: first.unwrap_or(0),
        last: last.unwrap_or(0),
    };
    reader.finish(number, words * WORD)
}

/// Reads a message in parts.
#[derive(Default)]
pub struct Reader {
    sum: u64,
    words: u64,
    first: u64,
    last: u64,
}

impl Reader {
    /// Reads the next part.
    #[inline]
    pub fn read(&mut self, part: &[u8]) {
        let (words, rest) = part.as_chunks::<WORD>();
        let sum = words.iter().map(|word| u64::from_le_bytes(*word));
        self.sum = self.sum.wrapping_add(sum.fold(0, u64::wrapping_add));
        if let (Some(first), Some(last)) = (words.first(), words.last()) {
            if self.words == 0 {
                self.first = u64::from_le_bytes(*first);
            }
            self.last = u64::from_le_bytes(*last);
        }
        // A rest would be bytes that nobody made: it makes the count wrong.
        self.words += words.len() as u64 + (!rest.is_empty() as u64) * (1 << 32);
    }

    /// Whether all that was read is message `number`.
    #[inline]
    pub fn finish(&self, number: u64, bytes: usize) -> io::Result<()> {
        let words = (bytes / WORD) as u64;
        let first = word(number, 0);
        let steps = words * words.saturating_sub(1) / 2;
        let sum = first.wrapping_mul(words).wrapping_add(steps);
        let last = first.wrapping_add(words.saturating_sub(1));
        if (self.words, self.sum, self.first, self.last) == (words, sum, first, last) {
            Ok(())
        } else {
            Err(wrong(number))
        }
    }
}

#[cold]
fn wrong(number: u64) -> io::Error {
    let text = format!("message {number} did not arrive as it was sent");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_what_is_checked_whole_or_in_parts() {
        for bytes in [8, 48, 64, 1024, 65536] {
            for number in [0, 1, 2, u64::MAX, !1] {
                let mut whole = vec![0; bytes];
                make(number, &mut whole);
                assert!(check(number, bytes, &whole).is_ok());
                assert!(check(number.wrapping_add(1), bytes, &whole).is_err());
                let mut parts = vec![0; bytes];
                let mut reader = Reader::default();
                for (i, part) in parts.chunks_mut(32).enumerate() {
                    make_part(number, i * 32, part);
                    reader.read(part);
                }
                assert_eq!(parts, whole);
                assert!(reader.finish(number, bytes).is_ok());
            }
        }
    }

    #[test]
    fn a_byte_that_differs_and_a_length_that_differs_are_seen() {
        let mut message = vec![0; 256];
        make(7, &mut message);
        assert!(check(7, 256, &message[..248]).is_err());
        assert!(check(7, 248, &message).is_err());
        assert!(check(7, 248, &message[..251]).is_err());
        for at in 0..message.len() {
            message[at] ^= 0x10;
            assert!(check(7, 256, &message).is_err(), "{at}");
            message[at] ^= 0x10;
        }
    }
}
