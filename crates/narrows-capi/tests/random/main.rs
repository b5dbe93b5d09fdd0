//! Random operations of the C interface, valid and not, on three nodes of one process, compared one
//! by one with a model of what `docs/MCAPI.md` says.
//!
//! `NARROWS_CASES=100000 cargo test --release -p narrows-capi --test random -- --nocapture` runs
//! that number of cases instead of a few, `NARROWS_SEED=7` the case of one seed, or those from it
//! on.

mod calls;
mod case;
mod channels;
mod ground;
mod messages;
mod model;
mod requests;
mod seeds;
mod status;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use case::Case;
use seeds::{Deeds, Random};

/// Enough for every end of every operation to be met.
const FEW: u64 = 60;
/// Seconds that a run of so few may take.
const LIMIT: u64 = 300;
/// Set for the process that runs the cases: so it has a directory of its own.
const INNER: &str = "NARROWS_RANDOM_INNER";
/// The file in which that process notes the seed of its case.
const SEED: &str = "seed";

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not '{text}'")))
}

#[test]
fn whatever_is_called_ends_as_the_model_says() {
    if std::env::var_os(INNER).is_some() {
        return run();
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let limit = LIMIT.max(number("NARROWS_CASES").unwrap_or(0) * 5);
    let ended = Command::new("timeout")
        .args(["--kill-after=5", &limit.to_string()])
        .arg(std::env::current_exe().expect("a test has a path"))
        .args(["--exact", "whatever_is_called_ends_as_the_model_says", "--nocapture"])
        .env(INNER, "1")
        .env("NARROWS_DIR", directory.path())
        // The cases look at results of requests before they ask whether those have ended, which is
        // only allowed where no thread may be writing them. What runs beside the thread of the
        // library is in `concurrent`.
        .env("NARROWS_MCAPI_HELPER", "0")
        .status()
        .expect("timeout, of Debian's package coreutils, can be started");
    let seed = std::fs::read_to_string(directory.path().join(SEED)).unwrap_or_default();
    assert!(ended.success(), "{ended}: NARROWS_SEED={seed} replays the case that was run last");
}

fn run() {
    let replayed = number("NARROWS_SEED");
    let first = replayed.unwrap_or(0);
    let count = number("NARROWS_CASES").unwrap_or(if replayed.is_some() { 1 } else { FEW });
    let directory = std::env::var_os("NARROWS_DIR").expect("who starts this sets it");
    let note = Path::new(&directory).join(SEED);
    let start = Instant::now();
    let mut deeds = Deeds::new();
    for seed in first..first + count {
        // What ends the process says no more: this is what to run again.
        std::fs::write(&note, seed.to_string()).expect("a file in the directory of the nodes");
        Case::new(seed, &mut deeds).run();
    }
    println!("{count} cases in {:.1} s:", start.elapsed().as_secs_f64());
    for ((operation, status), times) in &deeds {
        println!("  {operation:16} {status:18?} {times:9}");
    }
    if replayed.is_none() {
        for wanted in case::WANTED {
            assert!(deeds.contains_key(wanted), "no case came to {wanted:?}");
        }
    }
}
