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

/// What the ticks and stamps of both sides are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// A tick, in nanoseconds.
    pub tick: f64,
    /// The caller's stamps.
    pub own: Stamps,
    /// The callee's.
    pub theirs: Stamps,
}

/// What a stamp of one side costs, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stamps {
    /// The stack's.
    pub usual: f64,
    /// Those at the ends of a call, where an application makes them: A begins, E ends.
    pub outer: f64,
}

impl Stamps {
    /// Where all cost the same.
    pub fn alike(cost: f64) -> Stamps {
        Stamps { usual: cost, outer: cost }
    }
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

/// How many stamps: the stack's, and those at the ends of a call.
#[derive(Clone, Copy, Default)]
struct Count {
    usual: usize,
    outer: usize,
}

impl Count {
    fn and(self, record: &Record) -> Count {
        let outer = matches!(
            (record.span, record.edge),
            (Span::PhaseA, Edge::Enter) | (Span::PhaseE, Edge::Leave)
        );
        match outer {
            true => Count { outer: self.outer + 1, ..self },
            false => Count { usual: self.usual + 1, ..self },
        }
    }

    fn since(self, before: Count) -> Count {
        let usual = self.usual.saturating_sub(before.usual);
        Count { usual, outer: self.outer.saturating_sub(before.outer) }
    }

    fn cost(self, stamps: Stamps) -> f64 {
        self.usual as f64 * stamps.usual + self.outer as f64 * stamps.outer
    }
}

#[derive(Clone, Copy, Default)]
struct Part {
    open: Option<(Count, u64)>,
    ticks: u64,
    stamps: Count,
    end: Option<u64>,
}

impl Part {
    /// With the stamps so far, this one among them.
    fn stamp(&mut self, edge: Edge, so_far: Count, ticks: u64) {
        match (edge, self.open.take()) {
            (Edge::Enter, _) => self.open = Some((so_far, ticks)),
            (Edge::Leave, Some((before, began))) => {
                self.ticks += ticks.saturating_sub(began);
                let within = so_far.since(before);
                self.stamps.usual += within.usual;
                self.stamps.outer += within.outer;
                self.end = Some(ticks);
            }
            (Edge::Leave, None) => {}
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Marks {
    /// Stamps of the call before phase A, and those with which A and B begin.
    between: Count,
    a: Part,
    b: Part,
    e: Part,
    e_began: Option<u64>,
}

/// The stamps of one side, and how many there were before each and in all.
struct Side<'a> {
    records: &'a [Record],
    counts: Vec<Count>,
    stamps: Stamps,
}

impl<'a> Side<'a> {
    fn new(records: &'a [Record], stamps: Stamps) -> Side<'a> {
        let mut counts = vec![Count::default()];
        counts.extend(records.iter().scan(Count::default(), |count, record| {
            *count = count.and(record);
            Some(*count)
        }));
        Side { records, counts, stamps }
    }

    /// What the stamps after a tick until another cost.
    fn within(&self, from: u64, to: u64) -> f64 {
        let count = |limit: u64| {
            let before = self.records.partition_point(|record| record.ticks <= limit);
            self.counts.get(before).copied().unwrap_or_default()
        };
        count(to).since(count(from)).cost(self.stamps)
    }
}

/// The calls of `own` that have their callee's end in `theirs`.
pub fn calls(own: &[Record], theirs: &[Record], scale: Scale) -> Vec<Call> {
    let own = Side::new(own, scale.own);
    let theirs = Side::new(theirs, scale.theirs);
    let all = marks(&own);
    let mut begun: BTreeMap<u32, u64> = BTreeMap::new();
    let mut answered: BTreeMap<u32, u64> = BTreeMap::new();
    for record in theirs.records.iter().filter(|record| record.span == Span::PhaseC) {
        match record.edge {
            Edge::Enter => begun.insert(record.id, record.ticks),
            Edge::Leave => answered.insert(record.id, record.ticks),
        };
    }
    let nanos = |ticks: u64, stamps: f64| (ticks as f64 * scale.tick - stamps).max(0.0);
    let call = |(id, marks): (u32, Marks)| {
        let (sent, done, taken) = (marks.b.end?, *answered.get(&id)?, marks.e_began?);
        marks.e.end.filter(|_| taken > done)?;
        let heard = done.max(sent);
        let [a, b, e] = [marks.a, marks.b, marks.e].map(|part| part.stamps.cost(scale.own));
        let (c, d) = (theirs.within(sent, done), own.within(heard, taken));
        let phases = [
            nanos(marks.a.ticks, a),
            nanos(marks.b.ticks, b),
            nanos(done.saturating_sub(sent), c),
            nanos(taken.saturating_sub(heard), d),
            nanos(marks.e.ticks, e),
        ];
        let stamps = a + b + c + d + e + marks.between.cost(scale.own);
        let begun = begun.get(&id).map_or(sent, |begun| *begun.min(&done));
        let delivery = nanos(begun.saturating_sub(sent), 0.0);
        Some(Call { id, phases, delivery, stamps, overlap: done < sent })
    };
    all.into_iter().filter_map(call).collect()
}

/// A call that was away: from the end of B until E began.
#[derive(Debug, PartialEq)]
pub(crate) struct Away {
    /// Flow and number.
    pub id: u32,
    pub nanos: f64,
    /// Calls that were away meanwhile, for a part of it.
    pub beside: Vec<u32>,
}

/// How long calls were away, of the caller's stamps alone.
pub(crate) fn away(own: &[Record], scale: Scale) -> Vec<Away> {
    let own = Side::new(own, scale.own);
    let all = marks(&own);
    let meanwhile = |[sent, taken]: [u64; 2], marks: &Marks| {
        // It may have been sent before the first stamp, or come back behind the last.
        let stamped = marks.b.end.is_some() || marks.e_began.is_some();
        let [from, until] = [marks.b.end.unwrap_or(0), marks.e_began.unwrap_or(u64::MAX)];
        stamped && from < taken && sent < until
    };
    let call = |(id, marks): (&u32, &Marks)| {
        let (sent, taken) = (marks.b.end?, marks.e_began?);
        let stamps = own.within(sent, taken);
        let nanos = taken.checked_sub(sent)? as f64 * scale.tick - stamps;
        let others = all.iter().filter(|(other, _)| *other != id);
        let beside = others.filter(|(_, marks)| meanwhile([sent, taken], marks));
        let beside = beside.map(|(other, _)| *other).collect();
        Some(Away { id: *id, nanos: nanos.max(0.0), beside })
    };
    all.iter().filter_map(call).collect()
}

/// What the caller's stamps say of each call.
fn marks(own: &Side<'_>) -> BTreeMap<u32, Marks> {
    let mut all: BTreeMap<u32, Marks> = BTreeMap::new();
    for (record, so_far) in own.records.iter().zip(own.counts.iter().skip(1)) {
        let marks = all.entry(record.id).or_default();
        let began = record.edge == Edge::Enter;
        match record.span {
            Span::PhaseA => marks.a.stamp(record.edge, *so_far, record.ticks),
            Span::PhaseB => marks.b.stamp(record.edge, *so_far, record.ticks),
            Span::PhaseE => {
                if began {
                    marks.e_began = Some(record.ticks);
                }
                marks.e.stamp(record.edge, *so_far, record.ticks);
            }
            _ => {}
        }
        let before = marks.a.open.is_none() && marks.a.end.is_none();
        let begins = began && matches!(record.span, Span::PhaseA | Span::PhaseB);
        if before || begins {
            marks.between = marks.between.and(record);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use Edge::{Enter, Leave};

    const STAMPS: Stamps = Stamps { usual: 3.0, outer: 3.0 };
    const SCALE: Scale = Scale { tick: 2.0, own: STAMPS, theirs: STAMPS };

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
        // Those, and the first three: before A, and where A and B begin.
        assert_eq!((call.delivery, call.stamps), (60.0, 33.0));
        let whole = f64::from(440 - 100) * SCALE.tick;
        assert!(call.phases.iter().sum::<f64>() + call.stamps <= whole);
    }

    #[test]
    fn stamps_may_differ_between_the_sides_and_where_the_application_makes_them() {
        let theirs = [stamp(200, Span::PhaseC, Enter), stamp(300, Span::PhaseC, Leave)];
        let (own_stamps, their_stamps) =
            (Stamps { usual: 1.0, outer: 5.0 }, Stamps { usual: 4.0, outer: 100.0 });
        let scale = Scale { tick: 1.0, own: own_stamps, theirs: their_stamps };
        let call = calls(&own(), &theirs, scale)[0];
        assert_eq!(call.phases, [39.0, 17.0, 122.0, 108.0, 25.0]);
        // A, B, C, D and E, then the stamp before A and those with which A and B begin.
        assert_eq!(call.stamps, 1.0 + 2.0 + 8.0 + 2.0 + 5.0 + (1.0 + 5.0 + 1.0));
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

    #[test]
    fn calls_that_are_away_meanwhile_are_told() {
        let of = |id: u32, record: Record| Record { id, ..record };
        let mut stamps = own();
        let sent = |id, ticks| {
            [(ticks, Enter), (ticks + 1, Leave)]
                .map(|(ticks, edge)| of(id, stamp(ticks, Span::PhaseB, edge)))
        };
        // Back before it was sent; sent before the first stamp and back behind that; sent before it
        // came back; sent behind that; not sent.
        stamps.push(of(1, stamp(105, Span::PhaseE, Enter)));
        stamps.push(of(2, stamp(172, Span::PhaseE, Enter)));
        stamps.extend(sent(3, 380));
        stamps.extend(sent(4, 500));
        stamps.push(of(5, stamp(510, Span::PhaseA, Enter)));
        stamps.sort_by_key(|record| record.ticks);
        let found = away(&stamps, SCALE);
        let [call] = &found[..] else { panic!("{found:?}") };
        assert_eq!((call.id, &call.beside[..]), (0x3_0007, &[2, 3][..]));
        // From 170 to 410, less the stamps.
        assert!(call.nanos < 240.0 * SCALE.tick && call.nanos > 200.0 * SCALE.tick, "{call:?}");
    }
}
