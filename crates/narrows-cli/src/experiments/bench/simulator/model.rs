//! Two cores that send a message back and forth through a ring in shared memory, past all caches.
//! `bench/systemc/pingpong.cpp` is the same for SystemC.

use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Outcome, Settings, Simulation, Stuck};
use narrows_sim::time::Time;

const HEAD: u32 = 0;
const TAIL: u32 = 64;
const SLOTS: u32 = 128;
const RING: u32 = 1024;
const COUNT: u32 = 16;
/// Bytes of the longest message.
pub(super) const BLOCK: u32 = 4096;

const RAM: usize = 0;

/// One core's end.
struct End {
    cpu: Cpu,
    side: u32,
    head: u32,
    tail_seen: u32,
    tail: u32,
    head_seen: u32,
}

impl End {
    fn spin(&self, address: u32, old: u32) -> u32 {
        self.cpu.spin(RAM, address, old, Time::NEVER).unwrap_or(old)
    }

    fn send(&mut self, from: &[u8]) {
        let ring = self.side * RING;
        if self.head.wrapping_sub(self.tail_seen) == COUNT {
            self.tail_seen = self.spin(ring + TAIL, self.head.wrapping_sub(COUNT));
        }
        let block = 2 * RING + self.side * COUNT * BLOCK + self.head % COUNT * BLOCK;
        self.cpu.store_bytes(RAM, block, from);
        self.cpu.compute(Time::nanos(6));
        let slot = ring + SLOTS + self.head % COUNT * 8;
        self.cpu.store(RAM, slot, block);
        self.cpu.store(RAM, slot + 4, from.len() as u32);
        self.head += 1;
        self.cpu.store(RAM, ring + HEAD, self.head);
    }

    fn receive(&mut self, to: &mut [u8]) {
        let ring = (1 - self.side) * RING;
        if self.tail == self.head_seen {
            self.head_seen = self.spin(ring + HEAD, self.tail);
        }
        self.cpu.compute(Time::nanos(6));
        let slot = ring + SLOTS + self.tail % COUNT * 8;
        let block = self.cpu.load(RAM, slot);
        let len = (self.cpu.load(RAM, slot + 4) as usize).min(to.len());
        self.cpu.load_bytes(RAM, block, to.get_mut(..len).unwrap_or_default());
        self.tail += 1;
        self.cpu.store(RAM, ring + TAIL, self.tail);
    }
}

/// Words that a round trip moves, without looks in vain: both ways the payload is written and read,
/// two words and a head are written, the head and the two words are read, a tail is written.
pub(super) fn words(bytes: u32) -> u64 {
    2 * (2 * u64::from(bytes.div_ceil(4)) + 7)
}

/// This many round trips of a message of this many bytes, at most [`BLOCK`].
///
/// # Errors
/// The simulation gets stuck, which is a defect.
pub(super) fn run(chip: &Chip, messages: u32, bytes: u32) -> Result<Outcome, Stuck> {
    let mut simulation = Simulation::new(chip, Settings::default());
    for side in 0..2 {
        simulation.process(side as usize, ["first", "second"][side as usize], 1, move |cpu| {
            let mut end = End { cpu, side, head: 0, tail_seen: 0, tail: 0, head_seen: 0 };
            let mut buffer = vec![7; bytes.min(BLOCK) as usize];
            for message in 0..messages {
                if side == 0 {
                    if let Some(first) = buffer.first_mut() {
                        *first = message as u8;
                    }
                    end.send(&buffer);
                    end.receive(&mut buffer);
                } else {
                    end.receive(&mut buffer);
                    end.send(&buffer);
                }
            }
        });
    }
    simulation.run()
}
