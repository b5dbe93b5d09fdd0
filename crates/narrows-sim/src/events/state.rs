//! Everything that changes while a simulation runs.

use super::bus::{Bus, Transfer};
use super::fault::Plan;
use super::queue::Queue;
use super::{CoreUse, Counts, Mode, Settings, Stuck, Swap};
use crate::chip::Call;
use crate::chip::Chip;
use crate::part::cache::Cache;
use crate::time::Time;
use crate::trace::Tracer;
use std::borrow::Cow;

/// Service processes of interrupts are above every other.
pub(crate) const INTERRUPT: u32 = 1 << 16;
/// Interrupt lines of a core; a higher one interrupts the service of a lower one.
pub(crate) const LINES: usize = 3;
pub(crate) const BELL: usize = 0;
pub(crate) const ENGINE: usize = 1;
pub(crate) const TICK: usize = 2;

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

/// A look in vain of a process that looks until it finds something, whenever that is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vain {
    /// When it began.
    pub began: Time,
    /// The memory and the address of a word that it looked at, if it looks at any.
    pub word: Option<(usize, u32)>,
}

pub(crate) struct Process {
    pub name: String,
    pub core: usize,
    pub priority: u32,
    /// Does not keep the simulation going.
    pub daemon: bool,
    pub(crate) progress: Progress,
    /// What it waits for, to say why nothing goes on.
    pub waits_for: Cow<'static, str>,
    /// Tells its stretches between two events apart, so that an event for an earlier one is void.
    pub(crate) stretch: u64,
    /// When the stretch that it computes through ends.
    pub(crate) until: Time,
    /// Its latest look, if it looks again and again for good.
    pub(crate) vain: Option<Vain>,
    /// When the switch to it is over.
    pub(crate) switched: Time,
    /// How long it has had its core, without switches to it, and what calls of the system took of
    /// that.
    pub(crate) used: Time,
    pub(crate) system: Time,
    /// In a call of the system: how long it had had its core when that began.
    pub(crate) calling: Option<Time>,
    /// Since when it waits for a bus, but to look at a word again.
    pub(crate) queued: Option<Time>,
    /// What is left of a stretch that was interrupted, and of the switch to it: that counts only if
    /// nobody else had the core meanwhile.
    pub(crate) left: Time,
    pub(crate) left_switch: Time,
    /// Whether it can be interrupted: not in the middle of a transfer.
    pub(crate) interruptible: bool,
    /// The transfer it waits for or is in.
    pub(crate) transfer: Transfer,
    /// What a load brought that the process has not looked at.
    pub latch: Option<u32>,
    /// Tells its sleeps apart.
    pub(crate) sleep: u64,
    /// When it sleeps or spins until, at the latest.
    pub(crate) timer: Time,
    /// Tells which process has been ready the longest.
    pub(crate) readied: u64,
    /// How often it was stopped and not started again.
    pub(crate) stops: u32,
    pub wakes: WokenBy,
    /// Its doorbell was rung since it last waited.
    pub rung: bool,
    /// How often it has rung others.
    pub(crate) rings: u64,
    /// Rung, but the service routine has not run.
    pub(crate) mailbox: bool,
    /// The rendezvous has news for it.
    pub news: bool,
    /// Interrupts that its line has had since it last waited, for a service process.
    pub(crate) pending: bool,
    pub(crate) ended: Time,
}

impl Process {
    /// Whether it would run if it were woken and urgent enough.
    pub(crate) fn could_wake(&self) -> bool {
        self.progress == Progress::Asleep && self.stops == 0
    }

    pub(crate) fn could_run(&self) -> bool {
        self.progress == Progress::Ready && self.stops == 0
    }
}

#[derive(Default)]
pub(crate) struct Core {
    pub(crate) running: Option<usize>,
    /// Whose registers are loaded; nobody's, if it idles.
    pub(crate) last: Option<usize>,
    /// The most urgent of those that could run.
    pub(crate) waiting: Option<u32>,
    pub(crate) processes: Vec<usize>,
    /// The service process of each interrupt line.
    pub(crate) service: [Option<usize>; LINES],
    pub(crate) since: Time,
    /// From one process to another.
    pub(crate) switch: Time,
    /// What that takes more where there is a swap hook.
    pub(crate) hook: Time,
    /// Until a service routine runs, and back.
    pub entry: Time,
    /// Its clock ticks so often, if at all.
    pub tick: Time,
    /// What a tick takes; if it does not tick, what the end of a timer takes.
    pub tick_service: Time,
    pub(crate) used: CoreUse,
    pub data: Option<Cache>,
    pub instructions: Option<Cache>,
    pub second: Option<Cache>,
}

impl Core {
    /// Whether it is interrupted again and again by its clock.
    pub fn ticks(&self) -> bool {
        self.tick > Time::ZERO && self.tick_service > Time::ZERO
    }
}

pub(crate) struct State {
    pub now: Time,
    pub(super) queue: Queue,
    pub(crate) mode: Mode,
    pub processes: Vec<Process>,
    pub cores: Vec<Core>,
    pub(crate) buses: Vec<Bus>,
    pub memories: Vec<Vec<u8>>,
    /// The bus of each memory.
    pub(super) ways: Vec<usize>,
    /// Those of memories.
    pub names: Vec<String>,
    pub(crate) hash: u64,
    pub(crate) counts: Counts,
    /// The process that runs now.
    pub(crate) current: Option<usize>,
    /// The process that runs next, if that is known.
    pub(super) next: Option<usize>,
    /// Why nothing can go on.
    pub(crate) stuck: Option<Stuck>,
    /// Things that have happened since the clock last moved.
    pub(crate) still: u32,
    /// When something last happened that was neither a look in vain nor a tick.
    pub(super) acted: Time,
    /// Looks in vain so far, without those that were computed.
    pub(super) vain: u32,
    /// Wakings so far.
    pub(super) readied: u64,
    /// The process that ran last.
    pub(crate) ran: Option<usize>,
    /// What goes wrong.
    pub(crate) plan: Plan,
    /// What all of it is told to, if it is traced.
    pub(super) trace: Option<Box<Tracer>>,
    /// Context switches that the hook has not been told of, if there is one.
    pub(crate) swaps: Option<Vec<Swap>>,
}

/// So often may things happen at one moment before it is said that time stands still.
const STILL: u32 = 1_000_000;

impl State {
    /// A chip at rest, with this number of parts beside cores and engines that take time of their
    /// own.
    pub fn new(chip: &Chip, settings: &Settings, parts: usize) -> State {
        let cores = chip.cores.iter().enumerate().map(|(at, core)| Core {
            switch: core.system.switch.at(core.clock) + chip.words(at, core.system.switch_words),
            hook: core.system.call(Call::SwapHook).takes.at(core.clock),
            data: core.data.map(Cache::new),
            instructions: core.instructions.map(Cache::new),
            second: core.second.map(Cache::new),
            ..Core::default()
        });
        // An engine moves bytes as a core would that does nothing else.
        let others = chip.engines.len() + parts;
        let masters = chip.cores.len() + others;
        let others = (0..others).map(|_| Core::default());
        State {
            now: Time::ZERO,
            queue: Queue::default(),
            mode: settings.mode,
            processes: Vec::new(),
            cores: cores.chain(others).collect(),
            buses: chip.buses.iter().map(|bus| Bus::new(bus, masters)).collect(),
            memories: chip.memories.iter().map(|memory| vec![0; memory.size as usize]).collect(),
            ways: chip.memories.iter().map(|memory| memory.bus).collect(),
            names: chip.memories.iter().map(|memory| memory.name.clone()).collect(),
            hash: 0xcbf2_9ce4_8422_2325,
            counts: Counts::default(),
            current: None,
            next: None,
            stuck: None,
            still: 0,
            acted: Time::ZERO,
            vain: 0,
            readied: 0,
            ran: None,
            plan: Plan::new(settings.faults, settings.seed),
            trace: None,
            swaps: None,
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
            waits_for: "an interrupt".into(),
            stretch: 0,
            until: Time::ZERO,
            vain: None,
            switched: Time::ZERO,
            used: Time::ZERO,
            system: Time::ZERO,
            calling: None,
            queued: None,
            left: Time::ZERO,
            left_switch: Time::ZERO,
            interruptible: true,
            transfer: Transfer::default(),
            latch: None,
            sleep: 0,
            timer: Time::NEVER,
            readied: 0,
            stops: 0,
            wakes: WokenBy::default(),
            rung: false,
            rings: 0,
            mailbox: false,
            news: false,
            pending: false,
            ended: Time::ZERO,
        });
        self.cores[core].processes.push(number);
        self.trace_new(number);
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

    /// Notes that something happens. False if too much has at one moment.
    #[inline]
    pub fn tick(&mut self) -> bool {
        self.still += 1;
        self.still <= STILL || self.stand_still()
    }

    /// Whether one more thing would be too much at one moment.
    #[inline]
    pub fn stands_still(&self) -> bool {
        self.still >= STILL
    }

    #[cold]
    fn stand_still(&mut self) -> bool {
        if self.stuck.is_none() {
            let process = self.ran.map(|p| self.processes[p].name.clone());
            self.stuck = Some(Stuck::Still { at: self.now, process });
        }
        false
    }

    /// Whether it is this process whose code runs now. That of others must not be heard: it is
    /// being taken down, or a handle was passed on.
    #[inline]
    pub fn runs(&self, process: usize) -> bool {
        self.current == Some(process)
    }
}
