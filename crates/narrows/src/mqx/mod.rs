//! Messages in the terms of MQX: pools, queues whose ids name processor and queue, and routes.
//!
//! ```text
//!   task ─ alloc, send ─┬─────────────► queue ─────────────► receive ─ task
//!                       └─► relay ─ link ─► relay ─ link ─► queue ─┘
//! ```
//!
//! A [`Processor`] has pools and queues, and up to [`LINKS`] links to adjacent ones. A send to a
//! queue here passes the message itself and copies nothing. A send to another processor is the same
//! call: the message waits in the queue of the link that leads there, and the IPC service
//! ([`Processor::serve`]) sends it, frees it, and receives what comes into a pool of its own. A
//! message that is received may be freed, or sent on as it is.
//!
//! A [`Message`] is a name, which may be copied: a task that uses one that was freed or sent gets
//! an error. Whether a message arrives: a send to a queue here fails if it is closed or full.
//! Behind a link nobody waits for a queue: a message that finds it closed or full, or the pool
//! empty, is dropped and [counted](Counts) there. Everything else that can keep a message from its
//! target is counted too.
//!
//! Nothing here waits, allocates or calls back: what runs it waits, and asks for
//! [notices](Processor::notice).
//!
//! [`LINKS`]: crate::link::route::LINKS

mod count;
mod error;
mod frame;
mod header;
mod hear;
mod id;
mod ipc;
mod pool;
mod queue;
mod send;
mod speak;
mod task;

pub use count::Counts;
pub use error::{MessageError, PoolError, QueueError, SendError};
pub use frame::{Broken, Frame, LONGEST};
pub use header::{Control, Header};
pub use id::{Message, PoolId, QueueId, Task};
pub use ipc::{Ended, Left};
pub use pool::Supply;
pub use send::Broadcast;

use crate::link::route::{HOPS, LINKS, NONE, Relay, Row, Seen, Slot, Table};
use crate::platform::NoStorage;
use ipc::Link;
use pool::Pools;
use queue::Queue;

/// How large a processor's tables are, and what it agrees with its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Messages of all pools, at most 65534; those of the IPC service included.
    pub messages: u16,
    /// Pools; the IPC service has one of them.
    pub pools: u16,
    /// Queues, which have the numbers from 1 on; at most 255.
    pub queues: u8,
    /// The highest number of a processor that this one exchanges messages with.
    pub processors: u8,
    /// Bytes of the longest message that comes over a link.
    pub longest: u32,
    /// Hops of a message, at most [`HOPS`]: the same on all processors.
    pub hops: u8,
    /// Messages on their way that a link has room for, for each number of hops that they have made:
    /// 1 to 1024.
    pub quota: u16,
    /// Messages of this processor that wait for links, or for their neighbours to take them.
    pub outgoing: u16,
    /// Messages that came over links and were neither freed nor sent on.
    pub delivered: u16,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            messages: 1024,
            pools: 16,
            queues: 255,
            processors: 255,
            longest: 4096,
            hops: 6,
            quota: 4,
            outgoing: 64,
            delivered: 64,
        }
    }
}

impl Limits {
    /// Messages in the IPC service's pool, on a processor with this number of links.
    #[must_use]
    pub fn service(&self, links: usize) -> usize {
        links * usize::from(self.hops) * usize::from(self.quota) + usize::from(self.delivered)
    }
}

/// One processor: its pools and queues, and the IPC service. `N` is what owners of queues are told
/// with.
pub struct Processor<S: Supply, N> {
    number: u8,
    life: u64,
    limits: Limits,
    pools: Pools<S>,
    queues: S::Slice<Option<Queue<N>>>,
    untold: bool,
    table: Table,
    relay: Relay<u16, S::Slice<Slot<u16>>>,
    links: [Link; LINKS],
    /// Messages for which no link is up.
    stranded: Row,
    /// The IPC service's pool.
    service: PoolId,
    /// Messages of that pool that were delivered and not freed since.
    delivered: u16,
    /// Messages of this processor in the relay.
    outgoing: u16,
    /// The next number of a message to each processor.
    numbers: S::Slice<u32>,
    seen: S::Slice<Seen>,
    counts: Counts,
}

/// Why a processor was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoProcessor {
    /// Its number is 0 or over [`Limits::processors`].
    Number,
    /// There is no storage for its tables.
    Storage,
    /// There is no memory for the messages of the IPC service, or fewer of them than it needs.
    Messages,
}

impl core::fmt::Display for NoProcessor {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            NoProcessor::Number => "a processor's number is from 1 to its limit for processors",
            NoProcessor::Storage => "there is no storage for the processor's tables",
            NoProcessor::Messages => {
                "the IPC service has too few messages: allow more, or fewer hops or less quota"
            }
        })
    }
}

impl core::error::Error for NoProcessor {}

impl From<NoStorage> for NoProcessor {
    fn from(_: NoStorage) -> NoProcessor {
        NoProcessor::Storage
    }
}

impl<S: Supply, N: Clone> Processor<S, N> {
    /// A processor with its routes (`_msg_create_component`). Its `life` tells it from those that
    /// had its number before: a higher number, such as the time.
    ///
    /// # Errors
    /// See [`NoProcessor`].
    pub fn new(
        mut supply: S,
        (number, life): (u8, u64),
        table: Table,
        limits: Limits,
    ) -> Result<Self, NoProcessor> {
        if number == 0 || number > limits.processors {
            return Err(NoProcessor::Number);
        }
        let limits = Limits {
            hops: limits.hops.clamp(1, HOPS as u8),
            quota: limits.quota.clamp(1, 1 << 10),
            ..limits
        };
        let links = (0..LINKS).take_while(|&link| table.neighbour(link).is_some()).count();
        let service = limits.service(links);
        let places = service - usize::from(limits.delivered) + usize::from(limits.outgoing);
        let processors = usize::from(limits.processors) + 1;
        let slots = supply.storage(places, |_| Slot::FREE)?;
        let queues = supply.storage(usize::from(limits.queues), |_| None)?;
        let numbers = supply.storage(processors, |_| 0)?;
        let seen = supply.storage(processors, |_| Seen::NOTHING)?;
        let mut pools = Pools::new(supply, limits.messages, limits.pools)?;
        let all = u16::try_from(service).map_err(|_| NoProcessor::Messages)?;
        let made = pools.create(limits.longest, (all, 0, all.max(1)), false);
        Ok(Processor {
            number,
            life,
            limits,
            service: made.map_err(|_| NoProcessor::Messages)?,
            pools,
            queues,
            untold: false,
            table,
            relay: Relay::new(slots, limits.hops, limits.quota),
            links: [Link::DOWN; LINKS],
            stranded: Row::EMPTY,
            delivered: 0,
            outgoing: 0,
            numbers,
            seen,
            counts: Counts::default(),
        })
    }

    /// Its number.
    pub fn number(&self) -> u8 {
        self.number
    }

    /// What it has done so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Makes a pool of `initial` messages of this many bytes (`_msgpool_create`). It grows by
    /// `grow` when it is empty, up to `limit`; without end, if that is 0.
    ///
    /// # Errors
    /// See [`PoolError`].
    pub fn create_pool(
        &mut self,
        bytes: u32,
        initial: u16,
        grow: u16,
        limit: u16,
    ) -> Result<PoolId, PoolError> {
        self.pools.create(bytes, (initial, grow, limit), false)
    }

    /// The same for all tasks, which do not name it (`_msgpool_create_system`).
    ///
    /// # Errors
    /// See [`PoolError`].
    pub fn create_system_pool(
        &mut self,
        bytes: u32,
        initial: u16,
        grow: u16,
        limit: u16,
    ) -> Result<(), PoolError> {
        self.pools.create(bytes, (initial, grow, limit), true).map(|_| ())
    }

    /// Ends a pool that [`Processor::create_pool`] made (`_msgpool_destroy`). All its messages must
    /// be free: none with a task, in a queue or on its way. Its place and its memory are free then.
    ///
    /// # Errors
    /// [`PoolError::Unknown`] or [`PoolError::InUse`].
    pub fn destroy_pool(&mut self, pool: PoolId) -> Result<(), PoolError> {
        if pool == self.service {
            return Err(PoolError::Unknown);
        }
        self.pools.destroy(pool)
    }

    /// Takes a message of a pool (`_msg_alloc`). Its header says its size and nothing else.
    ///
    /// # Errors
    /// [`PoolError::Unknown`] or [`PoolError::Empty`].
    pub fn alloc(&mut self, pool: PoolId) -> Result<Message, PoolError> {
        if pool == self.service {
            return Err(PoolError::Unknown);
        }
        self.pools.take(pool).map(|at| self.pools.name(at))
    }

    /// Takes the smallest message of the system pools that has `bytes` bytes (`_msg_alloc_system`).
    /// Its header has that size.
    ///
    /// # Errors
    /// [`PoolError::Empty`].
    pub fn alloc_system(&mut self, bytes: u32) -> Result<Message, PoolError> {
        let at = self.pools.take_system(bytes)?;
        self.pools.blocks[usize::from(at)].header.size = bytes;
        Ok(self.pools.name(at))
    }

    /// Puts a message back into its pool (`_msg_free`).
    ///
    /// # Errors
    /// See [`MessageError`].
    pub fn free(&mut self, message: Message) -> Result<(), MessageError> {
        let at = self.pools.held(message)?;
        self.put(at);
        Ok(())
    }

    /// Messages of a pool that are free (`_msg_available`).
    pub fn available(&self, pool: PoolId) -> Option<u16> {
        self.pools.free(pool)
    }

    /// Messages of all system pools that are free.
    pub fn available_system(&self) -> u32 {
        self.pools.free_in_system()
    }

    /// The header of a message that the caller has.
    ///
    /// # Errors
    /// See [`MessageError`].
    pub fn header(&self, message: Message) -> Result<Header, MessageError> {
        let at = self.pools.held(message)?;
        Ok(self.pools.blocks[usize::from(at)].header)
    }

    /// The header of a message that the caller has, to be changed. It is checked when the message
    /// is sent.
    ///
    /// # Errors
    /// See [`MessageError`].
    pub fn header_mut(&mut self, message: Message) -> Result<&mut Header, MessageError> {
        let at = self.pools.held(message)?;
        Ok(&mut self.pools.blocks[usize::from(at)].header)
    }

    /// The memory of a message that the caller has.
    ///
    /// # Errors
    /// See [`MessageError`].
    pub fn buffer(&mut self, message: Message) -> Result<&mut S::Buffer, MessageError> {
        let at = self.pools.held(message)?;
        self.pools.blocks[usize::from(at)].buffer.as_mut().ok_or(MessageError::Invalid)
    }

    /// Takes a block out of whatever it was in, and back into its pool.
    fn put(&mut self, at: u16) {
        let block = &mut self.pools.blocks[usize::from(at)];
        match block.trip.came.take() {
            Some(link) => self.relay.free(usize::from(link), block.trip.hops),
            None if block.pool == self.service.at => self.delivered -= 1,
            None => {}
        }
        self.pools.put(at);
    }

    /// The queue of an id, if it is one of this processor.
    fn place(&self, id: QueueId) -> Option<usize> {
        let here = id.processor() == 0 || id.processor() == self.number;
        let at = usize::from(id.queue()).checked_sub(1)?;
        (here && self.queues.get(at)?.is_some()).then_some(at)
    }

    /// Puts a block into an open queue that is not full.
    fn enqueue(&mut self, queue: usize, at: u16) {
        if let Some(Some(queue_)) = self.queues.get_mut(queue) {
            queue_.push(queue as u16, &mut self.pools.blocks, at);
            self.untold |= queue_.untold > 0;
        }
    }
}

/// A block's number as an index.
fn index(at: u16) -> usize {
    debug_assert_ne!(at, NONE);
    usize::from(at)
}
