//! Everything that changes while a simulation runs, and how processes share cores.

use super::bus::{Bus, Transfer};
use super::queue::{Event, Queue, Rank};
use super::{CoreUse, Counts, Mode, Settings, Stuck};
use crate::chip::Chip;
use crate::part::cache::Cache;
use crate::time::Time;

/// Service processes of interrupts are above every other.
pub(crate) const INTERRUPT: u32 = 1 << 16;
/// Interrupt lines of a core; a higher one interrupts the service of a lower one.
pub(crate) const LINES: usize = 3;
pub(crate) const BELL: usize = 0;
pub(crate) const ENGINE: usize = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// On its core.
    Running,
    /// Could run.
    Ready,
    /// Waits for something.
    Asleep,
    /// Has ended.
    Done,
}

/// What a process that sleeps or spins can be woken by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WokenBy {
    pub bell: bool,
    pub news: bool,
}

pub(crate) struct Process {
    pub name: String,
    pub core: usize,
    pub priority: u32,
    /// Does not keep the simulation going.
    pub daemon: bool,
    pub(crate) progress: Progress,
    /// What it waits for, for whoever asks why nothing goes on.
    pub waits_for: &'static str,
    /// Tells its stretches between two events apart, so that an event for an earlier one is void.
    pub(crate) stretch: u64,
    /// When the stretch that it computes through ends.
    pub(crate) until: Time,
    /// What is left of a stretch that was interrupted.
    pub(crate) left: Time,
    /// Whether it can be interrupted: not in the middle of a transfer.
    pub(crate) interruptible: bool,
    /// The transfer it waits for or is in.
    pub(crate) transfer: Transfer,
    /// What a load brought that the process has not looked at.
    pub latch: Option<u32>,
    /// Tells its sleeps apart.
    pub(crate) sleep: u64,
    pub wakes: WokenBy,
    /// Its doorbell was rung since it last waited.
    pub rung: bool,
    /// Rung, but the service routine has not run.
    pub(crate) mailbox: bool,
    /// The rendezvous has news for it.
    pub news: bool,
    /// Interrupts that its line has had since it last waited, for a service process.
    pub(crate) pending: bool,
    pub(crate) ended: Time,
}

#[derive(Default)]
pub(crate) struct Core {
    pub(crate) running: Option<usize>,
    pub(crate) last: Option<usize>,
    /// The most urgent of those that could run.
    pub(crate) waiting: Option<u32>,
    pub(crate) processes: Vec<usize>,
    /// The service process of each interrupt line.
    pub(crate) service: [Option<usize>; LINES],
    pub(crate) since: Time,
    /// From one process to another.
    switch: Time,
    /// Until a service routine runs, and back.
    pub entry: Time,
    /// What the end of a timer takes.
    pub tick_service: Time,
    pub(crate) used: CoreUse,
    pub data: Option<Cache>,
    pub instructions: Option<Cache>,
    pub second: Option<Cache>,
}

pub(crate) struct State {
    pub now: Time,
    pub(super) queue: Queue,
    pub(crate) mode: Mode,
    pub processes: Vec<Process>,
    pub cores: Vec<Core>,
    pub(crate) buses: Vec<Bus>,
    pub memories: Vec<Vec<u8>>,
    pub(crate) hash: u64,
    pub(crate) counts: Counts,
    /// Who runs now.
    pub(crate) current: Option<usize>,
    /// Why nothing can go on.
    pub(crate) stuck: Option<Stuck>,
    /// Times the clock was looked at, or a process resumed, since it last moved.
    pub(crate) still: u32,
}

/// So often may things happen at one moment before it is said that time stands still.
const STILL: u32 = 2_000_000;

impl State {
    pub fn new(chip: &Chip, settings: &Settings) -> State {
        let cores = chip.cores.iter().map(|core| Core {
            switch: core.system.switch.at(core.clock),
            data: core.data.map(Cache::new),
            instructions: core.instructions.map(Cache::new),
            second: core.second.map(Cache::new),
            ..Core::default()
        });
        // An engine moves bytes as a core would that does nothing else.
        let engines = chip.engines.iter().map(|_| Core::default());
        let masters = chip.cores.len() + chip.engines.len();
        State {
            now: Time::ZERO,
            queue: Queue::default(),
            mode: settings.mode,
            processes: Vec::new(),
            cores: cores.chain(engines).collect(),
            buses: chip.buses.iter().map(|bus| Bus::new(bus, masters)).collect(),
            memories: chip.memories.iter().map(|memory| vec![0; memory.size as usize]).collect(),
            hash: 0xcbf2_9ce4_8422_2325,
            counts: Counts::default(),
            current: None,
            stuck: None,
            still: 0,
        }
    }

    pub fn spawn(&mut self, name: String, core: usize, priority: u32, daemon: bool) -> usize {
        let number = self.processes.len();
        self.processes.push(Process {
            name,
            core,
            priority,
            daemon,
            progress: Progress::Asleep,
            waits_for: "its first turn",
            stretch: 0,
            until: Time::ZERO,
            left: Time::ZERO,
            interruptible: true,
            transfer: Transfer::default(),
            latch: None,
            sleep: 0,
            wakes: WokenBy::default(),
            rung: false,
            mailbox: false,
            news: false,
            pending: false,
            ended: Time::ZERO,
        });
        self.cores[core].processes.push(number);
        number
    }

    /// Time has moved: whatever happened at one moment only is over.
    #[inline]
    pub(crate) fn set_clock(&mut self, now: Time) {
        if now > self.now {
            self.now = now;
            self.still = 0;
        }
    }

    /// Notes that something happened that takes no time. False if that has gone on for too long.
    #[inline]
    pub fn tick(&mut self) -> bool {
        self.still += 1;
        if self.still > STILL && self.stuck.is_none() {
            let process = self.current.map(|p| self.processes[p].name.clone());
            self.stuck = Some(Stuck::Still { at: self.now, process });
        }
        self.stuck.is_none()
    }

    /// Whether it is this process whose code runs now. That of others must not be heard: it is being
    /// taken down, or a handle was passed on.
    #[inline]
    pub fn runs(&self, process: usize) -> bool {
        self.current == Some(process)
    }

    /// Whether a process has to give its core to a more urgent one.
    #[inline]
    pub(crate) fn outranked(&self, process: usize) -> bool {
        let process = &self.processes[process];
        self.cores[process.core].waiting.is_some_and(|waiting| waiting > process.priority)
    }

    /// The running process computes for a while. True if it has to leave until that is over.
    #[inline]
    pub fn compute(&mut self, process: usize, time: Time) -> bool {
        let until = self.now + time;
        if self.mode == Mode::Fast && !self.outranked(process) && self.queue.clear(until) {
            self.set_clock(until);
            return false;
        }
        self.compute_until(process, until);
        true
    }

    pub(crate) fn compute_until(&mut self, process: usize, until: Time) {
        let one = &mut self.processes[process];
        one.until = until;
        one.interruptible = true;
        let stretch = one.stretch;
        self.queue.push(until, Rank::Completion, Event::Resume { process, stretch });
        if self.outranked(process) {
            self.preempt(process);
        }
    }

    /// Takes the core from a process that computes.
    pub(crate) fn preempt(&mut self, process: usize) {
        let one = &mut self.processes[process];
        one.left = one.until.since(self.now);
        one.progress = Progress::Ready;
        one.stretch += 1;
        let core = one.core;
        self.counts.preemptions += 1;
        self.idle(core);
        self.rank(core);
        self.dispatch(core);
    }

    /// Nobody is on the core any more.
    fn idle(&mut self, core: usize) {
        let now = self.now;
        let core = &mut self.cores[core];
        core.running = None;
        core.used.busy += now.since(core.since);
    }

    fn rank(&mut self, core: usize) {
        let all = self.cores[core].processes.iter().map(|&p| &self.processes[p]);
        let ready = all.filter(|p| p.progress == Progress::Ready);
        self.cores[core].waiting = ready.map(|p| p.priority).max();
    }

    /// The running process stops until it is woken. It has to leave.
    pub fn sleep(&mut self, process: usize, wakes: WokenBy, waits_for: &'static str) {
        let one = &mut self.processes[process];
        one.progress = Progress::Asleep;
        one.stretch += 1;
        one.wakes = wakes;
        one.waits_for = waits_for;
        let core = one.core;
        self.idle(core);
        self.cores[core].last = None;
        self.dispatch(core);
    }

    /// A process that sleeps could run, once it has spent `first`.
    pub fn wake(&mut self, process: usize, first: Time) {
        let one = &mut self.processes[process];
        if one.progress != Progress::Asleep {
            return;
        }
        one.progress = Progress::Ready;
        one.left = first;
        one.wakes = WokenBy::default();
        let core = one.core;
        self.rank(core);
        self.reconsider(core);
    }

    /// A moment until which a process sleeps or spins has come.
    pub(crate) fn timer_ended(&mut self, process: usize) {
        if self.processes[process].progress == Progress::Asleep {
            let time = self.cores[self.processes[process].core].tick_service;
            self.wake(process, time);
        } else {
            self.stop_spinning(process);
        }
    }

    /// Something has come for a process: it is woken if it sleeps until that, and looks again if it
    /// spins.
    pub fn nudge(&mut self, process: usize, of: WokenBy, first: Time) {
        let wakes = self.processes[process].wakes;
        if self.processes[process].progress != Progress::Asleep {
            self.stop_spinning(process);
        } else if (wakes.bell && of.bell) || (wakes.news && of.news) {
            self.wake(process, first);
        }
    }

    /// Has a timer end at `at`, for the wait that a process is in or about to begin.
    pub fn set_timer(&mut self, process: usize, at: Time) {
        let sleep = self.processes[process].sleep;
        self.queue.push(at, Rank::Interrupt, Event::Timer { process, sleep });
    }

    /// A wait is over: its timer is void.
    pub fn end_wait(&mut self, process: usize) {
        self.processes[process].sleep += 1;
    }

    /// Gives a core to whoever should have it.
    pub(crate) fn reconsider(&mut self, core: usize) {
        match self.cores[core].running {
            None => self.dispatch(core),
            Some(running) if self.current == Some(running) => {}
            Some(running) if self.outranked(running) => {
                self.stop_spinning(running);
                if self.processes[running].interruptible {
                    self.preempt(running);
                }
            }
            Some(_) => {}
        }
    }

    fn dispatch(&mut self, core: usize) {
        if self.cores[core].running.is_some() {
            return;
        }
        let all = self.cores[core].processes.iter().copied();
        let ready = all.filter(|&p| self.processes[p].progress == Progress::Ready);
        // Among equals the one that was there first.
        let Some(next) = ready.max_by_key(|&p| (self.processes[p].priority, usize::MAX - p)) else {
            return;
        };
        let service = self.processes[next].priority >= INTERRUPT;
        let now = self.now;
        let there = &mut self.cores[core];
        let switch = !service && there.last != Some(next);
        if !service {
            there.last = Some(next);
        }
        there.running = Some(next);
        there.since = now;
        there.used.switches += u64::from(switch);
        let time =
            self.processes[next].left + if switch { self.cores[core].switch } else { Time::ZERO };
        let one = &mut self.processes[next];
        one.progress = Progress::Running;
        one.stretch += 1;
        one.left = Time::ZERO;
        self.rank(core);
        self.compute_until(next, now + time);
    }
}
