//! `narrows advise` and `bench advise` as a user starts them.

use crate::common::documented::{assert_inner, assert_keys};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn narrows(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_narrows")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn file(directory: &Path, text: &str) -> String {
    let path = directory.join("w.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

const SPEECH: &str = r#"
name = "speech"
# What has a comment keeps it.
[[flow]]
name = "calls"          # three of them
sessions = 3
function = "busy"
busy = "1ms"
request = 320
response = 160
period = "20ms"
deadline = "15ms"
"#;

#[test]
fn what_is_said_on_a_chip_is_the_same_every_time_and_has_the_keys_that_are_documented() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), SPEECH);
    let arguments = ["advise", &path, "--on", "davinci", "--json"];
    let text = stdout(&narrows(&arguments));
    assert_eq!(text, stdout(&narrows(&arguments)));
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["command"], "advise");
    let rows = report["results"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert_keys("A row of `advise`", row);
        assert_inner("A row of `advise`", row, "runner_up", &[]);
        assert_eq!(row["strategy"], rows[0]["strategy"], "sessions of a flow have one strategy");
        assert!(row["p99_us"].as_f64().unwrap() <= 15_000.0, "{row}");
        assert_ne!(row["runner_up"]["strategy"], row["strategy"]);
        let confidence = row["confidence"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&confidence), "{row}");
    }
    // What is said to be less is less when it is run: the runner-up beside the choice.
    let by = |key: &Value| key.as_str().unwrap().to_owned();
    let (best, next) = (by(&rows[0]["strategy"]), by(&rows[0]["runner_up"]["strategy"]));
    let both = format!("{best},{next}");
    let run = stdout(&narrows(&[
        "run",
        &path,
        "--on",
        "davinci",
        "--strategy",
        &both,
        "--duration",
        "2s",
        "--json",
    ]));
    let run: Value = serde_json::from_str(&run).unwrap();
    let load = |strategy: &str| {
        let rows = run["results"].as_array().unwrap();
        let row = rows.iter().find(|row| row["strategy"] == strategy).unwrap();
        row["cpu_percent"]["caller"].as_f64().unwrap()
    };
    assert!(load(&best) <= load(&next) * 1.02, "{best} {} {next} {}", load(&best), load(&next));
}

#[test]
fn the_workload_that_is_written_keeps_its_comments_and_runs() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), SPEECH);
    let out = directory.path().join("tuned");
    let out = out.to_str().unwrap();
    let text = stdout(&narrows(&["advise", &path, "--on", "davinci", "--out", out]));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("calls: choose ") && text.contains("Next best: "), "{text}");
    let command = text.lines().find_map(|line| line.strip_prefix("To try it: narrows ")).unwrap();
    let run = stdout(&narrows(&command.split(' ').collect::<Vec<_>>()));
    assert!(run.contains("0 lost, 0 late"), "{run}");
    let written = std::fs::read_to_string(format!("{out}/w.toml")).unwrap();
    assert!(written.contains("# three of them") && written.contains("static = "), "{written}");
    // The workload itself is not overwritten.
    let there = directory.path().to_str().unwrap();
    let refused = narrows(&["advise", &path, "--on", "davinci", "--out", there]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), SPEECH);
}

#[test]
fn the_shipped_workload_is_written_with_its_input_from_any_folder() {
    let directory = tempfile::tempdir().unwrap();
    let here = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
        command.args(arguments).current_dir(directory.path()).output().unwrap()
    };
    stdout(&here(&["advise", "--on", "davinci", "--out", "tuned"]));
    let run = stdout(&here(&["run", "tuned/voice.toml", "--on", "davinci"]));
    assert!(run.contains("audio as the codec's reference"), "{run}");
}

#[test]
fn what_cannot_be_carried_is_said_with_an_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), &SPEECH.replace("15ms", "1ms"));
    let refused = narrows(&["advise", &path, "--on", "davinci"]);
    assert_eq!(refused.status.code(), Some(3));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("cannot keep its deadline"), "{said}");
    for (arguments, part) in [
        (&["--objective", "energy"][..], "needs a platform"),
        (&["--on", "davinci", "--clocks", "99MHz"], "energy only"),
        (&["--on", "davinci", "--out", "/dev/null/x"], "/dev/null"),
    ] {
        let refused = narrows(&[&["advise", &path], arguments].concat());
        assert!(matches!(refused.status.code(), Some(2 | 5)), "{arguments:?}");
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn energy_takes_the_lowest_clock_at_which_everything_holds() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), SPEECH);
    let clocks = "--clocks=1MHz,99MHz,297MHz";
    let text =
        stdout(&narrows(&["advise", &path, "--on", "davinci", "--objective", "energy", clocks]));
    assert!(text.contains("the calling core at 99.0 MHz"), "{text}");
}

#[test]
fn random_workloads_are_compared_with_every_choice() {
    let text = stdout(&narrows(&["bench", "advise", "--on", "davinci", "--cases", "2", "--json"]));
    let report: Value = serde_json::from_str(&text).unwrap();
    let rows = report["results"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_keys("A row of `bench advise`", row);
        assert_eq!(row["workloads"], 2);
        assert_eq!(row["within_percent"], 100.0, "{row}");
        assert!(row["tried"].as_f64() <= row["choices"].as_f64(), "{row}");
    }
}

/// Whether what is chosen for a workload, for either objective, is near the best.
fn chooses_well(chip: &str, case: &str) {
    let text = stdout(&narrows(&["bench", "advise", "--on", chip, "--case", case, "--json"]));
    let report: Value = serde_json::from_str(&text).unwrap();
    for row in report["results"].as_array().unwrap() {
        assert_eq!(row["within_percent"], 100.0, "{}", report["notes"]);
    }
}

/// Two flows take less together if one looks, whichever it is, than if none does or both do; and
/// less if it is the one that the first plan has told by interrupt.
#[test]
fn flows_exchange_their_notifications_where_that_takes_less() {
    chooses_well("am62p", "34");
}

/// A copy engine takes no request that is gathered: the core writes it where all go together.
#[test]
fn what_an_engine_saves_is_not_lost_by_gathering() {
    chooses_well("generic-amp", "81");
}

/// The shortened grid. What `auto` is worse in is listed in docs/measured/tuner.md.
#[test]
fn auto_is_no_worse_than_the_best_static_strategies_but_where_that_is_known() {
    let text = stdout(&narrows(&["bench", "grid", "--short", "--json"]));
    let report: Value = serde_json::from_str(&text).unwrap();
    let chips: Vec<&Value> = report["chip"].as_array().unwrap().iter().collect();
    assert!(chips.len() == 1 && chips[0]["of"] == "davinci", "{chips:?}");
    let rows = report["results"].as_array().unwrap();
    assert_eq!(rows.len(), 28);
    for row in rows {
        assert_keys("A row of `bench grid`", row);
        assert_eq!((&row["auto_late"], &row["auto_refused"]), (&0.into(), &0.into()), "{row}");
        let known = row["engine"] == false
            && row["memory_bytes"] == 1024
            && row["video"] == 2
            && row["audio"] == 2
            && row["staggered"] == true;
        assert!(row["no_worse"] == true || known, "{row}");
    }
    let first = report["notes"][0].as_str().unwrap();
    assert!(first.contains("of 28 cells auto is no worse"), "{first}");
}

#[test]
fn a_flow_keeps_its_own_strategy_where_another_has_its_name_with_a_number() {
    let directory = tempfile::tempdir().unwrap();
    let flow = |name: &str, request: u32| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfunction = \"busy\"\nbusy = \"1ms\"\nrequest = {request}\n\
             response = 160\nperiod = \"100ms\"\n"
        )
    };
    let path = file(directory.path(), &(flow("video-1", 160) + &flow("video", 20_000)));
    let arguments = ["advise", &path, "--on", "davinci", "--json"];
    let out = directory.path().join("tuned");
    let arguments = [&arguments[..], &["--out", out.to_str().unwrap()]].concat();
    let report: Value = serde_json::from_str(&stdout(&narrows(&arguments))).unwrap();
    let said = |at: usize| report["results"][at]["strategy"].as_str().unwrap();
    assert_ne!(said(0), said(1), "short and long messages travel in their own ways");
    let written = std::fs::read_to_string(out.join("w.toml")).unwrap();
    let named: Vec<&str> =
        written.lines().filter_map(|line| line.strip_prefix("static = ")).collect();
    assert_eq!(named, [format!("\"{}\"", said(0)), format!("\"{}\"", said(1))]);
}

#[test]
fn tasks_that_talk_are_put_together_and_that_is_simulated() {
    let board = ["advise", "workloads/tasks/sensor.toml", "--on", "quatro67"];
    let report = stdout(&narrows(&[&board[..], &["--json"]].concat()));
    let report: Value = serde_json::from_str(&report).unwrap();
    let rows = report["results"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["placement"].as_str().unwrap()).collect();
    assert_eq!(names, ["clustered", "spread"]);
    for row in rows {
        assert_keys("A row of `advise` of tasks", row);
        let processors = row["processors"].as_array().unwrap();
        assert_eq!(processors.len(), 4);
        for processor in processors {
            assert_keys("A row of `advise` of tasks > key of `processors`", processor);
        }
    }
    let held = |row: &Value| row["simulated_messages_percent"].as_f64().unwrap();
    assert!(held(&rows[0]) < held(&rows[1]), "{report}");
    let text = stdout(&narrows(&board));
    assert!(text.contains("That saves"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn tasks_are_refused_where_they_cannot_be_placed() {
    let directory = tempfile::tempdir().unwrap();
    let tasks = |load: &str| {
        format!(
            "[[task]]\nname = 'a'\nload = {load}\n[[task]]\nname = 'b'\nload = {load}\n\
             [[traffic]]\nfrom = 'a'\nto = 'b'\nbytes = 24\nper_second = 10\n"
        )
    };
    let path = file(directory.path(), &tasks("'60%'"));
    let refused = |more: &[&str], code: i32, said: &str| {
        let output = narrows(&[&["advise", path.as_str()][..], more].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{more:?}: {error}");
        assert!(error.contains(said), "{more:?}\nfound    {error}\nexpected {said}");
    };
    refused(&[], 2, "a workload of tasks is placed on a board whose processors have ports");
    refused(&["--on", "davinci"], 2, "it has no ports");
    refused(&["--on", "bmm-clusters"], 2, "it has no ports");
    let with = |flag: &'static str, value: &'static str| ["--on", "quatro67", flag, value];
    refused(&with("--dsps", "2"), 2, "--dsps is for workloads of flows");
    refused(&with("--objective", "latency"), 2, "--objective is for workloads of flows");
    refused(&with("--load", "50"), 3, "a processor of quatro67 cannot carry a and b within 50.0 %");
    assert!(narrows(&["advise", &path, "--on", "quatro67"]).status.success());
}

#[test]
fn how_many_ports_and_how_much_credit_an_accelerator_needs_is_simulated_and_said() {
    let chip = ["advise", "workloads/accelerators/spectra.toml", "--on", "bmm-clusters"];
    let report = stdout(&narrows(&[&chip[..], &["--json"]].concat()));
    let report: Value = serde_json::from_str(&report).unwrap();
    let rows = report["results"].as_array().unwrap();
    rows.iter().for_each(|row| assert_keys("A row of `advise` of accelerators", row));
    let chosen: Vec<&Value> = rows.iter().filter(|row| row["chosen"] == true).collect();
    let flows: Vec<&str> = chosen.iter().map(|row| row["flow"].as_str().unwrap()).collect();
    assert_eq!(flows, ["record", "live"]);
    assert_eq!(report["notes"].as_array().unwrap().len(), 3);
    let text = stdout(&narrows(&chip));
    for beginning in ["Enough: ", "Why: ", "Fewer: "] {
        assert_eq!(text.lines().filter(|line| line.starts_with(beginning)).count(), 1, "{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn flows_through_accelerators_are_refused_where_they_mean_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), "[[flow]]\nname = 'a'\naccelerator = 'fft'\ncount = 20\n");
    let refused = |more: &[&str], code: i32, said: &str| {
        let output = narrows(&[&["advise", path.as_str()][..], more].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{more:?}: {error}");
        assert!(error.contains(said), "{more:?}\nfound    {error}\nexpected {said}");
    };
    refused(&[], 2, "flows through accelerators run on a chip that has them");
    refused(&["--on", "davinci"], 3, "davinci has no clusters, and so no accelerators");
    let with = |flag: &'static str, value: &'static str| ["--on", "bmm-clusters", flag, value];
    refused(&with("--load", "50"), 2, "--load means nothing to flows through accelerators");
    refused(&with("--cores", "0,1"), 2, "--cores means nothing to flows through accelerators");
}
