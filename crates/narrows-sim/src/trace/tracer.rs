//! The rows of a simulation, and what is known of each process between two events of its rows.

use super::buses::Buses;
use super::calls::{Calls, Phases};
use super::file::Trace;
use super::messages::Messages;
use super::ports::Ports;
use super::states::States;
use crate::time::Time;
use narrows_trace::{Category, Row, Value};

/// What a process is to a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// A process, or a part that takes time of its own: with a row of its states.
    Process,
    /// A service routine: it is on the row of its core's interrupts while it runs.
    Service,
    /// A fault by which a core stands still.
    Fault,
}

/// What writes the trace of a simulation.
pub(crate) struct Tracer {
    pub(super) file: Trace,
    /// When the simulation begins, in the trace's time.
    base: u64,
    /// The simulation's number, from 1.
    pub(super) number: u64,
    cores: Vec<Core>,
    pub(super) processes: Vec<Process>,
    pub(super) buses: Buses,
    pub(super) ports: Ports,
    pub(super) messages: Messages,
    pub(super) phases: Phases,
    /// How many cores there are; what is behind them are engines and parts.
    true_cores: usize,
}

/// A core, or a part that takes time of its own.
struct Core {
    name: String,
    group: u64,
    /// Its interrupts, once it has had any.
    interrupts: Option<Row>,
}

/// A process.
pub(super) struct Process {
    pub name: String,
    pub core: usize,
    pub shown: Shown,
    /// Its row, once there is something on it.
    row: Option<Row>,
    pub states: States,
    pub calls: Calls,
    /// Messages that it has taken and not received, and the row of their number.
    pub waiting: (i64, Option<Row>),
    /// Whether it is a service that runs, and whether that could be written.
    serves: Option<bool>,
}

/// Groups of one simulation have numbers up to this one.
const GROUPS: i32 = 1000;

impl Tracer {
    pub fn new(file: &Trace, cores: Vec<String>, true_cores: usize, buses: Vec<String>) -> Tracer {
        let (number, base) = file.begin();
        let mut new = Tracer {
            file: file.clone(),
            base,
            number,
            cores: Vec::new(),
            processes: Vec::new(),
            buses: Buses::new(buses),
            ports: Ports::default(),
            messages: Messages::default(),
            phases: Phases::default(),
            true_cores,
        };
        for name in cores {
            let group = file.number();
            new.cores.push(Core { name, group, interrupts: None });
        }
        for core in 0..true_cores {
            new.introduce(core);
        }
        new
    }

    /// A moment in the trace's time.
    pub(super) fn at(&self, time: Time) -> u64 {
        self.base.saturating_add(time.as_nanos())
    }

    /// The number by which viewers know a group.
    fn pid(&self, group: usize) -> i32 {
        let before = i32::try_from(self.number - 1).unwrap_or(i32::MAX).saturating_mul(GROUPS);
        before.saturating_add(i32::try_from(group + 1).unwrap_or(GROUPS).min(GROUPS))
    }

    /// A name, with the simulation's number if it is not the first.
    fn named(&self, name: &str) -> String {
        match self.number {
            1 => name.to_owned(),
            number => format!("{name}, simulation {number}"),
        }
    }

    fn introduce(&self, core: usize) {
        let there = &self.cores[core];
        let (group, pid, name) = (there.group, self.pid(core), self.named(&there.name));
        self.file.introduce(|out| out.group(group, pid, &name));
    }

    /// A process is there, whose number is the next.
    pub fn add(&mut self, name: &str, core: usize, shown: Shown) {
        self.processes.push(Process {
            name: name.to_owned(),
            core,
            shown,
            row: None,
            states: States::default(),
            calls: Calls::default(),
            waiting: (0, None),
            serves: None,
        });
    }

    /// The row of a process's calls and messages; of a service routine, of its core's interrupts.
    pub(super) fn row(&mut self, process: usize) -> Row {
        let one = &self.processes[process];
        let core = one.core;
        if one.shown != Shown::Process {
            return self.interrupts(core);
        }
        if let Some(row) = one.row {
            return row;
        }
        // What has a part of the chip to itself is that part.
        if core >= self.true_cores {
            self.cores[core].name.clone_from(&self.processes[process].name);
            self.introduce(core);
        }
        let row = Row(self.file.number());
        let state = Row(self.file.number());
        let (group, pid) = (self.cores[core].group, self.pid(core));
        let tid = pid.saturating_mul(GROUPS).saturating_add(process as i32);
        let one = &mut self.processes[process];
        one.row = Some(row);
        one.states.row = Some(state);
        let name = one.name.clone();
        self.file.introduce(|out| {
            out.thread(row, group, pid, tid, &name)?;
            out.row(state, row.0, "state")
        });
        row
    }

    fn interrupts(&mut self, core: usize) -> Row {
        let Tracer { file, cores, .. } = self;
        let Core { group, interrupts, .. } = &mut cores[core];
        *interrupts.get_or_insert_with(|| below(file, *group, "interrupts"))
    }

    /// A service routine runs from now on.
    pub fn serves(&mut self, process: usize, name: &str, now: Time) {
        if self.processes[process].serves.is_some() {
            return;
        }
        let (row, at) = (self.row(process), self.at(now));
        let (category, name) = match self.processes[process].shown {
            Shown::Fault => (Category::Fault, "core stopped"),
            _ => (Category::Interrupt, name),
        };
        let written = self.file.write(at, |out| out.begin(row, at, category, name));
        self.processes[process].serves = Some(written);
    }

    /// A service routine is through.
    pub fn served(&mut self, process: usize, now: Time) {
        self.leave_all(process, now);
        if self.processes[process].serves.take() == Some(true) {
            let (row, at) = (self.row(process), self.at(now));
            self.file.end(row, at);
        }
    }

    /// What is planned to go wrong has.
    pub fn fault(&mut self, process: usize, what: &str, values: &[(&str, Value<'_>)], now: Time) {
        let (row, at) = (self.row(process), self.at(now));
        self.file.write(at, |out| out.instant(row, at, Category::Fault, what, values));
    }

    /// The group of what belongs to no core.
    pub(super) fn shared_group(&mut self) -> u64 {
        if let Some(group) = self.buses.group {
            return group;
        }
        let group = self.file.number();
        let (pid, name) = (self.pid(self.cores.len()), self.named("buses"));
        self.file.introduce(|out| out.group(group, pid, &name));
        self.buses.group = Some(group);
        group
    }

    /// The name of a core, or of the part that has this place.
    pub(super) fn core_name(&self, core: usize) -> &str {
        &self.cores[core].name
    }

    /// The simulation is over: what goes on ends.
    pub fn finish(&mut self, now: Time) {
        for process in 0..self.processes.len() {
            self.show(process, None, now, None);
            match self.processes[process].shown {
                Shown::Process => self.leave_all(process, now),
                _ => self.served(process, now),
            }
        }
        self.finish_buses(now);
    }
}

/// A row below another.
pub(super) fn below(file: &Trace, parent: u64, name: &str) -> Row {
    let row = Row(file.number());
    file.introduce(|out| out.row(row, parent, name));
    row
}

/// A row of a number below another.
pub(super) fn counter(file: &Trace, parent: u64, name: &str, unit: &str) -> Row {
    let row = Row(file.number());
    file.introduce(|out| out.counter(row, parent, name, unit));
    row
}
