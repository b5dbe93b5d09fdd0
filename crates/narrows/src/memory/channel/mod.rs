//! Channels: rings of a link beside its ring of messages, each with one sender and one receiver.
//! Their blocks are the link's, and so is the word by which a sender says that it waits for room.

mod shared;

use super::{Ack, Block, Consumer, Corrupt, Descriptor, Kind, Layout, Producer, Ring};
use crate::platform::{Memory, NoStorage, Platform};

/// Bytes of a word that travels in its slot.
pub const WORD: u32 = 8;

/// What came over a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Bytes of it: at most 8 of a word.
    pub len: u32,
    /// The sender's mark.
    pub tag: u16,
    /// The block that a packet is in; none for a word.
    pub block: Option<Block>,
    /// The word, as its sender gave it; 0 for a packet.
    pub word: u64,
}

/// Numbers of the bits that are set, rising.
#[derive(Clone, Copy, Default)]
pub(crate) struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let bit = (self.0 != 0).then(|| self.0.trailing_zeros() as usize);
        self.0 &= self.0.wrapping_sub(1);
        bit
    }
}

/// The bit of a channel.
#[inline(always)]
fn bit(ring: u16) -> u64 {
    1_u64.wrapping_shl(u32::from(ring))
}

fn set(bits: &mut u64, ring: u16, on: bool) {
    *bits = if on { *bits | bit(ring) } else { *bits & !bit(ring) };
}

/// The sender's side of a channel.
pub struct Outlet<P: Platform> {
    pub(super) tx: Producer<P::Own, P::Peer>,
    /// What the receiver says it took.
    taken: <P::Peer as Memory>::Words,
}

/// The receiver's side of a channel.
pub struct Inlet<P: Platform> {
    pub(super) rx: Consumer<P::Own, P::Peer>,
    /// Entries taken when the link ended.
    ended: u32,
}

impl<P: Platform> Outlet<P> {
    /// Whether a slot is known to be free.
    #[inline(always)]
    pub fn known_room(&self) -> bool {
        self.tx.known_room()
    }

    /// Whether a slot is free, looking at the peer's credit if need be. If it gave what it cannot
    /// have, the long way says so.
    pub fn has_room(&mut self) -> bool {
        self.tx.room() == Ok(true)
    }

    /// The number of the entry that is sent next.
    pub fn next(&self) -> u32 {
        self.tx.sent().wrapping_add(1)
    }

    /// Publishes a word where a slot is known to be free. True if the receiver is armed.
    #[inline(always)]
    pub fn put_word(&mut self, platform: &P, (value, len): (u64, u32), tag: u16) -> bool {
        self.put(platform, &entry(len, tag, None), &value.to_le_bytes())
    }

    #[inline(always)]
    fn put(&mut self, platform: &P, entry: &Descriptor, payload: &[u8]) -> bool {
        self.tx.put(entry, payload);
        platform.fence();
        self.tx.armed()
    }
}

impl<P: Platform> Inlet<P> {
    /// The number of the entry that was taken last.
    pub fn taken(&self) -> u32 {
        self.rx.taken()
    }

    /// Whether nothing is there to be taken.
    pub fn is_empty(&self) -> bool {
        !self.rx.ready()
    }

    /// Takes the next entry if one is there and it is a word of `len` bytes; whether a batch of
    /// credit has gathered comes with it.
    #[inline(always)]
    pub fn take_word(&mut self, len: u32) -> Option<(u64, bool)> {
        let wanted = |first| len <= WORD && Descriptor::is_usual(first, len);
        let ([_, last], word) = self.rx.behind(wanted)?;
        if !Descriptor::is_bare(last) {
            return None;
        }
        let number = self.rx.next();
        self.rx.pass(number);
        Some((word, self.rx.is_due(number)))
    }

    /// Takes the next entry if one is there and it is a packet, in a block of the sender's region
    /// and its layout, which `peer` has: whether a batch of credit has gathered. `keep` has the
    /// block, where it begins, and the packet's length, before the entry is passed: what is known
    /// of it need not be remembered over that.
    #[inline(always)]
    pub fn take_packet<'a>(
        &mut self,
        peer: impl FnOnce() -> (&'a P::Peer, &'a Layout),
        keep: impl FnOnce(Block, u32, u32),
    ) -> Option<bool>
    where
        P: 'a,
    {
        let ([first, last], _) = self.rx.behind(|_| true)?;
        let (len, block) = Descriptor::packet(first, last)?;
        let (peer, theirs) = peer();
        let (offset, limit) = theirs.block(block)?;
        if len > limit {
            return None;
        }
        peer.invalidate(offset, len);
        keep(block, offset, len);
        // Read anew: the number would have to be remembered over `keep`.
        self.rx.pass(self.rx.next());
        Some(self.rx.holds_batch())
    }

    /// Gives all credit that is held back. True if the sender may wait for it and is to be rung.
    pub fn give_credit(&mut self, platform: &P) -> bool {
        if self.rx.owed() == 0 {
            return false;
        }
        self.rx.give_credit();
        platform.fence();
        self.rx.wanted()
    }

    /// Whether something can be taken though the link has ended: a ring holds no more than its
    /// slots, whatever a peer that is alive in truth writes on.
    fn left(&self) -> bool {
        self.rx.taken().wrapping_sub(self.ended) < self.rx.slots() && self.rx.ready()
    }
}

/// All channels of a link. Which of them something is true of is a bit of a word.
pub(super) struct Channels<P: Platform> {
    outlets: P::Slice<Option<Outlet<P>>>,
    inlets: P::Slice<Option<Inlet<P>>>,
    /// Those to receive on that hold credit back.
    pub owing: u64,
    /// Those to receive on that waits include.
    watched: u64,
    /// Those to send on whose room waits include.
    wanting: u64,
    /// Blocks of the peer's that came over channels and were not given back.
    held: u32,
}

impl<P: Platform> Channels<P> {
    pub fn new(
        platform: &P,
        (mine, own): (&Layout, &P::Own),
        (theirs, peer): (&Layout, &P::Peer),
    ) -> Result<Self, NoStorage> {
        let count = usize::from(mine.channels().min(theirs.channels()));
        let outlet = |at: usize| {
            let ring = Ring::Channel(at as u16);
            let tx = Producer::of(ring, mine, own, theirs, peer).ok()?;
            Some(Outlet { tx, taken: theirs.taken_in(peer, ring).ok()? })
        };
        let inlet = |at: usize| {
            let rx = Consumer::of(Ring::Channel(at as u16), mine, own, theirs, peer).ok()?;
            Some(Inlet { rx, ended: 0 })
        };
        Ok(Channels {
            outlets: platform.storage(count, outlet)?,
            inlets: platform.storage(count, inlet)?,
            owing: 0,
            watched: 0,
            wanting: 0,
            held: 0,
        })
    }

    #[inline(always)]
    fn outlet(&mut self, ring: u16) -> Option<&mut Outlet<P>> {
        self.outlets.get_mut(usize::from(ring))?.as_mut()
    }
    #[inline(always)]
    fn inlet(&self, ring: u16) -> Option<&Inlet<P>> {
        self.inlets.get(usize::from(ring))?.as_ref()
    }

    /// Gives all credit that is held back.
    pub fn give_credit(&mut self) {
        for at in Bits(core::mem::take(&mut self.owing)) {
            if let Some(Some(inlet)) = self.inlets.get_mut(at) {
                inlet.rx.give_credit();
            }
        }
    }

    /// Takes note of credit where room is waited for. True if there was any.
    pub fn catch_up(&mut self) -> Result<bool, Corrupt> {
        let mut any = false;
        for at in Bits(self.wanting) {
            if let Some(Some(outlet)) = self.outlets.get_mut(at) {
                any |= outlet.tx.catch_up()?;
            }
        }
        Ok(any)
    }

    fn watched(&self) -> impl Iterator<Item = &Consumer<P::Own, P::Peer>> + Clone {
        let inlet = |at: usize| Some(&self.inlets.get(at)?.as_ref()?.rx);
        Bits(self.watched).filter_map(inlet)
    }
}

#[inline(always)]
fn entry(len: u32, tag: u16, block: Option<Block>) -> Descriptor {
    let (kind, ack) = (Kind::Message, Ack::Batched);
    Descriptor { kind, ack, priority: 0, len, source: 0, target: 0, tag, block }
}
