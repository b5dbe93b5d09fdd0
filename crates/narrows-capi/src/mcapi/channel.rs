//! Channels: how two endpoints are connected, opened, closed and disconnected.
//!
//! The sender's node chooses a ring of the link between the two and offers it to the receiver's,
//! which accepts or not. A ring is used again when both ends are closed and the receiver has taken
//! everything off it and said so.

use narrows::endpoint::Channel as Ring;
use narrows::link::LinkId;
use narrows::memory::Arrival;
use narrows::platform::Lost;

use super::control::{Kind, Place, Said};
use super::endpoint::{Direction, Endpoint, Opening};
use super::foreign::Output;
use super::home::Home;
use super::id::{EndpointId, Handle, NodeId};
use super::node::Node;
use super::request::Operation;
use super::status::{Outcome, Status};

/// Who wanted two endpoints connected.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asker {
    /// A request of this node's.
    Here(Handle),
    /// Another node, by the number that it has for it.
    Peer { link: LinkId, request: u32 },
}

/// How far a channel is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// The link to the receiver's node is looked for.
    Hunting(Asker),
    /// The receiver was asked.
    Offered(Asker),
    Connected,
    /// Both ends are closed; the receiver has not said that the ring is free.
    Draining,
}

/// One end of a channel.
pub(super) struct Channel {
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
    fn end_at(
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

    /// Connects an endpoint of this node's to another.
    pub fn connect_from(
        &mut self,
        from: Place,
        kind: Kind,
        to: EndpointId,
        asker: Asker,
    ) -> Outcome<()> {
        let endpoint = self.endpoints.marked(from).ok_or(Status::EndpInvalid)?;
        fits(endpoint, kind, Direction::Send)?;
        let stage = Stage::Hunting(asker);
        self.end_at(from.port(), (kind, Direction::Send), to, stage, (None, 0))?;
        self.hunting += 1;
        self.hunt_for_channels();
        Ok(())
    }

    /// Offers a ring to each receiver whose node has been found.
    pub fn hunt_for_channels(&mut self) {
        for place in 0..Handle::PLACES {
            let Some(handle) = self.channels.at(place) else { continue };
            let channel = self.channels.get(handle);
            let hunting = channel.filter(|channel| matches!(channel.stage, Stage::Hunting(_)));
            let Some(node) = hunting.map(|channel| channel.other.node()) else { continue };
            match self.link_to(node) {
                Ok(None) => {}
                Ok(Some(link)) => self.offer(handle, link),
                Err(Status::EndpGetLimit) => self.not_connected(handle, Status::MemLimit),
                Err(status) => self.not_connected(handle, status),
            }
        }
    }

    /// How many rings a link has, to send on and to receive on.
    #[inline(never)]
    fn rings_of(&self, link: LinkId) -> (u16, u16) {
        self.stack.channels(link).unwrap_or((0, 0))
    }

    fn offer(&mut self, handle: Handle, link: LinkId) {
        let (there, _) = self.rings_of(link);
        let Some(ring) = self.peers.take_ring(link, there) else {
            return self.not_connected(handle, Status::MemLimit);
        };
        let Some(channel) = self.channels.get_mut(handle) else { return };
        let Stage::Hunting(asker) = channel.stage else { return };
        channel.stage = Stage::Offered(asker);
        channel.ring = Some(Ring { link, ring });
        let (kind, to) = (channel.kind, channel.other.port());
        let Some(endpoint) = self.endpoints.get(channel.inner) else { return };
        let (from, compared) = (endpoint.id, endpoint.attributes.compared());
        self.hunting -= 1;
        let [a, b, c] = compared;
        let words = [handle.0, kind as u32, ring.into(), from.0, to.into(), a, b, c];
        self.say(link, Said::Offer, &words);
    }

    /// Another node offers a ring to an endpoint of this one's.
    pub fn take_offer(
        &mut self,
        link: LinkId,
        (kind, ring): (Kind, u16),
        from: EndpointId,
        to: u16,
        (theirs, compared): (u32, [u32; 3]),
    ) -> Outcome<Handle> {
        let own = self.endpoints.own(self.id.endpoint(to & 0xfff)).filter(|_| to <= 0xfff);
        let (inner, endpoint) = own.ok_or(Status::EndpInvalid)?;
        fits(endpoint, kind, Direction::Receive)?;
        if endpoint.attributes.compared() != compared {
            return Err(Status::AttrIncompatible);
        }
        let ring = Ring { link, ring };
        let (_, there) = self.rings_of(link);
        let receives = |channel: &Channel| {
            channel.ring == Some(ring) && channel.direction == Direction::Receive
        };
        if ring.ring >= there || self.channels.iter().any(receives) {
            return Err(Status::Transmission);
        }
        let what = (kind, Direction::Receive);
        self.end_at(inner, what, from, Stage::Connected, (Some(ring), theirs))
    }

    /// The receiver has answered an offer.
    pub fn answered(&mut self, link: LinkId, handle: Handle, (status, theirs): (Status, u32)) {
        let Some(channel) = self.channels.get_mut(handle) else { return };
        let Stage::Offered(asker) = channel.stage else { return };
        if channel.ring.is_none_or(|ring| ring.link != link) {
            return;
        }
        if status != Status::Success {
            return self.not_connected(handle, status);
        }
        channel.stage = Stage::Connected;
        channel.theirs = theirs;
        self.tell(asker, Status::Success);
        self.opened(handle);
    }

    /// A channel has come to nothing.
    pub fn not_connected(&mut self, handle: Handle, status: Status) {
        let Some(channel) = self.channels.get(handle) else { return };
        if let Some(endpoint) = self.endpoints.get_mut(channel.inner) {
            endpoint.channel = None;
        }
        if let Some(ring) = channel.ring {
            self.peers.give_ring(ring.link, ring.ring);
        }
        let stage = channel.stage;
        self.channels.remove(handle);
        match stage {
            Stage::Hunting(asker) => {
                self.hunting -= 1;
                self.tell(asker, status);
            }
            Stage::Offered(asker) => self.tell(asker, status),
            Stage::Connected | Stage::Draining => {}
        }
    }

    #[inline(never)]
    fn tell(&mut self, asker: Asker, how: Status) {
        match asker {
            Asker::Here(request) => self.end(request, how.into()),
            Asker::Peer { link, request } => {
                self.say(link, Said::Connected, &[request, how as u32]);
            }
        }
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
            if channel.closed {
                return Err(Status::ChanClosePending);
            }
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
            flags |= if channel.closed || channel.closed_there { CLOSE_PENDING } else { 0 };
        }
        flags
    }

    /// Connects two endpoints. Returns the request that goes on.
    pub fn connect(&mut self, from: EndpointId, to: EndpointId, kind: Kind) -> Outcome<Handle> {
        if from == to {
            return Err(Status::EndpInvalid);
        }
        if to.node() == self.id {
            self.endpoints.find(to).ok_or(Status::EndpInvalid)?;
        } else {
            self.peers.find(to).ok_or(Status::EndpInvalid)?.check()?;
        }
        if from.node() != self.id {
            let remote = *self.peers.find(from).ok_or(Status::EndpInvalid)?;
            remote.check()?;
            let asked = Some(remote.link);
            let request = self.requests.add(Operation::Connect { asked }, false)?;
            let words = [request.0, kind as u32, remote.place.0, to.0];
            self.say(remote.link, Said::Connect, &words);
            return Ok(request);
        }
        let (inner, endpoint) = self.endpoints.own(from).ok_or(Status::EndpInvalid)?;
        let place = Place::new(inner, endpoint.tag);
        let request = self.requests.add(Operation::Connect { asked: None }, false)?;
        if let Err(status) = self.connect_from(place, kind, to, Asker::Here(request)) {
            self.end(request, status.into());
            self.requests.report(request);
            return Err(status);
        }
        Ok(request)
    }
}

/// Whether an endpoint can become this end of a channel.
#[inline(never)]
fn fits(endpoint: &Endpoint, kind: Kind, direction: Direction) -> Outcome<()> {
    if endpoint.channel.is_some() {
        return Err(Status::ChanConnected);
    }
    if !endpoint.attributes.allows(kind) {
        return Err(Status::AttrIncompatible);
    }
    match endpoint.opening {
        Some(opening) => agrees((opening.kind, opening.direction), kind, direction),
        None => Ok(()),
    }
}

#[inline(never)]
fn agrees((kind, way): (Kind, Direction), wanted: Kind, direction: Direction) -> Outcome<()> {
    match () {
        () if kind != wanted => Err(Status::ChanType),
        () if way != direction => Err(Status::ChanDirection),
        () => Ok(()),
    }
}
