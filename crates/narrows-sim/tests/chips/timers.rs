//! What a timer that always runs takes of both cores while nobody calls.

use super::common::rig::serve_echo;
use narrows::endpoint::Limits;
use narrows::platform::Platform as _;
use narrows::strategy::Notification;
use narrows_sim::cpu::Cpu;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::Time;
use std::cell::Cell;
use std::time::Duration;

const PATIENCE: Option<Duration> = Some(Duration::from_secs(5));
const MS: u64 = 1_000_000;
const REST: u64 = 20 * MS;

/// What was measured between two calls.
#[derive(Clone, Copy, Default)]
struct Rest {
    /// Waits of the calling core.
    waits: u64,
    /// Time of the calling core and of the one that is called.
    busy: [Time; 2],
    /// From the end of the timer before until the second call's response was there.
    behind: u64,
}

/// A call over a flow by a strategy, a rest, and another call.
fn rest(strategy: &str, every: u64) -> Rest {
    let chip = crate::common::chip();
    let found = Cell::new(Rest::default());
    let mut simulation = Simulation::new(&chip, Settings::default());
    simulation.process(0, "caller", 1, |cpu: Cpu| {
        let mut node = cpu.node("caller".parse().unwrap(), Limits::default()).unwrap();
        node.set_notification(Notification::Interrupt);
        let link = node.hunt(&"callee".parse().unwrap(), PATIENCE).unwrap();
        let by = strategy.parse().unwrap();
        let flow = node.open_flow(link, &"echo".parse().unwrap(), by, 8, PATIENCE).unwrap();
        let mut response = [0; 8];
        node.flow(flow).call(b"1", &mut response, PATIENCE).unwrap();
        // What came before ends no wait.
        node.arm();
        node.disarm();
        let busy = || [0, 1].map(|core| cpu.busy_on(core));
        let (before, until) = (busy(), cpu.now() + Duration::from_nanos(REST));
        let mut waits = 0;
        while cpu.now() < until {
            node.wait_any(Some(until.since(cpu.now())));
            node.poll();
            waits += 1;
        }
        let after = busy();
        node.flow(flow).call(b"2", &mut response, PATIENCE).unwrap();
        let busy = [0, 1].map(|core| after[core].since(before[core]));
        found.set(Rest { waits, busy, behind: cpu.now().0 % every });
    });
    simulation.process(1, "callee", 1, |cpu: Cpu| {
        let mut node = cpu.node("callee".parse().unwrap(), Limits::default()).unwrap();
        node.set_notification(Notification::Interrupt);
        serve_echo(&mut node);
    });
    simulation.run().unwrap();
    found.get()
}

#[test]
fn looks_go_on_while_nobody_calls_and_each_takes_time_of_its_core() {
    let [one, two] = [1, 2].map(|every| rest(&format!("timer={every}ms"), every * MS));
    assert!((20..=22).contains(&one.waits), "{} waits", one.waits);
    assert!((10..=12).contains(&two.waits), "{} waits", two.waits);
    let [polled, asleep] = ["poll=1ms", "interrupt"].map(|by| rest(by, MS));
    assert_eq!([polled.waits, asleep.waits], [1, 1]);
    for core in [0, 1] {
        let [one, two, asleep] = [one, two, asleep].map(|rest| rest.busy[core].as_nanos());
        // Of half as many looks half as much is left, and hardly anything without.
        assert!(asleep * 5 < two, "core {core}: {asleep} ns by interrupt, {two} every 2 ms");
        let ratio = one as f64 / two as f64;
        assert!((1.7..2.2).contains(&ratio), "core {core}: {one} and {two} ns");
    }
    // The calling core, by looks, has none of it where it polls.
    assert!(polled.busy[0] < two.busy[0]);
    // What it takes to take the response.
    for (rest, every) in [(one, MS), (two, 2 * MS)] {
        assert!(rest.behind < every / 10, "{} ns behind the look", rest.behind);
    }
}
