//! Where caches are not coherent, a driver that forgets to clean or to invalidate does not pass the
//! suite. Not every geometry can tell: this says which can, and why the others cannot.

use crate::common::rig::Simulated;
use narrows::conformance::{self, Rig};
use narrows::endpoint::{Address, Function, Sink, Source};
use narrows::strategy::Strategy;
use narrows_sim::chip::{Cache, Chip};
use narrows_sim::engine::{Faults, Settings, Upkeep};
use narrows_sim::time::Time;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::Duration;

fn cache(size: u32, ways: u32) -> Cache {
    Cache { size, line: 32, ways, write_back: true, allocate: true }
}

/// A chip with that data cache, and that second level, in every core.
fn chip(data: Option<Cache>, second: Option<Cache>, blocks: Option<u32>) -> Chip {
    let mut chip = crate::common::chip();
    for core in &mut chip.cores {
        (core.data, core.second) = (data, second);
    }
    for class in &mut chip.link.classes {
        class.count = blocks.unwrap_or(class.count);
    }
    chip
}

/// The sentence of the suite's panic, if it does not pass.
fn fails(chip: &Chip, transfer: &str, forgotten: Option<Upkeep>) -> Option<String> {
    let faults = Faults { forgotten, ..Faults::default() };
    let settings = Settings { faults, ..Settings::default() };
    let rig = Simulated { chip: chip.clone(), settings };
    let strategy = format!("{transfer}/interrupt/external").parse().expect("a strategy");
    let ran = catch_unwind(AssertUnwindSafe(|| conformance::run(&rig, strategy)));
    ran.err().map(|panic| match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("a sentence")).to_owned(),
    })
}

const BY_CORES: [&str; 3] = ["copy", "single_copy", "in_place"];

/// Whether the suite tells that cleaning, and that invalidating, is forgotten.
fn tells(chip: &Chip, transfers: &[&str], expected: [bool; 2]) {
    for transfer in transfers {
        assert_eq!(fails(chip, transfer, None), None, "{transfer}, with nothing forgotten");
        let told = [Upkeep::Clean, Upkeep::Invalidate].map(|upkeep| {
            let failed = fails(chip, transfer, Some(upkeep));
            if let Some(text) = &failed {
                // It is the content that is wrong, not something else that broke.
                assert!(text.contains(": byte "), "{transfer}, {upkeep:?}: {text}");
            }
            failed.is_some()
        });
        assert_eq!(told, expected, "{transfer}");
    }
}

#[test]
fn a_small_direct_mapped_cache_tells_both() {
    // With few blocks, so that each comes round while lines of it are still in the cache.
    tells(&chip(Some(cache(2048, 1)), None, Some(4)), &BY_CORES, [true, true]);
}

#[test]
fn a_large_cache_of_four_ways_tells_both() {
    tells(&chip(Some(cache(65_536, 4)), None, Some(8)), &BY_CORES, [true, true]);
}

#[test]
fn a_second_level_tells_both() {
    let chip = chip(Some(cache(1024, 2)), Some(cache(131_072, 8)), None);
    tells(&chip, &BY_CORES, [true, true]);
}

#[test]
fn where_a_copy_engine_moves_payload_cores_still_make_and_read_some_themselves() {
    tells(&chip(Some(cache(2048, 1)), None, Some(4)), &["copy_engine"], [true, true]);
}

#[test]
fn a_cache_that_a_block_has_left_before_it_comes_round_does_not_tell_invalidating() {
    tells(&chip(Some(cache(512, 1)), None, None), &["copy", "in_place"], [true, false]);
}

#[test]
fn a_cache_that_writes_through_needs_no_cleaning() {
    let through = Cache { write_back: false, ..cache(65_536, 4) };
    tells(&chip(Some(through), None, None), &["copy", "in_place"], [false, true]);
}

#[test]
fn without_caches_there_is_nothing_to_forget() {
    tells(&chip(None, None, None), &["copy", "in_place"], [false, false]);
}

/// What was made in a block and never sent is in the cache of its maker, and must not come over
/// what a copy engine brings to the block later.
#[test]
fn what_was_given_up_in_a_block_does_not_spoil_what_an_engine_brings_there() {
    for (size, ways) in [(2048, 1), (65_536, 4)] {
        let rig = Simulated::from(chip(Some(cache(size, ways)), None, Some(1)));
        let strategy = |text: &str| text.parse::<Strategy>().expect("a strategy");
        let patience = Some(Duration::from_secs(1));
        let checked = std::sync::atomic::AtomicBool::new(false);
        rig.run(
            &mut |node, link| {
                let echo = "echo".parse().expect("a name");
                let in_pool = strategy("in_place/interrupt/external");
                let flow = node.open_flow(link, &echo, in_pool, 1024, patience).expect("a flow");
                let mut reserved = node.flow(flow).reserve(1000).expect("a block");
                node.write(&mut reserved, 0, &[0xaa; 1000]).expect("it is large enough");
                node.cancel(reserved);
                node.open(1).expect("a free port");
                node.set_strategy(strategy("copy_engine/external"));
                let to = Address { link, port: 1 };
                node.send(1, to, &[0x55; 1000], patience).expect("room");
            },
            &mut |node, _| {
                node.open(1).expect("a free port");
                let end = node.platform().time() + Time::nanos(5_000_000);
                let mut run = |_: &dyn Source, _: &mut dyn Sink| Ok(());
                while node.platform().time() < end {
                    let name = "echo".parse().expect("a name");
                    node.try_serve(&mut [Function { name, run: &mut run }]);
                    let mut bytes = [0; 1000];
                    let within = Some(Duration::from_micros(10));
                    if let Ok(got) = node.receive_into(1, &mut bytes, within) {
                        assert_eq!((got.len, bytes), (1000, [0x55; 1000]), "{size}");
                        checked.store(true, Ordering::Relaxed);
                    }
                }
            },
        );
        assert!(checked.into_inner(), "it arrived");
    }
}
