//! How processes share a core: the most urgent runs, and among equals the one that has been ready
//! the longest.

use super::queue::{Event, Rank};
use super::state::{INTERRUPT, Progress, State, WokenBy};
use super::traced::STOPPER;
use super::{CoreUse, Mode, Pid, Swap};
use crate::part::cache::Cache;
use crate::time::Time;
use std::borrow::Cow;
use std::cmp::Reverse;

impl State {
    /// Whether a process has to give its core to a more urgent one.
    #[inline]
    pub(crate) fn outranked(&self, process: usize) -> bool {
        let process = &self.processes[process];
        self.cores[process.core].waiting.is_some_and(|waiting| waiting > process.priority)
    }

    /// The running process computes for a while. True if it has to leave until that is over.
    #[inline]
    pub fn compute(&mut self, process: usize, time: Time) -> bool {
        if self.computes(process, time) {
            return false;
        }
        self.compute_until(process, self.now + time);
        true
    }

    /// Whether the running process has computed for a while: nothing comes between.
    #[inline]
    pub fn computes(&mut self, process: usize, time: Time) -> bool {
        let until = self.now + time;
        let on = self.mode == Mode::Fast && !self.outranked(process) && self.queue.clear(until);
        if on {
            self.set_clock(until);
        }
        on
    }

    pub(super) fn compute_until(&mut self, process: usize, until: Time) {
        let one = &mut self.processes[process];
        one.until = until;
        one.interruptible = true;
        let stretch = one.stretch;
        self.queue.push(until, Rank::Completion, Event::Resume { process, stretch });
        if self.outranked(process) {
            self.preempt(process);
        }
    }

    /// The running process has done something that may have readied others. True if one of them is
    /// more urgent: it has to leave.
    pub fn give_way(&mut self, process: usize) -> bool {
        let outranked = self.outranked(process);
        if outranked {
            self.compute_until(process, self.now);
        }
        outranked
    }

    /// Takes the core from a process that computes.
    pub(super) fn preempt(&mut self, process: usize) {
        self.counts.preemptions += 1;
        self.step_down(process);
    }

    /// A process leaves its core in the middle of what it does.
    fn step_down(&mut self, process: usize) {
        let now = self.now;
        let one = &mut self.processes[process];
        one.left_switch = one.switched.since(now);
        one.left = one.until.since(now.max(one.switched));
        one.progress = Progress::Ready;
        one.stretch += 1;
        let core = one.core;
        self.leave_idle(core);
        self.rank(core);
        self.dispatch(core);
        self.retrace(core);
    }

    /// Nobody is on the core any more.
    fn leave_idle(&mut self, core: usize) {
        self.cores[core].used = self.used(core);
        if let Some(process) = self.cores[core].running {
            self.processes[process].used = self.had(process);
        }
        self.cores[core].running = None;
    }

    /// What a core has done so far.
    pub(crate) fn used(&self, core: usize) -> CoreUse {
        let (core, now) = (&self.cores[core], self.now);
        let cache = |cache: &Option<Cache>| cache.as_ref().map(|cache| cache.used);
        let mut used = CoreUse {
            data: cache(&core.data),
            instructions: cache(&core.instructions),
            second: cache(&core.second),
            ..core.used
        };
        if let Some(process) = core.running {
            let one = &self.processes[process];
            let time = now.since(core.since);
            used.busy += time;
            used.system += now.min(one.switched).since(core.since);
            if (INTERRUPT..STOPPER).contains(&one.priority) {
                used.interrupt_time += time;
            }
        }
        used
    }

    /// How long a process has had its core so far, without switches to it.
    pub(crate) fn had(&self, process: usize) -> Time {
        let one = &self.processes[process];
        let runs = self.cores[one.core].running == Some(process);
        one.used + if runs { self.now.since(one.switched) } else { Time::ZERO }
    }

    /// What a core has done so far, with what calls of the system that have not ended took of it.
    pub(crate) fn used_so_far(&self, core: usize) -> CoreUse {
        let mut used = self.used(core);
        let here = (0..self.processes.len()).filter(|one| self.processes[*one].core == core);
        used.system += here.map(|process| self.in_call(process)).sum();
        used
    }

    /// How long a process has worked so far: what it had without calls of the system.
    pub(crate) fn worked(&self, process: usize) -> Time {
        self.had(process).since(self.processes[process].system + self.in_call(process))
    }

    /// What a call of the system has taken of a process so far, if it is in one.
    fn in_call(&self, process: usize) -> Time {
        let since = self.processes[process].calling;
        since.map_or(Time::ZERO, |since| self.had(process).since(since))
    }

    /// A call of the system begins or ends, and what it took is counted.
    pub(crate) fn calls(&mut self, process: usize, begins: bool) {
        let (took, had) = (self.in_call(process), self.had(process));
        let one = &mut self.processes[process];
        one.system += took;
        one.calling = begins.then_some(had);
        self.cores[one.core].used.system += took;
    }

    pub(crate) fn rank(&mut self, core: usize) {
        let all = self.cores[core].processes.iter().map(|&p| &self.processes[p]);
        self.cores[core].waiting = all.filter(|p| p.could_run()).map(|p| p.priority).max();
    }

    /// The running process stops until it is woken. It has to leave.
    pub fn sleep(
        &mut self,
        process: usize,
        wakes: WokenBy,
        waits_for: impl Into<Cow<'static, str>>,
    ) {
        let one = &mut self.processes[process];
        one.progress = Progress::Asleep;
        one.stretch += 1;
        one.wakes = wakes;
        one.waits_for = waits_for.into();
        let core = one.core;
        self.trace_sleep(process);
        self.leave_idle(core);
        self.dispatch(core);
        self.retrace(core);
    }

    /// A process that sleeps could run, once it has spent `first`.
    pub fn wake(&mut self, process: usize, first: Time) {
        self.readied += 1;
        let readied = self.readied;
        let one = &mut self.processes[process];
        if one.progress != Progress::Asleep {
            return;
        }
        one.progress = Progress::Ready;
        one.readied = readied;
        one.left = first;
        one.wakes = WokenBy::default();
        let core = one.core;
        self.cores[core].used.system += first;
        self.trace_wake(process);
        self.rank(core);
        self.reconsider(core);
        self.retrace(core);
    }

    /// A process is not to run, whatever it does, until it was started as often as it was stopped.
    /// True if that is the one that runs: it has to leave.
    pub fn stop(&mut self, process: usize) -> bool {
        let one = &mut self.processes[process];
        one.stops += 1;
        let core = one.core;
        if self.current == Some(process) {
            self.processes[process].until = self.now;
            self.step_down(process);
            return true;
        }
        self.rank(core);
        self.retrace(core);
        false
    }

    /// Takes one stop back.
    pub fn start_again(&mut self, process: usize) {
        let one = &mut self.processes[process];
        one.stops = one.stops.saturating_sub(1);
        let core = one.core;
        self.rank(core);
        self.retrace(core);
    }

    /// Changes how urgent a process is.
    pub fn set_priority(&mut self, process: usize, priority: u32) {
        let one = &mut self.processes[process];
        one.priority = priority;
        let core = one.core;
        self.rank(core);
    }

    /// An interrupt has come for a service process: it runs, at the latest once it is through with
    /// the one before.
    pub fn interrupted(&mut self, service: usize, entry: Time) {
        let one = &mut self.processes[service];
        self.cores[one.core].used.interrupts += 1;
        if one.progress == Progress::Asleep {
            self.wake(service, entry);
        } else {
            one.pending = true;
        }
    }

    /// A moment until which a process sleeps or spins has come. Where the core's clock ticks, it is
    /// the tick that ends a sleep.
    pub(super) fn timer_ended(&mut self, process: usize) {
        let core = &self.cores[self.processes[process].core];
        let (ticks, service) = (core.ticks(), core.tick_service);
        if self.processes[process].progress != Progress::Asleep {
            self.stop_spinning(process);
        } else if !ticks {
            self.wake(process, service);
        }
    }

    /// The service of a core's tick: wakes those that sleep until now.
    pub fn tick_over(&mut self, core: usize) {
        for process in self.cores[core].processes.clone() {
            let one = &self.processes[process];
            if one.progress == Progress::Asleep && one.timer <= self.now {
                self.wake(process, Time::ZERO);
            }
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
        let one = &mut self.processes[process];
        one.timer = at;
        let sleep = one.sleep;
        self.queue.push(at, Rank::Interrupt, Event::Timer { process, sleep });
    }

    /// A wait is over: its timer is void.
    pub fn end_wait(&mut self, process: usize) {
        self.trace_waited(process);
        let one = &mut self.processes[process];
        one.sleep += 1;
        one.timer = Time::NEVER;
        one.vain = None;
    }

    /// Gives a core to the process that should have it.
    pub(super) fn reconsider(&mut self, core: usize) {
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
        let ready = all.filter(|&p| self.processes[p].could_run());
        let urgent = |&p: &usize| (self.processes[p].priority, Reverse(self.processes[p].readied));
        let Some(next) = ready.max_by_key(urgent) else { return self.swap(core, None) };
        // A service routine runs on top of whatever it interrupts.
        let one = &mut self.processes[next];
        let left_switch = std::mem::take(&mut one.left_switch);
        let switch = if one.priority >= INTERRUPT || self.cores[core].last == Some(next) {
            left_switch
        } else {
            self.swap(core, Some(next));
            self.switch_time(core)
        };
        let there = &mut self.cores[core];
        there.running = Some(next);
        there.since = self.now;
        let one = &mut self.processes[next];
        one.progress = Progress::Running;
        one.stretch += 1;
        one.switched = self.now + switch;
        let until = one.switched + std::mem::take(&mut one.left);
        self.rank(core);
        self.retrace(core);
        self.compute_until(next, until);
    }

    fn switch_time(&self, core: usize) -> Time {
        let core = &self.cores[core];
        core.switch + if self.swaps.is_some() { core.hook } else { Time::ZERO }
    }

    /// Keeps context switches for a hook, whose own time they take from now on.
    pub(crate) fn hook(&mut self) {
        self.swaps.get_or_insert_default();
    }

    /// A core goes from one process to another, or to none.
    fn swap(&mut self, core: usize, to: Option<usize>) {
        let there = &mut self.cores[core];
        let from = std::mem::replace(&mut there.last, to);
        if from == to {
            return;
        }
        there.used.switches += u64::from(to.is_some());
        if let Some(swaps) = &mut self.swaps {
            swaps.push(Swap { at: self.now, core, from: from.map(Pid), to: to.map(Pid) });
        }
    }
}
