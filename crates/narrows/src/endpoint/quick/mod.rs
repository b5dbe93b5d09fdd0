//! The short way of a message that nothing stands in the way of: out of the caller's bytes into a
//! slot, out of the ring into the receiver's buffer. What it cannot do, it leaves untouched for the
//! long way to do, so that nothing but speed depends on it.

mod post;

use super::{Address, Node, Port, Received, What};
use crate::link::{self, Link, LinkId};
pub(super) use crate::memory::More;
use crate::memory::{Descriptor, Shared};
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
        let news = self.attend();
        self.calm = if news || self.restless() { RESTLESS } else { LOOKS };
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
