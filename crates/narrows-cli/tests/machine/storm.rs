//! `narrows bench storm` and `narrows bench soak` as a user starts them, shortened.
//!
//! `NARROWS_ROUNDS=1000 cargo test --release -p narrows-cli --test machine storm::` kills a
//! thousand times.

use crate::common::documented::{assert_inner, assert_keys, assert_same, documented, inner, keys};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Every direction by every notification, twice.
const ROUNDS: u64 = 24;

/// Where docs/JSON.md has the rows of either bench.
const STORM: &str = "Rows of `bench storm`";
const SOAK: &str = "Rows of `bench soak`";
const KILLS: &str = "`\"row\": \"kills\"`";

/// A row has the keys of a table of a storm, and those that every row of one has.
fn is_documented(row: &Value, table: &str) {
    let mut expected = documented(&format!("{STORM} > {table}"));
    expected.extend(["row", "broken"].map(str::to_owned));
    assert_same(table, &keys(row), &expected);
}

/// A bench whose files are all in `place`.
fn bench(place: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
    command.arg("bench").args(arguments).env("TMPDIR", place);
    command
}

fn report(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn rows<'a>(report: &'a Value, kind: &str) -> Vec<&'a Value> {
    let rows = report["results"].as_array().unwrap();
    rows.iter().filter(|row| row["row"] == kind).collect()
}

fn number(row: &Value, path: &str) -> u64 {
    let at = format!("/{}", path.replace('.', "/"));
    row.pointer(&at).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {path}: {row}"))
}

/// The rows in which a promise is broken, each with its sentences.
fn broken(report: &Value) -> Vec<&Value> {
    let rows = report["results"].as_array().unwrap();
    rows.iter().filter(|row| row["broken"].as_array().is_some_and(|all| !all.is_empty())).collect()
}

/// Demands that the command ended well and broke no promise, and else says which.
fn kept(output: &Output, report: &Value) {
    let text = String::from_utf8_lossy(&output.stderr);
    let broken = broken(report);
    assert!(
        output.status.success() && broken.is_empty(),
        "{}: {text}broken: {broken:#?}\nnotes: {:#}",
        output.status,
        report["notes"]
    );
}

fn nothing_left(place: &Path) {
    let left: Vec<_> = std::fs::read_dir(place).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn whoever_is_killed_everything_is_accounted_for_and_nothing_is_left() {
    let place = tempfile::tempdir().unwrap();
    let rounds = std::env::var("NARROWS_ROUNDS");
    let rounds = rounds.map_or(ROUNDS, |text| text.parse().expect("a number of rounds"));
    let output = bench(place.path(), &["storm", "--json", "--rounds", &rounds.to_string()])
        .output()
        .unwrap();
    let report = report(&output);
    kept(&output, &report);
    nothing_left(place.path());

    let kills = rows(&report, "kills");
    assert_eq!(kills.iter().map(|row| number(row, "kills")).sum::<u64>(), rounds);
    let kinds: BTreeSet<(&str, &str)> = kills
        .iter()
        .map(|row| (row["notification"].as_str().unwrap(), row["traffic"].as_str().unwrap()))
        .collect();
    assert_eq!(kinds.len(), 12, "{kinds:?}");
    for row in &kills {
        is_documented(row, KILLS);
        let kills = format!("{STORM} > {KILLS}");
        assert_inner(&kills, row, "told_ms", &[]);
        assert_same(&kills, &keys(&row["ended_ms"]), &inner(&kills, "told_ms", &[]));
        assert_keys(&format!("{STORM} > key of `tally`"), &row["tally"]);
        for late in row["late"].as_array().unwrap() {
            assert_keys(&format!("{STORM} > key of `late`"), late);
        }
        assert!(row["told_ms"]["median"].as_f64().unwrap() > 0.0, "{row}");
        let of = |what: &str| number(row, &format!("tally.{what}"));
        assert_eq!(of("sent"), of("delivered") + of("returned") + of("died_with_peer"), "{row}");
        assert_eq!(of("calls"), of("answered") + of("calls_returned") + of("calls_lost"), "{row}");
        assert!(of("delivered_here") - of("sent_here") == of("untold"), "{row}");
        // Only an active node sends; a short storm may kill before it does.
        let traffic = row["traffic"].as_str().unwrap();
        assert!(traffic != "from the killed" || of("sent") + of("calls") == 0, "{row}");
        assert!(traffic != "to the killed" || of("delivered_here") + of("served") == 0, "{row}");
    }
    let all = |what: &str| -> u64 { kills.iter().map(|row| number(row, what)).sum() };
    for what in ["sent", "delivered", "delivered_here", "answered", "served", "full"] {
        assert!(all(&format!("tally.{what}")) > 0, "no {what}");
    }

    let stops = rows(&report, "stop");
    assert!(!stops.is_empty());
    for stop in stops {
        is_documented(stop, "`\"row\": \"stop\"`");
        assert!(number(stop, "deadlines") > 0 && number(stop, "bystander") > 0, "{stop}");
        assert!(number(stop, "messages.0") > 0 && number(stop, "messages.1") > 0, "{stop}");
    }
}

#[test]
fn the_text_begins_with_what_it_came_to_and_fits_the_screen() {
    let place = tempfile::tempdir().unwrap();
    let arguments = ["storm", "--rounds", "2", "--transfer", "copy", "--notify", "interrupt"];
    let output = bench(place.path(), &arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.starts_with("2 kills, seed 1: told after "), "{text}");
    assert!(text.contains("\nno promise broken, nothing left behind\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_storm_that_is_stopped_says_what_it_has_and_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let mut storm = bench(place.path(), &["storm", "--json", "--rounds", "60000"]);
    let storm = storm.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Its directory is there once it has begun, and its signals are caught before that.
    let deadline = Instant::now() + Duration::from_secs(20);
    while std::fs::read_dir(place.path()).unwrap().next().is_none() {
        assert!(Instant::now() < deadline, "it does not begin");
        std::thread::yield_now();
    }
    let id = storm.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = storm.wait_with_output().unwrap();
    let report = report(&output);
    assert_eq!(output.status.code(), Some(130), "{}", report["notes"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("stopped before the end"));
    nothing_left(place.path());
}

#[test]
fn a_soak_says_of_each_figure_whether_it_is_flat_and_its_exit_says_so_too() {
    let place = tempfile::tempdir().unwrap();
    let output = bench(place.path(), &["soak", "--for", "3s", "--json"]).output().unwrap();
    let report = report(&output);
    nothing_left(place.path());
    let checks = rows(&report, "check");
    assert_eq!(checks.len(), 9, "{report}");
    let mut flat = true;
    for check in &checks {
        let mut expected = documented(&format!("{SOAK} > `\"row\": \"check\"`"));
        expected.insert("row".to_owned());
        assert_same(SOAK, &keys(check), &expected);
        let [first, last, allowed] =
            ["first", "last", "allowed"].map(|key| check[key].as_f64().unwrap());
        assert_eq!(check["flat"], last - first <= allowed, "{check}");
        flat &= check["flat"] == true;
    }
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(if flat { 0 } else { 9 }), "{text}");
    for what in ["descriptors", "mappings"] {
        let counted = checks.iter().filter(|check| check["what"].as_str().unwrap().contains(what));
        assert!(counted.clone().count() == 2 && counted.clone().all(|c| c["flat"] == true));
    }
    let samples = rows(&report, "sample");
    assert!(samples.len() >= 32);
    // Not in each: an interval is short enough for a side to be without its core in all of it.
    let busy = |sample: &&&Value| sample["messages_per_second"].as_f64().unwrap() > 0.0;
    assert!(samples.iter().filter(busy).count() > 8, "{report}");
    let table = format!("{SOAK} > `\"row\": \"sample\"`");
    let mut expected = documented(&table);
    expected.insert("row".to_owned());
    for sample in samples {
        assert_same(SOAK, &keys(sample), &expected);
        for side in ["here", "there"] {
            assert_inner(&table, sample, side, &["here", "there"]);
        }
        assert!(number(sample, "here.private_kib") > 0 && number(sample, "there.mappings") > 0);
    }
}

#[test]
fn nobody_sleeps_while_a_message_lies_there() {
    let place = tempfile::tempdir().unwrap();
    let output = bench(place.path(), &["soak", "--for", "200ms", "--json"]).output().unwrap();
    let report = report(&output);
    kept(&output, &report);
    let notes = report["notes"].as_array().unwrap();
    let of = |note: &Value| {
        let (count, _) =
            note.as_str()?.split_once(" messages to a side that was going to sleep")?;
        count.parse::<u64>().ok()
    };
    assert!(notes.iter().find_map(of).is_some_and(|count| count > 10), "{notes:?}");
}

#[test]
fn a_soak_that_is_too_short_gives_no_verdict() {
    let place = tempfile::tempdir().unwrap();
    let output = bench(place.path(), &["soak", "--for", "200ms"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("too short for a verdict"), "{text}");
}

#[test]
fn flags_that_mean_nothing_here_are_refused() {
    let place = tempfile::tempdir().unwrap();
    for (arguments, flag) in [
        (&["storm", "--bytes", "48"][..], "--bytes"),
        (&["storm", "--for", "1s"], "--for"),
        (&["storm", "--priority", "99"], "up to 98"),
        (&["soak", "--priority", "3"], "--priority"),
        (&["soak", "--rounds", "3"], "--rounds"),
        (&["storm", "--churn", "9", "--members", "12"], "--members"),
        (&["storm", "--churn", "9", "--on", "davinci"], "--churn"),
        (&["storm", "--members", "12", "--on", "davinci"], "--members"),
        (&["soak", "--churn", "9", "--on", "davinci"], "--churn"),
        (&["pingpong", "--seed", "3"], "--seed"),
        (&["soak", "--transfer", "copy,in_place"], "one strategy"),
    ] {
        let output = bench(place.path(), arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(flag) && output.stdout.is_empty(), "{arguments:?}: {text}");
    }
    nothing_left(place.path());
}

#[test]
fn in_a_mesh_of_twelve_what_was_sent_is_what_came_and_what_came_back() {
    let place = tempfile::tempdir().unwrap();
    let arguments = ["storm", "--json", "--members", "12", "--rounds", "12"];
    let output = bench(place.path(), &arguments).output().unwrap();
    let report = report(&output);
    kept(&output, &report);
    nothing_left(place.path());
    let rows = rows(&report, "mesh");
    let [mesh] = rows[..] else { panic!("{report}") };
    assert_eq!((number(mesh, "members"), number(mesh, "kills")), (12, 12));
    let table = "`\"row\": \"mesh\"`";
    is_documented(mesh, table);
    assert_inner(&format!("{STORM} > {table}"), mesh, "told_ms", &[]);
    assert_inner(&format!("{STORM} > {table}"), mesh, "tally", &[]);
    // Each with each other, and each life that came later with those it met.
    assert!(number(mesh, "links") >= 66, "{mesh}");
    let of = |what: &str| number(mesh, &format!("tally.{what}"));
    assert_eq!(
        of("sent") + of("untold"),
        of("delivered") + of("returned") + of("died_with_peer"),
        "{mesh}"
    );
    assert!(of("delivered") > 0 && of("returned") > 0, "{mesh}");
}

/// What is promised of a node beside others that come and go, whatever the machine is doing.
fn beside_others(churn: &Value) {
    let table = "`\"row\": \"churn\"`";
    is_documented(churn, table);
    let table = format!("{STORM} > {table}");
    assert_inner(&table, churn, "trips_us", &[]);
    assert_same(&table, &keys(&churn["late_us"]), &inner(&table, "trips_us", &[]));
    assert!(number(churn, "link_ups") > 0, "{churn}");
    assert_eq!(churn["broken"], Value::Array(Vec::new()));
    for (count, figures) in [("trips", "trips_us"), ("waits", "late_us")] {
        assert!(number(churn, count) > 0, "{churn}");
        let figure = |key: &str| churn[figures][key].as_f64().unwrap();
        assert!(figure("median") <= figure("p999") && figure("p999") <= figure("max"), "{churn}");
    }
}

#[test]
fn beside_nodes_that_link_and_go_again_trips_are_answered_and_waits_end_late_not_early() {
    let place = tempfile::tempdir().unwrap();
    let arguments = ["storm", "--json", "--rounds", "2", "--notify", "interrupt", "--churn", "500"];
    let output = bench(place.path(), &arguments).output().unwrap();
    let report = report(&output);
    kept(&output, &report);
    nothing_left(place.path());
    let [churn] = rows(&report, "churn")[..] else { panic!("{report}") };
    assert_eq!(number(churn, "asked_per_second"), 500);
    beside_others(churn);
}

#[test]
fn a_soak_beside_nodes_that_link_and_go_again_loses_nothing() {
    let place = tempfile::tempdir().unwrap();
    let arguments = ["soak", "--for", "1s", "--json", "--churn", "0"];
    let output = bench(place.path(), &arguments).output().unwrap();
    let report = report(&output);
    nothing_left(place.path());
    // What others take of the cores may raise a latency, and nothing else.
    let mut flat = true;
    for check in rows(&report, "check") {
        let what = check["what"].as_str().unwrap();
        assert!(check["flat"] == true || what.contains("latency"), "{check}");
        flat &= check["flat"] == true;
    }
    let [churn] = rows(&report, "churn")[..] else { panic!("{report}") };
    beside_others(churn);
    let verdict = if flat { 0 } else { 9 };
    assert_eq!(output.status.code(), Some(verdict), "{}", report["notes"]);
}
