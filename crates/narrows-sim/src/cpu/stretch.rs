//! Memory that several processes of a core share handles of: the process that runs makes the
//! access, and it is charged to that process.

use super::Cpu;
use super::chain::Place;
use crate::events::Upkeep;
use narrows::platform::{Memory, OutOfRange, OwnMemory, Words, WordsMut};
use std::cell::RefCell;
use std::rc::Rc;

/// The processes of a core that share handles.
#[derive(Clone, Default)]
pub struct Hands(Rc<RefCell<Vec<Cpu>>>);

impl Hands {
    /// Adds a process. The first acts where none of them runs.
    pub fn add(&self, cpu: &Cpu) {
        self.0.borrow_mut().push(cpu.clone());
    }

    /// Whether none was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// The one that runs.
    ///
    /// # Panics
    /// None was added.
    #[must_use]
    pub fn cpu(&self) -> Cpu {
        let all = self.0.borrow();
        let running = all.first().and_then(|cpu| cpu.machine().state.borrow().current);
        let found = all.iter().find(|cpu| Some(cpu.process()) == running);
        found.or(all.first()).expect("a process was added").clone()
    }
}

/// A stretch of a memory.
#[derive(Clone)]
pub struct Stretch {
    hands: Hands,
    place: Place,
    len: u32,
}

/// Words of a stretch.
pub struct StretchWords {
    hands: Hands,
    place: Place,
    count: u32,
}

impl Stretch {
    /// Of a memory, by its place in the chip: from an address on, a number of bytes.
    #[must_use]
    pub fn new(hands: &Hands, place: Place, len: u32) -> Stretch {
        Stretch { hands: hands.clone(), place, len }
    }

    /// The processes that share it.
    #[must_use]
    pub fn hands(&self) -> &Hands {
        &self.hands
    }

    /// Where a part of it lies.
    ///
    /// # Errors
    /// It is not inside.
    pub fn find(&self, offset: u32, len: usize) -> Result<Place, OutOfRange> {
        let inside = u64::from(offset) + len as u64 <= u64::from(self.len);
        inside.then_some((self.place.0, self.place.1 + offset)).ok_or(OutOfRange)
    }

    /// Copies bytes of another stretch into this one, word by word, as a core does: both sides by
    /// way of its data cache where their memories are cached.
    ///
    /// # Errors
    /// They are not inside.
    pub fn copy(&self, to: u32, from: &Stretch, at: u32, len: usize) -> Result<(), OutOfRange> {
        let (source, target) = (from.find(at, len)?, self.find(to, len)?);
        self.hands.cpu().copy(source, target, len, false);
        Ok(())
    }

    /// As [`Stretch::copy`], but reads past the cache whatever the other stretch's memory is.
    ///
    /// # Errors
    /// As [`Stretch::copy`].
    pub fn copy_past(
        &self,
        to: u32,
        from: &Stretch,
        at: u32,
        len: usize,
    ) -> Result<(), OutOfRange> {
        let (source, target) = (from.find(at, len)?, self.find(to, len)?);
        self.hands.cpu().copy(source, target, len, true);
        Ok(())
    }
}

impl StretchWords {
    fn address(&self, index: u32) -> u32 {
        self.place.1 + (index & (self.count - 1)) * 4
    }

    fn rest(&self, index: u32) -> usize {
        (self.count - (index & (self.count - 1))) as usize * 4
    }
}

impl Words for StretchWords {
    fn load(&self, index: u32) -> u32 {
        self.hands.cpu().load(self.place.0, self.address(index))
    }
    fn load_acquire(&self, index: u32) -> u32 {
        self.load(index)
    }
    fn read_bytes(&self, index: u32, to: &mut [u8]) {
        let len = to.len().min(self.rest(index));
        self.hands.cpu().load_bytes(self.place.0, self.address(index), &mut to[..len]);
    }
}

impl WordsMut for StretchWords {
    fn store(&self, index: u32, value: u32) {
        self.hands.cpu().store(self.place.0, self.address(index), value);
    }
    fn store_release(&self, index: u32, value: u32) {
        self.store(index, value);
    }
    fn write_bytes(&self, index: u32, from: &[u8]) {
        let len = from.len().min(self.rest(index));
        self.hands.cpu().store_bytes(self.place.0, self.address(index), &from[..len]);
    }
}

impl Memory for Stretch {
    type Words = StretchWords;
    fn size(&self) -> u32 {
        self.len
    }
    fn words(&self, offset: u32, count: u32) -> Result<StretchWords, OutOfRange> {
        if !offset.is_multiple_of(4) || !count.is_power_of_two() {
            return Err(OutOfRange);
        }
        let place = self.find(offset, count as usize * 4)?;
        Ok(StretchWords { hands: self.hands.clone(), place, count })
    }
    fn read(&self, offset: u32, to: &mut [u8]) -> Result<(), OutOfRange> {
        let (memory, address) = self.find(offset, to.len())?;
        self.hands.cpu().read(memory, address, to);
        Ok(())
    }
    fn invalidate(&self, offset: u32, len: u32) {
        let cpu = self.hands.cpu();
        if let Ok((memory, address)) = self.find(offset, len as usize)
            && !cpu.forgets(Upkeep::Invalidate)
        {
            cpu.invalidate(memory, address, len as usize);
        }
    }
}

impl OwnMemory for Stretch {
    fn write(&self, offset: u32, from: &[u8]) -> Result<(), OutOfRange> {
        let (memory, address) = self.find(offset, from.len())?;
        self.hands.cpu().write(memory, address, from);
        Ok(())
    }
    fn clean(&self, offset: u32, len: u32) {
        let cpu = self.hands.cpu();
        if let Ok((memory, address)) = self.find(offset, len as usize)
            && !cpu.forgets(Upkeep::Clean)
        {
            cpu.clean(memory, address, len as usize);
        }
    }
}
