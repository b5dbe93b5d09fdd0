//! What others publish: found by name, and read where it is.

use std::marker::PhantomData;
use std::time::Duration;

use narrows::memory::{Overflow, Terms};

use crate::error::Error;
use crate::node::Node;
use crate::reader::Reader;
use crate::sample::Sample;
use crate::typed::{Payload, described};

/// How long a topic is waited for where nothing is said.
const PATIENCE: Duration = Duration::from_secs(5);

/// A topic to subscribe to, if its subscriber is to be other than [`Node::subscriber`] makes it.
#[must_use]
pub struct Subscribe {
    node: Node,
    topic: String,
    terms: Terms,
    history: u32,
    publishers: usize,
    patience: Option<Duration>,
}

/// What others publish.
impl Node {
    /// A topic to subscribe to, if its subscriber is to be other than [`Node::subscriber`] makes
    /// it.
    pub fn subscribe(&self, topic: &str) -> Subscribe {
        Subscribe {
            node: self.clone(),
            topic: topic.to_owned(),
            terms: Terms { depth: 8, holds: 2, overflow: Overflow::DropOldest },
            history: 0,
            publishers: 16,
            patience: Some(PATIENCE),
        }
    }

    /// Subscribes to a topic, which may be published later: this waits for it, 5 s at most. Of
    /// messages that it does not take in time the oldest are lost.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn subscriber<T: Payload + ?Sized>(&self, topic: &str) -> Result<Subscriber<T>, Error> {
        self.subscribe(topic).subscriber()
    }
}

impl Subscribe {
    /// How many messages may wait to be taken, rounded up to a power of two. With a queue of 1
    /// there is the latest message alone.
    pub fn depth(mut self, messages: u32) -> Subscribe {
        self.terms.depth = messages.max(1).checked_next_power_of_two().unwrap_or(u32::MAX);
        self
    }

    /// How many messages may be kept at a time after they were taken, 1 to 15.
    pub fn holds(mut self, messages: u32) -> Subscribe {
        self.terms.holds = messages;
        self
    }

    /// What becomes of a message for which the queue has no room.
    pub fn overflow(mut self, overflow: Overflow) -> Subscribe {
        self.terms.overflow = overflow;
        self
    }

    /// How many messages are wanted that were published before, as far as the publisher keeps them
    /// and the queue has room.
    pub fn history(mut self, messages: u32) -> Subscribe {
        self.history = messages;
        self
    }

    /// How many publishers are heard at a time, 1 to 64. Depth, holds and history are for each.
    pub fn publishers(mut self, count: usize) -> Subscribe {
        self.publishers = count;
        self
    }

    /// How long the topic is waited for; without an end if there is none.
    pub fn patience(mut self, patience: Option<Duration>) -> Subscribe {
        self.patience = patience;
        self
    }

    /// Subscribes. Waits until the topic is there.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn subscriber<T: Payload + ?Sized>(self) -> Result<Subscriber<T>, Error> {
        let patience = self.patience;
        let subscriber = self.begin::<T>()?;
        subscriber.reader.join(patience)?;
        Ok(subscriber)
    }

    pub(crate) fn patient(&self) -> Option<Duration> {
        self.patience
    }

    /// A subscriber that has not found its topic yet.
    pub(crate) fn begin<T: Payload + ?Sized>(self) -> Result<Subscriber<T>, Error> {
        Ok(Subscriber { reader: self.reader(described::<T>())?, of: PhantomData })
    }

    /// A subscriber without its type, which `types` describes. It has not found its topic yet.
    ///
    /// # Errors
    /// See [`Error`].
    #[doc(hidden)]
    pub fn reader(self, types: String) -> Result<Reader, Error> {
        let Subscribe { node, topic, terms, history, publishers, .. } = self;
        Reader::new(node, &topic, types, terms, (history, publishers))
    }
}

/// Takes what is published of a topic by all that publish it, those that come later too: of each in
/// turn, and in the order in which it was published by that one. Where all publishers have gone,
/// [`Subscriber::take`] and [`Subscriber::receive`] say so once, when all that they had published
/// is taken, and look for others from then on.
pub struct Subscriber<T: ?Sized> {
    pub(crate) reader: Reader,
    of: PhantomData<fn() -> Box<T>>,
}

impl<T: Payload + ?Sized> Subscriber<T> {
    /// Takes the next message, if there is one.
    ///
    /// # Errors
    /// See [`Error`]: [`Error::Gone`] once if all publishers have gone.
    #[inline]
    pub fn take(&self) -> Result<Option<Sample<T>>, Error> {
        Ok(self.reader.take()?.map(Sample::new))
    }

    /// Waits for the next message, and takes it.
    ///
    /// # Errors
    /// See [`Error`]: [`Error::Gone`] once if all publishers have gone and all that they had
    /// published is taken. In time there was no publisher: [`Error::NotFound`]; or there was one
    /// that published nothing: [`Error::Nothing`].
    #[inline]
    pub fn receive(&self, within: Option<Duration>) -> Result<Sample<T>, Error> {
        self.reader.receive(within).map(Sample::new)
    }

    /// How many publishers it hears.
    #[must_use]
    pub fn publishers(&self) -> usize {
        self.reader.publishers()
    }

    /// Messages that were lost, because they were not taken in time.
    #[must_use]
    pub fn lost(&self) -> u32 {
        self.reader.lost()
    }
}
