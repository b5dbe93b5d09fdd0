//! The node: everything one core has of the stack.

use core::time::Duration;

use super::flow::Flow;
use super::known::Known;
use super::message::Endpoint;
use super::queue::Queue;
use super::route::Last;
use crate::driver;
use crate::link::{self, Link, LinkId, Links, Name};
use crate::memory::Layout;
use crate::notify::Adaptive;
use crate::platform::{HuntError, Lost, NoStorage, Platform};
use crate::strategy::{Notification, Strategy, Transfer};

/// How large a node's tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Links, ended ones that were not closed included. When they are all in use, a new link takes
    /// the place of the oldest that has ended and of which nothing waits to be received; what of
    /// that one was [not delivered](super::LinkView::undelivered) is gone then.
    pub links: usize,
    /// Endpoints; ports are numbered below this.
    pub endpoints: usize,
    /// Flows that this node opens, and flows that each peer may open here.
    pub flows: usize,
    /// Messages of each link that wait for the application, off their ring. Where a more urgent one
    /// is behind them, as many more as the ring has slots.
    pub inbox: usize,
    /// The longest request or response that a function served here may have, in bytes; where
    /// several calls travel in one message, all of them together with a word for each.
    pub longest: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { links: 8, endpoints: 64, flows: 32, inbox: 512, longest: 65536 }
    }
}

/// Why a node could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeError {
    /// The storage that the platform has does not hold the tables.
    NoStorage,
}

impl From<NoStorage> for NodeError {
    fn from(_: NoStorage) -> NodeError {
        NodeError::NoStorage
    }
}

/// What went wrong with a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkError {
    /// No such link, or it was closed.
    Unknown,
    /// The peer is gone.
    Gone(Lost),
    /// The name did not appear, or its node did not answer, before the deadline.
    Deadline,
    /// The hunt failed for good.
    Hunt(HuntError),
    /// The inbox has no place for the notice.
    Full,
}

/// One core's end of the stack. It belongs to one thread at a time.
pub struct Node<P: Platform> {
    pub(super) platform: P,
    pub(super) links: Links<P>,
    pub(super) endpoints: P::Slice<Option<Endpoint>>,
    pub(super) flows: P::Slice<Option<Flow>>,
    pub(super) requests: P::Slice<Queue>,
    pub(super) refusals: P::Slice<Queue>,
    pub(super) scratch: [P::Slice<u8>; 2],
    pub(super) notification: Notification,
    pub(super) strategy: Strategy,
    pub(super) adaptive: Adaptive,
    pub(super) next_link: u16,
    pub(super) flow_lives: u32,
    /// The number of the last question to a peer's stack.
    pub(super) questions: u16,
    /// Flows that have something to say to the peer's stack.
    pub(super) pending: u16,
    /// How to wait for what peers have opened here.
    pub(super) agreed: Notification,
    /// Whether a peer waits to have a function looked up.
    pub(super) naming: bool,
    /// Something came since the application was last told to look: a message that was taken in
    /// while it looked at one port may be for another that it had looked at before.
    pub(super) fresh: bool,
    /// A link came up or was lost since [`Node::serve`] was called.
    pub(super) news: bool,
    /// How often something changed that routes go by, and one.
    pub(super) epoch: u64,
    /// The route of the last message of no flow.
    pub(super) last: Last,
    pub(super) known: Known,
    /// What the last receive came to that was neither a message nor a look in vain.
    pub(super) other: Result<super::Received, super::PortError>,
    /// Whether something waited for credit or blocks in the last wait.
    pub(super) starving: bool,
    /// The link on which the last turn of serving had no room for a response.
    pub(super) blocked: Option<LinkId>,
}

impl<P: Platform> Node<P> {
    /// Opens a node on a platform.
    ///
    /// # Errors
    /// The platform has not enough storage for the tables.
    #[inline(never)]
    pub fn new(platform: P, limits: Limits) -> Result<Node<P>, NodeError> {
        let strategy = Strategy::default();
        let ports = limits.endpoints.min(usize::from(u16::MAX));
        let flows = limits.flows.clamp(1, usize::from(u16::MAX));
        let links = Links::new(&platform, limits.links, limits.inbox, flows)?;
        let places = usize::from(links.capacity());
        Ok(Node {
            links,
            endpoints: platform.storage(ports, |_| None)?,
            flows: platform.storage(flows, |_| None)?,
            requests: platform.storage(places, |_| Queue::default())?,
            refusals: platform.storage(places, |_| Queue::default())?,
            scratch: [
                platform.storage(limits.longest, |_| 0)?,
                platform.storage(limits.longest, |_| 0)?,
            ],
            notification: strategy.notification,
            strategy,
            adaptive: Adaptive::default(),
            next_link: 0,
            flow_lives: 0,
            questions: 0,
            pending: 0,
            agreed: strategy.notification,
            naming: false,
            fresh: false,
            news: false,
            epoch: 1,
            last: Last::NONE,
            known: Known::NOTHING,
            other: Err(super::PortError::Closed),
            starving: false,
            blocked: None,
            platform,
        })
    }

    /// The platform this node runs on.
    pub fn platform(&self) -> &P {
        &self.platform
    }

    /// The platform this node runs on, to change what it does.
    pub fn platform_mut(&mut self) -> &mut P {
        self.changed();
        &mut self.platform
    }

    /// How this node waits when nothing else was agreed for what it waits for; hybrid at first.
    pub fn set_notification(&mut self, notification: Notification) {
        self.notification = notification;
        self.agree();
    }

    /// How messages travel that belong to no flow.
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.changed();
        self.strategy = strategy;
    }

    /// Finds a node by name and links to it, waiting for it to appear until the deadline. A peer
    /// that has already linked to this node is found at once.
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
    #[inline(never)]
    pub fn give_up(&mut self, name: &Name) {
        self.platform.give_up(name);
    }

    /// Links that are up, with their peers' names.
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
            self.fail(link, what);
            return Err(LinkError::Gone(Lost::Corrupt(what)));
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
        mut each: impl FnMut(&crate::memory::Descriptor, &dyn super::Source),
    ) -> Result<u32, LinkError> {
        let ended = self.links.get(link).ok_or(LinkError::Unknown)?;
        if ended.lost.is_none() {
            return Ok(0);
        }
        Ok(link::undelivered(ended, |taken, shared| {
            each(&taken.descriptor, &Unsent { taken, shared });
        }))
    }

    /// See [`LinkView::close`](super::LinkView::close).
    #[inline(never)]
    pub(super) fn close(&mut self, link: LinkId) {
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

    /// Sees to what happened at the rendezvous and on the rings, without waiting.
    pub fn poll(&mut self) {
        self.attend();
        self.pump();
    }

    pub(super) fn up(&self, link: LinkId) -> Result<&Link<P>, LinkError> {
        let found = self.links.get(link).ok_or(LinkError::Unknown)?;
        found.lost.map_or(Ok(found), |reason| Err(LinkError::Gone(reason)))
    }

    /// Whether this platform and a link's layout can do what a strategy asks.
    pub(super) fn feasible(&self, link: LinkId, strategy: &Strategy) -> bool {
        let Some(link) = self.links.get(link) else { return false };
        let engine = strategy.transfer != Transfer::CopyEngine || self.platform.has_engine();
        engine && link.shared.pool().layout().longest(strategy.placement) > 0
    }

    /// Frees an inbox entry and gives its message back to the sender.
    pub(super) fn give_back(&mut self, at: crate::link::EntryId) {
        if let Some(link) = self.links.at_mut(at.link)
            && let Some(taken) = link.inbox.remove(at.entry)
            && link.lost.is_none()
        {
            link.shared.release(&self.platform, &taken.descriptor);
            self.links.took(at.link);
        }
    }
}

/// A message of this node's own that was never taken.
struct Unsent<'a, P: Platform> {
    taken: &'a crate::memory::Taken,
    shared: &'a crate::memory::Shared<P>,
}

impl<P: Platform> super::Source for Unsent<'_, P> {
    fn len(&self) -> usize {
        self.taken.descriptor.len as usize
    }
    fn read(&self, at: usize, to: &mut [u8]) -> Result<(), super::Failure> {
        match self.taken.descriptor.block {
            Some(block) => {
                let read = u32::try_from(at).is_ok_and(|at| self.shared.read_back(block, at, to));
                read.then_some(()).ok_or(super::Failure::Refused)
            }
            None => {
                let bytes = self.taken.in_slot.get(..self.len()).unwrap_or_default();
                super::Source::read(bytes, at, to)
            }
        }
    }
}

/// What a driver could not do, for an operation's own error.
pub(super) fn would_block(error: driver::DriverError) -> bool {
    matches!(error, driver::DriverError::RingFull | driver::DriverError::PoolEmpty)
}
