//! What the system's calls take on the platform that was set from S4's tables A1 and A2, measured
//! by processes that make them: within 5 % of both tables.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Pid, Settings, Simulation};
use narrows_sim::time::Time;

/// A call, and what it takes in table A1 and in table A2, in cycles.
const PUBLISHED: [(&str, f64, f64); 23] = [
    ("alloc", 109.0, 376.0),
    ("free_buf", 61.0, 262.0),
    ("send", 372.0, 647.0),
    ("receive", 281.0, 657.0),
    ("receive_w_tmo", 333.0, 1171.0),
    ("set_fsem", 17.0, 43.0),
    ("wait_fsem", 34.0, 111.0),
    ("signal_fsem", 142.0, 264.0),
    ("get_fsem", 62.0, 108.0),
    ("create_sem", 152.0, 507.0),
    ("wait_sem", 26.0, 80.0),
    ("signal_sem", 29.0, 83.0),
    ("get_sem", 21.0, 50.0),
    ("kill_sem", 181.0, 498.0),
    ("get_pri", 20.0, 67.0),
    ("set_pri", 316.0, 987.0),
    ("stop", 280.0, 618.0),
    ("start", 41.0, 171.0),
    ("send-swap-receive", 510.0, 1927.0),
    ("signal_fsem-swap-wait_fsem", 314.0, 1461.0),
    ("signal_sem-swap-wait_sem", 217.0, 1449.0),
    ("start-swap-stop", 302.0, 1442.0),
    ("set_pri-swap", 359.0, 1531.0),
];

/// Repeats: code is in the cache by the last.
const REPEATS: usize = 3;

type Took = Rc<RefCell<BTreeMap<&'static str, f64>>>;

/// The chip of the tables: both caches of 16 KiB, or none for data.
fn chip(data: bool) -> Chip {
    let mut chip = Chip::shipped("nios2-dual").expect("a possible chip");
    for core in &mut chip.cores {
        for cache in core.instructions.iter_mut().chain(&mut core.data) {
            cache.size = 16 << 10;
        }
        if !data {
            core.data = None;
        }
    }
    chip
}

fn cycles(time: Time) -> f64 {
    time.micros() * 50.0
}

/// What each call takes that does not give the core away.
fn alone(cpu: &Cpu, other: Pid, took: &Took) {
    let os = cpu.os();
    let time = |name: &'static str, call: &mut dyn FnMut()| {
        let began = cpu.time();
        call();
        took.borrow_mut().insert(name, cycles(cpu.time().since(began)));
    };
    for _ in 0..REPEATS {
        let mut signal = None;
        time("alloc", &mut || signal = Some(os.alloc(1, vec![0; 32])));
        time("send", &mut || os.send(signal.take().expect("allocated"), os.own()).expect("here"));
        time("receive", &mut || signal = os.receive(&[], Time::NEVER));
        time("free_buf", &mut || os.free(signal.take().expect("received")));
        os.send(os.alloc(1, vec![0; 32]), os.own()).expect("here");
        time("receive_w_tmo", &mut || signal = os.receive(&[], Time::nanos(1_000_000)));
        os.free(signal.take().expect("received"));
        time("set_fsem", &mut || os.set_fsem(1));
        time("wait_fsem", &mut || assert!(os.wait_fsem(1, Time::NEVER)));
        time("signal_fsem", &mut || os.signal_fsem(other).expect("here"));
        time("get_fsem", &mut || assert!(os.fsem(other).is_ok()));
        let mut made = None;
        time("create_sem", &mut || made = Some(os.create_sem(0)));
        let made = made.expect("made");
        time("signal_sem", &mut || os.signal_sem(made).expect("there"));
        time("wait_sem", &mut || assert!(os.wait_sem(made, Time::NEVER).expect("there")));
        time("get_sem", &mut || assert!(os.sem(made).is_ok()));
        time("kill_sem", &mut || os.kill_sem(made).expect("there"));
        time("get_pri", &mut || assert!(os.priority(other).is_ok()));
        time("set_pri", &mut || os.set_priority(other, 2).expect("here"));
        time("stop", &mut || os.stop(other).expect("here"));
        time("start", &mut || os.start(other).expect("here"));
    }
}

fn measured(chip: &Chip) -> BTreeMap<&'static str, f64> {
    let took = Took::default();
    let mut simulation = Simulation::new(chip, Settings::default());
    // Less urgent, and waits for good.
    let idle = simulation
        .process(0, "idle", 2, |cpu: Cpu| drop(cpu.os().receive(&[], Time::nanos(90_000_000))));
    let own = Rc::clone(&took);
    simulation.process(0, "caller", 5, move |cpu: Cpu| {
        cpu.pause(Time::nanos(1_000_000));
        alone(&cpu, idle, &own);
    });
    simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    swapping(chip, &took);
    took.take()
}

/// What each pair of calls takes that gives the core to another process: from before the first
/// until after the second.
fn swapping(chip: &Chip, took: &Took) {
    let began = Rc::new(Cell::new(Time::ZERO));
    let semaphore = Rc::new(Cell::new(None));
    let mut simulation = Simulation::new(chip, Settings::default());
    let (from, shared, own) = (Rc::clone(&began), Rc::clone(&semaphore), Rc::clone(took));
    let woken = simulation.process(0, "woken", 9, move |cpu: Cpu| {
        let os = cpu.os();
        let semaphore = os.create_sem(0);
        shared.set(Some(semaphore));
        let note = |name| {
            own.borrow_mut().insert(name, cycles(cpu.time().since(from.get())));
        };
        for _ in 0..REPEATS {
            drop(os.receive(&[], Time::NEVER));
            note("send-swap-receive");
            os.wait_fsem(1, Time::NEVER);
            note("signal_fsem-swap-wait_fsem");
            let _ = os.wait_sem(semaphore, Time::NEVER);
            note("signal_sem-swap-wait_sem");
            let _ = os.stop(os.own());
            note("start-swap-stop");
            let _ = os.set_priority(os.own(), 1);
            note("set_pri-swap");
        }
    });
    simulation.process(0, "wakes", 5, move |cpu: Cpu| {
        let os = cpu.os();
        cpu.pause(Time::nanos(1_000_000));
        for _ in 0..REPEATS {
            let signal = os.alloc(1, vec![0; 32]);
            began.set(cpu.time());
            os.send(signal, woken).expect("here");
            began.set(cpu.time());
            os.signal_fsem(woken).expect("here");
            began.set(cpu.time());
            os.signal_sem(semaphore.get().expect("made")).expect("there");
            began.set(cpu.time());
            os.start(woken).expect("here");
            // It has made itself less urgent than this one.
            began.set(cpu.time());
            os.set_priority(woken, 9).expect("here");
        }
    });
    simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
}

#[test]
fn calls_take_what_the_tables_say() {
    let [with, without] = [true, false].map(|data| measured(&chip(data)));
    for (call, a1, a2) in PUBLISHED {
        for (table, published, found) in [("A1", a1, with[call]), ("A2", a2, without[call])] {
            let off = (found - published) / published;
            assert!(off.abs() <= 0.05, "{call}: {found} cycles, {published} in table {table}");
        }
    }
}
