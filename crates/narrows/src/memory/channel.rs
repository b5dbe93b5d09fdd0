//! Channels: rings of a link beside its ring of messages, each with one sender and one receiver.
//! Their blocks are the link's, and so is the word by which a sender says that it waits for room.

use super::{Ack, Kind};
use super::{Block, Consumer, Corrupt, Descriptor, Layout, Producer, Ring, Shared};
use crate::platform::{Memory, NoStorage, PeerWords, Platform, Watch, Words};
use crate::strategy::Placement;

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

    /// Whether a slot is free, looking at the peer's credit if need be. If it gave what it cannot have, the
    /// long way says so.
    pub fn has_room(&mut self) -> bool {
        self.tx.room() == Ok(true)
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

    /// Takes the next entry if one is there and it is a packet, in a block of the sender's region and
    /// its layout, which `peer` has: whether a batch of credit has gathered. `keep` has the block,
    /// where it begins, and the packet's length, before the entry is passed: what is known of it need
    /// not be remembered over that.
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

impl<P: Platform> Shared<P> {
    /// Channels to send on, and as many to receive on.
    pub fn channels(&self) -> u16 {
        self.channels.inlets.len() as u16
    }

    /// Publishes a word on a channel where a slot is known to be free, and rings if need be. False
    /// if there is none, or no such channel.
    #[inline(always)]
    pub fn post_word(
        &mut self,
        platform: &P,
        ring: u16,
        (value, len): (u64, u32),
        tag: u16,
    ) -> bool {
        let Some(outlet) = self.channels.outlet(ring).filter(|o| o.tx.known_room()) else {
            return false;
        };
        if outlet.put_word(platform, (value, len), tag) && outlet.tx.must_ring() {
            platform.ring(&self.bell);
        }
        true
    }

    /// As [`Shared::post_word`], a packet, which this core copies to a block.
    #[inline(always)]
    pub fn post_packet(
        &mut self,
        platform: &P,
        ring: u16,
        bytes: &[u8],
        placement: Placement,
        tag: u16,
    ) -> bool {
        if !self.channels.outlet(ring).is_some_and(|o| o.tx.known_room()) {
            return false;
        }
        let Some(block) = self.bring(placement, bytes) else { return false };
        let Some(outlet) = self.channels.outlet(ring) else { return false };
        let armed = outlet.put(platform, &entry(bytes.len() as u32, tag, Some(block)), &[]);
        if armed && outlet.tx.must_ring() {
            platform.ring(&self.bell);
        }
        true
    }

    /// As [`Shared::post_packet`], on an outlet that was taken out, of a packet that is `SHORT` or of
    /// any. Whether the receiver is armed; none if nothing was sent.
    #[inline(always)]
    pub fn post_packet_to<const SHORT: bool>(
        &mut self,
        platform: &P,
        outlet: &mut Outlet<P>,
        bytes: &[u8],
        placement: Placement,
        tag: u16,
    ) -> Option<bool> {
        if !outlet.known_room() {
            return None;
        }
        let block = match SHORT {
            true => self.bring_short(placement, bytes)?,
            false => self.bring(placement, bytes)?,
        };
        Some(outlet.put(platform, &entry(bytes.len() as u32, tag, Some(block)), &[]))
    }

    /// Whether an outlet that was taken out has room for a packet, looking at the peer's credit if none is
    /// known of, and then at the blocks that came back. If it gave what it cannot have, the long way says so.
    pub fn has_room(&mut self, outlet: &mut Outlet<P>) -> bool {
        outlet.known_room() || (outlet.has_room() && self.reclaim().is_ok())
    }

    /// Rings the peer, if that is due behind what an outlet that was taken out has sent.
    pub fn ring_for(&self, platform: &P, outlet: &Outlet<P>) {
        if outlet.tx.must_ring() {
            platform.ring(&self.bell);
        }
    }

    /// Gives the credit of an inlet that was taken out.
    pub fn credit(&self, platform: &P, inlet: &mut Inlet<P>) {
        if inlet.give_credit(platform) {
            platform.ring(&self.bell);
        }
    }

    /// Takes the sender's side of a channel out, until it is put back.
    pub fn take_outlet(&mut self, ring: u16) -> Option<Outlet<P>> {
        self.channels.outlets.get_mut(usize::from(ring))?.take()
    }

    /// Puts back what was taken out.
    pub fn put_outlet(&mut self, ring: u16, outlet: Outlet<P>) {
        if let Some(place) = self.channels.outlets.get_mut(usize::from(ring)) {
            *place = Some(outlet);
        }
    }

    /// Takes the receiver's side of a channel out, until it is put back.
    pub fn take_inlet(&mut self, ring: u16) -> Option<Inlet<P>> {
        self.channels.inlets.get_mut(usize::from(ring))?.take()
    }

    /// Puts back what was taken out; `over` if the link ended meanwhile.
    pub fn put_inlet(&mut self, ring: u16, mut inlet: Inlet<P>, over: bool) {
        if over {
            inlet.ended = inlet.rx.taken();
        }
        if inlet.rx.owed() != 0 {
            self.channels.owing |= bit(ring);
        }
        if let Some(place) = self.channels.inlets.get_mut(usize::from(ring)) {
            *place = Some(inlet);
        }
    }

    /// Whether there is such a channel and its receiver's side has not been taken out.
    pub fn has_inlet(&self, ring: u16) -> bool {
        self.channels.inlet(ring).is_some()
    }

    /// Whether there is such a channel and its sender's side has not been taken out.
    pub fn has_outlet(&self, ring: u16) -> bool {
        self.channels.outlets.get(usize::from(ring)).is_some_and(Option::is_some)
    }

    /// Whether a slot of a channel to send on is free, looking at the peer's credit if need be; none
    /// if there is no such channel.
    ///
    /// # Errors
    /// The peer broke the protocol.
    pub fn channel_room(&mut self, ring: u16) -> Result<Option<bool>, Corrupt> {
        self.channels.outlet(ring).map(|outlet| outlet.tx.room()).transpose()
    }

    /// Takes the next entry of a channel, if one is there and it is a word, or a packet if these are
    /// wanted. None if it is something else, there is no such channel, or a batch of credit has
    /// gathered.
    #[inline(always)]
    pub fn take_quickly<const PACKETS: bool>(&mut self, ring: u16) -> Option<Option<Arrival>> {
        let inlet = self.channels.inlets.get_mut(usize::from(ring))?.as_mut()?;
        let Some(words) = inlet.rx.words() else { return Some(None) };
        let number = inlet.rx.next();
        let Descriptor { len, tag, block, .. } = Descriptor::usual(words)?;
        if block.is_some() != PACKETS || inlet.rx.is_due(number.wrapping_sub(1)) {
            return None;
        }
        let (offset, limit) = if PACKETS { self.theirs.block(block?)? } else { (0, WORD) };
        if len > limit {
            return None;
        }
        let mut word = 0;
        if PACKETS {
            self.peer.invalidate(offset, len);
            self.channels.held += 1;
        } else {
            word = inlet.rx.first_bytes();
        }
        inlet.rx.pass(number);
        self.channels.owing |= bit(ring);
        Some(Some(Arrival { len, tag, block, word }))
    }

    /// Takes the next entry of a channel, if one is there, after giving the credit that has gathered.
    /// None if there is no such channel, or something is wrong with the entry: [`Shared::fault`] says
    /// what.
    pub fn take_arrival(&mut self, platform: &P, ring: u16) -> Option<Option<Arrival>> {
        if self.channels.inlet(ring)?.rx.holds_batch() {
            self.flush(platform);
        }
        self.take_quickly::<false>(ring).or_else(|| self.take_quickly::<true>(ring))
    }

    /// What is wrong with the next entry of a channel.
    pub fn fault(&self, ring: u16) -> Corrupt {
        let words = self.channels.inlet(ring).and_then(|inlet| inlet.rx.words());
        let Some(descriptor) = words.and_then(Descriptor::usual) else { return Corrupt::Kind };
        let nowhere = |block| self.theirs.block(block).is_none();
        if descriptor.block.is_some_and(nowhere) { Corrupt::Block } else { Corrupt::Length }
    }

    /// Gives a block back that is not counted as held. True if a batch has gathered.
    #[inline(always)]
    pub fn give_uncounted(&mut self, block: Block) -> bool {
        self.returner.give(block);
        self.returner.holds_batch()
    }

    /// Gives a block back that came over a channel.
    #[inline(always)]
    pub fn give_block(&mut self, platform: &P, block: Block) {
        self.drop_block();
        self.returner.give(block);
        if self.returner.holds_batch() {
            self.flush(platform);
        }
    }

    /// Forgets a block that came over a channel whose peer is gone.
    #[inline(always)]
    pub fn drop_block(&mut self) {
        self.channels.held = self.channels.held.saturating_sub(1);
    }

    /// Whether the next entry of a channel is there.
    #[inline(always)]
    pub fn channel_ready(&self, ring: u16) -> bool {
        self.channels.inlet(ring).is_some_and(|inlet| inlet.rx.ready())
    }

    /// Entries of a channel that are there.
    pub fn channel_available(&self, ring: u16) -> u32 {
        self.channels.inlet(ring).map_or(0, |inlet| inlet.rx.available())
    }

    /// Entries sent on a channel that the receiver has not taken.
    pub fn channel_unsent(&self, ring: u16) -> u32 {
        let outlet = self.channels.outlets.get(usize::from(ring)).and_then(Option::as_ref);
        outlet.map_or(0, |Outlet { tx, taken }| {
            // Acquire: pairs with the release in `Consumer::advance`.
            tx.sent().wrapping_sub(tx.first_untaken(taken.load_acquire(0)))
        })
    }

    /// Says whether waits include a channel to receive on.
    pub fn watch_channel(&mut self, ring: u16, on: bool) {
        set(&mut self.channels.watched, ring, on);
        if !on && let Some(inlet) = self.channels.inlet(ring) {
            inlet.rx.disarm();
        }
    }

    /// Says whether waits include room in a channel to send on. Returns whether they did.
    pub fn want_channel_room(&mut self, ring: u16, on: bool) -> bool {
        let did = self.channels.wanting & bit(ring) != 0;
        set(&mut self.channels.wanting, ring, on);
        did
    }

    /// Whether room in some channel is waited for.
    pub fn wants_channel_room(&self) -> bool {
        self.channels.wanting != 0
    }

    /// Whether the next entry of a channel can be taken though the link has ended.
    pub fn channel_left(&self, ring: u16) -> bool {
        self.channels.inlet(ring).is_some_and(Inlet::left)
    }

    /// Whether this link has, though it has ended, something that its application may still want:
    /// blocks that came over channels, entries of channels that it watches.
    pub fn keeps_channels(&self) -> bool {
        let watched = Bits(self.channels.watched);
        self.channels.held > 0 || watched.into_iter().any(|at| self.channel_left(at as u16))
    }

    /// Notes that the link has ended.
    pub fn end_channels(&mut self) {
        for inlet in self.channels.inlets.iter_mut().flatten() {
            inlet.ended = inlet.rx.taken();
        }
    }

    /// The channels that are watched, and those whose room is wanted.
    pub(crate) fn watched_channels(&self) -> [Bits; 2] {
        [Bits(self.channels.watched), Bits(self.channels.wanting)]
    }

    /// The word to watch for a channel's `messages`-th entry from now, or the last that the ring has
    /// room for.
    pub(crate) fn entry_to_come(
        &self,
        channel: usize,
        messages: u32,
    ) -> Option<Watch<'_, PeerWords<P>>> {
        let rx = &self.channels.inlets.get(channel)?.as_ref()?.rx;
        Some(rx.watched(messages.min(rx.slots())))
    }

    /// The word to watch for room in a channel.
    pub(crate) fn room_to_come(&self, channel: usize) -> Option<Watch<'_, PeerWords<P>>> {
        Some(self.channels.outlets.get(channel)?.as_ref()?.tx.watched())
    }

    /// Asks to be rung for as many messages more on each channel that is watched.
    pub fn arm_channels(&self, messages: u32) {
        self.channels.watched().for_each(|rx| rx.arm(messages.min(rx.slots())));
    }

    /// Asks not to be rung for channels.
    pub fn disarm_channels(&self) {
        self.channels.watched().for_each(Consumer::disarm);
    }
}
