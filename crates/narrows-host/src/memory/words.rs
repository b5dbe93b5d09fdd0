//! Words in memory that cores share: the accessors that the host's rings and areas are made of.
//! They reach memory through [`sync`] alone, so that the model checker runs this very file.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::Arc;

use narrows::memory::IN_SLOT;
use narrows::platform::{OutOfRange, Words, WordsMut};

use crate::memory::mapping::Mapping;
use crate::memory::sync::{self, Ordering, Word, fence};

/// A checked range of words and what keeps it mapped.
pub(crate) struct Range {
    first: NonNull<Word>,
    mask: u32,
    /// The mask of the words that slots begin at.
    slots: u32,
    _mapping: Arc<Mapping>,
}

// SAFETY: the pointer stays valid for as long as `_mapping` lives, on whatever thread. Not `Sync`:
// byte copies are not atomic.
unsafe impl Send for Range {}

impl Range {
    pub(crate) fn new(
        mapping: &Arc<Mapping>,
        offset: u32,
        count: u32,
    ) -> Result<Range, OutOfRange> {
        let bytes = (count as usize).checked_mul(4).ok_or(OutOfRange)?;
        if !count.is_power_of_two() || !offset.is_multiple_of(4) {
            return Err(OutOfRange);
        }
        let first = mapping.range(offset, bytes.max(SLOT * 4))?.cast();
        let mask = count - 1;
        let slots = mask & !(SLOT as u32 - 1);
        Ok(Range { first, mask, slots, _mapping: Arc::clone(mapping) })
    }

    #[inline(always)]
    pub(crate) fn word(&self, index: u32) -> &Word {
        // SAFETY: `index & mask` is below the number of words, all of which `new` found inside the
        // mapping that `_mapping` keeps; a multiple of four from a page's start is aligned.
        unsafe { self.first.add((index & self.mask) as usize).as_ref() }
    }

    /// Where word `index` starts, and `len` or as many bytes as there are up to the end.
    #[inline(always)]
    fn bytes(&self, index: u32, len: usize) -> (NonNull<Word>, usize) {
        let index = index & self.mask;
        let room = (self.mask - index + 1) as usize * 4;
        // SAFETY: as in `word`; from `first`, whose range is all the words and not just one.
        (unsafe { self.first.add(index as usize) }, len.min(room))
    }

    #[inline(always)]
    fn read_bytes(&self, index: u32, to: &mut [u8]) {
        let (from, len) = self.bytes(index, to.len());
        if let Some(to) = to.get_mut(..len) {
            // SAFETY: `bytes` returned a length that is inside the range from there.
            unsafe { sync::read(from, to) };
        }
    }
}

/// Words of a peer's region.
pub struct PeerWords(pub(crate) Range);

/// Words of a slot.
const SLOT: usize = 32;
/// The word at which its second cache line begins.
const REST: usize = 16;

impl Range {
    /// The words of the slot that begins at a word.
    #[inline(always)]
    fn slot(&self, at: u32) -> &[Word; SLOT] {
        let start = at & self.slots;
        // SAFETY: a multiple of 32 that is below the number of words, a power of two. If that is at
        // least 32, the slot ends inside the range; if not, it starts where the range does, and
        // `new` has seen to it that a slot is inside the mapping from there.
        unsafe { self.first.add(start as usize).cast().as_ref() }
    }

    /// The words of the slots that are fetched together with the one that begins at a word. None if
    /// the range has fewer.
    #[inline(always)]
    fn together(&self, at: u32) -> Option<&[[Word; SLOT]; sync::TOGETHER]> {
        let words = (sync::TOGETHER * SLOT) as u32;
        let start = at & self.mask & !(words - 1);
        // SAFETY: a multiple of `words` that is below the number of words, which is one too.
        (self.mask >= words - 1).then(|| unsafe { self.first.add(start as usize).cast().as_ref() })
    }
}

/// Where the payload in a slot is.
#[inline(always)]
fn payload_of(slot: &[Word; SLOT]) -> NonNull<Word> {
    let start = NonNull::from(slot).cast::<Word>();
    // SAFETY: the `IN_SLOT` bytes behind the first four words of a slot.
    unsafe { start.add(SLOT - IN_SLOT / 4) }
}

impl Words for PeerWords {
    #[inline(always)]
    fn load(&self, index: u32) -> u32 {
        self.0.word(index).load(Ordering::Relaxed)
    }
    #[inline(always)]
    fn load_acquire(&self, index: u32) -> u32 {
        // Only a relaxed load is sure to work on read-only memory; the fence makes it an acquire.
        let value = self.0.word(index).load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        value
    }
    #[inline(always)]
    fn read_bytes(&self, index: u32, to: &mut [u8]) {
        self.0.read_bytes(index, to);
    }
    #[inline(always)]
    fn load_slot(&self, at: u32, sequence: u32) -> Option<[u32; 3]> {
        let words = self.0.slot(at);
        let load = |word: &Word| word.load(Ordering::Relaxed);
        if load(&words[0]) != sequence {
            return None;
        }
        fence(Ordering::Acquire);
        Some([load(&words[1]), load(&words[2]), load(&words[3])])
    }
    #[inline(always)]
    fn slot_of(
        &self,
        at: u32,
        sequence: u32,
        wanted: impl FnOnce(u32) -> bool,
    ) -> Option<([u32; 2], [u8; 8])> {
        let words = self.0.slot(at);
        if words[0].load(Ordering::Relaxed) != sequence {
            return None;
        }
        fence(Ordering::Acquire);
        let word = words[1].load(Ordering::Relaxed);
        if !wanted(word) {
            return None;
        }
        // SAFETY: the payload of a slot has more than 8 bytes.
        let first = unsafe { sync::first_eight(payload_of(words)) };
        Some(([word, words[3].load(Ordering::Relaxed)], first))
    }
    #[inline(always)]
    fn read_slot(&self, at: u32, to: &mut [u8]) {
        let len = to.len().min(IN_SLOT);
        // SAFETY: no more than the payload of a slot.
        unsafe { sync::read(payload_of(self.0.slot(at)), &mut to[..len]) };
    }
    const READ_AHEAD: u32 = sync::READ_AHEAD;
    #[inline(always)]
    fn prefetch_to_read(&self, at: u32) {
        sync::prefetch_to_read(NonNull::from(self.0.slot(at)).cast());
    }
    #[inline(always)]
    fn expect_rest(&self, at: u32) {
        sync::prefetch_to_read(NonNull::from(&self.0.slot(at)[REST]));
    }
}

/// Words of a node's own region.
pub struct OwnWords(pub(crate) Range);

impl Words for OwnWords {
    #[inline(always)]
    fn load(&self, index: u32) -> u32 {
        self.0.word(index).load(Ordering::Relaxed)
    }
    #[inline(always)]
    fn load_acquire(&self, index: u32) -> u32 {
        self.0.word(index).load(Ordering::Acquire)
    }
    #[inline(always)]
    fn read_bytes(&self, index: u32, to: &mut [u8]) {
        self.0.read_bytes(index, to);
    }
}

impl WordsMut for OwnWords {
    #[inline(always)]
    fn store(&self, index: u32, value: u32) {
        self.0.word(index).store(value, Ordering::Relaxed);
    }
    #[inline(always)]
    fn store_release(&self, index: u32, value: u32) {
        self.0.word(index).store(value, Ordering::Release);
    }
    #[inline(always)]
    fn write_bytes(&self, index: u32, from: &[u8]) {
        let (to, len) = self.0.bytes(index, from.len());
        if let Some(from) = from.get(..len) {
            // SAFETY: `bytes` returned a length that is inside the range from there, and the own
            // mapping is writable.
            unsafe { sync::write(from, to) };
        }
    }
    #[inline(always)]
    fn write_slot(&self, at: u32, sequence: u32, words: [u32; 3], payload: &[u8]) {
        let len = payload.len().min(IN_SLOT);
        // SAFETY: no more than the payload of a slot, and the own mapping is writable.
        unsafe { sync::write_slot(&payload[..len], payload_of(self.0.slot(at))) };
        let slot = self.0.slot(at);
        slot[1].store(words[0], Ordering::Relaxed);
        slot[2].store(words[1], Ordering::Relaxed);
        slot[3].store(words[2], Ordering::Relaxed);
        // Release: pairs with the acquire of `PeerWords` in `load_acquire`, `load_slot` and
        // `slot_of`.
        slot[0].store(sequence, Ordering::Release);
    }
    #[inline(always)]
    fn prefetch(&self, at: u32) {
        sync::prefetch_to_write(self.0.first, at & self.0.slots);
    }
    #[inline(always)]
    fn prefetch_rest(&self, at: u32) {
        sync::prefetch_to_write(self.0.first, (at & self.0.slots) + REST as u32);
    }
    const TOGETHER: u32 = if sync::TOUCHES { sync::TOGETHER as u32 } else { 0 };
    #[inline(always)]
    fn fetch_to_write(&self, at: u32, _line: u32) {
        if let Some(slots) = self.0.together(at) {
            sync::touch(slots);
        }
    }
}
