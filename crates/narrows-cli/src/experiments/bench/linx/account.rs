//! What the cores of a test case do with their time: as S4's diagrams have it, by layers, with the
//! application, the system and idling (section 4.2.2.2).

use std::collections::BTreeMap;

use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{CoreUse, Pid};
use narrows_sim::time::Time;
use serde::Serialize;

/// The most that has waited at once in a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Queues {
    /// Frames that were taken off the driver, for the connection's receiver.
    pub frames: usize,
    /// Signals in the connection that the driver has not taken.
    pub signals: usize,
}

/// A layer that a process is in.
struct Open {
    process: Pid,
    name: &'static str,
    /// What the process had worked when this layer's time was last counted.
    counted: Time,
}

/// What layers have had of a core.
#[derive(Default)]
pub(super) struct Account {
    layers: BTreeMap<&'static str, Time>,
    /// Those that processes are in, the innermost of each last.
    open: Vec<Open>,
}

impl Account {
    /// Counts what the innermost layer of a process has had since.
    fn count(&mut self, cpu: &Cpu, process: Pid) {
        if let Some(open) = self.open.iter_mut().rfind(|open| open.process == process) {
            let worked = cpu.worked(process);
            *self.layers.entry(open.name).or_default() += worked.since(open.counted);
            open.counted = worked;
        }
    }

    pub fn enter(&mut self, cpu: &Cpu, process: Pid, name: &'static str) {
        self.count(cpu, process);
        self.open.push(Open { process, name, counted: cpu.worked(process) });
    }

    pub fn leave(&mut self, cpu: &Cpu, process: Pid) {
        self.count(cpu, process);
        let of = |open: &Open| open.process == process;
        if let Some(at) = self.open.iter().rposition(of) {
            self.open.remove(at);
        }
        if let Some(open) = self.open.iter_mut().rfind(|open| of(open)) {
            open.counted = cpu.worked(process);
        }
    }

    /// What the core of that number has done so far.
    pub fn done(&mut self, cpu: &Cpu, core: usize) -> Done {
        let mut processes: Vec<Pid> = self.open.iter().map(|open| open.process).collect();
        processes.dedup();
        processes.into_iter().for_each(|process| self.count(cpu, process));
        Done { at: cpu.time(), used: cpu.used_on(core), layers: self.layers.clone() }
    }
}

/// What a core had done at a moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Done {
    pub at: Time,
    pub used: CoreUse,
    layers: BTreeMap<&'static str, Time>,
}

impl Done {
    /// What it did since another moment.
    pub fn since(&self, before: &Done) -> Did {
        let busy = self.used.busy.since(before.used.busy);
        let of = |done: &Done, name| done.layers.get(name).copied().unwrap_or_default();
        let mut by: BTreeMap<&'static str, Time> = self
            .layers
            .keys()
            .map(|name| (*name, of(self, name).since(of(before, name))))
            .collect();
        by.insert("system", self.used.system.since(before.used.system));
        // What is neither a layer's nor the system's is the application's.
        let others: Time = by.values().fold(Time::ZERO, |all, one| all + *one);
        by.insert("application", busy.since(others));
        by.insert("idle", self.at.since(before.at).since(busy));
        Did {
            busy,
            by,
            interrupts: self.used.interrupts - before.used.interrupts,
            waits: self.used.waits.since(before.used.waits),
        }
    }
}

/// What a core did for a while.
#[derive(Clone, Debug, Default)]
pub(super) struct Did {
    pub busy: Time,
    /// By layer, with `application`, `system` and `idle`; empty where that is not known.
    pub by: BTreeMap<&'static str, Time>,
    pub interrupts: u64,
    /// For the bus.
    pub waits: Time,
}

impl Did {
    /// That it was busy for this time; nothing else is known.
    pub fn busy(busy: Time) -> Did {
        Did { busy, ..Did::default() }
    }
}
