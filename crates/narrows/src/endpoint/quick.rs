//! The short way of a message that nothing stands in the way of: out of the caller's bytes into a
//! slot, out of the ring into the receiver's buffer. What it cannot do, it leaves untouched for the
//! long way to do, so that nothing but speed depends on it.

use super::message::descriptor;
use super::{Address, FlowId, Message, Node, Payload, Port, Received, SendError, What};
use crate::link::{self, Link, LinkId};
pub(super) use crate::memory::More;
use crate::memory::{Ack, Descriptor, Shared, Way};
use crate::platform::Platform;
use crate::span::{Edge, Span};
use crate::strategy::Transfer;

/// Looks at the rings for one that sees to everything: traffic that never pauses does not hide news.
pub(super) const LOOKS: u8 = 255;

/// The next look sees to everything.
pub(super) const RESTLESS: u8 = 1;

/// No port is known to be clear.
pub(super) const NO_PORT: u32 = u32::MAX;

/// Marks the port in [`Node::clear`] whose last message was longer than a slot: a look that only has to do
/// with slots would be in vain.
const IN_BLOCKS: u32 = 1 << 16;

/// Marks the port in [`Node::clear`] of a node that has several links.
const SEVERAL: u32 = 1 << 17;

/// Priority, tag and bytes of a message whose payload is in private memory.
pub(super) type Plain<'a> = (u8, u16, &'a [u8]);

/// The ring on which a message may be.
struct Ready<'a, P: Platform> {
    platform: &'a P,
    id: LinkId,
    link: &'a mut Link<P>,
    port: Port,
    copied: bool,
}

impl<P: Platform> Ready<'_, P> {
    /// Takes the message straight to its place; none if none is there.
    #[inline(always)]
    fn take<'b, const SHORT: bool>(
        &mut self,
        place: impl FnOnce(usize, u16) -> Option<&'b mut [u8]>,
    ) -> Result<Option<Received>, More> {
        let Ready { platform, id, port, copied, .. } = *self;
        let place = |d: &Descriptor| {
            let place = place(d.len as usize, d.tag)?;
            receipt(platform, port);
            Some(place)
        };
        let taken = link::take_into::<P, SHORT>(platform, self.link, port, copied, place)?;
        Ok(taken.map(|d| Received {
            what: What::Message,
            from: Address { link: id, port: d.source },
            len: d.len as usize,
            priority: d.priority,
            tag: d.tag,
        }))
    }
}

/// Stamps that a message of a port is received, before its payload is copied out.
#[inline(always)]
pub(super) fn receipt<P: Platform>(platform: &P, port: Port) {
    if P::RECEIPTS {
        platform.stamp(Span::Receive, Edge::Enter, port.into());
        platform.stamp(Span::Receive, Edge::Leave, port.into());
    }
}

impl<P: Platform> Node<P> {
    /// As [`Node::try_receive_into`], if there is one message and nothing else to do. None does not
    /// say that there is none.
    #[inline(always)]
    pub fn take_first(&mut self, port: Port, buffer: &mut [u8]) -> Option<Received> {
        self.look::<false>(port, buffer).ok()?
    }

    /// As [`Node::take_first`], to a place that is found when the message's length and tag are known: for
    /// none, the message stays. Also whether it is known that there is no message.
    #[inline(always)]
    pub fn take_first_to<'a>(
        &mut self,
        port: Port,
        place: impl FnOnce(usize, u16) -> Option<&'a mut [u8]>,
    ) -> (Option<Received>, bool) {
        match self.look_for::<false>(port, place) {
            Ok(received) => (received, received.is_none()),
            Err(More) => (None, false),
        }
    }

    /// As [`Node::try_send`].
    #[inline]
    pub(super) fn try_send_bytes(
        &mut self,
        from: Port,
        to: Address,
        [priority, tag]: [u16; 2],
        bytes: &[u8],
    ) -> Result<(), SendError> {
        if self.post_usual(from, to, [priority, tag], bytes) {
            return Ok(());
        }
        self.try_send_further(&to, bytes, from, [priority, tag])
    }

    /// Sends a message of no flow that fits a slot which is known to be free, over the first link, from
    /// the port that was sent from last and with the priority of the last. False if it did not.
    #[inline(always)]
    fn post_usual(
        &mut self,
        from: Port,
        to: Address,
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
    pub(super) fn try_send_further(
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
    pub(super) fn post_over(
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
    pub(super) fn post<'a>(
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

    /// The ring that a message for this port can be taken from: none if no message is there. With
    /// messages on several links, or one that waits, or something else to do, there is more; in `HASTE`
    /// also if that would have to be looked for.
    #[inline(always)]
    fn only<const HASTE: bool>(&mut self, port: Port) -> Result<Option<Ready<'_, P>>, More> {
        // Counted before it is compared: that takes no instruction of its own.
        self.calm -= 1;
        if self.calm < RESTLESS {
            self.calm = RESTLESS;
            return Err(More);
        }
        let mut copied = true;
        let clear = self.clear == u32::from(port);
        let ring = if clear || !HASTE && self.clear == u32::from(port) | IN_BLOCKS {
            let link = self.links.first().ok_or(More)?;
            Some((LinkId { index: 0, life: link.life }, link))
        } else if HASTE {
            return Err(More);
        } else {
            if self.clear != u32::from(port) | SEVERAL {
                copied = self.check_clear(port)?;
            }
            self.links.only()?
        };
        Ok(ring.map(|(id, link)| Ready { platform: &self.platform, id, link, port, copied }))
    }

    /// Whether this core copies out what comes to a port, if it is open and nothing waits in its queue.
    #[inline(never)]
    fn check_clear(&mut self, port: Port) -> Result<bool, More> {
        let Some(Some(endpoint)) = self.endpoints.get(usize::from(port)) else { return Err(More) };
        if !endpoint.queue.is_empty() {
            return Err(More);
        }
        let copied = endpoint.strategy.transfer != Transfer::CopyEngine;
        if copied {
            self.clear = u32::from(port) | if self.links.alone() { 0 } else { SEVERAL };
        }
        Ok(copied)
    }

    /// Takes the one message that is there straight into `buffer`; none if there is none. In `HASTE`
    /// only what needs no calls.
    #[inline(always)]
    pub(super) fn look<const HASTE: bool>(
        &mut self,
        port: Port,
        buffer: &mut [u8],
    ) -> Result<Option<Received>, More> {
        self.look_for::<HASTE>(port, |_, _| Some(buffer))
    }

    /// As [`Node::look`] in haste, at the one link of several where a wait has just seen a message.
    #[inline(always)]
    pub(super) fn look_where_seen(
        &mut self,
        port: Port,
        buffer: &mut [u8],
    ) -> Result<Option<Received>, More> {
        if self.clear != u32::from(port) | SEVERAL || self.calm == RESTLESS {
            return Err(More);
        }
        let (id, link) = self.links.seen().ok_or(More)?;
        let mut ready = Ready { platform: &self.platform, id, link, port, copied: true };
        ready.take::<true>(|_, _| Some(buffer))
    }

    #[inline(always)]
    fn look_for<'a, const HASTE: bool>(
        &mut self,
        port: Port,
        place: impl FnOnce(usize, u16) -> Option<&'a mut [u8]>,
    ) -> Result<Option<Received>, More> {
        match self.only::<HASTE>(port)? {
            Some(mut ready) => ready.take::<HASTE>(place),
            None => Ok(None),
        }
    }

    /// Notes where the next message of a port that [is clear](Node::clear) is likely to be.
    #[inline(always)]
    pub(super) fn expect_as(&mut self, port: Port, last: Option<&Received>) {
        if self.clear & !IN_BLOCKS == u32::from(port) {
            let long = last.is_some_and(|last| last.len > Shared::<P>::IN_SLOT);
            self.clear = u32::from(port) | if long { IN_BLOCKS } else { 0 };
        }
    }

    /// Takes up to `most` messages that are there through `buffer` and hands each to `each`. Returns
    /// how many there were before there was none or more to do.
    #[inline(always)]
    pub(super) fn look_all(
        &mut self,
        port: Port,
        buffer: &mut [u8],
        most: usize,
        each: &mut impl FnMut(&Received, &[u8]),
    ) -> usize {
        let Ok(Some(mut ready)) = self.only::<false>(port) else { return 0 };
        let mut count = 0;
        while count < most
            && let Ok(Some(received)) = ready.take::<false>(|_, _| Some(&mut *buffer))
        {
            count += 1;
            each(&received, buffer.get(..received.len).unwrap_or(buffer));
        }
        count
    }

    /// Links have changed, or one is about to: the next look sees to everything.
    pub(super) fn unsettle(&mut self) {
        self.calm = RESTLESS;
        self.clear = NO_PORT;
        self.links.unsettle();
    }

    /// Sees to what is not on the rings. False if the next look has to see to everything.
    #[inline(never)]
    pub(super) fn calm_down(&mut self) -> bool {
        self.attend();
        self.calm = if self.restless() { RESTLESS } else { LOOKS };
        self.calm > RESTLESS
    }

    /// Whether no message on the rings can come before the first one that waits for a port, so that
    /// there is no need to take them first.
    pub(super) fn comes_first(&mut self, port: Port) -> bool {
        if self.calm == RESTLESS && !self.calm_down() {
            return false;
        }
        self.calm -= 1;
        let Some(Some(endpoint)) = self.endpoints.get(usize::from(port)) else { return false };
        let Some(level) = endpoint.queue.level() else { return false };
        !self.links.up().any(|link| link.shared.rx.may_overtake(level))
    }
}
