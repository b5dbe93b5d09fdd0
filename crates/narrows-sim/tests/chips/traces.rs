//! Traces of simulations: they change nothing, every process is in one state at any time, and what
//! is written has its limits.

use crate::common::dice::Dice;
use crate::common::written::Written;
use narrows::endpoint::{Address, Limits, Message, Select};
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Bells, Faults, Halt, Mode, Outcome, Settings, Simulation};
use narrows_sim::time::Time;
use narrows_sim::trace::Trace;
use narrows_trace::{Category, Kind, state};
use std::cell::Cell;
use std::io::{self, Write};
use std::time::Duration;

/// Messages that each side sends.
const MESSAGES: u32 = 20;
const PATIENCE: Option<Duration> = Some(Duration::from_millis(20));

/// Two nodes that send each other messages, one that is more urgent beside them, and faults, all by
/// a seed. What came of it, and how many messages were received.
fn run(seed: u64, mode: Mode, trace: Option<&Trace>) -> (Outcome, u32) {
    let dice = Dice::new(seed);
    let mut chip = crate::common::chip();
    chip.link.slots = 4;
    let bells = Bells { lost: 0, late: 400, doubled: 100, by: Time::nanos(1 + dice.roll(90_000)) };
    let halt = Halt { core: 1, at: Time::nanos(dice.roll(400_000)), lasts: Time::nanos(70_000) };
    let faults = Faults {
        bells: if dice.one_in(2) { bells } else { Bells::default() },
        halt: Some(halt).filter(|_| dice.one_in(2)),
        ..Faults::default()
    };
    let notification =
        dice.pick(&["interrupt", "spin", "hybrid", "poll=100us", "coalesced=4:50us"]);
    let transfer = dice.pick(&["copy", "single_copy", "in_place", "copy_engine"]);
    let strategy = format!("{transfer}/{notification}/external").parse().expect("a strategy");
    let mut simulation =
        Simulation::new(&chip, Settings { mode, seed, faults, ..Settings::default() });
    if let Some(trace) = trace {
        simulation.trace(trace);
    }
    let (received, left) = (Cell::new(0), Cell::new(2));
    for (own, name, other) in [(0, "one", "other"), (1, "other", "one")] {
        let (dice, received, left) = (dice.split(), &received, &left);
        simulation.process(own, name, 2, move |cpu: Cpu| {
            let mut node = cpu.node(name.parse().unwrap(), Limits::default()).unwrap();
            node.open(1).unwrap();
            node.set_strategy(strategy);
            let link = if own == 0 {
                node.hunt(&other.parse().unwrap(), PATIENCE).unwrap()
            } else {
                while node.links().next().is_none() {
                    node.wait_any(PATIENCE);
                    node.poll();
                }
                node.links().next().unwrap().0
            };
            for _ in 0..MESSAGES {
                let bytes = vec![1; 1 + dice.roll(300) as usize];
                let _ = node.send(1, Address { link, port: 1 }, Message::new(&bytes[..]), PATIENCE);
                if dice.one_in(3) {
                    cpu.compute(Time::nanos(dice.roll(20_000)));
                }
                while let Ok(Some(lent)) = node.try_receive(1, &Select::default()) {
                    received.set(received.get() + 1);
                    node.release(lent);
                }
            }
            left.set(left.get() - 1);
            while let Ok(lent) = node.receive(1, &Select::default(), PATIENCE) {
                received.set(received.get() + 1);
                node.release(lent);
            }
        });
    }
    simulation.process(1, "urgent", 5, |cpu| {
        for _ in 0..20 {
            cpu.pause(Time::nanos(15_000));
            cpu.compute(Time::nanos(4_000));
        }
    });
    let outcome = simulation.run().unwrap();
    (outcome, received.get())
}

fn traced(seed: u64, mode: Mode) -> (Outcome, u32, narrows_trace::Trace) {
    let written = Written::default();
    let trace = Trace::new(written.clone(), Trace::LIMIT);
    let (outcome, received) = run(seed, mode, Some(&trace));
    trace.finish().unwrap();
    let read = narrows_trace::read(&written.bytes()[..]).unwrap();
    (outcome, received, read)
}

#[test]
fn a_simulation_is_the_same_with_a_trace_as_without() {
    for seed in 0..40 {
        for mode in [Mode::Fast, Mode::Reference] {
            let (outcome, received) = run(seed, mode, None);
            let (with, also, _) = traced(seed, mode);
            assert_eq!(outcome, with, "{seed} {mode:?}");
            assert_eq!(received, also, "{seed} {mode:?}");
        }
    }
}

#[test]
fn every_process_is_in_one_state_at_any_time_and_every_message_has_both_ends() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let (outcome, received, trace) = traced(seed, Mode::Fast);
        let messages: Vec<_> = trace.messages.iter().filter(|m| m.kind == "message").collect();
        assert_eq!(messages.iter().filter(|m| m.received.is_some()).count() as u32, received);
        for message in messages {
            let (sent, taken) = (message.sent.unwrap().1, message.taken.map(|(_, at)| at));
            assert!(
                message.began <= sent && taken.is_none_or(|taken| sent <= taken),
                "{message:?}"
            );
            assert!(message.received.is_none_or(|(_, at)| taken.is_some_and(|taken| taken <= at)));
        }
        for (place, track) in trace.tracks.iter().enumerate() {
            let slices = trace.slices.iter().filter(|slice| slice.track as usize == place);
            let slices: Vec<_> = slices.collect();
            if track.name != "state" || track.kind != Kind::Part {
                continue;
            }
            let process = &trace.tracks[track.parent.unwrap()];
            assert_eq!(slices[0].begin, 0, "{seed} {process:?}");
            for pair in slices.windows(2) {
                assert_eq!(pair[0].end, pair[1].begin, "{seed} {process:?}");
            }
            seen.extend(slices.iter().map(|slice| trace.names[slice.name as usize].clone()));
            if ["one", "other"].contains(&process.name.as_str()) {
                let last = slices.last().unwrap().end;
                assert!(last <= outcome.end.as_nanos() && last > 0, "{seed} {process:?}");
            }
        }
    }
    for name in [
        state::RUNNING,
        state::READY,
        state::SWITCH,
        state::INTERRUPTED,
        state::BUS,
        state::COPY,
        state::SPINNING,
        state::ASLEEP,
        state::TIMER,
        state::NO_CREDIT,
        state::BELL_LATE,
        state::WAKING,
        state::STOPPED,
    ] {
        assert!(seen.contains(name), "{name} of {seen:?}");
    }
}

/// What a bus was used for is on its row once, and never by two at a time.
#[test]
fn a_bus_has_one_user_at_a_time_and_interrupts_are_within_each_other() {
    let mut all = 0;
    for seed in 0..20 {
        let (outcome, _, trace) = traced(seed, Mode::Fast);
        let mut interrupts = 0;
        for (place, track) in trace.tracks.iter().enumerate() {
            let slices = || trace.slices.iter().filter(|slice| slice.track as usize == place);
            let category = slices().next().map(|slice| slice.category);
            if category == Some(Category::Bus) {
                let all: Vec<_> = slices().collect();
                assert!(all.windows(2).all(|two| two[0].end <= two[1].begin), "{seed} {track:?}");
            }
            interrupts += slices().filter(|s| s.category == Category::Interrupt).count() as u64;
        }
        let counted: u64 = outcome.cores.iter().map(|core| core.interrupts).sum();
        // Those that come while one is served and before it is through are served together.
        assert!(interrupts <= counted, "{seed}: {interrupts} {counted}");
        all += interrupts;
    }
    assert!(all > 100, "{all}");
}

/// Refuses everything behind some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_trace_that_cannot_be_written_changes_nothing_and_says_so() {
    let without = run(3, Mode::Fast, None);
    let trace = Trace::new(Full(5000), Trace::LIMIT);
    assert_eq!(run(3, Mode::Fast, Some(&trace)), without);
    assert_eq!(trace.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
}

#[test]
fn a_trace_has_a_limit_and_says_what_found_no_room() {
    let (without, written) = (run(3, Mode::Fast, None), Written::default());
    let trace = Trace::new(written.clone(), 20_000);
    assert_eq!(run(3, Mode::Fast, Some(&trace)), without);
    trace.finish().unwrap();
    let bytes = written.bytes();
    assert!((20_000..25_000).contains(&bytes.len()), "{}", bytes.len());
    let read = narrows_trace::read(&bytes[..]).unwrap();
    assert!(read.dropped > 0 && read.dropped == trace.dropped());
}

/// Simulations in one file are one behind the other.
#[test]
fn several_simulations_share_a_file() {
    let written = Written::default();
    let trace = Trace::new(written.clone(), Trace::LIMIT);
    let first = run(3, Mode::Fast, Some(&trace));
    run(3, Mode::Fast, Some(&trace));
    trace.finish().unwrap();
    let read = narrows_trace::read(&written.bytes()[..]).unwrap();
    let messages: Vec<_> = read.messages.iter().filter(|m| m.kind == "message").collect();
    let (one, two) = messages.split_at(messages.len() / 2);
    let base = two[0].began - one[0].began;
    assert!(base >= first.0.end.as_nanos());
    for (one, two) in one.iter().zip(two) {
        assert_eq!((one.began + base, one.number), (two.began, two.number));
        assert_ne!(one.id, two.id);
    }
    let named = |name: &str| read.tracks.iter().filter(|track| track.name == name).count();
    let core = crate::common::chip().cores[0].name.clone();
    assert_eq!((named(&core), named(&format!("{core}, simulation 2"))), (1, 1));
}
