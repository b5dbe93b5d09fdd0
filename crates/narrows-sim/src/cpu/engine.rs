//! Copy engines: a job is a chain of descriptors; the core that gave it sleeps until its bell.

use super::Cpu;
use super::chain::Chain;
use crate::chip::{Chip, Engine};
use crate::events::state::{ENGINE, WokenBy};
use crate::time::{Cost, Time};
use narrows::platform::EngineError;
use std::collections::VecDeque;

/// Where a job's bytes come from or go to.
#[derive(Clone, Copy, Debug)]
struct Place {
    memory: usize,
    address: u32,
}

struct Job {
    process: usize,
    shared: Place,
    /// Whether bytes go to shared memory, or come from there.
    store: bool,
    fragment: u32,
    bytes: Vec<u8>,
}

/// What the engines have to do, and have done.
pub(super) struct Jobs {
    waiting: Vec<VecDeque<Job>>,
    done: Vec<Job>,
    /// Chains that nobody waits for.
    pub(super) chains: Vec<VecDeque<Chain>>,
    /// Engines that sleep, for want of work.
    pub(super) idle: Vec<Option<usize>>,
}

impl Jobs {
    pub fn new(chip: &Chip) -> Jobs {
        let engines = chip.engines.len();
        let waiting = (0..engines).map(|_| VecDeque::new()).collect();
        let chains = (0..engines).map(|_| VecDeque::new()).collect();
        Jobs { waiting, done: Vec::new(), chains, idle: vec![None; engines] }
    }
}

impl Cpu {
    fn engine(&self) -> Option<(usize, &Engine)> {
        let core = self.shared.core;
        let mut engines = self.chip().engines.iter().enumerate();
        engines.find(|(_, engine)| engine.cores.contains(&core))
    }

    pub(super) fn served(&self) -> bool {
        self.engine().is_some()
    }

    pub(super) fn store_by_engine(
        &self,
        memory: usize,
        address: u32,
        from: &[u8],
        fragment: u32,
    ) -> Result<(), EngineError> {
        // The engine reads memory, not the cache.
        self.job(Place { memory, address }, true, fragment, from.to_vec()).map(|_| ())
    }

    pub(super) fn fetch_by_engine(
        &self,
        memory: usize,
        address: u32,
        to: &mut [u8],
        fragment: u32,
    ) -> Result<(), EngineError> {
        let bytes = self.job(Place { memory, address }, false, fragment, vec![0; to.len()])?;
        to.copy_from_slice(&bytes);
        Ok(())
    }

    /// Has an engine do a job and sleeps until it is done; the bytes that were moved.
    fn job(
        &self,
        shared: Place,
        store: bool,
        fragment: u32,
        bytes: Vec<u8>,
    ) -> Result<Vec<u8>, EngineError> {
        let (number, engine) = self.engine().ok_or(EngineError)?;
        let clock = self.chip().cores[self.shared.core].clock;
        let fragment = fragment.max(4);
        let fragments = bytes.len().div_ceil(fragment as usize) as u64;
        self.compute(engine.setup.at(clock) + engine.descriptor.at(clock) * fragments);
        let process = self.shared.process;
        let mut jobs = self.machine().jobs.borrow_mut();
        jobs.waiting[number].push_back(Job { process, shared, store, fragment, bytes });
        let idle = jobs.idle[number].take();
        drop(jobs);
        if let Some(engine) = idle {
            self.act(|state, _| {
                state.tell(engine, Time::ZERO);
                false
            });
        }
        loop {
            let mut jobs = self.machine().jobs.borrow_mut();
            let done = jobs.done.iter().position(|job| job.process == process);
            if let Some(at) = done {
                return Ok(jobs.done.swap_remove(at).bytes);
            }
            drop(jobs);
            let mut left = false;
            self.act(|state, process| {
                state.sleep(process, WokenBy { bell: false, news: false }, "the copy engine");
                left = true;
                true
            });
            if !left {
                return Err(EngineError);
            }
        }
    }
}

/// What an engine does.
pub(crate) fn run(cpu: &Cpu, number: usize) {
    let Some(engine) = cpu.chip().engines.get(number).cloned() else { return };
    let at = |cost: Cost| cost.at(engine.clock);
    let (fetch, completion) = (at(engine.fetch), at(engine.completion));
    loop {
        let chain = cpu.machine().jobs.borrow_mut().chains[number].pop_front();
        if let Some(chain) = chain {
            cpu.work_through(&engine, &chain);
            continue;
        }
        let job = cpu.machine().jobs.borrow_mut().waiting[number].pop_front();
        let Some(mut job) = job else {
            cpu.machine().jobs.borrow_mut().idle[number] = Some(cpu.shared.process);
            let mut left = false;
            cpu.act(|state, process| {
                state.processes[process].news = false;
                state.sleep(process, WokenBy { bell: false, news: true }, "work");
                left = true;
                true
            });
            if left {
                continue;
            }
            return;
        };
        let core = cpu.machine().state.borrow().processes[job.process].core;
        let home = cpu.chip().cores[core].home;
        let mut moved = 0;
        while moved < job.bytes.len() {
            cpu.compute(fetch);
            if engine.descriptor_bytes > 0 {
                cpu.load_nothing(cpu.chip().link.control, 0, engine.descriptor_bytes);
            }
            let end = job.bytes.len().min(moved + job.fragment as usize);
            while moved < end {
                let len = (end - moved).min(engine.burst.max(4) as usize);
                let part = &mut job.bytes[moved..moved + len];
                let address = job.shared.address + moved as u32;
                // The private side lies somewhere in the core's home memory.
                if job.store {
                    cpu.load_nothing(home, 0, len as u32);
                    cpu.store_bytes(job.shared.memory, address, part);
                } else {
                    cpu.load_bytes(job.shared.memory, address, part);
                    cpu.load_nothing(home, 0, len as u32);
                }
                moved += len;
            }
        }
        cpu.machine().jobs.borrow_mut().done.push(job);
        cpu.act(|state, _| {
            state.interrupt_line(core, ENGINE, completion);
            false
        });
    }
}

/// The service routine of an engine's bell: wakes the process whose job is done.
pub(crate) fn service(cpu: &Cpu) {
    loop {
        let rates = cpu.rates();
        cpu.run_code(rates.service_code);
        cpu.compute(rates.service);
        let done: Vec<usize> =
            cpu.machine().jobs.borrow().done.iter().map(|job| job.process).collect();
        cpu.act(|state, own| {
            let core = state.processes[own].core;
            for process in done {
                if state.processes[process].core == core {
                    state.wake(process, Time::ZERO);
                }
            }
            false
        });
        if !cpu.next_interrupt() {
            return;
        }
    }
}
