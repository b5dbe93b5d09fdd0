//! Messages that are awaited.

use std::rc::Rc;
use std::time::Duration;

use crate::asynchronous::Watch;
use crate::asynchronous::reactor::{Look, Reactor};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::parked::Ticket;
use crate::reader::Reader;
use crate::sample::Sample;
use crate::subscriber;
use crate::typed::Payload;

/// Receives what is published of a topic. With the feature `futures` it is a stream, which says
/// when all publishers have gone, and goes on with the next.
pub struct Subscriber<W, T: ?Sized> {
    reactor: Rc<Reactor<W>>,
    subscriber: subscriber::Subscriber<T>,
    /// The place of the task that has it as a stream.
    #[cfg_attr(not(feature = "futures"), expect(dead_code))]
    pub(super) ticket: Ticket,
}

pub(super) async fn subscriber<W, T>(
    reactor: Rc<Reactor<W>>,
    subscriber: subscriber::Subscriber<T>,
    patience: Option<Duration>,
) -> Result<Subscriber<W, T>, Error>
where
    W: Watch,
    T: Payload + ?Sized,
{
    let deadline = Deadline::within(patience);
    let reader = &subscriber.reader;
    let joined = reactor.wait(|| {
        if reader.is_joined()? {
            return Ok(Look::Done(()));
        }
        if deadline.is_over() {
            return Err(reader.not_found());
        }
        Ok(Look::Again(reader.left(deadline)))
    });
    joined.await?;
    let ticket = reactor.ticket();
    Ok(Subscriber { reactor, subscriber, ticket })
}

/// A task that waits for messages. Dropped, it is woken by none.
struct Armed<'a>(&'a Reader);

impl Drop for Armed<'_> {
    fn drop(&mut self) {
        self.0.disarm();
        // Another that waits for this subscriber arms it again.
        self.0.node().parked().wake_all();
    }
}

fn look<T>(subscriber: &subscriber::Subscriber<T>) -> Result<Look<Sample<T>>, Error>
where
    T: Payload + ?Sized,
{
    let reader = &subscriber.reader;
    while reader.is_ready()? {
        if let Some(sample) = subscriber.take()? {
            return Ok(Look::Done(sample));
        }
    }
    Ok(Look::Again(reader.due_in()))
}

impl<W: Watch, T: Payload + ?Sized> Subscriber<W, T> {
    /// The next message. If this is dropped, the message is received by the next.
    ///
    /// # Errors
    /// As [`crate::Subscriber::receive`].
    pub async fn receive(&self) -> Result<Sample<T>, Error> {
        let _armed = Armed(&self.subscriber.reader);
        self.reactor.wait(|| look(&self.subscriber)).await
    }

    /// The subscriber as other programs have it.
    #[must_use]
    pub fn blocking(&self) -> &subscriber::Subscriber<T> {
        &self.subscriber
    }
}

#[cfg(feature = "futures")]
impl<W: Watch, T: Payload + ?Sized> futures_core::Stream for Subscriber<W, T> {
    type Item = Result<Sample<T>, Error>;

    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        let own = self.get_mut();
        let Subscriber { reactor, subscriber, ticket } = own;
        reactor.poll(cx, ticket, || look(subscriber)).map(Some)
    }
}

impl<W, T: ?Sized> Unpin for Subscriber<W, T> {}
