//! A flow, a channel or a link, seen at its node: what a program does with one that it has.
//!
//! A view is the node and a name, and lives as long as a program looks at it: `node.flow(flow)`
//! costs nothing. What has no flow, channel or link is a method of the [`Node`] itself.

mod channel;
mod flow;
mod link;

pub use channel::ChannelView;
pub use flow::FlowView;
pub use link::LinkView;

use super::{Channel, FlowId, Node};
use crate::link::LinkId;
use crate::platform::Platform;

/// What acts on one flow, channel or link.
impl<P: Platform> Node<P> {
    /// A flow of this node's, to call, to send over, or to change.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, flow: FlowId) -> Result<(), CallError> {
    /// let mut response = [0; 8];
    /// let len = node.flow(flow).call(b"what time is it?", &mut response, None)?;
    /// # Ok(()) }
    /// ```
    #[inline(always)]
    pub fn flow(&mut self, flow: FlowId) -> FlowView<'_, P> {
        FlowView { node: self, flow }
    }

    /// A channel of one of this node's links, to send on or to receive from.
    ///
    /// ```
    /// # use narrows::{endpoint::*, link::LinkId, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, link: LinkId) -> Result<(), SendError> {
    /// let to = Channel { link, ring: 0 };
    /// node.channel(to).try_send_word(42, 8, 0)?;
    /// # Ok(()) }
    /// ```
    #[inline(always)]
    pub fn channel(&mut self, channel: Channel) -> ChannelView<'_, P> {
        ChannelView { node: self, channel }
    }

    /// A link of this node's, to ask about, or to close.
    ///
    /// ```
    /// # use narrows::{endpoint::*, link::LinkId, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>, link: LinkId) -> Result<(), LinkError> {
    /// let (name, _life) = node.link(link).peer()?;
    /// # let _ = name;
    /// # Ok(()) }
    /// ```
    #[inline(always)]
    pub fn link(&mut self, link: LinkId) -> LinkView<'_, P> {
        LinkView { node: self, link }
    }
}
