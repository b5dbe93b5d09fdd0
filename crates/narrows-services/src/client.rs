//! Calls of a service.

use std::cell::Cell;
use std::marker::PhantomData;
use std::time::Duration;

use narrows::endpoint::{CallError, FlowId};
use narrows::strategy::Strategy;

use crate::error::Error;
use crate::events::{self, Count, What};
use crate::node::Node;
use crate::signature::Signature;
use crate::typed::Payload;

/// How long a service is waited for where nothing is said.
const PATIENCE: Duration = Duration::from_secs(5);
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
        let client = self.begin()?;
        client.flow()?;
        Ok(client)
    }

    /// A client that has not found its service yet.
    pub(crate) fn begin<Q, R>(self) -> Result<Client<Q, R>, Error>
    where
        Q: Payload + ?Sized,
        R: Payload + ?Sized,
    {
        let signature = Signature::of::<Q, R>(&self.service)?;
        let room = R::longest(self.longest);
        let flow = Cell::new(None);
        let count = Count::new("called", signature.service());
        Ok(Client { find: self, signature, room, flow, count, of: PhantomData })
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    pub(crate) fn how(&self) -> Strategy {
        self.strategy
    }

    pub(crate) fn patient(&self) -> Option<Duration> {
        self.patience
    }
}

/// Calls a service that takes a `Q` and gives an `R`. Where the node of the service has gone, the
/// next call looks for the service again.
pub struct Client<Q: ?Sized, R: ?Sized> {
    find: Find,
    signature: Signature,
    /// Bytes of the longest response.
    room: usize,
    flow: Cell<Option<FlowId>>,
    count: Count,
    of: PhantomData<fn(&Q) -> Box<R>>,
}

impl<Q: ?Sized, R: ?Sized> Client<Q, R> {
    pub(crate) fn find(&self) -> &Find {
        &self.find
    }

    pub(crate) fn signature(&self) -> &Signature {
        &self.signature
    }

    pub(crate) fn room(&self) -> usize {
        self.room
    }

    pub(crate) fn service(&self) -> String {
        self.find.service.clone()
    }

    pub(crate) fn flow_id(&self) -> Option<FlowId> {
        self.flow.get()
    }

    /// A call was answered.
    #[inline]
    pub(crate) fn answered(&self) {
        self.count.add();
    }
}

impl<Q: Payload + ?Sized, R: Payload + ?Sized> Client<Q, R> {
    /// Calls it and waits for the response.
    ///
    /// # Errors
    /// See [`Error`].
    #[inline(always)]
    pub fn call(&self, request: &Q) -> Result<R::Owned, Error> {
        let mut node = self.find.node.below()?;
        let Some(flow) = self.flow.get() else {
            drop(node);
            return self.search_and_call(request);
        };
        let call = |to: &mut [u8]| {
            let called = node.flow(flow).call(request.bytes(), to, self.find.patience);
            drop(node);
            let len = called.map_err(|error| self.failed(error))?;
            self.answered();
            Ok(len)
        };
        R::receive(self.room, call, || self.wrong())
    }

    // What fails is out of line, and takes of a call only what it can find again: whatever else it
    // needed would have a register to itself while the call waits.
    #[cold]
    #[inline(never)]
    fn search_and_call(&self, request: &Q) -> Result<R::Owned, Error> {
        self.flow()?;
        self.call(request)
    }

    #[cold]
    #[inline(never)]
    fn wrong(&self) -> Error {
        Error::Length(self.find.service.clone())
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn failed(&self, error: CallError) -> Error {
        if matches!(error, CallError::Gone(_) | CallError::Unknown) {
            events::tell(What::Lost, self.signature.service());
            self.find.node.close_flow(self.flow.take());
        }
        Error::Call(self.find.service.clone(), error)
    }

    /// Looks for the service, and opens a flow to it.
    #[cold]
    fn flow(&self) -> Result<FlowId, Error> {
        let Find { node, strategy, patience, .. } = &self.find;
        node.close_flow(None);
        let mut node = node.below()?;
        let (_, flow) = self.signature.open_flow(&mut node, *strategy, self.room, *patience)?;
        drop(node);
        self.found(flow);
        Ok(flow)
    }

    /// Its service was found, and this flow opened to it.
    pub(crate) fn found(&self, flow: FlowId) {
        self.flow.set(Some(flow));
        events::tell(What::Found, self.signature.service());
    }
}

impl<Q: ?Sized, R: ?Sized> Drop for Client<Q, R> {
    fn drop(&mut self) {
        self.find.node.close_flow(self.flow.get());
    }
}
