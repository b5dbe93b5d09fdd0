//! Routes: where the messages of a port go and how, found out once and used until something
//! changes.
//!
//! A node counts its changes: its epoch rises whenever a link, a port, a flow, the strategy or
//! tracing changes. A route holds the epoch in which it was found. While the two are equal, a
//! message over the route needs nothing but room: it is written to the next slot of the ring.

use super::message::{Message, Port, SendError, To};
use super::{Address, FlowId, LinkError, Node, Payload};
use crate::link::LinkId;
use crate::memory::{Descriptor, Plain, copied_to};
use crate::platform::Platform;
use crate::strategy::{Placement, Strategy};

/// Where the messages of a port go and how.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The node's epoch in which it was found; 0 in none.
    epoch: u64,
    link: LinkId,
    source: Port,
    target: Port,
    /// What the first word of each descriptor says besides length and priority.
    first: u32,
    /// The pool of what does not fit a slot; none if it is not this core that copies.
    pool: Option<Placement>,
}

impl Route {
    /// A route to nobody, over a link that no address has, not even that of nobody.
    pub const NONE: Route = {
        let link = LinkId { life: 0, ..LinkId::NONE };
        Route { epoch: 0, link, source: 0, target: 0, first: 0, pool: None }
    };

    /// The address that it leads to.
    #[must_use]
    pub fn address(&self) -> Address {
        Address { link: self.link, port: self.target }
    }

    #[inline(always)]
    fn words(&self) -> [u32; 3] {
        words(self.first, self.source, self.target)
    }
}

/// A descriptor's words, without length, priority, tag and block.
#[inline(always)]
fn words(first: u32, source: Port, target: Port) -> [u32; 3] {
    [first, u32::from(source) << 16 | u32::from(target), 0]
}

/// The route of the last message of no flow.
pub(super) struct Last {
    route: Route,
    /// The life of its link, which no other of the node's has, if that [lies at
    /// hand](crate::link::Links::at_hand) and messages are acknowledged in batches, as is usual; 0
    /// if not.
    usual: u32,
}

impl Last {
    pub const NONE: Last = Last { route: Route::NONE, usual: 0 };
}

impl<P: Platform> Node<P> {
    /// Says that something changed which routes depend on, or what is known of ports: every route
    /// is found out anew before it is used, and the next look sees to everything.
    #[inline(never)]
    pub(super) fn changed(&mut self) {
        self.epoch += 1;
        self.last = Last::NONE;
        self.known.forget();
    }

    /// Whether nothing has changed since a route was found.
    #[inline(always)]
    pub(super) fn holds(&self, route: &Route) -> bool {
        route.epoch == self.epoch
    }

    /// Finds the route from a port to an address.
    ///
    /// # Errors
    /// [`SendError::Closed`], [`SendError::Unknown`] or [`SendError::Gone`].
    pub(super) fn find_route(
        &self,
        from: Port,
        to: Address,
        strategy: &Strategy,
    ) -> Result<Route, SendError> {
        if !matches!(self.endpoints.get(usize::from(from)), Some(Some(_))) {
            return Err(SendError::Closed);
        }
        self.up(to.link).map_err(|error| match error {
            LinkError::Gone(reason) => SendError::Gone(reason),
            _ => SendError::Unknown,
        })?;
        let ack = strategy.acknowledgement.wanted();
        let [first, ..] = Descriptor::message(ack, from, to.port, 0, 0).pack();
        // While stamps are kept each layer's function is called: no route is current then.
        let epoch = if self.platform.tracing() { 0 } else { self.epoch };
        let (link, target, pool) = (to.link, to.port, copied_to(strategy));
        Ok(Route { epoch, link, source: from, target, first, pool })
    }

    /// The route that messages take from a port: the one that was found last, unless something has
    /// changed.
    ///
    /// # Errors
    /// As of [`Node::find_route`], and what stands against a flow.
    #[inline(always)]
    pub(super) fn route_of(&mut self, from: Port, to: To) -> Result<Route, SendError> {
        match to {
            To::Address(to) => {
                if let Some(route) = self.last_route(from, &to) {
                    return Ok(route);
                }
                self.find_last(from, to)
            }
            To::Flow(id) => {
                let flow = self.get_flow(id).ok_or(SendError::Unknown)?;
                if flow.route.source == from && self.holds(&flow.route) {
                    return Ok(flow.route);
                }
                self.find_over(from, id)
            }
        }
    }

    /// The last route of no flow, if it goes from this port: over other links that are up it is the
    /// same but for the link.
    #[inline(always)]
    pub(super) fn last_route(&self, from: Port, to: &Address) -> Option<Route> {
        let last = &self.last.route;
        let up = || self.holds(last) && self.links.is_up(to.link);
        let same = last.source == from && (last.link == to.link || up());
        same.then_some(Route { link: to.link, target: to.port, ..*last })
    }

    #[inline(never)]
    fn find_last(&mut self, from: Port, to: Address) -> Result<Route, SendError> {
        let route = self.find_route(from, to, &self.strategy)?;
        if self.holds(&route) {
            let usual = self.links.is_at_hand(to.link) && route.first == Descriptor::USUAL;
            self.last = Last { route, usual: if usual { to.link.life } else { 0 } };
        }
        Ok(route)
    }

    #[inline(never)]
    fn find_over(&mut self, from: Port, id: FlowId) -> Result<Route, SendError> {
        let (link, port, strategy) = self.flow_to_port(id)?;
        let route = self.find_route(from, Address { link, port }, strategy)?;
        if let Some(flow) = self.get_flow_mut(id) {
            flow.route = route;
        }
        Ok(route)
    }

    /// As [`Node::try_send`]. The address by reference: one that was made a moment ago would be
    /// copied in other pieces than it was stored in (DESIGN, "Routes").
    #[inline(always)]
    pub(super) fn try_send_bytes(
        &mut self,
        from: Port,
        to: &Address,
        [priority, tag]: [u16; 2],
        bytes: &[u8],
    ) -> Result<(), SendError> {
        if self.post_as_last(from, to, Plain { priority: priority as u8, tag, bytes }) {
            return Ok(());
        }
        self.try_send_further(to, bytes, from, [priority, tag])
    }

    /// Sends bytes over the last route, if they go from the same port over the same link, that is
    /// [usual](Last), and they fit a slot that is known to be free. False if it did not.
    #[inline(always)]
    fn post_as_last(&mut self, from: Port, to: &Address, message: Plain<'_>) -> bool {
        let Last { route, usual } = &self.last;
        if route.source != from || *usual != to.link.life {
            return false;
        }
        let words = words(Descriptor::USUAL, from, to.port);
        let Some((_, link)) = self.links.at_hand() else { return false };
        if !link.shared.post_in_slot(words, message) {
            return false;
        }
        if link.shared.is_armed(&self.platform) {
            self.ring_as_last();
        }
        true
    }

    /// As [`Node::ring`], for the last route. Without arguments: what is made for a call that comes
    /// seldom is a part of the way that needs none.
    #[cold]
    #[inline(never)]
    fn ring_as_last(&mut self) {
        self.ring(self.last.route.link);
    }

    /// Sends bytes that did not go that way. In arguments that stay in registers: what is stored
    /// for a call is a part of the way that needs none.
    #[inline(never)]
    fn try_send_further(
        &mut self,
        to: &Address,
        bytes: &[u8],
        from: Port,
        [priority, tag]: [u16; 2],
    ) -> Result<(), SendError> {
        let priority = priority as u8;
        if let Some(route) = self.last_route(from, to)
            && self.post(&route, core::iter::once(Plain { priority, tag, bytes })) == 1
        {
            return Ok(());
        }
        let mut message = Message { priority, tag, payload: Payload::Bytes(bytes) };
        self.attempt(from, To::Address(*to), &mut message)
    }

    /// Sends bytes over a flow, in a slot or a block that is free at once. False if it did not.
    #[inline(always)]
    pub(super) fn post_over(
        &mut self,
        flow: FlowId,
        from: Port,
        [priority, tag]: [u16; 2],
        bytes: &[u8],
    ) -> bool {
        let route = self.get_flow(flow).map(|flow| flow.route).filter(|route| route.source == from);
        let message = Plain { priority: priority as u8, tag, bytes };
        match route.and_then(|route| Some((route.link, self.post_in_slot(&route, message)?))) {
            Some((_, false)) => true,
            Some((link, true)) => {
                self.ring(link);
                true
            }
            None => self.post_further_over(flow, bytes, from, [priority, tag]),
        }
    }

    /// Sends bytes over a flow that did not go that way.
    #[inline(never)]
    fn post_further_over(
        &mut self,
        flow: FlowId,
        bytes: &[u8],
        from: Port,
        [priority, tag]: [u16; 2],
    ) -> bool {
        let Ok(route) = self.route_of(from, To::Flow(flow)) else { return false };
        let message = Plain { priority: priority as u8, tag, bytes };
        self.post(&route, core::iter::once(message)) == 1
    }

    /// As [`Node::try_send`], if nothing has changed since the route was found and the bytes fit a
    /// slot that is known to be free. None if not: nothing was sent. Whether the receiver may
    /// sleep, and [`Node::ring`] is to be called.
    #[inline(always)]
    pub(super) fn post_in_slot(&mut self, route: &Route, message: Plain<'_>) -> Option<bool> {
        if !self.holds(route) {
            return None;
        }
        let shared = &mut self.links.at_mut(route.link.index)?.shared;
        let posted = shared.post_in_slot(route.words(), message);
        posted.then(|| shared.is_armed(&self.platform))
    }

    /// Sends messages over a route in their order, up to the first for which there is no room at
    /// once or which the layers' own functions have to see to. Returns how many it sent.
    #[inline(always)]
    pub(super) fn post<'a>(
        &mut self,
        route: &Route,
        messages: impl Iterator<Item = Plain<'a>>,
    ) -> usize {
        if !self.holds(route) {
            return 0;
        }
        let Some(link) = self.links.at_mut(route.link.index) else { return 0 };
        let sent = link.shared.post(&self.platform, route.words(), route.pool, messages);
        if self.platform.has_event() {
            self.attend();
        }
        sent
    }

    /// Rings the peer, if it sleeps and wants to be rung for a message by now. The words of a link
    /// that has ended say that it does: so a node that only sends comes here, and hears of it.
    #[inline(never)]
    pub(super) fn ring(&mut self, link: LinkId) {
        if let Some(link) = self.links.up_mut(link) {
            link.shared.ring(&self.platform);
        }
        if self.platform.has_event() {
            self.attend();
        }
    }
}
