//! The sides of open channels that the short way has: taken out of the stack's tables, so that a
//! handle leads to its ring by one look. Whatever takes longer has them put back first.

use std::sync::Arc;

use narrows::endpoint::{Channel as Ring, Node as Stack, Outlet};
use narrows::link::LinkId;

use super::super::control::Kind;
use super::super::endpoint::Direction;
use super::super::home::{Home, On};
use super::super::id::Handle;
use super::super::lender::{Inlet, Lender};
use super::Node;

/// What the short way can do with a channel.
enum Way<H: Home> {
    None,
    SendWords(Outlet<On<H>>),
    /// Packets of which all that are short may be sent.
    SendPackets(Outlet<On<H>>),
    /// Packets of which some that are short are too long.
    SendShorter(Outlet<On<H>>),
    ReceiveWords(Inlet<H>),
    ReceivePackets(Inlet<H>, Arc<Lender<H>>),
}

struct Place<H: Home> {
    handle: u32,
    /// The longest packet.
    longest: u32,
    way: Way<H>,
}

/// A side to receive on, with whose memory packets are in.
type Receiving<'a, H> = (&'a mut Inlet<H>, Option<&'a Arc<Lender<H>>>);

/// The sides by their handles.
pub(in crate::mcapi) struct Shorts<H: Home> {
    places: Box<[Place<H>; Handle::PLACES]>,
    /// The places of receivers' sides.
    inlets: Vec<u16>,
}

impl<H: Home> Shorts<H> {
    pub fn new() -> Option<Shorts<H>> {
        let place = |_| Place { handle: Handle::NONE.0, longest: 0, way: Way::None };
        let places: Box<[Place<H>]> = (0..Handle::PLACES).map(place).collect();
        // It is as long as the array: the conversion cannot fail, and nothing is dropped here.
        let places = places.try_into().map_err(std::mem::forget).ok()?;
        Some(Shorts { places, inlets: Vec::with_capacity(Handle::PLACES) })
    }

    #[inline(always)]
    fn get(&mut self, handle: Handle) -> Option<&mut Place<H>> {
        self.places.get_mut(handle.place()).filter(|place| place.handle == handle.0)
    }

    #[inline(always)]
    pub fn send_words(&mut self, handle: Handle) -> Option<&mut Outlet<On<H>>> {
        match &mut self.get(handle)?.way {
            Way::SendWords(outlet) => Some(outlet),
            _ => None,
        }
    }
    /// Of which all that are short may be sent.
    #[inline(always)]
    pub fn send_short(&mut self, handle: Handle) -> Option<&mut Outlet<On<H>>> {
        match &mut self.get(handle)?.way {
            Way::SendPackets(outlet) => Some(outlet),
            _ => None,
        }
    }
    /// With the longest packet.
    pub fn send_packets(&mut self, handle: Handle) -> Option<(&mut Outlet<On<H>>, u32)> {
        match self.get(handle)? {
            Place { way: Way::SendPackets(outlet) | Way::SendShorter(outlet), longest, .. } => {
                Some((outlet, *longest))
            }
            _ => None,
        }
    }
    #[inline(always)]
    pub fn receive_words(&mut self, handle: Handle) -> Option<&mut Inlet<H>> {
        match &mut self.get(handle)?.way {
            Way::ReceiveWords(inlet) => Some(inlet),
            _ => None,
        }
    }
    #[inline(always)]
    pub fn receive_packets(&mut self, handle: Handle) -> Option<(&mut Inlet<H>, &Arc<Lender<H>>)> {
        match &mut self.get(handle)?.way {
            Way::ReceivePackets(inlet, lender) => Some((inlet, lender)),
            _ => None,
        }
    }

    #[inline]
    pub fn receiving(&mut self, handle: Handle) -> Option<Receiving<'_, H>> {
        match &mut self.get(handle)?.way {
            Way::ReceiveWords(inlet) => Some((inlet, None)),
            Way::ReceivePackets(inlet, lender) => Some((inlet, Some(lender))),
            _ => None,
        }
    }

    fn put(&mut self, handle: Handle, longest: u32, way: Way<H>) {
        if matches!(way, Way::ReceiveWords(_) | Way::ReceivePackets(..)) {
            self.inlets.push(handle.place() as u16);
        }
        if let Some(place) = self.places.get_mut(handle.place()) {
            *place = Place { handle: handle.0, longest, way };
        }
    }

    fn take(&mut self, handle: Handle) -> Way<H> {
        let Some(place) = self.get(handle) else { return Way::None };
        place.handle = Handle::NONE.0;
        let way = std::mem::replace(&mut place.way, Way::None);
        self.inlets.retain(|inlet| usize::from(*inlet) != handle.place());
        way
    }
}

impl<H: Home> Node<H> {
    /// Has the short way for a channel from now on, if it can be taken.
    #[inline(never)]
    pub fn shorten(&mut self, handle: Handle) {
        let Some(channel) = self.channels.get(handle).filter(|channel| channel.is_ready()) else {
            return;
        };
        let (Some(ring), longest) = (channel.ring, channel.longest) else { return };
        if self.shorts.get(handle).is_some() {
            return;
        }
        if let Some(way) = self.way(ring, longest, (channel.kind, channel.direction)) {
            self.shorts.put(handle, longest, way);
        }
    }

    fn way(&mut self, ring: Ring, longest: u32, what: (Kind, Direction)) -> Option<Way<H>> {
        Some(match what {
            (Kind::Scalar, Direction::Receive) => Way::ReceiveWords(self.stack.take_inlet(ring)?),
            (Kind::Packet, Direction::Receive) => {
                let lender = self.lender(ring.link).filter(|lender| lender.is_short())?;
                if self.likely.link == LinkId::NONE {
                    // A node that can receive packets from there will give some back.
                    self.likely = lender.likely();
                }
                Way::ReceivePackets(self.stack.take_inlet(ring)?, lender)
            }
            (kind, Direction::Send) => {
                let outlet = self.stack.take_outlet(ring)?;
                match kind {
                    Kind::Scalar => Way::SendWords(outlet),
                    Kind::Packet if (longest as usize) < Stack::<On<H>>::SHORT_PACKET => {
                        Way::SendShorter(outlet)
                    }
                    Kind::Packet => Way::SendPackets(outlet),
                }
            }
        })
    }

    /// Has the short way for a channel no longer: before anything else is done with it.
    #[inline(never)]
    pub fn lengthen(&mut self, handle: Handle) {
        match self.shorts.take(handle) {
            Way::None => {}
            Way::SendWords(outlet) | Way::SendPackets(outlet) | Way::SendShorter(outlet) => {
                self.stack.put_outlet(outlet);
            }
            Way::ReceiveWords(inlet) | Way::ReceivePackets(inlet, _) => self.stack.put_inlet(inlet),
        }
    }

    /// Does what is to be done besides after something went the short way: rings, or gives credit.
    pub fn follow_up(&mut self, handle: Handle) {
        match self.shorts.get(handle).map(|place| &mut place.way) {
            Some(Way::SendWords(outlet) | Way::SendPackets(outlet) | Way::SendShorter(outlet)) => {
                self.stack.ring_for(outlet);
            }
            Some(Way::ReceiveWords(inlet) | Way::ReceivePackets(inlet, _)) => {
                self.stack.credit(inlet);
            }
            Some(Way::None) | None => {}
        }
    }

    /// Gives credit for all that was received the short way, and all blocks that were given back.
    pub fn credit_shorts(&mut self) {
        self.give_all();
        let Shorts { places, inlets } = &mut self.shorts;
        for at in inlets {
            if let Some(Place {
                way: Way::ReceiveWords(inlet) | Way::ReceivePackets(inlet, _),
                ..
            }) = places.get_mut(usize::from(*at))
            {
                self.stack.credit(inlet);
            }
        }
    }
}
