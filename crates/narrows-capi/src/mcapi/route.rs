//! The ways that messages took last: what was found of both ends, so that it need not be looked up
//! each time. A way is good until anything changes that is known of endpoints or of peers.

use std::num::NonZeroU64;

use narrows::endpoint::Address;
use narrows::link::LinkId;

use super::attribute::PRIORITIES;
use super::foreign::Bytes;
use super::home::Home;
use super::id::EndpointId;
use super::node::{CONTROL, Node};
use super::transfer::{Quick, done};

/// Ways that are remembered, a power of two.
const WAYS: usize = 16;

/// From one endpoint to another.
#[derive(Clone, Copy)]
struct Way {
    ends: (EndpointId, EndpointId),
    /// The changes before it was found.
    changes: NonZeroU64,
    link: LinkId,
    port: u16,
    tag: u16,
    /// The longest message.
    longest: u32,
}

/// The ways of a node's messages, by where they lead.
#[derive(Default)]
pub(super) struct Routes([Option<Way>; WAYS]);

impl Routes {
    #[inline(always)]
    fn at(to: EndpointId) -> usize {
        (to.0 ^ to.0 >> 12) as usize & (WAYS - 1)
    }

    #[inline(always)]
    fn find(&self, ends: (EndpointId, EndpointId), changes: u64) -> Option<&Way> {
        let way = self.0.get(Routes::at(ends.1))?.as_ref();
        way.filter(|way| way.ends == ends && way.changes.get() == changes)
    }
}

impl<H: Home> Node<H> {
    /// How often something changed that a way depends on.
    #[inline(always)]
    fn changes(&self) -> u64 {
        self.endpoints.changes.wrapping_add(self.peers.changes)
    }

    /// Sends a message the short way: over one that is remembered.
    #[inline(always)]
    pub fn put_message(
        &mut self,
        ends: (EndpointId, EndpointId),
        bytes: &Bytes,
        priority: u32,
    ) -> Quick<()> {
        let sent = self.post_message(ends, bytes.there(), priority);
        done(sent.map(|armed| ((), armed)))
    }

    #[inline(always)]
    fn post_message(
        &mut self,
        ends: (EndpointId, EndpointId),
        bytes: Option<&[u8]>,
        priority: u32,
    ) -> Option<bool> {
        let bytes = bytes?;
        let way = self.routes.find(ends, self.changes())?;
        if bytes.len() > way.longest as usize || priority >= PRIORITIES {
            return None;
        }
        let to = Address { link: way.link, port: way.port };
        self.stack.post_short(CONTROL, to, (priority as u8, way.tag), bytes)
    }

    /// Rings whom a message was sent to the short way, if that is due.
    #[inline(never)]
    pub fn ring_for_message(&mut self, ends: (EndpointId, EndpointId)) {
        if let Some(link) = self.routes.find(ends, self.changes()).map(|way| way.link) {
            self.stack.ring_link(link);
        }
    }

    /// Remembers the way from one endpoint to another, if nothing waits before what is sent now.
    #[inline(never)]
    pub fn remember(&mut self, (from, to): (EndpointId, EndpointId)) {
        let own = self.endpoints.find(from).and_then(|inner| self.endpoints.get(inner));
        let remote = self.peers.find(to).filter(|remote| remote.end.is_none());
        let (Some(own), Some(remote)) = (own, remote) else { return };
        if self.peers.get(remote.peer).is_none_or(|peer| peer.queued > 0) {
            return;
        }
        let Address { link, port } = remote.address();
        let (tag, longest) = (remote.place.tag, own.attributes.max_payload);
        let Some(changes) = NonZeroU64::new(self.changes()) else { return };
        if let Some(way) = self.routes.0.get_mut(Routes::at(to)) {
            *way = Some(Way { ends: (from, to), changes, link, port, tag, longest });
        }
    }
}
