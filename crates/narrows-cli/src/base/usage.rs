//! What the cores, caches and buses of simulated chips did: collected by a [`Monitor`], as rows of
//! JSON and as tables.

use crate::base::table::{Table, number};
use narrows_sim::chip::Chip;
use narrows_sim::engine::{BusUse, CacheUse, CoreUse, Outcome, Simulation, Stuck, Usage};
use narrows_sim::trace::Trace;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What simulations are of, where nobody says.
const ALL: &str = "all rows";

/// What is kept of the simulations of a command: a trace, if one is asked for, and what their chips
/// did. Copies of it are the same.
#[derive(Clone, Debug, Default)]
pub struct Monitor {
    trace: Option<Trace>,
    used: Arc<Mutex<Used>>,
}

/// What chips did, and what the next simulations are of.
#[derive(Debug, Default)]
struct Used {
    of: Option<String>,
    all: Vec<(String, Chip, Usage)>,
}

impl Monitor {
    /// One that has simulations written to a trace.
    pub fn tracing(trace: Trace) -> Monitor {
        Monitor { trace: Some(trace), ..Monitor::default() }
    }

    /// What the simulations from here on are of. Those of the same are added up, and must be of
    /// one chip.
    pub fn of(&self, of: impl Into<String>) {
        self.used().of = Some(of.into());
    }

    /// What chips did until now, a row for each that simulations were of.
    pub fn rows(&self) -> Vec<ChipRow> {
        let used = self.used();
        used.all.iter().map(|(of, chip, usage)| ChipRow::new(of.as_str(), chip, usage)).collect()
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, chip: &Chip, usage: Usage) {
        let mut used = self.used();
        let of = used.of.clone().unwrap_or_else(|| ALL.to_owned());
        match used.all.iter_mut().find(|(known, ..)| *known == of) {
            Some((.., sum)) => *sum = sum.with(&usage),
            None => used.all.push((of, chip.clone(), usage)),
        }
    }
}

/// Runs a simulation, which the monitor looks at if there is one.
///
/// # Errors
/// As [`Simulation::run`].
pub fn run(monitor: Option<&Monitor>, mut simulation: Simulation<'_>) -> Result<Outcome, Stuck> {
    let Some(monitor) = monitor else { return simulation.run() };
    if let Some(trace) = &monitor.trace {
        simulation.trace(trace);
    }
    let chip = simulation.chip().clone();
    let outcome = simulation.run()?;
    monitor.add(&chip, outcome.usage());
    Ok(outcome)
}

/// What the parts of a chip did in a while.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChipRow {
    /// In which while: a strategy of a run, or what a bench's simulation was of.
    pub of: String,
    /// How long it was, in virtual time.
    pub time_us: f64,
    /// Each core.
    pub cores: Vec<CoreRow>,
    /// Each bus.
    pub buses: Vec<BusRow>,
}

/// What a core did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CoreRow {
    /// Its name.
    pub core: String,
    /// How long a process or a service routine was on it.
    pub busy_us: f64,
    /// How long nothing was.
    pub idle_us: f64,
    /// How often it went from one process to another.
    pub switches: u64,
    /// How often it was interrupted.
    pub interrupts: u64,
    /// How much of `busy_us` went to interrupts.
    pub interrupt_us: f64,
    /// Its data cache, if it has one: words.
    pub data: Option<CacheRow>,
    /// Its instruction cache, if it has one: lines.
    pub instructions: Option<CacheRow>,
    /// Its second level, if it has one: lines.
    pub second: Option<CacheRow>,
}

/// What a cache did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CacheRow {
    /// How often something was there.
    pub hits: u64,
    /// How often it was not.
    pub misses: u64,
}

/// What a bus did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BusRow {
    /// Its name.
    pub bus: String,
    /// Transfers over it.
    pub transfers: u64,
    /// How long they had it.
    pub busy_us: f64,
    /// How long they waited for it, all together, but those that look at a word again.
    pub waited_us: f64,
}

fn cache(used: Option<CacheUse>) -> Option<CacheRow> {
    used.map(|used| CacheRow { hits: used.hits(), misses: used.misses })
}

impl ChipRow {
    /// What a chip's parts did.
    pub fn new(of: impl Into<String>, chip: &Chip, usage: &Usage) -> ChipRow {
        let Usage { time, cores, buses } = usage;
        let core = |(core, used): (&narrows_sim::chip::Core, &CoreUse)| CoreRow {
            core: core.name.clone(),
            busy_us: used.busy.micros(),
            idle_us: time.since(used.busy).micros(),
            switches: used.switches,
            interrupts: used.interrupts,
            interrupt_us: used.interrupt_time.micros(),
            data: cache(used.data),
            instructions: cache(used.instructions),
            second: cache(used.second),
        };
        let bus = |(bus, used): (&narrows_sim::chip::Bus, &BusUse)| BusRow {
            bus: bus.name.clone(),
            transfers: used.transfers,
            busy_us: used.busy.micros(),
            waited_us: used.waited.micros(),
        };
        ChipRow {
            of: of.into(),
            time_us: time.micros(),
            cores: chip.cores.iter().zip(cores).map(core).collect(),
            buses: chip.buses.iter().zip(buses).map(bus).collect(),
        }
    }

    /// Its tables, beneath a heading.
    pub fn text(&self) -> String {
        let mut text =
            format!("\nthe chip, {}: {} µs of virtual time\n", self.of, number(self.time_us));
        text.push_str(&self.cores_text());
        text.push_str(&self.caches_text());
        text.push_str(&self.buses_text());
        text
    }

    fn percent(&self, micros: f64) -> String {
        number(if self.time_us > 0.0 { 100.0 * micros / self.time_us } else { 0.0 })
    }

    fn cores_text(&self) -> String {
        let names = ["core", "busy %", "idle %", "switches", "interrupts", "in interrupts %"];
        let mut table = Table::figures(&names);
        for core in &self.cores {
            table.row(vec![
                core.core.clone(),
                self.percent(core.busy_us),
                self.percent(core.idle_us),
                core.switches.to_string(),
                core.interrupts.to_string(),
                self.percent(core.interrupt_us),
            ]);
        }
        table.render()
    }

    fn caches_text(&self) -> String {
        let mut table = Table::figures(&["cache", "hits", "misses", "misses %"]);
        let mut any = false;
        for core in &self.cores {
            let caches =
                [("data", core.data), ("code", core.instructions), ("second", core.second)];
            for (name, used) in caches {
                let Some(CacheRow { hits, misses }) = used else { continue };
                let all = (hits + misses).max(1) as f64;
                let share = number(100.0 * misses as f64 / all);
                let name = format!("{} {name}", core.core);
                table.row(vec![name, hits.to_string(), misses.to_string(), share]);
                any = true;
            }
        }
        if any { table.render() } else { String::new() }
    }

    fn buses_text(&self) -> String {
        let names = ["bus", "busy %", "transfers", "waited for %"];
        let mut table = Table::figures(&names);
        for bus in &self.buses {
            table.row(vec![
                bus.bus.clone(),
                self.percent(bus.busy_us),
                bus.transfers.to_string(),
                self.percent(bus.waited_us),
            ]);
        }
        table.render()
    }
}
