//! Sessions that begin only when others have made room for them, on a simulated chip.

use super::common::stdout;
use super::cut::without_engine;
use serde_json::Value;
use std::process::Command;

const AUDIO: usize = 0;
const VIDEO: usize = 1;
/// Of either the period in milliseconds.
const PERIODS: [u32; 2] = [20, 100];

/// Three sessions of the gateway's audio and three of its video, which begin spread over a period,
/// or together.
fn six(seconds: u32, spread: bool) -> String {
    let at = |kind: usize| {
        let at = move |one: u32| PERIODS[kind] * 1000 * (2 * one + kind as u32) / 6;
        (0..3u32).map(move |one| (kind, at(one) * u32::from(spread) + 1))
    };
    let sessions: Vec<(usize, u32)> = at(AUDIO).chain(at(VIDEO)).collect();
    workload(seconds, "1KiB", &sessions)
}

/// Sessions, each of a kind, that begin after the microseconds given with it.
fn workload(seconds: u32, memory: &str, sessions: &[(usize, u32)]) -> String {
    let mut text = format!("name = \"some\"\nduration = \"{seconds}s\"\nmemory = \"{memory}\"\n");
    let kinds = [(320, 160, 1, 80), (18432, 800, 10, 300)];
    for (number, (kind, at)) in sessions.iter().enumerate() {
        let (name, period) = (["audio", "video"][*kind], PERIODS[*kind]);
        let (request, response, busy, deadline) = kinds[*kind];
        text += &format!(
            "[[flow]]\nname = \"{name}{number}\"\nfunction = \"busy\"\nbusy = \"{busy}ms\"\n\
             period = \"{period}ms\"\nrequest = {request}\nresponse = {response}\n\
             deadline = \"{deadline}ms\"\narrives = \"{at}us\"\n",
        );
    }
    text
}

/// Carries it by `auto` on a chip.
fn carried(chip: &str, workload: &str) -> Value {
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(file.path(), workload).unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_narrows"))
        .args(["run", file.path().to_str().unwrap(), "--on", chip])
        .args(["--strategy", "auto", "--json"])
        .output()
        .unwrap();
    serde_json::from_str(&stdout(&run)).unwrap()
}

/// Every session of it was carried, in time and from its beginning on.
fn all_carried(report: &Value, sessions: usize, least: u64) {
    let rows = report["results"].as_array().unwrap();
    assert_eq!(rows.len(), sessions);
    for row in rows {
        let counts = ["refusals", "deadline_misses", "wrong", "lost"].map(|key| row[key].as_u64());
        assert_eq!(counts, [Some(0); 4], "{row}");
        assert!(row["received"].as_u64().unwrap() >= least, "{row}");
    }
}

/// By looks as rare as are best for five, audio would be late with a sixth: so it switches before
/// the sixth begins.
#[test]
fn a_session_is_let_in_that_there_is_a_plan_for_and_begins_when_others_have_switched() {
    let directory = tempfile::tempdir().unwrap();
    let chip = without_engine(directory.path());
    let report = carried(chip.to_str().unwrap(), &six(2, true));
    all_carried(&report, 6, 18);
    let decisions = report["decisions"].as_array().unwrap();
    let made = |one: &&Value| one["cause"] == "arrived" && one["reason"] == "deadline";
    let made = decisions.iter().find(made).expect("a session for which others switch");
    let switches = made["switches"].as_array().unwrap();
    assert!(!switches.is_empty() && made["refused"].is_null(), "{made}");
    assert!(switches.iter().all(|one| one["flow"] != made["flow"]), "{made}");
}

/// The first of audio switches to looks every 10 ms when the last of video comes: beside that there
/// is no plan with it, and there is one as soon as the first can be told to look more often.
#[test]
fn a_session_that_comes_while_another_switches_waits_until_it_has() {
    let directory = tempfile::tempdir().unwrap();
    let chip = without_engine(directory.path());
    let sessions =
        [(AUDIO, 17_587), (AUDIO, 2_787), (VIDEO, 31_518), (VIDEO, 9_537), (VIDEO, 24_582)];
    let report = carried(chip.to_str().unwrap(), &workload(1, "16KiB", &sessions));
    all_carried(&report, 5, 9);
}

/// Beside three sessions of audio and two of video that look every 10 ms there is 10 ms less for a
/// sixth than where they are told, and to be told they only have to switch before it begins.
#[test]
fn six_sessions_are_carried_at_whatever_moments_they_begin() {
    let mut moments = fastrand::Rng::with_seed(1);
    for _ in 0..4 {
        let mut one = |kind: usize| (kind, moments.u32(1..PERIODS[kind] * 1000));
        let sessions = [AUDIO, AUDIO, AUDIO, VIDEO, VIDEO, VIDEO].map(&mut one);
        let report = carried("nios2-dual", &workload(1, "4KiB", &sessions));
        all_carried(&report, 6, 8);
    }
}

/// A call that waits for others' says nothing of its own work: else a core would seem to be asked
/// for more time than it has.
#[test]
fn sessions_that_always_come_together_are_thought_to_take_what_they_take() {
    let report = carried("nios2-dual", &six(4, false));
    for made in report["decisions"].as_array().unwrap() {
        assert!(made["cause"] != "learnt" && made["refused"].is_null(), "{made}");
    }
}
