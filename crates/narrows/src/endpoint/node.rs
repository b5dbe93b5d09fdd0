//! The node: everything one core has of the stack, and how it waits.

use core::time::Duration;

use super::flow::Flow;
use super::message::Endpoint;
use super::queue::Queue;
use crate::driver;
use crate::link::{self, Link, LinkId, Links, Name};
use crate::memory::Layout;
use crate::notify::{self, Adaptive, Awaited};
use crate::platform::{HuntError, Instant, Lost, NoStorage, Platform, Woken};
use crate::strategy::{Notification, Strategy, Transfer};

/// How large a node's tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Links, ended ones that were not closed included. When they are all in use, a new link takes
    /// the place of the oldest that has ended and of which nothing waits to be received; what
    /// [`Node::undelivered`] would have said of that one is gone then.
    pub links: usize,
    /// Endpoints; ports are numbered below this.
    pub endpoints: usize,
    /// Flows that this node opens, and flows that each peer may open here.
    pub flows: usize,
    /// Messages of each link that wait for the application.
    pub inbox: usize,
    /// The longest request or response that a function served here may have, in bytes.
    pub longest: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { links: 8, endpoints: 64, flows: 32, inbox: 512, longest: 65536 }
    }
}

/// Why a node could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    adaptive: Adaptive,
    pub(super) next_link: u16,
    pub(super) flow_lives: u32,
    /// The number of the last question to a peer's stack.
    pub(super) questions: u16,
    /// Flows that have something to say to the peer's stack.
    pub(super) pending: u16,
    /// How to wait for what peers have opened here.
    agreed: Notification,
    /// Whether a peer waits to have a function looked up.
    pub(super) naming: bool,
    /// Something came since the application was last told to look: a message that was taken in
    /// while it looked at one port may be for another that it had looked at before.
    pub(super) fresh: bool,
    /// The link on which the last turn of serving had no room for a response.
    pub(super) blocked: Option<LinkId>,
}

impl<P: Platform> Node<P> {
    /// Opens a node on a platform.
    ///
    /// # Errors
    /// The platform has not enough storage for the tables.
    pub fn new(platform: P, limits: Limits) -> Result<Node<P>, NodeError> {
        let strategy = Strategy::default();
        let ports = limits.endpoints.min(usize::from(u16::MAX));
        let flows = limits.flows.clamp(1, usize::from(u16::MAX));
        let links = Links::new(&platform, limits.links, limits.inbox, flows)?;
        let places = usize::from(links.places());
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
            blocked: None,
            platform,
        })
    }

    /// The platform this node runs on.
    pub fn platform(&self) -> &P {
        &self.platform
    }

    /// How this node waits when nothing else was agreed for what it waits for; hybrid at first.
    pub fn set_notification(&mut self, notification: Notification) {
        self.notification = notification;
        self.agree();
    }

    /// How messages travel that belong to no flow.
    pub fn set_strategy(&mut self, strategy: Strategy) {
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
        self.links.hunt_failure(name);
        let before = self.links.latest();
        self.platform.hunt(name).map_err(LinkError::Hunt)?;
        loop {
            self.poll();
            if let Some(id) = self.links.find(name) {
                return Ok(id);
            }
            if let Some(error) = self.links.hunt_failure(name) {
                return Err(LinkError::Hunt(error));
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

    /// Links that are up, with their peers' names.
    pub fn links(&self) -> impl Iterator<Item = (LinkId, Name)> + '_ {
        (0..self.links.places()).filter_map(|index| {
            let link = self.links.at(index)?;
            Some((self.links.id(index)?, link.name)).filter(|_| link.lost.is_none())
        })
    }

    /// The peer's name and which life of it this is.
    ///
    /// # Errors
    /// [`LinkError::Unknown`].
    pub fn peer(&self, link: LinkId) -> Result<(Name, u64), LinkError> {
        self.links.get(link).map(|l| (l.name, l.incarnation)).ok_or(LinkError::Unknown)
    }

    /// Whether a link is up.
    ///
    /// # Errors
    /// [`LinkError::Gone`] with the reason, or [`LinkError::Unknown`].
    pub fn check(&self, link: LinkId) -> Result<(), LinkError> {
        self.up(link).map(|_| ())
    }

    /// Layouts of a link's own and peer's regions.
    ///
    /// # Errors
    /// [`LinkError::Unknown`].
    pub fn layouts(&self, link: LinkId) -> Result<(Layout, Layout), LinkError> {
        let link = self.links.get(link).ok_or(LinkError::Unknown)?;
        Ok((*link.shared.pool().layout(), *link.shared.theirs()))
    }

    /// Blocks of this node's that the peer has now, and that the application holds.
    ///
    /// # Errors
    /// [`LinkError::Unknown`], or [`LinkError::Gone`] if the peer returned what it did not have.
    pub fn blocks_in_use(&mut self, link: LinkId) -> Result<(u32, u32), LinkError> {
        let found = self.links.get_mut(link).ok_or(LinkError::Unknown)?;
        if found.lost.is_none()
            && let Err(what) = found.shared.reclaim()
        {
            self.fail(link, what);
            return Err(LinkError::Gone(Lost::Corrupt(what)));
        }
        Ok((found.shared.pool().lent(), found.shared.pool().held()))
    }

    /// Takes note of what the peer has given back. The stack does so itself when it needs credit or
    /// blocks; this is for whoever wants [`Node::blocks_in_use`] to be up to date.
    pub fn reclaim(&mut self, link: LinkId) {
        let Some(found) = self.links.get_mut(link).filter(|l| l.lost.is_none()) else { return };
        if let Err(what) = found.shared.catch_up() {
            self.fail(link, what);
        }
    }

    /// Hands every message that the peer never took to `each`, once the link has ended: the port
    /// or function it was for, its tag, and its bytes. Returns how many there were.
    ///
    /// # Errors
    /// [`LinkError::Unknown`]. A link that is up has none to hand back and gives 0.
    pub fn undelivered(
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

    /// Closes a link and forgets all that belongs to it. The peer is told.
    pub fn close(&mut self, link: LinkId) {
        if self.links.get(link).is_none() {
            return;
        }
        self.flush_all();
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

    /// Asks to be rung for the next message, before this thread waits in a loop of its own on the
    /// platform's descriptor. True if something is there already, or came since the last time this
    /// was asked: look at everything once more then, and do not wait.
    pub fn arm(&mut self) -> bool {
        self.flush_all();
        if self.prepare(self.blocked) {
            return true;
        }
        self.awaited().for_each(|on| on.arm(1));
        // Pairs with the fence in `Shared::ring_if_armed`.
        self.platform.fence();
        let changed = self.awaited().flat_map(Awaited::watches).any(|watch| watch.changed());
        core::mem::take(&mut self.fresh) || changed
    }

    /// Asks not to be rung any more.
    pub fn disarm(&mut self) {
        self.awaited().for_each(Awaited::disarm);
    }

    /// Waits for a message, for news of a link or for the deadline, in the way that was agreed for
    /// what is served here. Does not wait if something came since the last time: a program that
    /// looks at everything between its waits misses nothing.
    pub fn wait_any(&mut self, within: Option<Duration>) {
        if core::mem::take(&mut self.fresh) {
            return;
        }
        let deadline = self.deadline(within);
        self.wait(self.agreed(), deadline, self.blocked);
    }

    pub(super) fn up(&self, link: LinkId) -> Result<&Link<P>, LinkError> {
        let found = self.links.get(link).ok_or(LinkError::Unknown)?;
        found.lost.map_or(Ok(found), |reason| Err(LinkError::Gone(reason)))
    }

    pub(super) fn deadline(&self, within: Option<Duration>) -> Option<Instant> {
        within.map(|d| self.platform.now() + d)
    }

    pub(super) fn passed(&self, deadline: Option<Instant>) -> bool {
        deadline.is_some_and(|d| self.platform.now() >= d)
    }

    /// How to wait for what peers have opened here.
    pub(super) fn agreed(&self) -> Notification {
        self.agreed
    }

    /// Notes how to wait, after what peers have opened here has changed.
    pub(super) fn agree(&mut self) {
        let open = self.links.up().flat_map(|link| link.served.iter());
        let open = open.filter(|served| served.target != link::Target::Nowhere);
        let agreed = notify::quickest(open.map(|served| served.strategy.notification));
        self.agreed = agreed.unwrap_or(self.notification);
    }

    /// Waits once. Credit held back for a batch is given first, so that nobody starves while this
    /// core sleeps.
    pub(super) fn wait(
        &mut self,
        how: Notification,
        deadline: Option<Instant>,
        starved: Option<LinkId>,
    ) -> Woken {
        self.flush_all();
        if self.prepare(starved) {
            return Woken::Word;
        }
        let awaited = awaited(&self.links);
        notify::wait(&self.platform, &awaited, how, &mut self.adaptive, deadline)
    }

    /// Finds out which links are waited for and for what. True if there is something to do before
    /// a wait.
    fn prepare(&mut self, starved: Option<LinkId>) -> bool {
        let mut ready = false;
        for index in 0..self.links.places() {
            let id = self.links.id(index);
            let unsaid = self.pending > 0
                && self.flows.iter().flatten().any(|f| f.phase.pending() && Some(f.link) == id);
            let Some(link) = self.links.at_mut(index) else { continue };
            if link.lost.is_some() {
                ready |= !link.told && link.inbox.room();
                continue;
            }
            link.starved = unsaid || link.replies > 0 || (starved.is_some() && starved == id);
            let given = if link.starved { link.shared.catch_up() } else { Ok(false) };
            match (given, id) {
                (Ok(given), _) => ready |= given,
                (Err(what), Some(id)) => {
                    self.fail(id, what);
                    ready = true;
                }
                (Err(_), None) => {}
            }
        }
        ready
    }

    /// What is waited for on each link. Where the inbox is full nothing can be taken, so nothing
    /// is waited for.
    fn awaited(&self) -> impl Iterator<Item = Awaited<'_, P>> + Clone {
        awaited(&self.links)
    }

    pub(super) fn flush_all(&mut self) {
        for index in 0..self.links.places() {
            if let Some(link) = self.links.at_mut(index)
                && link.lost.is_none()
            {
                link.shared.flush(&self.platform);
            }
        }
    }

    /// Whether this platform and a link's layout can do what a strategy asks.
    pub(super) fn feasible(&self, link: LinkId, strategy: &Strategy) -> bool {
        let Some(link) = self.links.get(link) else { return false };
        let engine = strategy.transfer != Transfer::CopyEngine || self.platform.has_engine();
        engine && link.shared.pool().layout().longest(strategy.placement) > 0
    }

    /// Frees an inbox entry and gives its message back to the sender.
    pub(super) fn release(&mut self, at: crate::link::EntryId) {
        if let Some(link) = self.links.at_mut(at.link)
            && let Some(taken) = link.inbox.remove(at.entry)
            && link.lost.is_none()
        {
            link.shared.release(&self.platform, &taken.descriptor);
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
    fn read(&self, at: usize, to: &mut [u8]) -> bool {
        match self.taken.descriptor.block {
            Some(block) => u32::try_from(at).is_ok_and(|at| self.shared.read_back(block, at, to)),
            None => {
                let bytes = self.taken.in_slot.get(..self.len()).unwrap_or_default();
                super::Source::read(bytes, at, to)
            }
        }
    }
}

fn awaited<P: Platform>(links: &Links<P>) -> impl Iterator<Item = Awaited<'_, P>> + Clone {
    links.up().map(|link| Awaited {
        shared: &link.shared,
        messages: link.inbox.room(),
        room: link.starved,
    })
}

/// What a driver could not do, for an operation's own error.
pub(super) fn would_block(error: driver::DriverError) -> bool {
    matches!(error, driver::DriverError::RingFull | driver::DriverError::PoolEmpty)
}
