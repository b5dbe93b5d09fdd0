//! Connections from one CPU to another, over whichever mechanism: where their parts are, and the
//! accesses that set them up and use them.

use super::{Access, DmaRegister, Endpoint, Fault, Kind, Way, in_cluster, shared};
use crate::chip::{BufferManager, Chip, Partitioning};
use crate::cpu::Cpu;
use crate::time::Cost;

/// How data is moved between clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// By the DMA, through FIFOs of a library of software.
    Dma,
    /// By the buffer manager.
    Bmm,
}

impl Mechanism {
    /// All.
    pub const ALL: [Mechanism; 2] = [Mechanism::Dma, Mechanism::Bmm];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Dma => "dma",
            Mechanism::Bmm => "bmm",
        }
    }

    /// What the software of a send and of a receive takes on a chip, beside its accesses.
    #[must_use]
    pub fn calls(self, chip: &Chip) -> [Cost; 2] {
        let calls = chip.clusters.as_ref().map(|clusters| clusters.calls);
        calls.map_or([Cost::NONE; 2], |calls| match self {
            Mechanism::Dma => [calls.dma_send, calls.dma_receive],
            Mechanism::Bmm => [calls.bmm_send, calls.bmm_receive],
        })
    }

    /// Instructions of a send and of a receive by a core of a chip, one a cycle.
    #[must_use]
    pub fn instructions(self, chip: &Chip, core: usize) -> [u64; 2] {
        let Some(core) = chip.cores.get(core) else { return [0; 2] };
        self.calls(chip).map(|cost| core.clock.count(cost.at(core.clock)))
    }
}

/// One side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
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

impl Side {
    /// As the other side's tables name it.
    #[must_use]
    pub fn endpoint(self) -> Endpoint {
        // A chip has 16 clusters at most.
        Endpoint { cluster: self.cluster as u16, cpu: self.cpu, port: self.port }
    }

    /// The address of one of the connection's words on this side.
    #[must_use]
    pub fn word(self, offset: u32) -> u32 {
        shared(self.cluster, self.words + offset)
    }

    /// What it accesses for a write of a request to its buffer manager.
    #[must_use]
    pub fn access(self, (way, kind): (Way, Kind), end: bool) -> u32 {
        let access = Access { way, kind, end, port: self.port, cpu: self.cpu };
        in_cluster(self.cluster, access.address())
    }
}

/// A connection, from one CPU to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The side that sends.
    pub from: Side,
    /// The side that receives.
    pub to: Side,
    /// Bytes of its FIFO. The library's is at the receiver, the buffer manager's where the chip's
    /// partitioning has it.
    pub bytes: u32,
}

impl Line {
    /// Where the buffer manager's FIFO begins, in whichever cluster has it.
    fn base(&self, manager: &BufferManager) -> u32 {
        let side = match manager.partitioning {
            Partitioning::AtReceiver | Partitioning::Apart => self.to,
            Partitioning::AtSender => self.from,
        };
        // In the block itself each port has its own.
        let own = u32::from(side.port) * self.bytes;
        if manager.hardware { own } else { side.fifo }
    }

    /// The entry that the sender's table needs.
    #[must_use]
    pub fn sender(&self, manager: &BufferManager) -> Vec<u32> {
        let (to, credits) = (self.to.endpoint().word(), manager.credits);
        let (base, words) = (self.base(manager), self.bytes / 4);
        match manager.partitioning {
            Partitioning::AtReceiver => vec![to, credits],
            Partitioning::Apart => vec![to, base, words | credits << 16],
            Partitioning::AtSender => vec![to, base, words],
        }
    }

    /// The entry that the receiver's table needs.
    #[must_use]
    pub fn receiver(&self, manager: &BufferManager) -> Vec<u32> {
        let (from, words) = (self.from.endpoint().word(), self.bytes / 4);
        match manager.partitioning {
            Partitioning::AtReceiver | Partitioning::Apart => {
                vec![from, self.base(manager), words | manager.threshold << 16]
            }
            Partitioning::AtSender => vec![from, words],
        }
    }

    /// The parts of a stretch of `bytes` bytes that begins behind `passed` bytes: where they are in
    /// it and in the library's FIFO, whose end it may go round, and how long.
    pub fn parts(&self, passed: u32, bytes: u32) -> impl Iterator<Item = (u32, u32, u32)> + use<> {
        let (base, size) = (self.to.fifo, self.bytes);
        let start = passed % size;
        let first = bytes.min(size - start);
        let parts = [(0, base + start, first), (first, base, bytes - first)];
        parts.into_iter().filter(|(_, _, len)| *len > 0)
    }
}

impl Cpu {
    /// Has the DMA of this side move bytes and waits until it has.
    ///
    /// # Errors
    /// What the DMA signals.
    pub fn move_by_dma(&self, own: Side, from: u32, to: u32, len: u32) -> Result<(), Fault> {
        let words = [from, to, len, own.port.into()];
        for (register, value) in DmaRegister::ALL.into_iter().zip(words) {
            self.bus_store(in_cluster(own.cluster, register.address(own.cpu)), value)?;
        }
        self.wait_transfer(own.port)
    }

    /// Makes a request of this side's buffer manager.
    ///
    /// # Errors
    /// What the buffer manager signals.
    pub fn ask_manager(&self, own: Side, what: (Way, Kind), words: &[u32]) -> Result<(), Fault> {
        for (at, word) in words.iter().enumerate() {
            self.bus_store(own.access(what, at + 1 == words.len()), *word)?;
        }
        Ok(())
    }
}
