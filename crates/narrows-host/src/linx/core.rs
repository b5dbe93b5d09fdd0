//! One LINX node: the node of the stack below it, its link handler, a connection for each link, and
//! the queues of its endpoints. Everything here happens under the node's lock.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use narrows::connection::Settings;
use narrows::link::Name;
use narrows::linx::{Handler, HandlerError, Path, Spid};
use narrows::notify::Adaptive;
use narrows::platform::{Instant, Platform};
use rustix::event::{EventfdFlags, eventfd};

use super::around::Around;
use super::local::{Local, Queued, Timer};
use super::registry::Registry;
use super::signal::{NUMBER, Signal};
use super::waits::Waits;
use super::{Counter, Error, Stack};
use crate::{Host, Node};

/// Between two looks at which endpoints have the names that are hunted, at first and at most: each
/// time twice as long, because a look reads the whole directory, which many that hunt may do at
/// once.
const NAMES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(160)];

/// Each name once: many may wait for one.
pub(super) fn distinct(names: impl Iterator<Item = Name>) -> Vec<Name> {
    let mut names: Vec<Name> = names.collect();
    names.sort_unstable_by(|a, b| a.as_str().cmp(b.as_str()));
    names.dedup();
    names
}

pub(super) struct Core {
    pub name: Name,
    /// Before the node: its directory is removed when it is empty.
    pub registry: Registry,
    pub handler: Handler<Host, Signal>,
    pub around: Around,
    pub stack: Stack,
    pub counter: Counter,
    /// How long a leader looks before it sleeps.
    pub look: Adaptive,
    /// Whether there may be hunts that wait for a link.
    pub hunting: bool,
    /// When it is looked for what endpoints hunt, if they hunt anything.
    pub names_due: Option<Instant>,
    /// How long after that it is looked again.
    names_pause: Duration,
    /// Frames that were taken the short way since what else there is to do was looked at.
    pub hasty: u32,
    /// Whether frames that were taken may wait for others to be used first.
    pub held: bool,
    /// Attaches and timeouts so far.
    marks: u32,
    /// Signals that layered endpoints have sent and the link handler's thread has not.
    pub outbox: VecDeque<(Spid, Spid, Signal)>,
    /// Whether that thread leaves them there.
    pub stopped: bool,
    /// Whether the interrupt thread takes no more of them, as masking the interrupt is on a chip.
    pub masked: bool,
}

impl Core {
    pub fn new(
        registry: Registry,
        node: Node,
        handler: Handler<Host, Signal>,
        stack: Stack,
        (settings, mtu): (Settings, usize),
        counter: Counter,
        waits: Waits,
    ) -> Core {
        let (units, locals, timers) = (Vec::new(), Vec::new(), Vec::new());
        Core {
            name: registry.node,
            registry,
            handler,
            around: Around {
                node,
                units,
                locals,
                timers,
                waits,
                settings,
                mtu,
                kept: None,
                caller: None,
                handed: None,
            },
            stack,
            counter,
            look: Adaptive::default(),
            hunting: false,
            names_due: None,
            names_pause: NAMES[0],
            hasty: 0,
            held: false,
            marks: 0,
            outbox: VecDeque::new(),
            stopped: false,
            masked: false,
        }
    }

    /// Opens an endpoint; `key` is what its name is hunted by.
    pub fn open(&mut self, key: Option<Name>, name: &str) -> Result<Spid, Error> {
        let spid = self.registry.enter(key.as_ref(), name)?;
        if let Err(why) = self.handler.open_as(&mut self.around, key, spid) {
            self.registry.leave(spid);
            return Err(why.into());
        }
        let (queue, attaches) = (VecDeque::new(), Vec::new());
        self.around.locals.push(Local { spid, queue, attaches, ready: None });
        Ok(spid)
    }

    pub fn is_closed(&self, spid: Spid) -> bool {
        !self.around.locals.iter().any(|local| local.spid == spid)
    }

    pub fn remove_local(&mut self, spid: Spid) {
        self.registry.leave(spid);
        // Its hunts and attaches first, so that nothing is delivered to it any more.
        let _ = self.handler.close(&mut self.around, spid);
        self.around.timers.retain(|timer| timer.owner != spid);
        let at = self.around.locals.iter().position(|local| local.spid == spid);
        let Some(local) = at.map(|at| self.around.locals.swap_remove(at)) else { return };
        for queued in local.queue {
            if let Some((link, of)) = queued.via {
                self.around.give_back(link, of);
            }
        }
    }

    /// The first signal in the queue of an endpoint that is wanted.
    #[inline(always)]
    pub fn take(&mut self, spid: Spid, wanted: &impl Fn(&Signal) -> bool) -> Option<Signal> {
        let waits = self.around.local(spid).is_some_and(|local| !local.queue.is_empty());
        waits.then(|| self.take_waiting(spid, wanted))?
    }

    #[inline(never)]
    fn take_waiting(&mut self, spid: Spid, wanted: &impl Fn(&Signal) -> bool) -> Option<Signal> {
        let local = self.around.local(spid)?;
        let at = local.queue.iter().position(|queued| wanted(&queued.signal))?;
        let Queued { mut signal, via } = local.remove(at)?;
        let mark = signal.mark();
        if mark != 0 {
            signal.set_mark(0);
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
        self.hunting = true;
        self.names_due = Some(Instant(0));
        self.names_pause = NAMES[0];
        self.see_to_the_rest();
        self.around.waits.stir();
        Ok(())
    }

    /// Sees to it that this node's endpoints are known, and has each name that is hunted looked for
    /// where an endpoint is that has it. Where it is may change as long as it is not found.
    pub fn look_at_names(&mut self) {
        let now = self.around.node.platform().now();
        self.registry.keep(now);
        let Some(due) = self.names_due else { return };
        if !self.handler.is_hunting() {
            // All that was hunted is found: nobody is to be woken for it later.
            self.names_due = None;
            return;
        }
        if due > now {
            return;
        }
        for name in distinct(self.handler.sought()) {
            let at = self.registry.node_of(&name).filter(|node| *node != self.name);
            self.handler.lead(&mut self.around, &name, at);
            self.hunting = true;
        }
        self.names_due = Some(now + self.names_pause);
        self.names_pause = NAMES[1].min(2 * self.names_pause);
    }

    /// Begins to look for an endpoint by its address, if there may be one: what looks for it, for
    /// [`Handler::close`].
    pub fn seek(&mut self, to: Spid) -> Result<Spid, HandlerError> {
        let about = self.registry.about(to).ok_or(HandlerError::Unknown)?;
        let name = to.name().filter(|_| about.node != self.name).ok_or(HandlerError::Gone)?;
        let path = format!("{}/{name}", about.node).parse().map_err(|_| HandlerError::Unknown)?;
        // What it finds is for nobody: that it is known is enough.
        let seeker = self.handler.open(&mut self.around, None)?;
        let signal = Signal::with(0, &[]);
        let hunted = self.handler.hunt(&mut self.around, seeker, path, (signal, NUMBER));
        if let Err((why, _)) = hunted {
            let _ = self.handler.close(&mut self.around, seeker);
            return Err(why);
        }
        self.hunting = true;
        self.see_to_the_rest();
        self.around.waits.stir();
        Ok(seeker)
    }

    /// Whether an endpoint that is looked for by its address may still be found.
    pub fn may_be_found(&mut self, to: Spid) -> bool {
        self.registry.about(to).is_some()
    }

    /// A number for the signal of an attach or a timeout.
    fn number(&mut self) -> u32 {
        self.marks = self.marks.wrapping_add(1).max(1);
        self.marks
    }

    /// Asks for a signal after a while. Returns its number.
    pub fn set_timer(&mut self, spid: Spid, after: Duration, mut signal: Signal) -> Option<u32> {
        let at = self.around.node.platform().now() + after;
        let number = self.number();
        signal.set_mark(number);
        self.around.timers.push(Timer { owner: spid, at, signal });
        self.around.waits.stir();
        Some(number)
    }

    /// Takes a timeout back: its signal, if that has not been received.
    pub fn cancel_timer(&mut self, spid: Spid, number: u32) -> Option<Signal> {
        let meant = |timer: &Timer| timer.owner == spid && timer.signal.mark() == number;
        let at = self.around.timers.iter().position(meant);
        let local = self.around.local(spid)?;
        match at {
            Some(at) => Some(self.around.timers.swap_remove(at).signal),
            None if local.attaches.iter().any(|(own, _)| *own == number) => None,
            None => local.unmark(number),
        }
    }

    /// Has a timeout come after another while, also if its signal waits already. False if that has
    /// been received, or was never asked for.
    pub fn modify_timer(&mut self, spid: Spid, number: u32, after: Duration) -> bool {
        let Some(mut signal) = self.cancel_timer(spid, number) else { return false };
        let at = self.around.node.platform().now() + after;
        signal.set_mark(number);
        self.around.timers.push(Timer { owner: spid, at, signal });
        self.around.waits.stir();
        true
    }

    /// Asks for a signal when somebody is gone. Returns its number.
    pub fn attach(
        &mut self,
        spid: Spid,
        to: Spid,
        mut signal: Signal,
    ) -> Result<u32, HandlerError> {
        let (number, len) = (self.number(), signal.bytes().len());
        signal.set_mark(number);
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
    #[inline(always)]
    pub fn look_at_timers(&mut self) -> Option<Instant> {
        let asked = !self.around.timers.is_empty();
        asked.then(|| self.deliver_timeouts())?
    }

    #[inline(never)]
    fn deliver_timeouts(&mut self) -> Option<Instant> {
        let around = &mut self.around;
        let now = around.node.platform().now();
        while let Some(due) = around.timers.iter().position(|timer| timer.at <= now) {
            let Timer { owner, mut signal, .. } = around.timers.swap_remove(due);
            signal.set_sender(owner);
            around.put(owner, Queued { signal, via: None });
        }
        around.timers.iter().map(|timer| timer.at).min()
    }

    /// Whether connections have to be looked at though nothing comes.
    pub fn is_timed(&self) -> bool {
        self.around.settings.heartbeat.or(self.around.settings.patience).is_some()
    }

    /// When a connection has to be looked at though nothing comes.
    pub fn next_look(&self) -> Option<Instant> {
        let units = self.around.units.iter().flatten();
        let next = units.filter_map(|unit| unit.inner.next_look());
        next.chain(self.names_due).chain([self.registry.due]).min()
    }

    /// How long a thread that sees to what comes may wait at most, if a timeout is due then.
    pub fn until(&self, timer: Option<Instant>) -> Option<Duration> {
        let until = timer.into_iter().chain(self.next_look()).min();
        until.map(|until| until.since(self.around.node.platform().now()))
    }

    /// Notes that one sender more, or one less, waits for room on the link to an address.
    pub fn want_room(&mut self, to: Spid, on: bool) {
        if let Some((link, _)) = self.handler.way(to) {
            let count = |senders: u32| if on { senders + 1 } else { senders.saturating_sub(1) };
            self.around.want_room(link, |unit| unit.senders = count(unit.senders));
        }
    }
}
