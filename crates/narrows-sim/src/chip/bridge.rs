//! Bridges between cores and buses: what an access takes on its way.

use super::parse::places;
use super::{Chip, Core};
use crate::file::{Mistake, Table};
use crate::time::{Cost, Time};

pub(super) const BRIDGE: [&str; 5] = ["name", "cores", "bus", "read", "write"];

/// A bridge that accesses of cores to a bus pass. It takes time of theirs and not of the bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Bridge {
    /// Its name.
    pub name: String,
    /// Whose accesses pass it, by their places in [`Chip::cores`].
    pub cores: Vec<usize>,
    /// The bus behind it, by its place in [`Chip::buses`].
    pub bus: usize,
    /// Before a transfer that reads, in the bus's cycles.
    pub read: Cost,
    /// Before a transfer that writes.
    pub write: Cost,
}

impl Chip {
    /// What the bridges between a core and a bus take of a transfer, that reads or that writes.
    #[must_use]
    pub fn bridged(&self, core: usize, bus: usize, write: bool) -> Time {
        let Some(clock) = self.buses.get(bus).map(|bus| bus.clock) else { return Time::ZERO };
        let between = |one: &&Bridge| one.bus == bus && one.cores.contains(&core);
        let cost = |one: &Bridge| if write { one.write } else { one.read };
        self.bridges.iter().filter(between).map(|one| cost(one).at(clock)).sum()
    }
}

pub(super) fn read(
    table: &Table<'_>,
    cores: &[String],
    buses: &[String],
) -> Result<Bridge, Mistake> {
    Ok(Bridge {
        name: table.name()?,
        cores: places(table, cores)?,
        bus: table.place("bus", "bus", buses)?,
        read: table.cost("read")?,
        write: table.cost("write")?,
    })
}

/// Each core reaches the memory that its code is in, and those of its links.
pub(super) fn check(
    chip: &Chip,
    cores: &[Table<'_>],
    link: Option<&Table<'_>>,
) -> Result<(), Mistake> {
    for (at, (core, table)) in chip.cores.iter().zip(cores).enumerate() {
        let Core { home, .. } = core;
        if !chip.memories.get(*home).is_some_and(|memory| memory.is_reached(at)) {
            return Err(table.get("home", "a memory")?.wrong("a memory that this core reaches"));
        }
    }
    let Some(table) = link else { return Ok(()) };
    let of = [
        ("control", chip.link.control),
        ("internal", chip.link.internal),
        ("external", chip.link.external),
    ];
    for (key, memory) in of {
        if chip.memories.get(memory).is_some_and(|memory| memory.cores.is_some()) {
            return Err(table.get(key, "a memory")?.wrong("a memory that all cores reach"));
        }
    }
    Ok(())
}
