//! Paths of a core's own: bridges that take its time, and memories that others do not reach.

use narrows_sim::chip::{Bridge, Chip};
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation, Stuck};
use narrows_sim::time::{Cost, Time};
use std::cell::Cell;

/// The small chip, whose second core reaches the bus by a bridge.
fn bridged() -> Chip {
    let mut chip = crate::common::chip();
    let (read, write) = (Cost::Cycles(20), Cost::Cycles(7));
    chip.bridges = vec![Bridge { name: "far".into(), cores: vec![1], bus: 0, read, write }];
    chip
}

/// What a process does, and how many cycles it takes.
type Case = (fn(&Cpu), u64);

/// What something takes of a core of a chip on which nothing else runs.
fn takes(chip: &Chip, core: usize, what: fn(&Cpu)) -> Time {
    let took = Cell::new(Time::ZERO);
    let mut simulation = Simulation::new(chip, Settings::default());
    simulation.process(core, "one", 1, |cpu| {
        let began = cpu.time();
        what(&cpu);
        took.set(cpu.time().since(began));
    });
    simulation.run().expect("it ends");
    took.get()
}

#[test]
fn a_bridge_takes_time_of_each_transfer_of_its_cores_alone() {
    let cycle = Time::nanos(10);
    let near = crate::common::chip();
    let cases: [Case; 5] = [
        (|cpu| drop(cpu.load(0, 0).to_string()), 20),
        (|cpu| cpu.store(0, 0, 1), 7),
        // Two transfers of 32 bytes.
        (|cpu| cpu.load_bytes(0, 0, &mut [0; 64]), 40),
        (|cpu| cpu.store_bytes(0, 0, &[0; 64]), 14),
        // A line, once.
        (|cpu| (0..2).for_each(|_| cpu.read(1, 0, &mut [0; 8])), 20),
    ];
    for (at, (what, more)) in cases.into_iter().enumerate() {
        let without = takes(&near, 1, what);
        assert_eq!(takes(&bridged(), 0, what), without, "{at}");
        assert_eq!(takes(&bridged(), 1, what), without + cycle * more, "{at}");
    }
}

/// The other core uses the bus while an access is on the bridge.
#[test]
fn what_is_on_a_bridge_has_no_bus() {
    let mut simulation = Simulation::new(&bridged(), Settings::default());
    for core in 0..2 {
        simulation.process(core, "one", 1, |cpu| cpu.store(0, 0, 1));
    }
    let outcome = simulation.run().expect("it ends");
    assert_eq!(outcome.buses[0].waited, Time::ZERO);
}

#[test]
fn a_private_memory_is_reached_by_its_cores_alone() {
    let mut chip = crate::common::chip();
    chip.memories[1].cores = Some(vec![0]);
    chip.cores[1].home = 0;
    let accesses: [fn(&Cpu); 3] = [
        |cpu| cpu.store(1, 0, 1),
        |cpu| cpu.write(1, 0, &[1; 40]),
        |cpu| cpu.read(1, 64, &mut [0; 4]),
    ];
    for access in accesses {
        assert!(takes(&chip, 0, access) > Time::ZERO);
        let mut simulation = Simulation::new(&chip, Settings::default());
        simulation.process(1, "other", 1, move |cpu| access(&cpu));
        let stuck = simulation.run().expect_err("it does not reach it");
        let Stuck::Barred { process, memory, .. } = &stuck else { panic!("{stuck}") };
        assert_eq!((process.as_str(), memory.as_str()), ("other", "sdram"));
        assert!(stuck.to_string().contains("private to other cores"), "{stuck}");
    }
}
