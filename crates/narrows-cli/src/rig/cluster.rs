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
    /// The receiver's FIFO, and its bytes.
    pub fifo: (u32, u32),
}

/// Says that the receiver is ready. In the sender's shared memory, as is the next.
const READY: u32 = 0;
/// Bytes that were read so far.
const READ: u32 = 4;
/// Bytes that were written so far. In the receiver's shared memory.
const WRITTEN: u32 = 8;
/// Bytes for these words.
const WORDS: u32 = 64;
/// The ports of the connection, and the numbers of transfers.
const FROM: u8 = 0;
const TO: u8 = 1;

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
}

/// One end of a connection, as the process of a CPU that uses it.
pub(crate) struct End<'a> {
    cpu: &'a Cpu,
    clusters: &'a Clusters,
    mechanism: Mechanism,
    layout: Layout,
    /// This cluster, this CPU's number in it, and the cluster of the other end.
    own: usize,
    number: u8,
    other: usize,
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
    /// The end of a CPU, whose other end is in another cluster. `None` if the CPU is in none.
    pub fn new(
        cpu: &'a Cpu,
        mechanism: Mechanism,
        layout: Layout,
        other: usize,
    ) -> Option<End<'a>> {
        let clusters = cpu.chip().clusters.as_ref()?;
        let (own, number) = cpu.chip().cluster_of(cpu.core())?;
        let number = u8::try_from(number).ok()?;
        let (passed, busy) = (0, false);
        Some(End { cpu, clusters, mechanism, layout, own, number, other, passed, busy })
    }

    /// The memory of this end's buffers.
    pub fn memory(&self) -> usize {
        self.clusters.all[self.own].memory
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
        if self.mechanism == Mechanism::Bmm {
            let to = Endpoint { cluster: self.other as u16, cpu: 0, port: TO }.word();
            let (base, words, credits) = (self.base(), self.words(), self.clusters.manager.credits);
            let entry = match self.clusters.manager.partitioning {
                Partitioning::AtReceiver => vec![to, credits],
                Partitioning::Apart => vec![to, base, words | credits << 16],
                Partitioning::AtSender => vec![to, base, words],
            };
            self.ask((Way::Write, Kind::Setup, FROM), &entry)?;
        }
        self.changed(READY, 0).map(|_| ())
    }

    /// Sets a receiver up and tells its sender.
    pub fn open_receiver(&self) -> Result<(), Broken> {
        if self.mechanism == Mechanism::Bmm {
            let from = Endpoint { cluster: self.other as u16, cpu: 0, port: FROM }.word();
            let sizes = self.words() | self.clusters.manager.threshold << 16;
            let entry = match self.clusters.manager.partitioning {
                Partitioning::AtReceiver | Partitioning::Apart => vec![from, self.base(), sizes],
                Partitioning::AtSender => vec![from, self.words()],
            };
            self.ask((Way::Read, Kind::Setup, TO), &entry)?;
        }
        Ok(self.cpu.bus_store(shared(self.other, READY), 1)?)
    }

    /// Where the buffer manager's FIFO begins, in whichever cluster has it.
    fn base(&self) -> u32 {
        if self.clusters.manager.hardware { 0 } else { self.layout.fifo.0 }
    }

    /// The words of that FIFO.
    fn words(&self) -> u32 {
        self.layout.fifo.1 / 4
    }

    /// Sends so many bytes of a buffer. The buffer may change once the next packet was sent, or
    /// [`End::settle`] returns.
    pub fn send(&mut self, buffer: u32, bytes: u32) -> Result<(), Broken> {
        match self.mechanism {
            Mechanism::Dma => {
                self.spend(self.calls().dma_send);
                let room = self.layout.fifo.1 - bytes;
                self.until(READ, |read, passed| passed.wrapping_sub(read) <= room)?;
                for (at, in_fifo, len) in self.parts(bytes) {
                    let to = shared(self.other, in_fifo);
                    self.transfer(shared(self.own, buffer + at), to, len)?;
                }
                self.passed = self.passed.wrapping_add(bytes);
                Ok(self.cpu.bus_store(shared(self.other, WRITTEN), self.passed)?)
            }
            Mechanism::Bmm => {
                self.spend(self.calls().bmm_send);
                self.settle()?;
                let words = [shared(self.own, buffer), bytes];
                self.ask((Way::Write, Kind::Indirect, FROM), &words)?;
                self.busy = true;
                Ok(())
            }
        }
    }

    /// Waits until what was sent has left its buffer.
    pub fn settle(&mut self) -> Result<(), Broken> {
        if std::mem::take(&mut self.busy) {
            self.cpu.wait_transfer(FROM)?;
        }
        Ok(())
    }

    /// Receives so many bytes into the receiver's buffer.
    pub fn receive(&mut self, bytes: u32) -> Result<(), Broken> {
        let target = self.layout.target;
        match self.mechanism {
            Mechanism::Dma => {
                self.spend(self.calls().dma_receive);
                self.until(WRITTEN, |written, passed| written.wrapping_sub(passed) >= bytes)?;
                for (at, in_fifo, len) in self.parts(bytes) {
                    let to = shared(self.own, target + at);
                    self.transfer(shared(self.own, in_fifo), to, len)?;
                }
                self.passed = self.passed.wrapping_add(bytes);
                Ok(self.cpu.bus_store(shared(self.other, READ), self.passed)?)
            }
            Mechanism::Bmm => {
                self.spend(self.calls().bmm_receive);
                self.ask((Way::Read, Kind::Indirect, TO), &[shared(self.own, target), bytes])?;
                Ok(self.cpu.wait_transfer(TO)?)
            }
        }
    }

    /// The parts of a packet: where they are in it and in the FIFO, whose end it may go round.
    fn parts(&self, bytes: u32) -> impl Iterator<Item = (u32, u32, u32)> + use<> {
        let (base, size) = self.layout.fifo;
        let start = self.passed % size;
        let first = bytes.min(size - start);
        let parts = [(0, base + start, first), (first, base, bytes - first)];
        parts.into_iter().filter(|(_, _, len)| *len > 0)
    }

    /// Has the DMA move bytes and waits until it has.
    fn transfer(&self, from: u32, to: u32, len: u32) -> Result<(), Broken> {
        for (register, value) in DmaRegister::ALL.into_iter().zip([from, to, len, FROM.into()]) {
            let register = in_cluster(self.own, register.address(self.number));
            self.cpu.bus_store(register, value)?;
        }
        Ok(self.cpu.wait_transfer(FROM)?)
    }

    /// Makes a request of the buffer manager.
    fn ask(&self, (way, kind, port): (Way, Kind, u8), words: &[u32]) -> Result<(), Broken> {
        for (at, word) in words.iter().enumerate() {
            let end = at + 1 == words.len();
            let access = Access { way, kind, end, port, cpu: self.number };
            self.cpu.bus_store(in_cluster(self.own, access.address()), *word)?;
        }
        Ok(())
    }

    /// Looks at a pointer of the other side until it is as it has to be.
    fn until(&self, pointer: u32, ready: impl Fn(u32, u32) -> bool) -> Result<(), Broken> {
        let mut value = self.cpu.bus_load(shared(self.own, pointer))?.unwrap_or(0);
        while !ready(value, self.passed) {
            value = self.changed(pointer, value)?;
        }
        Ok(())
    }

    /// What a word of this cluster's shared memory is once it is no longer `value`.
    fn changed(&self, offset: u32, value: u32) -> Result<u32, Broken> {
        self.cpu.spin(self.memory(), offset, value, Time::NEVER).ok_or(Broken::Over)
    }
}
