//! A region of the host's, in the checker's words.
#![allow(unsafe_code)]

use std::sync::Arc;

use narrows::memory::Layout;
use narrows::platform::{Memory, OutOfRange, OwnMemory};

use self::mapping::Mapping;
pub use self::sync::full_fence;
use crate::word;
use crate::words::{OwnWords, PeerWords, Range};

/// The host's.
pub const LINE: u32 = 128;

/// What the host's words reach memory by.
pub mod sync {
    use std::ptr::NonNull;
    pub use std::sync::atomic::Ordering;

    pub use loom::sync::atomic::fence;

    use crate::word;
    pub use crate::word::Word;

    pub const TOGETHER: usize = 2;
    pub const TOUCHES: bool = true;
    pub const READ_AHEAD: u32 = 0;

    /// The words of `bytes` bytes.
    ///
    /// # Safety
    /// They are all there, and stay.
    unsafe fn from<'a>(first: NonNull<Word>, bytes: usize) -> &'a [Word] {
        // SAFETY: as the caller says.
        unsafe { NonNull::slice_from_raw_parts(first, bytes.div_ceil(4)).as_ref() }
    }

    /// # Safety
    /// As the host's.
    pub unsafe fn read(first: NonNull<Word>, to: &mut [u8]) {
        // SAFETY: the caller vouches for that number.
        word::read(unsafe { from(first, to.len()) }, to);
    }

    /// # Safety
    /// As the host's.
    pub unsafe fn first_eight(first: NonNull<Word>) -> [u8; 8] {
        let mut to = [0; 8];
        // SAFETY: as the caller says.
        unsafe { read(first, &mut to) };
        to
    }

    /// # Safety
    /// As the host's.
    pub unsafe fn write(bytes: &[u8], first: NonNull<Word>) {
        // SAFETY: the caller vouches for that number.
        word::write(bytes, unsafe { from(first, bytes.len()) });
    }

    pub use write as write_slot;

    pub fn touch<const WORDS: usize>(slots: &[[Word; WORDS]; TOGETHER]) {
        slots.iter().for_each(|slot| slot[WORDS - 1].store(0, Ordering::Relaxed));
    }

    pub fn prefetch_to_read(_: NonNull<Word>) {}

    pub fn prefetch_to_write(_: NonNull<Word>, _: u32) {}

    pub fn full_fence() {
        fence(Ordering::SeqCst);
    }
}

/// What the host's words are in.
pub mod mapping {
    use std::ptr::NonNull;

    use narrows::platform::OutOfRange;

    use crate::word::Word;

    pub struct Mapping(pub Box<[Word]>);

    impl Mapping {
        /// The address of a word: bytes are counted as on the host, and a word is as long as it is
        /// here.
        pub fn range(&self, offset: u32, len: usize) -> Result<NonNull<u8>, OutOfRange> {
            let inside = offset.is_multiple_of(4) && offset as usize + len <= self.0.len() * 4;
            let words = self.0.get(offset as usize / 4..).filter(|_| inside).ok_or(OutOfRange)?;
            Ok(NonNull::from(words).cast())
        }
    }
}

/// A region that its owner writes.
pub struct Own(Arc<Mapping>);

/// A peer's.
pub struct Peer(Arc<Mapping>);

/// A region as its owner sees it and as its peer does.
#[allow(clippy::arc_with_non_send_sync, reason = "as the host's words have it")]
pub fn region(layout: &Layout) -> (Own, Peer) {
    let mapping = Arc::new(Mapping(word::words(layout)));
    (Own(Arc::clone(&mapping)), Peer(mapping))
}

impl Memory for Own {
    type Words = OwnWords;
    fn size(&self) -> u32 {
        self.0.0.len() as u32 * 4
    }
    fn words(&self, offset: u32, count: u32) -> Result<OwnWords, OutOfRange> {
        Range::new(&self.0, offset, count).map(OwnWords)
    }
    fn read(&self, offset: u32, to: &mut [u8]) -> Result<(), OutOfRange> {
        let first = self.0.range(offset, to.len())?.cast();
        // SAFETY: `range` found `to.len()` bytes there.
        unsafe { sync::read(first, to) };
        Ok(())
    }
}

impl OwnMemory for Own {
    fn write(&self, offset: u32, from: &[u8]) -> Result<(), OutOfRange> {
        let first = self.0.range(offset, from.len())?.cast();
        // SAFETY: as in `read`.
        unsafe { sync::write(from, first) };
        Ok(())
    }
}

impl Memory for Peer {
    type Words = PeerWords;
    fn size(&self) -> u32 {
        self.0.0.len() as u32 * 4
    }
    fn words(&self, offset: u32, count: u32) -> Result<PeerWords, OutOfRange> {
        Range::new(&self.0, offset, count).map(PeerWords)
    }
    fn read(&self, offset: u32, to: &mut [u8]) -> Result<(), OutOfRange> {
        let first = self.0.range(offset, to.len())?.cast();
        // SAFETY: as in `Own::read`.
        unsafe { sync::read(first, to) };
        Ok(())
    }
}
