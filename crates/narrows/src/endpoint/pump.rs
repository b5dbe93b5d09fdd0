//! Taking messages off the rings and putting each where it belongs.

use super::control::Control;
use super::flow::Phase;
use super::{LinkError, Node, Select};
use crate::driver::{self, DriverError};
use crate::link::{self, EntryId, LinkId, News, Reply, Target};
use crate::memory::{Ack, Corrupt, Descriptor, Kind, Taken};
use crate::platform::{Lost, Platform};
use crate::strategy::Strategy;

/// Messages taken off one link before the next has its turn, so that a flood on one neither keeps
/// the others waiting nor the application.
const BATCH: usize = 64;

impl<P: Platform> Node<P> {
    /// Takes the rendezvous's news.
    pub(super) fn attend(&mut self) -> bool {
        let mut any = false;
        while let Some(news) = self.links.attend(&self.platform) {
            any = true;
            if let News::Lost(id) = news {
                self.pump_link(id.index);
            }
        }
        any
    }

    /// Takes what is on the rings, a bounded batch of each link.
    pub(super) fn pump(&mut self) {
        let places = self.links.places();
        let first = self.next_link;
        self.next_link = if first + 1 < places { first + 1 } else { 0 };
        for index in (first..places).chain(0..first) {
            self.pump_link(index);
        }
        if !self.refusals.is_empty() {
            self.refuse();
        }
        if self.switching > 0 {
            self.advance_switches();
        }
    }

    fn pump_link(&mut self, index: u16) {
        let Some(id) = self.links.id(index) else { return };
        for _ in 0..BATCH {
            let Some(link) = self.links.at_mut(index) else { return };
            if matches!(link.lost, Some(Lost::Corrupt(_))) {
                break;
            }
            let routed = match link::take(link) {
                Ok(None) => break,
                Ok(Some(taken)) => self.route(id, taken),
                Err(what) => Err(what),
            };
            if let Err(what) = routed {
                self.fail(id, what);
                return;
            }
        }
        let Some(link) = self.links.at(index) else { return };
        if link.lost.is_some() {
            let over = matches!(link.lost, Some(Lost::Corrupt(_)));
            if !link.told && (over || link.shared.rx.head() == Ok(None)) {
                self.lost(id);
            }
        } else if link.replies > 0 {
            self.reply(id);
        }
    }

    /// Puts a message where it belongs.
    fn route(&mut self, id: LinkId, taken: Taken) -> Result<(), Corrupt> {
        let d = taken.descriptor;
        match d.kind {
            Kind::Control => return self.obey(id, taken),
            Kind::Message => {
                let Some(at) = self.keep(id, taken) else { return Ok(()) };
                match self.endpoints.get_mut(usize::from(d.target)) {
                    Some(Some(endpoint)) => endpoint.queue.push(&mut self.links, at, d.priority),
                    _ => self.refusals.push(&mut self.links, at, 0),
                }
            }
            Kind::Request => {
                let served = self.links.get(id).and_then(|l| l.served.get(usize::from(d.source)));
                if served.map(|s| s.target) != Some(Target::Function(d.target)) {
                    return Err(Corrupt::Control);
                }
                let Some(at) = self.keep(id, taken) else { return Ok(()) };
                if let Some(queue) = self.requests.get_mut(usize::from(id.index)) {
                    queue.push(&mut self.links, at, 0);
                }
            }
            Kind::Response => {
                let flow = self.flows.get_mut(usize::from(d.target)).and_then(Option::as_mut);
                let flow = flow.filter(|f| f.link == id && f.on_the_way > 0);
                let flow = flow.ok_or(Corrupt::Response)?;
                flow.on_the_way -= 1;
                let at = self.links.get_mut(id).and_then(|link| link.inbox.put(taken));
                if let Some(at) = at {
                    flow.responses.push(&mut self.links, at, 0);
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, id: LinkId, taken: Taken) -> Option<EntryId> {
        self.links.get_mut(id)?.inbox.put(taken)
    }

    /// Does what a control message asks.
    fn obey(&mut self, id: LinkId, taken: Taken) -> Result<(), Corrupt> {
        let d = taken.descriptor;
        let bytes = taken.in_slot.get(..d.len as usize).ok_or(Corrupt::Length)?;
        let control = Control::decode(bytes).ok_or(Corrupt::Control)?;
        if control == Control::Refused {
            let open = self.endpoints.get(usize::from(d.target)).is_some_and(Option::is_some);
            if open && let Some(at) = self.keep(id, taken) {
                if let Some(Some(endpoint)) = self.endpoints.get_mut(usize::from(d.target)) {
                    endpoint.queue.push(&mut self.links, at, 0);
                }
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
            Control::Opened(_) | Control::Agreed(_) => self.answered(id, d.target, control),
            _ => self.asked(id, d.source, control),
        }
    }

    /// The peer asks something of a flow of its own.
    fn asked(&mut self, id: LinkId, flow: u16, control: Control) -> Result<(), Corrupt> {
        let port_open =
            |port: u16| self.endpoints.get(usize::from(port)).is_some_and(Option::is_some);
        let opened = match control {
            Control::OpenPort(port) => port_open(port),
            Control::Propose(strategy, _) => self.feasible(id, &strategy),
            _ => false,
        };
        let Some(link) = self.links.get_mut(id) else { return Ok(()) };
        let Some(served) = link.served.get_mut(usize::from(flow)) else {
            // More flows than this node's table has: there is no place to remember the answer in.
            self.send_control(id, 0, flow, 0, Control::Opened(None));
            return Ok(());
        };
        let owed = match control {
            Control::OpenFunction(name) => {
                served.target = Target::Named(name);
                self.naming = true;
                None
            }
            Control::OpenPort(port) => {
                served.target = if opened { Target::Port(port) } else { Target::Nowhere };
                Some(Reply::Opened(opened.then_some(port)))
            }
            Control::Propose(strategy, longest) => {
                if opened {
                    served.strategy = strategy;
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
                served.target = Target::Nowhere;
                None
            }
        };
        if let Some(owed) = owed {
            if served.owed.replace(owed).is_some() {
                return Err(Corrupt::Control);
            }
            link.replies += 1;
            self.reply(id);
        }
        Ok(())
    }

    /// The peer answers what was asked of it for a flow of this node's.
    fn answered(&mut self, id: LinkId, flow: u16, control: Control) -> Result<(), Corrupt> {
        let flow = self.flows.get_mut(usize::from(flow)).and_then(Option::as_mut);
        let flow = flow.filter(|f| f.link == id).ok_or(Corrupt::Control)?;
        let switching = flow.answered(control)?;
        if switching {
            self.switching = self.switching.saturating_sub(1);
        }
        Ok(())
    }

    /// Sends the answers that are owed on a link, as far as there is room.
    pub(super) fn reply(&mut self, id: LinkId) {
        let flows = self.links.get(id).map_or(0, |link| link.served.len());
        for flow in 0..flows {
            let owed = self.links.get(id).and_then(|l| l.served.get(flow)).and_then(|s| s.owed);
            let Some(owed) = owed else { continue };
            if !self.send_control(id, 0, flow as u16, 0, owed.into()) {
                return;
            }
            if let Some(link) = self.links.get_mut(id) {
                link.replies = link.replies.saturating_sub(1);
                if let Some(served) = link.served.get_mut(flow) {
                    served.owed = None;
                }
            }
        }
    }

    /// Tells senders whose messages came for ports that are not open.
    fn refuse(&mut self) {
        while let Some(at) = self.refusals.peek() {
            let taken =
                self.links.at(at.link).and_then(|l| l.inbox.get(at.entry)).and_then(|e| e.taken);
            if let (Some(id), Some(taken)) = (self.links.id(at.link), taken) {
                let d = taken.descriptor;
                let up = self.up(id).is_ok();
                if up && !self.send_control(id, d.target, d.source, d.tag, Control::Refused) {
                    return;
                }
            }
            self.refusals.pop(&mut self.links, &Select::default());
            self.release(at);
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
        match link::send(&self.platform, link, &Strategy::default(), descriptor, payload) {
            Ok(()) => true,
            Err(DriverError::Corrupt(what)) => {
                self.fail(id, what);
                true
            }
            Err(_) => false,
        }
    }

    /// Everything that a lost peer had sent has been taken: its flows end, and whoever attached is
    /// told.
    pub(super) fn lost(&mut self, id: LinkId) {
        let Some(link) = self.links.get_mut(id) else { return };
        let Some(reason) = link.lost else { return };
        if core::mem::replace(&mut link.told, true) {
            return;
        }
        let mut notice = link.attached.take();
        if let Some(queue) = self.requests.get_mut(usize::from(id.index)) {
            while let Some(at) = queue.pop(&mut self.links, &Select::default()) {
                if let Some(link) = self.links.at_mut(at.link) {
                    link.inbox.remove(at.entry);
                }
            }
        }
        for flow in self.flows.iter_mut().flatten().filter(|f| f.link == id) {
            if matches!(flow.phase, Phase::Draining(_) | Phase::Agreeing(_)) {
                self.switching = self.switching.saturating_sub(1);
            }
            flow.phase = Phase::Gone(reason);
        }
        while let Some(at) = notice {
            let entry = self.links.at_mut(at.link).and_then(|l| l.inbox.get_mut(at.entry));
            let Some(entry) = entry else { break };
            notice = entry.next.take();
            let port = entry.taken.map(|taken| usize::from(taken.descriptor.target));
            match port.and_then(|port| self.endpoints.get_mut(port)) {
                Some(Some(endpoint)) => endpoint.queue.push(&mut self.links, at, 7),
                _ => self.release(at),
            }
        }
    }

    /// The error of a link that is not up.
    pub(super) fn gone(&self, id: LinkId) -> Option<Lost> {
        match self.up(id) {
            Err(LinkError::Gone(reason)) => Some(reason),
            _ => None,
        }
    }
}
