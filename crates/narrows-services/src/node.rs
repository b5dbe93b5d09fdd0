//! A node that offers and uses services.

use std::borrow::Borrow as _;
use std::cell::{Cell, RefCell, RefMut};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use narrows::endpoint::{
    Failure, FlowError, FlowId, Function, Port, ServeError, Served, Sink, Source,
};
use narrows::link::Name;
use narrows::platform::Platform as _;
use narrows_host::Options;
use narrows_host::service::Offer;

use crate::deadline::Deadline;
use crate::error::Error;
use crate::parked::{Parked, Ticket};
use crate::signature::{Signature, name_of};
use crate::typed::{self, Payload};

/// Bytes of the longest message if the program names no other. Where addresses are few, a link
/// reserves none for messages that may never come.
const LONGEST: usize =
    if cfg!(target_pointer_width = "64") { narrows::memory::MAX_MESSAGE as usize } else { 65536 };

type Body = Box<dyn FnMut(&dyn Source, &mut dyn Sink) -> Result<(), Failure>>;

/// A function that this node serves.
struct Offered {
    /// None if it is found by the name of its node alone.
    service: Option<Name>,
    name: Name,
    body: Body,
}

/// What is served, for the node below.
fn library(served: &mut [Offered]) -> Vec<Function<'_>> {
    let functions = served.iter_mut();
    functions.map(|Offered { name, body, .. }| Function { name: *name, run: &mut **body }).collect()
}

/// What this node publishes under a name.
pub(crate) trait Published {
    fn name(&self) -> Name;

    /// Lets waiting subscribers in.
    ///
    /// # Errors
    /// [`Error::Busy`].
    fn attend(&self) -> Result<(), Error>;
}

struct Inner {
    node: RefCell<narrows_host::Node>,
    served: RefCell<Vec<Offered>>,
    /// What is published.
    outlets: RefCell<Vec<Weak<dyn Published>>>,
    /// Flows that nobody has any more, and whose calls are under way.
    flows: RefCell<Vec<FlowId>>,
    /// Tasks that wait for it.
    parked: Arc<Parked>,
    /// Whether some have begun to wait since all were woken.
    waited_for: Cell<bool>,
    /// Whether it is used on behalf of one of them.
    quiet: Cell<bool>,
}

/// A node that offers and uses services. Clones are the same node; it belongs to one thread.
#[derive(Clone)]
pub struct Node {
    inner: Rc<Inner>,
}

/// Opens a port that the program does not use: the last that is free.
pub(crate) fn open_port(node: &mut narrows_host::Node) -> Result<Port, Error> {
    let mut free = (1..=Port::MAX).rev().filter(|port| node.open(*port).is_ok());
    free.next().ok_or(Error::Ports)
}

impl Node {
    /// A node of this name, as [`Options`] opens it where nothing else is said.
    ///
    /// # Errors
    /// [`Error::Open`].
    pub fn open(name: &str) -> Result<Node, Error> {
        Node::with(Options::new(name))
    }

    /// A node that is opened as the options say. Where they say nothing of layouts nor of the
    /// longest message, that is of up to 16 MiB - 1: what is longer than usual has blocks of its
    /// own, which take no memory until they are used.
    ///
    /// # Errors
    /// [`Error::Open`].
    pub fn with(options: Options) -> Result<Node, Error> {
        let options = options.usual_longest_message(LONGEST);
        let node = RefCell::new(options.node().map_err(Error::Open)?);
        Ok(Node {
            inner: Rc::new(Inner {
                node,
                served: RefCell::default(),
                outlets: RefCell::default(),
                flows: RefCell::default(),
                parked: Arc::default(),
                waited_for: Cell::new(false),
                quiet: Cell::new(false),
            }),
        })
    }

    /// The node below, for what services do not cover.
    ///
    /// # Errors
    /// [`Error::Busy`].
    #[inline]
    pub fn below(&self) -> Result<RefMut<'_, narrows_host::Node>, Error> {
        if self.inner.waited_for.get() {
            self.disturb();
        }
        self.inner.node.try_borrow_mut().map_err(|_| Error::Busy)
    }

    /// Wakes the tasks that wait: a call that uses the node may take what they wait for off the
    /// rings.
    #[cold]
    #[inline(never)]
    fn disturb(&self) {
        if !self.inner.quiet.get() {
            self.inner.waited_for.set(false);
            self.inner.parked.wake_all();
        }
    }

    /// The services that nodes of this user offer in the domain.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn services(&self) -> Result<Vec<Offer>, Error> {
        Ok(self.below()?.platform().offers())
    }

    /// Offers a function under this name. It runs in [`Node::run`] and [`Node::turn`].
    ///
    /// # Errors
    /// See [`Error`]; nothing is offered.
    pub fn serve<Q, R>(
        &self,
        service: &str,
        mut function: impl FnMut(&Q) -> R::Owned + 'static,
    ) -> Result<(), Error>
    where
        Q: Payload + ?Sized,
        R: Payload + ?Sized,
    {
        let signature = Signature::of::<Q, R>(service)?;
        let body = move |request: &dyn Source, response: &mut dyn Sink| {
            let read = |to: &mut [u8]| request.read(0, to);
            let request = typed::read::<Q, _>(request.len(), read, || Failure::Refused)?;
            response.write(0, function(request.borrow()).borrow().bytes())
        };
        self.serve_bytes(Some(&signature), *signature.function(), body)
    }

    /// Offers a function whose lengths are its own to check: as a service, or by its name alone.
    ///
    /// # Errors
    /// See [`Error`]; nothing is offered.
    #[doc(hidden)]
    pub fn serve_bytes(
        &self,
        signature: Option<&Signature>,
        name: Name,
        body: impl FnMut(&dyn Source, &mut dyn Sink) -> Result<(), Failure> + 'static,
    ) -> Result<(), Error> {
        let service = signature.map(|signature| *signature.service());
        let mut served = self.inner.served.try_borrow_mut().map_err(|_| Error::Busy)?;
        let is_taken =
            |one: &Offered| one.name == name || (service.is_some() && one.service == service);
        if served.iter().any(is_taken) || service.is_some_and(|service| self.has_topic(&service)) {
            return Err(Error::Offered(service.unwrap_or(name).to_string()));
        }
        if let Some(signature) = signature {
            signature.offer(&mut *self.below()?)?;
        }
        served.push(Offered { service, name, body: Box::new(body) });
        Ok(())
    }

    /// Offers a function no more. A flow that is open to it stays so, and its calls fail.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn withdraw(&self, service: &str) -> Result<(), Error> {
        let mut served = self.inner.served.try_borrow_mut().map_err(|_| Error::Busy)?;
        let service = name_of(service)?;
        self.below()?.platform().withdraw(&service);
        served.retain(|one| one.service != Some(service));
        Ok(())
    }

    /// Serves calls until the time is over, or for good. Lets in subscribers to this node's topics.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Serve`].
    pub fn run(&self, within: Option<Duration>) -> Result<(), Error> {
        let deadline = Deadline::within(within);
        loop {
            let left = deadline.left();
            self.run_once(left)?;
            if left == Some(Duration::ZERO) {
                return Ok(());
            }
        }
    }

    /// Waits until calls come, a link comes up or ends, or the time is over, and serves the calls.
    /// How many messages of calls that were.
    ///
    /// # Errors
    /// As [`Node::run`].
    pub fn run_once(&self, within: Option<Duration>) -> Result<usize, Error> {
        let mut served = self.inner.served.try_borrow_mut().map_err(|_| Error::Busy)?;
        let mut library = library(&mut served);
        let topics = self.attend()?;
        let mut node = self.below()?;
        let served = if topics {
            // What subscribers ask comes to ports, which ends no wait for calls alone.
            let mut count = node.try_serve(&mut library);
            if count == 0 {
                node.wait_any(within);
                node.poll();
                count = node.try_serve(&mut library);
            }
            let forked = node.platform().is_copy();
            drop(node);
            self.attend()?;
            if forked { Err(ServeError::Forked) } else { Ok(count) }
        } else {
            let served = node.serve(&mut library, within);
            served.map(|served| if let Served::Calls(count) = served { count } else { 0 })
        };
        match served {
            Err(ServeError::Deadline) => Ok(0),
            served => served.map_err(Error::Serve),
        }
    }

    /// Serves the calls that are there, without waiting, and lets in subscribers to this node's
    /// topics. How many messages of calls that were.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn turn(&self) -> Result<usize, Error> {
        let mut served = self.inner.served.try_borrow_mut().map_err(|_| Error::Busy)?;
        let mut library = library(&mut served);
        let mut node = self.below()?;
        node.poll();
        let served = node.try_serve(&mut library);
        drop(node);
        self.attend()?;
        Ok(served)
    }

    pub(crate) fn parked(&self) -> &Arc<Parked> {
        &self.inner.parked
    }

    /// Has this task wait until it is used for another.
    pub(crate) fn park(&self, ticket: &mut Ticket, waker: &Waker) {
        ticket.park(waker);
        self.inner.waited_for.set(true);
    }

    /// Uses the node for a task that waits for it: the others are woken only by what comes.
    pub(crate) fn quietly<R>(&self, act: impl FnOnce() -> R) -> R {
        struct Restore<'a>(&'a Cell<bool>, bool);
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                self.0.set(self.1);
            }
        }
        let quiet = &self.inner.quiet;
        let _restore = Restore(quiet, quiet.replace(true));
        act()
    }

    /// Closes a flow that nobody has any more, if there is one, and those of before: as soon as
    /// their calls are answered.
    pub(crate) fn close_flow(&self, flow: Option<FlowId>) {
        let mut flows = self.inner.flows.borrow_mut();
        flows.extend(flow);
        if flows.is_empty() {
            return;
        }
        if let Ok(mut node) = self.below() {
            node.poll();
            flows.retain(|flow| {
                node.abandon(*flow);
                node.flow(*flow).close() == Err(FlowError::Outstanding)
            });
        }
    }

    /// Whether nobody else has this node, nor anything of it, and it serves nothing.
    pub(crate) fn is_alone(&self) -> bool {
        let mut outlets = self.inner.outlets.borrow_mut();
        outlets.retain(|one| one.strong_count() > 0);
        Rc::strong_count(&self.inner) == 1
            && Rc::weak_count(&self.inner) == 0
            && outlets.is_empty()
            && self.inner.served.try_borrow().is_ok_and(|served| served.is_empty())
    }

    /// Whether both are the same node.
    pub(crate) fn is(&self, other: &Node) -> bool {
        Rc::ptr_eq(&self.inner, &other.inner)
    }

    /// Notes a topic of this node.
    pub(crate) fn publishes(&self, outlet: Weak<dyn Published>) {
        let mut outlets = self.inner.outlets.borrow_mut();
        outlets.retain(|one| one.strong_count() > 0);
        outlets.push(outlet);
    }

    fn has_topic(&self, name: &Name) -> bool {
        let outlets = self.inner.outlets.borrow();
        outlets.iter().filter_map(Weak::upgrade).any(|outlet| outlet.name() == *name)
    }

    /// Whether this node offers something under this name.
    pub(crate) fn has(&self, name: &Name) -> Result<bool, Error> {
        let served = self.inner.served.try_borrow().map_err(|_| Error::Busy)?;
        Ok(self.has_topic(name) || served.iter().any(|one| one.service == Some(*name)))
    }

    /// Lets waiting subscribers in. Whether there is a topic.
    ///
    /// # Errors
    /// [`Error::Busy`].
    #[doc(hidden)]
    pub fn attend(&self) -> Result<bool, Error> {
        let outlets = self.inner.outlets.borrow();
        let mut any = false;
        for outlet in outlets.iter().filter_map(Weak::upgrade) {
            any = true;
            match outlet.attend() {
                // One that makes a message is attended to when that is sent.
                Ok(()) | Err(Error::Busy) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(any)
    }
}
