//! The phases of calls, from the stamps of both sides.
//!
//! **A** is stamped whole on the caller's core. **B** lasts from there until the other core has
//! taken the request, **C** until it publishes the response, **D** until the caller has the
//! response in hand, and **E** is stamped whole again. So the five together are the round trip
//! without what the caller does outside the stack.

use std::collections::HashMap;

use narrows::span::{Edge, Span};
use narrows_host::{Host, Record, Trace};

/// Nanoseconds of the phases A to E of one call.
pub type Parts = [f64; 5];

/// The names of the phases.
pub const NAMES: [&str; 5] = ["A", "B", "C", "D", "E"];

/// The moments, in ticks, that bound the phases of a call: A, B's end, C's end, D's end, E.
#[derive(Clone, Copy, Default)]
struct Moments {
    a: [Option<u64>; 2],
    c: [Option<u64>; 2],
    d: Option<u64>,
    e: [Option<u64>; 2],
}

/// The phases of every call that both sides have stamped in full, in the order they were started.
pub fn split(caller: &Trace, callee: &Trace) -> Vec<Parts> {
    let mut order = Vec::new();
    let mut calls: HashMap<u32, Moments> = HashMap::new();
    for record in &caller.records {
        if (record.span, record.edge) == (Span::PhaseA, Edge::Enter) {
            order.push(record.id);
            calls.insert(record.id, Moments::default());
        }
        if let Some(moments) = calls.get_mut(&record.id) {
            note(moments, record);
        }
    }
    for record in callee.records.iter().filter(|record| record.span == Span::PhaseC) {
        if let Some(moments) = calls.get_mut(&record.id) {
            note(moments, record);
        }
    }
    let tick = Host::nanos_per_tick();
    order.iter().filter_map(|id| parts(calls.remove(id)?, tick)).collect()
}

fn note(moments: &mut Moments, record: &Record) {
    let [enter, leave] = match record.span {
        Span::PhaseA => &mut moments.a,
        Span::PhaseC => &mut moments.c,
        Span::PhaseE => &mut moments.e,
        Span::PhaseD => {
            moments.d = Some(record.ticks);
            return;
        }
        _ => return,
    };
    match record.edge {
        Edge::Enter => *enter = Some(record.ticks),
        Edge::Leave => *leave = Some(record.ticks),
    }
}

fn parts(moments: Moments, tick: f64) -> Option<Parts> {
    let Moments { a: [a0, a1], c: [c0, c1], d, e: [e0, e1] } = moments;
    let spans = [(a0, a1), (a1, c0), (c0, c1), (c1, d), (e0, e1)];
    let mut parts = [0.0; 5];
    for (part, (from, to)) in parts.iter_mut().zip(spans) {
        // Counters of two cores may be some ticks apart.
        *part = to?.wrapping_sub(from?).cast_signed().max(0) as f64 * tick;
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(records: &[(u64, u32, Span, Edge)]) -> Trace {
        let record = |&(ticks, id, span, edge): &_| Record { ticks, id, span, edge };
        Trace { records: records.iter().map(record).collect(), overwritten: 0 }
    }

    #[test]
    fn phases_follow_each_other_across_both_sides() {
        use Edge::{Enter, Leave};
        let caller = trace(&[
            (100, 7, Span::PhaseA, Enter),
            (110, 7, Span::PhaseA, Leave),
            (110, 7, Span::PhaseB, Enter),
            (130, 7, Span::PhaseB, Leave),
            (400, 7, Span::PhaseD, Leave),
            (401, 7, Span::PhaseE, Enter),
            (421, 7, Span::PhaseE, Leave),
            (500, 8, Span::PhaseA, Enter),
            (510, 8, Span::PhaseA, Leave),
        ]);
        let callee = trace(&[
            (90, 6, Span::PhaseC, Enter),
            (150, 7, Span::PhaseC, Enter),
            (300, 7, Span::PhaseC, Leave),
            (520, 8, Span::PhaseC, Enter),
        ]);
        let found = split(&caller, &callee);
        assert_eq!(found.len(), 1, "the second call is not complete: {found:?}");
        let ticks = found[0].map(|ns| (ns / Host::nanos_per_tick()).round());
        assert_eq!(ticks, [10.0, 40.0, 150.0, 100.0, 20.0]);
    }
}
