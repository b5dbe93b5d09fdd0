//! The short way of a message that is received: off the ring into the receiver's buffer. What it
//! cannot do, it leaves untouched for the long way to do, so that nothing but speed depends on it.

use super::route::Last;
use super::{Address, Node, Port, Received, What};
use crate::driver;
use crate::link::{Link, LinkId};
pub(super) use crate::memory::More;
use crate::memory::{Descriptor, Shared};
use crate::platform::Platform;
use crate::span::{Edge, Note, Span};
use crate::strategy::Transfer;

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
        let taken = self.link.shared.take_into::<SHORT>(platform, port, copied, place)?;
        Ok(taken.map(|d| {
            if P::RECEIPTS && platform.tracing() {
                let passage = driver::passage(self.link.key, self.link.shared.rx.taken(), &d);
                platform.note(&Note::Taken(passage, None));
            }
            Received {
                what: What::Message,
                from: Address { link: id, port: d.source },
                len: d.len as usize,
                priority: d.priority,
                tag: d.tag,
            }
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
    /// Takes the next message into `buffer`, if one link alone is up and the message is in a slot:
    /// what that takes needs no calls. None if no message is there.
    #[inline(always)]
    pub(super) fn look_in_slot(
        &mut self,
        port: Port,
        buffer: &mut [u8],
    ) -> Result<Option<Received>, More> {
        if !self.known.is_short(port) || !self.known.count() {
            return Err(More);
        }
        let (id, link) = self.links.at_hand().ok_or(More)?;
        let mut ready = Ready { platform: &self.platform, id, link, port, copied: true };
        ready.take::<true>(|_, _| Some(buffer))
    }

    /// As [`Node::look_in_slot`], at the one link of several where a wait has just seen a message.
    #[inline(always)]
    pub(super) fn look_where_seen(
        &mut self,
        port: Port,
        buffer: &mut [u8],
    ) -> Result<Option<Received>, More> {
        let known = &self.known;
        if !known.is_port(port) || known.is_one() || !known.is_calm() {
            return Err(More);
        }
        let (id, link) = self.links.seen().ok_or(More)?;
        let mut ready = Ready { platform: &self.platform, id, link, port, copied: true };
        ready.take::<true>(|_, _| Some(buffer))
    }

    /// Takes the next message straight to where it is used; none if there is none. With one that
    /// waits, or may come before that, or something else to do, there is more.
    #[inline(always)]
    pub(super) fn look<'a>(
        &mut self,
        port: Port,
        place: impl FnOnce(usize, u16) -> Option<&'a mut [u8]>,
    ) -> Result<Option<Received>, More> {
        match self.ring_of(port)? {
            Some(mut ready) => ready.take::<false>(place),
            None => Ok(None),
        }
    }

    /// The ring that the next message for this port can be taken from: none if no message is there.
    #[inline(always)]
    fn ring_of(&mut self, port: Port) -> Result<Option<Ready<'_, P>>, More> {
        if !self.known.count() {
            return Err(More);
        }
        if !self.known.is_port(port) {
            self.learn(port)?;
        }
        let found = if self.known.is_one() {
            Some(self.links.at_hand().ok_or(More)?)
        } else {
            self.links.first()?
        };
        let copied = self.known.copied();
        Ok(found.map(|(id, link)| Ready { platform: &self.platform, id, link, port, copied }))
    }

    /// Finds out what the short way goes by, if a port is open and nothing waits in its queue.
    #[inline(never)]
    fn learn(&mut self, port: Port) -> Result<(), More> {
        let Some(Some(endpoint)) = self.endpoints.get(usize::from(port)) else { return Err(More) };
        // What is received is noted on the long way, unless the short one does so.
        let noted = !P::RECEIPTS && self.platform.tracing();
        if noted || !endpoint.queue.is_empty() {
            return Err(More);
        }
        let copied = endpoint.strategy.transfer != Transfer::CopyEngine;
        // Another link may lie at hand now: the next message finds that out.
        let one = self.links.take_one_at_hand();
        self.last = Last::NONE;
        self.known.learn(port, one, copied);
        Ok(())
    }

    /// Notes what the next message of a port is likely to be like.
    #[inline(always)]
    pub(super) fn expect_as(&mut self, port: Port, last: Option<&Received>) {
        if self.known.is_port(port) {
            self.known.expect(last.is_none_or(|last| last.len <= Shared::<P>::IN_SLOT));
        }
    }

    /// Takes up to `most` messages that are there through `buffer` and hands each to `each`.
    /// Returns how many there were before there was none or more to do.
    #[inline(always)]
    pub(super) fn look_all(
        &mut self,
        port: Port,
        buffer: &mut [u8],
        most: usize,
        each: &mut impl FnMut(&Received, &[u8]),
    ) -> usize {
        let mut count = 0;
        // Behind a message of several links another may have the next.
        if self.known.is_port(port)
            && self.known.is_one()
            && let Ok(Some(mut ready)) = self.ring_of(port)
        {
            while count < most
                && let Ok(Some(received)) = ready.take::<false>(|_, _| Some(&mut *buffer))
            {
                count += 1;
                each(&received, received.bytes(buffer));
            }
            return count;
        }
        while count < most
            && let Ok(Some(received)) = self.look(port, |_, _| Some(&mut *buffer))
        {
            count += 1;
            each(&received, received.bytes(buffer));
        }
        count
    }

    /// Sees to what is not on the rings. False if the next look has to see to everything.
    #[inline(never)]
    pub(super) fn calm_down(&mut self) -> bool {
        let news = self.attend();
        let restless = news || self.restless();
        self.known.seen(restless);
        !restless
    }

    /// Whether no message on the rings can come before the first one that waits for a port, so that
    /// there is no need to take them first. A node with many links looks at them now and then: see
    /// [`Known::trust`](super::known::Known::trust).
    pub(super) fn comes_first(&mut self, port: Port) -> bool {
        if !self.known.is_calm() && !self.calm_down() {
            return false;
        }
        self.known.count();
        let Some(Some(endpoint)) = self.endpoints.get(usize::from(port)) else { return false };
        let Some(level) = endpoint.queue.level() else { return false };
        if self.known.trust(self.links.places()) {
            return true;
        }
        !self.links.up().any(|link| link.shared.rx.may_overtake(level))
    }
}
