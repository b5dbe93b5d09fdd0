//! What sections 4.2 and 4.3 say in words, and section 3.6 of flow control: which is the larger,
//! and where it shows. Each is worked out from the signals of a run.

use std::collections::BTreeMap;

use super::latency::trial;
use crate::base::failure::Failure;
use crate::experiments::bench::linx::{Case, Row, Single, Trial, carry_out};
use crate::experiments::papers::row::Found;
use crate::formats::linx::DriverName;
use narrows_sim::chip::Chip;

/// Sizes of section 4.2's diagrams.
const SIZES: [usize; 6] = [16, 32, 64, 128, 256, 512];
/// What is compared with nothing.
const NOTHING: &str = "nothing";

/// The rows of a trial.
fn run(chip: &Chip, trial: &Trial) -> Result<Vec<Row>, Failure> {
    Ok(carry_out(chip, trial, None)?.rows(trial))
}

/// The requests of T0, by their sizes.
fn requests(chip: &Chip, driver: DriverName, cached: bool) -> Result<Vec<Row>, Failure> {
    let all = SIZES.map(|bytes| {
        let trial = Trial { cached, ..trial(Case::Latency, driver, bytes) };
        run(chip, &trial).map(|rows| rows.into_iter().next())
    });
    all.into_iter().filter_map(Result::transpose).collect()
}

/// What a part of both cores had, in the middle of a row's signals.
fn usual(row: &Row, part: fn(&Single) -> f64) -> f64 {
    let mut all: Vec<f64> = row.signals.iter().map(part).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

fn layer(single: &Single, receiver: bool, name: &str) -> f64 {
    let core = if receiver { &single.receiver } else { &single.sender };
    core.as_ref().and_then(|core| core.layers.get(name).copied()).unwrap_or(0.0)
}

/// A part of a signal's way, and what it takes.
type Part = (&'static str, fn(&Single) -> f64);

/// The parts of section 4.2's diagrams of layers, on either core.
const PARTS: [Part; 8] = [
    ("sender.application", |one| layer(one, false, "application")),
    ("sender.link", |one| layer(one, false, "link")),
    ("sender.connection", |one| layer(one, false, "connection")),
    ("sender.driver", |one| layer(one, false, "driver")),
    ("receiver.application", |one| layer(one, true, "application")),
    ("receiver.link", |one| layer(one, true, "link")),
    ("receiver.connection", |one| layer(one, true, "connection")),
    ("receiver.driver", |one| layer(one, true, "driver")),
];

/// By how much each part grows from the shortest signal to the longest.
fn growth(rows: &[Row]) -> BTreeMap<&'static str, f64> {
    let Some((first, last)) = rows.first().zip(rows.last()) else { return BTreeMap::new() };
    PARTS.iter().map(|(name, part)| (*name, usual(last, *part) - usual(first, *part))).collect()
}

/// The least growth of those that are to grow, and the most of all others that a test allows.
fn grown(
    found: &mut Found,
    driver: &str,
    growth: &BTreeMap<&'static str, f64>,
    (grows, among): (&[&str], &str),
) {
    let of = |grow: bool| {
        let own = growth.iter().filter(move |(name, _)| name.starts_with(among));
        own.filter(move |(name, _)| grows.contains(name) == grow).map(|(_, value)| *value)
    };
    let least = of(true).fold(f64::INFINITY, f64::min);
    let most = of(false).fold(0.0, f64::max);
    found.insert(format!("{driver} {among}: {}", grows.join(", ")), least);
    found.insert(format!("{driver} {among}: others"), most);
}

/// What section 4.2 says of T0.
///
/// # Errors
/// As [`carry_out`].
pub fn latency(chip: &Chip) -> Result<Found, Failure> {
    use DriverName::{DmaAck, DmaNoack, ShmAck, ShmNoack, SingleCopy};
    let [shm, shm_noack, single, dma, dma_noack] =
        [ShmAck, ShmNoack, SingleCopy, DmaAck, DmaNoack].map(|one| requests(chip, one, false));
    let (shm, shm_noack, single) = (shm?, shm_noack?, single?);
    let (dma, dma_noack) = (dma?, dma_noack?);
    let cached = requests(chip, ShmAck, true)?;
    let median = |row: &Row| row.latency_cycles.median;
    let spread = |row: &Row| row.latency_cycles.max - row.latency_cycles.min;
    let worst = |row: &Row| row.latency_cycles.max - row.latency_cycles.median;
    let mut found = Found::new();
    let mut note = |key: &str, value: f64| found.insert(key.to_owned(), value);
    note(NOTHING, 0.0);
    let gain = |slow: &[Row], quick: &[Row]| {
        let all = slow.iter().zip(quick).map(|(slow, quick)| median(slow) - median(quick));
        all.fold(f64::INFINITY, f64::min)
    };
    note("shm-noack is faster by", gain(&shm, &shm_noack));
    note("dma-noack is faster by", gain(&dma, &dma_noack));
    let apart = shm.iter().zip(&shm_noack).map(|(ack, none)| median(ack) - median(none));
    note("shm-noack is faster by at most", apart.fold(0.0, f64::max));
    let busy = |row: &Row| row.cpu_cycles.sender - row.blocking_cycles.median;
    note("acknowledgement's service", shm.iter().map(busy).fold(f64::INFINITY, f64::min));
    let grows = |rows: &[Row]| rows.last().map_or(0.0, median) - rows.first().map_or(0.0, median);
    note("shm-ack grows", grows(&shm));
    note("dma-ack grows", grows(&dma));
    note("single-copy grows", grows(&single));
    let widest = |rows: &[Row]| rows.iter().map(spread).fold(0.0, f64::max);
    note("dma-ack: worst less best", widest(&dma));
    note("dma-noack: worst less best", widest(&dma_noack));
    let ends = |rows: &[Row]| [rows.first(), rows.last()].map(|row| row.map_or(0.0, median));
    let [small, large] = ends(&shm);
    let [cached_small, cached_large] = ends(&cached);
    for (key, value) in [
        ("not cached, 16 bytes", small),
        ("cached, 16 bytes", cached_small),
        ("not cached, 512 bytes", large),
        ("cached, 512 bytes", cached_large),
    ] {
        note(key, value);
    }
    for (row, bytes) in cached.iter().zip(SIZES) {
        note(&format!("cached, {bytes} bytes: worst less typical"), worst(row));
    }
    note("not cached: worst less typical", shm.iter().map(worst).fold(0.0, f64::max));
    // The layers that the slowest of the longest cached signals had more of than usual.
    if let Some(row) = cached.last()
        && let Some(slowest) =
            row.signals.iter().max_by(|a, b| a.latency_cycles.total_cmp(&b.latency_cycles))
    {
        let more = |(_, part): &(&str, fn(&Single) -> f64)| part(slowest) - usual(row, *part);
        let of = |connection: bool| {
            let parts = PARTS.iter();
            let parts = parts.filter(move |one| (one.0 == "receiver.connection") == connection);
            parts.map(more).fold(f64::NEG_INFINITY, f64::max)
        };
        note("slowest cached: receiver.connection more", of(true));
        note("slowest cached: any other layer more", of(false));
    }
    let of = |row: &Row, names: [&str; 2]| -> f64 {
        let parts = PARTS.iter().filter(|(name, _)| names.contains(name));
        parts.map(|(_, part)| usual(row, *part)).sum()
    };
    // 128 bytes.
    if let Some(row) = dma.get(3) {
        for name in ["application", "link", "connection", "driver"] {
            let both = [format!("sender.{name}"), format!("receiver.{name}")];
            note(&format!("dma-ack: {name}"), of(row, [&both[0], &both[1]]));
        }
    }
    let sender = |row: Option<&Row>| row.map_or(0.0, |row| of(row, ["sender.connection"; 2]));
    note("shm-ack: connection of the sender", sender(shm.get(3)));
    note("single-copy: connection of the sender", sender(single.get(3)));
    grown(&mut found, "shm-ack", &growth(&shm), (&["sender.driver"], "sender"));
    let both = ["receiver.driver", "receiver.connection"];
    grown(&mut found, "shm-ack", &growth(&shm), (&both, "receiver"));
    grown(&mut found, "single-copy", &growth(&single), (&["receiver.connection"], ""));
    grown(&mut found, "dma-ack", &growth(&dma), (&["receiver.connection"], ""));
    Ok(found)
}

/// What section 4.3 says of T1.
///
/// # Errors
/// As [`carry_out`].
pub fn interference(chip: &Chip) -> Result<Found, Failure> {
    let of = |log: usize| -> Result<Vec<Row>, Failure> {
        let trial = trial(Case::Interference, DriverName::DmaAck, 32);
        // Every tenth request is behind one for a log: the second of those, so that it is no first
        // signal of a run.
        run(chip, &Trial { log: Some(log), rounds: Some(12), ..trial })
    };
    let (short, long) = (of(32)?, of(1500)?);
    let single = |rows: &[Row], signal: &str, at: usize| {
        let row = rows.iter().find(|row| row.signal == signal);
        row.and_then(|row| row.signals.get(at).cloned())
    };
    let figures = |rows: &[Row], request: usize| {
        let (asked, replied) = (single(rows, "request", request), single(rows, "reply", request));
        let received = |one: &Single| one.sent_cycles + one.latency_cycles;
        let trip = asked.as_ref().zip(replied.as_ref());
        let trip = trip.map(|(asked, replied)| received(replied) - asked.sent_cycles);
        (asked, replied.map(|one| (received(&one), one)), trip.unwrap_or(f64::NAN))
    };
    let (alone, behind_short, behind_long) = (5, 10, 10);
    let mut found = Found::new();
    let mut note = |key: &str, value: f64| found.insert(key.to_owned(), value);
    let (asked, replied, trip) = figures(&long, alone);
    note("round trip alone", trip);
    note("round trip behind a request for 32 bytes", figures(&short, behind_short).2);
    let latency = |one: Option<&Single>| one.map_or(f64::NAN, |one| one.latency_cycles);
    note("request alone", latency(asked.as_ref()));
    let reply = replied.map(|(_, one)| one);
    note("reply alone", latency(reply.as_ref()));
    let busy = reply.and_then(|one| one.receiver).map_or(f64::NAN, |core| core.busy_cycles);
    note("receiving a reply", busy);
    let (asked, replied, trip) = figures(&long, behind_long);
    note("round trip behind a request for 1500 bytes", trip);
    note("request behind one for 1500 bytes", latency(asked.as_ref()));
    note("request for 1500 bytes", latency(single(&long, "log request", 1).as_ref()));
    let log = single(&long, "log", 1).map(|one| one.sent_cycles + one.latency_cycles);
    if let Some((received, one)) = replied {
        note("reply behind 1500 bytes", one.latency_cycles);
        note("replies apart", (received - log.unwrap_or(f64::NAN)).abs());
    }
    Ok(found)
}

/// What sections 3.6.1.3 and 3.6.2.4 say of flow control: with acknowledgements by interrupt there
/// is some, without there is none. How many signals of a burst are received before the last was
/// sent.
///
/// # Errors
/// As [`carry_out`].
pub fn burst(chip: &Chip) -> Result<Found, Failure> {
    use DriverName::{DmaAck, DmaNoack, ShmAck, ShmNoack};
    let mut found = Found::new();
    for driver in [ShmAck, ShmNoack, DmaAck, DmaNoack] {
        let rows = run(chip, &trial(Case::Burst, driver, 32))?;
        let signals = rows.first().map(|row| row.signals.as_slice()).unwrap_or_default();
        let last = signals.last().map_or(0.0, |one| one.sent_cycles);
        let early = signals.iter().filter(|one| one.sent_cycles + one.latency_cycles <= last);
        found.insert(driver.name().to_owned(), early.count() as f64);
    }
    Ok(found)
}
