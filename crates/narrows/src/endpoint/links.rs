//! Links of a node: hunting for peers, and what is asked of a link that there is.

use core::time::Duration;

use super::{Failure, LinkError, Node, Port, Source};
use crate::link::{self, LinkId, Name};
use crate::memory::{Ack, Descriptor, IN_SLOT, Kind, Layout, Shared, Taken};
use crate::platform::Platform;
use crate::strategy::Notification;

/// Finding peers, and the links to them.
impl<P: Platform> Node<P> {
    /// Finds a node by name and links to it, waiting for it to appear until the deadline. A peer
    /// that has already linked to this node is found at once.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) -> Result<(), LinkError> {
    /// let soon = Some(Duration::from_secs(5));
    /// let link = node.hunt(&"dsp".parse().expect("a name"), soon)?;
    /// # let _ = link;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LinkError::Deadline`], [`LinkError::Hunt`], or [`LinkError::Gone`] if it was found and
    /// ended the link before this returned: it is full, say.
    pub fn hunt(&mut self, name: &Name, within: Option<Duration>) -> Result<LinkId, LinkError> {
        let deadline = self.deadline(within);
        self.attend();
        if let Some(id) = self.links.find(name) {
            return Ok(id);
        }
        self.links.await_hunt(name);
        let before = self.links.latest();
        self.platform.hunt(name).map_err(LinkError::Hunt)?;
        loop {
            self.poll();
            // Asked first: of a link with itself the node may have had a place for one end only.
            if let Some(error) = self.links.hunt_failure(name) {
                return Err(LinkError::Hunt(error));
            }
            if let Some(id) = self.links.find(name) {
                return Ok(id);
            }
            if let Some(reason) = self.links.came_and_went(name, before) {
                return Err(LinkError::Gone(reason));
            }
            if self.passed(deadline) {
                self.platform.give_up(name);
                return Err(LinkError::Deadline);
            }
            self.wait(Notification::Interrupt, deadline, None);
        }
    }

    /// Looks for a node without waiting: the link to it if there is one, none while it is looked
    /// for. The search goes on until [`Node::give_up`]; a program that asks again finds out what
    /// came of it.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) -> Result<(), LinkError> {
    /// let name = "dsp".parse().expect("a name");
    /// while node.try_hunt(&name)?.is_none() {
    ///     node.wait_any(None);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`LinkError::Hunt`]: the search failed for good, or could not begin.
    #[inline(never)]
    pub fn try_hunt(&mut self, name: &Name) -> Result<Option<LinkId>, LinkError> {
        self.attend();
        if let Some(id) = self.links.find(name) {
            return Ok(Some(id));
        }
        if let Some(error) = self.links.hunt_failure(name) {
            return Err(LinkError::Hunt(error));
        }
        self.platform.hunt(name).map_err(LinkError::Hunt)?;
        Ok(None)
    }

    /// Looks for a node no longer.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) {
    /// let name = "dsp".parse().expect("a name");
    /// if node.try_hunt(&name) == Ok(None) {
    ///     node.give_up(&name);
    /// }
    /// # }
    /// ```
    #[inline(never)]
    pub fn give_up(&mut self, name: &Name) {
        self.platform.give_up(name);
    }

    /// Links that are up, with their peers' names.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &Node<P>) {
    /// for (link, peer) in node.links() {
    /// #   let _ = (link, peer);
    /// }
    /// # }
    /// ```
    pub fn links(&self) -> impl Iterator<Item = (LinkId, Name)> + '_ {
        (0..self.links.places()).filter_map(|index| self.link_at(index))
    }

    #[inline(never)]
    fn link_at(&self, index: u16) -> Option<(LinkId, Name)> {
        let link = self.links.at(index).filter(|link| link.lost.is_none())?;
        Some((LinkId { index, life: link.life }, link.name))
    }

    /// See [`LinkView::peer`](super::LinkView::peer).
    pub(super) fn peer(&self, link: LinkId) -> Result<(Name, u64), LinkError> {
        self.links.get(link).map(|l| (l.name, l.incarnation)).ok_or(LinkError::Unknown)
    }

    /// See [`LinkView::check`](super::LinkView::check).
    pub(super) fn check(&self, link: LinkId) -> Result<(), LinkError> {
        self.up(link).map(|_| ())
    }

    /// See [`LinkView::layouts`](super::LinkView::layouts).
    pub(super) fn layouts(&self, link: LinkId) -> Result<(Layout, Layout), LinkError> {
        let link = self.links.get(link).ok_or(LinkError::Unknown)?;
        Ok((*link.shared.pool().layout(), *link.shared.theirs()))
    }

    /// See [`LinkView::blocks_in_use`](super::LinkView::blocks_in_use).
    pub(super) fn blocks_in_use(&mut self, link: LinkId) -> Result<(u32, u32), LinkError> {
        let found = self.links.get_mut(link).ok_or(LinkError::Unknown)?;
        if found.lost.is_none()
            && let Err(what) = found.shared.reclaim()
        {
            return Err(LinkError::Gone(self.fail(link, what)));
        }
        Ok((found.shared.pool().lent(), found.shared.pool().held()))
    }

    /// See [`LinkView::reclaim`](super::LinkView::reclaim).
    pub(super) fn reclaim(&mut self, link: LinkId) {
        let Some(found) = self.links.get_mut(link).filter(|l| l.lost.is_none()) else { return };
        if let Err(what) = found.shared.catch_up() {
            self.fail(link, what);
        }
    }

    /// See [`LinkView::undelivered`](super::LinkView::undelivered).
    pub(super) fn undelivered(
        &self,
        link: LinkId,
        mut each: impl FnMut(&Descriptor, &dyn Source),
    ) -> Result<u32, LinkError> {
        let ended = self.links.get(link).ok_or(LinkError::Unknown)?;
        if ended.lost.is_none() {
            return Ok(0);
        }
        Ok(link::undelivered(ended, |taken, shared| {
            each(&taken.descriptor, &Unsent { taken, shared });
        }))
    }

    /// See [`LinkView::attach`](super::LinkView::attach).
    #[inline(never)]
    pub(super) fn attach(&mut self, link: LinkId, port: Port) -> Result<(), LinkError> {
        self.up(link)?;
        let link = self.links.get_mut(link).ok_or(LinkError::Unknown)?;
        let descriptor = Descriptor {
            kind: Kind::Control,
            ack: Ack::Batched,
            priority: 7,
            len: 0,
            source: 0,
            target: port,
            tag: 0,
            block: None,
        };
        let notice = Taken { descriptor, in_slot: [Self::NOTICE; IN_SLOT] };
        if !link.inbox.room() {
            return Err(LinkError::Full);
        }
        let at = link.inbox.put(&notice).ok_or(LinkError::Full)?;
        let before = link.attached.replace(at);
        if let Some(entry) = link.inbox.get_mut(at.entry) {
            entry.next = before;
        }
        Ok(())
    }

    /// See [`LinkView::close`](super::LinkView::close).
    #[inline(never)]
    pub(super) fn close_link(&mut self, link: LinkId) {
        if self.links.get(link).is_none() {
            return;
        }
        self.changed();
        self.links.flush(&self.platform);
        for index in 0..self.flows.len() as u16 {
            if self.flow_at(index).is_some_and(|f| f.link == link) {
                self.forget_flow(index);
            }
        }
        let queues = self.endpoints.iter_mut().flatten().map(|endpoint| &mut endpoint.queue);
        for queue in queues.chain(self.requests.iter_mut()).chain(self.refusals.iter_mut()) {
            queue.purge(&mut self.links, link.index);
        }
        self.links.remove(&self.platform, link);
        self.agree();
    }
}

/// A message of this node's own that was never taken.
struct Unsent<'a, P: Platform> {
    taken: &'a Taken,
    shared: &'a Shared<P>,
}

impl<P: Platform> Source for Unsent<'_, P> {
    fn len(&self) -> usize {
        self.taken.descriptor.len as usize
    }
    fn read(&self, at: usize, to: &mut [u8]) -> Result<(), Failure> {
        match self.taken.descriptor.block {
            Some(block) => {
                let read = u32::try_from(at).is_ok_and(|at| self.shared.read_back(block, at, to));
                read.then_some(()).ok_or(Failure::Refused)
            }
            None => {
                let bytes = self.taken.in_slot.get(..self.len()).unwrap_or_default();
                Source::read(bytes, at, to)
            }
        }
    }
}
