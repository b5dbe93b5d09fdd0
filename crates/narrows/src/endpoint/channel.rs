//! Channels: rings of a link apart from its messages, of words that travel in their slot and of
//! packets that are received where they are. Which channel is used for what is for the two nodes to
//! agree on by messages; the stack has no handshake for it.

use core::time::Duration;

use super::{Failure, LinkError, Node, SendError};
use crate::driver;
use crate::link::{Link, LinkId};
use crate::memory::{Arrival, Block, Corrupt, WORD};
use crate::platform::{Lost, Platform};
use crate::span::{Carried, For, Note, Passage};
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

/// What is noted of an entry of a channel.
pub(super) struct Noted {
    /// The platform's name for the link.
    link: u32,
    /// The channel.
    ring: u16,
    kind: Carried,
    bytes: u32,
    tag: u16,
}

impl Noted {
    pub fn word(link: u32, ring: u16, len: u32, tag: u16) -> Noted {
        Noted { link, ring, kind: Carried::Scalar, bytes: len, tag }
    }

    pub fn packet(link: u32, ring: u16, bytes: u32, tag: u16) -> Noted {
        Noted { link, ring, kind: Carried::Packet, bytes, tag }
    }

    /// The entry of this number.
    fn passage(&self, number: u32) -> Passage {
        let &Noted { link, ring, kind, bytes, tag } = self;
        Passage { link, number, kind, bytes, source: ring, target: ring, priority: 0, tag }
    }

    /// Notes that the entry of this number is sent, and what it carries.
    pub fn sent<P: Platform>(&self, platform: &P, number: u32, carried: &[u8]) {
        if platform.tracing() {
            platform.note_sent(self.passage(number), &mut |to| driver::fill(to, carried));
        }
    }

    /// As [`Noted::sent`] on a way that nothing is sent by while it is noted, unless the platform
    /// has it noted on every way.
    #[inline(always)]
    pub fn sent_quickly<P: Platform>(&self, platform: &P, number: u32, carried: &[u8]) {
        if P::RECEIPTS {
            self.sent(platform, number, carried);
        }
    }

    /// Notes that it was taken, and is its application's.
    pub fn taken<P: Platform>(&self, platform: &P, number: u32) {
        if platform.tracing() {
            platform.note(&Note::Taken(self.passage(number), None));
        }
    }
}

fn noted<P: Platform>(link: &Link<P>, ring: u16, arrival: &Arrival) -> Noted {
    let kind = if arrival.block.is_some() { Carried::Packet } else { Carried::Scalar };
    Noted { link: link.key, ring, kind, bytes: arrival.len, tag: arrival.tag }
}

/// Notes what was taken off a channel.
#[inline(never)]
fn note_taken<P: Platform>(platform: &P, link: &Link<P>, ring: u16, taken: Option<&Arrival>) {
    if let Some(arrival) = taken {
        noted(link, ring, arrival).taken(platform, link.shared.channel_taken(ring));
    }
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
        if let Some(link) = self.links.unnoted_mut(to.link)
            && len <= WORD
        {
            let (platform, noted) = (&self.platform, Noted::word(link.key, to.ring, len, tag));
            let note = |number| noted.sent_quickly(platform, number, &value.to_le_bytes());
            if link.shared.post_word(platform, to.ring, (value, len), tag, note) {
                return Ok(());
            }
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
        link.find_out(platform);
        let noted = Noted::word(link.key, to.ring, len, tag);
        let note = |number| noted.sent(platform, number, &value.to_le_bytes());
        let sent = link.shared.post_word(platform, to.ring, (value, len), tag, note);
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
        if let Some(link) = self.links.unnoted_mut(to.link) {
            let (platform, noted) =
                (&self.platform, Noted::packet(link.key, to.ring, bytes.len() as u32, tag));
            let note = |number| noted.sent_quickly(platform, number, bytes);
            if link.shared.post_packet(platform, to.ring, bytes, placement, tag, note) {
                return Ok(());
            }
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
        link.find_out(platform);
        let noted = Noted::packet(link.key, to.ring, bytes.len() as u32, tag);
        let note = |number| noted.sent(platform, number, bytes);
        if link.shared.post_packet(platform, to.ring, bytes, placement, tag, note) {
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
        if let Some(link) = self.links.with_unnoted_channels(from.link)
            && let Some(arrival) = link.shared.take_word(from.ring)
        {
            if P::RECEIPTS {
                note_taken(&self.platform, link, from.ring, arrival.as_ref());
            }
            return Ok(arrival);
        }
        self.take_in_turn(from)
    }

    #[inline(never)]
    fn take_in_turn(&mut self, from: Channel) -> Result<Option<Arrival>, LinkError> {
        if let Some(link) = self.links.with_unnoted_channels(from.link)
            && let Some(arrival) = link.shared.take_packet(from.ring)
        {
            if P::RECEIPTS {
                note_taken(&self.platform, link, from.ring, arrival.as_ref());
            }
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
            if P::RECEIPTS || !link.is_unnoted() {
                note_taken(&self.platform, link, from.ring, arrival.as_ref());
                link.find_out(&self.platform);
            }
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
        let arrival = link.and_then(|link| {
            let arrival = link.shared.take_arrival(platform, from.ring)?;
            note_taken(platform, link, from.ring, arrival.as_ref());
            arrival
        });
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
        if self.platform.tracing() {
            self.platform.note(&Note::Waits(For::Credit));
        }
        self.wait_on(to.link, self.agreed(), deadline);
        self.outlet_link(to)?.shared.want_channel_room(to.ring, wanted);
        self.up(to.link)?;
        if self.passed(deadline) { Err(LinkError::Deadline) } else { Ok(()) }
    }
}
