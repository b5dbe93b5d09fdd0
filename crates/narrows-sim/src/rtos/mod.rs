//! A real-time operating system as those of small cores are: processes of fixed priority that a
//! more urgent one interrupts, interrupt processes that nest, signals, semaphores, timeouts.
//!
//! What there is follows OSE's compact kernel (S4 section 2.2). Each core has a kernel of its own,
//! and its processes see only each other; between cores there are the stack, hardware mutexes and
//! interrupts. Processes are added before a simulation runs by
//! [`Simulation::process`](crate::engine::Simulation::process) and
//! [`Simulation::interrupt`](crate::engine::Simulation::interrupt), and while it runs by
//! [`Os::spawn`].
//!
//! Each call takes what the platform says for it ([`Call`]), before it does anything, and a context
//! switch takes [`System::switch`](crate::chip::System::switch) besides. Where the core's clock
//! ticks, delays and timeouts end with the tick behind them.
//!
//! Nothing blocks in an interrupt process: what would have to wait there finds nothing.

mod semaphore;
mod signal;

pub use crate::chip::Call;
pub use crate::kernel::{Semaphore, Signal, Unknown};

use crate::cpu::Cpu;
use crate::cpu::rates::{CallTime, Traffic};
use crate::events::Pid;
use crate::events::coroutine::Door;
use crate::events::state::{INTERRUPT, Progress, State, WokenBy};
use crate::kernel::Kernel;
use crate::time::Time;
use std::borrow::Cow;
use std::rc::Rc;

/// The operating system as a process of a core sees it. Copies of it are the same process's.
#[derive(Clone)]
pub struct Os {
    cpu: Cpu,
}

impl Cpu {
    /// The operating system of this process's core.
    #[must_use]
    pub fn os(&self) -> Os {
        Os { cpu: self.clone() }
    }
}

impl Os {
    /// The process's processor.
    #[must_use]
    pub fn cpu(&self) -> &Cpu {
        &self.cpu
    }

    /// This process.
    #[must_use]
    pub fn own(&self) -> Pid {
        Pid(self.cpu.process())
    }

    /// The process of a name on this core, if one has not ended.
    #[must_use]
    pub fn hunt(&self, name: &str) -> Option<Pid> {
        self.charge(Call::Hunt);
        let state = self.cpu.machine().state.borrow();
        let all = &state.cores[self.cpu.core()].processes;
        let found = |p: &&usize| {
            let process = &state.processes[**p];
            process.name == name && process.progress != Progress::Done
        };
        all.iter().find(found).copied().map(Pid)
    }

    /// A process's name.
    #[must_use]
    pub fn name(&self, process: Pid) -> String {
        let state = self.cpu.machine().state.borrow();
        state.processes.get(process.0).map(|p| p.name.clone()).unwrap_or_default()
    }

    /// Makes a process on this core, which can run at once. The simulation goes on until it has
    /// ended, too.
    pub fn spawn(
        &self,
        name: &str,
        priority: u32,
        body: impl FnOnce(Cpu) + 'static,
    ) -> Option<Pid> {
        self.charge(Call::CreateProcess);
        let mut made = None;
        let machine = self.cpu.machine();
        self.cpu.act(|state, own| {
            let (core, priority) = (state.processes[own].core, priority.min(INTERRUPT - 1));
            let process = state.spawn(name.to_owned(), core, priority, false);
            made = Some(process);
            false
        });
        let process = made?;
        let door = Door::default();
        let cpu = Cpu::new(Rc::clone(machine), process, self.cpu.core(), door.clone());
        machine.born.borrow_mut().push((door, Box::new(move || body(cpu))));
        self.cpu.act(|state, own| {
            state.wake(process, Time::ZERO);
            state.give_way(own)
        });
        Some(Pid(process))
    }

    /// Sleeps for a while.
    pub fn delay(&self, time: Time) {
        self.charge(Call::Delay);
        if !self.interrupts() {
            self.cpu.pause(time);
        }
    }

    /// How urgent a process is: the higher, the more.
    ///
    /// # Errors
    /// See [`Unknown`].
    pub fn priority(&self, process: Pid) -> Result<u32, Unknown> {
        self.charge(Call::GetPri);
        self.with(process, |state, process| state.processes[process].priority)
    }

    /// Changes how urgent a process is; not an interrupt process.
    ///
    /// # Errors
    /// See [`Unknown`].
    pub fn set_priority(&self, process: Pid, priority: u32) -> Result<(), Unknown> {
        let swaps = {
            let state = self.cpu.machine().state.borrow();
            let own = &state.processes[self.cpu.process()];
            let waiting = state.cores[own.core].waiting;
            match state.processes.get(process.0) {
                Some(_) if process == self.own() => waiting.is_some_and(|one| one > priority),
                Some(other) => {
                    let here = other.core == own.core && other.could_run();
                    here && priority > own.priority
                }
                None => false,
            }
        };
        self.charge_swapping(Call::SetPri, swaps);
        let set = self.with(process, |state, process| {
            if state.processes[process].priority < INTERRUPT {
                state.set_priority(process, priority.min(INTERRUPT - 1));
            }
        });
        self.cpu.act(State::give_way);
        set
    }

    /// Keeps a process from running until it was started as often as it was stopped; not an
    /// interrupt process. Signals and semaphores go on reaching it.
    ///
    /// # Errors
    /// See [`Unknown`].
    pub fn stop(&self, process: Pid) -> Result<(), Unknown> {
        self.charge(Call::Stop);
        let mut leave = false;
        let stopped = self.with(process, |state, process| {
            if state.processes[process].priority < INTERRUPT {
                leave = state.stop(process);
            }
        });
        self.cpu.act(|_, _| leave);
        stopped
    }

    /// Takes one [`Os::stop`] of a process back.
    ///
    /// # Errors
    /// See [`Unknown`].
    pub fn start(&self, process: Pid) -> Result<(), Unknown> {
        self.charge_waking(Call::Start, process, |state, _, process| {
            let process = &state.processes[process];
            process.progress == Progress::Ready && process.stops == 1
        });
        let started = self.with(process, State::start_again);
        self.cpu.act(State::give_way);
        started
    }

    /// Masks an interrupt process of this core, as software does with an interrupt's enable bit, or
    /// unmasks it; of any other nothing comes. What triggers it meanwhile makes it run once when it
    /// is unmasked as often as it was masked. It takes nothing.
    pub fn mask(&self, interrupt: Pid, masked: bool) {
        let _ = self.with(interrupt, |state, process| {
            let is_one = state.processes[process].priority >= INTERRUPT;
            match (is_one, masked) {
                (false, _) => {}
                (true, true) => {
                    state.processes[process].stops += 1;
                    let core = state.processes[process].core;
                    state.rank(core);
                }
                (true, false) => state.start_again(process),
            }
        });
        self.cpu.act(State::give_way);
    }

    /// Triggers an interrupt process of any core, as hardware does: ringing takes what it takes to
    /// ring a doorbell, and the interrupt comes after the same latency.
    pub fn raise(&self, interrupt: Pid) {
        self.cpu.compute(self.cpu.rates().ring);
        let latency = self.cpu.rates().latency;
        self.cpu.act(|state, _| {
            let known = state.processes.get(interrupt.0);
            if known.is_some_and(|p| p.priority >= INTERRUPT) {
                state.interrupt(interrupt.0, latency);
            }
            false
        });
    }

    /// What a call takes.
    fn charge(&self, call: Call) {
        let CallTime { takes, traffic } = self.cpu.rates().calls[call as usize];
        self.work(takes, &traffic);
    }

    /// An interrupt process begins: what that fetches and touches.
    pub(crate) fn entered(&self) {
        self.work(Time::ZERO, &self.cpu.rates().entry);
    }

    /// Does what is the system's.
    fn work(&self, time: Time, traffic: &Traffic) {
        let calls = |begins| {
            self.cpu.machine().state.borrow_mut().calls(self.cpu.process(), begins);
        };
        calls(true);
        self.cpu.run_through(traffic);
        self.cpu.compute(time);
        calls(false);
    }

    /// What a call takes that may give the core away to a process that it wakes: one that waits for
    /// that, and is more urgent.
    fn charge_waking(
        &self,
        call: Call,
        wakes: Pid,
        waits: impl FnOnce(&State, &mut Kernel, usize) -> bool,
    ) {
        let swaps = {
            let state = self.cpu.machine().state.borrow();
            let own = &state.processes[self.cpu.process()];
            state.processes.get(wakes.0).is_some_and(|woken| {
                let urgent = woken.priority > own.priority && woken.priority < INTERRUPT;
                (woken.core == own.core && urgent)
                    && waits(&state, &mut self.cpu.machine().kernel.borrow_mut(), wakes.0)
            })
        };
        self.charge_swapping(call, swaps);
    }

    /// What a call takes, if it gives the core away or if not.
    fn charge_swapping(&self, call: Call, swaps: bool) {
        let rates = self.cpu.rates();
        let of = if swaps { &rates.swapping } else { &rates.calls };
        let CallTime { takes, traffic } = of[call as usize];
        self.work(takes, &traffic);
    }

    /// Whether this is an interrupt process.
    fn interrupts(&self) -> bool {
        let state = self.cpu.machine().state.borrow();
        state.processes[self.cpu.process()].priority >= INTERRUPT
    }

    /// Does something with a process of this core.
    fn with<T>(
        &self,
        process: Pid,
        what: impl FnOnce(&mut State, usize) -> T,
    ) -> Result<T, Unknown> {
        let mut done = Err(Unknown);
        self.cpu.act(|state, own| {
            let core = state.processes[own].core;
            let known = state.processes.get(process.0);
            if known.is_some_and(|p| p.core == core && p.progress != Progress::Done) {
                done = Ok(what(state, process.0));
            }
            false
        });
        done
    }

    /// Has a process look again at what it waits for, if there is reason to; an interrupt process
    /// is triggered.
    fn ready(state: &mut State, process: usize, reason: bool) {
        if state.processes[process].priority >= INTERRUPT {
            let entry = state.cores[state.processes[process].core].entry;
            state.interrupted(process, entry);
        } else if reason {
            state.wake(process, Time::ZERO);
        }
    }

    /// Tries something until it succeeds or the time is up, and sleeps in between.
    fn wait<T>(
        &self,
        within: Time,
        waits_for: Cow<'static, str>,
        mut attempt: impl FnMut(&mut Kernel, usize) -> Option<T>,
    ) -> Option<T> {
        let start = self.cpu.moment();
        let end = if self.interrupts() { start } else { start + within };
        self.cpu.alarm(end);
        let mut got = None;
        let mut slept = false;
        loop {
            let mut again = false;
            self.cpu.act(|state, own| {
                got = attempt(&mut self.cpu.machine().kernel.borrow_mut(), own);
                again = got.is_none() && state.now < end;
                if again {
                    state.sleep(own, WokenBy::default(), waits_for.clone());
                }
                again
            });
            slept |= again;
            if !again || self.cpu.gone() {
                break;
            }
        }
        self.cpu.end_wait();
        if slept {
            self.work(Time::ZERO, &self.cpu.rates().switch);
        }
        got
    }
}
