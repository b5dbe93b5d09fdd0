//! Simulations in which nothing can run any more say which process waits for what, and since when.

use narrows::platform::{Instant, Platform, Wait};
use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Mode, Settings, Simulation, Stuck};
use narrows_sim::time::{Cost, Time};

fn run<'a>(chip: &Chip, mode: Mode, fill: impl FnOnce(&mut Simulation<'a>)) -> Stuck {
    let mut simulation = Simulation::new(chip, Settings { mode, ..Settings::default() });
    fill(&mut simulation);
    simulation.run().expect_err("it is stuck")
}

#[test]
fn a_deadlock_names_each_process_what_it_waits_for_and_when() {
    for (mode, ticks) in [(Mode::Fast, false), (Mode::Fast, true), (Mode::Reference, true)] {
        let mut chip = crate::common::chip();
        if ticks {
            // A clock that ticks for ever is nothing that happens.
            chip.cores[0].system.tick = Cost::Time(Time::nanos(10_000));
            chip.cores[0].system.tick_service = Cost::Cycles(30);
        }
        let stuck = run(&chip, mode, |simulation| {
            simulation.process(0, "receiver", 3, |cpu| {
                let _ = cpu.os().receive(&[1], Time::NEVER);
            });
            simulation.process(0, "philosopher", 2, |cpu| {
                let _ = cpu.os().create_sem(0);
                let second = cpu.os().create_sem(0);
                let _ = cpu.os().wait_sem(second, Time::NEVER);
            });
            simulation.process(0, "stopped", 1, |cpu| {
                let _ = cpu.os().stop(cpu.os().own());
            });
            simulation.process(1, "fast", 2, |cpu| {
                cpu.os().wait_fsem(1, Time::NEVER);
            });
            simulation.process(1, "sleeper", 1, |cpu| {
                cpu.wait(std::iter::empty(), Wait::Bell, None);
            });
            // Still there when a timer of its own has ended.
            simulation.process(1, "ends", 9, |cpu| cpu.pause(Time::nanos(25_000)));
        });
        let Stuck::Deadlock { at, waiting } = &stuck else { panic!("{stuck}") };
        assert!(*at >= Time::nanos(25_000), "{at}");
        let expected = [
            ("receiver", "a signal"),
            ("philosopher", "semaphore 1"),
            ("stopped", "to be started again"),
            ("fast", "its fast semaphore"),
            ("sleeper", "its doorbell"),
        ];
        assert_eq!(*waiting, expected.map(|(who, what)| (who.to_owned(), what.to_owned())));
        let text = stuck.to_string();
        assert!(text.contains("philosopher waits for semaphore 1"), "{text}");
        assert!(text.contains(&format!("at {at} of virtual time")), "{text}");
    }
}

#[test]
fn a_process_that_spins_on_a_word_nobody_writes_is_a_deadlock() {
    let stuck = run(&crate::common::chip(), Mode::Fast, |simulation| {
        simulation.process(0, "spinner", 2, |cpu| {
            cpu.spin(0, 0x100, 0, Time::NEVER);
        });
        simulation.process(0, "starved", 1, |_| {});
    });
    let Stuck::Deadlock { waiting, .. } = &stuck else { panic!("{stuck}") };
    let expected = [("spinner", "the word at byte 256 of sram to change"), ("starved", "its core")];
    assert_eq!(*waiting, expected.map(|(who, what)| (who.to_owned(), what.to_owned())));
}

/// How a process of that name on the first core gets stuck beside one that computes for 25 µs, with
/// and without an end of the run, a clock that ticks, and in both modes: always the same.
fn always(name: &str, body: impl Fn(&Cpu) + Clone + 'static) -> (Time, String) {
    let mut all = Vec::new();
    for case in 0..8 {
        let mut chip = crate::common::chip();
        if case % 2 > 0 {
            chip.cores[1].system.tick = Cost::Time(Time::nanos(10_000));
            chip.cores[1].system.tick_service = Cost::Cycles(30);
        }
        let until = if case & 2 > 0 { Time::nanos(70_000_000) } else { Time::NEVER };
        let mode = if case & 4 > 0 { Mode::Reference } else { Mode::Fast };
        let mut simulation =
            Simulation::new(&chip, Settings { mode, until, ..Settings::default() });
        let body = body.clone();
        simulation.process(0, name, 1, move |cpu| body(&cpu));
        simulation.process(0, "ends", 2, |cpu| cpu.compute(Time::nanos(25_000)));
        let Err(Stuck::Deadlock { at, waiting }) = simulation.run() else {
            panic!("{name}: it is stuck in case {case}")
        };
        let [(who, what)] = &waiting[..] else { panic!("{name}: {waiting:?}") };
        assert_eq!(who, name);
        all.push((at, what.clone()));
    }
    assert!(all.iter().all(|one| *one == all[0]), "{name}: {all:?}");
    all.remove(0)
}

#[test]
fn a_deadlock_dates_from_the_last_thing_that_happened_whether_or_not_the_run_has_an_end() {
    // Two switches, 25 µs, and, unless it looks at memory, 500 ns until it sleeps.
    let wait = |how| {
        move |cpu: &Cpu| {
            cpu.wait(std::iter::empty(), how, None);
        }
    };
    let begun = Time::nanos(600 + 25_000 + 600);
    let slept = begun + Time::nanos(500);
    assert_eq!(always("sleeper", wait(Wait::Bell)), (slept, "its doorbell".into()));
    assert_eq!(always("timer", wait(Wait::Timer)), (slept, "a timer".into()));
    let looked = begun + Time::nanos(30);
    let word = |at| format!("the word at byte {at} of sram to change");
    let spin = |cpu: &Cpu| assert_eq!(cpu.spin(0, 0x100, 0, Time::NEVER), None);
    assert_eq!(always("spinner", spin), (looked, word(0x100)));
    let lock = |cpu: &Cpu| while cpu.lock(0, 0x80, Time::NEVER) {};
    let (at, what) = always("locker", lock);
    assert_eq!(what, word(0x80));
    assert!(at > begun && at < begun + Time::nanos(1000), "{at}");
    // A node without a link has no words to look at.
    let (at, what) = always("node", wait(Wait::Spin));
    assert_eq!(what, "a peer");
    assert!(at >= begun && at < begun + Time::nanos(1000), "{at}");
}

#[test]
fn two_that_spin_for_each_other_are_a_deadlock_in_both_modes() {
    let run = |mode| {
        run(&crate::common::chip(), mode, |simulation| {
            for core in 0..2 {
                simulation.process(core, ["a", "b"][core], 1, move |cpu| {
                    cpu.spin(0, 64 * core as u32, 0, Time::NEVER);
                    cpu.store(0, 64 - 64 * core as u32, 1);
                });
            }
        })
    };
    let Stuck::Deadlock { waiting, .. } = run(Mode::Fast) else { panic!("another") };
    let words = [0, 64].map(|at| format!("the word at byte {at} of sram to change"));
    assert_eq!(waiting, [("a".into(), words[0].clone()), ("b".into(), words[1].clone())]);
    assert_eq!(run(Mode::Fast), run(Mode::Reference));
}

#[test]
fn whoever_still_has_something_coming_when_the_time_is_up_is_not_stuck() {
    for mode in [Mode::Fast, Mode::Reference] {
        for nanos in (30_000..34_000).step_by(10) {
            let until = Time::nanos(nanos);
            let mut simulation = Simulation::new(
                &crate::common::chip(),
                Settings { mode, until, ..Settings::default() },
            );
            simulation.process(0, "looks", 1, |cpu| {
                cpu.spin(0, 64, 0, Time::NEVER);
                cpu.wait(std::iter::empty(), Wait::Bell, Some(Instant(100_000)));
            });
            simulation.process(1, "changes", 1, |cpu| {
                cpu.compute(Time::nanos(30_000));
                cpu.store(0, 64, 1);
            });
            let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{nanos}: {stuck}"));
            assert!(outcome.unfinished.contains(&"looks".into()), "{nanos}: {outcome:?}");
        }
    }
}
