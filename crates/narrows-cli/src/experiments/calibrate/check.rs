//! Simulated round trips beside those that were measured.

use super::parts::{copy, in_place};
use super::sample::{Figure, Item, Samples};
use crate::base::failure::Failure;
use crate::base::options::Global;
use crate::base::table::{Align, Table, number};
use crate::rig::sim::{self, Needs};
use narrows::strategy::Strategy;
use narrows_sim::chip::Chip;
use serde::Serialize;

/// Sizes of requests and responses in bytes.
const SIZES: [usize; 6] = [128, 256, 1024, 4096, 16384, 65536];
/// The longest of them.
pub(super) const LONGEST: usize = 65536;
/// Calls of a batch in the simulator, where nothing disturbs them.
const CALLS: u64 = 64;
/// The largest deviation that is aimed at, in percent.
pub(super) const MOST: f64 = 20.0;

/// A round trip, simulated and measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Row {
    /// How it travels.
    pub strategy: String,
    /// Bytes of the request, and of the response.
    pub bytes: usize,
    /// The median of the batches that count, in nanoseconds.
    pub measured_ns: f64,
    /// Their 90th percentile less their 10th.
    pub spread_ns: f64,
    /// How many count.
    pub batches: usize,
    /// On the platform that was written.
    pub simulated_ns: f64,
    /// How much longer it is simulated.
    pub deviation_percent: f64,
    /// Whether that is within what is aimed at.
    pub holds: bool,
}

impl Row {
    fn new(strategy: Strategy, bytes: usize, measured: Figure, simulated_ns: f64) -> Row {
        let deviation_percent = 100.0 * (simulated_ns / measured.ns.max(f64::MIN_POSITIVE) - 1.0);
        Row {
            strategy: strategy.to_string(),
            bytes,
            measured_ns: measured.ns,
            spread_ns: measured.spread,
            batches: measured.batches,
            simulated_ns,
            deviation_percent,
            holds: deviation_percent.abs() <= MOST,
        }
    }
}

/// Calls by both drivers, of every size.
fn calls() -> impl Iterator<Item = (Strategy, usize)> {
    [copy(), in_place()].into_iter().flat_map(|strategy| SIZES.map(|bytes| (strategy, bytes)))
}

/// What is measured to be compared.
pub(super) fn items() -> impl Iterator<Item = Item> {
    calls().map(|(strategy, bytes)| Item::Calls(strategy, bytes))
}

/// Simulates what was measured; rows of what was.
///
/// # Errors
/// The simulation got stuck, or a response is not what was sent.
pub(super) fn compare(samples: &Samples, chip: &Chip) -> Result<Vec<Row>, Failure> {
    let needs = Needs { longest: LONGEST, ..Needs::default() };
    // Flags are about the cores of this machine.
    sim::pair(&Global::default(), chip, &needs, |mut pair| {
        let mut rows = Vec::new();
        for (strategy, bytes) in calls() {
            let simulated = pair.calls(strategy, bytes, CALLS)?;
            let measured = samples.figure(Item::Calls(strategy, bytes));
            rows.extend(measured.map(|measured| Row::new(strategy, bytes, measured, simulated)));
        }
        Ok(rows)
    })
}

/// The rows as a table.
pub(super) fn text(rows: &[Row]) -> String {
    let mut table = Table::new(&[
        ("call", Align::Left),
        ("bytes", Align::Right),
        ("measured", Align::Right),
        ("spread", Align::Right),
        ("simulated", Align::Right),
        ("deviation", Align::Right),
        ("", Align::Left),
    ]);
    for row in rows {
        table.row(vec![
            row.strategy.clone(),
            row.bytes.to_string(),
            number(row.measured_ns),
            number(row.spread_ns),
            number(row.simulated_ns),
            format!("{:+.0} %", row.deviation_percent),
            if row.holds { String::new() } else { "!".to_owned() },
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_is_of_what_was_measured_and_holds_up_to_its_bound() {
        let measured = Figure { ns: 1000.0, spread: 50.0, batches: 7 };
        for (simulated, percent, holds) in [
            (1200.0, 20.0, true),
            (1201.0, 20.1, false),
            (800.0, -20.0, true),
            (790.0, -21.0, false),
        ] {
            let row = Row::new(copy(), 128, measured, simulated);
            assert!((row.deviation_percent - percent).abs() < 1e-6, "{row:?}");
            assert_eq!(row.holds, holds, "{row:?}");
        }
        let row = Row::new(copy(), 128, Figure { ns: 0.0, ..measured }, 1.0);
        assert!(!row.holds);
    }

    #[test]
    fn both_drivers_are_compared_at_every_size_and_the_parts_are_of_none_of_them() {
        assert_eq!(items().count(), 2 * SIZES.len());
        let parts = super::super::parts::items();
        assert!(items().all(|item| !parts.contains(&item)));
        assert!(super::super::parts::SIZES.iter().all(|bytes| !SIZES.contains(bytes)));
    }
}
