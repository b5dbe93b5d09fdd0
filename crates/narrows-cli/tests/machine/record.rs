//! `narrows record` beside nodes that run, and `narrows replay` of what it kept.

use super::common::documented::{assert_keys, assert_report};
use super::common::{narrows, stdout, text, wait_for};
use narrows::endpoint::{Address, Function, Sink, Source};
use narrows_host::observe::Observer;
use narrows_host::{Node, Options};
use narrows_trace::Trace;
use rustix::process::Signal;
use serde_json::Value;
use std::fs::File;
use std::io::BufReader;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SOON: Option<Duration> = Some(Duration::from_secs(10));
const PORT: u16 = 1;

/// Serves a function that answers with half of each request, and takes messages.
fn serve(directory: &Path, stop: &AtomicBool) {
    let mut node = Options::new("dsp").directory(directory).node().unwrap();
    node.open(PORT).unwrap();
    let mut run = |request: &dyn Source, response: &mut dyn Sink| {
        let mut bytes = vec![0; request.len() / 2];
        request.read(0, &mut bytes)?;
        response.write(0, &bytes)
    };
    let mut library = [Function { name: "half".parse().unwrap(), run: &mut run }];
    let mut buffer = [0; 4096];
    while !stop.load(Ordering::Relaxed) {
        node.poll();
        node.try_serve(&mut library);
        while node.try_receive_into(PORT, &mut buffer).unwrap().is_some() {}
        node.wait_any(Some(Duration::from_millis(20)));
    }
}

/// Two nodes, and what one does.
fn between(directory: &Path, act: impl FnOnce(&mut Node)) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| serve(directory, &stop));
        let mut node = Options::new("gpp").directory(directory).node().unwrap();
        node.open(PORT).unwrap();
        let acted = std::panic::catch_unwind(AssertUnwindSafe(|| act(&mut node)));
        stop.store(true, Ordering::Relaxed);
        other.join().unwrap();
        acted.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn payload(number: u64) -> Vec<u8> {
    let len = 16 + (number * 397 % 1500) as usize;
    (0..len).map(|at| (number as usize * 7 + at) as u8).collect()
}

/// Calls, and a message behind each; `rest` comes behind some, with how many there were.
fn talk(node: &mut Node, count: u64, rest: impl Fn(u64)) {
    let link = node.hunt(&"dsp".parse().unwrap(), SOON).unwrap();
    let strategy = "copy/interrupt".parse().unwrap();
    let flow = node.open_flow(link, &"half".parse().unwrap(), strategy, 4096, SOON).unwrap();
    let mut answer = [0; 4096];
    for number in 0..count {
        let bytes = payload(number);
        node.flow(flow).call(&bytes[..], &mut answer, SOON).unwrap();
        node.send(PORT, Address { link, port: PORT }, &bytes[..48.min(bytes.len())], SOON).unwrap();
        if number % 10 == 9 {
            rest(number + 1);
        }
    }
}

/// Waits until the other node has taken every message.
fn settle(directory: &Path) {
    let mut observer = Observer::new("default", Some(directory)).unwrap();
    wait_for(|| {
        let seen = observer.look();
        let mut links = seen.iter().flat_map(|seen| &seen.status.as_ref().unwrap().links);
        links.all(|link| link.counts.unwrap().waiting == Some(0)).then_some(())
    });
}

struct Recorder(Child);

impl Recorder {
    fn start(directory: &Path, out: &Path, arguments: &[&str]) -> Recorder {
        let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
        command.args(["record", "--json", "--out"]).arg(out).args(arguments);
        command.env("NARROWS_DIR", directory).stdout(Stdio::piped());
        let recorder = Recorder(command.spawn().unwrap());
        wait_for(|| out.exists().then_some(()));
        recorder
    }

    fn signal(&self, signal: Signal) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Ends it as a user does, though it may have been stopped, and gives what it said.
    fn end(mut self) -> Value {
        self.signal(Signal::INT);
        self.signal(Signal::CONT);
        let mut output = String::new();
        let pipe = self.0.stdout.take();
        std::io::Read::read_to_string(&mut pipe.unwrap(), &mut output).unwrap();
        assert!(self.0.wait().unwrap().success());
        serde_json::from_str(&output).unwrap()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn read(path: &Path) -> Trace {
    narrows_trace::read(BufReader::new(File::open(path).unwrap())).unwrap()
}

fn of<'a>(trace: &'a Trace, kind: &str) -> Vec<&'a narrows_trace::Journey> {
    trace.messages.iter().filter(|journey| journey.kind == kind).collect()
}

/// Waits until the file has this number of calls. A recorder gives way to all else: however seldom
/// it runs, nothing is overwritten meanwhile.
fn kept(path: &Path, calls: u64) {
    wait_for(|| {
        std::thread::sleep(Duration::from_millis(5));
        let trace = narrows_trace::read(BufReader::new(File::open(path).unwrap())).ok();
        trace.filter(|trace| of(trace, "request").len() as u64 >= calls).map(drop)
    });
}

/// A recording of that many calls and messages, and what the recorder said.
fn recording(count: u64, arguments: &[&str]) -> (tempfile::TempDir, PathBuf, Value) {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("traffic.pftrace");
    let mut said = None;
    between(directory.path(), |node| {
        let recorder = Recorder::start(directory.path(), &out, arguments);
        talk(node, count, |calls| kept(&out, calls));
        settle(directory.path());
        said = Some(recorder.end());
    });
    (directory, out, said.unwrap())
}

#[test]
fn every_message_is_kept_as_it_was_sent_and_the_nodes_know_nothing_of_it() {
    const COUNT: u64 = 200;
    let (_directory, out, said) = recording(COUNT, &["--payload"]);
    let trace = read(&out);
    assert_eq!((trace.dropped, trace.cut), (0, false), "{said}");
    for kind in ["request", "message"] {
        let all = of(&trace, kind);
        assert_eq!(all.len() as u64, COUNT, "{kind}");
        for (journey, number) in all.iter().zip(0..) {
            let mut sent = payload(number);
            if kind == "message" {
                sent.truncate(48);
            }
            assert_eq!(journey.bytes as usize, sent.len());
            // A payload in a block may have been used again before it was read: then there is none.
            if sent.len() <= 48 {
                assert!(journey.payload.is_some(), "{journey:?}");
            }
            assert!(journey.payload.as_ref().is_none_or(|kept| *kept == sent), "{journey:?}");
            assert_eq!(journey.peer, "dsp");
            assert!(journey.taken.is_some(), "{journey:?}");
        }
        let numbers: Vec<u32> = all.iter().map(|journey| journey.number).collect();
        assert!(numbers.is_sorted());
    }
    let answers = of(&trace, "response");
    assert_eq!(answers.len() as u64, COUNT);
    assert_report(&said, &[]);
    let rows = said["results"].as_array().unwrap();
    rows.iter().for_each(|row| assert_keys("A row of `record`", row));
    let kept: u64 = rows.iter().map(|row| row["messages"].as_u64().unwrap()).sum();
    assert_eq!(kept as usize, trace.messages.len());
    assert!(rows.iter().all(|row| row["missed"] == 0), "{said}");
}

#[test]
fn a_recording_is_played_on_a_chip_the_same_to_the_bit_each_time_and_advised_on() {
    const COUNT: u64 = 100;
    let (_directory, out, _) = recording(COUNT, &[]);
    let out = out.to_str().unwrap();
    let arguments = [
        "replay",
        out,
        "--on",
        "davinci",
        "--strategy",
        "copy/interrupt,auto",
        "--speed",
        "0.2",
        "--json",
    ];
    let first = stdout(&narrows(&arguments));
    assert_eq!(first, stdout(&narrows(&arguments)), "a replay is the same each time");
    let report: Value = serde_json::from_str(&first).unwrap();
    assert_report(&report, &["decisions", "chip"]);
    let rows = report["results"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "two flows by two strategies");
    for row in rows {
        assert_keys("A row of `run`", row);
        let both = (row["sent"].as_u64(), row["received"].as_u64());
        assert_eq!(both, (Some(COUNT), Some(COUNT)), "{row}");
        assert_eq!((row["lost"].as_u64(), row["wrong"].as_u64()), (Some(0), Some(0)), "{row}");
    }
    let advice = stdout(&narrows(&["advise", "--from", out, "--on", "generic-amp"]));
    assert!(advice.contains("narrows replay"), "{advice}");
    // The trace of the replay has the same calls, in the same order.
    let traced = tempfile::NamedTempFile::new().unwrap();
    let path = traced.path().to_str().unwrap();
    stdout(&narrows(&["replay", out, "--on", "davinci", "--trace", path]));
    let (recorded, played) = (read(Path::new(out)), read(traced.path()));
    let lengths = |trace: &Trace, named: &str| -> Vec<u32> {
        let all = of(trace, "request").into_iter();
        let flow =
            all.filter(|j| j.bytes >= 16 && trace.tracks[j.sent.unwrap().0 as usize].name == named);
        flow.map(|journey| journey.bytes).filter(|bytes| *bytes > 48).collect()
    };
    let caller = played.tracks[of(&played, "request")[0].sent.unwrap().0 as usize].name.clone();
    assert_eq!(lengths(&recorded, "gpp"), lengths(&played, &caller));
}

#[test]
fn a_recorder_that_is_killed_leaves_all_but_the_last_moment() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("traffic.pftrace");
    between(directory.path(), |node| {
        let recorder = Recorder::start(directory.path(), &out, &[]);
        talk(node, 100, |calls| kept(&out, calls));
        recorder.signal(Signal::KILL);
        drop(recorder);
        // The observed go on.
        talk_on(node);
    });
    assert_eq!(of(&read(&out), "request").len(), 100);
}

#[test]
fn what_passed_before_a_recorder_was_told_to_end_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("traffic.pftrace");
    between(directory.path(), |node| {
        let recorder = Recorder::start(directory.path(), &out, &[]);
        recorder.signal(Signal::STOP);
        talk(node, 40, |_| ());
        recorder.end();
    });
    assert_eq!(of(&read(&out), "request").len(), 40);
}

fn talk_on(node: &mut Node) {
    let link = node.links().next().unwrap().0;
    node.send(PORT, Address { link, port: PORT }, b"on", SOON).unwrap();
}

#[test]
fn what_cannot_be_recorded_or_played_is_said_in_a_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("x");
    let record = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
        command.args(["record"]).args(arguments).env("NARROWS_DIR", directory.path());
        command.output().unwrap()
    };
    let nobody = record(&["nobody", "--out", out.to_str().unwrap()]);
    assert!(text(&nobody.stderr).contains("no node of the domain nobody"), "{nobody:?}");
    assert!(!out.exists());
    let _node = Options::new("n").directory(directory.path()).node().unwrap();
    let nowhere = record(&["--out", "/nonexistent/x"]);
    assert!(text(&nowhere.stderr).contains("cannot write /nonexistent/x"), "{nowhere:?}");
    let empty = record(&["--out", out.to_str().unwrap(), "--for", "50ms"]);
    assert!(stdout(&empty).contains("no message passed"), "{empty:?}");
    let replay = narrows(&["replay", out.to_str().unwrap()]);
    assert!(!replay.status.success());
    std::fs::write(&out, "no trace").unwrap();
    let replay = narrows(&["replay", out.to_str().unwrap()]);
    assert!(text(&replay.stderr).contains("begins no packet"), "{replay:?}");
    let speed = narrows(&["replay", out.to_str().unwrap(), "--speed", "0"]);
    assert!(text(&speed.stderr).contains("expected a number from"), "{speed:?}");
}
