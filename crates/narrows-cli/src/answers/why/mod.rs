//! `narrows why`: what messages of a trace waited for.
//!
//! [`Causes`] finds the cause of each instant; a `row` has a message, and `text` says it in
//! `words`.

pub mod flags;
mod row;
mod text;
mod words;

use crate::base::failure::{Failure, Kind};
use crate::base::machine::{Machine, Root};
use crate::base::options::Global;
use crate::base::output;
use crate::base::report::{self, Report};
use crate::base::trace;
use flags::Why;
use narrows_trace::{Cause, Causes, Step, Trace};
use row::{CauseRow, Row, TotalRow, WhyReport, micros};
use std::collections::HashMap;
use words::side;

/// What came of it.
struct Explained {
    /// The slowest messages, by their places in the trace, with what they waited for.
    slowest: Vec<(usize, Vec<Step>)>,
    /// All that were asked for, by cause: how long, and how many messages. The largest is first.
    totals: Vec<(Cause, u64, usize)>,
    /// All latencies in nanoseconds, the shortest first.
    latencies: Vec<u64>,
    /// Messages that are not known from end to end.
    unfinished: usize,
}

/// Reads a trace and says what its messages waited for.
///
/// # Errors
/// [`Kind::Input`] if the file cannot be read, is no trace or has no such message.
pub fn run(global: &Global, args: &Why) -> Result<(), Failure> {
    let trace = trace::read(&args.file)?;
    let explained = explain(&trace, args);
    if explained.latencies.is_empty() {
        return Err(nothing(&trace, args, &explained));
    }
    if global.json {
        report::print(&report(&trace, &explained))
    } else {
        output::print(text::text(&trace, &explained).as_bytes())
    }
}

/// Why there is nothing to say.
fn nothing(trace: &Trace, args: &Why, explained: &Explained) -> Failure {
    let file = crate::base::trace::name(&args.file);
    let text = if trace.messages.is_empty() {
        format!("{file} has no messages: trace a run that sends some")
    } else if args.flow.is_some() || args.over.is_some() {
        format!("{file} has no such message: leave --flow and --over out to see what there is")
    } else {
        let count = explained.unfinished;
        format!("of none of the {count} messages of {file} are both ends known: trace both")
    };
    Failure::new(Kind::Input, text)
}

/// What messages waited for.
fn explain(trace: &Trace, args: &Why) -> Explained {
    let known = Causes::new(trace);
    let over = args.over.map_or(0, |over| u64::try_from(over.as_nanos()).unwrap_or(u64::MAX));
    let mut all: Vec<(u64, usize)> = Vec::new();
    let mut unfinished = 0;
    let mut totals: HashMap<Cause, (u64, usize)> = HashMap::new();
    for (place, journey) in trace.messages.iter().enumerate() {
        // What the two stacks say to each other nobody waits for.
        let wanted = args.flow.is_none_or(|wanted| wanted == journey.flow());
        if !wanted || journey.kind == "control" {
            continue;
        }
        let Some(latency) = journey.latency() else {
            unfinished += 1;
            continue;
        };
        if latency <= over && args.over.is_some() {
            continue;
        }
        all.push((latency, place));
        for step in known.steps(place) {
            let (ns, messages) = totals.entry(step.cause).or_default();
            *ns = ns.saturating_add(step.ns);
            *messages += 1;
        }
    }
    all.sort_unstable();
    let slowest = all.iter().rev().take(args.slowest as usize);
    let slowest = slowest.map(|(_, place)| (*place, known.steps(*place))).collect();
    let mut totals: Vec<(Cause, u64, usize)> =
        totals.into_iter().map(|(cause, (ns, messages))| (cause, ns, messages)).collect();
    totals.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
    let latencies = all.into_iter().map(|(latency, _)| latency).collect();
    Explained { slowest, totals, latencies, unfinished }
}

/// The name of a row of the trace, for people.
fn row_name(trace: &Trace, row: Option<(u32, u64)>) -> String {
    let track = row.and_then(|(row, _)| trace.tracks.get(row as usize));
    track.map(|track| track.name.clone()).unwrap_or_default()
}

fn report(trace: &Trace, explained: &Explained) -> WhyReport {
    let rows = explained.slowest.iter().map(|(place, steps)| {
        let journey = &trace.messages[*place];
        let number = |place: usize| trace.messages[place].number;
        Row {
            flow: journey.flow(),
            sequence: journey.number,
            kind: journey.kind.clone(),
            bytes: journey.bytes,
            sender: row_name(trace, journey.sent),
            receiver: row_name(trace, journey.received),
            began_us: micros(journey.began),
            latency_us: micros(journey.latency().unwrap_or(0)),
            causes: steps.iter().map(|step| CauseRow::new(step, number)).collect(),
        }
    });
    let mut report = Report::new("why", Machine::look(&Root::default()), rows.collect());
    report.notes = notes(trace, explained);
    let all = explained.all();
    let total = |&(cause, ns, messages): &(Cause, u64, usize)| TotalRow {
        cause: cause.name,
        of: side(cause.of),
        us: micros(ns),
        share: ns as f64 / (all as f64).max(1.0),
        messages,
    };
    WhyReport {
        report,
        totals: explained.totals.iter().map(total).collect(),
        messages: explained.latencies.len() + explained.unfinished,
        unfinished: explained.unfinished,
        dropped: trace.dropped,
    }
}

impl Explained {
    /// All latencies together, in nanoseconds.
    fn all(&self) -> u64 {
        self.latencies.iter().fold(0, |sum: u64, one| sum.saturating_add(*one))
    }
}

/// What to know when reading the rows.
fn notes(trace: &Trace, explained: &Explained) -> Vec<String> {
    let mut notes = Vec::new();
    if explained.unfinished > 0 {
        notes.push(format!(
            "{} more are not known from end to end: they were under way, or one end was not traced",
            explained.unfinished
        ));
    }
    if trace.dropped > 0 {
        notes.push(format!("{} events found no room in the trace", trace.dropped));
    }
    if trace.cut {
        notes.push(
            "the file ends in the middle: its writer was ended, or it was not copied whole".into(),
        );
    }
    notes
}
