//! The fast engine against the reference: same end, same stores at the same times, same results.

use narrows::endpoint::{Address, Limits, What};
use narrows::strategy::Strategy;
use narrows_sim::chip::{Arbitration, Bridge, CallCost, Chip, Stream};
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Mode, Outcome, Settings, Simulation};
use narrows_sim::rtos::Call;
use narrows_sim::time::{Cost, Frequency, Time};
use std::cell::{Cell, RefCell};
use std::time::Duration;

/// A small generator of its own, so that a case is its number.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

fn dice(number: u64) -> Dice {
    let mut dice = Dice(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..8 {
        dice.roll(2);
    }
    dice
}

/// A chip with two to four cores whose clocks, latencies and caches are drawn.
fn drawn(dice: &mut Dice) -> Chip {
    let mut chip = crate::common::chip();
    chip.cores.truncate(1);
    let cores = 2 + dice.roll(3) as usize;
    for i in 1..cores {
        chip.cores.push(crate::common::core(&format!("core {i}")));
    }
    for core in &mut chip.cores {
        core.clock = Frequency([50, 100, 100, 300][dice.roll(4) as usize] * 1_000_000);
        core.poll = Cost::Cycles(dice.roll(12));
        core.interrupt.latency = Cost::Cycles(dice.roll(20));
        if dice.roll(3) == 0 {
            core.data = None;
        } else {
            core.data = Some(crate::common::cache(512 << dice.roll(4), 1 << dice.roll(2)));
        }
        if dice.roll(2) == 0 {
            core.instructions = Some(crate::common::cache(1024, 1 << dice.roll(2)));
            (core.interrupt.code, core.system.code) = (600, 3);
        }
        core.copy.private = dice.roll(2) == 0;
    }
    chip.buses[0].overhead = Cost::Cycles(dice.roll(3));
    chip.buses[0].burst = 8 << dice.roll(4);
    if dice.roll(4) == 0 {
        let weights = (0..cores + 1).map(|_| 1 + dice.roll(3) as u32).collect();
        chip.buses[0].arbitration = Arbitration::Weighted(weights);
    }
    if dice.roll(2) == 0 {
        let mut second = chip.buses[0].clone();
        second.name = "second".into();
        chip.buses.push(second);
        chip.memories[1].bus = 1;
    }
    if dice.roll(2) == 0 {
        let [read, write] = [(); 2].map(|()| Cost::Cycles(dice.roll(15)));
        let bus = dice.roll(chip.buses.len() as u64) as usize;
        let cores = vec![dice.roll(cores as u64) as usize];
        chip.bridges.push(Bridge { name: "bridge".into(), cores, bus, read, write });
    }
    chip.engines[0].cores = (0..cores).collect();
    for memory in &mut chip.memories {
        let mut from = 0;
        for _ in 0..dice.roll(3) {
            from += 4 << dice.roll(8);
            let [read, write] = [(); 2].map(|()| Cost::Cycles(dice.roll(9)));
            memory.stream.push(Stream { from, read, write });
        }
    }
    chip
}

type Log = Vec<(usize, u64, Time)>;

fn settings(mode: Mode) -> Settings {
    Settings { mode, until: Time::nanos(50_000_000), ..Settings::default() }
}

/// Bare processes that compute, load, store, copy and spin on each other's words, several on a core
/// with different priorities, so that some take the core from others.
fn bare(number: u64, mode: Mode) -> (Outcome, Log) {
    let mut dice = dice(number);
    let chip = drawn(&mut dice);
    let cores = chip.cores.len();
    let log = RefCell::new(Log::new());
    let mut simulation = Simulation::new(&chip, settings(mode));
    for core in 0..cores {
        for level in 0..1 + dice.roll(2) {
            let own = dice.roll(u64::MAX - 1) | 1;
            let log = &log;
            let urgent = level as u32 + 1;
            simulation.process(core, &format!("{core}.{level}"), urgent, move |cpu: Cpu| {
                let mut dice = Dice(own);
                let word = |core: usize, level: u64| 64 * (core * 4 + level as usize) as u32;
                for step in 0..30 {
                    match dice.roll(9) {
                        0 => cpu.compute(Time::nanos(10 * dice.roll(400))),
                        1 => cpu.store(0, 2048 + 4 * dice.roll(16) as u32, step as u32),
                        2 => cpu.write(1, 4096 * dice.roll(4) as u32, &[step as u8; 100]),
                        3 => {
                            let mut bytes = [0; 70];
                            cpu.read(1, 4096 * dice.roll(4) as u32 + 30, &mut bytes);
                            log.borrow_mut().push((core, u64::from(bytes[9]), cpu.time()));
                        }
                        4 => cpu.clean(1, 4096 * dice.roll(4) as u32, 128),
                        5 => cpu.invalidate(1, 4096 * dice.roll(4) as u32, 128),
                        6 => cpu.pause(Time::nanos(dice.roll(6000))),
                        7 => {
                            let place = |dice: &mut Dice| {
                                (
                                    1,
                                    4096 * dice.roll(4) as u32
                                        + [0, 0, 4, 30][dice.roll(4) as usize],
                                )
                            };
                            let (from, to) = (place(&mut dice), place(&mut dice));
                            cpu.copy(from, to, dice.roll(300) as usize, dice.roll(4) == 0);
                        }
                        _ => {
                            // Tells the next core, and spins until told by the one before, or long
                            // enough.
                            cpu.store(0, word((core + 1) % cores, level), step as u32 + 1);
                            let end = cpu.time() + Time::nanos(dice.roll(9000));
                            let last = cpu.load(0, word(core, level));
                            let woken = cpu.spin(0, word(core, level), last, end);
                            log.borrow_mut().push((
                                core,
                                u64::from(woken.unwrap_or(u32::MAX)),
                                cpu.time(),
                            ));
                        }
                    }
                }
            });
        }
    }
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("case {number}: {stuck}"));
    (outcome, log.into_inner())
}

/// Processes of an operating system: signals, semaphores, mutexes between cores, interrupt
/// processes, priorities that change, ticks. Everything has an end, so that nobody waits for good.
fn operated(number: u64, mode: Mode) -> (Outcome, Log) {
    let mut dice = dice(number ^ 0xaaaa_0000);
    let mut chip = drawn(&mut dice);
    let cores = chip.cores.len();
    for core in &mut chip.cores {
        let mut costs = || {
            let takes = Cost::Cycles(10 * dice.roll(20));
            Call::ALL.map(|call| (call, CallCost { takes, words: 0 })).to_vec()
        };
        (core.system.calls, core.system.swapping) = (costs(), costs());
        if dice.roll(2) == 0 {
            core.system.tick = Cost::Time(Time::nanos(5000 + dice.roll(5000)));
            core.system.tick_service = Cost::Cycles(1 + dice.roll(50));
        }
    }
    let log = RefCell::new(Log::new());
    let semaphores = RefCell::new(vec![None; cores]);
    let mut simulation = Simulation::new(&chip, settings(mode));
    let mut interrupts = Vec::new();
    for core in 0..cores {
        for level in 0..2 {
            let (log, time) = (&log, Time::nanos(dice.roll(700)));
            interrupts.push(simulation.interrupt(core, "interrupt", level, move |os| {
                let got = os.receive(&[], Time::ZERO).map_or(0, |signal| signal.number);
                log.borrow_mut().push((core, u64::from(got), os.cpu().time()));
                os.cpu().compute(time);
                if let Some(first) = os.hunt("0") {
                    let _ = os.signal_fsem(first);
                }
            }));
        }
    }
    for core in 0..cores {
        for level in 0..2 + dice.roll(3) {
            let own = dice.roll(u64::MAX - 1) | 1;
            let (log, semaphores, interrupts) = (&log, &semaphores, interrupts.clone());
            let priority = 1 + dice.roll(3) as u32;
            simulation.process(core, &level.to_string(), priority, move |cpu: Cpu| {
                let os = cpu.os();
                let mut dice = Dice(own);
                let made = os.create_sem(1);
                let semaphore = *semaphores.borrow_mut()[core].get_or_insert(made);
                for step in 0..25 {
                    let within = Time::nanos(dice.roll(8000));
                    let someone = os.hunt(&dice.roll(4).to_string()).unwrap_or(os.own());
                    let said = match dice.roll(13) {
                        0 => u64::from(os.wait_fsem(1 + dice.roll(2) as u32, within)),
                        1 | 2 => u64::from(os.signal_fsem(someone).is_ok()),
                        3 => u64::from(os.wait_sem(semaphore, within) == Ok(true)),
                        4 => u64::from(os.signal_sem(semaphore).is_ok()),
                        5 => {
                            let wanted = dice.roll(4) as u32;
                            let signal = os.receive(&[wanted, wanted + 1], within);
                            signal.map_or(9, |signal| signal.bytes[0].into())
                        }
                        6 | 7 => {
                            let signal = os.alloc(dice.roll(5) as u32, vec![step; 4]);
                            u64::from(os.send(signal, someone).is_ok())
                        }
                        8 => {
                            let locked = cpu.lock(0, 4096, cpu.time() + within);
                            if locked {
                                cpu.store(0, 4160, step.into());
                                cpu.compute(Time::nanos(dice.roll(2000)));
                                assert_eq!(cpu.load(0, 4160), u32::from(step), "alone");
                                cpu.unlock(0, 4096);
                            }
                            u64::from(locked)
                        }
                        9 => {
                            os.raise(interrupts[dice.roll(interrupts.len() as u64) as usize]);
                            0
                        }
                        10 => {
                            let _ = os.set_priority(someone, 1 + dice.roll(3) as u32);
                            0
                        }
                        11 => {
                            os.delay(within);
                            0
                        }
                        _ => {
                            let last = cpu.load(0, 4160);
                            u64::from(cpu.spin(0, 4160, last, cpu.time() + within).is_some())
                        }
                    };
                    log.borrow_mut().push((core, said, cpu.time()));
                }
            });
        }
    }
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("case {number}: {stuck}"));
    (outcome, log.into_inner())
}

const SECOND: Option<Duration> = Some(Duration::from_secs(1));

fn name(node: usize) -> narrows::link::Name {
    format!("n{node}").parse().expect("a name")
}

/// Nodes of the stack that call each other in a ring, each as its own strategy says, while another
/// process of each core takes it away now and then.
fn stack(number: u64, mode: Mode) -> (Outcome, Log) {
    let mut dice = dice(number ^ 0x5555_0000);
    let chip = drawn(&mut dice);
    let cores = chip.cores.len();
    let all: Vec<Strategy> = narrows::conformance::strategies().collect();
    let log = RefCell::new(Log::new());
    let calls = 3 + dice.roll(4);
    // Nobody's links end before everybody is done.
    let done = Cell::new(0);
    let kept = RefCell::new(Vec::new());
    let mut simulation = Simulation::new(&chip, settings(mode));
    for core in 0..cores {
        let (log, kept, done) = (&log, &kept, &done);
        let strategy = all[dice.roll(all.len() as u64) as usize];
        let size = dice.roll(3000) as usize;
        let pauses = dice.roll(3000);
        simulation.process(core, &format!("node {core}"), 1, move |cpu: Cpu| {
            let mut node = cpu.node(name(core), Limits::default()).expect("storage");
            node.set_notification(strategy.notification);
            // Before others can find it: a message for a closed port would be refused.
            node.open(1).expect("a free port");
            let next = node.hunt(&name((core + 1) % cores), SECOND).expect("the next one");
            let bytes = vec![core as u8; size];
            let mut buffer = vec![0; 4096];
            let (mut sent, mut received) = (0, 0);
            while sent < calls || received < calls {
                if sent < calls
                    && node.send(1, Address { link: next, port: 1 }, &bytes, SECOND).is_ok()
                {
                    sent += 1;
                }
                if received < calls
                    && let Ok(got) =
                        node.receive_into(1, &mut buffer, Some(Duration::from_millis(1)))
                {
                    assert_eq!(got.what, What::Message, "case {number}");
                    received += 1;
                    log.borrow_mut().push((core, got.len as u64, cpu.time()));
                }
                cpu.compute(Time::nanos(pauses));
            }
            // Blocks and credit go back to those that still send.
            done.set(done.get() + 1);
            while done.get() < cores {
                node.wait_any(Some(Duration::from_micros(100)));
                node.poll();
            }
            kept.borrow_mut().push(node);
        });
        let rest = Time::nanos(1000 + dice.roll(20000));
        simulation.process(core, &format!("busy {core}"), 2, move |cpu: Cpu| {
            for _ in 0..40 {
                cpu.pause(rest);
                cpu.compute(Time::nanos(700));
            }
        });
    }
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("case {number}: {stuck}"));
    assert_eq!(log.borrow().len() as u64, cores as u64 * calls, "case {number}: each message once");
    (outcome, log.into_inner())
}

thread_local! {
    /// Of all cases of a test: without them it would compare nothing of interest.
    static LOOKS: Cell<u64> = const { Cell::new(0) };
    static PREEMPTIONS: Cell<u64> = const { Cell::new(0) };
}

/// The first thing that two runs of a case do not agree on.
fn differ(number: u64, run: fn(u64, Mode) -> (Outcome, Log)) -> Option<String> {
    let (fast, fast_log) = run(number, Mode::Fast);
    let (reference, log) = run(number, Mode::Reference);
    for outcome in [&fast, &reference] {
        assert_eq!(outcome.unfinished, [""; 0], "case {number} had no time to end");
    }
    if fast_log != log {
        let same = fast_log.iter().zip(&log).take_while(|(a, b)| a == b).count();
        let [fast, reference] = [fast_log.get(same), log.get(same)];
        return Some(format!("{number}: {same}: fast {fast:?}, reference {reference:?}"));
    }
    let same = (fast.hash, fast.usage()) == (reference.hash, reference.usage());
    LOOKS.set(LOOKS.get() + fast.counts.looks);
    PREEMPTIONS.set(PREEMPTIONS.get() + fast.counts.preemptions);
    (!same).then(|| format!("{number}: fast {fast:?}, reference {reference:?}"))
}

fn compare(cases: u64, run: fn(u64, Mode) -> (Outcome, Log)) {
    let cases = std::env::var("NARROWS_CASES").map_or(cases, |n| n.parse().expect("a number"));
    let wrong: Vec<String> = (0..cases).filter_map(|number| differ(number, run)).collect();
    assert!(LOOKS.get() > 20 * cases, "looks that were computed: {}", LOOKS.get());
    assert!(PREEMPTIONS.get() > cases, "preemptions: {}", PREEMPTIONS.get());
    assert!(
        wrong.is_empty(),
        "{} of {cases} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(5)].join("\n")
    );
}

#[test]
fn bare_processes_do_the_same_in_both_modes() {
    compare(2000, bare);
}

/// Two processes that go on at one moment, the one behind a transfer, the other behind a
/// computation.
#[test]
fn those_who_go_on_at_one_moment_do_so_in_the_same_order_in_both_modes() {
    assert_eq!(differ(18_280, bare), None);
}

#[test]
fn processes_of_an_operating_system_do_the_same_in_both_modes() {
    compare(500, operated);
}

#[test]
fn nodes_do_the_same_in_both_modes() {
    compare(100, stack);
}

#[test]
fn a_case_repeats_to_the_last_store() {
    for number in 0..20 {
        assert_eq!(bare(number, Mode::Fast), bare(number, Mode::Fast));
    }
}
