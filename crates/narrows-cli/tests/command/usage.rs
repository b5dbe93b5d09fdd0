//! What a simulated chip did, as `run` and `bench` tell it.

use crate::common::{narrows, stdout, text};
use serde_json::Value;

fn report(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(&narrows(&[arguments, &["--json"]].concat()))).unwrap()
}

/// The keys that the tables of a section of docs/JSON.md have.
fn documented(heading: &str) -> Vec<&'static str> {
    let page = include_str!("../../../../docs/JSON.md");
    let section = page.split("\n## ").find(|part| part.starts_with(heading)).unwrap();
    section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect()
}

#[test]
fn what_a_chip_did_in_a_run_is_in_json_and_among_the_details() {
    let strategies = ["copy/interrupt/external", "copy/poll=5ms/internal"];
    let run = ["run", "voice", "--on", "davinci", "--strategy", &strategies.join(",")];
    let report = report(&run);
    let chip = report["chip"].as_array().unwrap();
    let of: Vec<&str> = chip.iter().map(|row| row["of"].as_str().unwrap()).collect();
    assert_eq!(of, strategies);
    let keys = |row: &Value| -> Vec<String> { row.as_object().unwrap().keys().cloned().collect() };
    let (core, bus) = (&chip[0]["cores"][0], &chip[0]["buses"][0]);
    let mut found = [keys(&chip[0]), keys(core), keys(bus)].concat();
    let mut expected = documented("`chip` of `run`");
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    let number = |row: &Value, key: &str| row[key].as_f64().unwrap();
    for (row, flows) in chip.iter().zip(report["results"].as_array().unwrap().chunks(2)) {
        let time = number(row, "time_us");
        assert!((1.2e6..1.4e6).contains(&time), "{row}");
        for (core, side) in row["cores"].as_array().unwrap().iter().zip(["caller", "callee"]) {
            let busy = number(core, "busy_us");
            assert!((busy + number(core, "idle_us") - time).abs() < 1e-3, "{core}");
            // The load of the flows leaves out what fetching stamps takes.
            let load = flows[0]["cpu_percent"][side].as_f64().unwrap();
            assert!(100.0 * busy / time >= load * 0.95, "{core} {load}");
            assert!(number(core, "interrupt_us") < busy, "{core}");
            assert!(core["data"]["misses"].is_u64() && core["second"].is_null(), "{core}");
        }
        let busy: f64 =
            row["buses"].as_array().unwrap().iter().map(|bus| number(bus, "busy_us")).sum();
        assert!(busy > 0.0 && busy < time, "{row}");
    }
    // No request interrupts a callee that polls.
    let interrupts = |row: &Value| row["cores"][1]["interrupts"].as_u64().unwrap();
    assert!(interrupts(&chip[0]) > interrupts(&chip[1]) + 100, "{chip:?}");
    let long = stdout(&narrows(&[&run[..], &["--details"]].concat()));
    assert!(long.contains("\nthe chip, copy/poll=5ms/internal: 12"), "{long}");
    assert!(long.lines().all(|line| line.chars().count() <= 80), "{long}");
}

#[test]
fn what_a_chip_did_in_a_bench_is_in_json_and_among_the_details() {
    let bench = [
        "bench",
        "pingpong",
        "--on",
        "generic-amp",
        "--bytes",
        "1KiB",
        "--notify",
        "interrupt",
        "--placement",
        "external",
    ];
    let made = report(&bench);
    let [row] = &made["chip"].as_array().unwrap()[..] else { panic!("{made}") };
    assert_eq!(row["cores"].as_array().unwrap().len(), 2);
    assert!(row["cores"][1]["interrupts"].as_u64() > Some(100), "{row}");
    for cache in ["data", "instructions"] {
        let cache = &row["cores"][0][cache];
        assert!(cache["hits"].as_u64() > cache["misses"].as_u64(), "{row}");
        assert!(cache["misses"].as_u64() > Some(0), "{row}");
    }
    let long = stdout(&narrows(&[&bench[..], &["--details"]].concat()));
    assert!(long.contains("the chip, all rows: ") && long.contains("waited for %"), "{long}");
    for refused in [&["bench", "pingpong", "--details"][..], &["bench", "sim", "--details"]] {
        let output = narrows(refused);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("name a chip with --on"), "{said}");
    }
}
