//! The ways that messages took last: what was found of both ends, so that it need not be looked up
//! each time. A way is good until anything changes that is known of endpoints or of peers.

use narrows::endpoint::{Node as Stack, Route};
use narrows::memory::Plain;

use super::super::attribute::PRIORITIES;
use super::super::foreign::Bytes;
use super::super::home::{Home, On};
use super::super::id::EndpointId;
use super::transfer::{Quick, done};
use super::{CONTROL, Node};

/// Ways that are remembered, a power of two.
const WAYS: usize = 16;

/// From one endpoint to another, which may be sent to all that is short.
#[derive(Clone, Copy)]
struct Way {
    ends: (EndpointId, EndpointId),
    /// The changes before it was found; 0 if none was.
    changes: u64,
    to: Route,
    /// What marks a message for the endpoint at the end of it.
    tag: u16,
}

/// The ways of a node's messages, by where they lead.
pub(in crate::mcapi) struct Routes([Way; WAYS]);

impl Routes {
    pub fn new() -> Routes {
        let nobody = EndpointId(0);
        Routes([Way { ends: (nobody, nobody), changes: 0, to: Route::NONE, tag: 0 }; WAYS])
    }

    #[inline(always)]
    fn at(to: EndpointId) -> usize {
        (to.0 ^ to.0 >> 12) as usize & (WAYS - 1)
    }

    #[inline(always)]
    fn find(&self, ends: (EndpointId, EndpointId), changes: u64) -> Option<&Way> {
        let way = self.0.get(Routes::at(ends.1))?;
        if way.ends == ends && way.changes == changes { Some(way) } else { None }
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
        done(sent)
    }

    #[inline(always)]
    fn post_message(
        &mut self,
        ends: (EndpointId, EndpointId),
        bytes: Option<&[u8]>,
        priority: u32,
    ) -> Option<bool> {
        let bytes = bytes?;
        if priority >= PRIORITIES {
            return None;
        }
        // The first change was the making of the node: no way that was found has 0.
        let way = self.routes.find(ends, self.changes())?;
        let message = Plain { priority: priority as u8, tag: way.tag, bytes };
        self.stack.post_short(&way.to, message)
    }

    /// Rings whom a message was sent to the short way, if that is due.
    #[inline(never)]
    pub fn ring_for_message(&mut self, ends: (EndpointId, EndpointId)) {
        if let Some(way) = self.routes.find(ends, self.changes()) {
            self.stack.ring_link(way.to.address().link);
        }
    }

    /// Remembers the way from one endpoint to another, if nothing waits before what is sent now.
    #[inline(never)]
    pub fn remember(&mut self, ends: (EndpointId, EndpointId)) {
        let own = self.endpoints.own(ends.0);
        let remote = self.peers.find(ends.1).filter(|remote| remote.end.is_none());
        let (Some((_, own)), Some(remote)) = (own, remote) else { return };
        let queued = self.peers.get(remote.peer).is_none_or(|peer| peer.queued > 0);
        if queued || (own.attributes.max_payload as usize) < Stack::<On<H>>::SHORT {
            return;
        }
        let (to, tag) = (self.stack.route(CONTROL, remote.address()), remote.place.tag());
        let changes = self.changes();
        if let (Ok(to), Some(way)) = (to, self.routes.0.get_mut(Routes::at(ends.1))) {
            *way = Way { ends, changes, to, tag };
        }
    }
}
