//! Ports as the cores and the DMA controllers at their ends use them. Each controller, and the
//! wires of a communication port, is a process of its own that takes time and no core.

use super::{Cpu, Machine, cluster};
use crate::chip::{Chip, DmaMode, PortKind, Rate};
use crate::events::Pid;
use crate::events::fault::Ring;
use crate::events::state::{Progress, State};
use crate::part::dma::{Controller, Job, Pool};
use crate::part::fifo::Flag;
use crate::part::port::{Port, Step};
use crate::time::Time;

/// Which of an end's FIFOs: the one that it writes to, or the one that it reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Transmit,
    Receive,
}

/// A process that is a part of a port or a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Worker {
    /// The controller that serves one side of an end.
    Controller { port: usize, end: usize, side: Side },
    /// What moves the words of a communication port.
    Wires { port: usize },
    /// A block of a cluster, or the network.
    Cluster(Option<(usize, cluster::Worker)>),
}

/// The processes that a chip's ports and clusters need.
pub(crate) fn workers(chip: &Chip) -> Vec<Worker> {
    let ports = chip.ports.ports.iter().enumerate();
    let of = ports.flat_map(|(port, facts)| {
        let sides =
            [(0, Side::Transmit), (0, Side::Receive), (1, Side::Transmit), (1, Side::Receive)];
        let controllers = sides.map(|(end, side)| Worker::Controller { port, end, side });
        let comm = matches!(facts.kind, PortKind::Comm { .. });
        controllers.into_iter().chain(comm.then_some(Worker::Wires { port }))
    });
    of.chain(cluster::workers(chip).into_iter().map(Worker::Cluster)).collect()
}

/// A port with what serves it.
struct Wired {
    port: Port,
    controllers: [[Controller; 2]; 2],
    /// The flag of what each end receives that interrupts it, and its interrupt process.
    armed: [Option<(Flag, usize)>; 2],
    /// The interrupt process of each end that waits until half of what it sends to is free.
    room: [Option<usize>; 2],
    /// The processes that may wait for a change.
    workers: Vec<usize>,
}

/// The ports of a chip.
pub(super) struct Ports {
    all: Vec<Wired>,
    /// Controllers that are free, by core.
    pools: Vec<Pool>,
}

impl Ports {
    pub fn new(chip: &Chip) -> Ports {
        let all = chip.ports.ports.iter().map(|facts| Wired {
            port: Port::new(facts),
            controllers: Default::default(),
            armed: [None; 2],
            room: [None; 2],
            workers: Vec::new(),
        });
        let free = |core| chip.dma(core).map_or(0, |dma| dma.controllers);
        Ports {
            all: all.collect(),
            pools: (0..chip.cores.len()).map(|core| Pool::new(free(core))).collect(),
        }
    }
}

impl Machine {
    /// Has an end be interrupted once when a flag of what it receives is set.
    pub fn arm(&self, port: usize, end: usize, flag: Flag, interrupt: usize) {
        self.ports.borrow_mut().all[port].armed[end] = Some((flag, interrupt));
    }

    /// A process is a worker of a port or a cluster.
    pub fn works_for(&self, process: usize, worker: Worker) {
        match worker {
            Worker::Controller { port, .. } | Worker::Wires { port } => {
                self.ports.borrow_mut().all[port].workers.push(process);
            }
            Worker::Cluster(worker) => self.works_for_cluster(process, worker),
        }
    }

    /// Triggers an interrupt process, as the plan of faults has it.
    fn raise(&self, state: &mut State, interrupt: usize) {
        let core = state.processes[interrupt].core;
        let latency = self.rates[core].latency;
        state.processes[interrupt].rings += 1;
        let ring = state.plan.ring(interrupt, state.processes[interrupt].rings);
        state.counts.bells += u64::from(!matches!(ring, Ring::Once));
        match ring {
            Ring::Once => state.interrupt(interrupt, latency),
            Ring::Never => {}
            Ring::Late(by) => state.interrupt(interrupt, latency + by),
            Ring::Twice(by) => {
                state.interrupt(interrupt, latency);
                state.interrupt(interrupt, latency + by);
            }
        }
    }

    /// What is in a port has changed: its workers look again, and flags interrupt.
    fn changed(&self, state: &mut State, port: usize, wired: &mut Wired) {
        if self.traced.get() {
            self.trace_words(state, port, &wired.port);
        }
        for worker in &wired.workers {
            if state.processes[*worker].progress == Progress::Asleep {
                state.wake(*worker, Time::ZERO);
            }
        }
        for end in 0..2 {
            if let Some((flag, interrupt)) = wired.armed[end]
                && wired.port.receives(end).flag(flag)
            {
                wired.armed[end] = None;
                self.raise(state, interrupt);
            }
            if let Some(interrupt) = wired.room[end]
                && !wired.port.transmits(end).flag(Flag::Half)
            {
                wired.room[end] = None;
                self.raise(state, interrupt);
            }
        }
    }
}

impl Machine {
    fn trace_words(&self, state: &mut State, number: usize, port: &Port) {
        let Some(facts) = self.chip.ports.ports.get(number) else { return };
        let between = facts.between.map(|core| self.chip.cores[core].name.as_str());
        for end in 0..2 {
            let name = || format!("{} from {} to {}", facts.name, between[1 - end], between[end]);
            state.trace_words((number, end), name, port.under_way(end));
        }
    }
}

impl Cpu {
    /// Does something with a port.
    fn with_port<T: Default>(&self, port: usize, what: impl FnOnce(&mut Wired) -> (T, bool)) -> T {
        let mut result = T::default();
        self.act(|state, _| {
            let mut ports = self.machine().ports.borrow_mut();
            let Some(wired) = ports.all.get_mut(port) else { return false };
            let (found, changed) = what(wired);
            result = found;
            if changed {
                self.machine().changed(state, port, wired);
            }
            false
        });
        result
    }

    /// What an access to a port takes.
    pub(crate) fn port_access(&self, port: usize) {
        let chip = self.chip();
        if let (Some(port), Some(core)) = (chip.ports.ports.get(port), chip.cores.get(self.core()))
        {
            self.compute(port.access.at(core.clock));
        }
    }

    /// Writes a word to an end of a port. False if it has no room.
    pub(crate) fn port_put(&self, port: usize, end: usize, word: u32) -> bool {
        self.port_access(port);
        self.with_port(port, |wired| {
            let room = !wired.port.transmits(end).flag(Flag::Full);
            (room && wired.port.push(end, word), room)
        })
    }

    /// Reads a word that has come to an end of a port.
    pub(crate) fn port_take(&self, port: usize, end: usize) -> Option<u32> {
        self.port_access(port);
        self.with_port(port, |wired| {
            let word = wired.port.pop(end);
            (word, word.is_some())
        })
    }

    /// Reads a flag of an end of a port.
    pub(crate) fn port_flag(&self, port: usize, end: usize, side: Side, flag: Flag) -> bool {
        self.port_access(port);
        self.with_port(port, |wired| {
            let fifo = match side {
                Side::Transmit => wired.port.transmits(end),
                Side::Receive => wired.port.receives(end),
            };
            (fifo.flag(flag), false)
        })
    }

    /// Sets the almost-full level of what comes to an end.
    pub(crate) fn port_almost(&self, port: usize, end: usize, level: usize) {
        self.port_access(port);
        self.with_port(port, |wired| (wired.port.set_almost(end, level), false));
    }

    /// Has an end be interrupted once when a flag of what it receives is set, or not at all.
    pub(crate) fn port_arm(&self, port: usize, end: usize, when: Option<(Flag, Pid)>) {
        self.with_port(port, |wired| {
            wired.armed[end] = when.map(|(flag, Pid(interrupt))| (flag, interrupt));
            ((), when.is_some())
        });
    }

    /// Has an interrupt process be triggered once half of the FIFO that an end sends to is free:
    /// where no line says so, after a while.
    pub(crate) fn port_wait_room(&self, port: usize, end: usize, who: Pid, after: Option<Time>) {
        match after {
            Some(after) => self.act(|state, _| {
                state.interrupt(who.0, after);
                false
            }),
            None => self.with_port(port, |wired| {
                wired.room[end] = Some(who.0);
                ((), true)
            }),
        }
    }

    /// Words that were lost at a port, for want of room.
    #[must_use]
    pub fn port_overruns(&self, port: usize) -> u64 {
        self.with_port(port, |wired| (wired.port.overruns(), false))
    }

    /// Claims a DMA controller of a core. False if all are in use: the interrupt process is then
    /// triggered when one is free.
    pub(crate) fn claim_controller(&self, core: usize, interrupt: Pid) -> bool {
        let mut ports = self.machine().ports.borrow_mut();
        ports.pools.get_mut(core).is_some_and(|pool| pool.claim(interrupt.0))
    }

    /// Gives a controller back.
    pub(crate) fn free_controller(&self, core: usize) {
        self.act(|state, _| {
            let mut ports = self.machine().ports.borrow_mut();
            let waiting = ports.pools.get_mut(core).map(Pool::give_back);
            waiting.into_iter().flatten().for_each(|one| state.interrupt(one, Time::ZERO));
            false
        });
    }

    /// Has the controller of a side begin a job.
    pub(crate) fn start_controller(&self, port: usize, end: usize, side: Side, job: Job) {
        let inside = job.parts.iter().all(|p| self.inside(p.place.0, p.place.1, p.len));
        if inside {
            self.with_port(port, |wired| {
                wired.controllers[end][side as usize] = Controller::Started(job);
                ((), true)
            });
        }
    }

    /// Whether the controller of a side is through with its job, told once.
    pub(crate) fn controller_done(&self, port: usize, end: usize, side: Side) -> bool {
        self.with_port(port, |wired| (wired.controllers[end][side as usize].done(), false))
    }

    /// Waits, as a worker, until something of the port is as wanted. None if this process is being
    /// taken down.
    fn wait_for_port<T>(
        &self,
        port: usize,
        mut wanted: impl FnMut(&mut Wired) -> Option<T>,
    ) -> Option<T> {
        self.wait_until("a flag of its port", || {
            self.machine().ports.borrow_mut().all.get_mut(port).and_then(&mut wanted)
        })
    }
}

/// What a worker does.
pub(crate) fn work(cpu: &Cpu, worker: Worker) {
    match worker {
        Worker::Controller { port, end, side } => while control(cpu, port, end, side).is_some() {},
        Worker::Wires { port } => while carry(cpu, port).is_some() {},
        Worker::Cluster(worker) => cluster::work(cpu, worker),
    }
}

/// Carries out one job of a controller.
fn control(cpu: &Cpu, port: usize, end: usize, side: Side) -> Option<()> {
    let job = cpu.wait_for_port(port, |wired| wired.controllers[end][side as usize].begin())?;
    let chip = cpu.chip();
    let core = chip.ports.ports.get(port)?.between[end];
    let (dma, clock) = (chip.dma(core)?, chip.cores[core].clock);
    let event = dma.event.at(clock);
    for at in 0..job.count {
        if waits(cpu, port, (end, side), (job.mode, at, dma.edge))? {
            cpu.compute(event);
        }
        let word = job.first + at;
        let memory = job.bytes(word).next().map_or(dma.messages, |(_, _, place)| place.0);
        let Rate { read, write, .. } = dma.rate(memory).or(dma.rate(dma.messages))?;
        cpu.compute(if side == Side::Transmit { read } else { write }.at(clock));
        move_word(cpu, port, (end, side), (&job, word));
    }
    cpu.act(|state, _| {
        let mut ports = cpu.machine().ports.borrow_mut();
        if let Some(wired) = ports.all.get_mut(port) {
            wired.controllers[end][side as usize] = Controller::Done;
            cpu.machine().raise(state, job.interrupt);
        }
        false
    });
    (!cpu.gone()).then_some(())
}

/// Waits for the event that has a controller move its next word. Whether there is one.
fn waits(
    cpu: &Cpu,
    port: usize,
    (end, side): (usize, Side),
    (mode, at, edge): (DmaMode, usize, bool),
) -> Option<bool> {
    cpu.wait_for_port(port, |wired| {
        let fifo = match side {
            Side::Transmit => wired.port.transmits(end),
            Side::Receive => wired.port.receives(end),
        };
        let starts_frame = at.is_multiple_of(fifo.half());
        let (paced, ready) = match (mode, side) {
            (DmaMode::Burst, _) => (false, true),
            // The flag has to change for each element, so that there is one at a time.
            (DmaMode::ReadWrite, Side::Transmit) if edge => (true, !fifo.flag(Flag::Some)),
            (DmaMode::ReadWrite, Side::Transmit) => (true, !fifo.flag(Flag::Full)),
            (DmaMode::ReadWrite, Side::Receive) => (true, fifo.flag(Flag::Some)),
            // Software starts the first frame.
            (DmaMode::Frame, Side::Transmit) => {
                (at > 0 && starts_frame, !starts_frame || !fifo.flag(Flag::Half))
            }
            (DmaMode::Frame, Side::Receive) => {
                (starts_frame, !starts_frame || fifo.flag(Flag::Half))
            }
        };
        ready.then_some(paced)
    })
}

/// Moves a word between memory and a port.
fn move_word(cpu: &Cpu, port: usize, (end, side): (usize, Side), (job, word): (&Job, usize)) {
    cpu.act(|state, own| {
        let mut ports = cpu.machine().ports.borrow_mut();
        let Some(wired) = ports.all.get_mut(port) else { return false };
        let mut bytes = [0; 4];
        match side {
            Side::Transmit => {
                for (from, to, (memory, address)) in job.bytes(word) {
                    bytes[from..to].copy_from_slice(state.bytes(memory, address, to - from));
                }
                wired.port.push(end, u32::from_le_bytes(bytes));
            }
            Side::Receive => {
                bytes = wired.port.pop(end).unwrap_or(0).to_le_bytes();
                for (from, to, (memory, address)) in job.bytes(word) {
                    state.put(own, memory, address, &bytes[from..to]);
                }
            }
        }
        cpu.machine().changed(state, port, wired);
        false
    });
}

/// Carries out one step of a communication port's wires.
fn carry(cpu: &Cpu, port: usize) -> Option<()> {
    let step = cpu
        .wait_for_port(port, |wired| Some(wired.port.step()).filter(|step| *step != Step::Rest))?;
    let facts = cpu.chip().ports.ports.get(port)?;
    let clock = cpu.chip().cores[facts.between[0]].clock;
    let PortKind::Comm { word, turn } = facts.kind else { return None };
    cpu.compute(if step == Step::Word { word } else { turn }.at(clock));
    cpu.with_port(port, |wired| (wired.port.take(step), true));
    (!cpu.gone()).then_some(())
}
