//! Endpoints: messages between ports, and calls of functions on the other core.
//!
//! A [`Node`] opens ports and flows, finds peers, sends, receives, serves and waits. What acts on
//! one flow, channel or link is a method of a view of it: [`Node::flow`], [`Node::channel`] and
//! [`Node::link`] give one.
//!
//! Arguments come in one order: what is acted on, what is sent or where it goes, how, and the
//! deadline last. A deadline is a time from now; none is for as long as it takes. A call that waits
//! and is late says so with the `Deadline` of its error. A call that tries returns at once.

mod answer;
mod batch;
mod call;
mod channel;
mod control;
mod error_text;
mod flow;
mod frames;
mod function;
mod known;
#[cfg(feature = "library")]
mod library;
mod links;
mod loan;
mod look;
mod message;
mod node;
#[cfg(feature = "library")]
mod outlet;
mod packed;
mod payload;
mod pump;
mod queue;
mod receive;
mod response;
mod route;
mod serve;
mod switch;
mod view;
mod wait;

pub use call::CallError;
pub use channel::Channel;
pub use flow::{FlowError, FlowId};
pub use function::{Body, Failure, Function};
pub use loan::{Held, Loan};
pub use message::{Address, Message, Port, PortError, SendError};
pub use node::{Limits, LinkError, Node, NodeError};
#[cfg(feature = "library")]
#[doc(hidden)]
pub use outlet::{InPlace, Inlet, Outlet};
pub use payload::{Payload, Reserved};
pub use queue::Select;
pub use receive::{Lent, Received, What};
pub use response::Completed;
#[cfg(feature = "library")]
#[doc(hidden)]
pub use route::Route;
pub use serve::{ServeError, Served};
pub use view::{ChannelView, FlowView, LinkView};

use crate::driver;
pub use crate::memory::Arrival;
use crate::memory::{Block, Shared, Taken};
use crate::platform::Platform;
use crate::strategy::Strategy;

/// Bytes to read, wherever they are.
pub trait Source {
    /// How many there are.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Whether they are in a block of their sender, which can change them while they are read.
    fn in_place(&self) -> bool {
        false
    }
    /// Copies `to.len()` bytes from `at` on.
    ///
    /// # Errors
    /// [`Failure::Refused`] if they are not all there; what `to` holds then is not promised.
    fn read(&self, at: usize, to: &mut [u8]) -> Result<(), Failure>;
}

/// Bytes to make, wherever they go.
pub trait Sink {
    /// The most that fit.
    fn capacity(&self) -> usize;
    /// Writes bytes from `at` on. The result is as long as the furthest byte written.
    ///
    /// # Errors
    /// [`Failure::TooLong`] if they do not fit; nothing was written.
    fn write(&mut self, at: usize, from: &[u8]) -> Result<(), Failure>;
}

impl Source for [u8] {
    fn len(&self) -> usize {
        <[u8]>::len(self)
    }
    fn read(&self, at: usize, to: &mut [u8]) -> Result<(), Failure> {
        let part = at.checked_add(to.len()).and_then(|end| self.get(at..end));
        to.copy_from_slice(part.ok_or(Failure::Refused)?);
        Ok(())
    }
}

/// A private buffer being filled.
struct Buffer<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl Sink for Buffer<'_> {
    fn capacity(&self) -> usize {
        self.bytes.len()
    }
    fn write(&mut self, at: usize, from: &[u8]) -> Result<(), Failure> {
        let end = at.checked_add(from.len()).ok_or(Failure::TooLong)?;
        let part = self.bytes.get_mut(at..end).ok_or(Failure::TooLong)?;
        part.copy_from_slice(from);
        // What is left out must not show what the buffer held before: that was another peer's.
        if let Some(hole) = self.bytes.get_mut(self.len..at) {
            hole.fill(0);
        }
        self.len = self.len.max(end);
        Ok(())
    }
}

/// Part of a message that was taken and not released, read by its flow's driver.
struct Arrived<'a, P: Platform> {
    platform: &'a P,
    shared: &'a Shared<P>,
    strategy: &'a Strategy,
    taken: &'a Taken,
    start: u32,
    len: u32,
}

impl<P: Platform> Source for Arrived<'_, P> {
    fn len(&self) -> usize {
        self.len as usize
    }
    fn in_place(&self) -> bool {
        self.taken.descriptor.block.is_some()
    }
    fn read(&self, at: usize, to: &mut [u8]) -> Result<(), Failure> {
        let inside = at.checked_add(to.len()).is_some_and(|end| end <= self.len as usize);
        if !inside {
            return Err(Failure::Refused);
        }
        let at = self.start + at as u32;
        let read = driver::collect(self.platform, self.shared, self.strategy, self.taken, at, to);
        read.then_some(()).ok_or(Failure::Refused)
    }
}

/// A block of the own pool being filled.
struct Made<'a, P: Platform> {
    shared: &'a Shared<P>,
    block: Block,
    capacity: u32,
    len: u32,
}

impl<P: Platform> Sink for Made<'_, P> {
    fn capacity(&self) -> usize {
        self.capacity as usize
    }
    fn write(&mut self, at: usize, from: &[u8]) -> Result<(), Failure> {
        let end = at.checked_add(from.len()).filter(|end| *end <= self.capacity as usize);
        let end = end.ok_or(Failure::TooLong)?;
        self.len = self.len.max(end as u32);
        self.shared.write(self.block, at as u32, from).then_some(()).ok_or(Failure::TooLong)
    }
}
