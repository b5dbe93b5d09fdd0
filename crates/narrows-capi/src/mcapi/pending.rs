//! What waits: requests that are tried in the order they were made, how they end, and what the stack is
//! told that they wait for.

use narrows::endpoint::Channel as Ring;

use super::control::Said;
use super::home::Home;
use super::id::Handle;
use super::message::{received, take_message};
use super::node::Node;
use super::request::{Done, Operation, Report};
use super::status::{Outcome, Status};
use super::transfer::{Attempt, sent};

/// What a node's turns begin with, and what a call counts that did not go the short way alone: channels
/// take that once for as many calls as a ring has slots, at least.
pub(super) const TURNS: u8 = u8::MAX;
const LONG_WAY: u8 = 8;

impl<H: Home> Node<H> {
    /// Tries what waits, in the order in which it began to.
    pub fn try_pending(&mut self) {
        let mut at = 0;
        // What could not be done for one cannot be done for those behind it that wait for the same.
        let mut stuck = Stuck::default();
        while let Some(handle) = self.requests.tried.get(at).copied() {
            match self.attempt(handle, &mut stuck) {
                Some(done) => self.end(handle, done),
                None => at += 1,
            }
        }
    }

    fn attempt(&mut self, handle: Handle, stuck: &mut Stuck) -> Attempt<u64> {
        let operation = self.requests.pending(handle)?;
        let channel = operation.channel();
        if channel.is_some_and(|channel| stuck.has_channel(channel)) {
            return None;
        }
        let done = match operation {
            Operation::Get { node, asked: None, .. } => {
                let node = *node;
                match self.link_to(node) {
                    Ok(Some(link)) => {
                        self.ask_for(handle, link);
                        None
                    }
                    Ok(None) => None,
                    Err(status) => Some(Err(status)),
                }
            }
            Operation::SendMessage { to, bytes, priority, .. } => {
                let (to, bytes, priority) = (*to, *bytes, *priority);
                let (peer, address, tag) = match self.target(to) {
                    Ok(target) => target,
                    Err(status) => return Some(Err(status)),
                };
                if stuck.peers & 1 << peer != 0 {
                    return None;
                }
                let bytes = bytes.get();
                let done = sent(self.try_send(address, bytes, (priority, tag)));
                if done.is_none() {
                    stuck.peers |= 1 << peer;
                }
                done.map(|sent| sent.map(|()| bytes.len() as u64))
            }
            Operation::ReceiveMessage { inner, buffer } => {
                let inner = *inner;
                if stuck.has_endpoint(inner) {
                    return None;
                }
                let tag = self.endpoints.get(inner)?.tag;
                let buffer = buffer.get();
                let room = buffer.len();
                let taken =
                    take_message((&mut self.stack, &mut self.endpoints), inner, tag, buffer);
                let done = taken.map(|taken| taken.and_then(|len| received(len, room)));
                if done.is_none() {
                    stuck.endpoint(inner);
                }
                done
            }
            Operation::Send { channel, what } => {
                let (channel, what) = (*channel, *what);
                self.put_entry(channel, what)
            }
            Operation::Receive { channel, what } => {
                let (channel, what) = (*channel, *what);
                self.take_entry(channel, what)
            }
            _ => None,
        };
        if let Some(channel) = channel.filter(|_| done.is_none()) {
            stuck.channel(channel);
        }
        done
    }

    /// Counts a message that was received the short way. Whether everything is to be seen to once more.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        self.turns = self.turns.saturating_sub(1);
        self.turns == 0
    }

    /// Counts a call that did not go the short way alone, and sees to everything now and then: for who
    /// finds all that it wants at once.
    pub fn turn(&mut self) {
        self.turns = self.turns.saturating_sub(LONG_WAY);
        if self.turns == 0 {
            self.turns = TURNS;
            self.progress();
        }
    }

    /// How a request ended, if it has, all that can be done for it included. It is forgotten then.
    pub fn ended_by_now(&mut self, request: Handle) -> Option<Done> {
        match self.requests.report(request) {
            Report::Done(done) => return Some(done),
            Report::Unknown => return Some(Err(Status::RequestInvalid)),
            Report::Pending => {}
        }
        // The usual case is that nothing else waits.
        if self.requests.tried.front() == Some(&request)
            && let Some(done) = self.attempt(request, &mut Stuck::default())
        {
            self.end(request, done);
        } else {
            self.progress();
        }
        match self.requests.report(request) {
            Report::Pending => None,
            Report::Done(done) => Some(done),
            Report::Unknown => Some(Err(Status::RequestInvalid)),
        }
    }

    /// Makes an operation a request and says to the stack what it waits for.
    pub fn begin(&mut self, operation: Operation, of_call: bool) -> Outcome<Handle> {
        let request = self.requests.add(operation, of_call)?;
        self.note(request);
        Ok(request)
    }

    fn note(&mut self, request: Handle) {
        let Some(operation) = self.requests.pending(request) else { return };
        match operation {
            Operation::SendMessage { to, .. } => {
                let to = *to;
                let peer = self.peers.find(to).map(|remote| remote.peer);
                if let Some(peer) = peer.and_then(|place| self.peers.get_mut(place)) {
                    peer.queued += 1;
                    let link = peer.link;
                    let _ = self.stack.want_room_for_messages(link, true);
                }
            }
            Operation::ReceiveMessage { inner, .. } => {
                let inner = *inner;
                if let Some(receiving) = self.endpoints.receiving(inner) {
                    *receiving += 1;
                }
            }
            Operation::Send { channel, .. } => {
                let channel = *channel;
                self.lengthen(channel);
                if let Some(channel) = self.channels.get_mut(channel) {
                    channel.pending += 1;
                    let _ = channel.ring.map(|ring| self.stack.want_room(ring, true));
                }
            }
            Operation::Receive { channel, .. } => {
                let channel = *channel;
                self.lengthen(channel);
                if let Some(channel) = self.channels.get_mut(channel) {
                    channel.pending += 1;
                    let _ = channel.ring.map(|ring| self.stack.watch_channel(ring, true));
                }
            }
            _ => {}
        }
    }

    /// Notes how a request ended.
    pub fn end(&mut self, request: Handle, how: Done) {
        if let Some(operation) = self.requests.end(request, how) {
            self.ended(&operation);
        }
    }

    /// Ends all requests of which that is said.
    #[inline(never)]
    pub fn end_those(&mut self, status: Status, which: &mut dyn FnMut(&mut Operation) -> bool) {
        for place in 0..Handle::PLACES {
            if let Some((request, operation)) = self.requests.pending_at(place)
                && which(operation)
            {
                self.end(request, Err(status));
            }
        }
    }

    /// Takes a request back that somebody cancelled. False if it was not pending.
    pub fn cancel(&mut self, request: Handle) -> bool {
        let Some(operation) = self.requests.cancel(request) else { return false };
        self.ended(&operation);
        match operation {
            Operation::Get { node, asked, .. } => match asked {
                Some(link) => self.say(link, Said::GiveUp, &[request.0]),
                None => self.give_up(node),
            },
            Operation::Open { inner, .. } => {
                if let Some(endpoint) = self.endpoints.get_mut(inner) {
                    endpoint.opening = None;
                }
            }
            _ => {}
        }
        true
    }

    fn ended(&mut self, operation: &Operation) {
        self.news = true;
        match operation {
            Operation::SendMessage { to, .. } => {
                let peer = self.peers.find(*to).map(|remote| remote.peer);
                if let Some(peer) = peer.and_then(|place| self.peers.get_mut(place)) {
                    peer.queued = peer.queued.saturating_sub(1);
                    if peer.queued == 0 {
                        let link = peer.link;
                        self.want_room_if_queued(link);
                    }
                }
            }
            Operation::ReceiveMessage { inner, .. } => {
                if let Some(receiving) = self.endpoints.receiving(*inner) {
                    *receiving = receiving.saturating_sub(1);
                }
            }
            Operation::Send { channel, .. } => {
                if let Some(ring) = self.pends_no_more(*channel) {
                    let _ = self.stack.want_room(ring, false);
                }
            }
            Operation::Receive { channel, .. } => {
                if let Some(ring) = self.pends_no_more(*channel) {
                    let _ = self.stack.watch_channel(ring, false);
                }
            }
            _ => {}
        }
    }

    /// One request of a channel less: its ring, if that was the last.
    fn pends_no_more(&mut self, channel: Handle) -> Option<Ring> {
        let channel = self.channels.get_mut(channel)?;
        channel.pending = channel.pending.saturating_sub(1);
        channel.ring.filter(|_| channel.pending == 0)
    }
}

/// What a turn of attempts found that it has to be waited for.
#[derive(Default)]
struct Stuck {
    peers: u64,
    endpoints: [u64; 5],
    channels: [u64; 16],
}

impl Stuck {
    fn has_endpoint(&self, inner: u16) -> bool {
        self.endpoints
            .get(usize::from(inner) / 64)
            .is_some_and(|bits| bits & 1 << (inner % 64) != 0)
    }
    fn endpoint(&mut self, inner: u16) {
        if let Some(bits) = self.endpoints.get_mut(usize::from(inner) / 64) {
            *bits |= 1 << (inner % 64);
        }
    }
    fn has_channel(&self, channel: Handle) -> bool {
        let place = channel.place();
        self.channels.get(place / 64).is_some_and(|bits| bits & 1 << (place % 64) != 0)
    }
    fn channel(&mut self, channel: Handle) {
        let place = channel.place();
        if let Some(bits) = self.channels.get_mut(place / 64) {
            *bits |= 1 << (place % 64);
        }
    }
}
