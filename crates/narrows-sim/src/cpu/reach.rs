//! What a process's core reaches, and what the way there takes.

use super::Cpu;
use crate::events::Stuck;

impl Cpu {
    /// Whether a range is inside a memory. If not, the simulation ends with that, and this process
    /// does not come back from here.
    #[inline]
    pub(super) fn inside(&self, memory: usize, address: u32, len: usize) -> bool {
        let size = self.chip().memories.get(memory).map_or(0, |memory| u64::from(memory.size));
        let inside = u64::from(address) + len as u64 <= size;
        if !inside {
            self.stray(memory, address, len, size);
        } else if self.is_barred(memory) {
            self.barred(memory);
            return false;
        }
        inside
    }

    /// Whether this core does not reach a memory.
    #[inline]
    pub(super) fn is_barred(&self, memory: usize) -> bool {
        self.machine().paths && self.rates().bars(memory)
    }

    #[cold]
    fn barred(&self, memory: usize) {
        self.act(|state, process| {
            let process = state.processes[process].name.clone();
            let memory = state.names[memory].clone();
            state.stuck = Some(Stuck::Barred { at: state.now, process, memory });
            true
        });
    }

    #[cold]
    fn stray(&self, memory: usize, address: u32, len: usize, size: u64) {
        self.act(|state, process| {
            let named = self.chip().memories.get(memory).map(|memory| memory.name.clone());
            state.stuck = Some(Stuck::OutOfRange {
                at: state.now,
                process: state.processes[process].name.clone(),
                memory: named.unwrap_or_else(|| format!("memory {memory}, which is none")),
                offset: u64::from(address),
                len: len as u64,
                size,
            });
            true
        });
    }

    /// What bridges on the way to a memory take of a transfer. The bus is others' meanwhile.
    #[inline]
    pub(super) fn cross(&self, memory: usize, write: bool) {
        if self.machine().paths {
            self.compute(self.rates().bridge(memory, write));
        }
    }
}
