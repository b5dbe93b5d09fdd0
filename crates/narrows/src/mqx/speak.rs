//! What goes over a link: messages, cut to frames, and with each what the neighbour is to know.

use super::frame::{Frame, LONGEST, PART};
use super::ipc::{Ended, Left, State};
use super::pool::Trip;
use super::{Processor, Supply, index};
use crate::driver::{Frames, NotSent};
use crate::link::route::HOPS;

impl<S: Supply, N: Clone> Processor<S, N> {
    /// Sends.
    pub(super) fn speak<F>(&mut self, link: usize, frames: &mut F) -> Result<Left, Ended>
    where
        F: Frames<Buffer = S::Buffer>,
    {
        if !self.links[link].greeted {
            let hello = Frame::Hello { processor: self.number, longest: self.limits.longest };
            if !self.say(link, frames, &hello, None)? {
                return Ok(Left::Room);
            }
            self.links[link].greeted = true;
        }
        if self.links[link].state != State::Up {
            return Ok(Left::Nothing);
        }
        loop {
            let sent = match self.links[link].sending {
                Some((at, from)) => self.send_part(link, frames, at, from)?,
                None => match self.relay.next(link) {
                    Some(at) => self.send_first(link, frames, at)?,
                    None => break,
                },
            };
            if !sent {
                return Ok(Left::Room);
            }
        }
        let known = &self.links[link];
        if known.soon || self.relay.owes(link) {
            let credit = Frame::Credit { taken: known.came };
            if !self.say(link, frames, &credit, None)? {
                return Ok(Left::Room);
            }
        }
        Ok(Left::Nothing)
    }

    /// Sends the first bytes of a message. False if there is no room.
    fn send_first<F>(&mut self, link: usize, frames: &mut F, at: u16) -> Result<bool, Ended>
    where
        F: Frames<Buffer = S::Buffer>,
    {
        let low = self.pools.is_low(at) || self.outgoing > self.limits.outgoing / 2;
        let block = &mut self.pools.blocks[index(at)];
        let Trip { origin, life, hops, again, came, .. } = block.trip;
        let header = block.header;
        let numbers = self.numbers.get_mut(usize::from(header.target.processor()));
        let number = match (block.trip.number, numbers) {
            (Some(number), _) => number,
            (None, Some(next)) => core::mem::replace(next, next.wrapping_add(1)),
            (None, None) => 0,
        };
        block.trip.number = Some(number);
        let soon = came.map_or(low, |came| self.relay.is_low(usize::from(came), hops));
        let (hops, taken) = (hops + 1, self.links[link].came);
        let frame = Frame::Message { header, origin, life, number, hops, soon, again, taken };
        let own = frame.write(&[0; HOPS][..usize::from(self.relay.hops())], &mut [0; LONGEST]);
        let bytes = (header.size as usize).min(frames.mtu() - own);
        if !self.say(link, frames, &frame, Some((at, 0, bytes)))? {
            return Ok(false);
        }
        self.relay.begin(link);
        self.sent(link, at, bytes as u32);
        Ok(true)
    }

    /// Sends further bytes of a message. False if there is no room.
    fn send_part<F>(
        &mut self,
        link: usize,
        frames: &mut F,
        at: u16,
        from: u32,
    ) -> Result<bool, Ended>
    where
        F: Frames<Buffer = S::Buffer>,
    {
        let left = (self.pools.blocks[index(at)].header.size - from) as usize;
        let bytes = left.min(frames.mtu() - PART);
        let frame = Frame::Part { offset: from };
        if !self.say(link, frames, &frame, Some((at, from as usize, bytes)))? {
            return Ok(false);
        }
        self.sent(link, at, from + bytes as u32);
        Ok(true)
    }

    /// This many bytes of a message have been sent.
    fn sent(&mut self, link: usize, at: u16, bytes: u32) {
        let whole = bytes == self.pools.blocks[index(at)].header.size;
        let known = &mut self.links[link];
        known.sending = (!whole).then_some((at, bytes));
        known.sent = known.sent.wrapping_add(u16::from(whole));
    }

    /// Sends one frame, with what the neighbour is to know. False if there is no room.
    fn say<F>(
        &mut self,
        link: usize,
        frames: &mut F,
        frame: &Frame,
        payload: Option<(u16, usize, usize)>,
    ) -> Result<bool, Ended>
    where
        F: Frames<Buffer = S::Buffer>,
    {
        let hops = usize::from(self.relay.hops());
        let credit: [u16; HOPS] = core::array::from_fn(|n| match n < hops {
            true => self.relay.may(link, n as u8 + 1),
            false => 0,
        });
        let mut header = [0; LONGEST];
        let len = frame.write(&credit[..hops], &mut header);
        let payload = payload.filter(|(.., bytes)| *bytes > 0).and_then(|(at, from, bytes)| {
            Some((self.pools.blocks[index(at)].buffer.as_ref()?, from, bytes))
        });
        match frames.try_send(&header[..len], payload) {
            Ok(()) => {}
            Err(NotSent::Full) => return Ok(false),
            // It cannot be too long: it is within the driver's limit and its buffer.
            Err(NotSent::Gone | NotSent::TooLong) => return Err(Ended::Gone),
        }
        if !matches!(frame, Frame::Part { .. }) {
            self.relay.told(link);
            self.links[link].soon = false;
        }
        Ok(true)
    }
}
