//! A node's own endpoints.

use super::attribute::Attributes;
use super::control::{HEAR, Kind, Place};
use super::id::{EndpointId, Handle, MAX_PORT, NodeId};
use super::places::Places;
use super::status::{Outcome, Status};

/// Endpoints of one node.
pub(super) const MAX_ENDPOINTS: usize = 256;
/// Any port that is free.
const ANY: u32 = u32::MAX;

/// Which way a channel goes, seen from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Send,
    Receive,
}

/// An open that waits for its endpoint to be connected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    pub kind: Kind,
    pub direction: Direction,
    /// The request that it ends.
    pub request: Handle,
}

/// An endpoint of this node.
pub(super) struct Endpoint {
    pub id: EndpointId,
    /// Marks the messages that are for it, and not for one that had its place before.
    pub tag: u16,
    pub attributes: Attributes,
    /// Gets that were not given back; and those of them that were this node's.
    pub gets: u32,
    pub own_gets: u32,
    /// The node that got it last.
    pub source: Option<NodeId>,
    /// The peers that have got it, by their places.
    pub known_to: Places,
    /// Whether the last of them died and no receive was told so.
    pub orphaned: bool,
    /// Receives that wait for a message.
    pub receiving: u16,
    /// The channel that it is an end of.
    pub channel: Option<Handle>,
    pub opening: Option<Opening>,
}

impl Endpoint {
    /// Notes that a get was given back.
    pub fn given_back(&mut self, own: bool) {
        self.gets = self.gets.saturating_sub(1);
        self.own_gets = self.own_gets.saturating_sub(u32::from(own));
    }
}

/// The endpoints by their places. The endpoint at place n has port n + 1 of the stack's node; port
/// 0 is for what nodes say to each other.
pub(super) struct Endpoints {
    node: NodeId,
    places: Box<[Option<Endpoint>]>,
    /// For each port of MCAPI's the port of the stack's, or 0.
    ports: Box<[u16]>,
    next: usize,
    tag: u16,
    /// How often one of them may have changed, its receives that wait apart.
    pub changes: u64,
}

impl Endpoints {
    pub fn new(node: NodeId) -> Endpoints {
        Endpoints {
            node,
            places: (0..MAX_ENDPOINTS).map(|_| None).collect(),
            ports: vec![0; MAX_PORT as usize + 1].into_boxed_slice(),
            next: 0,
            tag: 0,
            changes: 1,
        }
    }

    /// Makes an endpoint. Returns its port of the stack's.
    pub fn create(&mut self, port: u32) -> Outcome<u16> {
        let port = match port {
            ANY => self.ports.iter().rposition(|port| *port == 0).ok_or(Status::EndpLimit)?,
            0..=MAX_PORT => port as usize,
            _ => return Err(Status::PortInvalid),
        };
        if self.ports.get(port).is_none_or(|taken| *taken != 0) {
            return Err(Status::EndpExists);
        }
        // In turn, so that a place that was left is not soon taken again.
        let free = |place: &usize| self.places.get(*place).is_some_and(Option::is_none);
        let count = self.places.len();
        let place = (0..count).map(|i| (self.next + i) % count).find(free);
        let place = place.ok_or(Status::EndpLimit)?;
        self.next = place + 1;
        self.changes += 1;
        self.tag = self.tag.wrapping_add(1) & !HEAR;
        let inner = place as u16 + 1;
        if let (Some(entry), Some(number)) = (self.places.get_mut(place), self.ports.get_mut(port))
        {
            *number = inner;
            *entry = Some(Endpoint {
                id: self.node.endpoint(port as u16),
                tag: self.tag,
                attributes: Attributes::default(),
                gets: 0,
                own_gets: 0,
                source: None,
                known_to: Places::default(),
                orphaned: false,
                receiving: 0,
                channel: None,
                opening: None,
            });
        }
        Ok(inner)
    }

    /// The port of the stack's that an endpoint of this node has.
    #[inline(never)]
    pub fn find(&self, id: EndpointId) -> Option<u16> {
        self.find_quickly(id)
    }
    /// As [`Endpoints::find`], for the short way.
    #[inline(always)]
    pub fn find_quickly(&self, id: EndpointId) -> Option<u16> {
        let inner = self.ports.get(usize::from(id.port())).copied();
        inner.filter(|inner| *inner != 0 && id.node() == self.node)
    }
    /// An endpoint of this node, with its port of the stack's.
    #[inline(never)]
    pub fn own(&self, id: EndpointId) -> Option<(u16, &Endpoint)> {
        let inner = self.find_quickly(id)?;
        Some((inner, self.get_quickly(inner)?))
    }
    /// As [`Endpoints::own`], to be changed.
    #[inline(never)]
    pub fn own_mut(&mut self, id: EndpointId) -> Option<(u16, &mut Endpoint)> {
        let inner = self.find_quickly(id)?;
        Some((inner, self.get_mut(inner)?))
    }
    #[inline(never)]
    pub fn get(&self, inner: u16) -> Option<&Endpoint> {
        self.get_quickly(inner)
    }
    /// As [`Endpoints::get`], for the short way.
    #[inline(always)]
    pub fn get_quickly(&self, inner: u16) -> Option<&Endpoint> {
        self.places.get(usize::from(inner).wrapping_sub(1))?.as_ref()
    }
    #[inline(never)]
    pub fn get_mut(&mut self, inner: u16) -> Option<&mut Endpoint> {
        self.changes += 1;
        self.places.get_mut(usize::from(inner).wrapping_sub(1))?.as_mut()
    }
    /// How many receives wait at an endpoint.
    #[inline]
    pub fn receiving(&mut self, inner: u16) -> Option<&mut u16> {
        let place = self.places.get_mut(usize::from(inner).wrapping_sub(1))?;
        Some(&mut place.as_mut()?.receiving)
    }
    /// Whether a receive that finds nothing ends because the last that knew of the endpoint died.
    /// It does once: all that wait by then, or else the next.
    #[cold]
    pub fn tell_orphaned(&mut self, inner: u16) -> bool {
        let place = self.places.get_mut(usize::from(inner).wrapping_sub(1));
        let Some(endpoint) = place.and_then(Option::as_mut) else { return false };
        let orphaned = endpoint.orphaned;
        endpoint.orphaned &= endpoint.receiving > 1;
        orphaned
    }
    /// The endpoint that others know by this port and mark.
    #[inline(never)]
    pub fn marked(&mut self, place: Place) -> Option<&mut Endpoint> {
        self.get_mut(place.port()).filter(|endpoint| endpoint.tag == place.tag())
    }
    pub fn remove(&mut self, inner: u16) -> Option<Endpoint> {
        self.changes += 1;
        let endpoint = self.places.get_mut(usize::from(inner).wrapping_sub(1))?.take()?;
        if let Some(number) = self.ports.get_mut(usize::from(endpoint.id.port())) {
            *number = 0;
        }
        Some(endpoint)
    }
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u16, &mut Endpoint)> {
        self.changes += 1;
        (1..).zip(&mut self.places).filter_map(|(inner, entry)| Some((inner, entry.as_mut()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_found_taken_and_free_again() {
        let node = NodeId::new(3, 7);
        let mut all = Endpoints::new(node);
        let zero = all.create(0).unwrap();
        assert_eq!(all.find(node.endpoint(0)), Some(zero));
        assert_eq!(all.create(0), Err(Status::EndpExists));
        assert_eq!(all.create(MAX_PORT + 1), Err(Status::PortInvalid));
        let any = all.create(ANY).unwrap();
        assert_eq!(all.get(any).map(|endpoint| endpoint.id), Some(node.endpoint(4095)));
        let tag = all.get(zero).unwrap().tag;
        assert!(all.remove(zero).is_some() && all.remove(zero).is_none());
        assert_eq!(all.find(node.endpoint(0)), None);
        let again = all.create(0).unwrap();
        assert_ne!(again, zero);
        assert!(all.marked(Place::new(again, tag)).is_none() && all.get(again).is_some());
        for _ in 2..MAX_ENDPOINTS {
            all.create(ANY).unwrap();
        }
        assert_eq!(all.create(ANY), Err(Status::EndpLimit));
        assert_eq!(all.create(17), Err(Status::EndpLimit));
    }
}
