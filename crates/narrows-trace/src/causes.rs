//! What each message waited for from its beginning to its receipt: every instant has one cause.

use crate::{Category, Trace, cause, state};
use std::collections::HashMap;

/// Whose state it is that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Of {
    /// The sender's, until the message is published.
    Sender,
    /// The receiver's, from then on.
    Receiver,
}

/// What a message waits for at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cause {
    /// Whose doing it is.
    pub of: Of,
    /// The name of a [`state`] or of a [`cause`].
    pub name: &'static str,
}

/// What the processes of a trace did: why its messages took as long as they did.
pub struct Causes<'a> {
    trace: &'a Trace,
    rows: HashMap<u32, Process>,
}

/// What is known of a process.
#[derive(Default)]
struct Process {
    /// Its states, in order: from when, until when, and which.
    states: Vec<(u64, u64, Option<&'static str>)>,
    /// When it had rested, and when it had which message.
    turns: Vec<(u64, Turn)>,
}

/// What a process turned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Whatever there is.
    Rested,
    /// This message, by its place in the trace.
    Had(usize),
}

/// A cause, and how long it was one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it is.
    pub cause: Cause,
    /// How long, in nanoseconds.
    pub ns: u64,
    /// Which messages it saw to first, by their places in the trace.
    pub behind: Vec<usize>,
}

/// States in which a process does nothing until it is woken or finds something.
const RESTS: [&str; 5] =
    [state::ASLEEP, state::TIMER, state::SPINNING, state::BELL_LATE, state::BELL_LOST];

impl<'a> Causes<'a> {
    /// Those of a trace.
    #[must_use]
    pub fn new(trace: &'a Trace) -> Causes<'a> {
        let mut rows: HashMap<u32, Process> = HashMap::new();
        for slice in &trace.slices {
            let parent = trace.tracks.get(slice.track as usize).and_then(|track| track.parent);
            let (Category::State, Some(row)) = (slice.category, parent) else { continue };
            let name = trace.names.get(slice.name as usize).map_or("", String::as_str);
            let process = rows.entry(row as u32).or_default();
            // Where a foreign trace has two at a time, the first counts.
            let from = process.states.last().map_or(slice.begin, |last| last.1.max(slice.begin));
            if from < slice.end {
                process.states.push((from, slice.end, state::known(name)));
                if RESTS.contains(&name) {
                    process.turns.push((slice.end, Turn::Rested));
                }
            }
        }
        for (place, journey) in trace.messages.iter().enumerate() {
            if let Some((row, at)) = journey.received {
                rows.entry(row).or_default().turns.push((at, Turn::Had(place)));
            }
        }
        for process in rows.values_mut() {
            process.turns.sort_by_key(|(at, _)| *at);
        }
        Causes { trace, rows }
    }

    /// What a message waited for, in the order in which it first did. All of it is as long as its
    /// latency; nothing of one that was not received, or not known to be sent.
    #[must_use]
    pub fn steps(&self, place: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        let Some(journey) = self.trace.messages.get(place) else { return steps };
        let (Some((sender, sent)), Some((receiver, received))) = (journey.sent, journey.received)
        else {
            return steps;
        };
        let began = journey.began.min(received);
        let sent = sent.clamp(began, received);
        self.sweep(sender, (began, sent), |from, to, name| {
            let name = match name {
                None => cause::UNKNOWN,
                Some(state::RUNNING) => cause::SENDING,
                Some(name) => name,
            };
            add(&mut steps, Cause { of: Of::Sender, name }, to - from, None);
        });
        let nothing = Process::default();
        let process = self.rows.get(&receiver).unwrap_or(&nothing);
        self.sweep(receiver, (sent, received), |from, to, name| match name {
            Some(state::RUNNING | state::COPY) => {
                process.at_work(place, sent, (from, to), |cause, ns, behind| {
                    add(&mut steps, Cause { of: Of::Receiver, name: cause }, ns, behind);
                });
            }
            name => {
                let name = name.unwrap_or(cause::UNKNOWN);
                add(&mut steps, Cause { of: Of::Receiver, name }, to - from, None);
            }
        });
        steps
    }

    /// Tells the states of a process from one moment until another, without a gap.
    fn sweep(
        &self,
        row: u32,
        (from, to): (u64, u64),
        mut tell: impl FnMut(u64, u64, Option<&'static str>),
    ) {
        let states = self.rows.get(&row).map_or(&[][..], |process| &process.states);
        let first = states.partition_point(|(_, end, _)| *end <= from);
        let mut at = from;
        for &(begin, end, name) in &states[first..] {
            if begin >= to {
                break;
            }
            if at < begin {
                tell(at, begin, None);
            }
            at = at.max(begin);
            let until = end.min(to);
            tell(at, until, name);
            at = until;
        }
        if at < to {
            tell(at, to, None);
        }
    }
}

impl Process {
    /// Says what the process was at work on while a message, sent at a moment, waited.
    fn at_work(
        &self,
        message: usize,
        sent: u64,
        (from, to): (u64, u64),
        mut tell: impl FnMut(&'static str, u64, Option<usize>),
    ) {
        let mut at = from;
        let mut next = self.turns.partition_point(|(turn, _)| *turn <= at);
        while at < to {
            let before = next.checked_sub(1).map(|before| self.turns[before]);
            let ahead = self.turns.get(next).copied();
            let until = ahead.map_or(to, |(turn, _)| turn.min(to));
            let (cause, behind) = match (before, ahead) {
                (Some((_, Turn::Had(other))), _) if other != message => (cause::QUEUE, Some(other)),
                (_, Some((_, Turn::Had(other)))) if other != message => (cause::QUEUE, Some(other)),
                (Some((rested, Turn::Rested)), _) if rested < sent => (cause::BUSY, None),
                (None, _) => (cause::BUSY, None),
                _ => (cause::RECEIVING, None),
            };
            if until > at {
                tell(cause, until - at, behind);
            }
            at = until;
            while self.turns.get(next).is_some_and(|(turn, _)| *turn <= at) {
                next += 1;
            }
        }
    }
}

fn add(steps: &mut Vec<Step>, cause: Cause, ns: u64, behind: Option<usize>) {
    if ns == 0 {
        return;
    }
    let place = steps.iter().position(|step| step.cause == cause).unwrap_or_else(|| {
        steps.push(Step { cause, ns: 0, behind: Vec::new() });
        steps.len() - 1
    });
    steps[place].ns += ns;
    if let Some(behind) = behind
        && !steps[place].behind.contains(&behind)
    {
        steps[place].behind.push(behind);
    }
}
