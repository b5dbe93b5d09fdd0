//! What traffic is like beside commands that observe it. These measure, for minutes, and assert
//! nothing of times: docs/measured/top.md has what they print.
//!
//! `NARROWS` is the path of the command, `SLICES` how many slices of each kind there are, and
//! `SECONDS` how long one is.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, name};
use narrows::endpoint::{Address, Message};
use narrows::strategy::Strategy;
use narrows_host::{Node, Options};
use rustix::process::{Pid, Signal, kill_process};

const SOON: Option<Duration> = Some(PATIENCE);
const BYTES: usize = 48;
/// Messages that are sent at once.
const BATCH: usize = 32;

fn number(name: &str, usual: usize) -> usize {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}

fn node(directory: &Path, name: &str, strategy: Strategy) -> Node {
    let mut node = Options::new(name).directory(directory).node().unwrap();
    node.open(1).unwrap();
    node.set_strategy(strategy);
    node.set_notification(strategy.notification);
    node
}

/// What one end of a pair does until it is told to stop, and what the other does again and again.
type Answers = fn(&mut Node, &mut [u8]);
type Asks = fn(&mut Node, Address, &mut [u8]) -> usize;

/// Runs a pair in two threads, in slices of which every other one is beside the command. Of each
/// kind, for each slice: nanoseconds of the median turn, and messages a second.
fn slices(
    strategy: &str,
    arguments: &[&str],
    (answers, asks): (Answers, Asks),
) -> [Vec<(f64, f64)>; 2] {
    let (count, seconds) = (number("SLICES", 20), number("SECONDS", 3));
    let time = Duration::from_secs(seconds as u64);
    let temporary = tempfile::tempdir().unwrap();
    let directory = temporary.path();
    let strategy: Strategy = strategy.parse().unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stop = &over;
        let other = scope.spawn(move || {
            let mut node = node(directory, "dsp", strategy);
            let mut buffer = [0; BYTES];
            while !stop.load(Ordering::Acquire) {
                answers(&mut node, &mut buffer);
            }
        });
        let mut node = node(directory, "gpp", strategy);
        let link = node.hunt(&name("dsp"), SOON).unwrap();
        let to = Address { link, port: 1 };
        let command = std::env::var_os("NARROWS").expect("NARROWS is the path of the command");
        let mut command = Command::new(command);
        command.args(arguments).env("NARROWS_DIR", directory).current_dir(directory);
        let mut command = command.stdout(Stdio::null()).spawn().unwrap();
        let signal = |signal| kill_process(Pid::from_child(&command), signal).unwrap();
        let mut kinds = [Vec::new(), Vec::new()];
        let mut buffer = [0; BYTES];
        let mut turns: Vec<u64> = Vec::with_capacity(1 << 24);
        for slice in 0..2 * count {
            let beside = slice % 2;
            signal(if beside == 1 { Signal::CONT } else { Signal::STOP });
            turns.clear();
            let mut messages = 0;
            let begin = Instant::now();
            while begin.elapsed() < time {
                let sent = Instant::now();
                messages += asks(&mut node, to, &mut buffer);
                turns.push(sent.elapsed().as_nanos() as u64);
            }
            let rate = messages as f64 / begin.elapsed().as_secs_f64();
            turns.sort_unstable();
            kinds[beside].push((turns[turns.len() / 2] as f64, rate));
        }
        over.store(true, Ordering::Release);
        other.join().unwrap();
        signal(Signal::CONT);
        signal(Signal::INT);
        let status = command.wait().unwrap();
        println!("the command left with {status}");
        kinds
    })
}

fn print(what: &str, kinds: &[Vec<(f64, f64)>; 2]) {
    for (name, of) in [("median ns", 0), ("messages/s", 1)] {
        let figures = kinds.each_ref().map(|slices| {
            let pick = |slice: &(f64, f64)| if of == 0 { slice.0 } else { slice.1 };
            let mut all: Vec<f64> = slices.iter().map(pick).collect();
            all.sort_by(f64::total_cmp);
            all
        });
        let [without, beside] = figures.each_ref().map(|all| all[all.len() / 2]);
        let range = |all: &Vec<f64>| format!("{:.0} to {:.0}", all[0], all[all.len() - 1]);
        println!(
            "{what} {name}: {without:.0} without ({}), {beside:.0} beside ({}), {:+.2} %",
            range(&figures[0]),
            range(&figures[1]),
            100.0 * (beside / without - 1.0),
        );
    }
}

#[test]
#[ignore = "it measures, for minutes, and asserts nothing of times"]
fn round_trips_beside_top() {
    let echo: Answers = |node, buffer| {
        let soon = Some(Duration::from_millis(100));
        let Ok(message) = node.receive_into(1, buffer, soon) else { return };
        node.send(1, message.from, &*buffer, SOON).unwrap();
    };
    let ask: Asks = |node, to, buffer| {
        node.send(1, to, &*buffer, SOON).unwrap();
        node.receive_into(1, buffer, SOON).unwrap();
        1
    };
    for strategy in ["copy/spin/external", "copy/interrupt/external"] {
        print(strategy, &slices(strategy, &["top", "default"], (echo, ask)));
    }
}

#[test]
#[ignore = "it measures, for minutes, and asserts nothing of times"]
fn batches_beside_record() {
    let take: Answers = |node, buffer| {
        let soon = Some(Duration::from_millis(100));
        // A deadline that passed is looked at again.
        let _ = node.receive_all(1, buffer, |_, _| (), soon);
    };
    let send: Asks = |node, to, buffer| {
        let mut messages: [Message<'_>; BATCH] = std::array::from_fn(|_| Message::from(&*buffer));
        node.send_all(1, to, &mut messages, SOON).unwrap()
    };
    let arguments = ["record", "default", "--out", "recording.pftrace", "--limit", "16GiB"];
    for strategy in ["copy_batched/spin/external", "copy_batched/hybrid/external"] {
        print(strategy, &slices(strategy, &arguments, (take, send)));
    }
}
