//! `bench phases`: where the time of a call goes, and what it costs to know that.

use narrows::strategy::Strategy;
use narrows_host::Host;

use super::pingpong;
use super::spans::{BYTES as BYTES_OF_SPANS, Spans, Threads};
use crate::base::failure::Failure;
use crate::base::options::Cores;
use crate::base::progress::Progress;
use crate::base::report::Bound;
use crate::experiments::bench::flags::Common;
use crate::experiments::bench::task::{
    Asked, Measure, Needs, Section, Task, Trial, iterations, make, rounds,
};
use crate::formats::strategy::sleeps;
use crate::rig::pair::parts::{Floors, NAMES};
use crate::rig::peer::cores_of;
use crate::rig::place::Place;
use crate::rig::series::{NS, Series};

const DEFAULTS: [&[&str]; 3] = [&["copy_batched"], &["interrupt", "spin"], &["external"]];
const BYTES: [usize; 2] = [128, 32768];
const ROUNDS: u16 = 15;
/// Calls of a batch with stamps: few enough that none makes room for a later one.
pub const TRACED: u64 = 256;
/// Rounds of round trips between threads, which differ by less than their noise.
const SPAN_ROUNDS: u16 = 63;
/// The most that a stamp may cost, in nanoseconds.
const STAMP: f64 = 20.0;
/// The most that stamps may be of a round trip that sleeps, in percent.
const SHARE: f64 = 1.5;

/// Measures the phases of calls and the cost of stamps.
///
/// # Errors
/// What is asked for cannot be, or the other process is gone.
pub(super) fn run(asked: &Asked<'_>) -> Result<Vec<Section>, Failure> {
    let strategies = asked.strategies(DEFAULTS)?;
    let trials = asked.trials(&strategies, &BYTES)?;
    let Asked { global, args, chip, .. } = asked;
    // Before this thread is pinned to one of them.
    let cores = match chip {
        None => Some(cores_of(global)?),
        Some(_) => None,
    };
    let phases = Phases { trials: &trials };
    let mut sections = make(asked, &Needs::of(&trials, 1), phases)?;
    if let Some(cores) = cores {
        let progress = Progress::new(u64::from(rounds(args, SPAN_ROUNDS)), global.json);
        progress.say("spans");
        sections.push(knowing(args, cores, &progress)?);
    }
    Ok(sections)
}

struct Phases<'a> {
    trials: &'a [Trial],
}

impl Measure for Phases<'_> {
    fn measure<P: Place>(self, task: &mut Task<'_, P>) -> Result<Vec<Section>, Failure> {
        let mut sections = Vec::new();
        for (strategy, bytes) in self.trials {
            task.say(&strategy.to_string());
            sections.push(one(task, *strategy, *bytes)?);
            task.step();
        }
        Ok(sections)
    }
}

/// Calls of one strategy and size, with stamps and without, in turns.
fn one<P: Place>(
    task: &mut Task<'_, P>,
    strategy: Strategy,
    bytes: usize,
) -> Result<Section, Failure> {
    let sleeps = sleeps(&strategy);
    let floor = pingpong::floor(&strategy, bytes);
    let count = iterations(task.pair.calls(strategy, bytes, 8)?).min(TRACED);
    let mut phases: [Series; 5] = Default::default();
    let mut bells = Series::default();
    let (mut on, mut off, mut share) = (Series::default(), Series::default(), Series::default());
    let share_of_sleep = task.bound(Bound::Most(SHARE)).filter(|_| sleeps);
    let mut counted = Series::bound(share_of_sleep);
    for _ in 0..task.rounds(ROUNDS) {
        let limits = Floors::measure(&mut task.pair, &strategy, bytes)?;
        let (with, parts) = task.pair.traced(strategy, bytes, count)?;
        limits.push(&mut phases, &parts);
        bells.push(parts.bells, limits.bell);
        let limit = task.pair.limit(floor, bytes, strategy.placement)?;
        let without = task.pair.calls(strategy, bytes, count)?;
        on.push(with, limit);
        off.push(without, limit);
        share.push_alone(100.0 * (with / without.max(1.0) - 1.0));
        match sleeps {
            true => counted.push_alone(100.0 * parts.stamps / without.max(1.0)),
            false => counted.push((with - parts.stamps).max(0.0), without),
        }
    }
    let mut rows = Vec::new();
    for (series, name) in phases.iter().zip(NAMES) {
        rows.extend(series.row(format!("{name} {strategy}"), bytes, NS));
    }
    rows.extend(bells.row(format!("notified {strategy}"), bytes, NS));
    rows.extend(off.row(format!("call {strategy}"), bytes, NS));
    rows.extend(on.row(format!("stamped {strategy}"), bytes, NS));
    rows.extend(share.row(format!("stamps {strategy}"), bytes, "%"));
    rows.extend(match sleeps {
        true => counted.row(format!("share {strategy}"), bytes, "%"),
        false => counted.row(format!("deducted {strategy}"), bytes, NS),
    });
    let heading = format!("{strategy}, {bytes} bytes");
    let reading = match (share.middle(), off.middle(), bells.middle()) {
        (Some(share), Some(off), Some(bells)) => format!(
            "Notification of both sides is {:.0} % of a round trip; stamps add {share:.1} % to it.",
            100.0 * bells / off.max(1.0)
        ),
        _ => String::new(),
    };
    Ok(Section { heading, rows, reading, ..Section::default() })
}

/// What a stamp costs on this core, and what spans cost a round trip between two threads.
fn knowing(args: &Common, cores: Cores, progress: &Progress) -> Result<Section, Failure> {
    let mut stamp = Series::bound(Bound::Most(STAMP));
    let (mut off, mut on) = (Series::default(), Series::default());
    std::thread::scope(|scope| {
        let mut threads = Threads::start(scope, cores)?;
        let count = iterations(threads.trips(Spans::None, TRACED)?);
        for round in 0..rounds(args, SPAN_ROUNDS) {
            progress.reach(u64::from(round));
            let cost = Host::stamp_cost();
            let without = threads.trips(Spans::None, count)?;
            let idle = threads.trips(Spans::Off, count)?;
            let (with, stamps) = threads.stamped(count)?;
            stamp.push_alone(cost);
            off.push(idle, without);
            on.push((with - stamps * cost).max(0.0), idle);
        }
        Ok(())
    })?;
    let off = off.within_noise();
    let mut rows = Vec::new();
    rows.extend(stamp.row("a stamp", 0, NS));
    rows.extend(off.row("spans off", BYTES_OF_SPANS, NS));
    rows.extend(on.row("spans on, deducted", BYTES_OF_SPANS, NS));
    let heading = "The cost of knowing".into();
    Ok(Section { heading, rows, ..Section::default() }.judged())
}
