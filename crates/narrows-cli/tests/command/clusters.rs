//! `narrows bench throughput`, `bench pingpong` and `papers` on clusters, as a user starts them,
//! and what other commands say of such a chip.

use crate::common::documented::assert_keys;
use crate::common::{narrows, stdout};
use serde_json::Value;

const CHIP: &str = "bmm-clusters";

fn refused(args: &[&str], code: i32, said: &str) {
    let output = narrows(args);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
    assert!(error.contains(said), "{args:?}\nfound    {error}\nexpected {said}");
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
}

/// The rows of a bench as JSON, whose keys are those that a section of docs/JSON.md has.
fn documented(args: &[&str], section: &str) -> Vec<Value> {
    let report: Value = serde_json::from_str(&stdout(&narrows(args))).unwrap();
    assert_eq!(report["command"], args[..2].join(" "));
    assert_eq!(report["machine"]["platform"], CHIP);
    let rows = report["results"].as_array().unwrap();
    rows.iter().for_each(|row| assert_keys(section, row));
    rows.clone()
}

#[test]
fn packets_between_clusters_have_documented_rows() {
    let args = ["bench", "throughput", "--on", CHIP, "--bytes", "256,8192", "--json"];
    let rows = documented(&args, "Rows of `bench throughput` on clusters");
    let cases: Vec<(&str, u64)> = rows
        .iter()
        .map(|row| (row["mechanism"].as_str().unwrap(), row["packet_bytes"].as_u64().unwrap()))
        .collect();
    assert_eq!(cases, [("dma", 256), ("dma", 8192), ("bmm", 256), ("bmm", 8192)]);
    assert!(rows.iter().all(|row| row["throughput_mbit_s"].as_f64().unwrap() > 0.0));
    let text = stdout(&narrows(&["bench", "throughput", "--on", CHIP, "--bytes", "8192"]));
    assert!(text.lines().any(|line| line.starts_with("bmm          8192        2")), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn round_trips_between_clusters_have_documented_rows() {
    let args = ["bench", "pingpong", "--on", CHIP, "--bytes", "256,8192", "--json"];
    let rows = documented(&args, "Rows of `bench pingpong` on clusters");
    let cases: Vec<(&str, u64, u64)> = rows
        .iter()
        .map(|row| {
            let [bytes, packets] =
                ["packet_bytes", "packets"].map(|key| row[key].as_u64().unwrap());
            (row["mechanism"].as_str().unwrap(), bytes, packets)
        })
        .collect();
    let expected = [(256, 1), (256, 32), (8192, 1)];
    let expected = ["dma", "bmm"].map(|name| expected.map(|(bytes, count)| (name, bytes, count)));
    assert_eq!(cases, expected.concat());
    assert_eq!([&rows[0]["send_instructions"], &rows[3]["receive_instructions"]], [&245, &271]);
    let text = stdout(&narrows(&args[..6]));
    assert!(text.contains("a send 125 and a receive 271"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn cores_that_are_named_are_those_that_packets_go_between() {
    for bench in ["throughput", "pingpong"] {
        let run = |cores: &str| {
            let args =
                ["bench", bench, "--on", CHIP, "--bytes", "8192", "--cores", cores, "--json"];
            let report: Value = serde_json::from_str(&stdout(&narrows(&args))).unwrap();
            report["results"].as_array().unwrap().clone()
        };
        let [near, far] = [run("0,2"), run("0,7")];
        for (near, far) in near.iter().zip(&far) {
            assert_eq!([&near["hops"], &far["hops"]], [&1, &2]);
            let trip = |row: &Value| row["round_trip_us"].as_f64();
            assert!(trip(near) < trip(far) || bench == "throughput", "{near} {far}");
        }
    }
    let cores = |cores: &'static str| ["bench", "pingpong", "--on", CHIP, "--cores", cores];
    refused(&cores("0,1"), 2, "--cores 0,1 are both in cluster0");
    refused(&cores("0,8"), 2, "--cores 0,8 are not both there");
    refused(&cores("3,3"), 2, "--cores names one core twice");
}

#[test]
fn a_page_draws_figures_by_the_size_of_packets() {
    let place = tempfile::tempdir().unwrap();
    for (bench, title) in [
        ("throughput", "Throughput by size of packets"),
        ("pingpong", "Round trip of 8 KiB in packets"),
    ] {
        let file = place.path().join(format!("{bench}.html"));
        let (bytes, file) = ("64,4096", file.to_str().unwrap());
        let args = ["bench", bench, "--on", CHIP, "--bytes", bytes, "--report", file];
        stdout(&narrows(&args));
        let page = std::fs::read_to_string(file).unwrap();
        assert!(page.contains(title), "{bench}");
    }
}

#[test]
fn what_cannot_be_asked_of_clusters_is_a_sentence() {
    for bench in ["throughput", "pingpong"] {
        let with =
            |flag: &'static str, value: &'static str| ["bench", bench, "--on", CHIP, flag, value];
        refused(&with("--notify", "spin"), 2, "--notify is for links of the stack");
        refused(&with("--transfer", "copy"), 2, "--transfer is for links of the stack");
        refused(&with("--placement", "internal"), 2, "--placement is for links of the stack");
        refused(&with("--rounds", "3"), 2, "--rounds is for links of the stack");
        refused(&with("--bytes", "12"), 2, "--bytes 12: packets are of 4, 8, 16");
    }
    for command in
        [&["bench", "phases"][..], &["run", "voice"], &["bench", "mcapi"], &["bench", "t0"]]
    {
        let said = "has clusters on a network and no links of the stack";
        refused(&[command, &["--on", CHIP]].concat(), 3, said);
    }
    refused(&["bench", "sra", "--on", CHIP], 2, "it has no ports");
}

#[test]
fn a_file_of_clusters_that_cannot_be_is_told_with_its_place() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("mine.toml");
    let shipped = include_str!("../../../../platforms/bmm-clusters.toml");
    std::fs::write(&file, shipped.replace("mesh = [2, 2]", "mesh = [2, 1]")).unwrap();
    let args = ["bench", "throughput", "--on", file.to_str().unwrap()];
    refused(&args, 3, "there is no route out of the mesh");
}

#[test]
fn s3_is_shown_with_what_misses() {
    let report = stdout(&narrows(&["papers", "--source", "S3", "--json"]));
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["machine"]["platform"], CHIP);
    let rows = report["results"].as_array().unwrap();
    let within = |id: &str| rows.iter().find(|row| row["id"] == id).map(|row| &row["within"]);
    assert_eq!(within("S3.code.send"), Some(&Value::Bool(true)));
    assert_eq!(within("S3.throughput.limit"), Some(&Value::Bool(true)));
    assert_eq!(within("S3.throughput.dma.largest"), Some(&Value::Bool(false)));
}
