//! Regions before anything runs in them.

use super::Machine;
use super::region::Plan;
use narrows::platform::{Memory, OutOfRange, OwnMemory, Words, WordsMut};

/// A region before anything runs in it: reached for nothing.
pub(super) struct Bare<'a> {
    pub machine: &'a Machine,
    pub plan: &'a Plan,
}

pub(super) struct BareWords<'a> {
    machine: &'a Machine,
    memory: usize,
    address: usize,
    count: u32,
}

impl BareWords<'_> {
    fn range(&self, index: u32, len: usize) -> std::ops::Range<usize> {
        let index = index & (self.count - 1);
        let start = self.address + index as usize * 4;
        start..start + len.min((self.count - index) as usize * 4)
    }
}

impl Words for BareWords<'_> {
    fn load(&self, index: u32) -> u32 {
        self.machine.state.borrow().word(self.memory, self.range(index, 4).start as u32)
    }
    fn load_acquire(&self, index: u32) -> u32 {
        self.load(index)
    }
    fn read_bytes(&self, index: u32, to: &mut [u8]) {
        let range = self.range(index, to.len());
        let len = range.len();
        to[..len].copy_from_slice(&self.machine.state.borrow().memories[self.memory][range]);
    }
}

impl WordsMut for BareWords<'_> {
    fn store(&self, index: u32, value: u32) {
        self.write_bytes(index, &value.to_le_bytes());
    }
    fn store_release(&self, index: u32, value: u32) {
        self.store(index, value);
    }
    fn write_bytes(&self, index: u32, from: &[u8]) {
        let range = self.range(index, from.len());
        let len = range.len();
        let mut state = self.machine.state.borrow_mut();
        state.memories[self.memory][range].copy_from_slice(&from[..len]);
    }
}

impl<'a> Memory for Bare<'a> {
    type Words = BareWords<'a>;
    fn size(&self) -> u32 {
        self.plan.size
    }
    fn words(&self, offset: u32, count: u32) -> Result<BareWords<'a>, OutOfRange> {
        let found = self.plan.find(offset, u64::from(count) * 4);
        let (memory, address) = found.ok_or(OutOfRange)?;
        Ok(BareWords { machine: self.machine, memory, address: address as usize, count })
    }
    fn read(&self, _: u32, _: &mut [u8]) -> Result<(), OutOfRange> {
        Err(OutOfRange)
    }
}

impl OwnMemory for Bare<'_> {
    fn write(&self, _: u32, _: &[u8]) -> Result<(), OutOfRange> {
        Err(OutOfRange)
    }
}
