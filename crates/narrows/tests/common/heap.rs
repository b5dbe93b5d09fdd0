//! Regions on the heap and a core without a world around it, for tests in one thread.
#![allow(unsafe_code)]

use std::boxed::Box;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::vec::Vec;

use super::link::Name;
use super::platform::{
    Event, HuntError, Instant, Memory, NoStorage, OutOfRange, OwnMemory, Platform, Wait, Watch,
    Woken, Words, WordsMut,
};
use super::span::{Edge, Span};

/// A region.
#[derive(Clone)]
pub struct Heap(Rc<[Cell<u8>]>);

std::thread_local! {
    /// Looks at memory until [`meanwhile`]'s act; 0: there is none.
    static LEFT: Cell<u32> = const { Cell::new(0) };
    static LOOKS: Cell<u32> = const { Cell::new(0) };
    static ACT: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
    static ASKED: Cell<Option<u32>> = const { Cell::new(None) };
    static CARED: RefCell<Vec<(Care, u32, u32)>> = const { RefCell::new(Vec::new()) };
}

/// What is done for a core whose cache others do not see into.
#[allow(dead_code, reason = "some tests have no use for it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    Clean,
    Invalidate,
}

/// For which bytes, from where on, this thread has cared since the last time.
#[allow(dead_code, reason = "some tests have no use for it")]
pub fn cared() -> Vec<(Care, u32, u32)> {
    CARED.take()
}

fn care(what: Care, offset: u32, len: u32) {
    CARED.with_borrow_mut(|all| {
        all.push((what, offset, len));
        // Of most tests nobody asks.
        if all.len() > 64 {
            all.clear();
        }
    });
}

/// The word at which the slot begins that this thread has asked for since the last time, if any.
#[allow(dead_code, reason = "the unit tests alone have a use for it")]
pub fn asked() -> Option<u32> {
    ASKED.take()
}

/// Has `act` run right before this thread looks at memory for the `looks`-th time from now: what
/// another core writes while this one is in the middle of something. With 0 it is forgotten.
#[allow(dead_code, reason = "the unit tests have no use for it")]
pub fn meanwhile(looks: u32, act: impl FnOnce() + 'static) {
    LEFT.set(looks);
    ACT.set((looks > 0).then(|| Box::new(act) as Box<dyn FnOnce()>));
}

/// How often this thread has looked at memory since the last time.
#[allow(dead_code, reason = "few tests ask")]
pub fn looked() -> u32 {
    LOOKS.take()
}

fn look() {
    LOOKS.set(LOOKS.get().wrapping_add(1));
    let left = LEFT.get();
    if left > 0 {
        LEFT.set(left - 1);
        if left == 1
            && let Some(act) = ACT.take()
        {
            act();
        }
    }
}

/// Resolved words of a [`Heap`].
pub struct HeapWords {
    bytes: Rc<[Cell<u8>]>,
    base: usize,
    count: u32,
}

impl Heap {
    /// A region of `size` bytes that hold what a careless owner might leave in them.
    pub fn new(size: u32) -> Heap {
        Heap((0..size).map(|_| Cell::new(0xa5)).collect())
    }
    /// The bytes, as a peer in another language would see them.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.iter().map(Cell::get).collect()
    }
    /// The little-endian word at `offset` bytes.
    pub fn word(&self, offset: u32) -> u32 {
        let at = offset as usize;
        u32::from_le_bytes([0, 1, 2, 3].map(|i| self.0[at + i].get()))
    }
    /// Writes a word as a hostile peer would: anywhere.
    pub fn poke(&self, offset: u32, value: u32) {
        for (i, byte) in value.to_le_bytes().into_iter().enumerate() {
            self.0[offset as usize + i].set(byte);
        }
    }
    fn range(&self, offset: u32, len: usize) -> Result<&[Cell<u8>], OutOfRange> {
        self.0.get(offset as usize..).and_then(|bytes| bytes.get(..len)).ok_or(OutOfRange)
    }
}

impl HeapWords {
    fn rest(&self, index: u32) -> &[Cell<u8>] {
        let end = self.base + self.count as usize * 4;
        &self.bytes[self.base + (index & (self.count - 1)) as usize * 4..end]
    }
}

impl Words for HeapWords {
    fn load(&self, index: u32) -> u32 {
        let mut bytes = [0; 4];
        self.read_bytes(index, &mut bytes);
        u32::from_le_bytes(bytes)
    }
    fn load_acquire(&self, index: u32) -> u32 {
        self.load(index)
    }
    fn read_bytes(&self, index: u32, to: &mut [u8]) {
        look();
        to.iter_mut().zip(self.rest(index)).for_each(|(to, from)| *to = from.get());
    }
    const READ_AHEAD: u32 = 4;
    fn prefetch_to_read(&self, at: u32) {
        ASKED.set(Some(at));
    }
}

impl WordsMut for HeapWords {
    const TOGETHER: u32 = 4;
    fn store(&self, index: u32, value: u32) {
        self.write_bytes(index, &value.to_le_bytes());
    }
    fn store_release(&self, index: u32, value: u32) {
        self.store(index, value);
    }
    fn write_bytes(&self, index: u32, from: &[u8]) {
        from.iter().zip(self.rest(index)).for_each(|(from, to)| to.set(*from));
    }
}

impl Memory for Heap {
    type Words = HeapWords;
    fn size(&self) -> u32 {
        self.0.len() as u32
    }
    fn words(&self, offset: u32, count: u32) -> Result<HeapWords, OutOfRange> {
        if !offset.is_multiple_of(4) || !count.is_power_of_two() {
            return Err(OutOfRange);
        }
        self.range(offset, count as usize * 4)?;
        Ok(HeapWords { bytes: self.0.clone(), base: offset as usize, count })
    }
    fn invalidate(&self, offset: u32, len: u32) {
        care(Care::Invalidate, offset, len);
    }
    unsafe fn slice(&self, offset: u32, len: u32) -> Option<&[u8]> {
        let cells = self.range(offset, len as usize).ok()?;
        // SAFETY: that nobody writes the cells the caller vouches for.
        Some(unsafe { std::slice::from_raw_parts(cells.as_ptr().cast(), cells.len()) })
    }
    fn read(&self, offset: u32, to: &mut [u8]) -> Result<(), OutOfRange> {
        look();
        let from = self.range(offset, to.len())?;
        to.iter_mut().zip(from).for_each(|(to, from)| *to = from.get());
        Ok(())
    }
}

impl OwnMemory for Heap {
    fn clean(&self, offset: u32, len: u32) {
        care(Care::Clean, offset, len);
    }
    unsafe fn slice_mut(&mut self, offset: u32, len: u32) -> Option<&mut [u8]> {
        let cells = self.range(offset, len as usize).ok()?;
        // SAFETY: a cell may be written by the code that has it, and that nobody else does the
        // caller vouches for.
        Some(unsafe {
            std::slice::from_raw_parts_mut(cells.as_ptr().cast_mut().cast(), cells.len())
        })
    }
    fn write(&self, offset: u32, from: &[u8]) -> Result<(), OutOfRange> {
        let to = self.range(offset, from.len())?;
        from.iter().zip(to).for_each(|(from, to)| to.set(*from));
        Ok(())
    }
}

/// A core with lines of `L` bytes. Its doorbells count how often they were rung.
pub struct Core<const L: u32>;

impl<const L: u32> Platform for Core<L> {
    type Own = Heap;
    type Peer = Heap;
    type Bell = Rc<Cell<u32>>;
    type Slice<T> = Box<[T]>;
    type Books = Box<[u16]>;
    const LINE: u32 = L;

    fn storage<T>(&self, n: usize, make: impl FnMut(usize) -> T) -> Result<Box<[T]>, NoStorage> {
        Ok((0..n).map(make).collect())
    }

    fn books(&self, _own: &Heap, len: usize) -> Result<Box<[u16]>, NoStorage> {
        self.storage(len, |_| 0)
    }
    fn wait<'a, S>(&self, _: S, _: Wait, _: Option<Instant>) -> Woken
    where
        S: Iterator<Item = Watch<'a, HeapWords>> + Clone,
    {
        Woken::Deadline
    }
    fn fence(&self) {}
    fn ring(&self, bell: &Rc<Cell<u32>>) {
        bell.set(bell.get() + 1);
    }
    /// A bell that has been rung often stands for one that sends.
    fn sends_by_ring(&self, bell: &Rc<Cell<u32>>) -> bool {
        bell.get() >= 1000
    }
    fn now(&self) -> Instant {
        Instant(0)
    }
    fn tracing(&self) -> bool {
        false
    }
    fn stamp(&self, _: Span, _: Edge, _: u32) {}
    fn hunt(&self, _: &Name) -> Result<(), HuntError> {
        Err(HuntError::Own)
    }
    fn give_up(&self, _: &Name) {}
    fn event(&self) -> Option<Result<Event<Self>, (Name, HuntError)>> {
        None
    }
    fn close(&self, _: u32) {}
}
