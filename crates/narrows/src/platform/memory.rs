//! Memory that cores share: words and payload.
#![allow(unsafe_code)]

/// An access outside the region, or a region too small for what it should hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange;

impl core::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the range is not inside the region, or the region is too small for what it should hold")
    }
}

impl core::error::Error for OutOfRange {}

/// A range of 32-bit words, resolved and checked once.
///
/// The number of words is a power of two and an index wraps round at it, so that no access can
/// leave the range and none needs a check.
pub trait Words {
    /// Loads a word; orders nothing.
    fn load(&self, index: u32) -> u32;
    /// Loads a word; what its writer stored before the matching release is visible afterwards.
    fn load_acquire(&self, index: u32) -> u32;
    /// Copies bytes that start at word `index`; what does not fit before the range's end is left.
    fn read_bytes(&self, index: u32, to: &mut [u8]);
    /// Loads the words behind the sequence number of the slot that begins at word `at`, if that
    /// number is `sequence`. The words of a slot do not wrap round.
    #[inline]
    fn load_slot(&self, at: u32, sequence: u32) -> Option<[u32; 3]> {
        let there = self.load_acquire(at) == sequence;
        there.then(|| [1, 2, 3].map(|i| self.load(at.wrapping_add(i))))
    }
    /// The first and the last of the words behind the sequence number of a slot, and the first
    /// bytes of its payload, if that number is `sequence` and the first word is `wanted`.
    #[inline]
    fn slot_of(
        &self,
        at: u32,
        sequence: u32,
        wanted: impl FnOnce(u32) -> bool,
    ) -> Option<([u32; 2], [u8; 8])> {
        let [first, _, last] = self.load_slot(at, sequence)?;
        let mut bytes = [0; 8];
        wanted(first).then(|| self.read_slot(at, &mut bytes))?;
        Some(([first, last], bytes))
    }
    /// Copies the payload in a slot.
    #[inline]
    fn read_slot(&self, at: u32, to: &mut [u8]) {
        self.read_bytes(at.wrapping_add(4), to);
    }
    /// Slots ahead of the one it reads that a reader asks for where messages have gathered; 0 where
    /// [`Words::prefetch_to_read`] does nothing.
    const READ_AHEAD: u32 = 0;
    /// Hints that a slot will be read soon.
    #[inline(always)]
    fn prefetch_to_read(&self, _at: u32) {}
    /// Hints that the slot that begins at word `at` is looked at until it is written: where it is
    /// longer than a cache line, the rest of it is to come together with its first line.
    #[inline(always)]
    fn expect_rest(&self, _at: u32) {}
}

/// Words of this node's own memory: the only ones it may store to.
pub trait WordsMut: Words {
    /// Stores a word; orders nothing.
    fn store(&self, index: u32, value: u32);
    /// Stores a word after everything this core stored or loaded before it.
    fn store_release(&self, index: u32, value: u32);
    /// Copies bytes to where word `index` starts; what does not fit before the range's end is left.
    fn write_bytes(&self, index: u32, from: &[u8]);
    /// Stores the slot that begins at word `at`: payload and words first, and behind them,
    /// released, its sequence number.
    #[inline]
    fn write_slot(&self, at: u32, sequence: u32, words: [u32; 3], payload: &[u8]) {
        if !payload.is_empty() {
            self.write_bytes(at.wrapping_add(4), payload);
        }
        for (i, word) in (1..).zip(words) {
            self.store(at.wrapping_add(i), word);
        }
        self.store_release(at, sequence);
    }
    /// Hints that a slot will be stored to soon, and its first cache line first.
    fn prefetch(&self, _at: u32) {}
    /// The same of what a slot has behind its first cache line.
    fn prefetch_rest(&self, _at: u32) {}
    /// Slots whose lines a writer fetches together before it fills them, a power of two; 0 where
    /// that is of no use. The lines that a reader has looked at since come at the first store
    /// alone, and one by one each would hold up the fence behind its message.
    const TOGETHER: u32 = 0;
    /// Stores something to the last word of [`WordsMut::TOGETHER`] slots of `line` words, or of
    /// their first cache lines. The first slot begins at word `at`, a multiple of that: their lines
    /// come at the same time. All of them are free, so nobody reads what it is.
    #[inline(always)]
    fn fetch_to_write(&self, at: u32, line: u32) {
        for slots in 1..=Self::TOGETHER {
            self.store(at.wrapping_add(slots.wrapping_mul(line)).wrapping_sub(1), 0);
        }
    }
}

/// A view of one region. Addresses are offsets in bytes from its start, never pointers.
pub trait Memory {
    /// Resolved words of this region.
    type Words: Words;
    /// The region's size in bytes.
    fn size(&self) -> u32;
    /// Resolves `count` words (a power of two) at `offset` (a multiple of four).
    ///
    /// # Errors
    /// The range is not inside the region, or not of that form.
    fn words(&self, offset: u32, count: u32) -> Result<Self::Words, OutOfRange>;
    /// Copies payload out of the region.
    ///
    /// # Errors
    /// The range is not inside the region.
    fn read(&self, offset: u32, to: &mut [u8]) -> Result<(), OutOfRange>;
    /// Forgets cached copies of a range before it is read. Nothing to do on coherent machines.
    fn invalidate(&self, _offset: u32, _len: u32) {}
    /// A range as bytes that are read like any other; none if it is not inside the region, or the
    /// platform has no such memory.
    ///
    /// # Safety
    /// The caller vouches that nobody writes there until the slice ends.
    unsafe fn slice(&self, _offset: u32, _len: u32) -> Option<&[u8]> {
        None
    }
}

/// A region that this node owns and alone may write.
pub trait OwnMemory: Memory<Words: WordsMut> {
    /// Copies payload into the region.
    ///
    /// # Errors
    /// The range is not inside the region.
    fn write(&self, offset: u32, from: &[u8]) -> Result<(), OutOfRange>;
    /// As [`OwnMemory::write`], of at most 64 bytes.
    ///
    /// # Errors
    /// The range is not inside the region.
    #[inline(always)]
    fn write_short(&self, offset: u32, from: &[u8]) -> Result<(), OutOfRange> {
        self.write(offset, from)
    }
    /// Writes cached changes of a range back before a peer reads it. Nothing to do on coherent
    /// machines.
    fn clean(&self, _offset: u32, _len: u32) {}
    /// As [`Memory::slice`], to be written too.
    ///
    /// # Safety
    /// The caller vouches that no other access of this program touches the range until the slice
    /// ends.
    unsafe fn slice_mut(&mut self, _offset: u32, _len: u32) -> Option<&mut [u8]> {
        None
    }
}
