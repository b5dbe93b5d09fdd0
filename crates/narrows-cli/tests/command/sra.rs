//! `narrows bench sra` as a user starts it, on this machine and on boards with routes.

use crate::common::documented::{assert_keys, assert_same, documented, keys};
use crate::common::{narrows, stdout};
use serde_json::Value;
use std::fs;

const SRA: &str = "Rows of `bench sra`";

fn refused(args: &[&str], code: i32, said: &str) {
    let output = narrows(args);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
    assert!(error.contains(said), "{args:?}\nfound    {error}\nexpected {said}");
}

#[test]
fn processors_of_this_machine_have_documented_rows() {
    let args = ["bench", "sra", "--on", "host", "--rounds", "2", "--json"];
    let report: Value = serde_json::from_str(&stdout(&narrows(&args))).unwrap();
    let rows = report["results"].as_array().unwrap();
    let cases: Vec<(&str, &str, u64)> = rows
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap();
            (text("mode"), text("shape"), row["bytes"].as_u64().unwrap())
        })
        .collect();
    let expected = ["memory", "stream"].into_iter().flat_map(|mode| {
        let shapes = ["line", "ring"].into_iter();
        shapes.flat_map(move |shape| [24, 4092].map(|bytes| (mode, shape, bytes)))
    });
    assert_eq!(cases, expected.collect::<Vec<_>>());
    // Those of a board as well.
    let mut both = documented(SRA);
    both.extend(documented(&format!("{SRA} > With `--on host`")));
    for row in rows {
        assert_same(SRA, &keys(row), &both);
        assert_eq!(row["rounds"].as_array().unwrap().len(), 2);
        assert!(row["sra_us"].as_f64().unwrap() > 0.0, "{row}");
    }
}

#[test]
fn hops_follow_the_routes_of_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("routes.toml");
    fs::write(
        &file,
        "[[route]]\nat = 'p1'\nto = ['p4']\nover = ['p2']\n[[route]]\nat = 'p2'\nto = ['p4']\nover = ['p3']\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let ring = ["bench", "sra", "--on", "host", "--shape", "ring", "--hops", "3"];
    refused(&ring, 2, "no way from the first processor of a ring of 4 has so many links");
    let more = ["--routes", file, "--rounds", "1", "--bytes", "8", "--carrier", "memory", "--json"];
    let report = stdout(&narrows(&[&ring[..], &more[..]].concat()));
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["results"][0]["way"], serde_json::json!(["p2", "p3", "p4"]));
    assert_eq!(report["results"].as_array().unwrap().len(), 1);
}

#[test]
fn what_means_nothing_where_it_runs_is_refused() {
    let on_host = |more: &[&'static str]| [&["bench", "sra", "--on", "host"][..], more].concat();
    refused(&on_host(&["--mode", "rw"]), 2, "--mode is how DMA is driven");
    refused(&on_host(&["--with", "frames"]), 2, "--with is for boards");
    refused(&on_host(&["--bytes", "5000"]), 2, "--bytes 5000: messages here have 1 to 4096");
    refused(&on_host(&["--hops", "4"]), 2, "--hops 4: no way from the first processor");
    refused(&on_host(&["--routes", "none.toml"]), 3, "cannot read routes none.toml");
    let board = |more: &[&'static str]| [&["bench", "sra"][..], more].concat();
    refused(&board(&["--shape", "ring"]), 2, "--shape is for --on host");
    refused(&board(&["--rounds", "3"]), 2, "--rounds is for --on host");
    refused(&board(&["--routes", "none.toml"]), 2, "--routes is for --on host");
}

#[test]
fn a_board_takes_the_routes_of_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("routed.toml");
    let board = include_str!("../../../../platforms/quatro67.toml");
    let route = "\n[[route]]\nat = 'dsp0'\nto = ['dsp2']\nover = ['dsp3']\n";
    fs::write(&file, format!("{board}{route}")).unwrap();
    let file = file.to_str().unwrap();
    let asked = ["bench", "sra", "--on", file, "--bytes", "24", "--mode", "burst"];
    let report = stdout(&narrows(&[&asked[..], &["--json"]].concat()));
    let report: Value = serde_json::from_str(&report).unwrap();
    let rows = report["results"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert_keys(SRA, &rows[0]);
    let text = stdout(&narrows(&[&asked[..], &["--hops", "2"]].concat()));
    assert!(text.contains("by the file's routes dsp0 sends over dsp3, dsp2"), "{text}");
    refused(
        &[&asked[..], &["--hops", "3"]].concat(),
        2,
        "no processor is so many transfers from the first",
    );
}
