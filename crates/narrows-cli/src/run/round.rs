//! All flows of a workload by one strategy, for its duration.
//!
//! One thread does everything on this side, as a core would: it starts what is due, takes what
//! came, and waits in the way that the strategy says; between periods it sleeps, unless the
//! strategy spins.

use super::lane::{Figures, Lane, Stop};
use super::phases::{self, Call, Scale};
use crate::failure::Failure;
use crate::peer::Peer;
use crate::place::{Core, Place, sleep_until};
use crate::progress::Progress;
use crate::workload::{Flow, Source, Work, Workload};
use narrows::endpoint::{CallError, FlowError};
use narrows::platform::Instant;
use narrows::strategy::{Notification, Strategy};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long the other side may keep silent beyond what its work takes.
const PATIENCE: Duration = Duration::from_secs(3);
/// The longest wait before looking whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(100);
/// How long a request waits before it is tried again where nothing is under way.
const AGAIN: Duration = Duration::from_micros(200);
/// Calls after which stamps are fetched, before they overwrite each other, if that has not been
/// done in this part of the run yet.
const CALLS: u64 = 1000;
const PARTS: u32 = 20;

/// What stays the same from strategy to strategy.
pub(super) struct Plan<'w> {
    pub workload: &'w Workload,
    /// Samples that flows cut their requests from.
    pub inputs: &'w [Option<Vec<i16>>],
    pub duration: Duration,
    pub scale: Scale,
    /// Set when the user wants to stop.
    pub stop: &'w AtomicBool,
    pub progress: &'w Progress,
}

/// How one flow fared.
pub(crate) enum Fared {
    /// It could not run, for that reason.
    Refused(String),
    /// It ran: what was measured, and the calls that both sides stamped.
    Ran(Box<Figures>, Vec<Call>),
}

/// What came of one strategy.
pub(crate) struct Outcome {
    /// In the order of the workload's flows.
    pub flows: Vec<Fared>,
    /// How long it ran.
    pub wall: Duration,
    /// Processor time of both sides.
    pub cpu: [Duration; 2],
    /// What ended it early.
    pub failure: Option<Failure>,
}

struct Round<'a, 'w, P: Place> {
    peer: &'a mut Peer<P>,
    plan: &'a Plan<'w>,
    strategy: Strategy,
    lanes: Vec<Option<Lane<'w>>>,
    refused: Vec<Option<String>>,
    calls: Vec<Call>,
    /// Time and processor time spent on fetching stamps in between.
    paused: Duration,
    paused_cpu: Duration,
    /// Calls finished since stamps were last fetched.
    since: u64,
}

/// Runs all flows by a strategy.
///
/// # Errors
/// The other side is gone or silent before the flows run. Later, that is in the outcome.
pub(super) fn run<P: Place>(
    peer: &mut Peer<P>,
    plan: &Plan<'_>,
    strategy: Strategy,
    done: Duration,
) -> Result<Outcome, Failure> {
    peer.node.set_notification(strategy.notification);
    let mut round = Round {
        peer,
        plan,
        strategy,
        lanes: Vec::new(),
        refused: Vec::new(),
        calls: Vec::new(),
        paused: Duration::ZERO,
        paused_cpu: Duration::ZERO,
        since: 0,
    };
    round.open()?;
    let theirs = round.peer.cpu_time()?;
    round.peer.trace()?;
    let (own, start) = (round.used(), round.time());
    let ran = round.carry(start, done);
    let wall = round.time().since(start).saturating_sub(round.paused);
    let own = round.used().saturating_sub(own + round.paused_cpu);
    let mut failure = ran.err();
    let mut cpu = [own, Duration::ZERO];
    if failure.is_none() {
        let told = round.peer.cpu_time().and_then(|time| {
            cpu[1] = time.saturating_sub(theirs);
            round.fetch()
        });
        failure = told.err();
        for lane in round.lanes.iter_mut().flatten() {
            lane.end(&mut round.peer.node, PATIENCE);
        }
    }
    Ok(Outcome { flows: round.results(), wall, cpu, failure })
}

impl<'w, P: Place> Round<'_, 'w, P> {
    fn time(&self) -> Instant {
        self.peer.node.platform().time()
    }

    /// Processor time of this side so far.
    fn used(&self) -> Duration {
        self.peer.node.platform().core().used()
    }

    /// Opens a flow of the stack for each of the workload's, as far as the strategy can carry it.
    fn open(&mut self) -> Result<(), Failure> {
        let start = self.time();
        for (index, flow) in self.plan.workload.flows.iter().enumerate() {
            let (lane, refused) = match self.open_one(flow)? {
                Ok(id) => {
                    let samples = self.plan.inputs.get(index).and_then(Option::as_deref);
                    (Some(Lane::new(flow, id, &self.strategy, samples, start)), None)
                }
                Err(why) => (None, Some(why)),
            };
            self.lanes.push(lane);
            self.refused.push(refused);
        }
        // A flow that follows one that cannot run has nothing to do; and a pass is as long as the
        // first one's of a chain.
        for _ in 0..self.lanes.len() {
            for index in 0..self.lanes.len() {
                let Some(Some(lane)) = self.lanes.get(index) else { continue };
                let Source::After(before) = lane.flow.source else { continue };
                let pass = self.lanes.get(before).and_then(Option::as_ref).map(Lane::pass);
                match (pass, self.lanes.get_mut(index).and_then(Option::as_mut)) {
                    (Some(pass), Some(lane)) => lane.set_pass(pass),
                    _ => self.refuse(index, "the flow before it could not run".into()),
                }
            }
        }
        Ok(())
    }

    fn open_one(
        &mut self,
        flow: &Flow,
    ) -> Result<Result<narrows::endpoint::FlowId, String>, Failure> {
        let layouts = self.peer.node.layouts(self.peer.link);
        let longest = layouts.map_or(0, |(own, theirs)| {
            let placement = self.strategy.placement;
            own.longest(placement).min(theirs.longest(placement)) as usize
        });
        if flow.request.max(flow.response) > longest {
            return Ok(Err(match longest {
                0 => "there is no memory of that placement".into(),
                longest => format!(
                    "the largest block of this memory has {longest} bytes; make requests and \
                     responses that fit"
                ),
            }));
        }
        let response = u32::try_from(flow.response).unwrap_or(u32::MAX);
        match self.peer.try_flow(flow.work.entry(), self.strategy, response) {
            Ok(id) => Ok(Ok(id)),
            Err(error @ (FlowError::Infeasible | FlowError::Strategy(_) | FlowError::Full)) => {
                Ok(Err(error.to_string()))
            }
            Err(error) => Err(self.peer.explain_flow(flow.work.entry(), self.strategy, error)),
        }
    }

    /// Takes a flow out of the run.
    fn refuse(&mut self, index: usize, why: String) {
        if let Some(mut lane) = self.lanes.get_mut(index).and_then(Option::take) {
            lane.end(&mut self.peer.node, PATIENCE);
        }
        if let Some(refused) = self.refused.get_mut(index) {
            refused.get_or_insert(why);
        }
    }

    /// Carries the traffic until the time is up and everything has come back.
    fn carry(&mut self, start: Instant, done: Duration) -> Result<(), Failure> {
        let part = self.plan.duration / PARTS;
        let (mut progress, mut shown, mut fetched) = (start, start, start);
        for lane in self.lanes.iter_mut().flatten() {
            lane.next = start;
        }
        loop {
            let now = self.time();
            let ran = now.since(start).saturating_sub(self.paused);
            let over = ran >= self.plan.duration || self.plan.stop.load(Ordering::Relaxed);
            let full = self.since >= CALLS && now.since(fetched) >= part;
            if self.turn(now, !over && !full)? {
                progress = now;
                continue;
            }
            let idle = self.lanes.iter().flatten().all(Lane::idle);
            if idle && (over || self.is_done()) {
                return Ok(());
            }
            if idle && full {
                self.pause()?;
                fetched = self.time();
                progress = fetched;
                continue;
            }
            if now.since(shown) > LOOK {
                shown = now;
                self.plan.progress.reach(millis(done + ran));
            }
            if idle {
                progress = now;
            } else if now.since(progress) > PATIENCE + self.work() {
                return Err(self.peer.explain_call(CallError::Deadline));
            }
            self.wait(now, idle, over || full);
        }
    }

    /// Starts what is due and takes what came, in all flows. True if there was anything.
    fn turn(&mut self, now: Instant, fresh: bool) -> Result<bool, Failure> {
        let mut any = false;
        for index in 0..self.lanes.len() {
            let follows = |lane: &Lane<'_>| lane.flow.source == Source::After(index);
            let kept_up =
                self.lanes.iter().flatten().filter(|lane| follows(lane)).all(Lane::keeps_up);
            let Some(Some(lane)) = self.lanes.get_mut(index) else { continue };
            let mut brought = None;
            let did = lane.start(&mut self.peer.node, now, fresh && kept_up).and_then(|some| {
                any |= some;
                lane.finish(&mut self.peer.node, |bytes, at| brought = Some((bytes.to_vec(), at)))
            });
            match did {
                Ok(finished) => {
                    any |= finished;
                    self.since += u64::from(finished);
                }
                Err(Stop::Refused(why)) => self.refuse(index, why),
                Err(Stop::Failed(error)) => return Err(self.peer.explain_call(error)),
            }
            let Some(brought) = brought else { continue };
            for lane in self.lanes.iter_mut().flatten() {
                if lane.flow.source == Source::After(index) {
                    lane.brought.push_back(brought.clone());
                }
            }
        }
        Ok(any)
    }

    /// Whether every flow has made all the calls that it is to make.
    fn is_done(&self) -> bool {
        self.lanes.iter().flatten().all(|lane| lane.due().is_none())
    }

    /// Waits for a response, for room, or until the next request is due.
    fn wait(&mut self, now: Instant, idle: bool, over: bool) {
        let due = self.lanes.iter().flatten().filter_map(Lane::due).min();
        let due = due.filter(|_| !over).map(|due| due.since(now));
        let outstanding = self.lanes.iter().flatten().any(|lane| lane.outstanding() > 0);
        let most = if idle || outstanding { LOOK } else { AGAIN };
        let most = due.filter(|due| !due.is_zero()).map_or(most, |due| due.min(most));
        if idle && self.strategy.notification != Notification::Spin {
            // Until a moment, not for a while: each period begins where the one before ended.
            sleep_until(&mut self.peer.node, now + most);
        } else {
            self.peer.node.wait_any(Some(most));
        }
    }

    /// The longest that the other side can be at work without a sign.
    fn work(&self) -> Duration {
        let of = |lane: &Lane<'_>| match lane.flow.work {
            Work::Busy(time) => time.saturating_mul(lane.outstanding() as u32),
            _ => Duration::ZERO,
        };
        let work: Duration = self.lanes.iter().flatten().map(of).sum();
        let wait = match self.strategy.notification {
            Notification::Poll { every } => every,
            Notification::Coalesced { within, .. } => within,
            _ => Duration::ZERO,
        };
        work.saturating_mul(2).saturating_add(wait.saturating_mul(4))
    }

    /// Fetches stamps in the middle of the run, which then goes on as if no time had passed.
    fn pause(&mut self) -> Result<(), Failure> {
        let (began, cpu) = (self.time(), self.used());
        self.fetch()?;
        self.peer.trace()?;
        let took = self.time().since(began);
        for lane in self.lanes.iter_mut().flatten() {
            lane.next = lane.next + took;
        }
        self.paused += took;
        self.paused_cpu += self.used().saturating_sub(cpu);
        Ok(())
    }

    fn fetch(&mut self) -> Result<(), Failure> {
        self.since = 0;
        let (own, theirs) = self.peer.take_trace()?;
        self.calls.extend(phases::calls(&own.records, &theirs.records, self.plan.scale));
        Ok(())
    }

    fn results(self) -> Vec<Fared> {
        let Round { lanes, refused, calls, .. } = self;
        let result = |(lane, refused): (Option<Lane<'w>>, Option<String>)| match (lane, refused) {
            (Some(lane), None) => {
                let place = u32::from(lane.id.place());
                let of = calls.iter().filter(|call| call.id >> 16 == place).copied();
                Fared::Ran(Box::new(lane.figures), of.collect())
            }
            (_, why) => Fared::Refused(why.unwrap_or_default()),
        };
        lanes.into_iter().zip(refused).map(result).collect()
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
