//! `bench scaling`: what a round trip costs as links and endpoints become more, and what a node
//! costs whose links all sleep.

use std::time::Duration;

use narrows::strategy::{Notification, Strategy};
use narrows_sim::chip::Chip;

use super::choice;
use super::idle;
use crate::base::failure::Failure;
use crate::base::options::Global;
use crate::base::progress::Progress;
use crate::base::report::Bound;
use crate::base::table::counted;
use crate::experiments::bench::flags::Common;
use crate::experiments::bench::task::{Asked, Section, iterations, rounds};
use crate::formats::strategy::sleeps;
use crate::rig::crowd::Crowd;
use crate::rig::pair::Pair;
use crate::rig::peer::cores_of;
use crate::rig::place::Place;
use crate::rig::series::{NS, Series};
use crate::rig::sim;

const NOTIFICATIONS: [&str; 2] = ["spin", "interrupt"];
const BYTES: usize = 48;
const ROUNDS: u16 = 31;
/// Links of either node; all but one sleep.
const LINKS: [usize; 3] = [1, 8, 64];
/// Endpoints that the messages of one link go to in turn.
const ENDPOINTS: [u16; 3] = [1, 16, 1024];
/// What is promised of this machine: the ratio to one of them.
const BOUND: Option<Bound> = Some(Bound::Most(1.1));
/// How often an idle node is looked at, and for how long.
const LOOKS: u16 = 3;
const LOOK: Duration = Duration::from_secs(1);

/// Two processes whose nodes have some links.
struct Linked {
    links: usize,
    pair: Pair,
    crowd: Crowd,
}

/// Measures both, and the idle node.
///
/// # Errors
/// What is asked for cannot be, or the other process is gone.
pub(super) fn run(asked: &Asked<'_>) -> Result<Vec<Section>, Failure> {
    let Asked { global, args, chip, .. } = asked;
    let none: &[choice::Word] = &[];
    let defaults: [&[&str]; 3] = [&["copy_batched"], &NOTIFICATIONS, &["external"]];
    let strategies = choice::strategies([none, &args.axes.notify, none], defaults)?;
    let rounds = usize::from(rounds(args, ROUNDS));
    match chip {
        None => here(global, args, &strategies, rounds),
        Some(chip) => there(global, chip, &strategies, rounds),
    }
}

/// Between processes of this machine, all of them at once, in turns.
fn here(
    global: &Global,
    args: &Common,
    strategies: &[Strategy],
    rounds: usize,
) -> Result<Vec<Section>, Failure> {
    let looks = args.rounds.map_or(LOOKS, |rounds| rounds.min(LOOKS));
    let steps = LINKS.len() + strategies.len() * 2 * rounds + usize::from(looks);
    let mut progress = Steps::new(global, steps);

    // Before this thread is pinned to one of them.
    let cores = Some(cores_of(global)?);
    let global = &Global { cores, ..global.clone() };
    let mut all = Vec::new();
    for links in LINKS {
        progress.step(&format!("{links} links"));
        let mut pair = Pair::start(global, false, BYTES, Some(links))?;
        if all.is_empty() {
            pair.warn();
        }
        let crowd = Crowd::gather(&mut pair.peer, links - 1)?;
        all.push(Linked { links, pair, crowd });
    }
    let mut sections = Vec::new();
    for strategy in strategies {
        let mut count = 8;
        for linked in &mut all {
            count = iterations(linked.pair.messages(*strategy, BYTES, count.min(64))?);
        }
        let mut times = vec![Vec::new(); LINKS.len()];
        for _ in 0..rounds {
            progress.step(&format!("links, {strategy}"));
            for (times, linked) in times.iter_mut().zip(&mut all) {
                times.push(linked.pair.messages(*strategy, BYTES, count)?);
            }
        }
        sections.push(section("links", strategy, LINKS, &times, BOUND));
    }
    for strategy in strategies {
        if let Some(one) = all.first_mut() {
            let times = endpoints(&mut one.pair, *strategy, rounds, &mut progress)?;
            sections.push(section("endpoints", strategy, ENDPOINTS, &times, BOUND));
        }
    }
    if let Some(most) = all.last_mut() {
        sections.push(asleep(most, looks, &mut progress)?);
    }
    for Linked { pair, crowd, .. } in all {
        drop(pair);
        crowd.disperse();
    }
    Ok(sections)
}

/// On a chip, where nothing disturbs: one number of links after the other.
fn there(
    global: &Global,
    chip: &Chip,
    strategies: &[Strategy],
    rounds: usize,
) -> Result<Vec<Section>, Failure> {
    let steps = strategies.len() * (LINKS.len() + 1) * rounds;
    let mut progress = Steps::new(global, steps);
    let mut over_links = vec![Vec::new(); strategies.len()];
    let mut sections = Vec::new();
    for links in LINKS {
        let needs = sim::Needs { longest: BYTES, links, ..sim::Needs::default() };
        let small = sim::small(chip);
        global.monitor.of(counted(links, "link", "links"));
        sim::pair(global, &small, &needs, |mut pair| {
            for (strategy, all) in strategies.iter().zip(&mut over_links) {
                let count = iterations(pair.messages(*strategy, BYTES, 8)?);
                let mut times = Vec::new();
                for _ in 0..rounds {
                    progress.step(&format!("{links} links, {strategy}"));
                    times.push(pair.messages(*strategy, BYTES, count)?);
                }
                all.push(times);
            }
            if links > 1 {
                return Ok(());
            }
            for strategy in strategies {
                let times = endpoints(&mut pair, *strategy, rounds, &mut progress)?;
                sections.push(section("endpoints", strategy, ENDPOINTS, &times, None));
            }
            Ok(())
        })?;
    }
    let links = strategies.iter().zip(&over_links);
    let mut all: Vec<Section> =
        links.map(|(s, times)| section("links", s, LINKS, times, None)).collect();
    all.append(&mut sections);
    Ok(all)
}

struct Steps {
    bar: Progress,
    done: u64,
}

impl Steps {
    fn new(global: &Global, steps: usize) -> Steps {
        Steps { bar: Progress::new(steps as u64, global.json), done: 0 }
    }

    fn step(&mut self, what: &str) {
        self.bar.say(what);
        self.done += 1;
        self.bar.reach(self.done);
    }
}

/// Times of each round with several numbers of something. The first number is what the others are
/// compared with.
fn section<N: std::fmt::Display, const COUNT: usize>(
    what: &str,
    strategy: &Strategy,
    numbers: [N; COUNT],
    times: &[Vec<f64>],
    bound: Option<Bound>,
) -> Section {
    let how = strategy.notification;
    let heading = match what {
        "links" => format!("Links: {strategy}"),
        _ => format!("Endpoints: {strategy}"),
    };
    let mut section = Section { heading, ..Section::default() };
    let Some((first, _)) = times.split_first() else { return section };
    for (at, (number, times)) in numbers.into_iter().zip(times).enumerate() {
        let mut series = Series::bound(bound.filter(|_| at > 0));
        for (time, first) in times.iter().zip(first) {
            series.push(*time, (at > 0).then_some(*first));
        }
        section.rows.extend(series.row(format!("{what} {number} {how}"), BYTES, NS));
    }
    section.judged()
}

/// Round trips between endpoints that take turns: for each number of them, the time in each round.
fn endpoints<P: Place>(
    pair: &mut Pair<P>,
    strategy: Strategy,
    rounds: usize,
    progress: &mut Steps,
) -> Result<Vec<Vec<f64>>, Failure> {
    let most = u64::from(ENDPOINTS.into_iter().max().unwrap_or(1));
    let count = iterations(pair.ports(strategy, BYTES, 64, 1)?);
    // Each endpoint has its turn where they are looked for without sleeping.
    let count = if sleeps(&strategy) { count } else { count.max(2 * most) };
    let mut times = vec![Vec::new(); ENDPOINTS.len()];
    for _ in 0..rounds {
        progress.step(&format!("endpoints, {strategy}"));
        for (times, endpoints) in times.iter_mut().zip(ENDPOINTS) {
            times.push(pair.ports(strategy, BYTES, count, endpoints)?);
        }
    }
    Ok(times)
}

/// What a node costs whose links all sleep.
fn asleep(most: &mut Linked, looks: u16, progress: &mut Steps) -> Result<Section, Failure> {
    let mut time = Series::bound(Bound::Most(0.0));
    let mut wakes = Series::bound(Bound::Most(0.0));
    let node = &mut most.pair.peer.node;
    node.set_notification(Notification::Interrupt);
    for _ in 0..looks {
        progress.step("asleep");
        let used = idle::look(node, LOOK)?;
        let seconds = used.during.as_secs_f64();
        time.push_alone(used.time.as_secs_f64() * 1e6 / seconds);
        wakes.push_alone(used.switches as f64 / seconds);
    }
    let mut section =
        Section { heading: format!("{} links asleep", most.links), ..Section::default() };
    section.rows.extend(time.row("processor time", 0, "µs/s"));
    section.rows.extend(wakes.row("wake-ups", 0, "1/s"));
    Ok(section.judged())
}
