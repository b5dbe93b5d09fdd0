//! `narrows run` as a user starts it, and how it ends when something goes wrong.

use crate::common::{BOUND, children, fields, text, told, wait_for};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

fn shipped(name: &str) -> String {
    format!("{}/../../workloads/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A command whose temporary files are in a place of their own, so that what it leaves is seen.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        fs::create_dir(place.temporary()).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn temporary(&self) -> PathBuf {
        self.path("tmp")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
        command.arg("run").args(arguments).env("TMPDIR", self.temporary());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts it and waits until calls are under way; gives the callee as well.
    fn in_the_middle(&self) -> (Child, u32) {
        let out = self.path("out");
        let child = self
            .command(&[&shipped("voice.toml"), "--out", out.to_str().unwrap(), "--json"])
            .args(["--strategy", "copy/interrupt,copy/hybrid,copy/spin", "--duration", "10s"])
            .spawn()
            .unwrap();
        let callee = wait_for(|| callees(child.id()).first().copied());
        (child, callee)
    }

    fn left(&self) -> Vec<PathBuf> {
        fs::read_dir(self.temporary()).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

fn gone(pid: u32) -> bool {
    // A process that has ended and was not waited for yet is gone as well.
    fields(pid).is_none_or(|fields| fields[0] == "Z")
}

/// The callees of that parent that are busy.
fn callees(parent: u32) -> Vec<u32> {
    let callee = |pid: &u32| told(*pid, "cmdline").is_some_and(|line| line.contains("callee"));
    children(parent).into_iter().filter(|pid| callee(pid) && busy(*pid)).collect()
}

/// Whether a callee has been woken by far more than it takes to link and to open flows.
fn busy(pid: u32) -> bool {
    let Some(status) = told(pid, "status") else { return false };
    let switches = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    switches.is_some_and(|count| count.trim().parse::<u32>().unwrap() > 60)
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

fn ends(mut child: Child) -> Output {
    let deadline = Instant::now() + BOUND;
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "it goes on");
        std::thread::yield_now();
    }
    child.wait_with_output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

#[test]
fn voice_goes_there_and_back() {
    let place = Place::new();
    let out = place.path("out");
    let output = place
        .command(&[&shipped("voice.toml"), "--json", "--duration", "300ms"])
        .args(["--strategy", "copy,in_place/spin/internal", "--out", out.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = json(&output);
    let rows = report["results"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for (row, (strategy, flow)) in rows.iter().zip([
        ("copy/hybrid/external", "encode"),
        ("copy/hybrid/external", "decode"),
        ("in_place/spin/internal", "encode"),
        ("in_place/spin/internal", "decode"),
    ]) {
        assert_eq!((row["strategy"].as_str(), row["flow"].as_str()), (Some(strategy), Some(flow)));
        assert!(row["refused"].is_null());
        assert!(row["sent"].as_u64() > Some(0));
        assert_eq!(row["sent"], row["received"]);
        assert_eq!(row["sent"], row["phase_calls"]);
        assert_eq!((row["lost"].as_u64(), row["wrong"].as_u64()), (Some(0), Some(0)));
        let trip = &row["rtt_us"];
        // Each phase is part of its call's round trip, so this holds of every rank; a microsecond
        // is for the stamps, which differ from call to call.
        for key in ["median", "p99", "max"] {
            let trip = trip[key].as_f64().unwrap();
            for phase in ["A", "B", "C", "D", "E"] {
                let part = row["phases_us"][phase][key].as_f64().unwrap();
                assert!(part <= trip * 1.05 + 1.0, "{flow} {strategy} {phase} {part} {trip}");
            }
        }
        assert!(row["phases_us"]["C"]["median"].as_f64() > Some(0.0));
        assert!(trip["median"].as_f64() <= trip["p99"].as_f64());
        assert!(trip["p99"].as_f64() <= trip["max"].as_f64());
        for side in ["caller", "callee"] {
            assert!(row["cpu_percent"][side].as_f64() > Some(0.0));
        }
        assert!(row["calls_per_second"].as_f64() > Some(0.0));
        if flow == "encode" {
            assert!(row["audio"].is_null());
            continue;
        }
        assert_eq!(row["audio"]["differing"], 0);
        let samples = row["audio"]["samples"].as_u64().unwrap();
        assert_eq!(samples, row["received"].as_u64().unwrap() * 160);
        let file = row["audio"]["file"].as_str().unwrap();
        assert!(file.ends_with(&format!("returned-{}.wav", strategy.replace('/', "-"))), "{file}");
        // A header of 44 bytes, then the samples of the first pass.
        assert_eq!(fs::metadata(file).unwrap().len(), 44 + 2 * samples);
    }
    assert_eq!(place.left(), [] as [PathBuf; 0]);
}

#[test]
fn requests_in_parts_come_back_whole() {
    let place = Place::new();
    let file = place.path("x.toml");
    let speech = shipped("speech.wav");
    fs::write(
        &file,
        format!(
            "duration = '10s'\n\
             strategy = ['copy/hybrid/external', 'copy/interrupt/external/parts=5', \
             'in_place/hybrid/internal/parts=7:3']\n\
             [[flow]]\nname = 'echo'\nfunction = 'echo'\nrequest = 9001\nperiod = '3ms'\n\
             parts = 7\ncount = 50\ndepth = 2\n\
             [[flow]]\nname = 'speech'\nfunction = 'g711.encode'\ninput = '{speech}'\n\
             request = 322\nperiod = '2ms'\nparts = 8\ncount = 100\n\
             [[flow]]\nname = 'whole'\nfunction = 'echo'\nrequest = 99\nperiod = '3ms'\ncount = 20"
        ),
    )
    .unwrap();
    let output = place.command(&[file.to_str().unwrap(), "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = json(&output);
    let rows = report["results"].as_array().unwrap();
    assert_eq!(rows.len(), 9);
    for row in rows {
        let cut = row["strategy"].as_str().unwrap().contains("parts=");
        if cut && row["flow"] == "whole" {
            assert!(row["refused"].as_str().unwrap().contains("may not be cut"), "{row}");
            continue;
        }
        let count = match row["flow"].as_str() {
            Some("echo") => 50,
            Some("speech") => 100,
            _ => 20,
        };
        let counts = ["sent", "received", "lost", "wrong"].map(|key| row[key].as_u64().unwrap());
        assert_eq!(counts, [count, count, 0, 0], "{row}");
    }
}

#[test]
fn every_function_runs_and_what_cannot_says_so() {
    let place = Place::new();
    let file = place.path("x.toml");
    fs::write(
        &file,
        "duration = '10s'\n\
         strategy = ['copy/spin/granularity=4', 'in_place/internal', 'copy/region=3']\n\
         [[flow]]\nname = 'deep'\nfunction = 'echo'\nrequest = 700\ndepth = 6\ncount = 3000\n\
         [[flow]]\nname = 'large'\nfunction = 'echo'\nrequest = 100000\ncount = 20\n\
         [[flow]]\nname = 'after'\nfunction = 'echo'\nafter = 'large'\n\
         [[flow]]\nname = 'work'\nfunction = 'busy'\nbusy = '200us'\nperiod = '1ms'\ncount = 9\n\
         [[flow]]\nname = 'status'\nfunction = 'log'\nresponse = 900\nperiod = '1ms'\ncount = 9\n",
    )
    .unwrap();
    let output = place.command(&[file.to_str().unwrap(), "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = json(&output);
    let row = |strategy: &str, flow: &str| {
        let rows = report["results"].as_array().unwrap().iter();
        let mut rows = rows.filter(|row| row["strategy"].as_str().unwrap().starts_with(strategy));
        rows.find(|row| row["flow"] == flow).unwrap().clone()
    };
    for (flow, count) in [("deep", 3000), ("large", 20), ("after", 20), ("work", 9), ("status", 9)]
    {
        for strategy in ["copy/spin/external/granularity=4", "in_place/hybrid/internal"] {
            let row = row(strategy, flow);
            if strategy.starts_with("in_place") && ["large", "after"].contains(&flow) {
                assert!(row["refused"].is_string(), "{row}");
                continue;
            }
            assert_eq!(row["received"], count, "{row}");
            assert_eq!((&row["lost"], &row["wrong"]), (&0.into(), &0.into()), "{row}");
            assert!(row["phase_calls"].as_u64() > Some(0), "{row}");
        }
        let refused = row("copy/hybrid/region=3", flow);
        let why = refused["refused"].as_str().unwrap();
        assert!(why.contains("no memory of that placement"), "{why}");
        assert_eq!(refused["sent"], 0);
    }
    let large = row("in_place", "large");
    assert!(large["refused"].as_str().unwrap().contains("largest block"), "{large}");
}

#[test]
fn a_run_that_can_carry_nothing_is_a_mistake_of_the_workload() {
    let place = Place::new();
    let file = place.path("large.toml");
    std::fs::write(&file, "[[flow]]\nname = 'x'\nfunction = 'echo'\nrequest = 100000\n").unwrap();
    let run = [file.to_str().unwrap(), "--strategy", "copy/spin/internal", "--duration", "50ms"];
    let output = place.command(&run).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert!(said.contains("no flow could be carried") && said.contains("65536 bytes"), "{said}");
}

#[test]
fn two_at_once_do_not_meet() {
    let place = Place::new();
    let start = || {
        place
            .command(&[&shipped("voice.toml"), "--json", "--duration", "200ms"])
            .args(["--strategy", "copy/interrupt"])
            .spawn()
            .unwrap()
    };
    let (one, two) = (start(), start());
    for output in [ends(one), ends(two)] {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(json(&output)["results"][0]["lost"], 0);
    }
    assert_eq!(place.left(), [] as [PathBuf; 0]);
}

#[test]
fn a_killed_callee_ends_the_run_with_a_sentence() {
    let place = Place::new();
    let (child, callee) = place.in_the_middle();
    signal("-KILL", callee);
    let output = ends(child);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{said}");
    assert!(said.contains("killed by signal 9") && said.lines().count() == 1, "{said}");
    assert!(json(&output)["results"][0]["received"].as_u64() > Some(0), "what was measured");
    assert!(gone(callee));
    assert_eq!(place.left(), [] as [PathBuf; 0]);
}

#[test]
fn a_silent_callee_is_a_deadline() {
    let place = Place::new();
    let (child, callee) = place.in_the_middle();
    signal("-STOP", callee);
    let output = ends(child);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(8), "{said}");
    assert!(said.contains("did not answer in time"), "{said}");
    assert!(gone(callee));
    assert_eq!(place.left(), [] as [PathBuf; 0]);
}

#[test]
fn a_killed_caller_takes_its_callee_along() {
    let place = Place::new();
    let (mut child, callee) = place.in_the_middle();
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for(|| gone(callee).then_some(()));
    assert_eq!(place.left(), [] as [PathBuf; 0]);
}

#[test]
fn stopped_by_the_user_it_reports_what_it_has() {
    for name in ["-INT", "-TERM"] {
        let place = Place::new();
        let (child, callee) = place.in_the_middle();
        signal(name, child.id());
        let output = ends(child);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{said}");
        let report = json(&output);
        let notes = report["notes"].to_string();
        assert!(notes.contains("not the whole run"), "{notes}");
        assert!(report["results"][0]["received"].as_u64() > Some(0));
        assert!(gone(callee));
        assert_eq!(place.left(), [] as [PathBuf; 0]);
    }
}

#[test]
fn an_output_that_cannot_be_written_is_code_five() {
    let place = Place::new();
    let voice = shipped("voice.toml");
    let quick = ["--duration", "50ms", "--strategy", "copy/interrupt"];
    let output = place.command(&[&voice, "--out", "/proc/none"]).args(quick).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("/proc/none") && said.lines().count() == 1, "{said}");
    assert!(output.stdout.is_empty());
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let full = full.expect("/dev/full is there: make it with 'mknod -m 666 /dev/full c 1 7'");
    let output = place.command(&[&voice]).args(quick).stdout(full).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("the disk is full"), "{said}");
    assert_eq!(place.left(), [] as [PathBuf; 0]);
}
