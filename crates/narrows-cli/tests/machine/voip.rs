//! Real calls. They need the packages of `ci/setup telephone` and what `make -C apps/linphone-dsp`
//! builds, so they are run by `ci/telephone`.
//!
//! `TELEPHONE_LENGTH` says how long calls come and go, instead of a few seconds.

use crate::common::documented::{assert_inner, assert_keys};
use crate::common::{BOUND, nothing_is_left, text};
use serde_json::Value;
use std::fs;
use std::io::BufReader;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

fn voip(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
    // Of the machine's other calls nothing is seen: the temporary directory names these.
    command.arg("voip").args(arguments.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    command
}

/// Whether this user's processes may go before all others.
fn may_go_first() -> bool {
    Command::new("chrt").args(["-f", "1", "true"]).output().is_ok_and(|ran| ran.status.success())
}

/// The row of a call, and the notes. Other work of the machine, which would hold up the sound,
/// comes behind it where that may be.
fn called(arguments: &str) -> (Value, String) {
    let priority = if may_go_first() { " --priority 1" } else { "" };
    let output = voip(&format!("{arguments} --json{priority}")).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["command"], "voip");
    (report["results"][0].clone(), report["notes"].to_string())
}

fn figure(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("{key} of {row}"))
}

/// Whether a call is as it should be, and in which sentence not.
fn is_good(row: &Value) -> Result<(), String> {
    let count = |key: &str| figure(row, key);
    let frames = count("seconds") * 50.0;
    for (good, what) in [
        (count("correlation") > 0.99, "what was heard is not what was said"),
        (count("packets") > 0.9 * frames, "packets are missing"),
        (count("frames_dsp") > 3.0 * frames, "the DSP has not coded most frames of both"),
        // Where the machine has much to do, the DSP may be late.
        (
            count("frames_here") == 0.0 || count("frames_late") > 0.0,
            "a telephone coded frames itself",
        ),
        (
            count("frames_served") == count("frames_dsp") + count("frames_late"),
            "the DSP counts others than the telephones",
        ),
    ] {
        if !good {
            return Err(format!("{what}: {row}"));
        }
    }
    Ok(())
}

#[test]
#[ignore = "ci/telephone runs it"]
fn a_call_goes_through_and_the_dsp_codes_every_frame() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("call.pftrace");
    let (row, notes) = called(&format!("--codec dsp --length 8s --trace {}", file.display()));
    is_good(&row).unwrap_or_else(|why| panic!("{why}\n{notes}"));
    let trace = narrows_trace::read(BufReader::new(fs::File::open(&file).unwrap())).unwrap();
    let requests = trace.messages.iter().filter(|journey| journey.kind == "request").count();
    assert_eq!((trace.dropped, requests as f64), (0, figure(&row, "frames_served")));
    assert_keys("A row of `voip`", &row);
    assert_inner("A row of `voip`", &row, "latency_us", &[]);
}

#[test]
#[ignore = "ci/telephone runs it"]
fn calls_that_come_and_go_lose_no_frame_and_leave_nothing() {
    let temporary = tempfile::tempdir().unwrap();
    let time = std::env::var("TELEPHONE_LENGTH").unwrap_or_else(|_| "1s".to_owned());
    let asked = format!("--codec dsp --length 3s --calls 2 --again {time} --json");
    let output = voip(&asked).env("TMPDIR", temporary.path()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    nothing_is_left(temporary.path());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["results"].as_array().unwrap();
    assert!(rows.len() > 1, "no call came after the first: {report}");
    // The DSP has served the calls of all of them: what each telephone gave it, and nothing else.
    let given = rows.iter().map(|row| figure(row, "frames_dsp") + figure(row, "frames_late"));
    let (last, before) = rows.split_last().unwrap();
    assert_eq!(figure(last, "frames_served"), given.sum::<f64>());
    assert!(before.iter().all(|row| row["frames_served"].is_null()));
    for row in rows {
        assert_eq!(figure(row, "lost"), 0.0, "{row}");
        assert!(figure(row, "frames_here") == 0.0 || figure(row, "frames_late") > 0.0, "{row}");
        // Both callers were heard all the time.
        assert!(figure(row, "packets") > 0.9 * 100.0 * figure(row, "seconds"), "{row}");
        assert!(row["correlation"].is_f64(), "nothing was heard: {row}\n{}", report["notes"]);
    }
}

#[test]
#[ignore = "ci/telephone runs it"]
fn a_call_goes_on_without_the_dsp_and_with_it_again() {
    let (row, notes) = called("--codec dsp --length 4s --kill 1500ms");
    assert!(notes.contains("dsp is gone") && notes.contains("dsp is back"), "{notes}");
    let count = |key: &str| figure(&row, key);
    assert!(count("lost") == 2.0 && count("frames_here") > 0.0, "{row}");
    assert!(count("frames_dsp") > count("frames_here"), "{row}");
    // The DSP was away for a second.
    assert!(count("longest_ms") < 1000.0, "{row}");
}

/// The process that a command has started under this name.
fn child(parent: &Child, name: &str) -> u32 {
    let begun = Instant::now();
    loop {
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            // It may have gone.
            let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
            let Some((named, after)) = stat.rsplit_once(") ") else { continue };
            let of = after.split(' ').nth(1) == Some(&parent.id().to_string());
            if of && named.ends_with(&format!("({name}")) {
                return pid;
            }
        }
        assert!(begun.elapsed() < BOUND, "there is no {name}");
        std::thread::yield_now();
    }
}

/// Starts a long call, ends a process of it, and waits for the command.
fn ended(temporary: &Path, name: Option<&str>) -> Output {
    let mut command = voip("--codec dsp --length 60s");
    let started = command.env("TMPDIR", temporary).spawn().unwrap();
    // What is started first, and last.
    let registrar = child(&started, "kamailio");
    child(&started, "dumpcap");
    let (pid, signal) = match name {
        Some(_) => (registrar, "-KILL"),
        None => (started.id(), "-INT"),
    };
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
    let output = started.wait_with_output().unwrap();
    nothing_is_left(temporary);
    output
}

#[test]
#[ignore = "ci/telephone runs it"]
fn a_registrar_that_dies_ends_the_calls_and_leaves_nothing() {
    let temporary = tempfile::tempdir().unwrap();
    let output = ended(temporary.path(), Some("kamailio"));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{said}");
    assert!(said.contains("the registrar (kamailio) was killed"), "{said}");
}

#[test]
#[ignore = "ci/telephone runs it"]
fn a_call_that_is_stopped_leaves_nothing() {
    let temporary = tempfile::tempdir().unwrap();
    let output = ended(temporary.path(), None);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
