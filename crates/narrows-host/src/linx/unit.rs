//! A link of a LINX node: its flow and what frames without a header need, around the stack's unit.

use narrows::connection::flattened::Flattened;
use narrows::connection::point_to_point::{PointToPoint, Waiting};
use narrows::connection::{Settings, UDATA};
use narrows::endpoint::{Address, FlowId, Route};
use narrows::link::LinkId;
use narrows::linx::station::Connection;
use narrows::linx::unit;
use narrows::platform::Instant;

use super::Stack;
use super::bare::{self, Ends};
use super::driver::Frame;
use super::signal::Signal;

/// Signals that a layered connection queues while there is no room for them.
const QUEUE: usize = 256;
/// Frames that there is room for at first.
const FRAMES: usize = 16;

/// The connection of a link.
pub(super) type Manager = Connection<Signal, Vec<Waiting<Signal>>>;

/// The stack's unit of a link.
pub(super) type Inner = unit::Unit<Signal, Frame, Vec<Waiting<Signal>>, Vec<Option<Frame>>>;

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
    pub inner: Inner,
    /// Whom frames without a header are between, of those that were sent and of those that came.
    pub named: Ends,
    pub naming: Ends,
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
            inner: Inner::new(manager, Vec::new()),
            named: [0; 2],
            naming: [0; 2],
            gone: false,
            owes: false,
            senders: 0,
        }
    }

    /// Completes a frame that is taken next.
    pub fn complete(&mut self, tag: u16, header: &mut [u8; UDATA], len: usize) {
        let numbers = self.inner.connection().numbers();
        bare::complete(tag, &mut self.naming, numbers, header, len);
    }

    /// Has a frame that was taken off the driver wait behind the others.
    pub fn put(&self, frame: Frame) {
        if let Err(frame) = self.inner.put(frame) {
            let more = (self.inner.waiting() * 2).max(FRAMES);
            let _ = self.inner.move_to((0..more).map(|_| None).collect());
            // There is room.
            let _ = self.inner.put(frame);
        }
    }

    /// Whether frames that were taken off the driver wait.
    pub fn waits(&self) -> bool {
        self.inner.is_stalled() || self.inner.waiting() > 0
    }

    /// Frames that wait for nothing but the receiver.
    pub fn ready(&self) -> usize {
        if self.inner.is_stalled() { 0 } else { self.inner.waiting() }
    }

    /// Whether there is work for the receiver.
    pub fn has_news(&self) -> bool {
        self.ready() > 0 || (self.gone && !self.waits())
    }
}
