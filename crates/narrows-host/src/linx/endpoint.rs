//! Nodes and endpoints, as applications have them.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use narrows::connection::Refused;
use narrows::link::Name;
use narrows::linx::{HandlerError, Path, Spid};
use narrows::platform::Platform;
use parking_lot::Mutex;

use super::quick::Look;
use super::shared::{Guard, Looked, Shared};
use super::signal::Signal;
use super::waits::Awaited;
use super::{Error, Stack, threads};
use crate::OpenError;

/// Signals that a layered node's applications may have handed over before one has to wait.
pub const OUTBOX: usize = 1024;
/// How long a sender waits at most before it looks whether there is room.
const LOOK: Duration = Duration::from_millis(10);

/// A node; it ends with the last of its endpoints and copies.
#[derive(Clone)]
pub struct Node {
    owned: Arc<Owned>,
}

/// What ends with a node.
struct Owned {
    shared: Arc<Shared>,
    stack: Stack,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Drop for Owned {
    fn drop(&mut self) {
        let threads = std::mem::take(self.threads.get_mut());
        if !threads.is_empty() {
            threads::stop(&self.shared, threads);
        }
    }
}

impl Node {
    pub(super) fn new(shared: Arc<Shared>, stack: Stack) -> Result<Node, Error> {
        let threads = match stack {
            Stack::Flat => Vec::new(),
            Stack::Layered => threads::start(&shared).map_err(|_| Error::Resources)?,
        };
        Ok(Node { owned: Arc::new(Owned { shared, stack, threads: Mutex::new(threads) }) })
    }

    /// Opens an endpoint, which others hunt as `node/name`; one without a name cannot be hunted.
    ///
    /// # Errors
    /// [`Error::Open`] if it is not a name, [`Error::Handler`] if it is taken or there is no room.
    pub fn open(&self, name: Option<&str>) -> Result<Endpoint, Error> {
        let parse = |text: &str| text.parse::<Name>().map_err(|_| OpenError::Name(text.into()));
        let name = name.map(parse).transpose()?;
        let mut core = self.owned.shared.enter();
        let now = &mut *core;
        let spid = now.handler.open(&mut now.around, name)?;
        now.add_local(spid);
        drop(core);
        Ok(Endpoint { node: self.clone(), spid })
    }

    /// Stops the link handler of a layered node, as an operating system stops a process, or starts
    /// it again: signals that are sent meanwhile, at most [`OUTBOX`], wait for it, and who sends
    /// more waits too. For measuring what bursts cost whom; nothing, if the node is flat.
    pub fn stop_handler(&self, stopped: bool) {
        let mut core = self.owned.shared.enter();
        core.stopped = stopped;
        core.around.waits.tell(Awaited::Outgoing);
    }
}

/// Which signals are wanted: by number, and by sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Select {
    numbers: Vec<u32>,
    except: bool,
    from: Option<Spid>,
}

impl Select {
    /// Any signal.
    #[must_use]
    pub fn any() -> Select {
        Select { numbers: Vec::new(), except: true, from: None }
    }

    /// Only signals of these numbers.
    #[must_use]
    pub fn only(numbers: &[u32]) -> Select {
        Select { numbers: numbers.to_vec(), except: false, from: None }
    }

    /// Signals of all but these numbers.
    #[must_use]
    pub fn except(numbers: &[u32]) -> Select {
        Select { numbers: numbers.to_vec(), except: true, from: None }
    }

    /// The same, from one sender alone.
    #[must_use]
    pub fn from(self, sender: Spid) -> Select {
        Select { from: Some(sender), ..self }
    }

    /// Whether a signal is wanted.
    #[must_use]
    #[inline]
    pub fn wants(&self, signal: &Signal) -> bool {
        let listed = !self.numbers.is_empty() && self.numbers.contains(&signal.number());
        self.from.is_none_or(|from| from == signal.sender()) && listed != self.except
    }
}

/// An endpoint of LINX: it has a name, an address and a queue. It closes when it is dropped.
pub struct Endpoint {
    node: Node,
    spid: Spid,
}

impl Endpoint {
    fn shared(&self) -> &Shared {
        &self.node.owned.shared
    }

    fn layered(&self) -> bool {
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

    /// As [`Endpoint::send`], as if another that this node knows had sent it.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn send_as(&self, from: Spid, to: Spid, signal: Signal) -> Result<(), (Error, Signal)> {
        let mut core = self.shared().enter();
        if from != self.spid
            && let Err(why) = core.handler.check(from)
        {
            return Err((why.into(), signal));
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
                Err((why, back)) => break Err((why.into(), back)),
                Ok(()) => break Ok(()),
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
            if let Err(why) = core.handler.check(to) {
                return Err((why.into(), signal));
            }
            if core.outbox.len() < OUTBOX {
                core.outbox.push_back((from, to, signal));
                core.around.waits.tell(Awaited::Outgoing);
                return Ok(());
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
            if at_once {
                break None;
            }
            let now = core.around.node.platform().now();
            if deadline.is_none() {
                deadline = within.map(|within| now + within);
            }
            if deadline.is_some_and(|deadline| now >= deadline) {
                break None;
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
        let path: Path = path.parse()?;
        Ok(self.shared().enter().hunt(self.spid, path, signal)?)
    }

    /// Has `signal` delivered to this endpoint when another is gone, as if that had sent it.
    /// Returns what [`Endpoint::detach`] takes.
    ///
    /// # Errors
    /// [`Error::Handler`]. The signal is used up.
    pub fn attach(&self, to: Spid, signal: Signal) -> Result<u32, Error> {
        Ok(self.shared().enter().attach(self.spid, to, signal)?)
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

    /// Whether an address is of somebody who is there.
    ///
    /// # Errors
    /// [`HandlerError::Gone`] or [`HandlerError::Unknown`].
    pub fn check(&self, spid: Spid) -> Result<(), HandlerError> {
        self.shared().enter().handler.check(spid)
    }

    /// The name of an endpoint of this node.
    #[must_use]
    pub fn name(&self, spid: Spid) -> Option<String> {
        self.shared().enter().handler.name(spid).map(|name| name.as_str().to_owned())
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let shared = self.shared();
        let mut core = shared.enter();
        if self.layered() {
            // Its end comes behind what it has sent.
            let own = |(from, ..): &(Spid, Spid, Signal)| *from == self.spid;
            threads::linger(shared, &mut core, |core| !core.outbox.iter().any(own));
            core.outbox.retain(|sent| !own(sent));
        }
        core.remove_local(self.spid);
    }
}
