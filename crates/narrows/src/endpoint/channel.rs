//! Channels: rings of a link apart from its messages, of words that travel in their slot and of
//! packets that are received where they are. Which channel is used for what is for the two nodes to
//! agree on by messages; the stack has no handshake for it.

use core::time::Duration;

use super::{Failure, LinkError, Node, SendError};
use crate::link::{Link, LinkId};
use crate::memory::{Arrival, Block, Corrupt, WORD};
use crate::platform::{Lost, Platform};
use crate::strategy::Placement;

/// A ring of a link apart from its messages; one direction. What one node sends on a number, the
/// other receives on the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// The link.
    pub link: LinkId,
    /// The channel's number, from 0.
    pub ring: u16,
}

impl<P: Platform> Node<P> {
    /// See [`LinkView::channels`](super::LinkView::channels).
    pub(super) fn channels(&self, link: LinkId) -> Result<(u16, u16), LinkError> {
        let count = self.links.get(link).map(|link| link.shared.channels());
        count.map(|count| (count, count)).ok_or(LinkError::Unknown)
    }

    /// See [`ChannelView::try_send_word`](super::ChannelView::try_send_word).
    pub(super) fn try_send_word(
        &mut self,
        to: Channel,
        value: u64,
        len: u32,
        tag: u16,
    ) -> Result<(), SendError> {
        if let Some(link) = self.links.up_mut(to.link)
            && len <= WORD
            && link.shared.post_word(&self.platform, to.ring, (value, len), tag)
        {
            return Ok(());
        }
        self.send_word_in_turn(to, value, len, tag)
    }

    #[inline(never)]
    fn send_word_in_turn(
        &mut self,
        to: Channel,
        value: u64,
        len: u32,
        tag: u16,
    ) -> Result<(), SendError> {
        if len > WORD {
            return Err(SendError::TooLong { limit: WORD });
        }
        self.channel_room(to)?;
        let (platform, link) = (&self.platform, self.links.get_mut(to.link));
        let link = link.ok_or(SendError::Unknown)?;
        let sent = link.shared.post_word(platform, to.ring, (value, len), tag);
        sent.then_some(()).ok_or(SendError::RingFull)
    }

    /// See [`ChannelView::try_send_packet`](super::ChannelView::try_send_packet).
    pub(super) fn try_send_packet(
        &mut self,
        to: Channel,
        bytes: &[u8],
        placement: Placement,
        tag: u16,
    ) -> Result<(), SendError> {
        if let Some(link) = self.links.up_mut(to.link)
            && link.shared.post_packet(&self.platform, to.ring, bytes, placement, tag)
        {
            return Ok(());
        }
        self.send_packet_in_turn(to, bytes, placement, tag)
    }

    #[inline(never)]
    fn send_packet_in_turn(
        &mut self,
        to: Channel,
        bytes: &[u8],
        placement: Placement,
        tag: u16,
    ) -> Result<(), SendError> {
        self.channel_room(to)?;
        let (platform, link) = (&self.platform, self.links.get_mut(to.link));
        let link = link.ok_or(SendError::Unknown)?;
        let limit = link.shared.pool().layout().longest(placement);
        if bytes.len() > limit as usize {
            return Err(SendError::TooLong { limit });
        }
        if let Err(what) = link.shared.reclaim() {
            return Err(self.broken(to.link, what));
        }
        if link.shared.post_packet(platform, to.ring, bytes, placement, tag) {
            return Ok(());
        }
        self.attend();
        Err(SendError::PoolEmpty)
    }

    /// Whether a slot of a channel is free.
    fn channel_room(&mut self, to: Channel) -> Result<(), SendError> {
        let link = self.links.get_mut(to.link).ok_or(SendError::Unknown)?;
        if let Some(reason) = link.lost {
            return Err(SendError::Gone(reason));
        }
        match link.shared.channel_room(to.ring) {
            Ok(Some(true)) => Ok(()),
            Ok(Some(false)) => {
                self.attend();
                Err(SendError::RingFull)
            }
            Ok(None) => Err(SendError::Unknown),
            Err(what) => Err(self.broken(to.link, what)),
        }
    }

    fn broken(&mut self, link: LinkId, what: Corrupt) -> SendError {
        SendError::Gone(self.fail(link, what))
    }

    /// See [`ChannelView::try_take`](super::ChannelView::try_take).
    #[inline(always)]
    pub(super) fn take_from_channel(
        &mut self,
        from: Channel,
    ) -> Result<Option<Arrival>, LinkError> {
        if let Some(link) = self.links.with_channels(from.link)
            && let Some(arrival) = link.shared.take_word(from.ring)
        {
            return Ok(arrival);
        }
        self.take_in_turn(from)
    }

    #[inline(never)]
    fn take_in_turn(&mut self, from: Channel) -> Result<Option<Arrival>, LinkError> {
        if let Some(link) = self.links.with_channels(from.link)
            && let Some(arrival) = link.shared.take_packet(from.ring)
        {
            return Ok(arrival);
        }
        self.take_what_is_due(from)
    }

    /// Takes what is there after giving the credit that has gathered.
    #[inline(never)]
    fn take_what_is_due(&mut self, from: Channel) -> Result<Option<Arrival>, LinkError> {
        if let Some(link) = self.links.with_channels(from.link)
            && let Some(arrival) = link.shared.take_arrival(&self.platform, from.ring)
        {
            return Ok(arrival);
        }
        self.take_what_is_left(from)
    }

    /// Takes from a channel whose link has ended, or ends it because of what is there.
    #[inline(never)]
    fn take_what_is_left(&mut self, from: Channel) -> Result<Option<Arrival>, LinkError> {
        let link = self.inlet_link(from)?;
        let Some(reason) = link.lost else {
            let what = link.shared.fault(from.ring);
            return Err(LinkError::Gone(self.fail(from.link, what)));
        };
        let left = !matches!(reason, Lost::Corrupt(_)) && link.shared.channel_left(from.ring);
        let platform = &self.platform;
        let link = self.links.get_mut(from.link).filter(|_| left);
        let arrival = link.and_then(|link| link.shared.take_arrival(platform, from.ring)?);
        arrival.map(Some).ok_or(LinkError::Gone(reason))
    }

    /// The link of a channel to receive on.
    fn inlet_link(&mut self, from: Channel) -> Result<&mut Link<P>, LinkError> {
        let link = self.links.get_mut(from.link);
        link.filter(|link| link.shared.has_inlet(from.ring)).ok_or(LinkError::Unknown)
    }

    /// The link of a channel to send on.
    fn outlet_link(&mut self, to: Channel) -> Result<&mut Link<P>, LinkError> {
        let link = self.links.get_mut(to.link);
        link.filter(|link| link.shared.has_outlet(to.ring)).ok_or(LinkError::Unknown)
    }

    /// Copies part of the block of a received packet.
    pub(super) fn read_block(
        &self,
        link: LinkId,
        block: Block,
        at: usize,
        to: &mut [u8],
    ) -> Result<(), Failure> {
        let link = self.links.get(link).ok_or(Failure::Refused)?;
        let at = u32::try_from(at).map_err(|_| Failure::Refused)?;
        link.shared.read(block, at, to).then_some(()).ok_or(Failure::Refused)
    }

    /// See [`ChannelView::release`](super::ChannelView::release).
    pub(super) fn release_block(&mut self, link: LinkId, block: Block) {
        if let Some(link) = self.links.with_channels(link) {
            link.shared.give_block(&self.platform, block);
        } else if let Some(link) = self.links.get_mut(link) {
            link.shared.drop_block();
        }
    }

    /// See [`ChannelView::unsent`](super::ChannelView::unsent).
    pub(super) fn channel_unsent(&self, to: Channel) -> u32 {
        self.links.get(to.link).map_or(0, |link| link.shared.channel_unsent(to.ring))
    }

    /// See [`ChannelView::watch`](super::ChannelView::watch).
    #[inline(never)]
    pub(super) fn watch_channel(&mut self, from: Channel, on: bool) -> Result<(), LinkError> {
        self.inlet_link(from)?.shared.watch_channel(from.ring, on);
        Ok(())
    }

    /// See [`ChannelView::want_room`](super::ChannelView::want_room).
    #[inline(never)]
    pub(super) fn want_room(&mut self, to: Channel, on: bool) -> Result<(), LinkError> {
        self.outlet_link(to)?.shared.want_channel_room(to.ring, on);
        self.starving |= on;
        Ok(())
    }

    /// See [`ChannelView::wait_for_room`](super::ChannelView::wait_for_room).
    pub(super) fn wait_for_room(
        &mut self,
        to: Channel,
        within: Option<Duration>,
    ) -> Result<(), LinkError> {
        self.up(to.link)?;
        let wanted = self.outlet_link(to)?.shared.want_channel_room(to.ring, true);
        self.starving = true;
        let deadline = self.deadline(within);
        self.wait_on(to.link, self.agreed(), deadline);
        self.outlet_link(to)?.shared.want_channel_room(to.ring, wanted);
        self.up(to.link)?;
        if self.passed(deadline) { Err(LinkError::Deadline) } else { Ok(()) }
    }
}
