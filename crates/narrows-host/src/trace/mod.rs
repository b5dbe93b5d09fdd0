//! Stamps: when spans begin and end, in a ring that is filled without a lock or a system call.
//!
//! A process that is asked for a trace by `NARROWS_TRACE` writes a file besides: each node notes
//! its stamps, messages and waits in a ring, and one thread writes what all of them noted.

mod event;
mod events;
mod payloads;
mod recorder;
mod ring;
mod rows;
mod tracer;

use std::cell::{Cell, OnceCell};

use narrows::platform::{Wait, Woken};
use narrows::span::{Edge, Note, Passage, Span};
use narrows_trace::{Category, Value};

use crate::clock;
use crate::rendezvous::Linked;
use event::Event;
pub(crate) use recorder::Recorder;
pub(crate) use tracer::Tracer;

/// The variable of the environment that names the file of a process's trace: all nodes of the
/// processes that it is set for write to that file, behind what is there.
pub const TRACE_VARIABLE: &str = "NARROWS_TRACE";

/// The variable of the environment that has traces hold what messages carry too, if it is `1`.
pub const PAYLOAD_VARIABLE: &str = "NARROWS_TRACE_PAYLOAD";

/// Whether the environment asks for what messages carry.
pub(crate) fn payload_wanted() -> bool {
    std::env::var_os(PAYLOAD_VARIABLE).is_some_and(|value| value == "1")
}

/// One stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, in ticks: comparable between all threads and processes of one machine.
    pub ticks: u64,
    /// Tells calls apart.
    pub id: u32,
    /// Which span.
    pub span: Span,
    /// Which end of it.
    pub edge: Edge,
}

/// The stamps since the last time they were taken, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The latest of them.
    pub records: Vec<Record>,
    /// How many older ones had to make room.
    pub overwritten: u64,
}

/// Stamps that are kept: 1 MiB of them.
const KEPT: usize = 1 << 16;

const NONE: Record = Record { ticks: 0, id: 0, span: Span::PhaseA, edge: Edge::Enter };

#[derive(Default)]
pub(crate) struct Stamps {
    /// Whether there is anything to do.
    on: Cell<bool>,
    kept: Cell<bool>,
    count: Cell<u64>,
    ring: OnceCell<Box<[Cell<Record>]>>,
    recorder: Option<Recorder>,
    /// Whether somebody listens for events of the crate `tracing`.
    told: bool,
}

impl Stamps {
    /// Stamps of a node that writes a trace, if it does.
    pub(crate) fn new(recorder: Option<Recorder>) -> Stamps {
        let told = events::wanted();
        let on = Cell::new(told || recorder.is_some());
        Stamps { on, recorder, told, ..Stamps::default() }
    }

    /// Turns the keeping of stamps on or off. The first time it is turned on makes the ring.
    pub(crate) fn set(&self, on: bool) {
        if on {
            self.ring.get_or_init(|| vec![Cell::new(NONE); KEPT].into_boxed_slice());
        }
        self.kept.set(on);
        self.on.set(on || self.told || self.recorder.is_some());
    }

    #[cold]
    fn record(&self, event: &Event) {
        self.record_at(clock::ticks(), event);
    }

    #[inline]
    fn record_at(&self, ticks: u64, event: &Event) {
        if let Some(recorder) = &self.recorder {
            recorder.note(ticks, event);
        }
        if self.told {
            events::tell(event);
        }
    }

    /// Notes what happened to a message.
    #[inline]
    pub(crate) fn note(&self, note: &Note) {
        self.record(&Event::Note(*note));
    }

    /// Notes that a message is about to be sent, with what it carries.
    pub(crate) fn note_sent(&self, passage: Passage, carried: &mut dyn FnMut(&mut [u8]) -> bool) {
        if let Some(recorder) = &self.recorder {
            recorder.sent(clock::ticks(), &passage, carried);
        }
        if self.told {
            events::tell(&Event::Note(Note::Sent(passage)));
        }
    }

    /// A wait begins.
    #[inline(always)]
    pub(crate) fn waits(&self, how: Wait) {
        if self.on.get() {
            self.record(&Event::Waits(how));
        }
    }

    /// A wait has ended.
    #[inline(always)]
    pub(crate) fn woken(&self, why: Woken) {
        if self.on.get() {
            self.record(&Event::Woken(why));
        }
    }

    /// A peer's bell was rung.
    pub(crate) fn rang(&self) {
        self.record(&Event::Rang);
    }

    /// A link is up.
    pub(crate) fn linked(&self, link: &Linked) {
        if let Some(recorder) = &self.recorder {
            recorder.linked(link);
        }
    }

    /// A link was lost.
    pub(crate) fn lost(&self, key: u32) {
        self.record(&Event::Lost(key));
    }

    /// Writes what a program has to say of this moment.
    pub(crate) fn mark(&self, category: Category, name: &str, values: &[(&str, Value<'_>)]) {
        if let Some(recorder) = &self.recorder {
            recorder.mark(category, name, values);
        }
    }

    #[inline(always)]
    pub(crate) fn on(&self) -> bool {
        self.on.get()
    }

    #[inline(always)]
    pub(crate) fn push(&self, span: Span, edge: Edge, id: u32) {
        if self.on.get() {
            self.push_now(span, edge, id);
        }
    }

    #[inline]
    fn push_now(&self, span: Span, edge: Edge, id: u32) {
        let ticks = clock::ticks();
        self.record_at(ticks, &Event::Stamp(span, edge, id));
        if !self.kept.get() {
            return;
        }
        let count = self.count.get();
        let slot = self.ring.get().and_then(|ring| ring.get(count as usize & (KEPT - 1)));
        if let Some(slot) = slot {
            slot.set(Record { ticks, id, span, edge });
            self.count.set(count.wrapping_add(1));
        }
    }

    /// Hands out and forgets what there is.
    pub(crate) fn take(&self) -> Trace {
        let Some(ring) = self.ring.get() else { return Trace::default() };
        let count = self.count.replace(0);
        let kept = count.min(KEPT as u64);
        let first = (count - kept) as usize & (KEPT - 1);
        let records = ring.iter().cycle().skip(first).take(kept as usize).map(Cell::get).collect();
        Trace { records, overwritten: count - kept }
    }
}

/// What one stamp costs when stamping is on, in nanoseconds: the median of several runs.
#[must_use]
pub fn stamp_cost() -> f64 {
    const STAMPS: u32 = 2000;
    let stamps = Stamps::default();
    stamps.set(true);
    let mut runs: Vec<f64> = (0..15)
        .map(|_| {
            let start = clock::ticks();
            for id in 0..STAMPS {
                std::hint::black_box(&stamps).push(Span::Memory, Edge::Enter, id);
            }
            clock::ticks().wrapping_sub(start) as f64 * clock::nanos_per_tick() / f64::from(STAMPS)
        })
        .collect();
    runs.sort_unstable_by(f64::total_cmp);
    runs.get(runs.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_come_back_in_order_and_the_oldest_make_room() {
        let stamps = Stamps::default();
        stamps.push(Span::PhaseA, Edge::Enter, 1);
        assert_eq!(stamps.take(), Trace::default(), "off until turned on");
        stamps.set(true);
        stamps.push(Span::PhaseA, Edge::Enter, 1);
        stamps.push(Span::PhaseA, Edge::Leave, 1);
        let trace = stamps.take();
        assert_eq!(
            trace.records.iter().map(|r| r.edge).collect::<Vec<_>>(),
            [Edge::Enter, Edge::Leave]
        );
        assert!(trace.records[0].ticks <= trace.records[1].ticks);
        for id in 0..KEPT as u32 + 10 {
            stamps.push(Span::Link, Edge::Enter, id);
        }
        let trace = stamps.take();
        assert_eq!((trace.overwritten, trace.records.len()), (10, KEPT));
        assert_eq!((trace.records[0].id, trace.records[KEPT - 1].id), (10, KEPT as u32 + 9));
        assert_eq!(stamps.take().records, []);
    }
}
