//! A node that offers and uses services.

use std::borrow::Borrow as _;
use std::cell::{RefCell, RefMut};
use std::rc::Rc;
use std::time::Duration;

use narrows::endpoint::{Failure, Function, Port, ServeError, Sink, Source};
use narrows::link::Name;
use narrows_host::Options;
use narrows_host::service::Offer;

use crate::deadline::Deadline;
use crate::error::Error;
use crate::signature::{Signature, name_of};
use crate::typed::{self, Payload};

type Body = Box<dyn FnMut(&dyn Source, &mut dyn Sink) -> Result<(), Failure>>;

/// A function that this node serves.
struct Served {
    service: Name,
    name: Name,
    body: Body,
}

/// What is served, for the node below.
fn library(served: &mut [Served]) -> Vec<Function<'_>> {
    let functions = served.iter_mut();
    functions.map(|Served { name, body, .. }| Function { name: *name, run: &mut **body }).collect()
}

struct Inner {
    node: RefCell<narrows_host::Node>,
    served: RefCell<Vec<Served>>,
}

/// A node that offers and uses services. Clones are the same node; it belongs to one thread.
#[derive(Clone)]
pub struct Node {
    inner: Rc<Inner>,
}

/// Opens a port that the program does not use: the last that is free.
pub(crate) fn open_port(node: &mut narrows_host::Node) -> Result<Port, Error> {
    let limits = narrows::endpoint::Limits::default();
    let ports = (1..limits.endpoints as Port).rev();
    let mut free = ports.filter(|port| node.open(*port).is_ok());
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

    /// A node that is opened as the options say.
    ///
    /// # Errors
    /// [`Error::Open`].
    pub fn with(options: Options) -> Result<Node, Error> {
        let node = RefCell::new(options.node().map_err(Error::Open)?);
        Ok(Node { inner: Rc::new(Inner { node, served: RefCell::default() }) })
    }

    /// The node below, for what services do not cover.
    ///
    /// # Errors
    /// [`Error::Busy`].
    #[inline]
    pub fn below(&self) -> Result<RefMut<'_, narrows_host::Node>, Error> {
        self.inner.node.try_borrow_mut().map_err(|_| Error::Busy)
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
        let (service, name) = (*signature.service(), *signature.function());
        let mut served = self.inner.served.try_borrow_mut().map_err(|_| Error::Busy)?;
        if served.iter().any(|one| one.service == service) {
            return Err(Error::Offered(service.to_string()));
        }
        let body = move |request: &dyn Source, response: &mut dyn Sink| {
            let read = |to: &mut [u8]| request.read(0, to);
            let request = typed::read::<Q, _>(request.len(), read)?.ok_or(Failure::Refused)?;
            response.write(0, function(request.borrow()).borrow().bytes())
        };
        signature.offer(&mut *self.below()?)?;
        served.push(Served { service, name, body: Box::new(body) });
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
        served.retain(|one| one.service != service);
        Ok(())
    }

    /// Serves calls until the time is over, or for good.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Serve`].
    pub fn run(&self, within: Option<Duration>) -> Result<(), Error> {
        let deadline = Deadline::within(within);
        let mut served = self.inner.served.try_borrow_mut().map_err(|_| Error::Busy)?;
        let mut library = library(&mut served);
        loop {
            let left = deadline.left();
            match self.below()?.serve(&mut library, left) {
                Ok(_) if left != Some(Duration::ZERO) => {}
                Ok(_) | Err(ServeError::Deadline) => return Ok(()),
                Err(error) => return Err(Error::Serve(error)),
            }
        }
    }

    /// Serves the calls that are there, without waiting. How many messages of calls that were.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn turn(&self) -> Result<usize, Error> {
        let mut served = self.inner.served.try_borrow_mut().map_err(|_| Error::Busy)?;
        let mut library = library(&mut served);
        let mut node = self.below()?;
        node.poll();
        Ok(node.try_serve(&mut library))
    }
}
