//! `narrows calibrate` as a user starts it.

use crate::common::documented::{assert_keys, assert_report};
use serde_json::Value;
use std::process::{Command, Output};

fn narrows(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_narrows")).args(arguments).output().unwrap()
}

/// The report of a command that succeeds.
fn report(arguments: &[&str]) -> Value {
    let output = narrows(&[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn what_is_written_is_a_platform_to_run_on_and_every_round_trip_is_compared() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("here.toml");
    let path = file.to_str().unwrap();
    let told = report(&["calibrate", "--out", path, "--rounds", "2"]);
    assert_eq!(told["command"], "calibrate");
    assert_report(&told, &[]);
    assert_eq!(told["notes"].as_array().unwrap().len(), 2);
    let rows = told["results"].as_array().unwrap();
    let sizes = [128, 256, 1024, 4096, 16384, 65536];
    let expected: Vec<(&str, u64)> = ["copy/spin/external", "in_place/spin/external"]
        .into_iter()
        .flat_map(|strategy| sizes.map(|bytes| (strategy, bytes)))
        .collect();
    let named: Vec<(&str, u64)> = rows
        .iter()
        .map(|row| (row["strategy"].as_str().unwrap(), row["bytes"].as_u64().unwrap()))
        .collect();
    assert_eq!(named, expected);
    for row in rows {
        assert_keys("A row of `calibrate`", row);
        let figure = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
        let [measured, simulated] = ["measured_ns", "simulated_ns"].map(figure);
        assert!(measured > 0.0 && simulated > 0.0, "{row}");
        let batches = row["batches"].as_u64().unwrap();
        assert!((1..=2).contains(&batches), "{row}");
        assert!(batches == 2 || figure("spread_ns") == 0.0, "one batch has no spread: {row}");
        let deviation = 100.0 * (simulated / measured - 1.0);
        assert!((figure("deviation_percent") - deviation).abs() < 1e-6, "{row}");
        assert_eq!(row["holds"], deviation.abs() <= 20.0, "{row}");
    }

    let checked = report(&["platform", "check", path]);
    assert_eq!(checked["results"][0]["platform"], "here");
    let on = ["bench", "pingpong", "--notify", "spin", "--bytes", "128", "--on", path];
    let simulated = report(&[&on[..], &["--rounds", "1", "--transfer", "in_place"]].concat());
    let simulated = simulated["results"].as_array().unwrap();
    let call = simulated.iter().find(|row| row["name"].as_str().unwrap().ends_with("call"));
    let row = rows.iter().find(|row| row["strategy"] == "in_place/spin/external").unwrap();
    let [bench, compared] = [&call.unwrap()["value"], &row["simulated_ns"]].map(|value| {
        // To the nanosecond: a look of a spinning wait more or less.
        value.as_f64().unwrap()
    });
    assert!((bench - compared).abs() <= 2.0, "{bench} {compared}");
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_anything_is_measured() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("missing").join("here.toml");
    let output = narrows(&["calibrate", "--out", path.to_str().unwrap(), "--rounds", "60000"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(5), true), "{said}");
    assert!(said.contains("missing"), "{said}");
}
