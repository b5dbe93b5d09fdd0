//! Sides of channels that are taken out of their link, so that they need not be looked up each time:
//! for who has many channels and its own table of them. What the short way cannot do is done, as with
//! any other channel, once the side has been put back.

use super::{Channel, Node};
use crate::link::LinkId;
use crate::memory::{self, Block};
use crate::platform::Platform;
use crate::strategy::Placement;

/// The sender's side of a channel, taken out of its link.
pub struct Outlet<P: Platform> {
    to: Channel,
    side: memory::Outlet<P>,
}

/// The receiver's side of a channel, taken out of its link.
pub struct Inlet<P: Platform> {
    from: Channel,
    side: memory::Inlet<P>,
}

/// A packet that was taken, where it is.
pub struct InPlace<'a, M> {
    /// The peer's region.
    pub region: &'a M,
    /// Where in it the packet begins, in bytes.
    pub offset: u32,
    /// Bytes of it.
    pub len: u32,
    /// What is to be [given back](Node::release_block).
    pub block: Block,
    /// Whether so much was taken that it is to be [credited](Node::credit).
    pub due: bool,
}

impl<P: Platform> Inlet<P> {
    /// Whether nothing is there to be taken.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.side.is_empty()
    }

    /// The link it is of.
    #[inline(always)]
    #[must_use]
    pub fn link(&self) -> LinkId {
        self.from.link
    }
}

impl<P: Platform> Node<P> {
    /// Takes the sender's side of a channel out of its link. Until it is put back there is no such
    /// channel to send on; waits do not include its room. None if there is none, or the link ended.
    pub fn take_outlet(&mut self, to: Channel) -> Option<Outlet<P>> {
        let side = self.links.up_mut(to.link)?.shared.take_outlet(to.ring)?;
        Some(Outlet { to, side })
    }

    /// Puts back what was taken out; it is forgotten if the link was.
    pub fn put_outlet(&mut self, outlet: Outlet<P>) {
        let Outlet { to, side } = outlet;
        if let Some(link) = self.links.get_mut(to.link) {
            link.shared.put_outlet(to.ring, side);
        }
    }

    /// As [`Node::take_outlet`], the receiver's side. Who waits [credits](Node::credit) what it took
    /// before.
    pub fn take_inlet(&mut self, from: Channel) -> Option<Inlet<P>> {
        let side = self.links.up_mut(from.link)?.shared.take_inlet(from.ring)?;
        Some(Inlet { from, side })
    }

    /// Puts back what was taken out; it is forgotten if the link was.
    pub fn put_inlet(&mut self, inlet: Inlet<P>) {
        let Inlet { from, side } = inlet;
        self.links.with_channels(from.link);
        if let Some(link) = self.links.get_mut(from.link) {
            let over = link.lost.is_some();
            link.shared.put_inlet(from.ring, side, over);
        }
    }

    /// Sends a word, as [`Node::try_send_word`], if a slot is known to be free. It does not see
    /// whether the link has ended. Whether the receiver may sleep, and [`Node::ring_for`] is to be
    /// called; none if nothing was sent.
    #[inline(always)]
    pub fn post_word(
        &mut self,
        to: &mut Outlet<P>,
        value: u64,
        len: u32,
        tag: u16,
    ) -> Option<bool> {
        if len > memory::WORD || !to.side.known_room() {
            return None;
        }
        Some(to.side.put_word(&self.platform, (value, len), tag))
    }

    /// Sends a packet of at most 64 bytes, as [`Node::try_send_packet`], if a slot and a block are
    /// free; else as [`Node::post_word`].
    #[inline(always)]
    pub fn post_short_packet(
        &mut self,
        to: &mut Outlet<P>,
        bytes: &[u8],
        placement: Placement,
        tag: u16,
    ) -> Option<bool> {
        let shared = &mut self.links.up_mut(to.to.link)?.shared;
        shared.post_packet_to::<true>(&self.platform, &mut to.side, bytes, placement, tag)
    }

    /// As [`Node::post_short_packet`], of any length.
    #[inline(never)]
    pub fn post_packet(
        &mut self,
        to: &mut Outlet<P>,
        bytes: &[u8],
        placement: Placement,
        tag: u16,
    ) -> Option<bool> {
        let shared = &mut self.links.up_mut(to.to.link)?.shared;
        shared.post_packet_to::<false>(&self.platform, &mut to.side, bytes, placement, tag)
    }

    /// Rings the receiver, if it sleeps and wants to be rung by now.
    pub fn ring_for(&mut self, to: &Outlet<P>) {
        if let Some(link) = self.links.up_mut(to.to.link) {
            link.shared.ring_for(&self.platform, &to.side);
        }
    }

    /// Takes the next entry if one is there and it is a word of `len` bytes, and whether so much was
    /// taken that it is to be [credited](Node::credit).
    #[inline(always)]
    pub fn take_word(&mut self, from: &mut Inlet<P>, len: u32) -> Option<(u64, bool)> {
        from.side.take_word(len)
    }

    /// Takes the next entry if one is there and it is a packet.
    #[inline(always)]
    pub fn take_packet(&mut self, from: &mut Inlet<P>) -> Option<InPlace<'_, P::Peer>> {
        let shared = &mut self.links.up_mut(from.from.link)?.shared;
        let ((block, offset, len), due) = shared.take_packet_from(&mut from.side)?;
        Some(InPlace { region: shared.peer(), offset, len, block, due })
    }

    /// Gives credit for all that was taken.
    pub fn credit(&mut self, inlet: &mut Inlet<P>) {
        if let Some(link) = self.links.up_mut(inlet.from.link) {
            link.shared.credit(&self.platform, &mut inlet.side);
        }
    }
}
