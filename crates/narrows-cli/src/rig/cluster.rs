//! What the software of a chip of clusters does to send packets from one cluster to another, as S3
//! describes it (section III): over FIFOs that functions of a library keep in shared memory, with
//! the DMA, or over the buffer manager.

use narrows_sim::chip::{Calls, Chip, Clusters};
use narrows_sim::cpu::Cpu;
use narrows_sim::cpu::cluster::{Fault, Kind, Way, shared};
pub(crate) use narrows_sim::cpu::cluster::{Line, Mechanism, Side};
use narrows_sim::time::{Cost, Time};

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

/// Says that the receiver is ready. In the sender's shared memory, as is the next.
const READY: u32 = 0;
/// Bytes that were read so far.
const READ: u32 = 4;
/// Bytes that were written so far. In the receiver's shared memory.
const WRITTEN: u32 = 8;
/// Bytes for these words, on either side.
pub(crate) const WORDS: u32 = 64;

impl Layout {
    /// The layout for packets of at most `packet` bytes. `None` if a shared memory has no room for
    /// it, or a FIFO for a packet.
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
        let Line { from, .. } = self.line;
        if self.mechanism == Mechanism::Bmm {
            let entry = self.line.sender(&self.clusters.manager);
            self.cpu.ask_manager(from, (Way::Write, Kind::Setup), &entry)?;
        }
        self.changed(from, READY, 0).map(|_| ())
    }

    /// Sets a receiver up and tells its sender.
    pub fn open_receiver(&self) -> Result<(), Broken> {
        let Line { from, to, .. } = self.line;
        if self.mechanism == Mechanism::Bmm {
            let entry = self.line.receiver(&self.clusters.manager);
            self.cpu.ask_manager(to, (Way::Read, Kind::Setup), &entry)?;
        }
        Ok(self.cpu.bus_store(from.word(READY), 1)?)
    }

    /// Sends this many bytes from its cluster's shared memory. They may change once the next packet
    /// was sent, or [`End::settle`] returns.
    pub fn send(&mut self, buffer: u32, bytes: u32) -> Result<(), Broken> {
        let Line { from, to, bytes: fifo } = self.line;
        match self.mechanism {
            Mechanism::Dma => {
                self.spend(self.calls().dma_send);
                let room = fifo - bytes;
                self.until(from, READ, |read, passed| passed.wrapping_sub(read) <= room)?;
                for (at, in_fifo, len) in self.line.parts(self.passed, bytes) {
                    let place = shared(to.cluster, in_fifo);
                    self.cpu.move_by_dma(from, shared(from.cluster, buffer + at), place, len)?;
                }
                self.passed = self.passed.wrapping_add(bytes);
                Ok(self.cpu.bus_store(to.word(WRITTEN), self.passed)?)
            }
            Mechanism::Bmm => {
                self.spend(self.calls().bmm_send);
                self.settle()?;
                let words = [shared(from.cluster, buffer), bytes];
                self.cpu.ask_manager(from, (Way::Write, Kind::Indirect), &words)?;
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

    /// Receives this many bytes into its cluster's shared memory.
    pub fn receive(&mut self, target: u32, bytes: u32) -> Result<(), Broken> {
        let Line { from, to, .. } = self.line;
        match self.mechanism {
            Mechanism::Dma => {
                self.spend(self.calls().dma_receive);
                self.until(to, WRITTEN, |written, passed| written.wrapping_sub(passed) >= bytes)?;
                for (at, in_fifo, len) in self.line.parts(self.passed, bytes) {
                    let place = shared(to.cluster, target + at);
                    self.cpu.move_by_dma(to, shared(to.cluster, in_fifo), place, len)?;
                }
                self.passed = self.passed.wrapping_add(bytes);
                Ok(self.cpu.bus_store(from.word(READ), self.passed)?)
            }
            Mechanism::Bmm => {
                self.spend(self.calls().bmm_receive);
                let words = [shared(to.cluster, target), bytes];
                self.cpu.ask_manager(to, (Way::Read, Kind::Indirect), &words)?;
                Ok(self.cpu.wait_transfer(to.port)?)
            }
        }
    }

    /// Looks at this side's copy of the other's pointer until it is as it has to be.
    fn until(
        &self,
        own: Side,
        pointer: u32,
        ready: impl Fn(u32, u32) -> bool,
    ) -> Result<(), Broken> {
        let mut value = self.cpu.bus_load(own.word(pointer))?.unwrap_or(0);
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
