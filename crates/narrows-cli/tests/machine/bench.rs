//! `narrows bench` as a user starts it, with as few rounds as there can be.

use crate::common::documented::{assert_keys, assert_report};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn bench(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
    command.arg("bench").args(arguments);
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The rows of a bench of one round, each checked against the documented object.
fn rows(arguments: &[&str]) -> Vec<Value> {
    report(arguments).0
}

/// As [`rows`], with the notes.
fn report(arguments: &[&str]) -> (Vec<Value>, Vec<Value>) {
    let output = bench(arguments).args(["--rounds", "1", "--json"]).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["command"], format!("bench {}", arguments[0]));
    assert_report(&report, &["chip"]);
    assert!(report["machine"]["cores"].as_u64().unwrap() >= 2);
    let rows = report["results"].as_array().unwrap().clone();
    assert!(!rows.is_empty());
    for row in &rows {
        assert_keys("A row of `bench`", row);
        assert_eq!(row["rounds"], serde_json::json!([row["value"]]), "{row}");
        assert_eq!(row["spread"], 0.0, "one round has no spread: {row}");
        assert_eq!(row["limit"].is_null(), row["ratio"].is_null(), "{row}");
        judged(row);
    }
    (rows, report["notes"].as_array().unwrap().clone())
}

/// Whether a bound is met is what its figure says.
fn judged(row: &Value) {
    if row["bound"].is_null() {
        assert!(row["met"].is_null(), "{row}");
        return;
    }
    let figure = if row["ratio"].is_null() { &row["value"] } else { &row["ratio"] };
    let figure = figure.as_f64().unwrap();
    let met = match (row["bound"]["most"].as_f64(), row["bound"]["least"].as_f64()) {
        (Some(most), None) => figure <= most,
        (None, Some(least)) => figure >= least,
        _ => panic!("a bound is the most or the least: {row}"),
    };
    assert_eq!(row["met"], met, "{row}");
}

/// Each row has a limit, and its ratio is that of its value.
fn compared<'a>(rows: impl IntoIterator<Item = &'a Value>) {
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("no {key}: {row}"));
        let (value, limit, ratio) = (number("value"), number("limit"), number("ratio"));
        assert!(value > 0.0 && limit > 0.0, "{row}");
        assert!((ratio * limit / value - 1.0).abs() < 1e-9, "{row}");
    }
}

fn named<'a>(rows: &'a [Value], start: &str) -> Vec<&'a Value> {
    rows.iter().filter(|row| row["name"].as_str().unwrap().starts_with(start)).collect()
}

#[test]
fn limits_are_figures_on_their_own() {
    let rows = rows(&["limit", "--bytes", "64"]);
    assert_eq!(rows.len(), 15);
    for row in &rows {
        assert!(row["limit"].is_null() && row["value"].as_f64().unwrap() > 0.0, "{row}");
    }
    assert_eq!(named(&rows, "line each way").len(), 5);
    assert_eq!(named(&rows, "copy, one way").len(), 2);
    assert_eq!(named(&rows, "slot ring, one way").len(), 2);
    assert_eq!(named(&rows, "eventfd").len(), 3);
}

#[test]
fn round_trips_of_messages_and_calls_have_their_limit() {
    let words = ["--transfer", "copy_batched,in_place", "--notify", "spin,interrupt"];
    let rows = rows(&[&["pingpong", "--bytes", "48,1024,100000"][..], &words].concat());
    assert_eq!(rows.len(), 2 * 2 * 2 * 3);
    compared(&rows);
    assert_eq!(named(&rows, "in_place/interrupt/external message").len(), 3);
}

#[test]
fn every_strategy_carries_a_stream_that_arrives_whole() {
    let transfers = "copy,copy_lazy,copy_batched,single_copy,in_place";
    let rows = rows(&["throughput", "--bytes", "48,5000", "--transfer", transfers]);
    compared(&rows);
    let (rates, volumes): (Vec<&Value>, Vec<&Value>) =
        rows.iter().partition(|row| row["unit"] == "msg/s");
    assert_eq!((rates.len(), volumes.len()), (5 * 2 * 2 * 2, 5 * 2 * 2 * 2));
    for (rate, volume) in rates.iter().zip(volumes) {
        let figure = |row: &Value| row["value"].as_f64().unwrap();
        let bytes = rate["bytes"].as_f64().unwrap();
        let expected = figure(rate) * bytes / f64::from(1 << 20);
        assert!((figure(volume) / expected - 1.0).abs() < 1e-9, "{rate} {volume}");
    }
}

#[test]
fn phases_come_with_the_cost_of_stamps() {
    let rows = rows(&["phases", "--bytes", "128", "--notify", "spin"]);
    for phase in ["A", "C", "D", "E", "notified", "call", "stamped", "deducted"] {
        let found = named(&rows, &format!("{phase} "));
        assert_eq!(found.len(), 1, "{phase}");
        compared(found);
    }
    assert!(named(&rows, "B ")[0]["limit"].is_null());
    assert_eq!(named(&rows, "stamps ")[0]["unit"], "%");
    assert!(named(&rows, "a stamp")[0]["value"].as_f64().unwrap() > 0.0);
    assert_eq!(named(&rows, "a stamp")[0]["bound"]["most"], 20.0);
    compared(named(&rows, "spans "));
    assert!(named(&rows, "spans off")[0]["bound"]["most"].as_f64().unwrap() >= 1.0);
}

#[test]
fn stamps_have_a_share_of_a_round_trip_that_sleeps() {
    let rows = rows(&["phases", "--bytes", "128", "--notify", "interrupt"]);
    let share = named(&rows, "share ");
    assert_eq!((share.len(), &share[0]["unit"]), (1, &Value::from("%")));
    assert!(share[0]["value"].as_f64().unwrap() > 0.0 && share[0]["bound"]["most"] == 1.5);
    assert!(named(&rows, "deducted ").is_empty());
}

#[test]
fn every_bound_stands_beside_its_ratio() {
    let rows = rows(&["bounds"]);
    compared(&rows);
    let bound = |name: &str| -> Vec<&Value> {
        named(&rows, name).into_iter().map(|row| &row["bound"]).collect()
    };
    assert_eq!(rows.len(), 19);
    assert_eq!(bound("spinning"), [&json!({"most": 1.15}); 2]);
    assert_eq!(bound("line, read-only"), [&Value::Null]);
    assert_eq!(bound("memcpy, read-only"), [&Value::Null]);
    assert_eq!(bound("line both write"), [&Value::Null]);
    assert_eq!(bound("slots by hand"), [&Value::Null]);
    assert_eq!(bound("slots, fenced"), [&Value::Null]);
    assert_eq!(bound("thinking"), [&json!({"most": 1.1}), &Value::Null]);
    assert_eq!(bound("one way"), [&json!({"least": 0.95}); 3]);
    assert_eq!(bound("batches"), [&json!({"least": 0.95}); 2]);
    assert_eq!(bound("asleep"), [&json!({"most": 1.05}), &Value::Null, &Value::Null]);
    assert_eq!(bound("hybrid"), [&json!({"most": 1.1}), &json!({"most": 1.5})]);
}

#[test]
fn calls_of_the_c_library_stand_beside_their_limits() {
    let (rows, notes) = report(&["mcapi"]);
    compared(&rows);
    let bounds = |name: &str| -> Vec<&Value> {
        named(&rows, name).into_iter().map(|row| &row["bound"]).collect()
    };
    assert_eq!(bounds("scalar, looking"), [&json!({"most": 1.2})]);
    assert_eq!(bounds("message, looking"), [&json!({"most": 1.35})]);
    assert_eq!(bounds("message, asleep"), [&json!({"most": 1.1})]);
    assert_eq!(bounds("slots by hand"), [&Value::Null]);
    // Packets of their own, and those of the ping-pong, there and back and one way.
    assert_eq!(bounds("packet, looking"), [&Value::Null; 4 + 7]);
    let streams = named(&rows, "16 KiB one way");
    let sizes: Vec<u64> = streams.iter().map(|row| row["bytes"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [4, 16, 64, 256, 1024, 4096, 16384]);
    assert!(streams.iter().all(|row| row["unit"] == "Mbit/s" && row["bound"].is_null()));
    assert_eq!(rows.len(), 3 + 1 + 4 + 7 + 7);
    let note = notes.iter().map(|note| note.as_str().unwrap()).collect::<String>();
    assert!(note.contains("29 Mbit/s") && note.contains("1780"), "{note}");
}

#[test]
fn what_grows_is_compared_with_the_least_of_it() {
    let rows = rows(&["scaling", "--notify", "spin"]);
    for (what, numbers) in [("links", [1, 8, 64]), ("endpoints", [1, 16, 1024])] {
        let [first, others @ ..] = numbers;
        let first = named(&rows, &format!("{what} {first} spin"))[0];
        assert!(first["limit"].is_null() && first["value"].as_f64().unwrap() > 0.0, "{first}");
        for number in others {
            let row =
                rows.iter().find(|row| row["name"] == format!("{what} {number} spin")).unwrap();
            compared([row]);
            assert_eq!((&row["limit"], &row["bound"]["most"]), (&first["value"], &1.1.into()));
        }
    }
    for (name, unit) in [("processor time", "µs/s"), ("wake-ups", "1/s")] {
        let row = named(&rows, name)[0];
        assert!(row["unit"] == unit && row["bound"]["most"] == 0.0, "{row}");
    }
    // Links that sleep wake nobody.
    assert_eq!(named(&rows, "wake-ups")[0]["value"], 0.0);
    assert_eq!(rows.len(), 8);
}

#[test]
fn forty_clients_of_one_server_are_linked_and_answered() {
    let rows = rows(&["clients", "--clients", "1,40", "--notify", "interrupt"]);
    let row = |name: &str| named(&rows, name)[0];
    for number in [1, 40] {
        for what in ["linked", "processor time"] {
            let row = row(&format!("{what}, each of {number}"));
            assert!(row["unit"] == "µs" && row["value"].as_f64().unwrap() > 0.0, "{row}");
        }
    }
    for what in ["all", "one"] {
        let (first, more) = (row(&format!("{what} of 1 ")), row(&format!("{what} of 40 ")));
        assert!(first["limit"].is_null(), "{first}");
        compared([more]);
        assert_eq!(more["limit"], first["value"]);
    }
    assert_eq!(row("all of 40 ")["bound"]["least"], 1.0);
    assert_eq!(rows.len(), 8);
}

#[test]
fn the_text_says_which_bounds_are_met() {
    for which in ["bounds", "scaling"] {
        let output = bench(&[which, "--rounds", "1"]).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(" bounds are met.") && text.contains("≤ 1.10: "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn the_three_experiments_are_told_apart() {
    let rows = rows(&["sizes", "--bytes", "128,1024"]);
    assert_eq!(named(&rows, "1 A ").len(), 2);
    assert_eq!(named(&rows, "1 32 x 1024 gathered").len(), 1);
    compared(named(&rows, "1 32 x 1024"));
    assert_eq!(named(&rows, "2 A+E copy_batched/interrupt/internal").len(), 2);
    compared(named(&rows, "2 "));
    assert_eq!(named(&rows, "3 notified copy_batched/spin/external").len(), 2);
    compared(named(&rows, "3 "));
}

#[test]
fn the_text_reads_each_experiment() {
    let output = bench(&["sizes", "--bytes", "128", "--rounds", "1"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    for expected in ["\n2. ", "\n3. ", "internal takes ", "spin takes ", "gathered in one message"]
    {
        assert!(text.contains(expected), "no {expected:?} in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn what_cannot_be_is_a_sentence_and_a_code() {
    for (arguments, expected) in [
        (&["pingpong", "--transfer", "spin"][..], "copy_engine"),
        (&["pingpong", "--notify", "poll=0ms"], "above zero"),
        (&["pingpong", "--placement", "region=2"], "no memory of that placement"),
        (&["pingpong", "--bytes", "70000", "--placement", "internal"], "up to 65536 bytes"),
        (&["pingpong", "--bytes", "16000000"], "choose sizes up to"),
        (&["sizes", "--rounds", "0"], "rounds"),
        (&["bounds", "--bytes", "8"], "unexpected argument '--bytes'"),
        (&["scaling", "--transfer", "copy"], "unexpected argument '--transfer'"),
        (&["limit", "--cores", "4095,0"], "core"),
        (&["clients", "--clients", "0"], "1..=4096"),
        (&["clients", "--lock-memory"], "says nothing to bench clients"),
    ] {
        let output = bench(arguments).output().unwrap();
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.starts_with("narrows: ") && text.contains(expected), "{arguments:?}: {text}");
        assert!(output.stdout.is_empty());
    }
}

/// The other process of a bench, once it is there.
fn callee(caller: &mut Child) -> u32 {
    let path = PathBuf::from(format!("/proc/{0}/task/{0}/children", caller.id()));
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        let children = std::fs::read_to_string(&path).unwrap();
        if let Some(child) = children.split_whitespace().next() {
            return child.parse().unwrap();
        }
        assert!(caller.try_wait().unwrap().is_none(), "the bench ended by itself");
        std::thread::yield_now();
    }
    panic!("the bench started no other process");
}

#[test]
fn a_callee_that_dies_is_the_peers_code() {
    for which in ["pingpong", "throughput", "limit", "bounds", "scaling"] {
        let mut caller = bench(&[which, "--rounds", "60000"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let callee = callee(&mut caller).to_string();
        assert!(Command::new("kill").args(["-KILL", &callee]).status().unwrap().success());
        let output = caller.wait_with_output().unwrap();
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(6), "{which}: {text}");
        assert!(text.contains("signal 9"), "{which}: {text}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn what_carries_the_links_is_chosen_by_a_flag_and_named_in_the_report() {
    let pingpong = ["pingpong", "--bytes", "48", "--notify", "interrupt", "--rounds", "1"];
    // The environment's choice gives way to that of the command line.
    for (asked, set, carrier) in [
        (&[][..], None, "memory"),
        (&[], Some("stream"), "stream"),
        (&["--carrier", "stream"], Some("memory"), "stream"),
    ] {
        let mut command = bench(&pingpong);
        command.args(asked).arg("--json").env_remove("NARROWS_CARRIER");
        command.envs(set.map(|set| ("NARROWS_CARRIER", set)));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["machine"]["carrier"], carrier, "{asked:?}");
    }
    let output = bench(&pingpong).args(["--carrier", "stream"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("over frames (a Unix stream socket)\n"), "{text}");

    for (arguments, says) in [
        (&["--carrier", "pigeon"][..], "expected memory or stream"),
        (&["--carrier", "stream", "--on", "davinci"], "--carrier is for this machine"),
    ] {
        let output = bench(&pingpong).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
    }
}

#[test]
fn both_sides_on_one_core_are_compared_with_eventfds_there() {
    // One that this process may use.
    let core = narrows_host::system::cores()[0];
    let both = format!("{core},{core}");
    let arguments = ["pingpong", "--bytes", "48", "--cores", &both];
    let rows = rows(&arguments);
    assert_eq!(rows.len(), 6);
    compared(&rows);
    // One that looked there would keep the other from its answer for the 50 us of a look, at each
    // end; by interrupt neither looks.
    let value = |name: &str| named(&rows, name)[0]["value"].as_f64().unwrap();
    let [asleep, hybrid] =
        ["interrupt", "hybrid"].map(|how| value(&format!("copy_batched/{how}/external message")));
    assert!(hybrid < 4.0 * asleep, "{hybrid} ns by hybrid, {asleep} by interrupt");

    for arguments in [
        &["bounds", "--cores", "0,0"][..],
        &["phases", "--cores", "0,0"],
        &["pingpong", "--on", "davinci", "--cores", "0,0"],
    ] {
        let output = bench(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains("one core twice"), "{}", stderr(&output));
    }
}
