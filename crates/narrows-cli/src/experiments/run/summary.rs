//! The end of a run's report: what came back, which strategies were best, and why.

use crate::base::report::{RunReport, RunRow};
use crate::base::table::{counted, number, wrap};

/// Medians and loads of this machine that differ by less than a tenth say nothing.
const NEAR: f64 = 0.1;
/// A few of the slowest calls make a p99, so that of another run may be half as large again.
const NEAR_P99: f64 = 0.5;
/// What happens in each phase.
const PHASES: [(char, &str); 5] = [
    ('A', "the copy in"),
    ('B', "message and bell"),
    ('C', "the other core"),
    ('D', "noticing the response"),
    ('E', "the copy out"),
];
const LATER: &str = "More: --details has p99 to max, jitter, throughput and decisions, --json all.";

/// How a strategy fared: figures are the means of its flows.
struct Standing<'a> {
    strategy: &'a str,
    median: f64,
    p99: f64,
    load: f64,
    /// Where the time went, if all flows have phases.
    phases: Option<[f64; 5]>,
    /// Calls that came back late or not at all.
    missed: u64,
    /// How often a flow came and was not carried, and calls that came back.
    refusals: u64,
    carried: u64,
}

/// The names, each once, in the order in which they come.
pub(super) fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// The last lines of the report.
pub(super) fn summary(report: &RunReport, details: bool) -> String {
    let rows = &report.report.results;
    let exact = report.report.machine.platform.is_some();
    let mut text = counts(rows);
    let standings = standings(rows);
    text.push_str(&best(&standings, exact, flows(rows).len()));
    if let Some(why) = why(&standings, near(exact, NEAR)) {
        text.push_str(&wrap("", &why));
    }
    if let Some(gain) = gain(rows, &standings, near(exact, NEAR)) {
        text.push_str(&wrap("", &gain));
    }
    if !details {
        text.push_str(LATER);
        text.push('\n');
    }
    text
}

/// A simulated chip takes the same time whenever it is asked.
fn near(exact: bool, near: f64) -> f64 {
    if exact { 0.0 } else { near }
}

fn counts(rows: &[RunRow]) -> String {
    let sum = |count: fn(&RunRow) -> u64| rows.iter().map(count).sum::<u64>();
    let (differing, samples) = rows
        .iter()
        .filter_map(|row| row.audio.as_ref())
        .fold((0, 0), |(differ, all), audio| (differ + audio.differing, all + audio.samples));
    let heard = match (samples, differing) {
        (0, _) => String::new(),
        (_, 0) => "; audio as the codec's reference".to_owned(),
        (_, some) => format!("; {some} samples of audio WRONG"),
    };
    let wrong = match sum(|row| row.wrong) {
        0 => String::new(),
        some => format!(", {some} WRONG"),
    };
    let late = sum(|row| row.deadline_misses);
    let (sent, received) = (sum(|row| row.sent), sum(|row| row.received));
    let lost = sum(|row| row.lost);
    let refused = match sum(|row| row.refusals) {
        0 => String::new(),
        some => format!(", {} refused", counted(some as usize, "session", "sessions")),
    };
    let all = format!("{sent} sent, {received} received, {lost} lost, {late} late{refused}");
    wrap("", &format!("{all}{wrong}{heard}"))
}

/// The flows of which anything came back.
fn flows(rows: &[RunRow]) -> Vec<&str> {
    distinct(rows.iter().filter(|row| row.received > 0).map(|row| row.flow.as_str()))
}

/// The strategies by which every flow came back that did so by any.
fn standings(rows: &[RunRow]) -> Vec<Standing<'_>> {
    let flows = flows(rows).len();
    let strategies = distinct(rows.iter().map(|row| row.strategy.as_str())).into_iter();
    let standing = |strategy| {
        let came = rows.iter().filter(|row| row.strategy == strategy && row.received > 0);
        let came: Vec<&RunRow> = came.collect();
        if came.len() < flows {
            return None;
        }
        let mean = |of: &dyn Fn(&RunRow) -> f64| {
            came.iter().map(|row| of(row)).sum::<f64>() / came.len() as f64
        };
        let phase = |at| mean(&|row| row.phase_medians().map_or(0.0, |phases| phases[at]));
        let stamped = came.iter().all(|row| row.phases_us.is_some());
        Some(Standing {
            strategy,
            median: mean(&|row| row.rtt_us.median),
            p99: mean(&|row| row.rtt_us.p99),
            load: came.first()?.cpu_percent.caller,
            phases: stamped.then(|| [0, 1, 2, 3, 4].map(phase)),
            missed: came.iter().map(|row| row.lost + row.deadline_misses).sum(),
            refusals: rows
                .iter()
                .filter(|row| row.strategy == strategy)
                .map(|row| row.refusals)
                .sum(),
            carried: came.iter().map(|row| row.received).sum(),
        })
    };
    strategies.filter_map(standing).collect()
}

/// A line for the quickest, for the one that takes least of the core, and for the steadiest.
fn best(standings: &[Standing<'_>], exact: bool, flows: usize) -> String {
    let means = if flows > 1 { ", as means of the flows" } else { "" };
    match standings {
        [] => String::new(),
        [one] => {
            let Standing { median, p99, load, .. } = one;
            let (median, p99, load) = (number(*median), number(*p99), number(*load));
            let trip = format!("round trip {median} µs at the median, p99 {p99} µs{means}");
            wrap("", &format!("{trip}; load {load} % of the calling core"))
        }
        _ => {
            let heading = format!("\nbest of {}{means}\n", standings.len());
            let lines = [
                line("quickest", standings, |one| one.median, "µs", near(exact, NEAR)),
                line("least load", standings, |one| one.load, "%", near(exact, NEAR)),
                line("least p99", standings, |one| one.p99, "µs", near(exact, NEAR_P99)),
            ];
            heading + &lines.concat()
        }
    }
}

fn line(
    what: &str,
    standings: &[Standing<'_>],
    figure: fn(&Standing<'_>) -> f64,
    unit: &str,
    near: f64,
) -> String {
    let order = ordered(standings, figure);
    let [first, others @ ..] = order.as_slice() else { return String::new() };
    let close = |other: &&&Standing<'_>| figure(other) <= figure(first) * (1.0 + near);
    let alike = if near > 0.0 { "too close to tell apart" } else { "equal to it" };
    let refused = |one: &Standing<'_>| {
        (one.refusals > 0)
            .then(|| format!("{} refused", counted(one.refusals as usize, "session", "sessions")))
    };
    let named = |one: &Standing<'_>| {
        let refused = refused(one).map(|refused| format!(" ({refused})"));
        format!("{}{}", one.strategy, refused.unwrap_or_default())
    };
    let rest = match (others, others.iter().filter(close).count()) {
        ([next, ..], 0) => format!("then {} with {}", named(next), number(figure(next))),
        ([next, ..], 1) => format!("{} is {alike}", named(next)),
        (_, more) => format!("{more} others are {alike}"),
    };
    let missed = (first.missed > 0).then(|| format!("{} late or lost", first.missed));
    let missed = match missed.into_iter().chain(refused(first)).collect::<Vec<_>>() {
        none if none.is_empty() => String::new(),
        some => format!(" ({})", some.join(", ")),
    };
    let best = format!("{}{missed}, {} {unit}; {rest}", first.strategy, number(figure(first)));
    wrap(&format!("  {what:<10}  "), &best)
}

fn ordered<'a, 'r>(
    standings: &'a [Standing<'r>],
    figure: fn(&Standing<'_>) -> f64,
) -> Vec<&'a Standing<'r>> {
    let mut order: Vec<&Standing<'_>> = standings.iter().collect();
    order.sort_by(|one, other| figure(one).total_cmp(&figure(other)));
    order
}

/// The phase by which the quickest is ahead of the first that is clearly slower.
fn why(standings: &[Standing<'_>], near: f64) -> Option<String> {
    let order = ordered(standings, |one| one.median);
    let (first, others) = order.split_first()?;
    let slower = others.iter().find(|one| one.median > first.median * (1.0 + near))?;
    let pairs = first.phases?.into_iter().zip(slower.phases?).zip(PHASES);
    let ((own, theirs), (phase, what)) = pairs
        .max_by(|((own, theirs), _), ((one, other), _)| (theirs - own).total_cmp(&(other - one)))?;
    let (own, theirs) = (number(own), number(theirs));
    Some(format!(
        "{} is ahead by {phase}, {what}: {own} µs where {} has {theirs}.",
        first.strategy, slower.strategy
    ))
}

/// Where there is nothing to compare with.
const ALONE: &str = "Whether adapting pays is told beside a strategy that stays: take both, such as by \
                     --strategy auto,copy/interrupt/external.";

/// What adapting gained over the best strategy that stayed: the one that was late or lost least,
/// then the one that took least of the core.
fn gain(rows: &[RunRow], standings: &[Standing<'_>], near: f64) -> Option<String> {
    let adapting = || rows.iter().filter(|row| row.strategy == "auto");
    let load = adapting().next()?.cpu_percent.caller;
    let mut fixed = ordered(standings, |one| one.load);
    fixed.retain(|one| one.strategy != "auto");
    let Some(best) = fixed.into_iter().min_by_key(|one| (one.refusals, one.missed)) else {
        return Some(ALONE.to_owned());
    };
    let refusals: u64 = adapting().map(|row| row.refusals).sum();
    if refusals != best.refusals {
        let sessions = |count| counted(count as usize, "session", "sessions");
        let calls = |count| counted(count as usize, "call", "calls");
        return Some(format!(
            "Adapting is not compared, as it carried other traffic: auto refused {} and carried {} \
             at {} % of the calling core; {}, the best that stays, refused {} and carried {} at {} %.",
            sessions(refusals),
            calls(adapting().map(|row| row.received).sum()),
            number(load),
            best.strategy,
            sessions(best.refusals),
            calls(best.carried),
            number(best.load),
        ));
    }
    let auto = standings.iter().find(|one| one.strategy == "auto")?;
    let (less, more) = (auto.load * (1.0 + near) < best.load, best.load * (1.0 + near) < auto.load);
    let won = auto.missed < best.missed || less;
    let lost = auto.missed > best.missed || more;
    let what = match (won, lost) {
        (true, false) => "Adapting paid",
        (false, true) => "Adapting did not pay",
        (false, false) => "Adapting made no clear difference",
        (true, true) => "Adapting won one thing and lost another",
    };
    let calls = |missed| counted(missed as usize, "call", "calls");
    Some(format!(
        "{what}: auto took {} % of the calling core with {} late or lost; {}, the best that stays, \
         {} % with {}.",
        number(auto.load),
        calls(auto.missed),
        best.strategy,
        number(best.load),
        calls(best.missed)
    ))
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
