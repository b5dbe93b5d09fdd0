//! Hardware functions at ports of a cluster's buffer manager, each a process that takes time and no
//! core.

use super::machine::Worker;
use crate::chip::Accelerator;
use crate::cpu::Cpu;
use crate::part::buffer_manager::{Taken, Write};
use crate::time::Time;

/// What an accelerator has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Blocks that it has worked on.
    pub blocks: u64,
    /// How long it has worked.
    pub busy: Time,
    /// How long it has had the next result and no room for it, as the one before had not gone.
    pub held: Time,
}

/// Works on the next block of the function that has this number in its cluster.
pub(super) fn serve(cpu: &Cpu, own: usize, number: u8) -> Option<()> {
    let (at, facts) = cpu.accelerator(own, number)?;
    let (port, block) = cpu.wait_for_work(own, |blocks| blocks.manager.take_block(number))?;
    cpu.feed(own);
    cpu.compute(facts.takes());
    let done = cpu.moment();
    let result = worked(&block, facts.result as usize);
    cpu.wait_for_work(own, |blocks| blocks.manager.is_free(number).then_some(()))?;
    let held = cpu.moment().since(done);
    // What is wrong with it is noted, and the result is dropped.
    let given = cpu.with_cluster(own, |blocks| blocks.manager.give(number, port, result))?;
    if given.is_ok() {
        cpu.wake_worker(own, Worker::Writer);
    }
    let mut clusters = cpu.machine().clusters.borrow_mut();
    if let Some(served) = clusters.served.get_mut(at) {
        served.blocks += 1;
        served.busy += facts.takes();
        served.held += held;
    }
    drop(clusters);
    (!cpu.gone()).then_some(())
}

/// The result of a block. What a function makes of bytes is not modelled: it is the block, cut, or
/// from its beginning again.
fn worked(block: &[u8], len: usize) -> Vec<u8> {
    block.iter().copied().cycle().take(len).collect()
}

impl Cpu {
    /// What an accelerator has done so far; nothing if there is none.
    #[must_use]
    pub fn accelerated(&self, accelerator: usize) -> Served {
        let clusters = self.machine().clusters.borrow();
        clusters.served.get(accelerator).copied().unwrap_or_default()
    }

    /// The accelerator that has this number in a cluster.
    fn accelerator(&self, own: usize, number: u8) -> Option<(usize, &Accelerator)> {
        let clusters = self.chip().clusters.as_ref()?;
        let first = clusters.all.get(own)?.cores.len();
        clusters.accelerators_of(own).nth(usize::from(number).checked_sub(first)?)
    }

    /// Has functions read what has come for them.
    pub(super) fn feed(&self, own: usize) {
        let clusters = self.chip().clusters.as_ref();
        if clusters.is_none_or(|clusters| clusters.accelerators_of(own).next().is_none()) {
            return;
        }
        if self.with_cluster(own, |blocks| blocks.manager.feed()) == Some(true) {
            self.wake_worker(own, Worker::Reader);
        }
    }

    /// A word a cycle goes over wires of a function's own.
    fn over_wires(&self, own: usize, len: u32) {
        self.compute(self.bus_clock(own).cycles(len.div_ceil(4).into()));
    }

    /// Bytes that a request sends: of a CPU those at an address, of a function some of its result.
    pub(super) fn get_sent(&self, own: usize, cpu: u8, from: u32, len: u32) -> Option<Vec<u8>> {
        if self.accelerator(own, cpu).is_none() {
            return self.get_global(own, from, len);
        }
        self.over_wires(own, len);
        self.with_cluster(own, |blocks| blocks.manager.result(cpu, from, len)).flatten()
    }

    /// Puts bytes to where the CPU or function wants them that has asked to read them: at an
    /// address, or in a function.
    pub(super) fn put_read(&self, own: usize, cpu: u8, to: u32, bytes: Vec<u8>) -> Option<()> {
        if self.accelerator(own, cpu).is_none() {
            return self.put_global(own, to, bytes);
        }
        self.over_wires(own, bytes.len() as u32);
        self.with_cluster(own, |blocks| blocks.manager.fill(cpu, &bytes))
    }

    /// A request to write is done: the CPU or function that has asked is told.
    pub(super) fn has_sent(&self, own: usize, write: &Write) {
        if self.accelerator(own, write.cpu).is_none() {
            return self.tell(own, write.cpu, write.port);
        }
        self.with_cluster(own, |blocks| blocks.manager.gone(write.cpu));
        self.wake_worker(own, Worker::Function(write.cpu));
    }

    /// A request to read is done: the CPU or function that has asked is told.
    pub(super) fn has_read(&self, own: usize, taken: &Taken) {
        if self.accelerator(own, taken.cpu).is_none() {
            self.tell(own, taken.cpu, taken.port);
        } else {
            self.with_cluster(own, |blocks| blocks.manager.filled(taken.cpu));
            self.wake_worker(own, Worker::Function(taken.cpu));
        }
        // A port that a CPU has read from is free again.
        self.feed(own);
    }
}

#[cfg(test)]
mod tests {
    use super::worked;

    #[test]
    fn a_result_is_the_block_cut_or_again() {
        assert_eq!(worked(&[1, 2, 3, 4], 2), [1, 2]);
        assert_eq!(worked(&[1, 2, 3, 4], 6), [1, 2, 3, 4, 1, 2]);
    }
}
