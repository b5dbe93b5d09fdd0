//! How two nodes find each other and how either learns of the other's end.
//!
//! Nothing here waits. Everything that can happen is a descriptor in one epoll set, and
//! [`Rendezvous::turn`] does what has become possible.

pub(crate) mod directory;
pub(crate) mod door;
mod handshake;
mod hunts;
pub(crate) mod notes;
mod offers;
pub(crate) mod packet;
pub(crate) mod ticker;
mod watch;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use narrows::link::Name;
use narrows::memory::Layout;
use narrows::platform::{FlowNote, HuntError, Lost};
use narrows::strategy::Placement;
use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{self, Errno};
use rustix::net::Shutdown;
use rustix::time::Timespec;

use crate::bells::Bell;
use crate::bells::carry::Carry;
use crate::bells::set::{self, CARRY, SUPERVISION, listen_to, no_events};
use crate::bells::sets::Sets;
use crate::carrier::{Carried, Carrier};
use crate::closing;
use crate::memory::fork::Maker;
use crate::memory::{LINE, PeerRegion, Region};
use crate::rendezvous::directory::{Bound, Directory, Life};
pub(crate) use crate::rendezvous::packet::Farewell;
use crate::rendezvous::packet::Hello;
use crate::rendezvous::ticker::Ticker;
use crate::status::Status;
use crate::status::page::LinkState;
use hunts::Hunt;
use watch::Pipe;

/// How long one has to say it.
const GREETING_TIME: Duration = Duration::from_secs(1);
/// How long the socket of a peer that died is looked at: it may outlive the link by a moment.
const DYING_TIME: Duration = Duration::from_secs(1);
/// How often what is waited for is looked at.
const TICK: Duration = Duration::from_millis(20);
/// The same for a hunt that is younger than [`YOUNG`].
const QUICK_TICK: Duration = Duration::from_millis(2);
const YOUNG: Duration = Duration::from_secs(1);
/// How often a node sees to it that it still has its name.
const KEEP: Duration = Duration::from_secs(5);

/// Connections taken and packets heard in one turn.
const UNITS: u32 = 8;

/// Peers up to which all pages of a region are made before they are used.
const FEW: usize = 2;

const LISTENER: u64 = 0;
const TICKER: u64 = 2;
const OFFERS: u64 = 4;
/// Keys of connections start behind these.
const FIRST_KEY: u32 = 8;
/// What the stack is told.
pub(crate) enum News {
    /// A link is up.
    Connected(Box<Linked>),
    /// A link has ended.
    Lost(u32, Lost),
    /// A hunt has ended in vain.
    Failed(Name, HuntError),
    /// Services have come. It ends a wait.
    Offers,
}

/// The halves of a link that is up, as [`narrows::platform::Connected`] has them.
pub(crate) struct Linked {
    pub key: u32,
    pub name: Name,
    pub incarnation: u64,
    pub own: Region,
    pub peer: PeerRegion,
    pub bell: Bell,
}

/// This node's name and life, and the users that it lets in.
pub(crate) struct Identity {
    pub name: Name,
    pub incarnation: u64,
    /// Of its halves of links that it hunts for, and of those that others hunt for.
    pub layout: Layout,
    pub incoming: Layout,
    /// Bytes of a peer's region at most.
    pub largest: u32,
    pub user: u32,
    /// The number that stands for every user without one here.
    pub stand_in: Option<u32>,
    pub allowed: Vec<u32>,
    /// What carries the links that it hunts for.
    pub carrier: Carrier,
}

impl Identity {
    /// Whether a user is this node's own.
    pub(crate) fn is_own(&self, user: u32) -> bool {
        user == self.user && self.stand_in != Some(user)
    }

    /// Whether a user may link with this node.
    pub(crate) fn allows(&self, user: u32) -> bool {
        self.is_own(user) || self.allowed.contains(&user)
    }

    /// Bytes of the longest message that one of its links can carry.
    pub(crate) fn longest(&self) -> u32 {
        let layouts = [&self.layout, &self.incoming].into_iter();
        let placements = [Placement::Internal, Placement::External];
        let all = layouts.flat_map(|layout| placements.map(|each| layout.longest(each)));
        all.max().unwrap_or(0)
    }

    fn hello(&self, layout: &Layout) -> Hello {
        Hello {
            name: self.name,
            incarnation: self.incarnation,
            line: LINE,
            size: layout.size(),
            framed: false,
        }
    }
}

enum Stage {
    /// It connected to this node and has said nothing.
    Stranger(Instant),
    /// This node connected and greeted. What it offered waits for the answer; its end of the
    /// stream, if frames are to carry the link.
    Greeted { name: Name, own: Region, bell: Bell, stream: Option<OwnedFd> },
    /// A link.
    Linked { name: Name, bell: Bell },
}

struct Connection {
    socket: OwnedFd,
    stage: Stage,
    /// Whether the peer is another user's.
    others: bool,
    /// What carries the link, if that is frames.
    carried: Option<Carried>,
    /// The peer's half of the link, when it is up.
    peer: Option<PeerRegion>,
}

/// Closes a socket. With it goes what the peer had sent and nobody took: descriptors, perhaps, of
/// which one can keep the thread that closes it waiting.
fn let_go(socket: OwnedFd, others: bool) {
    if others {
        let _ = rustix::net::shutdown(&socket, Shutdown::Both);
        closing::close(socket);
    }
}

impl Connection {
    fn new(socket: OwnedFd, stage: Stage, others: bool) -> Connection {
        Connection { socket, stage, others, carried: None, peer: None }
    }

    /// Says that the link ends in order, behind all that was sent over it.
    fn part(&self, why: Farewell) {
        if let Some(carried) = &self.carried {
            carried.finish();
        }
        packet::part(self.socket.as_fd(), why);
    }
}

/// This node's place among the others of its domain.
pub(crate) struct Rendezvous {
    me: Identity,
    /// A copy of this in a process that was forked does nothing: the sockets, the name and the
    /// links are the parent's.
    maker: Maker,
    directory: Directory,
    bound: Bound,
    status: Status,
    sets: Arc<Sets>,
    ticker: Ticker,
    /// Descriptors ran out while somebody wanted in: the listener is left alone for a tick.
    deaf: bool,
    hunts: Vec<Hunt>,
    connections: BTreeMap<u32, Connection>,
    next_key: u32,
    dead: Vec<(Name, Instant)>,
    /// Peers that were found to be incompatible: they are greeted again in their next life.
    incompatible: BTreeMap<Box<str>, Life>,
    /// When the name was last seen to be there.
    kept: Instant,
    /// Regions of links whose first pages are not all made yet, where the next slice begins, and
    /// where the last one ends if there are few peers.
    filling: VecDeque<(u32, Region, u32, u32)>,
    /// The last turn left something undone.
    more: bool,
    /// What the stack has not been told.
    pub news: VecDeque<News>,
    /// Services that this node offers, and what is to be known of them.
    offers: Vec<(Name, String)>,
    pipe: Pipe,
}

fn hunt_error(error: Errno) -> HuntError {
    match error {
        Errno::NOMEM => HuntError::NoRoom,
        other => HuntError::System(other.raw_os_error()),
    }
}

impl Rendezvous {
    pub(crate) fn new(
        me: Identity,
        (directory, bound): (Directory, Bound),
        status: Status,
        sets: Arc<Sets>,
        ticker: Ticker,
    ) -> Rendezvous {
        Rendezvous {
            me,
            maker: Maker::this(),
            kept: Instant::now(),
            directory,
            bound,
            status,
            sets,
            ticker,
            deaf: false,
            hunts: Vec::new(),
            connections: BTreeMap::new(),
            next_key: FIRST_KEY,
            dead: Vec::new(),
            incompatible: BTreeMap::new(),
            filling: VecDeque::new(),
            more: false,
            news: VecDeque::new(),
            offers: Vec::new(),
            pipe: Pipe::default(),
        }
    }

    /// Begins to let others in.
    pub(crate) fn start(&mut self) -> io::Result<()> {
        self.adjust();
        let set = &self.sets.rendezvous;
        listen_to(set, self.bound.listener.as_fd(), LISTENER, false)?;
        listen_to(set, self.ticker.as_fd(), TICKER, false)?;
        listen_to(&self.sets.bells, self.sets.supervision(), SUPERVISION, false)
    }

    #[inline]
    pub(crate) fn longest(&self) -> u32 {
        self.me.longest()
    }

    #[inline]
    pub(crate) fn is_copy(&self) -> bool {
        self.maker.is_another()
    }

    /// In a copy: its links are lost to it, and its hunts come to nothing. Nobody else is told.
    fn renounce(&mut self) {
        // This process's own descriptors are closed with them; the parent's stay open.
        for (key, connection) in std::mem::take(&mut self.connections) {
            if matches!(connection.stage, Stage::Linked { .. }) {
                self.news.push_back(News::Lost(key, Lost::Forked));
            }
        }
        let hunts = std::mem::take(&mut self.hunts).into_iter();
        self.news.extend(hunts.map(|hunt| News::Failed(hunt.name, HuntError::Forked)));
        self.filling.clear();
    }

    /// Does some of what has become possible since the last time, up to the first news: the
    /// application has its turn before the next.
    pub(crate) fn turn(&mut self) {
        if self.is_copy() {
            return self.renounce();
        }
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        for _ in 0..UNITS {
            // One at a time: the set puts what it has told of behind the others, so that none of
            // them waits for ever.
            let mut event = no_events::<1>();
            if epoll::wait(&self.sets.rendezvous, &mut event[..], Some(&at_once)) != Ok(1) {
                break;
            }
            match set::key(&event[0]) {
                LISTENER => self.accept(),
                TICKER => self.tick(),
                OFFERS => self.hear_offers(),
                CARRY => self.sets.carry.get().into_iter().for_each(Carry::look_after),
                key => self.hear(key as u32),
            }
            if !self.news.is_empty() {
                break;
            }
        }
        let set = &mut [PollFd::new(&self.sets.rendezvous, PollFlags::IN)];
        self.more = poll(set, Some(&at_once)).is_ok_and(|ready| ready > 0);
        self.adjust();
    }

    /// Whether pages are to be made while there is nothing else to do.
    pub(crate) fn has_to_fill(&self) -> bool {
        !self.filling.is_empty()
    }

    /// Makes a slice of the pages that are to be made: all while there are few peers, so that the
    /// times of first long writes are those of copying; with more, those of the control part and
    /// what a first burst of short messages takes.
    pub(crate) fn fill(&mut self) {
        let few = self.connections.len() <= FEW;
        if let Some((_, region, from, until)) = self.filling.front_mut() {
            match region.fill(*from, few.then_some(*until)) {
                Some(next) => *from = next,
                None => drop(self.filling.pop_front()),
            }
        }
    }

    pub(crate) fn close(&mut self, key: u32, why: Farewell) {
        let linked = match self.connections.get(&key) {
            Some(Connection { stage: Stage::Linked { name, .. }, .. }) if !self.is_copy() => {
                Some(*name)
            }
            _ => None,
        };
        if let Some(name) = linked {
            self.status.ended(key, LinkState::Ended);
            self.remove(key, Some(why));
            if name == self.me.name
                && let Some(other) = self.link_of(&name)
            {
                // The other end of a link to itself has heard it at once.
                self.hear(other);
            }
        }
        self.news.retain(|n| !matches!(n, News::Lost(of, _) if *of == key));
    }

    /// Notes what has become of a flow of the node's.
    pub(crate) fn flow(&mut self, place: u16, note: Option<&FlowNote>) {
        if !self.is_copy() {
            self.status.flow(place, note);
        }
    }

    /// Ticks seldom while there is nothing to wait for.
    fn adjust(&mut self) {
        let mut looking = self.hunts.iter().filter(|h| h.greeted.is_none()).peekable();
        let strangers = self.connections.values().any(|c| matches!(c.stage, Stage::Stranger(_)));
        let waiting = strangers || self.deaf || !self.dead.is_empty();
        let some = looking.peek().is_some() || waiting || self.more;
        // What was left undone makes no edge: a node that waits for one is woken by the tick.
        let quick = self.more || looking.any(|h| h.since.elapsed() < YOUNG);
        self.ticker.set(match (some, quick) {
            (false, _) => KEEP,
            (true, false) => TICK,
            (true, true) => QUICK_TICK,
        });
    }

    fn link_of(&self, name: &Name) -> Option<u32> {
        let linked =
            |c: &Connection| matches!(&c.stage, Stage::Linked { name: n, .. } if n == name);
        self.connections.iter().find(|(_, c)| linked(c)).map(|(key, _)| *key)
    }

    fn fresh_key(&mut self) -> u32 {
        loop {
            let key = self.next_key;
            self.next_key = key.checked_add(1).unwrap_or(FIRST_KEY);
            if !self.connections.contains_key(&key) {
                return key;
            }
        }
    }

    /// What this node offers for one link: region, its descriptor, and a bell to sleep on.
    fn offer(&self, key: u32, layout: &Layout) -> io::Result<(Region, OwnedFd, Bell)> {
        // A node that looks at many rings looks at the same place of each page, and so at one cache
        // set, unless they start at different slots. They are its peers' rings, each of which has
        // the first key there is: so it is not enough that this node's own rings differ.
        let start = (self.me.incarnation as u32).wrapping_add(key.wrapping_mul(17));
        let layout = layout.starting_at(start);
        let (mut own, memory) = Region::new(&layout)?;
        self.status.show(&mut own, &memory);
        let bell = Bell::new()?;
        listen_to(&self.sets.bells, bell.as_fd(), u64::from(key), true)?;
        Ok((own, memory, bell))
    }

    /// Forgets a connection, with a word of farewell if there is one.
    fn remove(&mut self, key: u32, farewell: Option<Farewell>) {
        let Some(connection) = self.connections.remove(&key) else { return };
        self.filling.retain(|(of, ..)| *of != key);
        if let Some(why) = farewell {
            connection.part(why);
        }
        // Not left to closing: the peer has the bell open as well, and a process being started may
        // have inherited the socket.
        let _ = epoll::delete(&self.sets.rendezvous, &connection.socket);
        if let Stage::Greeted { bell, .. } | Stage::Linked { bell, .. } = &connection.stage {
            let _ = epoll::delete(&self.sets.bells, bell);
        }
        if let (Some(_), Some(carry)) = (&connection.carried, self.sets.carry.get()) {
            carry.remove(key);
        }
        let_go(connection.socket, connection.others);
        for hunt in self.hunts.iter_mut().filter(|h| h.greeted == Some(key)) {
            hunt.greeted = None;
        }
    }

    fn tick(&mut self) {
        self.ticker.drain();
        let overdue = |c: &Connection| matches!(c.stage, Stage::Stranger(since) if since.elapsed() > GREETING_TIME);
        let late: Vec<u32> =
            self.connections.iter().filter(|(_, c)| overdue(c)).map(|(key, _)| *key).collect();
        for key in late {
            self.remove(key, None);
        }
        if std::mem::take(&mut self.deaf) {
            let listener = self.bound.listener.as_fd();
            if listen_to(&self.sets.rendezvous, listener, LISTENER, false).is_err() {
                self.deaf = true;
            }
        }
        let directory = &self.directory;
        let dying = |since: &Instant| since.elapsed() < DYING_TIME;
        self.dead.retain(|(name, since)| dying(since) && !directory.remove_dead(name));
        self.retry();
        if self.kept.elapsed() >= KEEP {
            self.kept = Instant::now();
            self.keep_name();
        }
    }

    /// Takes this node's name again if it is gone from the directory.
    fn keep_name(&mut self) {
        let for_others = !self.me.allowed.is_empty();
        let restored = self.directory.restore(&self.me.name, &self.bound, for_others);
        let Some((directory, bound)) = restored else {
            self.keep_pipe();
            if self.directory.whereabouts(&self.me.name).is_none() {
                self.directory.tell_where(&self.me.name, &self.status.whereabouts());
            }
            return;
        };
        let _ = epoll::delete(&self.sets.rendezvous, &self.bound.listener);
        (self.directory, self.bound) = (directory, bound);
        self.directory.tell_where(&self.me.name, &self.status.whereabouts());
        self.offer_again();
        self.keep_pipe();
        // Listened to from the next tick on.
        self.deaf = true;
    }
}

impl Drop for Rendezvous {
    fn drop(&mut self) {
        if self.is_copy() {
            return;
        }
        for connection in std::mem::take(&mut self.connections).into_values() {
            connection.part(Farewell::Closed);
            let_go(connection.socket, connection.others);
        }
        self.withdraw_all();
        self.remove_own_pipe();
        self.directory.leave(&self.me.name, &self.bound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_let_in_if_it_is_the_same_or_named() {
        let me = Identity {
            name: "a".parse().unwrap(),
            incarnation: 1,
            layout: Layout::standard(LINE).unwrap(),
            incoming: Layout::standard(LINE).unwrap(),
            largest: 1 << 20,
            user: 1000,
            stand_in: Some(8),
            allowed: vec![7, 8],
            carrier: Carrier::Memory,
        };
        let let_in: Vec<u32> =
            [0, 7, 8, 9, 999, 1000, u32::MAX].into_iter().filter(|u| me.allows(*u)).collect();
        assert_eq!(let_in, [7, 8, 1000]);
        // A number that may be anybody's is not this user's, but may be let in by name.
        let nobody = Identity { user: 8, allowed: vec![7], ..me };
        assert!(nobody.allows(7) && !nobody.allows(8));
    }
}
