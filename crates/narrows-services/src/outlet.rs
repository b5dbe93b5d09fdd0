//! What a publisher has, whatever it publishes: memory, its slots, and its subscribers.

use std::cell::{RefCell, RefMut};
use std::time::Duration;

use narrows::endpoint::{Address, Port};
use narrows::link::Name;
use narrows::memory::{Delivery, NOTE_WORDS, Overflow, Terms, queue_words};
use narrows::platform::{Memory as _, OwnMemory as _};
use narrows_host::{Exposed, full_fence};

use crate::deadline::Deadline;
use crate::error::Error;
use crate::events::{self, Count, What};
use crate::join::{Answer, Join, Refusal, Said, Shown};
use crate::node::{Node, Published};
use crate::stock::{Stock, Subscriber};

/// How often is looked whether a subscriber has taken something that has to, though it did not say
/// so: it may be in a function of its node's own, or dead.
pub(crate) const LOOK: Duration = Duration::from_millis(10);
/// Messages after which a publisher looks for subscribers that come and go.
const SEE_TO: u32 = 32;

/// What changes.
pub(crate) struct Inner {
    pub(crate) subscribers: Vec<Option<Subscriber>>,
    pub(crate) stock: Stock,
    /// Messages until it is seen to subscribers that come and go.
    pub(crate) until: u32,
    pub(crate) memory: Exposed,
    /// A slot is being written.
    pub(crate) lent: bool,
}

/// See the module page.
pub struct Outlet {
    pub(crate) node: Node,
    pub(crate) name: Name,
    pub(crate) port: Port,
    pub(crate) types: u32,
    /// Bytes of a queue, and how many slots there are of each length.
    pub(crate) queue: u32,
    pub(crate) slots: u32,
    pub(crate) history: u32,
    pub(crate) patience: Option<Duration>,
    pub(crate) count: Count,
    pub(crate) inner: RefCell<Inner>,
}

impl Published for Outlet {
    fn name(&self) -> Name {
        self.name
    }

    fn attend(&self) -> Result<(), Error> {
        Outlet::attend(self)
    }
}

impl Outlet {
    /// Lets waiting subscribers in, and lets go those that are gone.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn attend(&self) -> Result<(), Error> {
        self.attend_in(&mut *self.inner()?)
    }

    /// A message of this many bytes has no slot.
    pub(crate) fn limit_error(&self, inner: &Inner, bytes: usize) -> Error {
        Error::Limit { topic: self.name.to_string(), bytes, limit: inner.stock.limit() }
    }

    /// What changes, unless a slot is being written.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub(crate) fn inner(&self) -> Result<RefMut<'_, Inner>, Error> {
        let inner = self.inner.try_borrow_mut().map_err(|_| Error::Busy)?;
        if inner.lent { Err(Error::Busy) } else { Ok(inner) }
    }

    /// Publishes bytes. Waits for subscribers that are to miss none.
    ///
    /// # Errors
    /// See [`Error`]; nothing was published.
    pub fn send(&self, bytes: &[u8], within: Option<Duration>) -> Result<(), Error> {
        let mut inner = self.inner()?;
        let slot = self.lend(&mut inner, bytes.len(), within)?;
        if inner.memory.region().write(inner.stock.place(slot), bytes).is_err() {
            inner.stock.put_back(slot);
            return Err(self.limit_error(&inner, bytes.len()));
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

    /// Has slots for messages of `len` bytes. Returns `len` as a word.
    ///
    /// # Errors
    /// [`Error::Limit`].
    fn reach(&self, inner: &mut Inner, len: usize) -> Result<u32, Error> {
        let bytes = u32::try_from(len).unwrap_or(u32::MAX);
        if bytes > inner.stock.longest() {
            // As many as the subscribers may keep from being written, and one that is written.
            let least = inner.kept() + self.history + 1;
            if !inner.stock.grow(bytes, least, least.max(self.slots)) {
                return Err(self.limit_error(inner, len));
            }
        }
        Ok(bytes)
    }

    /// A slot to be written.
    pub(crate) fn lend(
        &self,
        inner: &mut Inner,
        len: usize,
        within: Option<Duration>,
    ) -> Result<usize, Error> {
        let len = self.reach(inner, len)?;
        let mut deadline = None;
        loop {
            if let Some(slot) = self.try_lend(inner, len)? {
                return Ok(slot);
            }
            let deadline = *deadline.get_or_insert_with(|| Deadline::within(within));
            if deadline.is_over() {
                return Err(self.full());
            }
            if inner.want_room() {
                self.node.below()?.wait_any(Some(deadline.left_of(LOOK)));
            }
            inner.want_none();
        }
    }

    pub(crate) fn full(&self) -> Error {
        events::tell(What::Full, &self.name);
        Error::Full(self.name.to_string())
    }

    /// Whether a slot for `len` bytes can be lent at once.
    pub(crate) fn has_room(&self, inner: &mut Inner, len: usize) -> Result<bool, Error> {
        let len = self.reach(inner, len)?;
        let slot = self.try_lend(inner, len)?;
        if let Some(slot) = slot {
            inner.stock.put_back(slot);
        }
        Ok(slot.is_some())
    }

    /// As [`Outlet::lend`], if there is one and all that are to miss nothing have room.
    fn try_lend(&self, inner: &mut Inner, len: u32) -> Result<Option<usize>, Error> {
        if inner.until == 0 {
            self.attend_in(inner)?;
            inner.until = SEE_TO;
        }
        let Inner { subscribers, stock, .. } = &mut *inner;
        let room = subscribers.iter_mut().flatten().all(|Subscriber { queue, .. }| {
            queue.terms().overflow != Overflow::Wait || queue.has_room()
        });
        let slot = room.then(|| stock.lend(len, subscribers)).flatten();
        inner.until = if slot.is_some() { inner.until - 1 } else { 0 };
        Ok(slot)
    }

    /// As [`Outlet::attend`], for a caller that has borrowed all that is inside.
    fn attend_in(&self, inner: &mut Inner) -> Result<(), Error> {
        let mut node = self.node.below()?;
        node.poll();
        let before = inner.subscribers.iter().flatten().count();
        for at in 0..inner.subscribers.len() {
            let there = inner.subscribers.get(at).and_then(Option::as_ref);
            if there.is_some_and(|one| node.link(one.at.link).check().is_err()) {
                inner.let_go(at);
            }
        }
        inner.let_go_left();
        for _ in inner.subscribers.iter().flatten().count()..before {
            events::tell(What::Left, &self.name);
        }
        let mut bytes = [0; 128];
        while let Ok(Some(message)) = node.try_receive_into(self.port, &mut bytes) {
            let from = message.from;
            // Nonsense, or what woke this node.
            let Some(join) = Join::decode(message.bytes(&bytes)) else { continue };
            let said = match self.let_in(inner, from, join) {
                Ok(shown) => {
                    events::tell(What::LetIn, &self.name);
                    Said::Joined(shown)
                }
                Err(why) => {
                    events::tell(What::Refused, &self.name);
                    Said::Refused(why)
                }
            };
            let answer = Answer { note: join.note, said };
            // One that has no room for an answer asks again.
            let _ = node.try_send(self.port, from, &answer.encode());
        }
        Ok(())
    }

    /// Makes a queue for a subscriber.
    fn let_in(&self, inner: &mut Inner, from: Address, join: Join) -> Result<Shown, Refusal> {
        let Join { types, terms, history, note } = join;
        if types != self.types {
            return Err(Refusal::Types);
        }
        // It may have come here before, and left.
        inner.let_go_left();
        let history = history.min(self.history);
        if 4 * queue_words(terms.depth) > self.queue {
            return Err(Refusal::Terms);
        }
        let at = inner.subscribers.iter().position(Option::is_none).ok_or(Refusal::Full)?;
        // Beside what the others may keep from being written, and one that is written.
        let needed = inner.kept() + kept(terms) + self.history + 1;
        let there = inner.stock.for_all();
        if needed > there && !inner.stock.grow(0, needed - there, there) {
            return Err(Refusal::Terms);
        }
        let mapped = note.map().map_err(|_| Refusal::Memory)?;
        let theirs = mapped.words(0, NOTE_WORDS).map_err(|_| Refusal::Memory)?;
        let region = inner.memory.region();
        let queue = at as u32 * self.queue;
        // A queue that was another's before begins anew.
        let zeroes = vec![0; 4 * queue_words(terms.depth) as usize];
        region.write(queue, &zeroes).map_err(|_| Refusal::Memory)?;
        let own = region.words(queue, queue_words(terms.depth)).map_err(|_| Refusal::Memory)?;
        let delivery = Delivery::new(own, theirs, terms);
        let mut subscriber = Subscriber { at: from, queue: delivery, note, _mapped: mapped };
        inner.stock.catch_up(at, &mut subscriber, history as usize);
        let shown = Shown { place: inner.memory.place(), queue };
        if let Some(place) = inner.subscribers.get_mut(at) {
            *place = Some(subscriber);
        }
        Ok(shown)
    }

    /// Publishes what a slot has. The slot is free again if that fails.
    pub(crate) fn publish(&self, inner: &mut Inner, slot: usize, len: usize) -> Result<(), Error> {
        let Ok(mut node) = self.node.below() else {
            inner.stock.put_back(slot);
            return Err(Error::Busy);
        };
        let words = [len as u32, inner.stock.place(slot)];
        let mut with = Vec::with_capacity(inner.subscribers.len());
        for (at, subscriber) in inner.subscribers.iter_mut().enumerate() {
            let Some(Subscriber { queue, .. }) = subscriber else { continue };
            // There was room for each that waits when the slot was lent, and nobody took it since.
            if let Ok(Some(position)) = queue.push(slot as u32, words, full_fence) {
                with.push((at, position));
            }
        }
        inner.stock.published(slot, words, with);
        self.count.add();
        // Pairs with the fence of a subscriber that goes to sleep.
        full_fence();
        for Subscriber { at, queue, .. } in inner.subscribers.iter_mut().flatten() {
            if queue.is_armed() {
                // Where there is no room for one, others wake it.
                let _ = node.try_send(self.port, *at, &[]);
            }
        }
        Ok(())
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        let inner = self.inner.get_mut();
        inner.subscribers.iter().flatten().for_each(|one| one.queue.end());
        // Pairs with the fence of a subscriber that goes to sleep.
        full_fence();
        // One that is dropped in the node's own function wakes nobody, and leaves its port to the
        // node.
        if let Ok(mut node) = self.node.below() {
            node.platform().withdraw(&self.name);
            let deadline = Deadline::within(Some(LOOK));
            for Subscriber { at, note, .. } in inner.subscribers.iter().flatten() {
                let answer = Answer { note: *note, said: Said::Ended };
                // A subscriber for whose word there is no room until then does not sleep, and looks
                // by itself.
                let _ = node.send(self.port, *at, &answer.encode(), deadline.left());
            }
            let _ = node.close(self.port);
        }
    }
}

/// How many slots a subscriber may keep from being written.
fn kept(terms: Terms) -> u32 {
    match terms.overflow {
        Overflow::DropOldest => terms.holds,
        Overflow::Wait | Overflow::DropNewest => terms.holds + terms.depth,
    }
}

impl Inner {
    /// How many slots all subscribers may keep from being written.
    fn kept(&self) -> u32 {
        self.subscribers.iter().flatten().map(|one| kept(one.queue.terms())).sum()
    }

    /// Has each subscriber that lets nothing be lost wake this publisher when it takes something.
    /// False if one has taken something, or has left.
    pub(crate) fn want_room(&mut self) -> bool {
        self.subscribers.iter_mut().flatten().all(|Subscriber { queue, .. }| {
            let full = queue.terms().overflow == Overflow::Wait && !queue.has_room();
            !full || queue.want_room(full_fence)
        })
    }

    pub(crate) fn want_none(&self) {
        for Subscriber { queue, .. } in self.subscribers.iter().flatten() {
            queue.want_none();
        }
    }

    fn let_go(&mut self, at: usize) {
        if let Some(place) = self.subscribers.get_mut(at) {
            *place = None;
            self.stock.forget(at);
        }
    }

    /// Lets subscribers go that have left and hold nothing.
    fn let_go_left(&mut self) {
        for at in 0..self.subscribers.len() {
            let there = self.subscribers.get_mut(at).and_then(Option::as_mut);
            if there.is_some_and(|one| one.queue.has_left() && !one.queue.holds_any()) {
                self.let_go(at);
            }
        }
    }
}
