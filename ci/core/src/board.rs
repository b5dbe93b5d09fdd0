//! A platform as a board without an operating system has it: regions are static memory, tables come
//! from a fixed store, and doorbells are words. It shows that the stack can be instantiated, not
//! how a particular chip is driven.

use core::cell::Cell;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicU32, fence};

use heapless::Vec;
use narrows::link::Name;
use narrows::memory::Layout;
use narrows::platform::{
    Connected, Event, HuntError, Instant, Lost, Memory, NoStorage, OutOfRange, OwnMemory, Platform,
    Wait, Watch, Woken, Words, WordsMut,
};
use narrows::span::{Edge, Span};

/// A region in static memory.
#[derive(Clone, Copy)]
pub struct Region(pub &'static [AtomicU32]);

/// Resolved words of a [`Region`]: their number is a power of two.
pub struct RegionWords(&'static [AtomicU32]);

static NOWHERE: AtomicU32 = AtomicU32::new(0);

impl RegionWords {
    fn word(&self, index: u32) -> &AtomicU32 {
        let mask = self.0.len().wrapping_sub(1);
        self.0.get(index as usize & mask).unwrap_or(&NOWHERE)
    }
    fn rest(&self, index: u32) -> &[AtomicU32] {
        let mask = self.0.len().wrapping_sub(1);
        self.0.get(index as usize & mask..).unwrap_or_default()
    }
}

fn read(from: &[AtomicU32], to: &mut [u8]) {
    for (to, from) in to.chunks_mut(4).zip(from) {
        to.iter_mut().zip(from.load(Relaxed).to_le_bytes()).for_each(|(to, from)| *to = from);
    }
}

fn write(to: &[AtomicU32], from: &[u8]) {
    for (from, to) in from.chunks(4).zip(to) {
        let mut word = to.load(Relaxed).to_le_bytes();
        word.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        to.store(u32::from_le_bytes(word), Relaxed);
    }
}

impl Words for RegionWords {
    fn load(&self, index: u32) -> u32 {
        self.word(index).load(Relaxed)
    }
    fn load_acquire(&self, index: u32) -> u32 {
        self.word(index).load(Acquire)
    }
    fn read_bytes(&self, index: u32, to: &mut [u8]) {
        read(self.rest(index), to);
    }
}

impl WordsMut for RegionWords {
    fn store(&self, index: u32, value: u32) {
        self.word(index).store(value, Relaxed);
    }
    fn store_release(&self, index: u32, value: u32) {
        self.word(index).store(value, Release);
    }
    fn write_bytes(&self, index: u32, from: &[u8]) {
        write(self.rest(index), from);
    }
}

impl Region {
    fn range(&self, offset: u32, bytes: usize) -> Result<&'static [AtomicU32], OutOfRange> {
        if !offset.is_multiple_of(4) {
            return Err(OutOfRange);
        }
        let from = self.0.get(offset as usize / 4..).ok_or(OutOfRange)?;
        from.get(..bytes.div_ceil(4)).ok_or(OutOfRange)
    }
}

impl Memory for Region {
    type Words = RegionWords;
    fn size(&self) -> u32 {
        self.0.len() as u32 * 4
    }
    fn words(&self, offset: u32, count: u32) -> Result<RegionWords, OutOfRange> {
        let words = self.range(offset, count as usize * 4)?;
        if count.is_power_of_two() { Ok(RegionWords(words)) } else { Err(OutOfRange) }
    }
    fn read(&self, offset: u32, to: &mut [u8]) -> Result<(), OutOfRange> {
        read(self.range(offset, to.len())?, to);
        Ok(())
    }
}

impl OwnMemory for Region {
    fn write(&self, offset: u32, from: &[u8]) -> Result<(), OutOfRange> {
        write(self.range(offset, from.len())?, from);
        Ok(())
    }
}

/// Entries of the longest table that this board has room for.
const MOST: usize = 32;

/// Words of a region.
const WORDS: usize = 1024;

/// What a chip has for its two cores: a region and a bell for each.
pub struct Chip {
    pub regions: [[AtomicU32; WORDS]; 2],
    pub bells: [AtomicU32; 2],
    /// What the rendezvous has to tell each core.
    news: [AtomicU32; 2],
}

const NOTHING: u32 = 0;
const LINKED: u32 = 1;
const CLOSED: u32 = 2;

impl Chip {
    pub const fn new() -> Chip {
        Chip {
            regions: [const { [const { AtomicU32::new(0) }; WORDS] }; 2],
            bells: [const { AtomicU32::new(0) }; 2],
            news: [const { AtomicU32::new(NOTHING) }; 2],
        }
    }
}

/// One of the two cores, which are wired to each other and to nobody else: their one link comes up
/// when either hunts the other.
pub struct Board {
    chip: &'static Chip,
    names: [Name; 2],
    own: usize,
    heard: Cell<u32>,
    /// What passes for a clock: it counts the looks at it.
    ticks: Cell<u64>,
}

impl Board {
    /// The core of a name of two; its region is formatted here, before any link is up.
    pub fn new(
        chip: &'static Chip,
        names: [Name; 2],
        own: usize,
        layout: &Layout,
    ) -> Result<Board, OutOfRange> {
        let board = Board { chip, names, own, heard: Cell::new(0), ticks: Cell::new(0) };
        layout.format(&board.region(own).ok_or(OutOfRange)?)?;
        Ok(board)
    }

    pub fn region(&self, core: usize) -> Option<Region> {
        self.chip.regions.get(core).map(|words| Region(words))
    }

    fn peer(&self) -> usize {
        1 - self.own.min(1)
    }

    fn rung(&self) -> bool {
        let rings = self.chip.bells.get(self.own).map_or(0, |bell| bell.load(Acquire));
        self.heard.replace(rings) != rings
    }

    fn has_news(&self) -> bool {
        self.chip.news.get(self.own).is_some_and(|news| news.load(Acquire) != NOTHING)
    }

    fn connected(&self) -> Option<Connected<Board>> {
        Some(Connected {
            key: 0,
            name: *self.names.get(self.peer())?,
            incarnation: 1,
            own: self.region(self.own)?,
            peer: self.region(self.peer())?,
            bell: self.chip.bells.get(self.peer())?,
        })
    }
}

impl Platform for Board {
    type Own = Region;
    type Peer = Region;
    type Bell = &'static AtomicU32;
    type Slice<T> = Vec<T, MOST>;
    type Books = Vec<u16, MOST>;
    const LINE: u32 = 32;

    fn storage<T>(
        &self,
        len: usize,
        make: impl FnMut(usize) -> T,
    ) -> Result<Vec<T, MOST>, NoStorage> {
        if len > MOST { Err(NoStorage) } else { Ok((0..len).map(make).collect()) }
    }

    fn books(&self, _own: &Region, len: usize) -> Result<Vec<u16, MOST>, NoStorage> {
        self.storage(len, |_| 0)
    }
    fn wait<'a, S>(&self, set: S, how: Wait, deadline: Option<Instant>) -> Woken
    where
        S: Iterator<Item = Watch<'a, RegionWords>> + Clone,
    {
        loop {
            if self.has_news() {
                return Woken::Event;
            }
            if matches!(how, Wait::Spin | Wait::Look) && set.clone().any(|watch| watch.changed()) {
                return Woken::Word;
            }
            if how == Wait::Bell && self.rung() {
                return Woken::Bell;
            }
            if deadline.is_some_and(|deadline| self.now() >= deadline) {
                return Woken::Deadline;
            }
            core::hint::spin_loop();
        }
    }
    fn fence(&self) {
        fence(SeqCst);
    }
    fn ring(&self, bell: &&'static AtomicU32) {
        // One writer: this core.
        bell.store(bell.load(Relaxed).wrapping_add(1), Release);
    }
    fn now(&self) -> Instant {
        self.ticks.set(self.ticks.get() + 1);
        Instant(self.ticks.get())
    }
    fn tracing(&self) -> bool {
        false
    }
    fn stamp(&self, _: Span, _: Edge, _: u32) {}
    fn hunt(&self, name: &Name) -> Result<(), HuntError> {
        if self.names.get(self.own) == Some(name) {
            return Err(HuntError::Own);
        }
        if self.names.get(self.peer()) == Some(name) {
            self.chip.news.iter().for_each(|news| news.store(LINKED, Release));
        }
        Ok(())
    }
    fn give_up(&self, _: &Name) {}
    fn event(&self) -> Option<Result<Event<Self>, (Name, HuntError)>> {
        // No swap, which the smallest cores have not got: one link brings one piece of news at a
        // time.
        let news = self.chip.news.get(self.own)?;
        let told = news.load(Acquire);
        news.store(NOTHING, Relaxed);
        match told {
            LINKED => Some(Ok(Event::Connected(self.connected()?))),
            CLOSED => Some(Ok(Event::Lost { key: 0, reason: Lost::Closed })),
            _ => None,
        }
    }
    fn close(&self, _: u32) {
        if let Some(news) = self.chip.news.get(self.peer()) {
            news.store(CLOSED, Release);
        }
    }
}
