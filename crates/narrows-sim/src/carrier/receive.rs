//! Receiving a frame, step by step.

use super::command::Command;
use super::end::Wire;
use crate::chip::DmaMode;
use crate::cpu::{Cpu, Place, Side};
use crate::part::dma::{Job, Part};
use crate::part::fifo::Flag;
use narrows::driver::NotThere;

/// A frame that is being received.
pub(super) struct Came {
    pub header: Vec<u8>,
    /// Bytes of its payload.
    pub len: usize,
    /// Where they go.
    parts: Vec<Part>,
    /// All places are named: it may come.
    pub wanted: bool,
    /// The other side was answered, or need not be.
    granted: bool,
    /// Words that a controller was given.
    given: usize,
    /// A controller is at work.
    moves: bool,
    /// All of it is where it goes.
    pub there: bool,
    /// Nobody reads of it any more.
    pub released: bool,
}

impl Came {
    pub fn new(header: Vec<u8>, len: usize) -> Came {
        Came {
            header,
            len,
            parts: Vec::new(),
            wanted: false,
            granted: false,
            given: 0,
            moves: false,
            there: len == 0,
            released: false,
        }
    }

    fn words(&self) -> usize {
        self.len.div_ceil(4)
    }

    /// Whether what comes next over the port is of it.
    pub fn is_data(&self) -> bool {
        self.granted && !self.there
    }

    /// Whether its next packet is waited for.
    pub fn waits(&self) -> bool {
        self.is_data() && !self.moves
    }

    /// Whether something of it that was read is not there yet.
    pub fn is_coming(&self) -> bool {
        self.wanted && !self.there
    }

    /// Whether every byte of it has a place.
    fn is_covered(&self) -> bool {
        let mut parts = self.parts.clone();
        parts.sort_by_key(|part| part.from);
        let end = parts.iter().fold(0, |end, part| match part.from <= end {
            true => end.max(part.from + part.len),
            false => end,
        });
        end == self.len
    }
}

impl Wire {
    /// Names the place of some bytes of the frame. It comes as soon as all have one.
    pub fn read(&self, from: usize, len: usize, place: Place) -> Result<(), NotThere> {
        let end = from.checked_add(len).ok_or(NotThere)?;
        let cpu = self.cpu();
        {
            let mut state = self.state.borrow_mut();
            let came = state.came.iter_mut().find(|came| !came.released).ok_or(NotThere)?;
            if end > came.header.len() + came.len {
                return Err(NotThere);
            }
            // A controller takes each byte off the port once.
            let behind = from.max(came.header.len()) < end;
            if behind && came.wanted {
                return Err(NotThere);
            }
            let skipped = came.header.len().saturating_sub(from).min(len);
            if behind {
                let from = from + skipped - came.header.len();
                let place = (place.0, place.1 + skipped as u32);
                came.parts.push(Part { from, len: len - skipped, place });
                came.wanted |= came.is_covered();
            }
            if skipped > 0 {
                let header = came.header[from..from + skipped].to_vec();
                drop(state);
                cpu.store_bytes(place.0, place.1, &header);
            }
        }
        self.attend(&cpu);
        Ok(())
    }

    /// Nobody reads of the frame any more. What has no place is thrown away.
    pub fn release(&self) {
        let mut state = self.state.borrow_mut();
        if let Some(came) = state.came.iter_mut().find(|came| !came.released) {
            came.released = true;
            came.wanted = true;
        }
    }

    /// Takes the next step of receiving. Whether there was one.
    pub fn receives(&self, cpu: &Cpu) -> bool {
        if cpu.controller_done(self.port, self.end, Side::Receive) {
            let there = self.first(|came| {
                came.moves = false;
                came.given >= came.words()
            });
            if there == Some(true) {
                cpu.free_controller(self.core);
                self.charge(cpu, self.service.deliver);
                self.first(|came| came.there = true);
            } else {
                self.expect(cpu);
            }
            return true;
        }
        if self.first(|came| came.waits()) == Some(true) {
            if !cpu.port_flag(self.port, self.end, Side::Receive, Flag::AlmostFull) {
                return false;
            }
            self.charge(cpu, self.service.arrive);
            self.take_packet(cpu);
            return true;
        }
        if self.first(|came| came.wanted && !came.granted) == Some(true) {
            return self.grants(cpu);
        }
        if self.first(|came| came.there && came.released) == Some(true) {
            self.state.borrow_mut().came.pop_front();
            return true;
        }
        false
    }

    fn first<T>(&self, what: impl FnOnce(&mut Came) -> T) -> Option<T> {
        self.state.borrow_mut().came.front_mut().map(what)
    }

    /// Answers the first frame, if it may come now.
    fn grants(&self, cpu: &Cpu) -> bool {
        let empty = self.first(|came| came.len == 0) == Some(true);
        if self.dedicated && empty {
            self.first(|came| came.granted = true);
            return true;
        }
        // While a frame of this end is on its way nothing else may be written, and of two that ask
        // at once the first core is served first.
        let may = self.dedicated
            || match &self.state.borrow().out {
                None => true,
                Some(out) => self.end == 1 && !out.granted && !out.is_under_way(),
            };
        if !may || !(empty || cpu.claim_controller(self.core, self.moves.get())) {
            return false;
        }
        self.first(|came| came.granted = true);
        if !empty {
            self.charge(cpu, self.service.accept);
            if self.mode == DmaMode::Burst {
                self.expect(cpu);
            } else {
                self.take_packet(cpu);
            }
        }
        if !self.dedicated {
            self.put(cpu, [Command::Grant.word()]);
        }
        true
    }

    /// Words of the next packet of a burst.
    fn packet(&self) -> Option<usize> {
        self.first(|came| (came.words() - came.given).min(self.half))
    }

    /// Has the almost-full flag say when the next packet is there.
    fn expect(&self, cpu: &Cpu) {
        if let Some(words) = self.packet() {
            cpu.port_almost(self.port, self.end, words);
        }
    }

    /// Gives the controller what it takes next: a packet, or all.
    fn take_packet(&self, cpu: &Cpu) {
        let packet = self.packet().unwrap_or(0);
        let job = self.first(|came| {
            let rest = came.words() - came.given;
            let count = match self.mode {
                DmaMode::Burst => packet,
                DmaMode::ReadWrite => rest,
                DmaMode::Frame => rest.next_multiple_of(self.half),
            };
            let (first, parts) = (came.given, came.parts.clone());
            came.given += count;
            came.moves = true;
            Job { mode: self.mode, first, count, parts, interrupt: self.moves.get().0 }
        });
        if let Some(job) = job {
            cpu.start_controller(self.port, self.end, Side::Receive, job);
        }
    }
}
