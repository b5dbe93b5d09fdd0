//! Endpoints, as applications have them.

use std::os::fd::RawFd;
use std::time::Duration;

use narrows::connection::Refused;
use narrows::linx::{HandlerError, Spid};
use narrows::platform::Platform;

use super::node::Node;
use super::quick::Look;
use super::registry;
use super::select::Select;
use super::shared::{Guard, Looked, Shared};
use super::signal::Signal;
use super::waits::Awaited;
use super::{Error, Stack, siblings, threads};

/// Signals that a layered node's applications may have handed over before one has to wait.
pub const OUTBOX: usize = 1024;
/// How long a sender waits at most before it looks whether there is room.
const LOOK: Duration = Duration::from_millis(10);

/// An endpoint of LINX: it has a name, an address and a queue. It closes when it is dropped.
pub struct Endpoint {
    node: Node,
    spid: Spid,
}

impl Endpoint {
    pub(super) fn new(node: Node, spid: Spid) -> Endpoint {
        Endpoint { node, spid }
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.node.owned.shared
    }

    pub(super) fn layered(&self) -> bool {
        self.node.owned.stack == Stack::Layered
    }

    /// Its address.
    #[must_use]
    pub fn spid(&self) -> Spid {
        self.spid
    }

    /// The node it is on.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Sends a signal, waiting for room.
    ///
    /// # Errors
    /// [`Error::Handler`]: the address is nobody's, or its owner is gone. The signal comes back.
    pub fn send(&self, to: Spid, signal: Signal) -> Result<(), (Error, Signal)> {
        self.send_as(self.spid, to, signal)
    }

    /// As [`Endpoint::send`], as if another had sent it.
    ///
    /// # Errors
    /// As [`Endpoint::send`]; also if `from` is nobody's address.
    #[inline]
    pub fn send_as(&self, from: Spid, to: Spid, signal: Signal) -> Result<(), (Error, Signal)> {
        let mut core = self.shared().enter();
        if from != self.spid
            && let Err(why) = self.reach(&mut core, from)
        {
            return Err((why, signal));
        }
        if self.layered() {
            return self.hand_over(&mut core, from, to, signal);
        }
        if core.send_quick(from, to, &signal) {
            core.around.kept = Some(signal);
            return Ok(());
        }
        self.send_in_turn(&mut core, from, to, signal)
    }

    /// Sends a signal by the long way, as soon as there is room.
    #[inline(never)]
    fn send_in_turn(
        &self,
        core: &mut Guard<'_>,
        from: Spid,
        to: Spid,
        mut signal: Signal,
    ) -> Result<(), (Error, Signal)> {
        let mut waits = false;
        let sent = loop {
            let now = &mut **core;
            let len = signal.bytes().len();
            match now.handler.send(&mut now.around, from, to, (signal, len)) {
                Err((HandlerError::Refused(Refused::Full), back)) => signal = back,
                Err((HandlerError::Unknown, back)) => match self.reach(core, to) {
                    Err(why) => break Err((why, back)),
                    Ok(()) => {
                        signal = back;
                        continue;
                    }
                },
                Err((why, back)) => break Err((why.into(), back)),
                Ok(()) => break Ok(()),
            }
            if core.is_closed(self.spid) {
                break Err((Error::Closed, signal));
            }
            if waits {
                self.shared().wait(core, Awaited::Room, Some(LOOK), None);
            } else {
                core.want_room(to, true);
                waits = true;
            }
            // What comes is the leader's affair, while there is one.
            if core.around.waits.leader.is_none() {
                core.pump();
            }
        };
        if waits {
            core.want_room(to, false);
            core.around.waits.appoint();
        }
        sent
    }

    /// Gives a signal to the link handler's thread.
    fn hand_over(
        &self,
        core: &mut Guard<'_>,
        from: Spid,
        to: Spid,
        signal: Signal,
    ) -> Result<(), (Error, Signal)> {
        loop {
            if let Err(why) = self.reach(core, to) {
                return Err((why, signal));
            }
            if core.outbox.len() < OUTBOX {
                core.outbox.push_back((from, to, signal));
                core.around.waits.tell(Awaited::Outgoing);
                return Ok(());
            }
            if core.is_closed(self.spid) {
                return Err((Error::Closed, signal));
            }
            self.shared().sleep(core, Awaited::Room, Some(LOOK));
        }
    }

    /// Receives the first signal in the queue that is wanted, waiting for it; none if there is none
    /// in time. What is not wanted stays in the queue.
    #[inline]
    pub fn receive(&self, wanted: &Select, within: Option<Duration>) -> Option<Signal> {
        self.receive_if(|signal| wanted.wants(signal), within)
    }

    /// As [`Endpoint::receive`], for whatever `wanted` says.
    pub fn receive_if(
        &self,
        wanted: impl Fn(&Signal) -> bool,
        within: Option<Duration>,
    ) -> Option<Signal> {
        let mut core = self.shared().enter();
        let at_once = within == Some(Duration::ZERO);
        let mut deadline = None;
        let (mut short, mut looked) = (!at_once, None);
        let taken = loop {
            let timer = core.look_at_timers();
            if let Some(signal) = core.take(self.spid, &wanted) {
                break Some(signal);
            }
            // What comes is the leader's affair, while there is one.
            if !self.layered() && (at_once || core.around.waits.leader.is_none()) {
                let mut look = core.quick(self.spid, &wanted);
                // The short way looks for a while before the long way has its turn.
                if matches!(look, Look::Nothing)
                    && std::mem::take(&mut short)
                    && timer.is_none()
                    && !core.is_timed()
                {
                    match self.shared().meet(&mut core, within) {
                        Looked::Met => look = core.quick(self.spid, &wanted),
                        Looked::For(so_long) => looked = Some(so_long),
                    }
                }
                core.around.waits.stir();
                match look {
                    Look::Signal(signal) => break Some(signal),
                    Look::Other => continue,
                    Look::Nothing | Look::More => {}
                }
                let taken = core.pump_for(self.spid, &wanted);
                core.around.waits.stir();
                if taken.is_some() {
                    break taken;
                }
            }
            if at_once || core.is_closed(self.spid) {
                break None;
            }
            let now = core.around.node.platform().now();
            if deadline.is_none() {
                deadline = within.map(|within| now + within);
            }
            if deadline.is_some_and(|deadline| now >= deadline) {
                break None;
            }
            if core.names_due.is_some() {
                // What is hunted may be on a node of this process that no thread is in.
                siblings::serve(self.shared());
            }
            let until = deadline.into_iter().chain(timer).chain(core.next_look()).min();
            let within = until.map(|until| until.since(now));
            let what = Awaited::Signal(self.spid);
            if self.layered() {
                self.shared().sleep(&mut core, what, within);
            } else {
                self.shared().wait(&mut core, what, within, looked.take());
                short = true;
            }
        };
        core.around.waits.appoint();
        taken
    }

    /// Looks for an endpoint. `signal` comes back to this one when it is found, now or whenever it
    /// appears, as if the found one had sent it.
    ///
    /// # Errors
    /// [`Error::Path`] or [`Error::Handler`]. The signal is used up.
    pub fn hunt(&self, path: &str, signal: Signal) -> Result<(), Error> {
        let path = registry::path(path)?;
        Ok(self.shared().enter().hunt(self.spid, path, signal)?)
    }

    /// Has `signal` delivered to this endpoint when another is gone, as if that had sent it.
    /// Returns what [`Endpoint::detach`] takes.
    ///
    /// # Errors
    /// [`Error::Handler`]. The signal is used up.
    pub fn attach(&self, to: Spid, signal: Signal) -> Result<u32, Error> {
        let mut core = self.shared().enter();
        // One that is gone is told of at once.
        match self.reach(&mut core, to) {
            Ok(()) | Err(Error::Handler(HandlerError::Gone)) => {}
            Err(why) => return Err(why),
        }
        Ok(core.attach(self.spid, to, signal)?)
    }

    /// Ends an attach.
    ///
    /// # Errors
    /// [`Error::Handler`]: its signal has been received, or it was never there.
    pub fn detach(&self, attach: u32) -> Result<(), Error> {
        Ok(self.shared().enter().detach(self.spid, attach)?)
    }

    /// Has `signal` delivered to this endpoint after a while, as if it had sent it itself. Returns
    /// what [`Endpoint::cancel`] takes; none if there is no memory.
    pub fn request(&self, after: Duration, signal: Signal) -> Option<u32> {
        self.shared().enter().set_timer(self.spid, after, signal)
    }

    /// Takes a request back: its signal, if that has not been received.
    pub fn cancel(&self, request: u32) -> Option<Signal> {
        self.shared().enter().cancel_timer(self.spid, request)
    }

    /// Has the signal of a request come after another while, from now on. False if it has been
    /// received, or was never requested.
    pub fn modify(&self, request: u32, after: Duration) -> bool {
        self.shared().enter().modify_timer(self.spid, request, after)
    }

    /// A signal of `len` bytes with this number, whose sender is this endpoint until it is sent;
    /// see [`Signal::new`].
    #[must_use]
    pub fn signal(&self, len: usize, number: u32) -> Option<Signal> {
        let mut signal = Signal::new(len, number)?;
        signal.set_sender(self.spid);
        Some(signal)
    }

    /// Signals in its queue, and their bytes.
    #[must_use]
    pub fn queued(&self) -> (usize, usize) {
        let mut core = self.shared().enter();
        let local = core.around.local(self.spid);
        let queue = local.iter().flat_map(|local| &local.queue);
        queue.fold((0, 0), |(n, len), queued| (n + 1, len + queued.signal.bytes().len()))
    }

    /// A descriptor that is readable while something is in this endpoint's queue, until it closes.
    /// For that, a thread of the node's own sees to what comes from now on.
    ///
    /// # Errors
    /// [`Error::Resources`].
    pub fn descriptor(&self) -> Result<RawFd, Error> {
        if !self.layered() {
            let mut threads = self.node.owned.threads.lock();
            if threads.is_empty() {
                *threads = threads::watch(&self.node.owned.shared).map_err(|_| Error::Resources)?;
            }
        }
        self.shared().enter().descriptor(self.spid).ok_or(Error::Resources)
    }
}

impl Endpoint {
    /// Closes it, as dropping it does, though others still have it: a thread that waits in
    /// [`Endpoint::receive`] gets none, and one that waits for room gets its signal back.
    pub fn close(&self) {
        let shared = self.shared();
        let mut core = shared.enter();
        if core.is_closed(self.spid) {
            return;
        }
        if self.layered() {
            // Its end comes behind what it has sent.
            let own = |(from, ..): &(Spid, Spid, Signal)| *from == self.spid;
            threads::linger(shared, &mut core, |core| !core.outbox.iter().any(own));
            core.outbox.retain(|sent| !own(sent));
        }
        core.remove_local(self.spid);
        core.around.waits.tell(Awaited::Signal(self.spid));
        core.around.waits.tell(Awaited::Room);
    }

    /// Whether it was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared().enter().is_closed(self.spid)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.close();
    }
}
