//! The sender's side of a ring.

use crate::memory::{Corrupt, Descriptor, Layout, Ring};
use crate::platform::{Memory, OutOfRange, OwnMemory, Watch, Words, WordsMut};

/// The sender's side of a ring.
pub struct Producer<O: OwnMemory, Q: Memory> {
    slots: O::Words,
    want: O::Words,
    urgent: O::Words,
    credit: Q::Words,
    armed: Q::Words,
    /// Words of a slot.
    line: u32,
    count: u32,
    start: u32,
    head: u32,
    freed: u32,
    /// The head at which no slot is known to be free.
    full: u32,
    /// Priority of the last message.
    last: u8,
}

impl<O: OwnMemory, Q: Memory> Producer<O, Q> {
    /// The ring of messages in `own` memory, with the credit and armed words in the `peer`'s.
    ///
    /// # Errors
    /// A region is smaller than its layout.
    pub fn new(mine: &Layout, own: &O, theirs: &Layout, peer: &Q) -> Result<Self, OutOfRange> {
        Producer::of(Ring::Messages, mine, own, theirs, peer)
    }

    /// As [`Producer::new`], of any ring.
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
        let (start, count) = (mine.start(ring), mine.slots_of(ring));
        Ok(Producer {
            slots: mine.slots_in(own, ring)?,
            want: mine.want_in(own)?,
            urgent: mine.urgent_in(own)?,
            credit: theirs.credit_in(peer, ring)?,
            armed: theirs.armed_in(peer, ring)?,
            line: mine.line() / 4,
            count,
            start,
            head: start,
            freed: start,
            full: start.wrapping_add(count),
            last: 0,
        })
    }

    /// Whether a slot is known to be free, without looking at the peer's credit.
    #[inline]
    pub fn known_room(&self) -> bool {
        self.head != self.full
    }

    /// Whether a slot is free, looking at the peer's credit if need be.
    ///
    /// # Errors
    /// The peer gave credit that it cannot have: [`Corrupt::Credit`].
    #[inline]
    pub fn room(&mut self) -> Result<bool, Corrupt> {
        if self.known_room() {
            return Ok(true);
        }
        self.refresh()?;
        Ok(self.known_room())
    }

    /// Takes note of the peer's credit. True if there was any.
    ///
    /// # Errors
    /// [`Corrupt::Credit`].
    pub fn catch_up(&mut self) -> Result<bool, Corrupt> {
        let before = self.freed;
        self.refresh()?;
        Ok(self.freed != before)
    }

    /// Looks at the peer's credit.
    ///
    /// # Errors
    /// The peer gave credit that it cannot have: [`Corrupt::Credit`].
    pub(crate) fn refresh(&mut self) -> Result<(), Corrupt> {
        // Acquire: pairs with the release in `Consumer::give_credit`. The peer has finished
        // reading the slots that are about to be written again.
        let freed = self.start.wrapping_add(self.credit.load_acquire(0));
        if freed.wrapping_sub(self.freed) > self.head.wrapping_sub(self.freed) {
            return Err(Corrupt::Credit);
        }
        self.freed = freed;
        self.full = freed.wrapping_add(self.count);
        Ok(())
    }

    /// Writes the next slot. There must be [room](Producer::room). `payload` is what travels in
    /// the slot, at most [`Layout::in_slot`] bytes: nothing if a block carries it.
    #[inline(always)]
    pub fn publish(&mut self, descriptor: &Descriptor, payload: &[u8]) {
        self.publish_words(descriptor.pack(), descriptor.priority, payload);
    }

    /// As [`Producer::publish`], of a packed descriptor that has this priority.
    #[inline(always)]
    pub(in crate::memory) fn publish_words(
        &mut self,
        words: [u32; 3],
        priority: u8,
        payload: &[u8],
    ) {
        self.fetch();
        let slot = self.claim();
        self.announce(slot, priority);
        self.write(slot, words, payload);
    }

    /// As [`Producer::publish`], on a ring where all are equally urgent.
    #[inline(always)]
    pub(in crate::memory) fn put(&mut self, descriptor: &Descriptor, payload: &[u8]) {
        let slot = self.claim();
        self.write(slot, descriptor.pack(), payload);
    }

    /// Says that the message of a slot has this priority, if that is more urgent than the last.
    #[inline(always)]
    fn announce(&mut self, slot: u32, priority: u8) {
        if priority == self.last {
            return;
        }
        if priority < self.last {
            // Before the message: a receiver that has seen a more urgent one looks for it.
            self.urgent.store(0, slot.wrapping_add(1));
        }
        self.last = priority;
    }

    /// The word that a slot begins at.
    #[inline(always)]
    fn at(&self, slot: u32) -> u32 {
        slot.wrapping_mul(self.line)
    }

    /// The slot that is written next; the head is behind it.
    #[inline(always)]
    fn claim(&mut self) -> u32 {
        let slot = self.head;
        self.head = slot.wrapping_add(1);
        slot
    }

    #[inline(always)]
    fn write(&mut self, slot: u32, words: [u32; 3], payload: &[u8]) {
        // Release: pairs with the acquire in `Consumer::ready`. Descriptor, payload in the slot and
        // payload in a block come before the number that says they are there.
        self.slots.write_slot(self.at(slot), slot.wrapping_add(1), words, payload);
    }

    /// Slots whose lines are fetched together, or 0.
    pub(in crate::memory) const TOGETHER: u32 = O::Words::TOGETHER;

    /// Whether the next message is the first that goes to slots whose lines are fetched together.
    #[inline(always)]
    pub(in crate::memory) fn fetches(&self) -> bool {
        Self::TOGETHER != 0 && self.head.is_multiple_of(Self::TOGETHER)
    }

    /// Fetches the lines of the next slots together, if it is time to and they are free.
    #[inline(always)]
    fn fetch(&mut self) {
        if self.fetches() {
            core::hint::cold_path();
            // Not by `full`, with which a send takes 49 instructions instead of 48.
            let enough = |tx: &Self| tx.count - tx.head.wrapping_sub(tx.freed) >= Self::TOGETHER;
            // The credit is one line of the peer's to wait for, and slots that are not fetched
            // together are one each. Credit that cannot be is found again when no slot is known to
            // be free.
            if enough(self) || self.refresh().is_ok() && enough(self) {
                self.slots.fetch_to_write(self.at(self.head), self.line);
            }
        }
    }

    /// The next slot is going to be written, by a message that is `long` or not: its line comes
    /// meanwhile, or all of it.
    #[inline(always)]
    pub fn about_to_publish(&self, long: bool) {
        self.slots.prefetch(self.at(self.head));
        if long {
            self.slots.prefetch_rest(self.at(self.head));
        }
    }

    /// Whether the receiver has said when it wants to be rung: if not, it need not be. Where
    /// [`Producer::must_ring`] is.
    #[inline(always)]
    pub(in crate::memory) fn armed(&self) -> bool {
        self.armed.load(0) != 0
    }

    /// Whether the receiver sleeps and wants to be rung by now. Behind a full fence after
    /// [`Producer::publish`].
    #[inline]
    pub fn must_ring(&self) -> bool {
        // Relaxed: the fence on each side orders it (module page).
        let armed = self.armed.load(0);
        armed != 0 && self.head.wrapping_sub(armed) as i32 >= 0
    }

    /// Says whether this sender sleeps until credit or blocks come. Before a full fence.
    pub fn want(&self, wanted: bool) {
        self.want.store(0, u32::from(wanted));
    }

    /// The credit word, to watch while the ring is full.
    pub fn watched(&self) -> Watch<'_, Q::Words> {
        Watch {
            words: &self.credit,
            index: 0,
            value: self.freed.wrapping_sub(self.start),
            until: false,
        }
    }

    /// Messages sent over this ring.
    pub fn sent(&self) -> u32 {
        self.head.wrapping_sub(self.start)
    }

    /// The first message not taken, as the receiver's `taken` word says. The word is believed only
    /// between the last credit and the last message: with one outside, all since the last credit
    /// count as not taken. Numbers wrap round, so distances are compared, not numbers.
    pub(crate) fn first_untaken(&self, taken: u32) -> u32 {
        let sent = self.sent();
        sent.wrapping_sub(sent.wrapping_sub(taken).min(self.head.wrapping_sub(self.freed)))
    }

    /// Reads message number `index` (from 0) of this ring back, if its slot still holds it.
    pub fn recall(&self, index: u32, payload: &mut [u8]) -> Option<Descriptor> {
        let position = self.start.wrapping_add(index);
        let words = self.slots.load_slot(self.at(position), position.wrapping_add(1))?;
        let descriptor = Descriptor::unpack(words).ok()?;
        self.slots.read_slot(self.at(position), payload);
        Some(descriptor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::{class, formatted};
    use crate::strategy::Placement;

    #[test]
    fn what_a_dead_receiver_took_is_known_when_the_count_of_messages_wraps() {
        let class = class(Placement::Internal, 64, 1);
        let layout = Layout::new(64, 4, &[class]).expect("possible").starting_at(9);
        let region = formatted(&layout);
        let mut tx = Producer::new(&layout, &region, &layout, &region).expect("fits");
        for freed in [0, 10, u32::MAX - 1, u32::MAX] {
            tx.freed = freed.wrapping_add(9);
            tx.head = tx.freed.wrapping_add(3);
            for taken in 0..=3 {
                let taken = freed.wrapping_add(taken);
                assert_eq!(tx.first_untaken(taken), taken, "freed {freed}");
            }
            assert_eq!(tx.first_untaken(freed.wrapping_sub(1)), freed);
            assert_eq!(tx.first_untaken(freed.wrapping_add(4)), freed);
        }
    }
}
