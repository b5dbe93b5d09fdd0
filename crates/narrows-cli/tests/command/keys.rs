//! docs/JSON.md beside what commands print of which no other test looks at all keys, with the
//! shortest runs that there are.

use crate::common::documented::{
    assert_inner, assert_keys, assert_keys_but, assert_report, assert_same, difference, documented,
    inner, keys,
};
use crate::common::{narrows, stdout, text};
use serde_json::{Value, json};

fn report(arguments: &str) -> Value {
    let arguments: Vec<&str> = arguments.split(' ').chain(["--json"]).collect();
    serde_json::from_str(&stdout(&narrows(&arguments))).unwrap()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    let list = value[key].as_array().unwrap();
    assert!(!list.is_empty(), "{key} is empty, so nothing is looked at");
    list
}

/// A row that says of which kind it is has the keys of that table, and those that all kinds have.
fn is_kind(row: &Value, table: &str, more: &[&str]) {
    let mut expected = documented(table);
    expected.extend(more.iter().map(|key| (*key).to_owned()));
    assert_same(table, &keys(row), &expected);
}

#[test]
fn a_key_that_only_one_of_both_has_is_found() {
    let table = "A row of `record`";
    let documented = documented(table);
    assert_eq!(documented.len(), 7, "{documented:?}");
    let of = |keys: &[&str]| {
        difference(&keys.iter().map(|key| (*key).to_owned()).collect(), &documented)
    };
    let all = ["node", "peer", "channel", "messages", "bytes", "missed", "without_payload"];
    assert_eq!(of(&all), None);
    let lacks = "what the command prints lacks without_payload";
    assert_eq!(of(&all[..6]).as_deref(), Some(lacks));
    let more = [&all[..], &["hidden"]].concat();
    assert_eq!(of(&more).as_deref(), Some("docs/JSON.md lacks hidden"));
    // The second table of a section, its keys alone, and several of a cell.
    let cell = "Rows of `bench tune --against` > key of `flows`";
    let found = crate::common::documented::documented(cell);
    assert!(found.contains("jitter_ms") && !found.contains("case"), "{found:?}");
    let object = json!({ "key": [{ "a": 1 }, { "b": 1 }] });
    let unlike = std::panic::catch_unwind(|| assert_inner(table, &object, "key", &[]));
    assert!(unlike.is_err(), "two objects of a list with other keys each");
}

#[test]
fn of_a_run() {
    let run = report("run voice --on davinci --duration 100ms --strategy copy/interrupt,auto");
    assert_report(&run, &["decisions", "chip"]);
    let table = "A row of `run`";
    let trips = inner(table, "rtt_us", &["stamps_us"]);
    let (mut phases, mut audio) = (0, 0);
    for row in list(&run, "results") {
        assert_keys(table, row);
        for key in ["rtt_us", "since_due_us"] {
            assert_same(key, &keys(&row[key]), &trips);
        }
        assert_inner(table, row, "jitter_us", &[]);
        assert_inner(table, row, "cpu_percent", &[]);
        if let Some(each) = row["phases_us"].as_object() {
            each.values().for_each(|one| assert_same("phases_us", &keys(one), &trips));
            phases += each.len();
        }
        if !row["audio"].is_null() {
            assert_inner(table, row, "audio", &["output"]);
            audio += 1;
        }
    }
    assert!(phases > 0 && audio > 0, "{run}");
    let decisions = list(&run, "decisions").iter();
    decisions.for_each(|one| assert_keys("`decisions` of `run`", one));
}

#[test]
fn of_a_bench_and_of_two_that_are_compared() {
    let place = tempfile::tempdir().unwrap();
    let bench =
        "bench pingpong --on generic-amp --bytes 48 --notify spin --transfer copy --rounds 1";
    let ran = report(bench);
    assert_report(&ran, &["chip"]);
    list(&ran, "results").iter().for_each(|row| assert_keys("A row of `bench`", row));
    let file = place.path().join("one.json");
    std::fs::write(&file, ran.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let compared = report(&format!("compare {file} {file}"));
    assert_report(&compared, &["refused"]);
    list(&compared, "results").iter().for_each(|row| assert_keys("A row of `compare`", row));
}

/// A run that refuses a strategy, beside itself.
#[test]
fn of_what_was_refused() {
    let place = tempfile::tempdir().unwrap();
    let workload = place.path().join("w.toml");
    let flow = "duration = '20ms'\n[[flow]]\nname = 'a'\nfunction = 'echo'\nrequest = 64\n";
    std::fs::write(&workload, flow).unwrap();
    let by = "--strategy copy/spin,copy/region=3";
    let run = report(&format!("run {} --on generic-amp {by}", workload.display()));
    let file = place.path().join("one.json");
    std::fs::write(&file, run.to_string()).unwrap();
    let compared = report(&format!("compare {0} {0}", file.display()));
    list(&compared, "refused").iter().for_each(|row| assert_keys("`refused` of `compare`", row));
}

#[test]
fn of_a_doctor() {
    let found = report("doctor --memory");
    assert_report(&found, &[]);
    let (memory, findings): (Vec<&Value>, Vec<&Value>) =
        list(&found, "results").iter().partition(|row| row["check"].is_null());
    assert!(!memory.is_empty() && !findings.is_empty(), "{found}");
    findings.iter().for_each(|row| assert_keys("A row of `doctor`", row));
    memory.iter().for_each(|row| assert_keys("A row of `doctor` > With `--memory`", row));
}

#[test]
fn of_a_storm_on_a_chip() {
    // A core as slow as this one is told late.
    let storm = report("bench storm --on nios2-dual --rounds 24 --seed 5");
    assert_report(&storm, &["chip"]);
    let section = "Rows of `bench storm`";
    let kills = format!("{section} > `\"row\": \"kills\"`");
    let mut late = 0;
    for row in list(&storm, "results") {
        is_kind(row, &kills, &["row", "broken"]);
        assert_inner(&kills, row, "told_ms", &[]);
        assert_same(&kills, &keys(&row["ended_ms"]), &inner(&kills, "told_ms", &[]));
        assert_keys(&format!("{section} > key of `tally`"), &row["tally"]);
        for one in row["late"].as_array().unwrap() {
            assert_keys(&format!("{section} > key of `late`"), one);
            late += 1;
        }
    }
    assert!(late > 0, "no kill was told late: {storm}");
}

#[test]
fn of_a_soak_on_a_chip() {
    let output = narrows(&["bench", "soak", "--on", "davinci", "--for", "500ms", "--json"]);
    let soak: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_report(&soak, &["chip"]);
    let [check, sample] =
        ["check", "sample"].map(|kind| format!("Rows of `bench soak` > `\"row\": \"{kind}\"`"));
    let rows = list(&soak, "results");
    let (checks, samples): (Vec<&Value>, Vec<&Value>) =
        rows.iter().partition(|row| row["row"] == "check");
    assert!(!checks.is_empty() && !samples.is_empty(), "{soak}");
    checks.iter().for_each(|row| is_kind(row, &check, &["row"]));
    // What this process has is measured, so it may not be flat; then the exit code says so.
    let flat = checks.iter().all(|row| row["flat"] == true);
    assert_eq!(output.status.code(), Some(if flat { 0 } else { 9 }), "{}", text(&output.stderr));
    for row in samples {
        is_kind(row, &sample, &["row"]);
        for side in ["here", "there"] {
            assert_inner(&sample, row, side, &["here", "there"]);
        }
    }
}

#[test]
fn of_signals_on_a_chip() {
    for case in ["t0", "t1", "t2", "t3", "t4", "t5", "t6"] {
        let on = if case < "t4" { "nios2-dual" } else { "nios2-quad" };
        let asked = "--driver shm-ack --stack layered --bytes 16 --rounds 2";
        let ran = report(&format!("bench {case} --on {on} {asked}"));
        assert_report(&ran, &["chip"]);
        for row in list(&ran, "results") {
            signals(row);
        }
    }
}

/// A row of signals. What only a host has, and what is of a host only, is left out.
fn signals(row: &Value) {
    let table = "Rows of `bench t0` to `t6`";
    assert_keys_but(table, row, &["at_once"]);
    let figures = inner(table, "latency_cycles", &[]);
    for key in ["blocking_cycles", "deliver_difference_cycles", "jitter_cycles", "latency_cycles"] {
        assert_same(key, &keys(&row[key]), &figures);
    }
    let cpu = format!("{table} > key of `cpu_cycles`");
    assert_keys(&cpu, &row["cpu_cycles"]);
    let here = ["sender", "receiver", "interrupt", "link handler", "copy engine"];
    let layers = inner(&cpu, "layers", &here);
    list(&row["cpu_cycles"], "layers").iter().for_each(|of| assert_same(&cpu, &keys(of), &layers));
    assert_inner(table, row, "cores", &[]);
    let one = format!("{table} > key of a signal");
    for signal in list(row, "signals") {
        assert_keys(&one, signal);
        for side in ["sender", "receiver"] {
            assert_same(&one, &keys(&signal[side]), &inner(&one, side, &["cpu_cycles"]));
            assert_same(&one, &keys(&signal[side]["layers"]), &layers);
        }
    }
}

#[test]
fn of_the_model_beside_the_simulator() {
    let ran = report("bench tune --against simulator --on davinci --case 5");
    assert_report(&ran, &["chip"]);
    let table = "Rows of `bench tune --against`";
    for row in list(&ran, "results") {
        assert_keys(table, row);
        let flows = list(row, "flows").iter();
        flows.for_each(|flow| assert_keys(&format!("{table} > key of `flows`"), flow));
    }
    let usual = report("bench tune --rounds 1");
    assert_report(&usual, &["chip"]);
    list(&usual, "results").iter().for_each(|row| assert_keys("A row of `bench`", row));
}

#[test]
fn of_the_simulator_itself() {
    let ran = report("bench sim --bytes 1024 --rounds 1");
    assert_report(&ran, &[]);
    list(&ran, "results").iter().for_each(|row| assert_keys("Rows of `bench sim`", row));
}
