//! Processes that look at a word again and again. Their looks load the bus, but one by one they
//! would cost more than all the rest: when they are follows from when each process began and from
//! whose turn it is, and only those that find something are simulated.

use super::Mode;
use super::bus::{Act, Spinner, Watch};
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
    /// from `asked` on are taken care of.
    fn spin(&mut self, process: usize, watch: Watch, asked: Time) -> bool {
        let one = &self.processes[process];
        let transfer = &one.transfer;
        let (core, number, look) = (one.core, transfer.bus, transfer.time);
        let spinner = Spinner {
            process,
            core,
            asked,
            look,
            pause: watch.poll,
            memory: transfer.memory,
            address: transfer.address,
            watch,
            unnoted: watch.end == Time::NEVER && one.vain.is_none(),
            looks: 0,
        };
        let bus = &self.buses[number];
        if self.mode != Mode::Fast
            || look + watch.poll == Time::ZERO
            || !bus.in_turn()
            || bus.owner.is_some()
            || self.outranked(process)
            || spinner.watch.found(self.word(spinner.memory, spinner.address))
        {
            return false;
        }
        self.look_until(number, self.now);
        self.buses[number].spinners.push(spinner);
        self.trace_looks(number, asked);
        true
    }

    /// Spinners of a bus have looked until now.
    #[inline(always)]
    pub(super) fn look_until(&mut self, number: usize, now: Time) {
        let bus = &mut self.buses[number];
        bus.look_until(now);
        if !bus.first.is_empty() {
            self.note_first(number);
        }
    }

    #[cold]
    fn note_first(&mut self, number: usize) {
        for (spinner, end) in std::mem::take(&mut self.buses[number].first) {
            let vain = Vain { began: end, word: Some((spinner.memory, spinner.address)) };
            self.processes[spinner.process].vain = Some(vain);
            self.acted = self.acted.max(end);
        }
    }

    /// Bytes of a memory have changed: spinners that would find something look for themselves.
    #[inline]
    pub(super) fn show(&mut self, memory: usize, address: u32, len: u32) {
        let bus = self.ways[memory];
        let concerns = |spinner: &Spinner| {
            spinner.address < address + len
                && address < spinner.address + 4
                && spinner.memory == memory
        };
        if self.buses[bus].spinners.iter().any(concerns) {
            self.show_spinners(bus, memory);
        }
    }

    fn show_spinners(&mut self, bus: usize, memory: usize) {
        let found = |state: &State| {
            state.buses[bus].spinners.iter().position(|spinner| {
                spinner.memory == memory && spinner.watch.found(state.word(memory, spinner.address))
            })
        };
        while let Some(at) = found(self) {
            self.release(bus, at);
        }
    }

    /// Nothing else happens any more: notes the first looks that nobody has asked about.
    pub(super) fn first_looks(&mut self) {
        for number in 0..self.buses.len() {
            let bus = &self.buses[number];
            let unnoted = bus.spinners.iter().filter(|spinner| spinner.unnoted);
            let Some(last) = unnoted.map(|spinner| spinner.asked).max() else { continue };
            let each: Time = bus.spinners.iter().map(|spinner| spinner.look).sum();
            self.look_until(number, last.max(bus.free) + each + Time(1));
        }
    }

    /// Whether a process's looks are computed.
    pub(super) fn spins(&self, process: usize) -> bool {
        let mut spinners = self.buses.iter().flat_map(|bus| &bus.spinners);
        spinners.any(|spinner| spinner.process == process)
    }

    /// A spinner that something else concerns goes on for itself.
    pub(super) fn stop_spinning(&mut self, process: usize) {
        for number in 0..self.buses.len() {
            let mut spinners = self.buses[number].spinners.iter();
            if let Some(at) = spinners.position(|spinner| spinner.process == process) {
                return self.release(number, at);
            }
        }
    }

    /// A spinner's looks are simulated from now on.
    fn release(&mut self, number: usize, at: usize) {
        let now = self.now;
        self.look_until(number, now);
        let bus = &mut self.buses[number];
        let (spinner, under_way) = bus.release(at, now);
        self.trace_looks(number, now);
        let process = spinner.process;
        if let Some(until) = under_way {
            self.processes[process].interruptible = false;
            self.prepare(&spinner);
            let bus = &mut self.buses[number];
            bus.owner = Some(process);
            if self.trace.is_some() {
                self.trace_bus(process, number, now, until);
            }
            self.queue.push(until, Rank::Completion, Event::Transferred { bus: number, process });
        } else if spinner.asked < now {
            // Its look waits for the bus.
            self.prepare(&spinner);
            self.processes[process].interruptible = false;
            self.queue_up(process, None);
        } else {
            // It computes until it asks.
            let one = &mut self.processes[process];
            (one.until, one.interruptible) = (spinner.asked, true);
            let stretch = one.stretch;
            let resume = Event::Resume { process, stretch };
            self.queue.push(spinner.asked, Rank::Completion, resume);
        }
    }

    fn prepare(&mut self, spinner: &Spinner) {
        let transfer = &mut self.processes[spinner.process].transfer;
        (transfer.memory, transfer.address) = (spinner.memory, spinner.address);
        (transfer.len, transfer.time, transfer.act) = (4, spinner.look, Act::Load);
    }
}
