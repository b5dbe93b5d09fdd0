//! Channels: the ends of each, and how they are opened.
//!
//! A ring is used again when both ends are closed and the receiver has taken everything off it and
//! said so.

use narrows::endpoint::Channel as Ring;
use narrows::link::LinkId;
use narrows::memory::Arrival;
use narrows::platform::Lost;

use super::super::control::Kind;
use super::super::endpoint::{Direction, Endpoint, Opening};
use super::super::foreign::Output;
use super::super::home::Home;
use super::super::id::{EndpointId, Handle, NodeId};
use super::super::request::Operation;
use super::super::status::{Outcome, Status};
use super::Node;

/// The node that wanted two endpoints connected.
#[derive(Clone, Copy, Debug)]
pub(in crate::mcapi) enum Asker {
    /// A request of this node's.
    Here(Handle),
    /// Another node, by the number that it has for it.
    Peer { link: LinkId, request: u32 },
}

/// How far a channel is.
#[derive(Clone, Copy, Debug)]
pub(in crate::mcapi) enum Stage {
    /// The link to the receiver's node is looked for.
    Hunting(Asker),
    /// The receiver was asked.
    Offered(Asker),
    Connected,
    /// Both ends are closed; the receiver has not said that the ring is free.
    Draining,
}

/// One end of a channel.
pub(in crate::mcapi) struct Channel {
    pub kind: Kind,
    pub direction: Direction,
    /// The endpoint that it is at: its port of the stack's.
    pub inner: u16,
    pub other: EndpointId,
    /// The ring, once it is known.
    pub ring: Option<Ring>,
    pub stage: Stage,
    /// What the other node calls its end.
    pub theirs: u32,
    /// Whether the application has its handle.
    pub open: bool,
    pub closed: bool,
    pub closed_there: bool,
    pub lost: Option<Lost>,
    /// Requests that wait for it.
    pub pending: u16,
    /// A scalar that was taken off the ring and is of another size than was asked for.
    pub stash: Option<Arrival>,
    /// Milliseconds that a blocking call waits.
    pub timeout: u32,
    /// The longest packet.
    pub longest: u32,
    pub fails_at_limit: bool,
}

impl Channel {
    /// Whether the application has its handle and may use it.
    #[inline]
    pub fn is(&self, kind: Kind, direction: Direction) -> bool {
        self.open && self.kind == kind && self.direction == direction
    }

    /// Whether the way to this node is looked for.
    pub fn hunts(&self, id: NodeId) -> bool {
        matches!(self.stage, Stage::Hunting(_)) && self.other.node() == id
    }

    /// What using it comes to, if the other side is not there any more.
    #[inline]
    pub fn check(&self) -> Outcome<()> {
        match self.lost {
            _ if self.closed_there => Err(Status::ChanClosePending),
            None => Ok(()),
            Some(Lost::Closed) => Err(Status::ChanClosePending),
            Some(_) => Err(Status::Transmission),
        }
    }

    /// Whether it can be used the short way.
    pub fn is_ready(&self) -> bool {
        let usable = match self.direction {
            Direction::Send => self.check().is_ok(),
            // What is there can be received, whatever became of the sender.
            Direction::Receive => self.stash.is_none() && self.lost.is_none(),
        };
        self.open && self.pending == 0 && usable
    }

    pub fn connected(&self) -> bool {
        matches!(self.stage, Stage::Connected)
    }
}

impl<H: Home> Node<H> {
    /// Makes an end at an endpoint; `ring` is there and `theirs` known if it receives.
    #[inline(never)]
    pub(in crate::mcapi) fn end_at(
        &mut self,
        inner: u16,
        (kind, direction): (Kind, Direction),
        other: EndpointId,
        stage: Stage,
        (ring, theirs): (Option<Ring>, u32),
    ) -> Outcome<Handle> {
        let endpoint = self.endpoints.get_mut(inner).ok_or(Status::EndpInvalid)?;
        let attributes = &endpoint.attributes;
        let end = Channel {
            kind,
            direction,
            inner,
            other,
            ring,
            stage,
            theirs,
            open: false,
            closed: false,
            closed_there: false,
            lost: None,
            pending: 0,
            stash: None,
            timeout: attributes.timeout,
            longest: attributes.max_payload,
            fails_at_limit: attributes.fails_at_limit(),
        };
        let handle = self.channels.insert(end).ok_or(Status::MemLimit)?;
        endpoint.channel = Some(handle);
        Ok(handle)
    }

    /// Opens a channel's end if its endpoint waits for that.
    pub fn opened(&mut self, handle: Handle) {
        let Some(channel) = self.channels.get_mut(handle) else { return };
        let endpoint = self.endpoints.get_mut(channel.inner);
        let Some(opening) = endpoint.and_then(|endpoint| endpoint.opening.take()) else { return };
        channel.open = true;
        self.shorten(handle);
        if let Some(Operation::Open { out, .. }) = self.requests.pending(opening.request) {
            out.put(handle.0);
        }
        self.end(opening.request, Status::Success.into());
    }

    /// Opens the channel of an endpoint. Returns the request that goes on if it is not connected.
    pub fn open_channel(
        &mut self,
        inner: u16,
        kind: Kind,
        direction: Direction,
        out: Output<u32>,
    ) -> Outcome<Option<Handle>> {
        let endpoint = self.endpoints.get(inner).ok_or(Status::EndpInvalid)?;
        if let Some(opening) = endpoint.opening {
            agrees((opening.kind, opening.direction), kind, direction)?;
            return Err(Status::ChanOpenPending);
        }
        let handle = endpoint.channel;
        if let Some(handle) = handle
            && let Some(channel) = self.channels.get_mut(handle)
        {
            agrees((channel.kind, channel.direction), kind, direction)?;
            if channel.open {
                return Err(Status::ChanOpen);
            }
            if channel.connected() {
                channel.open = true;
                self.shorten(handle);
                out.put(handle.0);
                return Ok(None);
            }
        }
        let request = self.requests.add(Operation::Open { inner, out }, false)?;
        if let Some(endpoint) = self.endpoints.get_mut(inner) {
            endpoint.opening = Some(Opening { kind, direction, request });
        }
        Ok(Some(request))
    }

    /// Flags of an endpoint's channel, as its status attribute has them.
    pub fn channel_flags(&self, endpoint: &Endpoint) -> u32 {
        const CONNECTED: u32 = 0x1;
        const OPEN: u32 = 0x2;
        const OPEN_PENDING: u32 = 0x4;
        const CLOSE_PENDING: u32 = 0x8;
        let kind = |kind| if kind == Kind::Packet { 0x10 } else { 0x20 };
        let way = |way| if way == Direction::Send { 0x40 } else { 0x80 };
        let mut flags = 0;
        if let Some(opening) = endpoint.opening {
            flags |= OPEN_PENDING | kind(opening.kind) | way(opening.direction);
        }
        if let Some(channel) = endpoint.channel.and_then(|handle| self.channels.get(handle))
            && channel.connected()
        {
            flags |= CONNECTED | kind(channel.kind) | way(channel.direction);
            flags |= if channel.open { OPEN } else { 0 };
            flags |= if channel.closed_there { CLOSE_PENDING } else { 0 };
        }
        flags
    }
}

#[inline(never)]
pub(in crate::mcapi) fn agrees(
    (kind, way): (Kind, Direction),
    wanted: Kind,
    direction: Direction,
) -> Outcome<()> {
    match () {
        () if kind != wanted => Err(Status::ChanType),
        () if way != direction => Err(Status::ChanDirection),
        () => Ok(()),
    }
}
