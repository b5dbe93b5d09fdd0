//! The controller at work in a run: what it is told, what it decides, and what becomes of it.

mod log;

use super::lane::{Lane, Stage};
use super::setup::Setup;
use crate::base::report::DecisionRow;
use crate::rig::peer::Peer;
use crate::rig::place::Place;
use narrows::endpoint::FlowError;
use narrows::strategy::{Notification, Parts, Strategy};
use narrows_tune::control::{Cause, ControlError, Controller, Handle, Learner, Switch};
use narrows_tune::model::{Flow, Waits, estimate};
use narrows_tune::optimise::Dsp;
use narrows_tune::rooms::ControlRooms;
use std::time::Duration;

/// Parts per million of a percent.
const PERCENT: f64 = 1e4;

/// How both sides wait for calls that are learnt from.
const BY_INTERRUPT: Waits =
    Waits { caller: Notification::Interrupt, callee: Notification::Interrupt };

/// What is known of one of the workload's flows.
#[derive(Default)]
struct Known {
    /// Its name with the controller, while it is there.
    handle: Option<Handle>,
    /// Whether it begins later: when others have made room, or, as long as it has no name, when a
    /// switch has ended beside which it found none.
    waits: bool,
    learner: Learner,
    switches: u64,
    /// Bytes of its requests and responses, since they have become others.
    size: Option<[u32; 2]>,
}

impl Known {
    /// The flow with the size that it has now.
    fn sized(&self, flow: Flow) -> Flow {
        let [request, response] = self.size.unwrap_or([flow.request, flow.response]);
        Flow { request, response, ..flow }
    }
}

/// A switch that lanes carry out.
#[derive(Clone, Copy)]
struct UnderWay {
    lane: usize,
    switch: Switch,
    began: Duration,
}

pub(super) struct Pilot<'a, 's> {
    setup: &'s Setup,
    controller: Controller<'a, 's>,
    flows: Vec<Known>,
    /// Flows whose functions' time has been learnt, and what it is.
    learnt: Vec<(Flow, Flow)>,
    /// Bytes of internal memory that flows may take of each core that is called.
    memory: u32,
    under_way: Option<UnderWay>,
    /// When flows have rested that something is to be tried with again.
    again: Option<Duration>,
    /// When it was decided on a missed deadline last.
    missed: Option<Duration>,
    pub log: Vec<DecisionRow>,
    /// All switches of decisions before this one have ended.
    open: usize,
}

impl<'a, 's> Pilot<'a, 's> {
    /// # Errors
    /// [`ControlError::Budget`].
    pub fn new(
        setup: &'s Setup,
        rooms: &'a mut ControlRooms<'s>,
    ) -> Result<Pilot<'a, 's>, ControlError> {
        let Setup { costs, load, settings, .. } = *setup;
        let controller = Controller::new(rooms.tables(), costs, &setup.dsps, load, settings)?;
        Ok(Pilot {
            setup,
            controller,
            flows: setup.flows.iter().map(|_| Known::default()).collect(),
            learnt: Vec::new(),
            memory: setup.dsps.first().map_or(0, |dsp| dsp.memory),
            under_way: None,
            again: None,
            missed: None,
            log: Vec::new(),
            open: 0,
        })
    }

    /// A flow comes: what it begins with, and at which of the cores that are called; none if it
    /// waits until others have switched.
    ///
    /// # Errors
    /// It cannot be carried beside the others.
    pub fn arrive(
        &mut self,
        lane: usize,
        now: Duration,
    ) -> Result<Option<(Strategy, u8)>, ControlError> {
        let setup = self.setup;
        let one = &setup.flows[lane];
        let learnt = self.learnt.iter().find(|(flow, _)| *flow == one.flow);
        let flow = learnt.map_or(one.flow, |(_, learnt)| *learnt);
        let flow = self.flows[lane].sized(flow);
        let known = learnt.is_some() || setup.known;
        let begun = match self.controller.arrive(flow, &one.strategies, known) {
            Err(ControlError::NoRoom) => {
                self.controller.reserve(flow, &one.strategies).map(|flow| (flow, None))
            }
            begun => begun.map(|start| (start.flow, Some((start.strategy, start.dsp)))),
        };
        match begun {
            Ok((flow, begun)) => {
                let known = &mut self.flows[lane];
                (known.handle, known.waits) = (Some(flow), begun.is_none());
                known.learner = Learner::default();
                self.decide(Cause::Arrived, Some(lane), now);
                Ok(begun)
            }
            // The flow that switches could not be told to take less just now.
            Err(_) if self.under_way.is_some() => {
                self.flows[lane].waits = true;
                Ok(None)
            }
            Err(error) => {
                self.refuse(Cause::Arrived, Some(lane), now, &error);
                Err(error)
            }
        }
    }

    /// What a flow that waits begins with, once others have made room; none until then.
    ///
    /// # Errors
    /// They could not, and it is forgotten.
    pub fn begin(
        &mut self,
        lane: usize,
        now: Duration,
    ) -> Result<Option<(Strategy, u8)>, ControlError> {
        if !self.flows[lane].waits {
            return Ok(None);
        }
        let Some(handle) = self.flows[lane].handle else {
            if self.under_way.is_some() {
                return Ok(None);
            }
            self.flows[lane].waits = false;
            return self.arrive(lane, now);
        };
        if let Some(start) = self.controller.begin(handle, now)? {
            self.flows[lane].waits = false;
            return Ok(Some((start.strategy, start.dsp)));
        }
        if self.under_way.is_some() || self.controller.switches().next().is_some() {
            return Ok(None);
        }
        let error = ControlError::NoRoom;
        self.leave(lane, now);
        self.refuse(Cause::Arrived, Some(lane), now, &error);
        Err(error)
    }

    /// Whether any flow waits for others to make room.
    pub fn is_awaited(&self) -> bool {
        self.flows.iter().any(|one| one.waits)
    }

    /// A flow leaves, if it is there.
    pub fn leave(&mut self, lane: usize, now: Duration) {
        self.flows[lane].waits = false;
        let Some(handle) = self.flows[lane].handle.take() else { return };
        if self.controller.leave(handle).is_err() {
            return;
        }
        if self.under_way.is_some_and(|one| one.lane == lane) {
            self.under_way = None;
            if let Some(row) = self.row(lane) {
                row.failed = Some("the flow left".to_owned());
            }
        }
        self.decide(Cause::Left, Some(lane), now);
    }

    /// Flows may take this many bytes of internal memory of each core that is called.
    pub fn budget(&mut self, memory: u32, now: Duration) {
        for (dsp, has) in self.setup.dsps.iter().enumerate() {
            // There is such a DSP.
            let _ = self.controller.set_dsp(dsp as u8, Dsp { memory, ..*has });
        }
        self.memory = memory;
        self.decide(Cause::Budget, None, now);
    }

    /// A flow's requests and responses have this many bytes.
    pub fn resize(&mut self, lane: usize, bytes: [usize; 2], now: Duration) {
        let Some(known) = self.flows.get_mut(lane) else { return };
        known.size = Some(bytes.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX)));
        let Some(handle) = known.handle else { return };
        let Some(flow) = self.controller.flow(handle).map(|state| known.sized(*state.flow()))
        else {
            return;
        };
        match self.controller.change(handle, flow) {
            Ok(()) => self.decide(Cause::Changed, Some(lane), now),
            Err(error) => self.refuse(Cause::Changed, Some(lane), now, &error),
        }
    }

    /// A response came later than its deadline.
    pub fn miss(&mut self, lane: usize, now: Duration, latency: Duration) {
        let Some(handle) = self.flows[lane].handle else { return };
        let rest = self.setup.settings.rest;
        if self.controller.missed(handle, now, latency).is_err()
            || self.missed.is_some_and(|last| now.saturating_sub(last) < rest)
        {
            return;
        }
        self.missed = Some(now);
        self.decide(Cause::Missed, Some(lane), now);
    }

    /// Whether spans of a flow's calls say something that is not known yet: it is there, and by
    /// interrupt.
    pub fn wants(&self, lane: usize) -> bool {
        let Some(handle) = self.flows.get(lane).and_then(|one| one.handle) else { return false };
        let by = self.controller.strategy_of(handle);
        let plain = |by: Strategy| Waits::of(&by) == BY_INTERRUPT && by.parts == Parts::WHOLE;
        let told = by.is_some_and(plain);
        let flow = &self.setup.flows[lane].flow;
        told && !self.setup.known && !self.learnt.iter().any(|(known, _)| known == flow)
    }

    /// A call of a flow: how long it was away, from the end of phase B until E began, in
    /// nanoseconds, and of which flows there were calls meanwhile.
    pub fn learn(&mut self, lane: usize, away: f64, beside: &[usize], now: Duration) {
        let Some(handle) = self.flows[lane].handle.filter(|_| self.wants(lane)) else { return };
        let (Some(state), Some(by)) =
            (self.controller.flow(handle), self.controller.strategy_of(handle))
        else {
            return;
        };
        let flow = *state.flow();
        let costs = *self.controller.costs();
        let Ok(made) = estimate(&costs, &flow, &by) else { return };
        let serves = |lane: &usize| {
            let handle = self.flows.get(*lane).and_then(|one| one.handle)?;
            let state = self.controller.flow(handle)?;
            estimate(&costs, state.flow(), &self.controller.strategy_of(handle)?).ok()
        };
        let others = beside.iter().filter_map(serves).map(|made| made.callee).sum();
        let learner = &mut self.flows[lane].learner;
        learner.add((away * 1e3) as u64, others);
        let Some(work) = learner.learnt(&costs, &made, flow.work) else { return };
        let known = self.setup.flows[lane].flow;
        let found = Flow { work, ..flow };
        self.learnt.push((known, found));
        if work == flow.work {
            return;
        }
        for (own, one) in self.setup.flows.iter().zip(&self.flows) {
            if let Some(handle) = one.handle.filter(|_| own.flow == known) {
                // One that has become impossible stays as it was, and its misses are told.
                let _ = self.controller.change(handle, one.sized(found));
            }
        }
        self.decide(Cause::Learnt, Some(lane), now);
    }

    /// Goes on with what is to be done: true if something has changed.
    ///
    /// # Errors
    /// A flow cannot be used any more: which, by what strategy, and why.
    pub fn steer<P: Place>(
        &mut self,
        peer: &mut Peer<P>,
        lanes: &mut [Option<Lane<'_>>],
        now: Duration,
    ) -> Result<bool, (usize, Strategy, FlowError)> {
        if self.again.is_some_and(|again| again <= now) {
            self.again = None;
            self.decide(Cause::Rested, None, now);
        }
        let mut any = false;
        loop {
            let Some(UnderWay { lane: index, switch, began }) = self.next(now) else {
                return Ok(any);
            };
            let Some(Some(lane)) = lanes.get_mut(index) else { return Ok(any) };
            if lane.stage != Stage::Here {
                return Ok(any);
            }
            lane.held = true;
            let link = peer.links().nth(switch.dsp.into()).filter(|_| switch.moves);
            let switched = match link {
                Some(link) => lane.move_to(&mut peer.node, link, switch.to),
                None => lane.switch(&mut peer.node, switch.to),
            };
            match switched {
                Ok(false) => return Ok(any),
                Ok(true) => {}
                Err(error @ (FlowError::Gone(_) | FlowError::Unknown)) => {
                    return Err((index, switch.to, error));
                }
                Err(_) => lane.strategy = switch.from,
            }
            any = true;
            lane.held = false;
            self.ended(index, began, switched.err(), now);
        }
    }

    /// The switch that is under way, or the next one.
    fn next(&mut self, now: Duration) -> Option<UnderWay> {
        if self.under_way.is_none() {
            // A flow that waits to be planned with comes before what was planned without it.
            if self.flows.iter().any(|one| one.waits && one.handle.is_none()) {
                return None;
            }
            let switch = self.controller.next_switch()?;
            let lane = self.flows.iter().position(|one| one.handle == Some(switch.flow))?;
            self.under_way = Some(UnderWay { lane, switch, began: now });
        }
        self.under_way
    }

    fn ended(&mut self, lane: usize, began: Duration, error: Option<FlowError>, now: Duration) {
        let Some(UnderWay { switch, .. }) = self.under_way.take() else { return };
        self.again = Some(now + self.setup.settings.rest);
        match error {
            None => {
                self.flows[lane].switches += 1;
                if let Some(row) = self.row(lane) {
                    row.took_ms = Some(now.saturating_sub(began).as_secs_f64() * 1e3);
                }
                // It is under way, so the controller knows it.
                let _ = self.controller.done(switch.flow, now);
            }
            Some(error) => {
                if let Some(row) = self.row(lane) {
                    row.failed = Some(error.to_string());
                }
                let refused = matches!(error, FlowError::Infeasible | FlowError::Strategy(_));
                let _ = self.controller.failed(switch.flow, now, refused);
                self.decide(Cause::Failed, Some(lane), now);
            }
        }
    }

    fn decide(&mut self, cause: Cause, lane: Option<usize>, now: Duration) {
        self.supersede();
        match self.controller.decide(now, cause) {
            Ok(made) => self.note(made, lane, now),
            Err(error) => self.refuse(cause, lane, now, &error),
        }
    }

    /// Whether a switch is being carried out.
    pub fn is_switching(&self) -> bool {
        self.under_way.is_some()
    }

    /// When something is to be done if nothing happens.
    pub fn again(&self) -> Option<Duration> {
        self.again
    }

    /// How often a flow has switched.
    pub fn switches(&self, lane: usize) -> u64 {
        self.flows.get(lane).map_or(0, |one| one.switches)
    }

    /// What a flow is reckoned to take of the calling core, in percent.
    pub fn load(&self, lane: usize) -> Option<f64> {
        let handle = self.flows.get(lane)?.handle?;
        let state = self.controller.flow(handle)?;
        let by = self.controller.strategy_of(handle)?;
        let made = estimate(self.controller.costs(), state.flow(), &by).ok()?;
        Some(f64::from(made.load) / PERCENT)
    }

    /// Bytes of internal memory that all flows take, and that they may.
    pub fn memory(&self) -> (u64, u64) {
        (self.taken().sum(), u64::from(self.memory) * self.setup.dsps.len() as u64)
    }

    /// Bytes of internal memory that flows take of each core that is called.
    fn taken(&self) -> impl Iterator<Item = u64> {
        (0..self.setup.dsps.len()).map(|dsp| self.controller.memory(dsp as u8))
    }
}
