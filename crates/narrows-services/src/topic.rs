//! Topics of a node: what a publisher is made of.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::{Rc, Weak};
use std::time::Duration;

use narrows::memory::queue_words;
use narrows::platform::Memory as _;
use narrows_host::Exposed;

use crate::error::Error;
use crate::events::Count;
use crate::join::{MOST_SLOTS, Source};
use crate::node::{Node, open_port};
use crate::outlet::{Inner, Outlet};
use crate::publisher::Publisher;
use crate::signature::{check_description, name_of};
use crate::stock::{LINE, Stock};
use crate::typed::{Payload, described, hash};

/// How deep a subscriber's queue may be, however few slots there are at first.
const DEEP: u32 = 256;
/// Bytes that the messages of a topic may take where nothing is said. Addresses are kept for them,
/// of which smaller machines have fewer.
const LIMIT: u32 = if usize::BITS >= 64 { 256 << 20 } else { 8 << 20 };

/// A topic to publish, if its publisher is to be other than [`Node::publisher`] makes it.
#[must_use]
pub struct Topic {
    node: Node,
    name: String,
    slots: u32,
    subscribers: u32,
    history: u32,
    longest: usize,
    limit: u32,
    patience: Option<Duration>,
}

/// Topics of this node.
impl Node {
    /// A topic to publish, if its publisher is to be other than [`Node::publisher`] makes it.
    pub fn topic(&self, name: &str) -> Topic {
        Topic {
            node: self.clone(),
            name: name.to_owned(),
            slots: 32,
            subscribers: 16,
            history: 0,
            longest: 1024,
            limit: LIMIT,
            patience: None,
        }
    }

    /// Publishes values of a type under this name.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn publisher<T: Payload + ?Sized>(&self, topic: &str) -> Result<Publisher<T>, Error> {
        self.topic(topic).publisher()
    }
}

impl Topic {
    /// For how many messages there is memory at first, 1 to 65536: those that are lent, those that
    /// wait to be taken, and one more. As deep may a subscriber's queue be, or 256.
    pub fn slots(mut self, count: u32) -> Topic {
        self.slots = count;
        self
    }

    /// How many subscribers there may be at a time.
    pub fn subscribers(mut self, count: u32) -> Topic {
        self.subscribers = count;
        self
    }

    /// How many of the latest messages are kept for subscribers that join later.
    pub fn history(mut self, count: u32) -> Topic {
        self.history = count;
        self
    }

    /// For how many values in a message there is memory at first, where their number differs from
    /// message to message. Longer messages get memory when they come, up to [`Topic::limit`].
    pub fn longest(mut self, values: usize) -> Topic {
        self.longest = values;
        self
    }

    /// How many bytes the messages may take in all, 256 MiB where nothing is said (8 MiB where
    /// addresses have 32 bits), 1 GiB at most. There are more slots, or longer ones, when messages
    /// or subscribers need them. With 0 it stays at what [`Topic::slots`] and [`Topic::longest`]
    /// say.
    pub fn limit(mut self, bytes: u32) -> Topic {
        self.limit = bytes;
        self
    }

    /// How long a message waits for subscribers that are to miss none; without an end if there is
    /// none.
    pub fn patience(mut self, patience: Option<Duration>) -> Topic {
        self.patience = patience;
        self
    }

    /// Publishes it.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn publisher<T: Payload + ?Sized>(self) -> Result<Publisher<T>, Error> {
        let longest = T::longest(self.longest);
        let outlet = self.outlet(&described::<T>(), longest)?;
        Ok(Publisher { outlet, of: PhantomData })
    }

    /// The same without its type, which `types` describes and which has at most `longest` bytes.
    ///
    /// # Errors
    /// See [`Error`].
    #[doc(hidden)]
    pub fn outlet(self, types: &str, longest: usize) -> Result<Rc<Outlet>, Error> {
        let name = name_of(&self.name)?;
        check_description(types)?;
        let too_large = || Error::Size(self.name.clone());
        let size = u32::try_from(longest).map_err(|_| too_large())?;
        let size = size.max(1).checked_next_multiple_of(LINE).ok_or_else(too_large)?;
        if self.slots == 0 || self.slots > MOST_SLOTS || self.history >= self.slots {
            return Err(Error::Slots(self.name, self.slots));
        }
        let queue = 4 * queue_words(self.slots.next_power_of_two().max(DEEP));
        let queues = self.subscribers.checked_mul(queue);
        let queues = queues.and_then(|bytes| bytes.checked_next_multiple_of(LINE));
        let queues = queues.ok_or_else(too_large)?;
        let slots = self.slots.checked_mul(size).ok_or_else(too_large)?;
        let first = slots.checked_add(queues).filter(|bytes| *bytes <= Exposed::LARGEST);
        let first = first.ok_or_else(too_large)?;
        let most = slots.max(self.limit).saturating_add(queues).min(Exposed::LARGEST);
        // All at once, so that every subscriber can read what comes later. Where there is not as
        // much memory as that, the topic does not grow.
        let memory = Exposed::new(most).or_else(|_| Exposed::new(first));
        let memory = memory.map_err(|error| Error::Memory(self.name.clone(), error.to_string()))?;
        if self.node.has(&name)? {
            return Err(Error::Offered(self.name));
        }
        let mut below = self.node.below()?;
        let other = Source::all(&below, &name).into_iter().find(|other| other.types != types);
        if let Some(Source { of, types: there, .. }) = other {
            let (service, node, here) = (self.name, of.to_string(), types.to_owned());
            return Err(Error::Types { service, node, there, here });
        }
        let port = open_port(&mut below)?;
        below.platform().offer(&name, &Source::text(types, port)).map_err(Error::Offer)?;
        drop(below);
        let end = memory.region().size();
        let stock = Stock::new((self.slots, size), (queues, end), self.history as usize);
        let subscribers = (0..self.subscribers).map(|_| None).collect();
        let inner = Inner { subscribers, stock, until: 0, memory, lent: false };
        let outlet = Rc::new(Outlet {
            count: Count::new("published", &name),
            queue,
            slots: self.slots,
            types: hash(types),
            history: self.history,
            patience: self.patience,
            name,
            port,
            inner: RefCell::new(inner),
            node: self.node,
        });
        let published: Weak<Outlet> = Rc::downgrade(&outlet);
        outlet.node.publishes(published);
        Ok(outlet)
    }
}
