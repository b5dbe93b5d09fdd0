//! A subscriber without its type: it finds the publisher, and takes what that publishes.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use narrows::endpoint::Port;
use narrows::link::Name;
use narrows::memory::{self, MAX_HOLDS, Terms};
use narrows_host::full_fence;

use crate::deadline::Deadline;
use crate::error::Error;
use crate::events::{self, Count, What};
use crate::join::{Answer, MOST_SLOTS, Said, Shown};
use crate::node::{Node, open_port};
use crate::sample::{Joined, Taken};
use crate::seek::{LONGEST, Seek};
use crate::signature::{check_description, name_of};

/// Looks in vain after which is looked whether the publisher is there.
const SEE_TO: u32 = 64;

/// See the module page.
pub struct Reader {
    node: Node,
    name: Name,
    port: Port,
    seek: RefCell<Seek>,
    joined: RefCell<Option<Rc<Joined>>>,
    /// Looks in vain.
    vain: Cell<u32>,
    /// What the next look says.
    failed: Cell<Option<Error>>,
    count: Count,
}

impl Reader {
    /// One of a topic of types that are described so, which it has not found yet.
    ///
    /// # Errors
    /// See [`Error`].
    pub(crate) fn new(
        node: Node,
        topic: String,
        types: String,
        terms: Terms,
        history: u32,
    ) -> Result<Reader, Error> {
        let name = name_of(&topic)?;
        check_description(&types)?;
        if !(1..=MAX_HOLDS).contains(&terms.holds) || terms.depth > MOST_SLOTS {
            return Err(Error::Terms(topic));
        }
        let history = history.min(terms.depth);
        let port = open_port(&mut *node.below()?)?;
        let seek = RefCell::new(Seek::new(node.clone(), name, types, port, terms, history));
        let (joined, vain, failed) = (RefCell::new(None), Cell::new(0), Cell::new(None));
        let count = Count::new("taken", &name);
        Ok(Reader { node, name, port, seek, joined, vain, failed, count })
    }

    /// Waits until it has found its topic.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn join(&self, within: Option<Duration>) -> Result<(), Error> {
        let deadline = Deadline::within(within);
        while !self.is_joined()? {
            if deadline.is_over() {
                return Err(self.not_found());
            }
            self.node.below()?.wait_any(self.left(deadline));
        }
        Ok(())
    }

    /// Takes the next message, if there is one.
    ///
    /// # Errors
    /// See [`Error`]: [`Error::Gone`] once if the publisher has gone.
    #[inline]
    pub fn take(&self) -> Result<Option<Taken>, Error> {
        let joined = self.joined.try_borrow().map_err(|_| Error::Busy)?;
        if let Some(joined) = joined.as_ref() {
            let mut queue = joined.queue.borrow_mut();
            let taken = queue.take(full_fence).map_err(|_| Error::Holds(self.topic()))?;
            let wanted = taken.is_some() && queue.is_wanted(full_fence);
            drop(queue);
            if wanted {
                joined.wake();
            }
            if let Some(sample) = taken {
                self.count.add();
                return self.checked(joined, sample).map(Some);
            }
        }
        drop(joined);
        self.nothing()
    }

    /// What a publisher named, if it is in its memory.
    #[inline]
    fn checked(&self, joined: &Rc<Joined>, sample: memory::Sample) -> Result<Taken, Error> {
        let Shown { slots, count, size, .. } = joined.shown;
        let [len, _] = sample.words;
        if sample.slot >= count || len > size {
            joined.queue.borrow_mut().give_back(sample);
            return Err(Error::Length(self.topic()));
        }
        // Below the end of the region, as was found when it was mapped.
        let at = slots.wrapping_add(sample.slot.wrapping_mul(size));
        Ok(Taken { joined: Rc::clone(joined), sample, at, len })
    }

    #[cold]
    fn nothing(&self) -> Result<Option<Taken>, Error> {
        self.vain.set(self.vain.get().wrapping_add(1));
        let ended = self.joined.borrow().as_ref().is_none_or(|joined| joined.ended.get());
        if ended || self.vain.get().is_multiple_of(SEE_TO) {
            self.see_to()?;
        }
        self.failed.take().map_or(Ok(None), Err)
    }

    /// Sees to what is not in the queue: whether the publisher is there, and where it is not, the
    /// next.
    ///
    /// # Errors
    /// [`Error::Busy`].
    fn see_to(&self) -> Result<(), Error> {
        let joined = self.joined.borrow().clone();
        let Some(joined) = joined else {
            return match self.seek.borrow_mut().step() {
                Ok(made) => {
                    if made.is_some() {
                        events::tell(What::Joined, &self.name);
                    }
                    *self.joined.borrow_mut() = made.map(Rc::new);
                    Ok(())
                }
                Err(Error::Busy) => Err(Error::Busy),
                Err(error) => {
                    events::tell(What::Refused, &self.name);
                    self.failed.set(Some(error));
                    Ok(())
                }
            };
        };
        let mut node = self.node.below()?;
        node.poll();
        let mut bytes = [0; LONGEST];
        while let Ok(Some(message)) = node.try_receive_into(self.port, &mut bytes) {
            let ended = Answer { note: joined.note.place(), said: Said::Ended };
            if message.from == joined.publisher
                && Answer::decode(message.bytes(&bytes)) == Some(ended)
            {
                joined.ended.set(true);
            }
        }
        if node.link(joined.publisher.link).check().is_err() {
            joined.ended.set(true);
        }
        drop(node);
        // Asked last: what it had published before it ended is there by now.
        if joined.ended.get() && joined.queue.borrow().is_empty() {
            self.joined.borrow_mut().take();
            joined.leave();
            self.seek.borrow_mut().restart();
            events::tell(What::Lost, &self.name);
            self.failed.set(Some(Error::Gone(self.topic())));
        }
        Ok(())
    }

    /// Whether there is a queue.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn is_joined(&self) -> Result<bool, Error> {
        self.see_to()?;
        self.failed.take().map_or_else(|| Ok(self.joined.borrow().is_some()), Err)
    }

    /// How much time is left until there is something to do whatever comes, or until the deadline.
    pub(crate) fn left(&self, deadline: Deadline) -> Option<Duration> {
        deadline.left().into_iter().chain(self.due_in()).min()
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// Waits for the next message, and takes it.
    ///
    /// # Errors
    /// See [`Error`]: [`Error::Gone`] once if the publisher has gone and all that it had published
    /// is taken; [`Error::NotFound`] if there is none in time.
    pub fn receive(&self, within: Option<Duration>) -> Result<Taken, Error> {
        let deadline = Deadline::within(within);
        loop {
            if let Some(sample) = self.take()? {
                return Ok(sample);
            }
            if self.is_ready()? {
                continue;
            }
            if deadline.is_over() {
                let joined = self.joined.borrow().is_some();
                let why = if joined { Error::Nothing } else { Error::NotFound };
                return Err(why(self.topic()));
            }
            self.node.below()?.wait_any(self.left(deadline));
        }
    }

    /// Messages that were lost, because they were not taken in time.
    #[must_use]
    pub fn lost(&self) -> u32 {
        self.joined.borrow().as_ref().map_or(0, |joined| joined.queue.borrow().lost())
    }

    pub(crate) fn not_found(&self) -> Error {
        Error::NotFound(self.topic())
    }

    /// Is woken by no message.
    pub(crate) fn disarm(&self) {
        if let Some(joined) = self.joined.borrow().as_ref() {
            joined.queue.borrow().disarm();
        }
    }

    fn topic(&self) -> String {
        self.name.to_string()
    }

    /// Whether there is something for [`Reader::take`], be it an error. If not, the node is woken
    /// by what comes, or there is [something to do](Reader::due_in) after a while.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn is_ready(&self) -> Result<bool, Error> {
        if let Some(joined) = self.joined.borrow().as_ref() {
            let queue = joined.queue.borrow();
            queue.disarm();
            if !queue.is_empty() {
                return Ok(true);
            }
        }
        self.see_to()?;
        let failed = self.failed.take();
        let ready = failed.is_some();
        self.failed.set(failed);
        let joined = self.joined.borrow();
        Ok(ready || joined.as_ref().is_some_and(|joined| !joined.queue.borrow().arm(full_fence)))
    }

    /// How long until there is something to do whatever comes, if it is.
    #[must_use]
    pub fn due_in(&self) -> Option<Duration> {
        let seeks = self.joined.borrow().is_none();
        seeks.then(|| self.seek.borrow().due().saturating_duration_since(Instant::now()))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(joined) = self.joined.get_mut() {
            joined.leave();
        }
    }
}
