//! Regions on the heap that two threads share at the same addresses, so that ThreadSanitizer sees
//! what both sides of a link do.
//!
//! Words that both sides look at without an order between them (sequence numbers and the control
//! lines) are atomics. Everything that the protocol hands over as a whole (descriptors, payload,
//! names of returned blocks) is read and written plainly: an access that is not ordered against one
//! of the other side is a data race, and reported as such.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use narrows::memory::Layout;
use narrows::platform::{Memory, OutOfRange, OwnMemory, Words, WordsMut};

/// An ordering or a check that is left out, so that `ci/sanitize … --self-test` sees it reported.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weakened {
    Nothing,
    Release,
    Acquire,
    Bounds,
}

impl Weakened {
    fn get() -> Weakened {
        match std::env::var("NARROWS_WEAKEN").as_deref() {
            Err(_) => Weakened::Nothing,
            Ok("release") => Weakened::Release,
            Ok("acquire") => Weakened::Acquire,
            Ok("bounds") => Weakened::Bounds,
            Ok(other) => panic!("NARROWS_WEAKEN is release, acquire or bounds, not {other:?}"),
        }
    }
}

struct Bytes {
    words: Box<[UnsafeCell<u32>]>,
    /// Where the atomics are, in words: the control lines, of messages and of channels, and the
    /// first word of each slot.
    control: [std::ops::Range<usize>; 2],
    slots: [std::ops::Range<usize>; 2],
    slot: usize,
    weakened: Weakened,
}

// SAFETY: words that both sides use at any time are only reached as atomics (`is_atomic`); of the
// others the protocol says whose turn it is. That it does is what the test is there to find out.
unsafe impl Sync for Bytes {}
// SAFETY: numbers in a box belong to no thread.
unsafe impl Send for Bytes {}

impl Bytes {
    fn is_atomic(&self, at: usize) -> bool {
        let first = |slots: &std::ops::Range<usize>| {
            slots.contains(&at) && (at - slots.start).is_multiple_of(self.slot)
        };
        self.control.iter().any(|lines| lines.contains(&at)) || self.slots.iter().any(first)
    }
    fn load(&self, at: usize, order: Ordering) -> u32 {
        let word = self.words[at].get();
        if self.is_atomic(at) {
            // SAFETY: the word is in the box, aligned, and used by others as an atomic only.
            unsafe { AtomicU32::from_ptr(word) }.load(order)
        } else {
            // SAFETY: the word is in the box, and by the protocol nobody writes it now.
            unsafe { word.read() }
        }
    }
    fn store(&self, at: usize, value: u32, order: Ordering) {
        let word = self.words[at].get();
        if self.is_atomic(at) {
            // SAFETY: as in `load`.
            unsafe { AtomicU32::from_ptr(word) }.store(value, order);
        } else {
            // SAFETY: the word is in the box, and by the protocol nobody else uses it now.
            unsafe { word.write(value) };
        }
    }
    /// The first of `len` bytes from `offset` on.
    fn bytes(&self, offset: usize, len: usize) -> Result<*mut u8, OutOfRange> {
        let end = offset.checked_add(len).ok_or(OutOfRange)?;
        if end > self.words.len() * 4 && self.weakened != Weakened::Bounds {
            return Err(OutOfRange);
        }
        // From the box and not from one of its words, so that the pointer is good for all of them.
        Ok(UnsafeCell::raw_get(self.words.as_ptr()).cast::<u8>().wrapping_add(offset))
    }
    fn read(&self, offset: usize, to: &mut [u8]) -> Result<(), OutOfRange> {
        let from = self.bytes(offset, to.len())?;
        // SAFETY: `bytes` found that many there, and by the protocol nobody writes them now.
        unsafe { ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
        Ok(())
    }
    fn write(&self, offset: usize, from: &[u8]) -> Result<(), OutOfRange> {
        let to = self.bytes(offset, from.len())?;
        // SAFETY: `bytes` found that many there, and by the protocol nobody else uses them now.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        Ok(())
    }
}

/// A region.
#[derive(Clone)]
pub struct Region(Arc<Bytes>);

impl Region {
    /// A formatted region of this layout.
    pub fn new(layout: &Layout) -> Region {
        let mut end = 0;
        let [_, control, slots, _, channels, channel_slots, _] =
            layout.parts().map(|(_, bytes)| {
                let start = end;
                end += bytes as usize / 4;
                start..end
            });
        let region = Region(Arc::new(Bytes {
            words: (0..layout.size() / 4).map(|_| UnsafeCell::new(0)).collect(),
            control: [control, channels],
            slots: [slots, channel_slots],
            slot: layout.line() as usize / 4,
            weakened: Weakened::get(),
        }));
        layout.format(&region).expect("the region has the layout's size");
        region
    }
}

/// Resolved words of a [`Region`].
pub struct Range {
    region: Arc<Bytes>,
    first: usize,
    mask: u32,
}

impl Range {
    fn at(&self, index: u32) -> usize {
        self.first + (index & self.mask) as usize
    }
    /// Bytes from word `index` to the end of the range.
    fn room(&self, index: u32) -> usize {
        (self.mask - (index & self.mask) + 1) as usize * 4
    }
}

impl Words for Range {
    fn load(&self, index: u32) -> u32 {
        self.region.load(self.at(index), Ordering::Relaxed)
    }
    fn load_acquire(&self, index: u32) -> u32 {
        let weak = self.region.weakened == Weakened::Acquire;
        let order = if weak { Ordering::Relaxed } else { Ordering::Acquire };
        self.region.load(self.at(index), order)
    }
    fn read_bytes(&self, index: u32, to: &mut [u8]) {
        let len = to.len().min(self.room(index));
        self.region.read(self.at(index) * 4, &mut to[..len]).expect("the range was checked");
    }
}

impl WordsMut for Range {
    fn store(&self, index: u32, value: u32) {
        self.region.store(self.at(index), value, Ordering::Relaxed);
    }
    fn store_release(&self, index: u32, value: u32) {
        let weak = self.region.weakened == Weakened::Release;
        let order = if weak { Ordering::Relaxed } else { Ordering::Release };
        self.region.store(self.at(index), value, order);
    }
    fn write_bytes(&self, index: u32, from: &[u8]) {
        let len = from.len().min(self.room(index));
        self.region.write(self.at(index) * 4, &from[..len]).expect("the range was checked");
    }
}

impl Memory for Region {
    type Words = Range;
    fn size(&self) -> u32 {
        self.0.words.len() as u32 * 4
    }
    fn words(&self, offset: u32, count: u32) -> Result<Range, OutOfRange> {
        if !offset.is_multiple_of(4) || !count.is_power_of_two() {
            return Err(OutOfRange);
        }
        self.0.bytes(offset as usize, count as usize * 4)?;
        Ok(Range { region: self.0.clone(), first: offset as usize / 4, mask: count - 1 })
    }
    fn read(&self, offset: u32, to: &mut [u8]) -> Result<(), OutOfRange> {
        self.0.read(offset as usize, to)
    }
}

impl OwnMemory for Region {
    fn write(&self, offset: u32, from: &[u8]) -> Result<(), OutOfRange> {
        self.0.write(offset as usize, from)
    }
}
