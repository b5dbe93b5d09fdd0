//! Short messages of one kind, prepared once: for who sends many from a port to an address and looks at their
//! link and strategy itself.

use super::message::descriptor;
use super::{Address, Node, Port};
use crate::link::LinkId;
use crate::memory::Shared;
use crate::platform::Platform;

/// What all short messages from a port to an address have in common.
#[derive(Clone, Copy, Debug)]
pub struct Prepared {
    link: LinkId,
    /// Of a descriptor without length and priority.
    words: [u32; 3],
}

impl Prepared {
    /// What is to nobody.
    pub const NONE: Prepared = Prepared { link: LinkId::NONE, words: [0; 3] };

    /// The same with this mark beside that which it was prepared with.
    #[inline]
    #[must_use]
    pub fn tagged(mut self, tag: u16) -> Prepared {
        self.words[2] |= u32::from(tag);
        self
    }

    /// The link that they go over.
    #[must_use]
    pub fn link(&self) -> LinkId {
        self.link
    }
}

impl<P: Platform> Node<P> {
    /// Bytes of the longest message that [`Node::post_short`] sends.
    pub const SHORT: usize = Shared::<P>::IN_SLOT;

    /// Prepares for [`Node::post_short`], as long as the node's strategy stays what it is. None while
    /// stamps are kept. Whether `from` is open is the caller's to know: what is refused of a port that
    /// is not is told to nobody.
    #[must_use]
    pub fn prepare_short(&self, from: Port, to: Address, tag: u16) -> Option<Prepared> {
        let descriptor = descriptor(self.strategy.acknowledgement.wanted(), from, to.port, 0, tag);
        let prepared = Prepared { link: to.link, words: descriptor.pack() };
        (!self.platform.tracing()).then_some(prepared)
    }

    /// As [`Node::try_send`], if the bytes fit a slot that is known to be free. None if they do not, or
    /// there is something else to do: nothing was sent. Whether the receiver may sleep, and
    /// [`Node::ring_link`] is to be called.
    #[inline(always)]
    pub fn post_short(&mut self, to: &Prepared, priority: u8, bytes: &[u8]) -> Option<bool> {
        let shared = &mut self.links.up_mut(to.link)?.shared;
        let posted = shared.post_words_in_slot(to.words, priority.min(7), bytes);
        posted.then(|| shared.is_armed(&self.platform))
    }

    /// Rings the peer, if it sleeps and wants to be rung for a message by now.
    #[inline(never)]
    pub fn ring_link(&mut self, link: LinkId) {
        if let Some(link) = self.links.up_mut(link) {
            link.shared.ring_if_armed(&self.platform);
        }
    }
}
