//! The random operations of the C interface, compared with a model (`narrows-capi`'s test
//! `random`), on a simulated chip of clusters over both mechanisms.
//!
//! `NARROWS_CASES=1000 cargo test --release -p narrows-cli --lib random` runs that number of cases
//! over each, `NARROWS_SEED=7` the case of one seed, or those from it on.

#[path = "../../../../../narrows-capi/tests/random/calls.rs"]
mod calls;
#[path = "../../../../../narrows-capi/tests/random/case.rs"]
#[allow(dead_code, reason = "a run of few cases does not come to all ends")]
mod case;
#[path = "../../../../../narrows-capi/tests/random/channels.rs"]
mod channels;
mod ground;
#[path = "../../../../../narrows-capi/tests/random/messages.rs"]
mod messages;
#[path = "../../../../../narrows-capi/tests/random/model.rs"]
mod model;
#[path = "../../../../../narrows-capi/tests/random/requests.rs"]
mod requests;
#[path = "../../../../../narrows-capi/tests/random/seeds.rs"]
mod seeds;
#[path = "../../../../../narrows-capi/tests/random/status.rs"]
mod status;

use super::STACK;
use crate::rig::mcapi::home;
use case::Case;
use narrows_sim::chip::Chip;
use narrows_sim::cpu::cluster::Mechanism;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::Time;
use seeds::{Deeds, Random};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Cases of a short run over each mechanism.
const FEW: u64 = 8;
/// Long enough for whatever is on its way.
const A_WHILE: Time = Time::nanos(100_000);

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Runs the case of a seed. What blocks signalled, and whether no credit was lost.
fn run(chip: &Chip, mechanism: Mechanism, seed: u64, deeds: &mut Deeds) -> (usize, bool) {
    let ended = RefCell::new(None);
    let mut simulation = Simulation::new(chip, Settings::default());
    simulation.carry_by(mechanism);
    simulation.foreign(0, "case", 1, STACK, |cpu| {
        // A stack that ends by a panic is never given back: this one ends in order.
        let done = catch_unwind(AssertUnwindSafe(|| {
            home::within(&cpu, false, || Case::new(seed, deeds).run());
            cpu.pause(A_WHILE);
            (cpu.take_signalled().len(), cpu.is_credit_whole())
        }));
        ended.replace(Some(done));
    });
    let ran = simulation.run();
    home::forget();
    let again = format!("NARROWS_SEED={seed} replays it, over {}", mechanism.name());
    let done = ended.take().unwrap_or_else(|| panic!("{}: {again}", ran.unwrap_err()));
    done.unwrap_or_else(|_| panic!("{again}"))
}

#[test]
fn whatever_is_called_on_clusters_ends_as_the_model_says() {
    let replayed = number("NARROWS_SEED");
    let first = replayed.unwrap_or(0);
    let count = number("NARROWS_CASES").unwrap_or(if replayed.is_some() { 1 } else { FEW });
    let chip = Chip::shipped("bmm-clusters").expect("it is shipped");
    let chip = home::linked(&chip).expect("there is a layout");
    let mut deeds = Deeds::new();
    for mechanism in Mechanism::ALL {
        for seed in first..first + count {
            let ended = run(&chip, mechanism, seed, &mut deeds);
            assert_eq!(ended, (0, true), "seed {seed} over {}", mechanism.name());
        }
    }
    for ((operation, status), times) in &deeds {
        println!("  {operation:16} {status:18?} {times:9}");
    }
    if replayed.is_some() {
        return;
    }
    for wanted in [("send", status::Status::Success), ("receive_packet", status::Status::Success)] {
        assert!(deeds.contains_key(&wanted), "no case came to {wanted:?}");
    }
}
