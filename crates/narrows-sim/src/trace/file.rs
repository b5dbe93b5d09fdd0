//! The file that simulations are traced to.

use narrows_trace::{Category, Row, Writer};
use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A file that simulations are traced to, one behind the other. Copies of it are the same file.
///
/// An error does not end a simulation: nothing is written from then on, and [`Trace::finish`] says
/// so. Nor does a file that is as long as it may be: what comes then is counted.
#[derive(Clone)]
pub struct Trace(Arc<Mutex<Sink>>);

/// What is behind a [`Trace`].
struct Sink {
    writer: Writer<Box<dyn Write + Send>>,
    limit: u64,
    dropped: u64,
    failed: Option<io::Error>,
    /// The last number that a row or group has.
    rows: u64,
    /// Simulations so far.
    simulations: u64,
    /// The last moment of all, in nanoseconds.
    last: u64,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("written", &self.written()).finish_non_exhaustive()
    }
}

impl Trace {
    /// Bytes that a file may have where nothing else is said.
    pub const LIMIT: u64 = 1 << 30;

    /// A trace that is written to `out`, up to about `limit` bytes.
    #[must_use]
    pub fn new(out: impl Write + Send + 'static, limit: u64) -> Trace {
        let writer = Writer::new(Box::new(out) as Box<dyn Write + Send>);
        let sink =
            Sink { writer, limit, dropped: 0, failed: None, rows: 0, simulations: 0, last: 0 };
        Trace(Arc::new(Mutex::new(sink)))
    }

    /// Bytes written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.sink().writer.written()
    }

    /// Events that found no room.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.sink().dropped
    }

    /// Writes how many events found no room, and what `out` keeps back.
    ///
    /// # Errors
    /// What `out` said first, now or while a simulation ran.
    pub fn finish(&self) -> io::Result<()> {
        let mut sink = self.sink();
        if let Some(error) = sink.failed.take() {
            return Err(error);
        }
        if sink.dropped > 0 {
            let (row, last, dropped) = (Row(sink.rows + 1), sink.last, sink.dropped);
            sink.writer.dropped(row, last, dropped)?;
        }
        sink.writer.flush()
    }

    /// A simulation begins: its number, from 1, and the moment at which its time begins.
    pub(crate) fn begin(&self) -> (u64, u64) {
        let mut sink = self.sink();
        sink.simulations += 1;
        (sink.simulations, sink.last)
    }

    /// A number that no row or group has.
    pub(crate) fn number(&self) -> u64 {
        let mut sink = self.sink();
        sink.rows += 1;
        sink.rows
    }

    /// Introduces a row. What is not introduced cannot be told from others, so it is whatever the
    /// limit.
    pub(crate) fn introduce(&self, what: impl FnOnce(&mut Out) -> io::Result<()>) {
        self.sink().keep(what);
    }

    /// Writes an event of a moment. False if it found no room.
    pub(crate) fn write(&self, at: u64, what: impl FnOnce(&mut Out) -> io::Result<()>) -> bool {
        let mut sink = self.sink();
        sink.last = sink.last.max(at);
        if sink.writer.written() >= sink.limit {
            sink.dropped += 1;
            return false;
        }
        sink.keep(what)
    }

    /// Writes that what was begun ends, whatever the limit.
    pub(crate) fn end(&self, row: Row, at: u64) {
        let mut sink = self.sink();
        sink.last = sink.last.max(at);
        sink.keep(|out| out.end(row, at));
    }

    /// Writes a stretch that is over; none if it took no time.
    pub(crate) fn stretch(&self, row: Row, (from, to): (u64, u64), what: (Category, &str)) {
        if to > from {
            self.write(to, |out| {
                out.begin(row, from, what.0, what.1)?;
                out.end(row, to)
            });
        }
    }

    fn sink(&self) -> MutexGuard<'_, Sink> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What writes.
pub(crate) type Out = Writer<Box<dyn Write + Send>>;

impl Sink {
    fn keep(&mut self, what: impl FnOnce(&mut Out) -> io::Result<()>) -> bool {
        if self.failed.is_some() {
            return false;
        }
        match what(&mut self.writer) {
            Ok(()) => true,
            Err(error) => {
                self.failed = Some(error);
                false
            }
        }
    }
}
