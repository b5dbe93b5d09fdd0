//! A callee that is told in another way than its caller: what its looks take, and how late requests
//! are met by them.

use super::common::rig::serve_echo;
use narrows::endpoint::Limits;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::Time;
use std::cell::Cell;
use std::time::Duration;

const PATIENCE: Option<Duration> = Some(Duration::from_secs(5));
const CALLS: u32 = 40;
const MS: u64 = 1_000_000;
const REST: u64 = 40 * MS;

/// What was measured.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    /// The shortest and the longest of the calls, in nanoseconds.
    trips: [u64; 2],
    /// How often the callee was interrupted meanwhile.
    interrupts: u64,
    /// Time of the callee while nobody calls.
    idle: u64,
}

/// Calls that begin at all moments between two looks, and a rest without a call.
fn calls(strategy: &str) -> Found {
    let chip = crate::common::chip();
    let found = Cell::new(Found::default());
    let mut simulation = Simulation::new(&chip, Settings::default());
    simulation.process(0, "caller", 1, |cpu: Cpu| {
        let mut node = cpu.node("caller".parse().unwrap(), Limits::default()).unwrap();
        let link = node.hunt(&"callee".parse().unwrap(), PATIENCE).unwrap();
        let by = strategy.parse().unwrap();
        let flow = node.open_flow(link, &"echo".parse().unwrap(), by, 8, PATIENCE).unwrap();
        let mut response = [0; 8];
        let mut call = |wait: u64| {
            cpu.compute(Time::nanos(wait));
            let began = cpu.time();
            node.flow(flow).call(b"1", &mut response, PATIENCE).unwrap();
            cpu.time().since(began).as_nanos()
        };
        call(0);
        let interrupts = || cpu.used_on(1).interrupts;
        let before = interrupts();
        let mut trips = [u64::MAX, 0];
        for number in 0..CALLS {
            let trip = call(3 * MS + u64::from(number) * 26_000);
            trips = [trips[0].min(trip), trips[1].max(trip)];
        }
        let interrupts = interrupts() - before;
        let before = cpu.busy_on(1);
        cpu.compute(Time::nanos(REST));
        let idle = cpu.busy_on(1).since(before).as_nanos();
        found.set(Found { trips, interrupts, idle });
    });
    simulation.process(1, "callee", 1, |cpu: Cpu| {
        let mut node = cpu.node("callee".parse().unwrap(), Limits::default()).unwrap();
        serve_echo(&mut node);
    });
    simulation.run().unwrap();
    found.get()
}

#[test]
fn a_callee_that_polls_is_not_interrupted_and_meets_requests_at_its_looks() {
    for caller in ["spin", "interrupt"] {
        let by = |callee: &str| calls(&format!("{caller}/callee={callee}"));
        let [told, one, two] = ["interrupt", "poll=1ms", "poll=2ms"].map(by);
        let interrupts = [told, one, two].map(|found| found.interrupts);
        assert_eq!(interrupts, [CALLS.into(), 0, 0], "{caller}");
        // A request waits for the next look, which may just have been missed.
        for (polled, every) in [(one, MS), (two, 2 * MS)] {
            let [shortest, longest] = polled.trips;
            assert!(shortest < told.trips[1] + every / 20, "{caller}: {polled:?}");
            assert!(longest < told.trips[1] + every + every / 20, "{caller}: {polled:?}");
            assert!(longest > every - every / 20, "{caller}: {polled:?}");
        }
    }
}

#[test]
fn looks_of_the_callees_own_are_charged_as_those_that_both_sides_have() {
    let idle = |by: &str| calls(by).idle as f64;
    let [told, one, two] = ["interrupt", "poll=1ms", "poll=2ms"]
        .map(|callee| idle(&format!("interrupt/callee={callee}")));
    assert!((1.9..2.1).contains(&(one / two)), "{one} and {two} ns");
    assert!(told < two / 20.0, "{told} ns without looks, {two} with them");
    assert!((0.95..1.05).contains(&(one / idle("poll=1ms"))), "{one} ns");
    // Nor does the callee look because its caller does.
    assert!(idle("poll=1ms/callee=interrupt") < two / 20.0);
    assert_eq!(idle("interrupt/callee=spin"), REST as f64);
}

#[test]
fn a_caller_that_polls_meets_the_response_of_a_callee_that_does_not_at_its_first_look() {
    let [alike, told, seldom] =
        ["poll=1ms", "poll=1ms/callee=interrupt", "poll=1ms/callee=poll=2ms"].map(calls);
    assert_eq!([alike.interrupts, told.interrupts], [0, CALLS.into()]);
    for found in [alike, told] {
        assert!(found.trips.iter().all(|trip| (MS..MS + MS / 20).contains(trip)), "{found:?}");
    }
    assert!((2 * MS..2 * MS + MS / 20).contains(&seldom.trips[1]), "{seldom:?}");
}
