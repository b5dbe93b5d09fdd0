//! The other nodes that a node deals with, and those of their endpoints that it has got.

use std::sync::Arc;

use narrows::endpoint::Address;
use narrows::link::LinkId;

use super::control::{Control, Place, Said};
use super::foreign::Output;
use super::home::Home;
use super::id::{EndpointId, Handle, NodeId};
use super::lender::Lender;
use super::node::Node;
use super::request::Operation;
use super::status::{Outcome, Status};

/// Nodes that one node can deal with at a time.
pub(super) const MAX_PEERS: usize = 64;
/// Channels from one node to one other.
pub(super) const MAX_CHANNELS: u16 = 32;
/// Endpoints of others that a node can have got at a time, a power of two.
const REMOTES: usize = 1024;

/// A node that this one has a link to.
pub(super) struct Peer {
    pub id: NodeId,
    pub link: LinkId,
    /// Rings of the link that this node sends on, a bit each.
    rings: u32,
    /// Messages that wait for room.
    pub queued: u16,
    /// Whether something was said to it since the last message.
    pub said: bool,
    /// What it has said of what it is about to say, and in how many pieces.
    pub heard: Control,
    pub pieces: usize,
}

/// Why an endpoint cannot be sent to any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It was deleted, or its node was finalised.
    Deleted,
    /// Its node died.
    Died,
}

/// An endpoint of another node, or this node's own as it sends to itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remote {
    pub id: EndpointId,
    pub peer: u8,
    pub link: LinkId,
    pub place: Place,
    /// Gets that were not given back.
    pub gets: u32,
    pub end: Option<End>,
}

impl Remote {
    #[inline]
    pub fn address(&self) -> Address {
        Address { link: self.link, port: self.place.port() }
    }
    /// What sending to it comes to, if it is no more.
    #[inline]
    pub fn check(&self) -> Outcome<()> {
        match self.end {
            None => Ok(()),
            Some(End::Deleted) => Err(Status::EndpInvalid),
            Some(End::Died) => Err(Status::Transmission),
        }
    }
}

/// The peers of a node.
pub(super) struct Peers<H: Home> {
    places: Box<[Option<Peer>]>,
    /// A bit for each place that is taken.
    taken: u64,
    remotes: Box<[Option<Remote>; REMOTES]>,
    /// Memory in which packets were received: they stay there when the peer is gone.
    pub lenders: Vec<Arc<Lender<H>>>,
    /// How often one of the peers or of their endpoints may have changed.
    pub changes: u64,
}

impl<H: Home> Peers<H> {
    pub fn new() -> Option<Peers<H>> {
        let remotes = vec![None; REMOTES].into_boxed_slice();
        Some(Peers {
            places: (0..MAX_PEERS).map(|_| None).collect(),
            taken: 0,
            // It is as long as the array: the conversion cannot fail, and nothing is dropped here.
            remotes: remotes.try_into().map_err(std::mem::forget).ok()?,
            lenders: Vec::new(),
            changes: 0,
        })
    }

    /// The place of the peer that a link leads to.
    #[inline(never)]
    pub fn of(&self, link: LinkId) -> Option<u8> {
        let leads = |peer: &Option<Peer>| peer.as_ref().is_some_and(|peer| peer.link == link);
        self.places.iter().position(leads).map(|at| at as u8)
    }
    #[inline(never)]
    pub fn get_mut(&mut self, place: u8) -> Option<&mut Peer> {
        self.changes += 1;
        self.places.get_mut(usize::from(place))?.as_mut()
    }
    #[inline]
    pub fn get(&self, place: u8) -> Option<&Peer> {
        self.places.get(usize::from(place))?.as_ref()
    }

    /// The places that are taken now.
    #[inline]
    pub fn places(&self) -> impl Iterator<Item = u8> + use<H> {
        let mut left = self.taken;
        std::iter::from_fn(move || {
            let place = (left != 0).then(|| left.trailing_zeros() as u8);
            left &= left.wrapping_sub(1);
            place
        })
    }

    /// Whether there are as many as there can be.
    #[inline]
    pub fn are_full(&self) -> bool {
        const { assert!(MAX_PEERS == u64::BITS as usize) };
        self.taken == u64::MAX
    }
    /// Whether a node is one of them.
    fn are_linked_with(&self, id: NodeId) -> bool {
        self.places.iter().flatten().any(|peer| peer.id == id)
    }
    /// Whether a node is one of them, or can become one.
    #[inline(never)]
    pub fn have_room_for(&self, id: NodeId) -> bool {
        !self.are_full() || self.are_linked_with(id)
    }

    /// Notes a link to a node. None if there are too many.
    pub fn insert(&mut self, id: NodeId, link: LinkId) -> Option<u8> {
        self.changes += 1;
        let free = self.places.iter().position(Option::is_none)?;
        *self.places.get_mut(free)? = Some(Peer {
            id,
            link,
            rings: 0,
            queued: 0,
            said: false,
            heard: Control::NONE,
            pieces: 0,
        });
        self.taken |= 1 << free;
        Some(free as u8)
    }

    /// Forgets a peer whose link has ended. Its endpoints are as `end` says.
    pub fn remove(&mut self, place: u8, end: End) {
        self.changes += 1;
        let Some(peer) = self.places.get_mut(usize::from(place)).and_then(Option::take) else {
            return;
        };
        self.taken &= !(1 << place);
        let theirs = |remote: &&mut Remote| remote.link == peer.link && remote.end.is_none();
        for remote in self.remotes.iter_mut().flatten().filter(theirs) {
            remote.end = Some(end);
        }
    }

    /// A ring to send on, if one is free among `there` of them.
    pub fn take_ring(&mut self, link: LinkId, there: u16) -> Option<u16> {
        let place = self.of(link)?;
        let peer = self.get_mut(place)?;
        let ring = (0..there.min(MAX_CHANNELS)).find(|ring| peer.rings & 1 << ring == 0)?;
        peer.rings |= 1 << ring;
        Some(ring)
    }
    pub fn give_ring(&mut self, link: LinkId, ring: u16) {
        if let Some(peer) = self.of(link).and_then(|place| self.get_mut(place)) {
            peer.rings &= !(1 << ring);
        }
    }

    #[inline(always)]
    fn first(id: EndpointId) -> usize {
        (id.0 ^ id.0 >> 12).wrapping_mul(0x9e37_79b1) as usize >> 16 & (REMOTES - 1)
    }

    /// An endpoint that was got.
    #[inline(never)]
    pub fn find(&self, id: EndpointId) -> Option<&Remote> {
        let first = Peers::<H>::first(id);
        for i in 0..REMOTES {
            match self.remotes.get((first + i) & (REMOTES - 1))? {
                Some(remote) if remote.id == id => return Some(remote),
                Some(_) => {}
                None => return None,
            }
        }
        None
    }
    /// Whether an endpoint was got that is still there.
    #[inline(never)]
    pub fn has(&self, id: EndpointId) -> bool {
        self.find(id).is_some_and(|remote| remote.end.is_none())
    }
    #[inline(never)]
    pub fn find_mut(&mut self, id: EndpointId) -> Option<&mut Remote> {
        self.changes += 1;
        let first = Peers::<H>::first(id);
        for i in 0..REMOTES {
            let place = (first + i) & (REMOTES - 1);
            match self.remotes.get(place)? {
                Some(remote) if remote.id == id => return self.remotes.get_mut(place)?.as_mut(),
                Some(_) => {}
                None => return None,
            }
        }
        None
    }

    /// Notes an endpoint that was got, once more perhaps, or only found.
    pub fn got(
        &mut self,
        id: EndpointId,
        (peer, link): (u8, LinkId),
        place: Place,
        counts: bool,
    ) -> Outcome<()> {
        self.changes += 1;
        if let Some(known) = self.find_mut(id) {
            let gets = if known.end.is_none() && known.place == place { known.gets } else { 0 };
            *known = Remote { id, peer, link, place, gets: gets + u32::from(counts), end: None };
            return Ok(());
        }
        let first = Peers::<H>::first(id);
        // Nothing is ever taken out of its place, so that nothing behind it is lost from sight; but
        // a place whose endpoint nobody has any more is as good as a free one.
        let usable = |entry: &Option<Remote>| {
            entry.is_none_or(|remote| remote.end.is_some() || remote.gets == 0)
        };
        let used = self.remotes.iter().filter(|entry| !usable(entry)).count();
        let mut places = (0..REMOTES).map(|i| (first + i) & (REMOTES - 1));
        let place_of = |at: &usize| self.remotes.get(*at).is_some_and(usable);
        let at = places.find(place_of).filter(|_| used < REMOTES / 4 * 3);
        let entry = at.and_then(|at| self.remotes.get_mut(at)).ok_or(Status::EndpGetLimit)?;
        *entry = Some(Remote { id, peer, link, place, gets: counts.into(), end: None });
        Ok(())
    }

    /// Notes that an endpoint is no more.
    pub fn deleted(&mut self, link: LinkId, place: Place) {
        self.changes += 1;
        let it = |remote: &&mut Remote| remote.link == link && remote.place == place;
        for remote in self.remotes.iter_mut().flatten().filter(it) {
            remote.end.get_or_insert(End::Deleted);
        }
    }
}

impl<H: Home> Node<H> {
    /// The memory of the peer behind a link, for packets. None if it cannot be.
    pub fn lender(&mut self, link: LinkId) -> Option<Arc<Lender<H>>> {
        let known = self.peers.lenders.iter().find(|lender| lender.link() == link);
        if let Some(known) = known {
            return Some(known.clone());
        }
        let (region, layout) = (self.stack.peer_region(link)?, self.stack.peer_layout(link)?);
        let lender = Lender::new(link, region, layout)?;
        // Those of closed links that the application has nothing of any more are of no use.
        let stack = &self.stack;
        let used = |old: &Arc<Lender<H>>| stack.peer_region(old.link()).is_some() || old.lends();
        self.peers.lenders.retain(used);
        self.peers.lenders.push(lender.clone());
        Some(lender)
    }

    /// The stack's port of an endpoint that has to be this node's own, and how long a caller that
    /// receives there may wait.
    #[inline(never)]
    pub fn receiver(&self, id: EndpointId) -> Outcome<(u16, u32)> {
        match self.endpoints.own(id) {
            Some((inner, endpoint)) => Ok((inner, endpoint.attributes.timeout)),
            None if self.peers.has(id) => Err(Status::EndpRemote),
            None => Err(Status::EndpInvalid),
        }
    }

    /// Gets an endpoint. Returns the request that goes on if it is not known at once.
    pub fn get_endpoint(
        &mut self,
        id: EndpointId,
        out: Output<u32>,
        of_call: bool,
    ) -> Outcome<Option<Handle>> {
        if id.node() == self.id
            && let Some((_, endpoint)) = self.endpoints.own_mut(id)
        {
            endpoint.gets += 1;
            endpoint.own_gets += 1;
            endpoint.source = Some(self.id);
            out.put(id.0);
            return Ok(None);
        }
        let (node, port) = (id.node(), id.port());
        let operation = Operation::Get { node, port, out, asked: None, counts: true };
        let request = self.begin(operation, of_call)?;
        if let Ok(Some(link)) = self.link_to(node) {
            self.ask_for(request, link);
        }
        Ok(Some(request))
    }

    /// Asks the node behind a link for the endpoint that a request wants.
    pub fn ask_for(&mut self, request: Handle, link: LinkId) {
        if let Some(Operation::Get { port, asked, counts, .. }) = self.requests.pending(request) {
            *asked = Some(link);
            let (port, said) = (*port, if *counts { Said::Get } else { Said::Look });
            self.say(link, said, &[request.0, port.into()]);
        }
    }

    /// Whether an endpoint of another node may be there though it was not got, or no more when it
    /// was last heard of.
    pub fn may_learn(&self, id: EndpointId) -> bool {
        let other = id.node() != self.id;
        other
            && self.peers.find(id).is_none_or(|remote| {
                remote.end == Some(End::Deleted) && self.peers.are_linked_with(id.node())
            })
    }

    /// Looks for an endpoint that another node has passed on. Returns the request that goes on.
    pub fn look_for_endpoint(&mut self, id: EndpointId) -> Outcome<Handle> {
        let (node, port, out) = (id.node(), id.port(), Output::nowhere());
        let operation = Operation::Get { node, port, out, asked: None, counts: false };
        let request = self.begin(operation, true)?;
        if let Ok(Some(link)) = self.link_to(node) {
            self.ask_for(request, link);
        }
        Ok(request)
    }

    /// Ends a get.
    pub fn end_get(&mut self, request: Handle, id: EndpointId, got: Outcome<()>) {
        if let (Ok(()), Some(Operation::Get { out, .. })) = (got, self.requests.pending(request)) {
            out.put(id.0);
        }
        self.end(request, got.into());
    }

    /// Gives a get back.
    pub fn release_endpoint(&mut self, id: EndpointId) -> Outcome<()> {
        if id.node() == self.id {
            let own = self.endpoints.own_mut(id).filter(|(_, endpoint)| endpoint.own_gets > 0);
            own.ok_or(Status::EndpInvalid)?.1.given_back(true);
            return Ok(());
        }
        let remote = self.peers.find_mut(id).filter(|remote| remote.gets > 0);
        let remote = remote.ok_or(Status::EndpInvalid)?;
        remote.gets -= 1;
        let (link, place, there) = (remote.link, remote.place, remote.end.is_none());
        if remote.gets == 0 {
            // Nobody here has got it any more.
            remote.end.get_or_insert(End::Deleted);
        }
        if there {
            self.say(link, Said::Release, &[place.0]);
        }
        Ok(())
    }

    /// Makes an endpoint of this node's one that it can send to: over a link with itself.
    #[inline(never)]
    pub fn reach_own(&mut self, id: EndpointId) -> Outcome<()> {
        // Both ends are this node's: it takes some turns and no waiting.
        for _ in 0..1000 {
            self.progress();
            let (inner, endpoint) = self.endpoints.own(id).ok_or(Status::EndpInvalid)?;
            let tag = endpoint.tag;
            if let Some(link) = self.link_to(self.id)? {
                let peer = self.peers.of(link).ok_or(Status::MemLimit)?;
                return self.peers.got(id, (peer, link), Place::new(inner, tag), true);
            }
        }
        Err(Status::Transmission)
    }

    /// Whether an endpoint is one that can be sent to.
    pub fn knows(&self, id: EndpointId) -> bool {
        let own = id.node() == self.id && self.endpoints.find(id).is_some();
        own || self.peers.find(id).is_some_and(|remote| remote.end != Some(End::Deleted))
    }

    /// Deletes an endpoint of this node's.
    pub fn delete_endpoint(&mut self, id: EndpointId) -> Outcome<()> {
        if id.node() != self.id {
            return Err(if self.peers.has(id) {
                Status::EndpNotOwner
            } else {
                Status::EndpInvalid
            });
        }
        let (inner, endpoint) = self.endpoints.own(id).ok_or(Status::EndpInvalid)?;
        let channel = endpoint.channel.and_then(|handle| self.channels.get(handle));
        if endpoint.opening.is_some() || channel.is_some_and(|channel| channel.open) {
            return Err(Status::ChanOpen);
        }
        if endpoint.channel.is_some() {
            return Err(Status::ChanConnected);
        }
        self.end_those(Status::EndpInvalid, &mut |operation| {
            matches!(operation, Operation::ReceiveMessage { inner: of, .. } if *of == inner)
        });
        let Some(endpoint) = self.endpoints.remove(inner) else { return Ok(()) };
        let _ = self.stack.close(inner);
        let place = Place::new(inner, endpoint.tag);
        for peer in (0..MAX_PEERS as u8).filter(|peer| endpoint.known_to & 1 << peer != 0) {
            if let Some(link) = self.peers.get(peer).map(|peer| peer.link) {
                self.say(link, Said::Deleted, &[place.0]);
            }
        }
        if let Some(own) = self.peers.find_mut(id) {
            own.end = Some(End::Deleted);
        }
        Ok(())
    }
}
