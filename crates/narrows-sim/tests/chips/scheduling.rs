//! When what runs, worked out by hand: a cycle is 10 ns, and memory is not used.

use narrows_sim::chip::{CallCost, Chip};
use narrows_sim::engine::{Mode, Outcome, Settings, Simulation, Swap};
use narrows_sim::time::{Cost, Time};
use std::cell::RefCell;

const SWITCH: u64 = 600;
/// Until an interrupt process runs.
const ENTRY: u64 = 300;
/// What the ringing core spends, and what the interrupt takes on its way.
const RAISE: u64 = 40 + 120;

/// Two cores that fetch no code.
fn chip() -> Chip {
    let mut chip = crate::common::chip();
    for core in &mut chip.cores {
        core.instructions = None;
    }
    chip
}

fn ns(nanos: u64) -> Time {
    Time::nanos(nanos)
}

/// What happened, and when in ns.
#[derive(Default)]
struct Log(RefCell<Vec<(&'static str, u64)>>);

impl Log {
    fn note(&self, what: &'static str, time: Time) {
        self.0.borrow_mut().push((what, time.as_nanos()));
    }
}

/// Runs what `fill` adds, in both modes.
fn run<'a>(chip: &Chip, fill: impl Fn(&mut Simulation<'a>, &'a Log)) -> Vec<Ran> {
    let modes = [Mode::Fast, Mode::Reference];
    modes.map(|mode| one(chip, mode, &fill)).into()
}

type Ran = (Vec<(&'static str, u64)>, Outcome);

fn one<'a>(chip: &Chip, mode: Mode, fill: &impl Fn(&mut Simulation<'a>, &'a Log)) -> Ran {
    let log: &'a Log = Box::leak(Box::default());
    let mut simulation = Simulation::new(chip, Settings { mode, ..Settings::default() });
    fill(&mut simulation, log);
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    (log.0.take(), outcome)
}

fn expect<'a>(
    chip: &Chip,
    expected: &[(&'static str, u64)],
    fill: impl Fn(&mut Simulation<'a>, &'a Log),
) -> Outcome {
    let mut all = run(chip, fill);
    for (log, _) in &all {
        assert_eq!(log, expected);
    }
    all.swap_remove(0).1
}

#[test]
fn a_more_urgent_process_takes_the_core_and_gives_it_back() {
    let expected = [
        ("high begins", SWITCH),
        ("low begins", SWITCH + SWITCH),
        ("high wakes", 5600 + SWITCH),
        ("high ends", 6200 + 300),
        // 5600 - 1200 of its 10000 had been done.
        ("low ends", 6500 + SWITCH + 10_000 - 4400),
    ];
    let outcome = expect(&chip(), &expected, |simulation, log| {
        simulation.process(0, "low", 1, |cpu| {
            log.note("low begins", cpu.time());
            cpu.compute(ns(10_000));
            log.note("low ends", cpu.time());
        });
        simulation.process(0, "high", 2, |cpu| {
            log.note("high begins", cpu.time());
            cpu.pause(ns(5000));
            log.note("high wakes", cpu.time());
            cpu.compute(ns(300));
            log.note("high ends", cpu.time());
        });
    });
    assert_eq!((outcome.end, outcome.cores[0].switches), (ns(12_700), 4));
    assert_eq!(outcome.cores[0].busy, ns(12_700), "there was always somebody");
    assert_eq!(outcome.counts.preemptions, 1);
}

#[test]
fn equals_run_in_the_order_in_which_they_became_ready() {
    let all = run(&chip(), |simulation, log| {
        for (name, delay) in [("first", 20_000), ("second", 30_000), ("third", 10_000)] {
            simulation.process(0, name, 1, move |cpu| {
                cpu.pause(ns(delay));
                log.note(name, cpu.time());
                if name == "third" {
                    // Until both others are ready; a more urgent one in between changes nothing.
                    cpu.compute(ns(60_000));
                    cpu.pause(ns(1));
                    log.note(name, cpu.time());
                }
            });
        }
        simulation.process(0, "urgent", 2, |cpu| cpu.pause(ns(50_000)));
    });
    for (log, _) in all {
        let names: Vec<&str> = log.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["third", "first", "second", "third"]);
    }
}

#[test]
fn an_interrupt_takes_its_time_from_whoever_runs_and_no_switch() {
    let expected =
        [("interrupt", 5600 + RAISE + ENTRY), ("low ends", SWITCH + 10_000 + ENTRY + 700)];
    let outcome = expect(&chip(), &expected, |simulation, log| {
        let interrupt = simulation.interrupt(0, "irq", 0, |os| {
            log.note("interrupt", os.cpu().time());
            os.cpu().compute(ns(700));
        });
        simulation.process(0, "low", 1, |cpu| {
            cpu.compute(ns(10_000));
            log.note("low ends", cpu.time());
        });
        simulation.process(1, "other", 1, move |cpu| {
            cpu.compute(ns(5000));
            cpu.os().raise(interrupt);
        });
    });
    assert_eq!((outcome.cores[0].switches, outcome.cores[0].interrupts), (1, 1));
}

#[test]
fn interrupts_nest_by_their_levels() {
    let first = 1600 + RAISE + ENTRY;
    // Comes 400 behind it and takes 500.
    let second = first + 400 + ENTRY;
    let expected = [
        ("low level", first),
        ("high level", second),
        ("high level ends", second + 500),
        // 400 of its 2000 were done; the lowest one came meanwhile and has to wait.
        ("low level ends", second + 500 + 1600),
        ("lowest", second + 500 + 1600 + ENTRY),
        ("process", 600 + 10_000 + 3 * ENTRY + 500 + 2000 + 100),
    ];
    expect(&chip(), &expected, |simulation, log| {
        let high = simulation.interrupt(0, "high", 9, |os| {
            log.note("high level", os.cpu().time());
            os.cpu().compute(ns(500));
            log.note("high level ends", os.cpu().time());
        });
        let low = simulation.interrupt(0, "low", 1, |os| {
            log.note("low level", os.cpu().time());
            os.cpu().compute(ns(2000));
            log.note("low level ends", os.cpu().time());
        });
        let lowest = simulation.interrupt(0, "lowest", 0, |os| {
            log.note("lowest", os.cpu().time());
            os.cpu().compute(ns(100));
        });
        simulation.process(0, "process", 1, |cpu| {
            cpu.compute(ns(10_000));
            log.note("process", cpu.time());
        });
        simulation.process(1, "other", 1, move |cpu| {
            cpu.compute(ns(1000));
            cpu.os().raise(low);
            cpu.compute(ns(ENTRY + 400 - 40));
            cpu.os().raise(high);
            cpu.os().raise(lowest);
        });
    });
}

#[test]
fn triggers_that_come_while_an_interrupt_process_runs_make_it_run_once_more() {
    let all = run(&chip(), |simulation, log| {
        let interrupt = simulation.interrupt(0, "irq", 0, |os| {
            log.note("run", os.cpu().time());
            os.cpu().compute(ns(5000));
        });
        simulation.process(0, "low", 1, |cpu| cpu.compute(ns(50_000)));
        simulation.process(1, "other", 1, move |cpu| {
            for _ in 0..4 {
                cpu.os().raise(interrupt);
                cpu.compute(ns(500));
            }
        });
    });
    for (log, outcome) in all {
        let first = SWITCH + RAISE + ENTRY;
        assert_eq!(log, [("run", first), ("run", first + 5000)]);
        assert_eq!(outcome.cores[0].interrupts, 4);
    }
}

#[test]
fn every_tick_takes_its_time_and_sleeps_end_with_one() {
    let mut chip = chip();
    chip.cores[0].system.tick = Cost::Time(ns(10_000));
    chip.cores[0].system.tick_service = Cost::Time(ns(250));
    let expected = [
        // Computes from 1200 on for 45 us, through the ticks at 10, 20, 30 and 40 us. What sleeps
        // until 33 us is woken by the last of them.
        ("sleeper", 40_000 + 250 + SWITCH),
        ("worker", 1200 + 45_000 + 4 * 250 + 2 * SWITCH),
        ("worker", 50_000 + 250 + SWITCH),
    ];
    let outcome = expect(&chip, &expected, |simulation, log| {
        simulation.process(0, "sleeper", 2, |cpu| {
            cpu.pause(ns(33_000 - SWITCH));
            log.note("sleeper", cpu.time());
        });
        simulation.process(0, "worker", 1, |cpu| {
            cpu.compute(ns(45_000));
            log.note("worker", cpu.time());
            cpu.pause(ns(1));
            log.note("worker", cpu.time());
        });
    });
    assert_eq!((outcome.cores[0].interrupts, outcome.cores[1].interrupts), (5, 0));
    let idle = 50_000 - (1200 + 45_000 + 4 * 250 + 2 * SWITCH);
    assert_eq!(outcome.cores[0].busy, ns(50_850 - idle));
}

#[test]
fn a_core_that_idles_is_ticked_too() {
    let mut chip = chip();
    chip.cores[1].system.tick = Cost::Time(ns(1000));
    chip.cores[1].system.tick_service = Cost::Time(ns(30));
    for (_, outcome) in run(&chip, |simulation, _| {
        simulation.process(0, "only", 1, |cpu| cpu.compute(ns(10_500 - SWITCH)));
    }) {
        assert_eq!((outcome.cores[1].interrupts, outcome.cores[1].busy), (10, ns(300)));
    }
}

#[test]
fn the_swap_hook_sees_each_switch_and_takes_its_time() {
    const HOOK: u64 = 130;
    let mut chip = chip();
    let calls = &mut chip.cores[0].system.calls;
    let hook = CallCost { takes: Cost::Time(ns(HOOK)), words: 0 };
    calls.push((narrows_sim::rtos::Call::SwapHook, hook));
    for mode in [Mode::Fast, Mode::Reference] {
        let swaps = RefCell::new(Vec::new());
        let ends = RefCell::new(Vec::new());
        let mut simulation = Simulation::new(&chip, Settings { mode, ..Settings::default() });
        let low = simulation.process(0, "low", 1, |cpu| {
            cpu.compute(ns(1000));
            ends.borrow_mut().push(cpu.time().as_nanos());
        });
        let high = simulation.process(0, "high", 2, |cpu| {
            cpu.pause(ns(5000));
            ends.borrow_mut().push(cpu.time().as_nanos());
        });
        let interrupt = simulation.interrupt(0, "irq", 0, |os| os.cpu().compute(ns(10)));
        simulation.process(1, "other", 1, move |cpu| cpu.os().raise(interrupt));
        simulation.on_swap(|swap| swaps.borrow_mut().push(swap));
        simulation.run().unwrap();
        // The interrupt comes in the middle of the second switch and delays it.
        let switch = SWITCH + HOOK;
        let first = switch;
        let second = first + switch + ENTRY + 10 + 1000;
        let of = |at, from, to| Swap { at: ns(at), core: 0, from, to };
        let expected = [
            of(0, None, Some(high)),
            of(first, Some(high), Some(low)),
            of(second, Some(low), None),
            of(first + 5000, None, Some(high)),
            of(first + 5000 + switch, Some(high), None),
        ];
        let own: Vec<Swap> = swaps.take().into_iter().filter(|swap| swap.core == 0).collect();
        assert_eq!(own, expected);
        assert_eq!(ends.take(), [second, first + 5000 + switch]);
    }
}
