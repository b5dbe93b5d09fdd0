//! The suite that every medium of frames passes. Both ends are used by one process; what the ends'
//! interrupts do happens while it lets time pass.

use narrows::conformance::frames::{self, Medium};
use narrows::platform::{Memory as _, OwnMemory as _};
use narrows_sim::carrier::{End, lay};
use narrows_sim::chip::{Chip, DmaMode};
use narrows_sim::cpu::{Cpu, Hands, Stretch};
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::Time;
use std::cell::{Cell, RefCell};

/// Bytes of a buffer, and how many of them a memory has.
const BUFFER: u32 = 8 << 10;
const BUFFERS: u32 = 32;

struct Ports {
    cpu: Cpu,
    hands: Hands,
    pairs: RefCell<Vec<[End; 2]>>,
    memory: usize,
    buffers: Cell<u32>,
}

impl Medium for Ports {
    type End = End;

    fn pair(&self) -> [End; 2] {
        self.pairs.borrow_mut().pop().expect("a port for each pair")
    }
    fn buffer(&self, bytes: &[u8]) -> Stretch {
        let number = self.buffers.replace(self.buffers.get() + 1) % BUFFERS;
        let buffer = Stretch::new(&self.hands, (self.memory, number * BUFFER), BUFFER);
        buffer.write(0, bytes).expect("it is longer");
        buffer
    }
    fn show(&self, buffer: &Stretch, to: &mut [u8]) {
        buffer.read(0, to).expect("it is longer");
    }
    fn push(&self, _: &mut End) {
        self.cpu.compute(Time::nanos(1_000_000));
    }
}

fn run(chip: &Chip, mode: DmaMode, name: &str) {
    let hands = Hands::default();
    let mut simulation = Simulation::new(chip, Settings::default());
    let lay = |port| {
        let told = || Box::new(|_: &_| {});
        lay(&mut simulation, port, mode, [&hands, &hands], [told(), told()]).expect("a port")
    };
    let pairs = RefCell::new([0, 1, 2].map(lay).into());
    let memory = chip.dma(0).expect("a core with ports").messages;
    simulation.process(0, "suite", 1, |cpu| {
        hands.add(&cpu);
        let hands = hands.clone();
        let ports = Ports { cpu, hands, pairs, memory, buffers: Cell::new(0) };
        assert!(ports.pairs.borrow().iter().flatten().all(|end| end.name() == name));
        frames::run(&ports);
    });
    simulation.run().unwrap_or_else(|stuck| panic!("{name}, {mode:?}: {stuck}"));
}

fn quatro() -> Chip {
    Chip::shipped("quatro67").expect("a possible chip")
}

#[test]
fn a_fifo_port_is_a_medium_of_frames_in_each_mode() {
    for mode in DmaMode::ALL {
        run(&quatro(), mode, "fifo_port");
    }
}

#[test]
fn so_it_is_with_controllers_for_each_direction_and_several_frames() {
    for mode in DmaMode::ALL {
        let mut chip = quatro();
        for dma in &mut chip.ports.dmas {
            (dma.controllers, dma.frames) = (6, 64);
        }
        assert!(chip.is_dedicated(0));
        run(&chip, mode, "fifo_port");
    }
}

#[test]
fn so_it_is_with_a_controller_for_each_core_and_none_for_each_port() {
    for mode in DmaMode::ALL {
        let mut chip = quatro();
        for dma in &mut chip.ports.dmas {
            dma.controllers = 1;
        }
        run(&chip, mode, "fifo_port");
    }
}

#[test]
fn a_communication_port_is_a_medium_of_frames() {
    run(&Chip::shipped("pci44").expect("a possible chip"), DmaMode::ReadWrite, "comm_port");
}
