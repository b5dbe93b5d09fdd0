//! A page: bytes that their owner rewrites now and then, and that others read whole or not at all.
//!
//! Its version is odd while it is written. A reader takes a copy between two looks at the version,
//! and throws it away if they differ. The writer never waits, and does not know whether anybody
//! reads.

use crate::platform::{Words, WordsMut};

/// Where the version is, the number of bytes, and where the bytes begin, in words.
const VERSION: u32 = 0;
const LENGTH: u32 = 1;
const FIRST: u32 = 2;

/// Bytes of a page that its owner's bytes may take; the page has `words` words, a power of two.
#[must_use]
pub fn page_room(words: u32) -> u32 {
    words.saturating_sub(FIRST).saturating_mul(4)
}

/// Writes a page. What is longer than its [room](page_room) wraps round, and is nonsense then.
/// `fence` is a full one.
pub fn write_page<W: WordsMut>(page: &W, fence: impl FnOnce(), bytes: &[u8]) {
    let version = page.load(VERSION);
    page.store(VERSION, version | 1);
    // Pairs with the fence in `read_page`: a reader that sees a word of what comes sees the odd
    // version, or a later one, at its second look.
    fence();
    page.store(LENGTH, bytes.len() as u32);
    for (at, four) in (FIRST..).zip(bytes.chunks(4)) {
        let mut word = [0; 4];
        word.iter_mut().zip(four).for_each(|(to, from)| *to = *from);
        page.store(at, u32::from_le_bytes(word));
    }
    // Release: pairs with the acquire in `read_page`. A reader that sees the even version sees the
    // words.
    page.store_release(VERSION, (version | 1).wrapping_add(1));
}

/// Copies a page, if nobody writes it meanwhile: its version, and how many bytes it has. A length
/// that `to` has no room for is the writer's nonsense, and is for the caller to refuse; as many
/// bytes as there is room for are copied. `fence` is a full one.
pub fn read_page<W: Words>(page: &W, fence: impl FnOnce(), to: &mut [u8]) -> Option<(u32, u32)> {
    // Acquire: pairs with the release in `write_page`.
    let version = page.load_acquire(VERSION);
    if version & 1 == 1 {
        return None;
    }
    let length = page.load(LENGTH);
    let bytes = to.get_mut(..length as usize).map_or(0, |to| to.len());
    for (at, four) in (FIRST..).zip(to.get_mut(..bytes)?.chunks_mut(4)) {
        let word = page.load(at).to_le_bytes();
        four.iter_mut().zip(word).for_each(|(to, from)| *to = from);
    }
    // Pairs with the fence in `write_page`.
    fence();
    (page.load(VERSION) == version).then_some((version, length))
}

/// The version that a page has now.
pub fn page_version<W: Words>(page: &W) -> u32 {
    page.load(VERSION)
}
