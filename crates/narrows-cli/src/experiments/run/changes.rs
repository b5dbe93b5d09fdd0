//! What changes while a round is carried: flows come, go and switch.

use super::lane::{Lane, Stage};
use super::live::Shown;
use super::pilot::Pilot;
use super::round::Round;
use crate::base::failure::Failure;
use crate::formats::workload::{Changed, Presence};
use crate::rig::phases;
use crate::rig::place::Place;
use narrows::endpoint::FlowError;
use narrows::platform::Instant;
use narrows::strategy::Strategy;
use std::time::Duration;

/// Stamps are looked through after this many calls.
const CALLS: u64 = 8;

impl<P: Place> Round<'_, '_, P> {
    /// Opens and closes flows whose time has come, and sees how those get on that were begun. True
    /// if there was anything. Nothing begins once the run is `over`.
    pub(super) fn come_and_go(
        &mut self,
        now: Instant,
        ran: Duration,
        over: bool,
    ) -> Result<bool, Failure> {
        let mut any = false;
        for index in 0..self.lanes.len() {
            any |= self.advance(index)?;
            if over {
                continue;
            }
            any |= self.begin(index, now, ran)?;
            let Some(Some(lane)) = self.lanes.get(index) else { continue };
            let Some(schedule) = self.schedules.get_mut(index) else { continue };
            // A flow that is still being opened or closed comes or goes when that is over.
            if schedule.next().is_none_or(|next| next > ran)
                || matches!(lane.stage, Stage::Opening | Stage::Leaving)
            {
                continue;
            }
            any = true;
            match (schedule.turn(), lane.stage) {
                (true, Stage::Away) => self.arrive(index, now, ran)?,
                (false, Stage::Here) => self.leave(index, ran),
                // It may have waited for others to make room.
                (false, _) => self.forget(index, ran),
                _ => {}
            }
        }
        Ok(any)
    }

    /// Makes the changes whose moment has come. True if there were any.
    pub(super) fn change(&mut self, ran: Duration) -> bool {
        let changes = self.plan.workload.changes.get(self.changed..).unwrap_or_default();
        let mut any = false;
        for change in changes.iter().take_while(|change| change.at <= ran) {
            (self.changed, any) = (self.changed + 1, true);
            match &change.what {
                Changed::Memory(bytes) => {
                    if let Some(pilot) = &mut self.pilot {
                        pilot.budget(*bytes, ran);
                    }
                }
                Changed::Size { flows, request, response } => {
                    for index in flows {
                        if let Some(Some(lane)) = self.lanes.get_mut(*index) {
                            lane.resize(*request, *response);
                        }
                        if let Some(pilot) = &mut self.pilot {
                            pilot.resize(*index, [*request, *response], ran);
                        }
                    }
                }
            }
        }
        any
    }

    /// Whether a flow is being opened, closed or changed.
    pub(super) fn is_changing(&self) -> bool {
        let changing = |lane: &Lane<'_>| match lane.stage {
            Stage::Opening | Stage::Leaving => true,
            Stage::Here => lane.held,
            Stage::Away => false,
        };
        let awaited = self.pilot.as_ref().is_some_and(Pilot::is_awaited);
        awaited || self.lanes.iter().flatten().any(changing)
    }

    /// How long it is until something changes by itself.
    pub(super) fn event(&self, ran: Duration) -> Option<Duration> {
        let coming = self.schedules.iter().filter_map(|schedule| schedule.next());
        let change = self.plan.workload.changes.get(self.changed).map(|change| change.at);
        let again = self.pilot.as_ref().and_then(|pilot| pilot.again());
        let next = coming.chain(again).chain(change).filter(|next| *next > ran).min();
        next.map(|next| next - ran)
    }

    fn arrive(&mut self, index: usize, now: Instant, ran: Duration) -> Result<(), Failure> {
        let Some(Some(lane)) = self.lanes.get(index) else { return Ok(()) };
        let flow = lane.flow;
        let own = self.strategy(flow);
        let usual = self.place(index);
        let strategy = match (&mut self.pilot, own) {
            (Some(pilot), _) => pilot.arrive(index, ran).map_err(|error| error.to_string()),
            (None, Some(strategy)) => match self.unfit(index, strategy) {
                Some(why) => Err(why),
                None => Ok(Some((strategy, usual))),
            },
            (None, None) => Err("it has no strategy of its own in the workload".to_owned()),
        };
        self.admit(index, now, strategy)
    }

    /// Begins with a flow that waited for others to make room, once they have. True if that is so,
    /// or will not be.
    fn begin(&mut self, index: usize, now: Instant, ran: Duration) -> Result<bool, Failure> {
        let Some(pilot) = &mut self.pilot else { return Ok(false) };
        let begun = pilot.begin(index, ran).map_err(|error| error.to_string());
        let any = begun != Ok(None);
        self.admit(index, now, begun)?;
        Ok(any)
    }

    /// Begins with a flow by a strategy and at one of the cores that are called, or says why there
    /// is none; nothing if it waits.
    fn admit(
        &mut self,
        index: usize,
        now: Instant,
        begun: Result<Option<(Strategy, u8)>, String>,
    ) -> Result<(), Failure> {
        let Some(Some(lane)) = self.lanes.get(index) else { return Ok(()) };
        let flow = lane.flow;
        let (strategy, dsp) = match begun {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(()),
            // A session that finds no room is not carried; others of the flow may be.
            Err(why) if self.pilot.is_some() && flow.presence != Presence::Always => {
                if let Some(Some(lane)) = self.lanes.get_mut(index) {
                    lane.figures.refusals += 1;
                    lane.figures.first_refusal.get_or_insert(why);
                }
                return Ok(());
            }
            Err(why) => {
                self.refuse(index, why);
                return Ok(());
            }
        };
        let link = self.link(dsp);
        let Some(Some(lane)) = self.lanes.get_mut(index) else { return Ok(()) };
        lane.arrivals.begin(now);
        match lane.begin(&mut self.peer.node, link, strategy) {
            Ok(()) => Ok(()),
            Err(error) => self.unusable(index, strategy, error),
        }
    }

    fn leave(&mut self, index: usize, ran: Duration) {
        if let Some(Some(lane)) = self.lanes.get_mut(index) {
            (lane.stage, lane.held) = (Stage::Leaving, false);
        }
        self.forget(index, ran);
    }

    fn forget(&mut self, index: usize, ran: Duration) {
        if let Some(pilot) = &mut self.pilot {
            pilot.leave(index, ran);
        }
    }

    fn advance(&mut self, index: usize) -> Result<bool, Failure> {
        let Some(Some(lane)) = self.lanes.get_mut(index) else { return Ok(false) };
        if !matches!(lane.stage, Stage::Opening | Stage::Leaving) {
            return Ok(false);
        }
        let strategy = lane.strategy;
        self.peer.node.poll();
        match lane.advance(&mut self.peer.node) {
            Ok(moved) => Ok(moved),
            Err(error) => self.unusable(index, strategy, error).map(|()| true),
        }
    }

    /// A flow cannot be opened, closed or changed.
    fn unusable(
        &mut self,
        index: usize,
        strategy: Strategy,
        error: FlowError,
    ) -> Result<(), Failure> {
        if !matches!(error, FlowError::Infeasible | FlowError::Strategy(_) | FlowError::Full) {
            let function = self.plan.offers.get(index).map_or("", |offer| offer.body.name());
            return Err(self.peer.explain_flow(function, strategy, error));
        }
        self.refuse(index, format!("{strategy}: {error}"));
        Ok(())
    }

    /// Tells the controller what has happened, and does what it wants. True if there was anything.
    pub(super) fn steer(&mut self, ran: Duration, over: bool) -> Result<bool, Failure> {
        self.learn(ran);
        let Some(pilot) = &mut self.pilot else { return Ok(false) };
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            let late = lane.as_mut().and_then(|lane| lane.late.take());
            if let Some(late) = late {
                pilot.miss(index, ran, late);
            }
        }
        if over && !pilot.is_switching() {
            return Ok(false);
        }
        if pilot.is_switching() {
            self.peer.node.poll();
        }
        match pilot.steer(self.peer, &mut self.lanes, ran) {
            Ok(any) => Ok(any),
            Err((index, strategy, error)) => self.unusable(index, strategy, error).map(|()| true),
        }
    }

    /// Shows it all, if somebody watches.
    pub(super) fn show(&self, ran: Duration) {
        let Some(live) = self.plan.live else { return };
        live.keep_pace(ran);
        if !live.is_due() {
            return;
        }
        let flows = self.plan.workload.flows.iter().zip(&self.lanes).enumerate();
        let shown = flows.map(|(index, (flow, lane))| {
            let away = lane.as_ref().is_none_or(|lane| lane.stage == Stage::Away);
            let state = match lane {
                None => "refused",
                Some(lane) if lane.held => "switching",
                Some(Lane { stage: Stage::Here, .. }) => "here",
                Some(Lane { stage: Stage::Away, .. }) => "away",
                Some(Lane { stage: Stage::Opening, .. }) => "coming",
                Some(Lane { stage: Stage::Leaving, .. }) => "leaving",
            };
            let pilot = self.pilot.as_ref();
            let figures = lane.as_ref().map(|lane| &lane.figures);
            let strategy = lane.as_ref().filter(|_| !away).map(|lane| lane.strategy.to_string());
            Shown {
                flow: flow.name.clone(),
                state,
                strategy: strategy.unwrap_or_default(),
                load: pilot.and_then(|pilot| pilot.load(index)),
                received: figures.map_or(0, |figures| figures.received),
                late: figures.map_or(0, |figures| figures.late),
                switches: pilot.map_or(0, |pilot| pilot.switches(index)),
            }
        });
        let shown: Vec<Shown> = shown.collect();
        let (memory, log) = match &self.pilot {
            Some(pilot) => {
                let (used, has) = pilot.memory();
                (format!(", {used} of {has} B internal"), pilot.log.as_slice())
            }
            None => (String::new(), [].as_slice()),
        };
        let load = 100.0 * self.busy().as_secs_f64() / ran.as_secs_f64().max(1e-9);
        let heading = format!(
            "{} {}: {:.1} s, caller {load:.1} % busy{memory}",
            self.plan.workload.name,
            self.policy,
            ran.as_secs_f64()
        );
        live.draw(&heading, &shown, log);
    }

    /// Looks at the stamps of calls that something is to be learnt from.
    fn learn(&mut self, ran: Duration) {
        let Some(pilot) = &mut self.pilot else { return };
        let wanted = (0..self.lanes.len()).any(|lane| pilot.wants(lane));
        let node = &mut self.peer.node;
        if wanted != self.learning {
            node.platform().take_trace();
            node.platform_mut().set_tracing(wanted);
            self.learning = wanted;
            self.since = 0;
        }
        if !wanted || self.since < CALLS {
            return;
        }
        self.since = 0;
        let trace = node.platform().take_trace();
        let lanes = &self.lanes;
        let lane = |id: u32| {
            let place =
                |lane: &Lane<'_>| lane.id.is_some_and(|own| u32::from(own.place()) == id >> 16);
            lanes.iter().position(|lane| lane.as_ref().is_some_and(place))
        };
        for call in phases::away(&trace.records, self.plan.scale) {
            let others: Vec<usize> = call.beside.iter().filter_map(|id| lane(*id)).collect();
            if let Some(lane) = lane(call.id) {
                pilot.learn(lane, call.nanos, &others, ran);
            }
        }
    }
}
