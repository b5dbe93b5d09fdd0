//! Control messages: what peers ask of this node's ports and functions, and what they are told.

use super::control::Control;
use super::{Node, Select};
use crate::driver::{self, DriverError};
use crate::link::{self, LinkId, Reply, Served, Target};
use crate::memory::{Ack, Corrupt, Descriptor, Kind, Taken};
use crate::platform::Platform;
use crate::strategy::Strategy;

impl<P: Platform> Node<P> {
    /// Does what a control message asks.
    pub(super) fn obey(&mut self, id: LinkId, taken: &Taken) -> Result<(), Corrupt> {
        let d = taken.descriptor;
        let bytes = taken.in_slot.get(..d.len as usize).ok_or(Corrupt::Length)?;
        let control = Control::decode(bytes).ok_or(Corrupt::Control)?;
        if control == Control::Refused {
            let open = self.endpoints.get(usize::from(d.target)).is_some_and(Option::is_some);
            if open && let Some(at) = self.keep(id, taken) {
                self.queue_at(d.target, at, 0);
                return Ok(());
            }
        }
        if let Some(link) = self.links.get_mut(id)
            && link.lost.is_none()
        {
            link.shared.release(&self.platform, &d);
        }
        match control {
            Control::Refused => Ok(()),
            Control::Opened(_) | Control::Agreed(_) => self.answered(id, d.target, d.tag, control),
            _ => self.asked(id, taken, control),
        }
    }

    /// The peer asks something of a flow of its own.
    fn asked(&mut self, id: LinkId, taken: &Taken, control: Control) -> Result<(), Corrupt> {
        let (flow, question) = (taken.descriptor.source, taken.descriptor.tag);
        let port_open =
            |port: u16| self.endpoints.get(usize::from(port)).is_some_and(Option::is_some);
        let opened = match control {
            Control::OpenPort(port) => port_open(port),
            Control::Propose(strategy, _) => self.servable(id, &strategy),
            _ => false,
        };
        let Some(link) = self.links.get_mut(id) else { return Ok(()) };
        let Some(served) = link.served.get_mut(usize::from(flow)) else {
            // More flows than this node's table has: the question itself is kept to remember the
            // answer by.
            if matches!(control, Control::OpenFunction(_) | Control::OpenPort(_))
                && let Some(at) = link.inbox.put(taken)
            {
                self.owe(id, at);
                self.reply(id);
            }
            return Ok(());
        };
        // A new question: the peer, which asked the one before it, does not wait for that answer
        // any more.
        if served.owed.take().is_some() {
            link.replies = link.replies.saturating_sub(1);
        }
        served.question = question;
        let owed = match control {
            Control::OpenFunction(name) => {
                *served = Served { target: Target::Named(name), question, ..Served::NONE };
                self.naming = true;
                None
            }
            Control::OpenPort(port) => {
                let target = if opened { Target::Port(port) } else { Target::Nowhere };
                *served = Served { target, question, ..Served::NONE };
                Some(Reply::Opened(opened.then_some(port)))
            }
            Control::Propose(strategy, longest) => {
                if opened {
                    served.strategy = strategy;
                    served.agreed = true;
                    served.longest_response = longest;
                    if let Target::Port(port) = served.target
                        && let Some(Some(endpoint)) = self.endpoints.get_mut(usize::from(port))
                    {
                        endpoint.strategy = strategy;
                    }
                }
                Some(Reply::Agreed(opened))
            }
            _ => {
                *served = Served::NONE;
                None
            }
        };
        if let Some(owed) = owed {
            served.owed = Some(owed);
            link.replies += 1;
            self.changed();
            self.reply(id);
        }
        self.agree();
        Ok(())
    }

    /// Sends the answers that are owed on a link, as far as there is room.
    pub(super) fn reply(&mut self, id: LinkId) {
        let flows = self.links.get(id).map_or(0, |link| link.served.len());
        for flow in 0..flows {
            let served = self.links.get(id).and_then(|link| link.served.get(flow));
            let Some((owed, question)) = served.and_then(|s| Some((s.owed?, s.question))) else {
                continue;
            };
            if !self.send_control(id, 0, flow as u16, question, owed.into()) {
                return;
            }
            if let Some(link) = self.links.get_mut(id) {
                link.replies = link.replies.saturating_sub(1);
                if let Some(served) = link.served.get_mut(flow) {
                    served.owed = None;
                }
            }
        }
        self.refuse(id);
    }

    /// Tells a sender that its messages came for ports that are not open, or that its questions
    /// were for a flow too many.
    pub(super) fn refuse(&mut self, id: LinkId) {
        let place = usize::from(id.index);
        while let Some(at) = self.refusals.get(place).and_then(super::queue::Queue::peek) {
            let entry = self.links.get(id).and_then(|link| link.inbox.get(at.entry));
            if let Some(taken) = entry.and_then(|entry| entry.taken.as_ref()) {
                let d = taken.descriptor;
                let sent = match d.kind {
                    Kind::Control => {
                        self.send_control(id, 0, d.source, d.tag, Control::Opened(None))
                    }
                    _ => self.send_control(id, d.target, d.source, d.tag, Control::Refused),
                };
                if !sent {
                    return;
                }
            }
            if let Some(queue) = self.refusals.get_mut(place) {
                queue.pop(&mut self.links, &Select::default());
            }
            if let Some(link) = self.links.get_mut(id) {
                link.replies = link.replies.saturating_sub(1);
            }
            self.give_back(at);
        }
    }

    /// Sends a control message; false if there is no room for it now.
    pub(super) fn send_control(
        &mut self,
        id: LinkId,
        source: u16,
        target: u16,
        tag: u16,
        control: Control,
    ) -> bool {
        let (bytes, len) = control.encode();
        let descriptor = Descriptor {
            kind: Kind::Control,
            ack: Ack::Batched,
            priority: 0,
            len: 0,
            source,
            target,
            tag,
            block: None,
        };
        let Some(link) = self.links.get_mut(id) else { return true };
        if link.lost.is_some() {
            return true;
        }
        let payload = driver::Payload::Bytes(bytes.get(..len).unwrap_or_default());
        // Where a slot is too short for it: any memory that there is.
        let layout = link.shared.pool().layout();
        let placement = layout.classes().iter().max_by_key(|c| c.size).map(|c| c.placement);
        let any = Strategy::default();
        let strategy = Strategy { placement: placement.unwrap_or(any.placement), ..any };
        match link::send(&self.platform, link, &strategy, descriptor, payload) {
            Ok(()) => true,
            Err(DriverError::Corrupt(what)) => {
                self.fail(id, what);
                true
            }
            Err(_) => false,
        }
    }
}
