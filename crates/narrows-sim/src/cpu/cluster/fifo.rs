//! FIFOs of ports, in whichever cluster they are: how words go into them and out of them.

use super::machine::{Message, Spot, Worker};
use crate::chip::Partitioning;
use crate::cpu::Cpu;
use crate::part::buffer_manager::{Endpoint, Taken, What, Write};
use crate::part::fault::Fault;
use std::cmp::min;

impl Cpu {
    /// Does what a request to write to a port says: words go to the other cluster, with its writer
    /// there, or here; or into the FIFO of this one. `None` if this process is being taken down.
    pub(super) fn pass_on(&self, own: usize, write: &Write, to: Endpoint) -> Option<()> {
        let facts = self.manager()?;
        let (port, words) = (write.port, write.bytes / 4);
        let there = usize::from(to.cluster);
        let known = self.with_cluster(own, |blocks| blocks.manager.place(port, words))?;
        let places = known.unwrap_or_else(|| vec![(0, words)]);
        let most = min(facts.burst, self.packet());
        let mut gone = 0;
        'places: for (at, words) in places {
            let (mut at, end) = (at, at + words * 4);
            while at < end {
                let len = min(end - at, most);
                let bytes = match write.what {
                    What::Word { word, .. } => Some(word.to_le_bytes().to_vec()),
                    What::Buffer { from, .. } | What::Copy { from, .. } => {
                        self.get_sent(own, write.cpu, from.wrapping_add(gone), len)
                    }
                };
                // It is signalled. The pointers go on: what lies in the FIFO is read.
                let Some(bytes) = bytes else { break 'places };
                match facts.partitioning {
                    Partitioning::AtReceiver => {
                        self.send_data(own, there, Message::Data { port: to.port, bytes });
                    }
                    Partitioning::Apart => {
                        self.send_data(own, there, Message::Place { at, bytes });
                    }
                    Partitioning::AtSender => self.write_places(own, &[(at, len / 4)], &bytes),
                }
                (at, gone) = (at + len, gone + len);
            }
        }
        let port = to.port;
        match facts.partitioning {
            Partitioning::AtReceiver => {}
            Partitioning::Apart => self.send_data(own, there, Message::Pointer { port, words }),
            Partitioning::AtSender => {
                self.with_cluster(own, |blocks| blocks.manager.written(write.port, words))?;
                self.send_data(own, there, Message::Credit { port, words });
            }
        }
        Some(())
    }

    /// Reads words out of the FIFO at the other end to where a CPU, or a function, wants them, a
    /// burst after the other.
    pub(super) fn read_from(&self, own: usize, from: Endpoint, (cpu, to): (u8, u32), words: u32) {
        let Some(facts) = self.manager() else { return };
        let most = min(facts.burst, self.packet()) / 4;
        let (mut gone, mut there) = (0, true);
        while gone < words && !self.gone() {
            let count = min(words - gone, most);
            let bytes = self.fetch_words(own, from, count);
            // Words that have no place are signalled, and yet taken: the next are behind them.
            there = there && self.put_read(own, cpu, to.wrapping_add(gone * 4), bytes).is_some();
            gone += count;
        }
    }

    /// Words out of the FIFO of a port at the other end, once the answer has come.
    pub(super) fn fetch_words(&self, own: usize, from: Endpoint, words: u32) -> Vec<u8> {
        let (there, port) = (usize::from(from.cluster), from.port);
        if there == own {
            return self.serve_words(own, port, words);
        }
        let known = self.chip().clusters.as_ref().is_some_and(|all| there < all.all.len());
        if !known {
            self.signal(own, Fault::Address);
            return vec![0; words as usize * 4];
        }
        let process = self.process();
        self.answer(own, there, Message::Fetch { port, words, from: own, process }, words * 4)
    }

    /// Words that the other end reads out of the FIFO of a port of this cluster.
    pub(super) fn serve_words(&self, own: usize, port: u8, words: u32) -> Vec<u8> {
        if let Some(facts) = self.manager() {
            self.spend(own, facts.lookup);
        }
        match self.with_cluster(own, |blocks| blocks.manager.fetch(port, words)) {
            Some(Ok(places)) => {
                let bytes = self.read_places(own, &places);
                self.with_cluster(own, |blocks| blocks.manager.fetched(port, words));
                self.arrived(own, Spot::Port(port));
                self.wake_worker(own, Worker::Writer);
                bytes
            }
            // What is wrong is noted; the reader goes on.
            _ => vec![0; words as usize * 4],
        }
    }

    /// Writes bytes to a place of a FIFO that a writer of another cluster names.
    pub(super) fn write_place(&self, own: usize, at: u32, bytes: &[u8]) {
        let hardware = self.manager().is_some_and(|facts| facts.hardware);
        let shared = self.shared_memory(own).map(|memory| self.chip().memories[memory].size);
        let size = match hardware {
            true => self.with_cluster(own, |blocks| blocks.own.len() as u64).unwrap_or(0),
            false => u64::from(shared.unwrap_or(0)),
        };
        if u64::from(at) + bytes.len() as u64 > size {
            self.signal(own, Fault::Address);
            return;
        }
        self.write_places(own, &[(at, bytes.len() as u32 / 4)], bytes);
    }

    /// Writes bytes to places of a FIFO.
    pub(super) fn write_places(&self, own: usize, places: &[(u32, u32)], bytes: &[u8]) {
        let hardware = self.manager().is_some_and(|facts| facts.hardware);
        let Some(memory) = self.shared_memory(own) else { return };
        let mut rest = bytes;
        for (address, words) in places {
            let (part, behind) = rest.split_at(min(rest.len(), *words as usize * 4));
            rest = behind;
            if hardware {
                self.with_cluster(own, |blocks| {
                    blocks.own[*address as usize..][..part.len()].copy_from_slice(part);
                });
            } else {
                self.store_bytes(memory, *address, part);
            }
        }
    }

    /// Reads the bytes of places of a FIFO.
    pub(super) fn read_places(&self, own: usize, places: &[(u32, u32)]) -> Vec<u8> {
        let hardware = self.manager().is_some_and(|facts| facts.hardware);
        let mut all = Vec::new();
        for (address, words) in places {
            let mut part = vec![0; *words as usize * 4];
            if hardware {
                self.with_cluster(own, |blocks| {
                    let len = part.len();
                    part.copy_from_slice(&blocks.own[*address as usize..][..len]);
                });
            } else if let Some(memory) = self.shared_memory(own) {
                self.load_bytes(memory, *address, &mut part);
            }
            all.extend(part);
        }
        all
    }

    /// Words were read from a FIFO: its sender gets credit, if it is due.
    pub(super) fn give_credit(&self, own: usize, taken: &Taken) {
        let back = self.with_cluster(own, |blocks| blocks.manager.read(taken)).flatten();
        if let Some((to, words)) = back {
            self.send_data(own, to.cluster.into(), Message::Credit { port: to.port, words });
        }
    }
}
