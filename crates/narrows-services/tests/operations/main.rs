//! Random operations of the typed layer, on several nodes of one thread, compared one by one with a
//! model of what `docs/SERVICES.md` says.
//!
//! `NARROWS_OPERATIONS=1000000 cargo test --release -p narrows-services --test operations --
//! --nocapture` does that number of operations instead of a few, and `NARROWS_SEED=7` those of one
//! seed.

mod ground;
mod model;
mod publishers;
mod readers;

use std::time::Instant;

use ground::Ground;

/// Enough for every end of every operation to be met.
const FEW: u64 = 16_000;
/// What has to be met: an operation, and how it ended.
const WANTED: [&str; 30] = [
    "call: answered",
    "call: dropped half-way",
    "call: gone",
    "drop: sample",
    "drop: sample of one that left",
    "kill: node",
    "leak: subscriber",
    "leave: subscriber",
    "leave: subscriber that holds",
    "loan: dropped",
    "loan: sent",
    "publish: already there",
    "publish: another",
    "publish: one ends",
    "publish: topic",
    "publish: types",
    "send: all have it",
    "send: full",
    "send: lost by some",
    "send: taken back from some",
    "subscribe: full",
    "subscribe: terms",
    "subscribe: to several",
    "subscribe: types",
    "subscribe: with history",
    "subscribe: without history",
    "take: a message",
    "take: gone",
    "take: holds",
    "take: nothing",
];

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not '{text}'")))
}

#[test]
fn whatever_is_done_ends_as_the_model_says() {
    let (seed, operations) = (number("NARROWS_SEED"), number("NARROWS_OPERATIONS"));
    let operations = operations.unwrap_or(FEW);
    let start = Instant::now();
    let mut ground = Ground::new(seed.unwrap_or(1));
    for _ in 0..operations {
        ground.operate();
    }
    let deeds = ground.end();
    println!("{operations} operations in {:.1} s:", start.elapsed().as_secs_f64());
    for (deed, times) in &deeds {
        println!("  {deed:32} {times:9}");
    }
    if operations >= FEW {
        for wanted in WANTED {
            assert!(deeds.contains_key(wanted), "no operation came to '{wanted}'");
        }
    }
}
