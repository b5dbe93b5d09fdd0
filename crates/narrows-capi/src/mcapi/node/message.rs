//! Messages: sent and received if that can be done now.

use narrows::endpoint::{Address, Message, Received, SendError, What};

use super::super::attribute::PRIORITIES;
use super::super::control::HEAR;
use super::super::foreign::{Buffer, Bytes};
use super::super::home::Home;
use super::super::id::EndpointId;
use super::super::request::Done;
use super::super::status::{Outcome, Status};
use super::transfer::{Quick, sent};
use super::{CONTROL, Node};

impl<H: Home> Node<H> {
    /// Where a message goes: the peer's place, address and mark.
    #[inline]
    pub fn target(&self, to: EndpointId) -> Outcome<(u16, Address, u16)> {
        let remote = self.peers.find(to).ok_or(Status::EndpInvalid)?;
        remote.check()?;
        Ok((remote.peer, remote.address(), remote.place.tag()))
    }

    /// What can be said of a message before it is sent: how long its sender may wait, and whether
    /// it fails where there is no room.
    #[inline(never)]
    pub fn sender(&self, from: EndpointId, bytes: &Bytes, priority: u32) -> Outcome<(u32, bool)> {
        if bytes.missing() {
            return Err(Status::Parameter);
        }
        let (_, own) = self.endpoints.own(from).ok_or(Status::EndpInvalid)?;
        if bytes.get().len() > own.attributes.max_payload as usize {
            return Err(Status::MsgSize);
        }
        if priority >= PRIORITIES {
            return Err(Status::Priority);
        }
        Ok((own.attributes.timeout, own.attributes.fails_at_limit()))
    }

    /// Receives a message the short way: how long it was.
    #[inline(always)]
    pub fn collect_message(&mut self, id: EndpointId, buffer: Option<&mut [u8]>) -> Quick<usize> {
        let Some((received, tag)) = self.take_first(id, buffer) else { return Quick::Not };
        if received.what != What::Message || received.tag != tag {
            return self.collect_marked(received.what, received.tag ^ tag, received.len);
        }
        // No batch of credit that is due is heard of here.
        Quick::of(received.len, self.is_due())
    }

    /// What is first for an endpoint, and the mark that it should have.
    #[inline(always)]
    fn take_first(&mut self, id: EndpointId, buffer: Option<&mut [u8]>) -> Option<(Received, u16)> {
        let (inner, buffer) = (self.endpoints.find_quickly(id)?, buffer?);
        let endpoint =
            self.endpoints.get_quickly(inner).filter(|endpoint| endpoint.receiving == 0)?;
        let tag = endpoint.tag;
        Some((self.stack.take_first(inner, buffer)?, tag))
    }

    /// Receives a message whose mark has something added to it.
    #[cold]
    #[inline(never)]
    fn collect_marked(&mut self, what: What, more: u16, len: usize) -> Quick<usize> {
        if what != What::Message || more != HEAR {
            // What is not meant for it is for an endpoint that had this place before.
            return Quick::Not;
        }
        self.hear();
        Quick::More(len)
    }

    /// Sends a message if there is room, and nothing waits before it or it is its turn.
    #[inline(never)]
    pub fn send_message(
        &mut self,
        to: EndpointId,
        bytes: &[u8],
        priority: u8,
        in_turn: bool,
    ) -> Done {
        let (peer, address, tag) = match self.target(to) {
            Ok(target) => target,
            Err(status) => return status.into(),
        };
        let there = self.peers.get(peer);
        if !in_turn && there.is_some_and(|peer| peer.queued > 0) {
            return Status::Pending.into();
        }
        let said = there.is_some_and(|peer| peer.said);
        let tag = if said { tag | HEAR } else { tag };
        // From the control port, which sees to refusals: a receiver of MCAPI's is not told who
        // sent.
        let done = sent(self.try_send(address, bytes, (priority, tag)), bytes.len());
        if said
            && done.status == Status::Success
            && let Some(peer) = self.peers.get_mut(peer)
        {
            peer.said = false;
        }
        done
    }

    /// Sends a message if that can be done at once, and remembers its way for those after it.
    #[inline(never)]
    pub fn send_anew(
        &mut self,
        ends: (EndpointId, EndpointId),
        bytes: &Bytes,
        priority: u32,
    ) -> bool {
        let can = self.sender(ends.0, bytes, priority).is_ok();
        let send = |node: &mut Node<H>| {
            node.send_message(ends.1, bytes.get(), priority as u8, false).status == Status::Success
        };
        let sent = can && send(self);
        if sent {
            self.remember(ends);
        }
        sent
    }

    /// Sends bytes if there is room.
    #[inline(never)]
    pub fn try_send(
        &mut self,
        to: Address,
        bytes: &[u8],
        (priority, tag): (u8, u16),
    ) -> Result<(), SendError> {
        let message = Message::new(bytes).priority(priority).tag(tag);
        self.stack.try_send(CONTROL, to, message)
    }

    /// Receives a message if one is there, and nobody waits for it or it is its turn: how long it
    /// was, or that no node is left that would send one.
    #[inline(never)]
    pub fn receive_message(&mut self, inner: u16, mut buffer: Buffer, in_turn: bool) -> Done {
        let endpoint = self.endpoints.get(inner);
        let Some(endpoint) = endpoint.filter(|endpoint| in_turn || endpoint.receiving == 0) else {
            return Status::Pending.into();
        };
        let (tag, buffer) = (endpoint.tag, buffer.get());
        loop {
            match self.stack.try_receive_into(inner, buffer) {
                Ok(None) if self.endpoints.tell_orphaned(inner) => {
                    return Status::Transmission.into();
                }
                Ok(None) => return Status::Pending.into(),
                Ok(Some(received))
                    if received.what == What::Message && received.tag & !HEAR == tag =>
                {
                    if received.tag != tag {
                        self.hear();
                    }
                    return match received.len.checked_sub(buffer.len()) {
                        None | Some(0) => Done::well(received.len as u64),
                        Some(_) => {
                            let value = buffer.len() as u64;
                            Done { status: Status::MsgTruncated, value }
                        }
                    };
                }
                // For an endpoint that had this place before.
                Ok(Some(_)) => {}
                Err(_) => return Status::EndpInvalid.into(),
            }
        }
    }
}
