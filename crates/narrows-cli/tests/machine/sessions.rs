//! Real sessions through the gateway. They need the packages of `ci/setup gateway` and what
//! `cargo build --release --manifest-path apps/gateway/Cargo.toml` builds, so they are run by
//! `ci/media-gateway`.
//!
//! `MEDIA_LENGTH` says how long sessions come and go, instead of a few seconds.

use crate::common::documented::{assert_inner, assert_keys};
use crate::common::{children, nothing_is_left, told, wait_for};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn gateway(arguments: &str, temporary: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
    command.arg("gateway").args(arguments.split(' ')).env("TMPDIR", temporary);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The report of sessions that leave nothing behind.
fn carried(arguments: &str) -> Value {
    let temporary = tempfile::tempdir().unwrap();
    let output = gateway(&format!("{arguments} --json"), temporary.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    nothing_is_left(temporary.path());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["command"], "gateway");
    report
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("{key} of {value}"))
}

fn sum(row: &Value, key: &str) -> u64 {
    let count = |flow: &Value| flow[key].as_u64().unwrap_or_else(|| panic!("{key} of {flow}"));
    list(row, "flows").iter().map(count).sum()
}

fn here(report: &Value) -> impl Iterator<Item = &Value> {
    list(report, "results").iter().filter(|row| row["source"] == "here")
}

/// Both kinds were carried, and each frame was heard, or somebody says what became of it.
fn check(row: &Value) {
    assert_eq!(list(row, "flows").len(), 2, "{row}");
    assert!(sum(row, "sent") > 0 && sum(row, "heard") > 0, "{row}");
    assert_eq!(sum(row, "silent"), 0, "frames were lost silently: {row}");
}

#[test]
#[ignore = "ci/media-gateway runs it"]
fn sessions_come_and_go_and_no_frame_is_lost() {
    let asked = match std::env::var("MEDIA_LENGTH") {
        Ok(length) => format!("--strategy auto --length {length}"),
        Err(_) => "--length 6s".to_owned(),
    };
    let report = carried(&format!("--audio 4 --video 4 {asked}"));
    for row in here(&report) {
        check(row);
        assert_eq!(sum(row, "lost"), 0, "{row}");
        assert!(list(row, "flows").iter().all(|flow| flow["work_us"].is_f64()), "{row}");
    }
    // The same sessions were simulated.
    let ways = |source: &str| {
        let rows = list(&report, "results").iter().filter(|row| row["source"] == source);
        rows.map(|row| row["strategy"].clone()).collect::<Vec<_>>()
    };
    assert!(!ways("here").is_empty());
    assert_eq!(ways("here"), ways("davinci"));
    let table = "A row of `gateway`";
    let [flow, decision] = ["flows", "decisions"].map(|key| format!("{table} > key of `{key}`"));
    for row in list(&report, "results") {
        assert_keys(table, row);
        for one in list(row, "flows") {
            assert_keys(&flow, one);
            if !one["answer_us"].is_null() {
                assert_inner(&flow, one, "answer_us", &[]);
            }
        }
        list(row, "decisions").iter().for_each(|one| assert_keys(&decision, one));
    }
}

#[test]
#[ignore = "ci/media-gateway runs it"]
fn sessions_go_on_without_the_dsp_and_with_it_again() {
    let report = carried("--audio 2 --video 2 --strategy static --length 5s --kill 2s");
    let row = here(&report).next().unwrap();
    check(row);
    assert!(sum(row, "dropped") > 0, "the DSP had nothing when it was killed: {row}");
    assert!(row["dsp_percent"].is_null(), "{row}");
}

/// Starts sessions, ends a process once both kinds are under way, and waits for the command.
fn ended(name: Option<&str>) -> Output {
    let temporary = tempfile::tempdir().unwrap();
    let started = gateway("--strategy static --length 60s", temporary.path()).spawn().unwrap();
    let named = |name: &str| {
        let command = |pid: &u32| told(*pid, "cmdline").unwrap_or_default();
        let found =
            |pid: &u32| command(pid).split('\0').next().is_some_and(|one| one.ends_with(name));
        children(started.id()).into_iter().find(found)
    };
    wait_for(|| named("gst-launch-1.0"));
    wait_for(|| named("ffmpeg"));
    let (pid, signal) = match name {
        Some(name) => (wait_for(|| named(name)), "-KILL"),
        None => (started.id(), "-INT"),
    };
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
    let output = started.wait_with_output().unwrap();
    nothing_is_left(temporary.path());
    output
}

#[test]
#[ignore = "ci/media-gateway runs it"]
fn a_gateway_that_dies_ends_the_sessions_and_leaves_nothing() {
    let output = ended(Some("narrows-gateway"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{said}");
    assert!(said.contains("the gateway (narrows-gateway) was killed"), "{said}");
}

#[test]
#[ignore = "ci/media-gateway runs it"]
fn sessions_that_are_stopped_leave_nothing() {
    let output = ended(None);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
