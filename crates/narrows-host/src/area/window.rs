//! A part of a region as memory of its own.

use narrows::platform::{Memory, OutOfRange, OwnMemory};

use crate::memory::Region;

/// A part of a region.
pub struct Window<R> {
    region: R,
    base: u32,
    len: u32,
}

impl<R: Memory> Window<R> {
    pub(super) fn new(region: R, base: u32, len: u32) -> Window<R> {
        Window { region, base, len }
    }

    /// Where bytes of it are in the region.
    pub(super) fn find(&self, offset: u32, len: usize) -> Result<u32, OutOfRange> {
        let room = self.len.checked_sub(offset).ok_or(OutOfRange)?;
        let inside = len <= room as usize;
        inside.then(|| self.base.checked_add(offset)).flatten().ok_or(OutOfRange)
    }
}

impl<R: Memory> Memory for Window<R> {
    type Words = R::Words;

    fn size(&self) -> u32 {
        self.len
    }
    fn words(&self, offset: u32, count: u32) -> Result<R::Words, OutOfRange> {
        let bytes = (count as usize).checked_mul(4).ok_or(OutOfRange)?;
        self.region.words(self.find(offset, bytes)?, count)
    }
    fn read(&self, offset: u32, to: &mut [u8]) -> Result<(), OutOfRange> {
        self.region.read(self.find(offset, to.len())?, to)
    }
}

impl OwnMemory for Window<Region> {
    fn write(&self, offset: u32, from: &[u8]) -> Result<(), OutOfRange> {
        self.region.write(self.find(offset, from.len())?, from)
    }
}
