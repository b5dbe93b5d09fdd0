//! Clusters of cores that a network on chip joins, and what moves data between them: a DMA with an
//! event synchroniser, or a buffer manager.

use super::accelerator::{self, Accelerator};
use super::{Chip, parse};
use crate::file::{Mistake, Table, Value, listed};
use crate::time::{Cost, Frequency};

pub(super) const NOC: [&str; 9] =
    ["clock", "mesh", "flit", "header", "packet", "router", "link", "interface", "queue"];
pub(super) const CLUSTER: [&str; 4] = ["name", "at", "cores", "memory"];
pub(super) const BLOCK_DMA: [&str; 4] = ["jobs", "start", "burst", "wake"];
pub(super) const MANAGER: [&str; 9] = [
    "partitioning",
    "ports",
    "requests",
    "lookup",
    "burst",
    "fifo",
    "size",
    "credits",
    "threshold",
];
pub(super) const CALLS: [&str; 4] = ["dma_send", "dma_receive", "bmm_send", "bmm_receive"];

/// Cores of a cluster, its accelerators among them: as many as four bits of a request tell apart.
pub(super) const MOST_CPUS: usize = 16;
/// Bytes of a shared memory: those of a cluster's window of addresses.
const MOST_SHARED: u32 = 4 << 20;
/// Words that a port's FIFO can have: 16 bits of its set-up say how many.
const MOST_WORDS: u32 = 0xffff;
const A_SPOT: &str = "a list of a column and a row, such as [0, 1]";
const A_FIFO: &str = "\"memory\" or \"hardware\"";

/// The clusters of a chip, and what joins them.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// The network.
    pub noc: Noc,
    /// Each cluster.
    pub all: Vec<Cluster>,
    /// The DMA that each cluster has.
    pub dma: BlockDma,
    /// The buffer manager that each cluster has.
    pub manager: BufferManager,
    /// What the software of messages takes of a core.
    pub calls: Calls,
    /// Hardware functions in clusters.
    pub accelerators: Vec<Accelerator>,
}

/// A network on chip: a mesh of routers, whose costs are in cycles of its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noc {
    /// Its clock.
    pub clock: Frequency,
    /// Routers in a row.
    pub columns: u32,
    /// Routers in a column.
    pub rows: u32,
    /// Bytes of a flit: what a link carries at once.
    pub flit: u32,
    /// Flits of a packet's header.
    pub header: u32,
    /// Bytes of data of the longest packet; an address comes on top.
    pub packet: u32,
    /// What a router takes to send a packet's head on.
    pub router: u32,
    /// What a flit takes over a link.
    pub link: u32,
    /// What an interface takes to make a packet, or to take one apart.
    pub interface: u32,
    /// Packets that an interface holds for the network to take.
    pub queue: u32,
}

/// A cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// The column and the row of its router.
    pub at: (u32, u32),
    /// Its cores, by their places in [`Chip::cores`]. Their order numbers them.
    pub cores: Vec<usize>,
    /// The memory that they share, by its place in [`Chip::memories`]. The cluster's bus is the one
    /// that this memory is on.
    pub memory: usize,
}

/// The DMA of a cluster and its event synchroniser. Costs are in cycles of the cluster's bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockDma {
    /// Jobs that it holds for each core.
    pub jobs: u32,
    /// What it takes to begin a job.
    pub start: Cost,
    /// Bytes that it reads or writes at once.
    pub burst: u32,
    /// From the event that a core waits for until the core goes on.
    pub wake: Cost,
}

/// Where the parts of a buffer manager are that see to a connection: S3's figure 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partitioning {
    /// 1: the FIFO, its writer and its reader are in the receiver's cluster.
    AtReceiver,
    /// 2: the writer is in the sender's cluster, the reader in the receiver's with the FIFO. They
    /// tell each other their pointers.
    Apart,
    /// 3: the FIFO, its writer and its reader are in the sender's cluster. The receiver's reads
    /// from there.
    AtSender,
}

impl Partitioning {
    /// All, from number 1 on.
    pub const ALL: [Partitioning; 3] =
        [Partitioning::AtReceiver, Partitioning::Apart, Partitioning::AtSender];

    /// Its number in the figure.
    #[must_use]
    pub fn number(self) -> u32 {
        1 + self as u32
    }
}

/// The buffer manager of a cluster. Costs are in cycles of the cluster's bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferManager {
    /// Where its parts are.
    pub partitioning: Partitioning,
    /// Ports of its tables.
    pub ports: u32,
    /// Requests that it holds for each core.
    pub requests: u32,
    /// What it takes to choose a request and to look its port up.
    pub lookup: Cost,
    /// Bytes that it reads or writes at once.
    pub burst: u32,
    /// Whether FIFOs are memories of its own, and not in the cluster's shared memory.
    pub hardware: bool,
    /// Words of the FIFO of a port, where software does not say otherwise.
    pub words: u32,
    /// Words that a sender may send before it gets credit, where software does not say otherwise.
    pub credits: u32,
    /// Words that are read before credit is given back; 0: it is at each read.
    pub threshold: u32,
}

/// What the software of a send and of a receive takes of a core, beside its accesses to what its
/// cluster shares: over FIFOs in software and the DMA, and over the buffer manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calls {
    /// A send over the DMA.
    pub dma_send: Cost,
    /// A receive over the DMA.
    pub dma_receive: Cost,
    /// A send over the buffer manager.
    pub bmm_send: Cost,
    /// A receive over the buffer manager.
    pub bmm_receive: Cost,
}

impl Chip {
    /// The cluster of a core, and its number there.
    #[must_use]
    pub fn cluster_of(&self, core: usize) -> Option<(usize, usize)> {
        let all = self.clusters.iter().flat_map(|clusters| clusters.all.iter().enumerate());
        all.filter_map(|(at, one)| Some((at, one.cores.iter().position(|of| *of == core)?))).next()
    }
}

/// The clusters of a file, whose tables are these.
pub(super) fn read(
    top: &Table<'_>,
    cores: &[String],
    memories: &[String],
) -> Result<Option<Clusters>, Mistake> {
    let tables = top.tables("cluster", parse::MOST_CLUSTERS, &CLUSTER)?;
    let parts = ["noc", "block_dma", "buffer_manager", "calls", "accelerator"];
    if tables.is_empty() {
        return match parts.iter().find_map(|key| top.find(key)) {
            Some(part) => Err(part.wrong("none without a [[cluster]]")),
            None => Ok(None),
        };
    }
    parse::names(&tables, &[])?;
    let noc = noc(&top.subtable("noc", &NOC)?)?;
    let mut all: Vec<Cluster> = Vec::new();
    for table in &tables {
        let one = cluster(table, (cores, memories), &noc, &all)?;
        all.push(one);
    }
    let joined = |core| all.iter().any(|cluster| cluster.cores.contains(&core));
    if let (Some(lone), Some(table)) = ((0..cores.len()).find(|core| !joined(*core)), tables.last())
    {
        let value = table.get("cores", "cores")?;
        return Err(value.fail(format!("core {} is in no cluster; each has to be", cores[lone])));
    }
    let dma = top.subtable("block_dma", &BLOCK_DMA)?;
    let calls = top.subtable("calls", &CALLS)?;
    let manager = manager(&top.subtable("buffer_manager", &MANAGER)?)?;
    Ok(Some(Clusters {
        noc,
        accelerators: accelerator::read(top, &all, &manager, cores)?,
        all,
        dma: BlockDma {
            jobs: dma.get("jobs", "jobs for each core")?.number(1..=64)?,
            start: dma.cost("start")?,
            burst: dma.power("burst", 4..=parse::MOST_BURST)?,
            wake: dma.cost("wake")?,
        },
        manager,
        calls: Calls {
            dma_send: calls.cost("dma_send")?,
            dma_receive: calls.cost("dma_receive")?,
            bmm_send: calls.cost("bmm_send")?,
            bmm_receive: calls.cost("bmm_receive")?,
        },
    }))
}

fn noc(table: &Table<'_>) -> Result<Noc, Mistake> {
    let mesh = table.get("mesh", "a list of columns and rows, such as [2, 2]")?;
    let [columns, rows] = pair(&mesh, "a list of columns and rows, such as [2, 2]")?;
    if !(1..=16).contains(&columns) || !(1..=16).contains(&rows) {
        return Err(mesh.wrong("from 1 to 16 columns and rows: a mesh of none has no route"));
    }
    let cycles = |key| table.get(key, "cycles of the network's clock")?.number(0..=1000);
    let flit = table.power("flit", 1..=64)?;
    Ok(Noc {
        clock: table.frequency("clock")?,
        columns,
        rows,
        flit,
        header: table.get("header", "flits of a packet's header")?.number(1..=64)?,
        packet: table.power("packet", 8..=parse::MOST_BURST)?,
        router: cycles("router")?,
        link: table.get("link", "cycles of a flit over a link")?.number(1..=1000)?,
        interface: cycles("interface")?,
        queue: table.get("queue", "packets that an interface holds")?.number(1..=1024)?,
    })
}

fn pair(value: &Value<'_>, expected: &str) -> Result<[u32; 2], Mistake> {
    let numbers = value.array(expected)?;
    let numbers: Option<Vec<u32>> =
        numbers.iter().map(|one| u32::try_from(one.as_integer()?).ok()).collect();
    match numbers.as_deref() {
        Some([one, other]) => Ok([*one, *other]),
        _ => Err(value.wrong(expected)),
    }
}

fn cluster(
    table: &Table<'_>,
    (cores, memories): (&[String], &[String]),
    noc: &Noc,
    before: &[Cluster],
) -> Result<Cluster, Mistake> {
    let at = table.get("at", A_SPOT)?;
    let [column, row] = pair(&at, A_SPOT)?;
    if column >= noc.columns || row >= noc.rows {
        let [columns, rows] = [noc.columns, noc.rows];
        return Err(at.wrong(&format!(
            "a column below {columns} and a row below {rows}: there is no route out of the mesh"
        )));
    }
    if before.iter().any(|other| other.at == (column, row)) {
        return Err(at.wrong("a router that no other cluster is at"));
    }
    let expected = format!("a list of cores: {}", listed(cores.iter().map(String::as_str)));
    let value = table.get("cores", &expected)?;
    let mut own = Vec::new();
    for one in value.array(&expected)? {
        let core = one.place("core", cores)?;
        if own.contains(&core) || before.iter().any(|other| other.cores.contains(&core)) {
            return Err(one.wrong("each core in one cluster, once"));
        }
        own.push(core);
    }
    if own.is_empty() || own.len() > MOST_CPUS {
        return Err(value.wrong(&format!("1 to {MOST_CPUS} cores")));
    }
    let memory = table.place("memory", "memory", memories)?;
    if before.iter().any(|other| other.memory == memory) {
        return Err(table
            .get("memory", "a memory")?
            .wrong("a memory that no other cluster shares"));
    }
    Ok(Cluster { name: table.name()?, at: (column, row), cores: own, memory })
}

fn partitioning(table: &Table<'_>) -> Result<Partitioning, Mistake> {
    const EXPECTED: &str = "1, 2 or 3: the FIFO at the receiver, its writer and reader apart, or \
                            the FIFO at the sender";
    let value = table.get("partitioning", EXPECTED)?;
    let all = Partitioning::ALL.into_iter();
    let named = value.number::<u32>(0..=u32::MAX).ok();
    named
        .and_then(|number| all.clone().find(|one| one.number() == number))
        .ok_or_else(|| value.wrong(EXPECTED))
}

fn manager(table: &Table<'_>) -> Result<BufferManager, Mistake> {
    let partitioning = partitioning(table)?;
    let at_sender = partitioning == Partitioning::AtSender;
    let size = table.get("size", "bytes of a port's FIFO")?;
    let bytes: u32 = size.bytes(0..=MOST_WORDS * 4)?;
    if bytes < 4 || !bytes.is_multiple_of(4) {
        return Err(size.wrong("whole words of 4 bytes, and at least one"));
    }
    let words = bytes / 4;
    let credits = table.find("credits").map_or(Ok(words), |value| {
        if at_sender {
            return Err(value.wrong("none with partitioning 3: a sender sees its own FIFO's room"));
        }
        let credits = value.number(0..=MOST_WORDS)?;
        match credits {
            0 => Err(value.wrong("credit for a word or more: without any nothing is ever sent")),
            more if more > words => {
                Err(value.wrong(&format!("credit for no more than the {words} words of the FIFO")))
            }
            some => Ok(some),
        }
    })?;
    let threshold = table.get("threshold", "words that are read before credit is given back")?;
    let threshold: u32 = threshold.number(0..=MOST_WORDS).and_then(|most| {
        if at_sender && most > 0 {
            Err(threshold.wrong("0 with partitioning 3: room is free as soon as it was read"))
        } else if most <= credits {
            Ok(most)
        } else {
            Err(threshold.wrong(&no_more(credits)))
        }
    })?;
    let fifo = table.get("fifo", A_FIFO)?;
    Ok(BufferManager {
        partitioning,
        ports: table.get("ports", "ports of its tables")?.number(1..=256)?,
        requests: table.get("requests", "requests for each core")?.number(1..=64)?,
        lookup: table.cost("lookup")?,
        burst: table.power("burst", 4..=parse::MOST_BURST)?,
        hardware: match fifo.string(A_FIFO)? {
            "memory" => false,
            "hardware" => true,
            _ => return Err(fifo.wrong(A_FIFO)),
        },
        words,
        credits,
        threshold,
    })
}

fn no_more(credits: u32) -> String {
    format!("at most the {credits} words of a sender's credit, or credit would never come back")
}

/// What clusters share has to fit their window of addresses.
pub(super) fn check(chip: &Chip, top: &Table<'_>) -> Result<(), Mistake> {
    let Some(clusters) = &chip.clusters else { return Ok(()) };
    let tables = top.tables("cluster", parse::MOST_CLUSTERS, &CLUSTER)?;
    for (cluster, table) in clusters.all.iter().zip(&tables) {
        let memory = &chip.memories[cluster.memory];
        let value = table.get("memory", "a memory")?;
        if memory.size > MOST_SHARED {
            return Err(value.wrong("a memory of at most 4MiB: its window has no more addresses"));
        }
        if memory.cached {
            return Err(value.wrong("a memory that caches do not keep: blocks write to it"));
        }
    }
    Ok(())
}
