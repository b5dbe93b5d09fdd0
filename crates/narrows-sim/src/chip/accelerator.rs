//! Hardware functions in clusters: ends of connections that are no CPU. A block that has come to a
//! port of one's is worked on, and the result leaves through the next port.

use super::cluster::{BufferManager, Cluster, Clusters, MOST_CPUS};
use crate::file::{Mistake, Table};
use crate::time::{Cost, Frequency, Time};

pub(super) const ACCELERATOR: [&str; 7] =
    ["name", "cluster", "clock", "block", "result", "latency", "rate"];

/// Bytes that a function takes in a cycle, at most.
const MOST_RATE: u32 = 256;

/// A hardware function in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accelerator {
    /// Its name.
    pub name: String,
    /// Its cluster, by its place in [`Clusters::all`].
    pub cluster: usize,
    /// Its clock.
    pub clock: Frequency,
    /// Bytes that it takes at once.
    pub block: u32,
    /// Bytes that it gives for a block.
    pub result: u32,
    /// What it takes for a block, beside what the block's bytes take.
    pub latency: Cost,
    /// Bytes of a block that it works on in a cycle.
    pub rate: u32,
}

impl Accelerator {
    /// How long it works on a block.
    #[must_use]
    pub fn takes(&self) -> Time {
        let cycles = self.block.div_ceil(self.rate.max(1));
        self.latency.at(self.clock) + self.clock.cycles(cycles.into())
    }
}

impl Clusters {
    /// The accelerators of a cluster in their order, each with its place among all.
    pub fn accelerators_of(&self, cluster: usize) -> impl Iterator<Item = (usize, &Accelerator)> {
        self.accelerators.iter().enumerate().filter(move |(_, one)| one.cluster == cluster)
    }

    /// The number of an accelerator among the CPUs of its cluster: they are numbered behind its
    /// cores, in the order of the file.
    #[must_use]
    pub fn accelerator_number(&self, accelerator: usize) -> Option<usize> {
        let cluster = self.accelerators.get(accelerator)?.cluster;
        let before = self.accelerators_of(cluster).take_while(|(at, _)| *at != accelerator);
        Some(self.all.get(cluster)?.cores.len() + before.count())
    }
}

impl BufferManager {
    /// Words that a FIFO of the usual size surely gets, whatever credit is kept back.
    fn whole(&self) -> u32 {
        (self.credits + 1).saturating_sub(self.threshold.max(1))
    }
}

/// The accelerators of a file, whose clusters and buffer managers these are.
pub(super) fn read(
    top: &Table<'_>,
    all: &[Cluster],
    manager: &BufferManager,
    cores: &[String],
) -> Result<Vec<Accelerator>, Mistake> {
    let tables = top.tables("accelerator", 64, &ACCELERATOR)?;
    super::parse::names(&tables, cores)?;
    let clusters: Vec<String> = all.iter().map(|one| one.name.clone()).collect();
    let mut found: Vec<Accelerator> = Vec::new();
    for table in &tables {
        let one = accelerator(table, &clusters, manager)?;
        let there = found.iter().filter(|other| other.cluster == one.cluster).count();
        if all[one.cluster].cores.len() + there >= MOST_CPUS {
            let value = table.get("cluster", "a cluster")?;
            let text = format!(
                "a cluster with at most {MOST_CPUS} cores and accelerators: a request tells no \
                 more apart"
            );
            return Err(value.wrong(&text));
        }
        found.push(one);
    }
    Ok(found)
}

fn accelerator(
    table: &Table<'_>,
    clusters: &[String],
    manager: &BufferManager,
) -> Result<Accelerator, Mistake> {
    let whole = manager.whole() * 4;
    let size = |key, what: &str| {
        let value = table.get(key, what)?;
        let bytes: u32 = value.bytes(0..=1 << 20)?;
        if bytes == 0 || !bytes.is_multiple_of(4) {
            return Err(value.wrong("whole words of 4 bytes, and at least one"));
        }
        if bytes > whole {
            let text = format!(
                "at most the {whole} bytes that a FIFO surely gets with its credit and threshold: \
                 more would never be there at once"
            );
            return Err(value.wrong(&text));
        }
        Ok(bytes)
    };
    let rate = table.get("rate", "bytes of a block in a cycle of its clock")?;
    Ok(Accelerator {
        name: table.name()?,
        cluster: table.place("cluster", "cluster", clusters)?,
        clock: table.frequency("clock")?,
        block: size("block", "bytes that it takes at once")?,
        result: size("result", "bytes that it gives for a block")?,
        latency: table.cost("latency")?,
        rate: match rate.number(0..=MOST_RATE)? {
            0 => return Err(rate.wrong("a byte in a cycle or more: at 0 no block is ever done")),
            some => some,
        },
    })
}
