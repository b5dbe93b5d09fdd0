//! The callee's side of calls: the loop that serves them from a library of functions.

use core::time::Duration;

use super::frames::{FRAME, FRAMED, frame, padded};
use super::{Arrived, Buffer, Failure, Function, Made, Node, Select, Sink, Source};
use crate::driver::{self, DriverError};
use crate::link::{self, LinkId, Reply, Target};
use crate::memory::{Corrupt, Descriptor, Kind};
use crate::platform::Platform;
use crate::span::{Edge, For, Note, Span};
use crate::strategy::{Strategy, Transfer};

/// Requests that one turn serves of each link.
const TURN: usize = 16;

/// What a wait for calls ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Served {
    /// This many messages of calls were served; one may carry several calls.
    Calls(usize),
    /// A link came up or was lost: see [`Node::links`] and
    /// [`LinkView::check`](super::LinkView::check).
    News,
}

/// Why nothing was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServeError {
    /// The deadline passed before a call came.
    Deadline,
    /// This process is a forked copy of the one that opened the node: no call comes any more.
    Forked,
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
    fn write(&mut self, at: usize, from: &[u8]) -> Result<(), Failure> {
        let end = at.checked_add(from.len()).filter(|end| *end <= self.capacity);
        let end = end.ok_or(Failure::TooLong)?;
        self.sink.write(self.start + at, from)?;
        self.len = self.len.max(end);
        Ok(())
    }
}

/// Serving calls.
impl<P: Platform> Node<P> {
    /// Waits for calls of peers until the deadline and serves those that came. Returns as soon as
    /// it has served any, or there is news of a link, so that its caller can look at both: a loop
    /// round it serves on.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) -> Result<(), ServeError> {
    /// let mut run = |request: &dyn Source, response: &mut dyn Sink| {
    ///     let mut byte = [0];
    ///     request.read(0, &mut byte)?;
    ///     response.write(0, &byte)
    /// };
    /// let name = "first".parse().expect("a name");
    /// let mut library = [Function { name, run: &mut run }];
    /// while node.links().next().is_some() {
    ///     node.serve(&mut library, None)?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`ServeError`].
    pub fn serve(
        &mut self,
        library: &mut [Function<'_>],
        within: Option<Duration>,
    ) -> Result<Served, ServeError> {
        let mut deadline = None;
        // What happened before the caller had a chance to see.
        self.news = false;
        loop {
            let (served, blocked) = self.turn(library);
            if served > 0 {
                return Ok(Served::Calls(served));
            }
            if within.is_some() && deadline.is_none() {
                deadline = self.deadline(within);
            }
            if self.passed(deadline) {
                return Err(ServeError::Deadline);
            }
            self.attend();
            if self.news {
                return Ok(Served::News);
            }
            if self.platform.is_copy() {
                return Err(ServeError::Forked);
            }
            if blocked.is_some() && self.platform.tracing() {
                self.platform.note(&Note::Waits(For::Credit));
            }
            self.wait(self.agreed(), deadline, blocked);
        }
    }

    /// Serves the calls that are there, a bounded number of each link, without waiting. Gives the
    /// number of their messages; one may carry several calls.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, library: &mut [Function<'_>]) {
    /// while node.try_serve(library) > 0 {}
    /// # }
    /// ```
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
        self.blocked = blocked;
        (served, blocked)
    }

    /// Answers the peers that asked for functions by name.
    fn look_up(&mut self, library: &[Function<'_>]) {
        self.naming = false;
        self.changed();
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
        let Some(taken) = link.inbox.get(at.entry).and_then(|entry| entry.taken.as_ref()) else {
            return Turn::Idle;
        };
        let d = taken.descriptor;
        let Some(served) = link.served.get(usize::from(d.source)).copied() else {
            return Turn::Idle;
        };
        if link.lost.is_some() {
            return Turn::Idle;
        }
        let strategy = served.strategy;
        let framed = d.priority == FRAMED;
        let in_pool = strategy.transfer.made_in_pool();
        let in_place = strategy.transfer.read_in_place();
        let [incoming, outgoing] = &mut self.scratch;
        let mut space = link.shared.pool().layout().longest(strategy.placement);
        if !in_pool {
            space = space.min(u32::try_from(outgoing.len()).unwrap_or(u32::MAX));
        }
        let wanted = if framed {
            let each = padded(served.longest_response).saturating_add(FRAME);
            each.saturating_mul(strategy.granularity.into())
        } else {
            served.longest_response
        };
        let space = space.min(wanted);
        // The function must not run twice, so there has to be room for its response before it
        // runs: a slot and, unless the slot holds it, a block for the longest.
        let with_block = in_pool || space > link.shared.pool().layout().in_slot();
        match link.shared.room(with_block) {
            Ok(true) => {}
            Ok(false) => return Turn::Blocked,
            Err(what) => return self.fail_serving(id, what),
        }
        let taking = with_block.then(|| driver::take_block(&mut link.shared, &strategy, space));
        let block = match taking.transpose() {
            Ok(block) => block,
            Err(DriverError::Corrupt(what)) => return self.fail_serving(id, what),
            Err(_) => return Turn::Blocked,
        };
        let call = driver::call_id(&d);
        if self.platform.tracing() {
            self.platform.note(&Note::Used { link: link.key, entry: at.entry });
        }
        self.platform.stamp(Span::PhaseC, Edge::Enter, call);
        let arrived = Arrived {
            platform: &self.platform,
            shared: &link.shared,
            strategy: &strategy,
            taken,
            start: 0,
            len: d.len,
        };
        let copied = incoming.get_mut(..d.len as usize).filter(|_| !in_place);
        let copied = copied.and_then(|to| arrived.read(0, to).is_ok().then_some(Bytes(to)));
        let request: &dyn Source = match &copied {
            Some(copied) => copied,
            None => &arrived,
        };
        // Without room to copy the request to, the function does not get to see it.
        let function =
            library.get_mut(usize::from(d.target)).filter(|_| in_place || copied.is_some());
        let mut made;
        let mut buffer;
        let sink: &mut dyn Sink = match block {
            Some(block) if in_pool => {
                made = Made { shared: &link.shared, block, capacity: space, len: 0 };
                &mut made
            }
            _ => {
                buffer = Buffer { bytes: outgoing, len: 0 };
                &mut buffer
            }
        };
        let (longest, space) = (served.longest_response as usize, space as usize);
        let (len, status) = if framed {
            (run_each(function, request, sink, longest, space), FRAMED)
        } else {
            let capacity = longest.min(space);
            run(function, request, &mut Response { sink, start: 0, capacity, len: 0 })
        };
        let descriptor = Descriptor {
            kind: Kind::Response,
            priority: status,
            source: d.target,
            target: d.source,
            ..d
        };
        let payload = match block {
            Some(block) if in_pool && len > 0 => driver::Payload::Block { block, len: len as u32 },
            block => {
                if let Some(block) = block {
                    link.shared.put_back(block);
                }
                driver::Payload::Bytes(outgoing.get(..len).unwrap_or_default())
            }
        };
        if self.platform.tracing() {
            self.platform.note(&Note::Begins);
        }
        let mut sent = link::send(&self.platform, link, &strategy, descriptor, payload);
        if sent == Err(DriverError::NoEngine) {
            // The function must not run again because an engine failed: this core copies.
            let by_hand = Strategy { transfer: Transfer::Copy, ..strategy };
            sent = link::send(&self.platform, link, &by_hand, descriptor, payload);
        }
        if let Err(DriverError::Corrupt(what)) = sent {
            return self.fail_serving(id, what);
        }
        if let Some(queue) = self.requests.get_mut(usize::from(index)) {
            queue.pop(&mut self.links, &Select::default());
        }
        self.give_back(at);
        Turn::Served
    }

    /// Whether calls can be served here in a strategy: the status of each call of a message has to
    /// fit in a response.
    pub(super) fn servable(&self, id: LinkId, strategy: &Strategy) -> bool {
        let Some(link) = self.links.get(id) else { return false };
        let longest = link.shared.pool().layout().longest(strategy.placement) as usize;
        let space = longest.min(self.scratch.iter().map(|part| part.len()).min().unwrap_or(0));
        let calls = usize::from(strategy.granularity);
        self.feasible(id, strategy) && (calls == 1 || calls * FRAME as usize <= space)
    }

    fn fail_serving(&mut self, id: LinkId, what: Corrupt) -> Turn {
        self.fail(id, what);
        Turn::Idle
    }
}

/// Runs a function on each request of a message of several. Gives the length of the responses.
fn run_each(
    mut function: Option<&mut Function<'_>>,
    request: &dyn Source,
    sink: &mut dyn Sink,
    longest: usize,
    space: usize,
) -> usize {
    let mut calls = 0;
    let mut at = 0;
    while let Some((start, len, _)) = frame(request, at) {
        calls += 1;
        at = start + padded(len);
    }
    // The words of all responses have their room before the first response is made.
    let mut rest = (space & !3).saturating_sub(calls * FRAME as usize);
    let mut out = 0;
    at = 0;
    for _ in 0..calls {
        // A peer can change a request that is read in place.
        let Some((start, len, _)) = frame(request, at) else { break };
        let part = Part { whole: request, start: start as usize, len: len as usize };
        let (begin, capacity) = (out + FRAME as usize, longest.min(rest));
        let mut response = Response { sink, start: begin, capacity, len: 0 };
        let (made, status) = run(function.as_deref_mut(), &part, &mut response);
        let word = made as u32 | u32::from(status) << 24;
        let end = padded(made as u32) as usize;
        let fill = [0; 3].get(..end - made).unwrap_or_default();
        let filled =
            sink.write(out, &word.to_le_bytes()).and_then(|()| sink.write(begin + made, fill));
        if filled.is_err() {
            break;
        }
        rest = rest.saturating_sub(end);
        out = begin + end;
        at = start + padded(len);
    }
    out
}

/// Runs a function, if there is one, on a request. Gives the length of the response and the status.
fn run(
    function: Option<&mut Function<'_>>,
    request: &dyn Source,
    response: &mut Response<'_>,
) -> (usize, u8) {
    let result = function.map_or(Err(Failure::NoRoom), |f| (f.run)(request, response));
    (if result.is_ok() { response.len } else { 0 }, Failure::status(result))
}

/// A request that was copied out.
struct Bytes<'a>(&'a [u8]);

impl Source for Bytes<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn read(&self, at: usize, to: &mut [u8]) -> Result<(), Failure> {
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
    fn in_place(&self) -> bool {
        self.whole.in_place()
    }
    fn read(&self, at: usize, to: &mut [u8]) -> Result<(), Failure> {
        let inside = at.checked_add(to.len()).is_some_and(|end| end <= self.len);
        if inside { self.whole.read(self.start + at, to) } else { Err(Failure::Refused) }
    }
}
