//! Channels: connected, opened, closed, and what goes over them.

use std::collections::VecDeque;

use super::calls::{self, Kind, Way};
use super::case::Case;
use super::ground::SCALARS;
use super::model::{Channel, End, Ended, Item, State, What};
use super::status::Status;

impl Case<'_> {
    pub fn channel(&mut self) {
        match self.random.below(18) {
            0..3 => self.connect(),
            3..7 => self.open(),
            7 => self.close(),
            8..10 => self.send_packet(),
            10 => self.receive_packet(),
            11 => self.begin_receiving_packet(),
            12 => self.release_packet(),
            13..15 => self.send_scalar(),
            15..17 => self.receive_scalar(),
            _ => self.available(),
        }
    }

    fn kind(&mut self) -> Kind {
        self.random.pick(&[Kind::Packets, Kind::Packets, Kind::Scalars])
    }

    fn way(&mut self) -> Way {
        self.random.pick(&[Way::Send, Way::Receive])
    }

    /// A handle, mostly one of a channel that is there and of this type and direction.
    fn handle(&mut self, kind: Kind, way: Way) -> u32 {
        let right = !self.random.one_in(8);
        let fits = |channel: &&Channel| !right || !channel.over && channel.kind == kind;
        let ends = self.model.channels.iter().filter(fits).flat_map(|channel| match (right, way) {
            (false, _) => &channel.ends[..],
            (true, Way::Send) => &channel.ends[..1],
            (true, Way::Receive) => &channel.ends[1..],
        });
        let handles: Vec<_> = ends.filter_map(|end| end.handle).collect();
        match self.random.one_in(30) || handles.is_empty() {
            true => self.random.pick(&[0x3fff_fff0, u32::MAX, 1 << 31]),
            false => self.random.pick(&handles),
        }
    }

    /// Two endpoints to connect, mostly two that can be.
    fn pair(&mut self, kind: Kind) -> (u32, u32) {
        let can = |way| {
            let all = self.model.endpoints.iter();
            let of = all.filter(move |(_, endpoint)| endpoint.refuses(kind, way).is_none());
            of.map(|(id, _)| *id).collect::<Vec<_>>()
        };
        let (senders, receivers) = (can(Way::Send), can(Way::Receive));
        if senders.is_empty() || self.random.one_in(3) {
            return (self.any_id(), self.any_id());
        }
        let from = self.random.pick(&senders);
        let others: Vec<_> = receivers.into_iter().filter(|to| *to != from).collect();
        let to = if others.is_empty() { self.any_id() } else { self.random.pick(&others) };
        (from, to)
    }

    /// What to open and how, mostly what is connected and not open.
    fn opening(&mut self) -> (Kind, Way, u32) {
        let live = self.model.channels.iter().filter(|channel| !channel.over);
        let ends = live.flat_map(|channel| {
            [Way::Send, Way::Receive].map(|way| (channel.kind, way, &channel.ends[way as usize]))
        });
        let shut = ends.filter(|(_, _, end)| !end.open && !end.closed);
        let shut: Vec<_> = shut.map(|(kind, way, end)| (kind, way, end.endpoint)).collect();
        match shut.is_empty() || self.random.one_in(3) {
            true => (self.kind(), self.way(), self.any_id()),
            false => self.random.pick(&shut),
        }
    }

    fn connect(&mut self) {
        let kind = self.kind();
        let (from, to) = self.pair(kind);
        let model = &self.model;
        let mut errors = Vec::new();
        match (model.endpoints.get(&from), model.endpoints.get(&to)) {
            (Some(a), Some(b)) if from != to => {
                errors.extend(a.refuses(kind, Way::Send));
                errors.extend(b.refuses(kind, Way::Receive));
                errors.extend((!a.fits(b)).then_some(Status::AttrIncompatible));
                if !errors.is_empty() && model.may_be_stale(from, to) {
                    errors.push(Status::EndpInvalid);
                }
            }
            _ => errors.push(Status::EndpInvalid),
        }
        let (said, begun) = calls::connect(kind, from, to);
        let (status, _, _) = self.same_end(said, begun);
        if errors.is_empty() && status == Status::EndpInvalid && self.model.may_be_stale(from, to) {
            errors.push(status);
        }
        if !errors.is_empty() {
            return self.came_to("connect", &errors, status);
        }
        self.came_to("connect", &[Status::Success], status);
        let at = self.model.channels.len();
        let longest = self.model.endpoints.get(&from).map_or(0, |endpoint| endpoint.payload);
        let end = |endpoint| End { endpoint, ..End::default() };
        self.model.channels.push(Channel {
            kind,
            ends: [end(from), end(to)],
            longest,
            queue: VecDeque::new(),
            receiving: VecDeque::new(),
            over: false,
            lost: false,
        });
        for (id, way) in [(from, Way::Send), (to, Way::Receive)] {
            let Some(endpoint) = self.model.endpoints.get_mut(&id) else { continue };
            endpoint.channel = Some(at);
            if let Some((_, _, request)) = endpoint.opening.take() {
                self.until(|| *self.model.requests[&request].begun.word != 0xdead_beef);
                self.model.end(request, Ended::with(Status::Success));
                let handle = *self.model.requests[&request].begun.word;
                self.now_open(at, way, handle);
            }
        }
    }

    fn now_open(&mut self, channel: usize, way: Way, handle: u32) {
        let end = self.model.channels[channel].end(way);
        assert!(!end.open && !end.closed);
        end.open = true;
        end.handle = Some(handle);
    }

    fn open(&mut self) {
        let (kind, way, id) = self.opening();
        let Some(endpoint) = self.model.endpoints.get(&id) else {
            let (said, begun) = calls::open(kind, way, id);
            let (status, _, _) = self.same_end(said, begun);
            return self.came_to("open", &[Status::EndpInvalid], status);
        };
        let channel = endpoint.channel;
        let expected = match (endpoint.opening, channel.map(|at| &self.model.channels[at])) {
            (Some((other, _, _)), _) if other != kind => Status::ChanType,
            (Some((_, other, _)), _) if other != way => Status::ChanDirection,
            (Some(_), _) => Status::ChanOpenPending,
            (None, Some(channel)) if channel.kind != kind => Status::ChanType,
            (None, Some(channel)) if channel.ends[way as usize].endpoint != id => {
                Status::ChanDirection
            }
            (None, Some(channel)) if channel.ends[way as usize].open => Status::ChanOpen,
            (None, Some(_)) => Status::Success,
            (None, None) => Status::Pending,
        };
        let (said, begun) = calls::open(kind, way, id);
        self.came_to("open", &[expected], said);
        if expected == Status::Pending {
            let request = self.model.add(begun, What::Open(id), State::Pending);
            if let Some(endpoint) = self.model.endpoints.get_mut(&id) {
                endpoint.opening = Some((kind, way, request));
            }
            return;
        }
        let (status, _, begun) = self.same_end(said, begun);
        if let (Status::Success, Some(channel)) = (status, channel) {
            self.now_open(channel, way, *begun.word);
        }
    }

    fn close(&mut self) {
        let (mut kind, mut way) = (self.kind(), self.way());
        let handle = self.handle(kind, way);
        let found = self.model.find(handle);
        if let (Some((at, real)), false) = (found, self.random.one_in(5)) {
            (kind, way) = (self.model.channels[at].kind, real);
        }
        let (said, begun) = calls::close(kind, way, handle);
        let (status, _, _) = self.same_end(said, begun);
        let right =
            |(at, real): &(usize, Way)| self.model.channels[*at].kind == kind && *real == way;
        let Some((at, _)) = found.filter(right) else {
            return self.came_to("close", &[Status::ChanInvalid], status);
        };
        let channel = &mut self.model.channels[at];
        let end = channel.end(way);
        if end.closed {
            return self.came_to("close", &[Status::ChanNotOpen], status);
        }
        (end.open, end.closed) = (false, true);
        let endpoint = end.endpoint;
        if way == Way::Receive {
            channel.queue.clear();
            for request in std::mem::take(&mut channel.receiving) {
                let allowed = vec![Status::ChanClosePending, Status::ChanInvalid];
                self.model.end(request, Ended { allowed, size: 0, content: None });
            }
        } else {
            self.model.hand_over(at);
        }
        self.model.leave(endpoint, at);
        self.model.disconnect_if_over(at);
        self.came_to("close", &[Status::Success], status);
    }

    /// The channel that a handle can be used for in this way.
    fn usable(&self, handle: u32, kind: Kind, way: Way) -> Option<usize> {
        let (at, real) = self.model.find(handle)?;
        let channel = &self.model.channels[at];
        let end = &channel.ends[way as usize];
        (channel.kind == kind && real == way && end.open).then_some(at)
    }

    fn send_packet(&mut self) {
        let handle = self.handle(Kind::Packets, Way::Send);
        let Some(bytes) = self.bytes() else { return };
        let status = calls::send_packet(handle, &bytes);
        let Some(at) = self.usable(handle, Kind::Packets, Way::Send) else {
            return self.came_to("send_packet", &[Status::ChanInvalid], status);
        };
        let channel = &mut self.model.channels[at];
        let mut errors = Vec::new();
        errors.extend((bytes.len() > channel.longest as usize).then_some(Status::PktSize));
        errors.extend(channel.ends[1].closed.then_some(Status::ChanClosePending));
        if !errors.is_empty() {
            return self.came_to("send_packet", &errors, status);
        }
        channel.queue.push_back(Item::Packet(bytes));
        self.came_to("send_packet", &[Status::Success], status);
        for request in self.model.hand_over(at) {
            self.until(|| *self.model.requests[&request].begun.packet != 0);
            let Some(request) = self.model.requests.get(&request) else { continue };
            let State::Ended(Ended { content: Some(content), .. }) = &request.state else {
                continue;
            };
            let (place, bytes) = request.begun.packet(content.len());
            assert!(bytes == *content, "a packet comes as it was sent");
            self.model.hold(place, at, bytes);
        }
    }

    fn receive_packet(&mut self) {
        let handle = self.handle(Kind::Packets, Way::Receive);
        let (status, packet) = calls::receive_packet(handle);
        let Some(at) = self.usable(handle, Kind::Packets, Way::Receive) else {
            return self.came_to("receive_packet", &[Status::ChanInvalid], status);
        };
        let channel = &mut self.model.channels[at];
        match channel.queue.pop_front() {
            Some(Item::Packet(bytes)) => {
                self.came_to("receive_packet", &[Status::Success], status);
                let (place, got) = packet.expect("a packet");
                assert!(got == bytes, "a packet comes as it was sent");
                self.model.hold(place, at, bytes);
            }
            _ if channel.ends[0].closed => {
                self.came_to("receive_packet", &[Status::ChanClosePending], status);
            }
            _ => self.came_to("receive_packet", &[Status::Timeout], status),
        }
    }

    fn begin_receiving_packet(&mut self) {
        let handle = self.handle(Kind::Packets, Way::Receive);
        let (status, begun) = calls::begin_receiving_packet(handle);
        let Some(at) = self.usable(handle, Kind::Packets, Way::Receive) else {
            let (status, _, _) = self.same_end(status, begun);
            return self.came_to("begin_packet", &[Status::ChanInvalid], status);
        };
        let channel = &mut self.model.channels[at];
        let ended = match channel.queue.pop_front() {
            Some(Item::Packet(bytes)) => {
                let (place, got) = begun.packet(bytes.len());
                assert!(got == bytes, "a packet comes as it was sent");
                self.model.hold(place, at, got);
                let size = bytes.len();
                Ended { size, content: Some(bytes), ..Ended::with(Status::Success) }
            }
            _ if channel.ends[0].closed => Ended::with(Status::ChanClosePending),
            _ => {
                self.came_to("begin_packet", &[Status::Pending], status);
                let request = self.model.add(begun, What::Packet(at), State::Pending);
                return self.model.channels[at].receiving.push_back(request);
            }
        };
        // One that ends when it is tried first may be pending until then, and is gone with its
        // node.
        let allowed = [ended.allowed[0], Status::Pending];
        self.came_to("begin_packet", &allowed, status);
        let what = if status == Status::Pending { What::Packet(at) } else { What::Other };
        self.model.add(begun, what, State::Ended(ended));
    }

    fn release_packet(&mut self) {
        let held: Vec<_> = self.model.held.keys().copied().collect();
        let at = match self.random.below(5) {
            0 if !self.model.released.is_empty() => self.random.pick(&self.model.released),
            1 => held.first().map_or(12345, |at| at + 1),
            _ if held.is_empty() => return,
            _ => self.random.pick(&held),
        };
        self.release_at(at);
    }

    fn release_at(&mut self, at: usize) {
        let held = self.model.held.remove(&at);
        if let Some((_, bytes)) = &held {
            assert!(calls::held(at, bytes.len()) == *bytes, "a packet stays what it was");
            self.model.released.push(at);
        }
        let expected = if held.is_some() { Status::Success } else { Status::BufInvalid };
        self.came_to("release_packet", &[expected], calls::release_packet(at));
    }

    /// Gives everything back that was received.
    pub fn release_all(&mut self) {
        while let Some(at) = self.model.held.keys().next().copied() {
            self.release_at(at);
            assert_eq!(calls::release_packet(at), Status::BufInvalid);
        }
    }

    fn send_scalar(&mut self) {
        let (handle, word) = (self.handle(Kind::Scalars, Way::Send), self.random.next());
        let bytes = self.random.pick(&[1, 4, 4, 8, 2]);
        let usable = self.usable(handle, Kind::Scalars, Way::Send);
        if usable.is_some_and(|at| self.model.channels[at].queue.len() > SCALARS) {
            return;
        }
        let status = calls::send_scalar(handle, word, bytes);
        let Some(at) = usable else {
            return self.came_to("send_scalar", &[Status::ChanInvalid], status);
        };
        let channel = &mut self.model.channels[at];
        if channel.ends[1].closed {
            return self.came_to("send_scalar", &[Status::ChanClosePending], status);
        }
        let cut = if bytes == 8 { word } else { word & ((1 << (8 * bytes)) - 1) };
        channel.queue.push_back(Item::Scalar(cut, bytes));
        self.came_to("send_scalar", &[Status::Success], status);
    }

    fn receive_scalar(&mut self) {
        let (handle, bytes) =
            (self.handle(Kind::Scalars, Way::Receive), self.random.pick(&[1, 4, 4, 8, 2]));
        let (status, word) = calls::receive_scalar(handle, bytes);
        let Some(at) = self.usable(handle, Kind::Scalars, Way::Receive) else {
            return self.came_to("receive_scalar", &[Status::ChanInvalid], status);
        };
        let channel = &mut self.model.channels[at];
        match channel.queue.front() {
            Some(Item::Scalar(sent, size)) if *size == bytes => {
                assert_eq!(word, *sent);
                channel.queue.pop_front();
                self.came_to("receive_scalar", &[Status::Success], status);
            }
            Some(_) => self.came_to("receive_scalar", &[Status::SclSize], status),
            None if channel.ends[0].closed => {
                self.came_to("receive_scalar", &[Status::ChanClosePending], status);
            }
            None => self.came_to("receive_scalar", &[Status::Timeout], status),
        }
    }

    fn available(&mut self) {
        let kind = self.kind();
        let handle = self.handle(kind, Way::Receive);
        let (status, count) = calls::available(kind, handle);
        let Some(at) = self.usable(handle, kind, Way::Receive) else {
            return self.came_to("available", &[Status::ChanInvalid], status);
        };
        self.came_to("available", &[Status::Success], status);
        assert_eq!(count as usize, self.model.channels[at].queue.len());
    }
}
