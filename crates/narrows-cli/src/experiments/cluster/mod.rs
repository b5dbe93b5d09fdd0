//! Tasks that talk to each other, on processors without shared memory: which of them belong on one
//! processor, and what that saves. What messages cost is measured in the simulator, [`assign`]
//! places the tasks by that, and [`trial`] simulates what was placed.

pub mod assign;
#[cfg(test)]
mod tests;
mod trial;

use std::collections::BTreeMap;

use narrows_sim::carrier::mtu;
use narrows_sim::chip::{Chip, DmaMode, Net};

use crate::base::failure::{Failure, Kind};
use crate::base::table::listed;
use crate::formats::tasks::{Graph, Load, Traffic};
use assign::{Edge, Problem, Share, Shares, Sum};
use trial::{Carried, carry};

/// Messages by which the cost of one is measured, and how many come a second.
const SAMPLES: u64 = 20;
const SLOWLY: u32 = 100;
/// Of processors that work as good as always, so that a message comes while they do.
const WORKING: f64 = 0.8;
/// How many messages of the slowest kind a trial should have, how many all together at most, and
/// how long it is at least and at most, in milliseconds.
const OF_EACH: f64 = 20.0;
const IN_ALL: f64 = 4000.0;
const SHORT: f64 = 50.0;
const LONG: f64 = 5000.0;

/// A placement of all tasks, what it was reckoned to take, and what it took in the simulator.
#[derive(Clone, Debug)]
pub struct Placement {
    /// The processor of each task.
    pub at: Vec<usize>,
    /// How DMA is driven.
    pub mode: DmaMode,
    /// By what messages cost.
    pub predicted: Sum,
    /// In the simulator; none if a processor would have more to do than it can.
    pub simulated: Option<Sum>,
}

/// What there is to say of a graph of tasks.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The placement by which messages hold processors least.
    pub clustered: Placement,
    /// The tasks in turn, one for each processor.
    pub spread: Placement,
}

/// Places the tasks, and simulates them so and in turn. No processor is to be busier than
/// `capacity`.
///
/// # Errors
/// [`Kind::Workload`] if no placement is possible, with what stands in its way.
pub fn advise(chip: &Chip, graph: &Graph, capacity: f64) -> Result<Advice, Failure> {
    let net = chip.net();
    let longest = graph.traffic.iter().map(|one| one.bytes).max().unwrap_or(0);
    let modes = chip.ports.service.iter().map(|(mode, _)| *mode);
    let modes: Vec<DmaMode> = modes.filter(|mode| longest <= most(chip, *mode)).collect();
    if modes.is_empty() {
        let most = chip.ports.service.iter().map(|(mode, _)| most(chip, *mode)).max();
        let text = format!(
            "a message of {longest} bytes is longer than any of {}: make it {} at most",
            chip.name,
            most.unwrap_or(0)
        );
        return Err(Failure::new(Kind::Workload, text));
    }
    let mut best: Option<(DmaMode, Problem, Vec<usize>, Sum)> = None;
    let mut last = None;
    for mode in modes {
        let problem = problem(chip, &net, mode, graph, capacity)?;
        if let Some(at) = problem.solve()
            && let Some(sum) = problem.sum(&all(&at))
            && best.as_ref().is_none_or(|(.., least)| sum.messages < least.messages)
        {
            best = Some((mode, problem, at, sum));
        } else {
            last = Some(problem);
        }
    }
    let Some((mode, problem, at, predicted)) = best else {
        return Err(impossible(chip, graph, last.as_ref(), capacity));
    };
    let placed = |at: Vec<usize>, predicted: Sum| -> Result<Placement, Failure> {
        let simulated = match problem.fits(&predicted) {
            true => Some(simulated(chip, &net, mode, graph, &problem, &at)?),
            false => None,
        };
        Ok(Placement { at, mode, predicted, simulated })
    };
    let clustered = placed(at, predicted)?;
    let turns: Vec<usize> = (0..graph.tasks.len()).map(|task| task % net.nodes).collect();
    let sum = problem.sum(&all(&turns)).ok_or_else(|| {
        let text = format!("no way leads from each processor of {} to each other", chip.name);
        Failure::new(Kind::Workload, text)
    })?;
    let spread = placed(turns, sum)?;
    Ok(Advice { clustered, spread })
}

fn all(at: &[usize]) -> Vec<Option<usize>> {
    at.iter().map(|processor| Some(*processor)).collect()
}

fn most(chip: &Chip, mode: DmaMode) -> usize {
    let ports = chip.ports.ports.iter().enumerate();
    let ends = ports.flat_map(|(port, facts)| facts.between.map(|core| (port, core)));
    ends.map(|(port, core)| mtu(chip, port, core, mode)).min().unwrap_or(0)
}

/// What is to be placed.
fn problem(
    chip: &Chip,
    net: &Net,
    mode: DmaMode,
    graph: &Graph,
    capacity: f64,
) -> Result<Problem, Failure> {
    let each = 0..net.nodes;
    let ways: Vec<Vec<Option<Vec<usize>>>> =
        each.clone().map(|from| each.clone().map(|to| net.way(from, to)).collect()).collect();
    let far = ways.iter().flatten().flatten().map(Vec::len).max().unwrap_or(0);
    let mut known: BTreeMap<(usize, usize), [Share; 2]> = BTreeMap::new();
    let mut edges = Vec::new();
    for one in &graph.traffic {
        let mut shares = Vec::new();
        for hops in 0..=far {
            let [idle, working] = match known.get(&(one.bytes, hops)) {
                Some(shares) => *shares,
                None => {
                    let cost = |work| cost(chip, net, mode, work, one.bytes, hops);
                    [cost(0.0)?, cost(WORKING)?]
                }
            };
            known.insert((one.bytes, hops), [idle, working]);
            shares.push(Shares::new(idle, working, f64::from(one.per_second)));
        }
        edges.push(Edge { from: one.from, to: one.to, shares });
    }
    let loads = graph.tasks.iter().map(|task| {
        let share = |core: &narrows_sim::chip::Core| match task.load {
            Load::Percent(percent) => percent / 100.0,
            Load::Cycles(cycles) => cycles as f64 / core.clock.0 as f64,
        };
        chip.cores.iter().map(share).collect()
    });
    let first = &chip.cores[0];
    let alike = chip.ports.routes.is_empty()
        && far <= 1
        && ways.iter().flatten().all(Option::is_some)
        && chip.cores.iter().all(|core| core.clock == first.clock);
    Ok(Problem { loads: loads.collect(), edges, ways, capacity, alike })
}

/// For how many seconds one message to a processor `hops` transfers away holds each processor,
/// where all of them do `work` beside it.
fn cost(
    chip: &Chip,
    net: &Net,
    mode: DmaMode,
    work: f64,
    bytes: usize,
    hops: usize,
) -> Result<Share, Failure> {
    let pairs = (0..net.nodes).find_map(|from| Some((from, net.away(from, hops)?)));
    let Some((from, to)) = pairs else { return Ok(Share::default()) };
    let traffic = [Traffic { from: 0, to: 1, bytes, per_second: SLOWLY }];
    let slices = SAMPLES * 1000 / u64::from(SLOWLY);
    let at = [from, to];
    let work = vec![work; net.nodes];
    let carried = Carried { work, traffic: &traffic, at: &at, slices, anywhere: false };
    let seen = carry(chip, net, mode, &carried)?;
    let messages = f64::from(SLOWLY);
    let each = |core: usize| seen.held[core].max(0.0) / messages;
    let all: f64 = (0..net.nodes).map(each).sum();
    if hops == 0 {
        return Ok(Share { sender: all / 2.0, receiver: all / 2.0, between: 0.0 });
    }
    let (sender, receiver) = (each(from), each(to));
    let between = (all - sender - receiver) / hops.saturating_sub(1).max(1) as f64;
    Ok(Share { sender, receiver, between: if hops > 1 { between } else { 0.0 } })
}

/// What a placement takes in the simulator.
fn simulated(
    chip: &Chip,
    net: &Net,
    mode: DmaMode,
    graph: &Graph,
    problem: &Problem,
    at: &[usize],
) -> Result<Sum, Failure> {
    let mut work = vec![0.0; net.nodes];
    for (task, core) in at.iter().enumerate() {
        work[*core] += problem.loads[task][*core];
    }
    let rates = graph.traffic.iter().map(|one| f64::from(one.per_second));
    let slowest = rates.clone().fold(f64::INFINITY, f64::min);
    let all: f64 = rates.sum();
    let wanted = (1000.0 * OF_EACH / slowest).min(1000.0 * IN_ALL / all);
    let slices = wanted.clamp(SHORT, LONG).ceil() as u64;
    let carried =
        Carried { work: work.clone(), traffic: &graph.traffic, at, slices, anywhere: true };
    let seen = carry(chip, net, mode, &carried)?;
    let busy = work.iter().zip(&seen.held).map(|(work, held)| work + held).collect();
    Ok(Sum { messages: seen.held.iter().sum(), busy })
}

/// Why no placement is possible.
fn impossible(chip: &Chip, graph: &Graph, problem: Option<&Problem>, capacity: f64) -> Failure {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let loads = problem.map(|problem| &problem.loads[..]).unwrap_or_default();
    let least = |of: &Vec<f64>| of.iter().copied().fold(f64::INFINITY, f64::min);
    let too_much = graph.tasks.iter().zip(loads).filter(|(_, of)| least(of) > capacity);
    let too_much: Vec<&str> = too_much.map(|(task, _)| task.name.as_str()).collect();
    let text = if too_much.is_empty() {
        let all: f64 = loads.iter().map(least).sum();
        format!(
            "no placement of {} tasks keeps each of the {} processors of {} within {}: without \
             their messages they take {} of {}. Give them less to do, send less, or allow more with \
             --load",
            graph.tasks.len(),
            chip.cores.len(),
            chip.name,
            percent(capacity),
            percent(all),
            percent(capacity * chip.cores.len() as f64),
        )
    } else {
        format!(
            "a processor of {} cannot carry {} within {}: give it less to do, or divide it",
            chip.name,
            listed(&too_much),
            percent(capacity)
        )
    };
    Failure::new(Kind::Workload, text)
}
