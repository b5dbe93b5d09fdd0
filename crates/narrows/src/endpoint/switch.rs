//! How the phases of a flow follow each other: opening it and changing its strategy, and what the
//! two stacks say to each other for that.

use core::time::Duration;

use super::control::Control;
use super::flow::{Flow, Phase};
use super::{FlowError, FlowId, Node};
use crate::link::{LinkId, Target};
use crate::memory::Corrupt;
use crate::notify;
use crate::platform::{FlowEnd, FlowNote, FlowStage, Instant, Platform};
use crate::strategy::{Notification, Strategy};

impl Flow {
    /// What follows from an answer of the peer's stack: the phase.
    fn answered(&mut self, control: Control) -> Result<Phase, Corrupt> {
        match (control, self.phase) {
            (Control::Opened(None), Phase::Opening) => Ok(Phase::Unusable(FlowError::NotFound)),
            (Control::Opened(Some(place)), Phase::Opening) => {
                if let Target::Named(_) = self.target {
                    self.target = Target::Function(place);
                }
                Ok(Phase::Draining(self.strategy))
            }
            (Control::Agreed(true), Phase::Agreeing(new)) => {
                self.strategy = new;
                self.agreed = true;
                Ok(Phase::Running)
            }
            (Control::Agreed(false), Phase::Agreeing(_)) if self.agreed => Ok(Phase::Refused),
            (Control::Agreed(false), Phase::Agreeing(_)) => {
                Ok(Phase::Unusable(FlowError::Infeasible))
            }
            _ => Err(Corrupt::Control),
        }
    }
}

impl<P: Platform> Node<P> {
    /// See [`FlowView::is_ready`](super::FlowView::is_ready).
    pub(super) fn is_ready(&mut self, flow: FlowId) -> Result<bool, FlowError> {
        let found = self.get_flow(flow).ok_or(FlowError::Unknown)?;
        match found.phase {
            Phase::Running => Ok(true),
            Phase::Gone(reason) => Err(FlowError::Gone(reason)),
            Phase::Unusable(error) => Err(error),
            Phase::Closing => Err(FlowError::Unknown),
            Phase::Refused => {
                self.set_phase(flow.index, Phase::Running);
                Err(FlowError::Infeasible)
            }
            Phase::Asking | Phase::Opening | Phase::Draining(_) | Phase::Agreeing(_) => {
                self.stuck(found.link).map_or(Ok(false), |reason| Err(FlowError::Gone(reason)))
            }
        }
    }

    /// See [`FlowView::strategy`](super::FlowView::strategy).
    pub(super) fn strategy_of(&self, flow: FlowId) -> Option<Strategy> {
        self.get_flow(flow).map(|f| f.strategy)
    }

    /// See [`FlowView::is_switching`](super::FlowView::is_switching).
    pub(super) fn is_switching(&self, flow: FlowId) -> bool {
        self.get_flow(flow).is_some_and(|f| f.phase.switching())
    }

    /// See [`FlowView::switch`](super::FlowView::switch).
    pub(super) fn switch(
        &mut self,
        flow: FlowId,
        strategy: Strategy,
        within: Option<Duration>,
    ) -> Result<(), FlowError> {
        let deadline = self.deadline(within);
        self.begin_switch(flow, strategy)?;
        let switched = self.settle(flow, deadline);
        if switched == Err(FlowError::Deadline)
            && let Some(Phase::Draining(_)) = self.get_flow(flow).map(|f| f.phase)
        {
            self.set_phase(flow.index, Phase::Running);
        }
        switched
    }

    /// See [`FlowView::begin_switch`](super::FlowView::begin_switch).
    pub(super) fn begin_switch(
        &mut self,
        flow: FlowId,
        strategy: Strategy,
    ) -> Result<(), FlowError> {
        let strategy = strategy.check().map_err(FlowError::Strategy)?;
        let found = self.get_flow(flow).ok_or(FlowError::Unknown)?;
        let link = found.link;
        match found.phase {
            Phase::Running | Phase::Refused => {}
            // Its link may have made place for another: only the flow knows of it still.
            Phase::Gone(reason) => return Err(FlowError::Gone(reason)),
            Phase::Unusable(error) => return Err(error),
            _ => return Err(FlowError::Switching),
        }
        if let Some(reason) = self.gone(link) {
            return Err(FlowError::Gone(reason));
        }
        if !self.feasible(link, &strategy) {
            return Err(FlowError::Infeasible);
        }
        self.set_phase(flow.index, Phase::Draining(strategy));
        self.advance();
        Ok(())
    }

    /// Says to the peers' stacks what flows have to say and could not yet.
    pub(super) fn advance(&mut self) {
        for index in 0..self.flows.len() as u16 {
            let Some(flow) = self.flow_at(index).filter(|f| f.phase.pending()) else { continue };
            let (phase, link, longest) = (flow.phase, flow.link, flow.longest_response);
            let id = FlowId { index, life: flow.life };
            let (control, then) = match (phase, flow.target) {
                (Phase::Asking, Target::Port(port)) => (Control::OpenPort(port), Phase::Opening),
                (Phase::Asking, Target::Named(name)) => {
                    (Control::OpenFunction(name), Phase::Opening)
                }
                (Phase::Draining(strategy), _) => {
                    if flow.batch.is_some() && self.flush(id).is_err() {
                        continue;
                    }
                    if self.get_flow(id).is_none_or(|f| f.on_the_way > 0) {
                        continue;
                    }
                    (Control::Propose(strategy, longest), Phase::Agreeing(strategy))
                }
                (Phase::Closing, _) => (Control::Close, Phase::Closing),
                _ => continue,
            };
            let question = self.questions.wrapping_add(1);
            if !self.send_control(link, index, 0, question, control) {
                continue;
            }
            self.questions = question;
            if phase == Phase::Closing {
                self.forget_flow(index);
                continue;
            }
            // Sending may have ended the link, and with it the flow.
            if let Some(flow) = self.get_flow_mut(id).filter(|flow| flow.phase == phase) {
                flow.question = question;
                self.set_phase(index, then);
            }
        }
    }

    /// Waits until a flow can be used.
    pub(super) fn settle(
        &mut self,
        id: FlowId,
        deadline: Option<Instant>,
    ) -> Result<(), FlowError> {
        loop {
            self.poll();
            if self.is_ready(id)? {
                return Ok(());
            }
            if self.passed(deadline) {
                return Err(FlowError::Deadline);
            }
            let how = notify::quickest([self.agreed(), self.notification].into_iter())
                .unwrap_or(Notification::Interrupt);
            self.wait(how, deadline, None);
        }
    }

    /// The peer answers what was asked of it for a flow of this node's.
    pub(super) fn answered(
        &mut self,
        id: LinkId,
        index: u16,
        question: u16,
        control: Control,
    ) -> Result<(), Corrupt> {
        if usize::from(index) >= self.flows.len() {
            return Err(Corrupt::Control);
        }
        let flow = self.flows.get_mut(usize::from(index)).and_then(Option::as_mut);
        // An answer that nobody waits for any more: its flow was closed, or asked anew.
        let Some(flow) = flow.filter(|f| f.link == id && f.question == question) else {
            return Ok(());
        };
        let phase = flow.answered(control)?;
        self.set_phase(index, phase);
        Ok(())
    }

    /// Puts a flow in another phase, and has the platform note it.
    pub(super) fn set_phase(&mut self, index: u16, phase: Phase) {
        self.enter_phase(index, phase);
        self.note_flow(index);
    }

    /// Has the platform note what is at a place of the table.
    pub(super) fn note_flow(&self, index: u16) {
        let note = self.flow_at(index).and_then(|flow| {
            let stage = match flow.phase {
                Phase::Unusable(_) | Phase::Closing => return None,
                Phase::Gone(_) => FlowStage::Gone,
                Phase::Running | Phase::Refused => FlowStage::Running,
                _ if flow.agreed => FlowStage::Switching,
                _ => FlowStage::Opening,
            };
            let to = match flow.target {
                Target::Port(port) => Some(FlowEnd::Port(port)),
                Target::Named(name) => Some(FlowEnd::Function(name)),
                Target::Function(_) | Target::Nowhere => None,
            };
            let link = self.links.get(flow.link)?.key;
            Some(FlowNote { link, to, strategy: flow.strategy, stage })
        });
        self.platform.flow(index, note.as_ref());
    }

    /// Puts a flow in another phase.
    pub(super) fn enter_phase(&mut self, index: u16, phase: Phase) {
        let Some(Some(flow)) = self.flows.get_mut(usize::from(index)) else { return };
        let before = core::mem::replace(&mut flow.phase, phase);
        self.pending = self.pending - u16::from(before.pending()) + u16::from(phase.pending());
        self.changed();
        self.note_timers();
    }
}
