//! How a process passes time, and the service routine of a core's doorbells.

use super::{Bell, Cpu, RegionWords};
use crate::events::fault::Ring;
use crate::events::state::{BELL, WokenBy};
use crate::time::Time;
use narrows::platform::{Instant, Wait, Watch, Woken};

impl Cpu {
    /// The moment that a deadline is reached on the clock that software reads.
    fn reached(&self, deadline: Option<Instant>) -> Time {
        let Some(Instant(nanos)) = deadline else { return Time::NEVER };
        let at = Time::nanos(nanos);
        if at == Time::NEVER {
            return at;
        }
        // The clock shows a moment once it has counted beyond it.
        let hertz = u128::from(self.rates().timer_tick.max(1));
        let count = (u128::from(at.0) * hertz).div_ceil(PICOS);
        let picos = (count * PICOS).div_ceil(hertz);
        u64::try_from(picos).map_or(Time::NEVER, Time)
    }

    /// The time as software reads it, for nothing.
    pub(super) fn shown(&self) -> Instant {
        let hertz = u128::from(self.rates().timer_tick.max(1));
        let count = u128::from(self.moment().0) * hertz / PICOS;
        let nanos = count * 1_000_000_000 / hertz;
        Instant(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    pub(super) fn wait_for<'a, S>(&self, set: S, how: Wait, deadline: Option<Instant>) -> Woken
    where
        S: Iterator<Item = Watch<'a, RegionWords>> + Clone,
    {
        let end = self.reached(deadline);
        if self.carries() {
            return self.wait_carrying(&set, how, end);
        }
        // No two nodes have a simulated core in common.
        let looks = matches!(how, Wait::Spin | Wait::Look | Wait::Yield);
        if looks {
            self.looks();
            self.timer(end);
        } else {
            self.alarm(end);
        }
        let woken = match how {
            Wait::Spin | Wait::Look | Wait::Yield => self.look_on(set, end),
            Wait::Bell => self.rest(true, end),
            Wait::Timer => self.rest(false, end),
        };
        self.end_wait();
        woken
    }

    /// Looks until a word is as wanted.
    fn look_on<'a, S>(&self, set: S, end: Time) -> Woken
    where
        S: Iterator<Item = Watch<'a, RegionWords>> + Clone,
    {
        let mut looked = false;
        loop {
            if self.has_news() {
                return Woken::Event;
            }
            let mut rest = set.clone();
            let (first, more) = (rest.next(), rest.next().is_some());
            match first {
                Some(watch) if !more => {
                    let place = watch.words.place(watch.index);
                    if !std::mem::replace(&mut looked, true) {
                        self.cross(place.0, false);
                    }
                    if self.look(place, (watch.value, watch.until), end).is_some() {
                        return Woken::Word;
                    }
                }
                first => {
                    let began = self.moment();
                    if set.clone().any(|watch| watch.changed()) {
                        return Woken::Word;
                    }
                    let word = first.map(|watch| watch.words.place(watch.index));
                    self.look_again(began, word, end);
                }
            }
            if self.moment() >= end || self.gone() {
                return Woken::Deadline;
            }
        }
    }

    /// Sleeps.
    fn rest(&self, bell: bool, end: Time) -> Woken {
        self.compute(self.rates().sleep);
        loop {
            let mut woken = None;
            self.act(|state, process| {
                let one = &mut state.processes[process];
                if one.news {
                    woken = Some(Woken::Event);
                } else if bell && std::mem::take(&mut one.rung) {
                    woken = Some(Woken::Bell);
                } else if state.now >= end {
                    woken = Some(Woken::Deadline);
                } else {
                    let what = match (bell, end) {
                        (true, Time::NEVER) => "its doorbell",
                        (true, _) => "its doorbell or a timer",
                        (false, _) => "a timer",
                    };
                    state.sleep(process, WokenBy { bell, news: true }, what);
                    return true;
                }
                false
            });
            match woken {
                Some(woken) => return woken,
                None if self.gone() => return Woken::Deadline,
                None => {}
            }
        }
    }

    /// Looks at a word of a memory, past all caches, until it is no longer `value`, and returns
    /// what it is then; none if `end` comes first.
    pub fn spin(&self, memory: usize, address: u32, value: u32, end: Time) -> Option<u32> {
        self.looks();
        self.timer(end);
        self.cross(memory, false);
        let found = loop {
            let word = self.look((memory, address), (value, false), end);
            if word.is_some() {
                break word;
            }
            if self.moment() >= end || self.gone() {
                break None;
            }
        };
        self.end_wait();
        found
    }

    /// Sleeps for a while: until the next tick behind it, where the core's clock ticks.
    pub fn pause(&self, time: Time) {
        let end = self.moment() + time;
        if self.carries() {
            return self.pause_carrying(end);
        }
        self.alarm(end);
        loop {
            self.act(|state, process| {
                if state.now < end {
                    state.sleep(process, WokenBy::default(), "a timer");
                }
                state.now < end
            });
            if self.moment() >= end || self.gone() {
                break;
            }
        }
        self.end_wait();
    }

    /// A timer for a sleep: where the core's clock ticks, it ends with a tick.
    pub(crate) fn alarm(&self, end: Time) {
        let tick = self.rates().tick;
        let ticks = tick > Time::ZERO && end != Time::NEVER;
        self.timer(if ticks { tick * end.0.div_ceil(tick.0) } else { end });
    }

    /// This process looks again and again from now on, until its wait ends.
    fn looks(&self) {
        if self.machine().traced.get() {
            self.machine().state.borrow_mut().trace_spin(self.shared.process);
        }
    }

    /// A timer for a process that looks at the clock as well.
    pub(super) fn timer(&self, end: Time) {
        self.act(|state, process| {
            if end != Time::NEVER && state.now < end {
                state.set_timer(process, end);
            }
            false
        });
    }

    pub(crate) fn end_wait(&self) {
        self.act(|state, process| {
            state.end_wait(process);
            false
        });
    }

    pub(super) fn has_news(&self) -> bool {
        self.machine().state.borrow().processes[self.shared.process].news
    }

    /// Waits, as a part that has no core, until something is found: it looks each time it is woken.
    /// None if this process is being taken down.
    pub(super) fn wait_until<T>(
        &self,
        what: &'static str,
        mut look: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        loop {
            let mut found = None;
            self.act(|state, own| {
                found = look();
                if found.is_none() {
                    state.sleep(own, WokenBy::default(), what);
                }
                found.is_none()
            });
            if found.is_some() || self.gone() {
                return found;
            }
        }
    }

    /// Whether this process is being taken down: nothing takes time any more.
    pub(crate) fn gone(&self) -> bool {
        !self.machine().state.borrow().runs(self.shared.process)
    }

    /// Rings the doorbell of a process.
    pub(super) fn ring_bell(&self, bell: Bell) {
        let process = match bell {
            Bell::Process(process) => process,
            // It rings nobody: the frames themselves do.
            Bell::Link(key) => return self.push(key),
        };
        self.compute(self.rates().ring);
        self.act(|state, own| {
            let core = state.processes[process].core;
            let latency = self.machine().rates.get(core).map_or(Time::ZERO, |core| core.latency);
            state.processes[own].rings += 1;
            let ring = state.plan.ring(own, state.processes[own].rings);
            state.trace_ring(own, process, &ring);
            state.counts.bells += u64::from(!matches!(ring, Ring::Once));
            match ring {
                Ring::Once => {}
                Ring::Never => return false,
                Ring::Late(by) => {
                    state.ring_later(process, latency + by);
                    return false;
                }
                Ring::Twice(by) => state.ring_later(process, latency + by),
            }
            let target = &mut state.processes[process];
            // While the last ring has not been seen to, another adds nothing.
            if !std::mem::replace(&mut target.mailbox, true) {
                state.trace_rung(process);
                state.interrupt_line(core, BELL, latency);
            }
            false
        });
    }

    /// Waits until the interrupt line that this process serves has been raised. False if it is
    /// being taken down.
    pub(crate) fn next_interrupt(&self) -> bool {
        self.act(|state, process| {
            if std::mem::take(&mut state.processes[process].pending) {
                state.trace_again(process);
                return false;
            }
            state.sleep(process, WokenBy::default(), "an interrupt");
            true
        });
        !self.gone()
    }
}

const PICOS: u128 = 1_000_000_000_000;

/// The service routine of a core's doorbells: passes them on to the processes they are for.
pub(crate) fn service_bell(cpu: &Cpu) {
    loop {
        let rates = cpu.rates();
        cpu.run_code(rates.service_code);
        cpu.compute(rates.service);
        cpu.act(|state, own| {
            let core = state.processes[own].core;
            for process in 0..state.processes.len() {
                let one = &mut state.processes[process];
                if one.core == core && std::mem::take(&mut one.mailbox) {
                    one.rung = true;
                    state.nudge(process, WokenBy { bell: true, news: false }, Time::ZERO);
                }
            }
            false
        });
        if !cpu.next_interrupt() {
            return;
        }
    }
}

/// The service routine of a core's clock: wakes those whose time has come.
pub(crate) fn service_tick(cpu: &Cpu) {
    loop {
        cpu.compute(cpu.rates().tick_service);
        cpu.act(|state, own| {
            state.tick_over(state.processes[own].core);
            false
        });
        if !cpu.next_interrupt() {
            return;
        }
    }
}
