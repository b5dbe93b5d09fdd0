//! Sides of channels that are taken out of their link, so that they need not be looked up each
//! time: for a library that has many channels and its own table of them. Credit and blocks that
//! came back are looked for here as well; what else the short way cannot do is done, as with any
//! other channel, once the side has been put back.

use super::channel::Noted;
use super::{Channel, Node};
use crate::link::{Link, LinkId};
use crate::memory::{self, Block, Layout};
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
pub struct InPlace {
    /// Where in the peer's region the packet begins, in bytes.
    pub offset: u32,
    /// Bytes of it.
    pub len: u32,
    /// What is to be [given back](Node::give_block).
    pub block: Block,
}

impl<P: Platform> Inlet<P> {
    /// Whether nothing is there to be taken.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.side.is_empty()
    }

    /// Takes the next entry if one is there and it is a packet, in a region of a layout, both of
    /// which are asked for then and are of the link's peer, and has it kept. Whether enough was
    /// taken that it is to be [credited](Node::credit). It does not see whether the link has ended,
    /// and does not keep it.
    #[inline(always)]
    pub fn take_packet<'a>(
        &mut self,
        peer: impl FnOnce() -> (&'a P::Peer, &'a Layout),
        keep: impl FnOnce(InPlace),
    ) -> Option<bool>
    where
        P: 'a,
    {
        let keep = |block, offset, len| keep(InPlace { offset, len, block });
        self.side.take_packet(peer, keep)
    }

    /// The link it is of.
    #[inline(always)]
    #[must_use]
    pub fn link(&self) -> LinkId {
        self.from.link
    }
}

/// For libraries that have tables of channels (feature `library`).
#[doc(hidden)]
impl<P: Platform> Node<P> {
    /// Takes the sender's side of a channel out of its link. Until it is put back there is no such
    /// channel to send on; waits do not include its room. None if there is none, the link
    /// ended, or a trace is kept: what goes by what was taken out would not be in it.
    #[inline(never)]
    pub fn take_outlet(&mut self, to: Channel) -> Option<Outlet<P>> {
        let side = self.open_link(to.link)?.shared.take_outlet(to.ring)?;
        Some(Outlet { to, side })
    }

    /// Puts back what was taken out; it is forgotten if the link was.
    #[inline(never)]
    pub fn put_outlet(&mut self, outlet: Outlet<P>) {
        let Outlet { to, side } = outlet;
        if let Some(link) = self.links.get_mut(to.link) {
            link.shared.put_outlet(to.ring, side);
        }
    }

    /// As [`Node::take_outlet`], the receiver's side. A caller that waits [credits](Node::credit)
    /// what it took before.
    #[inline(never)]
    pub fn take_inlet(&mut self, from: Channel) -> Option<Inlet<P>> {
        let side = self.open_link(from.link)?.shared.take_inlet(from.ring)?;
        Some(Inlet { from, side })
    }

    /// The link of a channel that can be taken out.
    fn open_link(&mut self, link: LinkId) -> Option<&mut Link<P>> {
        let noted = !P::RECEIPTS && self.platform.tracing();
        self.links.up_mut(link).filter(|_| !noted)
    }

    /// What is noted of an entry of a channel that was taken out.
    fn noted(&self, of: Channel, noted: fn(u32, u16, u32, u16) -> Noted, bytes: u32) -> Noted {
        noted(self.links.get(of.link).map_or(0, |link| link.key), of.ring, bytes, 0)
    }

    /// Notes that a packet of this length was taken, where that is noted on the short way.
    #[inline(always)]
    pub fn note_packet(&self, from: &Inlet<P>, len: u32) {
        if P::RECEIPTS {
            let noted = self.noted(from.from, Noted::packet, len);
            noted.taken(&self.platform, from.side.taken());
        }
    }

    /// Puts back what was taken out; it is forgotten if the link was.
    #[inline(never)]
    pub fn put_inlet(&mut self, inlet: Inlet<P>) {
        let Inlet { from, side } = inlet;
        self.links.with_channels(from.link);
        if let Some(link) = self.links.get_mut(from.link) {
            let over = link.lost.is_some();
            link.shared.put_inlet(from.ring, side, over);
        }
    }

    /// Sends a word, as [a channel](super::ChannelView::try_send_word), if a slot is known to be
    /// free. It does not see whether the link has ended. Whether the receiver may sleep, and
    /// [`Node::ring_for`] is to be called; none if nothing was sent.
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
        if P::RECEIPTS {
            let noted = self.noted(to.to, Noted::word, len);
            noted.sent(&self.platform, to.side.next(), &value.to_le_bytes());
        }
        Some(to.side.put_word(&self.platform, (value, len), tag))
    }

    /// As [`Node::post_word`], looking for credit if no slot is known to be free.
    #[inline(never)]
    pub fn post_word_anew(
        &mut self,
        to: &mut Outlet<P>,
        value: u64,
        len: u32,
        tag: u16,
    ) -> Option<bool> {
        to.side.has_room().then(|| self.post_word(to, value, len, tag))?
    }

    /// Bytes of the longest packet that [`Node::post_short_packet`] sends.
    pub const SHORT_PACKET: usize = memory::SHORT;

    /// Sends a packet of at most [`Node::SHORT_PACKET`] bytes, as [a
    /// channel](super::ChannelView::try_send_packet), if a slot and a block are free; else as
    /// [`Node::post_word`].
    #[inline(always)]
    pub fn post_short_packet(
        &mut self,
        to: &mut Outlet<P>,
        bytes: &[u8],
        placement: Placement,
        tag: u16,
    ) -> Option<bool> {
        let (link, platform) = (self.links.up_mut(to.to.link)?, &self.platform);
        let noted = Noted::packet(link.key, to.to.ring, bytes.len() as u32, tag);
        let note = |number| noted.sent_quickly(platform, number, bytes);
        link.shared.post_packet_to::<true>(platform, &mut to.side, bytes, placement, tag, note)
    }

    /// As [`Node::post_short_packet`], of any length, looking for credit and blocks if there is no
    /// room.
    #[inline(never)]
    pub fn post_packet(
        &mut self,
        to: &mut Outlet<P>,
        bytes: &[u8],
        placement: Placement,
        tag: u16,
    ) -> Option<bool> {
        let (link, platform) = (self.links.up_mut(to.to.link)?, &self.platform);
        link.shared.has_room(&mut to.side).then_some(())?;
        let noted = Noted::packet(link.key, to.to.ring, bytes.len() as u32, tag);
        let note = |number| noted.sent_quickly(platform, number, bytes);
        link.shared.post_packet_to::<false>(platform, &mut to.side, bytes, placement, tag, note)
    }

    /// Rings the receiver, if it sleeps and wants to be rung by now.
    #[inline(never)]
    pub fn ring_for(&mut self, to: &Outlet<P>) {
        if let Some(link) = self.links.up_mut(to.to.link) {
            link.shared.ring_for(&self.platform, &to.side);
        }
    }

    /// Takes the next entry if one is there and it is a word of `len` bytes, and whether enough was
    /// taken that it is to be [credited](Node::credit).
    #[inline(always)]
    pub fn take_word(&mut self, from: &mut Inlet<P>, len: u32) -> Option<(u64, bool)> {
        let taken = from.side.take_word(len);
        if P::RECEIPTS && taken.is_some() {
            let noted = self.noted(from.from, Noted::word, len);
            noted.taken(&self.platform, from.side.taken());
        }
        taken
    }

    /// Says that a packet which was taken from a channel need not keep its link: its bytes are kept
    /// by the caller, which has the region, and [`Node::give_block`] gives it back.
    #[inline(never)]
    pub fn forget_block(&mut self, link: LinkId) {
        if let Some(link) = self.links.get_mut(link) {
            link.shared.drop_block();
        }
    }

    /// Gives a packet's block back that does not keep its link. True if enough have gathered that
    /// the sender is to [have](Node::give_all) them, as it is before this node waits. It is not
    /// checked whether it is held, as in [`ChannelView::release`](super::ChannelView::release).
    #[inline(always)]
    pub fn give_block(&mut self, link: LinkId, block: Block) -> bool {
        let Some(link) = self.links.up_mut(link) else { return false };
        link.shared.give_uncounted(block)
    }

    /// Lets the sender have all blocks that were given back.
    #[inline(never)]
    pub fn give_all(&mut self, link: LinkId) {
        if let Some(link) = self.links.up_mut(link) {
            link.shared.flush(&self.platform);
        }
    }

    /// The layout of the peer's region, as it was when the link came up.
    #[must_use]
    pub fn peer_layout(&self, link: LinkId) -> Option<&Layout> {
        Some(self.links.get(link)?.shared.theirs())
    }

    /// Gives credit for all that was taken.
    #[inline(never)]
    pub fn credit(&mut self, inlet: &mut Inlet<P>) {
        if let Some(link) = self.links.up_mut(inlet.from.link) {
            link.shared.credit(&self.platform, &mut inlet.side);
        }
    }
}
