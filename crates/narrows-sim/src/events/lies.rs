//! Faults as they strike: words of a hostile process, and bells that ring later.

use super::queue::{Event, Rank};
use super::state::State;
use crate::time::Time;

impl State {
    /// A process has stored to a memory: if it is hostile, a word of its regions may be another
    /// now.
    pub(super) fn perhaps_lie(&mut self, process: usize, memory: usize, address: u32) {
        let Some((memory, address, drawn)) = self.plan.lie(process, memory, address) else {
            return;
        };
        let old = self.word(memory, address);
        let value = (drawn >> 32) as u32;
        let new = match drawn % 8 {
            0 => value,
            1 => old ^ 1 << (value % 32),
            2 => old.wrapping_add(1 + value % 4),
            3 => old.wrapping_sub(1 + value % 4),
            4 => value % 64,
            5 => [0, u32::MAX, i32::MAX as u32, 1 << 31][value as usize % 4],
            // As it was one slot earlier, or at another place near.
            6 => self.word(memory, address.saturating_sub(64)),
            _ => self.word(memory, address ^ 4 << (value % 4)),
        };
        self.put(process, memory, address, &new.to_le_bytes());
        self.counts.lies += 1;
        self.trace_fault(process, "word changed");
    }

    /// Has a doorbell ring by itself, later than it should.
    pub(crate) fn ring_later(&mut self, process: usize, after: Time) {
        let at = self.now + after.max(Time(1));
        self.queue.push(at, Rank::Interrupt, Event::Ring { process });
    }
}
