//! The node: everything one core has of the stack.

use core::time::Duration;

use super::flow::Flow;
use super::known::Known;
use super::message::Endpoint;
use super::queue::Queue;
use super::route::Last;
use crate::link::{Link, LinkId, Links};
use crate::notify::Adaptive;
use crate::platform::{HuntError, Lost, NoStorage, Platform};
use crate::strategy::{Notification, Strategy, Transfer};

/// How large a node's tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most links, ended ones that were not closed included. Tables begin with 8 at most and
    /// double as links come up. Of ended links of which nothing waits to be received, the node
    /// keeps the last 8 and those of which something was
    /// [not delivered](super::LinkView::undelivered); a new link takes the place of the oldest
    /// where there are 8, or no other place and no storage for more. If there is none, the peer is
    /// told so: its link ends with [`Lost::Full`].
    pub links: usize,
    /// Endpoints; ports are numbered below this.
    pub endpoints: usize,
    /// Flows that this node opens, or one for each place of a link if that is more, and flows that
    /// each peer may open here.
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
        Limits { links: 4096, endpoints: 64, flows: 32, inbox: 512, longest: 65536 }
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
    /// The shortest of the timers that always run, if there are any: it ends every wait.
    pub(super) timer: Option<Duration>,
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

/// The node itself.
impl<P: Platform> Node<P> {
    /// Opens a node on a platform.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(platform: P) -> Result<(), NodeError> {
    /// let limits = Limits { links: 2, ..Limits::default() };
    /// let node = Node::new(platform, limits)?;
    /// # let _ = node;
    /// # Ok(()) }
    /// ```
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
            scratch: [platform.zeroed(limits.longest)?, platform.zeroed(limits.longest)?],
            notification: strategy.notification,
            strategy,
            adaptive: Adaptive::default(),
            next_link: 0,
            flow_lives: 0,
            questions: 0,
            pending: 0,
            agreed: strategy.notification,
            timer: None,
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
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &Node<P>) {
    /// let now = node.platform().now();
    /// # let _ = now;
    /// # }
    /// ```
    pub fn platform(&self) -> &P {
        &self.platform
    }

    /// The platform this node runs on, to change what it does.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) {
    /// let platform: &mut P = node.platform_mut();
    /// # let _ = platform;
    /// # }
    /// ```
    pub fn platform_mut(&mut self) -> &mut P {
        self.changed();
        // Of a thousand links nothing else is looked at when something changes.
        self.links.note_channels();
        &mut self.platform
    }

    /// How this node waits when nothing else was agreed for what it waits for; hybrid at first.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform, strategy::Notification};
    /// # fn example<P: Platform>(node: &mut Node<P>) {
    /// node.set_notification(Notification::Spin);
    /// # }
    /// ```
    pub fn set_notification(&mut self, notification: Notification) {
        self.notification = notification;
        self.agree();
    }

    /// How messages travel that belong to no flow.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform, strategy::*};
    /// # fn example<P: Platform>(node: &mut Node<P>) -> Result<(), StrategyError> {
    /// let strategy: Strategy = "single_copy/hybrid/internal".parse()?;
    /// node.set_strategy(strategy);
    /// # Ok(()) }
    /// ```
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.changed();
        self.strategy = strategy;
    }

    /// Sees to what happened at the rendezvous and on the rings, without waiting.
    ///
    /// ```
    /// # use narrows::{endpoint::*, platform::Platform};
    /// # fn example<P: Platform>(node: &mut Node<P>) {
    /// node.poll();
    /// # }
    /// ```
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
        {
            if link.lost.is_some() {
                return self.links.thin();
            }
            link.shared.release(&self.platform, &taken.descriptor);
            self.links.took(at.link);
        }
    }
}
