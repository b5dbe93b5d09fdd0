//! Calls that are awaited.

use std::cell::Cell;
use std::rc::Rc;

use narrows::endpoint::{CallError, FlowId, SendError};
use narrows::link::LinkId;

use crate::asynchronous::Watch;
use crate::asynchronous::reactor::{Look, Reactor};
use crate::asynchronous::search::Search;
use crate::client;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::typed::Payload;

/// Calls a service that takes a `Q` and gives an `R`. Where the node of the service has gone, the
/// next call looks for the service again.
pub struct Client<W, Q: ?Sized, R: ?Sized> {
    reactor: Rc<Reactor<W>>,
    client: client::Client<Q, R>,
    link: Cell<Option<LinkId>>,
    /// A call is under way.
    calls: Cell<bool>,
}

pub(super) async fn client<W, Q, R>(
    reactor: Rc<Reactor<W>>,
    client: client::Client<Q, R>,
) -> Result<Client<W, Q, R>, Error>
where
    W: Watch,
    Q: Payload + ?Sized,
    R: Payload + ?Sized,
{
    let client = Client { reactor, client, link: Cell::new(None), calls: Cell::new(false) };
    client.find().await?;
    Ok(client)
}

impl<W, Q, R> Client<W, Q, R>
where
    W: Watch,
    Q: Payload + ?Sized,
    R: Payload + ?Sized,
{
    /// Calls it and awaits the response. Calls of one client take turns. If this is dropped, the
    /// function may have run, and its response is dropped when it comes.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn call(&self, request: &Q) -> Result<R::Owned, Error> {
        let turn = self.reactor.wait(|| Ok(self.turn().map_or(Look::Again(None), Look::Done)));
        let mut turn = turn.await?;
        if self.client.flow_id().is_none() {
            self.find().await?;
        }
        self.reactor.wait(|| turn.step(request)).await
    }

    fn turn(&self) -> Option<Turn<'_, W, Q, R>> {
        (!self.calls.replace(true)).then(|| Turn {
            client: self,
            deadline: Deadline::within(self.client.find().patient()),
            started: None,
            wants: None,
        })
    }

    /// Looks for the service, and opens a flow to it.
    async fn find(&self) -> Result<(), Error> {
        let (find, signature) = (self.client.find(), self.client.signature());
        let deadline = Deadline::within(find.patient());
        find.node().close_flow(None);
        let mut search = Search::new(find, signature, self.client.room());
        let found = self.reactor.wait(|| match search.step()? {
            Some(found) => Ok(Look::Done(found)),
            None if deadline.is_over() => Err(Error::NotFound(signature.service().to_string())),
            None => Ok(Look::Again(search.due_in().into_iter().chain(deadline.left()).min())),
        });
        let (link, flow) = found.await?;
        self.link.set(Some(link));
        self.client.found(flow);
        Ok(())
    }
}

/// A call that has its turn. Dropped, it is abandoned.
struct Turn<'a, W, Q: ?Sized, R: ?Sized> {
    client: &'a Client<W, Q, R>,
    deadline: Deadline,
    started: Option<FlowId>,
    /// The link on which it waits for room.
    wants: Option<LinkId>,
}

/// Why a call has no value.
enum NoValue {
    /// The response is not there yet.
    Yet,
    /// No value has its length.
    Wrong,
    Failed(CallError),
}

impl<W, Q: Payload + ?Sized, R: Payload + ?Sized> Turn<'_, W, Q, R> {
    fn step(&mut self, request: &Q) -> Result<Look<R::Owned>, Error> {
        let (own, service) = (&self.client.client, || self.client.client.service());
        let Some(flow) = own.flow_id() else {
            return Err(Error::Call(service(), CallError::Unknown));
        };
        let mut node = own.find().node().below()?;
        node.poll();
        if self.started.is_none() {
            match node.flow(flow).start(request.bytes()) {
                Ok(_) => self.started = Some(flow),
                Err(SendError::RingFull | SendError::PoolEmpty | SendError::Switching) => {
                    self.wants = self.client.link.get();
                    if let Some(link) = self.wants {
                        let _ = node.link(link).want_room(true);
                    }
                    let over = CallError::Start(SendError::Deadline);
                    return self.again(over);
                }
                Err(error) => {
                    drop(node);
                    let error = match error {
                        SendError::Gone(why) => CallError::Gone(why),
                        error => CallError::Start(error),
                    };
                    return Err(own.failed(error));
                }
            }
        }
        let finish = |to: &mut [u8]| match node.flow(flow).try_finish(to) {
            Ok(Some(completed)) => Ok(completed.len),
            Ok(None) => Err(NoValue::Yet),
            Err(error) => Err(NoValue::Failed(error)),
        };
        let response = R::receive(own.room(), finish, || NoValue::Wrong);
        drop(node);
        match response {
            Err(NoValue::Yet) => return self.again(CallError::Deadline),
            Err(NoValue::Failed(CallError::Short { .. })) => {}
            _ => self.started = None,
        }
        match response {
            Ok(response) => {
                own.answered();
                Ok(Look::Done(response))
            }
            Err(NoValue::Failed(error)) => Err(own.failed(error)),
            Err(NoValue::Yet | NoValue::Wrong) => Err(Error::Length(service())),
        }
    }

    fn again<T>(&self, over: CallError) -> Result<Look<T>, Error> {
        if self.deadline.is_over() {
            return Err(Error::Call(self.client.client.service(), over));
        }
        Ok(Look::Again(self.deadline.left()))
    }
}

impl<W, Q: ?Sized, R: ?Sized> Drop for Turn<'_, W, Q, R> {
    fn drop(&mut self) {
        self.client.calls.set(false);
        // Wakes the call that waits for its turn, too.
        let Ok(mut node) = self.client.client.find().node().below() else { return };
        if let Some(flow) = self.started {
            node.abandon(flow);
        }
        if let Some(link) = self.wants {
            let _ = node.link(link).want_room(false);
        }
    }
}
