//! Signals, semaphores and the other calls of the operating system, with times worked out by hand:
//! a cycle is 10 ns, a switch takes 600 ns, and memory is not used.

use narrows_sim::chip::{CallCost, Chip};
use narrows_sim::engine::{Mode, Settings, Simulation};
use narrows_sim::rtos::{Call, Unknown};
use narrows_sim::time::{Cost, Time};
use std::cell::{Cell, RefCell};

const SWITCH: u64 = 600;
const ENTRY: u64 = 300;
const SEND: u64 = 370;
const RECEIVE: u64 = 280;
const TIMEOUT: u64 = 330;
const ALLOC: u64 = 110;
const SIGNAL: u64 = 140;
const WAIT: u64 = 30;

/// Two cores that fetch no code.
fn chip() -> Chip {
    let mut chip = crate::common::chip();
    let calls = [
        (Call::Alloc, ALLOC),
        (Call::Send, SEND),
        (Call::Receive, RECEIVE),
        (Call::ReceiveWTmo, TIMEOUT),
        (Call::SignalFsem, SIGNAL),
        (Call::WaitFsem, WAIT),
        (Call::SignalSem, SIGNAL),
        (Call::WaitSem, WAIT),
    ];
    for core in &mut chip.cores {
        core.instructions = None;
        let takes = |nanos| CallCost { takes: Cost::Time(ns(nanos)), words: 0 };
        core.system.calls = calls.map(|(call, nanos)| (call, takes(nanos))).into();
    }
    chip
}

fn ns(nanos: u64) -> Time {
    Time::nanos(nanos)
}

/// Runs what `fill` adds to a chip, in both modes.
fn run(mut fill: impl FnMut(&mut Simulation<'_>)) {
    for mode in [Mode::Fast, Mode::Reference] {
        let mut simulation = Simulation::new(&chip(), Settings { mode, ..Settings::default() });
        fill(&mut simulation);
        simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    }
}

/// Counts the claims of a test that were reached, as processes that never run claim nothing.
#[derive(Clone, Default)]
struct Reached(std::rc::Rc<Cell<u32>>);

impl Reached {
    fn mark(&self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn a_signal_goes_to_a_more_urgent_process_before_send_returns() {
    let reached = Reached::default();
    run(|simulation| {
        let at = reached.clone();
        simulation.process(0, "receiver", 2, move |cpu| {
            let signal = cpu.os().receive(&[], Time::NEVER).expect("a signal");
            // It waits at 880; the sender's turn begins there.
            let sent = SWITCH + RECEIVE + SWITCH + ALLOC + SEND;
            assert_eq!(cpu.time(), ns(sent + SWITCH));
            assert_eq!((signal.number, &signal.bytes[..]), (7, &b"start"[..]));
            assert_eq!(cpu.os().name(signal.sender()), "sender");
            cpu.compute(ns(50));
            at.mark();
        });
        let at = reached.clone();
        simulation.process(0, "sender", 1, move |cpu| {
            let os = cpu.os();
            let to = os.hunt("receiver").expect("it is there");
            assert_eq!(os.hunt("nobody"), None);
            let signal = os.alloc(7, b"start".to_vec());
            os.send(signal, to).expect("it is there");
            let behind = SWITCH + RECEIVE + SWITCH + ALLOC + SEND + SWITCH + 50 + SWITCH;
            assert_eq!(cpu.time(), ns(behind));
            at.mark();
        });
    });
    assert_eq!(reached.0.get(), 4);
}

#[test]
fn a_receiver_takes_what_it_asks_for_and_leaves_the_rest_in_order() {
    let reached = Reached::default();
    run(|simulation| {
        let at = reached.clone();
        let receiver = simulation.process(0, "receiver", 1, move |cpu| {
            let os = cpu.os();
            cpu.pause(ns(50_000));
            let mut numbers = Vec::new();
            for wanted in [&[3][..], &[2, 1], &[], &[]] {
                numbers.push(os.receive(wanted, Time::NEVER).expect("sent").number);
            }
            assert_eq!(numbers, [3, 1, 2, 1]);
            assert_eq!(os.receive(&[], Time::ZERO), None);
            // A signal that is not asked for does not wake it.
            let before = cpu.time();
            assert_eq!(os.receive(&[9], ns(100_000)), None);
            assert_eq!(cpu.time(), before + ns(TIMEOUT + 100_000 + SWITCH));
            assert_eq!(os.receive(&[], ns(1)).map(|signal| signal.number), Some(8));
            at.mark();
        });
        simulation.process(0, "sender", 2, move |cpu| {
            let os = cpu.os();
            for number in [1, 2, 3, 1] {
                os.send(os.alloc(number, Vec::new()), receiver).expect("it is there");
            }
            os.delay(ns(100_000));
            os.send(os.alloc(8, Vec::new()), receiver).expect("it is there");
        });
    });
    assert_eq!(reached.0.get(), 2);
}

#[test]
fn a_signal_that_is_received_is_sent_on_in_its_buffer() {
    let reached = Reached::default();
    run(|simulation| {
        let at = reached.clone();
        let last = simulation.process(0, "last", 3, move |cpu| {
            let signal = cpu.os().receive(&[5], Time::NEVER).expect("sent");
            assert_eq!((cpu.os().name(signal.sender()), signal.bytes.len()), ("middle".into(), 3));
            cpu.os().free(signal);
            at.mark();
        });
        let middle = simulation.process(0, "middle", 2, move |cpu| {
            let mut signal = cpu.os().receive(&[4], Time::NEVER).expect("sent");
            signal.number = 5;
            cpu.os().send(signal, last).expect("it is there");
        });
        simulation.process(0, "first", 1, move |cpu| {
            cpu.os().send(cpu.os().alloc(4, vec![1, 2, 3]), middle).expect("it is there");
        });
    });
    assert_eq!(reached.0.get(), 2);
}

#[test]
fn fast_semaphores_count_and_wake_when_there_is_enough() {
    let reached = Reached::default();
    run(|simulation| {
        let at = reached.clone();
        let waiter = simulation.process(0, "waiter", 2, move |cpu| {
            let os = cpu.os();
            os.set_fsem(1);
            assert!(os.wait_fsem(1, Time::ZERO), "it was set");
            assert!(!os.wait_fsem(1, Time::ZERO), "and is empty");
            assert!(os.wait_fsem(3, Time::NEVER));
            // Waits first at 600 + 3 waits; the third of the other's signals is enough.
            let third = SWITCH + 3 * WAIT + SWITCH + 3 * SIGNAL;
            assert_eq!(cpu.time(), ns(third + SWITCH));
            let before = cpu.time();
            assert!(!os.wait_fsem(2, ns(10_000)), "only one is left by then");
            assert_eq!(cpu.time(), before + ns(WAIT + 10_000 + SWITCH));
            assert_eq!(os.fsem(os.own()), Ok(1));
            at.mark();
        });
        simulation.process(0, "signaller", 1, move |cpu| {
            for _ in 0..4 {
                cpu.os().signal_fsem(waiter).expect("it is there");
            }
        });
    });
    assert_eq!(reached.0.get(), 2);
}

#[test]
fn a_counting_semaphore_is_handed_on_in_the_order_of_waiting() {
    for mode in [Mode::Fast, Mode::Reference] {
        let log = RefCell::new(Vec::new());
        let semaphore = Cell::new(None);
        let mut simulation = Simulation::new(&chip(), Settings { mode, ..Settings::default() });
        let (log_, semaphore_) = (&log, &semaphore);
        simulation.process(0, "owner", 9, move |cpu| {
            semaphore_.set(Some(cpu.os().create_sem(2)));
        });
        for (name, priority, delay) in [("a", 1, 1), ("b", 2, 3), ("c", 3, 2), ("d", 4, 4)] {
            simulation.process(0, name, priority, move |cpu| {
                let (os, delay) = (cpu.os(), delay * 10_000);
                cpu.pause(ns(delay));
                let semaphore = semaphore_.get().expect("made");
                assert_eq!(os.wait_sem(semaphore, Time::NEVER), Ok(true));
                log_.borrow_mut().push((name, cpu.time() > ns(90_000)));
            });
        }
        simulation.process(0, "late", 5, move |cpu| {
            cpu.pause(ns(60_000));
            let semaphore = semaphore_.get().expect("made");
            assert_eq!(cpu.os().sem(semaphore), Ok(0));
            assert_eq!(cpu.os().wait_sem(semaphore, ns(10_000)), Ok(false), "two are before it");
            // It was the third to begin.
            assert_eq!(cpu.time(), ns(3 * SWITCH + 60_000 + SWITCH + WAIT + 10_000 + SWITCH));
        });
        simulation.process(0, "giver", 6, move |cpu| {
            cpu.pause(ns(100_000));
            for _ in 0..3 {
                cpu.os().signal_sem(semaphore_.get().expect("made")).expect("there");
            }
            assert_eq!(cpu.os().sem(semaphore_.get().expect("made")), Ok(1), "two took one each");
        });
        simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
        // a and c found it free; b came before d, which is more urgent and so runs first.
        assert_eq!(log.take(), [("a", false), ("c", false), ("d", true), ("b", true)]);
    }
}

#[test]
fn a_semaphore_that_is_killed_tells_those_that_wait() {
    let reached = Reached::default();
    run(|simulation| {
        let at = reached.clone();
        simulation.process(0, "both", 1, move |cpu| {
            let os = cpu.os();
            let semaphore = os.create_sem(0);
            let told = at.clone();
            let waiter = os.spawn("waiter", 2, move |cpu| {
                assert_eq!(cpu.os().wait_sem(semaphore, Time::NEVER), Err(Unknown));
                told.mark();
            });
            assert!(waiter.is_some());
            os.kill_sem(semaphore).expect("there");
            assert_eq!(os.kill_sem(semaphore), Err(Unknown));
            assert_eq!(os.signal_sem(semaphore), Err(Unknown));
            assert_eq!(os.wait_sem(semaphore, Time::ZERO), Err(Unknown));
            at.mark();
        });
    });
    assert_eq!(reached.0.get(), 4);
}

#[test]
fn processes_are_made_while_others_run_and_have_to_end_as_well() {
    let reached = Reached::default();
    run(|simulation| {
        let at = reached.clone();
        simulation.process(1, "parent", 5, move |cpu| {
            let begin = cpu.time();
            let child = at.clone();
            let urgent = cpu.os().spawn("urgent", 6, move |cpu| {
                assert_eq!((cpu.core(), cpu.time()), (1, begin + ns(SWITCH)));
                let grandchild = child.clone();
                let _ = cpu.os().spawn("last", 1, move |cpu| {
                    cpu.compute(ns(1_000_000));
                    assert!(cpu.os().hunt("parent").is_none(), "it has ended");
                    grandchild.mark();
                });
                child.mark();
            });
            assert_eq!(cpu.time(), begin + ns(2 * SWITCH), "the child ran first");
            let urgent = urgent.expect("made");
            assert_eq!(cpu.os().send(cpu.os().alloc(1, Vec::new()), urgent), Err(Unknown));
            at.mark();
        });
    });
    assert_eq!(reached.0.get(), 6);
}

#[test]
fn what_is_stopped_does_not_run_until_it_is_started_as_often() {
    let reached = Reached::default();
    run(|simulation| {
        let at = reached.clone();
        let worker = simulation.process(0, "worker", 3, move |cpu| {
            let signal = cpu.os().receive(&[], Time::NEVER).expect("sent");
            assert_eq!(signal.number, 1);
            assert_eq!(cpu.time(), ns(SWITCH + RECEIVE + SWITCH + ALLOC + SEND + 5000 + SWITCH));
            // Itself, until the other starts it; its time begins behind that.
            cpu.os().stop(cpu.os().own()).expect("it is there");
            at.mark();
        });
        simulation.process(0, "boss", 1, move |cpu| {
            let os = cpu.os();
            os.stop(worker).expect("there");
            os.stop(worker).expect("there");
            os.send(os.alloc(1, Vec::new()), worker).expect("there");
            cpu.compute(ns(5000));
            os.start(worker).expect("there");
            let before = cpu.time();
            os.start(worker).expect("there");
            assert_eq!(cpu.time(), before + ns(2 * SWITCH), "there and back");
            os.start(worker).expect("there");
            assert_eq!(os.start(worker), Err(Unknown), "it has ended");
        });
    });
    assert_eq!(reached.0.get(), 2);
}

#[test]
fn a_change_of_priority_takes_effect_at_once() {
    let reached = Reached::default();
    run(|simulation| {
        let at = reached.clone();
        simulation.process(0, "low", 1, move |cpu| {
            assert_eq!(cpu.time(), ns(2 * SWITCH + 100));
            assert_eq!(cpu.os().priority(cpu.os().own()), Ok(5));
            at.mark();
        });
        let at = reached.clone();
        simulation.process(0, "high", 4, move |cpu| {
            let os = cpu.os();
            cpu.compute(ns(100));
            let low = os.hunt("low").expect("there");
            os.set_priority(low, 5).expect("there");
            assert_eq!(cpu.time(), ns(3 * SWITCH + 100), "low came first");
            at.mark();
        });
        simulation.process(1, "elsewhere", 1, move |cpu| {
            assert_eq!(cpu.os().hunt("low"), None, "each core has its own");
        });
    });
    assert_eq!(reached.0.get(), 4);
}

#[test]
fn an_interrupt_process_is_triggered_by_signals_and_fast_semaphores_and_never_blocks() {
    let reached = Reached::default();
    run(|simulation| {
        let at = reached.clone();
        let interrupt = simulation.interrupt(0, "irq", 3, move |os| {
            let before = os.cpu().time();
            let signal = os.receive(&[], Time::NEVER);
            assert_eq!(os.cpu().time(), before + ns(RECEIVE));
            os.delay(ns(1000));
            assert!(!os.wait_fsem(100, Time::NEVER));
            assert_eq!(os.cpu().time(), before + ns(RECEIVE + WAIT));
            let answer = os.alloc(signal.as_ref().map_or(0, |signal| signal.number), Vec::new());
            os.send(answer, signal.map_or(os.hunt("process").expect("there"), |s| s.sender()))
                .expect("it is there");
            at.mark();
        });
        let at = reached.clone();
        simulation.process(0, "process", 1, move |cpu| {
            let os = cpu.os();
            let begin = cpu.time();
            os.send(os.alloc(6, Vec::new()), interrupt).expect("there");
            // It ran before the call was over, and on top of this process: no switch.
            let ran = ENTRY + RECEIVE + WAIT + ALLOC + SEND;
            assert_eq!(cpu.time(), begin + ns(ALLOC + SEND + ran));
            assert_eq!(os.receive(&[6], Time::ZERO).map(|s| s.number), Some(6));
            let begin = cpu.time();
            os.signal_fsem(interrupt).expect("there");
            assert_eq!(cpu.time(), begin + ns(SIGNAL + ran));
            assert_eq!(os.receive(&[0], Time::ZERO).map(|s| s.number), Some(0));
            at.mark();
        });
    });
    assert_eq!(reached.0.get(), 6);
}

#[test]
fn a_hardware_mutex_lets_one_core_in_at_a_time() {
    // A transfer takes 3 cycles of the bus, looking and taking 6, the pause in between 4 of a core.
    for mode in [Mode::Fast, Mode::Reference] {
        let log = RefCell::new(Vec::new());
        let mut simulation = Simulation::new(&chip(), Settings { mode, ..Settings::default() });
        for core in 0..2 {
            let log = &log;
            simulation.process(core, "p", 1, move |cpu| {
                cpu.compute(ns(30 * core as u64));
                assert!(cpu.lock(0, 64, Time::NEVER));
                log.borrow_mut().push((core, "in", cpu.time().as_nanos()));
                cpu.compute(ns(500));
                log.borrow_mut().push((core, "out", cpu.time().as_nanos()));
                cpu.unlock(0, 64);
                if core == 1 {
                    assert!(cpu.try_lock(0, 64));
                    assert!(!cpu.lock(0, 64, cpu.time() + ns(1000)), "it has it already");
                    assert_eq!(cpu.load(0, 64), 2, "the core's number and one");
                }
            });
        }
        simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
        // The first has it from 660 on. The other's tries end at 720, 820 and so on up to 1120,
        // each behind 40 of pause; the next waits from 1160 on for the store that frees it to end
        // at 1190.
        let expected = [(0, "in", 660), (0, "out", 1160), (1, "in", 1250), (1, "out", 1750)];
        assert_eq!(log.take(), expected);
    }
}
