//! Connectionless messages between ports.

use core::time::Duration;

use super::queue::Queue;
use super::{FlowId, Node, Payload, Select};
use crate::driver::DriverError;
use crate::link::{self, LinkId};
use crate::memory::{Descriptor, Plain};
use crate::platform::{Instant, Lost, Platform};
use crate::span::{Edge, For, Note, Span};
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
#[non_exhaustive]
pub enum PortError {
    /// Not below the node's [`Limits::endpoints`](super::Limits::endpoints).
    OutOfRange,
    /// Already open.
    Open,
    /// Not open.
    Closed,
    /// The deadline passed before a message came.
    Deadline,
    /// This process is a forked copy of the one that opened the node: nothing comes any more.
    Forked,
}

/// Why a message was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// The peer is gone; see [`LinkView::undelivered`](super::LinkView::undelivered).
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

/// A message to send: what it carries, how urgent it is, and a mark.
///
/// Whatever makes a [`Payload`] makes a message of it with the middle priority and tag 0:
///
/// ```
/// use narrows::endpoint::Message;
///
/// let usual = Message::from(b"hello");
/// assert_eq!((usual.priority, usual.tag), (4, 0));
/// let urgent = Message::new(b"hello").priority(0).tag(7);
/// assert_eq!((urgent.priority, urgent.tag), (0, 7));
/// ```
#[derive(Debug)]
#[must_use = "a message does nothing until it is sent"]
pub struct Message<'a> {
    /// 0 is the most urgent, 7 the least; what is above counts as 7.
    pub priority: u8,
    /// The sender's mark, for the receiver to [select](Select) by.
    pub tag: u16,
    /// What it carries.
    pub payload: Payload<'a>,
}

impl<'a> Message<'a> {
    /// A message with the middle priority, 4, and tag 0.
    pub fn new(payload: impl Into<Payload<'a>>) -> Message<'a> {
        Message { priority: 4, tag: 0, payload: payload.into() }
    }

    /// The same message as urgent as this: 0 is the most urgent, 7 the least.
    pub fn priority(self, priority: u8) -> Message<'a> {
        Message { priority, ..self }
    }

    /// The same message with this mark.
    pub fn tag(self, tag: u16) -> Message<'a> {
        Message { tag, ..self }
    }
}

impl<'a, T: Into<Payload<'a>>> From<T> for Message<'a> {
    fn from(payload: T) -> Message<'a> {
        Message::new(payload)
    }
}

/// What a message is sent to.
#[derive(Clone, Copy)]
pub(super) enum To {
    /// A port, in the node's own strategy.
    Address(Address),
    /// The port that a flow leads to, in the flow's strategy.
    Flow(FlowId),
}

/// The first of `messages`, up to one that was made in a reserved block.
#[inline(always)]
pub(super) fn plain<'a>(messages: &'a [Message<'_>]) -> impl Iterator<Item = Plain<'a>> {
    messages.iter().map_while(|message| match message.payload {
        Payload::Bytes(bytes) => {
            Some(Plain { priority: message.priority, tag: message.tag, bytes })
        }
        Payload::Reserved(_) => None,
    })
}

fn send_error(error: DriverError) -> SendError {
    match error {
        DriverError::RingFull => SendError::RingFull,
        DriverError::PoolEmpty => SendError::PoolEmpty,
        DriverError::TooLong { limit } => SendError::TooLong { limit },
        DriverError::NoEngine => SendError::NoEngine,
        DriverError::Corrupt(what) => SendError::Gone(Lost::Corrupt(what)),
    }
}

/// Ports, and sending from them.
impl<P: Platform> Node<P> {
    /// Opens a port.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) -> Result<(), PortError> {
    /// node.open(1)?;
    /// assert_eq!(node.open(1), Err(PortError::Open));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`PortError::OutOfRange`] or [`PortError::Open`].
    #[inline(never)]
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
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) -> Result<(), PortError> {
    /// node.open(1)?;
    /// node.close(1)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`PortError::Closed`].
    #[inline(never)]
    pub fn close(&mut self, port: Port) -> Result<(), PortError> {
        self.changed();
        let place = self.endpoints.get_mut(usize::from(port)).and_then(Option::take);
        let mut endpoint = place.ok_or(PortError::Closed)?;
        while let Some(at) = endpoint.queue.pop(&mut self.links, &Select::default()) {
            self.give_back(at);
        }
        Ok(())
    }

    /// Sends a message if there is room for it now.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, to: Address) -> Result<(), SendError> {
    /// match node.try_send(1, to, b"hello") {
    ///     Err(SendError::RingFull | SendError::PoolEmpty) => { /* later */ }
    ///     sent => sent?,
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`SendError`]; the message was not sent, and what was reserved still is.
    // This and the other sends take a message apart where it was made: as a whole it would be
    // stored and read back in larger pieces, and the load waits until these have left the store
    // buffer.
    #[inline(always)]
    pub fn try_send<'a>(
        &mut self,
        from: Port,
        to: Address,
        message: impl Into<Message<'a>>,
    ) -> Result<(), SendError> {
        let Message { priority, tag, payload } = message.into();
        match payload {
            Payload::Bytes(bytes) => self.try_send_bytes(from, &to, [priority.into(), tag], bytes),
            payload => self.attempt(from, To::Address(to), &mut Message { priority, tag, payload }),
        }
    }

    /// Sends a message, waiting for room until the deadline. Meanwhile messages that come are
    /// taken in, so that two nodes that send to each other do not stop each other.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, to: Address) -> Result<(), SendError> {
    /// node.send(1, to, b"hello", None)?;
    /// node.send(1, to, Message::new(b"now").priority(0), None)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`SendError`]; the message was not sent, and what was reserved still is.
    #[inline(always)]
    pub fn send<'a>(
        &mut self,
        from: Port,
        to: Address,
        message: impl Into<Message<'a>>,
        within: Option<Duration>,
    ) -> Result<(), SendError> {
        let Message { priority, tag, payload } = message.into();
        if let Payload::Bytes(bytes) = payload
            && self.try_send_bytes(from, &to, [priority.into(), tag], bytes).is_ok()
        {
            return Ok(());
        }
        self.send_in_time(from, To::Address(to), Message { priority, tag, payload }, within)
    }

    /// See [`FlowView::try_send`](super::FlowView::try_send).
    #[inline(always)]
    pub(super) fn try_send_over<'a>(
        &mut self,
        flow: FlowId,
        from: Port,
        message: impl Into<Message<'a>>,
    ) -> Result<(), SendError> {
        let Message { priority, tag, payload } = message.into();
        if let Payload::Bytes(bytes) = payload
            && self.post_over(flow, from, [priority.into(), tag], bytes)
        {
            return Ok(());
        }
        self.attempt(from, To::Flow(flow), &mut Message { priority, tag, payload })
    }

    /// See [`FlowView::send`](super::FlowView::send).
    #[inline(always)]
    pub(super) fn send_over<'a>(
        &mut self,
        flow: FlowId,
        from: Port,
        message: impl Into<Message<'a>>,
        within: Option<Duration>,
    ) -> Result<(), SendError> {
        let Message { priority, tag, payload } = message.into();
        if let Payload::Bytes(bytes) = payload
            && self.post_over(flow, from, [priority.into(), tag], bytes)
        {
            return Ok(());
        }
        self.send_in_time(from, To::Flow(flow), Message { priority, tag, payload }, within)
    }

    #[inline(never)]
    fn send_in_time(
        &mut self,
        from: Port,
        to: To,
        mut message: Message<'_>,
        within: Option<Duration>,
    ) -> Result<(), SendError> {
        self.until_sent(from, to, &mut message, within, &mut None)
    }

    /// Finds out where a message goes and how, unless that is known, and sends it if there is room.
    #[inline(never)]
    pub(super) fn attempt(
        &mut self,
        from: Port,
        to: To,
        message: &mut Message<'_>,
    ) -> Result<(), SendError> {
        self.begins();
        self.attempt_again(from, to, message)
    }

    /// Notes that something is going to be sent.
    pub(super) fn begins(&self) {
        if self.platform.tracing() {
            self.platform.note(&Note::Begins);
        }
    }

    /// Notes what a sender waits for that could not send now.
    pub(super) fn waits_for(&self, error: &SendError) {
        if self.platform.tracing() {
            self.platform.note(&Note::Waits(match error {
                SendError::PoolEmpty => For::Block,
                SendError::Switching => For::Switch,
                _ => For::Credit,
            }));
        }
    }

    #[inline]
    fn attempt_again(
        &mut self,
        from: Port,
        to: To,
        message: &mut Message<'_>,
    ) -> Result<(), SendError> {
        let route = self.route_of(from, to)?;
        if self.post(&route, plain(core::slice::from_ref(message))) == 1 {
            return Ok(());
        }
        let strategy = match to {
            To::Address(_) => self.strategy,
            To::Flow(flow) => *self.flow_to_port(flow)?.2,
        };
        self.send_with(&strategy, from, route.address(), message)
    }

    /// Tries again until there is room or the deadline passed, which is set when there is none for
    /// the first time.
    pub(super) fn until_sent(
        &mut self,
        from: Port,
        to: To,
        message: &mut Message<'_>,
        within: Option<Duration>,
        deadline: &mut Option<Instant>,
    ) -> Result<(), SendError> {
        self.begins();
        loop {
            let error = match self.attempt_again(from, to, message) {
                Err(
                    error @ (SendError::RingFull | SendError::PoolEmpty | SendError::Switching),
                ) => error,
                done => return done,
            };
            if deadline.is_none() {
                *deadline = self.deadline(within);
            }
            if self.passed(*deadline) {
                return Err(SendError::Deadline);
            }
            let link = match to {
                To::Address(to) => to.link,
                To::Flow(flow) => self.flow_link(flow).ok_or(SendError::Unknown)?,
            };
            self.waits_for(&error);
            self.wait_on(link, self.agreed(), *deadline);
        }
    }

    #[inline(never)]
    fn send_with(
        &mut self,
        strategy: &Strategy,
        from: Port,
        to: Address,
        message: &mut Message<'_>,
    ) -> Result<(), SendError> {
        let ack = strategy.acknowledgement.wanted();
        let priority = message.priority.min(7);
        let descriptor = Descriptor::message(ack, from, to.port, priority, message.tag);
        let Some(link) = self.links.up_mut(to.link) else {
            // News of its end may have been taken since the route was found.
            return Err(self.gone(to.link).map_or(SendError::Unknown, SendError::Gone));
        };
        let driven = message.payload.driven(to.link).ok_or(SendError::NotReserved)?;
        let id = u32::from(from) << 16 | u32::from(message.tag);
        self.platform.stamp(Span::Endpoint, Edge::Enter, id);
        let sent = link::send(&self.platform, link, strategy, descriptor, driven);
        self.platform.stamp(Span::Endpoint, Edge::Leave, id);
        sent.map_err(|error| self.not_sent(to.link, error))?;
        message.payload.spent();
        Ok(())
    }

    /// What it means that a driver did not send over a link. A link without room may have ended.
    pub(super) fn not_sent(&mut self, link: LinkId, error: DriverError) -> SendError {
        if let DriverError::Corrupt(what) = error {
            return SendError::Gone(self.fail(link, what));
        }
        if matches!(error, DriverError::RingFull | DriverError::PoolEmpty) {
            self.attend();
        }
        self.gone(link).map_or_else(|| send_error(error), SendError::Gone)
    }
}
