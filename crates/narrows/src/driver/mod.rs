//! Drivers: how payload gets into shared memory and out of it again.
//!
//! How a message travels is its flow's [`Transfer`]: what this core copies, and what the copy
//! engine moves. How it is acknowledged is the flow's
//! [`Acknowledgement`](crate::strategy::Acknowledgement), carried in each descriptor.
//!
//! A connection that cuts signals into frames asks for less: [`Frames`].

pub mod area;
mod copy;
mod copy_engine;
mod frames;

pub use frames::{Frames, NoFrame, NotSent, NotThere};

use crate::memory::{Block, Corrupt, Descriptor, Kind, Placed, PoolError, Shared, Taken};
use crate::platform::Platform;
use crate::span::{Carried, Edge, Passage, Span};
use crate::strategy::{Strategy, Transfer};

/// What is to be sent.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'a> {
    /// Bytes in the sender's private memory.
    Bytes(&'a [u8]),
    /// Bytes already made in a block of the sender's pool.
    Block {
        /// The block.
        block: Block,
        /// Bytes in it.
        len: u32,
    },
}

/// Why a message could not be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DriverError {
    /// No free slot in the ring. Try again when the peer has taken something.
    RingFull,
    /// No free block that is large enough. Try again when the peer has returned one.
    PoolEmpty,
    /// Longer than any block of its placement; `limit` is the longest that fits.
    TooLong {
        /// Bytes.
        limit: u32,
    },
    /// The strategy wants a copy engine and this platform has none, or it failed.
    NoEngine,
    /// The peer broke the protocol; the link has to end.
    Corrupt(Corrupt),
}

impl core::fmt::Display for DriverError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            DriverError::RingFull => {
                f.write_str("the ring is full: try again when the peer has taken a message")
            }
            DriverError::PoolEmpty => {
                f.write_str("no block is free: try again when the peer has returned one")
            }
            DriverError::TooLong { limit } => {
                write!(f, "it is longer than the {limit} bytes of the longest block")
            }
            DriverError::NoEngine => f.write_str("there is no copy engine, or it failed"),
            DriverError::Corrupt(what) => write!(f, "the peer broke the protocol ({what})"),
        }
    }
}

impl core::error::Error for DriverError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            DriverError::Corrupt(what) => Some(what),
            _ => None,
        }
    }
}

fn fits_slot<P: Platform>(shared: &Shared<P>, bytes: &[u8]) -> bool {
    bytes.len() <= shared.pool().layout().in_slot() as usize
}

/// Tells the calls of one node apart in stamps: the flow and the call's number.
pub(crate) fn call_id(descriptor: &Descriptor) -> u32 {
    let flow = match descriptor.kind {
        Kind::Response => descriptor.target,
        _ => descriptor.source,
    };
    u32::from(flow) << 16 | u32::from(descriptor.tag)
}

/// What is noted of a message on its way over a link that the platform knows by this key.
#[must_use]
pub fn passage(link: u32, number: u32, descriptor: &Descriptor) -> Passage {
    let &Descriptor { kind, len: bytes, source, target, priority, tag, .. } = descriptor;
    let kind = match kind {
        Kind::Message => Carried::Message,
        Kind::Request => Carried::Request,
        Kind::Response => Carried::Response,
        Kind::Control => Carried::Control,
    };
    Passage { link, number, kind, bytes, source, target, priority, tag }
}

/// Fills a buffer with the first of these bytes; false if there are fewer.
pub(crate) fn fill(to: &mut [u8], bytes: &[u8]) -> bool {
    bytes.get(..to.len()).is_some_and(|bytes| {
        to.copy_from_slice(bytes);
        true
    })
}

/// Sends one message: places the payload, publishes the descriptor, rings if the peer sleeps. `key`
/// is the platform's name for the link.
///
/// # Errors
/// See [`DriverError`]; nothing was sent.
#[inline]
pub fn send<P: Platform>(
    platform: &P,
    key: u32,
    shared: &mut Shared<P>,
    strategy: &Strategy,
    descriptor: Descriptor,
    payload: Payload<'_>,
) -> Result<(), DriverError> {
    let id = call_id(&descriptor);
    let request = descriptor.kind == Kind::Request;
    platform.stamp(Span::Driver, Edge::Enter, id);
    if request {
        platform.stamp(Span::PhaseA, Edge::Enter, id);
    }
    let placed = place(platform, shared, strategy, payload);
    if request {
        platform.stamp(Span::PhaseA, Edge::Leave, id);
    }
    let sent = placed.map(|placed| {
        if request {
            platform.stamp(Span::PhaseB, Edge::Enter, id);
        }
        platform.stamp(Span::Memory, Edge::Enter, id);
        if descriptor.kind == Kind::Response {
            // Before it is published: the caller may be through with it sooner than this core
            // comes to its next stamp.
            platform.stamp(Span::PhaseC, Edge::Leave, id);
            platform.stamp(Span::PhaseD, Edge::Enter, id);
        }
        if platform.tracing() {
            // Before it is published, as above: no receiver has it sooner than it is sent.
            let descriptor = Descriptor { len: placed.len(), ..descriptor };
            let number = shared.tx.sent().wrapping_add(1);
            platform.note_sent(passage(key, number, &descriptor), &mut |to| match placed {
                Placed::InSlot(bytes) => fill(to, bytes),
                Placed::Block { block, .. } => shared.read_back(block, 0, to),
            });
        }
        shared.publish(descriptor, placed);
        platform.stamp(Span::Memory, Edge::Leave, id);
        shared.ring_if_armed(platform);
        if request {
            platform.stamp(Span::PhaseB, Edge::Leave, id);
        }
    });
    platform.stamp(Span::Driver, Edge::Leave, id);
    sent
}

/// Brings a payload to where it can be published, if there is room to publish it.
#[inline]
fn place<'a, P: Platform>(
    platform: &P,
    shared: &mut Shared<P>,
    strategy: &Strategy,
    payload: Payload<'a>,
) -> Result<Placed<'a>, DriverError> {
    let with_block = match payload {
        Payload::Bytes(bytes) => !fits_slot(shared, bytes),
        Payload::Block { .. } => true,
    };
    if !shared.room(with_block).map_err(DriverError::Corrupt)? {
        return Err(DriverError::RingFull);
    }
    match strategy.transfer {
        Transfer::CopyEngine => copy_engine::place(platform, shared, strategy, payload),
        Transfer::Copy | Transfer::SingleCopy | Transfer::InPlace => {
            copy::place(shared, strategy, payload)
        }
    }
}

/// Copies part of a taken message to private memory with the driver of the strategy. False if the
/// part is not there.
#[inline]
pub fn collect<P: Platform>(
    platform: &P,
    shared: &Shared<P>,
    strategy: &Strategy,
    taken: &Taken,
    at: u32,
    to: &mut [u8],
) -> bool {
    match strategy.transfer {
        Transfer::CopyEngine => copy_engine::collect(platform, shared, strategy, taken, at, to),
        Transfer::Copy | Transfer::SingleCopy | Transfer::InPlace => {
            copy::collect(shared, taken, at, to)
        }
    }
}

/// Takes a block for `len` bytes.
///
/// # Errors
/// See [`DriverError`].
pub fn take_block<P: Platform>(
    shared: &mut Shared<P>,
    strategy: &Strategy,
    len: u32,
) -> Result<Block, DriverError> {
    shared.take_block(strategy.placement, len).map_err(DriverError::Corrupt)?.map_err(|e| match e {
        PoolError::Empty => DriverError::PoolEmpty,
        PoolError::TooLong { limit } => DriverError::TooLong { limit },
    })
}
