//! Receiving messages, and notices of peers that are gone.

use core::ops::Deref;
use core::time::Duration;

use super::look::More;
use super::packed::Packed;
use super::{Address, Arrived, Failure, Node, Port, PortError, Select, Source};
use crate::link::{EntryId, LinkId};
use crate::memory::Kind;
use crate::platform::{Instant, Lost, Platform, Woken};

/// What an endpoint received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// A message.
    Message,
    /// The port this endpoint sent to is not open; `port` and `tag` are the refused message's.
    Refused,
    /// The peer of an attached link is gone.
    PeerGone(Lost),
}

/// What is known of something received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// What it is.
    pub what: What,
    /// The link it came over and the port it was sent from.
    pub from: Address,
    /// Payload bytes.
    pub len: usize,
    /// 0 is the most urgent, 7 the least.
    pub priority: u8,
    /// The sender's mark.
    pub tag: u16,
}

impl Received {
    /// The same, copied by its parts: copied as a whole, it is read in pieces larger than those
    /// that were stored, and such a load waits until the stores before it have left the store
    /// buffer.
    #[inline(always)]
    fn by_parts(&self) -> Received {
        let Received { what, from: Address { link, port }, len, priority, tag } = *self;
        let link = LinkId { index: link.index, life: link.life };
        Received { what, from: Address { link, port }, len, priority, tag }
    }

    /// The payload, in the buffer that it was received into: as much of it as fitted there.
    ///
    /// ```
    /// # use narrows::endpoint::{Address, Received, What};
    /// # use narrows::link::LinkId;
    /// # let from = Address { link: LinkId::NONE, port: 1 };
    /// # let received = Received { what: What::Message, from, len: 5, priority: 4, tag: 0 };
    /// # let (large, small) = (*b"hello, world", *b"hel");
    /// assert_eq!(received.bytes(&large), b"hello");
    /// assert_eq!(received.bytes(&small), b"hel");
    /// ```
    #[must_use]
    pub fn bytes<'a>(&self, buffer: &'a [u8]) -> &'a [u8] {
        buffer.get(..self.len).unwrap_or(buffer)
    }
}

/// A received message whose payload is still the sender's, which cannot use that block again until
/// the message is [released](Node::release). For programs that do something else with the node
/// meanwhile: what is [held](Node::hold) keeps the node and gives itself back.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a message that is not released keeps its sender's block"]
pub struct Lent {
    received: Received,
    at: EntryId,
    life: u32,
}

impl Deref for Lent {
    type Target = Received;

    fn deref(&self) -> &Received {
        &self.received
    }
}

/// What a receive has waited for so far.
#[derive(Default)]
struct Waited {
    /// It has looked for a moment.
    glanced: bool,
    /// Its deadline, if it has waited, and if it has one.
    until: Option<Option<Instant>>,
}

/// Receiving.
impl<P: Platform> Node<P> {
    /// The next message of an endpoint that is meant, if one is there: the most urgent first, then
    /// the earliest. It looks at the rings alone: a program that never waits [polls](Node::poll)
    /// now and then, so that new and lost links are seen.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) -> Result<(), PortError> {
    /// while let Some(received) = node.try_receive(1, &Select::default())? {
    ///     node.release(received);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`PortError::Closed`].
    pub fn try_receive(&mut self, port: Port, select: &Select) -> Result<Option<Lent>, PortError> {
        if *select != Select::default() || !self.comes_first(port) {
            self.pump();
        }
        let endpoint = self.endpoints.get_mut(usize::from(port)).and_then(Option::as_mut);
        let endpoint = endpoint.ok_or(PortError::Closed)?;
        let Some(at) = endpoint.queue.pop(&mut self.links, select) else { return Ok(None) };
        super::look::receipt(&self.platform, port);
        self.used(at);
        Ok(self.lent(at))
    }

    /// The next message of an endpoint that is meant, waiting for it until the deadline.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) -> Result<(), PortError> {
    /// let marked = Select { first_tag: Some(7), last_tag: Some(7), ..Select::default() };
    /// let received = node.receive(1, &marked, None)?;
    /// node.release(received);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`PortError::Closed`], [`PortError::Deadline`] or [`PortError::Forked`].
    pub fn receive(
        &mut self,
        port: Port,
        select: &Select,
        within: Option<Duration>,
    ) -> Result<Lent, PortError> {
        self.until_received(within, |node| node.try_receive(port, select))
    }

    #[inline]
    pub(super) fn until_received<R>(
        &mut self,
        within: Option<Duration>,
        mut attempt: impl FnMut(&mut Self) -> Result<Option<R>, PortError>,
    ) -> Result<R, PortError> {
        let mut waited = Waited::default();
        loop {
            let result = attempt(self);
            if !matches!(result, Ok(None)) || !self.wait_to_look(within, &mut waited) {
                self.links.watched = false;
                return result?.ok_or(self.ended_in_vain());
            }
        }
    }

    /// Behind a look in vain: looks for a moment whether a message comes and, from the second time
    /// on, waits for one. False if the deadline had passed before that look.
    #[inline(never)]
    fn wait_to_look(&mut self, within: Option<Duration>, waited: &mut Waited) -> bool {
        self.links.watched = false;
        if !core::mem::replace(&mut waited.glanced, true) && self.glance_within(within) {
            self.links.watched = true;
            return true;
        }
        let deadline = match waited.until {
            None => *waited.until.insert(self.deadline(within)),
            Some(deadline) if self.passed(deadline) => return false,
            Some(deadline) => deadline,
        };
        // Before the wait: behind it every look costs the message that ended it.
        if !self.attend() {
            if self.platform.is_copy() {
                return false;
            }
            self.links.watched = self.wait(self.agreed(), deadline, None) == Woken::Word;
        }
        true
    }

    fn lent(&self, at: EntryId) -> Option<Lent> {
        let link = self.links.at(at.link)?;
        let taken = link.inbox.get(at.entry)?.taken.as_ref()?;
        let d = &taken.descriptor;
        let what = match d.kind {
            Kind::Control if taken.in_slot.first() == Some(&Self::NOTICE) => {
                What::PeerGone(link.lost.unwrap_or(Lost::Died))
            }
            Kind::Control => What::Refused,
            _ => What::Message,
        };
        let from = Address { link: self.links.id(at.link)?, port: d.source };
        let (len, priority, tag) = (d.len as usize, d.priority, d.tag);
        let received = Received { what, from, len, priority, tag };
        Some(Lent { received, at, life: link.life })
    }

    /// Copies part of a message's payload.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) -> Result<(), PortError> {
    /// let received = node.receive(1, &Select::default(), None)?;
    /// let mut first = [0; 4];
    /// let read = node.read(&received, 0, &mut first);
    /// node.release(received);
    /// # let _ = read;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Failure::Refused`] if it is not all there, or the link was closed.
    pub fn read(&self, lent: &Lent, at: usize, to: &mut [u8]) -> Result<(), Failure> {
        self.with_taken(lent, |arrived| arrived.read(at, to)).unwrap_or(Err(Failure::Refused))
    }

    /// Hands a message's payload to `reader` where it is. None if the link was closed.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) -> Result<(), PortError> {
    /// let received = node.receive(1, &Select::default(), None)?;
    /// let bytes = node.read_in_place(&received, |payload| payload.len());
    /// node.release(received);
    /// # let _ = bytes;
    /// # Ok(()) }
    /// ```
    pub fn read_in_place<R>(
        &self,
        lent: &Lent,
        reader: impl FnOnce(&dyn Source) -> R,
    ) -> Option<R> {
        self.with_taken(lent, |arrived| reader(arrived))
    }

    pub(super) fn with_taken<R>(
        &self,
        lent: &Lent,
        f: impl FnOnce(&Arrived<'_, P>) -> R,
    ) -> Option<R> {
        let link = self.links.at(lent.at.link).filter(|link| link.life == lent.life)?;
        let taken = link.inbox.get(lent.at.entry)?.taken.as_ref()?;
        let port = usize::from(taken.descriptor.target);
        let agreed = self.endpoints.get(port).and_then(Option::as_ref);
        let strategy = agreed.map_or(&self.strategy, |endpoint| &endpoint.strategy);
        Some(f(&Arrived {
            platform: &self.platform,
            shared: &link.shared,
            strategy,
            taken,
            start: 0,
            len: taken.descriptor.len,
        }))
    }

    /// Is done with a message: its block goes back to the sender.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) -> Result<(), PortError> {
    /// let received = node.receive(1, &Select::default(), None)?;
    /// node.release(received);
    /// # Ok(()) }
    /// ```
    pub fn release(&mut self, lent: Lent) {
        if self.links.at(lent.at.link).is_some_and(|link| link.life == lent.life) {
            self.give_back(lent.at);
        }
    }

    /// Receives a message of an endpoint into `buffer`, if one is there. What does not fit is cut
    /// off; [`Received::len`] says how long it was. As [`Node::try_receive`], it looks at the rings
    /// alone.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) -> Result<(), PortError> {
    /// let mut buffer = [0; 64];
    /// if let Some(received) = node.try_receive_into(1, &mut buffer)? {
    ///     let payload = received.bytes(&buffer);
    /// #   let _ = payload;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`PortError::Closed`].
    #[inline]
    pub fn try_receive_into(
        &mut self,
        port: Port,
        buffer: &mut [u8],
    ) -> Result<Option<Received>, PortError> {
        match self.look_in_slot(port, buffer) {
            Ok(received) => Ok(received),
            Err(More) => {
                let packed = self.receive_in_turn(port, buffer);
                self.unpack(packed)
            }
        }
    }

    /// What the short way does not expect: what is in the way of it, then the queue.
    #[inline(never)]
    fn receive_in_turn(&mut self, port: Port, buffer: &mut [u8]) -> Packed {
        if (self.known.is_calm() || self.calm_down())
            && let Ok(received) = self.look(port, |_, _| Some(&mut *buffer))
        {
            self.expect_as(port, received.as_ref());
            return received.map_or(Packed::NONE, |received| Packed::message(&received));
        }
        let lent = match self.try_receive(port, &Select::default()) {
            Ok(None) => return Packed::NONE,
            Ok(Some(lent)) => lent,
            Err(error) => {
                self.other = Err(error);
                return Packed::OTHER;
            }
        };
        let received = self.copy_out(lent, buffer);
        if received.what == What::Message {
            return Packed::message(&received);
        }
        self.other = Ok(received);
        Packed::OTHER
    }

    #[inline(always)]
    fn unpack(&self, packed: Packed) -> Result<Option<Received>, PortError> {
        match packed.unpack() {
            Some(received) => Ok(received),
            None => self.other_by_parts().map(Some),
        }
    }

    // What is no message is not returned by a call, nor taken as a whole from where it lies: it
    // would have a place in memory, and so would a message in its stead.
    #[inline(always)]
    fn other_by_parts(&self) -> Result<Received, PortError> {
        match &self.other {
            Ok(received) => Ok(received.by_parts()),
            Err(error) => Err(*error),
        }
    }

    /// As [`Node::try_receive_into`], waiting for a message until the deadline.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) -> Result<(), PortError> {
    /// let mut buffer = [0; 64];
    /// match node.receive_into(1, &mut buffer, Some(Duration::from_millis(20))) {
    ///     Err(PortError::Deadline) => { /* nothing came */ }
    ///     received => assert!(received?.bytes(&buffer).len() <= 64),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`PortError::Closed`], [`PortError::Deadline`] or [`PortError::Forked`].
    #[inline(always)]
    pub fn receive_into(
        &mut self,
        port: Port,
        buffer: &mut [u8],
        within: Option<Duration>,
    ) -> Result<Received, PortError> {
        let packed = self.receive_packed(port, buffer, within);
        match packed.unpack() {
            Some(Some(received)) => Ok(received),
            _ => self.other_by_parts(),
        }
    }

    #[inline(never)]
    fn receive_packed(
        &mut self,
        port: Port,
        buffer: &mut [u8],
        within: Option<Duration>,
    ) -> Packed {
        let mut waited = Waited::default();
        loop {
            let packed = match self.look_in_slot(port, buffer) {
                Ok(None) => Packed::NONE,
                Ok(Some(received)) => Packed::message(&received),
                Err(More) => match self.look_where_seen(port, buffer) {
                    Ok(Some(received)) => Packed::message(&received),
                    _ => self.receive_in_turn(port, buffer),
                },
            };
            if !packed.is_none() || !self.wait_to_look(within, &mut waited) {
                self.links.watched = false;
                if packed.is_none() {
                    self.other = Err(self.ended_in_vain());
                }
                return packed;
            }
        }
    }

    fn copy_out(&mut self, lent: Lent, buffer: &mut [u8]) -> Received {
        let fits = lent.len.min(buffer.len());
        if let Some(part) = buffer.get_mut(..fits) {
            // That many bytes are there, and the link is as it was when they came.
            let _ = self.read(&lent, 0, part);
        }
        let received = *lent;
        self.release(lent);
        received
    }

    /// In the first byte of an entry's payload: the notice of a lost peer. No control message that
    /// a peer sends begins so.
    pub(super) const NOTICE: u8 = 0;
}
