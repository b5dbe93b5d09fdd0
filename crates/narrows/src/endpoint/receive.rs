//! Receiving messages, and notices of peers that are gone.

use core::time::Duration;

use super::{Address, Arrived, LinkError, Message, Node, Port, PortError, Select, Source, What};
use crate::link::{EntryId, LinkId};
use crate::memory::{Descriptor, Kind, Taken};
use crate::platform::{Lost, Platform};

impl<P: Platform> Node<P> {
    /// The next message of an endpoint that is meant, if one is there: the most urgent first, then
    /// the earliest. It looks at the rings alone: a program that never waits [polls](Node::poll)
    /// now and then, so that new and lost links are seen.
    ///
    /// # Errors
    /// [`PortError::Closed`].
    pub fn try_receive(
        &mut self,
        port: Port,
        select: &Select,
    ) -> Result<Option<Message>, PortError> {
        self.pump();
        let endpoint = self.endpoints.get_mut(usize::from(port)).and_then(Option::as_mut);
        let endpoint = endpoint.ok_or(PortError::Closed)?;
        let Some(at) = endpoint.queue.pop(&mut self.links, select) else { return Ok(None) };
        Ok(self.message(at))
    }

    /// The next message of an endpoint that is meant, waiting for it until the deadline; none if
    /// that passed.
    ///
    /// # Errors
    /// [`PortError::Closed`].
    pub fn receive(
        &mut self,
        port: Port,
        select: &Select,
        within: Option<Duration>,
    ) -> Result<Option<Message>, PortError> {
        if let Some(message) = self.try_receive(port, select)? {
            return Ok(Some(message));
        }
        let deadline = self.deadline(within);
        loop {
            self.wait(self.agreed(), deadline, None);
            self.attend();
            if let Some(message) = self.try_receive(port, select)? {
                return Ok(Some(message));
            }
            if self.passed(deadline) {
                return Ok(None);
            }
        }
    }

    fn message(&self, at: EntryId) -> Option<Message> {
        let link = self.links.at(at.link)?;
        let taken = link.inbox.get(at.entry)?.taken?;
        let d = taken.descriptor;
        let what = match d.kind {
            Kind::Control if taken.in_slot.first() == Some(&Self::NOTICE) => {
                What::PeerGone(link.lost.unwrap_or(Lost::Died))
            }
            Kind::Control => What::Refused,
            _ => What::Message,
        };
        let from = Address { link: self.links.id(at.link)?, port: d.source };
        let (len, priority, tag) = (d.len as usize, d.priority, d.tag);
        Some(Message { what, from, len, priority, tag, at, life: link.life })
    }

    /// Copies part of a message's payload; false if it is not all there.
    pub fn read(&self, message: &Message, at: usize, to: &mut [u8]) -> bool {
        self.with_taken(message, |arrived| arrived.read(at, to)).unwrap_or(false)
    }

    /// Hands a message's payload to `reader` where it is.
    pub fn read_in_place<R>(
        &self,
        message: &Message,
        reader: impl FnOnce(&dyn Source) -> R,
    ) -> Option<R> {
        self.with_taken(message, |arrived| reader(arrived))
    }

    fn with_taken<R>(&self, message: &Message, f: impl FnOnce(&Arrived<'_, P>) -> R) -> Option<R> {
        let link = self.links.at(message.at.link).filter(|link| link.life == message.life)?;
        let taken: Taken = link.inbox.get(message.at.entry)?.taken?;
        let port = usize::from(taken.descriptor.target);
        let agreed = self.endpoints.get(port).and_then(Option::as_ref);
        let strategy = agreed.map_or(self.strategy, |endpoint| endpoint.strategy);
        Some(f(&Arrived {
            platform: &self.platform,
            shared: &link.shared,
            strategy: &strategy,
            taken: &taken,
            start: 0,
            len: taken.descriptor.len,
        }))
    }

    /// Is done with a message: its block goes back to the sender.
    pub fn release_message(&mut self, message: Message) {
        if self.links.at(message.at.link).is_some_and(|link| link.life == message.life) {
            self.release(message.at);
        }
    }

    /// Receives a message of an endpoint into `buffer` and releases it. What does not fit is cut
    /// off; [`Message::len`] says how long it was. None if the deadline passed.
    ///
    /// # Errors
    /// [`PortError::Closed`].
    pub fn receive_into(
        &mut self,
        port: Port,
        buffer: &mut [u8],
        within: Option<Duration>,
    ) -> Result<Option<Message>, PortError> {
        let Some(message) = self.receive(port, &Select::default(), within)? else {
            return Ok(None);
        };
        let fits = message.len.min(buffer.len());
        if let Some(part) = buffer.get_mut(..fits) {
            self.read(&message, 0, part);
        }
        self.release(message.at);
        Ok(Some(Message { at: Self::RELEASED, ..message }))
    }

    /// The entry of a message that was released: there is no link at this place.
    const RELEASED: EntryId = EntryId { link: u16::MAX, entry: 0 };

    /// In the first byte of an entry's payload: the notice of a lost peer. No control message that
    /// a peer sends begins so.
    const NOTICE: u8 = 0;

    /// Asks that the end of a link be delivered to an endpoint, as a message behind everything
    /// that the peer had sent. Its place in the inbox is set aside now, so that it cannot fail
    /// later.
    ///
    /// # Errors
    /// [`LinkError::Unknown`], [`LinkError::Gone`] if it has already ended, or
    /// [`LinkError::Full`].
    pub fn attach(&mut self, link: LinkId, port: Port) -> Result<(), LinkError> {
        self.up(link)?;
        let link = self.links.get_mut(link).ok_or(LinkError::Unknown)?;
        let descriptor = Descriptor {
            kind: Kind::Control,
            ack: crate::memory::Ack::Batched,
            priority: 7,
            len: 0,
            source: 0,
            target: port,
            tag: 0,
            block: None,
        };
        let notice = Taken { descriptor, in_slot: [Self::NOTICE; crate::memory::IN_SLOT] };
        let at = link.inbox.put(notice).ok_or(LinkError::Full)?;
        let before = link.attached.replace(at);
        if let Some(entry) = link.inbox.get_mut(at.entry) {
            entry.next = before;
        }
        Ok(())
    }
}
