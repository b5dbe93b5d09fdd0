//! What others publish: found by name, and read where it is.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use narrows::endpoint::{Address, Port};
use narrows::link::Name;
use narrows::memory::{self, NOTE_WORDS, Overflow, Subscription, Terms, queue_words};
use narrows::platform::Memory as _;
use narrows_host::{Exposed, full_fence};

use crate::deadline::Deadline;
use crate::error::Error;
use crate::join::{Answer, Join, Refusal, Shown, Wish};
use crate::node::{Node, open_port};
use crate::sample::{Joined, Sample};
use crate::signature::name_of;
use crate::typed::{Payload, described, hash};

/// How long a topic is waited for where nothing is said.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked whether it is there.
const LOOK: Duration = Duration::from_millis(10);
/// How long a publisher has to let a subscriber in before it is asked again.
const ANSWER: Duration = Duration::from_millis(200);
/// Looks in vain after which is looked whether the publisher is there.
const SEE_TO: u32 = 64;

/// A topic to subscribe to, if its subscriber is to be other than [`Node::subscriber`] makes it.
#[must_use]
pub struct Subscribe {
    node: Node,
    topic: String,
    terms: Terms,
    history: u32,
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

    /// How many messages are wanted that were published before, as far as the publisher keeps them.
    pub fn history(mut self, messages: u32) -> Subscribe {
        self.history = messages;
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
        let name = name_of(&self.topic)?;
        let port = open_port(&mut *self.node.below()?)?;
        let (joined, vain) = (RefCell::new(None), Cell::new(0));
        let of = PhantomData;
        let subscriber =
            Subscriber { wish: self, name, types: described::<T>(), port, joined, vain, of };
        subscriber.join(subscriber.wish.patience)?;
        Ok(subscriber)
    }
}

/// Takes what is published of a topic. Where the publisher has gone, [`Subscriber::receive`] says
/// so once, and waits for the next then.
pub struct Subscriber<T: ?Sized> {
    wish: Subscribe,
    name: Name,
    types: String,
    port: Port,
    joined: RefCell<Option<Rc<Joined>>>,
    vain: Cell<u32>,
    of: PhantomData<fn() -> Box<T>>,
}

impl<T: Payload + ?Sized> Subscriber<T> {
    /// Takes the next message, if there is one.
    ///
    /// # Errors
    /// See [`Error`].
    #[inline]
    pub fn take(&self) -> Result<Option<Sample<T>>, Error> {
        let joined = self.joined.try_borrow().map_err(|_| Error::Busy)?;
        let Some(joined) = joined.as_ref() else { return Err(Error::Gone(self.topic())) };
        let taken = {
            let mut queue = joined.queue.borrow_mut();
            queue.take(full_fence).map_err(|_| Error::Holds(self.topic()))?
        };
        match taken {
            Some(sample) => self.checked(joined, sample).map(Some),
            None => self.nothing(joined),
        }
    }

    /// What a publisher named, if it is in its memory.
    #[inline]
    fn checked(&self, joined: &Rc<Joined>, sample: memory::Sample) -> Result<Sample<T>, Error> {
        let Shown { slots, count, size, .. } = joined.shown;
        let [len, _] = sample.words;
        if sample.slot >= count || len > size {
            joined.queue.borrow_mut().give_back(sample);
            return Err(Error::Length(self.topic()));
        }
        // Below the end of the region, as was found when it was mapped.
        let at = slots.wrapping_add(sample.slot.wrapping_mul(size));
        Ok(Sample { joined: Rc::clone(joined), sample, at, len, of: PhantomData })
    }

    #[cold]
    fn nothing(&self, joined: &Joined) -> Result<Option<Sample<T>>, Error> {
        self.vain.set(self.vain.get().wrapping_add(1));
        if self.vain.get().is_multiple_of(SEE_TO) {
            self.see_to(joined)?;
        }
        Ok(None)
    }

    /// Takes what woke this node, and looks whether the publisher is there.
    fn see_to(&self, joined: &Joined) -> Result<(), Error> {
        let mut node = self.wish.node.below()?;
        node.poll();
        while let Ok(Some(_)) = node.try_receive_into(self.port, &mut [0; 128]) {}
        let there = node.link(joined.publisher.link).check();
        there.map_err(|_| Error::Gone(self.topic()))
    }

    /// Waits for the next message, and takes it.
    ///
    /// # Errors
    /// See [`Error`]: [`Error::Gone`] once if the publisher has gone and all that it had published
    /// is taken; [`Error::NotFound`] if there is none in time.
    pub fn receive(&self, within: Option<Duration>) -> Result<Sample<T>, Error> {
        let deadline = Deadline::within(within);
        if self.joined.borrow().is_none() {
            self.join(deadline.left())?;
        }
        loop {
            if let Some(sample) = self.take()? {
                return Ok(sample);
            }
            let joined = self.joined.borrow().clone();
            let Some(joined) = joined else { return Err(Error::Gone(self.topic())) };
            if deadline.is_over() {
                return Err(Error::Nothing(self.topic()));
            }
            let sleeps = joined.queue.borrow().arm(full_fence);
            if sleeps {
                self.wish.node.below()?.wait_any(deadline.left());
            }
            joined.queue.borrow().disarm();
            if let Err(error) = self.see_to(&joined)
                && joined.queue.borrow().is_empty()
            {
                self.leave();
                return Err(error);
            }
        }
    }

    /// Messages that were lost, because they were not taken in time.
    #[must_use]
    pub fn lost(&self) -> u32 {
        self.joined.borrow().as_ref().map_or(0, |joined| joined.queue.borrow().lost())
    }

    fn topic(&self) -> String {
        self.name.to_string()
    }

    /// Looks for the publisher, and has it make a queue.
    #[cold]
    fn join(&self, within: Option<Duration>) -> Result<(), Error> {
        let deadline = Deadline::within(within);
        loop {
            if let Some(publisher) = self.find(deadline.left())?
                && self.ask(publisher, deadline.left_of(ANSWER))?
            {
                return Ok(());
            }
            if deadline.is_over() {
                return Err(Error::NotFound(self.topic()));
            }
            let mut node = self.wish.node.below()?;
            node.wait_any(Some(deadline.left_of(LOOK)));
            node.poll();
        }
    }

    /// The port of the publisher, if there is one.
    fn find(&self, within: Option<Duration>) -> Result<Option<Address>, Error> {
        let mut node = self.wish.node.below()?;
        for offer in node.platform().offers() {
            let Some(text) = offer.text.strip_prefix("publish ") else { continue };
            let Some((types, port)) = text.rsplit_once(' ') else { continue };
            if offer.service != self.name {
                continue;
            }
            if types != self.types {
                return Err(Error::Types {
                    service: self.topic(),
                    node: offer.node.to_string(),
                    there: types.to_owned(),
                    here: self.types.clone(),
                });
            }
            let Ok(port) = port.parse() else { continue };
            let link = node.hunt(&offer.node, within).map_err(|e| Error::Link(self.topic(), e))?;
            return Ok(Some(Address { link, port }));
        }
        Ok(None)
    }

    /// Asks a publisher for a queue. False if it does not answer.
    fn ask(&self, publisher: Address, within: Duration) -> Result<bool, Error> {
        let failed = |error: std::io::Error| Error::Memory(self.topic(), error.to_string());
        let note = Exposed::new(4096).map_err(failed)?;
        let (terms, history) = (self.wish.terms, self.wish.history);
        let types = hash(&self.types);
        let wish = Wish::Join(Join { types, terms, history, note: note.place() });
        let mut node = self.wish.node.below()?;
        while let Ok(Some(_)) = node.try_receive_into(self.port, &mut [0; 128]) {}
        let within = Some(within);
        if node.send(self.port, publisher, &wish.encode(), within).is_err() {
            return Ok(false);
        }
        let mut bytes = [0; 128];
        let Ok(answer) = node.receive_into(self.port, &mut bytes, within) else { return Ok(false) };
        drop(node);
        let refused = |why| Err(Error::Refused(self.topic(), why));
        let shown = match Answer::decode(answer.bytes(&bytes)) {
            Some(Answer::Joined(shown)) if answer.from == publisher => shown,
            Some(Answer::Refused(why)) => return refused(why),
            _ => return Ok(false),
        };
        let region = shown.place.map().map_err(failed)?;
        let slots = shown.count.checked_mul(shown.size);
        let end = slots.and_then(|slots| slots.checked_add(shown.slots));
        if end.is_none_or(|end| end > region.size()) {
            return refused(Refusal::Memory);
        }
        let queue = region.words(shown.queue, queue_words(terms.depth));
        let own = note.region().words(0, NOTE_WORDS);
        let (Ok(queue), Ok(own)) = (queue, own) else { return refused(Refusal::Memory) };
        let queue = RefCell::new(Subscription::new(queue, own, terms));
        let joined = Joined { topic: self.name, publisher, region, queue, shown, _note: note };
        *self.joined.borrow_mut() = Some(Rc::new(joined));
        Ok(true)
    }

    fn leave(&self) {
        self.joined.borrow_mut().take();
    }
}

impl<T: ?Sized> Drop for Subscriber<T> {
    fn drop(&mut self) {
        let publisher = self.joined.borrow().as_ref().map(|joined| joined.publisher);
        if let (Some(publisher), Ok(mut node)) = (publisher, self.wish.node.below()) {
            // If there is no room for it, the publisher finds out when the link ends.
            let _ = node.try_send(self.port, publisher, &Wish::Leave.encode());
            let _ = node.close(self.port);
        }
    }
}
