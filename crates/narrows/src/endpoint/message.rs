//! Connectionless messages between ports.

use core::time::Duration;

use super::node::would_block;
use super::queue::Queue;
use super::{Arrived, LinkError, Node, Payload, Select, Source};
use crate::driver::{self, DriverError};
use crate::link::{self, EntryId, LinkId};
use crate::memory::{Corrupt, Descriptor, Kind, Taken};
use crate::platform::{Lost, Platform};
use crate::span::{Edge, Span};
use crate::strategy::Strategy;

/// An endpoint's number on its node.
pub type Port = u16;

/// Where a message goes or comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// The link to the peer.
    pub link: LinkId,
    /// The port on the peer.
    pub port: Port,
}

/// An open port.
pub(super) struct Endpoint {
    pub queue: Queue,
    /// How the flows that lead here were agreed to travel; messages of no flow come the same way.
    pub strategy: Strategy,
}

/// Why a port could not be opened or used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortError {
    /// Not below the node's [`Limits::endpoints`](super::Limits::endpoints).
    OutOfRange,
    /// Already open.
    Open,
    /// Not open.
    Closed,
}

/// Why a message was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The ring is full: try again later, or send with a deadline.
    RingFull,
    /// No block is free: try again later, or send with a deadline.
    PoolEmpty,
    /// The message is longer than any block; the limit in bytes.
    TooLong {
        /// Bytes of the largest block of the strategy's placement.
        limit: u32,
    },
    /// The deadline passed before there was room. The message was not sent.
    Deadline,
    /// The peer is gone; see [`Node::undelivered`].
    Gone(Lost),
    /// No such link.
    Unknown,
    /// The sending port is not open.
    Closed,
    /// The strategy wants a copy engine and there is none.
    NoEngine,
    /// The flow is changing its strategy: try again later.
    Switching,
    /// The flow leads to a function, not to a port.
    NoPort,
    /// The flow leads to a port, not to a function.
    NoFunction,
    /// A block was not reserved on this link, or has been sent.
    NotReserved,
}

/// What an endpoint received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A message.
    Message,
    /// The port this endpoint sent to is not open; `port` and `tag` are the refused message's.
    Refused,
    /// The peer of an attached link is gone.
    PeerGone(Lost),
}

/// A received message. Until it is [released](Node::release_message) its payload stays with the
/// sender, who cannot use that block again.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a message that is not released keeps its sender's block"]
pub struct Message {
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
    at: EntryId,
    life: u32,
}

pub(super) fn send_error(error: DriverError) -> SendError {
    match error {
        DriverError::RingFull => SendError::RingFull,
        DriverError::PoolEmpty => SendError::PoolEmpty,
        DriverError::TooLong { limit } => SendError::TooLong { limit },
        DriverError::NoEngine => SendError::NoEngine,
        DriverError::Corrupt(what) => SendError::Gone(Lost::Corrupt(what)),
    }
}

impl<P: Platform> Node<P> {
    /// Opens a port.
    ///
    /// # Errors
    /// [`PortError::OutOfRange`] or [`PortError::Open`].
    pub fn open(&mut self, port: Port) -> Result<(), PortError> {
        match self.endpoints.get_mut(usize::from(port)) {
            None => Err(PortError::OutOfRange),
            Some(Some(_)) => Err(PortError::Open),
            Some(place) => {
                *place = Some(Endpoint { queue: Queue::default(), strategy: Strategy::default() });
                Ok(())
            }
        }
    }

    /// Closes a port. Messages that wait there are discarded.
    ///
    /// # Errors
    /// [`PortError::Closed`].
    pub fn close_port(&mut self, port: Port) -> Result<(), PortError> {
        let place = self.endpoints.get_mut(usize::from(port)).and_then(Option::take);
        let mut endpoint = place.ok_or(PortError::Closed)?;
        while let Some(at) = endpoint.queue.pop(&mut self.links, &Select::default()) {
            self.release(at);
        }
        Ok(())
    }

    /// Sends a message if there is room for it now.
    ///
    /// # Errors
    /// See [`SendError`]; the message was not sent.
    #[inline]
    pub fn try_send(
        &mut self,
        from: Port,
        to: Address,
        priority: u8,
        tag: u16,
        payload: &[u8],
    ) -> Result<(), SendError> {
        self.check_open(from)?;
        let strategy = self.strategy;
        let payload = driver::Payload::Bytes(payload);
        self.send_with(&strategy, from, to, priority, tag, payload)
    }

    /// Sends a message, waiting for room until the deadline. Meanwhile messages that come are
    /// taken in, so that two nodes that send to each other do not stop each other.
    ///
    /// # Errors
    /// See [`SendError`]; the message was not sent.
    pub fn send(
        &mut self,
        from: Port,
        to: Address,
        priority: u8,
        tag: u16,
        payload: &[u8],
        within: Option<Duration>,
    ) -> Result<(), SendError> {
        self.until_sent(to.link, within, |node| node.try_send(from, to, priority, tag, payload))
    }

    /// Sends a message over a flow to a port, in the flow's strategy, if there is room now.
    ///
    /// # Errors
    /// See [`SendError`]; the message was not sent and what was reserved still is.
    pub fn try_send_over(
        &mut self,
        flow: super::FlowId,
        from: Port,
        priority: u8,
        tag: u16,
        mut payload: Payload<'_>,
    ) -> Result<(), SendError> {
        self.check_open(from)?;
        let (link, port, strategy) = self.flow_to_port(flow)?;
        let driven = payload.driven(link).ok_or(SendError::NotReserved)?;
        self.send_with(&strategy, from, Address { link, port }, priority, tag, driven)?;
        payload.spent();
        Ok(())
    }

    /// As [`Node::try_send_over`], waiting for room until the deadline.
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send_over(
        &mut self,
        flow: super::FlowId,
        from: Port,
        priority: u8,
        tag: u16,
        payload: &[u8],
        within: Option<Duration>,
    ) -> Result<(), SendError> {
        let link = self.flow_link(flow).ok_or(SendError::Unknown)?;
        self.until_sent(link, within, |node| {
            node.try_send_over(flow, from, priority, tag, Payload::Bytes(payload))
        })
    }

    fn check_open(&self, port: Port) -> Result<(), SendError> {
        match self.endpoints.get(usize::from(port)) {
            Some(Some(_)) => Ok(()),
            _ => Err(SendError::Closed),
        }
    }

    fn until_sent(
        &mut self,
        link: LinkId,
        within: Option<Duration>,
        mut attempt: impl FnMut(&mut Self) -> Result<(), SendError>,
    ) -> Result<(), SendError> {
        let mut deadline = None;
        loop {
            match attempt(self) {
                Err(SendError::RingFull | SendError::PoolEmpty | SendError::Switching) => {}
                done => return done,
            }
            if deadline.is_none() {
                deadline = self.deadline(within);
            }
            if self.passed(deadline) {
                return Err(SendError::Deadline);
            }
            self.poll();
            self.wait(self.agreed(), deadline, Some(link));
            self.attend();
        }
    }

    #[inline]
    fn send_with(
        &mut self,
        strategy: &Strategy,
        from: Port,
        to: Address,
        priority: u8,
        tag: u16,
        payload: driver::Payload<'_>,
    ) -> Result<(), SendError> {
        let descriptor = Descriptor {
            kind: Kind::Message,
            ack: strategy.acknowledgement.wanted(),
            priority: priority.min(7),
            len: 0,
            source: from,
            target: to.port,
            tag,
            block: None,
        };
        let Some(link) = self.links.get_mut(to.link) else { return Err(SendError::Unknown) };
        if let Some(reason) = link.lost {
            return Err(SendError::Gone(reason));
        }
        let id = u32::from(from) << 16 | u32::from(tag);
        self.platform.stamp(Span::Endpoint, Edge::Enter, id);
        let sent = link::send(&self.platform, link, strategy, descriptor, payload);
        self.platform.stamp(Span::Endpoint, Edge::Leave, id);
        sent.map_err(|error| {
            if let DriverError::Corrupt(what) = error {
                self.fail(to.link, what);
            } else if would_block(error) {
                self.attend();
            }
            send_error(error)
        })
    }

    /// The next message of an endpoint that is meant, if one is there: the most urgent first, then
    /// the earliest. It looks at the rings alone: a program that never waits [polls](Node::poll)
    /// now and then, so that new and lost links are seen.
    ///
    /// # Errors
    /// [`PortError::Closed`].
    pub fn try_receive(
        &mut self,
        port: Port,
        select: &Select,
    ) -> Result<Option<Message>, PortError> {
        self.pump();
        let endpoint = self.endpoints.get_mut(usize::from(port)).and_then(Option::as_mut);
        let endpoint = endpoint.ok_or(PortError::Closed)?;
        let Some(at) = endpoint.queue.pop(&mut self.links, select) else { return Ok(None) };
        Ok(self.message(at))
    }

    /// The next message of an endpoint that is meant, waiting for it until the deadline; none if
    /// that passed.
    ///
    /// # Errors
    /// [`PortError::Closed`].
    pub fn receive(
        &mut self,
        port: Port,
        select: &Select,
        within: Option<Duration>,
    ) -> Result<Option<Message>, PortError> {
        if let Some(message) = self.try_receive(port, select)? {
            return Ok(Some(message));
        }
        let deadline = self.deadline(within);
        loop {
            self.wait(self.agreed(), deadline, None);
            self.attend();
            if let Some(message) = self.try_receive(port, select)? {
                return Ok(Some(message));
            }
            if self.passed(deadline) {
                return Ok(None);
            }
        }
    }

    fn message(&self, at: EntryId) -> Option<Message> {
        let link = self.links.at(at.link)?;
        let taken = link.inbox.get(at.entry)?.taken?;
        let d = taken.descriptor;
        let what = match d.kind {
            Kind::Control if taken.in_slot.first() == Some(&Self::NOTICE) => {
                What::PeerGone(link.lost.unwrap_or(Lost::Died))
            }
            Kind::Control => What::Refused,
            _ => What::Message,
        };
        let from = Address { link: self.links.id(at.link)?, port: d.source };
        let (len, priority, tag) = (d.len as usize, d.priority, d.tag);
        Some(Message { what, from, len, priority, tag, at, life: link.life })
    }

    /// Copies part of a message's payload; false if it is not all there.
    pub fn read(&self, message: &Message, at: usize, to: &mut [u8]) -> bool {
        self.with_taken(message, |arrived| arrived.read(at, to)).unwrap_or(false)
    }

    /// Hands a message's payload to `reader` where it is.
    pub fn read_in_place<R>(
        &self,
        message: &Message,
        reader: impl FnOnce(&dyn Source) -> R,
    ) -> Option<R> {
        self.with_taken(message, |arrived| reader(arrived))
    }

    fn with_taken<R>(&self, message: &Message, f: impl FnOnce(&Arrived<'_, P>) -> R) -> Option<R> {
        let link = self.links.at(message.at.link).filter(|link| link.life == message.life)?;
        let taken: Taken = link.inbox.get(message.at.entry)?.taken?;
        let port = usize::from(taken.descriptor.target);
        let agreed = self.endpoints.get(port).and_then(Option::as_ref);
        let strategy = agreed.map_or(self.strategy, |endpoint| endpoint.strategy);
        Some(f(&Arrived {
            platform: &self.platform,
            shared: &link.shared,
            strategy: &strategy,
            taken: &taken,
            start: 0,
            len: taken.descriptor.len,
        }))
    }

    /// Is done with a message: its block goes back to the sender.
    pub fn release_message(&mut self, message: Message) {
        if self.links.at(message.at.link).is_some_and(|link| link.life == message.life) {
            self.release(message.at);
        }
    }

    /// Receives a message of an endpoint into `buffer` and releases it. What does not fit is cut
    /// off; [`Message::len`] says how long it was. None if the deadline passed.
    ///
    /// # Errors
    /// [`PortError::Closed`].
    pub fn receive_into(
        &mut self,
        port: Port,
        buffer: &mut [u8],
        within: Option<Duration>,
    ) -> Result<Option<Message>, PortError> {
        let Some(message) = self.receive(port, &Select::default(), within)? else {
            return Ok(None);
        };
        let fits = message.len.min(buffer.len());
        if let Some(part) = buffer.get_mut(..fits) {
            self.read(&message, 0, part);
        }
        self.release(message.at);
        Ok(Some(Message { at: Self::RELEASED, ..message }))
    }

    /// The entry of a message that was released: there is no link at this place.
    const RELEASED: EntryId = EntryId { link: u16::MAX, entry: 0 };

    /// In the first byte of an entry's payload: the notice of a lost peer. No control message that
    /// a peer sends begins so.
    const NOTICE: u8 = 0;

    /// Asks that the end of a link be delivered to an endpoint, as a message behind everything
    /// that the peer had sent. Its place in the inbox is set aside now, so that it cannot fail
    /// later.
    ///
    /// # Errors
    /// [`LinkError::Unknown`], [`LinkError::Gone`] if it has already ended, or
    /// [`LinkError::Full`].
    pub fn attach(&mut self, link: LinkId, port: Port) -> Result<(), LinkError> {
        self.up(link)?;
        let link = self.links.get_mut(link).ok_or(LinkError::Unknown)?;
        let descriptor = Descriptor {
            kind: Kind::Control,
            ack: crate::memory::Ack::Batched,
            priority: 7,
            len: 0,
            source: 0,
            target: port,
            tag: 0,
            block: None,
        };
        let notice = Taken { descriptor, in_slot: [Self::NOTICE; crate::memory::IN_SLOT] };
        let at = link.inbox.put(notice).ok_or(LinkError::Full)?;
        let before = link.attached.replace(at);
        if let Some(entry) = link.inbox.get_mut(at.entry) {
            entry.next = before;
        }
        Ok(())
    }

    /// Ends a link whose peer broke the protocol.
    pub(super) fn fail(&mut self, link: LinkId, what: Corrupt) {
        self.links.end(&self.platform, link, Lost::Corrupt(what));
        self.lost(link);
    }
}
