//! Messages, packets and scalars: sent and received if that can be done now.
//!
//! Each comes in two forms: the short way, which a call tries first and which is taken only where no
//! request waits for the same thing, and the attempt of a request, in the order requests were made.

use std::ffi::c_void;
use std::ptr::with_exposed_provenance_mut;

use narrows::endpoint::{
    Address, Channel as Ring, LinkError, Message, Node as Stack, SendError, What,
};
use narrows::memory::Arrival;
use narrows::platform::Platform;

use super::attribute::PRIORITIES;
use super::control::Kind;
use super::endpoint::{Direction, Endpoints};
use super::foreign::{Bytes, Output};
use super::home::{Home, On};
use super::id::{EndpointId, Handle};
use super::lender::Packet;
use super::node::{CONTROL, Node, PLACEMENT};
use super::request::{Done, Operation, Report, TRUNCATED};
use super::status::{Outcome, Status};

/// The receiver's side of a channel.
pub(super) type Inlet<H> = narrows::endpoint::Inlet<On<H>>;

/// What the short way came to.
pub(super) enum Quick<T> {
    Done(T),
    /// It was done, and there is something else to do.
    More(T),
    Not,
}

/// What a node's turns begin with, and what a call counts that did not go the short way alone: channels
/// take that once for as many calls as a ring has slots, at least.
pub(super) const TURNS: u8 = u8::MAX;
const LONG_WAY: u8 = 8;

/// What an attempt came to: none if it has to wait.
type Attempt<T> = Option<Outcome<T>>;

/// What became of an attempt to do something the short way, and whether there is something else to do.
#[inline(always)]
pub(super) fn done<T>(done: Option<(T, bool)>) -> Quick<T> {
    match done {
        None => Quick::Not,
        Some((value, true)) => Quick::More(value),
        Some((value, false)) => Quick::Done(value),
    }
}

impl<H: Home> Node<H> {
    /// Where a message goes: the peer's place, address and mark.
    #[inline]
    fn target(&self, to: EndpointId) -> Outcome<(u8, Address, u16)> {
        let remote = self.peers.find(to).ok_or(Status::EndpInvalid)?;
        remote.check()?;
        Ok((remote.peer, remote.address(), remote.place.tag))
    }

    /// Sends a scalar the short way.
    #[inline(always)]
    pub fn put_word(&mut self, handle: Handle, value: u64, len: u32) -> Quick<()> {
        let Some(outlet) = self.shorts.send_words(handle) else { return Quick::Not };
        let sent = self.stack.post_word(outlet, value, len, 0);
        done(sent.map(|armed| ((), armed)))
    }

    /// Receives a scalar the short way.
    #[inline(always)]
    pub fn take_word(&mut self, handle: Handle, len: u32) -> Quick<u64> {
        let Some(inlet) = self.shorts.receive_words(handle) else { return Quick::Not };
        let taken = self.stack.take_word(inlet, len);
        done(taken)
    }

    /// Sends a packet the short way, if it is short.
    #[inline(always)]
    pub fn put_short(&mut self, handle: Handle, bytes: &Bytes) -> Quick<()> {
        let Some((outlet, longest)) = self.shorts.send_packets(handle) else { return Quick::Not };
        let Some(bytes) = bytes.there().filter(|bytes| bytes.len() <= longest as usize) else {
            return Quick::Not;
        };
        let sent = self.stack.post_short_packet(outlet, bytes, PLACEMENT, 0);
        done(sent.map(|armed| ((), armed)))
    }

    /// Sends a packet the short way.
    pub fn put_block(&mut self, handle: Handle, bytes: &Bytes) -> Quick<()> {
        let (Some((outlet, longest)), Some(bytes)) =
            (self.shorts.send_packets(handle), bytes.there())
        else {
            return Quick::Not;
        };
        if bytes.len() > longest as usize {
            return Quick::Not;
        }
        let sent = self.stack.post_packet(outlet, bytes, PLACEMENT, 0);
        done(sent.map(|armed| ((), armed)))
    }

    /// Receives a packet the short way: where it is and how long.
    #[inline(always)]
    pub fn take_block(&mut self, handle: Handle) -> Quick<(usize, usize)> {
        let taken = self.take_where_it_is(handle);
        done(taken.map(|(at, len, due)| ((at, len), due)))
    }

    #[inline(always)]
    fn take_where_it_is(&mut self, handle: Handle) -> Option<Packet> {
        let (inlet, lender) = self.shorts.receive_packets(handle)?;
        lender.take(inlet)
    }

    /// What can be said of a message before it is sent: how long its sender may wait, and whether it
    /// fails where there is no room.
    #[inline(never)]
    pub fn sender(&self, from: EndpointId, bytes: &Bytes, priority: u32) -> Outcome<(u32, bool)> {
        if bytes.missing() {
            return Err(Status::Parameter);
        }
        let own = self.endpoints.find(from).and_then(|inner| self.endpoints.get(inner));
        let own = own.ok_or(Status::EndpInvalid)?;
        if bytes.get().len() > own.attributes.max_payload as usize {
            return Err(Status::MsgSize);
        }
        if priority >= PRIORITIES {
            return Err(Status::Priority);
        }
        Ok((own.attributes.timeout, own.attributes.fails_at_limit()))
    }

    /// Receives a message the short way: how long it was.
    #[inline(always)]
    pub fn collect_message(&mut self, id: EndpointId, buffer: Option<&mut [u8]>) -> Quick<usize> {
        let taken = self.take_first(id, buffer);
        // No batch of credit that is due is heard of here.
        let turn = taken.is_some() && self.is_due();
        done(taken.map(|len| (len, turn)))
    }

    #[inline(always)]
    fn take_first(&mut self, id: EndpointId, buffer: Option<&mut [u8]>) -> Option<usize> {
        let (inner, buffer) = (self.endpoints.find(id)?, buffer?);
        let endpoint = self.endpoints.get(inner).filter(|endpoint| endpoint.receiving == 0)?;
        let tag = endpoint.tag;
        let received = self.stack.take_first(inner, buffer)?;
        // What is not meant for it is for an endpoint that had this place before.
        (received.what == What::Message && received.tag == tag).then_some(received.len)
    }

    /// Sends a message if there is room and nothing waits before it.
    #[inline(never)]
    pub fn send_message(&mut self, to: EndpointId, bytes: &[u8], priority: u8) -> Attempt<()> {
        let (peer, address, tag) = match self.target(to) {
            Ok(target) => target,
            Err(status) => return Some(Err(status)),
        };
        if self.peers.get(peer).is_some_and(|peer| peer.queued > 0) {
            return None;
        }
        // From the control port, which sees to refusals: a receiver of MCAPI's is not told who sent.
        let message = Message::new(bytes).priority(priority).tag(tag);
        sent(self.stack.try_send(CONTROL, address, message))
    }

    /// Receives a message if one is there and nobody waits for it: how long it was.
    #[inline(never)]
    pub fn receive_message(&mut self, inner: u16, buffer: &mut [u8]) -> Attempt<usize> {
        let endpoint = self.endpoints.get(inner)?;
        if endpoint.receiving > 0 {
            return None;
        }
        let tag = endpoint.tag;
        take_message((&mut self.stack, &mut self.endpoints), inner, tag, buffer)
    }

    /// The channel of a handle, if it is one of this kind and direction that is open.
    #[inline]
    fn channel(
        &mut self,
        handle: Handle,
        kind: Kind,
        way: Direction,
    ) -> Outcome<&mut super::channel::Channel> {
        let channel = self.channels.get_mut(handle).filter(|channel| channel.is(kind, way));
        channel.ok_or(Status::ChanInvalid)
    }

    /// Sends a scalar if there is room and nothing waits before it.
    #[inline(never)]
    pub fn send_scalar(&mut self, handle: Handle, value: u64, len: u32) -> Attempt<()> {
        self.lengthen(handle);
        match self.channel(handle, Kind::Scalar, Direction::Send) {
            Err(status) => Some(Err(status)),
            Ok(channel) if channel.pending > 0 => None,
            Ok(_) => {
                let sent = self.put_scalar(handle, value, len)?;
                self.shorten(handle);
                Some(sent)
            }
        }
    }

    #[inline(never)]
    fn put_scalar(&mut self, handle: Handle, value: u64, len: u32) -> Attempt<()> {
        let channel = match self.channel(handle, Kind::Scalar, Direction::Send) {
            Ok(channel) => channel,
            Err(status) => return Some(Err(status)),
        };
        if let Err(status) = channel.check() {
            return Some(Err(status));
        }
        let ring = channel.ring?;
        sent(self.stack.try_send_word(ring, value, len, 0))
    }

    /// Receives a scalar if one is there and nobody waits for it.
    #[inline(never)]
    pub fn receive_scalar(&mut self, handle: Handle, len: u32) -> Attempt<u64> {
        if let Some(inlet) = self.shorts.receive_words(handle) {
            if inlet.is_empty() {
                return None;
            }
            if let Some((word, due)) = self.stack.take_word(inlet, len) {
                if due {
                    self.stack.credit(inlet);
                }
                return Some(Ok(word));
            }
        }
        self.lengthen(handle);
        match self.channel(handle, Kind::Scalar, Direction::Receive) {
            Err(status) => Some(Err(status)),
            Ok(channel) if channel.pending > 0 => None,
            Ok(_) => {
                let received = self.take_scalar(handle, len)?;
                self.shorten(handle);
                Some(received)
            }
        }
    }

    #[inline(never)]
    fn take_scalar(&mut self, handle: Handle, len: u32) -> Attempt<u64> {
        let channel = match self.channel(handle, Kind::Scalar, Direction::Receive) {
            Ok(channel) => channel,
            Err(status) => return Some(Err(status)),
        };
        let ring = channel.ring?;
        let arrival = match channel.stash.take() {
            Some(arrival) => arrival,
            None => match self.take_entry(ring) {
                Ok(Some(arrival)) => arrival,
                nothing => return self.nothing(handle, nothing),
            },
        };
        if arrival.len == len && arrival.block.is_none() {
            return Some(Ok(arrival.word));
        }
        self.wrong_scalar::<()>(handle, arrival);
        Some(Err(Status::SclSize))
    }

    /// Takes the next entry off a ring.
    #[inline(never)]
    pub fn take_entry(&mut self, ring: Ring) -> Result<Option<Arrival>, LinkError> {
        self.stack.take_from_channel(ring)
    }

    /// Keeps a scalar of another size than was asked for, for who asks for its own.
    #[cold]
    fn wrong_scalar<T>(&mut self, handle: Handle, arrival: Arrival) -> Option<T> {
        let channel = self.channels.get_mut(handle)?;
        match (arrival.block, channel.ring) {
            // No scalar at all: its sender does not keep the rules.
            (Some(block), Some(ring)) => self.stack.release_block(ring.link, block),
            _ => channel.stash = Some(arrival),
        }
        None
    }

    /// Nothing was there to be taken: whether anything can come.
    #[cold]
    fn nothing<T>(
        &mut self,
        handle: Handle,
        taken: Result<Option<Arrival>, LinkError>,
    ) -> Attempt<T> {
        let channel = self.channels.get(handle)?;
        match (taken, channel.check()) {
            (Ok(_), Err(status @ Status::ChanClosePending)) => {
                // What was sent before the other side closed was there before it said so.
                let ring = channel.ring?;
                (!self.stack.channel_ready(ring)).then_some(Err(status))
            }
            (Ok(_), Err(status)) => Some(Err(status)),
            (Ok(_), Ok(())) => None,
            (Err(_), checked) => Some(Err(checked.err().unwrap_or(Status::Transmission))),
        }
    }

    /// Sends a packet if there is room and nothing waits before it.
    #[inline(never)]
    pub fn send_packet(&mut self, handle: Handle, bytes: &[u8]) -> Attempt<()> {
        self.lengthen(handle);
        match self.channel(handle, Kind::Packet, Direction::Send) {
            Err(status) => Some(Err(status)),
            Ok(channel) if bytes.len() > channel.longest as usize => Some(Err(Status::PktSize)),
            Ok(channel) if channel.pending > 0 => None,
            Ok(_) => {
                let sent = self.put_packet(handle, bytes)?;
                self.shorten(handle);
                Some(sent)
            }
        }
    }

    #[inline(never)]
    fn put_packet(&mut self, handle: Handle, bytes: &[u8]) -> Attempt<()> {
        let channel = match self.channel(handle, Kind::Packet, Direction::Send) {
            Ok(channel) => channel,
            Err(status) => return Some(Err(status)),
        };
        if let Err(status) = channel.check() {
            return Some(Err(status));
        }
        let ring = channel.ring?;
        sent(self.stack.try_send_packet(ring, bytes, PLACEMENT, 0))
    }

    /// Receives a packet if one is there and nobody waits for it: its size.
    #[inline(never)]
    pub fn receive_packet(&mut self, handle: Handle, out: Output<*mut c_void>) -> Attempt<u64> {
        if self.shorts.receive_packets(handle).is_some_and(|(inlet, _)| inlet.is_empty()) {
            return None;
        }
        if let Some((at, len, due)) = self.take_where_it_is(handle) {
            if due {
                self.follow_up(handle);
            }
            out.put(with_exposed_provenance_mut(at));
            return Some(Ok(len as u64));
        }
        self.lengthen(handle);
        match self.channel(handle, Kind::Packet, Direction::Receive) {
            Err(status) => Some(Err(status)),
            Ok(channel) if channel.pending > 0 => None,
            Ok(_) => {
                let received = self.take_packet(handle, out)?;
                self.shorten(handle);
                Some(received)
            }
        }
    }

    #[inline(never)]
    fn take_packet(&mut self, handle: Handle, out: Output<*mut c_void>) -> Attempt<u64> {
        let channel = match self.channel(handle, Kind::Packet, Direction::Receive) {
            Ok(channel) => channel,
            Err(status) => return Some(Err(status)),
        };
        let ring = channel.ring?;
        let arrival = match self.take_entry(ring) {
            Ok(Some(arrival)) => arrival,
            nothing => return self.nothing(handle, nothing),
        };
        Some(match self.hold(ring, &arrival) {
            Some((at, size)) => {
                out.put(at);
                Ok(size as u64)
            }
            None => Err(Status::Transmission),
        })
    }

    /// Notes that the application has a packet: where it is and how long. None if it is no packet.
    fn hold(&mut self, ring: Ring, arrival: &Arrival) -> Option<(*mut c_void, usize)> {
        let block = arrival.block?;
        let (_, offset) = self.stack.place_of(ring.link, block)?;
        let Some(lender) = self.lender(ring.link) else {
            self.stack.release_block(ring.link, block);
            return None;
        };
        self.stack.forget_block(ring.link);
        let at = lender.note(offset, arrival.len, block);
        Some((with_exposed_provenance_mut(at), arrival.len as usize))
    }

    /// Gives a received packet back the short way: if it is in the same memory as the last.
    #[inline(always)]
    pub fn put_back(&mut self, at: usize) -> Quick<()> {
        let mut back = || {
            let lender = self.released.as_ref()?;
            Some(((), self.stack.give_block(lender.link(), lender.take_back(at)?)))
        };
        done(back())
    }

    /// Lets the sender have the blocks that gathered with the packet that was given back last.
    pub fn give_all(&mut self) {
        if let Some(lender) = &self.released {
            self.stack.give_all(lender.link());
        }
    }

    /// Gives a received packet back, if it is one.
    pub fn release_packet(&mut self, at: usize) -> Option<()> {
        let lender = self.peers.lenders.iter().find(|lender| lender.has(at))?.clone();
        self.released = Some(lender);
        if let Quick::More(()) = self.put_back(at) {
            self.give_all();
        }
        Some(())
    }

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
                let message = Message::new(bytes).priority(priority).tag(tag);
                let done = sent(self.stack.try_send(CONTROL, address, message));
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
            Operation::SendPacket { channel, bytes } => {
                let (channel, bytes) = (*channel, *bytes);
                let sent = self.put_packet(channel, bytes.get());
                sent.map(|sent| sent.map(|()| bytes.get().len() as u64))
            }
            Operation::ReceivePacket { channel, out } => {
                let (channel, out) = (*channel, *out);
                self.take_packet(channel, out)
            }
            Operation::SendScalar { channel, value, len } => {
                let (channel, value, len) = (*channel, *value, *len);
                self.put_scalar(channel, value, len).map(|sent| sent.map(|()| 0))
            }
            Operation::ReceiveScalar { channel, len } => {
                let (channel, len) = (*channel, *len);
                self.take_scalar(channel, len)
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
    fn is_due(&mut self) -> bool {
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
            Operation::SendPacket { channel, .. } | Operation::SendScalar { channel, .. } => {
                let channel = *channel;
                self.lengthen(channel);
                if let Some(channel) = self.channels.get_mut(channel) {
                    channel.pending += 1;
                    let _ = channel.ring.map(|ring| self.stack.want_room(ring, true));
                }
            }
            Operation::ReceivePacket { channel, .. } | Operation::ReceiveScalar { channel, .. } => {
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

    /// Takes a request back that somebody cancelled. False if it was not pending.
    pub fn cancel(&mut self, request: Handle) -> bool {
        let Some(operation) = self.requests.cancel(request) else { return false };
        self.ended(&operation);
        match operation {
            Operation::Get { node, asked, .. } => match asked {
                Some(link) => {
                    self.say(link, super::control::Control::GiveUp { request: request.0 })
                }
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
            Operation::SendPacket { channel, .. } | Operation::SendScalar { channel, .. } => {
                if let Some(ring) = self.pends_no_more(*channel) {
                    let _ = self.stack.want_room(ring, false);
                }
            }
            Operation::ReceivePacket { channel, .. } | Operation::ReceiveScalar { channel, .. } => {
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

/// Takes a message out of an endpoint: how long it was, or that nobody is left who would send one.
#[inline]
fn take_message<P: Platform>(
    (stack, endpoints): (&mut Stack<P>, &mut Endpoints),
    inner: u16,
    tag: u16,
    buffer: &mut [u8],
) -> Attempt<usize> {
    loop {
        match stack.try_receive_into(inner, buffer) {
            Ok(None) => {
                return endpoints.tell_orphaned(inner).then_some(Err(Status::Transmission));
            }
            Ok(Some(received)) if received.what == What::Message && received.tag == tag => {
                return Some(Ok(received.len));
            }
            // For an endpoint that had this place before.
            Ok(Some(_)) => {}
            Err(_) => return Some(Err(Status::EndpInvalid)),
        }
    }
}

/// What a message came to that was so long, for a buffer of so much room.
#[inline]
pub(super) fn received(len: usize, room: usize) -> Done {
    Ok(if len > room { TRUNCATED | room as u64 } else { len as u64 })
}

#[inline]
fn sent(how: Result<(), SendError>) -> Attempt<()> {
    match how {
        Ok(()) => Some(Ok(())),
        Err(error) => not_sent(error),
    }
}

#[cold]
fn not_sent(error: SendError) -> Attempt<()> {
    match error {
        SendError::RingFull | SendError::PoolEmpty => None,
        SendError::TooLong { .. } => Some(Err(Status::MsgSize)),
        _ => Some(Err(Status::Transmission)),
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
