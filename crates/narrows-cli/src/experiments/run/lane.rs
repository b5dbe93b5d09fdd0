//! One flow of the workload under way: what it sends, what comes back, and how long that took.

use super::arrivals::Arrivals;
use super::cut::{Cut, Piece};
use super::parts;
use crate::base::failure::Failure;
use crate::base::latencies::Latencies;
use crate::formats::workload::{Body, Flow, Offer, Requests, Source, Work};
use crate::rig::place::Place;
use narrows::endpoint::{CallError, FlowId, Node, Payload, Reserved, SendError};
use narrows::platform::Instant;
use narrows::strategy::{Parts, Strategy, Transfer};
use std::collections::VecDeque;
use std::time::Duration;

/// What ends a flow's run before its time.
pub(super) enum Stop {
    /// The strategy cannot carry it, for that reason.
    Refused(String),
    /// The other side is gone, or does not do its part.
    Failed(CallError),
    /// A function of a shared library does what it must not.
    Defect(Failure),
}

/// What was counted and measured of one flow.
#[derive(Default)]
pub(crate) struct Figures {
    /// Round trips in nanoseconds.
    pub rtt: Latencies,
    /// From when requests were due until their responses were there, in nanoseconds.
    pub since_due: Latencies,
    /// Round trips by the part of the run.
    pub parts: parts::Parts,
    /// Differences of consecutive round trips in nanoseconds.
    pub jitter: Latencies,
    pub sent: u64,
    pub received: u64,
    pub late: u64,
    pub wrong: u64,
    /// How often the flow came and found no room, and why the first time.
    pub refusals: u64,
    pub first_refusal: Option<String>,
    /// Samples that came back, of those how many are not the codec's.
    pub samples: u64,
    pub differing: u64,
    /// The first pass over the input.
    pub returned: Vec<i16>,
}

/// A call: a request, or a part of one.
pub(super) struct UnderWay {
    request: Vec<u8>,
    due: Instant,
    /// When the request began, of which this is the last part or not.
    began: Instant,
    last: bool,
}

/// A request, or a part of one, that is made and waits for room.
pub(super) struct Ready {
    piece: Piece,
    pub(super) block: Option<Reserved>,
}

/// How far a lane's flow of the stack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// There is none.
    Away,
    /// The other side has been asked for it.
    Opening,
    Here,
    /// Nothing new is started: what is under way is awaited, then it is closed.
    Leaving,
}

pub(super) struct Lane<'w> {
    pub flow: &'w Flow,
    /// What serves it.
    pub offer: &'w Offer,
    /// The stack's flow; meaningless while it is away.
    pub id: Option<FlowId>,
    /// The one that it is to have on another link, while that is opened.
    pub(super) coming: Option<FlowId>,
    pub stage: Stage,
    pub strategy: Strategy,
    /// Whether nothing new is started for now, so that the strategy can change.
    pub held: bool,
    /// How late the latest response was that came after its deadline, until somebody asks.
    pub late: Option<Duration>,
    pub figures: Figures,
    requests: Requests<'w>,
    made: u64,
    most: u64,
    depth: usize,
    /// When requests of its own account come.
    pub arrivals: Arrivals,
    pub(super) ready: Option<Ready>,
    /// Requests that the flow before has brought.
    pub brought: VecDeque<(Vec<u8>, Instant)>,
    pub(super) under_way: VecDeque<UnderWay>,
    pub(super) cut: Cut,
    spare: Vec<Vec<u8>>,
    pub(super) response: Vec<u8>,
    expected: Vec<u8>,
    last: Option<f64>,
    /// Calls that make one pass over the input.
    pass: u64,
}

impl<'w> Lane<'w> {
    /// A lane whose responses never have more than `longest` bytes.
    pub fn new(
        flow: &'w Flow,
        offer: &'w Offer,
        samples: Option<&'w [i16]>,
        longest: usize,
        start: Instant,
    ) -> Lane<'w> {
        let requests = Requests::new(flow, samples);
        let (most, depth) = match &flow.source {
            Source::Own { count, depth, .. } => (count.unwrap_or(u64::MAX), *depth),
            Source::After(_) => (u64::MAX, usize::from(u8::MAX)),
        };
        Lane {
            flow,
            offer,
            id: None,
            coming: None,
            stage: Stage::Away,
            strategy: Strategy::default(),
            held: false,
            late: None,
            figures: Figures::default(),
            pass: requests.in_a_pass().unwrap_or(u64::MAX),
            requests,
            made: 0,
            most,
            depth,
            arrivals: Arrivals::new(flow, start),
            ready: None,
            brought: VecDeque::new(),
            under_way: VecDeque::new(),
            cut: Cut::default(),
            spare: Vec::new(),
            response: vec![0; longest],
            expected: vec![0; longest],
            last: None,
        }
    }

    /// Requests and responses have this many bytes from the next request on.
    pub fn resize(&mut self, request: usize, response: usize) {
        self.requests.resize(request, response);
    }

    fn in_pool(&self) -> bool {
        matches!(self.strategy.transfer, Transfer::SingleCopy | Transfer::InPlace)
    }

    /// How many calls one pass over the input takes, for flows that follow another.
    pub fn set_pass(&mut self, pass: u64) {
        self.pass = pass;
    }

    pub fn pass(&self) -> u64 {
        self.pass
    }

    pub fn idle(&self) -> bool {
        self.is_clear() && self.ready.is_none() && self.brought.is_empty()
    }

    /// Whether no request is under way, in whole or in part.
    pub(super) fn is_clear(&self) -> bool {
        self.under_way.is_empty() && !self.is_amid()
    }

    /// Whether parts of a request are to be sent before another one is begun.
    fn is_amid(&self) -> bool {
        let part = |ready: &Ready| ready.piece.began.is_some();
        self.cut.is_left() || self.ready.as_ref().is_some_and(part)
    }

    /// Whether this many more requests may be under way, or another part.
    fn has_room(&self, requests: usize) -> bool {
        let parts = self.strategy.parts;
        if parts == Parts::WHOLE {
            return self.under_way.len() + requests <= self.depth;
        }
        let whole = || self.under_way.iter().filter(|one| one.last).count();
        let free = self.under_way.len() < usize::from(parts.at_once);
        free && (self.is_amid() || whole() + requests <= self.depth)
    }

    pub fn outstanding(&self) -> usize {
        self.under_way.len()
    }

    /// Whether the flow before may send another request: this one keeps up.
    pub fn keeps_up(&self) -> bool {
        self.brought.is_empty()
    }

    /// When the next request of its own account is due; none if there will be none, or if it does
    /// not depend on the time.
    pub fn due(&self) -> Option<Instant> {
        let own = matches!(self.flow.source, Source::Own { .. });
        let together = self.together();
        let needed = usize::from(self.arrivals.missing(together));
        let room = self.has_room(needed);
        let here = self.stage == Stage::Here && !self.held;
        let more = self.ready.is_none() && !self.cut.is_left() && self.made < self.most;
        (own && room && here && more).then(|| self.arrivals.there(together))
    }

    /// Requests of a message: as many as the strategy says, if this many may be under way and are
    /// to come.
    fn together(&self) -> u16 {
        let most = self.most.saturating_sub(self.made).min(self.depth as u64);
        self.strategy.granularity.min(u16::try_from(most).unwrap_or(u16::MAX)).max(1)
    }

    /// Starts every call that is due and has room. True if it started any. `fresh` says whether
    /// requests of its own account may be made.
    pub fn start<P: Place>(
        &mut self,
        node: &mut Node<P>,
        now: Instant,
        fresh: bool,
    ) -> Result<bool, Stop> {
        let mut any = false;
        while self.has_room(1)
            && matches!(self.stage, Stage::Here | Stage::Leaving)
            && (!self.held || self.is_amid())
        {
            if self.ready.is_none() {
                self.ready = self.make(now, fresh);
            }
            let Some(mut ready) = self.ready.take() else { break };
            match self.send(node, &mut ready) {
                Ok(began) => {
                    any = true;
                    let Piece { request, due, began: first, last } = ready.piece;
                    self.figures.sent += u64::from(first.is_none());
                    self.cut.begin(began);
                    let began = first.unwrap_or(began);
                    self.under_way.push_back(UnderWay { request, due, began, last });
                }
                Err(SendError::RingFull | SendError::PoolEmpty | SendError::Switching) => {
                    self.ready = Some(ready);
                    break;
                }
                Err(SendError::Gone(reason)) => return Err(Stop::Failed(CallError::Gone(reason))),
                Err(error) => return Err(Stop::Refused(error.to_string())),
            }
        }
        Ok(any)
    }

    /// Makes the next request, if one is due.
    fn make(&mut self, now: Instant, fresh: bool) -> Option<Ready> {
        let whole = |request, due| Piece { request, due, began: None, last: true };
        if let Some(piece) = self.cut.next() {
            return Some(Ready { piece, block: None });
        }
        if let Some((request, due)) = self.brought.pop_front() {
            return Some(Ready { piece: whole(request, due), block: None });
        }
        self.due().filter(|due| fresh && *due <= now)?;
        let mut request = self.spare.pop().unwrap_or_default();
        request.resize(self.requests.bytes(self.made), 0);
        let parts = self.strategy.parts;
        self.requests.write(self.made, parts, &mut request);
        let due = self.arrivals.take(now, self.together());
        self.made += 1;
        if parts == Parts::WHOLE {
            return Some(Ready { piece: whole(request, due), block: None });
        }
        self.cut.fill(&self.requests, (request, due), parts, &mut self.spare);
        self.cut.next().map(|piece| Ready { piece, block: None })
    }

    /// Sends a request; a driver that sends from the pool has it made there first, which is not
    /// part of the call. Gives when the call began.
    fn send<P: Place>(
        &mut self,
        node: &mut Node<P>,
        ready: &mut Ready,
    ) -> Result<Instant, SendError> {
        let id = self.id.ok_or(SendError::Unknown)?;
        if self.in_pool() && ready.block.is_none() {
            let mut block = node.flow(id).reserve(ready.piece.request.len())?;
            let made = node.write(&mut block, 0, &ready.piece.request);
            made.map_err(|_| SendError::NotReserved)?;
            ready.block = Some(block);
        }
        let payload = match &mut ready.block {
            Some(block) => Payload::Reserved(block),
            None => Payload::Bytes(&ready.piece.request),
        };
        let began = node.platform().time();
        node.flow(id).start(payload)?;
        Ok(began)
    }

    /// Takes the next response if it is there and checks it. If it is the last of its request,
    /// measures that and hands its response to `bring`. The run is in its part of that number.
    pub fn finish<P: Place>(
        &mut self,
        node: &mut Node<P>,
        part: usize,
        bring: impl FnOnce(&[u8], Instant),
    ) -> Result<bool, Stop> {
        let Some(id) = self.id.filter(|_| !self.under_way.is_empty()) else { return Ok(false) };
        let len = match node.flow(id).try_finish(&mut self.response) {
            Ok(None) => return Ok(false),
            Ok(Some(completed)) => completed.len,
            Err(CallError::Failed(failure)) => {
                if let Some(defect) = self.defect() {
                    return Err(Stop::Defect(defect));
                }
                let why = format!("the other core could not answer: {failure:?}");
                return Err(Stop::Refused(why));
            }
            Err(error) => return Err(Stop::Failed(error)),
        };
        let now = node.platform().time();
        let Some(UnderWay { request, due, began, last }) = self.under_way.pop_front() else {
            return Ok(false);
        };
        let right = self.check(&request, len);
        self.spare.push(request);
        let response = self.response.get(..len).unwrap_or_default();
        if let Some(wrong) = self.cut.take(response, right, last, |bytes| bring(bytes, now)) {
            self.figures.wrong += u64::from(wrong);
            self.measure(now.since(began), now.since(due), part);
        }
        Ok(true)
    }

    fn measure(&mut self, rtt: Duration, since_due: Duration, part: usize) {
        let nanos = rtt.as_nanos() as f64;
        self.figures.received += 1;
        self.figures.rtt.push(nanos);
        self.figures.parts.push(part, nanos);
        self.figures.since_due.push(since_due.as_nanos() as f64);
        if let Some(last) = self.last.replace(nanos) {
            self.figures.jitter.push((nanos - last).abs());
        }
        if self.flow.deadline.is_some_and(|deadline| since_due > deadline) {
            self.figures.late += 1;
            self.late = Some(since_due);
        }
    }

    /// What is wrong with the function that could not answer the oldest request under way, if it is
    /// not the library's: it is asked once more, here.
    fn defect(&mut self) -> Option<Failure> {
        let Body::Foreign(foreign) = &self.offer.body else { return None };
        let request = &self.under_way.front()?.request;
        let much = foreign.call(request, &mut self.expected).err()?;
        Some(foreign.defect(request.len(), much))
    }

    /// Whether a response is what the function makes of the request on this core.
    fn check(&mut self, request: &[u8], len: usize) -> bool {
        let made = self.offer.body.answer(request, &mut self.expected);
        let expected = self.expected.get(..made.unwrap_or(0)).unwrap_or_default();
        let found = self.response.get(..len).unwrap_or_default();
        let right = found == expected;
        if !matches!(self.flow.work, Work::Decode(_)) {
            return right;
        }
        let (found, _) = found.as_chunks::<2>();
        let (expected, _) = expected.as_chunks::<2>();
        let same = found.iter().zip(expected).filter(|(a, b)| a == b).count();
        self.figures.samples += found.len() as u64;
        self.figures.differing += (found.len().max(expected.len()) - same) as u64;
        if self.figures.received < self.pass && self.flow.output.is_some() {
            self.figures.returned.extend(found.iter().map(|sample| i16::from_le_bytes(*sample)));
        }
        right
    }
}
