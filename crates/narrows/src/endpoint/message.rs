//! Connectionless messages between ports.

use core::time::Duration;

use super::node::would_block;
use super::queue::Queue;
use super::{Node, Payload, Select};
use crate::driver::{self, DriverError};
use crate::link::{self, EntryId, LinkId};
use crate::memory::{Corrupt, Descriptor, Kind};
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
    pub(super) at: EntryId,
    pub(super) life: u32,
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

    /// Ends a link whose peer broke the protocol.
    pub(super) fn fail(&mut self, link: LinkId, what: Corrupt) {
        self.links.end(&self.platform, link, Lost::Corrupt(what));
        self.lost(link);
    }
}
