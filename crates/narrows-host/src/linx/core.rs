//! One LINX node: the node of the stack below it, its link handler, a connection for each link, and
//! the queues of its endpoints. Everything here happens under the node's lock.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use narrows::connection::flattened::Flattened;
use narrows::connection::point_to_point::{PointToPoint, Waiting};
use narrows::connection::{Arrived, Refused, Settings, Signal as Travelling};
use narrows::endpoint::{Address, FlowId, Lent, Select, What};
use narrows::link::handler::{Adaption, Handler, HandlerError, Path, Spid, Taken};
use narrows::link::{LinkId, Name};
use narrows::platform::{Instant, Platform};
use narrows::strategy::Strategy;
use rustix::event::{EventfdFlags, eventfd};

use super::Stack;
use super::driver::{Copied, Driver, FRAMES, MTU};
use super::signal::Signal;
use crate::{Host, Node};

/// Frames that are looked at before the application has its turn again.
const BATCH: usize = 64;
/// Signals that a layered connection queues while there is no room for them.
const QUEUE: usize = 256;

/// The connection of a link.
enum Manager {
    Flat(Flattened),
    Layered(PointToPoint<Signal, Vec<Waiting<Signal>>>),
}

/// A link that is there.
struct Unit {
    link: LinkId,
    to: Address,
    flow: FlowId,
    manager: Manager,
    /// The frame that is being received, and those behind it that have been taken off the driver.
    current: Option<Lent>,
    backlog: VecDeque<Lent>,
    /// A signal for another link that has no room.
    stalled: Option<Travelling<Signal>>,
}

/// A signal that waits at an endpoint, and the link whose window it takes up.
struct Queued {
    signal: Signal,
    via: Option<(u16, LinkId)>,
}

/// A timeout that was asked for; its signal bears its number.
struct Timer {
    at: Instant,
    signal: Signal,
}

/// An endpoint of this node.
struct Local {
    spid: Spid,
    queue: VecDeque<Queued>,
    timers: Vec<Timer>,
    /// Attaches, by the number of their signals, and by the link handler's.
    attaches: Vec<(u32, u32)>,
    /// Readable while something is in the queue, for whoever waits for a descriptor.
    ready: Option<OwnedFd>,
}

impl Local {
    fn put(&mut self, queued: Queued) {
        self.queue.push_back(queued);
        if let Some(ready) = &self.ready {
            // A counter that is full is readable.
            let _ = rustix::io::write(ready, &1_u64.to_ne_bytes());
        }
    }

    fn remove(&mut self, at: usize) -> Option<Queued> {
        let queued = self.queue.remove(at)?;
        if let Some(ready) = self.ready.as_ref().filter(|_| self.queue.is_empty()) {
            let _ = rustix::io::read(ready, &mut [0; 8]);
        }
        Some(queued)
    }

    /// Takes a signal that waits though what it was asked for by is taken back.
    fn unmark(&mut self, mark: u32) -> Option<Signal> {
        let at = self.queue.iter().position(|queued| queued.signal.mark == mark)?;
        Some(self.remove(at)?.signal)
    }
}

/// What the link handler has around it.
pub(super) struct Around {
    pub node: Node,
    units: Vec<Option<Unit>>,
    locals: Vec<Local>,
    /// Whether something came for an endpoint since this was last looked at.
    pub delivered: bool,
    settings: Settings,
}

pub(super) struct Core {
    name: Name,
    pub handler: Handler<Host, Signal>,
    pub around: Around,
    stack: Stack,
    /// Whether a thread waits with the lock.
    pub led: bool,
    /// Attaches and timeouts so far.
    marks: u32,
    /// Signals that layered endpoints have sent and the link handler's thread has not.
    pub outbox: VecDeque<(Spid, Spid, Signal)>,
    /// Frames that the interrupt thread has taken and the receiving one has not; none says that the link
    /// has ended.
    pub frames: VecDeque<(u16, LinkId, Option<Vec<u8>>)>,
}

impl Around {
    fn now(&self) -> Instant {
        // Without heartbeats nobody asks when something was sent.
        match self.settings.heartbeat.or(self.settings.patience) {
            Some(_) => self.node.platform().now(),
            None => Instant(0),
        }
    }

    fn unit(&mut self, link: u16) -> Option<(&mut Manager, Driver<'_>, Instant)> {
        let now = self.now();
        let unit = self.units.get_mut(usize::from(link))?.as_mut()?;
        let Unit { to, flow, manager, current, .. } = unit;
        Some((manager, Driver { node: &mut self.node, to: *to, flow: *flow, current }, now))
    }

    fn local(&mut self, spid: Spid) -> Option<&mut Local> {
        self.locals.iter_mut().find(|local| local.spid == spid)
    }

    /// Says what a connection has to say.
    fn attend(&mut self, link: u16) {
        match self.unit(link) {
            Some((Manager::Flat(flat), mut driver, now)) => {
                flat.attend(&mut driver, now);
            }
            Some((Manager::Layered(layered), mut driver, now)) => {
                // What a peer turned out not to take is dropped here; its sender was told that when
                // the connection was up.
                layered.transmit(&mut driver, now, |signal, _| drop(signal));
            }
            None => {}
        }
    }

    /// A signal is used: as many more may come.
    fn give_back(&mut self, link: u16, of: LinkId) {
        let unit = self.units.get_mut(usize::from(link)).and_then(Option::as_mut);
        let Some(unit) = unit.filter(|unit| unit.link == of) else { return };
        match &mut unit.manager {
            Manager::Flat(flat) => flat.give_back(1),
            Manager::Layered(layered) => layered.give_back(1),
        }
        self.attend(link);
    }
}

impl Adaption for Around {
    type Buffer = Signal;

    fn make(&mut self, bytes: &[u8]) -> Option<Signal> {
        let mut signal = Signal::raw(bytes.len())?;
        signal.bytes_mut().copy_from_slice(bytes);
        Some(signal)
    }

    fn read(&self, buffer: &Signal, to: &mut [u8]) -> bool {
        let bytes = buffer.bytes().get(..to.len());
        bytes.is_some_and(|bytes| {
            to.copy_from_slice(bytes);
            true
        })
    }

    fn free(&mut self, _buffer: Signal) {}

    fn deliver(&mut self, signal: Travelling<Signal>, via: Option<u16>) {
        let link = via.and_then(|at| Some((at, self.units.get(usize::from(at))?.as_ref()?.link)));
        let Travelling { from, to, buffer: mut signal, .. } = signal;
        signal.from = Spid(from);
        let Some(local) = self.local(Spid(to)) else { return };
        local.put(Queued { signal, via: link });
        self.delivered = true;
    }

    #[inline]
    fn transmit(
        &mut self,
        link: u16,
        signal: Travelling<Signal>,
    ) -> Result<(), (Refused, Travelling<Signal>)> {
        match self.unit(link) {
            None => Err((Refused::Full, signal)),
            Some((Manager::Flat(flat), mut driver, now)) => {
                let Travelling { from, to, len, buffer } = &signal;
                let lent = Travelling { from: *from, to: *to, len: *len, buffer };
                flat.send(&mut driver, now, lent).map_err(|why| (why, signal))
            }
            Some((Manager::Layered(layered), mut driver, now)) => {
                layered.send(signal)?;
                layered.transmit(&mut driver, now, |signal, _| drop(signal));
                Ok(())
            }
        }
    }
}

impl Core {
    pub fn new(
        name: Name,
        node: Node,
        handler: Handler<Host, Signal>,
        stack: Stack,
        settings: Settings,
    ) -> Core {
        let (units, locals) = (Vec::new(), Vec::new());
        Core {
            name,
            handler,
            around: Around { node, units, locals, delivered: false, settings },
            stack,
            led: false,
            marks: 0,
            outbox: VecDeque::new(),
            frames: VecDeque::new(),
        }
    }

    pub fn add_local(&mut self, spid: Spid) {
        let (queue, timers, attaches) = (VecDeque::new(), Vec::new(), Vec::new());
        self.around.locals.push(Local { spid, queue, timers, attaches, ready: None });
    }

    /// Sends what layered endpoints have handed over, as far as there is room.
    pub fn flush(&mut self) {
        while let Some((from, to, signal)) = self.outbox.pop_front() {
            let len = signal.bytes().len();
            let sent = self.handler.send(&mut self.around, from, to, (signal, len));
            if let Err((HandlerError::Refused(Refused::Full), signal)) = sent {
                self.outbox.push_front((from, to, signal));
                return;
            }
        }
    }

    pub fn remove_local(&mut self, spid: Spid) {
        // Its hunts and attaches first, so that nothing is delivered to it any more.
        let _ = self.handler.close(&mut self.around, spid);
        let at = self.around.locals.iter().position(|local| local.spid == spid);
        let Some(local) = at.map(|at| self.around.locals.swap_remove(at)) else { return };
        for queued in local.queue {
            if let Some((link, of)) = queued.via {
                self.around.give_back(link, of);
            }
        }
    }

    /// The first signal of an endpoint that is wanted.
    pub fn take(&mut self, spid: Spid, wanted: impl Fn(&Signal) -> bool) -> Option<Signal> {
        let local = self.around.local(spid)?;
        let at = local.queue.iter().position(|queued| wanted(&queued.signal))?;
        let Queued { mut signal, via } = local.remove(at)?;
        let mark = std::mem::take(&mut signal.mark);
        if mark != 0 {
            local.attaches.retain(|(own, _)| *own != mark);
        }
        if let Some((link, of)) = via {
            self.around.give_back(link, of);
        }
        Some(signal)
    }

    /// Looks for an endpoint.
    pub fn hunt(&mut self, spid: Spid, mut path: Path, signal: Signal) -> Result<(), HandlerError> {
        // By way of the node itself is no way.
        while let Some((_, rest)) = path.split().filter(|(link, _)| *link == self.name) {
            let Ok(shorter) = rest.parse() else { return Err(HandlerError::UnknownLink) };
            path = shorter;
        }
        let len = signal.bytes().len();
        let hunted = self.handler.hunt(&mut self.around, spid, path, (signal, len));
        hunted.map_err(|(why, _)| why)?;
        self.see_to_the_rest();
        Ok(())
    }

    /// A number for the signal of an attach or a timeout.
    fn number(&mut self) -> u32 {
        self.marks = self.marks.wrapping_add(1).max(1);
        self.marks
    }

    /// Asks for a signal after a while. Returns its number.
    pub fn set_timer(&mut self, spid: Spid, after: Duration, mut signal: Signal) -> Option<u32> {
        let at = self.around.node.platform().now() + after;
        signal.mark = self.number();
        let number = signal.mark;
        self.around.local(spid)?.timers.push(Timer { at, signal });
        Some(number)
    }

    /// Takes a timeout back: its signal, if that has not been received.
    pub fn cancel_timer(&mut self, spid: Spid, number: u32) -> Option<Signal> {
        let local = self.around.local(spid)?;
        let at = local.timers.iter().position(|timer| timer.signal.mark == number);
        match at {
            Some(at) => Some(local.timers.swap_remove(at).signal),
            None if local.attaches.iter().any(|(own, _)| *own == number) => None,
            None => local.unmark(number),
        }
    }

    /// Asks for a signal when somebody is gone. Returns its number.
    pub fn attach(
        &mut self,
        spid: Spid,
        to: Spid,
        mut signal: Signal,
    ) -> Result<u32, HandlerError> {
        signal.mark = self.number();
        let (number, len) = (signal.mark, signal.bytes().len());
        // Before it can be delivered.
        let attached = self.handler.attach(&mut self.around, spid, to, (signal, len));
        let attached = attached.map_err(|(why, _)| why)?;
        let local = self.around.local(spid).ok_or(HandlerError::Unknown)?;
        local.attaches.push((number, attached));
        Ok(number)
    }

    /// Takes an attach back, if its signal has not been received.
    pub fn detach(&mut self, spid: Spid, number: u32) -> Result<(), HandlerError> {
        let local = self.around.local(spid).ok_or(HandlerError::Unknown)?;
        let at = local.attaches.iter().position(|(own, _)| *own == number);
        let (_, attached) =
            at.map(|at| local.attaches.swap_remove(at)).ok_or(HandlerError::Unknown)?;
        match self.handler.detach(spid, attached) {
            Ok(_) => Ok(()),
            Err(why) => {
                let local = self.around.local(spid).ok_or(why)?;
                local.unmark(number).map(drop).ok_or(why)
            }
        }
    }

    /// A descriptor that is readable while something is in an endpoint's queue.
    pub fn descriptor(&mut self, spid: Spid) -> Option<RawFd> {
        let local = self.around.local(spid)?;
        if local.ready.is_none() {
            let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
            let ready = eventfd(u32::from(!local.queue.is_empty()), flags).ok()?;
            local.ready = Some(ready);
        }
        local.ready.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Delivers timeouts that are due. The next that is not, if there is one.
    pub fn look_at_timers(&mut self) -> Option<Instant> {
        if self.around.locals.iter().all(|local| local.timers.is_empty()) {
            return None;
        }
        let now = self.around.node.platform().now();
        for local in &mut self.around.locals {
            while let Some(due) = local.timers.iter().position(|timer| timer.at <= now) {
                let mut signal = local.timers.swap_remove(due).signal;
                signal.from = local.spid;
                local.put(Queued { signal, via: None });
                self.around.delivered = true;
            }
        }
        self.around.locals.iter().flat_map(|local| &local.timers).map(|timer| timer.at).min()
    }

    /// When a connection has to be looked at though nothing comes.
    pub fn next_look(&self) -> Option<Instant> {
        let units = self.around.units.iter().flatten();
        let next = units.filter_map(|unit| match &unit.manager {
            Manager::Flat(flat) => flat.next_look(),
            Manager::Layered(layered) => layered.next_look(),
        });
        next.min()
    }

    /// The unit of a link of the node, made if it is new.
    fn unit_of(&mut self, link: LinkId) -> Option<u16> {
        let is = |unit: &Option<Unit>| unit.as_ref().is_some_and(|unit| unit.link == link);
        if let Some(known) = self.around.units.iter().position(is) {
            return Some(known as u16);
        }
        let node = &mut self.around.node;
        let (name, _) = node.peer(link).ok()?;
        let to = Address { link, port: FRAMES };
        let flow = node.begin_flow_to(to, Strategy::default()).ok()?;
        // Its end comes behind everything that the peer has sent.
        node.attach(link, FRAMES).ok()?;
        let Ok(at) = self.handler.add_link(name) else {
            node.close(link);
            return None;
        };
        let now = self.around.now();
        let settings = self.around.settings;
        let manager = match self.stack {
            Stack::Flat => Manager::Flat(Flattened::new(settings, MTU, now)),
            Stack::Layered => {
                let queue = (0..QUEUE).map(|_| None).collect();
                Manager::Layered(PointToPoint::new(queue, settings, now))
            }
        };
        let (current, backlog, stalled) = (None, VecDeque::new(), None);
        let unit = Unit { link, to, flow, manager, current, backlog, stalled };
        let units = &mut self.around.units;
        if units.len() <= usize::from(at) {
            units.resize_with(usize::from(at) + 1, || None);
        }
        units[usize::from(at)] = Some(unit);
        self.around.attend(at);
        Some(at)
    }

    /// The connection of a link has ended.
    pub fn lost(&mut self, at: u16) {
        self.handler.link_down(&mut self.around, at);
        self.handler.remove_link(at);
        if let Some(unit) = self.around.units.get_mut(usize::from(at)).and_then(Option::take) {
            for lent in unit.current.into_iter().chain(unit.backlog) {
                self.around.node.release(lent);
            }
            self.around.node.close(unit.link);
        }
    }

    /// Takes what has come off the driver, straight to where it belongs, and says what there is to
    /// say: all layers in the caller's own thread.
    pub fn pump(&mut self) {
        for _ in 0..BATCH {
            let Some((at, lent)) = self.next_frame() else { break };
            let Some(unit) = self.around.units.get_mut(usize::from(at)).and_then(Option::as_mut)
            else {
                continue;
            };
            unit.backlog.push_back(lent);
            self.drain(at);
        }
        self.see_to_the_rest();
    }

    /// The next frame, and its link.
    fn next_frame(&mut self) -> Option<(u16, Lent)> {
        loop {
            let lent = self.around.node.try_receive(FRAMES, &Select::default()).ok()??;
            let link = lent.from.link;
            match lent.what {
                What::Message => match self.unit_of(link) {
                    Some(at) => return Some((at, lent)),
                    None => self.around.node.release(lent),
                },
                What::Refused => self.around.node.release(lent),
                What::PeerGone(_) => {
                    self.around.node.release(lent);
                    let is = |unit: &Option<Unit>| unit.as_ref().is_some_and(|u| u.link == link);
                    let at = self.around.units.iter().position(is).map(|at| at as u16);
                    match (at, self.stack) {
                        (Some(at), Stack::Flat) => self.lost(at),
                        // Behind the frames that were taken and not looked at.
                        (Some(at), Stack::Layered) => self.frames.push_back((at, link, None)),
                        (None, _) => {}
                    }
                }
            }
        }
    }

    /// Takes the frames of a link that have come off the driver.
    fn drain(&mut self, at: u16) {
        loop {
            let unit = self.around.units.get_mut(usize::from(at)).and_then(Option::as_mut);
            let Some(unit) = unit else { return };
            if unit.current.is_none() {
                unit.current = unit.backlog.pop_front();
            }
            let nothing = unit.current.is_none() && unit.stalled.is_none();
            if nothing || !self.take_frame(at, None) {
                return;
            }
        }
    }

    /// Takes one frame of a link: the one that is current, or one that was copied. False if it has to
    /// wait.
    pub fn take_frame(&mut self, at: u16, copied: Option<&mut Copied>) -> bool {
        let unit = self.around.units.get_mut(usize::from(at)).and_then(Option::as_mut);
        if let Some(signal) = unit.and_then(|unit| unit.stalled.take()) {
            return self.pass_on(at, signal);
        }
        let Some((manager, mut driver, now)) = self.around.unit(at) else { return false };
        let arrived = match (manager, copied) {
            (Manager::Flat(flat), None) => flat.receive(&mut driver, now, Signal::raw),
            (Manager::Flat(flat), Some(copied)) => flat.receive(copied, now, Signal::raw),
            (Manager::Layered(layered), None) => layered.receive(&mut driver, now, Signal::raw),
            (Manager::Layered(layered), Some(copied)) => layered.receive(copied, now, Signal::raw),
        };
        match arrived {
            Arrived::Nothing | Arrived::NoBuffer => false,
            Arrived::Part => {
                // The peer may have given room back.
                self.around.attend(at);
                true
            }
            Arrived::Up => {
                self.around.attend(at);
                self.handler.link_up(&mut self.around, at);
                true
            }
            Arrived::Signal(signal) => self.pass_on(at, signal),
            Arrived::Down(_) => {
                self.around.attend(at);
                self.lost(at);
                false
            }
        }
    }

    /// Hands a signal that came over a link to the link handler. False if it has to wait.
    fn pass_on(&mut self, at: u16, signal: Travelling<Signal>) -> bool {
        let (to, len) = (signal.to, signal.len);
        // Every signal of an endpoint has a number.
        if to != 0 && len < super::signal::NUMBER {
            self.end(at);
            return false;
        }
        match self.handler.receive(&mut self.around, at, signal) {
            Ok(Taken::Delivered) => true,
            Ok(Taken::Used) => {
                let unit = self.around.units.get(usize::from(at)).and_then(Option::as_ref);
                if let Some(link) = unit.map(|unit| unit.link).filter(|_| to != 0) {
                    self.around.give_back(at, link);
                }
                true
            }
            Ok(Taken::Stalled(signal)) => {
                if let Some(Some(unit)) = self.around.units.get_mut(usize::from(at)) {
                    unit.stalled = Some(signal);
                }
                false
            }
            Err(_) => {
                self.end(at);
                false
            }
        }
    }

    /// Ends a link whose peer breaks the rules.
    fn end(&mut self, at: u16) {
        match self.around.unit(at) {
            Some((Manager::Flat(flat), ..)) => flat.close(),
            Some((Manager::Layered(layered), ..)) => layered.close(),
            None => {}
        }
        self.around.attend(at);
        self.lost(at);
    }

    /// What is due besides frames: links that are hunted, words that had no room, heartbeats.
    pub fn see_to_the_rest(&mut self) {
        let mut nth = 0;
        while let Some(name) = self.handler.wanted(nth) {
            nth += 1;
            // It needs no link to itself.
            if name == self.name {
                continue;
            }
            // A name that cannot be linked to now may be later: the hunt goes on.
            if let Ok(Some(link)) = self.around.node.try_hunt(&name) {
                self.unit_of(link);
            }
        }
        self.handler.attend(&mut self.around);
        let timed = self.around.settings.heartbeat.or(self.around.settings.patience).is_some();
        for at in 0..self.around.units.len() as u16 {
            let Some(unit) = self.around.units.get(usize::from(at)).and_then(Option::as_ref) else {
                continue;
            };
            let stalled = unit.stalled.is_some() || !unit.backlog.is_empty();
            if stalled {
                self.drain(at);
            }
            if timed {
                self.around.attend(at);
                self.take_frame(at, None);
            }
        }
    }

    /// Has waits end when the link to an address has room again.
    pub fn want_room(&mut self, to: Spid, on: bool) {
        let at = self.handler.link_of(to).map(usize::from);
        let unit = at.and_then(|at| self.around.units.get(at)?.as_ref());
        if let Some(link) = unit.map(|unit| unit.link) {
            let _ = self.around.node.want_room_for_messages(link, on);
        }
    }

    /// Takes a frame off the driver to memory of its own, as an interrupt routine does.
    pub fn copy_frame(&mut self) -> bool {
        let Some((at, lent)) = self.next_frame() else { return false };
        let mut frame = vec![0; lent.len];
        let read = self.around.node.read(&lent, 0, &mut frame);
        let link = lent.from.link;
        self.around.node.release(lent);
        if read.is_ok() {
            self.frames.push_back((at, link, Some(frame)));
        }
        true
    }

    /// Whether a link is still the one that a frame came over.
    pub fn is_current(&self, at: u16, link: LinkId) -> bool {
        let unit = self.around.units.get(usize::from(at)).and_then(Option::as_ref);
        unit.is_some_and(|unit| unit.link == link)
    }
}
