//! Two nodes introduce themselves: what either checks before there is a link.

use std::time::Instant;

use narrows::memory::Layout;
use narrows::platform::{HuntError, Lost};
use rustix::event::epoll;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::{Connection, Linked, News, Rendezvous, Stage, hunt_error, let_go};
use crate::bells::Bell;
use crate::bells::aio;
use crate::bells::carry::Carry;
use crate::bells::set::listen_to;
use crate::carrier::{self, Carried, Parts};
use crate::closing::{self, Foreign};
use crate::memory::{LINE, PeerRegion, Region, Unfit};
use crate::rendezvous::packet::{self, Farewell, Hello, Received, Refusal};
use crate::status::page::LinkState;
use crate::system::peer_user;

/// Connections that have not given a name.
const STRANGERS: usize = 16;

/// What a peer is told when this node's system refused something: nothing is wrong with the peer,
/// which may come again.
fn again(_: Errno) -> Refusal {
    Refusal::Again
}

/// The state of a link that ended for this reason.
fn state_of(reason: Lost) -> LinkState {
    match reason {
        Lost::Closed => LinkState::Closed,
        Lost::Died => LinkState::Died,
        Lost::Full => LinkState::Full,
        Lost::Corrupt(_) => LinkState::Corrupt,
        _ => LinkState::Ended,
    }
}

impl Rendezvous {
    /// Takes one connection, and hears what came with it.
    pub(super) fn accept(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        if closing::is_full() {
            self.be_deaf();
            return;
        }
        let socket = match rustix::net::accept_with(&self.bound.listener, flags) {
            Ok(socket) => socket,
            Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                self.be_deaf();
                return;
            }
            Err(_) => return,
        };
        let user = peer_user(socket.as_fd());
        let others = user != Ok(self.me.user);
        let refused = match user {
            Ok(user) if self.me.allows(user) => None,
            Ok(_) => Some(Refusal::Forbidden),
            Err(_) => Some(Refusal::Again),
        };
        if let Some(why) = refused {
            packet::refuse(socket.as_fd(), why);
            return let_go(socket, others);
        }
        if others && closing::is_stuck() {
            packet::refuse(socket.as_fd(), Refusal::Again);
            return let_go(socket, others);
        }
        let key = self.fresh_key();
        if listen_to(&self.sets.rendezvous, socket.as_fd(), u64::from(key), false).is_err() {
            packet::refuse(socket.as_fd(), Refusal::Again);
            return let_go(socket, others);
        }
        let stage = Stage::Stranger(Instant::now());
        self.connections.insert(key, Connection::new(socket, stage, others));
        self.hear(key);
        // Only a stranger that says nothing at once needs a place to wait, so those cannot keep
        // others out.
        let silent = |c: &Connection| matches!(c.stage, Stage::Stranger(_));
        if self.connections.get(&key).is_some_and(silent)
            && self.connections.values().filter(|c| silent(c)).count() > STRANGERS
        {
            self.turn_away(key, Refusal::Again);
        }
    }

    /// Leaves the listener alone until the next tick.
    fn be_deaf(&mut self) {
        let _ = epoll::delete(&self.sets.rendezvous, &self.bound.listener);
        self.deaf = true;
    }

    /// Takes one packet of a connection.
    pub(super) fn hear(&mut self, key: u32) {
        let Some(connection) = self.connections.get(&key) else { return };
        let received = packet::receive(connection.socket.as_fd());
        match (&connection.stage, received) {
            (_, Received::Nothing) => {}
            (Stage::Linked { name, .. }, received) => {
                let mut reason = match received {
                    Received::Bye(Farewell::Closed) => Lost::Closed,
                    Received::Bye(Farewell::Full) => Lost::Full,
                    _ => Lost::Died,
                };
                if let Some(carried) = &connection.carried {
                    carried.settle();
                    reason = carried.corrupt().map_or(reason, Lost::Corrupt);
                }
                if reason == Lost::Died && !self.dead.iter().any(|(dead, _)| dead == name) {
                    self.dead.push((*name, Instant::now()));
                }
                if let Some(peer) = &connection.peer {
                    peer.look_asleep();
                }
                self.remove(key, None);
                self.status.ended(key, state_of(reason));
                self.news.push_back(News::Lost(key, reason));
            }
            (Stage::Stranger(_), Received::Hello(hello, memory, bell)) => {
                if let Err(why) = self.answer(key, &hello, memory, bell) {
                    self.turn_away(key, why);
                }
            }
            (Stage::Stranger(_), Received::Bad(why)) => self.turn_away(key, why),
            (Stage::Stranger(_), Received::Refused(_)) => self.turn_away(key, Refusal::Malformed),
            (Stage::Stranger(_), Received::End | Received::Bye(_)) => self.remove(key, None),
            (Stage::Greeted { .. }, Received::Hello(hello, memory, bell)) => {
                self.complete(key, &hello, memory, bell);
            }
            (Stage::Greeted { name, stream, .. }, received) => {
                let (name, framed) = (*name, stream.is_some());
                self.remove(key, None);
                match received {
                    Received::Refused(Some(Refusal::Framed)) if !framed => self.frame(&name),
                    Received::Refused(Some(Refusal::Forbidden)) => {
                        self.fail(&name, HuntError::Forbidden);
                    }
                    Received::Refused(
                        Some(Refusal::Incompatible | Refusal::Malformed | Refusal::Framed) | None,
                    )
                    | Received::Bad(Refusal::Incompatible | Refusal::Malformed) => {
                        self.fail(&name, HuntError::Incompatible);
                    }
                    Received::Bad(_) => self.fail(&name, hunt_error(Errno::MFILE)),
                    // It is closing, or has its reasons: the hunt goes on.
                    _ => self.put_off(&name),
                }
            }
        }
    }

    fn turn_away(&mut self, key: u32, why: Refusal) {
        if let Some(connection) = self.connections.get(&key) {
            packet::refuse(connection.socket.as_fd(), why);
        }
        self.remove(key, None);
    }

    /// Checks a greeting, as far as it concerns every link. Whether its sender is another user.
    fn check(&self, key: u32, hello: &Hello) -> Result<bool, Refusal> {
        if hello.line != LINE || hello.size > self.me.largest {
            return Err(Refusal::Incompatible);
        }
        let connection = self.connections.get(&key).ok_or(Refusal::Again)?;
        let user = peer_user(connection.socket.as_fd()).map_err(again)?;
        Ok(!self.me.is_own(user))
    }

    /// Checks and maps what a peer sent.
    fn admit(
        &self,
        key: u32,
        hello: &Hello,
        memory: &Foreign,
        bell: Foreign,
    ) -> Result<(PeerRegion, Bell), Refusal> {
        let others = self.check(key, hello)?;
        if others && aio::available().is_err() {
            return Err(Refusal::Forbidden);
        }
        let bell = Bell::received(bell, others).map_err(again)?.ok_or(Refusal::Malformed)?;
        let memory = memory.memory().map_err(again)?.ok_or(Refusal::Malformed)?;
        let peer = PeerRegion::new(memory, hello.size).map_err(|unfit| match unfit {
            Unfit::Unsealed => Refusal::Malformed,
            Unfit::System => Refusal::Again,
        })?;
        Layout::read(&peer, LINE).map_err(|_| Refusal::Incompatible)?;
        Ok((peer, bell))
    }

    /// Begins to carry frames over a stream: what the node sees of the peer, and the bell that it
    /// rings.
    fn carry(
        &mut self,
        key: u32,
        hello: &Hello,
        stream: OwnedFd,
        (own, bell): (&Region, &Bell),
    ) -> Result<(PeerRegion, Bell), Refusal> {
        if self.check(key, hello)? {
            return Err(Refusal::Forbidden);
        }
        let connection = self.connections.get_mut(&key).ok_or(Refusal::Again)?;
        let parts = Parts {
            own: own.share(),
            stream,
            node: bell.share().map_err(again)?,
            socket: fcntl_dupfd_cloexec(&connection.socket, 0).map_err(again)?,
        };
        let carry = self.sets.carry().map_err(again)?;
        let by_node = carry.map(Carry::by_node).unwrap_or_default();
        let started = Carried::start(parts, hello.size, by_node).map_err(again)?;
        let (carried, seen, ring) = started.ok_or(Refusal::Malformed)?;
        if let Some(carry) = carry {
            carry.add(key, carried.link()).map_err(again)?;
        }
        connection.carried = Some(carried);
        Ok((seen, ring))
    }

    /// Answers a stranger's greeting: the link is up.
    fn answer(
        &mut self,
        key: u32,
        hello: &Hello,
        memory: Foreign,
        bell: Foreign,
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
        let greeted = hunt.and_then(|h| h.greeted);
        // Both greet at once: both know that the first name's greeting is the one that counts.
        if greeted.is_some() && self.me.name.as_str() < hello.name.as_str() {
            return Err(Refusal::Again);
        }
        let admitted = match hello.framed {
            true => None,
            false => Some(self.admit(key, hello, &memory, bell)?),
        };
        let (own, offered, bell) = self.offer(key, &self.me.incoming).map_err(again)?;
        let (peer, ring) = match admitted {
            Some(admitted) => admitted,
            None => {
                let stream = carrier::received(memory).map_err(again)?;
                let stream = stream.ok_or(Refusal::Malformed)?;
                carrier::introduce(&stream, &own).map_err(again)?;
                self.carry(key, hello, stream, (&own, &bell))?
            }
        };
        let Some(connection) = self.connections.get_mut(&key) else { return Ok(()) };
        let mine = Hello { framed: hello.framed, ..self.me.hello(&self.me.incoming) };
        // A peer that shares no memory gets none.
        let offered = if hello.framed { bell.as_fd() } else { offered.as_fd() };
        let sent = packet::greet(connection.socket.as_fd(), &mine, offered, bell.as_fd());
        connection.stage = Stage::Linked { name: hello.name, bell };
        if sent.is_err() {
            self.remove(key, None);
            return Ok(());
        }
        // Not before the answer has gone: the greeting may be of a life that has ended since, and
        // the peer's next may have answered this node's own.
        if let Some(greeted) = greeted {
            self.remove(greeted, None);
        }
        self.link_up(key, hello, own, peer, ring);
        Ok(())
    }

    /// Takes the answer to this node's greeting: the link is up.
    fn complete(&mut self, key: u32, hello: &Hello, memory: Foreign, bell: Foreign) {
        let Some(mut connection) = self.connections.remove(&key) else { return };
        let Stage::Greeted { name, own, bell: mine, stream } = connection.stage else { return };
        let shared = mine.share();
        connection.stage = Stage::Linked { name, bell: mine };
        self.connections.insert(key, connection);
        let fits = hello.name == name && hello.framed == stream.is_some();
        let admitted = match (stream, shared) {
            _ if !fits => Err(Refusal::Incompatible),
            (Some(stream), Ok(bell)) => self.carry(key, hello, stream, (&own, &bell)),
            (Some(_), Err(_)) => Err(Refusal::Again),
            (None, _) => self.admit(key, hello, &memory, bell),
        };
        match admitted {
            Ok((peer, ring)) => self.link_up(key, hello, own, peer, ring),
            Err(why) => {
                self.remove(key, Some(Farewell::Closed));
                self.fail(
                    &name,
                    match why {
                        Refusal::Again => hunt_error(Errno::NOMEM),
                        Refusal::Forbidden => HuntError::Forbidden,
                        _ => HuntError::Incompatible,
                    },
                );
            }
        }
    }

    /// Links this node with itself: each end as if another node had the other. There is nobody to
    /// greet, but a socket as between two nodes, so that either end hears when the other closes.
    pub(super) fn link_to_itself(&mut self) -> Result<(), Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (domain, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
        let (one, other) = rustix::net::socketpair(domain, kind, flags, None)?;
        let keys = [self.fresh_key(), self.fresh_key()];
        let layout = &self.me.layout;
        let [a, b] = [self.offer(keys[0], layout)?, self.offer(keys[1], layout)?];
        let hello = self.me.hello(layout);
        let seen = |(_, memory, bell): &(Region, OwnedFd, Bell)| {
            let bell = rustix::io::fcntl_dupfd_cloexec(bell.as_fd(), 0)?;
            let bell = Bell::received(Foreign::new(bell), false)?.ok_or(Errno::BADF)?;
            let peer = PeerRegion::new(memory.as_fd(), hello.size).map_err(|_| Errno::NOMEM)?;
            Ok::<_, Errno>((peer, bell))
        };
        let peers = [seen(&b)?, seen(&a)?];
        for (key, socket) in keys.into_iter().zip([&one, &other]) {
            let set = &self.sets.rendezvous;
            listen_to(set, socket.as_fd(), u64::from(key), false)?;
        }
        let ends = keys.into_iter().zip([one, other]).zip([a, b]).zip(peers);
        for (((key, socket), (own, _, bell)), (peer, ring)) in ends {
            let stage = Stage::Linked { name: self.me.name, bell };
            self.connections.insert(key, Connection::new(socket, stage, false));
            self.link_up(key, &hello, own, peer, ring);
        }
        Ok(())
    }

    fn link_up(&mut self, key: u32, hello: &Hello, own: Region, peer: PeerRegion, bell: Bell) {
        self.hunts.retain(|h| h.name != hello.name);
        self.dead.retain(|(name, _)| *name != hello.name);
        // A peer can keep pages when its link has ended, and no seal lets this node take them back:
        // another user's peers get those that messages used and no others.
        if let Some(connection) = self.connections.get_mut(&key) {
            connection.peer = Some(peer.clone());
            if !connection.others {
                self.filling.push_back((key, own.share(), 0, own.usual_end()));
            }
        }
        let (name, incarnation) = (hello.name, hello.incarnation);
        self.status.up(key, (name, incarnation), &own, hello.framed);
        let linked = Linked { key, name, incarnation, own, peer, bell };
        self.news.push_back(News::Connected(Box::new(linked)));
    }
}
