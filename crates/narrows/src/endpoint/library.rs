//! What libraries need that are built on the stack and have a table, a lock or a loop of their own:
//! messages over routes that they keep, looks that do nothing else, and waits in parts. Behind the
//! feature `library`, which promises no stability.

use core::time::Duration;

use super::look::More;
use super::{Address, Channel, LinkError, Node, Port, PortError, Received, Route, SendError};
use crate::link::LinkId;
use crate::memory::{Block, Plain, Shared};
use crate::platform::{Platform, Woken};
use crate::strategy::Notification;

/// For libraries built on the stack (feature `library`).
#[doc(hidden)]
impl<P: Platform> Node<P> {
    /// Bytes of the longest message that [`Node::post_short`] sends.
    pub const SHORT: usize = Shared::<P>::IN_SLOT;

    /// Whether nothing has changed since a route was found.
    #[inline(always)]
    pub fn is_current(&self, route: &Route) -> bool {
        self.holds(route)
    }

    /// Finds the route from a port to an address.
    ///
    /// # Errors
    /// [`SendError::Closed`], [`SendError::Unknown`] or [`SendError::Gone`].
    pub fn route(&self, from: Port, to: Address) -> Result<Route, SendError> {
        self.find_route(from, to, &self.strategy)
    }

    /// As [`Node::try_send`], if nothing has changed since the route was found and the bytes fit a
    /// slot that is known to be free. None if not: nothing was sent. Whether the receiver may
    /// sleep, and [`Node::ring_link`] is to be called.
    #[inline(always)]
    pub fn post_short(&mut self, route: &Route, message: Plain<'_>) -> Option<bool> {
        self.post_in_slot(route, message)
    }

    /// Rings the peer, if it sleeps and wants to be rung for a message by now.
    #[inline(always)]
    pub fn ring_link(&mut self, link: LinkId) {
        self.ring(link);
    }

    /// As [`Node::try_receive_into`], if there is one message and nothing else to do. None does not
    /// say that there is none.
    #[inline(always)]
    pub fn take_first(&mut self, port: Port, buffer: &mut [u8]) -> Option<Received> {
        self.look(port, |_, _| Some(buffer)).ok()?
    }

    /// As [`Node::take_first`], to a place that is found when the message's length and tag are
    /// known: for none, the message stays. Also whether it is known that there is no message.
    #[inline(always)]
    pub fn take_first_to<'a>(
        &mut self,
        port: Port,
        place: impl FnOnce(usize, u16) -> Option<&'a mut [u8]>,
    ) -> (Option<Received>, bool) {
        match self.look(port, place) {
            Ok(received) => (received, received.is_none()),
            Err(More) => (None, false),
        }
    }

    /// Whether a link came up or was lost since the last time this was asked, by a program that
    /// does not serve.
    #[inline]
    pub fn take_news(&mut self) -> bool {
        core::mem::take(&mut self.news)
    }

    /// Whether a message or notice of an endpoint has been taken off its ring and waits to be
    /// received.
    #[inline]
    #[must_use]
    pub fn has_waiting(&self, port: Port) -> bool {
        let endpoint = self.endpoints.get(usize::from(port)).and_then(Option::as_ref);
        endpoint.is_some_and(|endpoint| !endpoint.queue.is_empty())
    }

    /// Whether a link has ended and nothing waits to be received that came over it: no message, no
    /// entry of a channel that is watched and no packet that was not given back. Also true of a
    /// link that was closed.
    #[must_use]
    pub fn is_over(&self, link: LinkId) -> bool {
        self.links.get(link).is_none_or(crate::link::Link::is_over)
    }

    /// How many messages and notices an endpoint can receive without waiting. It looks at the rings
    /// alone, as [`Node::try_receive`] does.
    ///
    /// # Errors
    /// [`PortError::Closed`].
    #[inline(never)]
    pub fn available(&mut self, port: Port) -> Result<u32, PortError> {
        self.pump();
        let endpoint = self.endpoints.get(usize::from(port)).and_then(Option::as_ref);
        Ok(endpoint.ok_or(PortError::Closed)?.queue.count(&self.links))
    }

    /// As [`Node::arm`], for this many messages at a time on a link: with fewer the thread waits
    /// on, and looks for itself when it has waited for long enough.
    pub fn arm_for(&mut self, messages: u32) -> bool {
        self.arm_by(messages)
    }

    /// Whether something came since the last wait that a wait would end for: a thread that shares a
    /// node with a thread that waits in a loop of its own has that look around then.
    #[must_use]
    pub fn fresh(&self) -> bool {
        self.fresh
    }

    /// As [`Node::wait_any`], in a way of the caller's choice. Returns what ended the wait.
    #[inline(always)]
    pub fn wait_by(&mut self, how: Notification, within: Option<Duration>) -> Woken {
        self.wait_once(how, within)
    }

    /// Looks for a message for a moment (see [`Platform::LOOKS`]), for less of one if there are
    /// several links, before the clock is read for a wait: an answer that is on its way is met
    /// while the wait would still be prepared. For a caller that looks anyway and has the time.
    /// True if a message is there.
    #[inline]
    pub fn glance(&mut self) -> bool {
        self.glance_once()
    }

    /// Tells peers on which core this thread is about to wait in a loop of its own. True if all of
    /// them waited there too: not to look for what they send lets them send it.
    #[inline]
    pub fn crowd(&mut self) -> bool {
        self.links.crowd(self.platform.core_number())
    }

    /// Where the bytes of a received packet are: the peer's region, and the offset in it in bytes.
    /// None if the link was closed, or there is no such block.
    #[must_use]
    pub fn place_of(&self, link: LinkId, block: Block) -> Option<(&P::Peer, u32)> {
        let shared = &self.links.get(link)?.shared;
        Some((shared.peer(), shared.theirs().block(block)?.0))
    }

    /// The peer's region of a link.
    #[must_use]
    pub fn peer_region(&self, link: LinkId) -> Option<&P::Peer> {
        Some(self.links.get(link)?.shared.peer())
    }

    /// See [`ChannelView::is_ready`](super::ChannelView::is_ready).
    #[inline]
    pub(super) fn channel_ready(&self, from: Channel) -> bool {
        let link = self.links.at(from.link.index).filter(|link| link.life == from.link.life);
        link.is_some_and(|link| link.shared.channel_ready(from.ring))
    }

    /// See [`ChannelView::available`](super::ChannelView::available).
    #[inline(never)]
    pub(super) fn channel_available(&self, from: Channel) -> u32 {
        self.links.get(from.link).map_or(0, |link| link.shared.channel_available(from.ring))
    }

    /// See [`LinkView::want_room`](super::LinkView::want_room).
    #[inline(never)]
    pub(super) fn want_room_for_messages(
        &mut self,
        link: LinkId,
        on: bool,
    ) -> Result<(), LinkError> {
        self.links.get_mut(link).ok_or(LinkError::Unknown)?.wanting = on;
        self.starving |= on;
        Ok(())
    }
}
