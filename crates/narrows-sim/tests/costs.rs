//! Each cost of a platform file is charged to whom docs/PLATFORMS.md says: a message from one core to
//! another, which sleeps, takes longer by a cost of the one or the other, or by none.

mod common;

use narrows::endpoint::{Address, Limits, Message, Select};
use narrows::span::Span;
use narrows::strategy::Notification;
use narrows_sim::chip::{Chip, Core, SpanCost};
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
        let got = node.receive(1, &Select::default(), patience).unwrap().unwrap();
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
    let before = notified(&common::chip());
    // The cost, and whether it counts on the sender's core and on the receiver's.
    let cases: [(&str, Set, [bool; 2]); 8] = [
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
    ];
    for (name, set, counts) in cases {
        for (at, counts) in counts.into_iter().enumerate() {
            let mut chip = common::chip();
            set(&mut chip.cores[at], Cost::Time(MORE));
            let longer = notified(&chip) - before;
            // What it replaces is less than 1 us.
            let expected =
                if counts { MORE - Time::nanos(1000)..=MORE } else { Time::ZERO..=Time::ZERO };
            assert!(expected.contains(&longer), "{name} of {}: {longer}", chip.cores[at].name);
        }
    }
}
