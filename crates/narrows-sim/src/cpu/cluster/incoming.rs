//! Receiving a frame, step by step.

use super::frames::{BUFFER, FIRST, Medium, PLACED, POINTER, Passed, whole};
use super::{Fault, Kind, Line, Mechanism, Way, shared};
use narrows::connection::replica::{LONGEST, is_entry};
use std::rc::Rc;

/// The bits of a frame's first word that say how long its payload is.
const PAYLOAD: u32 = 0x00ff_ffff;

/// What is received of.
pub(super) struct In {
    pub line: Line,
    pub passed: Rc<Passed>,
    /// Bytes that were taken off the library's FIFO so far; they count round.
    pub gone: u32,
    /// The frame that is being received.
    pub frame: Option<Frame>,
    /// Words that have to come until the CPU is told.
    pub wanted: u32,
}

/// How far a frame has come.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub header: [u8; LONGEST],
    pub len: u32,
    pub payload: u32,
    /// The payload does not come through the FIFO.
    pub placed: bool,
    /// The header is there.
    pub there: bool,
    /// So is the payload, where it belongs.
    pub read: bool,
}

impl Medium {
    /// Bytes that have come and were not taken, of the library's FIFO.
    fn come(&self) -> Result<u32, Fault> {
        let written = self.cpu.bus_load(self.into.line.to.word(POINTER))?.unwrap_or(0);
        Ok(written.wrapping_sub(self.into.gone))
    }

    /// The first word of the next frame, if that has begun to come.
    fn begin(&mut self) -> Result<Option<Frame>, Fault> {
        let to = self.into.line.to;
        let word = match self.mechanism {
            Mechanism::Dma if self.come()? < FIRST => None,
            Mechanism::Dma => {
                let at = to.fifo + self.into.gone % self.into.line.bytes;
                self.into.gone = self.into.gone.wrapping_add(FIRST);
                self.cpu.bus_load(shared(to.cluster, at))?
            }
            Mechanism::Bmm => self.cpu.bus_load(to.access((Way::Read, Kind::Direct), true))?,
        };
        let Some(word) = word else { return Ok(None) };
        let (len, payload) = ((word & !PLACED) >> 24, word & PAYLOAD);
        let placed = word & PLACED != 0;
        if len as usize > LONGEST || len + payload > self.mtu {
            return Err(self.cpu.signal(to.cluster, Fault::TooLong));
        }
        let header = [0; LONGEST];
        Ok(Some(Frame { header, len, payload, placed, there: false, read: payload == 0 }))
    }

    /// Whether this many bytes have come. If not, the CPU is told when they have.
    fn has_come(&mut self, bytes: u32) -> Result<bool, Fault> {
        let to = self.into.line.to;
        let come = match self.mechanism {
            Mechanism::Dma => self.come()?,
            Mechanism::Bmm => {
                let words = self.cpu.bus_load(to.access((Way::Read, Kind::Setup), true))?;
                words.unwrap_or(0) * 4
            }
        };
        self.want(if come < bytes { bytes / 4 } else { 1 });
        Ok(come >= bytes)
    }

    fn want(&mut self, words: u32) {
        if std::mem::replace(&mut self.into.wanted, words) != words {
            self.cpu.tell_of(self.into.line.to, words);
        }
    }

    /// Takes bytes off to an address in this cluster.
    pub(super) fn take(&mut self, address: u32, bytes: u32) -> Result<(), Fault> {
        let to = self.into.line.to;
        match self.mechanism {
            Mechanism::Dma => {
                for (at, in_fifo, len) in self.into.line.parts(self.into.gone, bytes) {
                    self.cpu.move_by_dma(to, shared(to.cluster, in_fifo), address + at, len)?;
                }
                self.into.gone = self.into.gone.wrapping_add(bytes);
                Ok(())
            }
            Mechanism::Bmm => {
                self.cpu.ask_manager(to, (Way::Read, Kind::Indirect), &[address, bytes])?;
                self.cpu.wait_transfer(to.port)
            }
        }
    }

    /// The next frame, whose header is there.
    pub(super) fn receive(&mut self) -> Result<Option<Frame>, Fault> {
        let mut frame = match self.into.frame {
            Some(frame) => frame,
            None => {
                let Some(frame) = self.begin()? else { return Ok(None) };
                self.into.frame = Some(frame);
                frame
            }
        };
        if frame.there {
            return Ok(Some(frame));
        }
        let bytes = whole(frame.len);
        let behind = if frame.placed { 0 } else { whole(frame.payload) };
        if !self.has_come(bytes + behind)? {
            return Ok(None);
        }
        let to = self.into.line.to;
        self.take(to.word(BUFFER), bytes)?;
        let header = &mut frame.header[..frame.len as usize];
        self.cpu.load_bytes(self.memory, to.words + BUFFER, header);
        if is_entry(header) {
            self.spend(self.calls[1]);
        }
        frame.there = true;
        self.into.frame = Some(frame);
        Ok(Some(frame))
    }

    /// Gives the room of what was taken back to the sender, whose business that is over the DMA.
    pub(super) fn give_back(&mut self) -> Result<(), Fault> {
        self.into.passed.taken.set(self.into.passed.taken.get() + 1);
        match self.mechanism {
            Mechanism::Dma => {
                self.into.passed.bytes[1].set(self.into.gone);
                self.cpu.bus_store(self.into.line.from.word(POINTER), self.into.gone)
            }
            Mechanism::Bmm => Ok(()),
        }
    }
}
