//! A medium of frames between two CPUs, over the FIFOs of a library and the DMA, or over the buffer
//! manager.
//!
//! A frame is a word that says how long its header and its payload are, then both, each filled up
//! to whole words. The header is put together in a buffer of the sender's. A payload goes from
//! where it is in the sender's shared memory to where it belongs in the receiver's.
//!
//! | | over the DMA | over the buffer manager |
//! |---|---|---|
//! | room | a copy of the pointer | the credit of the port |
//! | a header is sent | a transfer, then the pointer | an indirect request |
//! | a payload is sent | the same | of a channel the same, of messages an address-based request |
//! | the word is received | a load from the FIFO | a direct request |
//! | a header is received | a transfer | an indirect request |
//! | a payload is received | a transfer | of a channel an indirect request |
//!
//! What an address-based request sends is where it belongs before the word says that it is there.
//!
//! A request to read more than has come would hold up all others of its CPU. So the receiver looks
//! first whether the whole frame is there.

use super::incoming::In;
use super::kept::Kept;
use super::{Fault, Kind, Line, Mechanism, Side, Way, shared};
use crate::cpu::Cpu;
use crate::time::Cost;
use narrows::connection::replica::{LONGEST, channel_of, is_entry};
use narrows::driver::{Frames, NoFrame, NotSent, NotThere};
use std::cell::Cell;
use std::rc::Rc;

/// Where on a side its pointer is that the other side moves; of its words.
pub(super) const POINTER: u32 = 0;
/// Where on a side the buffer for headers is.
pub(super) const BUFFER: u32 = 64;
/// Bytes of a side's words and buffer.
pub(super) const SIDE: u32 = 192;
/// Bytes of a frame's first word.
pub(super) const FIRST: u32 = 4;
/// The bit of a frame's first word that says that its payload is where it belongs.
pub(super) const PLACED: u32 = 1 << 31;
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
    pub(super) cpu: Cpu,
    pub(super) mechanism: Mechanism,
    /// Instructions of a send and of a receive.
    pub(super) calls: [Cost; 2],
    /// The shared memory of the own cluster.
    pub(super) memory: usize,
    pub(super) mtu: u32,
    out: Out,
    pub(super) into: In,
    /// What a block has signalled: nothing is sent or received any more.
    pub fault: Option<Fault>,
}

struct Out {
    line: Line,
    /// What stands in for the own region at the receiver.
    seen: Kept,
    passed: Rc<Passed>,
    /// Bytes that there is known to be room for.
    room: u32,
    /// Bytes that went into the library's FIFO so far; they count round.
    gone: u32,
    /// The buffer manager may be at the buffer, or at a payload.
    busy: bool,
}

/// Bytes that go behind a header.
#[derive(Clone, Copy)]
struct Payload {
    /// Where they are, in the sender's cluster.
    from: u32,
    len: u32,
    /// Where they belong in the receiver's, if they are sent there and not through the FIFO.
    to: Option<u32>,
}

/// Bytes in whole words.
pub(super) fn whole(bytes: u32) -> u32 {
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
        seen: Kept,
    ) -> Option<Medium> {
        let clusters = cpu.chip().clusters.as_ref()?;
        let (calls, mtu) = (mechanism.calls(cpu.chip()), mtu(&clusters.manager)?);
        let memory = clusters.all.get(out.from.cluster)?.memory;
        let room = match mechanism {
            Mechanism::Dma => out.bytes,
            Mechanism::Bmm => clusters.manager.credits * 4,
        };
        let [sends, takes] = passed;
        let out = Out { line: out, seen, passed: sends, room, gone: 0, busy: false };
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

    pub(super) fn spend(&self, cost: Cost) {
        self.cpu.compute(cost.at(self.cpu.chip().cores[self.cpu.core()].clock));
    }

    /// Whether there is room for this many bytes.
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
            Mechanism::Bmm => self.ask(Kind::Indirect, &[address, bytes])?,
        }
        self.out.room -= bytes;
        Ok(())
    }

    /// Has the buffer manager send something, once it has what it was asked for before.
    fn ask(&mut self, kind: Kind, words: &[u32]) -> Result<(), Fault> {
        self.settle()?;
        self.cpu.ask_manager(self.out.line.from, (Way::Write, kind), words)?;
        self.out.busy = true;
        Ok(())
    }

    fn send(&mut self, header: &[u8], payload: Option<Payload>) -> Result<bool, Fault> {
        let from = self.out.line.from;
        let len = payload.map_or(0, |payload| payload.len);
        let placed = payload.and_then(|payload| payload.to);
        let first = FIRST + whole(header.len() as u32);
        if !self.has_room(first + if placed.is_some() { 0 } else { whole(len) })? {
            return Ok(false);
        }
        if is_entry(header) {
            self.spend(self.calls[0]);
        }
        let mut word = (header.len() as u32) << 24 | len;
        if let (Some(payload), Some(to)) = (payload, placed) {
            self.ask(Kind::Address, &[payload.from, to, whole(len)])?;
            word |= PLACED;
        }
        // The buffer has left for the frame before.
        self.settle()?;
        let mut bytes = word.to_le_bytes().to_vec();
        bytes.extend(header);
        self.cpu.store_bytes(self.memory, from.words + BUFFER, &bytes);
        self.put(from.word(BUFFER), first)?;
        if let (Some(payload), None) = (payload, placed) {
            self.put(payload.from, whole(len))?;
        }
        self.out.passed.sent.set(self.out.passed.sent.get() + 1);
        if self.mechanism == Mechanism::Dma {
            self.out.passed.bytes[0].set(self.out.gone);
            self.cpu.bus_store(self.out.line.to.word(POINTER), self.out.gone)?;
        }
        Ok(true)
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
                let Line { from, to, .. } = self.out.line;
                let find = |region: &Kept, side: Side| {
                    let (_, address) = region.find(at, whole(len as u32))?;
                    Some(shared(side.cluster, address))
                };
                let places = self.mechanism == Mechanism::Bmm && channel_of(header).is_none();
                let place = if places { find(&self.out.seen, to) } else { None };
                let from = find(buffer, from).ok_or(NotSent::TooLong)?;
                Some(Payload { from, len: len as u32, to: place })
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
        if !frame.placed
            && let Err(fault) = self.take(shared(self.into.line.to.cluster, address), bytes)
        {
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
