//! The short way out: of the caller's bytes into a slot or a block.

use super::Plain;
use crate::endpoint::message::descriptor;
use crate::endpoint::{Address, FlowId, Message, Node, Payload, Port, SendError};
use crate::link::{self, Link, LinkId};
use crate::memory::{Ack, Descriptor, Shared, Way};
use crate::platform::Platform;

impl<P: Platform> Node<P> {
    /// As [`Node::try_send`]. The address by reference: one that was made a moment ago would be copied in
    /// other pieces than it was stored in (DESIGN, "The short way").
    #[inline]
    pub(in crate::endpoint) fn try_send_bytes(
        &mut self,
        from: Port,
        to: &Address,
        [priority, tag]: [u16; 2],
        bytes: &[u8],
    ) -> Result<(), SendError> {
        if self.post_usual(from, to, [priority, tag], bytes) {
            return Ok(());
        }
        self.try_send_further(to, bytes, from, [priority, tag])
    }

    /// Sends a message of no flow that fits a slot which is known to be free, over the first link, from
    /// the port that was sent from last and with the priority of the last. False if it did not.
    #[inline(always)]
    fn post_usual(
        &mut self,
        from: Port,
        to: &Address,
        [priority, tag]: [u16; 2],
        bytes: &[u8],
    ) -> bool {
        if bytes.len() > Shared::<P>::IN_SLOT {
            return false;
        }
        // Acknowledged in batches: who is asked for more is no such port.
        let descriptor = descriptor(Ack::Batched, from, to.port, priority as u8, tag);
        let Some((platform, link)) = self.usual(&descriptor, to.link) else { return false };
        link::post_in_slot(platform, link, descriptor, bytes)
    }

    /// The first link, if it is the one that is meant and messages like this may take the shortest way.
    #[inline(always)]
    fn usual(&mut self, message: &Descriptor, to: LinkId) -> Option<(&P, &mut Link<P>)> {
        let link = self.links.first().filter(|link| link.life == to.life)?;
        let usual = link.shared.tx.is_usual(message.source, message.priority);
        usual.then_some((&self.platform, link))
    }

    /// As [`Node::post_usual`], of bytes that do not fit a slot.
    #[inline(always)]
    fn post_usual_block(
        &mut self,
        from: Port,
        to: Address,
        [priority, tag]: [u16; 2],
        bytes: &[u8],
    ) -> bool {
        let way = Way::from(&self.strategy);
        let descriptor = descriptor(way.ack, from, to.port, priority as u8, tag);
        let Some((platform, link)) = self.usual(&descriptor, to.link) else { return false };
        link::post_in_block(platform, link, way, descriptor, bytes)
    }

    /// As [`Node::try_send`], of bytes that [`Node::post_usual`] did not send.
    #[inline(never)]
    pub(in crate::endpoint) fn try_send_further(
        &mut self,
        to: &Address,
        bytes: &[u8],
        from: Port,
        [priority, tag]: [u16; 2],
    ) -> Result<(), SendError> {
        let to = *to;
        let posted = if bytes.len() > Shared::<P>::IN_SLOT {
            self.post_usual_block(from, to, [priority, tag], bytes)
        } else {
            self.post_settling(from, to, [priority, tag], bytes)
        };
        if posted {
            return Ok(());
        }
        self.try_send_by_all(from, to, (priority as u8, tag, bytes))
    }

    /// As [`Node::post_usual`], over any link, from any port and with any priority, which are the usual ones
    /// from then on.
    #[inline(always)]
    fn post_settling(
        &mut self,
        from: Port,
        to: Address,
        [priority, tag]: [u16; 2],
        bytes: &[u8],
    ) -> bool {
        let ack = self.strategy.acknowledgement.wanted();
        let Some((platform, link)) = self.posting(from, to.link) else { return false };
        let descriptor = descriptor(ack, from, to.port, priority as u8, tag);
        let posted = link::post_in_slot(platform, link, descriptor, bytes);
        if posted && ack == Ack::Batched {
            link.shared.tx.settle(from);
        }
        posted
    }

    /// As [`Node::try_send`], of bytes that take no short way, and notes whether the next may.
    #[inline(never)]
    fn try_send_by_all(
        &mut self,
        from: Port,
        to: Address,
        (priority, tag, bytes): Plain<'_>,
    ) -> Result<(), SendError> {
        let payload = Payload::Bytes(bytes);
        self.attempt(from, to, &mut Message { priority, tag, payload })?;
        if self.strategy.acknowledgement.wanted() == Ack::Batched
            && !self.platform.tracing()
            && let Some(link) = self.links.up_mut(to.link)
        {
            link.shared.tx.settle(from);
        }
        Ok(())
    }

    /// Sends a message over a flow to a port, if a slot is known to be free and, for what does not fit one, a
    /// block is. False if it did not.
    #[inline]
    pub(in crate::endpoint) fn post_over(
        &mut self,
        flow: FlowId,
        from: Port,
        [priority, tag]: [u16; 2],
        bytes: &[u8],
    ) -> bool {
        if bytes.len() > Shared::<P>::IN_SLOT {
            return self.post_block_over(flow, from, [priority, tag], bytes);
        }
        let Ok((to, port, strategy)) = self.flow_to_port(flow) else { return false };
        let ack = strategy.acknowledgement.wanted();
        let Some((platform, link)) = self.posting(from, to) else { return false };
        let descriptor = descriptor(ack, from, port, priority as u8, tag);
        link::post_in_slot(platform, link, descriptor, bytes)
    }

    #[inline(never)]
    fn post_block_over(
        &mut self,
        flow: FlowId,
        from: Port,
        [priority, tag]: [u16; 2],
        bytes: &[u8],
    ) -> bool {
        let Ok((to, port, strategy)) = self.flow_to_port(flow) else { return false };
        let way = Way::from(strategy);
        let Some((platform, link)) = self.posting(from, to) else { return false };
        let descriptor = descriptor(way.ack, from, port, priority as u8, tag);
        link::post_in_block(platform, link, way, descriptor, bytes)
    }

    /// Sends messages up to the first for which there is no room at once or which the long way has
    /// to see to. Returns how many it sent.
    #[inline(always)]
    pub(in crate::endpoint) fn post<'a>(
        &mut self,
        way: Way,
        from: Port,
        to: Address,
        messages: impl Iterator<Item = Plain<'a>>,
    ) -> usize {
        let Some((platform, link)) = self.posting(from, to.link) else { return 0 };
        let messages = messages.map(|(priority, tag, bytes)| {
            (descriptor(way.ack, from, to.port, priority, tag), bytes)
        });
        link::post(platform, link, way, messages)
    }

    /// The link that a message of a port can take the short way over.
    #[inline(always)]
    fn posting(&mut self, from: Port, to: LinkId) -> Option<(&P, &mut Link<P>)> {
        let open = matches!(self.endpoints.get(usize::from(from)), Some(Some(_)));
        if !open || self.platform.tracing() {
            return None;
        }
        Some((&self.platform, self.links.up_mut(to)?))
    }
}
