//! Blocks that give themselves back: one to make a payload in, and one that a payload came in.
#![allow(unsafe_code)]

use core::ops::Deref;
use core::time::Duration;

use super::payload::Reserved;
use super::{Failure, FlowId, Lent, Message, Node, Port, Received, SendError};
use crate::platform::{Memory as _, OwnMemory as _, Platform};

/// A block of a flow's own pool to make a payload in. Dropped before it is sent it goes back to the
/// pool.
pub struct Loan<'a, P: Platform> {
    node: &'a mut Node<P>,
    flow: FlowId,
    /// None once it was sent.
    reserved: Option<Reserved>,
}

/// A received message whose payload stays where its sender made it, and goes back to it when this
/// is dropped.
pub struct Held<'a, P: Platform> {
    node: &'a mut Node<P>,
    /// None once it was released.
    lent: Option<Lent>,
    received: Received,
}

/// Received messages that give themselves back.
impl<P: Platform> Node<P> {
    /// See [`FlowView::loan`](super::FlowView::loan).
    pub(super) fn loan(
        &mut self,
        flow: FlowId,
        len: usize,
        within: Option<Duration>,
    ) -> Result<Loan<'_, P>, SendError> {
        let mut deadline = None;
        loop {
            match self.reserve(flow, len) {
                Ok(reserved) => {
                    return Ok(Loan { node: self, flow, reserved: Some(reserved) });
                }
                Err(SendError::PoolEmpty) => {}
                Err(error) => return Err(error),
            }
            if deadline.is_none() {
                deadline = self.deadline(within);
            }
            if self.passed(deadline) {
                return Err(SendError::Deadline);
            }
            let link = self.flow_link(flow).ok_or(SendError::Unknown)?;
            self.wait_on(link, self.agreed(), deadline);
        }
    }

    /// Holds a received message until the value is dropped. To hold one while the node does
    /// something else, keep it as it is and [release](Node::release) it.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) -> Result<(), PortError> {
    /// let received = node.receive(1, &Select::default(), None)?;
    /// let held = node.hold(received);
    /// let mut first = [0; 4];
    /// let read = held.read(0, &mut first);
    /// # let _ = read;
    /// // Its block goes back here.
    /// drop(held);
    /// # Ok(()) }
    /// ```
    pub fn hold(&mut self, lent: Lent) -> Held<'_, P> {
        Held { node: self, received: *lent, lent: Some(lent) }
    }
}

/// Where payloads are, for this and for libraries that hand out memory.
impl<P: Platform> Node<P> {
    /// As [`Loan::bytes`], of a block that was [reserved](super::FlowView::reserve) and is not a
    /// loan that keeps the node.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), SendError> {
    /// let mut reserved = node.flow(flow).reserve(8)?;
    /// // SAFETY: it is of this node.
    /// if let Some(bytes) = unsafe { node.reserved_bytes(&mut reserved) } {
    ///     bytes.fill(7);
    /// }
    /// node.flow(flow).send(1, &mut reserved, None)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Safety
    /// The block was reserved of this node, not of another.
    pub unsafe fn reserved_bytes(&mut self, reserved: &mut Reserved) -> Option<&mut [u8]> {
        let shared = &mut self.links.get_mut(reserved.link)?.shared;
        let (offset, _) = shared.own_block(reserved.block?)?;
        // SAFETY: the pool, this node's as the caller promises, handed the block out to `reserved`,
        // which the caller has alone, as it has the node: until the slice ends no one else reads or
        // writes the block here. The peer reads it only after it was sent.
        unsafe { shared.own_mut().slice_mut(offset, reserved.len) }
    }

    /// As [`Held::trusted`], of a message that is not held in a value that keeps the node.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) -> Result<(), PortError> {
    /// let received = node.receive(1, &Select::default(), None)?;
    /// // SAFETY: the peer is of this program, and writes to nothing that it has sent.
    /// let length = unsafe { node.lent_bytes(&received) }.map(<[u8]>::len);
    /// # let _ = length;
    /// node.release(received);
    /// # Ok(()) }
    /// ```
    ///
    /// # Safety
    /// As for [`Held::trusted`].
    pub unsafe fn lent_bytes(&self, lent: &Lent) -> Option<&[u8]> {
        let offset = self.with_taken(lent, |arrived| {
            let block = arrived.taken.descriptor.block?;
            Some(arrived.shared.theirs().block(block)?.0)
        })??;
        let shared = &self.links.get(lent.from.link)?.shared;
        // SAFETY: the caller vouches for the peer. The block is not given back while `lent` is
        // borrowed, as that takes it by value.
        unsafe { shared.peer().slice(offset, u32::try_from(lent.len).ok()?) }
    }
}

impl<P: Platform> Loan<'_, P> {
    /// Bytes of the payload.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), SendError> {
    /// let loan = node.flow(flow).loan(1000, None)?;
    /// assert_eq!(loan.len(), 1000);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.reserved.as_ref().map_or(0, Reserved::len)
    }

    /// Whether it has none.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), SendError> {
    /// assert!(node.flow(flow).loan(0, None)?.is_empty());
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes bytes of the payload from `at` on. What is not written holds what an earlier payload
    /// of this node left there.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), SendError> {
    /// let mut loan = node.flow(flow).loan(8, None)?;
    /// assert_eq!(loan.write(0, &[7; 8]), Ok(()));
    /// assert_eq!(loan.write(1, &[7; 8]), Err(Failure::TooLong));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Failure::TooLong`] if they do not fit, or the link was closed.
    pub fn write(&mut self, at: usize, from: &[u8]) -> Result<(), Failure> {
        let reserved = self.reserved.as_mut().ok_or(Failure::TooLong)?;
        self.node.write(reserved, at, from)
    }

    /// The payload's bytes, where the platform has them in memory that can be written like any
    /// other; none where it has not, or the link was closed.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), SendError> {
    /// let mut loan = node.flow(flow).loan(8, None)?;
    /// match loan.bytes() {
    ///     Some(bytes) => bytes.fill(7),
    ///     None => _ = loan.write(0, &[7; 8]),
    /// }
    /// # Ok(()) }
    /// ```
    pub fn bytes(&mut self) -> Option<&mut [u8]> {
        // SAFETY: it was reserved of this node.
        unsafe { self.node.reserved_bytes(self.reserved.as_mut()?) }
    }

    /// Sends the payload from a port, to where the flow leads, and waits until there is room.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), SendError> {
    /// let mut loan = node.flow(flow).loan(8, None)?;
    /// let written = loan.write(0, b"a frame.");
    /// # let _ = written;
    /// loan.send(1, None)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`SendError`]. The block has gone back to the pool then.
    pub fn send(mut self, from: Port, within: Option<Duration>) -> Result<(), SendError> {
        let Some(reserved) = self.reserved.as_mut() else { return Err(SendError::NotReserved) };
        self.node.send_over(self.flow, from, Message::new(reserved), within)
    }

    /// Starts a call with the payload as its request, if there is room now. Gives the call's
    /// number, as [`FlowView::start`](super::FlowView::start) does.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), SendError> {
    /// let call = node.flow(flow).loan(8, None)?.start()?;
    /// # let _ = call;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`SendError`]. The block has gone back to the pool then.
    pub fn start(mut self) -> Result<u16, SendError> {
        let Some(reserved) = self.reserved.as_mut() else { return Err(SendError::NotReserved) };
        self.node.start(self.flow, reserved)
    }
}

impl<P: Platform> Drop for Loan<'_, P> {
    fn drop(&mut self) {
        if let Some(reserved) = self.reserved.take() {
            self.node.cancel(reserved);
        }
    }
}

impl<P: Platform> Held<'_, P> {
    /// Copies `to.len()` bytes of the payload from `at` on. Whatever a peer does meanwhile, they
    /// are bytes that were there.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(held: &Held<'_, P>) -> Result<(), Failure> {
    /// let mut first = [0; 4];
    /// held.read(0, &mut first)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Failure::Refused`] if they are not all there, or the link was closed.
    pub fn read(&self, at: usize, to: &mut [u8]) -> Result<(), Failure> {
        self.lent.as_ref().map_or(Err(Failure::Refused), |lent| self.node.read(lent, at, to))
    }

    /// The payload's bytes where they are; none where the platform has them in no memory that can
    /// be read like any other, for a payload that travelled in its slot, and where the link was
    /// closed.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(held: &Held<'_, P>) -> Result<(), Failure> {
    /// // SAFETY: the peer is of this program, and writes to nothing that it has sent.
    /// let first = unsafe { held.trusted() }.and_then(|bytes| bytes.first());
    /// # let _ = first;
    /// # Ok(()) }
    /// ```
    ///
    /// # Safety
    /// The caller vouches for the peer: until the slice ends it writes nothing to a block that it
    /// has sent and not got back. A peer that does makes what this program does undefined. A peer
    /// of this library keeps to it; another process of the same user need not be one.
    #[must_use]
    pub unsafe fn trusted(&self) -> Option<&[u8]> {
        // SAFETY: as was promised of this function. The block is not given back while `self` is
        // borrowed, as that takes it by value.
        unsafe { self.node.lent_bytes(self.lent.as_ref()?) }
    }
}

impl<P: Platform> Deref for Held<'_, P> {
    type Target = Received;

    fn deref(&self) -> &Received {
        &self.received
    }
}

impl<P: Platform> Drop for Held<'_, P> {
    fn drop(&mut self) {
        if let Some(lent) = self.lent.take() {
            self.node.release(lent);
        }
    }
}
