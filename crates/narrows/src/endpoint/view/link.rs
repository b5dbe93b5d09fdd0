//! A link, seen at its node.

use crate::endpoint::{LinkError, Node, Port, Source};
use crate::link::{LinkId, Name};
use crate::memory::{Descriptor, Layout};
use crate::platform::Platform;

/// A link of a [node's](Node::link).
#[must_use = "a view does nothing by itself"]
pub struct LinkView<'a, P: Platform> {
    pub(super) node: &'a mut Node<P>,
    pub(super) link: LinkId,
}

impl<P: Platform> LinkView<'_, P> {
    /// The peer's name and which life of it this is.
    ///
    /// ```
    /// # use narrows::{endpoint::*, link::LinkId, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, link: LinkId) -> Result<(), LinkError> {
    /// let (name, life) = node.link(link).peer()?;
    /// # let _ = (name, life);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LinkError::Unknown`].
    #[inline]
    pub fn peer(&self) -> Result<(Name, u64), LinkError> {
        self.node.peer(self.link)
    }

    /// Whether the link is up.
    ///
    /// ```
    /// # use narrows::{endpoint::*, link::LinkId, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, link: LinkId) {
    /// if let Err(LinkError::Gone(reason)) = node.link(link).check() {
    ///     // Whatever it had sent can still be received.
    /// #   let _ = reason;
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`LinkError::Gone`] with the reason, or [`LinkError::Unknown`].
    #[inline]
    pub fn check(&self) -> Result<(), LinkError> {
        self.node.check(self.link)
    }

    /// Layouts of the link's own and the peer's regions.
    ///
    /// ```
    /// # use narrows::{endpoint::*, link::LinkId, platform::Platform, strategy::Placement};
    /// # fn example<P: Platform>(node: &mut Node<P>, link: LinkId) -> Result<(), LinkError> {
    /// let (own, _theirs) = node.link(link).layouts()?;
    /// let longest = own.longest(Placement::External);
    /// # let _ = longest;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LinkError::Unknown`].
    #[inline]
    pub fn layouts(&self) -> Result<(Layout, Layout), LinkError> {
        self.node.layouts(self.link)
    }

    /// How many channels the link has, to send on and to receive on: as many as both layouts have.
    ///
    /// ```
    /// # use narrows::{endpoint::*, link::LinkId, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, link: LinkId) -> Result<(), LinkError> {
    /// let (to_send, to_receive) = node.link(link).channels()?;
    /// # let _ = (to_send, to_receive);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LinkError::Unknown`].
    #[inline]
    pub fn channels(&self) -> Result<(u16, u16), LinkError> {
        self.node.channels(self.link)
    }

    /// Blocks of this node's that the peer has now, and that the application holds.
    ///
    /// ```
    /// # use narrows::{endpoint::*, link::LinkId, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, link: LinkId) -> Result<(), LinkError> {
    /// let (lent, held) = node.link(link).blocks_in_use()?;
    /// # let _ = (lent, held);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LinkError::Unknown`], or [`LinkError::Gone`] if the peer returned what it did not have.
    #[inline]
    pub fn blocks_in_use(&mut self) -> Result<(u32, u32), LinkError> {
        self.node.blocks_in_use(self.link)
    }

    /// Takes note of what the peer has given back. The stack does so itself when it needs credit or
    /// blocks; this is for a caller that wants [`LinkView::blocks_in_use`] to be up to date.
    ///
    /// ```
    /// # use narrows::{endpoint::*, link::LinkId, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, link: LinkId) {
    /// node.link(link).reclaim();
    /// # }
    /// ```
    #[inline]
    pub fn reclaim(&mut self) {
        self.node.reclaim(self.link);
    }

    /// Hands every message that the peer never took to `each`, once the link has ended: the port
    /// or function it was for, its tag, and its bytes. Returns how many there were.
    ///
    /// ```
    /// # use narrows::{endpoint::*, link::LinkId, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, link: LinkId) -> Result<(), LinkError> {
    /// let mut bytes = 0;
    /// let lost = node.link(link).undelivered(|_sent, payload| bytes += payload.len())?;
    /// # let _ = lost;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LinkError::Unknown`]. A link that is up has none to hand back and gives 0.
    #[inline]
    pub fn undelivered(
        &self,
        each: impl FnMut(&Descriptor, &dyn Source),
    ) -> Result<u32, LinkError> {
        self.node.undelivered(self.link, each)
    }

    /// Asks that the end of the link be delivered to an endpoint, as a message behind everything
    /// that the peer had sent. Its place in the inbox is set aside now, so that it cannot fail
    /// later.
    ///
    /// ```
    /// # use narrows::{endpoint::*, link::LinkId, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, link: LinkId) -> Result<(), LinkError> {
    /// // Port 1 receives a `What::PeerGone` when the peer has closed or died.
    /// node.link(link).attach(1)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LinkError::Unknown`], [`LinkError::Gone`] if it has already ended, or
    /// [`LinkError::Full`].
    #[inline]
    pub fn attach(&mut self, port: Port) -> Result<(), LinkError> {
        self.node.attach(self.link, port)
    }

    /// Closes the link and forgets all that belongs to it. The peer is told.
    ///
    /// ```
    /// # use narrows::{endpoint::*, link::LinkId, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, link: LinkId) {
    /// node.link(link).close();
    /// # }
    /// ```
    #[inline]
    pub fn close(self) {
        self.node.close_link(self.link);
    }

    /// Says whether [`Node::wait_any`] and [`Node::arm`] include room for the link's messages, as
    /// [`ChannelView::want_room`](super::ChannelView::want_room) does of a channel.
    ///
    /// # Errors
    /// [`LinkError::Unknown`].
    #[cfg(feature = "library")]
    #[doc(hidden)]
    pub fn want_room(&mut self, on: bool) -> Result<(), LinkError> {
        self.node.want_room_for_messages(self.link, on)
    }
}
