//! What the software of a chip of clusters does to send packets from one cluster to another, as S3
//! describes it (section III): over FIFOs that functions of a library keep in shared memory, with
//! the DMA, or over the buffer manager.

use narrows_sim::chip::{Calls, Chip, Clusters, Partitioning};
use narrows_sim::cpu::Cpu;
use narrows_sim::cpu::cluster::{
    Access, DmaRegister, Endpoint, Fault, Kind, Way, in_cluster, shared,
};
use narrows_sim::time::{Cost, Time};

/// How packets are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// By the DMA, through FIFOs of the library.
    Dma,
    /// By the buffer manager.
    Bmm,
}

impl Mechanism {
    /// All.
    pub const ALL: [Mechanism; 2] = [Mechanism::Dma, Mechanism::Bmm];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Dma => "dma",
            Mechanism::Bmm => "bmm",
        }
    }

    /// Instructions of a send and of a receive by a core of a chip, one a cycle.
    pub fn instructions(self, chip: &Chip, core: usize) -> [u64; 2] {
        let (Some(clusters), Some(core)) = (&chip.clusters, chip.cores.get(core)) else {
            return [0; 2];
        };
        let calls = &clusters.calls;
        let costs = match self {
            Mechanism::Dma => [calls.dma_send, calls.dma_receive],
            Mechanism::Bmm => [calls.bmm_send, calls.bmm_receive],
        };
        costs.map(|cost| core.clock.count(cost.at(core.clock)))
    }
}

/// Where things are in the shared memory of either side. The first words are of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The sender's buffers: two, so that one can be filled while the other goes.
    pub buffers: [u32; 2],
    /// The receiver's buffer.
    pub target: u32,
    /// The FIFO, in the cluster that has it, and its bytes.
    pub fifo: (u32, u32),
}

/// One side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    /// Its cluster.
    pub cluster: usize,
    /// The number of its CPU there.
    pub cpu: u8,
    /// Its port in that cluster; its transfers have the same number.
    pub port: u8,
    /// Where the connection's words are in that cluster's shared memory.
    pub words: u32,
    /// Where the connection's FIFO is there, if it is on this side.
    pub fifo: u32,
}

/// A connection, from one CPU to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The side that sends.
    pub from: Side,
    /// The side that receives.
    pub to: Side,
    /// Bytes of its FIFO. The library's is at the receiver, the buffer manager's where the chip's
    /// partitioning has it.
    pub bytes: u32,
}

/// Says that the receiver is ready. In the sender's shared memory, as is the next.
const READY: u32 = 0;
/// Bytes that were read so far.
const READ: u32 = 4;
/// Bytes that were written so far. In the receiver's shared memory.
const WRITTEN: u32 = 8;
/// Bytes for these words, on either side.
pub(crate) const WORDS: u32 = 64;

impl Layout {
    /// That of packets of at most so many bytes. `None` if a shared memory has no room for it, or
    /// a FIFO for a packet.
    pub fn new(chip: &Chip, packet: u32) -> Option<Layout> {
        let clusters = chip.clusters.as_ref()?;
        let fifo = clusters.manager.words * 4;
        let packet = packet.next_multiple_of(64);
        let target = WORDS + 2 * packet;
        let end = (target + packet).checked_add(fifo)?;
        let fits = clusters.all.iter().all(|one| end <= chip.memories[one.memory].size);
        let layout =
            Layout { buffers: [WORDS, WORDS + packet], target, fifo: (target + packet, fifo) };
        (fits && packet <= fifo).then_some(layout)
    }

    /// The connection from one CPU to another, over port 0 of its cluster to port 1 of the other's.
    /// `None` if one of them is in no cluster.
    pub fn line(&self, chip: &Chip, [from, to]: [usize; 2]) -> Option<Line> {
        let (fifo, bytes) = self.fifo;
        let side = |core, port| {
            let (cluster, number) = chip.cluster_of(core)?;
            Some(Side { cluster, cpu: u8::try_from(number).ok()?, port, words: 0, fifo })
        };
        Some(Line { from: side(from, 0)?, to: side(to, 1)?, bytes })
    }
}

/// One end of a connection, as the process of a CPU that uses it.
pub(crate) struct End<'a> {
    cpu: &'a Cpu,
    clusters: &'a Clusters,
    mechanism: Mechanism,
    line: Line,
    /// What this CPU's cluster shares: buffers are there.
    pub memory: usize,
    /// Bytes that went through the library's FIFO so far; they count round.
    passed: u32,
    /// Whether a request is on its way that nobody has waited for.
    busy: bool,
}

/// Why a connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// A block has signalled this.
    Signalled(Fault),
    /// The simulation is over.
    Over,
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Broken {
        Broken::Signalled(fault)
    }
}

impl<'a> End<'a> {
    /// The end of a CPU that is one side of a connection. `None` if it is in no cluster.
    pub fn new(cpu: &'a Cpu, mechanism: Mechanism, line: Line) -> Option<End<'a>> {
        let clusters = cpu.chip().clusters.as_ref()?;
        let (own, _) = cpu.chip().cluster_of(cpu.core())?;
        let memory = clusters.all.get(own)?.memory;
        Some(End { cpu, clusters, mechanism, line, memory, passed: 0, busy: false })
    }

    fn calls(&self) -> &Calls {
        &self.clusters.calls
    }

    fn spend(&self, cost: Cost) {
        let clock = self.cpu.chip().cores[self.cpu.core()].clock;
        self.cpu.compute(cost.at(clock));
    }

    /// Sets a sender up and waits until its receiver is ready.
    pub fn open_sender(&self) -> Result<(), Broken> {
        let Line { from, to, .. } = self.line;
        if self.mechanism == Mechanism::Bmm {
            let (to, credits) = (endpoint(to).word(), self.clusters.manager.credits);
            let (base, words) = (self.base(), self.line.bytes / 4);
            let entry = match self.clusters.manager.partitioning {
                Partitioning::AtReceiver => vec![to, credits],
                Partitioning::Apart => vec![to, base, words | credits << 16],
                Partitioning::AtSender => vec![to, base, words],
            };
            self.ask(from, (Way::Write, Kind::Setup), &entry)?;
        }
        self.changed(from, READY, 0).map(|_| ())
    }

    /// Sets a receiver up and tells its sender.
    pub fn open_receiver(&self) -> Result<(), Broken> {
        let Line { from, to, .. } = self.line;
        if self.mechanism == Mechanism::Bmm {
            let (base, words) = (self.base(), self.line.bytes / 4);
            let sizes = words | self.clusters.manager.threshold << 16;
            let entry = match self.clusters.manager.partitioning {
                Partitioning::AtReceiver | Partitioning::Apart => {
                    vec![endpoint(from).word(), base, sizes]
                }
                Partitioning::AtSender => vec![endpoint(from).word(), words],
            };
            self.ask(to, (Way::Read, Kind::Setup), &entry)?;
        }
        Ok(self.cpu.bus_store(word(from, READY), 1)?)
    }

    /// Where the buffer manager's FIFO begins, in whichever cluster has it.
    fn base(&self) -> u32 {
        let side = match self.clusters.manager.partitioning {
            Partitioning::AtReceiver | Partitioning::Apart => self.line.to,
            Partitioning::AtSender => self.line.from,
        };
        // In the block itself each port has its own.
        let own = u32::from(side.port) * self.line.bytes;
        if self.clusters.manager.hardware { own } else { side.fifo }
    }

    /// Sends so many bytes from its cluster's shared memory. They may change once the next packet
    /// was sent, or [`End::settle`] returns.
    pub fn send(&mut self, buffer: u32, bytes: u32) -> Result<(), Broken> {
        let Line { from, to, bytes: fifo } = self.line;
        match self.mechanism {
            Mechanism::Dma => {
                self.spend(self.calls().dma_send);
                let room = fifo - bytes;
                self.until(from, READ, |read, passed| passed.wrapping_sub(read) <= room)?;
                for (at, in_fifo, len) in self.parts(bytes) {
                    let place = shared(to.cluster, in_fifo);
                    self.transfer(from, shared(from.cluster, buffer + at), place, len)?;
                }
                self.passed = self.passed.wrapping_add(bytes);
                Ok(self.cpu.bus_store(word(to, WRITTEN), self.passed)?)
            }
            Mechanism::Bmm => {
                self.spend(self.calls().bmm_send);
                self.settle()?;
                let words = [shared(from.cluster, buffer), bytes];
                self.ask(from, (Way::Write, Kind::Indirect), &words)?;
                self.busy = true;
                Ok(())
            }
        }
    }

    /// Waits until what was sent has left its buffer.
    pub fn settle(&mut self) -> Result<(), Broken> {
        if std::mem::take(&mut self.busy) {
            self.cpu.wait_transfer(self.line.from.port)?;
        }
        Ok(())
    }

    /// Receives so many bytes into its cluster's shared memory.
    pub fn receive(&mut self, target: u32, bytes: u32) -> Result<(), Broken> {
        let Line { from, to, .. } = self.line;
        match self.mechanism {
            Mechanism::Dma => {
                self.spend(self.calls().dma_receive);
                self.until(to, WRITTEN, |written, passed| written.wrapping_sub(passed) >= bytes)?;
                for (at, in_fifo, len) in self.parts(bytes) {
                    let place = shared(to.cluster, target + at);
                    self.transfer(to, shared(to.cluster, in_fifo), place, len)?;
                }
                self.passed = self.passed.wrapping_add(bytes);
                Ok(self.cpu.bus_store(word(from, READ), self.passed)?)
            }
            Mechanism::Bmm => {
                self.spend(self.calls().bmm_receive);
                let words = [shared(to.cluster, target), bytes];
                self.ask(to, (Way::Read, Kind::Indirect), &words)?;
                Ok(self.cpu.wait_transfer(to.port)?)
            }
        }
    }

    /// The parts of a packet: where they are in it and in the FIFO, whose end it may go round.
    fn parts(&self, bytes: u32) -> impl Iterator<Item = (u32, u32, u32)> + use<> {
        let (base, size) = (self.line.to.fifo, self.line.bytes);
        let start = self.passed % size;
        let first = bytes.min(size - start);
        let parts = [(0, base + start, first), (first, base, bytes - first)];
        parts.into_iter().filter(|(_, _, len)| *len > 0)
    }

    /// Has the DMA of this side move bytes and waits until it has.
    fn transfer(&self, own: Side, from: u32, to: u32, len: u32) -> Result<(), Broken> {
        let words = [from, to, len, own.port.into()];
        for (register, value) in DmaRegister::ALL.into_iter().zip(words) {
            let register = in_cluster(own.cluster, register.address(own.cpu));
            self.cpu.bus_store(register, value)?;
        }
        Ok(self.cpu.wait_transfer(own.port)?)
    }

    /// Makes a request of this side's buffer manager.
    fn ask(&self, own: Side, (way, kind): (Way, Kind), words: &[u32]) -> Result<(), Broken> {
        for (at, word) in words.iter().enumerate() {
            let end = at + 1 == words.len();
            let access = Access { way, kind, end, port: own.port, cpu: own.cpu };
            self.cpu.bus_store(in_cluster(own.cluster, access.address()), *word)?;
        }
        Ok(())
    }

    /// Looks at this side's copy of the other's pointer until it is as it has to be.
    fn until(
        &self,
        own: Side,
        pointer: u32,
        ready: impl Fn(u32, u32) -> bool,
    ) -> Result<(), Broken> {
        let mut value = self.cpu.bus_load(word(own, pointer))?.unwrap_or(0);
        while !ready(value, self.passed) {
            value = self.changed(own, pointer, value)?;
        }
        Ok(())
    }

    /// What a word of this side is once it is no longer `value`.
    fn changed(&self, own: Side, offset: u32, value: u32) -> Result<u32, Broken> {
        self.cpu.spin(self.memory, own.words + offset, value, Time::NEVER).ok_or(Broken::Over)
    }
}

/// A side as the other's tables name it.
fn endpoint(side: Side) -> Endpoint {
    // A chip has 16 clusters at most.
    Endpoint { cluster: side.cluster as u16, cpu: side.cpu, port: side.port }
}

/// The address of one of the connection's words on a side.
fn word(side: Side, offset: u32) -> u32 {
    shared(side.cluster, side.words + offset)
}
