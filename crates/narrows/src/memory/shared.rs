//! What one link has in memory: this node's region and the peer's, with ring, pool and return
//! ring over them.

use super::channel::Channels;
use super::descriptor::NEAR;
use super::{
    Ack, Block, CONTROL, Consumer, Corrupt, Descriptor, IN_SLOT, Kind, Layout, Next, Pool,
    PoolError, Producer, Reclaimer, Returner, Ring,
};
use crate::platform::{
    Memory, OutOfRange, OwnMemory, PeerWords, Platform, Watch, Words, WordsMut as _,
};
use crate::strategy::Placement;

/// Where a payload is when a descriptor may be published for it.
#[derive(Clone, Copy, Debug)]
pub enum Placed<'a> {
    /// It goes into the slot.
    InSlot(&'a [u8]),
    /// It is in a block of the own pool.
    Block {
        /// The block.
        block: Block,
        /// Bytes of payload in it.
        len: u32,
    },
}

impl Placed<'_> {
    /// Bytes of payload.
    pub(crate) fn len(&self) -> u32 {
        match self {
            Placed::InSlot(payload) => payload.len() as u32,
            Placed::Block { len, .. } => *len,
        }
    }
}

/// Why two regions do not make a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetUpError {
    /// The own region had not been formatted, or is of another line size.
    Own,
    /// The peer's header does not hold up.
    Peer(Corrupt),
    /// No storage for the pool's books.
    Storage,
}

impl core::fmt::Display for SetUpError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            SetUpError::Own => {
                f.write_str("the own region is not formatted, or has lines of another size")
            }
            SetUpError::Peer(what) => {
                write!(f, "the header of the peer's region does not hold up ({what})")
            }
            SetUpError::Storage => f.write_str("there is no storage for the books of the pool"),
        }
    }
}

impl core::error::Error for SetUpError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            SetUpError::Peer(what) => Some(what),
            _ => None,
        }
    }
}

/// Both regions of a link.
pub struct Shared<P: Platform> {
    pub(super) own: P::Own,
    pub(super) peer: P::Peer,
    pub(super) bell: P::Bell,
    pub(super) theirs: Layout,
    /// The ring that this node sends on.
    pub tx: Producer<P::Own, P::Peer>,
    /// The ring that this node receives from.
    pub rx: Consumer<P::Own, P::Peer>,
    pub(super) pool: Pool<P::Books>,
    pub(super) returner: Returner<P::Own>,
    reclaimer: Reclaimer<P::Peer>,
    taken: <P::Peer as Memory>::Words,
    /// Blocks that can be on their way back at once.
    pub(super) most_lent: u32,
    /// Messages sent when the last batch of credit was given.
    pub(super) sent: u32,
    /// Blocks came back, and no wait for them has been told.
    back: bool,
    pub(super) channels: Channels<P>,
}

/// A message taken off the ring: its descriptor and, if it travelled in the slot, its payload.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The checked private copy.
    pub descriptor: Descriptor,
    /// The payload, if [`Descriptor::block`] is none; `len` bytes of it count.
    pub in_slot: [u8; IN_SLOT],
}

impl<P: Platform> Shared<P> {
    /// Bytes of payload that travel in a slot of either ring.
    pub const IN_SLOT: usize = P::LINE as usize - 16;
    /// Bytes of it that are read of any message: those of the first cache line.
    const AT_LEAST: usize = if Self::IN_SLOT < NEAR { Self::IN_SLOT } else { NEAR };

    /// Puts the two halves of a link together. The peer's header is checked here.
    ///
    /// # Errors
    /// See [`SetUpError`].
    pub fn new(
        platform: &P,
        own: P::Own,
        peer: P::Peer,
        bell: P::Bell,
    ) -> Result<Shared<P>, SetUpError> {
        let mine = Layout::read(&own, P::LINE).map_err(|_| SetUpError::Own)?;
        let theirs = Layout::read(&peer, P::LINE).map_err(SetUpError::Peer)?;
        let range = |_: OutOfRange| SetUpError::Own;
        let books = platform.books(&own, mine.books()).map_err(|_| SetUpError::Storage)?;
        let channels = Channels::new(platform, (&mine, &own), (&theirs, &peer));
        Ok(Shared {
            channels: channels.map_err(|_| SetUpError::Storage)?,
            sent: 0,
            back: false,
            tx: Producer::new(&mine, &own, &theirs, &peer).map_err(range)?,
            rx: Consumer::new(&mine, &own, &theirs, &peer).map_err(range)?,
            returner: Returner::new(&mine, &own, &theirs).map_err(range)?,
            reclaimer: Reclaimer::new(&theirs, &peer).map_err(range)?,
            taken: theirs.taken_in(&peer, Ring::Messages).map_err(range)?,
            pool: Pool::new(mine, books),
            theirs,
            own,
            peer,
            bell,
            most_lent: theirs.returns(),
        })
    }

    /// Where the next message comes.
    ///
    /// # Errors
    /// The region is smaller than its layout.
    pub fn head(&self) -> Result<Next<<P::Peer as Memory>::Words>, OutOfRange> {
        self.rx.watch_next(&self.theirs, &self.peer)
    }

    /// Takes a block of the own pool, fetching returned ones if none of the smallest that will do
    /// is free.
    ///
    /// # Errors
    /// No block; or the peer returned what it did not have.
    #[inline]
    pub fn take_block(
        &mut self,
        placement: Placement,
        len: u32,
    ) -> Result<Result<Block, PoolError>, Corrupt> {
        if self.pool.is_short_of(placement, len) {
            self.reclaim()?;
        }
        let taken = self.pool.take(placement, len);
        if taken == Err(PoolError::Empty) {
            // A wait from here on watches credit too: what came before is no news.
            self.tx.refresh()?;
        }
        Ok(taken)
    }

    /// Takes back the blocks that the peer has returned.
    ///
    /// # Errors
    /// It returned what it did not have.
    pub fn reclaim(&mut self) -> Result<u32, Corrupt> {
        let back = self.reclaimer.reclaim(&mut self.pool)?;
        self.back |= back > 0;
        Ok(back)
    }

    /// Puts back a block that was not sent.
    pub fn put_back(&mut self, block: Block) {
        self.pool.put_back(block);
    }

    /// The books of the own pool.
    pub fn pool(&self) -> &Pool<P::Books> {
        &self.pool
    }
    /// The layout of the peer's region.
    pub fn theirs(&self) -> &Layout {
        &self.theirs
    }
    /// The own region.
    pub fn own(&self) -> &P::Own {
        &self.own
    }
    /// The own region, to make a payload in.
    pub(crate) fn own_mut(&mut self) -> &mut P::Own {
        &mut self.own
    }
    /// The peer's region.
    pub fn peer(&self) -> &P::Peer {
        &self.peer
    }

    /// Writes to a block of the own pool; false if that is outside the block.
    #[inline]
    pub fn write(&self, block: Block, at: u32, from: &[u8]) -> bool {
        let Some(offset) = within(self.pool.layout(), block, at, from.len()) else { return false };
        self.own.write(offset, from).is_ok()
    }

    /// Reads a block of the own pool; false if that is outside the block.
    pub fn read_back(&self, block: Block, at: u32, to: &mut [u8]) -> bool {
        let Some(offset) = within(self.pool.layout(), block, at, to.len()) else { return false };
        self.own.read(offset, to).is_ok()
    }

    /// Reads a block of the peer's pool; false if that is outside the block. The peer may write
    /// while this reads: the bytes are whatever was there, and the caller's from here on.
    #[inline]
    pub fn read(&self, block: Block, at: u32, to: &mut [u8]) -> bool {
        let Some(offset) = within(&self.theirs, block, at, to.len()) else { return false };
        self.peer.read(offset, to).is_ok()
    }

    /// Where a block of the own pool lies: offset and size in bytes.
    #[inline]
    pub fn own_block(&self, block: Block) -> Option<(u32, u32)> {
        self.pool.layout().block(block)
    }

    /// Whether a message can be published now.
    ///
    /// # Errors
    /// The peer broke the protocol.
    #[inline]
    pub fn room(&mut self, with_block: bool) -> Result<bool, Corrupt> {
        let full = |pool: &Pool<_>, most: u32| with_block && pool.lent() >= most;
        if !full(&self.pool, self.most_lent) && self.tx.room()? {
            return Ok(true);
        }
        // Blocks and credit are fetched even if one alone is short: a wait watches both.
        self.reclaim()?;
        self.tx.refresh()?;
        Ok(self.tx.room()? && !full(&self.pool, self.most_lent))
    }

    /// Publishes a message; there must be [room](Shared::room), and a payload in the slot is at
    /// most [`Layout::in_slot`] bytes. The bell is separate.
    #[inline(always)]
    pub fn publish(&mut self, mut descriptor: Descriptor, placed: Placed<'_>) {
        match placed {
            Placed::InSlot(payload) => {
                debug_assert!(payload.len() <= Self::IN_SLOT);
                descriptor.len = payload.len() as u32;
                descriptor.block = None;
                self.tx.publish(&descriptor, payload);
            }
            Placed::Block { block, len } => {
                if let Some((offset, _)) = self.own_block(block) {
                    self.own.clean(offset, len);
                }
                self.pool.lend(block);
                descriptor.len = len;
                descriptor.block = Some(block);
                self.tx.publish(&descriptor, &[]);
            }
        }
    }

    /// Whether the peer has said when it wants to be rung for a message: if not, it need not be.
    #[inline(always)]
    pub fn is_armed(&self, platform: &P) -> bool {
        platform.fence();
        self.tx.armed()
    }

    /// Rings the peer if it sleeps and wants to know.
    #[inline(always)]
    pub fn ring_if_armed(&mut self, platform: &P) {
        if self.is_armed(platform) {
            self.ring(platform);
        }
    }

    /// Rings the peer if it sleeps and wants to be rung for what is there by now. Behind a full
    /// fence.
    #[inline(never)]
    pub fn ring(&mut self, platform: &P) {
        if self.tx.must_ring() {
            if platform.sends_by_ring(&self.bell) {
                // It goes with the message, instead of waking the peer once more.
                self.give_back();
            }
            platform.ring(&self.bell);
        }
    }

    /// Says on which [core](Platform::core_number) this node waits.
    pub fn stand_on(&self, core: u32) {
        // It cannot fail: the layout was seen to be inside the region. Found anew, so that what
        // each message needs lies close together.
        if let Ok(word) = self.pool.layout().core_in(&self.own) {
            // Relaxed: a hint, which may be old.
            word.store(0, core);
        }
    }

    /// The core on which the peer waited last, as far as it says: a hint.
    #[inline]
    pub fn peer_core(&self) -> u32 {
        // Relaxed: as above.
        self.theirs.core_in(&self.peer).map_or(0, |word| word.load(0))
    }

    /// Takes the next message off the ring, checked against the peer's layout.
    ///
    /// # Errors
    /// The peer broke the protocol.
    #[inline]
    pub fn take(&mut self) -> Result<Option<Taken>, Corrupt> {
        let Some(descriptor) = self.rx.head()? else { return Ok(None) };
        let mut taken = Taken { descriptor, in_slot: [0; IN_SLOT] };
        match descriptor.block {
            None => {
                let len = descriptor.len as usize;
                if len > Self::IN_SLOT {
                    return Err(Corrupt::Length);
                }
                let read = len.max(Self::AT_LEAST);
                self.rx.payload(taken.in_slot.get_mut(..read).unwrap_or_default());
            }
            Some(block) => {
                let (offset, size) = self.theirs.block(block).ok_or(Corrupt::Block)?;
                if descriptor.len > size {
                    return Err(Corrupt::Length);
                }
                self.peer.invalidate(offset, descriptor.len);
                if descriptor.kind == Kind::Control {
                    // Where slots are short a control message comes in a block: it is taken out
                    // here, so that above this layer it looks as if it had travelled in its slot.
                    let to = taken.in_slot.get_mut(..CONTROL);
                    let to = to.and_then(|to| to.get_mut(..descriptor.len as usize));
                    let read = self.peer.read(offset, to.ok_or(Corrupt::Control)?);
                    read.map_err(|_| Corrupt::Block)?;
                    taken.descriptor.block = None;
                    self.returner.give(block);
                }
            }
        }
        self.rx.advance(Descriptor::of_size(descriptor.len, descriptor.priority));
        Ok(Some(taken))
    }

    /// Is done with a message: its block goes back, and its sender is told in the way it asked.
    #[inline(always)]
    pub fn release(&mut self, platform: &P, descriptor: &Descriptor) {
        if let Some(block) = descriptor.block {
            self.returner.give(block);
        }
        if descriptor.ack != Ack::Batched || self.holds_batch() {
            self.acknowledge(platform, descriptor.ack);
        }
    }

    #[inline(always)]
    fn holds_batch(&self) -> bool {
        self.rx.holds_batch() || self.returner.holds_batch()
    }

    #[inline(never)]
    fn acknowledge(&mut self, platform: &P, ack: Ack) {
        if ack != Ack::Interrupt {
            return self.flush(platform);
        }
        self.returner.publish();
        self.rx.give_credit();
        platform.ring(&self.bell);
    }

    /// Lets the sender have all credit and blocks that were held back for a batch.
    #[inline(never)]
    pub fn flush(&mut self, platform: &P) {
        if self.rx.owed() == 0 && self.returner.owed() == 0 && self.channels.owing == 0 {
            return;
        }
        self.give_back();
        platform.fence();
        if self.rx.wanted() {
            platform.ring(&self.bell);
        }
    }

    fn give_back(&mut self) {
        self.returner.publish();
        self.rx.give_credit();
        self.channels.give_credit();
    }

    /// As [`Shared::flush`], once a batch is held back. A receiver that keeps what it takes for
    /// later, and neither releases nor waits, gives credit this way.
    #[inline(always)]
    pub fn flush_batch(&mut self, platform: &P) {
        if self.holds_batch() {
            self.flush(platform);
        }
    }

    /// Takes note of all credit and blocks that the peer has given. True if there was any: before
    /// a sender waits, since the words it watches tell only of what comes later.
    ///
    /// # Errors
    /// The peer broke the protocol.
    pub fn catch_up(&mut self) -> Result<bool, Corrupt> {
        let credit = self.tx.catch_up()? | self.channels.catch_up()?;
        self.reclaim()?;
        Ok(core::mem::take(&mut self.back) || credit)
    }

    /// The words to watch while waiting for credit and blocks, behind [`Shared::catch_up`].
    pub fn starved(&self) -> [Watch<'_, PeerWords<P>>; 2] {
        [self.tx.watched(), self.reclaimer.watched()]
    }

    /// The first message that a dead peer had not taken, counted from 0. Everything before it was
    /// delivered to the peer's stack.
    pub fn first_untaken(&self) -> u32 {
        // Acquire: pairs with the release in `Consumer::advance`.
        self.tx.first_untaken(self.taken.load_acquire(0))
    }

    /// Takes back every block that was lent, once the peer is gone.
    pub fn reclaim_all(&mut self) {
        self.pool.reclaim_all();
    }
}

fn within(layout: &Layout, block: Block, at: u32, len: usize) -> Option<u32> {
    let (offset, size) = layout.block(block)?;
    let end = u32::try_from(len).ok()?.checked_add(at)?;
    (end <= size).then(|| offset + at)
}
