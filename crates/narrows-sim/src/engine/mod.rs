//! Simulations: a chip, and the processes that run on it.

use crate::chip::Chip;
use crate::cpu::cluster::Mechanism;
use crate::cpu::{self, Cpu, Machine};
use crate::events::coroutine::{Code, Door, Frame, NoRoom};
use crate::events::due::Due;
use crate::events::state::{BELL, ENGINE, INTERRUPT, LINES, Progress, TICK};
use crate::events::traced::STOPPER;
pub use crate::events::{
    Bells, BusUse, CacheUse, CoreUse, Counts, Death, Faults, Halt, Lies, Mode, Outcome, Pid,
    Settings, Stuck, Swap, Upkeep, Usage,
};
use crate::part::fifo::Flag;
use crate::rtos::Os;
use crate::time::Time;
use crate::trace::Trace;
use std::rc::Rc;

type Hook<'a> = Box<dyn FnMut(Swap) + 'a>;

/// A chip and the processes on it.
pub struct Simulation<'a> {
    machine: Rc<Machine>,
    settings: Settings,
    codes: Vec<Code<'a>>,
    hook: Option<Hook<'a>>,
}

impl<'a> Simulation<'a> {
    /// A chip on which nothing runs yet.
    #[must_use]
    pub fn new(chip: &Chip, settings: Settings) -> Simulation<'a> {
        let machine = Rc::new(Machine::new(chip, &settings));
        let mut new = Simulation { machine, settings, codes: Vec::new(), hook: None };
        for core in 0..chip.cores.len() {
            let name = &chip.cores[core].name;
            new.service(core, BELL, format!("doorbell of {name}"), cpu::service_bell);
            new.service(core, ENGINE, format!("engine's bell of {name}"), cpu::service_engine);
            if new.machine.state.borrow().cores[core].ticks() {
                new.service(core, TICK, format!("clock of {name}"), cpu::service_tick);
            }
        }
        for (i, engine) in chip.engines.iter().enumerate() {
            let core = chip.cores.len() + i;
            let body = move |cpu: Cpu| cpu::run_engine(&cpu, i);
            new.add(core, engine.name.clone(), (0, true), Frame::default(), body);
        }
        let first = chip.cores.len() + chip.engines.len();
        for (i, worker) in cpu::workers(chip).into_iter().enumerate() {
            let name = format!("part {i} of ports and clusters");
            let body = move |cpu: Cpu| cpu::work(&cpu, worker);
            let process = new.add(first + i, name, (0, true), Frame::default(), body);
            new.machine.works_for(process, worker);
        }
        if let Some(Halt { core, at, lasts }) = new.settings.faults.halt {
            new.halt(core, at, lasts);
        }
        new
    }

    /// Has a core stand still: nothing is more urgent than what it does then.
    fn halt(&mut self, core: usize, at: Time, lasts: Time) {
        if core >= self.machine.chip.cores.len() {
            return;
        }
        let name = "core stopped".to_owned();
        let process = self.add(core, name, (STOPPER, true), Frame::default(), move |cpu| {
            cpu.compute(lasts);
        });
        self.machine.state.borrow_mut().interrupt(process, at);
    }

    /// The chip.
    #[must_use]
    pub fn chip(&self) -> &Chip {
        &self.machine.chip
    }

    /// How many processes there are so far, service routines and copy engines among them. Each has
    /// a stack of its own from when it first runs until it ends.
    #[must_use]
    pub fn processes(&self) -> usize {
        self.codes.len()
    }

    /// Has all that happens written to a trace, behind the simulations that are there. That takes
    /// no virtual time: the simulation is the same as without.
    pub fn trace(&mut self, to: &Trace) {
        self.machine.trace(to);
    }

    /// Has links between nodes of clusters be carried over frames by a mechanism. Without it nodes
    /// there have no links.
    pub fn carry_by(&mut self, mechanism: Mechanism) {
        self.machine.carrier.set(Some(mechanism));
    }

    /// Has an end of a port be interrupted once when something has come to it.
    pub(crate) fn arm(&self, port: usize, end: usize, interrupt: Pid) {
        self.machine.arm(port, end, Flag::Some, interrupt.0);
    }

    fn service(&mut self, core: usize, line: usize, name: String, body: fn(&Cpu)) {
        let priority = INTERRUPT + line as u32;
        let process =
            self.add(core, name, (priority, true), Frame::default(), move |cpu| body(&cpu));
        self.machine.state.borrow_mut().cores[core].service[line] = Some(process);
    }

    fn add(
        &mut self,
        core: usize,
        name: String,
        (priority, daemon): (u32, bool),
        frame: Frame,
        body: impl FnOnce(Cpu) + 'a,
    ) -> usize {
        let process = self.machine.state.borrow_mut().spawn(name, core, priority, daemon);
        let door = Door::default();
        let cpu = Cpu::new(Rc::clone(&self.machine), process, core, door.clone());
        self.codes.push(Code::New(door, Box::new(move || body(cpu)), frame));
        process
    }

    /// Adds a process on a core, by its place in the chip. The higher its priority, the sooner it
    /// runs; a more urgent one interrupts it, and equally urgent ones run in the order in which
    /// they became ready. The simulation ends when all processes have.
    ///
    /// # Panics
    /// The chip has no such core.
    pub fn process(
        &mut self,
        core: usize,
        name: &str,
        priority: u32,
        body: impl FnOnce(Cpu) + 'a,
    ) -> Pid {
        self.process_on(core, name, priority, Frame::default(), body)
    }

    /// As [`Simulation::process`], for code of another language, on a stack of `stack` bytes. It
    /// cannot be unwound: if the simulation ends before it, what it holds and its stack are never
    /// given back.
    ///
    /// # Panics
    /// As [`Simulation::process`].
    pub fn foreign(
        &mut self,
        core: usize,
        name: &str,
        priority: u32,
        stack: usize,
        body: impl FnOnce(Cpu) + 'a,
    ) -> Pid {
        self.process_on(core, name, priority, Frame { stack, unwinds: false }, body)
    }

    fn process_on(
        &mut self,
        core: usize,
        name: &str,
        priority: u32,
        frame: Frame,
        body: impl FnOnce(Cpu) + 'a,
    ) -> Pid {
        assert!(core < self.machine.chip.cores.len(), "core {core} is none of the chip's");
        let priority = (priority.min(INTERRUPT - 1), false);
        let process = self.add(core, name.into(), priority, frame, body);
        self.machine.state.borrow_mut().plan.added(process);
        Pid(process)
    }

    /// Adds an interrupt process on a core. It runs once for each time that it is triggered, on top
    /// of every other process and of interrupt processes of lower levels; while it runs, further
    /// triggers make it run once more. Doorbells, copy engines and the clock are below level 0.
    ///
    /// # Panics
    /// The chip has no such core.
    pub fn interrupt(
        &mut self,
        core: usize,
        name: &str,
        level: u16,
        mut body: impl FnMut(&Os) + 'a,
    ) -> Pid {
        assert!(core < self.machine.chip.cores.len(), "core {core} is none of the chip's");
        let priority = INTERRUPT + LINES as u32 + u32::from(level);
        Pid(self.add(core, name.into(), (priority, true), Frame::default(), move |cpu| {
            let os = cpu.os();
            loop {
                os.entered();
                body(&os);
                if !cpu.next_interrupt() {
                    return;
                }
            }
        }))
    }

    /// Has `hook` called at each context switch, whichever core's. Each then takes what the
    /// platform says for [`Call::SwapHook`](crate::chip::Call::SwapHook), too.
    pub fn on_swap(&mut self, hook: impl FnMut(Swap) + 'a) {
        self.machine.state.borrow_mut().hook();
        self.hook = Some(Box::new(hook));
    }

    /// Runs until every process has ended, or the time is up.
    ///
    /// # Errors
    /// See [`Stuck`].
    pub fn run(mut self) -> Result<Outcome, Stuck> {
        let ended = self.turn();
        self.swapped();
        self.machine.state.borrow_mut().trace_end();
        // What the processes still hold is dropped before anything is reported.
        self.codes.clear();
        ended?;
        let state = self.machine.state.borrow();
        let own = || state.processes.iter().filter(|p| !p.daemon);
        let unfinished = own().filter(|p| p.progress != Progress::Done);
        let Usage { time, cores, buses } = state.usage(self.machine.chip.cores.len());
        Ok(Outcome {
            end: own().map(|p| p.ended).max().unwrap_or(Time::ZERO),
            stopped: time,
            unfinished: unfinished.map(|p| p.name.clone()).collect(),
            died: state.plan.died,
            hash: state.hash,
            cores,
            buses,
            counts: Counts {
                looks: state.buses.iter().map(|bus| bus.looks()).sum(),
                ..state.counts
            },
        })
    }

    fn turn(&mut self) -> Result<(), Stuck> {
        let machine = Rc::clone(&self.machine);
        let mut left = machine.state.borrow_mut().start(self.settings.until);
        while left > 0 {
            self.swapped();
            let mut state = machine.state.borrow_mut();
            let next = match state.due()? {
                Due::Over => return Ok(()),
                Due::Process(next) => next,
            };
            if let Some(stuck) = state.stuck.take() {
                return Err(stuck);
            }
            let mut dying = state.plan.dying.take();
            let mut ended = Ok(false);
            if let Some(process) = next {
                (state.current, state.ran) = (next, next);
                drop(state);
                self.swapped();
                ended = self.codes[process].resume();
                state = machine.state.borrow_mut();
                if let Some(stuck) = state.stuck.take() {
                    return Err(stuck);
                }
                dying = state.plan.dying.take();
                left += self.born();
            }
            if let Some(process) = dying {
                drop(state);
                left -= usize::from(self.kill(process));
                continue;
            }
            let Some(process) = next else { continue };
            match ended {
                Ok(false) => {}
                Ok(true) => {
                    state.current = None;
                    left -= usize::from(!state.processes[process].daemon);
                    state.end(process);
                }
                Err(NoRoom) => {
                    return Err(Stuck::NoRoom { process: state.processes[process].name.clone() });
                }
            }
        }
        Ok(())
    }

    /// Takes a process down that did not end by itself. Whether the simulation waits for its end.
    fn kill(&mut self, process: usize) -> bool {
        let supervision = self.settings.faults.supervision;
        self.machine.died(process, supervision);
        self.codes[process] = Code::Over;
        let mut state = self.machine.state.borrow_mut();
        state.plan.died = Some(state.now);
        state.trace_fault(process, "died");
        state.end(process);
        !state.processes[process].daemon
    }

    /// Takes over the processes that were spawned meanwhile; how many there were.
    #[inline]
    fn born(&mut self) -> usize {
        let mut born = self.machine.born.borrow_mut();
        let count = born.len();
        let new = |(door, body)| Code::New(door, body, Frame::default());
        self.codes.extend(born.drain(..).map(new));
        count
    }

    /// Tells the hook of context switches.
    #[inline]
    fn swapped(&mut self) {
        if self.hook.is_some() {
            self.tell_swaps();
        }
    }

    fn tell_swaps(&mut self) {
        let Some(hook) = &mut self.hook else { return };
        let swaps = self.machine.state.borrow_mut().swaps.as_mut().map(std::mem::take);
        let cores = self.machine.chip.cores.len();
        // Copy engines are no cores.
        swaps.into_iter().flatten().filter(|swap| swap.core < cores).for_each(hook);
    }
}
