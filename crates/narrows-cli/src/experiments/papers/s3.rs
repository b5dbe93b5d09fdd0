//! S3: packets between clusters on a network on chip. The chip is `platforms/bmm-clusters.toml`.

use super::row::Found;
use super::s0::Run;
use crate::base::failure::{Failure, Kind};
use crate::experiments::bench::clusters::ends::Ends;
use crate::experiments::bench::clusters::pingpong::{counts, most_saved};
use crate::experiments::bench::clusters::throughput::{limit, row};
use crate::experiments::bench::clusters::{PACKETS, pingpong, usual};
use crate::experiments::bench::susan::reduction;
use crate::formats::platform;
use crate::rig::cluster::Mechanism;
use narrows_sim::chip::Chip;

/// The experiments, by their names.
pub const EXPERIMENTS: [(&str, Run); 4] = [
    ("S3.code", code),
    ("S3.throughput", throughput),
    ("S3.headline", headline),
    ("S3.susan", susan),
];

/// The chip of all figures.
///
/// # Errors
/// As [`platform::load_any`].
pub fn chip() -> Result<Chip, Failure> {
    platform::load_any("bmm-clusters")
}

/// What calls take, an instruction a cycle.
fn code(chip: &Chip) -> Result<Found, Failure> {
    let ends = Ends::of(chip, None)?;
    let of = |one: Mechanism| one.instructions(chip, ends.cores[0]).map(|count| count as f64);
    let ([send, receive], library) = (of(Mechanism::Bmm), of(Mechanism::Dma));
    let reduction = (1.0 - (send + receive) / library.iter().sum::<f64>()) * 100.0;
    let all = [("send", send), ("receive", receive), ("reduction", reduction)];
    Ok(all.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// The throughput of the smallest and of the largest packets, and what a CPU writes.
fn throughput(chip: &Chip) -> Result<Found, Failure> {
    let ends = Ends::of(chip, None)?;
    let mut found = Found::new();
    found.insert("limit".into(), limit(chip, ends)?);
    for mechanism in Mechanism::ALL {
        for (key, packet) in ["smallest", "largest"].into_iter().zip(PACKETS) {
            let rate = row(chip, None, ends, mechanism, packet)?.throughput_mbit_s;
            found.insert(format!("{}.{key}", mechanism.name()), rate);
        }
    }
    Ok(found)
}

/// How many times as much the buffer manager carries, of the largest packets, and the most that it
/// saves of a round trip.
fn headline(chip: &Chip) -> Result<Found, Failure> {
    let ends = Ends::of(chip, None)?;
    let [_, largest] = PACKETS;
    let rate = |mechanism| Ok(row(chip, None, ends, mechanism, largest)?.throughput_mbit_s);
    let (dma, bmm): (f64, f64) = (rate(Mechanism::Dma)?, rate(Mechanism::Bmm)?);
    let mut trips = Vec::new();
    for mechanism in Mechanism::ALL {
        for size in usual() {
            for count in counts(size) {
                trips.push(pingpong::row(chip, None, ends, mechanism, (size, count))?);
            }
        }
    }
    let none = || Failure::new(Kind::Internal, "no round trips: report this defect".to_owned());
    let (saved, _) = most_saved(&trips).ok_or_else(none)?;
    Ok([("gain".to_owned(), bmm / dma), ("latency".to_owned(), saved)].into())
}

/// How much less time communication takes in an image application.
fn susan(chip: &Chip) -> Result<Found, Failure> {
    Ok([("communication".to_owned(), reduction(chip)?)].into())
}
