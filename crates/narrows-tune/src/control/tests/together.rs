//! What flows take together.

use super::*;
use crate::model::{Buffers, Polling, Results, Told};

/// The strategies of S1's gateway.
fn rare() -> Vec<Strategy> {
    let names = ["interrupt/internal", "poll=60ms/internal", "interrupt/external", "poll=60ms/external"];
    names.map(|name| format!("copy_batched/{name}").parse().unwrap()).into()
}

fn source() -> Costs {
    Costs {
        polling: Polling::Always,
        buffers: Buffers::InStep,
        results: Results::Shared,
        told: Told::Interrupt,
        ..costs()
    }
}

/// What two flows of audio take by these, which begin so far apart.
fn two(by: [u16; 2], apart: Duration, all: &[Strategy]) -> u64 {
    let mut rooms = Rooms::new();
    let mut controller = controller(&mut rooms, 1024);
    controller.set_costs(source());
    let flow = Flow { deadline: None, ..audio() };
    controller.arrive(flow, all, true).unwrap();
    controller.decide(Duration::ZERO, Cause::Arrived).unwrap();
    controller.arrive(flow, all, true).unwrap();
    controller.decide(apart, Cause::Arrived).unwrap();
    for (state, by) in controller.tables.flows.iter_mut().flatten().zip(by) {
        state.current = by;
        state.target = None;
    }
    controller.current_load()
}

#[test]
fn responses_that_come_together_share_an_interrupt() {
    let all = rare();
    let alone = |by| two([by, by], 10 * MS, &all, source());
    let interrupt = u64::from(share(76 * US, 20 * MS));
    for quick in [false, true] {
        let mut costs = source();
        if quick {
            (costs.callee, costs.caller.external) = (Side::default(), costs.caller.internal);
        }
        let [together, apart] = [Duration::ZERO, 10 * MS].map(|apart| two([0, 0], apart, &all, costs));
        println!("{together} {apart} {interrupt}");
    }
    // A polled flow beside one by interrupt is told by interrupt, if both are awaited.
    assert!(alone(0) > alone(1));
}
