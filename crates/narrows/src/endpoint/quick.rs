//! The short way of a message that nothing stands in the way of: out of the caller's bytes into a
//! slot, out of the ring into the receiver's buffer. What it cannot do, it leaves untouched for the
//! long way to do, so that nothing but speed depends on it.

use super::{Address, FlowId, Node, Payload, Port, Received, What};
use crate::link::{self, Target};
use crate::memory::{Ack, Descriptor, Kind};
use crate::platform::Platform;
use crate::strategy::Transfer;

/// Looks at the rings for one that sees to everything: traffic that never pauses does not hide news.
pub(super) const LOOKS: u8 = 255;

/// What a look at the rings found.
pub(super) enum Look {
    /// No message on any of them, and none that waits for this port.
    Nothing,
    /// The message, which has been taken and given back.
    Message(Received),
    /// Something that takes the long way.
    More,
}

impl<P: Platform> Node<P> {
    /// Sends a message that belongs to no flow, if it fits a slot which is known to be free. False
    /// if it did not.
    #[inline(always)]
    pub(super) fn post(
        &mut self,
        from: Port,
        to: Address,
        priority: u8,
        tag: u16,
        payload: &Payload<'_>,
    ) -> bool {
        let ack = self.strategy.acknowledgement.wanted();
        self.post_with(ack, from, to, priority, tag, payload)
    }

    /// As [`Node::post`], over a flow.
    #[inline(always)]
    pub(super) fn post_over(
        &mut self,
        flow: FlowId,
        from: Port,
        priority: u8,
        tag: u16,
        payload: &Payload<'_>,
    ) -> bool {
        let Some(flow) = self.get_flow(flow) else { return false };
        let Target::Port(port) = flow.target else { return false };
        if flow.phase.usable().is_err() {
            return false;
        }
        let (ack, to) = (flow.strategy.acknowledgement.wanted(), Address { link: flow.link, port });
        self.post_with(ack, from, to, priority, tag, payload)
    }

    #[inline(always)]
    fn post_with(
        &mut self,
        ack: Ack,
        from: Port,
        to: Address,
        priority: u8,
        tag: u16,
        payload: &Payload<'_>,
    ) -> bool {
        let Payload::Bytes(bytes) = *payload else { return false };
        if self.platform.tracing()
            || !matches!(self.endpoints.get(usize::from(from)), Some(Some(_)))
        {
            return false;
        }
        let Some(link) = self.links.get_mut(to.link) else { return false };
        if link.lost.is_some() {
            return false;
        }
        let descriptor = Descriptor {
            kind: Kind::Message,
            ack,
            priority: priority.min(7),
            len: 0,
            source: from,
            target: to.port,
            tag,
            block: None,
        };
        link::post(&self.platform, link, descriptor, bytes)
    }

    /// Takes the one message that is there straight into `buffer`. With messages on several links,
    /// or one that overtakes another, or something else to do than messages, there is more.
    #[inline(always)]
    pub(super) fn look(&mut self, port: Port, buffer: &mut [u8]) -> Look {
        if self.calm == 0 {
            return Look::More;
        }
        self.calm -= 1;
        let Some(Some(endpoint)) = self.endpoints.get(usize::from(port)) else { return Look::More };
        if !endpoint.queue.is_empty() {
            return Look::More;
        }
        let copied = endpoint.strategy.transfer != Transfer::CopyEngine;
        let (id, link) = match self.links.ready() {
            Ok(Some(ready)) => ready,
            Ok(None) => return Look::Nothing,
            Err(link::Several) => return Look::More,
        };
        match link::take_into(&self.platform, link, port, copied, buffer) {
            Some(d) => Look::Message(Received {
                what: What::Message,
                from: Address { link: id, port: d.source },
                len: d.len as usize,
                priority: d.priority,
                tag: d.tag,
            }),
            None => Look::More,
        }
    }

    /// Sees to what is not on the rings. False if the next look has to see to everything.
    #[inline(never)]
    pub(super) fn calm_down(&mut self) -> bool {
        self.attend();
        self.calm = if self.restless() { 0 } else { LOOKS };
        self.calm > 0
    }

    /// Whether no message on the rings can come before the first one that waits for a port, so that
    /// there is no need to take them first.
    pub(super) fn comes_first(&mut self, port: Port) -> bool {
        if self.calm == 0 && !self.calm_down() {
            return false;
        }
        self.calm -= 1;
        let Some(Some(endpoint)) = self.endpoints.get(usize::from(port)) else { return false };
        let Some(level) = endpoint.queue.level() else { return false };
        !self.links.up().any(|link| link.shared.rx.may_overtake(level))
    }
}
