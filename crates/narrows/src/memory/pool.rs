//! The books of a pool: which block is free, held by the application, or lent to the peer.
//!
//! They are in the owner's private memory, so nothing a peer does can damage them, and its death
//! gives back what it had been lent. Taking and returning a block is constant-time.

use core::ops::DerefMut;

use super::{Block, Corrupt, Layout, MAX_CLASSES};
use crate::strategy::Placement;

const NIL: u16 = 0xffff;
const HELD: u16 = 0xfffe;
const LENT: u16 = 0xfffd;

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

/// The free blocks of a class, and what the way to one of them needs of the layout.
#[derive(Clone, Copy)]
struct List {
    first: u16,
    /// Good only as long as there is a first.
    last: u16,
    base: u16,
    /// Code of the kind of memory.
    placement: u16,
    size: u32,
    stride: u32,
    offset: u32,
}

impl List {
    const NONE: List =
        List { first: NIL, last: NIL, base: 0, placement: NIL, size: 0, stride: 0, offset: 0 };
}

/// The books over one region's blocks. `B` holds one entry a block.
pub struct Pool<B> {
    layout: Layout,
    books: B,
    lists: [List; MAX_CLASSES],
    lent: u32,
    held: u32,
}

impl<B: DerefMut<Target = [u16]>> Pool<B> {
    /// Books that say every block is free. `books` has [`Layout::blocks`] entries.
    pub fn new(layout: Layout, mut books: B) -> Pool<B> {
        let mut lists = [List::NONE; MAX_CLASSES];
        let mut base = 0;
        for (list, (offset, class)) in lists.iter_mut().zip(layout.places()) {
            let count = class.count as u16;
            *list = List {
                first: base,
                last: base + count - 1,
                base,
                placement: class.placement.code() as u16,
                size: class.size,
                stride: class.size.next_multiple_of(layout.line()),
                offset,
            };
            for at in base..base + count {
                let next = if at + 1 < base + count { at + 1 } else { NIL };
                if let Some(entry) = books.get_mut(usize::from(at)) {
                    *entry = next;
                }
            }
            base += count;
        }
        Pool { layout, books, lists, lent: 0, held: 0 }
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
        self.layout.block(block)?;
        let at = u32::from(self.lists[block.class()].base) + block.index();
        self.books.get_mut(at as usize)
    }

    /// Takes the smallest free block of `placement` that holds `len` bytes.
    ///
    /// # Errors
    /// See [`PoolError`].
    #[inline]
    pub fn take(&mut self, placement: Placement, len: u32) -> Result<Block, PoolError> {
        let (block, ..) = self.take_as(HELD, placement, len)?;
        self.held += 1;
        Ok(block)
    }

    /// As [`Pool::take`] and [`Pool::lend`]; the block's offset and its size come with it.
    #[inline(always)]
    pub(super) fn take_to_lend(
        &mut self,
        placement: Placement,
        len: u32,
    ) -> Result<(Block, u32, u32), PoolError> {
        let taken = self.take_as(LENT, placement, len)?;
        self.lent += 1;
        Ok(taken)
    }

    /// As [`Pool::take_to_lend`], if a block of the first class will do and is free.
    #[inline(always)]
    pub(super) fn take_quickly(
        &mut self,
        placement: Placement,
        len: u32,
    ) -> Option<(Block, u32, u32)> {
        let list = self.lists.first_mut()?;
        if u32::from(list.placement) != placement.code() || list.size < len {
            return None;
        }
        // NIL is the number of no block.
        let index = list.first;
        let entry = self.books.get_mut(usize::from(index))?;
        list.first = core::mem::replace(entry, LENT);
        self.lent += 1;
        let index = u32::from(index);
        Some((Block::new(0, index), list.offset + index * list.stride, list.size))
    }

    #[inline(always)]
    fn take_as(
        &mut self,
        mark: u16,
        placement: Placement,
        len: u32,
    ) -> Result<(Block, u32, u32), PoolError> {
        let wanted = placement.code() as u16;
        let used = self.layout.classes().len();
        for (class, list) in self.lists.iter_mut().take(used).enumerate() {
            let at = list.first;
            if list.placement != wanted || list.size < len || at == NIL {
                continue;
            }
            let Some(entry) = self.books.get_mut(usize::from(at)) else { continue };
            list.first = core::mem::replace(entry, mark);
            let index = u32::from(at - list.base);
            let offset = list.offset + index * list.stride;
            return Ok((Block::new(class, index), offset, list.size));
        }
        let limit = self.layout.longest(placement);
        if len > limit { Err(PoolError::TooLong { limit }) } else { Err(PoolError::Empty) }
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
        if self.entry(block).is_some_and(|e| *e == HELD) {
            self.held -= 1;
            self.free(block);
        }
    }

    /// Takes back a block that the peer returns.
    ///
    /// # Errors
    /// The block was not lent: [`Corrupt::Return`].
    #[inline]
    pub fn reclaim(&mut self, block: Block) -> Result<(), Corrupt> {
        if self.entry(block).is_none_or(|e| *e != LENT) {
            return Err(Corrupt::Return);
        }
        self.lent -= 1;
        self.free(block);
        Ok(())
    }

    /// Takes back everything that was lent, when the peer is gone.
    pub fn reclaim_all(&mut self) {
        for (class, c) in self.layout.classes().iter().enumerate() {
            for index in 0..c.count {
                let at = u32::from(self.lists[class].base) + index;
                if self.books.get(at as usize) == Some(&LENT) {
                    self.lent -= 1;
                    free(&mut self.books, &mut self.lists[class], at as u16, c.placement);
                }
            }
        }
    }

    #[inline(always)]
    fn free(&mut self, block: Block) {
        let class = block.class();
        let placement = self.layout.classes()[class].placement;
        let list = &mut self.lists[class];
        let at = list.base + block.index() as u16;
        free(&mut self.books, list, at, placement);
    }
}

/// Internal blocks are used again last in, first out, so that they stay in a cache; others in
/// turn, so that a block rests as long as it can before it is written again.
#[inline(always)]
fn free(books: &mut [u16], list: &mut List, at: u16, placement: Placement) {
    let next = if placement == Placement::Internal { list.first } else { NIL };
    if let Some(entry) = books.get_mut(usize::from(at)) {
        *entry = next;
    }
    if list.first == NIL {
        list.first = at;
        list.last = at;
    } else if placement == Placement::Internal {
        list.first = at;
    } else {
        if let Some(entry) = books.get_mut(usize::from(list.last)) {
            *entry = at;
        }
        list.last = at;
    }
}
