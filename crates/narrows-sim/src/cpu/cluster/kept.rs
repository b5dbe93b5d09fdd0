//! A region as the software sees it that carries it over frames.
//!
//! Looking whether something is to be carried, and noting what was, takes no time: the instructions
//! of a send and of a receive that the chip's file has stand for them. What moves bytes (slots and
//! blocks) takes what it does by any other code.

use crate::cpu::{Cpu, Region};
use narrows::platform::{Memory, OutOfRange, OwnMemory, Words, WordsMut};

/// A region.
#[derive(Clone)]
pub(in crate::cpu) struct Kept(Region);

/// Words of it.
pub(in crate::cpu) struct KeptWords {
    cpu: Cpu,
    memory: usize,
    address: u32,
    count: u32,
}

impl Kept {
    pub fn new(region: Region) -> Kept {
        Kept(region)
    }

    /// Where a range lies in its memory, if it is within one part.
    pub fn find(&self, offset: usize, len: u32) -> Option<(usize, u32)> {
        self.0.find(u32::try_from(offset).ok()?, len as usize).ok()
    }
}

impl KeptWords {
    fn at(&self, index: u32) -> u32 {
        self.address + (index & (self.count - 1)) * 4
    }

    /// How many of `len` bytes lie before the end of the range.
    fn within(&self, index: u32, len: usize) -> usize {
        len.min((self.count - (index & (self.count - 1))) as usize * 4)
    }
}

impl Words for KeptWords {
    fn load(&self, index: u32) -> u32 {
        self.cpu.machine().state.borrow().word(self.memory, self.at(index))
    }
    fn load_acquire(&self, index: u32) -> u32 {
        self.load(index)
    }
    fn read_bytes(&self, index: u32, to: &mut [u8]) {
        let len = self.within(index, to.len());
        self.cpu.load_bytes(self.memory, self.at(index), &mut to[..len]);
    }
    fn load_slot(&self, at: u32, sequence: u32) -> Option<[u32; 3]> {
        if self.load(at) != sequence {
            return None;
        }
        Some([1, 2, 3].map(|i| self.cpu.load(self.memory, self.at(at.wrapping_add(i)))))
    }
}

impl WordsMut for KeptWords {
    fn store(&self, index: u32, value: u32) {
        self.cpu.act(|state, process| {
            state.put_word(process, self.memory, self.at(index), value);
            false
        });
    }
    fn store_release(&self, index: u32, value: u32) {
        self.store(index, value);
    }
    fn write_bytes(&self, index: u32, from: &[u8]) {
        let len = self.within(index, from.len());
        self.cpu.store_bytes(self.memory, self.at(index), &from[..len]);
    }
    fn write_slot(&self, at: u32, sequence: u32, words: [u32; 3], payload: &[u8]) {
        if !payload.is_empty() {
            self.write_bytes(at.wrapping_add(4), payload);
        }
        for (i, word) in (1..).zip(words) {
            self.cpu.store(self.memory, self.at(at.wrapping_add(i)), word);
        }
        self.cpu.store(self.memory, self.at(at), sequence);
    }
}

impl Memory for Kept {
    type Words = KeptWords;
    fn size(&self) -> u32 {
        self.0.size()
    }
    fn words(&self, offset: u32, count: u32) -> Result<KeptWords, OutOfRange> {
        if !offset.is_multiple_of(4) || !count.is_power_of_two() {
            return Err(OutOfRange);
        }
        let (memory, address) = self.0.find(offset, count as usize * 4)?;
        Ok(KeptWords { cpu: self.0.cpu().clone(), memory, address, count })
    }
    fn read(&self, offset: u32, to: &mut [u8]) -> Result<(), OutOfRange> {
        self.0.read(offset, to)
    }
}

impl OwnMemory for Kept {
    fn write(&self, offset: u32, from: &[u8]) -> Result<(), OutOfRange> {
        self.0.write(offset, from)
    }
}
