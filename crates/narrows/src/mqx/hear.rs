//! What comes over a link: frames, put together to messages, and where each message goes.

use super::frame::{Broken, Frame, LONGEST};
use super::ipc::{Ended, State};
use super::pool::{Place, Trip};
use super::{Header, Processor, Supply, index};
use crate::driver::{Frames, NoFrame};
use crate::link::route::{Lie, Once};

/// Frames that are received before something is sent.
const BATCH: usize = 64;

impl<S: Supply, N: Clone> Processor<S, N> {
    /// Receives. True if more may have come.
    pub(super) fn hear<F>(&mut self, link: usize, frames: &mut F) -> Result<bool, Ended>
    where
        F: Frames<Buffer = S::Buffer>,
    {
        let mut more = true;
        for _ in 0..BATCH {
            let mut header = [0; LONGEST];
            let len = match frames.try_receive(&mut header) {
                Ok(len) => len,
                Err(NoFrame::Gone) => return Err(Ended::Gone),
                Err(NoFrame::Empty) => {
                    more = false;
                    break;
                }
            };
            let heard = self.frame(link, frames, &header, len);
            frames.release();
            heard?;
        }
        // A driver that may still read a message keeps it, whatever the neighbour says.
        while !frames.holds() {
            let taken = self.relay.taken(link, self.links[link].taken);
            let Some(at) = taken.map_err(Broken::Credit)? else { break };
            self.outgoing -= u16::from(self.pools.blocks[index(at)].trip.came.is_none());
            self.put(at);
        }
        Ok(more)
    }

    /// Looks at one frame.
    fn frame<F>(
        &mut self,
        link: usize,
        frames: &mut F,
        bytes: &[u8; LONGEST],
        len: usize,
    ) -> Result<(), Broken>
    where
        F: Frames<Buffer = S::Buffer>,
    {
        let (frame, own, credit) = Frame::read(bytes, len, self.relay.hops())?;
        let known = &mut self.links[link];
        match frame {
            Frame::Hello { processor, longest } => {
                if known.state != State::Greeting {
                    return Err(Broken::Begin);
                }
                if self.table.neighbour(link) != Some(processor) {
                    return Err(Broken::Processor);
                }
                (known.state, known.longest) = (State::Up, longest);
                self.regain();
            }
            _ if known.state != State::Up => return Err(Broken::Begin),
            Frame::Message { taken, .. } | Frame::Credit { taken } => {
                if known.sent.wrapping_sub(taken) > known.sent.wrapping_sub(known.taken) {
                    return Err(Broken::Credit(Lie::Taken));
                }
                known.taken = taken;
            }
            Frame::Part { .. } => {}
        }
        for (class, credit) in (1..=self.relay.hops()).zip(credit.into_iter().flatten()) {
            self.relay.allow(link, class, credit).map_err(Broken::Credit)?;
        }
        let (at, offset) = match frame {
            Frame::Message { header, origin, life, number, hops, soon, again, .. } => {
                let (number, came) = (Some(number), Some(link as u8));
                let trip = Trip { origin, life, number, hops, again, soon, came };
                (self.make(link, header, trip)?, 0)
            }
            Frame::Part { offset } => match self.links[link].receiving {
                Some((at, came)) if came == offset => (at, offset),
                _ => return Err(Broken::Part),
            },
            _ => return Ok(()),
        };
        // Until all of it is there it is the link's, and ends with it.
        self.links[link].receiving = Some((at, offset));
        let (block, bytes) = (&mut self.pools.blocks[index(at)], len - own);
        let end = offset as usize + bytes;
        if end > block.header.size as usize {
            return Err(Broken::Size);
        }
        let buffer = block.buffer.as_mut().ok_or(Broken::Payload)?;
        if bytes > 0 {
            let read = frames.read(own, bytes, buffer, offset as usize);
            read.map_err(|_| Broken::Payload)?;
        }
        let whole = end == block.header.size as usize;
        self.links[link].receiving = (!whole).then_some((at, end as u32));
        if whole {
            let known = &mut self.links[link];
            known.came = known.came.wrapping_add(1);
            known.soon |= block.trip.soon;
            self.arrived(link, at);
        }
        Ok(())
    }

    /// A block for a message that begins to come.
    fn make(&mut self, link: usize, header: Header, trip: Trip) -> Result<u16, Broken> {
        if self.links[link].receiving.is_some() {
            return Err(Broken::Part);
        }
        if header.size > self.limits.longest {
            return Err(Broken::Size);
        }
        self.relay.take(link, trip.hops).map_err(Broken::Credit)?;
        let Ok(at) = self.pools.take(self.service) else {
            self.relay.free(link, trip.hops);
            return Err(Broken::Size);
        };
        let block = &mut self.pools.blocks[index(at)];
        (block.header, block.trip, block.place) = (header, trip, Place::Away);
        Ok(at)
    }

    /// All of a message is there.
    fn arrived(&mut self, link: usize, at: u16) {
        let block = &self.pools.blocks[index(at)];
        let (target, trip) = (block.header.target, block.trip);
        if target.processor() != self.number {
            let urgency = block.header.control.bits().unwrap_or(0);
            match self.pass(at, urgency) {
                Ok(went) => self.counts.forwarded += u64::from(went),
                Err(count) => self.lose(at, count),
            }
            return;
        }
        let Some(seen) = self.seen.get_mut(usize::from(trip.origin)) else {
            return self.lose(at, |counts| &mut counts.unknown_origin);
        };
        match seen.note(trip.life, trip.number.unwrap_or(0)) {
            Once::First => {}
            Once::Unknown if !trip.again => {}
            Once::Again => return self.lose(at, |counts| &mut counts.doubled),
            Once::Unknown | Once::Past => return self.lose(at, |counts| &mut counts.late),
        }
        let Some(queue) = self.place(target) else {
            return self.lose(at, |counts| &mut counts.unknown_queue);
        };
        if self.queues[queue].as_ref().is_some_and(|queue| queue.is_full()) {
            return self.lose(at, |counts| &mut counts.queue_full);
        }
        if self.delivered >= self.limits.delivered {
            return self.lose(at, |counts| &mut counts.pool_empty);
        }
        // The message keeps its block; the class gets one of those for delivered messages instead.
        self.pools.blocks[index(at)].trip.came = None;
        self.relay.free(link, trip.hops);
        self.delivered += 1;
        self.counts.delivered += 1;
        self.enqueue(queue, at);
    }
}
