//! Simulations that cannot go on say which process does what, where and when. Deadlocks have a file
//! of their own.

use narrows::endpoint::Limits;
use narrows::platform::{Platform, Wait};
use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Mode, Settings, Simulation, Stuck};
use narrows_sim::time::{Cost, Time};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

fn run<'a>(chip: &Chip, mode: Mode, fill: impl FnOnce(&mut Simulation<'a>)) -> Stuck {
    let mut simulation = Simulation::new(chip, Settings { mode, ..Settings::default() });
    fill(&mut simulation);
    simulation.run().expect_err("it is stuck")
}

/// A loop that nothing but time would end, and a chip on which it takes none.
fn still(body: impl FnOnce(&Cpu) + Clone + 'static) {
    let mut chip = crate::common::chip();
    chip.buses[0].overhead = Cost::NONE;
    for memory in &mut chip.memories {
        (memory.read, memory.write, memory.beat) = (Cost::NONE, Cost::NONE, Cost::NONE);
    }
    for core in &mut chip.cores {
        core.instructions = None;
        (core.hit, core.poll, core.fence, core.upkeep) =
            (Cost::NONE, Cost::NONE, Cost::NONE, Cost::NONE);
        (core.copy.start, core.copy.word, core.timer.read) = (Cost::NONE, Cost::NONE, Cost::NONE);
        (core.interrupt.ring, core.system.sleep) = (Cost::NONE, Cost::NONE);
    }
    for mode in [Mode::Fast, Mode::Reference] {
        let body = body.clone();
        let stuck = run(&chip, mode, |simulation| {
            simulation.process(0, "busy", 1, move |cpu| {
                cpu.compute(Time::nanos(5));
                body(&cpu);
            });
            simulation.process(1, "other", 1, |cpu| cpu.compute(Time::nanos(10_000_000)));
        });
        // The switch to it took 600 ns.
        let expected = Stuck::Still { at: Time::nanos(605), process: Some("busy".into()) };
        assert_eq!(stuck, expected, "{mode:?}");
        let text = stuck.to_string();
        assert!(text.contains("busy") && text.contains("605 ns"), "{text}");
    }
}

#[test]
fn time_that_stands_still_is_told_whatever_is_called_meanwhile() {
    still(|cpu| while cpu.time() < Time::nanos(1_000_000) {});
    still(|cpu| while cpu.busy() < Time::nanos(1_000_000) {});
    still(|cpu| while cpu.now().0 < 1_000_000 {});
    still(|cpu| while cpu.load(0, 0) == 0 {});
    still(|cpu| while cpu.load(1, 0) == 0 {});
    still(|cpu| while cpu.lock(0, 0, Time::NEVER) {});
    still(|cpu| {
        let mut bytes = [0; 40];
        while bytes[0] == 0 {
            cpu.read(1, 0, &mut bytes);
        }
    });
    still(|cpu| {
        loop {
            cpu.write(1, 0, &[1; 8]);
        }
    });
    still(|cpu| {
        loop {
            cpu.clean(1, 0, 64);
        }
    });
    still(|cpu| {
        loop {
            cpu.fence();
        }
    });
    still(|cpu| {
        loop {
            cpu.compute(Time::ZERO);
        }
    });
    still(|cpu| {
        loop {
            cpu.wait(std::iter::empty(), Wait::Timer, Some(cpu.now()));
        }
    });
    still(|cpu| {
        loop {
            let _ = cpu.spin(0, 0, 1, Time::NEVER);
        }
    });
}

#[test]
fn time_that_stands_still_is_told_in_the_stack_and_the_operating_system() {
    still(|cpu| {
        let mut node = cpu.node("busy".parse().unwrap(), Limits::default()).unwrap();
        loop {
            node.poll();
        }
    });
    still(|cpu| {
        let mut node = cpu.node("busy".parse().unwrap(), Limits::default()).unwrap();
        loop {
            let _ = node.hunt(&"nobody".parse().unwrap(), Some(Duration::ZERO));
        }
    });
    still(|cpu| while cpu.os().hunt("nobody").is_none() {});
    still(|cpu| while cpu.os().receive(&[], Time::ZERO).is_none() {});
    still(|cpu| while !cpu.os().wait_fsem(1, Time::ZERO) {});
    still(|cpu| {
        let os = cpu.os();
        let semaphore = os.create_sem(0);
        while os.wait_sem(semaphore, Time::ZERO) != Ok(true) {}
    });
    still(|cpu| {
        let os = cpu.os();
        while os.signal_fsem(os.own()).is_ok() {}
    });
}

#[test]
fn an_access_outside_a_memory_names_process_memory_and_place() {
    let chip = crate::common::chip();
    let (sram, sdram) = (4 << 20, 32 << 20);
    type Access = fn(&Cpu);
    let cases: [(Access, &str, u64, u64, u64); 8] = [
        (|cpu| assert_eq!(cpu.load(0, 4 << 20), 0), "sram", 4 << 20, 4, sram),
        (|cpu| cpu.store(0, (4 << 20) - 2, 1), "sram", (4 << 20) - 2, 4, sram),
        (|cpu| cpu.read(1, (32 << 20) - 30, &mut [0; 31]), "sdram", (32 << 20) - 30, 31, sdram),
        (|cpu| cpu.write(1, u32::MAX, &[0; 9]), "sdram", u64::from(u32::MAX), 9, sdram),
        (|cpu| cpu.load_bytes(0, 5 << 20, &mut [0; 100]), "sram", 5 << 20, 100, sram),
        (|cpu| cpu.clean(1, 32 << 20, 1), "sdram", 32 << 20, 1, sdram),
        (|cpu| assert!(cpu.lock(0, 4 << 20, Time::NEVER)), "sram", 4 << 20, 4, sram),
        (|cpu| assert_eq!(cpu.load(7, 8), 0), "memory 7, which is none", 8, 4, 0),
    ];
    for (access, named, offset, len, size) in cases {
        for mode in [Mode::Fast, Mode::Reference] {
            let behind = Cell::new(false);
            let stuck = run(&chip, mode, |simulation| {
                let behind = &behind;
                simulation.process(0, "stray", 1, move |cpu| {
                    access(&cpu);
                    behind.set(true);
                });
                simulation.process(1, "other", 1, |cpu| cpu.pause(Time::nanos(1000)));
            });
            let (process, memory) = ("stray".to_owned(), named.to_owned());
            let at = Time::nanos(600);
            assert_eq!(stuck, Stuck::OutOfRange { at, process, memory, offset, len, size });
            assert!(!behind.get(), "it went on");
            let text = stuck.to_string();
            let place = format!("stray reached for {len} bytes at byte {offset} of {named}");
            assert!(text.contains(&place) && text.contains("600 ns"), "{text}");
        }
    }
    // To the last byte is inside.
    let mut simulation = Simulation::new(&chip, Settings::default());
    simulation.process(0, "careful", 1, |cpu| {
        cpu.store(0, (4 << 20) - 4, 5);
        assert_eq!(cpu.load(0, (4 << 20) - 4), 5);
        cpu.write(1, (32 << 20) - 9, &[1; 9]);
        cpu.clean(1, (32 << 20) - 9, 9);
    });
    simulation.run().unwrap();
}

/// Counts when it is dropped, and meanwhile tries to have an effect.
struct Witness<'a> {
    cpu: Cpu,
    dropped: &'a Cell<u32>,
}

impl Drop for Witness<'_> {
    fn drop(&mut self) {
        // One that panics runs until it would have to wait.
        self.cpu.pause(Time::nanos(1000));
        let before = self.cpu.time();
        self.cpu.store(0, 0, 77);
        self.cpu.write(1, 0, &[7; 100]);
        self.cpu.compute(Time::nanos(1000));
        self.cpu.pause(Time::nanos(1000));
        let _ = self.cpu.lock(0, 64, Time::NEVER);
        let _ = self.cpu.os().receive(&[], Time::NEVER);
        let _ = self.cpu.os().spawn("late", 1, |_| panic!("it must not run"));
        self.cpu.wait(std::iter::empty(), Wait::Bell, None);
        assert_eq!(self.cpu.time(), before, "nothing takes time any more");
        self.dropped.set(self.dropped.get() + 1);
    }
}

#[test]
fn processes_that_are_in_the_middle_when_the_time_is_up_unwind_without_effect() {
    let outcomes = [false, true].map(|witnessed| {
        let dropped = Cell::new(0);
        let until = Time::nanos(50_000);
        let settings = Settings { until, ..Settings::default() };
        let chip = crate::common::chip();
        let mut simulation = Simulation::new(&chip, settings);
        for core in 0..2 {
            let dropped = &dropped;
            simulation.process(core, "endless", 1, move |cpu| {
                let name = if core == 0 { "a" } else { "b" };
                let mut node = cpu.node(name.parse().unwrap(), Limits::default()).unwrap();
                let _link = node.hunt(&"b".parse().unwrap(), Some(Duration::from_micros(5)));
                let _witness = witnessed.then(|| Witness { cpu: cpu.clone(), dropped });
                loop {
                    cpu.store(0, 128, 1);
                    node.wait_any(Some(Duration::from_micros(3)));
                }
            });
        }
        let outcome = simulation.run().unwrap();
        assert_eq!(dropped.get(), if witnessed { 2 } else { 0 });
        assert_eq!(outcome.unfinished, ["endless", "endless"]);
        (outcome.hash, outcome.cores)
    });
    assert_eq!(outcomes[0], outcomes[1], "those that look on while they end change nothing");
}

#[test]
fn a_panic_in_a_process_comes_out_of_the_run_and_the_others_unwind() {
    let dropped = Cell::new(0);
    let chip = crate::common::chip();
    let result = catch_unwind(AssertUnwindSafe(|| {
        let mut simulation = Simulation::new(&chip, Settings::default());
        let dropped = &dropped;
        simulation.process(1, "waiting", 1, move |cpu| {
            let _witness = Witness { cpu: cpu.clone(), dropped };
            cpu.wait(std::iter::empty(), Wait::Bell, None);
        });
        simulation.process(0, "failing", 1, move |cpu| {
            let _witness = Witness { cpu: cpu.clone(), dropped };
            cpu.compute(Time::nanos(100));
            panic!("on purpose");
        });
        simulation.run()
    }));
    let panic = result.expect_err("it panics");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
    assert_eq!(dropped.get(), 2);
}

#[test]
fn a_process_that_never_began_is_dropped_with_what_it_holds() {
    let chip = crate::common::chip();
    let held = std::rc::Rc::new(());
    let mut simulation = Simulation::new(&chip, Settings::default());
    let own = held.clone();
    simulation.process(0, "never", 1, move |_| drop(own));
    drop(simulation);
    assert_eq!(std::rc::Rc::strong_count(&held), 1);
    let seen = RefCell::new(0);
    let mut simulation = Simulation::new(&chip, Settings { until: Time(1), ..Settings::default() });
    let own = held.clone();
    simulation.process(0, "too late", 1, |_| {
        drop(own);
        *seen.borrow_mut() += 1;
    });
    assert_eq!(simulation.run().unwrap().unfinished, ["too late"]);
    assert_eq!((*seen.borrow(), std::rc::Rc::strong_count(&held)), (0, 1));
}
