//! One direction of a media line, as the link's thread sees it: frames that wait, frames that are
//! with the DSP, and what was counted.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use gstreamer::ClockTime;
use narrows::endpoint::{CallError, FlowId, Payload, SendError};
use narrows::link::LinkId;
use narrows::strategy::{Notification, Strategy, Transfer};
use narrows_host::Node;
use narrows_tune::control::Handle;

use crate::figures::Figures;
use crate::frame::{Header, Kind, LONGEST, REQUEST, RESPONSE, response};
use crate::media::{Frame, Output};
use crate::transcode::Transcoder;

/// Frames of a direction that may wait or be with the DSP.
const MOST: usize = 32;
/// How long the DSP may take for a picture before the gateway helps itself. For a frame of sound
/// that is its deadline: a listener hears what comes later as a gap.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long after one attempt to open a flow the next follows.
const AGAIN: Duration = Duration::from_millis(100);

/// A frame that waits, or is with the DSP.
struct Waiting {
    bytes: Vec<u8>,
    time: Option<ClockTime>,
    due: Instant,
    /// It has been coded here, or nobody wants it any more: its answer is thrown away.
    given_up: bool,
}

/// How far its flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Away { again: Option<Instant> },
    Opening(FlowId),
    Here(FlowId),
}

/// What a turn found out that concerns others.
#[derive(Default)]
pub(crate) struct Told {
    /// How long the DSP worked for frames, in nanoseconds.
    pub work: Vec<u32>,
    /// The longest answer that came after its deadline.
    pub missed: Option<Duration>,
    /// Why a flow does not open.
    pub refused: Option<String>,
}

pub(crate) struct Lane {
    pub header: Header,
    pub strategy: Strategy,
    pub deadline: Duration,
    pub handle: Option<Handle>,
    pub output: Option<Output>,
    pub figures: Figures,
    stage: Stage,
    waiting: VecDeque<Waiting>,
    under_way: VecDeque<Waiting>,
    look: Option<Instant>,
    /// The session is over; whether the DSP has been told.
    over: Option<bool>,
    request: Vec<u8>,
}

impl Lane {
    pub fn new(
        header: Header,
        strategy: Strategy,
        deadline: Duration,
        handle: Option<Handle>,
    ) -> Lane {
        Lane {
            header,
            strategy,
            deadline,
            handle,
            output: None,
            figures: Figures::new(),
            stage: Stage::Away { again: None },
            waiting: VecDeque::new(),
            under_way: VecDeque::new(),
            look: None,
            over: None,
            request: Vec::new(),
        }
    }

    pub fn kind(&self) -> Kind {
        self.header.from.kind()
    }

    fn patience(&self) -> Duration {
        match self.kind() {
            Kind::Audio => self.deadline,
            Kind::Video => self.deadline.max(PATIENCE),
        }
    }

    pub fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// Whether nothing of it is left at the DSP.
    pub fn is_gone(&self) -> bool {
        self.is_over() && matches!(self.stage, Stage::Away { .. })
    }

    /// Whether the DSP owes an answer that it was not waited for: until it gives it, it gets no
    /// more work.
    pub fn is_behind(&self) -> bool {
        self.under_way.front().is_some_and(|first| first.given_up)
    }

    /// How an answer is awaited, if one is.
    pub fn awaits(&self) -> Option<Notification> {
        let asked = matches!(self.stage, Stage::Opening(_));
        match self.under_way.is_empty() {
            false => Some(self.strategy.notification),
            true => asked.then_some(Notification::Interrupt),
        }
    }

    /// The stack's flow, once it is open.
    pub fn flow(&self) -> Option<FlowId> {
        match self.stage {
            Stage::Here(flow) => Some(flow),
            _ => None,
        }
    }

    /// When it has something to do next without anything coming.
    pub fn due(&self) -> Option<Instant> {
        let patience = self.patience();
        let mut frames = self.under_way.iter().chain(&self.waiting);
        let late = frames.find(|frame| !frame.given_up).map(|frame| frame.due + patience);
        let again = match self.stage {
            Stage::Away { again } => again,
            _ => None,
        };
        [late, again, self.look].into_iter().flatten().min()
    }

    /// A frame came out of the jitter buffer. `linked` says whether the DSP is there.
    pub fn take(&mut self, frame: Frame, linked: bool, own: &mut Transcoder) {
        if self.is_over() {
            return;
        }
        let Frame { bytes, time, due } = frame;
        self.figures.frames += 1;
        self.figures.first.get_or_insert(due);
        self.figures.last = Some(due);
        if self.under_way.len() + self.waiting.len() >= MOST {
            self.figures.dropped += 1;
            return;
        }
        let waiting = Waiting { bytes, time, due, given_up: false };
        if !linked || self.is_behind() {
            self.figures.dropped += 1;
            self.code(&waiting, own);
        } else {
            self.waiting.push_back(waiting);
        }
    }

    /// Codes a frame here.
    fn code(&mut self, frame: &Waiting, own: &mut Transcoder) {
        let mut coded = Vec::new();
        let done = own.run(&self.header, &frame.bytes, &mut coded);
        if done.is_ok() && !coded.is_empty() {
            self.figures.own += 1;
            if let Some(output) = &mut self.output {
                output.send(&coded, frame.time);
            }
        }
    }

    /// The DSP is gone: what it had is coded here.
    pub fn lost(&mut self, own: &mut Transcoder) {
        self.stage = Stage::Away { again: None };
        self.look = None;
        let mut frames = std::mem::take(&mut self.under_way);
        frames.append(&mut self.waiting);
        for frame in frames.iter().filter(|frame| !frame.given_up) {
            self.figures.dropped += 1;
            self.code(frame, own);
        }
    }

    /// The session is over.
    pub fn end(&mut self, own: &mut Transcoder) {
        self.over = Some(false);
        self.output = None;
        self.waiting.clear();
        self.under_way.iter_mut().for_each(|frame| frame.given_up = true);
        self.forget(own);
    }

    /// What this process's own codec knew of the session is of no use any more.
    pub fn forget(&self, own: &mut Transcoder) {
        let _ = own.run(&self.header, &[], &mut Vec::new());
    }

    /// Opens the flow, takes what came, starts what waits, gives up what took too long.
    pub fn turn(
        &mut self,
        node: &mut Node,
        link: LinkId,
        now: Instant,
        own: &mut Transcoder,
        told: &mut Told,
    ) {
        self.open(node, link, now, told);
        if let Stage::Here(flow) = self.stage {
            self.finish(node, flow, now, told);
            self.start(node, flow, own);
            self.close(node, flow, now);
        }
        self.give_up(now, own, told);
        self.keep_looking(now);
    }

    fn open(&mut self, node: &mut Node, link: LinkId, now: Instant, told: &mut Told) {
        if let Stage::Away { again } = self.stage {
            if self.is_over() || again.is_some_and(|again| now < again) {
                return;
            }
            let Ok(function) = self.kind().function().parse() else { return };
            let longest = (RESPONSE + LONGEST) as u32;
            match node.begin_flow(link, &function, self.strategy, longest) {
                Ok(flow) => self.stage = Stage::Opening(flow),
                Err(error) => {
                    told.refused = Some(error.to_string());
                    self.stage = Stage::Away { again: Some(now + AGAIN) };
                }
            }
        }
        if let Stage::Opening(flow) = self.stage {
            match node.flow(flow).is_ready() {
                Ok(true) => self.stage = Stage::Here(flow),
                Ok(false) => {}
                Err(error) => {
                    told.refused = Some(error.to_string());
                    let _ = node.flow(flow).close();
                    self.stage = Stage::Away { again: Some(now + AGAIN) };
                }
            }
        }
    }

    fn finish(&mut self, node: &mut Node, flow: FlowId, now: Instant, told: &mut Told) {
        let mut answer = [0; RESPONSE + LONGEST];
        while !self.under_way.is_empty() {
            let length = match node.flow(flow).try_finish(&mut answer) {
                Ok(Some(completed)) => Some(completed.len),
                Err(CallError::Failed(_)) => None,
                // That the DSP is gone is found where links are looked at.
                Ok(None) | Err(_) => return,
            };
            let Some(frame) = self.under_way.pop_front() else { return };
            let took = now.saturating_duration_since(frame.due);
            let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            if !self.is_over() {
                self.figures.answers.saturating_record(micros.max(1));
            }
            if !frame.given_up && took > self.deadline {
                self.figures.late += 1;
                told.missed = told.missed.max(Some(took));
            }
            let coded = length.and_then(|length| response(answer.get(..length)?));
            let Some((work, coded)) = coded else {
                self.figures.failed += u64::from(!self.is_over());
                continue;
            };
            told.work.push(work);
            if let Some(output) = self.output.as_mut().filter(|_| !frame.given_up)
                && !coded.is_empty()
            {
                output.send(coded, frame.time);
            }
        }
    }

    fn start(&mut self, node: &mut Node, flow: FlowId, own: &mut Transcoder) {
        while !self.is_behind() {
            let Some(frame) = self.waiting.pop_front() else { return };
            match self.send(node, flow, &frame.bytes) {
                Ok(()) => self.under_way.push_back(frame),
                Err(SendError::TooLong { .. } | SendError::NotReserved) => {
                    self.figures.dropped += 1;
                    self.code(&frame, own);
                }
                Err(_) => {
                    // There is no room, or the strategy changes: later, or it is given up.
                    self.waiting.push_front(frame);
                    return;
                }
            }
        }
    }

    /// Starts the call of a frame: its request is made where the DSP sees it, or made here and
    /// copied there.
    fn send(&mut self, node: &mut Node, flow: FlowId, frame: &[u8]) -> Result<(), SendError> {
        let header = self.header.bytes();
        if !matches!(self.strategy.transfer, Transfer::SingleCopy | Transfer::InPlace) {
            self.request.clear();
            self.request.extend(header);
            self.request.extend(frame);
            return node.flow(flow).start(self.request.as_slice()).map(|_| ());
        }
        let mut block = node.flow(flow).reserve(REQUEST + frame.len())?;
        let written = node.write(&mut block, 0, &header);
        let written = written.and_then(|()| node.write(&mut block, REQUEST, frame));
        let sent = match written {
            Ok(()) => node.flow(flow).start(Payload::Reserved(&mut block)).map(|_| ()),
            Err(_) => Err(SendError::NotReserved),
        };
        if sent.is_err() {
            node.cancel(block);
        }
        sent
    }

    /// Tells the DSP that the session is over, and closes the flow behind that.
    fn close(&mut self, node: &mut Node, flow: FlowId, now: Instant) {
        let Some(told) = self.over else { return };
        if !told {
            if self.send(node, flow, &[]).is_ok() {
                let frame = Waiting { bytes: Vec::new(), time: None, due: now, given_up: true };
                self.under_way.push_back(frame);
                self.over = Some(true);
            }
        } else if self.under_way.is_empty() && node.flow(flow).close().is_ok() {
            self.stage = Stage::Away { again: None };
        }
    }

    fn give_up(&mut self, now: Instant, own: &mut Transcoder, told: &mut Told) {
        let patience = self.patience();
        let late = |frame: &Waiting| now.saturating_duration_since(frame.due) >= patience;
        let mut behind = self.is_behind();
        for at in 0..self.under_way.len() {
            // Behind one that is given up the others are too, so that they stay in order.
            let Some(frame) = self.under_way.get_mut(at) else { continue };
            let is_late = late(frame);
            if frame.given_up || !(is_late || behind) {
                continue;
            }
            behind = true;
            frame.given_up = true;
            let frame = Waiting { bytes: std::mem::take(&mut frame.bytes), ..*frame };
            if is_late {
                told.missed = told.missed.max(Some(now.saturating_duration_since(frame.due)));
                self.figures.late += 1;
            } else {
                self.figures.dropped += 1;
            }
            self.code(&frame, own);
        }
        while self.waiting.front().is_some_and(|frame| late(frame) || self.is_behind()) {
            let Some(frame) = self.waiting.pop_front() else { return };
            self.figures.dropped += 1;
            self.code(&frame, own);
        }
    }

    /// When the next look at a polled answer is: every so often from the first call on.
    fn keep_looking(&mut self, now: Instant) {
        let every = match self.strategy.notification {
            Notification::Poll { every } if !self.under_way.is_empty() => every,
            _ => {
                self.look = None;
                return;
            }
        };
        let mut look = self.look.unwrap_or(now + every);
        if look <= now {
            // Looks that were missed are not made up for.
            look = now + every;
        }
        self.look = Some(look);
    }
}
