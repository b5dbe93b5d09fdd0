//! The other nodes that a node deals with, and those of their endpoints that it has got.

use std::collections::HashMap;
use std::sync::Arc;

use narrows::endpoint::Address;
use narrows::link::LinkId;

use super::super::control::{Control, Place};
use super::super::home::Home;
use super::super::id::{EndpointId, NodeId};
use super::super::lender::Lender;
use super::super::places::{MAX_PEERS, Places};
use super::super::status::{Outcome, Status};
use super::Node;

/// Channels from one node to one other.
pub(in crate::mcapi) const MAX_CHANNELS: u16 = 32;
/// Endpoints of others that a node can have got at a time, a power of two.
const REMOTES: usize = 4096;

/// A node that this one has a link to.
pub(in crate::mcapi) struct Peer {
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
pub(in crate::mcapi) enum End {
    /// It was deleted, or its node was finalised.
    Deleted,
    /// Its node died.
    Died,
}

/// An endpoint of another node, or this node's own as it sends to itself.
#[derive(Clone, Copy, Debug)]
pub(in crate::mcapi) struct Remote {
    pub id: EndpointId,
    pub peer: u16,
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
pub(in crate::mcapi) struct Peers<H: Home> {
    /// As many as there were at a time.
    places: Vec<Option<Peer>>,
    taken: Places,
    by_link: HashMap<LinkId, u16>,
    /// How many there can be at a time.
    most: usize,
    remotes: Box<[Option<Remote>; REMOTES]>,
    /// Memory in which packets were received: they stay there when the peer is gone.
    pub lenders: Vec<Arc<Lender<H>>>,
    /// How often one of the peers or of their endpoints may have changed.
    pub changes: u64,
}

impl<H: Home> Peers<H> {
    pub fn new(most: usize) -> Option<Peers<H>> {
        let remotes = vec![None; REMOTES].into_boxed_slice();
        Some(Peers {
            places: Vec::new(),
            taken: Places::default(),
            by_link: HashMap::new(),
            most: most.min(MAX_PEERS),
            // It is as long as the array: the conversion cannot fail, and nothing is dropped here.
            remotes: remotes.try_into().map_err(std::mem::forget).ok()?,
            lenders: Vec::new(),
            changes: 0,
        })
    }

    /// The place of the peer that a link leads to.
    #[inline(never)]
    pub fn of(&self, link: LinkId) -> Option<u16> {
        self.by_link.get(&link).copied()
    }
    #[inline(never)]
    pub fn get_mut(&mut self, place: u16) -> Option<&mut Peer> {
        self.changes += 1;
        self.places.get_mut(usize::from(place))?.as_mut()
    }
    #[inline]
    pub fn get(&self, place: u16) -> Option<&Peer> {
        self.places.get(usize::from(place))?.as_ref()
    }

    /// The first place that is taken, from this one on.
    #[inline]
    pub fn from(&self, place: u16) -> Option<u16> {
        self.taken.from(place)
    }

    /// Whether there are as many as there can be.
    #[inline]
    pub fn are_full(&self) -> bool {
        self.by_link.len() >= self.most
    }
    /// Whether a node is one of them.
    pub fn are_linked_with(&self, id: NodeId) -> bool {
        self.places.iter().flatten().any(|peer| peer.id == id)
    }
    /// Whether a node is one of them, or can become one.
    #[inline(never)]
    pub fn have_room_for(&self, id: NodeId) -> bool {
        !self.are_full() || self.are_linked_with(id)
    }

    /// Notes a link to a node. None if there are too many.
    pub fn insert(&mut self, id: NodeId, link: LinkId) -> Option<u16> {
        self.changes += 1;
        let free = self.taken.free().filter(|_| !self.are_full())?;
        if self.places.len() <= usize::from(free) {
            self.places.push(None);
        }
        *self.places.get_mut(usize::from(free))? = Some(Peer {
            id,
            link,
            rings: 0,
            queued: 0,
            said: false,
            heard: Control::NONE,
            pieces: 0,
        });
        self.taken.add(free);
        self.by_link.insert(link, free);
        Some(free)
    }

    /// Forgets a peer whose link has ended. Its endpoints are as `end` says.
    pub fn remove(&mut self, place: u16, end: End) {
        self.changes += 1;
        let Some(peer) = self.places.get_mut(usize::from(place)).and_then(Option::take) else {
            return;
        };
        self.taken.remove(place);
        self.by_link.remove(&peer.link);
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
        (peer, link): (u16, LinkId),
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
}
