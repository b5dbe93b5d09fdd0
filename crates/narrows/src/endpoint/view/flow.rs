//! A flow, seen at its node.

use core::time::Duration;

use crate::endpoint::{
    CallError, Completed, FlowError, FlowId, Loan, Message, Node, Payload, Port, Reserved,
    SendError, Source,
};
use crate::platform::Platform;
use crate::strategy::Strategy;

/// A flow of a [node's](Node::flow).
#[must_use = "a view does nothing by itself"]
pub struct FlowView<'a, P: Platform> {
    pub(super) node: &'a mut Node<P>,
    pub(super) flow: FlowId,
}

/// Calls of the function that the flow leads to.
impl<P: Platform> FlowView<'_, P> {
    /// Calls the function and waits for its response, which is copied to `response`. Gives its
    /// length in bytes.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), CallError> {
    /// let mut response = [0; 64];
    /// let len = node.flow(flow).call(b"request", &mut response, None)?;
    /// assert!(len <= response.len());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`CallError`].
    #[inline]
    pub fn call<'a>(
        &mut self,
        request: impl Into<Payload<'a>>,
        response: &mut [u8],
        within: Option<Duration>,
    ) -> Result<usize, CallError> {
        self.node.call(self.flow, request.into(), response, within)
    }

    /// Starts a call if there is room for its request now. Gives the call's number, which counts
    /// up from 0 and wraps round.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), SendError> {
    /// let first = node.flow(flow).start(b"one")?;
    /// let second = node.flow(flow).start(b"two")?;
    /// assert_eq!(second, first.wrapping_add(1));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`SendError`]; nothing was sent, and what was reserved still is.
    #[inline]
    pub fn start<'a>(&mut self, request: impl Into<Payload<'a>>) -> Result<u16, SendError> {
        self.node.start(self.flow, request)
    }

    /// Sends the requests that have been gathered, where the flow's strategy gathers several in
    /// one message. A caller that waits for a response need not.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), SendError> {
    /// node.flow(flow).flush()?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`SendError`]; what was gathered is still there.
    #[inline]
    pub fn flush(&mut self) -> Result<(), SendError> {
        self.node.flush(self.flow)
    }

    /// Finishes the oldest outstanding call if its response is there, copying it to `response`.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), CallError> {
    /// let mut response = [0; 64];
    /// if let Some(done) = node.flow(flow).try_finish(&mut response)? {
    ///     assert!(done.len <= response.len());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`CallError`].
    #[inline]
    pub fn try_finish(&mut self, response: &mut [u8]) -> Result<Option<Completed>, CallError> {
        self.node.try_finish(self.flow, response)
    }

    /// Finishes the oldest outstanding call, waiting for its response, which is copied to
    /// `response`.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), CallError> {
    /// let mut response = [0; 64];
    /// let done = node.flow(flow).finish(&mut response, None)?;
    /// assert!(done.len <= response.len());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`CallError`]; after [`CallError::Deadline`] the call is still outstanding.
    #[inline]
    pub fn finish(
        &mut self,
        response: &mut [u8],
        within: Option<Duration>,
    ) -> Result<Completed, CallError> {
        self.node.finish(self.flow, response, within)
    }

    /// Finishes every call whose response is there, handing each to `callback` where it is. Gives
    /// their number. This is how a program goes on with other work and has its callback called
    /// when it next [polls](Node::poll).
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), CallError> {
    /// let mut bytes = 0;
    /// node.poll();
    /// node.flow(flow).complete(|done, _response| bytes += done.len)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`CallError`]. That nothing is outstanding is no error here.
    #[inline]
    pub fn complete(
        &mut self,
        callback: impl FnMut(Completed, &dyn Source),
    ) -> Result<usize, CallError> {
        self.node.complete(self.flow, callback)
    }

    /// Calls that are started and not finished; none if there is no such flow.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) {
    /// assert_eq!(node.flow(flow).outstanding(), Some(0), "it is idle");
    /// # }
    /// ```
    #[must_use]
    #[inline]
    pub fn outstanding(&self) -> Option<u16> {
        self.node.outstanding(self.flow)
    }

    /// Waits until something came for the flow, or the deadline.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), CallError> {
    /// let mut flow = node.flow(flow);
    /// while flow.outstanding() != Some(0) {
    ///     flow.wait(None);
    ///     flow.complete(|_, _| ())?;
    /// }
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn wait(&mut self, within: Option<Duration>) {
        self.node.wait_response(self.flow, within);
    }
}

/// Messages to the port that the flow leads to.
impl<P: Platform> FlowView<'_, P> {
    /// Sends a message in the flow's strategy, if there is room now.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), SendError> {
    /// node.flow(flow).try_send(1, b"hello")?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`SendError`]; the message was not sent, and what was reserved still is.
    #[inline(always)]
    pub fn try_send<'a>(
        &mut self,
        from: Port,
        message: impl Into<Message<'a>>,
    ) -> Result<(), SendError> {
        self.node.try_send_over(self.flow, from, message)
    }

    /// As [`FlowView::try_send`], waiting for room until the deadline.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), SendError> {
    /// node.flow(flow).send(1, Message::new(b"hello").priority(0), None)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`SendError`]; the message was not sent, and what was reserved still is.
    #[inline(always)]
    pub fn send<'a>(
        &mut self,
        from: Port,
        message: impl Into<Message<'a>>,
        within: Option<Duration>,
    ) -> Result<(), SendError> {
        self.node.send_over(self.flow, from, message, within)
    }

    /// As [`Node::send_all`], in the flow's strategy.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), SendError> {
    /// let mut messages = [Message::from(b"one"), Message::from(b"two")];
    /// node.flow(flow).send_all(1, &mut messages, None)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Node::send_all`].
    #[inline]
    pub fn send_all(
        &mut self,
        from: Port,
        messages: &mut [Message<'_>],
        within: Option<Duration>,
    ) -> Result<usize, SendError> {
        self.node.send_all_over(self.flow, from, messages, within)
    }
}

/// Payloads that are made where they are sent from.
impl<'a, P: Platform> FlowView<'a, P> {
    /// Takes a block of the flow's placement to make a payload of `len` bytes in, and waits for one
    /// if none is free: not at all with a time of zero, and for as long as it takes with none.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), SendError> {
    /// let mut loan = node.flow(flow).loan(1000, None)?;
    /// if let Some(bytes) = loan.bytes() {
    ///     bytes.fill(7);
    /// }
    /// loan.send(1, None)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`SendError`]; [`SendError::Deadline`] if no block was free in time.
    #[inline]
    pub fn loan(self, len: usize, within: Option<Duration>) -> Result<Loan<'a, P>, SendError> {
        self.node.loan(self.flow, len, within)
    }

    /// Reserves a block of the flow's placement to make a payload of `len` bytes in, if one is
    /// free. Unlike a [loan](FlowView::loan) it does not keep the node, and has to be sent or
    /// [cancelled](Node::cancel).
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), SendError> {
    /// let mut reserved = node.flow(flow).reserve(5)?;
    /// let _ = node.write(&mut reserved, 0, b"hello");
    /// node.flow(flow).send(1, &mut reserved, None)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`SendError`].
    #[inline]
    pub fn reserve(&mut self, len: usize) -> Result<Reserved, SendError> {
        self.node.reserve(self.flow, len)
    }
}

/// The flow itself.
impl<P: Platform> FlowView<'_, P> {
    /// Whether the flow can be used: it is open and is not changing its strategy. Does not look at
    /// the rings: see [`Node::poll`].
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform, strategy::Strategy};
    /// # fn example<P: Platform>(node: &mut Node<P>, to: Address) -> Result<(), FlowError> {
    /// let flow = node.begin_flow_to(to, Strategy::default())?;
    /// while !node.flow(flow).is_ready()? {
    ///     node.poll();
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// It never will be: [`FlowError::NotFound`], [`FlowError::Infeasible`], [`FlowError::Gone`],
    /// [`FlowError::Unknown`]. That a change of strategy was refused ([`FlowError::Infeasible`]) is
    /// said once, and the flow goes on in the strategy it had.
    #[inline]
    pub fn is_ready(&mut self) -> Result<bool, FlowError> {
        self.node.is_ready(self.flow)
    }

    /// The strategy that the flow has now; none if there is no such flow.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform, strategy::Strategy};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) {
    /// assert_eq!(node.flow(flow).strategy(), Some(Strategy::default()));
    /// # }
    /// ```
    #[must_use]
    #[inline]
    pub fn strategy(&self) -> Option<Strategy> {
        self.node.strategy_of(self.flow)
    }

    /// Changes the flow's strategy, waiting until both sides use the new one. Responses that arrive
    /// meanwhile are kept.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform, strategy::Strategy};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), FlowError> {
    /// let strategy: Strategy = "in_place/spin/internal".parse().map_err(FlowError::Strategy)?;
    /// node.flow(flow).switch(strategy, None)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`FlowError`]; unless the peer is gone, the flow goes on in the strategy it had.
    #[inline]
    pub fn switch(
        &mut self,
        strategy: Strategy,
        within: Option<Duration>,
    ) -> Result<(), FlowError> {
        self.node.switch(self.flow, strategy, within)
    }

    /// Begins to change the flow's strategy. Until it has [changed](FlowView::is_switching),
    /// nothing new can be started on it; outstanding calls are answered as before.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform, strategy::Strategy};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), FlowError> {
    /// node.flow(flow).begin_switch(Strategy::default())?;
    /// while node.flow(flow).is_switching() {
    ///     node.poll();
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`FlowError`].
    #[inline]
    pub fn begin_switch(&mut self, strategy: Strategy) -> Result<(), FlowError> {
        self.node.begin_switch(self.flow, strategy)
    }

    /// Whether the flow is changing its strategy.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) {
    /// if node.flow(flow).is_switching() {
    ///     node.poll();
    /// }
    /// # }
    /// ```
    #[must_use]
    #[inline]
    pub fn is_switching(&self) -> bool {
        self.node.is_switching(self.flow)
    }

    /// Closes the flow.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), FlowError> {
    /// node.flow(flow).close()?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`FlowError::Outstanding`]: finish the calls first, or close the link.
    #[inline]
    pub fn close(self) -> Result<(), FlowError> {
        self.node.close_flow(self.flow)
    }
}
