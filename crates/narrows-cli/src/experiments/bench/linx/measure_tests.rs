//! What test cases carry, and what that takes, on simulated chips.

use super::*;
use narrows_sim::chip::Cache;
use narrows_sim::engine::{Faults, Upkeep};
use narrows_sim::time::Cost;

fn trial(case: Case, driver: DriverName, stack: Stack, rounds: u32) -> Trial {
    Trial {
        case,
        driver,
        stack,
        counter: None,
        bytes: 32,
        mtu: None,
        cached: false,
        stopped: false,
        rounds: Some(rounds),
        log: None,
    }
}

#[test]
fn every_driver_carries_requests_and_bursts_in_both_placements() {
    let chip = crate::formats::platform::load("nios2-dual").unwrap();
    for driver in DriverName::ALL {
        let latency = |stack| {
            // The first finds code in the cache.
            let trial = trial(Case::Latency, driver, stack, 5);
            let rows = carry_out(&chip, &trial, None).unwrap().rows(&trial);
            assert_eq!(rows.len(), 2, "requests and replies");
            assert!(rows.iter().all(|row| row.blocking_cycles.min > 0.0));
            rows[0].latency_cycles.median
        };
        assert!(latency(Stack::Flat) < latency(Stack::Layered), "{}", driver.name());
        for stack in [Stack::Layered, Stack::Flat] {
            let trial = trial(Case::Burst, driver, stack, 20);
            let rows = carry_out(&chip, &trial, None).unwrap().rows(&trial);
            assert_eq!(rows[0].signals.len(), 20, "{}", driver.name());
            assert!(rows[0].total_cycles >= rows[0].latency_cycles.max);
        }
    }
}

#[test]
fn a_step_for_cached_areas_that_is_forgotten_shows() {
    for (size, ways) in [(4096, 1), (65_536, 4)] {
        let mut chip = crate::formats::platform::load("nios2-dual").unwrap();
        for core in &mut chip.cores {
            core.data = Some(Cache { size, ways, ..core.data.unwrap() });
        }
        for driver in DriverName::ALL {
            let usual = trial(Case::Latency, driver, Stack::Layered, 3);
            let trial = Trial { cached: true, bytes: 256, ..usual };
            let goes = |forgotten| {
                let faults = Faults { forgotten, ..Faults::default() };
                let settings = Settings { faults, ..Settings::default() };
                carry_out_under(&chip, &trial, settings, None).is_ok()
            };
            let went = [None, Some(Upkeep::Clean), Some(Upkeep::Invalidate)].map(goes);
            // What software touches between two signals may push stale lines out of a small
            // one.
            let stale = went[2] && size > 4096;
            let shows = went[0] && !went[1] && !stale;
            assert!(shows, "{}, cache of {size}: {went:?}", driver.name());
        }
    }
}

#[test]
fn what_stands_against_bursts_loses_nothing() {
    let chip = crate::formats::platform::load("nios2-dual").unwrap();
    for counter in
        [Counter::Coalesce, Counter::Mask, Counter::Quota, Counter::Poll, Counter::Window]
    {
        let layered = trial(Case::Burst, DriverName::ShmAck, Stack::Layered, 30);
        let trial = Trial { counter: Some(counter), ..layered };
        let rows = carry_out(&chip, &trial, None).unwrap().rows(&trial);
        assert_eq!(rows[0].signals.len(), 30, "{}", counter.name());
    }
}

#[test]
fn a_window_that_opens_lets_every_driver_go_on() {
    let chip = crate::formats::platform::load("nios2-dual").unwrap();
    for driver in DriverName::ALL {
        for stack in [Stack::Layered, Stack::Flat] {
            let usual = trial(Case::Burst, driver, stack, 30);
            let trial = Trial { counter: Some(Counter::Window), ..usual };
            let rows = carry_out(&chip, &trial, None).unwrap().rows(&trial);
            assert_eq!(rows[0].signals.len(), 30, "{}", driver.name());
        }
    }
}

#[test]
fn no_driver_keeps_what_was_read() {
    // More signals than a core's pool has room for.
    for (chip, case, rounds) in
        [("nios2-dual", Case::Latency, 300), ("nios2-quad", Case::OneAsks, 150)]
    {
        let chip = crate::formats::platform::load(chip).unwrap();
        for driver in DriverName::ALL {
            let trial = trial(case, driver, Stack::Flat, rounds);
            let done = carry_out(&chip, &trial, None);
            let rows = done.unwrap_or_else(|why| panic!("{}: {why}", driver.name())).rows(&trial);
            let sent = rows.iter().map(|row| row.signals.len());
            assert!(sent.eq(vec![rounds as usize; rows.len()]), "{}", driver.name());
        }
    }
}

/// Bytes of a signal whose copies are counted.
const COPIED: usize = 1024;

/// How often each part of the way copies a signal: the sender's driver, a copy engine, the
/// receiver's driver, its connection. Those of cores are counted by what they take more where each
/// word takes longer, those of engines where they move fewer bytes at a time.
fn copies(driver: DriverName, mtu: Option<usize>) -> [f64; 4] {
    let usual = trial(Case::Latency, driver, Stack::Layered, 3);
    let trial = Trial { bytes: COPIED, mtu, ..usual };
    let mut chip = crate::formats::platform::load("nios2-dual").unwrap();
    let mut took = |word: Time, burst| {
        chip.cores.iter_mut().for_each(|core| core.copy.word = Cost::Time(word));
        chip.engines.iter_mut().for_each(|engine| engine.burst = burst);
        let last = carry_out(&chip, &trial, None).unwrap().rows(&trial)[0].signals.pop().unwrap();
        let layer = |core: Option<Meanwhile>, name| core.unwrap().layers[name];
        let connection = layer(last.receiver.clone(), "connection");
        let [sends, receives] = [last.sender, last.receiver].map(|core| layer(core, "driver"));
        [sends, last.latency_cycles, receives, connection]
    };
    let [word, longer] = [89_400, 89_400 + 20_000_000].map(Time);
    let (long, slow, short) = (took(longer, 32), took(word, 4), took(word, 32));
    // A transfer of an engine is a read and a write.
    let memory = &chip.memories[chip.cores[0].home];
    let bus = &chip.buses[memory.bus];
    let begins = |cost: Cost| (bus.overhead.at(bus.clock) + cost.at(bus.clock)).micros() * 50.0;
    let transfer = begins(memory.read) + begins(memory.write);
    let by_core = |at: usize| (long[at] - short[at]) / (COPIED / 4 * 1000) as f64;
    let engine = (slow[1] - short[1]) / (transfer * (COPIED / 4 - COPIED / 32) as f64);
    [by_core(0), engine, by_core(2), by_core(3)]
}

/// S4 sections 3.6.1.5 and 3.6.2.2: "a total of three memory copy operations", "only do one data
/// copy", "once with DMA and once with a normal memcpy in the CM". That of the connection puts a
/// signal together.
#[test]
fn each_driver_makes_the_copies_that_the_source_says() {
    for (driver, published) in [
        (DriverName::ShmAck, [1.0, 0.0, 1.0, 1.0]),
        (DriverName::ShmNoack, [1.0, 0.0, 1.0, 1.0]),
        (DriverName::SingleCopy, [0.0, 0.0, 0.0, 1.0]),
        (DriverName::DmaAck, [0.0, 1.0, 0.0, 1.0]),
        (DriverName::DmaNoack, [0.0, 1.0, 0.0, 1.0]),
    ] {
        // In one frame, and cut up: then an engine copies while its core does.
        for (mtu, by_engine) in [(None, true), (Some(320), false)] {
            let found = copies(driver, mtu);
            // Headers are copied too, and what is beside copies varies.
            let near = |at: usize| (found[at] - published[at]).abs() < 0.15;
            let same = (0..4).all(|at| near(at) || (at == 1 && !by_engine));
            assert!(same, "{} {mtu:?}: {found:.3?}", driver.name());
        }
    }
}
