//! A link of a LINX node: its flow, its connection, and the frames that wait.

use std::collections::VecDeque;

use narrows::connection::flattened::Flattened;
use narrows::connection::point_to_point::{PointToPoint, Waiting};
use narrows::connection::{Settings, Signal as Travelling, UDATA};
use narrows::endpoint::{Address, FlowId, Lent, Route};
use narrows::link::LinkId;
use narrows::linx::station::Connection;
use narrows::platform::Instant;

use super::Stack;
use super::bare::{self, Ends};
use super::driver::Frame;
use super::signal::Signal;

/// Signals that a layered connection queues while there is no room for them.
const QUEUE: usize = 256;

/// The connection of a link.
pub(super) type Manager = Connection<Signal, Vec<Waiting<Signal>>>;

/// A connection with nothing sent.
pub(super) fn manager(stack: Stack, settings: Settings, mtu: usize, now: Instant) -> Manager {
    match stack {
        Stack::Flat => Manager::Flat(Flattened::new(settings, mtu, now)),
        Stack::Layered => {
            let queue = (0..QUEUE).map(|_| None).collect();
            Manager::Layered(PointToPoint::new(queue, settings, now))
        }
    }
}

/// A link that is there.
pub(super) struct Unit {
    pub link: LinkId,
    pub to: Address,
    pub flow: FlowId,
    /// For frames that fit a slot.
    pub route: Route,
    pub manager: Manager,
    /// Whom frames without a header are between, of those that were sent and of those that came.
    pub named: Ends,
    pub naming: Ends,
    /// The frame that is being received, and those behind it that have been taken off the driver.
    pub current: Option<Lent>,
    pub backlog: VecDeque<Lent>,
    /// A signal for another link that has no room.
    pub stalled: Option<Travelling<Signal>>,
    /// Frames of a layered node's link that wait behind that one; none says that the link has ended.
    pub put_off: VecDeque<Option<Frame>>,
    /// Whether the peer is gone: the link ends behind what waits.
    pub gone: bool,
    /// Whether the connection has something to say that had no room.
    pub owes: bool,
    /// Senders that wait for room.
    pub senders: u32,
}

impl Unit {
    pub fn new(to: Address, flow: FlowId, manager: Manager) -> Unit {
        Unit {
            link: to.link,
            to,
            flow,
            route: Route::NONE,
            manager,
            named: [0; 2],
            naming: [0; 2],
            current: None,
            backlog: VecDeque::new(),
            stalled: None,
            put_off: VecDeque::new(),
            gone: false,
            owes: false,
            senders: 0,
        }
    }

    /// Completes a frame that is taken next.
    pub fn complete(&mut self, tag: u16, header: &mut [u8; UDATA], len: usize) {
        bare::complete(tag, &mut self.naming, self.manager.numbers(), header, len);
    }

    /// Whether frames that were taken off the driver wait.
    pub fn waits(&self) -> bool {
        self.stalled.is_some() || self.current.is_some() || !self.backlog.is_empty()
    }
}
