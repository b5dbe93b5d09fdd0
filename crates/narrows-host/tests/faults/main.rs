//! Every system call that a node makes fails in turn, with each error that the call can have: what
//! the node was asked for ends well or with its error, in time, and nothing of it stays.
//!
//! `strace` makes the calls fail, from outside: the node is the one that everybody runs. A life of
//! a node is traced once, which gives the calls that it makes, and is then run again for each of
//! them.
//!
//! Then two calls fail in one life, apart from each other: some pairs, which a seed draws.
//!
//! Some calls of each kind fail in the usual test. `ci/faults` has each of them fail, and
//! `NARROWS_FAULT="hunts sendmsg 2 ENOBUFS once" cargo test -p narrows-host --test faults` one.
//! `NARROWS_SEED=7` draws other pairs.

#[path = "../common/mod.rs"]
mod common;
mod partner;
mod places;
mod run;
mod subject;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use common::process::{Random, possessions};
use places::{Faults, faults_of, pairs_of, some_of};
use run::{life, traced};
use subject::SCENES;

/// The tests by their names, as the usual harness has them: that runs none of them on the first
/// thread, whose calls have the same numbers each time.
const TESTS: [(&str, fn()); 2] = [
    (
        "whichever_call_fails_what_was_asked_ends_in_time_and_nothing_stays",
        whichever_call_fails_what_was_asked_ends_in_time_and_nothing_stays,
    ),
    ("a_fault_is_written_as_it_is_read", a_fault_is_written_as_it_is_read),
];

fn main() {
    if std::env::var_os(subject::SCENE).is_some() {
        return subject::main();
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list" || word == "--ignored") {
        return;
    }
    let (mut wanted, mut skipped) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--skip" => skipped.extend(words.next()),
            word if word.starts_with("--") => {}
            _ => wanted.push(word),
        }
    }
    let named = |name: &str, words: &[&String]| words.iter().any(|word| name.contains(&**word));
    for (name, test) in TESTS {
        if (wanted.is_empty() || named(name, &wanted)) && !named(name, &skipped) {
            println!("test {name}");
            // Named, so that a failure says which it was.
            let run = std::thread::Builder::new().name(name.into()).spawn(test);
            if run.expect("a thread").join().is_err() {
                std::process::exit(101);
            }
        }
    }
}

/// Lives that run at the same time: they wait for most of their time.
const AT_ONCE: usize = 4;

fn whichever_call_fails_what_was_asked_ends_in_time_and_nothing_stays() {
    let before = possessions();
    let asked = std::env::var("NARROWS_FAULT").ok();
    let how_many = std::env::var("NARROWS_FAULTS").unwrap_or_default();
    let began = Instant::now();
    let seed = std::env::var("NARROWS_SEED").map_or(1, |text| text.parse().expect("a seed"));
    let mut random = Random::new(seed);
    let mut faults: Vec<Faults> = Vec::new();
    match asked {
        Some(text) => faults.push(text.parse().unwrap_or_else(|why| panic!("{why}: '{text}'"))),
        None => {
            for scene in SCENES {
                let calls = traced(scene).unwrap_or_else(|what| panic!("{scene}, traced: {what}"));
                let all = faults_of(&calls);
                let count = match how_many.as_str() {
                    "all" => 40,
                    "each" => 5,
                    _ => 1,
                };
                let pairs = pairs_of(&all, count, &mut random);
                let single = match how_many.as_str() {
                    "all" => all,
                    "each" => some_of(all, |fault| (fault.call.clone(), fault.number)),
                    _ => some_of(all, |fault| (fault.call.clone(), u32::from(fault.number > 1))),
                };
                let lives = single.into_iter().map(|fault| vec![fault]).chain(pairs);
                faults.extend(lives.map(|calls| Faults { scene: scene.into(), calls }));
            }
        }
    }
    let (next, ends) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let end = life(fault);
                    ends.lock().unwrap().push((fault, end));
                }
            });
        }
    });
    let ends = ends.into_inner().unwrap();

    let mut met: BTreeMap<&str, [u32; 3]> = BTreeMap::new();
    let mut broken = Vec::new();
    for (fault, end) in &ends {
        let row = met.entry(fault.kind()).or_default();
        match end {
            Ok(life) => {
                row[0] += u32::from(life.failed >= fault.calls.len());
                row[1] += u32::from(!life.errors.is_empty());
                if faults.len() == 1 {
                    println!("{} calls failed; {:?}", life.failed, life.errors);
                }
            }
            Err(what) => {
                row[2] += 1;
                broken.push(format!("NARROWS_FAULT=\"{fault}\": {what}"));
            }
        }
    }
    println!("{} lives in {:.1} s", ends.len(), began.elapsed().as_secs_f64());
    println!("{:20} {:>8} {:>8} {:>8}", "call", "failed", "errors", "broken");
    for (call, [failed, errors, broken]) in &met {
        println!("{call:20} {failed:8} {errors:8} {broken:8}");
    }
    assert!(broken.is_empty(), "{} lives:\n{}", broken.len(), broken.join("\n"));
    for (call, [failed, ..]) in &met {
        assert!(*failed > 0, "no {call} failed: the lives are not what was traced");
    }
    assert_eq!(possessions(), before, "descriptors and mappings of the partners");
}

fn a_fault_is_written_as_it_is_read() {
    for text in [
        "hunts sendmsg 2 ENOBUFS once",
        "hunted eventfd2 1 EMFILE lasting",
        "opens bind 1 EACCES once and openat 7 EMFILE lasting",
        "framed sendto 2 EINTR once and sendto 5 EINTR once",
    ] {
        let faults: Faults = text.parse().unwrap();
        assert_eq!(faults.to_string(), text);
        assert_eq!(faults.last(), text.ends_with("lasting"));
    }
    let two: Faults = "framed sendto 2 EINTR once and sendto 5 EINTR once".parse().unwrap();
    assert_eq!(two.injections(), ["--inject=sendto:error=EINTR:when=2..5+3"]);
    for text in [
        "hunts sendmsg two ENOBUFS once",
        "hunts sendmsg 2 ENOBUFS once and sendmsg 2 ENOBUFS once",
        "hunts sendmsg 2 ENOBUFS once and sendmsg 3 EPIPE once",
    ] {
        assert!(text.parse::<Faults>().is_err(), "{text}");
    }
}
