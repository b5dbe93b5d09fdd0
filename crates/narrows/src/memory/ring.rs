//! The ring of descriptors: the sender's slots, the receiver's credit, the armed doorbell.
//!
//! A slot is full when its first word holds the sequence number that the receiver waits for; no
//! head is shared. Credit counts the messages taken and is read by the sender only when it has
//! used what it knew of. A receiver that is about to sleep arms: it stores the sequence number it
//! wants to be rung for. The sender looks at that word after a full fence behind each message, the
//! receiver looks at the slot after a full fence behind arming, so one of them sees the other.

use super::{Corrupt, Descriptor, Layout, Ring};
use crate::platform::{Memory, OutOfRange, OwnMemory, Watch, Words, WordsMut};

/// Slots ahead that the sender asks for while it writes one.
const AHEAD: u32 = 8;

/// The number of no port, where [`Producer`] has that of one.
const NOBODY: u32 = 0xffff << 16;

/// Pauses of a receiver that has caught up with a sender who does not wait for it.
const PAUSES: u32 = 32;

/// The most credit, and the most blocks, that are held back.
pub(super) const MOST_HELD_BACK: u32 = 32;

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
    /// Priority of the last message and, in the upper half, the port whose messages may take the shortest
    /// way if they have it too, or [`NOBODY`]: one look tells both.
    usual: u32,
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
            usual: NOBODY,
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
        self.announce(descriptor.priority);
        self.put(descriptor, payload);
    }

    /// Says that the next message has this priority, if that is more urgent than the last.
    #[inline(always)]
    pub(super) fn announce(&mut self, priority: u8) {
        let last = self.usual as u8;
        if priority != last {
            if priority < last {
                // Before the message: who has seen one more urgent looks for it.
                self.urgent.store(0, self.head.wrapping_add(1));
            }
            self.usual = NOBODY | u32::from(priority);
        }
    }

    /// Whether messages of this port [may take](Producer::settle) the shortest way, and the last had this
    /// priority.
    #[inline(always)]
    pub(crate) fn is_usual(&self, port: u16, priority: u8) -> bool {
        self.usual == u32::from(port) << 16 | u32::from(priority)
    }

    /// Messages of this port that are as urgent as the last may take the shortest way from now on.
    pub(crate) fn settle(&mut self, port: u16) {
        self.usual = self.usual & !NOBODY | u32::from(port) << 16;
    }

    /// No message may take the shortest way.
    pub(crate) fn unsettle(&mut self) {
        self.usual |= NOBODY;
    }

    /// As [`Producer::publish`], of what was [announced](Producer::announce), or on a ring where all are
    /// equally urgent.
    #[inline(always)]
    pub(super) fn put(&mut self, descriptor: &Descriptor, payload: &[u8]) {
        let slot = self.claim();
        // Release: pairs with the acquire in `Consumer::ready`. Descriptor, payload in the slot and
        // payload in a block come before the number that says they are there.
        self.slots.write_slot(slot, self.line, slot.wrapping_add(1), descriptor.pack(), payload);
    }

    /// As [`Producer::put`], of a packed descriptor.
    #[inline(always)]
    pub(super) fn put_words(&mut self, words: [u32; 3], payload: &[u8]) {
        let slot = self.claim();
        // Release: as in `Producer::put`.
        self.slots.write_slot(slot, self.line, slot.wrapping_add(1), words, payload);
    }

    /// The slot that is written next; the head is behind it.
    #[inline(always)]
    fn claim(&mut self) -> u32 {
        let slot = self.head;
        self.head = slot.wrapping_add(1);
        self.slots.prefetch(slot.wrapping_add(AHEAD), self.line);
        slot
    }

    /// The next slot is going to be written: its line comes meanwhile.
    #[inline(always)]
    pub fn about_to_publish(&self) {
        self.slots.prefetch(self.head, self.line);
    }

    /// Whether the receiver has said when it wants to be rung: if not, it need not be. Where
    /// [`Producer::must_ring`] is.
    #[inline(always)]
    pub(super) fn armed(&self) -> bool {
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
        let words = self.slots.load_slot(position, self.line, position.wrapping_add(1))?;
        let descriptor = Descriptor::unpack(words).ok()?;
        self.slots.read_slot(position, self.line, payload);
        Some(descriptor)
    }
}

/// Credit is given back in batches of so many: a quarter of the slots, so that what is withheld
/// never starves a sender.
fn batch(slots: u32) -> u32 {
    (slots / 4).clamp(1, MOST_HELD_BACK)
}

/// Where the next message of a ring comes, apart from all else that a receiver knows of it: who has
/// many rings looks at these.
pub struct Next<W> {
    slots: W,
    line: u32,
    next: u32,
}

impl<W: Words> Next<W> {
    /// Whether the next message is there.
    #[inline(always)]
    pub fn ready(&self) -> bool {
        // Acquire: as in `Consumer::ready`.
        self.slots.sequence(self.next, self.line) == self.next.wrapping_add(1)
    }

    /// Follows the [`Consumer`] to its [next](Consumer::next) message.
    pub fn go_to(&mut self, next: u32) {
        self.next = next;
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
    next: u32,
    credited: u32,
    /// The `next` at which credit is held back no longer.
    due: u32,
    /// The first word of the last message taken, of which the priority is wanted.
    last: u32,
    /// Slots ahead of the one it takes that it asks for. None unless messages have gathered: the
    /// line of a slot that is not written yet would have to come back to the sender.
    ahead: u32,
}

impl<O: OwnMemory, Q: Memory> Consumer<O, Q> {
    /// Where the next message comes, in a `peer`'s memory whose layout is `theirs`.
    ///
    /// # Errors
    /// The region is smaller than its layout.
    pub fn watch_next(&self, theirs: &Layout, peer: &Q) -> Result<Next<Q::Words>, OutOfRange> {
        Ok(Next { slots: theirs.slots_in(peer, Ring::Messages)?, line: self.line, next: self.next })
    }

    /// The ring of messages in the `peer`'s memory, with the credit, armed and taken words in `own`.
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
        Ok(Consumer {
            slots: theirs.slots_in(peer, ring)?,
            want: theirs.want_in(peer)?,
            urgent: theirs.urgent_in(peer)?,
            credit: mine.credit_in(own, ring)?,
            armed: mine.armed_in(own, ring)?,
            taken: mine.taken_in(own, ring)?,
            line: theirs.line() / 4,
            count,
            start,
            next: start,
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
        self.slots.sequence(self.next, self.line) == self.next.wrapping_add(1)
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

    /// The number before that of the next message.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Whether a message behind the next one, behind number `slot`, may be more urgent than one before
    /// it.
    #[inline(always)]
    pub(super) fn overtaken(&self, slot: u32) -> bool {
        // Relaxed: it comes too late for a message that is only just being published.
        let urgent = self.urgent.load(0);
        urgent.wrapping_sub(slot).wrapping_sub(2) < self.count
    }

    /// Whether some message on the ring may be more urgent than this priority.
    pub fn may_overtake(&self, priority: u8) -> bool {
        // Relaxed: as in `overtaken`. No mark from the next message on: none of them is more urgent
        // than the last that was taken.
        let urgent = self.urgent.load(0);
        let marked = urgent.wrapping_sub(self.next).wrapping_sub(1) < self.count;
        self.ready() && (marked || Descriptor::urgency(self.last) < priority)
    }

    /// The next message's descriptor, if it is there: a private copy whose kind is checked.
    ///
    /// # Errors
    /// [`Corrupt::Kind`].
    #[inline(always)]
    pub fn head(&self) -> Result<Option<Descriptor>, Corrupt> {
        self.words_of(self.next).map(Descriptor::unpack).transpose()
    }

    /// Copies the payload that travels in the slot of [`Consumer::head`].
    #[inline(always)]
    pub fn payload(&self, to: &mut [u8]) {
        self.payload_of(self.next, to);
    }

    /// Takes the message of [`Consumer::head`]; its slot's copy is no longer needed.
    #[inline(always)]
    pub fn advance(&mut self, priority: u8) {
        self.take(self.next, Descriptor::of_urgency(priority));
    }

    /// As [`Consumer::advance`], with the message's first word and the number that was read before it
    /// was looked at.
    #[inline(always)]
    pub(super) fn take(&mut self, slot: u32, first: u32) {
        self.last = first;
        self.slots.prefetch_to_read(slot.wrapping_add(self.ahead), self.line);
        self.pass(slot);
    }

    /// Takes the next message, which is there and whose words are these, on a ring where all are
    /// equally urgent. With a number that was read before the message was looked at: the compiler
    /// would read it again behind that.
    #[inline(always)]
    pub(super) fn pass(&mut self, slot: u32) {
        let next = slot.wrapping_add(1);
        self.next = next;
        // Release: pairs with the acquire in `Shared::first_untaken`. What was taken was copied.
        self.taken.store_release(0, next.wrapping_sub(self.start));
    }

    /// Copies the payload that travels in the slot of a message that is there.
    #[inline(always)]
    pub(super) fn payload_of(&self, slot: u32, to: &mut [u8]) {
        self.slots.read_slot(slot, self.line, to);
    }

    /// The first bytes of the slot of a message that is there.
    #[inline(always)]
    pub(super) fn first_bytes(&self, slot: u32) -> u64 {
        let mut bytes = [0; 8];
        self.slots.read_slot(slot, self.line, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// The words of the message behind number `slot`, the next, if it is there.
    #[inline(always)]
    pub(super) fn words_of(&self, slot: u32) -> Option<[u32; 3]> {
        // Acquire: as in `Consumer::ready`.
        self.slots.load_slot(slot, self.line, slot.wrapping_add(1))
    }

    /// First and last word and the first bytes of the message behind number `slot`, if it is there
    /// and the first is `wanted`.
    #[inline(always)]
    pub(super) fn behind(
        &self,
        slot: u32,
        wanted: impl FnOnce(u32) -> bool,
    ) -> Option<([u32; 2], u64)> {
        let (words, first) = self.slots.slot_of(slot, self.line, slot.wrapping_add(1), wanted)?;
        Some((words, u64::from_le_bytes(first)))
    }

    /// Whether a batch of credit has gathered.
    #[inline(always)]
    pub fn holds_batch(&self) -> bool {
        self.is_due(self.next)
    }

    /// Whether a batch of credit has gathered when number `slot` was the last that was taken.
    #[inline(always)]
    pub(super) fn is_due(&self, slot: u32) -> bool {
        slot.wrapping_sub(self.due) as i32 >= 0
    }

    /// Messages taken whose credit the sender has not been given.
    #[inline]
    pub fn owed(&self) -> u32 {
        self.next.wrapping_sub(self.credited)
    }

    /// Gives credit for everything taken.
    #[inline]
    pub fn give_credit(&mut self) {
        if self.owed() != 0 {
            // Release: pairs with the acquire in `Producer::refresh`. This core's reads of the
            // slots come before the credit to write them again.
            self.credit.store_release(0, self.next.wrapping_sub(self.start));
            self.ahead = 0;
            self.credited = self.next;
            self.due = self.next.wrapping_add(batch(self.count));
        }
    }

    /// When credit for a batch of messages, so many `taken` without a wait, was given: asks for slots
    /// ahead until the next, if so many have gathered. Where the receiver has caught up, each message
    /// costs the time its slot takes to come, and the sender that to get the next one back; so a
    /// receiver that `may_pause` lets some gather first.
    pub(super) fn gather(&mut self, taken: u32, may_pause: bool) {
        if Q::Words::READ_AHEAD == 0 || taken < Q::Words::READ_AHEAD {
            return;
        }
        let enough = |rx: &Self| rx.watched(Q::Words::READ_AHEAD).changed();
        let pauses = if may_pause && !enough(self) { PAUSES } else { 0 };
        (0..pauses).for_each(|_| core::hint::spin_loop());
        if enough(self) {
            self.ahead = Q::Words::READ_AHEAD;
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
        let threshold = self.next.wrapping_add(messages);
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
        let value = self.next.wrapping_add(ahead);
        let index = value.wrapping_sub(1).wrapping_mul(self.line);
        Watch { words: &self.slots, index, value, until: true }
    }

    /// Messages taken from this ring.
    pub fn taken(&self) -> u32 {
        self.next.wrapping_sub(self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{class, formatted};
    use super::*;
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
