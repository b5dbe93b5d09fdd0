//! What a link does with its channels, by their numbers.

use super::{Arrival, Bits, Inlet, Outlet, WORD, bit, entry, set};
use crate::memory::{Block, Consumer, Corrupt, Descriptor, Shared};
use crate::platform::{Memory as _, PeerWords, Platform, Watch, Words as _};
use crate::strategy::Placement;

impl<P: Platform> Shared<P> {
    /// Channels to send on, and as many to receive on.
    pub fn channels(&self) -> u16 {
        self.channels.inlets.len() as u16
    }

    /// Publishes a word on a channel where a slot is known to be free, and rings if need be. False
    /// if there is none, or no such channel. `note` has the entry's number before it is published:
    /// nobody has it sooner than it is sent.
    #[inline(always)]
    pub fn post_word(
        &mut self,
        platform: &P,
        ring: u16,
        (value, len): (u64, u32),
        tag: u16,
        note: impl FnOnce(u32),
    ) -> bool {
        let Some(outlet) = self.channels.outlet(ring).filter(|o| o.tx.known_room()) else {
            return false;
        };
        note(outlet.next());
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
        note: impl FnOnce(u32),
    ) -> bool {
        if !self.channels.outlet(ring).is_some_and(|o| o.tx.known_room()) {
            return false;
        }
        let Some(block) = self.bring(placement, bytes) else { return false };
        let Some(outlet) = self.channels.outlet(ring) else { return false };
        note(outlet.next());
        let armed = outlet.put(platform, &entry(bytes.len() as u32, tag, Some(block)), &[]);
        if armed && outlet.tx.must_ring() {
            platform.ring(&self.bell);
        }
        true
    }

    /// As [`Shared::post_packet`], on an outlet that was taken out, of a packet that is `SHORT` or
    /// of any. Whether the receiver is armed; none if nothing was sent.
    #[inline(always)]
    pub fn post_packet_to<const SHORT: bool>(
        &mut self,
        platform: &P,
        outlet: &mut Outlet<P>,
        bytes: &[u8],
        placement: Placement,
        tag: u16,
        note: impl FnOnce(u32),
    ) -> Option<bool> {
        if !outlet.known_room() {
            return None;
        }
        let block = match SHORT {
            true => self.bring_short(placement, bytes)?,
            false => self.bring(placement, bytes)?,
        };
        note(outlet.next());
        Some(outlet.put(platform, &entry(bytes.len() as u32, tag, Some(block)), &[]))
    }

    /// Whether an outlet that was taken out has room for a packet, looking at the peer's credit if
    /// none is known of, and then at the blocks that came back. If it gave what it cannot have, the
    /// long way says so.
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

    /// Whether a slot of a channel to send on is free, looking at the peer's credit if need be;
    /// none if there is no such channel.
    ///
    /// # Errors
    /// The peer broke the protocol.
    pub fn channel_room(&mut self, ring: u16) -> Result<Option<bool>, Corrupt> {
        self.channels.outlet(ring).map(|outlet| outlet.tx.room()).transpose()
    }

    /// Takes the next entry of a channel, if one is there and it is a word. None if it is something
    /// else, there is no such channel, or a batch of credit has gathered.
    #[inline(always)]
    pub fn take_word(&mut self, ring: u16) -> Option<Option<Arrival>> {
        let inlet = self.channels.inlets.get_mut(usize::from(ring))?.as_mut()?;
        let Some(words) = inlet.rx.words() else { return Some(None) };
        let number = inlet.rx.next();
        let Descriptor { len, tag, block, .. } = Descriptor::usual(words)?;
        if block.is_some() || len > WORD || inlet.rx.is_due(number.wrapping_sub(1)) {
            return None;
        }
        let word = inlet.rx.first_bytes();
        inlet.rx.pass(number);
        self.channels.owing |= bit(ring);
        Some(Some(Arrival { len, tag, block, word }))
    }

    /// As [`Shared::take_word`], a packet.
    #[inline(always)]
    pub fn take_packet(&mut self, ring: u16) -> Option<Option<Arrival>> {
        let inlet = self.channels.inlets.get_mut(usize::from(ring))?.as_mut()?;
        let Some(words) = inlet.rx.words() else { return Some(None) };
        let number = inlet.rx.next();
        let Descriptor { len, tag, block, .. } = Descriptor::usual(words)?;
        let (offset, size) = self.theirs.block(block?)?;
        if len > size || inlet.rx.is_due(number.wrapping_sub(1)) {
            return None;
        }
        self.peer.invalidate(offset, len);
        self.channels.held += 1;
        inlet.rx.pass(number);
        self.channels.owing |= bit(ring);
        Some(Some(Arrival { len, tag, block, word: 0 }))
    }

    /// Takes the next entry of a channel, if one is there, after giving the credit that has
    /// gathered. None if there is no such channel, or something is wrong with the entry:
    /// [`Shared::fault`] says what.
    pub fn take_arrival(&mut self, platform: &P, ring: u16) -> Option<Option<Arrival>> {
        if self.channels.inlet(ring)?.rx.holds_batch() {
            self.flush(platform);
        }
        self.take_word(ring).or_else(|| self.take_packet(ring))
    }

    /// The number of the entry that was taken off a channel last.
    pub fn channel_taken(&self, ring: u16) -> u32 {
        self.channels.inlet(ring).map_or(0, |inlet| inlet.rx.taken())
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

    /// The word to watch for a channel's `messages`-th entry from now, or the last that the ring
    /// has room for.
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
