//! The engine: a queue of events in integer time, and processes that run the stack's own code on
//! stacks of their own.
//!
//! Two modes give the same end, the same store times and the same results. [`Mode::Fast`] moves the
//! clock without leaving a process when nothing else is due, and computes the looks of a waiting
//! loop instead of making them; [`Mode::Reference`] does neither, and is what the fast one is tested
//! against.

pub(crate) mod bus;
pub(crate) mod coroutine;
mod queue;
mod spin;
pub(crate) mod state;

use crate::chip::Chip;
use crate::cpu::{self, Cpu, Machine};
use crate::time::Time;
use coroutine::{Code, Door};
use queue::{Event, Rank};
use state::{BELL, ENGINE, INTERRUPT, Progress, State, WokenBy};
use std::fmt;
use std::rc::Rc;

/// How events are worked off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As few as possible.
    #[default]
    Fast,
    /// Every one, and every look of a waiting loop.
    Reference,
}

/// How a simulation is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How events are worked off.
    pub mode: Mode,
    /// When to stop, whatever still runs.
    pub until: Time,
    /// What the random numbers of a simulation come from.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { mode: Mode::Fast, until: Time::NEVER, seed: 1 }
    }
}

/// What a core did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreUse {
    /// How long a process or a service routine was on it.
    pub busy: Time,
    /// How often it went from one process to another.
    pub switches: u64,
    /// How often it was interrupted.
    pub interrupts: u64,
}

/// How much was simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Words that cores loaded and stored, in caches and memories.
    pub words: u64,
    /// Transfers over buses, without the looks that were computed.
    pub transfers: u64,
    /// Looks that were computed.
    pub looks: u64,
    /// Transfers that stored.
    pub stores: u64,
    /// How often a process lost its core to a more urgent one.
    pub preemptions: u64,
    /// Events taken from the queue.
    pub events: u64,
}

/// What came of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// When the last process ended.
    pub end: Time,
    /// Of every store: when it was, where, and what.
    pub hash: u64,
    /// What each core did, in the order of the chip's.
    pub cores: Vec<CoreUse>,
    /// How much was simulated.
    pub counts: Counts,
}

/// Why a simulation cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// Nothing will happen any more, and these have not ended.
    Deadlock {
        /// When.
        at: Time,
        /// Each process and what it waits for.
        waiting: Vec<(String, &'static str)>,
    },
    /// Things go on happening at one moment.
    Still {
        /// When.
        at: Time,
        /// Who ran last.
        process: Option<String>,
    },
    /// An access outside a memory.
    OutOfRange {
        /// When.
        at: Time,
        /// Whose.
        process: String,
        /// Which memory.
        memory: String,
        /// Where in it, in bytes.
        offset: u64,
    },
    /// There is no room for the stack of a process.
    NoRoom {
        /// Which.
        process: String,
    },
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stuck::Deadlock { at, waiting } => {
                write!(f, "nothing can run any more at {at} of virtual time:")?;
                for (i, (process, what)) in waiting.iter().enumerate() {
                    write!(f, "{} {process} waits for {what}", if i > 0 { ";" } else { "" })?;
                }
                Ok(())
            }
            Stuck::Still { at, process } => write!(
                f,
                "virtual time stands still at {at}: {} goes on without anything that takes time",
                process.as_deref().unwrap_or("the chip")
            ),
            Stuck::OutOfRange { at, process, memory, offset } => write!(
                f,
                "{process} reached for byte {offset} of {memory}, which is outside it, at {at} of \
                 virtual time"
            ),
            Stuck::NoRoom { process } => {
                write!(f, "there is no memory for the stack of {process}: run fewer processes")
            }
        }
    }
}

impl std::error::Error for Stuck {}

type Body<'a> = Box<dyn FnOnce() + 'a>;

/// A chip and the processes on it.
pub struct Simulation<'a> {
    machine: Rc<Machine>,
    settings: Settings,
    bodies: Vec<(Door, Body<'a>)>,
}

impl<'a> Simulation<'a> {
    /// A chip on which nothing runs yet.
    #[must_use]
    pub fn new(chip: &Chip, settings: Settings) -> Simulation<'a> {
        let machine = Rc::new(Machine::new(chip, &settings));
        let mut new = Simulation { machine, settings, bodies: Vec::new() };
        for core in 0..chip.cores.len() {
            let name = &chip.cores[core].name;
            new.service(core, BELL, format!("doorbell of {name}"), cpu::service_bell);
            new.service(core, ENGINE, format!("engine's bell of {name}"), cpu::service_engine);
        }
        for (i, engine) in chip.engines.iter().enumerate() {
            let core = chip.cores.len() + i;
            let body = move |cpu: Cpu| cpu::run_engine(&cpu, i);
            new.add(core, engine.name.clone(), 0, true, body);
        }
        new
    }

    fn service(&mut self, core: usize, line: usize, name: String, body: fn(&Cpu)) {
        let priority = INTERRUPT + line as u32;
        let process = self.add(core, name, priority, true, move |cpu| body(&cpu));
        self.machine.state.borrow_mut().cores[core].service[line] = Some(process);
    }

    fn add(
        &mut self,
        core: usize,
        name: String,
        priority: u32,
        daemon: bool,
        body: impl FnOnce(Cpu) + 'a,
    ) -> usize {
        let process = self.machine.state.borrow_mut().spawn(name, core, priority, daemon);
        let door = Door::default();
        let cpu = Cpu::new(Rc::clone(&self.machine), process, core, door.clone());
        self.bodies.push((door, Box::new(move || body(cpu))));
        process
    }

    /// Adds a process on a core, by its place in the chip. The higher its priority, the sooner it
    /// runs; a more urgent one interrupts it. The simulation ends when all processes have.
    ///
    /// # Panics
    /// The chip has no such core.
    pub fn process(&mut self, core: usize, name: &str, priority: u32, body: impl FnOnce(Cpu) + 'a) {
        assert!(core < self.machine.chip.cores.len(), "core {core} is none of the chip's");
        self.add(core, name.into(), priority.min(INTERRUPT - 1), false, body);
    }

    /// Runs until every process has ended, or the time is up.
    ///
    /// # Errors
    /// See [`Stuck`].
    pub fn run(self) -> Result<Outcome, Stuck> {
        let Simulation { machine, settings, bodies } = self;
        let mut codes: Vec<Option<Code<'a>>> = Vec::with_capacity(bodies.len());
        for (process, (door, body)) in bodies.into_iter().enumerate() {
            let code = Code::new(door, body);
            if code.is_none() {
                let process = machine.state.borrow().processes[process].name.clone();
                return Err(Stuck::NoRoom { process });
            }
            codes.push(code);
        }
        let ended = turn(&machine, &settings, &mut codes);
        // What the processes still hold is dropped before anything is reported.
        drop(codes);
        ended?;
        let state = machine.state.borrow();
        let ends = state.processes.iter().filter(|p| !p.daemon).map(|p| p.ended);
        Ok(Outcome {
            end: ends.max().unwrap_or(Time::ZERO),
            hash: state.hash,
            cores: (0..machine.chip.cores.len()).map(|core| state.used(core)).collect(),
            counts: state.counts,
        })
    }
}

fn turn(
    machine: &Machine,
    settings: &Settings,
    codes: &mut [Option<Code<'_>>],
) -> Result<(), Stuck> {
    let mut left = machine.state.borrow_mut().start();
    if settings.until != Time::NEVER {
        machine.state.borrow_mut().queue.push(settings.until, Rank::Interrupt, Event::Stop);
    }
    while left > 0 {
        let mut state = machine.state.borrow_mut();
        let Some((at, event)) = state.queue.pop() else { return Err(state.deadlock()) };
        if matches!(event, Event::Stop) {
            state.set_clock(at);
            return Ok(());
        }
        let Some(process) = state.happens(at, event) else { continue };
        state.current = Some(process);
        state.tick();
        drop(state);
        let ended = codes[process].as_mut().is_none_or(Code::resume);
        let mut state = machine.state.borrow_mut();
        state.current = None;
        if let Some(stuck) = state.stuck.take() {
            return Err(stuck);
        }
        if ended {
            left -= usize::from(!state.processes[process].daemon);
            state.end(process);
            drop(state);
            codes[process] = None;
        }
    }
    Ok(())
}

impl State {
    /// Everybody can run. How many have to end.
    fn start(&mut self) -> usize {
        for process in 0..self.processes.len() {
            if self.processes[process].priority < INTERRUPT {
                self.wake(process, Time::ZERO);
            } else {
                self.processes[process].waits_for = "an interrupt";
            }
        }
        self.processes.iter().filter(|p| !p.daemon).count()
    }

    /// Something happens. The process that goes on, if one does.
    fn happens(&mut self, at: Time, event: Event) -> Option<usize> {
        self.counts.events += 1;
        self.set_clock(at);
        match event {
            Event::Resume { process, stretch } => {
                if self.processes[process].stretch != stretch {
                    return None;
                }
                if self.outranked(process) {
                    self.preempt(process);
                    return None;
                }
                Some(process)
            }
            Event::Stop => None,
            Event::Arbitrate { bus } => {
                self.arbitrate(bus);
                None
            }
            Event::Transferred { bus } => self.transferred(bus),
            Event::Interrupt { core, line } => {
                self.interrupted(core, line);
                None
            }
            Event::News { process } => {
                self.processes[process].news = true;
                self.nudge(process, WokenBy { news: true, bell: false }, Time::ZERO);
                None
            }
            Event::Timer { process, sleep } => {
                if self.processes[process].sleep == sleep {
                    self.timer_ended(process);
                }
                None
            }
        }
    }

    fn interrupted(&mut self, core: usize, line: usize) {
        let Some(service) = self.cores[core].service[line] else { return };
        self.cores[core].used.interrupts += 1;
        let entry = self.cores[core].entry;
        if self.processes[service].progress == Progress::Asleep {
            self.wake(service, entry);
        } else {
            self.processes[service].pending = true;
        }
    }

    fn end(&mut self, process: usize) {
        let core = self.processes[process].core;
        self.sleep(process, WokenBy::default(), "nothing");
        let one = &mut self.processes[process];
        one.progress = Progress::Done;
        one.ended = self.now;
        self.reconsider(core);
    }

    pub(crate) fn used(&self, core: usize) -> CoreUse {
        let core = &self.cores[core];
        let now = core.running.map_or(Time::ZERO, |_| self.now.since(core.since));
        CoreUse { busy: core.used.busy + now, ..core.used }
    }

    fn deadlock(&self) -> Stuck {
        let waiting = self.processes.iter().filter(|p| !p.daemon && p.progress != Progress::Done);
        let waiting = waiting.map(|p| (p.name.clone(), p.waits_for)).collect();
        Stuck::Deadlock { at: self.now, waiting }
    }

    /// Has a process told of news of the rendezvous.
    pub(crate) fn tell(&mut self, process: usize, after: Time) {
        let at = self.now + after.max(Time(1));
        self.queue.push(at, Rank::Interrupt, Event::News { process });
    }

    /// Has a process of a core interrupted after a while.
    pub(crate) fn interrupt(&mut self, core: usize, line: usize, after: Time) {
        // Never at this very moment: what else happens at it may already have.
        let at = self.now + after.max(Time(1));
        self.queue.push(at, Rank::Interrupt, Event::Interrupt { core, line });
    }
}
