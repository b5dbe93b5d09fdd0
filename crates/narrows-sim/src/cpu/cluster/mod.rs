//! Clusters as the cores in them use them: by loads and stores of global addresses. Each block of a
//! cluster, and the network between them, is a process of its own that takes time and no core.

mod blocks;
mod fifo;
mod frames;
mod function;
mod incoming;
mod kept;
mod line;
mod link;
mod machine;
mod rest;

pub use crate::part::block_dma::Register as DmaRegister;
pub use crate::part::buffer_manager::{Access, Endpoint, Kind, Way};
pub use crate::part::fault::{Fault, Noted};
pub use crate::part::synchroniser::EventRegister;
pub use crate::part::window::{in_cluster, shared};
pub(super) use blocks::work;
pub use function::Served;
pub use line::{Line, Mechanism, Side};
pub(super) use link::{Carried, End, entries, holds_frames, side_bytes};
pub(super) use machine::{Clusters, Worker, workers};

use super::Cpu;
use crate::events::state::WokenBy;
use crate::part::buffer_manager::{Loaded, Stored};
use crate::part::window::{self, Part};
use crate::time::Time;
use machine::{Message, Spot};

/// A fault that a block of a cluster has signalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signalled {
    /// When.
    pub at: Time,
    /// Of which cluster, by its place in the chip.
    pub cluster: usize,
    /// What it is.
    pub noted: Noted,
}

impl Cpu {
    /// Stores a word at a global address, as an instruction of this core: over the cluster's bus. A
    /// store to another cluster is posted: the core goes on once the interface has taken it.
    ///
    /// # Errors
    /// What a block signals. So does an address at which there is nothing; see [`Fault`].
    pub fn bus_store(&self, address: u32, word: u32) -> Result<(), Fault> {
        let Some(own) = self.cluster() else { return Err(Fault::Address) };
        let (to, part) = self.reach(own, address, 4)?;
        let memory = self.shared_memory(own).ok_or(Fault::Address)?;
        match part {
            Part::Shared(offset) if to == own => {
                self.store(memory, offset, word);
                self.arrived(own, Spot::Word(offset));
            }
            Part::Shared(offset) => {
                self.bus_access(memory);
                let bytes = word.to_le_bytes().to_vec();
                self.send_over(own, to, Message::Write { offset, bytes });
            }
            Part::Manager(register) => {
                self.bus_access(memory);
                let stored = self.with_cluster(own, |blocks| blocks.manager.store(register, word));
                if let Stored::Queued(way) = stored.ok_or(Fault::Address)?? {
                    self.wake_worker(own, Worker::of(way));
                }
            }
            Part::Dma(register) => {
                self.bus_access(memory);
                let begun = self.with_cluster(own, |blocks| blocks.dma.store(register, word));
                if begun.ok_or(Fault::Address)?? {
                    self.wake_worker(own, Worker::Dma);
                }
            }
            Part::Events(register) => {
                self.bus_access(memory);
                let of = EventRegister::of(register);
                let stored = self.with_cluster(own, |blocks| blocks.events.store(of?, word));
                return stored.flatten().ok_or_else(|| self.signal(own, Fault::NotARequest));
            }
        }
        Ok(())
    }

    /// Loads a word from a global address. A load from another cluster holds this core up until the
    /// answer has come. `None` if the word is that of a port to which nothing has come.
    ///
    /// # Errors
    /// As of [`Cpu::bus_store`].
    pub fn bus_load(&self, address: u32) -> Result<Option<u32>, Fault> {
        let Some(own) = self.cluster() else { return Err(Fault::Address) };
        let (from, part) = self.reach(own, address, 4)?;
        let memory = self.shared_memory(own).ok_or(Fault::Address)?;
        match part {
            Part::Shared(offset) if from == own => Ok(Some(self.load(memory, offset))),
            Part::Shared(offset) => {
                self.bus_access(memory);
                let bytes = self.fetch_from(own, from, offset, 4);
                Ok(bytes.first_chunk().map(|word| u32::from_le_bytes(*word)))
            }
            Part::Manager(register) => {
                self.bus_access(memory);
                let loaded = self.with_cluster(own, |blocks| blocks.manager.load(register));
                match loaded.ok_or(Fault::Address)?? {
                    Loaded::Word(word) => Ok(Some(word)),
                    Loaded::Nothing => Ok(None),
                    Loaded::Next(taken) => {
                        let word = match taken.from {
                            Some(from) => self.fetch_words(own, from, 1),
                            None => self.read_places(own, &taken.places),
                        };
                        self.give_credit(own, &taken);
                        Ok(word.first_chunk().map(|word| u32::from_le_bytes(*word)))
                    }
                }
            }
            Part::Dma(_) => Err(self.signal(own, Fault::NotARequest)),
            Part::Events(register) => {
                self.bus_access(memory);
                let of = EventRegister::of(register);
                let loaded = self.with_cluster(own, |blocks| blocks.events.load(of?)).flatten();
                loaded.map(Some).ok_or_else(|| self.signal(own, Fault::NotARequest))
            }
        }
    }

    /// Waits until a transfer of this core is done, and clears its event: the mask is set, those
    /// that earlier waits left in other registers are cleared, the core rests until the
    /// synchroniser finds it matched, and the event's bit is cleared.
    ///
    /// # Errors
    /// The core is in no cluster.
    pub fn wait_transfer(&self, id: u8) -> Result<(), Fault> {
        let (own, cpu) = self.chip().cluster_of(self.core()).ok_or(Fault::Address)?;
        let cpu = cpu as u8;
        let (events, bit) = EventRegister::of_transfer(cpu, id);
        let mask = EventRegister { mask: true, ..events };
        let masked = self.with_cluster(own, |blocks| blocks.events.masked(cpu));
        for other in masked.into_iter().flatten().filter(|other| *other != mask) {
            self.bus_store(in_cluster(own, other.address()), 0)?;
        }
        self.bus_store(in_cluster(own, mask.address()), bit)?;
        loop {
            let mut matched = false;
            self.act(|state, process| {
                let mut clusters = self.machine().clusters.borrow_mut();
                let Some(blocks) = clusters.blocks.get_mut(own) else { return false };
                matched = blocks.events.matches(cpu);
                if !matched {
                    blocks.waiting.push((cpu, process));
                    state.sleep(process, WokenBy::default(), "an event of its cluster");
                }
                !matched
            });
            if matched || self.gone() {
                break;
            }
        }
        self.bus_store(in_cluster(own, events.address()), bit)
    }

    /// Bytes that went into the network so far, headers and padding among them.
    #[must_use]
    pub fn network_bytes(&self) -> u64 {
        let clusters = self.machine().clusters.borrow();
        clusters.network.as_ref().map_or(0, |network| network.bytes())
    }

    /// What the blocks of all clusters have signalled since this was last asked, in order.
    #[must_use]
    pub fn take_signalled(&self) -> Vec<Signalled> {
        std::mem::take(&mut self.machine().clusters.borrow_mut().signalled)
    }

    /// The cluster that this core is in.
    fn cluster(&self) -> Option<usize> {
        self.chip().cluster_of(self.core()).map(|(cluster, _)| cluster)
    }

    /// The cluster and the part of an address from which on this cluster reaches `len` bytes: of
    /// other clusters the shared memory alone. Anything else is signalled.
    pub(super) fn reach(&self, own: usize, address: u32, len: u32) -> Result<(usize, Part), Fault> {
        let found = window::part(address).filter(|(cluster, part)| match part {
            Part::Shared(offset) => self.shared_memory(*cluster).is_some_and(|memory| {
                let size = u64::from(self.chip().memories[memory].size);
                offset.is_multiple_of(4) && u64::from(*offset) + u64::from(len) <= size
            }),
            _ => *cluster == own,
        });
        found.ok_or_else(|| self.signal(own, Fault::Address))
    }

    /// The shared memory of a cluster.
    fn shared_memory(&self, cluster: usize) -> Option<usize> {
        let clusters = self.chip().clusters.as_ref()?;
        clusters.all.get(cluster).map(|cluster| cluster.memory)
    }

    /// An access to something on the bus of a memory that is not in it: it takes what a word does.
    fn bus_access(&self, memory: usize) {
        self.load_nothing(memory, 0, 4);
    }
}
