//! The test cases of any number of cores: for each a node, in a thread of this process.

use std::collections::BTreeMap;
use std::sync::{Barrier, Mutex, PoisonError};
use std::time::{Duration, Instant};

use narrows_sim::time::Time;

use crate::base::failure::{Failure, Kind};
use crate::experiments::bench::linx::cases::{EVERY, Measured, Sent};
use crate::experiments::bench::linx::measure::Trial;
use crate::rig::linx::end::{self, End};
use crate::rig::linx::side::{self, Purpose};
use crate::rig::linx::threads;
use crate::rig::service::linx::How;

/// Requests of a flow are told apart by what their numbers are below this.
const FLOW: u32 = 1 << 16;

/// What a node knows of a signal: its number and purpose, when it was sent and when that returned,
/// or when it was received.
struct Seen {
    id: u32,
    purpose: Purpose,
    sent: Option<[u64; 2]>,
    received: Option<u64>,
}

/// What came of a node.
struct Node {
    seen: Vec<Seen>,
    layers: BTreeMap<&'static str, Duration>,
}

/// What all nodes have.
struct Shared<'a> {
    trial: &'a Trial,
    how: How,
    flows: &'a [(usize, usize)],
    number: u32,
    epoch: Instant,
    /// One opens at a time, so that the threads of its node are known.
    opening: Mutex<()>,
    open: Barrier,
    hunted: Barrier,
    /// Before the first is closed: others may still read what it has sent.
    done: Barrier,
}

/// Carries a trial out with this number of nodes.
///
/// # Errors
/// A node cannot be opened, or a signal does not come.
pub(super) fn carry_out(trial: &Trial, how: How, nodes: usize) -> Result<Measured, Failure> {
    let flows = trial.case.flows(nodes);
    let asking = (0..nodes).filter(|node| flows.iter().any(|(from, _)| from == node)).count();
    let shared = Shared {
        trial,
        how,
        flows: &flows,
        number: std::process::id(),
        epoch: Instant::now(),
        opening: Mutex::default(),
        open: Barrier::new(nodes),
        hunted: Barrier::new(asking),
        done: Barrier::new(nodes),
    };
    let done: Vec<Option<Node>> = std::thread::scope(|scope| {
        let work = |own| {
            scope.spawn({
                let shared = &shared;
                move || shared.work(own)
            })
        };
        let all: Vec<_> = (0..nodes).map(work).collect();
        all.into_iter().map(|thread| thread.join().ok().flatten()).collect()
    });
    let done: Option<Vec<Node>> = done.into_iter().collect();
    let done = done.ok_or_else(|| Failure::new(Kind::Peer, side::SILENT))?;
    let signals = together(trial, &flows, &done).ok_or_else(|| {
        Failure::new(Kind::Internal, "a signal was lost or came with other bytes")
    })?;
    let nanos = |time: Duration| Time::nanos(time.as_nanos() as u64);
    let layers = done.iter().map(|node| node.layers.iter().map(|(role, had)| (*role, nanos(*had))));
    let layers = layers.map(Iterator::collect).collect();
    Ok(Measured { signals, layers, cores: Vec::new() })
}

/// Puts together what senders and receivers know of each signal.
fn together(trial: &Trial, flows: &[(usize, usize)], nodes: &[Node]) -> Option<Vec<Sent>> {
    // What a node was busy for one of its signals.
    let share = |node: &Node| {
        let all: Duration = node.layers.values().sum();
        Time::nanos(all.as_nanos() as u64 / node.seen.len().max(1) as u64)
    };
    let mut all = Vec::new();
    for purpose in [Purpose::Request, Purpose::Reply] {
        for ((from, to), flow) in flows.iter().zip(0..) {
            let (from, to) = if purpose == Purpose::Request { (from, to) } else { (to, from) };
            let (sender, receiver) = (nodes.get(*from)?, nodes.get(*to)?);
            let own = |one: &&Seen| one.purpose == purpose && one.id / FLOW == flow;
            for sent in sender.seen.iter().filter(own) {
                let Some([began, returned]) = sent.sent else { continue };
                let came = receiver.seen.iter().filter(own);
                let received = came.filter(|one| one.id == sent.id).find_map(|one| one.received)?;
                let times = [began, returned, received].map(Time::nanos);
                let busy = [share(sender), share(receiver)];
                all.push(Sent::of(purpose, (*from, *to), trial.bytes, times, busy));
            }
        }
    }
    let rounds = trial.rounds.unwrap_or(trial.case.usual_rounds()) as usize;
    (all.len() == 2 * rounds * flows.len()).then_some(all)
}

impl Shared<'_> {
    fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    fn name(&self, node: usize) -> String {
        format!("node{node}-{}", self.number)
    }

    /// What a node does. None if a signal does not come, or it cannot be opened.
    fn work(&self, own: usize) -> Option<Node> {
        let opened = {
            let _one = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
            let before = threads::all();
            let opened = end::open(self.name(own), self.trial.stack, self.how);
            let mut new = threads::all();
            new.retain(|thread, _| !before.contains_key(thread));
            let this = std::fs::read_link("/proc/thread-self").ok();
            let this = this.and_then(|path| path.file_name()?.to_str()?.parse().ok());
            new.extend(this.map(|this: u32| (this, 0)));
            opened.map(|endpoint| (endpoint, new))
        };
        self.open.wait();
        let asks = self.flows.iter().any(|(from, _)| *from == own);
        let Ok((mut endpoint, mine)) = opened else {
            // The others are not to wait for it.
            if asks {
                self.hunted.wait();
            }
            self.done.wait();
            return None;
        };
        let rounds = self.trial.rounds.unwrap_or(self.trial.case.usual_rounds());
        let targets: Vec<(u32, usize)> = (0..)
            .zip(self.flows)
            .filter(|(_, (from, _))| *from == own)
            .map(|(flow, (_, to))| (flow, *to))
            .collect();
        let sources = self.flows.iter().filter(|(_, to)| *to == own).count() as u32;
        let before = threads::times(&mine);
        let mut seen = Vec::new();
        let done = if targets.is_empty() {
            (0..sources * rounds).try_for_each(|_| self.answer(&mut endpoint, &mut seen))
        } else {
            self.ask(&mut endpoint, &targets, rounds, &mut seen)
        };
        // Whose engine is whose, the system does not tell.
        let layers = threads::between(self.trial.stack, None, &before, &threads::times(&mine));
        self.done.wait();
        done.map(|()| Node { seen, layers })
    }

    fn ask(
        &self,
        own: &mut End,
        targets: &[(u32, usize)],
        rounds: u32,
        seen: &mut Vec<Seen>,
    ) -> Option<()> {
        let hunt = |(flow, to): &(u32, usize)| Some((*flow, own.find(&self.name(*to))?));
        let found: Option<Vec<(u32, u32)>> = targets.iter().map(hunt).collect();
        self.hunted.wait();
        let found = found?;
        let began = Instant::now();
        for round in 0..rounds {
            for (flow, to) in &found {
                self.send(own, *to, Purpose::Request, flow * FLOW + round, seen)?;
            }
            for _ in &found {
                self.receive(own, seen)?;
            }
            if round + 1 < rounds {
                let next =
                    began + (round + 1) * Duration::from_nanos((EVERY.micros() * 1e3) as u64);
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
            }
        }
        Some(())
    }

    fn answer(&self, own: &mut End, seen: &mut Vec<Seen>) -> Option<()> {
        let (from, id) = self.receive(own, seen)?;
        self.send(own, from, Purpose::Reply, id, seen)
    }

    fn send(
        &self,
        own: &mut End,
        to: u32,
        purpose: Purpose,
        id: u32,
        seen: &mut Vec<Seen>,
    ) -> Option<()> {
        let signal = side::make(own, to, (purpose, id, self.trial.bytes))?;
        let sent = self.now();
        own.send(to, signal)?;
        seen.push(Seen { id, purpose, sent: Some([sent, self.now()]), received: None });
        Some(())
    }

    fn receive(&self, own: &mut End, seen: &mut Vec<Seen>) -> Option<(u32, u32)> {
        let signal = own.receive()?;
        let received = Some(self.now());
        let (id, purpose) = (side::read(own, &signal)?, side::purpose_of(own, &signal)?);
        let from = own.sender(&signal);
        own.used(signal);
        seen.push(Seen { id, purpose, sent: None, received });
        Some((from, id))
    }
}
