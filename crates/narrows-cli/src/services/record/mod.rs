//! `narrows record`: keeps what the nodes of a domain send each other, without a word to them.

pub mod flags;
mod keeper;

use crate::base::failure::{Failure, Kind};
use crate::base::machine::{Machine, Root};
use crate::base::options::Global;
use crate::base::output;
use crate::base::report::Report;
use crate::base::signals::catch_signals;
use crate::base::table::{Align, Table};
use flags::Record;
use keeper::Keeper;
use narrows::memory::Ring;
use narrows_host::observe::{ObserveError, Observer, Passed, Tap, Tapped};
use narrows_host::system;
use narrows_trace::Sealed;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::fs::File;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often new nodes and links are looked for.
const LOOK: Duration = Duration::from_millis(20);
/// How often what was kept goes to the file: what a recorder that is killed loses at most.
const FLUSH: Duration = Duration::from_millis(100);
/// How long a recorder sleeps that has seen little.
const REST: Duration = Duration::from_micros(50);

/// A ring of one direction of a link.
#[derive(Debug, Serialize)]
struct Row {
    /// The sender.
    node: String,
    /// The receiver.
    peer: String,
    /// The number of the channel; null for the link's messages.
    channel: Option<u16>,
    /// Messages that were kept.
    messages: u64,
    /// Bytes that they carried.
    bytes: u64,
    /// Messages that were overwritten before they could be read.
    missed: u64,
    /// Messages whose payload was wanted, and used again before it could be read.
    without_payload: u64,
}

/// Nanoseconds of the clock that traces of this machine have.
fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64)
}

/// Records until it is stopped.
///
/// # Errors
/// [`Kind::Name`] if there is no such domain, [`Kind::Output`] if the file cannot be written.
pub fn run(global: &Global, args: &Record) -> Result<(), Failure> {
    let observer = Observer::new(&args.domain, None).map_err(|error| {
        let kind = match error {
            ObserveError::Name(_) => Kind::Usage,
            ObserveError::NoDomain(_) => Kind::Name,
            _ => Kind::Internal,
        };
        Failure::new(kind, error.to_string())
    })?;
    // A script may wait for the file: then messages are recorded, and a signal ends the recording
    // as it should be ended.
    let mut tap = Tap::new(observer, args.payload);
    let stop = catch_signals()?;
    let failed = |error: std::io::Error| output::refusal("write", &args.out, &error);
    let file = File::create(&args.out).map_err(failed)?;
    system::idle();
    let mut keeper = Keeper::new(Sealed::new(file), args.payload);
    let began = Instant::now();
    let (mut looked, mut flushed) = (None::<Instant>, began);
    let mut written = Ok(());
    loop {
        let ends = stop.load(Ordering::Relaxed)
            || args.r#for.is_some_and(|time| began.elapsed() >= time)
            || keeper.writer.written() >= args.limit;
        if ends || looked.is_none_or(|at| at.elapsed() >= LOOK) {
            looked = Some(Instant::now());
            for seen in tap.look() {
                if let Ok(status) = seen.status {
                    keeper.processes.insert(status.incarnation, status.process);
                }
            }
        }
        let keep = |of: &Tapped, passed: Passed<'_>| {
            if written.is_ok() && keeper.writer.written() < args.limit {
                written = keeper.keep(now(), of, passed);
            }
        };
        if ends {
            tap.take_all(keep);
            break;
        }
        let busy = tap.take(keep);
        if flushed.elapsed() >= FLUSH {
            flushed = Instant::now();
            written = written.and_then(|()| keeper.writer.flush());
        }
        if written.is_err() {
            break;
        }
        // What a message carries is certain only until its receiver takes it.
        if !busy && !args.payload {
            std::thread::sleep(REST);
        }
    }
    written.and_then(|()| keeper.writer.flush()).map_err(failed)?;
    let full = keeper.writer.written() >= args.limit;
    print(global, args, &keeper, full)
}

fn print<W: std::io::Write>(
    global: &Global,
    args: &Record,
    keeper: &Keeper<W>,
    full: bool,
) -> Result<(), Failure> {
    let mut rows: Vec<Row> = keeper
        .kept
        .iter()
        .map(|(of, kept)| Row {
            node: of.node.to_string(),
            peer: of.peer.to_string(),
            channel: match of.ring {
                Ring::Messages => None,
                Ring::Channel(number) => Some(number),
            },
            messages: kept.messages,
            bytes: kept.bytes,
            missed: kept.missed,
            without_payload: kept.without_payload,
        })
        .collect();
    rows.sort_by(|a, b| (&a.node, &a.peer, a.channel).cmp(&(&b.node, &b.peer, b.channel)));
    let mut notes = Vec::new();
    if full {
        notes.push(format!("the recording ended with the size of --limit, {} bytes", args.limit));
    }
    let missed: u64 = rows.iter().map(|row| row.missed).sum();
    if missed > 0 {
        notes.push(format!(
            "{missed} messages were overwritten before they could be read: record on a core of its \
             own, or have the nodes open with larger rings"
        ));
    }
    let without: u64 = rows.iter().map(|row| row.without_payload).sum();
    if without > 0 {
        notes.push(format!("of {without} messages what they carry could not be read in time"));
    }
    if global.json {
        let mut report = Report::new("record", Machine::look(&Root::default()), rows);
        report.notes = notes;
        return report.print();
    }
    let (left, right) = (Align::Left, Align::Right);
    let columns = [
        ("from", left),
        ("to", left),
        ("channel", right),
        ("messages", right),
        ("bytes", right),
        ("missed", right),
    ];
    let mut table = Table::new(&columns);
    for row in &rows {
        let figures = [row.messages, row.bytes, row.missed].map(|figure| figure.to_string());
        let [messages, bytes, missed] = figures;
        let channel = row.channel.map(|number| number.to_string()).unwrap_or_default();
        table.row(vec![row.node.clone(), row.peer.clone(), channel, messages, bytes, missed]);
    }
    let mut text = match rows.is_empty() {
        true => format!("no message passed in the domain {}\n", args.domain),
        false => table.render(),
    };
    notes.iter().for_each(|note| text.push_str(&format!("- {note}\n")));
    text.push_str(&format!("written to {}\n", args.out.display()));
    output::print(text.as_bytes())
}
