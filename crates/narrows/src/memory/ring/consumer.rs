//! The receiver's side of a ring.

use super::MOST_HELD_BACK;
use crate::memory::{Corrupt, Descriptor, Layout, Ring};
use crate::platform::{Memory, OutOfRange, OwnMemory, Watch, Words, WordsMut};

/// Pauses of a receiver that has caught up with a sender that does not wait for it.
const PAUSES: u32 = 32;

/// Credit is given back in batches of a quarter of the slots, so that what is withheld
/// never starves a sender.
fn batch(slots: u32) -> u32 {
    (slots / 4).clamp(1, MOST_HELD_BACK)
}

/// Where the next message of a ring comes, apart from all else that a receiver knows of it: a node
/// that has many rings looks at these.
pub struct Next<W> {
    slots: W,
    at: u32,
    sequence: u32,
}

impl<W: Words> Next<W> {
    /// Whether the next message is there.
    #[inline(always)]
    pub fn ready(&self) -> bool {
        // Acquire: as in `Consumer::ready`.
        self.slots.load_acquire(self.at) == self.sequence
    }
}

/// The receiver's side of a ring.
pub struct Consumer<O: OwnMemory, Q: Memory> {
    slots: Q::Words,
    want: Q::Words,
    urgent: Q::Words,
    credit: O::Words,
    armed: O::Words,
    taken: O::Words,
    /// Words of a slot.
    line: u32,
    count: u32,
    start: u32,
    /// The number of the next message, which its slot has when it is there.
    next: u32,
    /// The word that its slot begins at.
    at: u32,
    credited: u32,
    /// The last message taken at which credit is held back no longer.
    due: u32,
    /// The first word of the last message taken, of which length and priority are wanted.
    last: u32,
    /// How far behind the next slot the one is that it asks for as it takes a message. None unless
    /// messages have gathered: the line of a slot that is not written yet would have to come back
    /// to the sender.
    ahead: u32,
}

impl<O: OwnMemory, Q: Memory> Consumer<O, Q> {
    /// Where the next message comes, in a `peer`'s memory whose layout is `theirs`.
    ///
    /// # Errors
    /// The region is smaller than its layout.
    pub fn watch_next(&self, theirs: &Layout, peer: &Q) -> Result<Next<Q::Words>, OutOfRange> {
        let slots = theirs.slots_in(peer, Ring::Messages)?;
        Ok(Next { slots, at: self.at, sequence: self.next })
    }

    /// Has what was found before say where the next message comes now.
    #[inline(always)]
    pub fn follow(&self, next: &mut Next<Q::Words>) {
        (next.at, next.sequence) = (self.at, self.next);
    }

    /// How urgent the next message is, which is there: its priority and 1, or 0 if one behind it
    /// may be more urgent.
    #[inline(always)]
    pub fn urgency(&self) -> u8 {
        let first = self.slots.load(self.at.wrapping_add(1));
        if self.overtaken(self.next) { 0 } else { Descriptor::urgency(first) + 1 }
    }

    /// The ring of messages in the `peer`'s memory, with the credit, armed and taken words in
    /// `own`.
    ///
    /// # Errors
    /// A region is smaller than its layout.
    pub fn new(mine: &Layout, own: &O, theirs: &Layout, peer: &Q) -> Result<Self, OutOfRange> {
        Consumer::of(Ring::Messages, mine, own, theirs, peer)
    }

    /// As [`Consumer::new`], of any ring.
    ///
    /// # Errors
    /// A region is smaller than its layout, or one of them does not have the channel.
    pub fn of(
        ring: Ring,
        mine: &Layout,
        own: &O,
        theirs: &Layout,
        peer: &Q,
    ) -> Result<Self, OutOfRange> {
        let (start, count) = (theirs.start(ring), theirs.slots_of(ring));
        let line = theirs.line() / 4;
        let slots = theirs.slots_in(peer, ring)?;
        Ok(Consumer {
            slots,
            want: theirs.want_in(peer)?,
            urgent: theirs.urgent_in(peer)?,
            credit: mine.credit_in(own, ring)?,
            armed: mine.armed_in(own, ring)?,
            taken: mine.taken_in(own, ring)?,
            line,
            count,
            start,
            next: start.wrapping_add(1),
            at: start.wrapping_mul(line),
            credited: start,
            due: start.wrapping_add(batch(count)),
            last: 0,
            ahead: 0,
        })
    }

    /// Whether the next message is there.
    #[inline(always)]
    pub fn ready(&self) -> bool {
        // Acquire: pairs with the release in `Producer::publish`. What the number announces is
        // there.
        self.slots.load_acquire(self.at) == self.next
    }

    /// As [`Consumer::ready`], of a receiver that looks until it is.
    #[inline(always)]
    pub fn awaited(&self) -> bool {
        if self.expects_long() {
            self.slots.expect_rest(self.at);
        }
        self.ready()
    }

    /// Whether the last message did not fit the first cache line of a slot: the next is likely not
    /// to either, nor an answer.
    #[inline(always)]
    pub fn expects_long(&self) -> bool {
        Descriptor::is_long(self.last)
    }

    /// Messages that are there. It looks at the slot of each.
    pub fn available(&self) -> u32 {
        let there = |ahead: &u32| self.watched(ahead + 1).changed();
        (0..self.count).take_while(there).count() as u32
    }

    /// Slots of the ring.
    pub fn slots(&self) -> u32 {
        self.count
    }

    /// The number of the next message.
    #[inline(always)]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// The number of the last message taken, and the place of the next: numbers begin with 1.
    #[inline(always)]
    fn before(&self) -> u32 {
        self.next.wrapping_sub(1)
    }

    /// Whether a message behind the next one, whose `number` this is, may be more urgent than one
    /// before it.
    #[inline(always)]
    pub(in crate::memory) fn overtaken(&self, number: u32) -> bool {
        // Relaxed: it comes too late for a message that is only just being published.
        let urgent = self.urgent.load(0);
        urgent.wrapping_sub(number).wrapping_sub(1) < self.count
    }

    /// Whether some message on the ring may be more urgent than this priority.
    pub fn may_overtake(&self, priority: u8) -> bool {
        // No mark from the next message on: none of them is more urgent than the last that was
        // taken.
        self.ready() && (self.marked() || Descriptor::urgency(self.last) < priority)
    }

    /// Whether some message from the next one on is more urgent than the one before it.
    pub fn marked(&self) -> bool {
        // Relaxed: as in `overtaken`.
        self.urgent.load(0).wrapping_sub(self.next) < self.count
    }

    /// The next message's descriptor, if it is there: a private copy whose kind is checked.
    ///
    /// # Errors
    /// [`Corrupt::Kind`].
    #[inline(always)]
    pub fn head(&self) -> Result<Option<Descriptor>, Corrupt> {
        self.words().map(Descriptor::unpack).transpose()
    }

    /// Copies the payload that travels in the slot of the next message, which is there.
    #[inline(always)]
    pub fn payload(&self, to: &mut [u8]) {
        self.slots.read_slot(self.at, to);
    }

    /// Takes the message of [`Consumer::head`], of which the first word has length and priority;
    /// its slot's copy is no longer needed.
    #[inline(always)]
    pub fn advance(&mut self, first: u32) {
        self.take(self.next, first);
    }

    /// As [`Consumer::advance`], with the number that was read before the message was looked at.
    #[inline(always)]
    pub(in crate::memory) fn take(&mut self, number: u32, first: u32) {
        self.last = first;
        if self.ahead != 0 {
            let slot = number.wrapping_add(self.ahead);
            self.slots.prefetch_to_read(slot.wrapping_mul(self.line));
        }
        self.pass(number);
    }

    /// Takes the next message, which is there and whose words are these, on a ring where all are
    /// equally urgent. With a number that was read before the message was looked at: the compiler
    /// would read it again behind that.
    #[inline(always)]
    pub(in crate::memory) fn pass(&mut self, number: u32) {
        self.next = number.wrapping_add(1);
        self.at = number.wrapping_mul(self.line);
        // Release: pairs with the acquire in `Shared::first_untaken`. What was taken was copied.
        self.taken.store_release(0, number.wrapping_sub(self.start));
    }

    /// As [`Consumer::payload`], the first bytes.
    #[inline(always)]
    pub(in crate::memory) fn first_bytes(&self) -> u64 {
        let mut bytes = [0; 8];
        self.payload(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// The words of the next message, if it is there.
    #[inline(always)]
    pub(in crate::memory) fn words(&self) -> Option<[u32; 3]> {
        // Acquire: as in `Consumer::ready`.
        self.slots.load_slot(self.at, self.next)
    }

    /// First and last word and the first bytes of the next message, if it is there and the first
    /// word is `wanted`.
    #[inline(always)]
    pub(in crate::memory) fn behind(
        &self,
        wanted: impl FnOnce(u32) -> bool,
    ) -> Option<([u32; 2], u64)> {
        let (words, first) = self.slots.slot_of(self.at, self.next, wanted)?;
        Some((words, u64::from_le_bytes(first)))
    }

    /// Whether a batch of credit has gathered.
    #[inline(always)]
    pub fn holds_batch(&self) -> bool {
        self.is_due(self.before())
    }

    /// Whether a batch of credit has gathered when this `number` was the last that was taken.
    #[inline(always)]
    pub(in crate::memory) fn is_due(&self, number: u32) -> bool {
        number.wrapping_sub(self.due) as i32 >= 0
    }

    /// Messages taken whose credit the sender has not been given.
    #[inline]
    pub fn owed(&self) -> u32 {
        self.before().wrapping_sub(self.credited)
    }

    /// Gives credit for everything taken.
    #[inline]
    pub fn give_credit(&mut self) {
        if self.owed() != 0 {
            // Release: pairs with the acquire in `Producer::refresh`. This core's reads of the
            // slots come before the credit to write them again.
            self.credit.store_release(0, self.taken());
            self.ahead = 0;
            self.credited = self.before();
            self.due = self.credited.wrapping_add(batch(self.count));
        }
    }

    /// When credit for a batch of messages, `taken` of them without a wait, was given: asks for
    /// slots ahead until the next, if as many have gathered. Where the receiver has caught up, each
    /// message costs the time its slot takes to come, and the sender that to get the next one back;
    /// so a receiver that `may_pause` lets some gather first.
    pub(in crate::memory) fn gather(&mut self, taken: u32, may_pause: bool) {
        if Q::Words::READ_AHEAD == 0 || taken < Q::Words::READ_AHEAD {
            return;
        }
        // As many as are taken until this is asked again: a slot that is asked for too early would
        // have to come back to the sender.
        let enough = |rx: &Self| rx.watched(batch(rx.count)).changed();
        let pauses = if may_pause && !enough(self) { PAUSES } else { 0 };
        (0..pauses).for_each(|_| core::hint::spin_loop());
        if enough(self) {
            self.ahead = Q::Words::READ_AHEAD - 1;
        }
    }

    /// Whether the sender sleeps until it gets credit or blocks. Behind a full fence after
    /// [`Consumer::give_credit`].
    #[inline]
    pub fn wanted(&self) -> bool {
        // Relaxed: the fence on each side orders it, as with the armed word.
        self.want.load(0) != 0
    }

    /// Asks to be rung when `messages` more are there. Before a full fence, behind which
    /// [`Consumer::watched`] is looked at once more.
    pub fn arm(&self, messages: u32) {
        let threshold = self.before().wrapping_add(messages);
        self.armed.store(0, if threshold == 0 { u32::MAX } else { threshold });
    }

    /// Asks not to be rung.
    pub fn disarm(&self) {
        self.armed.store(0, 0);
    }

    /// The number of the slot that will hold the `ahead`-th message from now (1 is the next), to
    /// watch until it is there.
    #[inline]
    pub fn watched(&self, ahead: u32) -> Watch<'_, Q::Words> {
        let value = self.before().wrapping_add(ahead);
        let index = value.wrapping_sub(1).wrapping_mul(self.line);
        Watch { words: &self.slots, index, value, until: true }
    }

    /// Messages taken from this ring.
    pub fn taken(&self) -> u32 {
        self.before().wrapping_sub(self.start)
    }
}
