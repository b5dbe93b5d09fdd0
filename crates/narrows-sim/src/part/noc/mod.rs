//! A network on chip: packets of flits between the interfaces of clusters, over a mesh whose links
//! carry a flit at a time.
//!
//! The head of a packet asks for one stage after the other: the way in, links, the way out. A stage
//! serves heads in the order in which they ask, and is held until the last flit has passed. Routers
//! have room for what waits (virtual cut-through), so a packet that waits holds nothing behind it.
//! Everything is counted in cycles of the network's clock.

mod mesh;
#[cfg(test)]
mod tests;

pub(crate) use mesh::{Mesh, Spot, Stage};

use crate::chip::Noc;
use crate::time::Time;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// There is no way for a packet: a spot is outside the mesh, or it would stay where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoute;

/// A packet on its way.
struct Packet<T> {
    to: Spot,
    flits: u64,
    stages: Vec<Stage>,
    /// Stages that it has been given.
    passed: usize,
    what: T,
}

/// What has happened to a packet by a cycle: its head asks for a stage, or all of it has come.
/// At one cycle the older packet goes first.
type Key = (u64, u64);

/// The network.
pub(crate) struct Network<T> {
    facts: Noc,
    mesh: Mesh,
    /// From which cycle on each stage is free.
    free: HashMap<Stage, u64>,
    /// When the way in has taken each packet of an interface that it has not taken yet.
    waiting: HashMap<Spot, VecDeque<u64>>,
    packets: BTreeMap<Key, Packet<T>>,
    sent: u64,
    /// Bytes that interfaces have sent, those of headers among them.
    bytes: u64,
}

impl<T> Network<T> {
    /// An empty one.
    pub fn new(facts: Noc) -> Network<T> {
        Network {
            facts,
            mesh: Mesh { columns: facts.columns, rows: facts.rows },
            free: HashMap::new(),
            waiting: HashMap::new(),
            packets: BTreeMap::new(),
            sent: 0,
            bytes: 0,
        }
    }

    /// The cycle that begins at a moment, or next after it.
    pub fn edge(&self, now: Time) -> u64 {
        let picos = u128::from(now.0) * u128::from(self.facts.clock.0);
        picos.div_ceil(1_000_000_000_000) as u64
    }

    /// When a cycle begins.
    pub fn begins(&self, cycle: u64) -> Time {
        self.facts.clock.cycles(cycle)
    }

    /// Flits of a packet with this many bytes.
    pub fn flits(&self, bytes: usize) -> u64 {
        u64::from(self.facts.header) + (bytes as u64).div_ceil(self.facts.flit.into())
    }

    /// Bytes that went into the network so far, headers and padding among them.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// From when on an interface takes another packet: it holds a few that wait for the way in.
    pub fn room(&mut self, from: Spot, now: Time) -> Time {
        let edge = self.edge(now);
        let waiting = self.waiting.entry(from).or_default();
        while waiting.front().is_some_and(|taken| *taken <= edge) {
            waiting.pop_front();
        }
        let over = waiting.len().checked_sub(self.facts.queue as usize);
        match over.and_then(|over| waiting.get(over)).copied() {
            Some(taken) => self.begins(taken),
            None => now,
        }
    }

    /// Gives an interface a packet with `bytes` bytes. `held` has when a stage is a packet's.
    ///
    /// # Errors
    /// There is no way to where it is to go.
    pub fn inject(
        &mut self,
        now: Time,
        (from, to): (Spot, Spot),
        bytes: usize,
        what: T,
        mut held: impl FnMut(Stage, [Time; 2]),
    ) -> Result<(), NoRoute> {
        let stages = self.mesh.route(from, to).ok_or(NoRoute)?;
        let flits = self.flits(bytes);
        let asks = self.edge(now) + u64::from(self.facts.interface);
        self.sent += 1;
        self.bytes += flits * u64::from(self.facts.flit);
        // The way in serves packets as they come, so when it has taken this one is known at once.
        let entry = self.free.get(&Stage::In(from)).copied().unwrap_or(0).max(asks);
        let taken = entry + flits * u64::from(self.facts.link);
        held(Stage::In(from), [entry, taken].map(|cycle| self.begins(cycle)));
        self.free.insert(Stage::In(from), taken);
        self.waiting.entry(from).or_default().push_back(taken);
        let next = entry + u64::from(self.facts.link) + u64::from(self.facts.router);
        self.packets.insert((next, self.sent), Packet { to, flits, stages, passed: 1, what });
        Ok(())
    }

    /// The moment at which something happens next.
    pub fn next(&self) -> Option<Time> {
        self.packets.first_key_value().map(|(key, _)| self.begins(key.0))
    }

    /// Lets everything happen up to a moment; what has come, and where, in order. `held` has when a
    /// stage is a packet's.
    pub fn advance(&mut self, now: Time, mut held: impl FnMut(Stage, [Time; 2])) -> Vec<(Spot, T)> {
        let mut come = Vec::new();
        while let Some(entry) = self.packets.first_entry() {
            let (at, number) = *entry.key();
            if self.facts.clock.cycles(at) > now {
                break;
            }
            let mut packet = entry.remove();
            let Some(stage) = packet.stages.get(packet.passed).copied() else {
                come.push((packet.to, packet.what));
                continue;
            };
            packet.passed += 1;
            let [link, router, interface] =
                [self.facts.link, self.facts.router, self.facts.interface].map(u64::from);
            let free = self.free.entry(stage).or_default();
            let given = at.max(*free);
            *free = given + packet.flits * link;
            held(stage, [given, *free].map(|cycle| self.facts.clock.cycles(cycle)));
            let next = match stage {
                // The whole of it has to be there.
                Stage::Out(_) => *free + interface,
                Stage::In(_) | Stage::Link(..) => given + link + router,
            };
            self.packets.insert((next, number), packet);
        }
        come
    }
}

/// Cycles that a packet of `flits` flits takes over `links` links, alone in the network: what the
/// interfaces and routers take, and the head over each stage, and then the other flits.
#[cfg(test)]
fn alone(facts: &Noc, links: u64, flits: u64) -> u64 {
    let [link, router, interface] = [facts.link, facts.router, facts.interface].map(u64::from);
    let head = 2 * interface + (links + 1) * router + (links + 2) * link;
    head + (flits - 1) * link
}
