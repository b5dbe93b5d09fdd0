//! `bench scaling`: what a round trip costs as links and endpoints become more, and what a node
//! costs whose links all sleep.

use std::time::Duration;

use narrows::strategy::{Notification, Strategy};

use super::crowd::Crowd;
use super::idle;
use super::pair::Pair;
use super::series::{NS, Series};
use super::{Section, choice, iterations};
use crate::failure::Failure;
use crate::flags::{Bench, Global};
use crate::peer::default_cores;
use crate::progress::Progress;
use crate::report::Bound;

const NOTIFICATIONS: [&str; 2] = ["spin", "interrupt"];
const BYTES: usize = 48;
const ROUNDS: u16 = 31;
/// Links of either node; all but one sleep.
const LINKS: [usize; 3] = [1, 8, 64];
/// Endpoints that the messages of one link go to in turn.
const ENDPOINTS: [u16; 3] = [1, 16, 1024];
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
pub fn run(global: &Global, args: &Bench) -> Result<Vec<Section>, Failure> {
    choice::fixed(args, true)?;
    let none: &[choice::Word] = &[];
    let defaults: [&[&str]; 3] = [&["copy_batched"], &NOTIFICATIONS, &["external"]];
    let strategies = choice::strategies([none, &args.notify, none], defaults)?;
    let rounds = usize::from(args.rounds.unwrap_or(ROUNDS));
    let looks = args.rounds.map_or(LOOKS, |rounds| rounds.min(LOOKS));
    let steps = LINKS.len() + strategies.len() * 2 * rounds + usize::from(looks);
    let mut progress = Steps { bar: Progress::new(steps as u64, global.json), done: 0 };

    // Before this thread is pinned to one of them.
    let cores = Some(global.cores.map_or_else(default_cores, Ok)?);
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
    for strategy in &strategies {
        sections.push(links(&mut all, *strategy, rounds, &mut progress)?);
    }
    for strategy in &strategies {
        if let Some(one) = all.first_mut() {
            sections.push(endpoints(&mut one.pair, *strategy, rounds, &mut progress)?);
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

struct Steps {
    bar: Progress,
    done: u64,
}

impl Steps {
    fn step(&mut self, what: &str) {
        self.bar.say(what);
        self.done += 1;
        self.bar.reach(self.done);
    }
}

/// A series for each of several numbers of something. The first is what the others are compared
/// with.
fn series<const N: usize>() -> [Series; N] {
    std::array::from_fn(|at| match at {
        0 => Series::default(),
        _ => Series::bound(Bound::Most(1.1)),
    })
}

fn push(series: &mut [Series], values: &[f64]) {
    let first = values.first().copied().unwrap_or_default();
    for (at, (series, value)) in series.iter_mut().zip(values).enumerate() {
        match at {
            0 => series.push_alone(*value),
            _ => series.push(*value, first),
        }
    }
}

/// A round trip over one link, with others asleep at both ends.
fn links(
    all: &mut [Linked],
    strategy: Strategy,
    rounds: usize,
    progress: &mut Steps,
) -> Result<Section, Failure> {
    let mut count = 8;
    for linked in all.iter_mut() {
        count = iterations(linked.pair.messages(strategy, BYTES, count.min(64))?);
    }
    let mut series = series::<{ LINKS.len() }>();
    for _ in 0..rounds {
        progress.step(&format!("links, {strategy}"));
        let mut values = Vec::new();
        for linked in all.iter_mut() {
            values.push(linked.pair.messages(strategy, BYTES, count)?);
        }
        push(&mut series, &values);
    }
    let how = strategy.notification;
    let mut section = Section { heading: format!("Links: {strategy}"), ..Section::default() };
    for (series, linked) in series.iter().zip(all) {
        section.rows.extend(series.row(format!("links {} {how}", linked.links), BYTES, NS));
    }
    Ok(section.judged())
}

/// A round trip between endpoints that take turns.
fn endpoints(
    pair: &mut Pair,
    strategy: Strategy,
    rounds: usize,
    progress: &mut Steps,
) -> Result<Section, Failure> {
    let most = u64::from(ENDPOINTS.into_iter().max().unwrap_or(1));
    let count = iterations(pair.ports(strategy, BYTES, 64, 1)?);
    // Each endpoint has its turn where they are looked for without sleeping.
    let count = if choice::sleeps(&strategy) { count } else { count.max(2 * most) };
    let mut series = series::<{ ENDPOINTS.len() }>();
    for _ in 0..rounds {
        progress.step(&format!("endpoints, {strategy}"));
        let mut values = Vec::new();
        for endpoints in ENDPOINTS {
            values.push(pair.ports(strategy, BYTES, count, endpoints)?);
        }
        push(&mut series, &values);
    }
    let how = strategy.notification;
    let mut section = Section { heading: format!("Endpoints: {strategy}"), ..Section::default() };
    for (series, endpoints) in series.iter().zip(ENDPOINTS) {
        section.rows.extend(series.row(format!("endpoints {endpoints} {how}"), BYTES, NS));
    }
    Ok(section.judged())
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
