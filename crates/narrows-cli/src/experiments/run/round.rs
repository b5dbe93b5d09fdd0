//! All flows of a workload by one strategy, or each by its own, for its duration.
//!
//! One thread does everything on this side, as a core would: it starts what is due, takes what
//! came, and waits in the way that the strategy says; between periods it sleeps, unless the
//! strategy spins.

use super::lane::{Figures, Lane, Stop};
use super::live::Live;
use super::parts::PARTS;
use super::pilot::Pilot;
use super::setup::Setup;
use crate::base::failure::{Failure, Kind};
use crate::base::progress::Progress;
use crate::base::report::DecisionRow;
use crate::formats::strategy::{self, Policy};
use crate::formats::workload::{Offers, Schedule, Source, Work, Workload};
use crate::rig::peer::Peer;
use crate::rig::phases::{self, Call, Scale};
use crate::rig::place::{Core, Place, sleep_until};
use narrows::endpoint::CallError;
use narrows::notify;
use narrows::platform::Instant;
use narrows::strategy::Notification;
use narrows_sim::engine::Usage;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long the other side may keep silent beyond what its work takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
/// The longest wait before looking whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(100);
/// How long a request waits before it is tried again where nothing is under way.
const AGAIN: Duration = Duration::from_micros(200);
/// Calls after which stamps are fetched, before they overwrite each other, if that has not been
/// done in this part of the run yet.
const CALLS: u64 = 1000;
/// Calls after which that is done even if requests have to wait for it.
const MOST: u64 = 1200;

/// What stays the same from strategy to strategy.
pub(super) struct Plan<'w> {
    pub workload: &'w Workload,
    /// Samples that flows cut their requests from.
    pub inputs: &'w [Option<Vec<i16>>],
    /// What serves each flow.
    pub offers: &'w Offers,
    pub duration: Duration,
    pub scale: Scale,
    /// Set when the user wants to stop.
    pub stop: &'w AtomicBool,
    pub progress: &'w Progress,
    /// What the controller has to know, if any strategy is left to it.
    pub setup: Option<&'w Setup>,
    /// Where to show what happens.
    pub live: Option<&'w Live>,
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
    /// How often each flow changed its strategy.
    pub switches: Vec<u64>,
    /// What the controller decided.
    pub decisions: Vec<DecisionRow>,
    /// What the chip did meanwhile, if it is one.
    pub usage: Option<Usage>,
    /// What ended it early.
    pub failure: Option<Failure>,
}

impl Outcome {
    /// Of the calling core and of the other one, in percent.
    pub fn load(&self) -> [f64; 2] {
        let seconds = self.wall.as_secs_f64();
        let percent = |time: Duration| 100.0 * time.as_secs_f64() / seconds;
        self.cpu.map(|time| if seconds > 0.0 { percent(time) } else { 0.0 })
    }
}

pub(super) struct Round<'a, 'w, P: Place> {
    pub(super) peer: &'a mut Peer<P>,
    pub(super) plan: &'a Plan<'w>,
    pub(super) policy: Policy,
    pub(super) lanes: Vec<Option<Lane<'w>>>,
    pub(super) schedules: Vec<Schedule>,
    pub(super) pilot: Option<Pilot<'a, 'a>>,
    /// How many of the workload's changes have been made.
    pub(super) changed: usize,
    /// Whether stamps are fetched for the phases: not while flows come, go or switch, as the run
    /// stands still for that.
    stamped: bool,
    pub(super) refused: Vec<Option<String>>,
    calls: Vec<Call>,
    /// Time and processor time spent on fetching stamps in between.
    pub(super) paused: Duration,
    paused_cpu: Duration,
    /// Calls finished since stamps were last fetched or looked at.
    pub(super) since: u64,
    /// Which of its parts it is in.
    part: usize,
    /// Whether stamps are taken to learn from.
    pub(super) learning: bool,
    /// When it began, and processor time of this side then.
    pub(super) start: Instant,
    began: Duration,
}

/// Runs all flows by a strategy, or each by its own.
///
/// # Errors
/// The other side is gone or silent before the flows run. Later, that is in the outcome.
pub(super) fn run<P: Place>(
    peer: &mut Peer<P>,
    plan: &Plan<'_>,
    policy: Policy,
    done: Duration,
) -> Result<Outcome, Failure> {
    if let Policy::Same(strategy) = policy {
        peer.node.set_notification(strategy.notification);
    }
    let setup = plan.setup.filter(|_| policy == Policy::Auto);
    let mut rooms = setup.map(Setup::rooms);
    let pilot = setup.zip(rooms.as_mut()).map(|(setup, rooms)| Pilot::new(setup, rooms));
    let pilot = pilot.transpose().map_err(|error| {
        Failure::new(Kind::Workload, format!("flows cannot be controlled here: {error}"))
    })?;
    let stamped = matches!(policy, Policy::Same(_)) && !plan.workload.is_changing();
    let mut round = Round {
        peer,
        plan,
        policy,
        schedules: plan.workload.flows.iter().map(Schedule::new).collect(),
        pilot,
        changed: 0,
        stamped,
        lanes: Vec::new(),
        refused: Vec::new(),
        calls: Vec::new(),
        paused: Duration::ZERO,
        paused_cpu: Duration::ZERO,
        since: 0,
        part: 0,
        learning: false,
        start: Instant(0),
        began: Duration::ZERO,
    };
    round.open()?;
    let theirs = round.peer.cpu_time()?;
    if round.stamped {
        round.peer.trace()?;
    }
    let usage = |round: &Round<'_, '_, P>| round.peer.node.platform().usage();
    let before = usage(&round);
    let (own, start) = (round.used(), round.time());
    (round.start, round.began) = (start, own);
    plan.live.inspect(|live| live.begin());
    let ran = round.carry(start, done);
    let wall = round.time().since(start).saturating_sub(round.paused);
    let usage = usage(&round).zip(before).map(|(now, before)| now.since(&before));
    let own = round.used().saturating_sub(own + round.paused_cpu);
    let mut failure = ran.err();
    let mut cpu = [own, Duration::ZERO];
    if failure.is_none() {
        let told = round.peer.cpu_time().and_then(|time| {
            cpu[1] = time.saturating_sub(theirs);
            if round.stamped { round.fetch() } else { Ok(()) }
        });
        failure = told.err();
        for lane in round.lanes.iter_mut().flatten() {
            lane.end(&mut round.peer.node, PATIENCE);
        }
    }
    round.peer.node.platform_mut().set_tracing(false);
    let (mut switches, mut decisions) = (vec![0; round.lanes.len()], Vec::new());
    if let Some(pilot) = &mut round.pilot {
        switches = (0..switches.len()).map(|lane| pilot.switches(lane)).collect();
        decisions = std::mem::take(&mut pilot.log);
    }
    Ok(Outcome { flows: round.results(), wall, cpu, switches, decisions, usage, failure })
}

impl<'w, P: Place> Round<'_, 'w, P> {
    pub(super) fn time(&self) -> Instant {
        self.peer.node.platform().time()
    }

    /// Processor time of this side since the round began.
    pub(super) fn busy(&self) -> Duration {
        self.used().saturating_sub(self.began)
    }

    /// Processor time of this side so far.
    fn used(&self) -> Duration {
        self.peer.node.platform().core().used()
    }

    /// Carries the traffic until the time is up and everything has come back.
    fn carry(&mut self, start: Instant, done: Duration) -> Result<(), Failure> {
        let part = self.plan.duration / PARTS;
        let (mut progress, mut shown, mut fetched) = (start, start, start);
        let mut held = None;
        for lane in self.lanes.iter_mut().flatten() {
            lane.arrivals.begin(start);
        }
        loop {
            let now = self.time();
            let ran = now.since(start).saturating_sub(self.paused);
            self.part =
                (ran.as_nanos() / part.as_nanos().max(1)).min(u128::from(PARTS - 1)) as usize;
            let over = ran >= self.plan.duration || self.plan.stop.load(Ordering::Relaxed);
            // They are fetched while nothing is under way. If that never is, nothing new begins.
            let full = self.stamped && self.since >= CALLS && now.since(fetched) >= part;
            let drains = full && self.since >= MOST;
            held = held.or(Some(now)).filter(|_| drains);
            let moved =
                self.change(ran) | self.come_and_go(now, ran, over)? | self.steer(ran, over)?;
            if self.turn(now, !over && !drains)? || moved {
                progress = now;
                continue;
            }
            let idle = self.lanes.iter().flatten().all(Lane::idle) && (over || !self.is_changing());
            if idle && (over || self.is_done()) {
                return Ok(());
            }
            if idle && full {
                self.pause(held.unwrap_or_else(|| self.time()))?;
                fetched = self.time();
                progress = fetched;
                continue;
            }
            if now.since(shown) > LOOK {
                shown = now;
                self.plan.progress.reach(millis(done + ran));
            }
            self.show(ran);
            if idle {
                progress = now;
            } else if now.since(progress) > PATIENCE + self.work() {
                return Err(self.peer.explain_call(CallError::Deadline));
            }
            self.wait(now, ran, idle, over || drains);
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
                lane.finish(&mut self.peer.node, self.part, |bytes, at| {
                    brought = Some((bytes.to_vec(), at))
                })
            });
            match did {
                Ok(finished) => {
                    any |= finished;
                    self.since += u64::from(finished);
                }
                Err(Stop::Refused(why)) => self.refuse(index, why),
                Err(Stop::Failed(error)) => return Err(self.peer.explain_call(error)),
                Err(Stop::Defect(failure)) => return Err(failure),
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
            && self
                .lanes
                .iter()
                .zip(&self.schedules)
                .all(|(lane, schedule)| lane.is_none() || schedule.next().is_none())
    }

    /// Waits for a response, for room, or until the next request is due.
    fn wait(&mut self, now: Instant, ran: Duration, idle: bool, over: bool) {
        let due = self.lanes.iter().flatten().filter_map(Lane::due).min();
        let due = due.map(|due| due.since(now)).into_iter().chain(self.event(ran)).min();
        let due = due.filter(|_| !over);
        let how = self.notification();
        let outstanding = self.lanes.iter().flatten().any(|lane| lane.outstanding() > 0);
        let most = if idle || outstanding { LOOK } else { AGAIN };
        let most = due.filter(|due| !due.is_zero()).map_or(most, |due| due.min(most));
        if !matches!(self.policy, Policy::Same(_)) {
            self.peer.node.set_notification(how);
        }
        if idle && !always_looks(how) {
            // Until a moment, not for a while: each period begins where the one before ended.
            sleep_until(&mut self.peer.node, now + most);
        } else {
            self.peer.node.wait_any(Some(most));
        }
    }

    /// How to wait: as the quickest of those whose response is awaited wants it, and by interrupt
    /// while the other side's answer to a proposal is. A flow that spins, or looks by a timer that
    /// always runs, does so between calls too.
    fn notification(&self) -> Notification {
        if let Policy::Same(strategy) = self.policy {
            return strategy.notification;
        }
        let here = |lane: &&Lane<'_>| {
            let looks = lane.id.is_some() && always_looks(lane.strategy.notification);
            looks || lane.outstanding() > 0
        };
        let awaited = self.lanes.iter().flatten().filter(here);
        let awaited = awaited.map(|lane| lane.strategy.notification);
        let asked = self.is_changing().then_some(Notification::Interrupt);
        notify::quickest(awaited.chain(asked)).unwrap_or(Notification::Interrupt)
    }

    /// The longest that the other side can be at work without a sign.
    fn work(&self) -> Duration {
        let of = |lane: &Lane<'_>| match lane.flow.work {
            Work::Busy(time) => time,
            _ => lane.offer.cost.map_or(Duration::ZERO, |cost| cost.of(lane.flow.request)),
        };
        let of = |lane: &Lane<'_>| of(lane).saturating_mul(lane.outstanding() as u32);
        let work: Duration = self.lanes.iter().flatten().map(of).sum();
        let lanes = self.lanes.iter().flatten();
        let wait = lanes.map(|lane| strategy::pause(&lane.strategy));
        let wait = wait.max().unwrap_or_default();
        work.saturating_mul(2).saturating_add(wait.saturating_mul(4))
    }

    /// Fetches stamps in the middle of the run, which then goes on as if no time had passed since
    /// requests were no longer begun for that.
    fn pause(&mut self, held: Instant) -> Result<(), Failure> {
        let (began, cpu) = (self.time(), self.used());
        self.fetch()?;
        self.peer.trace()?;
        let now = self.time();
        let took = now.since(began);
        for lane in self.lanes.iter_mut().flatten() {
            lane.arrivals.shift(now.since(held));
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
                let place = lane.id.map(|id| u32::from(id.place()));
                let of = calls.iter().filter(|call| Some(call.id >> 16) == place).copied();
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

/// Whether a flow that is told so has its caller look between calls too.
fn always_looks(how: Notification) -> bool {
    matches!(how, Notification::Spin | Notification::Timer { .. })
}
