//! A node as C has it: its peers and flows, what it offers, and what of it is in C's hands.
#![allow(unsafe_code)]

use std::cell::RefMut;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use narrows::endpoint::{FlowId, Lent, Port, Received, Select, Sink, Source, What};
use narrows::link::{LinkId, Name};
use narrows::strategy::Strategy;
use narrows_host::{Bell, Options, explain};
use narrows_services::{Node, Signature};

use super::code::{Code, Fault, Outcome, at_once};
use super::handle::{Handle, Kind, serial};
use super::memory::Memory;
use super::places::Places;
use super::served::Offered;
use super::spans::Spans;
use super::topics::{Publishing, Subscribed, look};

/// Peers of which those that are gone are looked for first when there is one more.
const MANY: usize = 64;

/// How a node is opened.
pub(super) struct Settings<'a> {
    pub domain: Option<&'a str>,
    pub directory: Option<&'a str>,
    pub longest: usize,
    pub background: bool,
    pub measure: bool,
    pub engine: bool,
}

/// A flow that C opened.
pub(super) struct Flow {
    pub id: FlowId,
    pub link: LinkId,
    /// Calls that were started, and of those finished.
    pub started: u64,
    pub finished: u64,
}

/// What is behind a node's lock.
pub(super) struct State {
    pub serial: u64,
    pub slot: u16,
    pub node: Node,
    pub publishers: Places<Publishing>,
    pub subscribers: Places<Subscribed>,
    pub peers: Places<LinkId>,
    pub flows: Places<Flow>,
    pub memory: Memory,
    handles: HashMap<LinkId, usize>,
    /// Peers at which those that are gone are looked for next.
    many: usize,
    /// Messages that were longer than the buffer they should have gone to.
    kept: Vec<(Port, Lent)>,
    spans: Spans,
    measures: bool,
}

/// The node below that of the services.
#[inline]
pub(super) fn below(node: &Node) -> Outcome<RefMut<'_, narrows_host::Node>> {
    node.below().map_err(|_| Code::Busy.into())
}

// SAFETY: what is not Send in it are the node, and what has the node too: publishers, subscribers
// and what those have taken. All of it stays in here, no function of C's that is served gets any of
// it, and a state is used and dropped by the thread that has its slot's lock, or took it out under
// that.
unsafe impl Send for State {}

/// Keeps something of the node in this slot. Its handle.
pub(super) fn keep<T>(
    places: &mut Places<T>,
    (kind, slot): (Kind, u16),
    value: T,
) -> Outcome<usize> {
    let serial = serial();
    let place = places.put(serial, value).ok_or(Code::Full)?;
    Ok(Handle { kind, slot, place, serial }.word())
}

/// A name of C's.
pub(super) fn name(text: &str) -> Outcome<Name> {
    let said = |error| Fault::said(Code::Name, format_args!("'{text}' is no name: {error}"));
    text.parse().map_err(said)
}

/// A strategy of C's; the usual one if it says nothing.
pub(super) fn strategy(text: &str) -> Outcome<Strategy> {
    if text.is_empty() {
        return Ok(Strategy::default());
    }
    text.parse().map_err(|error| Fault::said(Code::Strategy, explain(text, error, &[])))
}

impl State {
    /// Opens a node, and the bell that ends its waits.
    pub fn open(called: &str, settings: &Settings<'_>, slot: u16) -> Outcome<(State, Arc<Bell>)> {
        let mut options = Options::new(called).background(settings.background);
        if settings.longest > 0 {
            options = options.longest_message(settings.longest);
        }
        if let Some(domain) = settings.domain {
            options = options.domain(domain);
        }
        if let Some(directory) = settings.directory {
            options = options.directory(directory);
        }
        if settings.engine {
            options = options.copy_engine(None);
        }
        let node = Node::with(options)?;
        let mut opened = below(&node)?;
        let system = |error| Fault::said(Code::System, format_args!("cannot make a bell: {error}"));
        let bell = Bell::new().map_err(|error| system(error.into()))?;
        opened.platform().listen(&bell).map_err(system)?;
        opened.platform_mut().set_tracing(settings.measure);
        drop(opened);
        let (peers, flows, memory, handles) = Default::default();
        let (kept, spans) = Default::default();
        let (publishers, subscribers) = Default::default();
        let state = State {
            serial: serial(),
            slot,
            node,
            publishers,
            subscribers,
            peers,
            flows,
            memory,
            handles,
            many: MANY,
            kept,
            spans,
            measures: settings.measure,
        };
        Ok((state, Arc::new(bell)))
    }

    /// The node below.
    #[inline]
    pub fn node(&self) -> Outcome<RefMut<'_, narrows_host::Node>> {
        below(&self.node)
    }

    /// The handle of a link's peer.
    pub fn peer_of(&mut self, link: LinkId) -> Outcome<usize> {
        if let Some(handle) = self.handles.get(&link) {
            return Ok(*handle);
        }
        if self.peers.count() >= self.many {
            let mut node = below(&self.node)?;
            self.peers.retain(|link| node.link(*link).peer().is_ok());
            self.handles.retain(|link, _| node.link(*link).peer().is_ok());
            self.many = MANY.max(2 * self.peers.count());
        }
        let handle = keep(&mut self.peers, (Kind::Peer, self.slot), link)?;
        self.handles.insert(link, handle);
        Ok(handle)
    }

    /// Looks for a node.
    pub fn hunt(&mut self, name: Name, within: Option<Duration>) -> Outcome<usize> {
        let mut node = below(&self.node)?;
        for link in self.peers.values() {
            // What it left is received first; and C may have some of its memory.
            if node.link(*link).peer().is_ok_and(|(of, _)| of == name) && node.is_over(*link) {
                node.link(*link).close();
            }
        }
        let link = match at_once(within) {
            true => node.try_hunt(&name)?.ok_or(Code::Again)?,
            false => node.hunt(&name, within)?,
        };
        drop(node);
        self.peer_of(link)
    }

    /// Closes a link.
    pub fn part(&mut self, link: LinkId) -> Outcome {
        if self.memory.is_out(Some(link)) {
            return Err(Code::Outstanding.into());
        }
        self.kept.retain(|(_, lent)| lent.from.link != link);
        self.node()?.link(link).close();
        self.handles.remove(&link);
        Ok(())
    }

    /// Keeps a flow that was opened. Its handle.
    pub fn keep(&mut self, id: FlowId, link: LinkId) -> Outcome<usize> {
        self.spans.forget(id.place());
        let flow = Flow { id, link, started: 0, finished: 0 };
        keep(&mut self.flows, (Kind::Flow, self.slot), flow)
    }

    /// The next message of a port, or notice.
    pub fn next(&mut self, port: Port, within: Option<Duration>) -> Outcome<Lent> {
        if let Some(place) = self.kept.iter().position(|(at, _)| *at == port) {
            return Ok(self.kept.remove(place).1);
        }
        let all = Select::default();
        let mut node = below(&self.node)?;
        if !at_once(within) {
            return Ok(node.receive(port, &all, within)?);
        }
        if let Some(lent) = node.try_receive(port, &all)? {
            return Ok(lent);
        }
        // A program that never waits hears of ends of links all the same.
        node.poll();
        Ok(node.try_receive(port, &all)?.ok_or(Code::Again)?)
    }

    /// Keeps a message for the next that asks.
    pub fn put_back(&mut self, port: Port, lent: Lent) {
        self.kept.insert(0, (port, lent));
    }

    /// Receives the next message of a port: what it is, and none if it is longer than the buffer
    /// and stays.
    pub fn receive(
        &mut self,
        port: Port,
        buffer: &mut [u8],
        within: Option<Duration>,
    ) -> Outcome<(Received, bool)> {
        if self.kept.is_empty() {
            let mut node = self.node()?;
            let (quick, _) = node.take_first_to(port, |len, _| buffer.get_mut(..len));
            if let Some(received) = quick {
                return Ok((received, true));
            }
        }
        let lent = self.next(port, within)?;
        let received = *lent;
        if received.what != What::Message {
            // A notice has bytes of the stack's own.
            self.node()?.release(lent);
            return Ok((Received { len: 0, ..received }, true));
        }
        let Some(part) = buffer.get_mut(..received.len) else {
            self.put_back(port, lent);
            return Ok((received, false));
        };
        let mut node = self.node()?;
        let read = node.read(&lent, 0, part);
        node.release(lent);
        read.map_err(|_| Fault::from(Code::PeerGone))?;
        Ok((received, true))
    }

    /// Closes a port.
    pub fn close_port(&mut self, port: Port) -> Outcome {
        while let Some(place) = self.kept.iter().position(|(at, _)| *at == port) {
            let (_, lent) = self.kept.remove(place);
            self.node()?.release(lent);
        }
        Ok(self.node()?.close(port)?)
    }

    /// Offers a function: as a service, if there is a signature.
    pub fn offer(
        &mut self,
        signature: Option<&Signature>,
        name: Name,
        mut offered: Offered,
    ) -> Outcome {
        let run =
            move |request: &dyn Source, response: &mut dyn Sink| offered.run(request, response);
        Ok(self.node.serve_bytes(signature, name, run)?)
    }

    /// Serves calls, and lets subscribers in.
    pub fn serve(&mut self, within: Option<Duration>) -> Outcome<usize> {
        if at_once(within) {
            let served = self.node.turn()?;
            return if served > 0 { Ok(served) } else { Err(Code::Again.into()) };
        }
        let end = within.and_then(|within| Instant::now().checked_add(within));
        match self.node.run_once(within)? {
            0 if end.is_some_and(|end| Instant::now() >= end) => Err(Code::Timeout.into()),
            served => Ok(served),
        }
    }

    /// Lets waiting subscribers in.
    pub fn attend(&self) -> Outcome {
        self.node.attend()?;
        Ok(())
    }

    /// Whether C has anything of it.
    pub fn is_out(&self) -> bool {
        self.memory.is_out(None)
            || self.publishers.values().any(|one| one.outlet().is_err())
            || self.subscribers.values().any(Subscribed::is_out)
    }

    /// Waits until something came for the node, and takes it in.
    pub fn wait(&mut self, within: Option<Duration>) -> Outcome {
        let begin = Instant::now();
        self.attend()?;
        loop {
            let (ready, due) = look(&self.subscribers)?;
            let left = within.map(|within| within.saturating_sub(begin.elapsed()));
            // A subscriber looks for publishers in between, of which C hears nothing.
            let pause = due.filter(|due| left.is_none_or(|left| *due < left));
            let asleep = Instant::now();
            let mut node = self.node()?;
            if !ready {
                node.wait_any(pause.or(left));
            }
            node.poll();
            drop(node);
            self.attend()?;
            if ready || pause.is_none_or(|pause| asleep.elapsed() < pause) {
                return Ok(());
            }
        }
    }

    /// Has whatever comes ring the node, unless something is there.
    pub fn arm(&mut self) -> Outcome {
        let (ready, due) = look(&self.subscribers)?;
        if ready || due == Some(Duration::ZERO) || self.node()?.arm() {
            Err(Code::Again.into())
        } else {
            Ok(())
        }
    }

    /// What was measured so far.
    pub fn spans(&mut self) -> Outcome<&Spans> {
        if !self.measures {
            let how = "the node was opened without NARROWS_MEASURE, so nothing was measured";
            return Err(Fault::said(Code::Argument, how));
        }
        self.spans.add(&below(&self.node)?.platform().take_trace());
        Ok(&self.spans)
    }
}
