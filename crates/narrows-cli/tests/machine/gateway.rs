//! Flows that come and go, by strategies of their own and as the controller chooses: `narrows run`
//! as a user starts it.
//!
//! `GATEWAY_VIRTUAL` and `GATEWAY_HOST` say how long it is carried on a simulated chip and here,
//! instead of a few seconds: `ci/gateway` sets them.

use crate::common::documented::{assert_keys, assert_report};
use crate::common::{children, fields, wait_for};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The least time between two switches of a flow that are not necessary, in seconds, as
/// docs/MODEL.md has it.
const REST: f64 = 0.5;

fn gateway() -> String {
    format!("{}/../../workloads/gateway.toml", env!("CARGO_MANIFEST_DIR"))
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
    command.arg("run").args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn report(arguments: &[&str]) -> Value {
    let output = run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap()
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} of {value}"))
}

fn sum(report: &Value, key: &str) -> f64 {
    list(report, "results").iter().map(|row| number(row, key)).sum()
}

fn load(report: &Value, strategy: &str) -> f64 {
    let mut rows = list(report, "results").iter();
    let row = rows.find(|row| row["strategy"] == strategy).unwrap();
    number(&row["cpu_percent"], "caller")
}

/// Nothing was lost, came out of order or twice: an answer to another call is a wrong one.
fn check_messages(report: &Value) {
    assert!(sum(report, "sent") > 0.0);
    assert_eq!(sum(report, "sent"), sum(report, "received"));
    for key in ["lost", "wrong"] {
        assert_eq!(sum(report, key), 0.0, "{key}");
    }
}

/// Internal memory was kept to, switches were counted, and are as few as is promised.
fn check_decisions(report: &Value, seconds: f64, memory: f64) {
    let decisions = list(report, "decisions");
    assert!(!decisions.is_empty());
    let (mut done, mut unforced) = (0.0, std::collections::BTreeMap::new());
    for decision in decisions {
        assert!(number(decision, "memory_bytes") <= memory, "{decision}");
        let saves = decision["reason"] == "saves";
        for switch in list(decision, "switches") {
            assert_ne!(switch["from"], switch["to"]);
            if !switch["took_ms"].is_null() {
                assert!(switch["failed"].is_null(), "{switch}");
                done += 1.0;
                let flow = switch["flow"].as_str().unwrap().to_owned();
                *unforced.entry(flow).or_insert(0.0) += f64::from(u8::from(saves));
            }
        }
    }
    assert_eq!(sum(report, "switches"), done, "those that are logged are those that were made");
    assert!(done > 0.0, "no flow ever switched: nothing was tried");
    let came = decisions.iter().filter(|decision| decision["cause"] == "arrived").count();
    for (flow, count) in unforced {
        // A flow that leaves and comes back has not just switched.
        assert!(count <= seconds / REST + 1.0 + came as f64, "{flow}: {count} in {seconds} s");
    }
}

fn time(variable: &str, usual: &str) -> (String, f64) {
    let text = std::env::var(variable).unwrap_or_else(|_| usual.to_owned());
    let time = humantime::parse_duration(&text).unwrap();
    (text, time.as_secs_f64())
}

#[test]
fn sessions_on_a_chip_keep_every_promise_at_no_more_load_than_static() {
    let (duration, seconds) = time("GATEWAY_VIRTUAL", "6s");
    for (memory, bytes) in [("1KiB", 1024.0), ("16KiB", 16384.0), ("32KiB", 32768.0)] {
        let path = gateway();
        let more = ["--on", "davinci", "--memory", memory, "--duration", &duration, "--json"];
        let report = report(&[&[path.as_str()], &more[..]].concat());
        check_messages(&report);
        check_decisions(&report, seconds, bytes);
        let chosen = list(&report, "results").iter().filter(|row| row["strategy"] == "auto");
        let late: f64 = chosen.map(|row| number(row, "deadline_misses")).sum();
        assert_eq!(late, 0.0, "{memory}");
        assert!(load(&report, "auto") <= load(&report, "static"), "{memory}");
    }
}

#[test]
fn a_run_on_a_chip_is_the_same_every_time_and_has_the_keys_that_are_documented() {
    let path = gateway();
    let arguments = [path.as_str(), "--on", "davinci", "--duration", "3s", "--json"];
    let first = run(&arguments);
    assert_eq!(first.stdout, run(&arguments).stdout);
    let report: Value = serde_json::from_slice(&first.stdout).unwrap();
    assert_report(&report, &["decisions", "chip"]);
    let mut switches = 0;
    for decision in list(&report, "decisions") {
        assert_keys("`decisions` of `run`", decision);
        for switch in list(decision, "switches") {
            assert_keys("`decisions` of `run` > A switch has", switch);
            switches += 1;
        }
    }
    assert!(switches > 0, "no switch was looked at");
    let text = run(&[&arguments[..5], &["--details"]].concat());
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("\nAdapting "), "{text}");
    assert!(text.contains(" decisions, ") && text.contains(" arrived: "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn sessions_here_lose_nothing_while_they_switch() {
    let (duration, seconds) = time("GATEWAY_HOST", "5s");
    let path = gateway();
    let by = ["--strategy", "auto", "--costs", "davinci", "--memory", "1KiB"];
    let more = ["--duration", &duration, "--json"];
    let report = report(&[&[path.as_str()], &by[..], &more[..]].concat());
    check_messages(&report);
    check_decisions(&report, seconds, 1024.0);
}

/// Sessions so short that something always switches.
const RESTLESS: &str = r#"
strategy = "auto"
duration = "30s"
memory = "1KiB"
[[flow]]
name = "a"
function = "busy"
busy = "100us"
request = 320
response = 160
period = "5ms"
deadline = "80ms"
sessions = 6
on = "100ms"
off = "50ms"
"#;

fn signal(process: u32, signal: rustix::process::Signal) {
    let process = rustix::process::Pid::from_raw(process.cast_signed()).unwrap();
    rustix::process::kill_process(process, signal).unwrap();
}

/// Ticks of processor time that a process has used.
fn worked(process: u32) -> u64 {
    fields(process).expect("a process that runs")[11].parse().expect("a number")
}

#[test]
fn a_peer_that_dies_while_flows_switch_ends_the_run_with_a_sentence() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("w.toml");
    std::fs::write(&path, RESTLESS).unwrap();
    // More than a pipe holds.
    let told = place.path().join("report.json");
    let mut unfinished = 0;
    for ticks in [3, 10, 20] {
        let mut child: Child = command(&[path.to_str().unwrap(), "--costs", "davinci", "--json"])
            .stdout(std::fs::File::create(&told).unwrap())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let callee = wait_for(|| children(child.id()).first().copied());
        wait_for(|| (worked(callee) >= ticks).then_some(()));
        // It stands still first, so that a switch that is wanted meanwhile has begun when it dies.
        signal(callee, rustix::process::Signal::STOP);
        let stopped = Instant::now();
        wait_for(|| (stopped.elapsed() > Duration::from_millis(700)).then_some(()));
        signal(callee, rustix::process::Signal::KILL);
        wait_for(|| child.try_wait().unwrap());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(6), "{said}");
        assert!(said.contains("killed by signal 9"), "{said}");
        let report: Value = serde_json::from_slice(&std::fs::read(&told).unwrap()).unwrap();
        let decisions = list(&report, "decisions");
        let open = |switch: &Value| switch["took_ms"].is_null() && switch["failed"].is_null();
        unfinished +=
            decisions.iter().flat_map(|one| list(one, "switches")).filter(|one| open(one)).count();
    }
    assert!(unfinished > 0, "no flow was switching when the other side died");
}

#[test]
fn flows_that_leave_in_the_middle_of_a_switch_hold_nobody_up() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("w.toml");
    std::fs::write(&path, RESTLESS).unwrap();
    let more = ["--on", "davinci", "--duration", "10s", "--json"];
    let report = report(&[&[path.to_str().unwrap()], &more[..]].concat());
    check_messages(&report);
    check_decisions(&report, 10.0, 1024.0);
    let switches = list(&report, "decisions").iter().flat_map(|one| list(one, "switches"));
    let left = switches.filter(|one| one["failed"] == "the flow left").count();
    assert!(left > 0, "no flow left while it switched: nothing was tried");
    assert_eq!(sum(&report, "deadline_misses"), 0.0);
}

#[test]
fn a_flow_without_a_deadline_keeps_pace() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("w.toml");
    let flow = "[[flow]]\nname='a'\nfunction='busy'\nbusy='100us'\nrequest=64\nresponse=64\n";
    std::fs::write(&path, format!("{flow}period='5ms'\n")).unwrap();
    let more = ["--strategy", "auto", "--on", "davinci", "--duration", "2s", "--json"];
    let report = report(&[&[path.to_str().unwrap()], &more[..]].concat());
    check_messages(&report);
    assert_eq!(sum(&report, "sent"), 400.0);
}

#[test]
fn what_does_not_go_together_is_refused_in_a_sentence() {
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path: PathBuf = place.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let flow = "[[flow]]\nname='a'\nfunction='echo'\nrequest=64\n";
    let aperiodic = file("aperiodic.toml", flow);
    let late = file("late.toml", &format!("{flow}period='1ms'\narrives='5s'\n"));
    let hurried = file("hurried.toml", &format!("{flow}period='20ms'\ndeadline='10us'\n"));
    let gateway = gateway();
    let cases: [(&[&str], i32, &str); 10] = [
        (&[&gateway, "--live", "--duration", "1s"], 2, "standard output is none"),
        (&[&gateway, "--live", "--json"], 2, "take one of them"),
        (&[&gateway, "--details", "--json"], 2, "leave one out"),
        (&[&gateway, "--out", "nowhere"], 2, "no flow of this workload decodes"),
        (&[&aperiodic, "--memory", "1KiB"], 2, "add --strategy auto"),
        (&[&aperiodic, "--costs", "davinci"], 2, "add --strategy auto"),
        (&[&aperiodic, "--strategy", "auto", "--on", "davinci"], 3, "has no period"),
        (&[&aperiodic, "--strategy", "static"], 3, "has no strategy of its own"),
        (&[&late, "--duration", "2s"], 3, "arrives when the run is over"),
        (
            &[&hurried, "--strategy", "auto", "--on", "davinci", "--duration", "1s"],
            3,
            "no plan keeps every deadline: a flow needs",
        ),
    ];
    for (arguments, code, sentence) in cases {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(sentence), "{arguments:?}: {said}");
    }
}

/// Memory that is taken away and given back, and a flow that grows beyond it and shrinks again.
const CHANGES: &str = r#"
duration = "4s"
memory = "32KiB"
strategy = "auto"
[[flow]]
name = "audio"
function = "busy"
busy = "1ms"
request = 320
response = 160
period = "20ms"
deadline = "60ms"
[[flow]]
name = "video"
function = "busy"
busy = "5ms"
request = 2000
response = 800
period = "100ms"
deadline = "150ms"
[[change]]
at = "1s"
memory = "0B"
[[change]]
at = "2s"
memory = "32KiB"
[[change]]
at = "3s"
flow = "video"
request = 18000
[[change]]
at = "3500ms"
flow = "video"
request = 1000
response = 900
"#;

#[test]
fn budgets_and_sizes_that_change_are_planned_with() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("changes.toml");
    std::fs::write(&file, CHANGES).unwrap();
    let report = report(&[file.to_str().unwrap(), "--on", "davinci", "--json"]);
    check_messages(&report);
    assert_eq!(sum(&report, "sent"), 200.0 + 40.0);
    assert_eq!(sum(&report, "deadline_misses"), 0.0);
    let all = list(&report, "decisions");
    let at = |cause: &str| -> Vec<f64> {
        let of = all.iter().filter(|one| one["cause"] == cause);
        of.map(|one| number(one, "at_s")).collect()
    };
    let near = |found: &[f64], expected: &[f64]| {
        found.len() == expected.len()
            && found.iter().zip(expected).all(|(a, b)| (0.0..0.01).contains(&(a - b)))
    };
    assert!(near(&at("budget"), &[1.0, 2.0]), "{all:?}");
    assert!(near(&at("changed"), &[3.0, 3.5]), "{all:?}");
    // While there is no memory, none is taken: audio has to leave it, and comes back.
    let reason = |second: f64| {
        let of = |one: &&Value| one["cause"] == "budget" && number(one, "at_s") >= second;
        all.iter().find(of).unwrap()
    };
    for (second, reason_for, to) in [(1.0, "memory", "external"), (2.0, "saves", "internal")] {
        let made = reason(second);
        assert_eq!(made["reason"], reason_for, "{made}");
        let switches = list(made, "switches");
        let audio = switches.iter().find(|one| one["flow"] == "audio").unwrap();
        assert!(audio["to"].as_str().unwrap().contains(to) && audio["failed"].is_null(), "{made}");
    }
    assert_eq!(number(all.last().unwrap(), "memory_most_bytes"), 960.0);
}
