//! How long the phases of calls took, out of the stamps of a node.

use std::collections::{BTreeMap, HashMap};

use narrows::span::{Edge, Span};
use narrows_host::{Host, Record, Trace};

/// Times of a phase that are kept.
const KEPT: usize = 4096;
/// Calls that have begun and not ended, of which stamps are kept. There are more of them only where
/// the last stamps of many were lost.
const OPEN: usize = 8192;

/// `narrows_span`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Times {
    count: u64,
    minimum: i64,
    median: i64,
    p99: i64,
    maximum: i64,
}

/// `narrows_phases`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Phases {
    a: Times,
    b: Times,
    away: Times,
    e: Times,
}

/// The latest times of one phase, in ticks.
#[derive(Default)]
struct Samples {
    count: u64,
    latest: Vec<u64>,
}

impl Samples {
    fn add(&mut self, ticks: u64) {
        let at = (self.count % KEPT as u64) as usize;
        match self.latest.get_mut(at) {
            Some(oldest) => *oldest = ticks,
            None => self.latest.push(ticks),
        }
        self.count += 1;
    }

    fn times(&self, tick: f64) -> Times {
        let mut sorted = self.latest.clone();
        sorted.sort_unstable();
        let Some(last) = sorted.len().checked_sub(1) else { return Times::default() };
        let share = |percent: usize| {
            let ticks = sorted.get(last * percent / 100).copied().unwrap_or(0);
            (ticks as f64 * tick) as i64
        };
        Times {
            count: self.count,
            minimum: share(0),
            median: share(50),
            p99: share(99),
            maximum: share(100),
        }
    }
}

/// The phases of one flow: A, B, away and E.
#[derive(Default)]
struct Own([Samples; 4]);

/// What the stamps of a call say so far.
#[derive(Clone, Copy, Default)]
struct Marks {
    began: [Option<u64>; 2],
    took: [u64; 2],
    sent: Option<u64>,
    taken: Option<u64>,
}

/// What was measured at a node.
#[derive(Default)]
pub(super) struct Spans {
    calls: BTreeMap<u32, Marks>,
    serving: HashMap<u32, u64>,
    flows: HashMap<u16, Own>,
    served: Samples,
}

impl Spans {
    /// Forgets what an earlier flow in a place has measured.
    pub fn forget(&mut self, flow: u16) {
        self.flows.remove(&flow);
        self.calls.retain(|id, _| id >> 16 != u32::from(flow));
    }

    /// Takes in the stamps since the last time.
    pub fn add(&mut self, trace: &Trace) {
        for record in &trace.records {
            self.stamp(record);
        }
        if self.calls.len() > OPEN {
            self.calls.clear();
        }
        if self.serving.len() > OPEN {
            self.serving.clear();
        }
    }

    fn stamp(&mut self, record: &Record) {
        let Record { ticks, id, span, edge } = *record;
        let part = match span {
            Span::PhaseA => 0,
            Span::PhaseB => 1,
            Span::PhaseC if edge == Edge::Enter => {
                self.serving.insert(id, ticks);
                return;
            }
            Span::PhaseC => {
                if let Some(began) = self.serving.remove(&id) {
                    self.served.add(ticks.saturating_sub(began));
                }
                return;
            }
            Span::PhaseE if edge == Edge::Enter => {
                if let Some(marks) = self.calls.get_mut(&id) {
                    marks.taken = Some(ticks);
                }
                return;
            }
            Span::PhaseE => return self.end(id, ticks),
            _ => return,
        };
        let marks = self.calls.entry(id).or_default();
        match edge {
            Edge::Enter => marks.began[part] = Some(ticks),
            Edge::Leave => {
                if let Some(began) = marks.began[part].take() {
                    marks.took[part] += ticks.saturating_sub(began);
                }
                if part == 1 {
                    marks.sent = Some(ticks);
                }
            }
        }
    }

    /// A call has ended: its times count, if all of them are there.
    fn end(&mut self, id: u32, ticks: u64) {
        let Some(marks) = self.calls.remove(&id) else { return };
        let (Some(sent), Some(taken)) = (marks.sent, marks.taken) else { return };
        let [a, b] = marks.took;
        let times = [a, b, taken.saturating_sub(sent), ticks.saturating_sub(taken)];
        let own = self.flows.entry((id >> 16) as u16).or_default();
        for (samples, ticks) in own.0.iter_mut().zip(times) {
            samples.add(ticks);
        }
    }

    /// The phases of a flow's calls.
    pub fn of(&self, flow: u16) -> Phases {
        let tick = Host::nanos_per_tick();
        let Some(Own(samples)) = self.flows.get(&flow) else { return Phases::default() };
        let [a, b, away, e] = samples.each_ref().map(|samples| samples.times(tick));
        Phases { a, b, away, e }
    }

    /// Phase C of the calls that were served.
    pub fn served(&self) -> Times {
        self.served.times(Host::nanos_per_tick())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Edge::{Enter, Leave};

    fn trace(stamps: &[(u64, u32, Span, Edge)]) -> Trace {
        let record = |&(ticks, id, span, edge)| Record { ticks, id, span, edge };
        Trace { records: stamps.iter().map(record).collect(), overwritten: 0 }
    }

    fn call(id: u32, at: u64) -> [(u64, u32, Span, Edge); 6] {
        [
            (at, id, Span::PhaseA, Enter),
            (at + 4, id, Span::PhaseA, Leave),
            (at + 5, id, Span::PhaseB, Enter),
            (at + 7, id, Span::PhaseB, Leave),
            (at + 37, id, Span::PhaseE, Enter),
            (at + 45, id, Span::PhaseE, Leave),
        ]
    }

    #[test]
    fn a_calls_phases_are_its_flows_and_count_when_it_has_ended() {
        let mut spans = Spans::default();
        let whole = call(3 << 16 | 9, 100);
        spans.add(&trace(&whole[..5]));
        assert!(spans.flows.is_empty());
        spans.add(&trace(&whole[5..]));
        spans.add(&trace(&call(4 << 16 | 9, 200)[2..]));
        let times =
            |flow: u16| spans.flows[&flow].0.each_ref().map(|s| (s.count, s.times(1.0).maximum));
        assert_eq!(times(3), [(1, 4), (1, 2), (1, 30), (1, 8)]);
        assert_eq!(times(4)[0], (1, 0));
        spans.forget(3);
        assert_eq!(spans.of(3), Phases::default());
    }

    #[test]
    fn what_is_served_is_from_taking_to_publishing() {
        let mut spans = Spans::default();
        spans.add(&trace(&[(5, 1, Span::PhaseC, Leave), (10, 2, Span::PhaseC, Enter)]));
        spans.add(&trace(&[(35, 2, Span::PhaseC, Leave)]));
        let times = spans.served.times(1.0);
        assert_eq!((times.count, times.minimum, times.maximum), (1, 25, 25));
    }

    #[test]
    fn times_are_of_the_latest_and_sorted() {
        let mut samples = Samples::default();
        assert_eq!(samples.times(1.0), Times::default());
        (0..KEPT as u64 + 101).rev().for_each(|ticks| samples.add(ticks));
        let times = samples.times(2.0);
        assert_eq!((times.count, times.minimum), (KEPT as u64 + 101, 0));
        assert_eq!(times.maximum, 2 * (KEPT as i64 - 1));
        assert!(
            times.minimum < times.median && times.median < times.p99 && times.p99 < times.maximum
        );
    }
}
