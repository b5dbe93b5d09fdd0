//! What the network and the blocks of clusters do, each as a process that takes time.

use super::function;
use super::machine::{Message, Spot, Worker, wake};
use crate::chip::{self, Partitioning};
use crate::cpu::Cpu;
use crate::events::state::WokenBy;
use crate::part::block_dma::Transfer;
use crate::part::buffer_manager::{What, Write};
use crate::part::fault::Fault;
use crate::part::window::Part;
use crate::time::{Cost, Frequency, Time};
use std::cmp::min;

/// What a worker does, until it is taken down.
pub(in crate::cpu) fn work(cpu: &Cpu, worker: Option<(usize, Worker)>) {
    let Some((own, worker)) = worker else { return while carry(cpu).is_some() {} };
    let step = match worker {
        Worker::Interface => take_in,
        Worker::Dma => copy,
        Worker::Writer => send,
        Worker::Reader => read,
        Worker::Function(number) => {
            return while function::serve(cpu, own, number).is_some() {};
        }
    };
    while step(cpu, own).is_some() {}
}

/// Lets the network go on until something happens in it, and brings what has come.
fn carry(cpu: &Cpu) -> Option<()> {
    cpu.act(|state, own| {
        let mut clusters = cpu.machine().clusters.borrow_mut();
        let Some(network) = &mut clusters.network else { return false };
        let now = state.now;
        let come = network.advance(now, |stage, [from, to]| state.trace_link(&stage, from, to));
        let next = network.next();
        for (spot, message) in come {
            let Some(cluster) = clusters.at(spot) else { continue };
            clusters.blocks[cluster].inbox.push_back(message);
            wake(state, clusters.worker(cluster, Worker::Interface));
        }
        if let Some(next) = next {
            state.set_timer(own, next);
        }
        state.sleep(own, WokenBy::default(), "a packet");
        true
    });
    cpu.end_wait();
    (!cpu.gone()).then_some(())
}

/// Sees to a message that the network has brought.
fn take_in(cpu: &Cpu, own: usize) -> Option<()> {
    let message = cpu.wait_for_work(own, |blocks| blocks.inbox.pop_front())?;
    let memory = cpu.shared_memory(own)?;
    match message {
        Message::Write { offset, bytes } => {
            cpu.store_bytes(memory, offset, &bytes);
            cpu.arrived(own, Spot::Word(offset));
        }
        Message::Read { offset, len, from, process } => {
            let mut bytes = vec![0; len as usize];
            cpu.load_bytes(memory, offset, &mut bytes);
            cpu.send_over(own, from, Message::Answer { process, bytes });
        }
        Message::Answer { process, bytes } => {
            cpu.act(|_, _| {
                cpu.machine().clusters.borrow_mut().answers.insert(process, bytes);
                false
            });
        }
        Message::Data { port, bytes } => {
            let words = bytes.len() as u32 / 4;
            cpu.spend(own, cpu.manager()?.lookup);
            let places = cpu.with_cluster(own, |blocks| blocks.manager.arrive(port, words))?;
            if let Ok(places) = places {
                cpu.write_places(own, &places, &bytes);
                cpu.with_cluster(own, |blocks| blocks.manager.written(port, words))?;
                cpu.wake_worker(own, Worker::Reader);
                cpu.arrived(own, Spot::Port(port));
            }
        }
        Message::Credit { port, words } => {
            cpu.spend(own, cpu.manager()?.lookup);
            // What is wrong with it is noted.
            let _ = cpu.with_cluster(own, |blocks| blocks.manager.credit(port, words))?;
            let at_sender = cpu.manager()?.partitioning == Partitioning::AtSender;
            cpu.wake_worker(own, if at_sender { Worker::Reader } else { Worker::Writer });
            cpu.arrived(own, Spot::Port(port));
        }
        Message::Place { at, bytes } => cpu.write_place(own, at, &bytes),
        Message::Pointer { port, words } => {
            cpu.spend(own, cpu.manager()?.lookup);
            // What is wrong with it is noted.
            let _ = cpu.with_cluster(own, |blocks| blocks.manager.pointer(port, words))?;
            cpu.wake_worker(own, Worker::Reader);
            cpu.arrived(own, Spot::Port(port));
        }
        Message::Fetch { port, words, from, process } => {
            let bytes = cpu.serve_words(own, port, words);
            cpu.send_over(own, from, Message::Answer { process, bytes });
        }
    }
    cpu.feed(own);
    (!cpu.gone()).then_some(())
}

/// Does a transfer of the DMA.
fn copy(cpu: &Cpu, own: usize) -> Option<()> {
    let transfer = cpu.wait_for_work(own, |blocks| blocks.dma.next())?;
    let facts = cpu.chip().clusters.as_ref()?.dma;
    cpu.spend(own, facts.start);
    let Transfer { cpu: of, id, from, to, bytes } = transfer;
    cpu.move_bytes(own, (from, to), bytes, facts.burst);
    cpu.tell(own, of, id);
    (!cpu.gone()).then_some(())
}

/// Sends what a request to write says.
fn send(cpu: &Cpu, own: usize) -> Option<()> {
    let write = cpu.wait_for_work(own, |blocks| blocks.manager.next_write())?;
    let facts = cpu.manager()?;
    cpu.spend(own, facts.lookup);
    let Write { what, bytes, .. } = write;
    match what {
        What::Copy { from, to } => cpu.move_bytes(own, (from, to), bytes, facts.burst),
        What::Word { to, .. } | What::Buffer { to, .. } => cpu.pass_on(own, &write, to)?,
    }
    cpu.with_cluster(own, |blocks| blocks.manager.sent(&write))?;
    cpu.has_sent(own, &write);
    (!cpu.gone()).then_some(())
}

/// Copies from a FIFO what a request to read says.
fn read(cpu: &Cpu, own: usize) -> Option<()> {
    let taken = cpu.wait_for_work(own, |blocks| blocks.manager.next_read())?;
    let facts = cpu.manager()?;
    cpu.spend(own, facts.lookup);
    let mut to = taken.to?;
    if let Some(from) = taken.from {
        cpu.read_from(own, from, (taken.cpu, to), taken.words);
    }
    for (from, words) in &taken.places {
        let (mut at, end) = (*from, from + words * 4);
        while at < end {
            let len = min(end - at, facts.burst);
            let bytes = cpu.read_places(own, &[(at, len / 4)]);
            if cpu.put_read(own, taken.cpu, to, bytes).is_none() {
                break;
            }
            (at, to) = (at + len, to.wrapping_add(len));
        }
    }
    cpu.give_credit(own, &taken);
    cpu.has_read(own, &taken);
    (!cpu.gone()).then_some(())
}

impl Cpu {
    pub(super) fn manager(&self) -> Option<chip::BufferManager> {
        self.chip().clusters.as_ref().map(|clusters| clusters.manager)
    }

    /// Bytes of data of the longest packet.
    pub(super) fn packet(&self) -> u32 {
        self.chip().clusters.as_ref().map_or(4, |clusters| clusters.noc.packet)
    }

    pub(super) fn bus_clock(&self, cluster: usize) -> Frequency {
        let memory = self.shared_memory(cluster).map(|memory| &self.chip().memories[memory]);
        memory.map_or(Frequency(1), |memory| self.chip().buses[memory.bus].clock)
    }

    pub(super) fn spend(&self, own: usize, cost: Cost) {
        self.compute(cost.at(self.bus_clock(own)));
    }

    /// Waits, as a worker, until there is something to do. `None` if this process is being taken
    /// down.
    pub(super) fn wait_for_work<T>(
        &self,
        own: usize,
        mut next: impl FnMut(&mut super::machine::Blocks) -> Option<T>,
    ) -> Option<T> {
        self.wait_until("work", || {
            self.machine().clusters.borrow_mut().blocks.get_mut(own).and_then(&mut next)
        })
    }

    /// Bytes at a global address. `None`, which is signalled, if there is no memory.
    pub(super) fn get_global(&self, own: usize, address: u32, len: u32) -> Option<Vec<u8>> {
        let (from, part) = self.reach(own, address, len).ok()?;
        let Part::Shared(offset) = part else {
            self.signal(own, Fault::Address);
            return None;
        };
        if from != own {
            return Some(self.fetch_from(own, from, offset, len));
        }
        let mut bytes = vec![0; len as usize];
        self.load_bytes(self.shared_memory(own)?, offset, &mut bytes);
        Some(bytes)
    }

    /// Puts bytes to a global address. `None`, which is signalled, if there is no memory.
    pub(super) fn put_global(&self, own: usize, address: u32, bytes: Vec<u8>) -> Option<()> {
        let (to, part) = self.reach(own, address, bytes.len() as u32).ok()?;
        match part {
            Part::Shared(offset) if to == own => {
                self.store_bytes(self.shared_memory(own)?, offset, &bytes);
            }
            Part::Shared(offset) => self.send_over(own, to, Message::Write { offset, bytes }),
            _ => {
                self.signal(own, Fault::Address);
                return None;
            }
        }
        Some(())
    }

    /// Moves bytes from one global address to another, in bursts that fit a packet. What cannot be
    /// is signalled, and ends it.
    fn move_bytes(&self, own: usize, (from, to): (u32, u32), bytes: u32, burst: u32) {
        let most = min(burst, self.packet());
        let mut gone = 0;
        while gone < bytes && !self.gone() {
            let len = min(bytes - gone, most);
            let part = self.get_global(own, from.wrapping_add(gone), len);
            let Some(part) = part else { return };
            if self.put_global(own, to.wrapping_add(gone), part).is_none() {
                return;
            }
            gone += len;
        }
    }

    /// Sends data to a port, of this cluster or another.
    pub(super) fn send_data(&self, own: usize, to: usize, message: Message) {
        if to != own {
            let known = self.chip().clusters.as_ref().is_some_and(|all| to < all.all.len());
            if known {
                self.send_over(own, to, message);
            } else {
                self.signal(own, Fault::Address);
            }
            return;
        }
        self.act(|state, _| {
            let mut clusters = self.machine().clusters.borrow_mut();
            clusters.blocks[own].inbox.push_back(message);
            wake(state, clusters.worker(own, Worker::Interface));
            false
        });
    }

    /// A transfer of a CPU is done: its event is set, and the CPU goes on if it waits for that.
    pub(super) fn tell(&self, own: usize, of: u8, id: u8) {
        let wake = self.chip().clusters.as_ref().map_or(Cost::NONE, |all| all.dma.wake);
        let takes: Time = wake.at(self.bus_clock(own));
        self.act(|state, _| {
            let mut clusters = self.machine().clusters.borrow_mut();
            let Some(blocks) = clusters.blocks.get_mut(own) else { return false };
            blocks.events.signal(of, id);
            if blocks.events.matches(of) {
                blocks.waiting.retain(|(waits, process)| {
                    if *waits == of {
                        state.wake(*process, takes);
                    }
                    *waits != of
                });
            }
            false
        });
    }
}
