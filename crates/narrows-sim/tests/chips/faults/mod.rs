//! The stack under faults that follow from a seed: whatever happens, every run ends in delivery or
//! a reported error within bounded virtual time.
//!
//! Three nodes on two or three cores of a small chip that is drawn with everything else: *a* is
//! linked with *b* and with *c*, and all of them send messages, call, serve and change strategies.
//! Then *a* or *b* dies at one of its stores, bells are lost, late or doubled, or the memory of *b*
//! changes behind its back. The link between *a* and *c* is to notice nothing of that.
//!
//! `NARROWS_CASES` says how many schedules are run, `NARROWS_SEED` with which the first begins. A
//! failure prints the seed that repeats it.

mod calls;
mod scene;
mod side;
mod world;

use narrows_sim::engine::Mode;
use scene::{Scene, Told};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}: a number")))
}

/// Runs cases from a first seed on, on all cores of this machine, until one fails.
fn each(first: u64, cases: u64, run: impl Fn(u64) -> Told + Sync) -> Told {
    let next = AtomicU64::new(0);
    assert!(cases > 0, "no case is none that passes");
    let failed = AtomicBool::new(false);
    let all = Mutex::new(Told::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut told = Told::default();
                loop {
                    let case = next.fetch_add(1, Ordering::Relaxed);
                    if case >= cases || failed.load(Ordering::Relaxed) {
                        break;
                    }
                    let seed = first + case;
                    match catch_unwind(AssertUnwindSafe(|| run(seed))) {
                        Ok(one) => told += one,
                        Err(_) => {
                            failed.store(true, Ordering::Relaxed);
                            eprintln!("\nthat was the schedule of NARROWS_SEED={seed}\n");
                        }
                    }
                }
                *all.lock().unwrap() += told;
            });
        }
    });
    assert!(!failed.into_inner(), "a schedule failed: its seed is above");
    all.into_inner().unwrap()
}

#[test]
fn every_run_ends_in_delivery_or_a_reported_error() {
    let (seed, cases) = (number("NARROWS_SEED"), number("NARROWS_CASES"));
    // A seed alone is that of a failure to be repeated.
    let cases = cases.unwrap_or(if seed.is_some() { 1 } else { 600 });
    let begin = Instant::now();
    let told = each(seed.unwrap_or(0), cases, |seed| {
        let told = Scene::new(seed).run(Mode::Fast);
        if seed % 16 == 0 {
            let again = Scene::new(seed).run(Mode::Reference);
            assert_eq!(told, again, "the two modes differ");
        }
        told
    });
    let rate = cases as f64 / begin.elapsed().as_secs_f64() * 3600.0;
    println!("{cases} schedules, {rate:.0} an hour\n{told:#?}");
    if cases >= 500 {
        told.reaches_everything();
    }
}

/// For a few scenes: *b* dies at its first store, at its second, and so on to the last, before the
/// store has reached the memory and behind it.
#[test]
fn a_peer_may_die_at_each_of_its_stores_in_turn() {
    let (seed, cases) = (number("NARROWS_SEED"), number("NARROWS_CASES"));
    let scenes = cases.map_or(3, |cases| cases.div_ceil(200));
    let told = each(seed.unwrap_or(0), scenes, |seed| {
        let mut told = Told::default();
        for reaches in [false, true] {
            for store in 0.. {
                let one = catch_unwind(|| Scene::dying(seed, store, reaches).run(Mode::Fast));
                let one = one.unwrap_or_else(|panic| {
                    eprintln!("in the scene of seed {seed}, at store {store} ({reaches})");
                    std::panic::resume_unwind(panic)
                });
                let died = one.deaths > 0;
                told += one;
                if !died {
                    break;
                }
            }
        }
        told
    });
    println!("{scenes} scenes, {} deaths\n{told:#?}", told.deaths);
    assert!(told.deaths > 100 * scenes, "{} deaths", told.deaths);
}
