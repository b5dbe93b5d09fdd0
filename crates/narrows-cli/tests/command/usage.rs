//! What a simulated chip did, as `run` and `bench` tell it.

use crate::common::documented::{assert_keys, assert_same, inner, keys};
use crate::common::{narrows, stdout, text};
use serde_json::Value;

fn report(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(&narrows(&[arguments, &["--json"]].concat()))).unwrap()
}

/// Where docs/JSON.md has what is printed of a chip.
const CHIP: &str = "`chip` of `run` and `bench`";

/// Of a row of `chip`, of its cores and of its buses all keys are documented, and no others.
fn is_documented(row: &Value) {
    assert_keys(CHIP, row);
    let core = format!("{CHIP} > `core`");
    for one in row["cores"].as_array().unwrap() {
        assert_keys(&core, one);
        for cache in ["data", "instructions", "second"] {
            if !one[cache].is_null() {
                // The other two are said to be the same.
                assert_same(&core, &keys(&one[cache]), &inner(&core, "data", &[]));
            }
        }
    }
    for one in row["buses"].as_array().unwrap() {
        assert_keys(&format!("{CHIP} > `bus`"), one);
    }
}

#[test]
fn what_a_chip_did_in_a_run_is_in_json_and_among_the_details() {
    let strategies = ["copy/interrupt/external", "copy/poll=5ms/internal"];
    let run = ["run", "voice", "--on", "davinci", "--strategy", &strategies.join(",")];
    let report = report(&run);
    let chip = report["chip"].as_array().unwrap();
    let of: Vec<&str> = chip.iter().map(|row| row["of"].as_str().unwrap()).collect();
    assert_eq!(of, strategies);
    chip.iter().for_each(is_documented);
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
}

#[test]
fn every_bench_of_a_chip_says_what_the_chip_did() {
    let benches: [(&str, &[&str]); 9] = [
        ("t0 --on nios2-dual --driver shm-ack --bytes 16", &["layered shm-ack", "flat shm-ack"]),
        ("t3 --on nios2-quad --driver dma-ack --stack flat --bytes 64", &["flat dma-ack"]),
        ("susan --on bmm-clusters --cpus 2 --find corners", &["dma, 2 CPUs", "bmm, 2 CPUs"]),
        ("pingpong --on bmm-clusters --bytes 4KiB", &["dma", "bmm"]),
        ("throughput --on bmm-clusters --bytes 4KiB", &["dma", "bmm"]),
        ("soak --on generic-amp --for 2ms", &["all rows"]),
        ("storm --on generic-amp --rounds 2", &["all kills"]),
        ("sra --on quatro67 --bytes 24 --mode rw", &["rw"]),
        ("scaling --on generic-amp --rounds 1 --notify spin", &["1 link", "8 links", "64 links"]),
    ];
    for (bench, expected) in benches {
        let arguments: Vec<&str> = ["bench"].into_iter().chain(bench.split(' ')).collect();
        let made = report(&arguments);
        let chip = made["chip"].as_array().unwrap();
        let of: Vec<&str> = chip.iter().map(|row| row["of"].as_str().unwrap()).collect();
        assert_eq!(of, expected, "{bench}");
        for row in chip {
            is_documented(row);
            let cores = row["cores"].as_array().unwrap();
            assert_eq!(Some(cores.len() as u64), made["machine"]["cores"].as_u64(), "{bench}");
            let number = |core: &Value, key: &str| core[key].as_f64().unwrap();
            let time = number(row, "time_us");
            for core in cores {
                let sum = number(core, "busy_us") + number(core, "idle_us");
                assert!((sum - time).abs() < 1e-3, "{bench}: {core}");
            }
            assert!(cores.iter().any(|core| number(core, "busy_us") > 0.0), "{bench}: {row}");
            let transfers = |bus: &Value| bus["transfers"].as_u64().unwrap();
            let buses = row["buses"].as_array().unwrap();
            assert!(buses.iter().map(transfers).sum::<u64>() > 0, "{bench}: {row}");
        }
        let long = stdout(&narrows(&[&arguments[..], &["--details"]].concat()));
        for of in expected {
            assert!(long.contains(&format!("\nthe chip, {of}: ")), "{bench}: {long}");
        }
    }
}

/// Simulations of one name are added up.
#[test]
fn what_a_chip_did_in_several_simulations_is_the_sum() {
    let of = |bytes: &str| {
        let bench = "bench t0 --on nios2-dual --driver shm-ack --stack layered --bytes";
        report(&bench.split(' ').chain([bytes]).collect::<Vec<_>>())["chip"].take()
    };
    let [one, other, both] = ["16", "256", "16,256"].map(of);
    for key in ["/0/time_us", "/0/cores/0/busy_us", "/0/cores/1/interrupts", "/0/buses/0/waited_us"]
    {
        let [one, other, both] = [&one, &other, &both].map(|of| of.pointer(key).unwrap());
        let [one, other, both] = [one, other, both].map(|number| number.as_f64().unwrap());
        assert!(one > 0.0 && (one + other - both).abs() < 1e-3, "{key}: {one} {other} {both}");
    }
}

#[test]
fn where_no_chip_is_simulated_there_are_no_details() {
    for (bench, says) in [
        ("pingpong", "name one with --on"),
        ("sra --on host", "name one with --on"),
        ("advise --on host", "name one with --on"),
        ("tune", "add --against simulator"),
        ("sim", "this bench is of this machine"),
        ("clients", "this bench is of this machine"),
    ] {
        let arguments = ["bench"].into_iter().chain(bench.split(' ')).chain(["--details"]);
        let output = narrows(&arguments.collect::<Vec<_>>());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{bench}: {said}");
        assert!(said.contains(says), "{bench}: {said}");
    }
    let here = report(&["bench", "susan", "--cpus", "1", "--find", "corners"]);
    assert_eq!(here["chip"], Value::Array(Vec::new()));
}
