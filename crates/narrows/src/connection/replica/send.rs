//! What the own node published becomes frames.

use core::ops::DerefMut;

use super::{BLOCK, BLOCK_HEADER, COUNTS, ENTRY, LONGEST, Lane, NAMES, RETURNS, Replica, TURN};
use crate::connection::frame::Closed;
use crate::driver::{Frames, NotSent};
use crate::memory::{Ack, Descriptor, IN_SLOT, Ring};
use crate::platform::{Instant, OwnMemory, Words as _};

impl<O: OwnMemory, L: DerefMut<Target = [Lane<O>]>> Replica<O, L> {
    /// Sends a frame with its number. False if there is no room for it.
    pub(super) fn say<F: Frames<Buffer = O>>(
        &mut self,
        frames: &mut F,
        now: Instant,
        header: &mut [u8],
        payload: Option<(u32, u32)>,
    ) -> Result<bool, Closed> {
        put(header, 2, &self.out.to_le_bytes());
        let payload = payload.map(|(at, len)| (&self.own, at as usize, len as usize));
        match frames.try_send(header, payload) {
            Ok(()) => {
                self.out = self.out.wrapping_add(1);
                self.sent = now;
                Ok(true)
            }
            Err(NotSent::Full) => Ok(false),
            // A frame within the medium's own limits that does not fit is no medium to go on with.
            Err(NotSent::TooLong | NotSent::Gone) => Err(Closed::Lost),
        }
    }

    /// Sends entries of the lane whose turn it is, and its counts. False if something is left.
    pub(super) fn send_lane<F: Frames<Buffer = O>>(
        &mut self,
        frames: &mut F,
        now: Instant,
    ) -> Result<bool, Closed> {
        if !self.send_counts(frames, now)? {
            return Ok(false);
        }
        let (at, line) = (self.turn, self.mine.line() / 4);
        for _ in 0..TURN {
            let Some(lane) = self.lanes.get(at) else { return Ok(true) };
            let Some(words) = lane.waiting(line) else { return Ok(true) };
            let mut header = [0; LONGEST];
            header[..2].copy_from_slice(&[ENTRY, at as u8]);
            for (to, word) in header[4..16].chunks_exact_mut(4).zip(words) {
                to.copy_from_slice(&word.to_le_bytes());
            }
            // The own node's words: what does not hold up among them the peer would refuse.
            let entry = Descriptor::unpack(words).map_err(|_| Closed::Here)?;
            let mut long = 16;
            match entry.block {
                Some(block) => {
                    let (offset, _) = self.mine.block(block).ok_or(Closed::Here)?;
                    if !self.send_block(frames, now, offset, entry.len)? {
                        return Ok(false);
                    }
                }
                None => {
                    long += (entry.len as usize).min(IN_SLOT);
                    let at = lane.next.wrapping_sub(1).wrapping_mul(line);
                    lane.slots.read_slot(at, &mut header[16..long]);
                }
            }
            if !self.say(frames, now, &mut header[..long], None)? {
                return Ok(false);
            }
            self.cut = 0;
            if let Some(lane) = self.lanes.get_mut(at) {
                if entry.ack == Ack::Interrupt {
                    lane.rung_for = lane.next.wrapping_sub(self.mine.start(lane.ring));
                }
                lane.next = lane.next.wrapping_add(1);
            }
        }
        Ok(false)
    }

    /// Sends what is left of the bytes of a block of the lane whose turn it is. False if there is
    /// no room for all.
    fn send_block<F: Frames<Buffer = O>>(
        &mut self,
        frames: &mut F,
        now: Instant,
        offset: u32,
        len: u32,
    ) -> Result<bool, Closed> {
        let most = (frames.mtu() - BLOCK_HEADER) as u32;
        while self.cut < len {
            let (at, part) = (offset + self.cut, most.min(len - self.cut));
            let mut header = [BLOCK, self.turn as u8, 0, 0, 0, 0, 0, 0];
            put(&mut header, 4, &at.to_le_bytes());
            if !self.say(frames, now, &mut header, Some((at, part)))? {
                return Ok(false);
            }
            self.cut += part;
        }
        Ok(true)
    }

    fn send_counts<F: Frames<Buffer = O>>(
        &mut self,
        frames: &mut F,
        now: Instant,
    ) -> Result<bool, Closed> {
        let Some(lane) = self.lanes.get(self.turn) else { return Ok(true) };
        let counts = lane.counts();
        if counts == lane.told {
            return Ok(true);
        }
        let mut header = [COUNTS, self.turn as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        put(&mut header, 4, &counts[0].to_le_bytes());
        put(&mut header, 8, &counts[1].to_le_bytes());
        let said = self.say(frames, now, &mut header, None)?;
        if said && let Some(lane) = self.lanes.get_mut(self.turn) {
            lane.told = counts;
        }
        Ok(said)
    }

    pub(super) fn send_returns<F: Frames<Buffer = O>>(
        &mut self,
        frames: &mut F,
        now: Instant,
    ) -> Result<bool, Closed> {
        let counts = self.mine.credit_in(&self.own, Ring::Messages).map_err(|_| Closed::Here)?;
        loop {
            // Acquire: pairs with the release in `Returner::publish`.
            let left = counts.load_acquire(1).wrapping_sub(self.told);
            if left == 0 {
                return Ok(true);
            }
            let names = NAMES.min(left as usize);
            let mut header = [0; 4 + 2 * NAMES];
            header[..2].copy_from_slice(&[RETURNS, names as u8]);
            for (number, to) in (self.told..).zip(header[4..].chunks_exact_mut(2).take(names)) {
                to.copy_from_slice(&(self.names.load(number) as u16).to_le_bytes());
            }
            if !self.say(frames, now, &mut header[..4 + 2 * names], None)? {
                return Ok(false);
            }
            self.told = self.told.wrapping_add(names as u32);
        }
    }
}

fn put(header: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(to) = header.get_mut(at..at + bytes.len()) {
        to.copy_from_slice(bytes);
    }
}
