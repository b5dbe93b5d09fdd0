//! Messages of several calls: frames of a word and its bytes, one behind the other.

use super::Source;

/// In a request's or response's priority bits: it is a message of several calls, each behind a word
/// with its length and status.
pub(super) const FRAMED: u8 = 7;
/// Bytes of that word.
pub(super) const FRAME: u32 = 4;

/// Bytes that a call's bytes take in a message of several.
pub(super) fn padded(len: u32) -> u32 {
    len.saturating_add(3) & !3
}

/// One frame of a gathered message: where its bytes start, how many, and its status.
pub(super) fn frame(whole: &dyn Source, at: u32) -> Option<(u32, u32, u8)> {
    let mut word = [0; FRAME as usize];
    whole.read(at as usize, &mut word).ok()?;
    let word = u32::from_le_bytes(word);
    let (len, start) = (word & 0xff_ffff, at + FRAME);
    (start as usize + len as usize <= whole.len()).then_some((start, len, (word >> 24) as u8))
}
