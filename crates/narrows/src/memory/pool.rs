//! The books of a pool: which block is free, held by the application, or lent to the peer.
//!
//! They are in memory that the owner alone writes, so nothing a peer does can damage them, and its
//! death gives back what it had been lent. Taking and returning a block is constant-time. Where a
//! platform lets others read them, [`Stock`] is what they say.

use core::ops::DerefMut;

use super::{Block, Corrupt, Layout, MAX_CLASSES};
use crate::strategy::Placement;

const NIL: u16 = 0xffff;
const HELD: u16 = 0xfffe;
const LENT: u16 = 0xfffd;

/// What books say of their blocks. They may have changed while they were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stock {
    /// Blocks that the peer has, as far as its owner has taken back what came back.
    pub lent: u32,
    /// Blocks that the application has.
    pub held: u32,
    /// The low half of the number of blocks that the owner has taken back.
    pub back: u16,
}

impl Stock {
    /// Reads a copy of books.
    #[must_use]
    pub fn read(books: &[u16]) -> Stock {
        let Some((back, blocks)) = books.split_last() else { return Stock::default() };
        let marked = |mark| blocks.iter().filter(|entry| **entry == mark).count() as u32;
        Stock { lent: marked(LENT), held: marked(HELD), back: *back }
    }
}

/// Why there is no block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolError {
    /// All blocks that are large enough are in use. Try again when some came back.
    Empty,
    /// No block of this placement is that large; `limit` is the longest that is.
    TooLong {
        /// Bytes of the largest block.
        limit: u32,
    },
}

impl core::fmt::Display for PoolError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            PoolError::Empty => f.write_str(
                "all blocks that are large enough are in use: try again when some came back",
            ),
            PoolError::TooLong { limit } => write!(f, "no block has more than {limit} bytes"),
        }
    }
}

impl core::error::Error for PoolError {}

/// The free blocks of a class, and what the way to one of them needs of the layout.
// A power of two: what is at one of them is found by shifting.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct List {
    first: u16,
    /// Good only as long as there is a first, and only where blocks are used in turn.
    last: u16,
    base: u16,
    count: u16,
    /// The name of a block, less its number.
    name: u16,
    placement: Placement,
    /// Bytes of a block.
    size: u32,
    /// The shortest that does not fit smaller blocks of that memory.
    shortest: u32,
    stride: u32,
    /// Where block number 0 would be.
    start: u32,
}

impl List {
    const NONE: List = List {
        first: NIL,
        last: NIL,
        base: 0,
        count: 0,
        name: 0,
        placement: Placement::Internal,
        size: 0,
        shortest: 0,
        stride: 0,
        start: 0,
    };

    /// Where a block is, by its number.
    #[inline(always)]
    fn offset(&self, at: u16) -> u32 {
        self.start.wrapping_add(u32::from(at).wrapping_mul(self.stride))
    }

    /// Whether blocks of this size are the smallest of `placement` that hold `len` bytes.
    #[inline(always)]
    fn is_smallest_for(&self, placement: Placement, len: u32) -> bool {
        self.placement == placement && (self.shortest..=self.size).contains(&len)
    }
}

/// The books over one region's blocks. `B` holds one entry a block.
pub struct Pool<B> {
    layout: Layout,
    books: B,
    lists: [List; MAX_CLASSES],
    /// The class of which a block was taken last.
    recent: u8,
    lent: u32,
    held: u32,
}

impl<B: DerefMut<Target = [u16]>> Pool<B> {
    /// Books that say every block is free. `books` has [`Layout::books`] entries.
    pub fn new(layout: Layout, mut books: B) -> Pool<B> {
        let mut lists = [List::NONE; MAX_CLASSES];
        let mut base = 0;
        for (number, (offset, class)) in layout.places().enumerate() {
            let count = class.count as u16;
            let (before, rest) = lists.split_at_mut(number);
            let smaller = before.iter().filter(|list| list.placement == class.placement);
            let shortest = smaller.map(|list| list.size).max().unwrap_or(0) + 1;
            let stride = class.size.next_multiple_of(layout.line());
            let Some(list) = rest.first_mut() else { break };
            *list = List {
                first: base,
                last: base + count - 1,
                base,
                count,
                name: Block::new(number, 0).0.wrapping_sub(base),
                placement: class.placement,
                size: class.size,
                shortest,
                stride,
                start: offset.wrapping_sub(u32::from(base).wrapping_mul(stride)),
            };
            for at in base..base + count {
                let next = if at + 1 < base + count { at + 1 } else { NIL };
                if let Some(entry) = books.get_mut(usize::from(at)) {
                    *entry = next;
                }
            }
            base += count;
        }
        Pool { layout, books, lists, recent: 0, lent: 0, held: 0 }
    }

    /// The layout that the books are of.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
    /// Blocks that the peer has.
    pub fn lent(&self) -> u32 {
        self.lent
    }
    /// Blocks that the application has.
    pub fn held(&self) -> u32 {
        self.held
    }

    #[inline(always)]
    fn entry(&mut self, block: Block) -> Option<&mut u16> {
        let list = &self.lists[block.class()];
        let index = block.index() as u16;
        let at = (index < list.count).then(|| list.base + index)?;
        self.books.get_mut(usize::from(at))
    }

    /// Takes the smallest free block of `placement` that holds `len` bytes.
    ///
    /// # Errors
    /// See [`PoolError`].
    #[inline]
    pub fn take(&mut self, placement: Placement, len: u32) -> Result<Block, PoolError> {
        let (block, _) = match self.take_again(HELD, placement, len) {
            Some(taken) => taken,
            None => self.find(HELD, placement, len)?,
        };
        self.held += 1;
        Ok(block)
    }

    /// As [`Pool::take`] and [`Pool::lend`]; the block's offset comes with it.
    pub(super) fn take_to_lend(
        &mut self,
        placement: Placement,
        len: u32,
    ) -> Result<(Block, u32), PoolError> {
        let taken = self.find(LENT, placement, len)?;
        self.lent += 1;
        Ok(taken)
    }

    /// As [`Pool::take_to_lend`], if a block of the first class will do and is free.
    #[inline(always)]
    pub(super) fn take_first(&mut self, placement: Placement, len: u32) -> Option<(Block, u32)> {
        let list = self.lists.first()?;
        if list.placement != placement || list.size < len {
            return None;
        }
        let taken = self.take_of(0, LENT)?;
        self.lent += 1;
        Some(taken)
    }

    /// As [`Pool::take_to_lend`], if it is as the last time: the blocks that fit are of the same
    /// class, and one is free.
    #[inline(always)]
    pub(super) fn take_quickly(&mut self, placement: Placement, len: u32) -> Option<(Block, u32)> {
        let taken = self.take_again(LENT, placement, len)?;
        self.lent += 1;
        Some(taken)
    }

    /// Whether the blocks of the smallest size that will do are all in use. Larger ones will do as
    /// well, but a sender that has not seen yet what came back would take all of them, one after
    /// the other, for what is short.
    pub(super) fn is_short_of(&self, placement: Placement, len: u32) -> bool {
        let will_do = |list: &&List| list.placement == placement && list.size >= len;
        let recent = Some(self.recent()).filter(|list| list.is_smallest_for(placement, len));
        let list = recent.or_else(|| self.lists.iter().find(will_do));
        list.is_some_and(|list| list.first == NIL)
    }

    /// The class of which a block was taken last.
    #[inline(always)]
    fn recent(&self) -> &List {
        &self.lists[usize::from(self.recent) % MAX_CLASSES]
    }

    /// Where the free blocks of the class of which one was taken last lie, in the order in which
    /// they are taken.
    pub(super) fn coming(&self) -> impl Iterator<Item = u32> {
        let list = self.recent();
        let mut at = list.first;
        core::iter::from_fn(move || {
            let here = at;
            at = *self.books.get(usize::from(here))?;
            Some(list.offset(here))
        })
    }

    /// Takes a block of the class of which one was taken last, if it is the smallest that will do.
    #[inline(always)]
    fn take_again(&mut self, mark: u16, placement: Placement, len: u32) -> Option<(Block, u32)> {
        if !self.recent().is_smallest_for(placement, len) {
            return None;
        }
        self.take_of(self.recent.into(), mark)
    }

    /// Takes the smallest free block, whatever was taken last.
    #[inline(never)]
    fn find(
        &mut self,
        mark: u16,
        placement: Placement,
        len: u32,
    ) -> Result<(Block, u32), PoolError> {
        for class in 0..self.layout.classes().len() {
            let list = &self.lists[class];
            if list.placement == placement
                && list.size >= len
                && let Some(taken) = self.take_of(class, mark)
            {
                self.recent = class as u8;
                return Ok(taken);
            }
        }
        let limit = self.layout.longest(placement);
        if len > limit { Err(PoolError::TooLong { limit }) } else { Err(PoolError::Empty) }
    }

    /// Takes the first free block of a class: its name and where it lies.
    #[inline(always)]
    fn take_of(&mut self, class: usize, mark: u16) -> Option<(Block, u32)> {
        let list = &mut self.lists[class % MAX_CLASSES];
        let at = list.first;
        // NIL is the number of no block.
        let entry = self.books.get_mut(usize::from(at))?;
        list.first = core::mem::replace(entry, mark);
        Some((Block(at.wrapping_add(list.name)), list.offset(at)))
    }

    /// Notes that a held block is now the peer's to read.
    #[inline]
    pub fn lend(&mut self, block: Block) {
        if let Some(entry) = self.entry(block)
            && *entry == HELD
        {
            *entry = LENT;
            self.held -= 1;
            self.lent += 1;
        }
    }

    /// Puts back a block that the application held and did not send.
    pub fn put_back(&mut self, block: Block) {
        if self.free(block, HELD) {
            self.held -= 1;
        }
    }

    /// Takes back a block that the peer returns.
    ///
    /// # Errors
    /// The block was not lent: [`Corrupt::Return`].
    #[inline]
    pub fn reclaim(&mut self, block: Block) -> Result<(), Corrupt> {
        if !self.free(block, LENT) {
            return Err(Corrupt::Return);
        }
        self.lent -= 1;
        Ok(())
    }

    /// Takes back blocks that the peer returns, by their names.
    ///
    /// # Errors
    /// One was not lent: [`Corrupt::Return`].
    #[inline]
    pub fn reclaim_some(&mut self, count: u32, name: impl Fn(u32) -> u32) -> Result<(), Corrupt> {
        let mut done = 0;
        while done < count {
            let freed = self.free_some(LENT, count - done, |at| name(done + at));
            if freed == 0 {
                return Err(Corrupt::Return);
            }
            self.lent -= freed;
            done += freed;
        }
        // For a process that reads the books alone: what the peer has returned beyond this is not
        // lent.
        if let Some(back) = self.books.last_mut() {
            *back = back.wrapping_add(count as u16);
        }
        Ok(())
    }

    /// Takes back everything that was lent, when the peer is gone.
    pub fn reclaim_all(&mut self) {
        for class in 0..self.layout.classes().len() {
            for index in 0..u32::from(self.lists[class].count) {
                self.lent -= u32::from(self.free(Block::new(class, index), LENT));
            }
        }
    }

    /// Frees a block if it is what `mark` says.
    fn free(&mut self, block: Block, mark: u16) -> bool {
        self.free_some(mark, 1, |_| block.0.into()) == 1
    }

    /// Frees blocks of one class, as long as they are what `mark` says, `most` at most: how many.
    /// What is known of the class is looked up once. Internal blocks are used again last in, first
    /// out, so that they stay in a cache; others in turn, so that a block rests as long as it can
    /// before it is written again.
    #[inline(always)]
    fn free_some(&mut self, mark: u16, most: u32, name: impl Fn(u32) -> u32) -> u32 {
        let class = Block(name(0) as u16).class();
        let list = &mut self.lists[class];
        let (zero, count) = (u32::from(Block::new(class, 0).0), u32::from(list.count));
        let (base, again) = (list.base, list.placement == Placement::Internal);
        let (mut first, mut last) = (list.first, list.last);
        let mut freed = 0;
        while freed < most {
            let index = name(freed).wrapping_sub(zero);
            if index >= count {
                break;
            }
            let at = base + index as u16;
            let Some(entry) = self.books.get_mut(usize::from(at)) else { break };
            if *entry != mark {
                break;
            }
            *entry = if again { first } else { NIL };
            if again || first == NIL {
                first = at;
            } else if let Some(entry) = self.books.get_mut(usize::from(last)) {
                *entry = at;
            }
            last = at;
            freed += 1;
        }
        (list.first, list.last) = (first, last);
        freed
    }
}
