//! `narrows bench throughput` and `narrows papers` on clusters, as a user starts them, and what
//! other commands say of such a chip.

mod common;

use common::{narrows, stdout};
use serde_json::Value;

const CHIP: &str = "bmm-clusters";

fn refused(args: &[&str], code: i32, said: &str) {
    let output = narrows(args);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
    assert!(error.contains(said), "{args:?}\nfound    {error}\nexpected {said}");
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
}

#[test]
fn packets_between_clusters_have_documented_rows() {
    let args = ["bench", "throughput", "--on", CHIP, "--bytes", "256,8192", "--json"];
    let report: Value = serde_json::from_str(&stdout(&narrows(&args))).unwrap();
    assert_eq!(report["command"], "bench throughput");
    assert_eq!(report["machine"]["platform"], CHIP);
    let rows = report["results"].as_array().unwrap();
    let cases: Vec<(&str, u64)> = rows
        .iter()
        .map(|row| (row["mechanism"].as_str().unwrap(), row["packet_bytes"].as_u64().unwrap()))
        .collect();
    assert_eq!(cases, [("dma", 256), ("dma", 8192), ("bmm", 256), ("bmm", 8192)]);
    let page = include_str!("../../../docs/JSON.md");
    let (_, section) = page.split_once("## Rows of `bench throughput` on clusters").unwrap();
    let section = section.split("\n## ").next().unwrap();
    for row in rows {
        for key in row.as_object().unwrap().keys() {
            assert!(section.contains(&format!("`{key}`")), "docs/JSON.md lacks {key}");
        }
        assert!(row["throughput_mbit_s"].as_f64().unwrap() > 0.0, "{row}");
    }
    let text = stdout(&narrows(&["bench", "throughput", "--on", CHIP, "--bytes", "8192"]));
    assert!(text.lines().any(|line| line.starts_with("bmm          8192        2")), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn what_cannot_be_asked_of_clusters_is_a_sentence() {
    let bench = |flag: &'static str, value: &'static str| {
        ["bench", "throughput", "--on", CHIP, flag, value]
    };
    refused(&bench("--notify", "spin"), 2, "--notify is for links of the stack");
    refused(&bench("--rounds", "3"), 2, "--rounds is for links of the stack");
    refused(&bench("--bytes", "12"), 2, "--bytes 12: packets are of 4, 8, 16");
    for command in
        [&["bench", "pingpong"][..], &["run", "voice"], &["bench", "mcapi"], &["bench", "t0"]]
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
    let shipped = include_str!("../../../platforms/bmm-clusters.toml");
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
