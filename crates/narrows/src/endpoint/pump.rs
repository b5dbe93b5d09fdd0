//! Taking messages off the rings and putting each where it belongs.

use super::flow::Phase;
use super::queue::Queue;
use super::{LinkError, Node, Port, Select};
use crate::connection::direct;
use crate::driver;
use crate::link::{EntryId, Link, LinkId, News, Target, grow};
use crate::memory::{Corrupt, Kind, Taken};
use crate::platform::{Lost, NoStorage, Platform};
use crate::span::Note;

/// Messages taken off one link before the next has its turn, so that a flood on one neither keeps
/// the others waiting nor the application. More are taken to reach one that is more urgent.
const BATCH: u32 = 64;

/// Pieces of news taken at once: both ends of a link of the node with itself, and that it was lost
/// because there was no place for the second.
const NEWS: usize = 4;

impl<P: Platform> Node<P> {
    /// Takes a few pieces of the rendezvous's news. False if there were none.
    ///
    /// Few, because peers that link again and again bring news without end: in between the caller
    /// looks at the rings and at its deadline. While there may be more, waits and [`Node::arm`]
    /// come back at once.
    pub(super) fn attend(&mut self) -> bool {
        (0..NEWS).take_while(|_| self.attend_to_one()).count() > 0
    }

    fn attend_to_one(&mut self) -> bool {
        let Some(news) = self.links.attend(&self.platform) else { return false };
        self.fresh = true;
        if news == News::Other {
            return true;
        }
        if let News::Up(id) = news
            && self.make_room().is_err()
        {
            self.links.turn_away(&self.platform, id);
            return true;
        }
        self.news = true;
        self.changed();
        if let News::Lost(id) = news {
            self.drop_requests(id);
            self.pump_link(id.index);
        }
        self.agree();
        true
    }

    /// Has as many queues as links have places, and room for a flow over each.
    #[inline(never)]
    fn make_room(&mut self) -> Result<(), NoStorage> {
        let places = usize::from(self.links.capacity());
        grow(&self.platform, &mut self.flows, places, || None)?;
        grow(&self.platform, &mut self.requests, places, Queue::default)?;
        grow(&self.platform, &mut self.refusals, places, Queue::default)
    }

    /// Takes what is on the rings, a bounded batch of each link.
    pub(super) fn pump(&mut self) {
        let calm = self.known.count();
        let news = !calm && self.attend();
        let places = self.links.places();
        let first = self.next_link;
        self.next_link = if first + 1 < places { first + 1 } else { 0 };
        for index in (first..places).chain(0..first) {
            self.pump_link(index);
        }
        if self.pending > 0 {
            self.advance();
        }
        if !calm {
            let restless = news || self.restless();
            self.known.seen(restless);
        }
    }

    /// Whether there is something to do besides messages at the next look.
    pub(super) fn restless(&self) -> bool {
        let ending = |link: &Link<P>| link.lost.is_some() && !link.told;
        self.pending > 0 || self.links.all().any(|link| link.replies > 0 || ending(link))
    }

    fn pump_link(&mut self, index: u16) {
        let Some(id) = self.links.id(index) else { return };
        for count in 0.. {
            let Some(link) = self.links.at_mut(index) else { return };
            if link.told || (link.lost.is_some() && link.drained()) {
                break;
            }
            // Behind a batch or a full inbox, up to the last message that is more urgent than one
            // before it: those behind that are no more urgent. A ring has no more than its slots,
            // whatever its peer says.
            if count >= BATCH || !link.inbox.room() {
                let more = link.inbox.room_beyond() && count < link.shared.theirs().slots();
                if !more || !link.shared.rx.marked() {
                    break;
                }
            }
            // Not taken apart: a message is as long as a slot, and moving it costs.
            let delivered = match &direct::take(&mut link.shared) {
                Ok(None) => break,
                Ok(Some(taken)) => {
                    self.links.took(index);
                    self.deliver(id, taken)
                }
                Err(what) => Err(*what),
            };
            if let Err(what) = delivered {
                self.fail(id, what);
                return;
            }
        }
        let Some(link) = self.links.at_mut(index) else { return };
        if link.lost.is_some() {
            if link.told {
                return;
            }
            if link.drained() {
                self.lost(id);
            }
            // Nobody waits for a refusal any more; the room is needed for what is left.
            self.refuse(id);
            return;
        }
        link.shared.flush_batch(&self.platform);
        if link.replies > 0 {
            self.reply(id);
        }
    }

    /// Puts a message where it belongs.
    fn deliver(&mut self, id: LinkId, taken: &Taken) -> Result<(), Corrupt> {
        let d = taken.descriptor;
        self.fresh = true;
        match d.kind {
            Kind::Control => {
                if self.platform.tracing()
                    && let Some(link) = self.links.get(id)
                {
                    let passage = driver::passage(link.key, link.shared.rx.taken(), &d);
                    self.platform.note(&Note::Taken(passage, None));
                }
                return self.obey(id, taken);
            }
            Kind::Message => {
                let Some(at) = self.keep(id, taken) else { return Ok(()) };
                if !self.queue_at(d.target, at, d.priority) {
                    self.owe(id, at);
                }
            }
            Kind::Request => {
                let served = self.links.get(id).and_then(|l| l.served.get(usize::from(d.source)));
                let open =
                    served.is_some_and(|s| s.agreed && s.target == Target::Function(d.target));
                if !open {
                    return Err(Corrupt::Control);
                }
                if self.gone(id).is_some() {
                    return Ok(());
                }
                let Some(at) = self.keep(id, taken) else { return Ok(()) };
                if let Some(queue) = self.requests.get_mut(usize::from(id.index)) {
                    queue.push(&mut self.links, at, 0);
                }
            }
            Kind::Response => {
                let flow = self.flows.get(usize::from(d.target)).and_then(Option::as_ref);
                flow.filter(|f| f.link == id && f.on_the_way > 0).ok_or(Corrupt::Response)?;
                let at = self.keep(id, taken);
                let flow = self.flows.get_mut(usize::from(d.target)).and_then(Option::as_mut);
                let flow = flow.ok_or(Corrupt::Response)?;
                flow.on_the_way -= 1;
                if let Some(at) = at {
                    flow.responses.push(&mut self.links, at, 0);
                }
                if flow.abandoned > 0 {
                    let flow = super::FlowId { index: d.target, life: flow.life };
                    self.drop_abandoned(flow)?;
                }
            }
        }
        Ok(())
    }

    /// Queues an entry at a port. False if that is not open.
    pub(super) fn queue_at(&mut self, port: Port, at: EntryId, priority: u8) -> bool {
        self.known.forget_port();
        let Some(Some(endpoint)) = self.endpoints.get_mut(usize::from(port)) else { return false };
        endpoint.queue.push(&mut self.links, at, priority);
        true
    }

    /// Remembers a message that has to be refused.
    pub(super) fn owe(&mut self, id: LinkId, at: EntryId) {
        if let Some(queue) = self.refusals.get_mut(usize::from(id.index)) {
            queue.push(&mut self.links, at, 0);
        }
        if let Some(link) = self.links.get_mut(id) {
            link.replies += 1;
        }
        self.changed();
    }

    /// Discards what a lost peer wanted served.
    fn drop_requests(&mut self, id: LinkId) {
        let Some(queue) = self.requests.get_mut(usize::from(id.index)) else { return };
        while let Some(at) = queue.pop(&mut self.links, &Select::default()) {
            if let Some(link) = self.links.at_mut(at.link) {
                link.inbox.remove(at.entry);
            }
        }
    }

    pub(super) fn keep(&mut self, id: LinkId, taken: &Taken) -> Option<EntryId> {
        let link = self.links.get_mut(id)?;
        let at = link.inbox.put(taken)?;
        if self.platform.tracing() {
            let number = link.shared.rx.taken();
            let passage = driver::passage(link.key, number, &taken.descriptor);
            self.platform.note(&Note::Taken(passage, Some(at.entry)));
        }
        Some(at)
    }

    /// Notes that the message of an entry is used.
    pub(super) fn used(&self, at: EntryId) {
        if self.platform.tracing()
            && let Some(link) = self.links.at(at.link)
        {
            self.platform.note(&Note::Used { link: link.key, entry: at.entry });
        }
    }

    /// Everything that a lost peer had sent has been taken: its flows end, and each endpoint that
    /// attached is told.
    pub(super) fn lost(&mut self, id: LinkId) {
        let Some(link) = self.links.get_mut(id) else { return };
        let Some(reason) = link.lost else { return };
        if core::mem::replace(&mut link.told, true) {
            return;
        }
        let mut notice = link.attached.take();
        self.fresh = true;
        self.news = true;
        self.drop_requests(id);
        self.refuse(id);
        for index in 0..self.flows.len() as u16 {
            match self.flow_at(index).filter(|f| f.link == id).map(|f| f.phase) {
                None => {}
                Some(Phase::Closing) => self.forget_flow(index),
                Some(_) => {
                    self.drop_batch(index);
                    self.set_phase(index, Phase::Gone(reason));
                }
            }
        }
        self.agree();
        while let Some(at) = notice {
            let entry = self.links.at_mut(at.link).and_then(|l| l.inbox.get_mut(at.entry));
            let Some(entry) = entry else { break };
            notice = entry.next.take();
            let port = entry.taken.map(|taken| taken.descriptor.target);
            if !port.is_some_and(|port| self.queue_at(port, at, 7)) {
                self.give_back(at);
            }
        }
        self.links.thin();
    }

    /// Ends a link whose peer broke the protocol. Returns why it has ended.
    pub(super) fn fail(&mut self, link: LinkId, what: Corrupt) -> Lost {
        self.changed();
        self.links.end(&self.platform, link, Lost::Corrupt(what));
        self.lost(link);
        self.gone(link).unwrap_or(Lost::Corrupt(what))
    }

    /// The reason for which nothing more can come from a lost peer until the application makes
    /// room in the inbox.
    pub(super) fn stuck(&self, id: LinkId) -> Option<Lost> {
        self.links.get(id).filter(|link| !link.inbox.room())?.lost
    }

    /// The error of a link that is not up.
    pub(super) fn gone(&self, id: LinkId) -> Option<Lost> {
        match self.up(id) {
            Err(LinkError::Gone(reason)) => Some(reason),
            _ => None,
        }
    }
}
