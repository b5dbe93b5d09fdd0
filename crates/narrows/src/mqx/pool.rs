//! Pools, and the memory of messages: each message is a block of a table, with its buffer.

use core::ops::DerefMut;

use super::{Header, Message, MessageError, PoolError, PoolId, QueueId};
use crate::driver::NotThere;
use crate::link::route::{InRow, NONE};
use crate::platform::NoStorage;

/// Where a processor's memory comes from: its tables and its messages.
pub trait Supply {
    /// Storage for a table, given back when dropped.
    type Slice<T>: DerefMut<Target = [T]>;
    /// The memory of one message.
    type Buffer;

    /// Storage for a table of `len` entries. Asked for when a processor is made, and never later.
    ///
    /// # Errors
    /// No room is left.
    fn storage<T>(
        &mut self,
        len: usize,
        make: impl FnMut(usize) -> T,
    ) -> Result<Self::Slice<T>, NoStorage>;

    /// Memory of this many bytes, if there is any. It is dropped with its pool.
    fn make(&mut self, bytes: usize) -> Option<Self::Buffer>;

    /// Copies the first bytes of one message to another: what a broadcast needs, and nothing else.
    ///
    /// # Errors
    /// There are fewer.
    fn copy(
        &mut self,
        from: &Self::Buffer,
        to: &mut Self::Buffer,
        bytes: usize,
    ) -> Result<(), NotThere>;
}

/// Where a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In its pool.
    Free,
    /// With a task.
    Held,
    /// In a queue of this processor.
    Queued(u16),
    /// With the IPC service: coming in or going out.
    Away,
}

/// What the IPC service knows of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Trip {
    /// The processor that sent it.
    pub origin: u8,
    /// That processor's life.
    pub life: u64,
    /// Its number among those of its origin for its target's processor, once it has one.
    pub number: Option<u32>,
    /// The hops it has made.
    pub hops: u8,
    /// Whether it may have gone another way before.
    pub again: bool,
    /// Whether the neighbour that sent it wants to know at once that it came.
    pub soon: bool,
    /// The link whose buffer of the class `hops` it is in.
    pub came: Option<u8>,
}

/// One message and its memory.
pub(super) struct Block<B> {
    pub buffer: Option<B>,
    pub room: u32,
    pub pool: u16,
    pub life: u32,
    pub place: Place,
    pub header: Header,
    pub trip: Trip,
    /// The block behind it, in a queue or among the free.
    pub next: u16,
}

impl<B> InRow for Block<B> {
    fn next(&mut self) -> &mut u16 {
        &mut self.next
    }

    fn urgency(&self) -> u8 {
        self.header.control.bits().unwrap_or(0)
    }
}

#[derive(Clone, Copy)]
struct Pool {
    life: u32,
    system: bool,
    bytes: u32,
    grow: u16,
    limit: u16,
    made: u16,
    first: u16,
    free: u16,
}

/// All pools of a processor.
pub(super) struct Pools<S: Supply> {
    pub blocks: S::Slice<Block<S::Buffer>>,
    pools: S::Slice<Option<Pool>>,
    supply: S,
    /// Blocks that belong to a pool, or did.
    made: u16,
    /// The first of those that did.
    spare: u16,
    /// Pools so far.
    lives: u32,
}

const BLANK: Header = Header {
    size: 0,
    target: QueueId::ANY,
    source: QueueId::ANY,
    control: super::Control { priority: 0, urgent: false },
};

impl<S: Supply> Pools<S> {
    pub fn new(mut supply: S, blocks: u16, pools: u16) -> Result<Self, NoStorage> {
        let block = |_| Block {
            buffer: None,
            room: 0,
            pool: NONE,
            life: 0,
            place: Place::Free,
            header: BLANK,
            trip: Trip::default(),
            next: NONE,
        };
        let blocks = supply.storage(usize::from(blocks.min(NONE - 1)), block)?;
        let pools = supply.storage(usize::from(pools.max(1)), |_| None)?;
        Ok(Pools { blocks, pools, supply, made: 0, spare: NONE, lives: 0 })
    }

    /// Makes a pool of `initial` messages of `bytes` bytes, which grows by `grow` when it is empty,
    /// up to `limit`, or without end if that is 0.
    pub fn create(
        &mut self,
        bytes: u32,
        (initial, grow, limit): (u16, u16, u16),
        system: bool,
    ) -> Result<PoolId, PoolError> {
        let limit = if limit == 0 { NONE } else { limit.max(initial) };
        let at = self.pools.iter().position(Option::is_none).ok_or(PoolError::OutOfPools)?;
        let id = PoolId { at: at as u16, life: self.lives };
        self.lives = self.lives.wrapping_add(1);
        let (life, made, first, free) = (id.life, 0, NONE, 0);
        self.pools[at] = Some(Pool { life, system, bytes, grow, limit, made, first, free });
        if self.grow(id, initial) < initial {
            self.dissolve(id.at);
            return Err(PoolError::NoMemory);
        }
        Ok(id)
    }

    /// Ends a pool, all of whose messages are free, and gives its memory back.
    pub fn destroy(&mut self, id: PoolId) -> Result<(), PoolError> {
        let pool = self.known(id).ok_or(PoolError::Unknown)?;
        if pool.free < pool.made {
            return Err(PoolError::InUse);
        }
        self.dissolve(id.at);
        Ok(())
    }

    /// Ends a pool and frees its blocks for others.
    fn dissolve(&mut self, at: u16) {
        let made = self.blocks.iter_mut().take(usize::from(self.made));
        for (n, block) in (0..).zip(made).filter(|(_, block)| block.pool == at) {
            // Its life goes on: names of its last one stay names of nothing.
            (block.buffer, block.pool) = (None, NONE);
            block.next = core::mem::replace(&mut self.spare, n);
        }
        self.pools[usize::from(at)] = None;
    }

    /// The pool of an id, if it has not ended.
    fn known(&self, id: PoolId) -> Option<&Pool> {
        let pool = self.pools.get(usize::from(id.at))?.as_ref();
        pool.filter(|pool| pool.life == id.life)
    }

    /// Makes `more` messages. Returns how many there was memory for.
    fn grow(&mut self, id: PoolId, more: u16) -> u16 {
        let Some(Some(pool)) = self.pools.get_mut(usize::from(id.at)) else { return 0 };
        for n in 0..more.min(pool.limit.saturating_sub(pool.made)) {
            let place = if self.spare == NONE { self.made } else { self.spare };
            let block = self.blocks.get_mut(usize::from(place));
            let made =
                block.and_then(|block| Some((self.supply.make(pool.bytes as usize)?, block)));
            let Some((buffer, block)) = made else { return n };
            match self.spare {
                NONE => self.made += 1,
                _ => self.spare = block.next,
            }
            *block = Block {
                buffer: Some(buffer),
                room: pool.bytes,
                pool: id.at,
                life: block.life,
                place: Place::Free,
                header: BLANK,
                trip: Trip::default(),
                next: core::mem::replace(&mut pool.first, place),
            };
            (pool.made, pool.free) = (pool.made + 1, pool.free + 1);
        }
        more
    }

    /// Takes a message of a pool, which grows if it has to.
    pub fn take(&mut self, id: PoolId) -> Result<u16, PoolError> {
        let known = *self.known(id).ok_or(PoolError::Unknown)?;
        if known.first == NONE {
            self.grow(id, known.grow);
        }
        let pool = self.pools[usize::from(id.at)].as_mut().ok_or(PoolError::Unknown)?;
        let block = self.blocks.get_mut(usize::from(pool.first)).ok_or(PoolError::Empty)?;
        let taken = core::mem::replace(&mut pool.first, block.next);
        pool.free -= 1;
        block.place = Place::Held;
        block.next = NONE;
        block.header = Header { size: block.room, ..BLANK };
        block.trip = Trip::default();
        Ok(taken)
    }

    /// Takes a message of at least `bytes` bytes: of the system pools that have one left, that of
    /// the smallest messages.
    pub fn take_system(&mut self, bytes: u32) -> Result<u16, PoolError> {
        let mut least = bytes;
        loop {
            let pools = self.pools.iter().enumerate();
            let fitting = pools
                .filter_map(|(n, pool)| Some((n, (*pool)?)))
                .filter(|(_, pool)| pool.system && pool.bytes >= least);
            let (at, found) = fitting.min_by_key(|(_, pool)| pool.bytes).ok_or(PoolError::Empty)?;
            match self.take(PoolId { at: at as u16, life: found.life }) {
                Err(PoolError::Empty) => least = found.bytes.saturating_add(1),
                taken => return taken,
            }
        }
    }

    /// Puts a message back, which is in no queue. Every name of it is forgotten.
    pub fn put(&mut self, at: u16) {
        let block = &mut self.blocks[usize::from(at)];
        block.place = Place::Free;
        block.life = block.life.wrapping_add(1);
        if let Some(Some(pool)) = self.pools.get_mut(usize::from(block.pool)) {
            block.next = core::mem::replace(&mut pool.first, at);
            pool.free += 1;
        }
    }

    /// Messages of a pool that are free now.
    pub fn free(&self, id: PoolId) -> Option<u16> {
        Some(self.known(id)?.free)
    }

    /// Messages of all system pools that are free now.
    pub fn free_in_system(&self) -> u32 {
        let pools = self.pools.iter().flatten().filter(|pool| pool.system);
        pools.map(|pool| u32::from(pool.free)).sum()
    }

    /// Whether less than half of the messages of a block's pool are free.
    pub fn is_low(&self, at: u16) -> bool {
        let pool = self.pools.get(usize::from(self.blocks[usize::from(at)].pool));
        pool.copied().flatten().is_none_or(|pool| pool.free < pool.made.div_ceil(2))
    }

    /// Gives a message its name.
    pub fn name(&self, at: u16) -> Message {
        Message { block: at, life: self.blocks[usize::from(at)].life }
    }

    /// The block of a message that is with a task.
    pub fn held(&self, message: Message) -> Result<u16, MessageError> {
        let block = self.blocks.get(usize::from(message.block)).ok_or(MessageError::Invalid)?;
        match block.place {
            _ if block.life != message.life => Err(MessageError::Invalid),
            Place::Free => Err(MessageError::Invalid),
            Place::Held => Ok(message.block),
            Place::Queued(_) | Place::Away => Err(MessageError::Queued),
        }
    }

    /// Copies the bytes of a message to another, and its header.
    pub fn copy(&mut self, from: u16, to: u16) -> Result<(), NotThere> {
        let (from, to) = (usize::from(from), usize::from(to));
        let header = self.blocks[from].header;
        // Two places of one slice, apart.
        let (low, high) = self.blocks.split_at_mut(from.max(to));
        let (one, other) = (&mut low[from.min(to)], &mut high[0]);
        let (from, to) = if from < to { (one, other) } else { (other, one) };
        let buffers = from.buffer.as_ref().zip(to.buffer.as_mut());
        let (source, target) = buffers.ok_or(NotThere)?;
        if header.size > to.room {
            return Err(NotThere);
        }
        self.supply.copy(source, target, header.size as usize)?;
        to.header = header;
        Ok(())
    }
}
