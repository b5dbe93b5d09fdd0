//! What frames say is stored in the replica, once it is seen to fit.

use core::ops::DerefMut;

use super::{
    ALIVE, BLOCK, BLOCK_HEADER, BYE, COUNTS, ENTRY, LONGEST, Lane, NAMES, RETURNS, Replica,
};
use crate::connection::frame::{Broken, Closed};
use crate::driver::Frames;
use crate::memory::{Descriptor, Ring};
use crate::platform::{OwnMemory, Words as _, WordsMut as _};

impl<O: OwnMemory, L: DerefMut<Target = [Lane<O>]>> Replica<O, L> {
    /// Takes one frame.
    pub(super) fn take<F: Frames<Buffer = O>>(
        &mut self,
        frames: &mut F,
        header: &[u8; LONGEST],
        len: usize,
    ) -> Result<(), Closed> {
        let [kind, which, low, high, ..] = *header;
        if len < 4 || u16::from_le_bytes([low, high]) != self.into {
            return Err(Closed::Broken(if len < 4 { Broken::Kind } else { Broken::Sequence }));
        }
        match kind {
            ENTRY if len >= 16 => self.take_entry(usize::from(which), header, len),
            BLOCK if len > BLOCK_HEADER => self.take_block(frames, word(header, 4), len),
            COUNTS if len == 12 => {
                let lane = self.lanes.get_mut(usize::from(which));
                let lane = lane.ok_or(Closed::Broken(Broken::Kind))?;
                let before = lane.their_credit.load(0);
                let asked = lane.rung_for.wrapping_sub(before) as i32 > 0;
                self.acknowledged |= asked;
                // Numbers wrap round: what is behind must not come to look as if it were ahead.
                lane.rung_for = if asked { lane.rung_for } else { before };
                // Release: pair with the acquires in `Shared::first_untaken` and
                // `Producer::refresh`, which sees whether the credit can be.
                lane.their_taken.store_release(0, word(header, 8));
                lane.their_credit.store_release(0, word(header, 4));
                Ok(())
            }
            RETURNS if usize::from(which) <= NAMES && len == 4 + 2 * usize::from(which) => {
                let names = header[4..len].chunks_exact(2);
                for name in names.map(|name| u16::from_le_bytes([name[0], name[1]])) {
                    self.their_names.store(self.came, u32::from(name));
                    self.came = self.came.wrapping_add(1);
                }
                // Release: pairs with the acquire in `Reclaimer::reclaim`, which checks the names.
                self.their_count.store_release(1, self.came);
                Ok(())
            }
            ALIVE if len == 4 => Ok(()),
            BYE if len == 4 => Err(Closed::Peer),
            _ => Err(Closed::Broken(Broken::Kind)),
        }
    }

    fn take_entry(&mut self, at: usize, header: &[u8; LONGEST], len: usize) -> Result<(), Closed> {
        let words = [4, 8, 12].map(|at| word(header, at));
        let mut entry = Descriptor::unpack(words).map_err(|_| Closed::Broken(Broken::Kind))?;
        let fits = match entry.block {
            Some(block) => {
                let size = self.theirs.block(block).map(|(_, size)| size);
                len == 16 && size.is_some_and(|size| entry.len <= size)
            }
            None => entry.len <= self.theirs.in_slot() && len == 16 + entry.len as usize,
        };
        let lane = self.lanes.get_mut(at).ok_or(Closed::Broken(Broken::Kind))?;
        if !fits {
            return Err(Closed::Broken(Broken::Payload));
        }
        if lane.tx.room() != Ok(true) {
            return Err(Closed::Broken(Broken::Window));
        }
        if lane.ring != Ring::Messages {
            entry.priority = 0;
        }
        lane.tx.publish(&entry, &header[16..len]);
        Ok(())
    }

    fn take_block<F: Frames<Buffer = O>>(
        &mut self,
        frames: &mut F,
        offset: u32,
        len: usize,
    ) -> Result<(), Closed> {
        let payload = len - BLOCK_HEADER;
        let first = self.theirs.places().next().map_or(u32::MAX, |(offset, _)| offset);
        let end = u32::try_from(payload).ok().and_then(|payload| offset.checked_add(payload));
        if offset < first || end.is_none_or(|end| end > self.theirs.size()) {
            return Err(Closed::Broken(Broken::Payload));
        }
        let read = frames.read(BLOCK_HEADER, payload, &mut self.replica, offset as usize);
        read.map_err(|_| Closed::Broken(Broken::Payload))
    }
}

/// The word at a place of a header that is long enough for it.
fn word(header: &[u8; LONGEST], at: usize) -> u32 {
    let bytes = header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    u32::from_le_bytes(bytes.unwrap_or_default())
}
