//! A peer that writes seeded garbage and lies into everything it can write, at seeded moments of
//! traffic that is otherwise in order. Whatever it does, its link goes on or ends with a reason,
//! nothing of it stays, and another link of the same node never notices.
//!
//! `NARROWS_CASES=10000000 cargo test --release -p narrows --test stack hostile:: -- --nocapture`
//! runs that number of cases instead of a few, `NARROWS_SEED=7` the case of one seed.

mod case;
mod others;
mod turns;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use case::Case;
use narrows::memory::Corrupt;
use narrows::platform::Lost;
use turns::Deeds;

/// Enough for every way in which a link can end to be met many times.
const FEW: u64 = 1000;
/// A case takes a tenth of a millisecond; one that takes this long does not end.
const PATIENCE: Duration = Duration::from_secs(60);

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not '{text}'")))
}

/// Ends the program, with the seed, if a case does not end: nothing inside could.
fn watch(seed: Arc<AtomicU64>) {
    thread::spawn(move || {
        let (mut seen, mut since) = (0, Instant::now());
        loop {
            thread::sleep(Duration::from_millis(500));
            // Relaxed: the number alone matters.
            let now = seed.load(Ordering::Relaxed);
            if now != seen {
                (seen, since) = (now, Instant::now());
            } else if since.elapsed() > PATIENCE {
                eprintln!("the case of seed {now} does not end: NARROWS_SEED={now} replays it");
                std::process::abort();
            }
        }
    });
}

fn outcome(end: Option<Lost>) -> String {
    match end {
        None => "went on".into(),
        Some(Lost::Corrupt(what)) => format!("{what:?}"),
        Some(other) => format!("{other:?}"),
    }
}

#[test]
fn whatever_a_peer_writes_its_link_goes_on_or_ends_with_a_reason_and_no_other_notices() {
    let replayed = number("NARROWS_SEED");
    let first = replayed.unwrap_or(0);
    let count = if replayed.is_some() { 1 } else { number("NARROWS_CASES").unwrap_or(FEW) };
    let current = Arc::new(AtomicU64::new(first));
    watch(current.clone());
    let start = Instant::now();
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    let mut deeds = Deeds::default();
    for seed in first..first + count {
        current.store(seed, Ordering::Relaxed);
        let ended = catch_unwind(AssertUnwindSafe(|| Case::new(seed).run(&mut deeds)));
        let Ok(end) = ended else {
            panic!("the case of seed {seed} failed: NARROWS_SEED={seed} replays it");
        };
        *outcomes.entry(outcome(end)).or_default() += 1;
        if (seed + 1 - first).is_multiple_of(100_000) {
            println!("{} cases in {} s", seed + 1 - first, start.elapsed().as_secs());
        }
    }
    println!("{count} cases in {:.1} s; how the link ended:", start.elapsed().as_secs_f64());
    for (outcome, times) in &outcomes {
        println!("  {outcome:10} {times:9} {:6.2} %", *times as f64 * 100.0 / count as f64);
    }
    println!("of the peer's, over all cases: {deeds:?}");
    if replayed.is_some() {
        return;
    }
    let every = [
        Corrupt::Header,
        Corrupt::Kind,
        Corrupt::Length,
        Corrupt::Block,
        Corrupt::Credit,
        Corrupt::Return,
        Corrupt::Control,
        Corrupt::Response,
    ];
    for end in every.map(|what| Some(Lost::Corrupt(what))).into_iter().chain([None]) {
        assert!(outcomes.contains_key(&outcome(end)), "no case ended so: {}", outcome(end));
    }
    let Deeds { messages, requests, responses, refused, switched, served, entries, .. } = deeds;
    for (deed, times) in [
        ("messages", messages),
        ("requests", requests),
        ("responses", responses),
        ("refused", refused),
        ("switched", switched),
        ("served", served),
        ("entries", entries),
    ] {
        assert!(times > count / 100, "too few cases get as far as {deed}: {times}");
    }
}
