//! `bench throughput`: messages one way, each written by one side and read by the other.

use super::{Asked, Measure, Needs, Section, Task, Trial, iterations, make};
use crate::base::failure::Failure;
use crate::rig::limit::{Kind, SLOT_PAYLOAD};
use crate::rig::place::Place;
use crate::rig::series::Series;

const DEFAULTS: [&[&str]; 3] =
    [&["copy_batched", "in_place"], &["spin", "hybrid"], &["internal", "external"]];
const BYTES: [usize; 3] = [48, 1024, 65536];
const ROUNDS: u16 = 11;
/// Messages of the batch that tells how many to send.
const TRIAL: u64 = 64;

/// Measures messages a second.
///
/// # Errors
/// What is asked for cannot be, or the other process is gone.
pub(super) fn run(asked: &Asked<'_>) -> Result<Vec<Section>, Failure> {
    let strategies = asked.strategies(DEFAULTS)?;
    let trials = asked.trials(&strategies, &BYTES)?;
    make(asked, &Needs::of(&trials, 1), Streams { trials: &trials })
}

struct Streams<'a> {
    trials: &'a [Trial],
}

impl Measure for Streams<'_> {
    fn measure<P: Place>(self, task: &mut Task<'_, P>) -> Result<Vec<Section>, Failure> {
        let (mut messages, mut volume) = (Section::default(), Section::default());
        for (strategy, bytes) in self.trials {
            task.say(&strategy.to_string());
            let floor = if *bytes <= SLOT_PAYLOAD { Kind::SlotRate } else { Kind::CopyRate };
            let count = match task.args.place.platform() {
                // Nothing disturbs a chip, whose time is long to simulate.
                Some(_) => iterations(task.pair.stream(*strategy, *bytes, TRIAL)?),
                None => floor.iterations(*bytes),
            };
            let (mut rate, mut mib) = (Series::default(), Series::default());
            let per_second = |ns: f64| 1e9 / ns.max(f64::MIN_POSITIVE);
            for _ in 0..task.rounds(ROUNDS) {
                let limit = task.pair.limit(floor, *bytes, strategy.placement)?.map(per_second);
                let own = per_second(task.pair.stream(*strategy, *bytes, count)?);
                let size = *bytes as f64 / f64::from(1 << 20);
                rate.push(own, limit);
                mib.push(own * size, limit.map(|limit| limit * size));
            }
            let name = strategy.to_string();
            messages.rows.extend(rate.row(name.clone(), *bytes, "msg/s"));
            volume.rows.extend(mib.row(name, *bytes, "MiB/s"));
            task.step();
        }
        Ok(vec![messages, volume])
    }
}
