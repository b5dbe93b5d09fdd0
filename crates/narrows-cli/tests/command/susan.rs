//! `narrows bench susan` as a user starts it, on clusters and between processes of this machine.

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::documented::assert_keys;
use crate::common::{narrows, stdout};
use serde_json::Value;

const CHIP: &str = "bmm-clusters";

fn refused(args: &[&str], code: i32, said: &str) {
    let output = narrows(&[&["bench", "susan"], args].concat());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
    assert!(error.contains(said), "{args:?}\nfound    {error}\nexpected {said}");
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
}

fn report(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&narrows(&[&["bench", "susan", "--json"], args].concat())))
        .unwrap()
}

fn name(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Stripes and a square, as a file.
fn image(place: &Path) -> String {
    let pixel = |at: usize| match (at % 40, at / 40) {
        (8..20, 6..18) => "200",
        (x, _) if x > 30 => "120",
        _ => "40",
    };
    let pixels: Vec<&str> = (0..40 * 24).map(pixel).collect();
    let path = place.join("square.pgm");
    std::fs::write(&path, format!("P2 40 24 255\n{}\n", pixels.join(" "))).unwrap();
    name(&path).to_owned()
}

#[test]
fn rows_are_documented_and_documented_keys_are_there() {
    let place = tempfile::tempdir().unwrap();
    let image = image(place.path());
    let chip = report(&["--cpus", "1..3", "--on", CHIP, "--image", &image]);
    let host = report(&["--cpus", "1,2", "--image", &image]);
    assert_eq!(
        (&chip["command"], &chip["machine"]["platform"]),
        (&"bench susan".into(), &CHIP.into())
    );
    for report in [&chip, &host] {
        let rows = report["results"].as_array().unwrap();
        rows.iter().for_each(|row| assert_keys("Rows of `bench susan`", row));
    }
    let cases = |report: &Value| -> Vec<(String, u64)> {
        let rows = report["results"].as_array().unwrap().iter();
        rows.map(|row| {
            (row["mechanism"].as_str().unwrap().to_owned(), row["cpus"].as_u64().unwrap())
        })
        .collect()
    };
    let expected: Vec<(String, u64)> =
        ["dma", "bmm"].iter().flat_map(|one| (1..4).map(move |n| ((*one).to_owned(), n))).collect();
    assert_eq!(cases(&chip), expected);
    assert_eq!(cases(&host), [("memory".to_owned(), 1), ("memory".to_owned(), 2)]);
    assert!(chip["results"][1]["communication_cycles"].as_u64().unwrap() > 0);
    assert!(host["results"][1]["communication_cycles"].is_null());
    assert!(host["results"][1]["execution_us"].as_f64().unwrap() > 0.0);
    let text =
        stdout(&narrows(&["bench", "susan", "--cpus", "2", "--on", CHIP, "--image", &image]));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn pictures_are_the_same_by_every_way_and_number_of_cpus() {
    let place = tempfile::tempdir().unwrap();
    let image = image(place.path());
    let mut found = BTreeSet::new();
    for (number, way) in [
        &["--cpus", "1"][..],
        &["--cpus", "3", "--on", "host"],
        &["--cpus", "2", "--carrier", "stream"],
        &["--cpus", "5", "--on", CHIP],
    ]
    .iter()
    .enumerate()
    {
        let out = place.path().join(format!("{number}.pgm"));
        let args = [&["bench", "susan", "--image", &image, "--out", name(&out)], *way].concat();
        stdout(&narrows(&args));
        found.insert(std::fs::read(out).unwrap());
    }
    assert_eq!(found.len(), 1);
    assert!(
        found.iter().all(|bytes| bytes.starts_with(b"P5\n160 24 255\n")),
        "four beside each other"
    );
    let out = place.path().join("corners.png");
    let args = ["bench", "susan", "--cpus", "1", "--find", "corners", "--image", &image, "--out"];
    stdout(&narrows(&[&args[..], &[name(&out)]].concat()));
    assert!(std::fs::read(out).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn images_that_cannot_be_are_a_sentence() {
    let place = tempfile::tempdir().unwrap();
    let file = |file: &str, bytes: &[u8]| {
        let path = place.path().join(file);
        std::fs::write(&path, bytes).unwrap();
        name(&path).to_owned()
    };
    let image = |path: &str, said| refused(&["--cpus", "1", "--image", path], 4, said);
    image("/nowhere/a.pgm", "cannot read /nowhere/a.pgm");
    image(&file("dot.pgm", b"P5 1 1 255\n7"), "dot.pgm has 1 by 1 pixels, and the mask alone");
    image(&file("colour.ppm", b"P6 1 1 255\nabc"), "it has colours or transparency");
    image(&file("text.txt", b"hello"), "it is no PGM or PNG file");
    image(&file("huge.pgm", b"P5 1000000 1000000 255\n"), "huge.pgm: it has ");
    image(&file("short.pgm", b"P5 20 20 255\nabc"), "short.pgm: it is cut short");
    image(name(place.path()), "is a directory");
    let mut wide = b"P5 65540 7 255\n".to_vec();
    wide.resize(wide.len() + 65540 * 7, 9);
    let wide = file("wide.pgm", &wide);
    image(&wide, "65540 pixels wide, and a row has to fit a packet of 65536 bytes");
    let said = "65540 pixels wide, and a FIFO has no room for a row";
    refused(&["--cpus", "2", "--on", CHIP, "--image", &wide], 3, said);
}

#[test]
fn what_cannot_be_asked_is_a_sentence() {
    refused(
        &["--cpus", "9", "--on", CHIP],
        2,
        "--cpus 9: bmm-clusters has 8: name bmm-clusters-16",
    );
    refused(
        &["--cpus", "1..17", "--on", "bmm-clusters-16"],
        2,
        "--cpus 17: bmm-clusters-16 has 16",
    );
    refused(&["--cpus", "33"], 2, "--cpus 33: on this machine there are at most 32 processes");
    refused(&["--on", "davinci"], 2, "it has no clusters: name bmm-clusters, or host");
    refused(&["--cpus", "1", "--out", "found.jpg"], 2, "found.jpg: pictures are written as PNG");
    refused(&["--cpus", "1", "--out", "/nowhere/found.png"], 5, "/nowhere/found.png");
    for flag in [["--cpus", "0"], ["--cpus", "4..1"], ["--threshold", "0"], ["--find", "noses"]] {
        let output = narrows(&[&["bench", "susan"], &flag[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{flag:?}");
    }
}

/// The workload that comes with the program.
fn shipped() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/susan.toml").to_owned()
}

#[test]
fn run_cuts_the_image_of_a_workload_file_and_writes_what_was_found() {
    let place = tempfile::tempdir().unwrap();
    let image = image(place.path());
    let file = place.path().join("mine.toml");
    let text =
        format!("name = \"mine\"\n[susan]\ncpus = [1, 2]\nfind = \"edges\"\nimage = {image:?}\n");
    std::fs::write(&file, text).unwrap();
    for on in ["host", CHIP] {
        let out = place.path().join(on);
        let args = ["run", name(&file), "--json", "--on", on, "--out", name(&out)];
        let ran: Value = serde_json::from_str(&stdout(&narrows(&args))).unwrap();
        assert_eq!(ran["command"], "run");
        let cpus: BTreeSet<u64> = ran["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["cpus"].as_u64().unwrap())
            .collect();
        assert_eq!(cpus, BTreeSet::from([1, 2]));
        let bytes = |path: &Path| std::fs::read(path).unwrap();
        let alone = place.path().join("alone.png");
        let found = ["--cpus", "1", "--find", "edges", "--image", &image, "--out", name(&alone)];
        drop(report(&found));
        assert_eq!(bytes(&out.join("mine.png")), bytes(&alone), "{on}");
    }
}

#[test]
fn what_says_nothing_to_an_image_is_refused_by_name() {
    for (flags, said) in [
        (&["--strategy", "copy"][..], "--strategy is for flows"),
        (&["--duration", "1s"], "--duration is for flows"),
        (&["--live"], "--live is for flows"),
        (&["--on", "davinci"], "it has no clusters"),
    ] {
        let output = narrows(&[&["run", &shipped()], flags].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {error}");
        assert!(error.contains(said), "{flags:?}: {error}");
    }
}
