//! Where the time of each call went, out of the stamps of both sides.
//!
//! A, B and E are between two stamps of the caller. C reaches from the caller's end of B to the
//! callee's end of C, and D from there to the caller's beginning of E: ticks of both processes are
//! of one counter. Where the callee was done before the caller was out of B, C is 0 and D begins
//! at the end of B, so that no time counts twice.
//!
//! A stamp costs time itself. Each phase is less the stamps that the side on which it ends took
//! within it.

use narrows::span::{Edge, Span};
use narrows_host::Record;
use std::collections::BTreeMap;

/// What one tick and one stamp are, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// A tick.
    pub tick: f64,
    /// A stamp.
    pub stamp: f64,
}

/// One call that both sides have all stamps of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// Flow and number, as in the stamps.
    pub id: u32,
    /// A to E in nanoseconds.
    pub phases: [f64; 5],
    /// Of C, what passed before the callee had taken the request, in nanoseconds.
    pub delivery: f64,
    /// What the stamps within the round trip cost, in nanoseconds.
    pub stamps: f64,
    /// Whether C ended before B did.
    pub overlap: bool,
}

#[derive(Clone, Copy, Default)]
struct Part {
    open: Option<(usize, u64)>,
    ticks: u64,
    stamps: usize,
    end: Option<u64>,
}

impl Part {
    fn stamp(&mut self, edge: Edge, at: usize, ticks: u64) {
        match (edge, self.open.take()) {
            (Edge::Enter, _) => self.open = Some((at, ticks)),
            (Edge::Leave, Some((begin, began))) => {
                self.ticks += ticks.saturating_sub(began);
                self.stamps += at - begin;
                self.end = Some(ticks);
            }
            (Edge::Leave, None) => {}
        }
    }

    fn nanos(self, scale: Scale) -> f64 {
        less(self.ticks, self.stamps, scale)
    }
}

#[derive(Clone, Copy, Default)]
struct Marks {
    /// Stamps of the call before phase A.
    before: usize,
    a: Part,
    b: Part,
    e: Part,
    e_began: Option<u64>,
}

fn less(ticks: u64, stamps: usize, scale: Scale) -> f64 {
    (ticks as f64 * scale.tick - stamps as f64 * scale.stamp).max(0.0)
}

/// The calls of `own` that have their callee's end in `theirs`.
pub fn calls(own: &[Record], theirs: &[Record], scale: Scale) -> Vec<Call> {
    let mut all: BTreeMap<u32, Marks> = BTreeMap::new();
    for (at, record) in own.iter().enumerate() {
        let marks = all.entry(record.id).or_default();
        match record.span {
            Span::PhaseA => marks.a.stamp(record.edge, at, record.ticks),
            Span::PhaseB => marks.b.stamp(record.edge, at, record.ticks),
            Span::PhaseE => {
                if record.edge == Edge::Enter {
                    marks.e_began = Some(record.ticks);
                }
                marks.e.stamp(record.edge, at, record.ticks);
            }
            _ if marks.a.open.is_none() && marks.a.end.is_none() => marks.before += 1,
            _ => {}
        }
    }
    let mut begun: BTreeMap<u32, u64> = BTreeMap::new();
    let mut answered: BTreeMap<u32, u64> = BTreeMap::new();
    for record in theirs.iter().filter(|record| record.span == Span::PhaseC) {
        match record.edge {
            Edge::Enter => begun.insert(record.id, record.ticks),
            Edge::Leave => answered.insert(record.id, record.ticks),
        };
    }
    let within = |records: &[Record], from: u64, to: u64| {
        let before = |limit: u64| records.partition_point(|record| record.ticks <= limit);
        before(to).saturating_sub(before(from))
    };
    let call = |(id, marks): (u32, Marks)| {
        let (sent, done, taken) = (marks.b.end?, *answered.get(&id)?, marks.e_began?);
        marks.e.end.filter(|_| taken > done)?;
        let c_stamps = within(theirs, sent, done);
        let heard = done.max(sent);
        let d_stamps = within(own, heard, taken);
        let phases = [
            marks.a.nanos(scale),
            marks.b.nanos(scale),
            less(done.saturating_sub(sent), c_stamps, scale),
            less(taken.saturating_sub(heard), d_stamps, scale),
            marks.e.nanos(scale),
        ];
        let stamps = marks.a.stamps + marks.b.stamps + c_stamps + d_stamps + marks.e.stamps;
        let stamps = (stamps + marks.before + 1) as f64 * scale.stamp;
        let begun = begun.get(&id).map_or(sent, |begun| *begun.min(&done));
        let delivery = less(begun.saturating_sub(sent), 0, scale);
        Some(Call { id, phases, delivery, stamps, overlap: done < sent })
    };
    all.into_iter().filter_map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Edge::{Enter, Leave};

    const SCALE: Scale = Scale { tick: 2.0, stamp: 3.0 };

    fn stamp(ticks: u64, span: Span, edge: Edge) -> Record {
        Record { ticks, id: 0x3_0007, span, edge }
    }

    fn own() -> Vec<Record> {
        vec![
            stamp(100, Span::Link, Enter),
            stamp(110, Span::PhaseA, Enter),
            stamp(150, Span::PhaseA, Leave),
            stamp(151, Span::PhaseB, Enter),
            stamp(155, Span::Memory, Enter),
            stamp(170, Span::PhaseB, Leave),
            stamp(171, Span::Link, Leave),
            stamp(400, Span::PhaseD, Leave),
            stamp(410, Span::PhaseE, Enter),
            stamp(440, Span::PhaseE, Leave),
        ]
    }

    #[test]
    fn phases_are_between_stamps_less_the_stamps() {
        let theirs = [stamp(200, Span::PhaseC, Enter), stamp(300, Span::PhaseC, Leave)];
        let found = calls(&own(), &theirs, SCALE);
        let [call] = found[..] else { panic!("{found:?}") };
        assert_eq!((call.id, call.overlap), (0x3_0007, false));
        // Pairs of 40, 19, 130, 110 and 30 ticks, with 1, 2, 2, 2 and 1 stamps.
        assert_eq!(call.phases, [77.0, 32.0, 254.0, 214.0, 57.0]);
        assert_eq!((call.delivery, call.stamps), (60.0, 30.0));
        let whole = f64::from(440 - 100) * SCALE.tick;
        assert!(call.phases.iter().sum::<f64>() + call.stamps <= whole);
    }

    #[test]
    fn an_answer_before_the_end_of_b_counts_no_time_twice() {
        let theirs = [stamp(160, Span::PhaseC, Leave)];
        let found = calls(&own(), &theirs, SCALE);
        assert!(found[0].overlap);
        assert_eq!(found[0].phases[2], 0.0);
        assert_eq!(found[0].phases[3], (410.0 - 170.0) * 2.0 - 3.0 * 3.0);
    }

    #[test]
    fn calls_with_stamps_missing_are_left_out() {
        assert_eq!(calls(&own(), &[], SCALE), []);
        let theirs = [stamp(300, Span::PhaseC, Leave)];
        assert_eq!(calls(&own()[..9], &theirs, SCALE), []);
        assert_eq!(calls(&own()[6..], &theirs, SCALE), []);
    }

    #[test]
    fn a_try_that_found_no_room_is_no_phase() {
        let mut records = vec![stamp(10, Span::PhaseA, Enter)];
        records.extend(own());
        let theirs = [stamp(300, Span::PhaseC, Leave)];
        assert_eq!(calls(&records, &theirs, SCALE)[0].phases[0], 77.0);
    }
}
