//! A transfer between a memory and a port by DMA alone: what the hardware allows, without the
//! service around it.

use crate::chip::{Chip, DmaMode};
use crate::cpu::{Cpu, Side};
use crate::engine::{Pid, Settings, Simulation};
use crate::part::dma::{Job, Part};
use crate::time::Time;
use std::cell::Cell;

/// How often the end of a transfer is looked for.
const LOOK: Time = Time::nanos(2);

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Memory is read, and the port's FIFO is filled.
    FromMemory,
    /// The FIFO is emptied, and memory is written.
    ToMemory,
}

/// What one burst takes between a memory and the first end of a port. `None` if the chip has no
/// such port, the bytes fit neither into its FIFO nor into the memory, or the core's DMA does not
/// reach the memory.
#[must_use]
pub fn burst(chip: &Chip, port: usize, memory: usize, bytes: u32, way: Way) -> Option<Time> {
    let facts = chip.ports.ports.get(port)?;
    let [near, far] = facts.between;
    chip.dma(near)?.rate(memory)?;
    let filled_from = chip.dma(far)?.messages;
    let fits = |memory: usize| chip.memories.get(memory).is_some_and(|one| bytes <= one.size);
    if bytes == 0 || bytes > facts.words * 4 || !fits(memory) || !fits(filled_from) {
        return None;
    }
    let took = Cell::new(None);
    let mut simulation = Simulation::new(chip, Settings::default());
    // The interrupts are the other core's, so that they do not hold up the side that looks.
    let ended = simulation.interrupt(far, "DMA", 0, |_| {});
    simulation.process(near, "transfer", 1, |cpu| {
        if way == Way::ToMemory {
            transfer(&cpu, (port, 1, Side::Transmit), filled_from, bytes, ended);
        }
        let side = if way == Way::FromMemory { Side::Transmit } else { Side::Receive };
        took.set(Some(transfer(&cpu, (port, 0, side), memory, bytes, ended)));
    });
    simulation.run().ok()?;
    took.get()
}

/// Has a controller move words, and looks until it has.
fn transfer(
    cpu: &Cpu,
    (port, end, side): (usize, usize, Side),
    memory: usize,
    bytes: u32,
    ended: Pid,
) -> Time {
    let len = bytes as usize;
    let parts = vec![Part { from: 0, len, place: (memory, 0) }];
    let count = len.div_ceil(4);
    let job = Job { mode: DmaMode::Burst, first: 0, count, parts, interrupt: ended.0 };
    let begin = cpu.time();
    cpu.start_controller(port, end, side, job);
    while !cpu.controller_done(port, end, side) && !cpu.gone() {
        cpu.compute(LOOK);
    }
    cpu.time().since(begin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_port_or_a_memory_has_no_room_for_is_none() {
        let chip = Chip::shipped("quatro67").expect("it is shipped");
        let memory = chip.cores[0].home;
        let both = [Way::FromMemory, Way::ToMemory];
        for way in both {
            assert!(burst(&chip, 0, memory, 2048, way).is_some(), "a whole FIFO");
            assert_eq!(burst(&chip, 0, memory, 2052, way), None, "more than a FIFO");
            assert_eq!(burst(&chip, 0, memory, 0, way), None);
            assert_eq!(burst(&chip, 99, memory, 64, way), None, "no such port");
            assert_eq!(burst(&chip, 0, 99, 64, way), None, "no such memory");
            let theirs = chip.cores[1].home;
            assert_eq!(burst(&chip, 0, theirs, 64, way), None, "another core's memory");
        }
        let [once, twice] = [512, 1024].map(|bytes| {
            both.map(|way| burst(&chip, 0, memory, bytes, way).expect("it fits").micros())
        });
        for (once, twice) in once.into_iter().zip(twice) {
            assert!((twice / once - 2.0).abs() < 0.01, "{once}, {twice}");
        }
    }
}
