//! A medium of frames between two CPUs, over the FIFOs of a library and the DMA, or over the buffer
//! manager.
//!
//! A frame is a word that says how long its header and its payload are, then both, each filled up to
//! whole words. The header is put together in a buffer of the sender's. A payload goes from where it
//! is in the sender's shared memory to where it belongs in the receiver's.
//!
//! | | over the DMA | over the buffer manager |
//! |---|---|---|
//! | room | the copy of the receiver's pointer | the credit of the port |
//! | header and payload are sent | a transfer each, then the pointer | an indirect request each |
//! | the word | a load from the FIFO | a direct request |
//! | header and payload are received | a transfer each, then the pointer | an indirect request each |
//!
//! A request to read more than has come would hold up all others of its CPU. So the receiver looks
//! first whether the whole frame is there.

use super::kept::Kept;
use super::{Fault, Kind, Line, Mechanism, Side, Way, shared};
use crate::cpu::Cpu;
use crate::time::Cost;
use narrows::connection::replica::{LONGEST, is_entry};
use narrows::driver::{Frames, NoFrame, NotSent, NotThere};
use std::cell::Cell;
use std::rc::Rc;

/// Where on a side its pointer is that the other side moves; of its words.
pub(super) const POINTER: u32 = 0;
/// Where on a side the buffer for headers is.
const BUFFER: u32 = 64;
/// Bytes of a side's words and buffer.
pub(super) const SIDE: u32 = 192;
/// Bytes of a frame's first word.
const FIRST: u32 = 4;
/// The bits of it that say how long the payload is.
const PAYLOAD: u32 = 0x00ff_ffff;
/// The least that a frame has to have room for.
const LEAST: u32 = 64;

/// What has passed so far in one direction.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// Frames that were sent whole.
    pub sent: Cell<u64>,
    /// Those of them that were taken.
    pub taken: Cell<u64>,
    /// Bytes that went into the library's FIFO, and that were taken off it; they count round.
    pub bytes: [Cell<u32>; 2],
}

/// A medium: one end.
pub(super) struct Medium {
    cpu: Cpu,
    mechanism: Mechanism,
    /// Instructions of a send and of a receive.
    calls: [Cost; 2],
    /// The shared memory of the own cluster.
    memory: usize,
    mtu: u32,
    out: Out,
    into: In,
    /// What a block has signalled: nothing is sent or received any more.
    pub fault: Option<Fault>,
}

struct Out {
    line: Line,
    passed: Rc<Passed>,
    /// Bytes that there is known to be room for.
    room: u32,
    /// Bytes that went into the library's FIFO so far; they count round.
    gone: u32,
    /// The buffer manager may be at the buffer, or at a payload.
    busy: bool,
}

struct In {
    line: Line,
    passed: Rc<Passed>,
    /// Bytes that were taken off the library's FIFO so far; they count round.
    gone: u32,
    /// The frame that is being received.
    frame: Option<Frame>,
    /// Words that have to come until the CPU is told.
    wanted: u32,
}

/// How far a frame has come.
#[derive(Clone, Copy)]
struct Frame {
    header: [u8; LONGEST],
    len: u32,
    payload: u32,
    /// The header is there.
    there: bool,
    /// So is the payload, where it belongs.
    read: bool,
}

/// Bytes in whole words.
fn whole(bytes: u32) -> u32 {
    bytes.next_multiple_of(4)
}

/// The longest frame of a chip's FIFOs, two of which fit there. `None` if it would be too short.
pub(super) fn mtu(manager: &crate::chip::BufferManager) -> Option<u32> {
    // Behind the threshold credit may be kept back.
    let most = (manager.credits + 1).checked_sub(manager.threshold)?.min(manager.words);
    let most = (manager.words / 2).min(most).checked_mul(4)?.checked_sub(FIRST + 8)?;
    (most >= LONGEST as u32 + LEAST).then_some(most & !3)
}

impl Medium {
    /// An end that sends over one line and receives over another.
    pub fn new(
        cpu: Cpu,
        mechanism: Mechanism,
        (out, into): (Line, Line),
        passed: [Rc<Passed>; 2],
    ) -> Option<Medium> {
        let clusters = cpu.chip().clusters.as_ref()?;
        let (calls, mtu) = (mechanism.calls(cpu.chip()), mtu(&clusters.manager)?);
        let memory = clusters.all.get(out.from.cluster)?.memory;
        let room = match mechanism {
            Mechanism::Dma => out.bytes,
            Mechanism::Bmm => clusters.manager.credits * 4,
        };
        let [sends, takes] = passed;
        let out = Out { line: out, passed: sends, room, gone: 0, busy: false };
        let into = In { line: into, passed: takes, gone: 0, frame: None, wanted: 1 };
        Some(Medium { cpu, mechanism, calls, memory, mtu, out, into, fault: None })
    }

    /// The side at which frames come.
    pub fn receiver(&self) -> Side {
        self.into.line.to
    }

    /// The side from which they go.
    pub fn sender(&self) -> Side {
        self.out.line.from
    }

    /// Whether the peer has sent no frame that was not taken.
    pub fn is_drained(&self) -> bool {
        let Passed { sent, taken, .. } = &*self.into.passed;
        sent.get() == taken.get()
    }

    /// Waits until all that was sent has left its buffers.
    pub fn settle(&mut self) -> Result<(), Fault> {
        if std::mem::take(&mut self.out.busy) {
            self.cpu.wait_transfer(self.out.line.from.port)?;
        }
        Ok(())
    }

    fn spend(&self, cost: Cost) {
        self.cpu.compute(cost.at(self.cpu.chip().cores[self.cpu.core()].clock));
    }

    /// Whether there is room for so many bytes.
    fn has_room(&mut self, bytes: u32) -> Result<bool, Fault> {
        if bytes <= self.out.room {
            return Ok(true);
        }
        // Credit is taken when a request is served.
        self.settle()?;
        let from = self.out.line.from;
        self.out.room = match self.mechanism {
            Mechanism::Dma => {
                let read = self.cpu.bus_load(from.word(POINTER))?.unwrap_or(0);
                self.out.line.bytes.saturating_sub(self.out.gone.wrapping_sub(read))
            }
            Mechanism::Bmm => {
                let credit = self.cpu.bus_load(from.access((Way::Write, Kind::Setup), true))?;
                credit.unwrap_or(0) * 4
            }
        };
        Ok(bytes <= self.out.room)
    }

    /// Sends bytes of an address in this cluster.
    fn put(&mut self, address: u32, bytes: u32) -> Result<(), Fault> {
        let Line { from, to, .. } = self.out.line;
        match self.mechanism {
            Mechanism::Dma => {
                for (at, in_fifo, len) in self.out.line.parts(self.out.gone, bytes) {
                    let place = shared(to.cluster, in_fifo);
                    self.cpu.move_by_dma(from, address + at, place, len)?;
                }
                self.out.gone = self.out.gone.wrapping_add(bytes);
            }
            Mechanism::Bmm => {
                self.settle()?;
                self.cpu.ask_manager(from, (Way::Write, Kind::Indirect), &[address, bytes])?;
                self.out.busy = true;
            }
        }
        self.out.room -= bytes;
        Ok(())
    }

    fn send(&mut self, header: &[u8], payload: Option<(u32, u32)>) -> Result<bool, Fault> {
        let from = self.out.line.from;
        let len = payload.map_or(0, |(_, len)| len);
        let first = FIRST + whole(header.len() as u32);
        if !self.has_room(first + whole(len))? {
            return Ok(false);
        }
        if is_entry(header) {
            self.spend(self.calls[0]);
        }
        // The buffer has left for the frame before.
        self.settle()?;
        let mut bytes = ((header.len() as u32) << 24 | len).to_le_bytes().to_vec();
        bytes.extend(header);
        self.cpu.store_bytes(self.memory, from.words + BUFFER, &bytes);
        self.put(from.word(BUFFER), first)?;
        if let Some((address, len)) = payload {
            self.put(address, whole(len))?;
        }
        self.out.passed.sent.set(self.out.passed.sent.get() + 1);
        if self.mechanism == Mechanism::Dma {
            self.out.passed.bytes[0].set(self.out.gone);
            self.cpu.bus_store(self.out.line.to.word(POINTER), self.out.gone)?;
        }
        Ok(true)
    }

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
        let (len, payload) = (word >> 24, word & PAYLOAD);
        if len as usize > LONGEST || len + payload > self.mtu {
            return Err(self.cpu.signal(to.cluster, Fault::TooLong));
        }
        let header = [0; LONGEST];
        Ok(Some(Frame { header, len, payload, there: false, read: payload == 0 }))
    }

    /// Whether so many bytes have come. If not, the CPU is told when they have.
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
    fn take(&mut self, address: u32, bytes: u32) -> Result<(), Fault> {
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
    fn receive(&mut self) -> Result<Option<Frame>, Fault> {
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
        if !self.has_come(bytes + whole(frame.payload))? {
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
    fn give_back(&mut self) -> Result<(), Fault> {
        self.into.passed.taken.set(self.into.passed.taken.get() + 1);
        match self.mechanism {
            Mechanism::Dma => {
                self.into.passed.bytes[1].set(self.into.gone);
                self.cpu.bus_store(self.into.line.from.word(POINTER), self.into.gone)
            }
            Mechanism::Bmm => Ok(()),
        }
    }

    /// Notes a fault: this end is of no more use.
    fn broken(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }
}

impl Frames for Medium {
    type Buffer = Kept;

    fn mtu(&self) -> usize {
        self.mtu as usize
    }

    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&Kept, usize, usize)>,
    ) -> Result<(), NotSent> {
        if self.fault.is_some() {
            return Err(NotSent::Gone);
        }
        let len = payload.map_or(0, |(_, _, len)| len);
        if header.len() > LONGEST || header.len().saturating_add(len) > self.mtu() {
            return Err(NotSent::TooLong);
        }
        let payload = match payload {
            Some((buffer, at, len)) if len > 0 => {
                let (_, address) = buffer.find(at, whole(len as u32)).ok_or(NotSent::TooLong)?;
                Some((shared(self.out.line.from.cluster, address), len as u32))
            }
            _ => None,
        };
        match self.send(header, payload) {
            Ok(true) => Ok(()),
            Ok(false) => Err(NotSent::Full),
            Err(fault) => {
                self.broken(fault);
                Err(NotSent::Gone)
            }
        }
    }

    fn try_receive(&mut self, header: &mut [u8]) -> Result<usize, NoFrame> {
        if self.fault.is_some() {
            return Err(NoFrame::Gone);
        }
        match self.receive() {
            Ok(None) => Err(NoFrame::Empty),
            Ok(Some(frame)) => {
                let there = &frame.header[..frame.len as usize];
                header.iter_mut().zip(there).for_each(|(to, from)| *to = *from);
                Ok((frame.len + frame.payload) as usize)
            }
            Err(fault) => {
                self.broken(fault);
                Err(NoFrame::Gone)
            }
        }
    }

    /// The payload comes whole, and once.
    fn read(
        &mut self,
        from: usize,
        len: usize,
        buffer: &mut Kept,
        at: usize,
    ) -> Result<(), NotThere> {
        let mut frame = self.into.frame.filter(|frame| frame.there && !frame.read);
        let frame = frame.as_mut().ok_or(NotThere)?;
        if from != frame.len as usize || len != frame.payload as usize {
            return Err(NotThere);
        }
        let bytes = whole(frame.payload);
        let (_, address) = buffer.find(at, bytes).ok_or(NotThere)?;
        if let Err(fault) = self.take(shared(self.into.line.to.cluster, address), bytes) {
            self.broken(fault);
            return Err(NotThere);
        }
        frame.read = true;
        self.into.frame = Some(*frame);
        Ok(())
    }

    fn release(&mut self) {
        let Some(frame) = self.into.frame.take() else { return };
        // A payload that nobody wanted is in the way of the next frame.
        let given = if frame.read { self.give_back() } else { Err(Fault::NoWords) };
        if let Err(fault) = given {
            self.broken(fault);
        }
    }
}
