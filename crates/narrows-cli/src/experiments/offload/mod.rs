//! How many ports and how much credit flows through accelerators need: every setting is simulated,
//! and the fewest that are as good as the best are chosen. What the flows then wait for is found by
//! taking one thing after the other away.

mod plan;
#[cfg(test)]
mod tests;
mod trial;

use narrows_sim::chip::{Chip, Clusters};
use narrows_sim::time::{Cost, Frequency};

use crate::base::failure::{Failure, Kind};
use crate::base::threads;
use crate::formats::offload::Offload;
use plan::{Cast, cast};
pub use trial::Figures;
use trial::carry;

/// Parallel ways of a flow, at most, and how often credit is doubled from the least on.
const MOST_PORTS: u32 = 4;
const DOUBLED: u32 = 4;
/// By how much of it a setting may be worse than the best and still be enough.
pub const WITHIN: f64 = 0.02;
/// How much faster a network or a bus is made to see whether it is waited for.
const FASTER: u64 = 10;

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// Pairs of ports at the accelerator, for each flow.
    pub ports: u32,
    /// Words of credit of each port that sends, and of the FIFO behind it.
    pub credits: u32,
}

/// A setting, and what became of each flow by it.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// What was tried.
    pub setting: Setting,
    /// Each flow's figures.
    pub flows: Vec<Figures>,
}

/// What flows may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// The accelerators.
    Function,
    /// Credit on its way back.
    Credit,
    /// The network.
    Network,
    /// The code of calls.
    Calls,
    /// The buses of clusters, over which words are written and copied.
    Buses,
}

/// What flows wait for, and by how much of their figures that matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reason {
    /// For what.
    pub waits: Waits,
    /// How many times better the flows are without it.
    pub gain: f64,
}

/// What there is to say of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// All that was tried, the fewest first.
    pub trials: Vec<Trial>,
    /// The fewest that are enough, by their place.
    pub chosen: usize,
    /// What the flows wait for by that, the most first.
    pub reasons: Vec<Reason>,
}

impl Advice {
    /// The setting that is enough.
    pub fn best(&self) -> &Trial {
        &self.trials[self.chosen]
    }

    /// The next fewer: with half of the credit, or with a port of each flow fewer.
    pub fn fewer(&self) -> [Option<&Trial>; 2] {
        let Setting { ports, credits } = self.best().setting;
        let next = [Setting { ports, credits: credits / 2 }, Setting { ports: ports - 1, credits }];
        next.map(|setting| self.trials.iter().find(|trial| trial.setting == setting))
    }
}

/// How good flows are beside others, as the mean of all: 1 is as good.
pub fn beside(work: &Offload, flows: &[Figures], others: &[Figures]) -> f64 {
    let each = work.flows.iter().zip(flows.iter().zip(others));
    let parts = each.map(|(flow, (own, other))| match flow.period {
        Some(_) => other.p99 / own.p99,
        None => own.per_second / other.per_second,
    });
    parts.sum::<f64>() / work.flows.len() as f64
}

/// Tries all settings, and says which is enough and why. `step` is called behind each trial, with
/// how many there will be.
///
/// # Errors
/// The chip does not have what flows name, has no room for any setting, or a trial fails.
pub fn advise(chip: &Chip, work: &Offload, step: impl Fn(u64)) -> Result<Advice, Failure> {
    let wrong = |text: String| Failure::new(Kind::Workload, text);
    let Some(clusters) = &chip.clusters else {
        return Err(wrong(format!("{} has no clusters, and so no accelerators", chip.name)));
    };
    let cast = cast(chip, clusters, work)?;
    let settings = settings(clusters, &cast);
    let mut made: Vec<_> = settings.iter().map(|_| None).collect();
    let try_one = |setting: &Setting| carry(chip, work, &cast, *setting);
    threads::share(&settings, threads::cores(), try_one, |at, tried| {
        step(settings.len() as u64 + 4);
        made[at] = tried?;
        Ok::<_, Failure>(())
    })?;
    let trials = settings.iter().zip(made);
    let trials =
        trials.filter_map(|(setting, flows)| Some(Trial { setting: *setting, flows: flows? }));
    let trials: Vec<Trial> = trials.collect();
    let Some(chosen) = enough(work, &trials) else {
        let text = "no FIFO that holds a block fits its memory and ports: fewer flows, or more \
                    memory in its clusters, would";
        return Err(wrong(format!("{}: {text}", chip.name)));
    };
    let mut advice = Advice { trials, chosen, reasons: Vec::new() };
    advice.reasons = reasons(chip, work, &cast, &advice, || step(settings.len() as u64 + 4))?;
    Ok(advice)
}

/// The settings to try, the fewest first: from credit for a block on, doubled.
fn settings(clusters: &Clusters, cast: &Cast) -> Vec<Setting> {
    let named = cast.flows.iter().filter_map(|ends| clusters.accelerators.get(ends.accelerator));
    let block = named.map(|one| one.block.max(one.result)).max().unwrap_or(4) / 4;
    // Up to a word fewer than the threshold is kept back.
    let kept = clusters.manager.threshold.saturating_sub(1);
    let least = (block + kept).next_power_of_two();
    let doubled = (0..=DOUBLED).map(|by| least << by).filter(|credits| *credits <= 1 << 15);
    let doubled: Vec<u32> = doubled.collect();
    let with = |ports| doubled.iter().map(move |credits| Setting { ports, credits: *credits });
    (1..=MOST_PORTS).flat_map(with).collect()
}

/// The place of the fewest that are enough: of ports first, as each is registers in every table,
/// and then of credit.
fn enough(work: &Offload, trials: &[Trial]) -> Option<usize> {
    let mut ideal = trials.first()?.flows.clone();
    for flows in trials.iter().map(|trial| &trial.flows) {
        for (best, own) in ideal.iter_mut().zip(flows) {
            best.per_second = best.per_second.max(own.per_second);
            best.p99 = best.p99.min(own.p99);
        }
    }
    let scores: Vec<f64> = trials.iter().map(|trial| beside(work, &trial.flows, &ideal)).collect();
    let best = scores.iter().copied().fold(0.0, f64::max);
    scores.iter().position(|score| *score >= best * (1.0 - WITHIN))
}

/// What the flows wait for by the choice: each thing in turn is taken away, or nearly.
fn reasons(
    chip: &Chip,
    work: &Offload,
    cast: &Cast,
    advice: &Advice,
    step: impl Fn(),
) -> Result<Vec<Reason>, Failure> {
    let own = advice.best();
    let most = advice.trials.iter().rfind(|trial| trial.setting.ports == own.setting.ports);
    let mut all: Vec<Reason> = most
        .map(|most| Reason { waits: Waits::Credit, gain: beside(work, &most.flows, &own.flows) })
        .into_iter()
        .collect();
    for waits in [Waits::Function, Waits::Network, Waits::Calls, Waits::Buses] {
        let other = without(chip, waits);
        if let Some(flows) = carry(&other, work, cast, own.setting)? {
            all.push(Reason { waits, gain: beside(work, &flows, &own.flows) });
        }
        step();
    }
    all.sort_by(|one, other| other.gain.total_cmp(&one.gain));
    Ok(all)
}

/// A chip in which there is nothing of that to wait for, or hardly anything.
fn without(chip: &Chip, waits: Waits) -> Chip {
    let mut chip = chip.clone();
    let Some(clusters) = &mut chip.clusters else { return chip };
    match waits {
        Waits::Function => {
            for one in &mut clusters.accelerators {
                (one.latency, one.rate) = (Cost::NONE, one.block);
            }
        }
        Waits::Network => clusters.noc.clock = Frequency(clusters.noc.clock.0 * FASTER),
        Waits::Calls => {
            (clusters.calls.bmm_send, clusters.calls.bmm_receive) = (Cost::NONE, Cost::NONE);
        }
        Waits::Buses => {
            for cluster in &clusters.all {
                let bus = chip.memories[cluster.memory].bus;
                chip.buses[bus].clock = Frequency(chip.buses[bus].clock.0 * FASTER);
            }
        }
        // That is another setting.
        Waits::Credit => {}
    }
    chip
}
