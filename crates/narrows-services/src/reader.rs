//! A subscriber without its type: it finds the publishers, and takes what they publish.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use narrows::link::Name;
use narrows::memory::{self, MAX_HOLDS, Terms};
use narrows::platform::Memory as _;
use narrows_host::full_fence;

use crate::deadline::Deadline;
use crate::error::Error;
use crate::events::{self, Count, What};
use crate::join::MOST_SLOTS;
use crate::node::{Node, open_port};
use crate::sample::{Joined, Taken};
use crate::seek::{Seek, Wish};
use crate::signature::{check_description, name_of};

/// Looks in vain, and looks, after which is seen to whether publishers have come or gone.
const SEE_TO: u32 = 64;
const SEE_TO_ALL_THE_SAME: u32 = 256;
/// The most publishers that can be heard at a time.
const MOST: usize = 64;

/// See the module page.
pub struct Reader {
    node: Node,
    name: Name,
    seek: RefCell<Seek>,
    joined: RefCell<Vec<Rc<Joined>>>,
    /// Whose turn it is.
    turn: Cell<usize>,
    looks: Cell<u32>,
    /// What the next look says.
    failed: Cell<Option<Error>>,
    /// Messages of publishers that have gone that were lost.
    lost: Cell<u32>,
    count: Count,
}

impl Reader {
    /// One of a topic of types that are described so, of which it has not found any publisher yet.
    ///
    /// # Errors
    /// See [`Error`].
    pub(crate) fn new(
        node: Node,
        topic: &str,
        types: String,
        terms: Terms,
        (history, most): (u32, usize),
    ) -> Result<Reader, Error> {
        let name = name_of(topic)?;
        check_description(&types)?;
        let holds = (1..=MAX_HOLDS).contains(&terms.holds);
        if !holds || terms.depth > MOST_SLOTS || !(1..=MOST).contains(&most) {
            return Err(Error::Terms(topic.to_owned()));
        }
        let history = history.min(terms.depth);
        let port = open_port(&mut *node.below()?)?;
        let wish = Wish { topic: name, types, terms, history, most };
        let seek = RefCell::new(Seek::new(node.clone(), port, wish));
        let (joined, turn, looks, lost) = Default::default();
        let (failed, count) = (Cell::new(None), Count::new("taken", &name));
        Ok(Reader { node, name, seek, joined, turn, looks, failed, lost, count })
    }

    /// Waits until it has found a publisher.
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

    /// Takes the next message, if there is one: of each publisher in turn.
    ///
    /// # Errors
    /// See [`Error`]: [`Error::Gone`] once if all publishers have gone.
    #[inline]
    pub fn take(&self) -> Result<Option<Taken>, Error> {
        self.looks.set(self.looks.get().wrapping_add(1));
        if self.looks.get().is_multiple_of(SEE_TO_ALL_THE_SAME) {
            // Where the node is being used, another look does it.
            let _busy = self.see_to();
        }
        let joins = self.joined.try_borrow().map_err(|_| Error::Busy)?;
        let mut full = false;
        let (before, after) = joins.split_at(self.turn.get().min(joins.len()));
        for (at, joined) in (0..).zip(after.iter().chain(before)) {
            let mut queue = joined.queue.borrow_mut();
            let taken = match queue.take(full_fence) {
                Ok(None) => continue,
                Ok(Some(taken)) => taken,
                Err(_) => {
                    full = true;
                    continue;
                }
            };
            let wanted = queue.is_wanted(full_fence);
            drop(queue);
            if wanted {
                joined.wake();
            }
            // The next after this one.
            let turn = before.len() + at + 1;
            self.turn.set(if turn > joins.len() { turn - joins.len() } else { turn });
            self.count.add();
            return self.checked(joined, taken).map(Some);
        }
        drop(joins);
        if full {
            return Err(Error::Holds(self.topic()));
        }
        self.nothing()
    }

    /// What a publisher named, if it is in its memory.
    #[inline]
    fn checked(&self, joined: &Rc<Joined>, sample: memory::Sample) -> Result<Taken, Error> {
        let [len, at] = sample.words;
        if at.checked_add(len).is_none_or(|end| end > joined.region.size()) {
            joined.queue.borrow_mut().give_back(sample);
            return Err(Error::Length(self.topic()));
        }
        Ok(Taken { joined: Rc::clone(joined), sample, at, len })
    }

    #[cold]
    fn nothing(&self) -> Result<Option<Taken>, Error> {
        let joins = self.joined.borrow();
        let ended = joins.is_empty() || joins.iter().any(|joined| joined.ended.get());
        drop(joins);
        if ended || self.looks.get().is_multiple_of(SEE_TO) {
            self.see_to()?;
        }
        self.failed.take().map_or(Ok(None), Err)
    }

    /// Sees to what is not in the queues: whether the publishers are there, and whether there are
    /// others.
    ///
    /// # Errors
    /// [`Error::Busy`].
    fn see_to(&self) -> Result<(), Error> {
        let stepped = self.seek.borrow_mut().step(&self.joined.borrow());
        match stepped {
            Ok(made) => {
                for joined in made {
                    events::tell(What::Joined, &self.name);
                    self.joined.borrow_mut().push(Rc::new(joined));
                }
            }
            Err(Error::Busy) => return Err(Error::Busy),
            Err(error) => self.failed.set(Some(error)),
        }
        // Asked last: what one had published before it ended is there by now.
        let is_over = |one: &mut Rc<Joined>| one.ended.get() && one.queue.borrow().is_empty();
        let gone: Vec<_> = self.joined.borrow_mut().extract_if(.., is_over).collect();
        for joined in &gone {
            joined.leave();
            self.lost.set(self.lost.get().wrapping_add(joined.queue.borrow().lost()));
            events::tell(What::Lost, &self.name);
        }
        if !gone.is_empty() {
            self.seek.borrow_mut().restart();
            if self.joined.borrow().is_empty() {
                self.failed.set(Some(Error::Gone(self.topic())));
            }
        }
        Ok(())
    }

    /// Whether there is a queue.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn is_joined(&self) -> Result<bool, Error> {
        self.see_to()?;
        self.failed.take().map_or_else(|| Ok(self.publishers() > 0), Err)
    }

    /// How many publishers it hears.
    #[must_use]
    pub fn publishers(&self) -> usize {
        self.joined.borrow().len()
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
                let why = if self.publishers() > 0 { Error::Nothing } else { Error::NotFound };
                return Err(why(self.topic()));
            }
            self.node.below()?.wait_any(self.left(deadline));
        }
    }

    /// Messages that were lost, because they were not taken in time.
    #[must_use]
    pub fn lost(&self) -> u32 {
        let joined = self.joined.borrow();
        let lost = joined.iter().map(|joined| joined.queue.borrow().lost());
        lost.fold(self.lost.get(), u32::wrapping_add)
    }

    pub(crate) fn not_found(&self) -> Error {
        Error::NotFound(self.topic())
    }

    /// Is woken by no message.
    pub(crate) fn disarm(&self) {
        for joined in self.joined.borrow().iter() {
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
        let mut ready = false;
        for joined in self.joined.borrow().iter() {
            let queue = joined.queue.borrow();
            queue.disarm();
            ready |= !queue.is_empty();
        }
        if ready {
            return Ok(true);
        }
        self.see_to()?;
        let failed = self.failed.take();
        ready = failed.is_some();
        self.failed.set(failed);
        for joined in self.joined.borrow().iter() {
            ready |= !joined.queue.borrow_mut().arm(full_fence);
        }
        Ok(ready)
    }

    /// How long until there is something to do whatever comes, if it is.
    #[must_use]
    pub fn due_in(&self) -> Option<Duration> {
        Deadline::at(self.seek.borrow().due(self.publishers())).left()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        for joined in self.joined.get_mut() {
            joined.leave();
        }
    }
}
