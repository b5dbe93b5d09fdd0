//! `bench bounds`: the stack beside what the machine allows, and whether it keeps within what is
//! promised of it.

use narrows::strategy::{Placement, Strategy};

use super::choice;
use crate::base::failure::Failure;
use crate::base::report::{BenchRow, Bound};
use crate::experiments::bench::task::{
    Asked, Measure, Needs, Section, Task, Trial, iterations, make, rounds,
};
use crate::rig::limit::Kind;
use crate::rig::pair::Pair;
use crate::rig::place::Place;
use crate::rig::series::{NS, Series};

const ROUNDS: u16 = 31;
const SHORT: usize = 48;
const IN_BLOCK: usize = 128;
const LARGE: usize = 65536;
/// Late answers of a batch: each takes a millisecond and more.
const LATE: u64 = 32;

/// What the figure of a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figure {
    /// A round trip, beside a limit.
    Trip(Kind),
    /// The same, with time to think in between.
    Thinking,
    /// A limit beside the simplest of its like.
    Floor(Kind),
    /// The same in messages one way, in millions a second.
    FloorRate(Kind),
    /// The same in bytes one way, in GiB a second.
    FloorVolume(Kind),
    /// Messages one way, in millions a second, beside a limit.
    Rate(Kind),
    /// The same, many at a time.
    RateAll(Kind),
    /// Bytes one way, in GiB a second, beside a limit.
    Volume(Kind),
    /// A round trip beside that of another strategy.
    Beside(Strategy),
    /// Processor time while answers are late, beside that of another strategy.
    Load(Strategy),
}

/// A row in the making.
struct Plan {
    name: &'static str,
    figure: Figure,
    strategy: Strategy,
    bytes: usize,
    count: u64,
    bound: Option<Bound>,
    /// Whether rates are a chip's, and in smaller units.
    slow: bool,
}

/// Measures everything that has a bound.
///
/// # Errors
/// The other process is gone.
pub(super) fn run(asked: &Asked<'_>) -> Result<Vec<Section>, Failure> {
    let large = LARGE.min(asked.longest(Placement::External));
    let mut plans = plans(large)?;
    plans.retain(|plan| match plan.figure {
        Figure::Floor(kind) | Figure::FloorRate(kind) | Figure::FloorVolume(kind) => {
            asked.chip.is_none() || !kind.is_of_hosts()
        }
        _ => true,
    });
    let trials: Vec<Trial> = plans.iter().map(|plan| (plan.strategy, large)).collect();
    let steps = usize::from(rounds(asked.args, ROUNDS));
    make(asked, &Needs { steps, ..Needs::of(&trials, 0) }, Bounds { plans })
}

struct Bounds {
    plans: Vec<Plan>,
}

impl Measure for Bounds {
    fn measure<P: Place>(mut self, task: &mut Task<'_, P>) -> Result<Vec<Section>, Failure> {
        for plan in &mut self.plans {
            plan.bound = plan.bound.and_then(|bound| task.bound(bound));
            plan.slow = task.args.place.platform().is_some();
            plan.size(&mut task.pair)?;
        }
        let mut all: Vec<Series> =
            self.plans.iter().map(|plan| Series::bound(plan.bound)).collect();
        for _ in 0..task.rounds(ROUNDS) {
            for (plan, series) in self.plans.iter().zip(&mut all) {
                task.say(plan.name);
                let (value, limit) = plan.round(&mut task.pair)?;
                series.push(value, limit);
            }
            task.step();
        }
        let rows = self.plans.iter().zip(&all).filter_map(|(plan, series)| plan.row(series));
        Ok(vec![Section { rows: rows.collect(), ..Section::default() }.judged()])
    }
}

fn plans(large: usize) -> Result<Vec<Plan>, Failure> {
    let [spin, sleep, hybrid] = ["spin", "interrupt", "hybrid"]
        .map(|notification| choice::strategy(&format!("copy_batched/{notification}/external")));
    let (spin, sleep, hybrid) = (spin?, sleep?, hybrid?);
    let row = |name, figure, strategy, bytes, bound: Option<Bound>| Plan {
        name,
        figure,
        strategy,
        bytes,
        count: LATE,
        bound,
        slow: false,
    };
    let most = |most| Some(Bound::Most(most));
    let least = |least| Some(Bound::Least(least));
    Ok(vec![
        row("spinning", Figure::Trip(Kind::LineEachWay), spin, 8, most(1.15)),
        row("spinning", Figure::Trip(Kind::LineEachWay), spin, SHORT, most(1.15)),
        row("line, read-only", Figure::Floor(Kind::LineReadOnly), spin, 0, None),
        row("line both write", Figure::Floor(Kind::SharedLine), spin, 0, None),
        row("slots by hand", Figure::Floor(Kind::SlotEachWay), spin, SHORT, None),
        row("thinking", Figure::Thinking, spin, SHORT, most(1.1)),
        row("thinking, read-only", Figure::Floor(Kind::ThinkingReadOnly), spin, 0, None),
        row("one way, slot", Figure::Rate(Kind::SlotRate), spin, SHORT, least(0.95)),
        row("batches, slot", Figure::RateAll(Kind::SlotRate), spin, SHORT, least(0.95)),
        row("slots, fenced", Figure::FloorRate(Kind::SlotRateFenced), spin, SHORT, None),
        row("one way, pool", Figure::Rate(Kind::CopyRate), spin, IN_BLOCK, least(0.95)),
        row("batches, pool", Figure::RateAll(Kind::CopyRate), spin, IN_BLOCK, least(0.95)),
        row("one way, pool", Figure::Volume(Kind::CopyRate), spin, large, least(0.95)),
        row("memcpy, read-only", Figure::FloorVolume(Kind::CopyRateReadOnly), spin, large, None),
        row("asleep", Figure::Trip(Kind::Eventfd), sleep, SHORT, most(1.05)),
        row("asleep, watched", Figure::Floor(Kind::EventfdWatched), sleep, 0, None),
        row("asleep, ticking", Figure::Floor(Kind::EventfdTicking), sleep, 0, None),
        row("hybrid, prompt", Figure::Beside(spin), hybrid, SHORT, most(1.1)),
        row("hybrid, late", Figure::Load(sleep), hybrid, SHORT, most(1.5)),
    ])
}

impl Plan {
    /// Finds out how many iterations a batch has.
    fn size<P: Place>(&mut self, pair: &mut Pair<P>) -> Result<(), Failure> {
        /// Iterations of the batch that tells.
        const TRIAL: u64 = 64;
        let ns = match self.figure {
            Figure::Trip(_) | Figure::Thinking | Figure::Beside(_) => {
                pair.messages(self.strategy, self.bytes, TRIAL)?
            }
            Figure::Volume(floor) if !self.slow => {
                self.count = floor.iterations(self.bytes);
                return Ok(());
            }
            Figure::Rate(_) | Figure::Volume(_) => pair.stream(self.strategy, self.bytes, TRIAL)?,
            Figure::RateAll(_) => pair.stream_all(self.strategy, self.bytes, TRIAL)?,
            Figure::Floor(_) | Figure::FloorRate(_) | Figure::FloorVolume(_) | Figure::Load(_) => {
                return Ok(());
            }
        };
        self.count = iterations(ns);
        Ok(())
    }

    /// Measures a batch of the figure and one of its limit.
    fn round<P: Place>(&self, pair: &mut Pair<P>) -> Result<(f64, f64), Failure> {
        let Plan { strategy, bytes, count, .. } = *self;
        let place = strategy.placement;
        Ok(match self.figure {
            Figure::Trip(floor) => {
                let limit = pair.allowed(floor, bytes, place)?;
                (pair.messages(strategy, bytes, count)?, limit)
            }
            Figure::Thinking => {
                let limit = pair.allowed(Kind::LineThinking, bytes, place)?;
                (pair.thinking(strategy, bytes, count)?, limit)
            }
            Figure::Floor(kind) | Figure::FloorRate(kind) | Figure::FloorVolume(kind) => {
                let limit = match kind {
                    Kind::ThinkingReadOnly => Kind::LineThinking,
                    Kind::SlotRateFenced => Kind::SlotRate,
                    Kind::CopyRateReadOnly => Kind::CopyRate,
                    Kind::EventfdWatched | Kind::EventfdTicking => Kind::Eventfd,
                    _ => Kind::LineEachWay,
                };
                let limit = pair.allowed(limit, bytes, place)?;
                let value = pair.allowed(kind, bytes, place)?;
                match self.figure {
                    Figure::Floor(_) => (value, limit),
                    _ => (self.rate(value), self.rate(limit)),
                }
            }
            Figure::Rate(floor) | Figure::Volume(floor) => {
                let limit = pair.allowed(floor, bytes, place)?;
                let value = pair.stream(strategy, bytes, count)?;
                (self.rate(value), self.rate(limit))
            }
            Figure::RateAll(floor) => {
                let limit = pair.allowed(floor, bytes, place)?;
                let value = pair.stream_all(strategy, bytes, count)?;
                (self.rate(value), self.rate(limit))
            }
            Figure::Beside(other) => {
                let limit = pair.messages(other, bytes, count)?;
                (pair.messages(strategy, bytes, count)?, limit)
            }
            Figure::Load(other) => {
                let limit = pair.load(other, bytes, count)?;
                (pair.load(strategy, bytes, count)?, limit)
            }
        })
    }

    /// What a time of a message makes in the row's unit.
    fn rate(&self, ns: f64) -> f64 {
        let per_second = 1e9 / ns.max(f64::MIN_POSITIVE);
        let bytes = per_second * self.bytes as f64;
        match (self.figure, self.slow) {
            (Figure::Volume(_) | Figure::FloorVolume(_), false) => bytes / f64::from(1 << 30),
            (Figure::Volume(_) | Figure::FloorVolume(_), true) => bytes / f64::from(1 << 20),
            (_, false) => per_second / 1e6,
            (_, true) => per_second,
        }
    }

    fn row(&self, series: &Series) -> Option<BenchRow> {
        let unit = match (self.figure, self.slow) {
            (Figure::Rate(_) | Figure::RateAll(_) | Figure::FloorRate(_), false) => "Mmsg/s",
            (Figure::Rate(_) | Figure::RateAll(_), true) => "msg/s",
            (Figure::Volume(_) | Figure::FloorVolume(_), false) => "GiB/s",
            (Figure::Volume(_) | Figure::FloorVolume(_), true) => "MiB/s",
            (Figure::Load(_), _) => "%",
            _ => NS,
        };
        series.row(self.name, self.bytes, unit)
    }
}
