//! `narrows bench t0` to `t3` between two processes, as a user starts them.

use serde_json::Value;
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
    let logged = rows(&["t1", "--rounds", "2", "--stack", "flat"]);
    assert_eq!(told(&logged, "signal"), ["log request", "request", "log", "reply"]);
    for case in ["t2", "t3"] {
        let burst = rows(&[case, "--rounds", "5"]);
        assert_eq!(told(&burst, "signal"), ["burst", "confirmation", "burst", "confirmation"]);
        assert!(burst[0]["throughput_mbit_s"].as_f64().unwrap() > 0.0);
        for row in burst.iter().step_by(2) {
            assert_eq!(row["latencies_cycles"].as_array().unwrap().len(), 5, "{row}");
        }
    }
}

#[test]
fn what_only_a_chip_has_is_refused() {
    for (arguments, what) in [
        (&["t4"][..], "--on nios2-quad"),
        (&["t0", "--driver", "dma-ack"], "--driver"),
        (&["t2", "--handler-stopped"], "--handler-stopped"),
        (&["t2", "--counter", "poll"], "--counter"),
        (&["t0", "--bytes", "4"], "8 to 65536"),
    ] {
        let output = bench(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(what), "{arguments:?}");
    }
}
