//! Flows: a stream of calls to one function, or of messages to one port, and its strategy.
//!
//! A strategy changes while a flow runs without losing, doubling or reordering a message: the flow
//! *drains* (nothing new is started until every call has been answered), the two sides *agree* (the
//! proposal travels in the flow's own order, behind everything sent before it), and then both
//! *switch*.

use core::time::Duration;

use super::queue::Queue;
use super::route::Route;
use super::{Address, Node, SendError};
use crate::link::{LinkId, Name, Target};
use crate::memory::Block;
use crate::platform::{Lost, Platform};
use crate::strategy::{Strategy, StrategyError};

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
#[non_exhaustive]
pub enum FlowError {
    /// No such link or flow.
    Unknown,
    /// The peer is gone.
    Gone(Lost),
    /// The peer's library has no function of that name, or the port is not open there.
    NotFound,
    /// The peer did not answer before the deadline. A flow that was to change its strategy keeps
    /// the one it had; if the peer had been asked already, it changes when the answer comes: see
    /// [`FlowView::is_switching`](super::FlowView::is_switching).
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

/// Requests that are gathered into one message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    pub block: Block,
    pub capacity: u32,
    pub used: u32,
    pub count: u16,
    pub first: u16,
}

/// Where a flow is between being opened and being nobody's any more.
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
    /// The peer said no to a change: what is over is said once, to the caller that asked.
    Refused,
    /// It could not be opened.
    Unusable(FlowError),
    /// Nobody's any more: the peer has to be told.
    Closing,
    Gone(Lost),
}

impl Phase {
    pub(super) fn switching(self) -> bool {
        matches!(self, Phase::Draining(_) | Phase::Agreeing(_))
    }

    /// Whether something has to be said to the peer's stack.
    pub(super) fn pending(self) -> bool {
        matches!(self, Phase::Asking | Phase::Draining(_) | Phase::Closing)
    }

    /// Whether the flow can be used, now or when its strategy has changed.
    pub(super) fn lasts(self) -> bool {
        matches!(self, Phase::Running | Phase::Refused) || self.switching()
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
    /// The route of its last message, if it leads to a port.
    pub route: Route,
}

impl Flow {
    /// Calls that are with the peer, or answered and not finished.
    pub fn sent(&self) -> u16 {
        let started = self.outstanding.saturating_add(self.abandoned);
        started.saturating_sub(self.batch.map_or(0, |batch| batch.count))
    }
}

/// Opening flows.
impl<P: Platform> Node<P> {
    /// Opens a flow of calls to a function of the peer's library.
    ///
    /// `longest_response` is the most bytes that a response may have.
    ///
    /// ```
    /// # use narrows::{endpoint::*, link::LinkId, platform::Platform, strategy::Strategy};
    /// # fn example<P: Platform>(node: &mut Node<P>, link: LinkId) -> Result<(), FlowError> {
    /// let square = "square".parse().expect("a name");
    /// let flow = node.open_flow(link, &square, Strategy::default(), 8, None)?;
    /// # let _ = flow;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`FlowError`].
    pub fn open_flow(
        &mut self,
        link: LinkId,
        function: &Name,
        strategy: Strategy,
        longest_response: u32,
        within: Option<Duration>,
    ) -> Result<FlowId, FlowError> {
        self.open_in_time(link, Target::Named(*function), strategy, longest_response, within)
    }

    /// Opens a flow of messages to a port of the peer's.
    ///
    /// ```
    /// # use narrows::{endpoint::*, link::LinkId, platform::Platform, strategy::Strategy};
    /// # fn example<P: Platform>(node: &mut Node<P>, link: LinkId) -> Result<(), FlowError> {
    /// let to = Address { link, port: 1 };
    /// let flow = node.open_flow_to(to, Strategy::default(), None)?;
    /// # let _ = flow;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`FlowError`].
    pub fn open_flow_to(
        &mut self,
        to: Address,
        strategy: Strategy,
        within: Option<Duration>,
    ) -> Result<FlowId, FlowError> {
        self.open_in_time(to.link, Target::Port(to.port), strategy, 0, within)
    }

    fn open_in_time(
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

    /// Begins to open a flow of calls; it can be used once it [is
    /// ready](super::FlowView::is_ready). A flow that comes to nothing has to be
    /// [closed](super::FlowView::close).
    ///
    /// ```
    /// # use narrows::{endpoint::*, link::LinkId, platform::Platform, strategy::Strategy};
    /// # fn example<P: Platform>(node: &mut Node<P>, link: LinkId) -> Result<(), FlowError> {
    /// let square = "square".parse().expect("a name");
    /// let flow = node.begin_flow(link, &square, Strategy::default(), 8)?;
    /// while !node.flow(flow).is_ready()? {
    ///     node.poll();
    /// }
    /// # Ok(()) }
    /// ```
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
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform, strategy::Strategy};
    /// # fn example<P: Platform>(node: &mut Node<P>, to: Address) -> Result<(), FlowError> {
    /// let flow = node.begin_flow_to(to, Strategy::default())?;
    /// # let _ = flow;
    /// # Ok(()) }
    /// ```
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
                route: Route::NONE,
            });
        }
        self.set_phase(index, Phase::Asking);
        self.advance();
        Ok(id)
    }

    /// See [`FlowView::close`](super::FlowView::close).
    pub(super) fn close_flow(&mut self, flow: FlowId) -> Result<(), FlowError> {
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
            self.give_back(at);
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
        self.enter_phase(index, Phase::Running);
        if let Some(place) = self.flows.get_mut(usize::from(index)) {
            *place = None;
        }
        self.note_timers();
        self.note_flow(index);
    }

    pub(super) fn flow_at(&self, index: u16) -> Option<&Flow> {
        self.flows.get(usize::from(index))?.as_ref()
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
    pub(super) fn flow_to_port(&self, id: FlowId) -> Result<(LinkId, u16, &Strategy), SendError> {
        let flow = self.get_flow(id).ok_or(SendError::Unknown)?;
        let Target::Port(port) = flow.target else { return Err(SendError::NoPort) };
        flow.phase.usable().map(|()| (flow.link, port, &flow.strategy))
    }
}
