//! A node of MCAPI: its state, and how it moves on.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use narrows::endpoint::{Address, Limits, Message, Node as Stack, SendError, What};
use narrows::link::{LinkId, Name};
use narrows::memory::{Class, Layout};
use narrows::platform::{Lost, Platform};
use narrows::strategy::{Placement, Strategy};
use narrows_host::Bell;

use super::attribute::{INBOX, LONGEST, SLOTS};
use super::channel::Channel;
use super::control::{BYTES, Control};
use super::endpoint::{Endpoints, MAX_ENDPOINTS};
use super::home::{Home, On};
use super::id::{EndpointId, Handle, NodeId, Table};
use super::lender::Lender;
use super::peer::{End, MAX_CHANNELS, MAX_PEERS, Peers};
use super::request::{Operation, Requests};
use super::route::Routes;
use super::short::Shorts;
use super::status::Status;
use super::transfer::TURNS;

/// The stack's port for what nodes say to each other.
pub(super) const CONTROL: u16 = 0;
/// The kind of memory that payload is in: blocks used last are used next, and so are in the cache.
pub(super) const PLACEMENT: Placement = Placement::Internal;
/// Slots of a channel's ring.
const CHANNEL_SLOTS: u32 = 64;
/// Answers that wait for room; a peer that lets more gather does not read them.
const MOST_UNSAID: usize = 1024;
/// What nodes said that is seen to in one turn.
const HEARD_AT_ONCE: usize = 64;

/// A get of another node's that waits for the endpoint to be made.
struct Wanted {
    link: LinkId,
    request: u32,
    port: u16,
}

/// A node of this process.
pub(super) struct Node<H: Home> {
    pub id: NodeId,
    /// Tells it from the one that has the slot after it.
    pub life: u64,
    /// How long who waits in it looks before it sleeps.
    pub look: Duration,
    pub stack: Stack<On<H>>,
    pub endpoints: Endpoints,
    pub peers: Peers<H>,
    pub channels: Table<Channel>,
    /// Ways of messages, for the short way.
    pub routes: Routes,
    /// Sides of channels, for the short way.
    pub shorts: Shorts<H>,
    pub requests: Requests,
    /// The memory in which the packet was that was released last.
    pub released: Option<Arc<Lender<H>>>,
    /// Channels whose link is looked for.
    pub hunting: u16,
    /// A thread waits that has the lock unless somebody asks for it.
    pub led: bool,
    /// Something ended that a thread may wait for.
    pub news: bool,
    /// Calls that may find what they want before the next that sees to everything.
    pub turns: u8,
    wanted: Vec<Wanted>,
    unsaid: VecDeque<(LinkId, Control)>,
    /// Whether what other nodes said was not all seen to: there is no waiting before that.
    pub unheard: bool,
}

/// The layout of a node's half of each link, with lines of so many bytes.
#[must_use]
pub fn layout(line: u32) -> Option<Layout> {
    let class = |size, count| Class { placement: PLACEMENT, size, count };
    let classes = [class(64, 128), class(1024, 64), class(8192, 32), class(LONGEST, 16)];
    let layout = Layout::new(line, SLOTS, &classes).ok()?;
    layout.with_channels(MAX_CHANNELS, CHANNEL_SLOTS).ok()
}

impl<H: Home> Node<H> {
    /// Opens a node; `wakes` has what wakes whoever waits in it. Its handles have the life `first` or later
    /// ones, which those of the node before it in the slot do not have.
    pub fn open(
        id: NodeId,
        (slot, first): (u32, u16),
        life: u64,
        wakes: &OnceLock<Bell>,
        look: Duration,
    ) -> Result<Node<H>, Status> {
        let layout = layout(On::<H>::LINE).ok_or(Status::NodeInitFailed)?;
        let platform = H::open(&id.to_string(), layout, wakes).ok_or(Status::NodeInitFailed)?;
        let limits = Limits {
            // Ended links keep their place until what came over them was received.
            links: 2 * MAX_PEERS,
            endpoints: MAX_ENDPOINTS + 1,
            flows: 1,
            inbox: INBOX as usize,
            longest: 0,
        };
        let mut stack = Stack::new(platform, limits).map_err(|_| Status::NodeInitFailed)?;
        stack.open(CONTROL).map_err(|_| Status::NodeInitFailed)?;
        stack.set_strategy(Strategy { placement: PLACEMENT, ..Strategy::default() });
        Ok(Node {
            id,
            life,
            look,
            stack,
            endpoints: Endpoints::new(id),
            peers: Peers::new().ok_or(Status::NodeInitFailed)?,
            channels: Table::new(slot, first, Handle::PLACES),
            routes: Routes::default(),
            shorts: Shorts::new().ok_or(Status::NodeInitFailed)?,
            requests: Requests::new(slot, first),
            released: None,
            hunting: 0,
            led: false,
            news: false,
            turns: TURNS,
            wanted: Vec::with_capacity(64),
            unsaid: VecDeque::with_capacity(64),
            unheard: false,
        })
    }

    /// How many lives its handles have had at most.
    pub fn lives(&self) -> u16 {
        self.channels.lives().max(self.requests.lives())
    }

    /// Does all that can be done without waiting.
    pub fn progress(&mut self) {
        self.stack.poll();
        self.hear();
        if self.hunting > 0 {
            self.hunt_for_channels();
        }
        self.try_pending();
        self.speak();
    }

    /// Says something to the node behind a link.
    pub fn say(&mut self, link: LinkId, control: Control) {
        self.unsaid.push_back((link, control));
        self.speak();
    }

    /// Says what was not said yet. A link without room holds up what is for it, and nothing else.
    fn speak(&mut self) {
        let mut full = 0u64;
        let mut at = 0;
        while let Some((link, control)) = self.unsaid.get(at) {
            let link = *link;
            let peer = self.peers.of(link).map_or(0, |place| 1 << place);
            if full & peer != 0 {
                at += 1;
                continue;
            }
            let to = Address { link, port: CONTROL };
            let bytes = control.encode();
            let sent = self.stack.try_send(CONTROL, to, Message::new(&bytes[..]).priority(0));
            match sent {
                Err(SendError::RingFull | SendError::PoolEmpty) => {
                    let _ = self.stack.want_room_for_messages(link, true);
                    full |= peer;
                    if self.unsaid.len() > MOST_UNSAID {
                        self.stack.close(link);
                        return self.lost(link, Lost::Closed);
                    }
                    at += 1;
                }
                // Said, or there is nobody to hear it any more.
                _ => {
                    self.unsaid.remove(at);
                    if !self.unsaid.iter().any(|(to, _)| *to == link) {
                        self.want_room_if_queued(link);
                    }
                }
            }
        }
    }

    /// Says to the stack whether messages wait for room on a link.
    pub fn want_room_if_queued(&mut self, link: LinkId) {
        let queued = self.peers.of(link).and_then(|place| self.peers.get(place));
        let unsaid = self.unsaid.iter().any(|(to, _)| *to == link);
        let wanted = unsaid || queued.is_some_and(|peer| peer.queued > 0);
        let _ = self.stack.want_room_for_messages(link, wanted);
    }

    /// Sees to what other nodes said.
    fn hear(&mut self) {
        self.unheard = false;
        for _ in 0..HEARD_AT_ONCE {
            let mut bytes = [0; BYTES];
            let Ok(Some(received)) = self.stack.try_receive_into(CONTROL, &mut bytes) else {
                return;
            };
            let link = received.from.link;
            match received.what {
                What::Message => match Control::decode(bytes.get(..received.len).unwrap_or(&[])) {
                    Some(control) => self.obey(link, control),
                    None => {
                        self.stack.close(link);
                        self.lost(link, Lost::Closed);
                    }
                },
                What::Refused => {
                    let place =
                        super::control::Place { port: received.from.port, tag: received.tag };
                    self.peers.deleted(link, place);
                }
                What::PeerGone(reason) => self.lost(link, reason),
            }
        }
        self.unheard = true;
    }

    fn obey(&mut self, link: LinkId, control: Control) {
        let Some(peer) = self.met(link) else { return };
        match control {
            Control::Get { request, port } => self.wanted(link, peer, request, port),
            Control::GiveUp { request } => {
                self.wanted.retain(|wanted| wanted.link != link || wanted.request != request);
            }
            Control::Found { request, place } => {
                let handle = Handle(request);
                if let Some(Operation::Get { node, port, asked, .. }) =
                    self.requests.pending(handle)
                    && *asked == Some(link)
                {
                    let id = node.endpoint(*port);
                    let got = self.peers.got(id, peer, link, place);
                    self.end_get(handle, got.map(|()| id));
                } else {
                    // Whoever wanted it does not any more.
                    self.say(link, Control::Release { place });
                }
            }
            Control::Release { place } => {
                let own = self.peers.get(peer).is_some_and(|peer| peer.id == self.id);
                if let Some(endpoint) = self.endpoints.marked(place.port, place.tag) {
                    endpoint.given_back(own);
                }
            }
            Control::Deleted { place } => self.peers.deleted(link, place),
            Control::Query { request, place, number } => {
                let value = self.endpoints.marked(place.port, place.tag).map(|e| e.id);
                let value = value.ok_or(Status::EndpInvalid);
                let value = value.and_then(|id| self.attribute(id, number));
                let (status, value) = match value {
                    Ok(value) => (Status::Success, value),
                    Err(status) => (status, [0; 2]),
                };
                self.say(link, Control::Value { request, status: status as u32, value });
            }
            Control::Value { request, status, value: [low, high] } => {
                let handle = Handle(request);
                if let Some(Operation::Query { asked }) = self.requests.pending(handle)
                    && *asked == link
                {
                    let value = u64::from(high) << 32 | u64::from(low);
                    self.end(handle, told(status).map(|()| value));
                }
            }
            Control::Connect { request, kind, from, to } => {
                let begun = self.connect_from(
                    from,
                    kind,
                    to,
                    super::channel::Asker::Peer { link, request },
                );
                if let Err(status) = begun {
                    self.say(link, Control::Connected { request, status: status as u32 });
                }
            }
            Control::Connected { request, status } => {
                let handle = Handle(request);
                if let Some(Operation::Connect { asked }) = self.requests.pending(handle)
                    && *asked == Some(link)
                {
                    self.end(handle, told(status).map(|()| 0));
                }
            }
            Control::Offer { channel, kind, ring, from, to, compared } => {
                let taken = self.take_offer(link, (kind, ring), from, to, (channel, compared));
                let (status, own) = match taken {
                    Ok(own) => (Status::Success, own.0),
                    Err(status) => (status, 0),
                };
                self.say(link, Control::Answer { channel, status: status as u32, own });
                if taken.is_ok() {
                    self.opened(Handle(own));
                }
            }
            Control::Answer { channel, status, own } => {
                self.answered(link, Handle(channel), told(status).map(|()| own));
            }
            Control::Close { channel } => self.closed_there(link, Handle(channel)),
            Control::Free { channel } => self.freed(link, Handle(channel)),
        }
    }

    /// The place of the peer behind a link that something came over or is to go over.
    pub fn met(&mut self, link: LinkId) -> Option<u8> {
        if let Some(place) = self.peers.of(link) {
            return Some(place);
        }
        let (name, _) = self.stack.peer(link).ok()?;
        let place = node_of(&name).and_then(|id| self.peers.insert(id, link));
        if place.is_none() || self.stack.attach(link, CONTROL).is_err() {
            // It is not a node of MCAPI, or one too many, or has gone already.
            if let Some(place) = place {
                self.peers.remove(place, End::Died);
            }
            self.stack.close(link);
            return None;
        }
        place
    }

    /// The link to a node, which may be this one: none as long as it is looked for.
    pub fn link_to(&mut self, id: NodeId) -> Result<Option<LinkId>, Status> {
        let name: Name = id.to_string().parse().map_err(|_| Status::General)?;
        let link = self.stack.try_hunt(&name).map_err(|_| Status::Transmission)?;
        Ok(link.filter(|link| self.met(*link).is_some()))
    }

    /// Looks for a node no longer, unless somebody else still does.
    pub fn give_up(&mut self, id: NodeId) {
        let wanted =
            |operation: &Operation| matches!(operation, Operation::Get { node, .. } if *node == id);
        let hunted = self.channels.iter().any(|(_, channel)| channel.hunts(id));
        if !hunted
            && !self.requests.all_pending().any(|(_, operation)| wanted(operation))
            && let Ok(name) = id.to_string().parse()
        {
            self.stack.give_up(&name);
        }
    }

    /// Another node asks for an endpoint.
    fn wanted(&mut self, link: LinkId, peer: u8, request: u32, port: u16) {
        if !self.found(link, peer, request, port) && self.wanted.len() < MOST_UNSAID {
            self.wanted.push(Wanted { link, request, port });
        }
    }

    fn found(&mut self, link: LinkId, peer: u8, request: u32, port: u16) -> bool {
        let Some(inner) = self.endpoints.find(self.id.endpoint(port & 0xfff)) else { return false };
        let source = self.peers.get(peer).map(|peer| peer.id);
        let Some(endpoint) = self.endpoints.get_mut(inner) else { return false };
        endpoint.gets += 1;
        endpoint.own_gets += u32::from(source == Some(self.id));
        endpoint.source = source;
        endpoint.known_to |= 1 << peer;
        endpoint.orphaned = false;
        let place = super::control::Place { port: inner, tag: endpoint.tag };
        self.say(link, Control::Found { request, place });
        true
    }

    /// Tells those that wait for an endpoint that it is there.
    pub fn created(&mut self, id: EndpointId) {
        let port = id.port();
        while let Some(at) = self.wanted.iter().position(|wanted| wanted.port == port) {
            let Wanted { link, request, .. } = self.wanted.swap_remove(at);
            if let Some(peer) = self.peers.of(link) {
                self.found(link, peer, request, port);
            }
        }
    }

    /// Whether somebody waits for an endpoint to be made.
    pub fn is_wanted(&self, port: u16) -> bool {
        self.wanted.iter().any(|wanted| wanted.port == port)
    }

    /// A link has ended.
    fn lost(&mut self, link: LinkId, reason: Lost) {
        self.unsaid.retain(|(to, _)| *to != link);
        self.wanted.retain(|wanted| wanted.link != link);
        let died = reason != Lost::Closed;
        let Some(place) = self.peers.of(link) else { return };
        self.peers.remove(place, if died { End::Died } else { End::Deleted });
        for (_, endpoint) in self.endpoints.iter_mut() {
            let known = endpoint.known_to & 1 << place != 0;
            endpoint.known_to &= !(1 << place);
            endpoint.orphaned |= known && died && endpoint.known_to == 0;
        }
        for place in 0..Handle::PLACES {
            let Some((handle, operation)) = self.requests.pending_at(place) else { continue };
            let over = match operation {
                // Finalised: the node may come again.
                Operation::Get { asked, .. } if *asked == Some(link) && !died => {
                    *asked = None;
                    false
                }
                Operation::Get { asked, .. } | Operation::Connect { asked } => *asked == Some(link),
                Operation::Query { asked } => *asked == link,
                _ => false,
            };
            if over {
                self.end(handle, Err(Status::Transmission));
            }
        }
        self.lose_channels(link, reason);
        self.news = true;
    }
}

/// The node that a name of Narrows stands for.
fn node_of(name: &Name) -> Option<NodeId> {
    let (domain, node) = name.as_str().strip_prefix('d')?.split_once(".n")?;
    let (domain, node) = (domain.parse().ok()?, node.parse().ok()?);
    let id = (domain <= super::id::MAX_DOMAIN && node <= super::id::MAX_NODE)
        .then(|| NodeId::new(domain, node))?;
    (id.to_string() == name.as_str()).then_some(id)
}

/// What a peer said that something ended with.
fn told(status: u32) -> Result<(), Status> {
    match Status::named(status) {
        Some((Status::Success, _)) => Ok(()),
        Some((status, _)) => Err(status),
        None => Err(Status::Transmission),
    }
}
