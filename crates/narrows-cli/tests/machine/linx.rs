//! `narrows bench t0` to `t6` on this machine, as a user starts them.

use crate::common::documented::{assert_keys, assert_keys_but, assert_same, inner, keys};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Output};

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_narrows")).arg("bench").args(arguments).output().unwrap()
}

fn rows(arguments: &[&str]) -> Vec<Value> {
    let output = bench(&[arguments, &["--json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["results"].as_array().unwrap().clone()
}

fn told(rows: &[Value], key: &str) -> Vec<String> {
    rows.iter().map(|row| row[key].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_case_has_its_signals_in_both_stacks() {
    let latency = rows(&["t0", "--rounds", "2", "--bytes", "32,1024"]);
    let stacks = ["layered", "layered", "layered", "layered", "flat", "flat", "flat", "flat"];
    assert_eq!(told(&latency, "stack"), stacks);
    for row in &latency {
        documented_layers(row, "t0");
        assert_eq!(row["driver"], "host");
        let figure = |key: &str| row[key]["median"].as_f64().unwrap();
        assert!(figure("latency_cycles") > 0.0 && figure("blocking_cycles") > 0.0, "{row}");
        let at_once = &row["at_once"];
        assert_eq!(at_once.is_null(), row["signal"] != "request", "{row}");
        assert_eq!(row["round_trip_cycles"].is_null(), at_once.is_null(), "{row}");
        if !at_once.is_null() {
            let flat = row["stack"] == "flat";
            assert!(at_once["ratio"].as_f64().unwrap() > 0.0, "{row}");
            let within = at_once["ratio"].as_f64().unwrap() <= 1.2;
            assert_eq!(at_once["met"], if flat { Value::from(within) } else { Value::Null });
        }
    }
    let logged = rows(&["t1", "--on", "host", "--rounds", "2", "--stack", "flat"]);
    assert_eq!(told(&logged, "signal"), ["log request", "request", "log", "reply"]);
    for case in ["t2", "t3"] {
        let burst = rows(&[case, "--rounds", "5"]);
        assert_eq!(told(&burst, "signal"), ["burst", "confirmation", "burst", "confirmation"]);
        assert!(burst[0]["throughput_mbit_s"].as_f64().unwrap() > 0.0);
        for row in burst.iter().step_by(2) {
            assert_eq!(row["signals"].as_array().unwrap().len(), 5, "{row}");
        }
    }
}

#[test]
fn cases_of_many_cores_have_as_many_nodes_as_are_asked_for() {
    let flows = |rows: &[Value], signal: &str| -> Vec<(u64, u64)> {
        let of = rows.iter().filter(|row| row["stack"] == "flat" && row["signal"] == signal);
        of.map(|row| (row["from"].as_u64().unwrap(), row["to"].as_u64().unwrap())).collect()
    };
    for (case, asked) in [
        ("t4", vec![(0, 1), (2, 3), (4, 5)]),
        ("t5", vec![(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)]),
        ("t6", vec![(1, 0), (2, 0), (3, 0), (4, 0), (5, 0)]),
    ] {
        let rows = rows(&[case, "--nodes", "6", "--rounds", "2", "--bytes", "128"]);
        assert_eq!(flows(&rows, "request"), asked, "{case}");
        let back: Vec<(u64, u64)> = asked.iter().map(|(from, to)| (*to, *from)).collect();
        assert_eq!(flows(&rows, "reply"), back, "{case}");
        for row in &rows {
            assert!(row["latency_cycles"]["median"].as_f64().unwrap() > 0.0, "{row}");
            let layers = row["cpu_cycles"]["layers"].as_array().unwrap();
            assert_eq!(layers.len(), 6, "{row}");
            let each = if row["stack"] == "flat" { 1 } else { 4 };
            assert!(layers.iter().all(|of| of.as_object().unwrap().len() == each), "{row}");
        }
    }
}

/// Where docs/JSON.md has the rows.
const TABLE: &str = "Rows of `bench t0` to `t6`";

/// A row has the keys that are documented of a host; what it says of layers.
fn documented_layers(row: &Value, case: &str) -> BTreeSet<String> {
    let at_once = case == "t0" && row["driver"] == "host" && row["signal"] == "request";
    assert_keys_but(TABLE, row, if at_once { &[] } else { &["at_once"] });
    if at_once {
        assert_keys(&format!("{TABLE} > key of `at_once`"), &row["at_once"]);
    }
    assert_eq!(row["cores"], Value::Array(Vec::new()));
    let cpu = format!("{TABLE} > key of `cpu_cycles`");
    assert_keys(&cpu, &row["cpu_cycles"]);
    let signals = row["signals"].as_array().unwrap();
    assert!(!signals.is_empty(), "{row}");
    for signal in signals {
        assert_keys_but(&format!("{TABLE} > key of a signal"), signal, &["sender", "receiver"]);
    }
    row["cpu_cycles"]["layers"].as_array().unwrap().iter().flat_map(keys).collect()
}

const DRIVERS: [&str; 5] = ["shm-ack", "shm-noack", "single-copy", "dma-ack", "dma-noack"];

#[test]
fn each_of_the_five_drivers_carries_every_case_in_both_stacks() {
    let all = DRIVERS.join(",");
    let mut layers = BTreeSet::new();
    for (case, more, signals) in [
        ("t0", &["--rounds", "2", "--bytes", "32,3000"][..], 4),
        ("t1", &["--rounds", "2"], 4),
        // Pieces, and more signals than there is memory for between the two.
        ("t2", &["--rounds", "240", "--bytes", "65536"], 2),
        ("t3", &["--rounds", "3"], 2),
        ("t4", &["--rounds", "2", "--bytes", "128"], 4),
        ("t5", &["--rounds", "2", "--bytes", "128", "--nodes", "3"], 4),
        ("t6", &["--rounds", "2", "--bytes", "128", "--nodes", "3"], 4),
    ] {
        let rows = rows(&[&[case, "--driver", &all], more].concat());
        layers.extend(rows.iter().flat_map(|row| documented_layers(row, case)));
        for stack in ["layered", "flat"] {
            for driver in DRIVERS {
                let is = |row: &&Value| row["driver"] == driver && row["stack"] == stack;
                let own: Vec<&Value> = rows.iter().filter(is).collect();
                assert_eq!(own.len(), signals, "{case} {driver} {stack}");
                for row in own {
                    let figure = |key: &str| row[key]["median"].as_f64().unwrap();
                    assert!(figure("latency_cycles") > 0.0, "{row}");
                    assert!(figure("blocking_cycles") > 0.0, "{row}");
                    assert!(row["at_once"].is_null(), "{row}");
                    let layers = row["cpu_cycles"]["layers"][0].as_object().unwrap();
                    let engine = driver.starts_with("dma") && case < "t4";
                    assert_eq!(layers.contains_key("copy engine"), engine, "{row}");
                    assert_eq!(layers.contains_key("interrupt"), stack == "layered", "{row}");
                }
            }
        }
    }
    // Without those of a chip, and what is named as no layer.
    let others = ["link", "connection", "driver", "system", "idle", "sender"];
    let cpu = format!("{TABLE} > key of `cpu_cycles`");
    assert_same(&cpu, &layers, &inner(&cpu, "layers", &others));
}

#[test]
fn what_is_done_against_bursts_loses_no_signal_by_any_driver() {
    let all = DRIVERS.join(",");
    for (more, stacks) in [
        (&["--counter", "window"][..], 2),
        (&["--counter", "coalesce", "--stack", "layered"], 1),
        (&["--counter", "mask", "--stack", "layered"], 1),
        (&["--mtu", "64", "--stack", "layered"], 1),
        (&["--handler-stopped", "--stack", "layered"], 1),
    ] {
        let rows =
            rows(&[&["t2", "--rounds", "60", "--bytes", "300", "--driver", &all], more].concat());
        assert_eq!(rows.len(), DRIVERS.len() * stacks * 2, "{more:?}");
        for row in rows.iter().step_by(2) {
            assert_eq!(row["signals"].as_array().unwrap().len(), 60, "{more:?}");
        }
    }
}

#[test]
fn what_a_host_can_do_against_bursts_it_does() {
    for (more, stacks) in [
        (&["--counter", "window"][..], 2),
        (&["--counter", "coalesce"], 2),
        (&["--counter", "mask", "--stack", "layered"], 1),
        (&["--mtu", "64", "--stack", "layered"], 1),
        (&["--handler-stopped", "--stack", "layered"], 1),
    ] {
        let rows = rows(&[&["t2", "--rounds", "40", "--bytes", "300"], more].concat());
        assert_eq!(rows.len(), 2 * stacks, "{more:?}");
        let counter = more.iter().zip(&more[1..]).find(|(name, _)| **name == "--counter");
        for row in &rows {
            assert_eq!(row["counter"].as_str(), counter.map(|(_, value)| *value), "{more:?}");
        }
        for row in rows.iter().step_by(2) {
            assert_eq!(row["signals"].as_array().unwrap().len(), 40, "{more:?}");
        }
    }
}

#[test]
fn what_is_not_there_is_refused() {
    for (arguments, what) in [
        (&["t0", "--cached"][..], "always cached"),
        (&["t2", "--handler-stopped"], "no link handler"),
        (&["t2", "--handler-stopped", "--stack", "layered", "--rounds", "1025"], "1024 signals"),
        (&["t2", "--driver", "shm-ack", "--counter", "coalesce"], "--stack layered"),
        (&["t2", "--counter", "poll"], "always takes"),
        (&["t2", "--counter", "quota"], "scheduler"),
        (&["t2", "--counter", "mask"], "--stack layered"),
        (&["t4", "--mtu", "512"], "--stack layered"),
        (&["t4", "--mtu", "63", "--stack", "layered"], "64 to 65600"),
        (&["t4", "--nodes", "33"], "2 to 32"),
        (&["t0", "--nodes", "3"], "unexpected argument '--nodes'"),
        (&["t3", "--handler-stopped"], "unexpected argument '--handler-stopped'"),
        (&["t4", "--nodes", "3", "--on", "nios2-quad"], "a chip has"),
        (&["t0", "--bytes", "4"], "8 to 65536"),
        (&["t2", "--counter", "quota", "--on", "nios2-dual"], "--stack layered"),
        (&["t0", "--bytes", "108", "--mtu", "124", "--on", "nios2-dual"], "--stack layered"),
        (&["t0", "--bytes", "3", "--on", "nios2-dual"], "4 to 131072 bytes"),
        (&["t0", "--bytes", "131073", "--on", "nios2-dual"], "4 to 131072 bytes"),
        (&["t0", "--mtu", "4G", "--stack", "layered", "--on", "nios2-dual"], "no room"),
        (&["t2", "--rounds", "129", "--on", "nios2-dual"], "room for 128 signals"),
        (&["t3", "--rounds", "17", "--on", "nios2-dual"], "room for 16 signals"),
        (&["t2", "--handler-stopped", "--on", "nios2-dual"], "no link handler"),
        (&["t0", "--driver", "single-copy", "--mtu", "64", "--stack", "layered"], "does nothing"),
        (&["t0", "--mtu", "63", "--stack", "layered", "--on", "nios2-dual"], "64 bytes at least"),
        (&["t0", "--cached", "--on", "davinci"], "--cached does nothing on davinci"),
    ] {
        let output = bench(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(what), "{arguments:?}");
    }
}

#[test]
fn rows_of_several_frames_are_told_apart() {
    let all = ["--driver", "shm-ack,single-copy", "--stack", "layered", "--rounds", "2"];
    let text = |case: &str, mtu: &str| {
        let output = bench(&[&[case, "--on", "nios2-dual", "--mtu", mtu], &all[..]].concat());
        assert!(output.status.success(), "{case}");
        String::from_utf8(output.stdout).unwrap()
    };
    for (case, signals) in [("t0", 14), ("t1", 4), ("t2", 2)] {
        let text = text(case, "96,65536");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let (tables, totals) = text.split_once("From the first send").unwrap();
        for (mtu, driver) in
            [("mtu 96", "shm-ack"), ("mtu 65536", "shm-ack"), ("no mtu", "single-copy")]
        {
            let (_, own) = tables
                .split_once(&format!(
                    "layered, {mtu}

"
                ))
                .unwrap();
            let own = own
                .split(
                    "

",
                )
                .next()
                .unwrap();
            let rows: Vec<&str> = own.lines().filter(|line| line.contains('>')).collect();
            assert_eq!(rows.len(), signals, "{text}");
            assert!(rows.iter().all(|row| row.starts_with(driver)), "{text}");
        }
        let totals: Vec<&str> = totals.lines().filter(|line| line.contains('>')).collect();
        let of = |what: &str| totals.iter().filter(|line| line.contains(what)).count();
        let found = [of(" B, mtu 96: "), of(" B, mtu 65536: "), of(" B: ")];
        assert_eq!(found, [signals; 3], "{text}");
    }
    let one = text("t1", "96");
    assert!(!one.contains("mtu"), "{one}");
}

/// How many digits a number has behind its point.
fn places(number: &str) -> usize {
    number.split_once('.').map_or(0, |(_, places)| places.len())
}

fn all_numbers(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Number(number) => found.push(number.to_string()),
        Value::Array(values) => values.iter().for_each(|value| all_numbers(value, found)),
        Value::Object(values) => values.values().for_each(|value| all_numbers(value, found)),
        _ => {}
    }
}

#[test]
fn figures_have_no_more_digits_than_say_something() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("signals.csv");
    let out = ["--out", file.to_str().unwrap()];
    for case in ["t0", "t2"] {
        for on in ["nios2-dual", "host"] {
            let rows =
                rows(&[&[case, "--on", on, "--rounds", "7", "--bytes", "48"], &out[..]].concat());
            let mut numbers = Vec::new();
            rows.iter().for_each(|row| all_numbers(row, &mut numbers));
            let csv = std::fs::read_to_string(&file).unwrap();
            numbers.extend(csv.lines().skip(1).flat_map(|line| line.split(',')).map(str::to_owned));
            let long: Vec<&String> = numbers.iter().filter(|one| places(one) > 3).collect();
            assert!(long.is_empty(), "{case} {on}: {long:?}");
            assert!(
                numbers.iter().any(|one| places(one) > 1),
                "{case} {on}: nothing but whole ones"
            );
        }
    }
}

#[test]
fn lists_and_signals_as_csv() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("signals.csv");
    let on = ["t2", "--on", "nios2-dual", "--stack", "layered", "--rounds", "20"];
    let lists = ["--driver", "shm-ack,single-copy", "--bytes", "32,300", "--mtu", "64,128"];
    let out = ["--out", file.to_str().unwrap()];
    let rows = rows(&[&on[..], &lists, &out].concat());
    let told: Vec<(&str, Option<u64>, u64)> = rows
        .iter()
        .filter(|row| row["signal"] == "burst")
        .map(|row| {
            (row["driver"].as_str().unwrap(), row["mtu"].as_u64(), row["bytes"].as_u64().unwrap())
        })
        .collect();
    let shm = [64, 128].into_iter().flat_map(|mtu| [32, 300].map(|bytes| (Some(mtu), bytes)));
    let shm = shm.map(|(mtu, bytes)| ("shm-ack", mtu, bytes));
    // Nothing is cut of what a header points to.
    let single = [32, 300].map(|bytes| ("single-copy", None, bytes));
    assert_eq!(told, shm.chain(single).collect::<Vec<_>>());
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 1 + 6 * 21, "a line for each signal and confirmation");
    let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    for name in ["number", "blocking_cycles", "sender.layers.idle", "receiver.bus_wait_cycles"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let mut beyond = Vec::new();
    for row in &rows {
        for signal in row["signals"].as_array().unwrap() {
            for core in ["sender", "receiver"] {
                let of = &signal[core];
                let by = of["layers"].as_object().unwrap();
                let all: f64 = by.values().map(|one| one.as_f64().unwrap()).sum();
                let took = signal["latency_cycles"].as_f64().unwrap();
                // The account begins before the first stamp and ends behind the last.
                assert!(all >= took, "{all} of {took}: {of}");
                beyond.push(all - took);
                let part = |name: &str| by[name].as_f64().unwrap();
                let busy = of["busy_cycles"].as_f64().unwrap();
                assert!((all - part("idle") - busy).abs() < 1.0, "{of}");
                let system = part("system");
                assert!(system > 0.0 && part("application") >= 0.0, "{of}");
                let layers: f64 = ["link", "connection", "driver"].map(part).iter().sum();
                // An application makes a signal, or looks at one: next to nothing (4.2.2.2). Calls
                // and switches take less than the layers that make them.
                let little = part("application") < 0.05 * busy;
                assert!(busy < 5000.0 || little && layers > system, "{of}");
            }
        }
    }
    // By little, but where an interrupt is served between a stamp and the account.
    beyond.sort_by(f64::total_cmp);
    let usual = beyond[beyond.len() * 9 / 10];
    assert!(usual < 1000.0 && beyond.iter().all(|more| *more < 15_000.0), "{beyond:?}");
}
