//! What spans and calls fetch and touch takes time as far as the caches do not have it.

use narrows::platform::Platform;
use narrows::span::{Edge, Span};
use narrows_sim::chip::{Call, CallCost, Chip, SpanCost};
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::{Cost, Time};
use std::cell::{Cell, RefCell};

/// What something takes that is done twice, one behind the other.
fn twice(chip: &Chip, done: fn(&Cpu)) -> [Time; 2] {
    let took = RefCell::new([Time::ZERO; 2]);
    let mut simulation = Simulation::new(chip, Settings::default());
    simulation.process(0, "alone", 1, |cpu: Cpu| {
        for one in took.borrow_mut().iter_mut() {
            let before = cpu.time();
            done(&cpu);
            *one = cpu.time() - before;
        }
    });
    simulation.run().unwrap();
    took.into_inner()
}

fn span(cost: SpanCost) -> [Time; 2] {
    let mut chip = crate::common::chip();
    chip.cores[0].spans = vec![(Span::Driver, cost)];
    twice(&chip, |cpu| cpu.stamp(Span::Driver, Edge::Enter, 0))
}

#[test]
fn what_a_span_runs_through_again_is_fetched_again_if_the_cache_has_lost_it() {
    let code = |code, again| span(SpanCost { code, again, ..SpanCost::NONE });
    let [line, no] = code(32, 0);
    assert!(line > Time::ZERO && no == Time::ZERO);
    // The cache has 1024 bytes.
    assert_eq!(code(512, 512), [line * 16, Time::ZERO]);
    // The last third has taken the place of the first.
    assert_eq!(code(1536, 0)[0], line * 48);
    assert_eq!(code(1536, 512)[0], line * 64);
}

#[test]
fn words_of_a_span_go_through_the_data_cache() {
    let words = |words| span(SpanCost { words, ..SpanCost::NONE });
    let [line, no] = words(8);
    assert!(line > Time::ZERO && no == Time::ZERO);
    assert_eq!(words(80), [line * 10, Time::ZERO]);
    // More than it holds, 4096 bytes: the second time, lines that were written go out as well.
    let [first, second] = words(2048);
    assert!(second > first && first > line * 256, "{first:?} {second:?}");
}

#[test]
fn calls_fetch_code_by_the_cycles_that_they_take() {
    let mut chip = crate::common::chip();
    let takes = CallCost { takes: Cost::Cycles(64), words: 0 };
    chip.cores[0].system.calls = vec![(Call::SetFsem, takes)];
    let set = |chip: &Chip| twice(chip, |cpu| cpu.os().set_fsem(1));
    let [plain, again] = set(&chip);
    assert_eq!(plain, again);
    chip.cores[0].system.code = 2;
    let [first, second] = set(&chip);
    assert_eq!(second, plain);
    let line = span(SpanCost { code: 32, ..SpanCost::NONE })[0];
    assert_eq!(first, plain + line * 4);
}

#[test]
fn what_a_call_has_taken_so_far_is_the_systems_already() {
    let mut chip = crate::common::chip();
    let takes = CallCost { takes: Cost::Cycles(1000), words: 0 };
    chip.cores[0].system.calls = vec![(Call::SetFsem, takes)];
    chip.cores[0].system.code = 4;
    let looks = Cell::new(0);
    let mut simulation = Simulation::new(&chip, Settings::default());
    let calls = simulation.process(0, "calls", 1, |cpu: Cpu| {
        cpu.compute(Time::nanos(500));
        cpu.os().set_fsem(1);
    });
    simulation.process(1, "looks", 1, |cpu: Cpu| {
        while cpu.time() < Time::nanos(20_000) {
            let (used, worked) = (cpu.used_on(0), cpu.worked(calls));
            assert_eq!(used.busy, used.system + worked);
            looks.set(looks.get() + u32::from(used.system > Time::nanos(5000)));
            cpu.compute(Time::nanos(777));
        }
        assert_eq!(cpu.worked(calls), Time::nanos(500));
    });
    simulation.run().unwrap();
    assert!(looks.get() > 5);
}
