//! Getting endpoints and giving them back, deleting them, and the attributes of a node's own.

use narrows::link::LinkId;
use narrows::platform::Platform as _;

use super::super::attribute::{
    Attributes, GET_COUNT, GET_SOURCE, INBOX, NUM_RECV_BUFFERS, NUM_SEND_BUFFERS, STATUS, size,
};
use super::super::control::{Place, Said};
use super::super::foreign::Output;
use super::super::home::{Home, On};
use super::super::id::{EndpointId, Handle};
use super::super::request::Operation;
use super::super::status::{Outcome, Status};
use super::Node;
use super::peer::End;

impl<H: Home> Node<H> {
    /// The stack's port of an endpoint that has to be this node's own, and how long a caller that
    /// receives there may wait.
    #[inline(never)]
    pub fn receiver(&self, id: EndpointId) -> Outcome<(u16, u32)> {
        match self.endpoints.own(id) {
            Some((inner, endpoint)) => Ok((inner, endpoint.attributes.timeout)),
            None if self.peers.has(id) => Err(Status::EndpRemote),
            None => Err(Status::EndpInvalid),
        }
    }

    /// Gets an endpoint. Returns the request that goes on if it is not known at once.
    pub fn get_endpoint(
        &mut self,
        id: EndpointId,
        out: Output<u32>,
        of_call: bool,
    ) -> Outcome<Option<Handle>> {
        if id.node() == self.id
            && let Some((_, endpoint)) = self.endpoints.own_mut(id)
        {
            endpoint.gets += 1;
            endpoint.own_gets += 1;
            endpoint.source = Some(self.id);
            out.put(id.0);
            return Ok(None);
        }
        let (node, port) = (id.node(), id.port());
        let operation = Operation::Get { node, port, out, asked: None, counts: true };
        let request = self.begin(operation, of_call)?;
        if let Ok(Some(link)) = self.link_to(node) {
            self.ask_for(request, link);
        }
        Ok(Some(request))
    }

    /// Asks the node behind a link for the endpoint that a request wants.
    pub fn ask_for(&mut self, request: Handle, link: LinkId) {
        if let Some(Operation::Get { port, asked, counts, .. }) = self.requests.pending(request) {
            *asked = Some(link);
            let (port, said) = (*port, if *counts { Said::Get } else { Said::Look });
            self.say(link, said, &[request.0, port.into()]);
        }
    }

    /// Whether an endpoint of another node may be there though it was not got, or no more when it
    /// was last heard of.
    pub fn may_learn(&self, id: EndpointId) -> bool {
        let other = id.node() != self.id;
        other
            && self.peers.find(id).is_none_or(|remote| {
                remote.end == Some(End::Deleted) && self.peers.are_linked_with(id.node())
            })
    }

    /// Looks for an endpoint that another node has passed on. Returns the request that goes on.
    pub fn look_for_endpoint(&mut self, id: EndpointId) -> Outcome<Handle> {
        let (node, port, out) = (id.node(), id.port(), Output::nowhere());
        let operation = Operation::Get { node, port, out, asked: None, counts: false };
        let request = self.begin(operation, true)?;
        if let Ok(Some(link)) = self.link_to(node) {
            self.ask_for(request, link);
        }
        Ok(request)
    }

    /// Ends a get.
    pub fn end_get(&mut self, request: Handle, id: EndpointId, got: Outcome<()>) {
        if let (Ok(()), Some(Operation::Get { out, .. })) = (got, self.requests.pending(request)) {
            out.put(id.0);
        }
        self.end(request, got.into());
    }

    /// Gives a get back.
    pub fn release_endpoint(&mut self, id: EndpointId) -> Outcome<()> {
        if id.node() == self.id {
            let own = self.endpoints.own_mut(id).filter(|(_, endpoint)| endpoint.own_gets > 0);
            own.ok_or(Status::EndpInvalid)?.1.given_back(true);
            return Ok(());
        }
        let remote = self.peers.find_mut(id).filter(|remote| remote.gets > 0);
        let remote = remote.ok_or(Status::EndpInvalid)?;
        remote.gets -= 1;
        let (link, place, there) = (remote.link, remote.place, remote.end.is_none());
        if remote.gets == 0 {
            // Nobody here has got it any more.
            remote.end.get_or_insert(End::Deleted);
        }
        if there {
            self.say(link, Said::Release, &[place.0]);
        }
        Ok(())
    }

    /// Makes an endpoint of this node's one that it can send to: over a link with itself.
    #[inline(never)]
    pub fn reach_own(&mut self, id: EndpointId) -> Outcome<()> {
        // Both ends are this node's: it takes some turns and no waiting.
        for _ in 0..1000 {
            self.progress();
            let (inner, endpoint) = self.endpoints.own(id).ok_or(Status::EndpInvalid)?;
            let tag = endpoint.tag;
            if let Some(link) = self.link_to(self.id)? {
                let peer = self.peers.of(link).ok_or(Status::MemLimit)?;
                return self.peers.got(id, (peer, link), Place::new(inner, tag), true);
            }
        }
        Err(Status::Transmission)
    }

    /// Whether an endpoint is one that can be sent to.
    pub fn knows(&self, id: EndpointId) -> bool {
        let own = id.node() == self.id && self.endpoints.find(id).is_some();
        own || self.peers.find(id).is_some_and(|remote| remote.end != Some(End::Deleted))
    }

    /// Deletes an endpoint of this node's.
    pub fn delete_endpoint(&mut self, id: EndpointId) -> Outcome<()> {
        if id.node() != self.id {
            return Err(if self.peers.has(id) {
                Status::EndpNotOwner
            } else {
                Status::EndpInvalid
            });
        }
        let (inner, endpoint) = self.endpoints.own(id).ok_or(Status::EndpInvalid)?;
        let channel = endpoint.channel.and_then(|handle| self.channels.get(handle));
        if endpoint.opening.is_some() || channel.is_some_and(|channel| channel.open) {
            return Err(Status::ChanOpen);
        }
        if endpoint.channel.is_some() {
            return Err(Status::ChanConnected);
        }
        self.end_those(Status::EndpInvalid, &mut |operation| {
            matches!(operation, Operation::ReceiveMessage { inner: of, .. } if *of == inner)
        });
        let Some(endpoint) = self.endpoints.remove(inner) else { return Ok(()) };
        let _ = self.stack.close(inner);
        let place = Place::new(inner, endpoint.tag);
        let mut next = endpoint.known_to.from(0);
        while let Some(peer) = next {
            next = endpoint.known_to.from(peer + 1);
            if let Some(link) = self.peers.get(peer).map(|peer| peer.link) {
                self.say(link, Said::Deleted, &[place.0]);
            }
        }
        if let Some(own) = self.peers.find_mut(id) {
            own.end = Some(End::Deleted);
        }
        Ok(())
    }

    /// The value of an attribute of this node's own endpoint, in one word or two.
    pub fn attribute(&mut self, id: EndpointId, number: u32) -> Outcome<[u32; 2]> {
        let (inner, endpoint) = self.endpoints.own(id).ok_or(Status::EndpInvalid)?;
        let waiting = self.stack.available(inner).unwrap_or(0);
        size(number)?;
        Ok(match number {
            GET_COUNT => [endpoint.gets, 0],
            GET_SOURCE => match endpoint.source {
                Some(node) => [node.domain(), node.node()],
                None => [u32::MAX; 2],
            },
            NUM_SEND_BUFFERS => [super::slots(On::<H>::LINE), 0],
            NUM_RECV_BUFFERS => [INBOX.saturating_sub(waiting), 0],
            STATUS => [self.channel_flags(endpoint), 0],
            _ => [endpoint.attributes.get(number).ok_or(Status::AttrNum)?, 0],
        })
    }

    /// Sets an attribute of this node's own endpoint; `value` has the size of the attribute if
    /// there is one.
    pub fn set_attribute(
        &mut self,
        id: EndpointId,
        number: u32,
        value: Option<u32>,
    ) -> Outcome<()> {
        let Some((_, endpoint)) = self.endpoints.own_mut(id) else {
            let known = id.node() != self.id && self.peers.find(id).is_some();
            if !known {
                return Err(Status::EndpInvalid);
            }
            size(number)?;
            return Err(Status::EndpRemote);
        };
        size(number)?;
        if endpoint.channel.is_some() {
            return Err(Status::ChanConnected);
        }
        if !Attributes::settable(number) {
            return Err(Status::AttrReadOnly);
        }
        endpoint.attributes.set(number, value.ok_or(Status::AttrSize)?)
    }
}
