//! What the gateway writes down of its sessions.

use std::sync::atomic::Ordering;
use std::time::Instant;

use serde::Serialize;

use crate::carry::Counted;
use crate::frame::{Codec, Kind};
use crate::media::Counters;
use crate::ng::{Dictionary, Value};
use crate::tuner::Decided;

/// One direction of a media line.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub call: String,
    pub kind: &'static str,
    pub from: &'static str,
    pub to: &'static str,
    /// RTP packets taken, sent, missing in the sequence, and thrown away as none of the session's.
    pub received: u64,
    pub sent: u64,
    pub lost: u64,
    pub rejected: u64,
    /// Frames out of the jitter buffer.
    pub frames: u64,
    pub concealed: u64,
    pub late: u64,
    pub dropped: u64,
    pub own: u64,
    pub failed: u64,
    pub answer_us_median: Option<f64>,
    pub answer_us_p99: Option<f64>,
    pub answer_us_max: Option<f64>,
    pub first_s: Option<f64>,
    pub last_s: Option<f64>,
    pub strategy: String,
}

/// The file.
#[derive(Debug, Serialize)]
pub struct Statistics {
    pub sessions: Vec<Row>,
    pub decisions: Vec<Decided>,
    pub refused: u64,
    pub dsp_found: u64,
    pub dsp_lost: u64,
    pub cpu_ms: f64,
    pub elapsed_s: f64,
}

impl Row {
    #[must_use]
    pub fn new(
        call: &str,
        [from, to]: [Codec; 2],
        counted: &Counted,
        counters: Option<&Counters>,
        lost: u64,
        began: Instant,
    ) -> Row {
        let Counted { figures, strategy } = counted;
        let read = |of: fn(&Counters) -> &std::sync::atomic::AtomicU64| {
            counters.map_or(0, |counters| of(counters).load(Ordering::Relaxed))
        };
        let answers = &figures.answers;
        let answer = |quantile: f64| {
            (!answers.is_empty()).then(|| answers.value_at_quantile(quantile) as f64)
        };
        let since = |at: Instant| at.saturating_duration_since(began).as_secs_f64();
        Row {
            call: call.to_owned(),
            kind: from.kind().name(),
            from: from.name(),
            to: to.name(),
            received: read(|counters| &counters.received),
            sent: read(|counters| &counters.sent),
            lost,
            rejected: read(|counters| &counters.rejected),
            frames: figures.frames,
            concealed: if from.kind() == Kind::Audio {
                read(|counters| &counters.concealed)
            } else {
                0
            },
            late: figures.late,
            dropped: figures.dropped,
            own: figures.own,
            failed: figures.failed,
            answer_us_median: answer(0.5),
            answer_us_p99: answer(0.99),
            answer_us_max: answer(1.0),
            first_s: figures.first.map(since),
            last_s: figures.last.map(since),
            strategy: strategy.clone(),
        }
    }

    /// Whether anything came in this direction.
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.received + self.rejected > 0
    }
}

/// The sums that a proxy is told.
#[must_use]
pub fn totals(rows: &[Row]) -> Dictionary {
    let sum = |of: fn(&Row) -> u64| Value::Number(rows.iter().map(of).sum());
    Dictionary::from([
        ("concealed", sum(|row| row.concealed)),
        ("dropped", sum(|row| row.dropped)),
        ("frames", sum(|row| row.frames)),
        ("late", sum(|row| row.late)),
        ("lost", sum(|row| row.lost)),
        ("received", sum(|row| row.received)),
        ("rejected", sum(|row| row.rejected)),
        ("sent", sum(|row| row.sent)),
    ])
}
