//! Turns at a bus: a process asks for it and has it, and then its transfer is done.

use super::Mode;
use super::bus::Act;
use super::queue::{Event, Rank};
use super::state::State;
use crate::time::Time;

impl State {
    /// The running process wants what its `transfer` says. True if it has to leave until that is
    /// done.
    pub(crate) fn request(&mut self, process: usize) -> bool {
        let transfer = &self.processes[process].transfer;
        let looks = matches!(transfer.act, Act::Look(_));
        if self.passes(process, transfer.bus, transfer.time, looks) {
            self.perform(process);
            return self.goes_on_looking(process) || self.plan.dying.is_some();
        }
        self.counts.transfers += 1;
        if self.looks_on_its_turn(process) {
            return true;
        }
        self.processes[process].interruptible = false;
        self.queue_up(process, Some(self.now).filter(|_| !looks));
        true
    }

    /// Whether a transfer of the running process, which looks at a word again or does not, is over
    /// before anything else happens but another's looks. If so it has had the bus for `time`, and
    /// now is its end.
    #[inline(always)]
    pub(crate) fn passes(
        &mut self,
        process: usize,
        number: usize,
        time: Time,
        looks: bool,
    ) -> bool {
        if self.mode != Mode::Fast || self.outranked(process) {
            return false;
        }
        let core = self.processes[process].core;
        let bus = &self.buses[number];
        if bus.owner.is_some() || bus.count > 0 || bus.choosing {
            return false;
        }
        let now = self.now;
        self.look_until(number, now);
        let granted = self.buses[number].free_from(core, now);
        let done = granted + time;
        if !self.queue.clear(done) {
            return false;
        }
        self.counts.transfers += 1;
        if granted > now {
            self.look_until(number, granted);
            if !looks {
                self.waited(core, number, granted.since(now));
            }
        }
        let bus = &mut self.buses[number];
        bus.granted(core, done);
        bus.used.transfers += 1;
        bus.used.busy += time;
        if self.trace.is_some() {
            self.trace_bus(process, number, granted, done);
        }
        self.set_clock(done);
        true
    }

    /// A core has waited for a bus, but not to look at a word again.
    #[inline(always)]
    fn waited(&mut self, core: usize, bus: usize, time: Time) {
        self.cores[core].used.waits += time;
        self.buses[bus].used.waited += time;
    }

    /// A process waits for the bus that its transfer is over, `since` when, but to look at a word
    /// again.
    pub(super) fn queue_up(&mut self, process: usize, since: Option<Time>) {
        self.processes[process].queued = since;
        let (number, core) = (self.processes[process].transfer.bus, self.processes[process].core);
        let bus = &mut self.buses[number];
        bus.waiting[core] = Some(process);
        bus.count += 1;
        if bus.owner.is_none() && !bus.choosing {
            bus.choosing = true;
            self.queue.push(self.now, Rank::Arbitration, Event::Arbitrate { bus: number });
        }
        if self.trace.is_some() {
            self.trace_queued(process, number, true);
        }
    }

    pub(super) fn arbitrate(&mut self, number: usize) {
        let bus = &mut self.buses[number];
        bus.choosing = false;
        if bus.owner.is_some() || bus.count == 0 {
            return;
        }
        let now = self.now;
        self.look_until(number, now);
        let bus = &mut self.buses[number];
        if bus.free <= now {
            let Some(core) = bus.next(now) else { return };
            match bus.waiting[core].take() {
                Some(process) => return self.grant(number, core, process),
                None => {
                    let spinner = bus.spinners.iter().position(|one| one.core == core);
                    spinner.into_iter().for_each(|at| bus.let_in(at, now));
                }
            }
        }
        // Those that wait are asked again when the look is over.
        let bus = &mut self.buses[number];
        bus.choosing = true;
        let end = bus.free;
        self.queue.push(end, Rank::Arbitration, Event::Arbitrate { bus: number });
    }

    /// A process that has waited has the bus.
    fn grant(&mut self, number: usize, core: usize, process: usize) {
        let now = self.now;
        let end = now + self.processes[process].transfer.time;
        let bus = &mut self.buses[number];
        bus.granted(core, end);
        bus.count -= 1;
        bus.owner = Some(process);
        if let Some(queued) = self.processes[process].queued {
            self.waited(core, number, now.since(queued));
        }
        if self.trace.is_some() {
            self.trace_queued(process, number, false);
            self.trace_bus(process, number, now, end);
        }
        self.queue.push(end, Rank::Completion, Event::Transferred { bus: number, process });
    }

    /// A transfer is done. The process that may go on, if it may.
    pub(super) fn transferred(&mut self, number: usize) -> Option<usize> {
        let bus = &mut self.buses[number];
        let process = bus.owner.take()?;
        bus.used.transfers += 1;
        bus.used.busy += self.processes[process].transfer.time;
        if bus.count > 0 && !bus.choosing {
            bus.choosing = true;
            self.queue.push(self.now, Rank::Arbitration, Event::Arbitrate { bus: number });
        }
        self.perform(process);
        let one = &mut self.processes[process];
        one.interruptible = true;
        one.until = self.now;
        if self.plan.dying.is_some() {
            return None;
        }
        if self.outranked(process) {
            self.preempt(process);
            return None;
        }
        (!self.goes_on_looking(process)).then_some(process)
    }

    fn perform(&mut self, process: usize) {
        let transfer = &mut self.processes[process].transfer;
        let (memory, address, len) = (transfer.memory, transfer.address, transfer.len as usize);
        let start = address as usize;
        match transfer.act {
            Act::Nothing => {}
            Act::Load | Act::Look(_) => {
                let word = self.word(memory, address);
                self.processes[process].latch = Some(word);
            }
            Act::Store(value) => self.store(process, memory, address, value),
            Act::Claim(value) => {
                let word = self.word(memory, address);
                self.processes[process].latch = Some(word);
                if word == 0 {
                    self.store(process, memory, address, value);
                }
            }
            Act::Read => {
                let from = &self.memories[memory][start..start + len];
                transfer.bytes[..len].copy_from_slice(from);
            }
            Act::Write => {
                let spared = self.plan.spares(process);
                if spared || self.plan.stores(process) {
                    let there = &mut self.memories[memory][start..start + len];
                    there.copy_from_slice(&transfer.bytes[..len]);
                    self.stored(process, memory, address, len);
                    if !spared {
                        self.perhaps_lie(process, memory, address);
                    }
                }
            }
        }
    }

    #[inline]
    pub fn word(&self, memory: usize, address: u32) -> u32 {
        let bytes = self.memories[memory].get(address as usize..).and_then(|b| b.first_chunk());
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// Bytes of a memory.
    #[inline]
    pub(crate) fn bytes(&self, memory: usize, address: u32, len: usize) -> &[u8] {
        &self.memories[memory][address as usize..][..len]
    }

    /// A process stores a word, unless it dies before.
    fn store(&mut self, process: usize, memory: usize, address: u32, word: u32) {
        let spared = self.plan.spares(process);
        if spared || self.plan.stores(process) {
            self.put_word(process, memory, address, word);
            if !spared {
                self.perhaps_lie(process, memory, address);
            }
        }
    }

    /// A word reaches memory.
    #[inline]
    pub(crate) fn put_word(&mut self, process: usize, memory: usize, address: u32, word: u32) {
        let start = address as usize;
        self.memories[memory][start..start + 4].copy_from_slice(&word.to_le_bytes());
        self.note(process, memory, address, |add| add(word.into()));
        self.show(memory, address, 4);
    }

    /// Bytes reach memory.
    pub(crate) fn put(&mut self, process: usize, memory: usize, address: u32, bytes: &[u8]) {
        let start = address as usize;
        self.memories[memory][start..start + bytes.len()].copy_from_slice(bytes);
        self.stored(process, memory, address, bytes.len());
    }

    /// Bytes of the memory that a process has just stored to are new.
    fn stored(&mut self, process: usize, memory: usize, address: u32, len: usize) {
        let memories = std::mem::take(&mut self.memories);
        let (chunks, rest) = memories[memory][address as usize..][..len].as_chunks::<8>();
        self.note(process, memory, address, |add| {
            chunks.iter().for_each(|chunk| add(u64::from_le_bytes(*chunk)));
            if !rest.is_empty() {
                let mut word = [0; 8];
                word[..rest.len()].copy_from_slice(rest);
                add(u64::from_le_bytes(word));
            }
        });
        self.memories = memories;
        self.show(memory, address, len as u32);
    }

    /// Adds a store to the hash of all, with what it stored.
    #[inline]
    fn note(
        &mut self,
        process: usize,
        memory: usize,
        address: u32,
        what: impl FnOnce(&mut dyn FnMut(u64)),
    ) {
        self.counts.stores += 1;
        let mut hash = self.hash;
        let mut add = |value: u64| {
            hash = (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(5);
        };
        add(self.now.0);
        add((process as u64) << 48 | (memory as u64) << 32 | u64::from(address));
        what(&mut add);
        self.hash = hash;
    }
}
