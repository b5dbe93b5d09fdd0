//! Many messages at a time: what a message costs besides its bytes is paid once for all of them.

use core::time::Duration;

use super::message::{To, plain};
use super::route::Route;
use super::{Address, FlowId, Message, Node, Port, PortError, Received, SendError};
use crate::platform::Platform;

/// Messages handed out by one call, so that a flood leaves the application its turn.
const BATCH: usize = 64;

/// Many messages at a time.
impl<P: Platform> Node<P> {
    /// Sends messages in their order, waiting for room until the deadline, as [`Node::send`] does
    /// with each. A peer that sleeps is rung once for all that there was room for. Returns how many
    /// were sent: the first of `messages`, fewer than all if the deadline passed or the next was
    /// refused.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, to: Address) -> Result<(), SendError> {
    /// let mut messages = [Message::from(b"one"), Message::from(b"two")];
    /// let sent = node.send_all(1, to, &mut messages, None)?;
    /// assert_eq!(sent, 2, "without a deadline it waits for room");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Why the first was not sent; see [`SendError`]. An error of a later one is that of the next
    /// call, which begins with it.
    pub fn send_all(
        &mut self,
        from: Port,
        to: Address,
        messages: &mut [Message<'_>],
        within: Option<Duration>,
    ) -> Result<usize, SendError> {
        self.all_sent(from, To::Address(to), messages, within)
    }

    /// See [`FlowView::send_all`](super::FlowView::send_all).
    pub(super) fn send_all_over(
        &mut self,
        flow: FlowId,
        from: Port,
        messages: &mut [Message<'_>],
        within: Option<Duration>,
    ) -> Result<usize, SendError> {
        self.all_sent(from, To::Flow(flow), messages, within)
    }

    fn all_sent(
        &mut self,
        from: Port,
        to: To,
        messages: &mut [Message<'_>],
        within: Option<Duration>,
    ) -> Result<usize, SendError> {
        let mut deadline = None;
        let mut sent = 0;
        loop {
            if let Ok(route) = self.route_of(from, to) {
                sent += self.post_all(&route, messages.get(sent..).unwrap_or_default());
            }
            let Some(message) = messages.get_mut(sent) else { return Ok(sent) };
            match self.until_sent(from, to, message, within, &mut deadline) {
                Ok(()) => sent += 1,
                Err(error) if sent == 0 => return Err(error),
                Err(_) => return Ok(sent),
            }
        }
    }

    /// As [`Node::post`]. Apart from its caller, whose values would take up the registers.
    #[inline(never)]
    fn post_all(&mut self, route: &Route, messages: &[Message<'_>]) -> usize {
        self.post(route, plain(messages))
    }

    /// Receives the messages of an endpoint that are there, one after the other, as
    /// [`Node::try_receive_into`] does with each: `each` is handed what came and its payload, of
    /// which `buffer` holds as much as fits until the next. Returns how many there were, at most
    /// 64: whatever then waits is for the next call.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) -> Result<(), PortError> {
    /// let (mut buffer, mut bytes) = ([0; 256], 0);
    /// let count = node.try_receive_all(1, &mut buffer, |_, payload| bytes += payload.len())?;
    /// # let _ = count;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`PortError::Closed`].
    #[inline]
    pub fn try_receive_all(
        &mut self,
        port: Port,
        buffer: &mut [u8],
        mut each: impl FnMut(&Received, &[u8]),
    ) -> Result<usize, PortError> {
        let mut count = 0;
        while count < BATCH {
            count += self.look_all(port, buffer, BATCH - count, &mut each);
            if count == BATCH {
                break;
            }
            // What the short way did not take, if there is anything.
            let Some(received) = self.try_receive_into(port, buffer)? else { break };
            count += 1;
            each(&received, received.bytes(buffer));
        }
        Ok(count)
    }

    /// As [`Node::try_receive_all`], waiting for the first message until the deadline.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) -> Result<(), PortError> {
    /// let (mut buffer, mut bytes) = ([0; 256], 0);
    /// node.receive_all(1, &mut buffer, |_received, payload| bytes += payload.len(), None)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`PortError::Closed`], [`PortError::Deadline`] or [`PortError::Forked`].
    #[inline]
    pub fn receive_all(
        &mut self,
        port: Port,
        buffer: &mut [u8],
        mut each: impl FnMut(&Received, &[u8]),
        within: Option<Duration>,
    ) -> Result<usize, PortError> {
        self.until_received(within, |node| {
            let count = node.try_receive_all(port, buffer, &mut each)?;
            Ok((count > 0).then_some(count))
        })
    }
}
