//! Flows: a stream of calls to one function, or of messages to one port, and its strategy.
//!
//! A strategy changes while a flow runs without losing, doubling or reordering a message: the flow
//! *drains* (nothing new is started until every call has been answered), the two sides *agree* (the
//! proposal travels in the flow's own order, behind everything sent before it), and then both
//! *switch*.

use core::time::Duration;

use super::control::Control;
use super::queue::Queue;
use super::{Address, Node, SendError};
use crate::driver;
use crate::link::{LinkId, Name, Target};
use crate::memory::{Block, Corrupt};
use crate::notify;
use crate::platform::{Lost, Platform};
use crate::strategy::{Notification, Strategy, StrategyError};

/// A flow that this node opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowId {
    pub(super) index: u16,
    pub(super) life: u32,
}

impl FlowId {
    /// The flow's place in its node's table, which stamps of its calls have in the upper half of
    /// their identifiers; the lower half is the call's number.
    #[must_use]
    pub fn place(self) -> u16 {
        self.index
    }
}

/// Why a flow could not be opened or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowError {
    /// No such link or flow.
    Unknown,
    /// The peer is gone.
    Gone(Lost),
    /// The peer's library has no function of that name, or the port is not open there.
    NotFound,
    /// The peer did not answer before the deadline. A flow that was to change its strategy keeps
    /// the one it had; if the peer had been asked already, it changes when the answer comes: see
    /// [`Node::is_switching`].
    Deadline,
    /// This node's table of flows is full.
    Full,
    /// The figures of the strategy are impossible.
    Strategy(StrategyError),
    /// One side cannot do what the strategy asks: no copy engine, or no memory of that placement.
    /// The flow keeps the strategy it had.
    Infeasible,
    /// The flow is already changing its strategy.
    Switching,
    /// Calls are outstanding.
    Outstanding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The peer has to be asked for the function or port.
    Asking,
    /// Waiting for the answer to that.
    Opening,
    Running,
    /// Waiting for outstanding calls before proposing.
    Draining(Strategy),
    /// Waiting for the answer to a proposal.
    Agreeing(Strategy),
    /// The peer said no to a change: what is over is said once, to whoever asked.
    Refused,
    /// It could not be opened.
    Unusable(FlowError),
    /// Nobody's any more: the peer has to be told.
    Closing,
    Gone(Lost),
}

/// Requests that are gathered into one message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    pub block: Block,
    pub capacity: u32,
    pub used: u32,
    pub count: u16,
    pub first: u16,
}

/// See the module page.
pub(super) struct Flow {
    pub link: LinkId,
    pub target: Target,
    pub strategy: Strategy,
    pub longest_response: u32,
    pub phase: Phase,
    /// The next call's number.
    pub next: u16,
    /// The number of the next call to finish.
    pub done: u16,
    /// Request messages whose response message has not arrived.
    pub on_the_way: u16,
    pub responses: Queue,
    /// Calls started and not finished.
    pub outstanding: u16,
    /// Finished calls that nobody waits for any more.
    pub abandoned: u16,
    /// How far into the first response message its calls have been finished.
    pub read: u32,
    pub batch: Option<Batch>,
    /// Whether a strategy has been agreed.
    pub agreed: bool,
    /// The number of the last question to the peer's stack: an answer to another is stale.
    pub question: u16,
    pub life: u32,
}

impl Flow {
    /// Calls that are with the peer, or answered and not finished.
    pub fn sent(&self) -> u16 {
        let started = self.outstanding.saturating_add(self.abandoned);
        started.saturating_sub(self.batch.map_or(0, |batch| batch.count))
    }

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

/// A block of the own pool in which a payload is being made, so that nothing has to be copied in.
#[derive(Debug)]
#[must_use = "a block that is neither sent nor cancelled stays in use"]
pub struct Reserved {
    pub(super) link: LinkId,
    pub(super) block: Option<Block>,
    pub(super) len: u32,
}

impl Reserved {
    /// Bytes reserved.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }
    /// Whether nothing can be written: it was sent or cancelled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.block.is_none()
    }
}

/// What a call or a message carries.
#[derive(Debug)]
pub enum Payload<'a> {
    /// Bytes in private memory; the flow's driver brings them into the pool.
    Bytes(&'a [u8]),
    /// What was made in a reserved block. It is sent by a call that succeeds, and stays reserved
    /// if one fails.
    Reserved(&'a mut Reserved),
}

impl<'a> From<&'a [u8]> for Payload<'a> {
    fn from(bytes: &'a [u8]) -> Payload<'a> {
        Payload::Bytes(bytes)
    }
}
impl<'a> From<&'a mut Reserved> for Payload<'a> {
    fn from(reserved: &'a mut Reserved) -> Payload<'a> {
        Payload::Reserved(reserved)
    }
}

impl Payload<'_> {
    pub(super) fn driven(&self, link: LinkId) -> Option<driver::Payload<'_>> {
        match self {
            Payload::Bytes(bytes) => Some(driver::Payload::Bytes(bytes)),
            Payload::Reserved(r) => (r.link == link)
                .then_some(())
                .and(r.block)
                .map(|block| driver::Payload::Block { block, len: r.len }),
        }
    }
    pub(super) fn spent(&mut self) {
        if let Payload::Reserved(reserved) = self {
            reserved.block = None;
        }
    }
}

impl<P: Platform> Node<P> {
    /// Opens a flow of calls to a function of the peer's library.
    ///
    /// `longest_response` is the most bytes that a response may have.
    ///
    /// # Errors
    /// See [`FlowError`].
    pub fn flow(
        &mut self,
        link: LinkId,
        function: &Name,
        strategy: Strategy,
        longest_response: u32,
        within: Option<Duration>,
    ) -> Result<FlowId, FlowError> {
        self.open_flow(link, Target::Named(*function), strategy, longest_response, within)
    }

    /// Opens a flow of messages to a port of the peer's.
    ///
    /// # Errors
    /// See [`FlowError`].
    pub fn flow_to(
        &mut self,
        to: Address,
        strategy: Strategy,
        within: Option<Duration>,
    ) -> Result<FlowId, FlowError> {
        self.open_flow(to.link, Target::Port(to.port), strategy, 0, within)
    }

    fn open_flow(
        &mut self,
        link: LinkId,
        target: Target,
        strategy: Strategy,
        longest_response: u32,
        within: Option<Duration>,
    ) -> Result<FlowId, FlowError> {
        let deadline = self.deadline(within);
        let id = self.begin(link, target, strategy, longest_response)?;
        let opened = self.settle(id, deadline);
        if opened.is_err() {
            self.drop_flow(id);
        }
        opened.map(|()| id)
    }

    /// Begins to open a flow of calls; it can be used once it [is ready](Node::is_ready). A flow
    /// that comes to nothing has to be [closed](Node::close_flow).
    ///
    /// # Errors
    /// See [`FlowError`]; nothing was begun.
    pub fn begin_flow(
        &mut self,
        link: LinkId,
        function: &Name,
        strategy: Strategy,
        longest_response: u32,
    ) -> Result<FlowId, FlowError> {
        self.begin(link, Target::Named(*function), strategy, longest_response)
    }

    /// As [`Node::begin_flow`], to a port.
    ///
    /// # Errors
    /// See [`FlowError`]; nothing was begun.
    pub fn begin_flow_to(&mut self, to: Address, strategy: Strategy) -> Result<FlowId, FlowError> {
        self.begin(to.link, Target::Port(to.port), strategy, 0)
    }

    fn begin(
        &mut self,
        link: LinkId,
        target: Target,
        strategy: Strategy,
        longest_response: u32,
    ) -> Result<FlowId, FlowError> {
        let strategy = strategy.check().map_err(FlowError::Strategy)?;
        if let Some(reason) = self.gone(link) {
            return Err(FlowError::Gone(reason));
        }
        if self.links.get(link).is_none() {
            return Err(FlowError::Unknown);
        }
        if !self.feasible(link, &strategy) {
            return Err(FlowError::Infeasible);
        }
        let index = self.flows.iter().position(Option::is_none).ok_or(FlowError::Full)? as u16;
        self.flow_lives = self.flow_lives.wrapping_add(1);
        let id = FlowId { index, life: self.flow_lives };
        if let Some(place) = self.flows.get_mut(usize::from(index)) {
            *place = Some(Flow {
                link,
                target,
                strategy,
                longest_response,
                phase: Phase::Running,
                next: 0,
                done: 0,
                on_the_way: 0,
                responses: Queue::default(),
                outstanding: 0,
                abandoned: 0,
                read: 0,
                batch: None,
                agreed: false,
                question: 0,
                life: id.life,
            });
        }
        self.set_phase(index, Phase::Asking);
        self.advance();
        Ok(id)
    }

    /// Whether a flow can be used: it is open and is not changing its strategy. Does not look at
    /// the rings: see [`Node::poll`].
    ///
    /// # Errors
    /// It never will be: [`FlowError::NotFound`], [`FlowError::Infeasible`], [`FlowError::Gone`],
    /// [`FlowError::Unknown`]. That a change of strategy was refused ([`FlowError::Infeasible`]) is
    /// said once, and the flow goes on in the strategy it had.
    pub fn is_ready(&mut self, flow: FlowId) -> Result<bool, FlowError> {
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

    /// The strategy that a flow has now.
    pub fn strategy_of(&self, flow: FlowId) -> Option<Strategy> {
        self.get_flow(flow).map(|f| f.strategy)
    }

    /// Whether a flow is changing its strategy.
    pub fn is_switching(&self, flow: FlowId) -> bool {
        self.get_flow(flow).is_some_and(|f| f.phase.switching())
    }

    /// Changes a flow's strategy, waiting until both sides use the new one. Responses that arrive
    /// meanwhile are kept.
    ///
    /// # Errors
    /// See [`FlowError`]; unless the peer is gone, the flow goes on in the strategy it had.
    pub fn switch(
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

    /// Begins to change a flow's strategy. Until it has [changed](Node::is_switching), nothing new
    /// can be started on it; outstanding calls are answered as before.
    ///
    /// # Errors
    /// See [`FlowError`].
    pub fn begin_switch(&mut self, flow: FlowId, strategy: Strategy) -> Result<(), FlowError> {
        let strategy = strategy.check().map_err(FlowError::Strategy)?;
        let link = self.flow_link(flow).ok_or(FlowError::Unknown)?;
        if let Some(reason) = self.gone(link) {
            return Err(FlowError::Gone(reason));
        }
        if !self.feasible(link, &strategy) {
            return Err(FlowError::Infeasible);
        }
        match self.get_flow(flow).ok_or(FlowError::Unknown)?.phase {
            Phase::Running | Phase::Refused => {}
            Phase::Gone(reason) => return Err(FlowError::Gone(reason)),
            Phase::Unusable(error) => return Err(error),
            _ => return Err(FlowError::Switching),
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
    fn settle(
        &mut self,
        id: FlowId,
        deadline: Option<crate::platform::Instant>,
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

    /// Closes a flow.
    ///
    /// # Errors
    /// [`FlowError::Outstanding`]: finish the calls first, or close the link.
    pub fn close_flow(&mut self, flow: FlowId) -> Result<(), FlowError> {
        let found = self.get_flow(flow).ok_or(FlowError::Unknown)?;
        let gone = matches!(found.phase, Phase::Gone(_));
        if !gone && (found.outstanding > 0 || found.on_the_way > 0) {
            return Err(FlowError::Outstanding);
        }
        self.drop_flow(flow);
        Ok(())
    }

    /// Gives back what a flow has. Its place in the table is free once the peer knows.
    fn drop_flow(&mut self, id: FlowId) {
        let Some(flow) = self.get_flow_mut(id) else { return };
        let (phase, mut responses) = (flow.phase, core::mem::take(&mut flow.responses));
        while let Some(at) = responses.pop(&mut self.links, &super::Select::default()) {
            self.release(at);
        }
        self.drop_batch(id.index);
        match phase {
            Phase::Gone(_) | Phase::Asking | Phase::Unusable(FlowError::NotFound) => {
                self.forget_flow(id.index);
            }
            _ => {
                self.flow_lives = self.flow_lives.wrapping_add(1);
                self.questions = self.questions.wrapping_add(1);
                let (life, question) = (self.flow_lives, self.questions);
                if let Some(flow) = self.get_flow_mut(id) {
                    (flow.life, flow.question) = (life, question);
                }
                self.set_phase(id.index, Phase::Closing);
                self.advance();
            }
        }
    }

    /// Gives back the block of requests that were gathered and not sent.
    pub(super) fn drop_batch(&mut self, index: u16) {
        let Some(Some(flow)) = self.flows.get_mut(usize::from(index)) else { return };
        if let (Some(batch), Some(link)) = (flow.batch.take(), self.links.get_mut(flow.link)) {
            link.shared.put_back(batch.block);
        }
    }

    /// Frees a flow's place in the table.
    pub(super) fn forget_flow(&mut self, index: u16) {
        self.set_phase(index, Phase::Running);
        if let Some(place) = self.flows.get_mut(usize::from(index)) {
            *place = None;
        }
    }

    pub(super) fn set_phase(&mut self, index: u16, phase: Phase) {
        let Some(Some(flow)) = self.flows.get_mut(usize::from(index)) else { return };
        let before = core::mem::replace(&mut flow.phase, phase);
        self.pending = self.pending - u16::from(before.pending()) + u16::from(phase.pending());
    }

    pub(super) fn flow_at(&self, index: u16) -> Option<&Flow> {
        self.flows.get(usize::from(index))?.as_ref()
    }

    /// Reserves a block of the flow's placement to make a payload of `len` bytes in.
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn reserve(&mut self, flow: FlowId, len: usize) -> Result<Reserved, SendError> {
        let found = self.get_flow(flow).ok_or(SendError::Unknown)?;
        let (link, strategy) = (found.link, found.strategy);
        if let Some(reason) = self.gone(link) {
            return Err(SendError::Gone(reason));
        }
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        let shared = &mut self.links.get_mut(link).ok_or(SendError::Unknown)?.shared;
        let block =
            driver::take_block(shared, &strategy, len).map_err(super::message::send_error)?;
        Ok(Reserved { link, block: Some(block), len })
    }

    /// Writes to a reserved block; false if that is outside it, or it has been sent.
    #[inline]
    pub fn write(&mut self, reserved: &mut Reserved, at: usize, from: &[u8]) -> bool {
        let Some(block) = reserved.block else { return false };
        let inside = at.checked_add(from.len()).is_some_and(|end| end <= reserved.len as usize);
        let link = self.links.get(reserved.link).filter(|_| inside);
        link.is_some_and(|link| link.shared.write(block, at as u32, from))
    }

    /// Gives a reserved block back that is not wanted after all.
    pub fn cancel(&mut self, mut reserved: Reserved) {
        if let (Some(block), Some(link)) =
            (reserved.block.take(), self.links.get_mut(reserved.link))
        {
            link.shared.put_back(block);
        }
    }

    pub(super) fn get_flow(&self, id: FlowId) -> Option<&Flow> {
        self.flows.get(usize::from(id.index))?.as_ref().filter(|flow| flow.life == id.life)
    }

    pub(super) fn get_flow_mut(&mut self, id: FlowId) -> Option<&mut Flow> {
        self.flows.get_mut(usize::from(id.index))?.as_mut().filter(|flow| flow.life == id.life)
    }

    pub(super) fn flow_link(&self, id: FlowId) -> Option<LinkId> {
        self.get_flow(id).map(|flow| flow.link)
    }

    /// Where a flow of messages goes and how.
    pub(super) fn flow_to_port(&self, id: FlowId) -> Result<(LinkId, u16, Strategy), SendError> {
        let flow = self.get_flow(id).ok_or(SendError::Unknown)?;
        let Target::Port(port) = flow.target else { return Err(SendError::NoPort) };
        flow.phase.usable().map(|()| (flow.link, port, flow.strategy))
    }
}

impl Phase {
    fn switching(self) -> bool {
        matches!(self, Phase::Draining(_) | Phase::Agreeing(_))
    }

    /// Whether something has to be said to the peer's stack.
    pub(super) fn pending(self) -> bool {
        matches!(self, Phase::Asking | Phase::Draining(_) | Phase::Closing)
    }

    /// Whether something can be sent over a flow in this phase.
    ///
    /// # Errors
    /// What stands against it.
    pub(super) fn usable(self) -> Result<(), SendError> {
        match self {
            Phase::Running | Phase::Refused => Ok(()),
            Phase::Gone(reason) => Err(SendError::Gone(reason)),
            Phase::Unusable(_) | Phase::Closing => Err(SendError::Unknown),
            _ => Err(SendError::Switching),
        }
    }
}
