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
    pub(super) life: u16,
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
    /// The peer did not answer before the deadline. The flow keeps the strategy it had.
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
    Opening,
    Running,
    /// Waiting for outstanding calls before proposing.
    Draining(Strategy),
    /// Waiting for the answer to a proposal.
    Agreeing(Strategy),
    /// The peer said no: what is over is said once, to whoever asked.
    Refused,
    NotFound,
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
    pub life: u16,
}

impl Flow {
    /// Takes an answer of the peer's stack. True if it ends a switch.
    pub fn answered(&mut self, control: Control) -> Result<bool, Corrupt> {
        match (control, self.phase) {
            (Control::Opened(place), Phase::Opening) => {
                (self.target, self.phase) = match (place, self.target) {
                    (Some(place), Target::Named(_)) => (Target::Function(place), Phase::Running),
                    (Some(_), port) => (port, Phase::Running),
                    (None, target) => (target, Phase::NotFound),
                };
                Ok(false)
            }
            (Control::Agreed(yes), Phase::Agreeing(new)) => {
                if yes {
                    self.strategy = new;
                }
                self.phase = if yes { Phase::Running } else { Phase::Refused };
                Ok(true)
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
        let strategy = strategy.check().map_err(FlowError::Strategy)?;
        let deadline = self.deadline(within);
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
                phase: Phase::Opening,
                next: 0,
                done: 0,
                on_the_way: 0,
                responses: Queue::default(),
                outstanding: 0,
                abandoned: 0,
                read: 0,
                batch: None,
                life: id.life,
            });
        }
        let question = match target {
            Target::Port(port) => Control::OpenPort(port),
            Target::Named(name) => Control::OpenFunction(name),
            Target::Function(_) | Target::Nowhere => return Err(FlowError::Unknown),
        };
        while !self.send_control(link, index, 0, 0, question) {
            if self.passed(deadline) {
                self.drop_flow(id);
                return Err(FlowError::Deadline);
            }
            self.poll();
            self.wait(self.notification, deadline, Some(link));
        }
        let opened = self.settle(id, deadline, |phase| phase != Phase::Opening);
        let switched = opened.and_then(|()| {
            self.begin_switch(id, strategy)?;
            self.settle(id, deadline, |phase| !phase.switching())
        });
        if let Err(error) = switched {
            self.drop_flow(id);
            return Err(error);
        }
        Ok(id)
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
        self.settle(flow, deadline, |phase| !phase.switching())
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
        let found = self.get_flow_mut(flow).ok_or(FlowError::Unknown)?;
        match found.phase {
            Phase::Running | Phase::Refused => found.phase = Phase::Draining(strategy),
            Phase::Gone(reason) => return Err(FlowError::Gone(reason)),
            _ => return Err(FlowError::Switching),
        }
        self.switching += 1;
        self.advance_switches();
        Ok(())
    }

    /// Proposes the new strategy of every flow that has drained.
    pub(super) fn advance_switches(&mut self) {
        for index in 0..self.flows.len() {
            let Some(Some(flow)) = self.flows.get(index) else { continue };
            let Phase::Draining(strategy) = flow.phase else { continue };
            let (link, longest) = (flow.link, flow.longest_response);
            let id = FlowId { index: index as u16, life: flow.life };
            if flow.batch.is_some() && self.flush(id).is_err() {
                continue;
            }
            if self.get_flow(id).is_none_or(|f| f.on_the_way > 0) {
                continue;
            }
            // The phase changes first: the answer may be there before the sender looks again.
            let proposal = Control::Propose(strategy, longest);
            if self.send_control(link, index as u16, 0, 0, proposal)
                && let Some(flow) = self.get_flow_mut(id)
                && flow.phase == Phase::Draining(strategy)
            {
                flow.phase = Phase::Agreeing(strategy);
            }
        }
    }

    /// Waits until a flow's phase is as wanted.
    fn settle(
        &mut self,
        id: FlowId,
        deadline: Option<crate::platform::Instant>,
        wanted: impl Fn(Phase) -> bool,
    ) -> Result<(), FlowError> {
        loop {
            self.poll();
            let flow = self.get_flow_mut(id).ok_or(FlowError::Unknown)?;
            let link = flow.link;
            let unsent = matches!(flow.phase, Phase::Draining(_)) && flow.on_the_way == 0;
            match flow.phase {
                Phase::Gone(reason) => return Err(FlowError::Gone(reason)),
                Phase::NotFound => return Err(FlowError::NotFound),
                Phase::Refused => {
                    flow.phase = Phase::Running;
                    return Err(FlowError::Infeasible);
                }
                phase if wanted(phase) => return Ok(()),
                _ => {}
            }
            if self.passed(deadline) {
                return Err(FlowError::Deadline);
            }
            let how = notify::quickest([self.agreed(), self.notification].into_iter())
                .unwrap_or(Notification::Interrupt);
            self.wait(how, deadline, unsent.then_some(link));
        }
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

    fn drop_flow(&mut self, id: FlowId) {
        let Some(flow) = self.get_flow_mut(id) else { return };
        let (link, mut responses) = (flow.link, flow.responses);
        let switching = flow.phase.switching();
        let asked = !matches!(flow.phase, Phase::NotFound);
        if switching {
            self.switching = self.switching.saturating_sub(1);
        }
        while let Some(at) = responses.pop(&mut self.links, &super::Select::default()) {
            self.release(at);
        }
        if asked {
            self.send_control(link, id.index, 0, 0, Control::Close);
        }
        if let Some(place) = self.flows.get_mut(usize::from(id.index)) {
            *place = None;
        }
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
        match flow.phase {
            Phase::Gone(reason) => Err(SendError::Gone(reason)),
            phase if phase.switching() => Err(SendError::Switching),
            _ => Ok((flow.link, port, flow.strategy)),
        }
    }
}

impl Phase {
    pub(super) fn switching(self) -> bool {
        matches!(self, Phase::Draining(_) | Phase::Agreeing(_))
    }
}
