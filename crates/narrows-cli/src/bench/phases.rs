//! `bench phases`: where the time of a call goes, and what it costs to know that.

use narrows_host::Host;

use super::parts::{Floors, NAMES};
use super::series::{NS, Series};
use super::{Section, Task, begin, choice, iterations, pingpong};
use crate::failure::Failure;
use crate::flags::{Bench, Global};

const DEFAULTS: [&[&str]; 3] = [&["copy_batched"], &["interrupt", "spin"], &["external"]];
const BYTES: [usize; 2] = [128, 32768];
const ROUNDS: u16 = 15;
/// Calls of a batch with stamps: few enough that none makes room for a later one.
pub const TRACED: u64 = 256;

/// Measures the phases of calls and the cost of stamps.
///
/// # Errors
/// What is asked for cannot be, or the other process is gone.
pub fn run(global: &Global, args: &Bench) -> Result<Vec<Section>, Failure> {
    let chosen = [&args.transfer[..], &args.notify, &args.placement];
    let strategies = choice::strategies(chosen, DEFAULTS)?;
    let sizes = choice::sizes(&args.bytes, &BYTES)?;
    let mut task = begin(global, args, &strategies, &sizes, strategies.len() * sizes.len())?;
    let mut sections = Vec::new();
    for strategy in &strategies {
        for bytes in &sizes {
            task.say(&strategy.to_string());
            sections.push(one(&mut task, *strategy, *bytes)?);
            task.step();
        }
    }
    sections.push(stamp(&task));
    Ok(sections)
}

/// Calls of one strategy and size, with stamps and without, in turns.
fn one(
    task: &mut Task<'_>,
    strategy: narrows::strategy::Strategy,
    bytes: usize,
) -> Result<Section, Failure> {
    let floor = pingpong::floor(&strategy, bytes);
    let count = iterations(task.pair.calls(strategy, bytes, 8)?).min(TRACED);
    let mut phases: [Series; 5] = Default::default();
    let mut bells = Series::default();
    let (mut on, mut off, mut share) = (Series::default(), Series::default(), Series::default());
    for _ in 0..task.rounds(ROUNDS) {
        let limits = Floors::measure(&mut task.pair, &strategy, bytes)?;
        let (with, parts) = task.pair.traced(strategy, bytes, count)?;
        limits.push(&mut phases, &parts);
        bells.push(parts.bells, limits.bell);
        let limit = task.pair.limit(floor, bytes)?;
        let without = task.pair.calls(strategy, bytes, count)?;
        on.push(with, limit);
        off.push(without, limit);
        share.push_alone(100.0 * (with / without.max(1.0) - 1.0));
    }
    let mut rows = Vec::new();
    for (series, name) in phases.iter().zip(NAMES) {
        rows.extend(series.row(format!("{name} {strategy}"), bytes, NS));
    }
    rows.extend(bells.row(format!("notified {strategy}"), bytes, NS));
    rows.extend(off.row(format!("call {strategy}"), bytes, NS));
    rows.extend(on.row(format!("stamped {strategy}"), bytes, NS));
    rows.extend(share.row(format!("stamps {strategy}"), bytes, "%"));
    let heading = format!("{strategy}, {bytes} bytes");
    let reading = match (share.middle(), off.middle(), bells.middle()) {
        (Some(share), Some(off), Some(bells)) => format!(
            "Notification of both sides is {:.0} % of a round trip; stamps add {share:.1} % to it.",
            100.0 * bells / off.max(1.0)
        ),
        _ => String::new(),
    };
    Ok(Section { heading, rows, reading })
}

/// The cost of a stamp itself, on this core.
fn stamp(task: &Task<'_>) -> Section {
    let mut series = Series::default();
    for _ in 0..task.rounds(ROUNDS) {
        series.push_alone(Host::stamp_cost());
    }
    let rows = series.row("a stamp", 0, NS).into_iter().collect();
    Section { heading: "The cost of knowing".into(), rows, reading: String::new() }
}
