//! A process's trace: the file, and the thread that writes to it what the nodes note.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use narrows::link::Name;
use narrows::span::Note;
use narrows_trace::{Category, Value, Writer};
use rustix::thread::gettid;

use super::TRACE_VARIABLE;
use super::event::Event;
use super::recorder::Shared;
use super::rows::Rows;
use crate::clock;
use crate::memory::fork::{self, Maker};

/// How long the thread sleeps after it found something, and at most.
const SLEEP: Duration = Duration::from_millis(2);
const LONGEST_SLEEP: Duration = Duration::from_millis(64);
/// Bytes that are written at once.
const AT_ONCE: usize = 256 << 10;
/// Bytes that one process writes at most.
const MOST: u64 = 1 << 30;

/// Several processes may write to one file: each call writes whole packets, behind all that is
/// there.
struct Whole {
    file: File,
    pending: Vec<u8>,
}

impl Write for Whole {
    fn write(&mut self, packet: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(packet);
        if self.pending.len() >= AT_ONCE {
            self.flush()?;
        }
        Ok(packet.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.pending);
        self.pending.clear();
        written
    }
}

struct Node {
    number: u64,
    shared: Arc<Shared>,
    rows: Rows,
}

struct State {
    writer: Writer<Whole>,
    nodes: Vec<Node>,
    /// Ticks and nanoseconds when events were read last.
    anchor: (u64, u64),
    /// Why nothing is written any more.
    over: Option<io::Error>,
}

/// See the module page.
pub(crate) struct Tracer {
    path: PathBuf,
    maker: Maker,
    state: Mutex<State>,
}

/// The process's tracers, one for each file.
static TRACERS: Mutex<Vec<Weak<Tracer>>> = Mutex::new(Vec::new());
/// Nodes of this process that were traced.
static NODES: AtomicU64 = AtomicU64::new(0);

impl Tracer {
    /// The tracer that the environment asks for, if it does.
    ///
    /// # Errors
    /// The file cannot be written, or there is no thread for it.
    pub fn of_environment() -> io::Result<Option<Arc<Tracer>>> {
        match std::env::var_os(TRACE_VARIABLE) {
            Some(path) if !path.is_empty() => Tracer::at(Path::new(&path)).map(Some),
            _ => Ok(None),
        }
    }

    /// The tracer that writes to this file: one for all nodes of the process.
    ///
    /// # Errors
    /// As of [`Tracer::of_environment`].
    pub fn at(path: &Path) -> io::Result<Arc<Tracer>> {
        let _whole = fork::hold_off();
        let mut there = TRACERS.lock().unwrap_or_else(PoisonError::into_inner);
        there.retain(|tracer| tracer.strong_count() > 0);
        let mut all = there.iter().filter_map(Weak::upgrade);
        // What a forked process has of its parent's has no thread.
        if let Some(tracer) = all.find(|t| t.path == path && !t.maker.is_another()) {
            return Ok(tracer);
        }
        drop(all);
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let mut writer = Writer::new(Whole { file, pending: Vec::new() });
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        writer.group(Rows::group(), pid, &process_name())?;
        writer.flush()?;
        let state = State { writer, nodes: Vec::new(), anchor: clock::pair(), over: None };
        let maker = Maker::this();
        let tracer = Arc::new(Tracer { path: path.into(), maker, state: Mutex::new(state) });
        let of = Arc::downgrade(&tracer);
        std::thread::Builder::new().name("narrows-trace".into()).spawn(move || run(&of))?;
        there.push(Arc::downgrade(&tracer));
        Ok(tracer)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A node is there; gives its number.
    pub(super) fn enter(&self, name: &Name, shared: &Arc<Shared>) -> u64 {
        if self.maker.is_another() {
            return 0;
        }
        // Relaxed: only that it is another each time matters.
        let number = NODES.fetch_add(1, Ordering::Relaxed) + 1;
        let mut state = self.state();
        let rows = Rows::new(number, gettid().as_raw_nonzero().get(), name);
        state.attempt(|writer| rows.describe(writer));
        state.nodes.push(Node { number, shared: Arc::clone(shared), rows });
        number
    }

    /// A node is gone: all that it noted is written.
    pub fn leave(&self, number: u64) {
        if self.maker.is_another() {
            return;
        }
        let mut state = self.state();
        state.drain();
        state.nodes.retain(|node| node.number != number);
    }

    /// Writes what a node's program has to say of this moment.
    pub fn mark(&self, number: u64, category: Category, name: &str, values: &[(&str, Value<'_>)]) {
        if self.maker.is_another() {
            return;
        }
        let at = clock::now().0;
        let mut state = self.state();
        let node = state.nodes.iter().find(|node| node.number == number);
        if let Some(row) = node.map(|node| node.rows.row()) {
            state.attempt(|writer| writer.instant(row, at, category, name, values));
        }
    }
}

/// Writes what the nodes of a tracer note, until the last of them is gone.
fn run(of: &Weak<Tracer>) {
    let mut sleep = SLEEP;
    loop {
        std::thread::sleep(sleep);
        let _whole = fork::hold_off();
        let Some(tracer) = of.upgrade() else { return };
        let mut state = tracer.state();
        let found = state.drain();
        sleep = if found { SLEEP } else { (sleep * 2).min(LONGEST_SLEEP) };
        if state.over.is_some() {
            return;
        }
    }
}

impl State {
    /// Writes what the nodes have noted. False if that was nothing.
    fn drain(&mut self) -> bool {
        let from = std::mem::replace(&mut self.anchor, clock::pair());
        let time = Time::between(from, self.anchor);
        let now = self.anchor.1;
        let mut found = false;
        let mut nodes = std::mem::take(&mut self.nodes);
        for Node { shared, rows, .. } in &mut nodes {
            let full = self.writer.written() >= MOST;
            let mut refused = 0;
            shared.ring.take(|ticks, event| {
                found = true;
                let carried = match event {
                    Event::Note(Note::Sent(_)) => shared.payloads().take(),
                    _ => None,
                };
                if full {
                    refused += 1;
                } else {
                    let at = time.at(ticks);
                    self.attempt(|writer| rows.write(writer, at, &event, carried, &shared.facts));
                }
            });
            let dropped = shared.ring.dropped() + refused + shared.payloads().left_out();
            if dropped > 0 {
                let row = rows.row();
                self.attempt(|writer| writer.dropped(row, now, dropped));
            }
            if !full {
                self.attempt(|writer| rows.waited(writer, now));
            }
        }
        self.nodes = nodes;
        self.attempt(Writer::flush);
        found
    }

    /// Writes, unless that has failed before.
    fn attempt(&mut self, write: impl FnOnce(&mut Writer<Whole>) -> io::Result<()>) {
        if self.over.is_none()
            && let Err(error) = write(&mut self.writer)
        {
            // The program's own work goes on. It may have no place to hear of this but here.
            eprintln!("narrows: the trace ends here, its file cannot be written: {error}");
            self.over = Some(error);
        }
    }
}

/// Ticks as nanoseconds of the clock that all processes share, between two moments at which both
/// are known: so an error of the tick's length does not add up.
struct Time {
    from: (u64, u64),
    nanos_per_tick: f64,
}

impl Time {
    fn between(from: (u64, u64), to: (u64, u64)) -> Time {
        let (ticks, nanos) = (to.0.wrapping_sub(from.0), to.1.wrapping_sub(from.1));
        let nanos_per_tick = match ticks {
            0 => clock::nanos_per_tick(),
            ticks => nanos as f64 / ticks as f64,
        };
        Time { from, nanos_per_tick }
    }

    fn at(&self, ticks: u64) -> u64 {
        let since = ticks.wrapping_sub(self.from.0) as i64 as f64 * self.nanos_per_tick;
        self.from.1.saturating_add_signed(since as i64)
    }
}

fn process_name() -> String {
    std::fs::read_to_string("/proc/self/comm")
        .map_or_else(|_| "process".into(), |name| name.trim_end_matches('\n').to_owned())
}
