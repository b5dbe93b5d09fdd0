//! What cores, caches and buses are said to have done.

use narrows::platform::Platform;
use narrows::span::{Edge, Span};
use narrows_sim::chip::Chip;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{BusUse, CacheUse, Mode, Outcome, Settings, Simulation};
use narrows_sim::time::Time;

/// A cycle of the small chip.
const CYCLE: Time = Time::nanos(10);
/// For how long a word of its first memory has the bus, and a line of its second.
const WORD: Time = Time::nanos(30);
const LINE: Time = Time::nanos(170);

fn run(settings: Settings, first: fn(&Cpu), second: fn(&Cpu)) -> Outcome {
    let chip = crate::common::chip();
    let mut simulation = Simulation::new(&chip, settings);
    simulation.process(0, "first", 1, move |cpu| first(&cpu));
    simulation.process(1, "second", 1, move |cpu| second(&cpu));
    simulation.run().expect("it ends")
}

#[test]
fn a_bus_says_how_long_it_was_used_and_waited_for() {
    let store = |cpu: &Cpu| cpu.store(0, 0, 1);
    let alone = run(Settings::default(), store, |_| ());
    let once = BusUse { transfers: 1, busy: WORD, waited: Time::ZERO };
    assert_eq!(alone.buses, [once]);
    // The one waits while the other has it.
    let both = run(Settings::default(), store, store);
    assert_eq!(both.buses, [BusUse { transfers: 2, busy: WORD * 2, waited: WORD }]);
}

#[test]
fn a_cache_says_what_was_there_and_what_was_not() {
    let outcome = run(
        Settings::default(),
        |cpu| {
            for _ in 0..2 {
                cpu.read(1, 0, &mut [0; 64]);
            }
            cpu.write(1, 32, &[1; 8]);
        },
        |_| (),
    );
    // Two lines, each for the first of its words.
    let data = outcome.cores[0].data.expect("it has one");
    assert_eq!((data, data.hits()), (CacheUse { lookups: 34, misses: 2 }, 32));
    assert_eq!(outcome.buses[0].transfers, 2);
    assert_eq!(outcome.buses[0].busy, LINE * 2);
    assert_eq!((outcome.cores[1].data, outcome.cores[1].second), (Some(CacheUse::default()), None));
}

#[test]
fn two_whiles_together_less_the_one_are_the_other() {
    let work = |cpu: &Cpu| {
        cpu.read(1, 0, &mut [0; 64]);
        cpu.pause(CYCLE * 500);
        cpu.store(0, 0, 1);
    };
    let one = run(Settings::default(), work, work).usage();
    let other = run(Settings::default(), work, |_| ()).usage();
    let both = one.with(&other);
    assert!(both.time > one.time && both.buses[0].waited > Time::ZERO);
    assert_ne!(both.cores[0].data, other.cores[0].data);
    assert_eq!((both.since(&one), both.since(&other)), (other, one));
}

#[test]
fn a_core_says_what_its_interrupts_took() {
    let mut chip = crate::common::chip();
    // Nothing is fetched.
    chip.cores[0].interrupt.code = 0;
    let mut simulation = Simulation::new(&chip, Settings::default());
    let interrupt = simulation.interrupt(0, "interrupt", 0, |os| os.cpu().compute(CYCLE * 70));
    simulation.process(0, "process", 1, move |cpu| {
        for _ in 0..3 {
            cpu.os().raise(interrupt);
            cpu.compute(CYCLE * 100);
        }
    });
    let outcome = simulation.run().expect("it ends");
    let core = outcome.cores[0];
    assert_eq!((core.interrupts, core.switches), (3, 1));
    let entry = chip.cores[0].interrupt.entry.at(chip.cores[0].clock);
    assert_eq!(core.interrupt_time, (entry + CYCLE * 70) * 3);
    // The switch to the process, what it rang and computed, and its interrupts.
    assert_eq!(core.busy, CYCLE * (60 + 3 * (4 + 100)) + core.interrupt_time);
    assert_eq!((outcome.end, outcome.stopped), (core.busy, core.busy));
}

/// Looks are computed, one by one or not, and are transfers all the same, up to the last before the
/// time is up.
#[test]
fn looks_are_transfers_that_are_counted_in_both_modes() {
    for until in [3000, 3010, 3029, 3030, 3031, 3070, 12_345] {
        let [fast, reference] = [Mode::Fast, Mode::Reference].map(|mode| {
            let settings = Settings { mode, until: Time::nanos(until), ..Settings::default() };
            let look = |cpu: &Cpu| {
                let _ = cpu.spin(0, 0, 0, Time::NEVER);
            };
            run(settings, look, |cpu| {
                for step in 0..20 {
                    cpu.compute(CYCLE * (10 + step));
                    cpu.store(0, 64, 1);
                }
                cpu.compute(Time::nanos(1 << 30));
            })
        });
        assert_eq!(fast.usage(), reference.usage(), "{until}");
        assert!(fast.counts.looks > 10 && fast.buses[0].transfers > 30, "{fast:?}");
        assert!(fast.buses[0].waited > Time::ZERO, "{fast:?}");
    }
}

/// Several that look at words of one bus, at the same pace or each at its own.
#[test]
fn the_looks_of_several_are_computed_together() {
    use narrows_sim::time::Cost;
    for polls in [[4, 4], [4, 7], [0, 11]] {
        let mut chip = crate::common::chip();
        for (core, poll) in chip.cores.iter_mut().zip(polls) {
            core.poll = Cost::Cycles(poll);
        }
        let [fast, reference] = [Mode::Fast, Mode::Reference].map(|mode| {
            let settings = Settings { mode, until: Time::nanos(200_000), ..Settings::default() };
            let mut simulation = Simulation::new(&chip, settings);
            for core in 0..2 {
                simulation.process(core, "looks", 1, move |cpu| {
                    cpu.compute(CYCLE * (3 * core as u64));
                    // Without a time that is still coming it would be a deadlock.
                    let _ = cpu.spin(0, 0, 0, Time::nanos(1 << 30));
                });
            }
            simulation.run().unwrap_or_else(|stuck| panic!("{polls:?}: {stuck}"))
        });
        assert_eq!(fast.usage(), reference.usage(), "{polls:?}");
        assert!(fast.counts.events < 40 && reference.counts.events > 4000, "{fast:?}");
    }
}

/// What software touches is looked up as often whatever the cache keeps of it.
#[test]
fn nothing_is_missed_that_was_not_looked_up() {
    let used = |size| {
        let mut chip = Chip::shipped("nios2-dual").expect("a possible chip");
        for core in &mut chip.cores {
            core.data.as_mut().expect("it has one").size = size;
        }
        let mut simulation = Simulation::new(&chip, Settings::default());
        simulation.process(0, "process", 1, |cpu| {
            let os = cpu.os();
            for _ in 0..50 {
                cpu.stamp(Span::Link, Edge::Enter, 0);
                let signal = os.alloc(1, vec![0; 32]);
                cpu.stamp(Span::Link, Edge::Leave, 0);
                os.free(signal);
            }
        });
        simulation.run().expect("it ends").cores[0].data.expect("it has one")
    };
    let [small, large] = [512, 64 << 10].map(used);
    for CacheUse { lookups, misses } in [small, large] {
        assert!(0 < misses && misses < lookups, "{misses} of {lookups}");
    }
    assert_eq!(small.lookups, large.lookups);
    assert!(small.misses > large.misses, "{small:?} {large:?}");
    // By the platform file a call touches 30 words to allocate and 22 to free, and the span 154.
    assert!(large.lookups >= 50 * (30 + 22 + 154), "{large:?}");
}
