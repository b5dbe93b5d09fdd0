//! S3: packets between clusters on a network on chip. The chip is `platforms/bmm-clusters.toml`.

use super::row::Found;
use super::s0::Run;
use crate::base::failure::{Failure, Kind};
use crate::experiments::bench::clusters::{PACKETS, TOTAL, row};
use crate::experiments::bench::susan::reduction;
use crate::formats::platform;
use crate::rig::cluster::Mechanism;
use narrows_sim::chip::Chip;
use narrows_sim::engine::{Settings, Simulation};
use narrows_sim::time::{Cost, Frequency, Time};
use std::cell::Cell;

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

fn missing(what: &str) -> Failure {
    Failure::new(Kind::Internal, format!("bmm-clusters has no {what}: report this defect"))
}

/// What calls take, an instruction a cycle.
fn code(chip: &Chip) -> Result<Found, Failure> {
    let calls = chip.clusters.as_ref().ok_or_else(|| missing("clusters"))?.calls;
    let clock = chip.cores.first().map_or(Frequency(1), |core| core.clock);
    let cycles = |cost: Cost| clock.count(cost.at(clock)) as f64;
    let [send, receive] = [calls.bmm_send, calls.bmm_receive].map(cycles);
    let library = cycles(calls.dma_send) + cycles(calls.dma_receive);
    let reduction = (1.0 - (send + receive) / library) * 100.0;
    let all = [("send", send), ("receive", receive), ("reduction", reduction)];
    Ok(all.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// The throughput of the smallest and of the largest packets, and what a CPU writes.
fn throughput(chip: &Chip) -> Result<Found, Failure> {
    let mut found = Found::new();
    found.insert("limit".into(), written(chip)?);
    for mechanism in Mechanism::ALL {
        for (key, packet) in ["smallest", "largest"].into_iter().zip(PACKETS) {
            let rate = row(chip, mechanism, packet)?.throughput_mbit_s;
            found.insert(format!("{}.{key}", mechanism.name()), rate);
        }
    }
    Ok(found)
}

/// What a CPU writes to its cluster's shared memory, in Mbit/s.
fn written(chip: &Chip) -> Result<f64, Failure> {
    let cluster = chip.clusters.as_ref().and_then(|clusters| clusters.all.first());
    let cluster = cluster.ok_or_else(|| missing("cluster"))?;
    let core = *cluster.cores.first().ok_or_else(|| missing("core in a cluster"))?;
    let took = Cell::new(Time::ZERO);
    let mut simulation = Simulation::new(chip, Settings::default());
    simulation.process(core, "writer", 1, |cpu| {
        let begin = cpu.time();
        cpu.store_bytes(cluster.memory, 0, &[0; TOTAL as usize]);
        took.set(cpu.time().since(begin));
    });
    simulation.run().map_err(|stuck| Failure::new(Kind::Internal, stuck.to_string()))?;
    Ok(f64::from(TOTAL) * 8.0 / took.get().micros())
}

/// How many times as much the buffer manager carries, of the largest packets.
fn headline(chip: &Chip) -> Result<Found, Failure> {
    let [_, largest] = PACKETS;
    let rate = |mechanism| Ok(row(chip, mechanism, largest)?.throughput_mbit_s);
    let (dma, bmm): (f64, f64) = (rate(Mechanism::Dma)?, rate(Mechanism::Bmm)?);
    Ok([("gain".to_owned(), bmm / dma)].into())
}

/// How much less time communication takes in an image application.
fn susan(chip: &Chip) -> Result<Found, Failure> {
    Ok([("communication".to_owned(), reduction(chip)?)].into())
}
