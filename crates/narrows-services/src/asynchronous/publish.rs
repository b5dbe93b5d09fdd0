//! Messages that are published when there is room.

use std::rc::Rc;

use crate::asynchronous::Watch;
use crate::asynchronous::reactor::{Look, Reactor};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::loan::Loan;
use crate::outlet::{LOOK, Outlet};
use crate::parked::Ticket;
use crate::publisher;
use crate::typed::{Payload, Typed};

/// Publishes values of type `T` to all that subscribe. With the feature `futures` it is a sink of
/// values.
pub struct Publisher<W, T: ?Sized> {
    reactor: Rc<Reactor<W>>,
    publisher: publisher::Publisher<T>,
    /// The place of the task that has it as a sink.
    #[cfg_attr(not(feature = "futures"), expect(dead_code))]
    ticket: Ticket,
}

/// A task that waits for room. Dropped, it is woken by none.
struct Wants<'a>(&'a Outlet, Deadline);

impl Wants<'_> {
    /// Looks whether there is room for `len` bytes.
    fn look(&self, len: usize) -> Result<Look<()>, Error> {
        let mut inner = self.0.inner()?;
        loop {
            if self.0.has_room(&mut inner, len)? {
                inner.want_none();
                return Ok(Look::Done(()));
            }
            if self.1.is_over() {
                return Err(self.0.full());
            }
            if inner.want_room() {
                return Ok(Look::Again(Some(self.1.left_of(LOOK))));
            }
        }
    }
}

impl Drop for Wants<'_> {
    fn drop(&mut self) {
        if let Ok(inner) = self.0.inner() {
            inner.want_none();
        }
    }
}

impl<W: Watch, T: Payload + ?Sized> Publisher<W, T> {
    pub(super) fn new(
        reactor: Rc<Reactor<W>>,
        publisher: publisher::Publisher<T>,
    ) -> Publisher<W, T> {
        let ticket = reactor.ticket();
        Publisher { reactor, publisher, ticket }
    }

    /// The publisher as other programs have it.
    #[must_use]
    pub fn blocking(&self) -> &publisher::Publisher<T> {
        &self.publisher
    }

    /// Publishes a value, once there is room with all subscribers that are to miss none. If this is
    /// dropped before it is done, nothing was published.
    ///
    /// # Errors
    /// See [`Error`]; nothing was published.
    pub async fn send(&self, value: &T) -> Result<(), Error> {
        self.room(value.bytes().len()).await?;
        self.publisher.send(value)
    }

    async fn room(&self, len: usize) -> Result<(), Error> {
        let outlet = &*self.publisher.outlet;
        let wants = Wants(outlet, Deadline::within(outlet.patience));
        self.reactor.wait(|| wants.look(len)).await
    }

    /// Waits until at least this many subscribe.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::Descriptor`].
    pub async fn subscribed(&self, count: usize) -> Result<(), Error> {
        let look = || {
            self.publisher.attend()?;
            let enough = self.publisher.subscribers()? >= count;
            Ok(if enough { Look::Done(()) } else { Look::Again(None) })
        };
        self.reactor.wait(look).await
    }
}

impl<W: Watch, T: Typed> Publisher<W, T> {
    /// Lends memory to make a value in, as [`crate::Publisher::loan`] does, once there is room.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn loan(&self) -> Result<Loan<'_, T>, Error> {
        self.room(size_of::<T>()).await?;
        self.publisher.loan()
    }
}

impl<W: Watch, T: Typed> Publisher<W, [T]> {
    /// As [`loan`](Publisher::loan) of one value, for this many values.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn loan(&self, values: usize) -> Result<Loan<'_, [T]>, Error> {
        self.room(size_of::<T>().saturating_mul(values)).await?;
        self.publisher.loan(values)
    }
}

#[cfg(feature = "futures")]
mod sink {
    use std::borrow::Borrow as _;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use super::*;

    impl<W: Watch, T: Payload + ?Sized> futures_sink::Sink<T::Owned> for Publisher<W, T> {
        type Error = Error;

        fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
            let Publisher { reactor, publisher, ticket } = self.get_mut();
            let wants = Wants(&publisher.outlet, Deadline::within(None));
            let ready = reactor.poll(cx, ticket, || wants.look(0));
            if ready.is_pending() {
                // A subscriber that takes a message wakes it, until it is asked again.
                std::mem::forget(wants);
            }
            ready
        }

        fn start_send(self: Pin<&mut Self>, value: T::Owned) -> Result<(), Error> {
            self.publisher.send(value.borrow())
        }

        fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
            Poll::Ready(Ok(()))
        }

        fn poll_close(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
            Poll::Ready(Ok(()))
        }
    }
}

impl<W, T: ?Sized> Unpin for Publisher<W, T> {}
