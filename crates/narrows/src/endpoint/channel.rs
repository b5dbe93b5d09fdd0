//! Channels: rings of a link apart from its messages, of words that travel in their slot and of
//! packets that are received where they are. Which channel is used for what is for the two nodes to
//! agree on by messages; the stack has no handshake for it.

use core::time::Duration;

use super::{LinkError, Node, SendError};
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
    /// How many channels a link has, to send on and to receive on: as many as both layouts have.
    ///
    /// # Errors
    /// [`LinkError::Unknown`].
    pub fn channels(&self, link: LinkId) -> Result<(u16, u16), LinkError> {
        let count = self.links.get(link).map(|link| link.shared.channels());
        count.map(|count| (count, count)).ok_or(LinkError::Unknown)
    }

    /// Sends the first `len` bytes, at most 8, of a word, if there is room now.
    ///
    /// # Errors
    /// [`SendError::RingFull`], [`SendError::TooLong`], [`SendError::Gone`], or
    /// [`SendError::Unknown`] if there is no such channel. Nothing was sent.
    pub fn try_send_word(
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

    /// Sends a packet, if there is room now. It goes in a block of the given kind of memory even if
    /// it is short or empty, so that it can be received where it is.
    ///
    /// # Errors
    /// As [`Node::try_send_word`], and [`SendError::PoolEmpty`].
    pub fn try_send_packet(
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
        self.fail(link, what);
        SendError::Gone(Lost::Corrupt(what))
    }

    /// Takes the next entry of a channel, if one is there. It looks at the ring alone: a program
    /// that never waits [polls](Node::poll) now and then, so that lost links are seen. What a lost
    /// peer had sent can still be taken.
    ///
    /// # Errors
    /// [`LinkError::Unknown`] if there is no such channel, or [`LinkError::Gone`] if the peer is
    /// gone and all that it sent was taken.
    #[inline(always)]
    pub fn take_from_channel(&mut self, from: Channel) -> Result<Option<Arrival>, LinkError> {
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
            self.fail(from.link, what);
            return Err(LinkError::Gone(Lost::Corrupt(what)));
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

    /// Where the bytes of a received packet are: the peer's region, and the offset in it in bytes.
    /// None if the link was closed, or there is no such block.
    #[must_use]
    pub fn place_of(&self, link: LinkId, block: Block) -> Option<(&P::Peer, u32)> {
        let shared = &self.links.get(link)?.shared;
        Some((shared.peer(), shared.theirs().block(block)?.0))
    }

    /// Gives the block of a received packet back to its sender. It is not checked whether it is
    /// held: a node that gives back what is not held ends the link, as seen from its sender.
    pub fn release_block(&mut self, link: LinkId, block: Block) {
        if let Some(link) = self.links.with_channels(link) {
            link.shared.give_block(&self.platform, block);
        } else if let Some(link) = self.links.get_mut(link) {
            link.shared.drop_block();
        }
    }

    /// How many entries of a channel its receiver has not taken: all that were sent, if it never
    /// will, because it is gone.
    #[must_use]
    pub fn channel_unsent(&self, to: Channel) -> u32 {
        self.links.get(to.link).map_or(0, |link| link.shared.channel_unsent(to.ring))
    }

    /// Says whether [`Node::wait_any`] and [`Node::arm`] include a channel to receive on. A wait
    /// does not wait while something is there to be taken from it.
    ///
    /// # Errors
    /// [`LinkError::Unknown`] if there is no such channel.
    #[inline(never)]
    pub fn watch_channel(&mut self, from: Channel, on: bool) -> Result<(), LinkError> {
        self.inlet_link(from)?.shared.watch_channel(from.ring, on);
        Ok(())
    }

    /// Says whether [`Node::wait_any`] and [`Node::arm`] include room in a channel to send on: they
    /// end when slots or blocks came back since the last time.
    ///
    /// # Errors
    /// [`LinkError::Unknown`] if there is no such channel.
    #[inline(never)]
    pub fn want_room(&mut self, to: Channel, on: bool) -> Result<(), LinkError> {
        self.outlet_link(to)?.shared.want_channel_room(to.ring, on);
        self.starving |= on;
        Ok(())
    }

    /// Waits, after a channel had no room, until slots or blocks came back; it may return early for
    /// no reason. Meanwhile messages that come are taken in.
    ///
    /// # Errors
    /// [`LinkError::Unknown`], [`LinkError::Gone`], or [`LinkError::Deadline`] if that passed.
    pub fn wait_for_room(
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
