//! `narrows tune` as a user starts it.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn tune(directory: &Path, workload: &str, more: &[&str]) -> Output {
    let path = directory.join("w.toml");
    std::fs::write(&path, workload).unwrap();
    let name = path.to_str().unwrap();
    Command::new(env!("CARGO_BIN_EXE_narrows")).args(["tune", name]).args(more).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

const SPEECH: &str = r#"
name = "speech"
[[flow]]
name = "a"
function = "busy"
busy = "1ms"
request = 320
response = 160
period = "20ms"
deadline = "15ms"
[[flow]]
name = "b"
function = "busy"
busy = "1ms"
request = 320
response = 160
period = "20ms"
deadline = "15ms"
"#;

#[test]
fn a_plan_on_a_chip_is_the_same_every_time_and_has_the_keys_that_are_documented() {
    let directory = tempfile::tempdir().unwrap();
    let svg = directory.path().join("front.svg");
    let arguments = ["--on", "davinci", "--json", "--svg", svg.to_str().unwrap()];
    let report = stdout(&tune(directory.path(), SPEECH, &arguments));
    assert_eq!(report, stdout(&tune(directory.path(), SPEECH, &arguments)));
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["command"], "tune");
    let page = include_str!("../../../docs/JSON.md");
    let (_, section) = page.split_once("## A row of `tune`").expect("a section");
    let plan = &report["results"][0];
    let flows = plan["flows"].as_array().unwrap();
    for row in flows.iter().chain([plan, &plan["static"]]) {
        for key in row.as_object().unwrap().keys() {
            assert!(section.contains(&format!("`{key}`")), "docs/JSON.md lacks {key}");
        }
    }
    assert_eq!(flows.len(), 2);
    let number = |row: &Value, key: &str| row[key].as_f64().unwrap();
    for flow in flows {
        assert!(number(flow, "latency_bound_ms") <= 15.0, "{flow}");
        assert!(number(flow, "latency_p99_ms") <= number(flow, "latency_bound_ms"), "{flow}");
        assert!(number(flow, "load_percent") > 0.5, "{flow}");
    }
    let sum: f64 = flows.iter().map(|flow| number(flow, "load_percent")).sum();
    assert!((sum - number(plan, "load_percent")).abs() < 1e-6);
    assert!(number(&plan["static"], "load_percent") >= number(plan, "load_percent"));
    let drawn = std::fs::read_to_string(svg).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.contains("speech on davinci"), "{drawn}");
}

#[test]
fn text_fits_the_screen_and_objectives_differ() {
    let directory = tempfile::tempdir().unwrap();
    let on = |more: &[&str]| {
        let arguments = [&["--on", "davinci"][..], more].concat();
        stdout(&tune(directory.path(), SPEECH, &arguments))
    };
    let text = on(&[]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for words in ["speech, least load", "Next for a", "Least loads by internal memory"] {
        assert!(text.contains(words), "{text}");
    }
    assert!(on(&["--objective", "latency"]).contains("least latency"));
    let energy = on(&["--objective", "energy", "--clocks", "297MHz,1MHz,148.5MHz"]);
    assert!(energy.contains("at 148 MHz") || energy.contains("at 149 MHz"), "{energy}");
}

#[test]
fn what_is_impossible_is_refused_with_the_flow_and_by_how_much() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |workload: &str, more: &[&str]| {
        let arguments = [&["--on", "davinci"][..], more].concat();
        let output = tune(directory.path(), workload, &arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), text)
    };
    let late = SPEECH.replace("deadline = \"15ms\"", "deadline = \"1ms\"");
    let (code, text) = refused(&late, &[]);
    assert!(code == Some(3) && text.contains("flow a cannot keep its deadline"), "{text}");
    let (code, text) = refused(&SPEECH.replace("period = \"20ms\"\n", ""), &[]);
    assert!(code == Some(3) && text.contains("flow a has no period"), "{text}");
    let (code, text) = refused(SPEECH, &["--load", "0.5"]);
    assert!(code == Some(3) && text.contains("% of the calling core are missing"), "{text}");
    let internal = ["--memory", "100", "--strategy", "copy/interrupt/internal"];
    let (code, text) = refused(SPEECH, &internal);
    assert!(code == Some(3) && text.contains("bytes of internal memory are missing"), "{text}");
    for wrong in [&["--load", "NaN"][..], &["--objective", "energy"], &["--dsps", "9"]] {
        assert_eq!(refused(SPEECH, wrong).0, Some(2), "{wrong:?}");
    }
}
