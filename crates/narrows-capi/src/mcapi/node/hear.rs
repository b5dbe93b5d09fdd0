//! What other nodes say, and what it comes to; and what it comes to when one is gone.

use narrows::endpoint::What;
use narrows::link::LinkId;
use narrows::platform::Lost;

use super::super::control::{Control, HEAR, Kind, Place, Said, WORDS};
use super::super::home::Home;
use super::super::id::{EndpointId, Handle};
use super::super::request::{Done, Operation};
use super::super::status::Status;
use super::channel::{Asker, Channel};
use super::peer::End;
use super::{CONTROL, MOST_UNSAID, Node, control_of};

/// What nodes said that is seen to in one turn.
const HEARD_AT_ONCE: usize = 64;

/// A get of another node's that waits for the endpoint to be made.
pub(in crate::mcapi) struct Wanted {
    link: LinkId,
    request: u32,
    port: u16,
}

impl<H: Home> Node<H> {
    /// Sees to what other nodes said.
    pub fn hear(&mut self) {
        self.unheard = false;
        if self.stack.take_news() {
            self.meet();
        }
        let mut next = self.peers.from(0);
        while let Some(place) = next {
            next = self.peers.from(place + 1);
            if let Some(link) = self.peers.get(place).map(|peer| peer.link)
                && self.stack.channel(control_of(link)).is_ready()
            {
                self.hear_from(link);
            }
        }
        for _ in 0..HEARD_AT_ONCE {
            if !self.stack.has_waiting(CONTROL) {
                return;
            }
            let Ok(Some(received)) = self.stack.try_receive_into(CONTROL, &mut []) else { return };
            let link = received.from.link;
            match received.what {
                What::Refused => {
                    let place = Place::new(received.from.port, received.tag & !HEAR);
                    self.peers.deleted(link, place);
                }
                _ => self.drop_link(link),
            }
        }
        self.unheard = true;
    }

    /// Sees to what the node behind a link said.
    pub fn hear_from(&mut self, link: LinkId) {
        for _ in 0..HEARD_AT_ONCE {
            let Ok(Some(arrival)) = self.stack.channel(control_of(link)).try_take() else { return };
            let place = self.peers.of(link);
            let Some(peer) = place.and_then(|place| self.peers.get_mut(place)) else { return };
            let sound = arrival.block.is_none() && peer.heard.put(peer.pieces, arrival.word);
            peer.pieces += 1;
            if sound && arrival.tag != 0 {
                continue;
            }
            let heard = std::mem::replace(&mut peer.heard, Control::NONE);
            peer.pieces = 0;
            match heard.read().filter(|_| sound) {
                Some((said, words)) => self.obey(link, said, words),
                None => return self.drop_link(link),
            }
        }
        self.unheard = true;
    }

    /// Ends the link of a peer that does not keep the rules.
    fn drop_link(&mut self, link: LinkId) {
        self.stack.link(link).close();
        self.lost(link, Lost::Closed);
    }

    fn obey(&mut self, link: LinkId, said: Said, words: [u32; WORDS]) {
        let Some(peer) = self.peers.of(link) else { return };
        let [a, b, c, d, e, f, g, h, _] = words;
        let (handle, place) = (Handle(a), Place(b));
        match said {
            Said::Get => self.wanted(link, peer, a, b as u16),
            Said::Look => {
                if !self.found((link, peer), a, b as u16, false) {
                    self.say(link, Said::Found, &[a]);
                }
            }
            Said::GiveUp => {
                self.wanted.retain(|wanted| wanted.link != link || wanted.request != a);
            }
            Said::Found => {
                if let Some(Operation::Get { node, port, asked, .. }) =
                    self.requests.pending(handle)
                    && *asked == Some(link)
                {
                    let id = node.endpoint(*port);
                    let got = match place {
                        Place(0) => Err(Status::EndpInvalid),
                        place => self.peers.got(id, (peer, link), place, c != 0),
                    };
                    self.end_get(handle, id, got);
                } else if c != 0 {
                    // The node that wanted it does not any more.
                    self.say(link, Said::Release, &[place.0]);
                }
            }
            Said::Release => {
                let own = self.peers.get(peer).is_some_and(|peer| peer.id == self.id);
                if let Some(endpoint) = self.endpoints.marked(Place(a)) {
                    endpoint.given_back(own);
                }
            }
            Said::Deleted => self.peers.deleted(link, Place(a)),
            Said::Query => {
                let id = self.endpoints.marked(place).map(|endpoint| endpoint.id);
                let value = id.ok_or(Status::EndpInvalid);
                let value = value.and_then(|id| self.attribute(id, c));
                let (status, [low, high]) = match value {
                    Ok(value) => (Status::Success, value),
                    Err(status) => (status, [0; 2]),
                };
                self.say(link, Said::Value, &[a, status as u32, low, high]);
            }
            Said::Value => {
                if let Some(Operation::Query { asked }) = self.requests.pending(handle)
                    && *asked == link
                {
                    let value = u64::from(d) << 32 | u64::from(c);
                    self.end(handle, Done { status: told(b), value });
                }
            }
            Said::Connect => {
                let asker = Asker::Peer { link, request: a };
                let begun = self.connect_from(Place(c), Kind::of(b), EndpointId(d), asker);
                if let Err(status) = begun {
                    self.say(link, Said::Connected, &[a, status as u32]);
                }
            }
            Said::Connected => {
                if let Some(Operation::Connect { asked }) = self.requests.pending(handle)
                    && *asked == Some(link)
                {
                    self.end(handle, told(b).into());
                }
            }
            Said::Offer => {
                let (what, from) = ((Kind::of(b), c as u16), EndpointId(d));
                let taken = self.take_offer(link, what, from, e as u16, (a, [f, g, h]));
                let (status, own) = match taken {
                    Ok(own) => (Status::Success, own.0),
                    Err(status) => (status, 0),
                };
                self.say(link, Said::Answer, &[a, status as u32, own]);
                if taken.is_ok() {
                    self.opened(Handle(own));
                }
            }
            Said::Answer => self.answered(link, handle, (told(b), c)),
            Said::Close => self.closed_there(link, handle),
            Said::Free => self.freed(link, handle),
        }
    }

    /// Another node asks for an endpoint.
    fn wanted(&mut self, link: LinkId, peer: u16, request: u32, port: u16) {
        if !self.found((link, peer), request, port, true) && self.wanted.len() < MOST_UNSAID {
            self.wanted.push(Wanted { link, request, port });
        }
    }

    /// Says where an endpoint is, if it is there. Whether it `counts` as got by that.
    fn found(
        &mut self,
        (link, peer): (LinkId, u16),
        request: u32,
        port: u16,
        counts: bool,
    ) -> bool {
        let source = self.peers.get(peer).map(|peer| peer.id);
        let id = self.id.endpoint(port & 0xfff);
        let Some((inner, endpoint)) = self.endpoints.own_mut(id) else { return false };
        if counts {
            endpoint.gets += 1;
            endpoint.own_gets += u32::from(source == Some(self.id));
            endpoint.source = source;
        }
        endpoint.known_to.add(peer);
        endpoint.orphaned = false;
        let place = Place::new(inner, endpoint.tag);
        self.say(link, Said::Found, &[request, place.0, counts.into()]);
        true
    }

    /// Tells those that wait for an endpoint that it is there.
    pub fn created(&mut self, id: EndpointId) {
        let port = id.port();
        while let Some(at) = self.wanted.iter().position(|wanted| wanted.port == port) {
            let Wanted { link, request, .. } = self.wanted.swap_remove(at);
            if let Some(peer) = self.peers.of(link) {
                self.found((link, peer), request, port, true);
            }
        }
    }

    /// A link has ended.
    pub fn lost(&mut self, link: LinkId, reason: Lost) {
        self.unsaid.retain(|unsaid| unsaid.link != link);
        self.wanted.retain(|wanted| wanted.link != link);
        let died = reason != Lost::Closed;
        let Some(place) = self.peers.of(link) else { return };
        let full = self.peers.are_full();
        self.peers.remove(place, if died { End::Died } else { End::Deleted });
        if full {
            self.meet_new();
        }
        for (_, endpoint) in self.endpoints.iter_mut() {
            let known = endpoint.known_to.remove(place);
            endpoint.orphaned |= known && died && endpoint.known_to.is_empty();
        }
        self.end_those(Status::Transmission, &mut |operation| match operation {
            // Finalised: the node may come again.
            Operation::Get { asked, .. } if *asked == Some(link) && !died => {
                *asked = None;
                false
            }
            Operation::Get { asked, .. } | Operation::Connect { asked } => *asked == Some(link),
            Operation::Query { asked } => *asked == link,
            _ => false,
        });
        self.lose_channels(link, reason);
        self.ended.push(link);
        self.news = true;
    }

    /// Closes links that have ended and of which nothing is left that could be received.
    pub fn close_ended(&mut self) {
        for at in (0..self.ended.len()).rev() {
            let Some(link) = self.ended.get(at).copied() else { continue };
            let over = |channel: &Channel| channel.ring.is_some_and(|ring| ring.link == link);
            if self.stack.is_over(link) && !self.channels.iter().any(over) {
                self.stack.link(link).close();
                self.ended.swap_remove(at);
            }
        }
    }
}

/// What a peer said that something ended with.
#[inline(never)]
fn told(status: u32) -> Status {
    Status::of(status).filter(|status| *status != Status::Pending).unwrap_or(Status::Transmission)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_peer_says_is_an_end() {
        let pending = Status::Pending as u32;
        let said = [1, 29, pending, 0, 47, u32::MAX].map(told);
        let none = Status::Transmission;
        assert_eq!(said, [Status::Success, Status::ChanOpenPending, none, none, none, none]);
    }
}
