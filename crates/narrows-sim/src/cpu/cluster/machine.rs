//! What clusters hold, and the processes that work on it.

use super::{Line, Served, Side, Signalled};
use crate::chip::{self, Chip};
use crate::cpu::{Cpu, Machine};
use crate::events::state::{Progress, State};
use crate::part::block_dma::BlockDma;
use crate::part::buffer_manager::{BufferManager, Shape, Way};
use crate::part::fault::{Fault, Noted};
use crate::part::noc::{self, Network};
use crate::part::synchroniser::Synchroniser;
use crate::time::Time;
use std::collections::{HashMap, VecDeque};

/// A process that is a part of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Worker {
    /// Takes what the network brings, and puts data into FIFOs: the interface, with the BMW and the
    /// receiving half of the credit manager.
    Interface,
    /// The DMA.
    Dma,
    /// The BMI.
    Writer,
    /// The BMR, with the sending half of the credit manager.
    Reader,
    /// The function that has this number behind the cluster's CPUs.
    Function(u8),
}

impl Worker {
    /// Those that each cluster has.
    const EACH: [Worker; 4] = [Worker::Interface, Worker::Dma, Worker::Writer, Worker::Reader];

    /// The one that sees to requests of a way.
    pub fn of(way: Way) -> Worker {
        match way {
            Way::Write => Worker::Writer,
            Way::Read => Worker::Reader,
        }
    }
}

/// The workers of a chip: by cluster, then the network's, which has none, and then functions.
pub(in crate::cpu) fn workers(chip: &Chip) -> Vec<Option<(usize, Worker)>> {
    let Some(clusters) = &chip.clusters else { return Vec::new() };
    let each = (0..clusters.all.len()).flat_map(|at| Worker::EACH.map(|one| Some((at, one))));
    let functions = clusters.accelerators.iter().enumerate().filter_map(|(at, one)| {
        let number = u8::try_from(clusters.accelerator_number(at)?).ok()?;
        Some(Some((one.cluster, Worker::Function(number))))
    });
    each.chain([None]).chain(functions).collect()
}

/// What goes over the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// Bytes for an offset of the shared memory.
    Write { offset: u32, bytes: Vec<u8> },
    /// Somebody of another cluster wants to read.
    Read { offset: u32, len: u32, from: usize, process: usize },
    /// What a process wanted to read.
    Answer { process: usize, bytes: Vec<u8> },
    /// Words for a port.
    Data { port: u8, bytes: Vec<u8> },
    /// Credit for a port, in words; where the sender has the FIFO: words that are there.
    Credit { port: u8, words: u32 },
    /// Words for a place of a FIFO, by a writer that keeps its pointer itself.
    Place { at: u32, bytes: Vec<u8> },
    /// The pointer of that writer: words that it has put there.
    Pointer { port: u8, words: u32 },
    /// Somebody of another cluster reads words out of the FIFO of a port.
    Fetch { port: u8, words: u32, from: usize, process: usize },
}

impl Message {
    /// Bytes of its payload. What a port or a number of a few bits needs is in the header.
    fn bytes(&self) -> usize {
        const ADDRESS: usize = 4;
        match self {
            Message::Write { bytes, .. } | Message::Place { bytes, .. } => ADDRESS + bytes.len(),
            Message::Read { .. } => ADDRESS + 4,
            Message::Answer { bytes, .. } | Message::Data { bytes, .. } => bytes.len(),
            Message::Credit { .. } | Message::Pointer { .. } | Message::Fetch { .. } => 4,
        }
    }
}

/// The blocks of a cluster.
pub(in crate::cpu) struct Blocks {
    pub(super) at: noc::Spot,
    pub(super) inbox: VecDeque<Message>,
    pub(super) dma: BlockDma,
    pub(super) events: Synchroniser,
    pub(super) manager: BufferManager,
    /// FIFOs that are not in the shared memory.
    pub(super) own: Vec<u8>,
    /// Processes that rest until an event of their CPU.
    pub(super) waiting: Vec<(u8, usize)>,
    /// The processes of its workers.
    workers: HashMap<Worker, usize>,
}

/// A place of a cluster to which something comes that a process is to hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Spot {
    /// A port of the buffer manager.
    Port(u8),
    /// A word of the shared memory.
    Word(u32),
}

/// A process that rests until something comes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rest {
    /// Something has, since it last looked.
    pub come: bool,
    /// It rests now.
    pub rests: bool,
}

/// All clusters of a chip.
#[derive(Default)]
pub(in crate::cpu) struct Clusters {
    pub(super) network: Option<Network<Message>>,
    pub(super) blocks: Vec<Blocks>,
    pub(super) signalled: Vec<Signalled>,
    /// What was read for each process that waits for it.
    pub(super) answers: HashMap<usize, Vec<u8>>,
    /// Which process hears of what comes to a place of a cluster, of a port from how many words on.
    pub(super) hears: HashMap<(usize, Spot), (usize, u32)>,
    /// Processes that have links over frames.
    pub(super) rests: HashMap<usize, Rest>,
    /// What each accelerator has done.
    pub(super) served: Vec<Served>,
    /// The process of the network.
    carrier: Option<usize>,
}

impl Clusters {
    pub fn new(chip: &Chip) -> Clusters {
        let Some(facts) = &chip.clusters else { return Clusters::default() };
        let blocks = facts.all.iter().enumerate().map(|(at, cluster)| {
            let chip::BufferManager { partitioning, ports, requests, hardware, words, .. } =
                facts.manager;
            let cpus = cluster.cores.len();
            let own = if hardware { ports * words * 4 } else { 0 };
            let shared = if hardware { own } else { chip.memories[cluster.memory].size };
            let [ports, requests] = [ports, requests].map(|count| count as usize);
            let shape = Shape { partitioning, cpus, ports, requests, shared };
            Blocks {
                at: cluster.at,
                inbox: VecDeque::new(),
                dma: BlockDma::new(cpus, facts.dma.jobs as usize),
                events: Synchroniser::new(cpus),
                manager: BufferManager::with_functions(
                    shape,
                    facts.accelerators_of(at).map(|(_, one)| one.block / 4),
                ),
                own: vec![0; own as usize],
                waiting: Vec::new(),
                workers: HashMap::new(),
            }
        });
        Clusters {
            network: Some(Network::new(facts.noc)),
            blocks: blocks.collect(),
            served: vec![Served::default(); facts.accelerators.len()],
            ..Clusters::default()
        }
    }

    /// The cluster at a spot of the mesh.
    pub(super) fn at(&self, spot: noc::Spot) -> Option<usize> {
        self.blocks.iter().position(|blocks| blocks.at == spot)
    }

    /// The process of a worker of a cluster.
    pub(super) fn worker(&self, cluster: usize, worker: Worker) -> Option<usize> {
        self.blocks.get(cluster)?.workers.get(&worker).copied()
    }

    /// Whether nothing is under way between the two ports of a line.
    pub(super) fn is_quiet(&self, line: &Line) -> bool {
        let manager = |side: Side| self.blocks.get(side.cluster).map(|blocks| &blocks.manager);
        let (Some(from), Some(to)) = (manager(line.from), manager(line.to)) else { return false };
        from.accounts(line.from.port, to, line.to.port)
    }

    /// Empties the entries of the two ports of a line.
    pub(super) fn forget(&mut self, line: &Line) {
        for side in [line.from, line.to] {
            if let Some(blocks) = self.blocks.get_mut(side.cluster) {
                blocks.manager.forget(side.port);
            }
        }
    }

    /// Stores a word of an entry of the tables, for nothing. False if it is refused.
    pub(in crate::cpu) fn enter(
        &mut self,
        cluster: usize,
        register: u32,
        word: u32,
        at: Time,
    ) -> bool {
        let blocks = self.blocks.get_mut(cluster);
        let entered = blocks.is_some_and(|blocks| blocks.manager.store(register, word).is_ok());
        self.note(cluster, at);
        entered
    }

    /// Notes what the blocks of a cluster have signalled, with the moment.
    fn note(&mut self, cluster: usize, at: Time) {
        if let Some(blocks) = self.blocks.get_mut(cluster) {
            let all = blocks.manager.faults.drain(..).chain(blocks.dma.faults.drain(..));
            self.signalled.extend(all.map(|noted| Signalled { at, cluster, noted }));
        }
    }
}

impl Machine {
    /// A process is a worker of a cluster, or the network's.
    pub fn works_for_cluster(&self, process: usize, worker: Option<(usize, Worker)>) {
        let mut clusters = self.clusters.borrow_mut();
        match worker {
            None => clusters.carrier = Some(process),
            Some((cluster, worker)) => {
                if let Some(blocks) = clusters.blocks.get_mut(cluster) {
                    blocks.workers.insert(worker, process);
                }
            }
        }
    }
}

/// Wakes a worker that rests.
pub(super) fn wake(state: &mut State, worker: Option<usize>) {
    if let Some(worker) = worker
        && state.processes[worker].progress == Progress::Asleep
    {
        state.wake(worker, Time::ZERO);
    }
}

impl Cpu {
    /// Does something with the blocks of a cluster, and notes what they signal. `None` if this
    /// process is being taken down.
    pub(super) fn with_cluster<T>(
        &self,
        cluster: usize,
        what: impl FnOnce(&mut Blocks) -> T,
    ) -> Option<T> {
        let mut result = None;
        self.act(|state, _| {
            let mut clusters = self.machine().clusters.borrow_mut();
            result = clusters.blocks.get_mut(cluster).map(what);
            clusters.note(cluster, state.now);
            false
        });
        result
    }

    pub(super) fn wake_worker(&self, cluster: usize, worker: Worker) {
        self.act(|state, _| {
            let process = self.machine().clusters.borrow().worker(cluster, worker);
            wake(state, process);
            false
        });
    }

    /// Signals a fault of a cluster that is no block's.
    pub(super) fn signal(&self, cluster: usize, fault: Fault) -> Fault {
        let noted = Noted { fault, cpu: None, port: None };
        self.act(|state, _| {
            let at = state.now;
            let signalled = Signalled { at, cluster, noted };
            self.machine().clusters.borrow_mut().signalled.push(signalled);
            false
        });
        fault
    }

    /// Hands a message to the interface of a cluster, once that has room.
    pub(super) fn send_over(&self, from: usize, to: usize, message: Message) {
        let mut message = Some(message);
        loop {
            let mut wait = Time::ZERO;
            self.act(|state, _| {
                let mut clusters = self.machine().clusters.borrow_mut();
                let spots = [from, to].map(|one| clusters.blocks.get(one).map(|one| one.at));
                let ([Some(here), Some(there)], carrier) = (spots, clusters.carrier) else {
                    return false;
                };
                let Some(network) = &mut clusters.network else { return false };
                wait = network.room(here, state.now).since(state.now);
                if wait == Time::ZERO
                    && let Some(message) = message.take()
                {
                    let bytes = message.bytes();
                    // Both are in the mesh and not the same: there is a way.
                    let _ = network.inject(
                        state.now,
                        (here, there),
                        bytes,
                        message,
                        |stage, [from, to]| state.trace_link(&stage, from, to),
                    );
                    wake(state, carrier);
                }
                false
            });
            if wait == Time::ZERO {
                return;
            }
            self.compute(wait);
        }
    }

    /// What another cluster's shared memory holds, once the answer has come.
    pub(super) fn fetch_from(&self, own: usize, from: usize, offset: u32, len: u32) -> Vec<u8> {
        let process = self.process();
        self.answer(own, from, Message::Read { offset, len, from: own, process }, len)
    }

    /// What another cluster answers to a message, in `len` bytes.
    pub(super) fn answer(&self, own: usize, from: usize, message: Message, len: u32) -> Vec<u8> {
        let process = self.process();
        self.send_over(own, from, message);
        let clock = self.bus_clock(own);
        loop {
            // The instruction is not over: the core does nothing else.
            self.compute(clock.cycles(1));
            let answer = self.machine().clusters.borrow_mut().answers.remove(&process);
            match answer {
                Some(bytes) => return bytes,
                None if self.gone() => return vec![0; len as usize],
                None => {}
            }
        }
    }
}
