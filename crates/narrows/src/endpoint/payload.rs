//! What a call or a message carries, and making it where it will be sent from.

use super::{Failure, FlowId, Node, SendError};
use crate::driver;
use crate::link::LinkId;
use crate::memory::Block;
use crate::platform::Platform;

/// A block of the own pool in which a payload is being made, so that nothing has to be copied in.
/// For programs that do something else with the node meanwhile: a [`Loan`](super::Loan) keeps the
/// node and gives itself back.
#[derive(Debug)]
#[must_use = "a block that is neither sent nor cancelled stays in use"]
pub struct Reserved {
    pub(super) link: LinkId,
    pub(super) block: Option<Block>,
    pub(super) len: u32,
}

impl Reserved {
    /// Bytes reserved.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }
    /// Whether nothing can be written: it was sent or cancelled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.block.is_none()
    }
}

/// What a call or a message carries.
#[derive(Debug)]
#[non_exhaustive]
pub enum Payload<'a> {
    /// Bytes in private memory; the flow's driver brings them into the pool.
    Bytes(&'a [u8]),
    /// What was made in a reserved block. It is sent by a call that succeeds, and stays reserved
    /// if one fails.
    Reserved(&'a mut Reserved),
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for Payload<'a> {
    fn from(bytes: &'a T) -> Payload<'a> {
        Payload::Bytes(bytes.as_ref())
    }
}
impl<'a> From<&'a mut Reserved> for Payload<'a> {
    fn from(reserved: &'a mut Reserved) -> Payload<'a> {
        Payload::Reserved(reserved)
    }
}

impl Payload<'_> {
    pub(super) fn driven(&self, link: LinkId) -> Option<driver::Payload<'_>> {
        match self {
            Payload::Bytes(bytes) => Some(driver::Payload::Bytes(bytes)),
            Payload::Reserved(r) => (r.link == link)
                .then_some(())
                .and(r.block)
                .map(|block| driver::Payload::Block { block, len: r.len }),
        }
    }
    pub(super) fn spent(&mut self) {
        if let Payload::Reserved(reserved) = self {
            reserved.block = None;
        }
    }
}

/// Payloads that are made where they are sent from.
impl<P: Platform> Node<P> {
    /// See [`FlowView::reserve`](super::FlowView::reserve).
    pub(super) fn reserve(&mut self, flow: FlowId, len: usize) -> Result<Reserved, SendError> {
        let found = self.get_flow(flow).ok_or(SendError::Unknown)?;
        let (link, strategy) = (found.link, found.strategy);
        if let Some(reason) = self.gone(link) {
            return Err(SendError::Gone(reason));
        }
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        let shared = &mut self.links.get_mut(link).ok_or(SendError::Unknown)?.shared;
        let taken = driver::take_block(shared, &strategy, len);
        let block = taken.map_err(|error| self.not_sent(link, error))?;
        Ok(Reserved { link, block: Some(block), len })
    }

    /// Writes to a reserved block.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), SendError> {
    /// let mut reserved = node.flow(flow).reserve(8)?;
    /// assert_eq!(node.write(&mut reserved, 0, &[7; 8]), Ok(()));
    /// assert_eq!(node.write(&mut reserved, 1, &[7; 8]), Err(Failure::TooLong));
    /// node.flow(flow).send(1, &mut reserved, None)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Failure::TooLong`] if that is outside it, it has been sent, or the link was closed.
    #[inline]
    pub fn write(
        &mut self,
        reserved: &mut Reserved,
        at: usize,
        from: &[u8],
    ) -> Result<(), Failure> {
        let block = reserved.block.ok_or(Failure::TooLong)?;
        let inside = at.checked_add(from.len()).is_some_and(|end| end <= reserved.len as usize);
        let link = self.links.get(reserved.link).filter(|_| inside);
        let written = link.is_some_and(|link| link.shared.write(block, at as u32, from));
        written.then_some(()).ok_or(Failure::TooLong)
    }

    /// Gives a reserved block back that is not wanted after all.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), SendError> {
    /// let reserved = node.flow(flow).reserve(8)?;
    /// node.cancel(reserved);
    /// # Ok(()) }
    /// ```
    pub fn cancel(&mut self, mut reserved: Reserved) {
        if let (Some(block), Some(link)) =
            (reserved.block.take(), self.links.get_mut(reserved.link))
        {
            link.shared.put_back(block);
        }
    }
}
