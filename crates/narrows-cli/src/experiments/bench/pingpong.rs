//! `bench pingpong`: round trips of messages and of calls.

use narrows::strategy::Strategy;

use crate::base::failure::Failure;
use crate::base::options::Cores;
use crate::experiments::bench::task::{
    Asked, Measure, Needs, Section, Task, Trial, iterations, make,
};
use crate::formats::strategy::sleeps;
use crate::rig::limit::{Kind, SLOT_PAYLOAD};
use crate::rig::pair::Pair;
use crate::rig::place::Place;
use crate::rig::series::{NS, Series};

const DEFAULTS: [&[&str]; 3] = [&["copy_batched"], &["spin", "interrupt", "hybrid"], &["external"]];
const BYTES: [usize; 4] = [8, 48, 1024, 65536];
const ROUNDS: u16 = 15;

/// What goes there and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Traffic {
    Message,
    Call,
}

impl Traffic {
    fn name(self) -> &'static str {
        match self {
            Traffic::Message => "message",
            Traffic::Call => "call",
        }
    }

    fn batch<P: Place>(
        self,
        pair: &mut Pair<P>,
        strategy: Strategy,
        bytes: usize,
        count: u64,
    ) -> Result<f64, Failure> {
        match self {
            Traffic::Message => pair.messages(strategy, bytes, count),
            Traffic::Call => pair.calls(strategy, bytes, count),
        }
    }
}

/// Measures round trips.
///
/// # Errors
/// What is asked for cannot be, or the other process is gone.
pub(super) fn run(asked: &Asked<'_>) -> Result<Vec<Section>, Failure> {
    let strategies = asked.strategies(DEFAULTS)?;
    let trials = asked.trials(&strategies, &BYTES)?;
    let one_core = asked.global.cores.is_some_and(Cores::are_one);
    make(asked, &Needs::of(&trials, 2), Trips { trials: &trials, one_core })
}

struct Trips<'a> {
    trials: &'a [Trial],
    /// Whether both sides are on one core: nothing that looks is a limit there.
    one_core: bool,
}

impl Measure for Trips<'_> {
    fn measure<P: Place>(self, task: &mut Task<'_, P>) -> Result<Vec<Section>, Failure> {
        let mut rows = Vec::new();
        for traffic in [Traffic::Message, Traffic::Call] {
            for (strategy, bytes) in self.trials {
                let name = format!("{strategy} {}", traffic.name());
                task.say(&name);
                let floor = if self.one_core { Kind::Eventfd } else { floor(strategy, *bytes) };
                let first = traffic.batch(&mut task.pair, *strategy, *bytes, 8)?;
                let count = iterations(first);
                let mut series = Series::default();
                for _ in 0..task.rounds(ROUNDS) {
                    let limit = task.pair.limit(floor, *bytes, strategy.placement)?;
                    let own = traffic.batch(&mut task.pair, *strategy, *bytes, count)?;
                    series.push(own, limit);
                }
                rows.extend(series.row(name, *bytes, NS));
                task.step();
            }
        }
        Ok(vec![Section { rows, ..Section::default() }])
    }
}

/// What a round trip is compared with.
pub fn floor(strategy: &Strategy, bytes: usize) -> Kind {
    match sleeps(strategy) {
        true => Kind::Eventfd,
        false if bytes <= SLOT_PAYLOAD => Kind::LineEachWay,
        false => Kind::CopyBothWays,
    }
}
