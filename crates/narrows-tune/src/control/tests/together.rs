//! What flows take together.

use super::*;
use crate::model::{Buffers, Results};

/// The strategies of S1's gateway, by which the DSP is told of requests.
fn rare() -> Vec<Strategy> {
    let named = ["interrupt/internal", "poll=60ms/internal", "poll=60ms/external"];
    named.map(|name| format!("copy_batched/{name}/callee=interrupt").parse().unwrap()).into()
}

/// Costs by which the other core takes `serves` for a request.
fn source(serves: u64) -> Costs {
    let callee = Side { request: serves, ..Side::default() };
    Costs { callee, buffers: Buffers::InStep, results: Results::Shared, ..costs() }
}

/// What two flows of audio take by these, which begin so far apart.
fn two(by: [u16; 2], apart: Duration, serves: u64) -> u64 {
    let (all, mut rooms) = (rare(), Rooms::new());
    let mut controller = controller(&mut rooms, u32::MAX);
    controller.set_costs(source(serves));
    let flow = Flow { deadline: None, work: Duration::ZERO, ..audio() };
    for begins in [Duration::ZERO, apart] {
        controller.arrive(flow, &all, true).unwrap();
        controller.decide(begins, Cause::Arrived).unwrap();
    }
    for (state, by) in controller.tables.flows.iter_mut().flatten().zip(by) {
        (state.current, state.target) = (by, None);
    }
    controller.current_load()
}

#[test]
fn responses_that_come_together_share_an_interrupt() {
    // 76 us every 20 ms. What is answered at once is there when the other request has been sent,
    // and the other response when that has been taken.
    let interrupt = 3800;
    for (serves, saved) in [(0, 2), (20_000_000, 1)] {
        let [together, apart] = [Duration::ZERO, 10 * MS].map(|apart| two([0, 0], apart, serves));
        let all = together + saved * interrupt;
        assert!(all.abs_diff(apart) < 10, "{serves}: {together} {apart}");
        // By looks it is the same, but for looks that are shared.
        let [together, apart] = [Duration::ZERO, 10 * MS].map(|apart| two([1, 1], apart, serves));
        assert!(together.abs_diff(apart) < 200, "{serves}: {together} {apart}");
    }
}

#[test]
fn the_plan_is_the_one_that_takes_least_together() {
    // Each alone takes less by looks, which only one has the memory for.
    for (apart, interrupts) in [(Duration::ZERO, 2), (10 * MS, 0)] {
        let (all, mut rooms) = (rare(), Rooms::new());
        let mut controller = controller(&mut rooms, 1024);
        controller.set_costs(source(0));
        let flow = Flow { deadline: None, work: Duration::ZERO, ..audio() };
        let flows = [Duration::ZERO, apart].map(|begins| {
            let flow = controller.arrive(flow, &all, true).unwrap().flow;
            controller.decide(begins, Cause::Arrived).unwrap();
            carry_out(&mut controller, begins);
            flow
        });
        controller.decide(Duration::from_secs(1), Cause::Rested).unwrap();
        carry_out(&mut controller, Duration::from_secs(1));
        let names = flows.map(|flow| name(controller.strategy_of(flow)));
        let told = names.iter().filter(|name| name.contains("copy_batched/interrupt")).count();
        assert_eq!(told, interrupts, "{names:?}");
    }
}
