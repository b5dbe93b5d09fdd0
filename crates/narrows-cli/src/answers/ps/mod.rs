//! `narrows ps` and `narrows top`: the nodes that run, seen without a word to them.

pub mod flags;
mod prometheus;
mod row;
mod screen;
mod text;
mod watch;

use crate::base::failure::{Failure, Kind};
use crate::base::machine::{Machine, Root};
use crate::base::options::Global;
use crate::base::output;
use crate::base::report::Report;
use crate::base::signals::catch_signals;
use flags::{Ps, Top};
use row::NodeRow;
use screen::Screen;
use std::sync::atomic::Ordering;
use std::time::Duration;
use watch::{Watcher, rows};

/// What is to know of rates.
const COUNTED: &str = "messages_per_second counts what a node sends and what it receives: \
                       messages, requests, responses, and words and packets of channels.";

/// `narrows ps`.
///
/// # Errors
/// [`Kind::Name`] if there is no such domain or no node, [`Kind::Internal`] if it cannot be looked
/// at, [`Kind::Output`].
pub fn run(global: &Global, args: &Ps) -> Result<(), Failure> {
    let mut watcher = Watcher::new(&args.whose)?;
    let before = watcher.look()?;
    let after = match args.prometheus {
        true => None,
        false => {
            std::thread::sleep(args.interval);
            Some(watcher.look()?)
        }
    };
    let rows = rows(&before, after.as_ref().unwrap_or(&before));
    if args.prometheus {
        return output::print(prometheus::text(&rows).as_bytes());
    }
    if global.json {
        let mut report = Report::new("ps", Machine::look(&Root::default()), rows);
        report.notes.push(COUNTED.to_owned());
        return report.print();
    }
    if rows.is_empty() {
        let whose = match args.whose.all {
            true => "this user".to_owned(),
            false => format!("the domain {}", args.whose.domain),
        };
        let sentence = format!("no node of {whose} is running: start one");
        return Err(Failure::new(Kind::Name, sentence));
    }
    let mut text = text::nodes(&rows, args.whose.all);
    if args.details {
        rows.iter().for_each(|row| text.push_str(&text::details(row)));
    }
    output::print(text.as_bytes())
}

/// The busiest first.
fn busiest(mut rows: Vec<NodeRow>) -> Vec<NodeRow> {
    rows.sort_by(|a, b| b.messages_per_second.total_cmp(&a.messages_per_second));
    rows
}

/// `narrows top`.
///
/// # Errors
/// As [`run`].
pub fn top(args: &Top) -> Result<(), Failure> {
    let mut watcher = Watcher::new(&args.whose)?;
    let stop = catch_signals()?;
    let screen = Screen::open();
    let wait = |time: Duration| match &screen {
        Some(screen) => screen.wait(time, &stop),
        None => asleep(time, || stop.load(Ordering::Relaxed)),
    };
    let whose = if args.whose.all { "all domains" } else { &args.whose.domain };
    let mut before = watcher.look()?;
    let mut left = args.count;
    while left != Some(0) {
        if wait(args.interval) {
            break;
        }
        let after = watcher.look()?;
        let rows = busiest(rows(&before, &after));
        let frame = text::nodes(&rows, args.whose.all);
        match &screen {
            Some(screen) => screen.show(&format!("{whose}; q ends\n\n{frame}")),
            None => output::print(format!("{frame}\n").as_bytes())?,
        }
        before = after;
        left = left.map(|left| left - 1);
    }
    Ok(())
}

/// Waits, and says whether that was stopped.
fn asleep(time: Duration, stopped: impl Fn() -> bool) -> bool {
    const LOOK: Duration = Duration::from_millis(100);
    let mut left = time;
    while !left.is_zero() {
        if stopped() {
            return true;
        }
        let now = left.min(LOOK);
        std::thread::sleep(now);
        left -= now;
    }
    stopped()
}
