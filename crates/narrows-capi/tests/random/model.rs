//! What there is, as far as a program can tell.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::calls::{Begun, Kind, Way};
use super::case::node_of;
use super::status::Status;

/// Attributes that are set here, by their numbers.
pub const TYPE: u32 = 0;
pub const GET_COUNT: u32 = 1;
pub const MAX_PAYLOAD_SIZE: u32 = 3;
pub const MEMORY_TYPE: u32 = 5;
pub const PRIORITY: u32 = 7;
pub const NUM_RECV_BUFFERS: u32 = 9;
pub const STATUS: u32 = 10;
pub const TIMEOUT: u32 = 11;

pub struct Message {
    pub bytes: Vec<u8>,
    pub priority: u32,
}

pub struct Endpoint {
    pub kind: u32,
    pub payload: u32,
    pub memory: u32,
    pub priority: u32,
    /// In the order in which they are received.
    pub queue: VecDeque<Message>,
    /// Requests that wait for a message.
    pub receiving: VecDeque<usize>,
    pub channel: Option<usize>,
    /// An open that is pending, and its request.
    pub opening: Option<(Kind, Way, usize)>,
    /// How often each node has got it, and nodes that are gone had.
    pub gets: BTreeMap<usize, u32>,
    pub gets_of_gone: u32,
}

impl Endpoint {
    pub fn new() -> Endpoint {
        Endpoint {
            kind: 1,
            payload: 65536,
            memory: 0,
            priority: 0,
            queue: VecDeque::new(),
            receiving: VecDeque::new(),
            channel: None,
            opening: None,
            gets: BTreeMap::new(),
            gets_of_gone: 0,
        }
    }

    pub fn put(&mut self, message: Message) {
        let behind = |other: &Message| other.priority <= message.priority;
        let at = self.queue.iter().take_while(|other| behind(other)).count();
        self.queue.insert(at, message);
    }

    /// Why it cannot become this end of a channel.
    pub fn refuses(&self, kind: Kind, way: Way) -> Option<Status> {
        let own = if kind == Kind::Packets { 2 } else { 4 };
        match self.opening {
            _ if self.channel.is_some() => Some(Status::ChanConnected),
            _ if self.kind != 1 && self.kind != own => Some(Status::AttrIncompatible),
            Some((other, _, _)) if other != kind => Some(Status::ChanType),
            Some((_, other, _)) if other != way => Some(Status::ChanDirection),
            _ => None,
        }
    }

    pub fn fits(&self, other: &Endpoint) -> bool {
        (self.payload, self.memory, self.priority) == (other.payload, other.memory, other.priority)
    }
}

pub enum Item {
    Packet(Vec<u8>),
    Scalar(u64, u32),
}

#[derive(Default)]
pub struct End {
    pub endpoint: u32,
    pub handle: Option<u32>,
    pub open: bool,
    pub closed: bool,
}

pub struct Channel {
    pub kind: Kind,
    /// The sender's and the receiver's.
    pub ends: [End; 2],
    pub longest: u32,
    pub queue: VecDeque<Item>,
    /// Requests that wait for a packet.
    pub receiving: VecDeque<usize>,
    /// Both ends have closed.
    pub over: bool,
    /// A node of it is gone.
    pub lost: bool,
}

impl Channel {
    pub fn end(&mut self, way: Way) -> &mut End {
        &mut self.ends[way as usize]
    }
}

/// What is expected of a request that has ended.
pub struct Ended {
    pub allowed: Vec<Status>,
    pub size: usize,
    /// Bytes that are in its buffer, or its packet.
    pub content: Option<Vec<u8>>,
}

impl Ended {
    pub fn with(status: Status) -> Ended {
        Ended { allowed: vec![status], size: 0, content: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The node that gets, and the endpoint.
    Get(usize, u32),
    /// The endpoint.
    Open(u32),
    Message(u32),
    /// The channel.
    Packet(usize),
    Other,
}

pub enum State {
    Pending,
    Ended(Ended),
    Cancelled,
}

pub struct Request {
    pub begun: Begun,
    pub what: What,
    pub state: State,
}

#[derive(Default)]
pub struct Model {
    pub endpoints: BTreeMap<u32, Endpoint>,
    /// Endpoints that were got and then deleted: by whom, and which.
    pub gone: BTreeSet<(usize, u32)>,
    /// Nodes that were finalised and are there again.
    pub renewed: BTreeSet<usize>,
    pub channels: Vec<Channel>,
    pub requests: BTreeMap<usize, Request>,
    pub made: usize,
    /// Packets by their addresses, with the node that has them.
    pub held: BTreeMap<usize, (usize, Vec<u8>)>,
    pub released: Vec<usize>,
}

impl Model {
    /// Ends a request that was pending.
    pub fn end(&mut self, request: usize, ended: Ended) {
        if let Some(request) = self.requests.get_mut(&request) {
            assert!(matches!(request.state, State::Pending), "the model ends what is pending");
            request.state = State::Ended(ended);
        }
    }

    pub fn add(&mut self, begun: Begun, what: What, state: State) -> usize {
        self.made += 1;
        self.requests.insert(self.made, Request { begun, what, state });
        self.made
    }

    /// Gives messages that wait to receives that wait.
    pub fn deliver(&mut self, endpoint: u32) {
        let Some(at) = self.endpoints.get_mut(&endpoint) else { return };
        let mut ends = Vec::new();
        while !at.queue.is_empty() {
            let Some(request) = at.receiving.pop_front() else { break };
            ends.extend(at.queue.pop_front().map(|message| (request, message)));
        }
        for (request, message) in ends {
            let room = self.requests.get(&request).map_or(0, |request| request.begun.buffer.len());
            self.end(request, received(message.bytes, room));
        }
    }

    /// Gives packets that wait to receives that wait. Returns the requests.
    pub fn hand_over(&mut self, channel: usize) -> Vec<usize> {
        let mut done = Vec::new();
        loop {
            let at = &mut self.channels[channel];
            let closed = at.ends[0].closed;
            let Some(request) = at.receiving.front().copied() else { return done };
            let front = at.queue.pop_front();
            let ended = match front {
                Some(Item::Packet(bytes)) => {
                    done.push(request);
                    Ended {
                        size: bytes.len(),
                        content: Some(bytes),
                        ..Ended::with(Status::Success)
                    }
                }
                None if closed => Ended::with(Status::ChanClosePending),
                _ => return done,
            };
            at.receiving.pop_front();
            self.end(request, ended);
        }
    }

    /// Notes a packet that was received from a channel.
    pub fn hold(&mut self, place: usize, channel: usize, bytes: Vec<u8>) {
        let node = node_of(self.channels[channel].ends[1].endpoint);
        assert!(self.held.insert(place, (node, bytes)).is_none(), "a packet has its own place");
    }

    /// An endpoint is not an end of a channel any more.
    pub fn leave(&mut self, id: u32, at: usize) {
        // One of that number may be another by now.
        let endpoint = self.endpoints.get_mut(&id);
        if let Some(endpoint) = endpoint.filter(|endpoint| endpoint.channel == Some(at)) {
            endpoint.channel = None;
        }
    }

    /// Ends what is over: both ends have closed, or are gone.
    pub fn disconnect_if_over(&mut self, at: usize) {
        let channel = &mut self.channels[at];
        channel.over |= channel.ends.iter().all(|end| end.closed);
    }

    /// Whether the node of an endpoint may take another for one of that number that is no more: it
    /// does until it is linked anew with that one's node, or gets it.
    pub fn may_be_stale(&self, from: u32, to: u32) -> bool {
        node_of(from) != node_of(to) && self.renewed.contains(&node_of(to))
    }

    /// A node and all that it has is gone.
    pub fn finalized(&mut self, node: usize) {
        self.renewed.insert(node);
        let gone = |id: &u32| node_of(*id) == node;
        let receiver = |at: usize| self.channels[at].ends[1].endpoint;
        self.requests.retain(|_, request| match request.what {
            What::Get(by, _) => by != node,
            What::Open(id) | What::Message(id) => !gone(&id),
            What::Packet(at) => !gone(&receiver(at)),
            What::Other => true,
        });
        self.held.retain(|_, (holder, _)| *holder != node);
        self.gone.retain(|(by, _)| *by != node);
        for (id, endpoint) in &mut self.endpoints {
            endpoint.gets_of_gone += endpoint.gets.remove(&node).unwrap_or(0);
            let had = endpoint.gets.iter().filter(|(_, gets)| gone(id) && **gets > 0);
            self.gone.extend(had.map(|(by, _)| (*by, *id)));
        }
        self.endpoints.retain(|id, _| !gone(id));
        for at in 0..self.channels.len() {
            let channel = &mut self.channels[at];
            if channel.over || !channel.ends.iter().any(|end| gone(&end.endpoint)) {
                continue;
            }
            channel.lost = true;
            if gone(&channel.ends[1].endpoint) {
                channel.receiving.clear();
            }
            // A receiver may still open what has something for it.
            let left = channel.ends[0].closed || !channel.queue.is_empty();
            let mut left_by = Vec::new();
            for (end, left) in channel.ends.iter_mut().zip([false, left]) {
                if gone(&end.endpoint) {
                    end.handle = None;
                    end.closed = true;
                }
                // Nobody would close what nobody has opened.
                end.closed |= !end.open && !left;
                end.open &= !end.closed;
                left_by.extend(end.closed.then_some(end.endpoint));
            }
            for id in left_by {
                self.leave(id, at);
            }
            self.hand_over(at);
            self.disconnect_if_over(at);
        }
    }

    /// The channel end of a handle, if the channel is not over.
    pub fn find(&self, handle: u32) -> Option<(usize, Way)> {
        let of = |channel: &Channel, end: usize| channel.ends[end].handle == Some(handle);
        self.channels.iter().enumerate().filter(|(_, channel)| !channel.over).find_map(
            |(at, channel)| match channel {
                _ if of(channel, 0) => Some((at, Way::Send)),
                _ if of(channel, 1) => Some((at, Way::Receive)),
                _ => None,
            },
        )
    }

    /// Messages and packets that take memory, and how many of them are long.
    pub fn load(&self) -> (usize, usize) {
        let messages = self.endpoints.values().flat_map(|e| &e.queue).map(|m| m.bytes.len());
        let packets = self.channels.iter().flat_map(|c| &c.queue).map(|item| match item {
            Item::Packet(bytes) => bytes.len(),
            Item::Scalar(..) => 0,
        });
        let held = self.held.values().map(|(_, bytes)| bytes.len());
        let all = messages.chain(packets).chain(held);
        all.fold((0, 0), |(count, long), len| (count + 1, long + usize::from(len > 1000)))
    }

    /// What the status attribute of an endpoint is.
    pub fn flags(&self, endpoint: &Endpoint) -> u32 {
        let kind = |kind| if kind == Kind::Packets { 0x10 } else { 0x20 };
        let way = |way| if way == Way::Send { 0x40 } else { 0x80 };
        let opening = endpoint.opening.map_or(0, |(k, w, _)| 0x4 | kind(k) | way(w));
        opening
            | endpoint.channel.map_or(0, |at| {
                let channel = &self.channels[at];
                let is = |end: usize| self.endpoints.get(&channel.ends[end].endpoint);
                let sends = is(0).is_some_and(|other| std::ptr::eq(other, endpoint));
                let own = &channel.ends[usize::from(!sends)];
                let closed = channel.ends[usize::from(sends)].closed;
                0x1 | kind(channel.kind)
                    | way(if sends { Way::Send } else { Way::Receive })
                    | if own.open { 0x2 } else { 0 }
                    | if closed { 0x8 } else { 0 }
            })
    }
}

/// How a receive of a message ends whose buffer has `room` bytes.
pub fn received(bytes: Vec<u8>, room: usize) -> Ended {
    let status = if bytes.len() > room { Status::MsgTruncated } else { Status::Success };
    let size = bytes.len().min(room);
    Ended { size, content: Some(bytes[..size].to_vec()), ..Ended::with(status) }
}
