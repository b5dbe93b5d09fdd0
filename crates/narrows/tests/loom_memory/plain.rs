//! A region whose accessors are those that a platform has if it brings none of its own.

use std::rc::Rc;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};

use loom::sync::atomic::fence;
use narrows::memory::Layout;
use narrows::platform::{Memory, OutOfRange, OwnMemory, Words, WordsMut};

use crate::word::{self, Word};

/// The smallest line: fewest words for the checker to follow.
pub const LINE: u32 = 32;

pub type Own = View;
pub type Peer = View;

/// A view of a region.
#[derive(Clone)]
pub struct View(Rc<[Word]>);

/// A region as its owner sees it and as its peer does.
pub fn region(layout: &Layout) -> (Own, Peer) {
    let view = View(word::words(layout).into());
    (view.clone(), view)
}

pub fn full_fence() {
    fence(SeqCst);
}

/// Resolved words of a [`View`].
pub struct Range {
    region: Rc<[Word]>,
    base: u32,
    mask: u32,
}

impl Range {
    fn word(&self, index: u32) -> &Word {
        &self.region[(self.base + (index & self.mask)) as usize]
    }
    fn load_as(&self, index: u32, order: Ordering) -> u32 {
        self.word(index).load(order)
    }
    fn behind(&self, index: u32) -> &[Word] {
        let (first, last) = (self.base + (index & self.mask), self.base + self.mask);
        &self.region[first as usize..=last as usize]
    }
}

impl Words for Range {
    fn load(&self, index: u32) -> u32 {
        self.load_as(index, Relaxed)
    }
    fn load_acquire(&self, index: u32) -> u32 {
        self.load_as(index, Acquire)
    }
    fn read_bytes(&self, index: u32, to: &mut [u8]) {
        word::read(self.behind(index), to);
    }
}

impl WordsMut for Range {
    const TOGETHER: u32 = 2;
    fn store(&self, index: u32, value: u32) {
        self.word(index).store(value, Relaxed);
    }
    fn store_release(&self, index: u32, value: u32) {
        self.word(index).store(value, Release);
    }
    fn write_bytes(&self, index: u32, from: &[u8]) {
        word::write(from, self.behind(index));
    }
}

impl View {
    fn part(&self, offset: u32, bytes: usize) -> Result<&[Word], OutOfRange> {
        let inside = offset.is_multiple_of(4) && offset as usize + bytes <= self.0.len() * 4;
        inside.then(|| &self.0[offset as usize / 4..]).ok_or(OutOfRange)
    }
}

impl Memory for View {
    type Words = Range;
    fn size(&self) -> u32 {
        self.0.len() as u32 * 4
    }
    fn words(&self, offset: u32, count: u32) -> Result<Range, OutOfRange> {
        self.part(offset, count as usize * 4)?;
        let range = Range { region: self.0.clone(), base: offset / 4, mask: count - 1 };
        count.is_power_of_two().then_some(range).ok_or(OutOfRange)
    }
    fn read(&self, offset: u32, to: &mut [u8]) -> Result<(), OutOfRange> {
        word::read(self.part(offset, to.len())?, to);
        Ok(())
    }
}

impl OwnMemory for View {
    fn write(&self, offset: u32, from: &[u8]) -> Result<(), OutOfRange> {
        word::write(from, self.part(offset, from.len())?);
        Ok(())
    }
}
