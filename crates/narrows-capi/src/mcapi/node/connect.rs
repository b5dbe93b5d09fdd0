//! How two endpoints come to be connected: the sender's node chooses a ring and offers it, the
//! receiver's accepts or not.

use narrows::endpoint::Channel as Ring;
use narrows::link::LinkId;

use super::super::control::{Kind, Place, Said};
use super::super::endpoint::{Direction, Endpoint};
use super::super::home::Home;
use super::super::id::{EndpointId, Handle};
use super::super::request::Operation;
use super::super::status::{Outcome, Status};
use super::Node;
use super::channel::{Asker, Channel, Stage, agrees};
use super::peer::MAX_CHANNELS;

impl<H: Home> Node<H> {
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
    fn rings_of(&mut self, link: LinkId) -> (u16, u16) {
        self.stack.link(link).channels().unwrap_or((0, 0))
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
        if ring.ring >= there.min(MAX_CHANNELS) || self.channels.iter().any(receives) {
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
