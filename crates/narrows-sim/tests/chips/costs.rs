//! Each cost of a platform file is charged to whom docs/PLATFORMS.md says: a message from one core
//! to another, which sleeps, takes longer by a cost of the one or the other, or by none.

use narrows::endpoint::{Address, Limits, Message, Select};
use narrows::span::Span;
use narrows::strategy::Notification;
use narrows_sim::chip::{Chip, Core, SpanCost, Stream};
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::{Cost, Time};
use std::cell::Cell;
use std::time::Duration;

const MORE: Time = Time::nanos(1_000_000);

/// From when a message is sent until it is received by a process that slept.
fn notified(chip: &Chip) -> Time {
    let patience = Some(Duration::from_secs(5));
    let (sent, received) = (Cell::new(Time::ZERO), Cell::new(Time::ZERO));
    let mut simulation = Simulation::new(chip, Settings::default());
    simulation.process(0, "sender", 1, |cpu: Cpu| {
        let mut node = cpu.node("sender".parse().unwrap(), Limits::default()).unwrap();
        node.open(1).unwrap();
        let link = node.hunt(&"receiver".parse().unwrap(), patience).unwrap();
        // Until the other sleeps.
        cpu.pause(MORE * 100);
        sent.set(cpu.time());
        let to = Address { link, port: 1 };
        node.send(1, to, Message::new(&b"hello"[..]), patience).unwrap();
        cpu.pause(MORE * 100);
    });
    simulation.process(1, "receiver", 1, |cpu: Cpu| {
        let mut node = cpu.node("receiver".parse().unwrap(), Limits::default()).unwrap();
        node.set_notification(Notification::Interrupt);
        node.open(1).unwrap();
        let got = node.receive(1, &Select::default(), patience).unwrap();
        assert_eq!(got.len, 5);
        received.set(cpu.time());
        node.release(got);
    });
    simulation.run().unwrap();
    received.get() - sent.get()
}

type Set = fn(&mut Core, Cost);

#[test]
fn costs_are_charged_to_whom_they_belong() {
    let before = notified(&crate::common::chip());
    // The cost, and whether it counts on the sender's core and on the receiver's.
    let cases: [(&str, Set, [bool; 2]); 9] = [
        ("ring", |core, cost| core.interrupt.ring = cost, [true, false]),
        ("latency", |core, cost| core.interrupt.latency = cost, [false, true]),
        ("entry", |core, cost| core.interrupt.entry = cost, [false, true]),
        ("service", |core, cost| core.interrupt.service = cost, [false, true]),
        ("switch", |core, cost| core.system.switch = cost, [false, true]),
        ("fence", |core, cost| core.fence = cost, [true, false]),
        (
            "driver",
            |core, cost| {
                core.spans = vec![(Span::Driver, SpanCost { enter: cost, ..SpanCost::NONE })]
            },
            [true, false],
        ),
        (
            "memory",
            |core, cost| {
                core.spans = vec![(Span::Memory, SpanCost { leave: cost, ..SpanCost::NONE })]
            },
            [true, false],
        ),
        (
            "receive",
            |core, cost| {
                core.spans = vec![(Span::Receive, SpanCost { enter: cost, ..SpanCost::NONE })]
            },
            [false, true],
        ),
    ];
    for (name, set, counts) in cases {
        for (at, counts) in counts.into_iter().enumerate() {
            let mut chip = crate::common::chip();
            set(&mut chip.cores[at], Cost::Time(MORE));
            let found = notified(&chip);
            // What it replaces is less than 1 us.
            let expected = match counts {
                true => before + MORE - Time::nanos(1000)..=before + MORE,
                false => before..=before,
            };
            assert!(
                expected.contains(&found),
                "{name} of {}: {found}, and {before} without",
                chip.cores[at].name
            );
        }
    }
}

/// What reading a stretch in pieces takes, and writing it, where the memory is not cached.
fn through(chip: &Chip, pieces: &[(u32, usize)], between: fn(&Cpu)) -> [Time; 2] {
    let times = Cell::new([Time::ZERO; 2]);
    let mut simulation = Simulation::new(chip, Settings::default());
    simulation.process(0, "reader", 1, |cpu: Cpu| {
        let mut bytes = [0; 256];
        let start = cpu.time();
        for (at, len) in pieces {
            cpu.read(0, *at, &mut bytes[..*len]);
            between(&cpu);
        }
        let middle = cpu.time();
        for (at, len) in pieces {
            cpu.write(0, *at, &bytes[..*len]);
            between(&cpu);
        }
        times.set([middle - start, cpu.time() - middle]);
    });
    simulation.run().unwrap();
    times.get()
}

#[test]
fn what_goes_on_in_a_stretch_takes_what_the_stream_says_from_there_on() {
    let mut chip = crate::common::chip();
    let (start, cycle) = (Cost::Cycles(100), Time::nanos(10));
    (chip.buses[0].overhead, chip.buses[0].burst) = (Cost::NONE, 32);
    (chip.cores[0].burst, chip.cores[0].data) = (32, None);
    let memory = &mut chip.memories[0];
    (memory.read, memory.write, memory.cached) = (start, start, false);
    let step =
        |from, read, write| Stream { from, read: Cost::Cycles(read), write: Cost::Cycles(write) };
    memory.stream = vec![step(32, 50, 40), step(96, 20, 10)];
    // Transfers of 32 bytes: eight beats of 4 bytes, each a cycle.
    let takes = |first: [u64; 2]| first.map(|starts| cycle * starts);
    let beats = 8;
    let whole = [100 + 2 * 50 + 20 + 4 * beats, 100 + 2 * 40 + 10 + 4 * beats];
    assert_eq!(through(&chip, &[(0, 128)], |_| {}), takes(whole));
    assert_eq!(through(&chip, &[(0, 64), (64, 64)], |_| {}), takes(whole), "it goes on");
    let twice = [2 * (100 + 50 + 2 * beats), 2 * (100 + 40 + 2 * beats)];
    assert_eq!(through(&chip, &[(64, 64), (0, 64)], |_| {}), takes(twice), "it begins elsewhere");
    let looked = through(&chip, &[(0, 64), (64, 64)], |cpu| {
        let _ = cpu.load(1, 0);
    });
    let alone = through(&chip, &[(0, 32)], |cpu| {
        let _ = cpu.load(1, 0);
    });
    let one = [alone[0] - takes([108; 2])[0], alone[1] - takes([108; 2])[1]];
    let [read, write] = takes(twice);
    assert_eq!(looked, [read + one[0] * 2, write + one[1] * 2], "a word ends a stretch");
}
