//! A core and its memory under the model checker.
//!
//! Words that both sides look at without an order between them (sequence numbers, credit, armed,
//! taken, want) are atomics. Everything that the protocol hands over as a whole (descriptors,
//! payload, names of returned blocks) is in checked cells: an access that is not ordered against a
//! write of the other side fails the model even if it happened to see the right value.

use std::cell::Cell as Unshared;
use std::collections::BTreeMap;
use std::rc::Rc;

use loom::cell::Cell as Checked;
use loom::sync::Notify;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use loom::sync::atomic::{AtomicU32, fence};
use narrows::link::Name;
use narrows::memory::{Class, Layout, Shared};
use narrows::platform::{
    Event, HuntError, Instant, Memory, NoStorage, OutOfRange, OwnMemory, Platform, Wait, Watch,
    Woken, Words, WordsMut,
};
use narrows::span::{Edge, Span};
use narrows::strategy::Placement;

/// The smallest line: fewest words for the checker to follow.
pub const LINE: u32 = 32;
/// First word of the slots.
pub const SLOTS: u32 = 256;
const RACING: [u32; 5] = [128, 160, 161, 192, 224];

enum Word {
    Racing(AtomicU32),
    Checked(Checked<u32>),
}

/// One region. Its header is written before the other side exists and is no concern of the checker.
pub struct Region {
    words: BTreeMap<u32, Word>,
    header: Vec<Unshared<u32>>,
    size: u32,
}

impl Region {
    fn new(layout: &Layout) -> Region {
        let racing = || Word::Racing(AtomicU32::new(0));
        let mut words: BTreeMap<u32, Word> = RACING.into_iter().map(|at| (at, racing())).collect();
        let blocks: u32 = layout.classes().iter().map(|c| c.size.next_multiple_of(LINE)).sum();
        let before_blocks: u32 = layout.parts().iter().take(4).map(|part| part.1).sum();
        for at in SLOTS..(before_blocks + blocks * layout.blocks()) / 4 {
            let number = at < SLOTS + layout.slots() * LINE / 4 && at % (LINE / 4) == 0;
            words.insert(at, if number { racing() } else { Word::Checked(Checked::new(0)) });
        }
        let header = (0..layout.size() / 4).map(|_| Unshared::new(0)).collect();
        Region { words, header, size: layout.size() }
    }
}

/// A view of a region.
#[derive(Clone)]
pub struct View(Rc<Region>);

/// Resolved words of a [`View`].
pub struct Range {
    region: Rc<Region>,
    base: u32,
    mask: u32,
}

impl Range {
    fn load_as(&self, index: u32, order: std::sync::atomic::Ordering) -> u32 {
        let at = self.base + (index & self.mask);
        match self.region.words.get(&at) {
            Some(Word::Racing(word)) => word.load(order),
            Some(Word::Checked(word)) => word.get(),
            None => self.region.header[at as usize].get(),
        }
    }
    fn store_as(&self, index: u32, value: u32, order: std::sync::atomic::Ordering) {
        let at = self.base + (index & self.mask);
        match self.region.words.get(&at) {
            Some(Word::Racing(word)) => word.store(value, order),
            Some(Word::Checked(word)) => word.set(value),
            None => self.region.header[at as usize].set(value),
        }
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
        let room = ((self.mask + 1 - (index & self.mask)) * 4) as usize;
        for (i, bytes) in to.chunks_mut(4).take(room / 4).enumerate() {
            bytes.copy_from_slice(&self.load(index + i as u32).to_le_bytes()[..bytes.len()]);
        }
    }
}

impl WordsMut for Range {
    const TOGETHER: u32 = 2;
    fn store(&self, index: u32, value: u32) {
        self.store_as(index, value, Relaxed);
    }
    fn store_release(&self, index: u32, value: u32) {
        self.store_as(index, value, Release);
    }
    fn write_bytes(&self, index: u32, from: &[u8]) {
        let room = ((self.mask + 1 - (index & self.mask)) * 4) as usize;
        for (i, bytes) in from.chunks(4).take(room / 4).enumerate() {
            let mut word = self.load(index + i as u32).to_le_bytes();
            word[..bytes.len()].copy_from_slice(bytes);
            self.store(index + i as u32, u32::from_le_bytes(word));
        }
    }
}

impl View {
    fn range(&self, offset: u32, bytes: usize) -> Result<Range, OutOfRange> {
        let inside = offset.is_multiple_of(4) && offset as usize + bytes <= self.0.size as usize;
        let range = Range { region: self.0.clone(), base: offset / 4, mask: u32::MAX >> 8 };
        inside.then_some(range).ok_or(OutOfRange)
    }
}

impl Memory for View {
    type Words = Range;
    fn size(&self) -> u32 {
        self.0.size
    }
    fn words(&self, offset: u32, count: u32) -> Result<Range, OutOfRange> {
        let range = self.range(offset, count as usize * 4)?;
        count.is_power_of_two().then_some(Range { mask: count - 1, ..range }).ok_or(OutOfRange)
    }
    fn read(&self, offset: u32, to: &mut [u8]) -> Result<(), OutOfRange> {
        self.range(offset, to.len())?.read_bytes(0, to);
        Ok(())
    }
}

impl OwnMemory for View {
    fn write(&self, offset: u32, from: &[u8]) -> Result<(), OutOfRange> {
        self.range(offset, from.len())?.write_bytes(0, from);
        Ok(())
    }
}

/// A core: a bell to sleep on.
pub struct Core(Rc<Notify>);

impl Platform for Core {
    type Own = View;
    type Peer = View;
    type Bell = Rc<Notify>;
    type Slice<T> = Box<[T]>;
    const LINE: u32 = LINE;

    fn storage<T>(&self, n: usize, make: impl FnMut(usize) -> T) -> Result<Box<[T]>, NoStorage> {
        Ok((0..n).map(make).collect())
    }
    fn wait<'a, S>(&self, mut set: S, how: Wait, _: Option<Instant>) -> Woken
    where
        S: Iterator<Item = Watch<'a, Range>> + Clone,
    {
        if set.any(|watch| watch.changed()) {
            return Woken::Word;
        }
        match how {
            Wait::Spin => loom::thread::yield_now(),
            Wait::Bell | Wait::Timer => self.0.wait(),
        }
        Woken::Bell
    }
    fn fence(&self) {
        fence(SeqCst);
    }
    fn ring(&self, bell: &Rc<Notify>) {
        bell.notify();
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

/// One end of a link.
pub struct End {
    /// Its core.
    pub core: Core,
    /// Its regions.
    pub shared: Shared<Core>,
}

/// Both ends of a link of two slots and `blocks` blocks of 8 bytes each way.
pub fn link(blocks: u32) -> (End, End) {
    let class = Class { placement: Placement::Internal, size: 8, count: blocks };
    let layout = Layout::new(LINE, 2, &[class]).expect("a small layout");
    let regions = [(); 2].map(|()| View(Rc::new(Region::new(&layout))));
    for region in &regions {
        layout.format(region).expect("the region has the layout's size");
    }
    let bells = [(); 2].map(|()| Rc::new(Notify::new()));
    let end = |own: usize| {
        let core = Core(bells[own].clone());
        let (mine, theirs) = (regions[own].clone(), regions[1 - own].clone());
        let shared = Shared::new(&core, mine, theirs, bells[1 - own].clone()).expect("a link");
        End { core, shared }
    };
    (end(0), end(1))
}

/// Runs a model in every interleaving of at most five forced switches, or as many as
/// `LOOM_MAX_PREEMPTIONS` says. Every fault that `ci/mutate` makes needs fewer.
pub fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(5);
    builder.check(model);
}
