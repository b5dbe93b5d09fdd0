//! Sessions that begin only when others have made room for them, on a simulated chip.

use super::common::stdout;
use super::cut::without_engine;
use serde_json::Value;
use std::process::Command;

/// Three sessions of the gateway's audio and three of its video, which begin spread over a period,
/// or together.
fn six(seconds: u32, spread: bool) -> String {
    let mut text = format!("name = \"six\"\nduration = \"{seconds}s\"\nmemory = \"1KiB\"\n");
    let kinds = [(20, 320, 160, 1, 80), (100, 18432, 800, 10, 300)];
    for (kind, (period, request, response, busy, deadline)) in kinds.into_iter().enumerate() {
        for at in 0..3 {
            text += &format!(
                "[[flow]]\nname = \"{}{at}\"\nfunction = \"busy\"\nbusy = \"{busy}ms\"\n\
                 period = \"{period}ms\"\nrequest = {request}\nresponse = {response}\n\
                 deadline = \"{deadline}ms\"\narrives = \"{}us\"\n",
                ["audio", "video"][kind],
                period * 1000 * (2 * at + kind) / 6 * usize::from(spread) + 1,
            );
        }
    }
    text
}

/// By looks as rare as are best for five, audio would be late with a sixth: so it switches before
/// the sixth begins.
#[test]
fn a_session_is_let_in_that_there_is_a_plan_for_and_begins_when_others_have_switched() {
    let directory = tempfile::tempdir().unwrap();
    let (chip, path) = (without_engine(directory.path()), directory.path().join("w.toml"));
    std::fs::write(&path, six(2, true)).unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_narrows"))
        .args(["run", path.to_str().unwrap(), "--on", chip.to_str().unwrap()])
        .args(["--strategy", "auto", "--json"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_str(&stdout(&run)).unwrap();
    let rows = report["results"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    for row in rows {
        let counts = ["refusals", "deadline_misses", "wrong", "lost"].map(|key| row[key].as_u64());
        assert_eq!(counts, [Some(0); 4], "{row}");
        assert!(row["received"].as_u64().unwrap() >= 18, "{row}");
    }
    let decisions = report["decisions"].as_array().unwrap();
    let made = |one: &&Value| one["cause"] == "arrived" && one["reason"] == "deadline";
    let made = decisions.iter().find(made).expect("a session for which others switch");
    let switches = made["switches"].as_array().unwrap();
    assert!(!switches.is_empty() && made["refused"].is_null(), "{made}");
    assert!(switches.iter().all(|one| one["flow"] != made["flow"]), "{made}");
}

/// A call that waits for others' says nothing of its own work: else a core would seem to be asked
/// for more time than it has.
#[test]
fn sessions_that_always_come_together_are_thought_to_take_what_they_take() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("w.toml");
    std::fs::write(&path, six(4, false)).unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_narrows"))
        .args(["run", path.to_str().unwrap(), "--on", "nios2-dual"])
        .args(["--strategy", "auto", "--json"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_str(&stdout(&run)).unwrap();
    for made in report["decisions"].as_array().unwrap() {
        assert!(made["cause"] != "learnt" && made["refused"].is_null(), "{made}");
    }
}
