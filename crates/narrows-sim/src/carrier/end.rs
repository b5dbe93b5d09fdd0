//! An end of a port, and its interrupts.

use super::command::{Command, MOST_HEADER, MOST_PAYLOAD};
use super::receive::Came;
use super::send::Out;
use crate::chip::{Chip, Dma, DmaMode, PortKind, Service};
use crate::cpu::{Cpu, Hands, Side, Stretch};
use crate::engine::{Pid, Simulation};
use crate::part::dma::Part;
use crate::part::fifo::Flag;
use crate::rtos::Os;
use crate::time::Cost;
use narrows::driver::{Frames, NoFrame, NotSent, NotThere};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// What is called at the end of each interrupt of an end, as its interrupt process.
pub type Told<'a> = Box<dyn FnMut(&Os) + 'a>;

/// How often a sender looks for an answer, or for room, before it leaves that to an interrupt.
pub(super) const LOOKS: u32 = 1000;

/// One end of a port: a medium of frames.
pub struct End {
    pub(super) wire: Rc<Wire>,
}

/// What an end and its interrupts share.
pub(super) struct Wire {
    hands: Hands,
    pub port: usize,
    pub end: usize,
    pub core: usize,
    pub mode: DmaMode,
    /// Nothing is negotiated.
    pub dedicated: bool,
    /// The sender looks for the answer, for want of interrupt lines.
    pub polls: bool,
    /// Words of half a FIFO.
    pub half: usize,
    mtu: usize,
    pub service: Service,
    /// The interrupt processes of the port, and of its controllers.
    pub receives: Cell<Pid>,
    pub moves: Cell<Pid>,
    /// Somebody sees to the end, and has to look again.
    busy: Cell<bool>,
    again: Cell<bool>,
    /// Somebody looks for an answer: no interrupt is needed for it.
    looks: Cell<bool>,
    pub state: RefCell<State>,
}

/// How far an end has got.
#[derive(Default)]
pub(super) struct State {
    /// The frame that is being sent.
    pub out: Option<Out>,
    /// Frames that are being received, the first first.
    pub came: VecDeque<Came>,
    /// Words of a command that is not all there.
    heard: Vec<u32>,
    /// The other side sends nothing more.
    pub gone: bool,
    /// This side has nothing more to send, and has not said so.
    pub closing: bool,
}

/// The longest frame, in bytes, that a core sends over a port of a chip.
#[must_use]
pub fn mtu(chip: &Chip, port: usize, core: usize, mode: DmaMode) -> usize {
    let words = chip.ports.ports.get(port).map_or(0, |port| port.words as usize);
    let frames = chip.dma(core).map_or(0, |dma| dma.frames as usize);
    match mode {
        DmaMode::Frame => MOST_PAYLOAD.min(frames * (words / 2) * 4),
        DmaMode::Burst | DmaMode::ReadWrite => MOST_PAYLOAD,
    }
}

/// Makes both ends of a port of the simulation's chip carry frames, driven in that mode. The
/// processes that use an end are to be added to its hands. `None` if the chip has no such port, or
/// its DMA cannot be driven so.
pub fn lay<'a>(
    simulation: &mut Simulation<'a>,
    port: usize,
    mode: DmaMode,
    hands: [&Hands; 2],
    told: [Told<'a>; 2],
) -> Option<[End; 2]> {
    let chip = simulation.chip().clone();
    let (facts, service) = (chip.ports.ports.get(port)?, chip.service(mode)?);
    if mode != DmaMode::ReadWrite && facts.kind != PortKind::Fifo {
        return None;
    }
    let mut ends = Vec::new();
    for ((end, hands), told) in (0..).zip(hands).zip(told) {
        let core = facts.between[end];
        let Dma { interrupts, .. } = chip.dma(core)?;
        let wire = Rc::new(Wire {
            hands: hands.clone(),
            port,
            end,
            core,
            mode,
            dedicated: chip.is_dedicated(port),
            polls: *interrupts < 2 * chip.ports_of(core),
            half: facts.words as usize / 2,
            mtu: mtu(&chip, port, core, mode),
            service,
            receives: Cell::new(Pid(0)),
            moves: Cell::new(Pid(0)),
            busy: Cell::default(),
            again: Cell::default(),
            looks: Cell::default(),
            state: RefCell::default(),
        });
        let told = Rc::new(RefCell::new(told));
        let name = |what| format!("{what} of {}", facts.name);
        let receives = wire.interrupt(simulation, &name("port"), &told);
        let moves = wire.interrupt(simulation, &name("DMA"), &told);
        wire.receives.set(receives);
        wire.moves.set(moves);
        simulation.arm(port, end, receives);
        ends.push(End { wire });
    }
    ends.try_into().ok()
}

impl Wire {
    /// Adds an interrupt process, which sees to the end.
    fn interrupt<'a>(
        self: &Rc<Wire>,
        simulation: &mut Simulation<'a>,
        name: &str,
        told: &Rc<RefCell<Told<'a>>>,
    ) -> Pid {
        let (wire, told, mut known) = (Rc::clone(self), Rc::clone(told), false);
        simulation.interrupt(self.core, name, 0, move |os| {
            if !std::mem::replace(&mut known, true) {
                wire.hands.add(os.cpu());
            }
            wire.attend(os.cpu());
            // One interrupt may come in the middle of another.
            if let Ok(mut told) = told.try_borrow_mut() {
                told(os);
            }
        })
    }

    pub fn cpu(&self) -> Cpu {
        self.hands.cpu()
    }

    /// What a piece of work takes of this end's core.
    pub fn charge(&self, cpu: &Cpu, cost: Cost) {
        cpu.compute(cost.at(cpu.chip().cores[self.core].clock));
    }

    /// Sees to all that there is to do. It takes a look at the port at least.
    pub fn attend(&self, cpu: &Cpu) {
        cpu.port_access(self.port);
        if self.busy.replace(true) {
            self.again.set(true);
            return;
        }
        loop {
            self.again.set(false);
            while !cpu.gone() && (self.sends(cpu) || self.receives(cpu) || self.hears(cpu)) {}
            self.arm(cpu);
            if !self.again.get() || cpu.gone() {
                break;
            }
        }
        self.busy.set(false);
    }

    /// Says what is to interrupt next.
    fn arm(&self, cpu: &Cpu) {
        let flag = {
            let state = self.state.borrow();
            match state.came.front() {
                Some(first) if first.waits() => Some(Flag::AlmostFull),
                // What comes next is for a controller.
                Some(first) if first.is_data() || self.dedicated => None,
                _ if self.looks.get() => None,
                _ => Some(Flag::Some),
            }
        };
        cpu.port_arm(self.port, self.end, flag.map(|flag| (flag, self.receives.get())));
    }

    /// Reads a command that has come. Whether one has.
    fn hears(&self, cpu: &Cpu) -> bool {
        let listens = {
            let state = self.state.borrow();
            match state.came.front() {
                Some(first) => !first.is_data() && !self.dedicated,
                None => true,
            }
        };
        if !listens || !cpu.port_flag(self.port, self.end, Side::Receive, Flag::Some) {
            return false;
        }
        let Some(word) = cpu.port_take(self.port, self.end) else { return false };
        let mut state = self.state.borrow_mut();
        state.heard.push(word);
        // Of a command that is not all there the rest comes by itself.
        let first = state.heard.first().copied().and_then(Command::of);
        let more = match first {
            Some(Command::Request { header, .. }) => header.div_ceil(4),
            _ => 0,
        };
        if state.heard.len() <= more {
            return true;
        }
        let words = std::mem::take(&mut state.heard);
        match first {
            Some(Command::Request { header, payload }) => {
                let bytes = words.iter().skip(1).flat_map(|word| word.to_le_bytes());
                state.came.push_back(Came::new(bytes.take(header).collect(), payload));
            }
            Some(Command::Grant) => {
                if let Some(out) = &mut state.out {
                    out.granted = true;
                }
            }
            // What cannot be understood ends it: where the next command begins is lost.
            Some(Command::Bye) | None => {
                state.gone = true;
                state.out.take_if(|out| !out.is_under_way());
            }
        }
        true
    }

    /// Writes words, for which there is room soon.
    pub fn put(&self, cpu: &Cpu, words: impl IntoIterator<Item = u32>) {
        for word in words {
            while !cpu.port_put(self.port, self.end, word) && !cpu.gone() {}
        }
    }
}

impl End {
    /// The carrier's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.wire.cpu().chip().ports.ports[self.wire.port].kind {
            PortKind::Fifo => "fifo_port",
            PortKind::Comm { .. } => "comm_port",
        }
    }

    /// Sees to all that there is to do, as an interrupt does.
    pub fn attend(&self) {
        self.wire.attend(&self.wire.cpu());
    }

    /// Looks for the answer to a frame that was sent, until it comes, where the core has too few
    /// interrupt lines to be told. Both sides asking at once, and an answer that takes very long,
    /// are left to the interrupt that there is.
    pub fn look_for_answer(&self) {
        let (wire, cpu) = (&self.wire, self.wire.cpu());
        if !wire.polls || wire.dedicated {
            return;
        }
        wire.looks.set(true);
        for _ in 0..LOOKS {
            let asked = wire.state.borrow().out.as_ref().is_some_and(|out| !out.granted);
            if !asked || !wire.state.borrow().came.is_empty() {
                break;
            }
            wire.attend(&cpu);
        }
        wire.looks.set(false);
        wire.attend(&cpu);
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.wire.state.borrow_mut().closing = true;
        if !self.wire.hands.is_empty() {
            self.attend();
        }
    }
}

impl Frames for End {
    type Buffer = Stretch;

    fn mtu(&self) -> usize {
        self.wire.mtu
    }

    fn try_send(
        &mut self,
        header: &[u8],
        payload: Option<(&Stretch, usize, usize)>,
    ) -> Result<(), NotSent> {
        let len = payload.map_or(0, |(_, _, len)| len);
        let whole = header.len().checked_add(len).filter(|whole| *whole <= self.mtu());
        if header.len() > MOST_HEADER || whole.is_none() {
            return Err(NotSent::TooLong);
        }
        let part = payload.filter(|(_, _, len)| *len > 0).map(|(buffer, at, len)| {
            let at = u32::try_from(at).ok()?;
            Some(Part { from: 0, len, place: buffer.find(at, len).ok()? })
        });
        let part = part.map(|part| part.ok_or(NotSent::TooLong)).transpose()?;
        self.wire.send(&self.wire.cpu(), header, part)
    }

    fn holds(&mut self) -> bool {
        self.attend();
        self.wire.state.borrow().out.as_ref().is_some_and(|out| out.words > 0)
    }

    fn try_receive(&mut self, header: &mut [u8]) -> Result<usize, NoFrame> {
        self.attend();
        let state = self.wire.state.borrow();
        match state.came.iter().find(|came| !came.released) {
            Some(came) => {
                header.iter_mut().zip(&came.header).for_each(|(to, from)| *to = *from);
                Ok(came.header.len() + came.len)
            }
            None if state.gone && state.came.is_empty() => Err(NoFrame::Gone),
            None => Err(NoFrame::Empty),
        }
    }

    fn read(
        &mut self,
        from: usize,
        len: usize,
        buffer: &mut Stretch,
        at: usize,
    ) -> Result<(), NotThere> {
        let place = u32::try_from(at).ok().and_then(|at| buffer.find(at, len).ok());
        self.wire.read(from, len, place.ok_or(NotThere)?)
    }

    fn brings(&mut self) -> bool {
        if let Some(first) = self.wire.state.borrow_mut().came.front_mut() {
            first.wanted |= !first.released;
        }
        self.attend();
        self.wire.state.borrow().came.front().is_some_and(Came::is_coming)
    }

    fn release(&mut self) {
        self.wire.release();
        self.attend();
    }
}
