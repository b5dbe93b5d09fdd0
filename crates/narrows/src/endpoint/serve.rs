//! The callee's side of calls: a library of named functions and the loop that serves them.

use core::time::Duration;

use super::call::frame;
use super::{Arrived, Buffer, Made, Node, Select, Sink, Source};
use crate::driver::{self, DriverError};
use crate::link::{self, LinkId, Name, Reply, Target};
use crate::memory::{Corrupt, Descriptor, Kind};
use crate::platform::Platform;
use crate::span::{Edge, Span};
use crate::strategy::Strategy;

/// In a request's or response's priority bits: it is a message of several calls, each behind a word
/// with its length and status.
pub(super) const FRAMED: u8 = 7;
/// Bytes of that word.
pub(super) const FRAME: u32 = 4;

/// Requests that one turn serves of each link.
const TURN: usize = 16;

/// Bytes that a call's bytes take in a message of several.
pub(super) fn padded(len: u32) -> u32 {
    len.saturating_add(3) & !3
}

/// A function that other cores can call.
pub struct Function<'a> {
    /// What it is looked up by.
    pub name: Name,
    /// What it does.
    pub run: &'a mut Body<'a>,
}

/// What a function does: reads the request, writes the response.
pub type Body<'a> = dyn FnMut(&dyn Source, &mut dyn Sink) -> Result<(), Failure> + 'a;

/// Why a function gave no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The function could not use the request.
    Refused,
    /// The response is longer than the caller said it takes.
    TooLong,
    /// The request is longer than the callee has room for.
    NoRoom,
}

impl Failure {
    fn status(result: Result<(), Failure>) -> u8 {
        match result {
            Ok(()) => 0,
            Err(Failure::Refused) => 1,
            Err(Failure::TooLong) => 2,
            Err(Failure::NoRoom) => 3,
        }
    }
    pub(super) fn from_status(status: u8) -> Option<Failure> {
        match status {
            0 => None,
            2 => Some(Failure::TooLong),
            3 => Some(Failure::NoRoom),
            _ => Some(Failure::Refused),
        }
    }
}

enum Turn {
    Served,
    Blocked,
    Idle,
}

/// The response under way, wherever it is made.
struct Response<'s> {
    sink: &'s mut dyn Sink,
    start: usize,
    capacity: usize,
    len: usize,
}

impl Sink for Response<'_> {
    fn capacity(&self) -> usize {
        self.capacity
    }
    fn write(&mut self, at: usize, from: &[u8]) -> bool {
        let Some(end) = at.checked_add(from.len()).filter(|end| *end <= self.capacity) else {
            return false;
        };
        self.len = self.len.max(end);
        self.sink.write(self.start + at, from)
    }
}

impl<P: Platform> Node<P> {
    /// Serves calls of peers until the deadline, or until something else happened: a link came up
    /// or was lost. Gives the number of requests served; zero if the deadline passed.
    pub fn serve(&mut self, library: &mut [Function<'_>], within: Option<Duration>) -> usize {
        let mut deadline = None;
        loop {
            let (served, blocked) = self.turn(library);
            if served > 0 {
                return served;
            }
            if within.is_some() && deadline.is_none() {
                deadline = self.deadline(within);
            }
            if self.passed(deadline) {
                return 0;
            }
            self.wait(self.agreed(), deadline, blocked);
            if self.attend() {
                return 0;
            }
        }
    }

    /// Serves the requests that are there, a bounded number of each link, without waiting. Gives
    /// their number.
    pub fn try_serve(&mut self, library: &mut [Function<'_>]) -> usize {
        self.turn(library).0
    }

    fn turn(&mut self, library: &mut [Function<'_>]) -> (usize, Option<LinkId>) {
        self.pump();
        if self.naming {
            self.look_up(library);
        }
        let (mut served, mut blocked) = (0, None);
        for index in 0..self.links.places() {
            for _ in 0..TURN {
                match self.serve_next(index, library) {
                    Turn::Served => served += 1,
                    Turn::Idle => break,
                    Turn::Blocked => {
                        blocked = self.links.id(index);
                        break;
                    }
                }
            }
        }
        (served, blocked)
    }

    /// Answers the peers that asked for functions by name.
    fn look_up(&mut self, library: &[Function<'_>]) {
        self.naming = false;
        for index in 0..self.links.places() {
            let Some(link) = self.links.at_mut(index) else { continue };
            for served in link.served.iter_mut() {
                let Target::Named(name) = served.target else { continue };
                let place = library.iter().position(|f| f.name == name).map(|at| at as u16);
                served.target = place.map_or(Target::Nowhere, Target::Function);
                if served.owed.replace(Reply::Opened(place)).is_none() {
                    link.replies += 1;
                }
            }
            if let Some(id) = self.links.id(index) {
                self.reply(id);
            }
        }
    }

    /// Serves the first request of a link.
    fn serve_next(&mut self, index: u16, library: &mut [Function<'_>]) -> Turn {
        let Some(at) = self.requests.get(usize::from(index)).and_then(super::queue::Queue::peek)
        else {
            return Turn::Idle;
        };
        let Some(id) = self.links.id(index) else { return Turn::Idle };
        let Some(link) = self.links.at_mut(index) else { return Turn::Idle };
        let Some(taken) = link.inbox.get(at.entry).and_then(|entry| entry.taken) else {
            return Turn::Idle;
        };
        let d = taken.descriptor;
        let Some(served) = link.served.get(usize::from(d.source)).copied() else {
            return Turn::Idle;
        };
        let strategy = served.strategy;
        let framed = d.priority == FRAMED;
        let calls = if framed { u32::from(strategy.granularity) } else { 1 };
        let frame_bytes = if framed { FRAME } else { 0 };
        let each = padded(served.longest_response).saturating_add(frame_bytes);
        let longest = link.shared.pool().layout().longest(strategy.placement);
        let room = if framed { each.saturating_mul(calls) } else { served.longest_response };
        let room = room.min(longest);
        // The function must not run twice, so there has to be room for its response before it
        // runs: a slot, and a block that holds the longest.
        match link.shared.room(true) {
            Ok(true) => {}
            Ok(false) => return Turn::Blocked,
            Err(what) => return self.fail_serving(id, what),
        }
        let block = match driver::take_block(&mut link.shared, &strategy, room) {
            Ok(block) => block,
            Err(DriverError::Corrupt(what)) => return self.fail_serving(id, what),
            Err(_) => return Turn::Blocked,
        };
        let call = driver::call_id(&d);
        self.platform.stamp(Span::PhaseC, Edge::Enter, call);
        let in_pool = driver::made_in_pool::<P>(strategy.transfer);
        let in_place = driver::read_in_place::<P>(strategy.transfer);
        let [incoming, outgoing] = &mut self.scratch;
        let arrived = Arrived {
            platform: &self.platform,
            shared: &link.shared,
            strategy: &strategy,
            taken: &taken,
            start: 0,
            len: d.len,
        };
        let mut copied = Bytes(&[]);
        let got = in_place
            || incoming.get_mut(..d.len as usize).is_some_and(|to| {
                let all = arrived.read(0, to);
                copied = Bytes(to);
                all
            });
        let request: &dyn Source = if in_place { &arrived } else { &copied };
        let mut made = Made { shared: &link.shared, block, start: 0, capacity: room, len: 0 };
        let mut buffer = Buffer { bytes: outgoing, len: 0 };
        let sink: &mut dyn Sink = if in_pool { &mut made } else { &mut buffer };
        let function = library.get_mut(usize::from(d.target));
        let status = match function {
            Some(function) if got => run(
                function,
                request,
                framed,
                sink,
                served.longest_response as usize,
                room as usize,
            ),
            _ => Failure::status(Err(Failure::NoRoom)),
        };
        let (made, buffer) = (made.len, buffer.len);
        let descriptor = Descriptor {
            kind: Kind::Response,
            priority: status,
            source: d.target,
            target: d.source,
            ..d
        };
        let payload = if in_pool && made > 0 {
            driver::Payload::Block { block, len: made }
        } else {
            link.shared.put_back(block);
            driver::Payload::Bytes(outgoing.get(..buffer).unwrap_or_default())
        };
        let sent = match link::send(&self.platform, link, &strategy, descriptor, payload) {
            // The copy engine failed: the caller is told that there is no response.
            Err(DriverError::NoEngine) => {
                let failed = Failure::status(Err(Failure::NoRoom));
                let descriptor = Descriptor { priority: failed, ..descriptor };
                let nothing = driver::Payload::Bytes(&[]);
                link::send(&self.platform, link, &Strategy::default(), descriptor, nothing)
            }
            sent => sent,
        };
        if let Err(DriverError::Corrupt(what)) = sent {
            return self.fail_serving(id, what);
        }
        if let Some(queue) = self.requests.get_mut(usize::from(index)) {
            queue.pop(&mut self.links, &Select::default());
        }
        self.release(at);
        Turn::Served
    }

    fn fail_serving(&mut self, id: LinkId, what: Corrupt) -> Turn {
        self.fail(id, what);
        Turn::Idle
    }
}

/// Runs a function on a request, or on each request of a message of several. Gives the status.
fn run(
    function: &mut Function<'_>,
    request: &dyn Source,
    framed: bool,
    sink: &mut dyn Sink,
    longest: usize,
    room: usize,
) -> u8 {
    if !framed {
        let capacity = longest.min(room);
        return run_one(function, request, &mut Response { sink, start: 0, capacity, len: 0 }).1;
    }
    let (mut at, mut out) = (0, 0);
    while let Some((start, len, _)) = frame(request, at) {
        let capacity = longest.min(room.saturating_sub(out + FRAME as usize));
        let part = Part { whole: request, start: start as usize, len: len as usize };
        let begin = out + FRAME as usize;
        let mut response = Response { sink, start: begin, capacity, len: 0 };
        let (made, status) = run_one(function, &part, &mut response);
        let word = made as u32 | u32::from(status) << 24;
        if !sink.write(out, &word.to_le_bytes()) {
            break;
        }
        out = begin + padded(made as u32) as usize;
        at = start + padded(len);
    }
    FRAMED
}

fn run_one(
    function: &mut Function<'_>,
    request: &dyn Source,
    response: &mut Response<'_>,
) -> (usize, u8) {
    let result = (function.run)(request, response);
    (if result.is_ok() { response.len } else { 0 }, Failure::status(result))
}

/// A request that was copied out.
struct Bytes<'a>(&'a [u8]);

impl Source for Bytes<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn read(&self, at: usize, to: &mut [u8]) -> bool {
        Source::read(self.0, at, to)
    }
}

/// One request of a message of several.
struct Part<'a> {
    whole: &'a dyn Source,
    start: usize,
    len: usize,
}

impl Source for Part<'_> {
    fn len(&self) -> usize {
        self.len
    }
    fn read(&self, at: usize, to: &mut [u8]) -> bool {
        let inside = at.checked_add(to.len()).is_some_and(|end| end <= self.len);
        inside && self.whole.read(self.start + at, to)
    }
}
