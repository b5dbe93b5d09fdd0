//! What waits: requests that are tried in the order they were made, how they end, and what the
//! stack is told that they wait for.

use super::super::control::Said;
use super::super::endpoint::{Direction, MAX_ENDPOINTS};
use super::super::home::Home;
use super::super::id::Handle;
use super::super::places::MAX_PEERS;
use super::super::request::{Done, Operation};
use super::super::status::{Outcome, Status};
use super::Node;

/// What a node's turns begin with, and what a call counts that did not go the short way alone:
/// channels take that once for as many calls as a ring has slots, at least.
pub(in crate::mcapi) const TURNS: u8 = u8::MAX;
const LONG_WAY: u8 = 8;

impl<H: Home> Node<H> {
    /// Tries what waits, in the order in which it began to.
    pub fn try_pending(&mut self) {
        if self.requests.tried.is_empty() {
            return;
        }
        let mut at = 0;
        // What could not be done for one cannot be done for those behind it that wait for the same.
        let mut stuck = Stuck::none();
        while let Some(handle) = self.requests.tried.get(at).copied() {
            let done = self.attempt(handle, &mut stuck);
            if done.is_pending() {
                at += 1;
            } else {
                self.end(handle, done);
            }
        }
    }

    fn attempt(&mut self, handle: Handle, stuck: &mut Stuck) -> Done {
        let Some(operation) = self.requests.pending(handle) else { return Status::Pending.into() };
        let operation = *operation;
        if let Operation::Get { node, asked: None, .. } = operation {
            match self.link_to(node) {
                Ok(Some(link)) => self.ask_for(handle, link),
                Ok(None) => {}
                Err(status) => return status.into(),
            }
        }
        let waits_for = match operation {
            Operation::SendMessage { to, .. } => {
                // A peer that is no more is not waited for.
                self.target(to).ok().map(|(peer, ..)| Stuck::PEERS + usize::from(peer))
            }
            Operation::ReceiveMessage { inner, .. } => Some(usize::from(inner)),
            _ => operation.channel().map(|channel| Stuck::CHANNELS + channel.place()),
        };
        let Some(waits_for) = waits_for else { return self.try_once(&operation, true) };
        if stuck.has(waits_for) {
            return Status::Pending.into();
        }
        let done = self.try_once(&operation, true);
        if done.is_pending() {
            stuck.add(waits_for);
        }
        done
    }

    /// Tries an operation, in its turn or if nothing waits before it.
    #[inline(never)]
    pub fn try_once(&mut self, operation: &Operation, in_turn: bool) -> Done {
        match *operation {
            Operation::SendMessage { to, bytes, priority } => {
                self.send_message(to, bytes.get(), priority, in_turn)
            }
            Operation::ReceiveMessage { inner, buffer } => {
                self.receive_message(inner, buffer, in_turn)
            }
            Operation::Send { channel, what } => self.send_entry(channel, what, in_turn),
            Operation::Receive { channel, what } => self.receive_entry(channel, what, in_turn),
            _ => Status::Pending.into(),
        }
    }

    /// Counts a message that was received the short way. Whether everything is to be seen to once
    /// more.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        self.turns = self.turns.saturating_sub(1);
        self.turns == 0
    }

    /// Counts a call that did not go the short way alone, and sees to everything now and then: for
    /// which finds all that it wants at once.
    pub fn turn(&mut self) {
        self.turns = self.turns.saturating_sub(LONG_WAY);
        if self.turns == 0 {
            self.turns = TURNS;
            self.progress();
        }
    }

    /// How a request is when all that can be done for it is done. It is forgotten if it has ended.
    #[inline(never)]
    pub fn ended_by_now(&mut self, request: Handle) -> Done {
        let done = self.requests.report(request);
        if !done.is_pending() {
            return done;
        }
        // The usual case is that nothing else waits.
        let done = match self.requests.tried.first() {
            Some(first) if *first == request => self.attempt(request, &mut Stuck::none()),
            _ => done,
        };
        // Where there is no room for a node's peer, another may have left since the last look.
        if done.is_pending() || done.status == Status::EndpGetLimit {
            self.progress();
        } else {
            self.end(request, done);
        }
        self.requests.report(request)
    }

    /// Makes an operation a request and says to the stack what it waits for.
    #[inline(never)]
    pub fn begin(&mut self, operation: Operation, of_call: bool) -> Outcome<Handle> {
        let request = self.requests.add(operation, of_call)?;
        self.count(&operation, true);
        Ok(request)
    }

    /// Counts an operation that begins to wait, or has ended, where others may wait for the same,
    /// and says to the stack what is still waited for.
    fn count(&mut self, operation: &Operation, begins: bool) {
        let counted = |waiting: &mut u16| {
            *waiting = if begins { *waiting + 1 } else { waiting.saturating_sub(1) };
            *waiting > 0
        };
        match *operation {
            Operation::SendMessage { to, .. } => {
                let peer = self.peers.find(to).map(|remote| remote.peer);
                if let Some(peer) = peer.and_then(|place| self.peers.get_mut(place)) {
                    counted(&mut peer.queued);
                    let link = peer.link;
                    self.want_room_if_queued(link);
                }
            }
            Operation::ReceiveMessage { inner, .. } => {
                if let Some(receiving) = self.endpoints.receiving(inner) {
                    counted(receiving);
                }
            }
            Operation::Send { channel, .. } | Operation::Receive { channel, .. } => {
                self.lengthen(channel);
                let Some(channel) = self.channels.get_mut(channel) else { return };
                let wanted = counted(&mut channel.pending);
                let Some(ring) = channel.ring else { return };
                let _ = match channel.direction {
                    Direction::Send => self.stack.channel(ring).want_room(wanted),
                    Direction::Receive => self.stack.channel(ring).watch(wanted),
                };
            }
            _ => {}
        }
    }

    /// Notes how a request ended.
    #[inline(never)]
    pub fn end(&mut self, request: Handle, how: Done) {
        if let Some(operation) = self.requests.end(request, how) {
            self.news = true;
            self.count(&operation, false);
        }
    }

    /// Ends all requests of which that is said.
    #[inline(never)]
    pub fn end_those(&mut self, status: Status, which: &mut dyn FnMut(&mut Operation) -> bool) {
        for place in 0..Handle::PLACES {
            if let Some((request, operation)) = self.requests.pending_at(place)
                && which(operation)
            {
                self.end(request, status.into());
            }
        }
    }

    /// Takes a request back that somebody cancelled. False if it was not pending.
    #[inline(never)]
    pub fn cancel(&mut self, request: Handle) -> bool {
        let Some(operation) = self.requests.cancel(request) else { return false };
        self.news = true;
        self.count(&operation, false);
        match operation {
            Operation::Get { asked: Some(link), .. } => {
                self.say(link, Said::GiveUp, &[request.0]);
            }
            Operation::Get { node, .. } => self.give_up(node),
            Operation::Open { inner, .. } => {
                if let Some(endpoint) = self.endpoints.get_mut(inner) {
                    endpoint.opening = None;
                }
            }
            _ => {}
        }
        true
    }
}

/// What a turn of attempts found that it has to be waited for: a bit for each port of the stack's,
/// each peer and each channel.
struct Stuck([u64; Stuck::ALL / 64]);

impl Stuck {
    const PEERS: usize = 512;
    const CHANNELS: usize = Stuck::PEERS + MAX_PEERS;
    const ALL: usize = Stuck::CHANNELS + Handle::PLACES;

    fn none() -> Stuck {
        Stuck([0; Stuck::ALL / 64])
    }
    fn has(&self, what: usize) -> bool {
        self.0.get(what / 64).is_some_and(|bits| bits & 1 << (what % 64) != 0)
    }
    fn add(&mut self, what: usize) {
        if let Some(bits) = self.0.get_mut(what / 64) {
            *bits |= 1 << (what % 64);
        }
    }
}

const _: () = assert!(MAX_ENDPOINTS < Stuck::PEERS);
const _: () = assert!(Stuck::ALL.is_multiple_of(64));
