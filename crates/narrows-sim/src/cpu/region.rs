//! Regions of links: which memories their parts lie in, and how the stack reaches them.

use super::Cpu;
use crate::events::Upkeep;
use narrows::platform::{Memory, OutOfRange, OwnMemory, Words, WordsMut};
use std::rc::Rc;

/// A part of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Where it begins in the region.
    pub offset: u32,
    pub len: u32,
    /// Where it lies.
    pub memory: usize,
    pub address: u32,
}

/// Where the parts of a region are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub size: u32,
    pub parts: Vec<Part>,
}

impl Plan {
    /// Where a range lies, if it is within one part.
    pub fn find(&self, offset: u32, len: u64) -> Option<(usize, u32)> {
        let part = self.parts.iter().rev().find(|part| part.offset <= offset)?;
        let inside = offset - part.offset;
        let fits = u64::from(inside) + len <= u64::from(part.len);
        fits.then_some((part.memory, part.address + inside))
    }
}

/// A region of this process's own.
#[derive(Clone)]
pub struct Region {
    cpu: Cpu,
    plan: Rc<Plan>,
}

/// A region of a peer's.
#[derive(Clone)]
pub struct PeerRegion(Region);

/// Words of a region.
pub struct RegionWords {
    cpu: Cpu,
    memory: usize,
    address: u32,
    count: u32,
}

impl Cpu {
    /// Whether drivers forget that.
    pub(super) fn forgets(&self, what: Upkeep) -> bool {
        self.machine().state.borrow().plan.faults.forgotten == Some(what)
    }
}

impl Region {
    pub(super) fn new(cpu: Cpu, plan: Rc<Plan>) -> Region {
        Region { cpu, plan }
    }

    /// The process whose it is.
    pub(super) fn cpu(&self) -> &Cpu {
        &self.cpu
    }

    /// Where a range lies, by the memory's place in the chip and the address in it.
    ///
    /// # Errors
    /// It is not within one part of the region.
    pub fn find(&self, offset: u32, len: usize) -> Result<(usize, u32), OutOfRange> {
        self.plan.find(offset, len as u64).ok_or(OutOfRange)
    }
}

impl PeerRegion {
    pub(super) fn new(cpu: Cpu, plan: Rc<Plan>) -> PeerRegion {
        PeerRegion(Region::new(cpu, plan))
    }

    /// As [`Region::find`].
    ///
    /// # Errors
    /// It is not within one part of the region.
    pub fn find(&self, offset: u32, len: usize) -> Result<(usize, u32), OutOfRange> {
        self.0.find(offset, len)
    }
}

impl RegionWords {
    pub(super) fn place(&self, index: u32) -> (usize, u32) {
        (self.memory, self.address + (index & (self.count - 1)) * 4)
    }

    /// Bytes from a word to the end of the range.
    fn rest(&self, index: u32) -> usize {
        (self.count - (index & (self.count - 1))) as usize * 4
    }
}

impl Words for RegionWords {
    fn load(&self, index: u32) -> u32 {
        let (memory, address) = self.place(index);
        self.cpu.load(memory, address)
    }
    fn load_acquire(&self, index: u32) -> u32 {
        self.load(index)
    }
    fn read_bytes(&self, index: u32, to: &mut [u8]) {
        let (memory, address) = self.place(index);
        let len = to.len().min(self.rest(index));
        self.cpu.load_bytes(memory, address, &mut to[..len]);
    }
}

impl WordsMut for RegionWords {
    fn store(&self, index: u32, value: u32) {
        let (memory, address) = self.place(index);
        self.cpu.store(memory, address, value);
    }
    fn store_release(&self, index: u32, value: u32) {
        self.store(index, value);
    }
    fn write_bytes(&self, index: u32, from: &[u8]) {
        let (memory, address) = self.place(index);
        let len = from.len().min(self.rest(index));
        self.cpu.store_bytes(memory, address, &from[..len]);
    }
}

impl Memory for Region {
    type Words = RegionWords;
    fn size(&self) -> u32 {
        self.plan.size
    }
    fn words(&self, offset: u32, count: u32) -> Result<RegionWords, OutOfRange> {
        if !offset.is_multiple_of(4) || !count.is_power_of_two() {
            return Err(OutOfRange);
        }
        let (memory, address) = self.plan.find(offset, u64::from(count) * 4).ok_or(OutOfRange)?;
        Ok(RegionWords { cpu: self.cpu.clone(), memory, address, count })
    }
    fn read(&self, offset: u32, to: &mut [u8]) -> Result<(), OutOfRange> {
        let (memory, address) = self.find(offset, to.len())?;
        self.cpu.copy_in(memory, address, to);
        Ok(())
    }
    fn invalidate(&self, offset: u32, len: u32) {
        if self.cpu.forgets(Upkeep::Invalidate) {
            return;
        }
        if let Ok((memory, address)) = self.find(offset, len as usize) {
            self.cpu.invalidate(memory, address, len as usize);
        }
    }
}

impl OwnMemory for Region {
    fn write(&self, offset: u32, from: &[u8]) -> Result<(), OutOfRange> {
        let (memory, address) = self.find(offset, from.len())?;
        self.cpu.copy_out(memory, address, from);
        Ok(())
    }
    fn clean(&self, offset: u32, len: u32) {
        if self.cpu.forgets(Upkeep::Clean) {
            return;
        }
        if let Ok((memory, address)) = self.find(offset, len as usize) {
            self.cpu.clean(memory, address, len as usize);
        }
    }
}

impl Memory for PeerRegion {
    type Words = RegionWords;
    fn size(&self) -> u32 {
        self.0.size()
    }
    fn words(&self, offset: u32, count: u32) -> Result<RegionWords, OutOfRange> {
        self.0.words(offset, count)
    }
    fn read(&self, offset: u32, to: &mut [u8]) -> Result<(), OutOfRange> {
        self.0.read(offset, to)
    }
    fn invalidate(&self, offset: u32, len: u32) {
        self.0.invalidate(offset, len);
    }
}
