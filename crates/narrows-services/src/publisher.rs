//! Messages for whoever subscribes: each is written once, and lent to all.

use std::cell::{RefCell, RefMut};
use std::marker::PhantomData;
use std::time::Duration;

use narrows::endpoint::{Address, Port};
use narrows::link::Name;
use narrows::memory::{Delivery, NOTE_WORDS, Overflow, Terms, queue_words};
use narrows::platform::{Memory as _, OwnMemory as _, Platform as _};
use narrows_host::{Exposed, Host, full_fence};

use crate::deadline::Deadline;
use crate::error::Error;
use crate::join::{Answer, Join, MOST_SLOTS, Refusal, Shown, Wish};
use crate::node::{Node, open_port};
use crate::signature::name_of;
use crate::stock::{Stock, Subscriber};
use crate::typed::{Payload, described, hash};

/// Bytes to which slots are aligned.
const LINE: u32 = Host::LINE;
/// How often is looked whether a subscriber has taken something that has to.
const LOOK: Duration = Duration::from_micros(100);
/// Messages after which a publisher looks for subscribers that come and go.
const SEE_TO: u32 = 32;

/// A topic to publish, if its publisher is to be other than [`Node::publisher`] makes it.
#[must_use]
pub struct Topic {
    node: Node,
    name: String,
    slots: u32,
    subscribers: u32,
    history: u32,
    longest: usize,
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
    /// How many messages lie in memory at a time, 1 to 65536: those that are lent, those that wait
    /// to be taken, and one more.
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

    /// How many values a message has at most whose number differs from message to message.
    pub fn longest(mut self, values: usize) -> Topic {
        self.longest = values;
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
        let name = name_of(&self.name)?;
        let types = described::<T>();
        let too_large = || Error::Size(self.name.clone());
        let size = u32::try_from(T::longest(self.longest)).map_err(|_| too_large())?;
        let size = size.max(1).checked_next_multiple_of(LINE).ok_or_else(too_large)?;
        if self.slots == 0 || self.slots > MOST_SLOTS || self.history >= self.slots {
            return Err(Error::Slots(self.name, self.slots));
        }
        let queue = 4 * queue_words(self.slots.next_power_of_two());
        let queues = self.subscribers.checked_mul(queue);
        let queues = queues.and_then(|bytes| bytes.checked_next_multiple_of(LINE));
        let queues = queues.ok_or_else(too_large)?;
        let bytes = self.slots.checked_mul(size).and_then(|slots| slots.checked_add(queues));
        let memory = Exposed::new(bytes.ok_or_else(too_large)?)
            .map_err(|error| Error::Memory(self.name.clone(), error.to_string()))?;
        let mut below = self.node.below()?;
        if below
            .platform()
            .offers()
            .iter()
            .any(|offer| offer.service == name && offer.text.starts_with("publish "))
        {
            return Err(Error::Offered(self.name));
        }
        let port = open_port(&mut below)?;
        let text = format!("publish {types} {port}");
        below.platform().offer(&name, &text).map_err(Error::Offer)?;
        drop(below);
        let stock = Stock::new(self.slots as usize, self.history as usize);
        let subscribers = (0..self.subscribers).map(|_| None).collect();
        let inner = Inner { subscribers, stock, until: 0, memory };
        Ok(Publisher {
            queue,
            slots_at: queues,
            size,
            types: hash(&types),
            topic: self,
            name,
            port,
            inner: RefCell::new(inner),
            of: PhantomData,
        })
    }
}

pub(crate) struct Inner {
    subscribers: Vec<Option<Subscriber>>,
    pub(crate) stock: Stock,
    /// Messages until it is seen to subscribers that come and go.
    until: u32,
    pub(crate) memory: Exposed,
}

/// Publishes values of type `T` to all that subscribe. Subscribers are let in by its calls: one
/// that publishes seldom calls [`Publisher::attend`] now and then.
pub struct Publisher<T: ?Sized> {
    topic: Topic,
    name: Name,
    port: Port,
    types: u32,
    /// Bytes of a queue, where the slots begin, and bytes of each.
    queue: u32,
    slots_at: u32,
    size: u32,
    inner: RefCell<Inner>,
    of: PhantomData<fn(&T)>,
}

impl<T: Payload + ?Sized> Publisher<T> {
    /// Publishes a value. Waits for subscribers that are to miss none.
    ///
    /// # Errors
    /// See [`Error`]; nothing was published.
    pub fn send(&self, value: &T) -> Result<(), Error> {
        let bytes = value.bytes();
        let mut inner = self.inner()?;
        let slot = self.lend(&mut inner, bytes.len())?;
        if inner.memory.region().write(self.place(slot), bytes).is_err() {
            inner.stock.put_back(slot);
            return Err(self.size_error());
        }
        self.publish(&mut inner, slot, bytes.len())
    }

    /// How many subscribe.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn subscribers(&self) -> Result<usize, Error> {
        Ok(self.inner()?.subscribers.iter().flatten().count())
    }

    /// Lets in who wants to subscribe, and lets go who is gone.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn attend(&self) -> Result<(), Error> {
        self.attend_in(&mut *self.inner()?)
    }

    pub(crate) fn size_error(&self) -> Error {
        Error::Size(self.topic.name.clone())
    }

    pub(crate) fn inner(&self) -> Result<RefMut<'_, Inner>, Error> {
        self.inner.try_borrow_mut().map_err(|_| Error::Busy)
    }

    /// Where a slot begins.
    pub(crate) fn place(&self, slot: usize) -> u32 {
        self.slots_at + slot as u32 * self.size
    }

    /// A slot to be written.
    pub(crate) fn lend(&self, inner: &mut Inner, len: usize) -> Result<usize, Error> {
        if len > self.size as usize {
            return Err(self.size_error());
        }
        let mut deadline = None;
        loop {
            if inner.until == 0 {
                self.attend_in(inner)?;
                inner.until = SEE_TO;
            }
            let Inner { subscribers, stock, .. } = &mut *inner;
            let room = subscribers.iter_mut().flatten().all(|Subscriber { queue, .. }| {
                queue.terms().overflow != Overflow::Wait || queue.has_room()
            });
            if room && let Some(slot) = stock.lend(subscribers) {
                inner.until -= 1;
                return Ok(slot);
            }
            inner.until = 0;
            if deadline.get_or_insert_with(|| Deadline::within(self.topic.patience)).is_over() {
                return Err(Error::Full(self.topic.name.clone()));
            }
            self.topic.node.below()?.wait_any(Some(LOOK));
        }
    }

    /// As [`Publisher::attend`], by who has all that is inside.
    fn attend_in(&self, inner: &mut Inner) -> Result<(), Error> {
        let mut node = self.topic.node.below()?;
        node.poll();
        for at in 0..inner.subscribers.len() {
            let link = inner.subscribers.get(at).and_then(Option::as_ref).map(|one| one.at.link);
            if link.is_some_and(|link| node.link(link).check().is_err()) {
                inner.let_go(at);
            }
        }
        let mut bytes = [0; 128];
        while let Ok(Some(message)) = node.try_receive_into(self.port, &mut bytes) {
            let from = message.from;
            match Wish::decode(message.bytes(&bytes)) {
                Some(Wish::Join(join)) => {
                    let answer = match self.let_in(inner, from, join) {
                        Ok(shown) => Answer::Joined(shown),
                        Err(why) => Answer::Refused(why),
                    };
                    // One that has no room for an answer asks again.
                    let _ = node.try_send(self.port, from, &answer.encode());
                }
                Some(Wish::Leave) => inner.let_go_from(from),
                // Nonsense.
                None => {}
            }
        }
        Ok(())
    }

    /// Makes a queue for a subscriber.
    fn let_in(&self, inner: &mut Inner, from: Address, join: Join) -> Result<Shown, Refusal> {
        let Join { types, terms, history, note } = join;
        if types != self.types {
            return Err(Refusal::Types);
        }
        inner.let_go_from(from);
        // What it may keep from being written, beside what the others may and one that is written.
        let wanted = |terms: Terms| match terms.overflow {
            Overflow::DropOldest => terms.holds,
            Overflow::Wait | Overflow::DropNewest => terms.holds + terms.depth,
        };
        let others = inner.subscribers.iter().flatten();
        let taken: u32 = others.map(|other| wanted(other.queue.terms())).sum();
        let history = history.min(self.topic.history);
        let deep = 4 * queue_words(terms.depth) > self.queue;
        if deep || taken + wanted(terms) + self.topic.history + 1 > self.topic.slots {
            return Err(Refusal::Terms);
        }
        let at = inner.subscribers.iter().position(Option::is_none).ok_or(Refusal::Full)?;
        let note = note.map().map_err(|_| Refusal::Memory)?;
        let theirs = note.words(0, NOTE_WORDS).map_err(|_| Refusal::Memory)?;
        let region = inner.memory.region();
        let queue = at as u32 * self.queue;
        // A queue that was another's before begins anew.
        let zeroes = vec![0; 4 * queue_words(terms.depth) as usize];
        region.write(queue, &zeroes).map_err(|_| Refusal::Memory)?;
        let own = region.words(queue, queue_words(terms.depth)).map_err(|_| Refusal::Memory)?;
        let delivery = Delivery::new(own, theirs, terms);
        let mut subscriber = Subscriber { at: from, queue: delivery, _note: note };
        inner.stock.catch_up(at, &mut subscriber, history as usize);
        let shown = Shown {
            place: inner.memory.place(),
            queue,
            slots: self.slots_at,
            count: self.topic.slots,
            size: self.size,
        };
        if let Some(place) = inner.subscribers.get_mut(at) {
            *place = Some(subscriber);
        }
        Ok(shown)
    }

    /// Publishes what a slot has.
    pub(crate) fn publish(&self, inner: &mut Inner, slot: usize, len: usize) -> Result<(), Error> {
        let mut node = self.topic.node.below()?;
        let words = [len as u32, 0];
        let mut with = Vec::with_capacity(inner.subscribers.len());
        for (at, subscriber) in inner.subscribers.iter_mut().enumerate() {
            let Some(Subscriber { queue, .. }) = subscriber else { continue };
            // There was room for each that waits when the slot was lent, and nobody took it since.
            if let Ok(Some(position)) = queue.push(slot as u32, words, full_fence) {
                with.push((at, position));
            }
        }
        inner.stock.published(slot, words, with);
        // Pairs with the fence of a subscriber that goes to sleep.
        full_fence();
        for Subscriber { at, queue, .. } in inner.subscribers.iter().flatten() {
            if queue.is_armed() {
                // Where there is no room for one, others wake it.
                let _ = node.try_send(self.port, *at, &[]);
            }
        }
        Ok(())
    }
}

impl<T: ?Sized> Drop for Publisher<T> {
    fn drop(&mut self) {
        // One that is dropped in the node's own function leaves its note to the node.
        if let Ok(mut node) = self.topic.node.below() {
            node.platform().withdraw(&self.name);
            let _ = node.close(self.port);
        }
    }
}

impl Inner {
    fn let_go(&mut self, at: usize) {
        if let Some(place) = self.subscribers.get_mut(at) {
            *place = None;
            self.stock.forget(at);
        }
    }

    fn let_go_from(&mut self, from: Address) {
        let is = |one: &Option<Subscriber>| one.as_ref().is_some_and(|one| one.at == from);
        if let Some(at) = self.subscribers.iter().position(is) {
            self.let_go(at);
        }
    }
}
