//! Causes add up to each latency, and what is injected is named first. `NARROWS_CASES` says how
//! many simulations are run of each kind, `NARROWS_SEED` with which the first begins:
//! `NARROWS_CASES=1000 cargo test --release -p narrows-sim --test chips causes`.

use crate::common::dice::Dice;
use crate::common::written::Written;
use narrows::endpoint::{Address, Limits, Message, Node, Select};
use narrows::link::LinkId;
use narrows::memory::Class;
use narrows::strategy::Placement;
use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Bells, Faults, Halt, Settings, Simulation};
use narrows_sim::time::Time;
use narrows_sim::trace::Trace as Sink;
use narrows_trace::{Cause, Causes, Of, Step, Trace, cause, state};
use std::time::Duration;

/// Simulations of each kind where nothing else is said.
const FEW: u64 = 20;
const PATIENCE: Option<Duration> = Some(Duration::from_millis(50));
const PORT: u16 = 1;

fn cases() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("NARROWS_SEED").unwrap_or(0);
    first..first + number("NARROWS_CASES").unwrap_or(FEW)
}

/// What is wrong with a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Injected {
    /// Whatever there is, by chance.
    Anything,
    LateBells,
    CoreStopped,
    OneBlock,
    Flood,
}

/// How a simulation is, by its seed.
struct Scene {
    what: Injected,
    chip: Chip,
    seed: u64,
    faults: Faults,
    strategy: &'static str,
    /// What the sender does between two messages, and the receiver with each.
    pause: Time,
    work: Time,
    bytes: usize,
}

const STRATEGIES: [&str; 6] = [
    "copy/interrupt/external",
    "copy/spin/external",
    "copy/hybrid=20us/external",
    "single_copy/poll=300us/external",
    "in_place/interrupt/external",
    "copy/coalesced=4:100us/external",
];

fn class(placement: Placement, size: u32, count: u32) -> Class {
    Class { placement, size, count }
}

fn between(dice: &Dice, low: u64, high: u64) -> u64 {
    low + dice.roll(high - low)
}

fn micros(us: u64) -> Time {
    Time::nanos(1000 * us)
}

impl Scene {
    fn new(what: Injected, seed: u64) -> Scene {
        let dice = Dice::new(seed);
        let names = ["generic-amp", "davinci", "nios2-dual"];
        let mut chip = Chip::shipped(dice.pick(&names)).unwrap();
        // Three links have room on each of them.
        chip.link.slots = 32;
        chip.link.classes =
            vec![class(Placement::Internal, 64, 2), class(Placement::External, 512, 8)];
        let mut faults = Faults::default();
        let mut strategy = dice.pick(&STRATEGIES);
        let (mut pause, mut work) = (micros(dice.roll(200)), micros(dice.roll(100)));
        let mut bytes = 1 + dice.roll(300) as usize;
        let late = |dice: &Dice| Bells {
            late: 1000,
            by: micros(between(dice, 2000, 9000)),
            ..Bells::default()
        };
        let halt = |dice: &Dice| {
            let at = micros(between(dice, 2000, 10_000));
            Some(Halt { core: 1, at, lasts: micros(between(dice, 3000, 8000)) })
        };
        match what {
            Injected::Anything => {
                faults.halt = halt(&dice).filter(|_| dice.one_in(2));
                if dice.one_in(2) {
                    faults.bells = Bells { late: 200, ..late(&dice) };
                }
                chip.link.slots = 1 << between(&dice, 2, 6);
            }
            Injected::LateBells => {
                (strategy, faults.bells) = ("copy/interrupt/external", late(&dice));
                (pause, work) = (micros(between(&dice, 300, 2000)), micros(dice.roll(50)));
            }
            Injected::CoreStopped => {
                (pause, work) = (micros(between(&dice, 500, 1000)), micros(dice.roll(50)));
                faults.halt = halt(&dice);
                strategy = dice.pick(&STRATEGIES[..3]);
            }
            Injected::OneBlock => {
                chip.link.classes[1].count = 1;
                (strategy, bytes) = ("in_place/interrupt/external", 200 + dice.roll(50) as usize);
                (pause, work) = (Time::ZERO, micros(between(&dice, 2000, 5000)));
            }
            Injected::Flood => {
                (pause, work) =
                    (micros(between(&dice, 2000, 5000)), micros(between(&dice, 500, 1000)));
                strategy = dice.pick(&["copy/interrupt/external", "copy/spin/external"]);
            }
        }
        Scene { what, chip, seed, faults, strategy, pause, work, bytes }
    }

    /// Whose message is looked at, and what it has to have waited for the longest.
    fn first(&self) -> Option<Cause> {
        let (of, name) = match self.what {
            Injected::Anything => return None,
            Injected::LateBells => (Of::Receiver, state::BELL_LATE),
            Injected::CoreStopped => (Of::Receiver, state::STOPPED),
            Injected::OneBlock => (Of::Sender, state::NO_BLOCK),
            Injected::Flood => (Of::Receiver, cause::QUEUE),
        };
        Some(Cause { of, name })
    }

    fn node(&self, cpu: &Cpu, name: &str) -> Node<Cpu> {
        let mut node = cpu.node(name.parse().unwrap(), Limits::default()).unwrap();
        node.open(PORT).unwrap();
        node.set_strategy(self.strategy.parse().unwrap());
        node
    }

    fn send(&self, node: &mut Node<Cpu>, link: LinkId, count: u32, pause: Time) {
        for number in 0..count {
            let bytes = vec![number as u8; self.bytes];
            let message = Message::new(&bytes[..]);
            let sent = node.send(PORT, Address { link, port: PORT }, message, PATIENCE);
            assert_eq!(sent, Ok(()), "{:?} {} {number}", self.what, self.seed);
            node.platform().pause(pause);
        }
    }

    fn run(&self) -> Trace {
        let written = Written::default();
        let sink = Sink::new(written.clone(), Sink::LIMIT);
        let settings = Settings { seed: self.seed, faults: self.faults, ..Settings::default() };
        let mut simulation = Simulation::new(&self.chip, settings);
        simulation.trace(&sink);
        let dsp = "dsp".parse().unwrap();
        let (flooding, count) = match self.what {
            Injected::Flood => (true, 10),
            Injected::Anything => (self.seed.is_multiple_of(3), 30),
            _ => (false, 30),
        };
        simulation.process(0, "caller", 3, |cpu| {
            let mut node = self.node(&cpu, "caller");
            let link = node.hunt(&dsp, PATIENCE).unwrap();
            self.send(&mut node, link, count, self.pause);
            // A link that is closed takes what is under way with it.
            cpu.pause(micros(60_000));
        });
        if flooding {
            simulation.process(0, "flood", 2, |cpu| {
                let mut node = self.node(&cpu, "flood");
                let link = node.hunt(&dsp, PATIENCE).unwrap();
                self.send(&mut node, link, 150, Time::ZERO);
                cpu.pause(micros(60_000));
            });
        }
        simulation.process(1, "dsp", 2, |cpu| {
            let mut node = self.node(&cpu, "dsp");
            while let Ok(lent) = node.receive(PORT, &Select::default(), PATIENCE) {
                cpu.compute(self.work);
                node.release(lent);
            }
        });
        simulation.run().unwrap();
        sink.finish().unwrap();
        narrows_trace::read(&written.bytes()[..]).unwrap()
    }
}

/// Runs simulations of a kind: how many there were, and in how many what was injected was first.
fn each(what: Injected) -> (u64, u64) {
    let (mut all, mut first) = (0, 0);
    let mut messages = 0;
    for seed in cases() {
        let scene = Scene::new(what, seed);
        let trace = scene.run();
        let known = Causes::new(&trace);
        let mut slowest: Option<(u64, Vec<Step>)> = None;
        for (place, journey) in trace.messages.iter().enumerate() {
            let Some(latency) = journey.latency() else { continue };
            let steps = known.steps(place);
            let sum: u64 = steps.iter().map(|step| step.ns).sum();
            assert_eq!(sum, latency, "{what:?} {seed}: {journey:?} {steps:?}");
            assert!(steps.iter().all(|step| step.cause.name != cause::UNKNOWN), "{what:?} {seed}");
            messages += 1;
            let sender = journey.sent.map(|(row, _)| trace.tracks[row as usize].name.as_str());
            let slower = slowest.as_ref().is_none_or(|(most, _)| *most < latency);
            if sender == Some("caller") && journey.kind == "message" && slower {
                slowest = Some((latency, steps));
            }
        }
        let (_, steps) = slowest.expect("messages were received");
        let most = steps.iter().max_by_key(|step| step.ns).expect("it took some time");
        all += 1;
        match scene.first() {
            Some(cause) if cause == most.cause => first += 1,
            Some(_) => {
                println!("{what:?} {seed} {} {}: {steps:?}", scene.chip.name, scene.strategy)
            }
            None => {}
        }
    }
    println!("{what:?}: {all} simulations, {messages} messages, {first} named first");
    (all, first)
}

#[test]
fn causes_add_up_to_each_latency() {
    each(Injected::Anything);
}

#[test]
fn what_is_injected_is_named_first() {
    for what in [Injected::LateBells, Injected::CoreStopped, Injected::OneBlock, Injected::Flood] {
        let (all, first) = each(what);
        assert!(first * 100 >= all * 99, "{what:?}: {first} of {all}");
    }
}
