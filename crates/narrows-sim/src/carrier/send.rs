//! Sending a frame, step by step.

use super::command::{Command, words};
use super::end::{LOOKS, Wire};
use super::receive::Came;
use crate::chip::DmaMode;
use crate::cpu::{Cpu, Side};
use crate::part::dma::{Job, Part};
use crate::part::fifo::Flag;
use crate::time::Time;
use narrows::driver::NotSent;

/// When a sender that looked in vain looks again.
const LATER: Time = Time::nanos(100_000);

/// A frame that is being sent.
pub(super) struct Out {
    part: Option<Part>,
    /// The command and the header, until they are written.
    command: Vec<u32>,
    /// Words of its payload.
    pub words: usize,
    /// Those that a controller was given.
    given: usize,
    /// They are.
    asked: bool,
    /// The other side has answered.
    pub granted: bool,
    /// This end has a controller.
    started: bool,
    /// A packet was sent, and the next waits for room.
    between: bool,
}

impl Out {
    /// Whether a controller is at work for it.
    pub fn is_under_way(&self) -> bool {
        self.started
    }
}

impl Wire {
    /// Asks for the port.
    pub fn send(&self, cpu: &Cpu, header: &[u8], part: Option<Part>) -> Result<(), NotSent> {
        let len = part.map_or(0, |part| part.len);
        {
            let mut state = self.state.borrow_mut();
            if state.gone {
                return Err(NotSent::Gone);
            }
            if state.out.is_some() {
                return Err(NotSent::Full);
            }
            // From now on nobody else sends a frame.
            state.out = Some(Out {
                part,
                command: Vec::new(),
                words: len.div_ceil(4),
                given: 0,
                asked: false,
                granted: self.dedicated,
                started: false,
                between: false,
            });
        }
        self.charge(cpu, self.service.request);
        let command = Command::Request { header: header.len(), payload: len };
        if let Some(out) = &mut self.state.borrow_mut().out {
            out.command = [command.word()].into_iter().chain(words(header)).collect();
        }
        self.attend(cpu);
        Ok(())
    }

    /// Takes the next step of sending. Whether there was one.
    pub fn sends(&self, cpu: &Cpu) -> bool {
        if cpu.controller_done(self.port, self.end, Side::Transmit) {
            let all = self.state.borrow().out.as_ref().is_none_or(|out| out.given >= out.words);
            if all {
                self.charge(cpu, self.service.finish);
                self.state.borrow_mut().out = None;
                cpu.free_controller(self.core);
            } else {
                self.charge(cpu, self.service.packet);
                if let Some(out) = &mut self.state.borrow_mut().out {
                    out.between = true;
                }
            }
            return true;
        }
        if self.state.borrow().out.as_ref().is_some_and(|out| out.between) {
            return self.goes_on(cpu);
        }
        if self.asks(cpu) {
            return true;
        }
        let (ready, empty, closing) = {
            let state = self.state.borrow();
            let out = state.out.as_ref();
            let ready = out.is_some_and(|out| out.asked && out.granted && !out.started);
            (ready, out.is_some_and(|out| out.words == 0), state.closing)
        };
        if ready && empty {
            self.state.borrow_mut().out = None;
            return true;
        }
        if ready && cpu.claim_controller(self.core, self.moves.get()) {
            if let Some(out) = &mut self.state.borrow_mut().out {
                out.started = true;
            }
            self.charge(cpu, self.service.start);
            self.give(cpu);
            return true;
        }
        if closing && self.state.borrow().out.is_none() {
            self.state.borrow_mut().closing = false;
            self.put(cpu, [Command::Bye.word()]);
            return true;
        }
        false
    }

    /// Sends the next packet once the port's FIFO is less than half full: looks until it is, or is
    /// interrupted by that where there is a line for it.
    fn goes_on(&self, cpu: &Cpu) -> bool {
        let looks = if self.polls { LOOKS } else { 1 };
        let room = || !cpu.port_flag(self.port, self.end, Side::Transmit, Flag::Half);
        if !(0..looks).any(|_| room() || cpu.gone()) {
            // Whatever has kept the other side for all these looks may need this core.
            let again = if self.polls { Some(LATER) } else { None };
            cpu.port_wait_room(self.port, self.end, self.moves.get(), again);
            return false;
        }
        if let Some(out) = &mut self.state.borrow_mut().out {
            out.between = false;
        }
        self.give(cpu);
        true
    }

    /// Writes the command of the frame that is to be sent, unless one is on its way to this end:
    /// the port is the other's until that is there.
    fn asks(&self, cpu: &Cpu) -> bool {
        let command = {
            let mut state = self.state.borrow_mut();
            let taken = state.came.front().is_some_and(Came::is_data) && !self.dedicated;
            match &mut state.out {
                Some(out) if !out.command.is_empty() && !taken => std::mem::take(&mut out.command),
                _ => return false,
            }
        };
        self.put(cpu, command);
        if let Some(out) = &mut self.state.borrow_mut().out {
            out.asked = true;
        }
        true
    }

    /// Gives the controller what it sends next: a packet, or all.
    fn give(&self, cpu: &Cpu) {
        let job = {
            let mut state = self.state.borrow_mut();
            let Some(out) = &mut state.out else { return };
            let rest = out.words - out.given;
            let count = match self.mode {
                DmaMode::Burst => rest.min(self.half),
                DmaMode::ReadWrite => rest,
                DmaMode::Frame => rest.next_multiple_of(self.half),
            };
            let first = out.given;
            out.given += count;
            let parts = out.part.into_iter().collect();
            Job { mode: self.mode, first, count, parts, interrupt: self.moves.get().0 }
        };
        cpu.start_controller(self.port, self.end, Side::Transmit, job);
    }
}
