//! One to many: a publisher on one core, its subscribers in processes of their own on the other.
//!
//! Each message is made and published, and the next one only when all have read it in full and
//! counted it in memory that everyone maps. So what is measured is the time until the last has it,
//! and nobody is ever behind.

mod iceoryx2;
mod narrows;
mod socket;
#[cfg(feature = "zenoh")]
mod zenoh;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use crate::contender::{Mode, Setup, failed, named};
use crate::control::Control;
use crate::shared::Count;

/// Messages before the clock.
const WARM: u64 = 30;
/// A message that has every reader leave.
const LEAVE: u64 = u64::MAX;
/// How long a reader has to read a message.
const PATIENCE: Duration = Duration::from_secs(10);

/// Publishes to many.
pub trait Publish {
    /// Lets waiting subscribers in.
    ///
    /// # Errors
    /// What the system or the library refused.
    fn attend(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Makes a message and publishes it.
    ///
    /// # Errors
    /// It was not published to all.
    fn publish(&mut self, number: u64) -> io::Result<()>;
}

/// Reads what is published.
pub trait Read {
    /// Waits for the next message and reads it in full: which it is.
    ///
    /// # Errors
    /// It is not as it was made.
    fn read(&mut self, expected: u64) -> io::Result<()>;
}

/// A contender that publishes to many.
pub trait Contender: Sync {
    /// What it is called.
    fn name(&self) -> &'static str;
    /// Opens the publisher.
    ///
    /// # Errors
    /// What the system or the library refused.
    fn publisher(&self, setup: &Setup, readers: u32) -> io::Result<Box<dyn Publish>>;
    /// Opens a subscriber.
    ///
    /// # Errors
    /// What the system or the library refused.
    fn reader(&self, setup: &Setup, readers: u32) -> io::Result<Box<dyn Read>>;
}

/// Everyone.
fn all() -> Vec<&'static dyn Contender> {
    vec![
        &narrows::LOOKS,
        &narrows::SLEEPS,
        &iceoryx2::Iceoryx2,
        #[cfg(feature = "zenoh")]
        &zenoh::Zenoh,
        &socket::Socket,
    ]
}

/// The table of one publisher and many subscribers
#[derive(Args)]
pub struct Flags {
    /// How many subscribers, each in a process of its own
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 5, 20])]
    subscribers: Vec<u32>,
    /// Bytes of a message: multiples of 8
    #[arg(long, value_delimiter = ',', default_values_t = [64, 4096, 1 << 20])]
    bytes: Vec<usize>,
    /// Rounds: each visits every contender at every size, in an order of its own
    #[arg(long, default_value_t = 9)]
    rounds: u32,
    /// How long each visit measures, in milliseconds
    #[arg(long, default_value_t = 300)]
    millis: u64,
    /// Only contenders whose name has this in it; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Write everything that was measured to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// One reader's process.
#[derive(Args)]
pub struct Reader {
    name: String,
    bytes: usize,
    readers: u32,
    directory: PathBuf,
    tag: String,
    core: usize,
}

/// What a visit found.
#[derive(Serialize)]
struct Found {
    /// Nanoseconds from before a message is made until all have read it: the median.
    all_read: f64,
    /// Nanoseconds of processor time for a message: making and publishing it, and all its readers.
    processor: f64,
}

#[derive(Serialize)]
struct Row {
    contender: &'static str,
    bytes: usize,
    subscribers: u32,
    visits: Vec<Found>,
}

fn setup(bytes: usize, directory: PathBuf, tag: String) -> Setup {
    Setup { bytes, mode: Mode::Blocked, depth: 4, directory, tag, cores: (0, 0) }
}

/// Measures, and prints the table.
///
/// # Errors
/// A flag asks for what cannot be, or a contender does not work.
pub fn run(flags: &Flags) -> io::Result<()> {
    if let Some(bytes) = flags.bytes.iter().find(|bytes| **bytes == 0 || **bytes % 8 != 0) {
        return Err(io::Error::other(format!("--bytes {bytes}: sizes are multiples of 8")));
    }
    let [first, second, ..] = narrows_host::system::cores()[..] else {
        return Err(io::Error::other("this needs two cores"));
    };
    narrows_host::system::pin(first).map_err(io::Error::other)?;
    let all = named(all(), |contender| contender.name(), &flags.only)?;
    let mut rows = Vec::new();
    for bytes in flags.bytes.iter().copied() {
        for subscribers in flags.subscribers.iter().copied() {
            rows.extend(all.iter().map(|contender| Row {
                contender: contender.name(),
                bytes,
                subscribers,
                visits: Vec::new(),
            }));
        }
    }
    let contenders = all.len();
    for round in 0..flags.rounds as usize {
        for cell in rows.chunks_mut(contenders) {
            // Which contender comes first changes with the round.
            for turn in 0..contenders {
                let at = (round + turn) % contenders;
                let (Some(row), Some(contender)) = (cell.get_mut(at), all.get(at).copied()) else {
                    continue;
                };
                let found = visit(contender, row, second, flags.millis);
                let what = format!("{}, {} B to {}", row.contender, row.bytes, row.subscribers);
                row.visits.push(found.map_err(|error| failed(&what, error))?);
            }
        }
    }
    print(&rows, contenders);
    if let Some(file) = &flags.json {
        std::fs::write(file, serde_json::to_vec(&rows)?)?;
    }
    Ok(())
}

/// Readers that are gone when this is dropped, whatever happened.
struct Readers(Vec<(Child, Control)>);

impl Drop for Readers {
    fn drop(&mut self) {
        for (child, _) in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn visit(contender: &dyn Contender, row: &Row, core: usize, millis: u64) -> io::Result<Found> {
    let directory = tempfile::tempdir()?;
    let tag = format!("fan{}", fastrand::u32(..));
    let setup = setup(row.bytes, directory.path().to_owned(), tag);
    let (count, memory) = Count::new()?;
    let mut publisher = contender.publisher(&setup, row.subscribers)?;
    let mut readers = Readers(Vec::new());
    for _ in 0..row.subscribers {
        let (mine, theirs) = UnixStream::pair()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["reader", contender.name(), &row.bytes.to_string()]);
        command.arg(row.subscribers.to_string()).arg(directory.path()).arg(&setup.tag);
        command.arg(core.to_string());
        command.stdin(Stdio::from(OwnedFd::from(theirs)));
        let mut control = Control::new(mine);
        let child = command.spawn()?;
        control.give_fds([memory.as_fd().try_clone_to_owned()?])?;
        readers.0.push((child, control));
    }
    for (_, control) in &mut readers.0 {
        while !control.said()? {
            publisher.attend()?;
            std::thread::sleep(Duration::from_micros(200));
        }
        control.wait_done()?;
    }
    publisher.attend()?;
    let mut number = 0;
    let mut next = |times: &mut Vec<(u64, u64)>| {
        number += 1;
        let before = Instant::now();
        publisher.publish(number)?;
        let published = before.elapsed();
        let all = u64::from(row.subscribers) * number;
        while count.get() < all {
            std::hint::spin_loop();
            if before.elapsed() > PATIENCE {
                return Err(io::Error::other(format!("message {number} was not read by all")));
            }
        }
        times.push((before.elapsed().as_nanos() as u64, published.as_nanos() as u64));
        Ok(())
    };
    let mut times = Vec::new();
    for _ in 0..WARM {
        next(&mut times)?;
    }
    times.clear();
    let used = |readers: &Readers| -> io::Result<u64> {
        readers.0.iter().map(|(child, _)| processor_time(child.id())).sum()
    };
    let (before, began) = (used(&readers)?, Instant::now());
    while began.elapsed() < Duration::from_millis(millis) || times.len() < 20 {
        next(&mut times)?;
    }
    let read = used(&readers)? - before;
    let made: u64 = times.iter().map(|(_, published)| published).sum();
    let processor = (read + made) as f64 / times.len() as f64;
    publisher.publish(LEAVE)?;
    for (child, _) in &mut readers.0 {
        child.wait()?;
    }
    let mut all_read: Vec<u64> = times.iter().map(|(all, _)| *all).collect();
    all_read.sort_unstable();
    let all_read = all_read.get(all_read.len() / 2).copied().unwrap_or(0) as f64;
    Ok(Found { all_read, processor })
}

/// Nanoseconds that a process ran.
fn processor_time(process: u32) -> io::Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/schedstat"))?;
    let first = text.split_whitespace().next().and_then(|word| word.parse().ok());
    first.ok_or_else(|| failed("schedstat", "it has no time"))
}

/// The process of a reader: what it is to read comes over its standard input.
///
/// # Errors
/// What the contender refused, or a message that did not arrive as it was sent.
pub fn read(reader: &Reader) -> io::Result<()> {
    narrows_host::system::pin(reader.core).map_err(io::Error::other)?;
    let mut control = Control::new(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?));
    let [memory] = control.take_fds()?;
    let count = Count::of(&memory)?;
    let contender = all().into_iter().find(|one| one.name() == reader.name);
    let contender = contender.ok_or_else(|| failed(&reader.name, "no such contender"))?;
    let setup = setup(reader.bytes, reader.directory.clone(), reader.tag.clone());
    let mut end = contender.reader(&setup, reader.readers)?;
    control.done()?;
    let mut number = 0;
    loop {
        number += 1;
        if let Err(error) = end.read(number) {
            // The last of all is another.
            return if error.kind() == io::ErrorKind::InvalidData { Ok(()) } else { Err(error) };
        }
        count.add();
    }
}

/// A line for each size and number of subscribers.
fn print(rows: &[Row], contenders: usize) {
    println!(
        "| bytes | subscribers | who | until all have read, us | of Narrows | processor, us |"
    );
    println!("|---:|---:|---|---:|---:|---:|");
    for cell in rows.chunks(contenders) {
        let first = cell.first().map(|row| median(row, |found| found.all_read));
        for row in cell {
            let (all, used) = (median(row, |it| it.all_read), median(row, |it| it.processor));
            println!(
                "| {} | {} | {} | {:.2} ({:.2} to {:.2}) | {:.2} | {:.2} |",
                row.bytes,
                row.subscribers,
                row.contender,
                all.0 / 1e3,
                all.1 / 1e3,
                all.2 / 1e3,
                all.0 / first.map_or(f64::NAN, |first| first.0),
                used.0 / 1e3,
            );
        }
    }
}

/// The median of a row's visits, their lower quartile and their upper one.
fn median(row: &Row, of: impl Fn(&Found) -> f64) -> (f64, f64, f64) {
    let mut all: Vec<f64> = row.visits.iter().map(of).collect();
    all.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let last = all.len().saturating_sub(1) as f64;
        all.get((last * part).round() as usize).copied().unwrap_or(f64::NAN)
    };
    (at(0.5), at(0.25), at(0.75))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_carries_to_two_what_it_is_given() {
        for contender in all() {
            let directory = tempfile::tempdir().unwrap();
            let setup = setup(4096, directory.path().to_owned(), "t".into());
            let mut publisher = contender.publisher(&setup, 2).unwrap();
            let readers: Vec<_> = (0..2)
                .map(|_| {
                    let setup = setup.clone();
                    std::thread::spawn(move || {
                        let mut reader = contender.reader(&setup, 2)?;
                        (1..=20).try_for_each(|number| reader.read(number))
                    })
                })
                .collect();
            std::thread::sleep(Duration::from_millis(300));
            for _ in 0..100 {
                publisher.attend().unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
            for number in 1..=20 {
                publisher.publish(number).unwrap();
            }
            for reader in readers {
                let read = reader.join().unwrap();
                assert!(read.is_ok(), "{}: {read:?}", contender.name());
            }
        }
    }
}
