//! A node of MCAPI: its state, and how it moves on.
//!
//! | file | what it has |
//! |---|---|
//! | `endpoint`, `peer` | getting and deleting endpoints; other nodes and their endpoints |
//! | `message`, `packet`, `scalar`, `transfer` | sending and receiving, and what they share |
//! | `channel`, `connect`, `closing` | channels, from the first offer to the last close |
//! | `pending` | trying operations again that are not finished |
//! | `hear` | what the node does when it hears what other nodes say |
//! | `short`, `route` | what calls keep for the short way: open channels, and ways of messages |

mod channel;
mod closing;
mod connect;
mod endpoint;
mod hear;
mod message;
mod packet;
mod peer;
mod pending;
mod route;
mod scalar;
mod short;
mod transfer;

use std::sync::OnceLock;

use narrows::endpoint::{Channel as Ring, Limits, LinkError, Node as Stack, SendError};
use narrows::link::{LinkId, Name};
use narrows::memory::{Class, Layout};
use narrows::platform::{Lost, Platform};
use narrows::strategy::{Placement, Strategy};
use narrows_host::Bell;

use super::attribute::{INBOX, LONGEST};
use super::control::{Control, Said};
use super::endpoint::{Endpoints, MAX_ENDPOINTS};
use super::home::{Home, On};
use super::id::{Handle, NodeId, Table};
use super::lender::Likely;
use super::places::{MAX_PEERS, Places};
use super::request::{Operation, Requests};
use super::status::Status;
use channel::Channel;
use hear::Wanted;
pub(super) use peer::MAX_CHANNELS;
use peer::{End, Peers};
use pending::TURNS;
use route::Routes;
use short::Shorts;
pub(super) use transfer::Quick;

/// The stack's port that messages are sent from, which hears of those that were refused.
const CONTROL: u16 = 0;
/// The kind of memory that payload is in: blocks used last are used next, and so are in the cache.
const PLACEMENT: Placement = Placement::Internal;
/// Slots of a channel's ring.
const CHANNEL_SLOTS: u32 = 64;
/// Answers to a peer that wait for room; one that lets more gather does not read them.
const MOST_UNSAID: usize = 1024;

/// What is to be said to the node behind a link, and how many pieces of it were.
#[derive(Clone, Copy)]
pub(super) struct Unsaid {
    pub link: LinkId,
    control: Control,
    said: usize,
}

/// The channel for what is said over a link.
#[inline]
pub(super) fn control_of(link: LinkId) -> Ring {
    Ring { link, ring: MAX_CHANNELS }
}

/// A node of this process. What is small comes first, so that it is near the node's own address.
#[repr(C)]
pub(super) struct Node<H: Home> {
    pub id: NodeId,
    /// Channels whose link is looked for.
    pub hunting: u16,
    /// A thread waits that has the lock unless somebody asks for it.
    pub led: bool,
    /// Something ended that a thread may wait for.
    pub news: bool,
    /// Whether what other nodes said was not all seen to: there is no waiting before that.
    pub unheard: bool,
    /// Whether no other node of the process was initialised since it was.
    pub alone: bool,
    /// Calls that may find what they want before the next that sees to everything.
    pub turns: u8,
    /// Tells it from the one that has the slot after it.
    pub life: u64,
    /// Nanoseconds that a caller that waits in it looks before it sleeps.
    pub look: u64,
    pub endpoints: Endpoints,
    /// Sides of channels, for the short way.
    pub shorts: Shorts<H>,
    pub peers: Peers<H>,
    pub channels: Table<Channel>,
    pub requests: Requests,
    pub unsaid: Vec<Unsaid>,
    /// Links that have ended and are not closed: something that came over them may still be there.
    pub ended: Vec<LinkId>,
    pub wanted: Vec<Wanted>,
    /// The memory in which the packet was that was released last, or the next is likely to be.
    pub likely: Likely,
    pub stack: Stack<On<H>>,
    /// Ways of messages, for the short way.
    pub routes: Routes,
}

/// Slots of a link, with lines of `line` bytes: in 16 KiB at most, as a server may have hundreds of
/// links.
pub(super) const fn slots(line: u32) -> u32 {
    if line > 64 { 128 } else { 256 }
}

/// The layout of a node's half of each link, with lines of `line` bytes.
#[must_use]
pub fn layout(line: u32) -> Option<Layout> {
    let class = |size, count| Class { placement: PLACEMENT, size, count };
    let classes = [class(64, 128), class(1024, 64), class(8192, 32), class(LONGEST, 16)];
    let layout = Layout::new(line, slots(line), &classes).ok()?;
    // One more, for what nodes say to each other.
    layout.with_channels(MAX_CHANNELS + 1, CHANNEL_SLOTS).ok()
}

impl<H: Home> Node<H> {
    /// Opens a node that looks for `look` nanoseconds before it sleeps, and deals with `most` other
    /// nodes at a time; `wakes` has what wakes the thread that waits in it. Its handles have the
    /// life `first` or later ones, which those of the node before it in the slot do not have.
    pub fn open(
        id: NodeId,
        (slot, first): (u32, u16),
        life: u64,
        wakes: &OnceLock<Bell>,
        (look, most): (u64, usize),
    ) -> Option<Box<Node<H>>> {
        let layout = layout(On::<H>::LINE)?;
        let platform = H::open(&id.name()?, layout, wakes)?;
        let limits = Limits {
            // Ended links keep their place until what came over them was received.
            links: 2 * most,
            endpoints: MAX_ENDPOINTS + 1,
            flows: 1,
            inbox: INBOX as usize,
            longest: 0,
        };
        let mut stack = Stack::new(platform, limits).ok()?;
        stack.open(CONTROL).ok()?;
        stack.set_strategy(Strategy { placement: PLACEMENT, ..Strategy::default() });
        let (peers, shorts) = (Peers::new(most)?, Shorts::new()?);
        Some(Box::new(Node {
            id,
            hunting: 0,
            led: false,
            news: false,
            unheard: false,
            alone: true,
            turns: TURNS,
            life,
            look,
            endpoints: Endpoints::new(id),
            shorts,
            peers,
            channels: Table::new(slot, first, Handle::PLACES),
            requests: Requests::new(slot, first),
            unsaid: Vec::with_capacity(64),
            ended: Vec::with_capacity(2 * most),
            wanted: Vec::with_capacity(64),
            likely: Likely::none(),
            stack,
            routes: Routes::new(),
        }))
    }

    /// How many lives its handles have had at most.
    pub fn lives(&self) -> u16 {
        self.channels.lives().max(self.requests.lives())
    }

    /// Does all that can be done without waiting.
    pub fn progress(&mut self) {
        self.give_all();
        self.stack.poll();
        self.hear();
        if !self.ended.is_empty() {
            self.close_ended();
        }
        if self.hunting > 0 {
            self.hunt_for_channels();
        }
        self.try_pending();
        self.speak();
    }

    /// Says something to the node behind a link.
    #[inline(never)]
    pub fn say(&mut self, link: LinkId, said: Said, words: &[u32]) {
        if let Some(peer) = self.peers.of(link).and_then(|place| self.peers.get_mut(place)) {
            // Messages do not go the short way before one has told that.
            peer.said = true;
        }
        self.unsaid.push(Unsaid { link, control: Control::new(said, words), said: 0 });
        self.speak();
    }

    /// Says what was not said yet. A link without room holds up what is for it, and nothing else.
    fn speak(&mut self) {
        let mut full = Places::default();
        let mut at = 0;
        while let Some(Unsaid { link, control, said }) = self.unsaid.get(at).copied() {
            let peer = self.peers.of(link);
            if peer.is_some_and(|peer| full.has(peer)) {
                at += 1;
                continue;
            }
            let (piece, last) = control.piece(said);
            let mut channel = self.stack.channel(control_of(link));
            match channel.try_send_word(piece, 8, u16::from(!last)) {
                Ok(()) if !last => {
                    if let Some(unsaid) = self.unsaid.get_mut(at) {
                        unsaid.said += 1;
                    }
                }
                Err(SendError::RingFull) => {
                    let _ = channel.want_room(true);
                    if let Some(peer) = peer {
                        full.add(peer);
                    }
                    let theirs = self.unsaid.iter().filter(|unsaid| unsaid.link == link);
                    if theirs.count() > MOST_UNSAID {
                        self.stack.link(link).close();
                        return self.lost(link, Lost::Closed);
                    }
                    at += 1;
                }
                // Said, or there is nobody to hear it any more.
                _ => {
                    self.unsaid.remove(at);
                    if !self.unsaid.iter().any(|unsaid| unsaid.link == link) {
                        let _ = self.stack.channel(control_of(link)).want_room(false);
                    }
                }
            }
        }
    }

    /// Says to the stack whether messages wait for room on a link.
    pub fn want_room_if_queued(&mut self, link: LinkId) {
        let queued = self.peers.of(link).and_then(|place| self.peers.get(place));
        let wanted = queued.is_some_and(|peer| peer.queued > 0);
        let _ = self.stack.link(link).want_room(wanted);
    }

    /// The place of the peer behind a link that has come up.
    pub fn met(&mut self, link: LinkId) -> Option<u16> {
        if let Some(place) = self.peers.of(link) {
            return Some(place);
        }
        let (name, _) = self.stack.link(link).peer().ok()?;
        let place = NodeId::named(&name).and_then(|id| self.peers.insert(id, link));
        if place.is_none() || self.stack.channel(control_of(link)).watch(true).is_err() {
            // It is not a node of MCAPI, or has gone already.
            if let Some(place) = place {
                self.peers.remove(place, End::Died);
            }
            self.stack.link(link).close();
            return None;
        }
        place
    }

    /// Notes which links have ended, and which have come up.
    #[inline(never)]
    pub fn meet(&mut self) {
        let mut next = self.peers.from(0);
        while let Some(place) = next {
            next = self.peers.from(place + 1);
            let Some(link) = self.peers.get(place).map(|peer| peer.link) else { continue };
            if let Err(LinkError::Gone(reason)) = self.stack.link(link).check() {
                // What it said before.
                self.hear_from(link);
                self.lost(link, reason);
            }
        }
        self.meet_new();
    }

    /// Notes which links have come up. Those that are one too many have to wait: what they say is
    /// heard when there is room.
    pub fn meet_new(&mut self) {
        for _ in 0..2 * MAX_PEERS {
            let unknown = |(link, _): &(LinkId, Name)| self.peers.of(*link).is_none();
            let Some((link, _)) = self.stack.links().find(unknown) else { return };
            if self.peers.are_full() {
                return;
            }
            self.met(link);
        }
    }

    /// The link to a node, which may be this one: none as long as it is looked for.
    pub fn link_to(&mut self, id: NodeId) -> Result<Option<LinkId>, Status> {
        if !self.peers.have_room_for(id) {
            return Err(Status::EndpGetLimit);
        }
        let name = id.name().ok_or(Status::General)?;
        let link = self.stack.try_hunt(&name).map_err(|_| Status::Transmission)?;
        Ok(link.filter(|link| self.met(*link).is_some()))
    }

    /// Looks for a node no longer, unless somebody else still does.
    pub fn give_up(&mut self, id: NodeId) {
        let wanted =
            |operation: &Operation| matches!(operation, Operation::Get { node, .. } if *node == id);
        let hunted = self.channels.iter().any(|channel| channel.hunts(id));
        if !hunted
            && !self.requests.all_pending().any(wanted)
            && let Some(name) = id.name()
        {
            self.stack.give_up(&name);
        }
    }
}
