//! What a region begins with: written by its node, read and checked by its peer.

use super::{Class, HEADER_WORDS, Layout, MAX_CLASSES, Ring, UNUSED};
use crate::memory::Corrupt;
use crate::platform::{Memory, OutOfRange, OwnMemory, Words as _, WordsMut as _};
use crate::strategy::Placement;

const MAGIC: u32 = 0x4e52_5731;
const VERSION: u32 = 2;
/// Where the block sizes begin.
const CLASS_WORDS: u32 = 16;

impl Layout {
    /// Writes the header and clears everything a peer looks at first. Done before the peer can see
    /// the region.
    ///
    /// # Errors
    /// The region is smaller than the layout.
    pub fn format<M: OwnMemory>(&self, own: &M) -> Result<(), OutOfRange> {
        self.write_header(own)?;
        self.core_in(own)?.store(0, 0);
        self.want_in(own)?.store(0, 0);
        for ring in self.rings() {
            self.armed_in(own, ring)?.store(0, 0);
            let credit = self.credit_in(own, ring)?;
            credit.store(0, 0);
            credit.store(1, 0);
            self.taken_in(own, ring)?.store(0, 0);
            self.clear_slots(own, ring)?;
        }
        Ok(())
    }

    /// As [`Layout::format`], of memory that is all zero: what is to be zero is left untouched, so
    /// that a page of a ring is made when the ring is used.
    ///
    /// # Errors
    /// As [`Layout::format`].
    pub fn format_zeroed<M: OwnMemory>(&self, own: &M) -> Result<(), OutOfRange> {
        self.write_header(own)?;
        for ring in self.rings() {
            let first = self.start(ring).wrapping_add(1);
            if first.wrapping_neg() < self.slots_of(ring) {
                self.clear_slots(own, ring)?;
            }
        }
        Ok(())
    }

    fn write_header<M: OwnMemory>(&self, own: &M) -> Result<(), OutOfRange> {
        if own.size() < self.size {
            return Err(OutOfRange);
        }
        let header = own.words(0, HEADER_WORDS)?;
        let fixed = [
            MAGIC,
            VERSION,
            self.line,
            self.slots,
            self.start,
            self.used as u32,
            self.size,
            u32::from(self.channels),
            self.channel_slots,
        ];
        for (i, value) in fixed.into_iter().enumerate() {
            header.store(i as u32, value);
        }
        for (i, class) in self.classes().iter().enumerate() {
            let at = CLASS_WORDS + 4 * i as u32;
            header.store(at, class.placement.code());
            header.store(at + 1, class.size);
            header.store(at + 2, class.count);
            header.store(at + 3, self.lots.offsets[i]);
        }
        self.urgent_in(own)?.store(0, self.start);
        Ok(())
    }

    pub(in crate::memory) fn rings(&self) -> impl Iterator<Item = Ring> + use<> {
        core::iter::once(Ring::Messages).chain((0..self.channels).map(Ring::Channel))
    }

    fn clear_slots<M: OwnMemory>(&self, own: &M, ring: Ring) -> Result<(), OutOfRange> {
        let slots = self.slots_in(own, ring)?;
        for slot in 0..self.slots_of(ring) {
            // A slot that was never written must not look like the one waited for: the number
            // before the first is the one number that no slot waits for in the first round.
            slots.store(slot * self.line / 4, self.start(ring));
        }
        Ok(())
    }

    /// Reads a peer's header: every figure is checked, and the layout is computed again from the
    /// block sizes rather than believed.
    ///
    /// # Errors
    /// [`Corrupt::Header`].
    pub fn read<M: Memory>(peer: &M, line: u32) -> Result<Layout, Corrupt> {
        let bad = |_| Corrupt::Header;
        let header = peer.words(0, HEADER_WORDS).map_err(bad)?;
        let word = |i| header.load(i);
        if word(0) != MAGIC || word(1) != VERSION || word(2) != line {
            return Err(Corrupt::Header);
        }
        let used = word(5) as usize;
        if used > MAX_CLASSES {
            return Err(Corrupt::Header);
        }
        let mut classes = [UNUSED; MAX_CLASSES];
        for (i, class) in classes[..used].iter_mut().enumerate() {
            let at = CLASS_WORDS + 4 * i as u32;
            let placement = Placement::from_code(word(at)).ok_or(Corrupt::Header)?;
            *class = Class { placement, size: word(at + 1), count: word(at + 2) };
        }
        let mut layout = Layout::new(line, word(3), &classes[..used])
            .map_err(|_| Corrupt::Header)?
            .starting_at(word(4));
        let (channels, slots) = (word(7), word(8));
        if (channels, slots) != (0, 0) {
            let channels = u16::try_from(channels).ok().filter(|n| *n > 0);
            let channels = channels.ok_or(Corrupt::Header)?;
            layout = layout.with_channels(channels, slots).map_err(|_| Corrupt::Header)?;
        }
        if word(6) != layout.size || peer.size() < layout.size {
            return Err(Corrupt::Header);
        }
        Ok(layout)
    }
}
