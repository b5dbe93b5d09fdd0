//! Calls of a service.

use std::cell::Cell;
use std::marker::PhantomData;
use std::time::Duration;

use narrows::endpoint::{CallError, FlowError, FlowId};
use narrows::link::Name;
use narrows::strategy::Strategy;

use crate::deadline::Deadline;
use crate::error::Error;
use crate::node::{Node, function_name, name_of, types_of};
use crate::typed::Payload;

/// How long a service is waited for where nothing is said.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked whether a service is there.
const LOOK: Duration = Duration::from_millis(10);
/// Values that a response has at most, if their number differs and nothing is said.
const LONGEST: usize = 1024;

/// Services of others.
impl Node {
    /// A service to look for, if its client is to be other than [`Node::client`] makes it.
    pub fn find(&self, service: &str) -> Find {
        Find::new(self.clone(), service)
    }

    /// A client of a service, which may be offered later: this waits for it, 5 s at most.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn client<Q, R>(&self, service: &str) -> Result<Client<Q, R>, Error>
    where
        Q: Payload + ?Sized,
        R: Payload + ?Sized,
    {
        self.find(service).client()
    }
}

/// A service to look for.
#[must_use]
pub struct Find {
    node: Node,
    service: String,
    strategy: Strategy,
    patience: Option<Duration>,
    longest: usize,
}

impl Find {
    pub(crate) fn new(node: Node, service: &str) -> Find {
        Find {
            node,
            service: service.to_owned(),
            strategy: Strategy::default(),
            patience: Some(PATIENCE),
            longest: LONGEST,
        }
    }

    /// How calls travel.
    pub fn strategy(mut self, strategy: Strategy) -> Find {
        self.strategy = strategy;
        self
    }

    /// How long the service is waited for, and each response; without an end if there is none.
    pub fn patience(mut self, patience: Option<Duration>) -> Find {
        self.patience = patience;
        self
    }

    /// How many values a response has at most whose number differs from call to call.
    pub fn longest(mut self, values: usize) -> Find {
        self.longest = values;
        self
    }

    /// A client of it. Waits until the service is there.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn client<Q, R>(self) -> Result<Client<Q, R>, Error>
    where
        Q: Payload + ?Sized,
        R: Payload + ?Sized,
    {
        let service = name_of(&self.service)?;
        let types = types_of::<Q, R>();
        let function = function_name(&service, &types)?;
        let room = R::longest(self.longest);
        let flow = Cell::new(None);
        let client = Client { find: self, service, types, function, room, flow, of: PhantomData };
        client.flow()?;
        Ok(client)
    }
}

/// Calls a service that takes a `Q` and gives an `R`. Where the node of the service has gone, the
/// next call looks for the service again.
pub struct Client<Q: ?Sized, R: ?Sized> {
    find: Find,
    service: Name,
    types: String,
    function: Name,
    /// Bytes of the longest response.
    room: usize,
    flow: Cell<Option<FlowId>>,
    of: PhantomData<fn(&Q) -> Box<R>>,
}

impl<Q: Payload + ?Sized, R: Payload + ?Sized> Client<Q, R> {
    /// Calls it and waits for the response.
    ///
    /// # Errors
    /// See [`Error`].
    #[inline]
    pub fn call(&self, request: &Q) -> Result<R::Owned, Error> {
        let flow = match self.flow.get() {
            Some(flow) => flow,
            None => self.flow()?,
        };
        let mut node = self.find.node.below()?;
        let patience = self.find.patience;
        let call = |to: &mut [u8]| node.flow(flow).call(request.bytes(), to, patience);
        match R::receive(self.room, call) {
            Ok(Some(response)) => Ok(response),
            Ok(None) => Err(Error::Length(self.service.to_string())),
            Err(error) => {
                drop(node);
                Err(self.failed(flow, error))
            }
        }
    }

    #[cold]
    fn failed(&self, flow: FlowId, error: CallError) -> Error {
        if matches!(error, CallError::Gone(_) | CallError::Unknown) {
            self.flow.set(None);
            if let Ok(mut node) = self.find.node.below() {
                // A flow whose link has ended has nothing outstanding.
                let _ = node.flow(flow).close();
            }
        }
        Error::Call(self.service.to_string(), error)
    }

    /// Looks for the service, and opens a flow to it.
    #[cold]
    fn flow(&self) -> Result<FlowId, Error> {
        let Find { node, strategy, patience, .. } = &self.find;
        let deadline = Deadline::within(*patience);
        let service = || self.service.to_string();
        loop {
            let mut below = node.below()?;
            let offers = below.platform().offers();
            let mut offers = offers.into_iter().filter(|offer| offer.service == self.service);
            if let Some(offer) = offers.next() {
                if offer.text != self.types {
                    return Err(self.differ(offer.node, offer.text));
                }
                let link = below.hunt(&offer.node, deadline.left());
                let link = link.map_err(|error| Error::Link(service(), error))?;
                let room = u32::try_from(self.room).unwrap_or(u32::MAX);
                match below.open_flow(link, &self.function, *strategy, room, deadline.left()) {
                    Ok(flow) => {
                        self.flow.set(Some(flow));
                        return Ok(flow);
                    }
                    // The node is dead, or has come back and does not serve yet.
                    Err(FlowError::NotFound | FlowError::Gone(_)) if !deadline.is_over() => {}
                    Err(error) => return Err(Error::Flow(service(), error)),
                }
            } else if deadline.is_over() {
                return Err(Error::NotFound(service()));
            }
            below.wait_any(Some(deadline.left_of(LOOK)));
            below.poll();
        }
    }

    fn differ(&self, node: Name, there: String) -> Error {
        let (service, here) = (self.service.to_string(), self.types.clone());
        Error::Types { service, node: node.to_string(), there, here }
    }
}
