//! Ports between cores that have no memory in common, the DMA controllers that serve them, and
//! what the operating system's service for messages between processors takes.

use super::route::{Net, Route};
use super::{Chip, parse};
use crate::file::{Mistake, Table, Value, listed};
use crate::time::Cost;

pub(super) const PORT: [&str; 7] = ["name", "kind", "between", "words", "access", "word", "turn"];
pub(super) const DMA: [&str; 8] =
    ["core", "controllers", "interrupts", "frames", "event", "trigger", "messages", "rates"];
pub(super) const RATE: [&str; 3] = ["memory", "read", "write"];
pub(super) const SERVICE: [&str; 7] =
    ["request", "accept", "start", "packet", "arrive", "finish", "deliver"];
const MOST_WORDS: u32 = 4096;
const A_KIND: &str = "\"fifo\" or \"comm\"";
const A_TRIGGER: &str = "\"edge\" or \"level\"";

/// Ports, and what serves them. Nothing, on a chip without any.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ports {
    /// Ports; each is of two cores.
    pub ports: Vec<Port>,
    /// The DMA controllers of each core that has ports.
    pub dmas: Vec<Dma>,
    /// What the operating system's service takes, of each way to drive a DMA that the chip has.
    pub service: Vec<(DmaMode, Service)>,
    /// Routes that are written down; see [`Chip::net`].
    pub routes: Vec<Route>,
}

/// A port between two cores.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: PortKind,
    /// Its two cores, by their places in [`Chip::cores`].
    pub between: [usize; 2],
    /// Words of 32 bits in each of its FIFOs.
    pub words: u32,
    /// A core's access to its data or its flags, in the core's cycles.
    pub access: Cost,
}

/// What a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortKind {
    /// A FIFO at each receiving end, written by the other core over 32 wires.
    Fifo,
    /// Bytes in one direction at a time, with a FIFO behind each end's output and input.
    Comm {
        /// What a word takes from one end to the other.
        word: Cost,
        /// What it takes to hand the ownership to the other end.
        turn: Cost,
    },
}

/// The DMA controllers of a core.
#[derive(Clone, Debug, PartialEq)]
pub struct Dma {
    /// The core, by its place in [`Chip::cores`].
    pub core: usize,
    /// How many there are. With two for each of the core's ports, one sends and one receives, and
    /// nothing is negotiated.
    pub controllers: u32,
    /// Interrupt lines for ports. With two for each, the core need not look at flags.
    pub interrupts: u32,
    /// Frames that an outgoing frame-synchronised transfer can have.
    pub frames: u32,
    /// From a flag's change until the controller that waits for it moves something.
    pub event: Cost,
    /// Whether a flag has to change for each element, or only to be set.
    pub edge: bool,
    /// The memory that messages are in, by its place in [`Chip::memories`].
    pub messages: usize,
    /// What a word takes between a port and each memory.
    pub rates: Vec<Rate>,
}

/// What a word takes between a port and a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The memory, by its place in [`Chip::memories`].
    pub memory: usize,
    /// From memory to the port.
    pub read: Cost,
    /// From the port to memory.
    pub write: Cost,
}

/// How a DMA controller is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DmaMode {
    /// Software starts the transfer of each packet, of half a FIFO.
    Burst,
    /// An event starts each element.
    ReadWrite,
    /// An event starts each frame, of half a FIFO.
    Frame,
}

impl DmaMode {
    /// All.
    pub const ALL: [DmaMode; 3] = [DmaMode::Burst, DmaMode::ReadWrite, DmaMode::Frame];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            DmaMode::Burst => "burst",
            DmaMode::ReadWrite => "rw",
            DmaMode::Frame => "frame",
        }
    }
}

/// What each piece of work on a message takes of the core that does it, beside the entries of
/// interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Sender: finding the way and asking for the port.
    pub request: Cost,
    /// Receiver: seeing to the command, a message from the pool, its DMA, and answering.
    pub accept: Cost,
    /// Sender: seeing to the answer, and its DMA.
    pub start: Cost,
    /// Sender: the interrupt of its DMA behind each packet but the last, and the next packet.
    pub packet: Cost,
    /// Receiver: the interrupt of its port for a packet, and its DMA.
    pub arrive: Cost,
    /// Sender: the interrupt of its DMA behind the message.
    pub finish: Cost,
    /// Receiver: the same.
    pub deliver: Cost,
}

impl Dma {
    /// What a word takes between a port and a memory: reading the memory, and writing it.
    #[must_use]
    pub fn rate(&self, memory: usize) -> Option<Rate> {
        self.rates.iter().find(|rate| rate.memory == memory).copied()
    }
}

impl Chip {
    /// Whether its cores have a memory in common, in which links of the stack are.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.link.slots > 0
    }

    /// What the service for messages takes, if a DMA can be driven in that way.
    #[must_use]
    pub fn service(&self, mode: DmaMode) -> Option<Service> {
        self.ports.service.iter().find(|(of, _)| *of == mode).map(|(_, service)| *service)
    }

    /// The DMA controllers of a core, if it has any.
    #[must_use]
    pub fn dma(&self, core: usize) -> Option<&Dma> {
        self.ports.dmas.iter().find(|dma| dma.core == core)
    }

    /// Whether each end of a port has a controller to send and another to receive, so that nothing
    /// is negotiated.
    #[must_use]
    pub fn is_dedicated(&self, port: usize) -> bool {
        let Some(port) = self.ports.ports.get(port) else { return false };
        port.kind == PortKind::Fifo
            && port.between.iter().all(|core| {
                self.dma(*core).is_some_and(|dma| dma.controllers >= 2 * self.ports_of(*core))
            })
    }

    /// How many ports a core is at.
    #[must_use]
    pub fn ports_of(&self, core: usize) -> u32 {
        self.ports.ports.iter().filter(|port| port.between.contains(&core)).count() as u32
    }
}

/// The ports of a file, whose tables are these.
pub(super) fn read(
    top: &Table<'_>,
    cores: &[String],
    memories: &[String],
) -> Result<Ports, Mistake> {
    let tables = top.tables("port", 64, &PORT)?;
    parse::names(&tables, &[])?;
    let ports = tables.iter().map(|table| port(table, cores)).collect::<Result<Vec<_>, _>>()?;
    let mut dmas: Vec<Dma> = Vec::new();
    for table in top.tables("dma", 16, &DMA)? {
        let one = dma(&table, cores, memories)?;
        if dmas.iter().any(|other| other.core == one.core) {
            return Err(table.get("core", "a core")?.wrong("a core without controllers so far"));
        }
        dmas.push(one);
    }
    for (port, table) in ports.iter().zip(&tables) {
        if port.between.iter().any(|core| dmas.iter().all(|dma| dma.core != *core)) {
            return Err(table.get("between", "cores")?.wrong("two cores with a [[dma]] each"));
        }
    }
    let mut service = Vec::new();
    if let Some(value) = top.find("ipc") {
        let table = value.table(&DmaMode::ALL.map(DmaMode::name))?;
        for mode in DmaMode::ALL {
            let Some(value) = table.find(mode.name()) else { continue };
            service.push((mode, pieces(&value.table(&SERVICE)?)?));
        }
    }
    let links = ports.iter().map(|port| port.between).collect();
    let net = Net { nodes: cores.len(), links, routes: Vec::new() };
    let Net { routes, .. } = net.read(top, "core", cores)?;
    Ok(Ports { ports, dmas, service, routes })
}

fn port(table: &Table<'_>, cores: &[String]) -> Result<Port, Mistake> {
    let kind = table.get("kind", A_KIND)?;
    let kind = match kind.string(A_KIND)? {
        "fifo" => PortKind::Fifo,
        "comm" => PortKind::Comm { word: table.some_cost("word")?, turn: table.cost("turn")? },
        _ => return Err(kind.wrong(A_KIND)),
    };
    let expected = format!("a list of two of {}", listed(cores.iter().map(String::as_str)));
    let value = table.get("between", &expected)?;
    let between = value.array(&expected)?;
    let between: Vec<usize> =
        between.iter().map(|one| one.place("core", cores)).collect::<Result<_, _>>()?;
    let [one, other] = between[..] else { return Err(value.wrong(&expected)) };
    if one == other {
        return Err(value.wrong("two cores"));
    }
    let words = table.get("words", "words of 32 bits in a FIFO")?;
    Ok(Port {
        name: table.name()?,
        kind,
        between: [one, other],
        words: words.number(8..=MOST_WORDS)?,
        access: table.some_cost("access")?,
    })
}

fn dma(table: &Table<'_>, cores: &[String], memories: &[String]) -> Result<Dma, Mistake> {
    let number = |key, what: &str| table.get(key, what)?.number(1..=1024_u32);
    let trigger = table.get("trigger", A_TRIGGER)?;
    let expected = "a list of { memory = \"sdram\", read = 1, write = 1 }";
    let value = table.get("rates", expected)?;
    let listed = value.array(expected)?;
    let rates = listed.iter().map(|one| rate(one, memories)).collect::<Result<Vec<_>, _>>()?;
    let messages = table.place("messages", "memory", memories)?;
    if rates.iter().all(|rate| rate.memory != messages) {
        return Err(value.wrong("among others the rate of the memory that messages are in"));
    }
    Ok(Dma {
        core: table.place("core", "core", cores)?,
        controllers: number("controllers", "how many")?,
        interrupts: number("interrupts", "interrupt lines for ports")?,
        frames: number("frames", "frames of an outgoing transfer")?,
        event: table.cost("event")?,
        edge: match trigger.string(A_TRIGGER)? {
            "edge" => true,
            "level" => false,
            _ => return Err(trigger.wrong(A_TRIGGER)),
        },
        messages,
        rates,
    })
}

fn rate(one: &Value<'_>, memories: &[String]) -> Result<Rate, Mistake> {
    let table = one.table(&RATE)?;
    Ok(Rate {
        memory: table.place("memory", "memory", memories)?,
        read: table.some_cost("read")?,
        write: table.some_cost("write")?,
    })
}

fn pieces(table: &Table<'_>) -> Result<Service, Mistake> {
    Ok(Service {
        request: table.cost_or_none("request")?,
        accept: table.cost_or_none("accept")?,
        start: table.cost_or_none("start")?,
        packet: table.cost_or_none("packet")?,
        arrive: table.cost_or_none("arrive")?,
        finish: table.cost_or_none("finish")?,
        deliver: table.cost_or_none("deliver")?,
    })
}
