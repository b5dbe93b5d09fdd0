//! What messages waited for, for a screen of 80 columns: the sum first, then the slowest.

use super::words::words;
use super::{Explained, notes, row_name};
use crate::base::table::{Align, Table, counted, number, shorten, wrap};
use narrows_trace::{Journey, Step, Trace, cause};

/// Characters of a name that are said.
const NAME: usize = 24;
/// Numbers of messages that are listed.
const LISTED: usize = 4;

/// The whole text.
pub(super) fn text(trace: &Trace, explained: &Explained) -> String {
    let latencies = &explained.latencies;
    let at = |part: usize| latencies.get((latencies.len() - 1) * part / 100).copied().unwrap_or(0);
    let all = explained.all();
    let first = match explained.totals.first() {
        Some((cause, ns, _)) if all > 0 => {
            format!(": {} of all that time {}", percent(*ns, all), words(*cause))
        }
        _ => String::new(),
    };
    let mut text = wrap(
        "",
        &format!(
            "{} took {} in the median and {} at most{first}.",
            counted(latencies.len(), "message", "messages"),
            span(at(50)),
            span(at(100))
        ),
    );
    for (place, steps) in &explained.slowest {
        text.push('\n');
        text += &message(trace, &trace.messages[*place], steps);
    }
    let mut table = Table::new(&[
        ("what all of them waited for", Align::Left),
        ("messages", Align::Right),
        ("time", Align::Right),
        ("share", Align::Right),
    ]);
    for (cause, ns, messages) in &explained.totals {
        table.row(vec![words(*cause), messages.to_string(), span(*ns), percent(*ns, all)]);
    }
    text += &format!("\n{}", table.render());
    for note in notes(trace, explained) {
        text += &wrap("- ", &note);
    }
    text
}

fn message(trace: &Trace, journey: &Journey, steps: &[Step]) -> String {
    let of = match journey.kind.as_str() {
        "request" | "response" => format!("flow {}", journey.flow()),
        "signal" => String::new(),
        "packet" | "scalar" => format!("channel {}", journey.flow()),
        _ => format!("port {}", journey.flow()),
    };
    let of = if of.is_empty() { of } else { format!(" of {of}") };
    let [from, to] = [journey.sent, journey.received].map(|row| clean(&row_name(trace, row)));
    let latency = journey.latency().unwrap_or(0);
    let mut text = wrap(
        "",
        &format!(
            "{} {}{of} ({} bytes, {from} → {to}) took {}:",
            clean(&journey.kind),
            journey.number,
            journey.bytes,
            span(latency)
        ),
    );
    for step in steps {
        let behind = match step.cause.name {
            cause::QUEUE => format!(": {}", numbers(trace, &step.behind)),
            _ => String::new(),
        };
        text += &wrap(&format!("{:>11}  ", span(step.ns)), &(words(step.cause) + &behind));
    }
    text
}

/// Which messages were first.
fn numbers(trace: &Trace, behind: &[usize]) -> String {
    let name = |place: &usize| {
        let journey = &trace.messages[*place];
        format!("{} of {}", journey.number, clean(&row_name(trace, journey.sent)))
    };
    let first: Vec<String> = behind.iter().take(LISTED).map(name).collect();
    match behind.len().saturating_sub(LISTED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// A name of a trace, whatever is in it.
fn clean(name: &str) -> String {
    let shown: String = name.chars().filter(|c| !c.is_control()).collect();
    match shown.is_empty() {
        true => "?".to_owned(),
        false => shorten(&shown, NAME),
    }
}

/// A time, in the largest unit that leaves a digit before the point.
fn span(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "µs")];
    match units.into_iter().find(|(unit, _)| ns >= *unit) {
        Some((unit, name)) => format!("{} {name}", number(ns as f64 / unit as f64)),
        None => format!("{ns} ns"),
    }
}

fn percent(part: u64, all: u64) -> String {
    format!("{} %", number(100.0 * part as f64 / (all as f64).max(1.0)))
}
