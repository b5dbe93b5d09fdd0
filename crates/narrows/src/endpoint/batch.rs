//! Many messages at a time: what a message costs besides its bytes is paid once for all of them.

use core::time::Duration;

use super::quick::Plain;
use super::{Address, FlowId, Message, Node, Payload, Port, PortError, Received, SendError};
use crate::link::LinkId;
use crate::memory::Way;
use crate::platform::Platform;

/// Messages handed out by one call, so that a flood leaves the application its turn.
const BATCH: usize = 64;

/// The first of `messages`, up to one that was made in a reserved block.
#[inline(always)]
pub(super) fn plain<'a>(messages: &'a [Message<'_>]) -> impl Iterator<Item = Plain<'a>> {
    messages.iter().map_while(|message| match message.payload {
        Payload::Bytes(bytes) => Some((message.priority, message.tag, bytes)),
        Payload::Reserved(_) => None,
    })
}

impl<P: Platform> Node<P> {
    /// Sends messages in their order, waiting for room until the deadline, as [`Node::send`] does
    /// with each. A peer that sleeps is rung once for all that there was room for. Returns how many
    /// were sent: the first of `messages`, fewer than all if the deadline passed or the next was
    /// refused.
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
        self.all_sent(
            to.link,
            messages,
            within,
            |node, messages| node.post(Way::from(&node.strategy), from, to, plain(messages)),
            |node, message| node.attempt(from, to, message),
        )
    }

    /// As [`Node::send_all`], over a flow to a port, in the flow's strategy.
    ///
    /// # Errors
    /// As there.
    pub fn send_all_over(
        &mut self,
        flow: FlowId,
        from: Port,
        messages: &mut [Message<'_>],
        within: Option<Duration>,
    ) -> Result<usize, SendError> {
        let link = self.flow_link(flow).ok_or(SendError::Unknown)?;
        self.all_sent(
            link,
            messages,
            within,
            |node, messages| {
                let Ok((link, port, strategy)) = node.flow_to_port(flow) else { return 0 };
                let way = Way::from(strategy);
                node.post(way, from, Address { link, port }, plain(messages))
            },
            |node, message| node.attempt_over(flow, from, message),
        )
    }

    #[inline(always)]
    fn all_sent(
        &mut self,
        link: LinkId,
        messages: &mut [Message<'_>],
        within: Option<Duration>,
        post: impl Fn(&mut Self, &[Message<'_>]) -> usize,
        attempt: impl Fn(&mut Self, &mut Message<'_>) -> Result<(), SendError>,
    ) -> Result<usize, SendError> {
        let mut deadline = None;
        let mut sent = 0;
        loop {
            sent += post(self, messages.get(sent..).unwrap_or_default());
            let Some(message) = messages.get_mut(sent) else { return Ok(sent) };
            match self.until_sent(link, within, &mut deadline, |node| attempt(node, message)) {
                Ok(()) => sent += 1,
                Err(error) if sent == 0 => return Err(error),
                Err(_) => return Ok(sent),
            }
        }
    }

    /// Receives the messages of an endpoint that are there, one after the other, as
    /// [`Node::try_receive_into`] does with each: `each` is handed what came and its payload, of
    /// which `buffer` holds as much as fits until the next. Returns how many there were, at most 64:
    /// whatever then waits is for the next call.
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
            each(&received, buffer.get(..received.len).unwrap_or(buffer));
        }
        Ok(count)
    }

    /// As [`Node::try_receive_all`], waiting for the first message until the deadline; 0 if that
    /// passed.
    ///
    /// # Errors
    /// [`PortError::Closed`].
    #[inline]
    pub fn receive_all(
        &mut self,
        port: Port,
        buffer: &mut [u8],
        within: Option<Duration>,
        mut each: impl FnMut(&Received, &[u8]),
    ) -> Result<usize, PortError> {
        let count = self.until_received(within, |node| {
            let count = node.try_receive_all(port, buffer, &mut each)?;
            Ok((count > 0).then_some(count))
        });
        Ok(count?.unwrap_or(0))
    }
}
