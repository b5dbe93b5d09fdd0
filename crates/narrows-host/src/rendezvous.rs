//! How two nodes find each other and how either learns of the other's end.
//!
//! Nothing here waits. Everything that can happen is a descriptor in one epoll set, and
//! [`Rendezvous::turn`] does what has become possible.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use narrows::link::Name;
use narrows::memory::Layout;
use narrows::platform::{Connected, Event, HuntError, Lost, Platform};
use rustix::event::epoll;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{self, Errno};
use rustix::net::SocketFlags;
use rustix::time::Timespec;

use crate::Host;
use crate::bell::Bell;
use crate::directory::{Bound, Directory};
use crate::memory::{PeerRegion, Region};
use crate::packet::{self, Hello, Received, Refusal};
use crate::system::peer_user;
use crate::watch::{Ticker, Watcher};

/// Connections that have not said who they are.
const STRANGERS: usize = 16;
/// How long one has to say it.
const GREETING_TIME: Duration = Duration::from_secs(1);
/// How often the socket of a peer that died is looked at: it may outlive the link by a moment.
const LOOKS: u8 = 50;

const LISTENER: u64 = 0;
const WATCHER: u64 = 1;
const TICKER: u64 = 2;
/// Keys of connections start behind these.
const FIRST_KEY: u32 = 8;
/// What the set of all bells says of the supervision set inside it.
pub(crate) const SUPERVISION: u64 = u64::MAX;

/// What a hunt ends with.
pub(crate) type News = Result<Event<Host>, (Name, HuntError)>;

/// Who this node is and whom it lets in.
pub(crate) struct Identity {
    pub name: Name,
    pub incarnation: u64,
    pub layout: Layout,
    pub user: u32,
    pub allowed: Vec<u32>,
}

impl Identity {
    /// Whether a user may link with this node.
    pub(crate) fn allows(&self, user: u32) -> bool {
        user == self.user || self.allowed.contains(&user)
    }

    fn hello(&self) -> Hello {
        Hello {
            name: self.name,
            incarnation: self.incarnation,
            line: Host::LINE,
            size: self.layout.size(),
        }
    }
}

enum Stage {
    /// It connected to this node and has said nothing.
    Stranger(Instant),
    /// This node connected and greeted. What it offered waits for the answer.
    Greeted { name: Name, own: Region, bell: Bell },
    /// A link.
    Linked { name: Name, bell: Bell },
}

struct Connection {
    socket: OwnedFd,
    stage: Stage,
}

struct Hunt {
    name: Name,
    /// The connection that waits for an answer.
    greeted: Option<u32>,
}

/// What a node sleeps on.
pub(crate) struct Sets {
    /// Everything that can happen at the rendezvous.
    pub supervision: OwnedFd,
    /// All bells, and `supervision`.
    pub bells: OwnedFd,
}

/// This node's place among the others of its domain.
pub(crate) struct Rendezvous {
    me: Identity,
    directory: Directory,
    bound: Bound,
    sets: Arc<Sets>,
    watcher: Watcher,
    ticker: Ticker,
    /// Descriptors ran out while somebody wanted in: the listener is left alone for a tick.
    deaf: bool,
    hunts: Vec<Hunt>,
    connections: BTreeMap<u32, Connection>,
    next_key: u32,
    dead: Vec<(Name, u8)>,
    /// What the stack has not been told.
    pub news: VecDeque<News>,
}

/// Adds a descriptor to a set.
pub(crate) fn listen_to(set: &OwnedFd, fd: BorrowedFd<'_>, key: u64, edge: bool) -> io::Result<()> {
    let flags =
        if edge { epoll::EventFlags::IN | epoll::EventFlags::ET } else { epoll::EventFlags::IN };
    epoll::add(set, fd, epoll::EventData::new_u64(key), flags)
}

fn hunt_error(error: Errno) -> HuntError {
    HuntError::System(error.raw_os_error())
}

impl Rendezvous {
    pub(crate) fn new(
        me: Identity,
        directory: Directory,
        bound: Bound,
        sets: Arc<Sets>,
        ticker: Ticker,
    ) -> Rendezvous {
        Rendezvous {
            me,
            directory,
            bound,
            sets,
            watcher: Watcher::default(),
            ticker,
            deaf: false,
            hunts: Vec::new(),
            connections: BTreeMap::new(),
            next_key: FIRST_KEY,
            dead: Vec::new(),
            news: VecDeque::new(),
        }
    }

    /// Begins to let others in.
    pub(crate) fn start(&self) -> io::Result<()> {
        let set = &self.sets.supervision;
        listen_to(set, self.bound.listener.as_fd(), LISTENER, false)?;
        listen_to(set, self.ticker.as_fd(), TICKER, false)?;
        listen_to(&self.sets.bells, set.as_fd(), SUPERVISION, false)
    }

    /// Does what has become possible since the last time.
    pub(crate) fn turn(&mut self) {
        let none =
            epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        let mut events = [none; 32];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let Ok(count) = epoll::wait(&self.sets.supervision, &mut events[..], Some(&at_once)) else {
            return;
        };
        for event in events.iter().take(count) {
            let data = event.data;
            match data.u64() {
                LISTENER => self.accept(),
                WATCHER => {
                    self.watcher.drain();
                    self.retry();
                }
                TICKER => self.tick(),
                key => self.hear(key as u32),
            }
        }
        self.adjust();
    }

    pub(crate) fn hunt(&mut self, name: &Name) -> Result<(), HuntError> {
        if *name == self.me.name {
            return Err(HuntError::Own);
        }
        if self.hunts.iter().any(|h| h.name == *name) || self.link_of(name).is_some() {
            return Ok(());
        }
        self.hunts.push(Hunt { name: *name, greeted: None });
        // Watching starts before looking, so that no birth falls between.
        self.adjust();
        let looked = self.look_for(name);
        if looked.is_err() {
            self.hunts.retain(|h| h.name != *name);
            self.adjust();
        }
        looked
    }

    pub(crate) fn give_up(&mut self, name: &Name) {
        if let Some(at) = self.hunts.iter().position(|h| h.name == *name) {
            if let Some(key) = self.hunts.swap_remove(at).greeted {
                self.remove(key, true);
            }
            self.adjust();
        }
    }

    pub(crate) fn close(&mut self, key: u32) {
        if matches!(
            self.connections.get(&key),
            Some(Connection { stage: Stage::Linked { .. }, .. })
        ) {
            self.remove(key, true);
        }
        self.news.retain(|n| !matches!(n, Ok(Event::Lost { key: of, .. }) if *of == key));
    }

    /// Keeps the watcher and the ticker only while there is something to wait for.
    fn adjust(&mut self) {
        let looking = self.hunts.iter().any(|h| h.greeted.is_none());
        self.watcher.set(looking, &self.sets.supervision, WATCHER, self.directory.path());
        let strangers = self.connections.values().any(|c| matches!(c.stage, Stage::Stranger(_)));
        self.ticker.set(looking || strangers || self.deaf || !self.dead.is_empty());
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
    fn offer(&self, key: u32) -> io::Result<(Region, OwnedFd, Bell)> {
        // Rings that start at different slots do not share a cache set.
        let layout = self.me.layout.starting_at(key.wrapping_mul(17));
        let (own, memory) = Region::new(&layout)?;
        let bell = Bell::new()?;
        listen_to(&self.sets.bells, bell.as_fd(), u64::from(key), true)?;
        Ok((own, memory, bell))
    }

    /// Forgets a connection, with a word of farewell if asked.
    fn remove(&mut self, key: u32, with_word: bool) {
        let Some(connection) = self.connections.remove(&key) else { return };
        if with_word {
            packet::part(connection.socket.as_fd());
        }
        // Not left to closing: the peer has the bell open as well, and a process being started may
        // have inherited the socket.
        let _ = epoll::delete(&self.sets.supervision, &connection.socket);
        if let Stage::Greeted { bell, .. } | Stage::Linked { bell, .. } = &connection.stage {
            let _ = epoll::delete(&self.sets.bells, bell);
        }
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
            self.remove(key, false);
        }
        if std::mem::take(&mut self.deaf) {
            let listener = self.bound.listener.as_fd();
            if listen_to(&self.sets.supervision, listener, LISTENER, false).is_err() {
                self.deaf = true;
            }
        }
        let directory = &self.directory;
        self.dead.retain_mut(|(name, looks)| {
            *looks = looks.saturating_sub(1);
            *looks > 0 && !directory.remove_dead(name)
        });
        self.retry();
    }

    fn retry(&mut self) {
        let waiting = self.hunts.iter().filter(|h| h.greeted.is_none());
        for name in waiting.map(|h| h.name).collect::<Vec<_>>() {
            if let Err(error) = self.look_for(&name) {
                self.fail(&name, error);
            }
        }
    }

    fn fail(&mut self, name: &Name, error: HuntError) {
        self.hunts.retain(|h| h.name != *name);
        self.news.push_back(Err((*name, error)));
    }

    /// Connects to a node and greets it, if it is there.
    fn look_for(&mut self, name: &Name) -> Result<(), HuntError> {
        let socket = match self.directory.connect(name.as_str()) {
            Ok(socket) => socket,
            // Absent, dead, or too busy to be greeted.
            Err(Errno::NOENT | Errno::CONNREFUSED | Errno::AGAIN | Errno::INTR) => return Ok(()),
            Err(Errno::ACCESS | Errno::PERM) => return Err(HuntError::Forbidden),
            Err(Errno::PROTOTYPE) => return Err(HuntError::Incompatible),
            Err(error) => return Err(hunt_error(error)),
        };
        if !self.me.allows(peer_user(socket.as_fd()).map_err(hunt_error)?) {
            return Err(HuntError::Forbidden);
        }
        let key = self.fresh_key();
        listen_to(&self.sets.supervision, socket.as_fd(), u64::from(key), false)
            .map_err(hunt_error)?;
        let (own, memory, bell) = self.offer(key).map_err(hunt_error)?;
        let greeted = packet::greet(socket.as_fd(), &self.me.hello(), memory.as_fd(), bell.as_fd());
        let stage = Stage::Greeted { name: *name, own, bell };
        self.connections.insert(key, Connection { socket, stage });
        match greeted {
            Ok(()) => {
                for hunt in self.hunts.iter_mut().filter(|h| h.name == *name) {
                    hunt.greeted = Some(key);
                }
                Ok(())
            }
            Err(error) => {
                self.remove(key, false);
                // It died in between, or refused before it was greeted: the next look tells.
                if matches!(error, Errno::PIPE | Errno::CONNRESET | Errno::AGAIN) {
                    Ok(())
                } else {
                    Err(hunt_error(error))
                }
            }
        }
    }

    fn accept(&mut self) {
        for _ in 0..2 * STRANGERS {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = match rustix::net::accept_with(&self.bound.listener, flags) {
                Ok(socket) => socket,
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    let _ = epoll::delete(&self.sets.supervision, &self.bound.listener);
                    self.deaf = true;
                    return;
                }
                Err(_) => return,
            };
            if !peer_user(socket.as_fd()).is_ok_and(|user| self.me.allows(user)) {
                packet::refuse(socket.as_fd(), Refusal::Forbidden);
                continue;
            }
            let strangers =
                self.connections.values().filter(|c| matches!(c.stage, Stage::Stranger(_)));
            if strangers.count() >= STRANGERS {
                packet::refuse(socket.as_fd(), Refusal::Again);
                continue;
            }
            let key = self.fresh_key();
            if listen_to(&self.sets.supervision, socket.as_fd(), u64::from(key), false).is_err() {
                packet::refuse(socket.as_fd(), Refusal::Again);
                continue;
            }
            let stage = Stage::Stranger(Instant::now());
            self.connections.insert(key, Connection { socket, stage });
            self.hear(key);
        }
    }

    /// Takes one packet of a connection.
    fn hear(&mut self, key: u32) {
        let Some(connection) = self.connections.get(&key) else { return };
        let received = packet::receive(connection.socket.as_fd());
        match (&connection.stage, received) {
            (_, Received::Nothing) => {}
            (Stage::Linked { name, .. }, received) => {
                let reason =
                    if matches!(received, Received::Bye) { Lost::Closed } else { Lost::Died };
                if reason == Lost::Died && !self.dead.iter().any(|(dead, _)| dead == name) {
                    self.dead.push((*name, LOOKS));
                }
                self.remove(key, false);
                self.news.push_back(Ok(Event::Lost { key, reason }));
            }
            (Stage::Stranger(_), Received::Hello(hello, memory, bell)) => {
                if let Err(why) = self.answer(key, &hello, memory, bell) {
                    self.turn_away(key, why);
                }
            }
            (Stage::Stranger(_), Received::Bad(why)) => self.turn_away(key, why),
            (Stage::Stranger(_), Received::Refused(_)) => self.turn_away(key, Refusal::Malformed),
            (Stage::Stranger(_), Received::End | Received::Bye) => self.remove(key, false),
            (Stage::Greeted { .. }, Received::Hello(hello, memory, bell)) => {
                self.complete(key, &hello, memory, bell);
            }
            (Stage::Greeted { name, .. }, received) => {
                let name = *name;
                self.remove(key, false);
                match received {
                    Received::Refused(Some(Refusal::Forbidden)) => {
                        self.fail(&name, HuntError::Forbidden);
                    }
                    Received::Refused(Some(Refusal::Incompatible | Refusal::Malformed) | None)
                    | Received::Bad(Refusal::Incompatible | Refusal::Malformed) => {
                        self.fail(&name, HuntError::Incompatible);
                    }
                    Received::Bad(_) => self.fail(&name, hunt_error(Errno::MFILE)),
                    // It is closing, or has its reasons: the hunt goes on.
                    _ => {}
                }
            }
        }
    }

    fn turn_away(&mut self, key: u32, why: Refusal) {
        if let Some(connection) = self.connections.get(&key) {
            packet::refuse(connection.socket.as_fd(), why);
        }
        self.remove(key, false);
    }

    /// Checks and maps what a peer sent.
    fn admit(
        hello: &Hello,
        memory: &OwnedFd,
        bell: OwnedFd,
    ) -> Result<(PeerRegion, Bell), Refusal> {
        if hello.line != Host::LINE {
            return Err(Refusal::Incompatible);
        }
        let bell = Bell::received(bell).ok_or(Refusal::Malformed)?;
        let peer = PeerRegion::new(memory.as_fd(), hello.size).map_err(|unfit| unfit.refusal())?;
        Layout::read(&peer, Host::LINE).map_err(|_| Refusal::Incompatible)?;
        Ok((peer, bell))
    }

    /// Answers a stranger's greeting: the link is up.
    fn answer(
        &mut self,
        key: u32,
        hello: &Hello,
        memory: OwnedFd,
        bell: OwnedFd,
    ) -> Result<(), Refusal> {
        if hello.name == self.me.name {
            return Err(Refusal::Incompatible);
        }
        if let Some(old) = self.link_of(&hello.name) {
            // It may have ended already, and its peer be back.
            self.hear(old);
            if self.connections.contains_key(&old) {
                return Err(Refusal::Again);
            }
        }
        let hunt = self.hunts.iter().find(|h| h.name == hello.name);
        if let Some(greeted) = hunt.and_then(|h| h.greeted) {
            // Both greet at once: both know that the first name's greeting is the one that counts.
            if self.me.name.as_str() < hello.name.as_str() {
                return Err(Refusal::Again);
            }
            self.remove(greeted, false);
        }
        let (peer, ring) = Self::admit(hello, &memory, bell)?;
        let (own, memory, bell) = self.offer(key).map_err(|_| Refusal::Again)?;
        let Some(connection) = self.connections.get_mut(&key) else { return Ok(()) };
        let mine = self.me.hello();
        let sent = packet::greet(connection.socket.as_fd(), &mine, memory.as_fd(), bell.as_fd());
        connection.stage = Stage::Linked { name: hello.name, bell };
        if sent.is_err() {
            self.remove(key, false);
            return Ok(());
        }
        self.link_up(key, hello, own, peer, ring);
        Ok(())
    }

    /// Takes the answer to this node's greeting: the link is up.
    fn complete(&mut self, key: u32, hello: &Hello, memory: OwnedFd, bell: OwnedFd) {
        let Some(mut connection) = self.connections.remove(&key) else { return };
        let Stage::Greeted { name, own, bell: mine } = connection.stage else { return };
        connection.stage = Stage::Linked { name, bell: mine };
        self.connections.insert(key, connection);
        let admitted = if hello.name == name {
            Self::admit(hello, &memory, bell)
        } else {
            Err(Refusal::Incompatible)
        };
        match admitted {
            Ok((peer, ring)) => self.link_up(key, hello, own, peer, ring),
            Err(why) => {
                self.remove(key, true);
                self.fail(
                    &name,
                    match why {
                        Refusal::Again => hunt_error(Errno::NOMEM),
                        _ => HuntError::Incompatible,
                    },
                );
            }
        }
    }

    fn link_up(&mut self, key: u32, hello: &Hello, own: Region, peer: PeerRegion, bell: Bell) {
        self.hunts.retain(|h| h.name != hello.name);
        self.dead.retain(|(name, _)| *name != hello.name);
        self.news.push_back(Ok(Event::Connected(Connected {
            key,
            name: hello.name,
            incarnation: hello.incarnation,
            own,
            peer,
            bell,
        })));
    }
}

impl Drop for Rendezvous {
    fn drop(&mut self) {
        for connection in self.connections.values() {
            packet::part(connection.socket.as_fd());
        }
        self.directory.leave(&self.me.name, &self.bound);
    }
}
