//! A channel, seen at its node.

use core::time::Duration;

use crate::endpoint::{Channel, Failure, LinkError, Node, SendError};
use crate::memory::{Arrival, Block};
use crate::platform::Platform;
use crate::strategy::Placement;

/// A channel of a [node's](Node::channel).
#[must_use = "a view does nothing by itself"]
pub struct ChannelView<'a, P: Platform> {
    pub(super) node: &'a mut Node<P>,
    pub(super) channel: Channel,
}

impl<P: Platform> ChannelView<'_, P> {
    /// Sends the first `len` bytes, at most 8, of a word, if there is room now.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, to: Channel) -> Result<(), SendError> {
    /// node.channel(to).try_send_word(42, 4, 0)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`SendError::RingFull`], [`SendError::TooLong`], [`SendError::Gone`], or
    /// [`SendError::Unknown`] if there is no such channel. Nothing was sent.
    #[inline(always)]
    pub fn try_send_word(&mut self, value: u64, len: u32, tag: u16) -> Result<(), SendError> {
        self.node.try_send_word(self.channel, value, len, tag)
    }

    /// Sends a packet, if there is room now. It goes in a block of the given kind of memory even if
    /// it is short or empty, so that it can be received where it is.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform, strategy::Placement};
    /// # fn example<P: Platform>(node: &mut Node<P>, to: Channel) -> Result<(), SendError> {
    /// node.channel(to).try_send_packet(b"a row of pixels", Placement::External, 0)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`ChannelView::try_send_word`], and [`SendError::PoolEmpty`].
    #[inline(always)]
    pub fn try_send_packet(
        &mut self,
        bytes: &[u8],
        placement: Placement,
        tag: u16,
    ) -> Result<(), SendError> {
        self.node.try_send_packet(self.channel, bytes, placement, tag)
    }

    /// Takes the next entry, if one is there. It looks at the ring alone: a program that never
    /// waits [polls](Node::poll) now and then, so that lost links are seen. What a lost peer had
    /// sent can still be taken.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, from: Channel) -> Result<(), LinkError> {
    /// while let Some(arrival) = node.channel(from).try_take()? {
    ///     let _word = arrival.word;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LinkError::Unknown`] if there is no such channel, or [`LinkError::Gone`] if the peer is
    /// gone and all that it sent was taken.
    #[inline(always)]
    pub fn try_take(&mut self) -> Result<Option<Arrival>, LinkError> {
        self.node.take_from_channel(self.channel)
    }

    /// Copies `to.len()` bytes of a received packet from `at` on, out of the block that it lies in.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, from: Channel, packet: Arrival) {
    /// let mut first = [0; 4];
    /// if let Some(block) = packet.block {
    ///     let read = node.channel(from).read(block, 0, &mut first);
    ///     node.channel(from).release(block);
    /// #   let _ = read;
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Failure::Refused`] if the block has fewer bytes, or the link was closed.
    #[inline]
    pub fn read(&self, block: Block, at: usize, to: &mut [u8]) -> Result<(), Failure> {
        self.node.read_block(self.channel.link, block, at, to)
    }

    /// Gives the block of a received packet back to its sender. It is not checked whether it is
    /// held: a node that gives back what is not held ends the link, as seen from its sender.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, from: Channel) -> Result<(), LinkError> {
    /// if let Some(block) = node.channel(from).try_take()?.and_then(|arrival| arrival.block) {
    ///     node.channel(from).release(block);
    /// }
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn release(&mut self, block: Block) {
        self.node.release_block(self.channel.link, block);
    }

    /// How many entries the receiver has not taken: all that were sent, if it never will, because
    /// it is gone.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, to: Channel) {
    /// let on_the_way = node.channel(to).unsent();
    /// # let _ = on_the_way;
    /// # }
    /// ```
    #[must_use]
    #[inline]
    pub fn unsent(&self) -> u32 {
        self.node.channel_unsent(self.channel)
    }

    /// Says whether [`Node::wait_any`] and [`Node::arm`] include this channel to receive on. A wait
    /// does not wait while something is there to be taken from it.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, from: Channel) -> Result<(), LinkError> {
    /// node.channel(from).watch(true)?;
    /// node.wait_any(None);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LinkError::Unknown`] if there is no such channel.
    #[inline]
    pub fn watch(&mut self, on: bool) -> Result<(), LinkError> {
        self.node.watch_channel(self.channel, on)
    }

    /// Says whether [`Node::wait_any`] and [`Node::arm`] include room in this channel to send on:
    /// they end when slots or blocks came back since the last time.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, to: Channel) -> Result<(), LinkError> {
    /// node.channel(to).want_room(true)?;
    /// node.wait_any(None);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LinkError::Unknown`] if there is no such channel.
    #[inline]
    pub fn want_room(&mut self, on: bool) -> Result<(), LinkError> {
        self.node.want_room(self.channel, on)
    }

    /// Waits, after the channel had no room, until slots or blocks came back; it may return early
    /// for no reason. Meanwhile messages that come are taken in.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, to: Channel) -> Result<(), LinkError> {
    /// while node.channel(to).try_send_word(42, 8, 0) == Err(SendError::RingFull) {
    ///     node.channel(to).wait_for_room(None)?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LinkError::Unknown`], [`LinkError::Gone`], or [`LinkError::Deadline`] if that passed.
    #[inline]
    pub fn wait_for_room(&mut self, within: Option<Duration>) -> Result<(), LinkError> {
        self.node.wait_for_room(self.channel, within)
    }

    /// Whether something is there to be taken.
    #[cfg(feature = "library")]
    #[doc(hidden)]
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.node.channel_ready(self.channel)
    }

    /// How many entries are there to be taken. It looks at the slot of each.
    #[cfg(feature = "library")]
    #[doc(hidden)]
    #[must_use]
    pub fn available(&self) -> u32 {
        self.node.channel_available(self.channel)
    }
}
