//! Looking for other nodes by their names, again and again until they are there.

use std::time::{Duration, Instant};

use narrows::link::Name;
use narrows::platform::HuntError;
use rustix::fd::AsFd;
use rustix::io::Errno;

use super::directory::Life;
use super::packet::{self, Farewell, Hello};
use super::{Connection, News, QUICK_TICK, Rendezvous, Stage, hunt_error};
use crate::bells::set::listen_to;
use crate::carrier::{self, Carrier};
use crate::system::peer_user;

/// How many names one tick looks for: each costs some microseconds, and the application waits.
const LOOKS: usize = 16;
/// How long a hunt rests at most after its peer said *again*: greeting costs milliseconds.
const LONGEST_REST: Duration = Duration::from_millis(250);

pub(super) struct Hunt {
    pub name: Name,
    pub since: Instant,
    /// The connection that waits for an answer.
    pub greeted: Option<u32>,
    /// The life of the peer that it was looked for in last.
    pub life: Option<Life>,
    /// Not looked for again before, and how long it rested the last time.
    pub next: Instant,
    pub rest: Duration,
    /// Whether frames have to carry the link, whatever this node's carrier is.
    pub framed: bool,
}

impl Rendezvous {
    pub(crate) fn hunt(&mut self, name: &Name) -> Result<(), HuntError> {
        if self.is_copy() {
            return Err(HuntError::Forked);
        }
        if self.hunts.iter().any(|h| h.name == *name) || self.link_of(name).is_some() {
            return Ok(());
        }
        if *name == self.me.name {
            return self.link_to_itself().map_err(hunt_error);
        }
        let now = Instant::now();
        let hunt = Hunt {
            name: *name,
            since: now,
            greeted: None,
            life: None,
            next: now,
            rest: Duration::ZERO,
            framed: false,
        };
        self.hunts.push(hunt);
        self.adjust();
        let looked = self.look_for(name);
        if looked.is_err() {
            self.hunts.retain(|h| h.name != *name);
            self.adjust();
        }
        looked
    }

    pub(crate) fn give_up(&mut self, name: &Name) {
        if !self.is_copy()
            && let Some(at) = self.hunts.iter().position(|h| h.name == *name)
        {
            if let Some(key) = self.hunts.swap_remove(at).greeted {
                self.remove(key, Some(Farewell::Closed));
            }
            self.adjust();
        }
    }

    /// Looks for some of the names that are hunted, for the others at the next ticks.
    pub(super) fn retry(&mut self) {
        let now = Instant::now();
        let due = |h: &Hunt| h.greeted.is_none() && h.next <= now;
        let due = self.hunts.iter().enumerate().filter(|(_, h)| due(h)).take(LOOKS);
        let (places, names): (Vec<usize>, Vec<Name>) = due.map(|(at, h)| (at, h.name)).unzip();
        self.hunts.rotate_left(places.last().map_or(0, |last| last + 1));
        for name in names {
            if let Err(error) = self.look_for(&name) {
                self.fail(&name, error);
            }
        }
    }

    /// Greets a node again at the next tick, with a stream: nothing else reaches it.
    pub(super) fn frame(&mut self, name: &Name) {
        for hunt in self.hunts.iter_mut().filter(|h| h.name == *name) {
            hunt.framed = true;
        }
    }

    /// Leaves a peer alone for a while that has a reason not to link now: twice as long each time.
    pub(super) fn put_off(&mut self, name: &Name) {
        for hunt in self.hunts.iter_mut().filter(|h| h.name == *name) {
            hunt.rest = (2 * hunt.rest).clamp(QUICK_TICK, LONGEST_REST);
            hunt.next = Instant::now() + hunt.rest;
        }
    }

    pub(super) fn fail(&mut self, name: &Name, error: HuntError) {
        let hunt = self.hunts.iter().find(|h| h.name == *name);
        if error == HuntError::Incompatible
            && let Some(life) = hunt.and_then(|h| h.life)
        {
            self.incompatible.insert(name.as_str().into(), life);
        }
        self.hunts.retain(|h| h.name != *name);
        self.news.push_back(News::Failed(*name, error));
    }

    /// Connects to a node and greets it, if it is there.
    fn look_for(&mut self, name: &Name) -> Result<(), HuntError> {
        let life = self.directory.life(name.as_str());
        match self.incompatible.get(name.as_str()) {
            Some(old) if life == Some(*old) => return Err(HuntError::Incompatible),
            Some(_) => drop(self.incompatible.remove(name.as_str())),
            None => {}
        }
        for hunt in self.hunts.iter_mut().filter(|h| h.name == *name) {
            hunt.life = life;
        }
        let socket = match self.directory.connect(name.as_str()) {
            Ok(socket) => socket,
            // Absent or dead.
            Err(Errno::NOENT | Errno::CONNREFUSED | Errno::INTR) => return Ok(()),
            // Others wait to be greeted already, as many as can.
            Err(Errno::AGAIN) => {
                self.put_off(name);
                return Ok(());
            }
            Err(Errno::ACCESS) if self.directory.is_young(name.as_str()) => return Ok(()),
            Err(Errno::ACCESS | Errno::PERM) => return Err(HuntError::Forbidden),
            Err(Errno::PROTOTYPE) => return Err(HuntError::Incompatible),
            Err(error) => return Err(hunt_error(error)),
        };
        let user = peer_user(socket.as_fd()).map_err(hunt_error)?;
        let others = user != self.me.user;
        if !self.me.allows(user) {
            return Err(HuntError::Forbidden);
        }
        let key = self.fresh_key();
        listen_to(&self.sets.rendezvous, socket.as_fd(), u64::from(key), false)
            .map_err(hunt_error)?;
        let (own, memory, bell) = self.offer(key, &self.me.layout).map_err(hunt_error)?;
        let framed = self.hunts.iter().any(|h| h.name == *name && h.framed);
        let framed = framed || self.me.carrier == Carrier::Stream;
        let stream = framed.then(carrier::pair).transpose().map_err(hunt_error)?;
        let (stream, theirs) = stream.unzip();
        if let Some(stream) = &stream {
            carrier::introduce(stream, &own).map_err(hunt_error)?;
        }
        let hello = Hello { framed: stream.is_some(), ..self.me.hello(&self.me.layout) };
        let offered = theirs.as_ref().unwrap_or(&memory);
        let greeted = packet::greet(socket.as_fd(), &hello, offered.as_fd(), bell.as_fd());
        let stage = Stage::Greeted { name: *name, own, bell, stream };
        self.connections.insert(key, Connection::new(socket, stage, others));
        match greeted {
            Ok(()) => {
                for hunt in self.hunts.iter_mut().filter(|h| h.name == *name) {
                    hunt.greeted = Some(key);
                }
                Ok(())
            }
            Err(error) => {
                // It died in between, or refused before it was greeted: its last words tell. The
                // next look would be refused as soon as this one.
                if matches!(error, Errno::PIPE | Errno::CONNRESET) {
                    self.hear(key);
                }
                self.remove(key, None);
                if matches!(error, Errno::PIPE | Errno::CONNRESET | Errno::AGAIN) {
                    self.put_off(name);
                    Ok(())
                } else {
                    Err(hunt_error(error))
                }
            }
        }
    }
}
