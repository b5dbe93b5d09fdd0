//! Two processes that go on whichever of them is killed. One numbers lines and sends them, the
//! other writes them down; each is killed in turn, and started again.
//!
//! ```text
//!   process left ──── lines ────► port 1 of process right ──► a file
//!        ▲                                  │
//!        └───────── which came last ────────┘
//! ```
//!
//! Lines that a dead `right` had not taken are sent again by themselves. What its stack had taken
//! and nobody written down is lost with it, and a new `left` does not know what the one before had
//! sent: so `right` says which line it wrote last, and `left` goes on behind that.
//!
//! Expected output:
//!
//! ```text
//! right was killed 3 times
//! left was killed 3 times
//! 100 lines in order, none missing and none twice
//! ```

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use narrows::endpoint::{Message, PortError, What};
use narrows_host::{Options, Peer};

const SOON: Option<Duration> = Some(Duration::from_secs(20));
/// How long an answer is waited for before the line is sent again.
const BRIEF: Option<Duration> = Some(Duration::from_millis(100));
const LINES: u64 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next(), arguments.next().as_deref()) {
        (Some(directory), Some("left")) => left(directory.as_ref()),
        (Some(directory), Some("right")) => right(directory.as_ref()),
        _ => supervise(),
    }
}

/// Lines that are written down.
fn written(directory: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(directory.join("lines")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Sends the line behind the last that was written down, until that was the last of all.
fn left(directory: &Path) -> Result<(), Box<dyn Error>> {
    let mut node = Options::new("left").directory(directory).node()?;
    node.open(1)?;
    let mut right = Peer::new("right".parse()?);
    let mut line = 0_u64;
    while line < LINES {
        right.send(&mut node, 1, 1, Message::new(&line.to_le_bytes()), SOON)?;
        let mut last = [0; 8];
        match node.receive_into(1, &mut last, BRIEF) {
            Ok(answer) if answer.what == What::Message => line = u64::from_le_bytes(last) + 1,
            // It may have died with the line.
            Ok(_) | Err(PortError::Deadline) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Writes each line down that is the next, and says which was the last.
fn right(directory: &Path) -> Result<(), Box<dyn Error>> {
    let mut file = std::fs::File::options().append(true).open(directory.join("lines"))?;
    let mut next = written(directory).last().map_or(0, |last| last + 1);
    let mut node = Options::new("right").directory(directory).node()?;
    node.open(1)?;
    let mut left = Peer::new("left".parse()?);
    while next < LINES {
        let mut line = [0; 8];
        let received = node.receive_into(1, &mut line, SOON)?;
        if received.what != What::Message {
            continue;
        }
        if u64::from_le_bytes(line) == next {
            writeln!(file, "{next}")?;
            next += 1;
        }
        if let Some(last) = next.checked_sub(1) {
            left.send(&mut node, 1, 1, Message::new(&last.to_le_bytes()), SOON)?;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Starts both, and kills each three times while they are at it.
fn supervise() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let directory = directory.path();
    std::fs::write(directory.join("lines"), "")?;
    let this = std::env::current_exe()?;
    let start = |name: &str| Command::new(&this).arg(directory).arg(name).spawn();
    let mut pair: [(&str, Child); 2] = [("right", start("right")?), ("left", start("left")?)];
    for kill in 1..=6 {
        // After each ten lines.
        while written(directory).len() < 10 * kill {
            std::thread::sleep(Duration::from_millis(1));
        }
        let (name, process) = &mut pair[kill % 2];
        process.kill()?;
        process.wait()?;
        *process = start(name)?;
    }
    for (name, mut process) in pair {
        if !process.wait()?.success() {
            return Err(format!("{name} failed").into());
        }
        println!("{name} was killed 3 times");
    }
    if written(directory) != (0..LINES).collect::<Vec<_>>() {
        return Err("lines are missing, doubled or out of order".into());
    }
    println!("{LINES} lines in order, none missing and none twice");
    Ok(())
}
