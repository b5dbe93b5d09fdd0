//! Processes that look at a word again and again. Their looks load the bus, but one by one they
//! would cost more than all the rest: where a single process spins on a bus, when its looks are
//! follows from when they began, and only the one that finds something is simulated.

use super::Mode;
use super::bus::{Act, Look, Looked, Spinner, Watch};
use super::queue::{Event, Rank};
use super::state::{State, Vain};
use crate::time::Time;

impl State {
    /// Whether a process, whose transfer is done, has looked in vain and leaves its further looks
    /// to the engine, or ends with them: it is resumed when there is reason to look.
    #[inline]
    pub(super) fn goes_on_looking(&mut self, process: usize) -> bool {
        let Act::Look(watch) = self.processes[process].transfer.act else { return false };
        self.looked(process, watch)
    }

    fn looked(&mut self, process: usize, watch: Watch) -> bool {
        let one = &self.processes[process];
        if one.latch.is_some_and(|word| watch.found(word)) {
            return false;
        }
        let (transfer, news) = (&one.transfer, one.news);
        let began = self.now - transfer.time;
        let vain = Vain { began, word: Some((transfer.memory, transfer.address)) };
        if watch.end == Time::NEVER && self.in_vain(process, vain) {
            return true;
        }
        let next = self.now + watch.poll;
        let parked = self.now < watch.end && !news && self.spin(process, watch, next);
        if parked {
            self.processes[process].latch = None;
        }
        parked
    }

    /// Whether a process that asks for the bus for a look, which it does not get at once or for all
    /// of the look, leaves that one to the engine already.
    #[inline]
    pub(super) fn looks_on_its_turn(&mut self, process: usize) -> bool {
        let one = &self.processes[process];
        let Act::Look(watch) = one.transfer.act else { return false };
        self.now < watch.end && !one.news && self.spin(process, watch, self.now)
    }

    /// A process looks at the word that its transfer names, and does so in vain. True if its looks
    /// from `base` on are taken care of.
    fn spin(&mut self, process: usize, watch: Watch, base: Time) -> bool {
        let one = &self.processes[process];
        let transfer = &one.transfer;
        let (core, number, look) = (one.core, transfer.bus, transfer.time);
        let bus = &self.buses[number];
        let spinner = Spinner {
            process,
            core,
            asked: base,
            base,
            look,
            step: look + watch.poll,
            memory: transfer.memory,
            address: transfer.address,
            watch,
            unnoted: watch.end == Time::NEVER && one.vain.is_none(),
        };
        if self.mode != Mode::Fast
            || spinner.step == Time::ZERO
            || !bus.in_turn()
            || bus.spinner.is_some()
            || bus.owner.is_some()
            || self.outranked(process)
            || spinner.watch.found(self.word(spinner.memory, spinner.address))
        {
            return false;
        }
        self.buses[number].spinner = Some(spinner);
        self.trace_looks(number, Some(core), base);
        true
    }

    /// Notes whose turn was the last, if looks were made before `now`.
    #[inline]
    pub(super) fn settle_turns(&mut self, number: usize, now: Time) {
        let bus = &mut self.buses[number];
        if let Some(spinner) = bus.spinner.filter(|spinner| now > spinner.base) {
            bus.last = spinner.core;
        }
    }

    #[inline]
    pub(super) fn look_at(&self, number: usize, now: Time) -> Look {
        let Some(spinner) = &self.buses[number].spinner else { return Look::default() };
        if now < spinner.base {
            return Look::default();
        }
        let began = spinner.began(now);
        if now == began {
            return Look { due: Some(spinner.core), ..Look::default() };
        }
        let end = began + spinner.look;
        Look { under_way: (now < end).then_some(end), due: None }
    }

    /// The spinner has the bus from now, for one look; when that is over.
    pub(super) fn spinner_granted(&self, number: usize, now: Time) -> Time {
        self.buses[number].spinner.map_or(now, |spinner| now + spinner.look)
    }

    /// Bytes of a memory have changed: a spinner that would find something looks for itself.
    #[inline]
    pub(super) fn show(&mut self, memory: usize, address: u32, len: u32) {
        let bus = self.ways[memory];
        if let Some(spinner) = &self.buses[bus].spinner
            && spinner.address < address + len
            && address < spinner.address + 4
            && spinner.memory == memory
        {
            self.show_spinner(bus);
        }
    }

    fn show_spinner(&mut self, bus: usize) {
        let Some(spinner) = self.buses[bus].spinner else { return };
        if spinner.watch.found(self.word(spinner.memory, spinner.address)) {
            self.buses[bus].spinner = None;
            self.trace_looks(bus, None, self.now);
            if spinner.asked < self.now {
                self.look_now(&spinner);
            } else {
                self.look_later(&spinner, spinner.base);
            }
        }
    }

    /// The spinner of a bus has looked so often before another's transfer.
    #[inline(always)]
    pub(super) fn note_looks(&mut self, number: usize, looked: Looked) {
        self.counts.looks += looked.count;
        if let Some(first) = looked.first {
            self.first_look(number, first);
        }
    }

    /// The first look of the spinner of a bus was over at `end`.
    #[cold]
    fn first_look(&mut self, number: usize, end: Time) {
        let Some(spinner) = &self.buses[number].spinner else { return };
        let vain = Vain { began: end, word: Some((spinner.memory, spinner.address)) };
        self.processes[spinner.process].vain = Some(vain);
        self.acted = self.acted.max(end);
    }

    /// Nothing else happens any more: notes the first looks that nobody has asked about.
    pub(super) fn first_looks(&mut self) {
        for number in 0..self.buses.len() {
            if let Some(spinner) = &mut self.buses[number].spinner
                && std::mem::take(&mut spinner.unnoted)
            {
                let end = spinner.base + spinner.look;
                self.first_look(number, end);
            }
        }
    }

    /// Whether a process's looks are computed.
    pub(super) fn spins(&self, process: usize) -> bool {
        let mut spinners = self.buses.iter().filter_map(|bus| bus.spinner);
        spinners.any(|spinner| spinner.process == process)
    }

    /// A spinner that something else concerns goes on for itself.
    pub(super) fn stop_spinning(&mut self, process: usize) {
        let found = self
            .buses
            .iter()
            .position(|bus| bus.spinner.is_some_and(|spinner| spinner.process == process));
        let Some(number) = found else { return };
        let now = self.now;
        self.settle_turns(number, now);
        let look = self.look_at(number, now);
        let Some(spinner) = self.buses[number].spinner.take() else { return };
        self.trace_looks(number, None, now);
        if now <= spinner.asked && now <= spinner.base {
            self.look_later(&spinner, spinner.asked);
        } else if now < spinner.base || self.buses[number].owner.is_some() {
            self.look_now(&spinner);
        } else if look.due.is_some() && now != spinner.base {
            self.look_later(&spinner, now);
        } else if let Some(end) = look.under_way {
            self.processes[process].interruptible = false;
            self.prepare(&spinner);
            let bus = &mut self.buses[number];
            bus.owner = Some(process);
            bus.last = spinner.core;
            if self.trace.is_some() {
                self.trace_bus(process, number, now, end);
            }
            self.queue.push(end, Rank::Completion, Event::Transferred { bus: number, process });
        } else {
            self.look_later(&spinner, spinner.began(now) + spinner.step);
        }
    }

    fn prepare(&mut self, spinner: &Spinner) {
        let transfer = &mut self.processes[spinner.process].transfer;
        (transfer.memory, transfer.address) = (spinner.memory, spinner.address);
        (transfer.len, transfer.time, transfer.act) = (4, spinner.look, Act::Load);
    }

    /// Its look waits for the bus.
    fn look_now(&mut self, spinner: &Spinner) {
        self.prepare(spinner);
        self.processes[spinner.process].interruptible = false;
        self.queue_up(spinner.process);
        // The engine has made its looks so far, and has it load this time.
        self.processes[spinner.process].queued = None;
    }

    /// It computes until `when`, and goes on then.
    fn look_later(&mut self, spinner: &Spinner, when: Time) {
        let one = &mut self.processes[spinner.process];
        one.until = when;
        one.interruptible = true;
        let (process, stretch) = (spinner.process, one.stretch);
        self.queue.push(when, Rank::Completion, Event::Resume { process, stretch });
    }
}
