//! A node of an asynchronous program.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use narrows_host::service::Offer;
use rustix::fd::OwnedFd;

use crate::asynchronous::reactor::{Look, Reactor};
use crate::asynchronous::{Client, Publisher, Subscriber, Watch, call, receive};
use crate::client::Find;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::lookout::Lookout;
use crate::node;
use crate::signature::LOOK;
use crate::subscriber::Subscribe;
use crate::topic::Topic;
use crate::typed::Payload;

/// A node of an asynchronous program, whose descriptor is watched as `W` does it. Clones are the
/// same node. It belongs to one thread, as [`crate::Node`] does: its tasks are local ones.
pub struct Node<W> {
    node: node::Node,
    reactor: Rc<Reactor<W>>,
}

impl<W> Clone for Node<W> {
    fn clone(&self) -> Node<W> {
        Node { node: self.node.clone(), reactor: Rc::clone(&self.reactor) }
    }
}

impl<W> fmt::Debug for Node<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").finish_non_exhaustive()
    }
}

impl<W: Watch> Node<W> {
    /// Has a runtime watch the descriptor of a node.
    ///
    /// # Errors
    /// [`Error::Descriptor`], [`Error::Busy`].
    pub fn new(
        node: node::Node,
        watch: impl FnOnce(OwnedFd) -> io::Result<W>,
    ) -> Result<Node<W>, Error> {
        let reactor = Rc::new(Reactor::new(&node, watch)?);
        Ok(Node { node, reactor })
    }

    /// The node as other programs have it, whose calls wait in its thread.
    #[must_use]
    pub fn blocking(&self) -> &node::Node {
        &self.node
    }

    /// As [`crate::Node::serve`]; the function is called while [`Node::run`] is awaited.
    ///
    /// # Errors
    /// See [`Error`]; nothing is offered.
    pub fn serve<Q, R>(
        &self,
        service: &str,
        function: impl FnMut(&Q) -> R::Owned + 'static,
    ) -> Result<(), Error>
    where
        Q: Payload + ?Sized,
        R: Payload + ?Sized,
    {
        self.node.serve::<Q, R>(service, function)
    }

    /// Calls the node's functions, and lets in subscribers to its topics, until it is dropped.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Descriptor`].
    pub async fn run(&self) -> Result<Infallible, Error> {
        loop {
            let served = self.reactor.wait(|| match self.node.turn()? {
                0 => Ok(Look::Again(None)),
                served => Ok(Look::Done(served)),
            });
            served.await?;
            // Others have their turn, however many call.
            let mut yielded = false;
            std::future::poll_fn(|cx| {
                if std::mem::replace(&mut yielded, true) {
                    return Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
        }
    }

    /// A client of a service, as [`crate::Node::client`] makes it.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn client<Q, R>(&self, service: &str) -> Result<Client<W, Q, R>, Error>
    where
        Q: Payload + ?Sized,
        R: Payload + ?Sized,
    {
        self.client_of(self.node.find(service)).await
    }

    /// A client of a service that was looked for otherwise: see [`crate::Node::find`].
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn client_of<Q, R>(&self, find: Find) -> Result<Client<W, Q, R>, Error>
    where
        Q: Payload + ?Sized,
        R: Payload + ?Sized,
    {
        call::client(Rc::clone(&self.reactor), find.begin()?).await
    }

    /// Services and topics whose names match a pattern, once there is one: as
    /// [`crate::Node::hunt`].
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Descriptor`]; [`Error::NotFound`] if there is none in time.
    pub async fn hunt(&self, pattern: &str, within: Option<Duration>) -> Result<Vec<Offer>, Error> {
        let deadline = Deadline::within(within);
        let mut lookout = Lookout::new();
        let look = || {
            lookout.looks();
            if let Some(found) = self.node.hunted(pattern, deadline)? {
                return Ok(Look::Done(found));
            }
            lookout.rests(&*self.node.below()?, LOOK);
            Ok(Look::Again(lookout.left(deadline)))
        };
        self.reactor.wait(look).await
    }

    /// A subscriber of a topic, as [`crate::Node::subscriber`] makes it.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn subscriber<T>(&self, topic: &str) -> Result<Subscriber<W, T>, Error>
    where
        T: Payload + ?Sized,
    {
        self.subscriber_of(self.node.subscribe(topic)).await
    }

    /// A subscriber of other terms: see [`crate::Node::subscribe`].
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn subscriber_of<T>(&self, wish: Subscribe) -> Result<Subscriber<W, T>, Error>
    where
        T: Payload + ?Sized,
    {
        let patience = wish.patient();
        receive::subscriber(Rc::clone(&self.reactor), wish.begin()?, patience).await
    }

    /// Publishes values of a type, as [`crate::Node::publisher`] does.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn publisher<T>(&self, topic: &str) -> Result<Publisher<W, T>, Error>
    where
        T: Payload + ?Sized,
    {
        self.publisher_of(self.node.topic(topic))
    }

    /// Publishes a topic of other terms: see [`crate::Node::topic`].
    ///
    /// # Errors
    /// See [`Error`].
    pub fn publisher_of<T>(&self, topic: Topic) -> Result<Publisher<W, T>, Error>
    where
        T: Payload + ?Sized,
    {
        Ok(Publisher::new(Rc::clone(&self.reactor), topic.publisher()?))
    }
}
