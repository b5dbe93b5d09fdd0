//! `narrows tune` as a user starts it.

use crate::common::documented::{assert_inner, assert_keys, assert_report};
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

/// Where docs/JSON.md has a plan, and each of its flows.
const ROW: &str = "A row of `tune`";
const FLOW: &str = "A row of `tune` > Each of `flows`";

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
    assert_report(&report, &[]);
    let plan = &report["results"][0];
    assert_keys(ROW, plan);
    assert_inner(ROW, plan, "static", &[]);
    assert_inner(ROW, plan, "front", &[]);
    let flows = plan["flows"].as_array().unwrap();
    for row in flows {
        assert_keys(FLOW, row);
        assert_inner(FLOW, row, "next", &["load_within_percent"]);
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
    let energy = on(&["--objective", "energy"]);
    assert!(energy.contains("at 256 MHz") || energy.contains("at 257 MHz"), "{energy}");
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
    let (code, text) = refused(SPEECH, &["--load", "0.5"]);
    assert!(
        code == Some(3) && text.contains("% more of the calling core's time than there is"),
        "{text}"
    );
    let internal = ["--memory", "100", "--strategy", "copy/interrupt/internal"];
    let (code, text) = refused(SPEECH, &internal);
    assert!(code == Some(3) && text.contains("bytes more of internal memory than"), "{text}");
    let busy = SPEECH.replace("busy = \"1ms\"", "busy = \"25ms\"").replace("\"15ms\"", "\"1s\"");
    let (code, text) = refused(&busy, &[]);
    assert!(code == Some(3) && text.contains("flow a falls behind"), "{text}");
    for (from, to) in [
        ("period = \"20ms\"", "period = \"0ms\""),
        ("period = \"20ms\"", "period = \"-20ms\""),
        ("period = \"20ms\"", "period = nan"),
        ("deadline = \"15ms\"", "deadline = \"0s\""),
        ("busy = \"1ms\"", "busy = \"NaNms\""),
    ] {
        let (code, text) = refused(&SPEECH.replacen(from, to, 1), &[]);
        let key = to.split(' ').next().unwrap();
        assert!(code == Some(3) && text.contains(key) && text.contains("expected"), "{text}");
    }
    for wrong in [
        &["--load", "NaN"][..],
        &["--load", "0"],
        &["--load", "-1"],
        &["--memory", "-1"],
        &["--objective", "energy", "--on", "nios2-dual"],
        &["--objective", "energy", "--clocks", "NaNMHz"],
        &["--clocks", "297MHz"],
        &["--dsps", "0"],
        &["--dsps", "9"],
    ] {
        let (code, text) = refused(SPEECH, wrong);
        assert!(code == Some(2) && !text.contains("panicked"), "{wrong:?}: {text}");
    }
}

#[test]
fn without_memory_everything_is_outside() {
    let directory = tempfile::tempdir().unwrap();
    let own = SPEECH.replace("name = \"speech\"", "memory = \"0B\"");
    let by_flag = (SPEECH, &["--on", "davinci", "--memory", "0", "--json"][..]);
    let by_workload = (own.as_str(), &["--on", "davinci", "--json"][..]);
    for (workload, arguments) in [by_flag, by_workload] {
        let report = stdout(&tune(directory.path(), workload, arguments));
        let report: Value = serde_json::from_str(&report).unwrap();
        let plan = &report["results"][0];
        assert_eq!(
            (&plan["memory_bytes"][0], &plan["memory_budget_bytes"]),
            (&0.into(), &0.into())
        );
        for flow in plan["flows"].as_array().unwrap() {
            assert!(flow["strategy"].as_str().unwrap().contains("/external"), "{flow}");
        }
    }
}

#[test]
fn flows_without_a_period_are_planned_beside_others() {
    let mixed = include_str!("../../../../workloads/mixed.toml");
    let directory = tempfile::tempdir().unwrap();
    let text = stdout(&tune(directory.path(), mixed, &["--on", "generic-amp"]));
    assert!(text.contains("short has no period: alone it makes"), "{text}");
    let report = stdout(&tune(directory.path(), mixed, &["--on", "generic-amp", "--json"]));
    let report: Value = serde_json::from_str(&report).unwrap();
    let plan = &report["results"][0];
    let flows = plan["flows"].as_array().unwrap();
    let reaches = |flow: &Value| flow["calls_per_second"].as_f64();
    assert!(
        reaches(&flows[0]).unwrap() > 1.0 && flows[1..].iter().all(|one| reaches(one).is_none())
    );
    let paced: f64 = flows[1..].iter().map(|flow| flow["load_percent"].as_f64().unwrap()).sum();
    assert!((paced - plan["load_percent"].as_f64().unwrap()).abs() < 1e-6);
}

/// On this machine no time is asserted, only that there is a plan and that it is one.
#[test]
fn this_machine_is_planned_for() {
    let directory = tempfile::tempdir().unwrap();
    let late = SPEECH.replace("deadline = \"15ms\"", "deadline = \"10s\"");
    let late = late.replace("period = \"20ms\"", "period = \"500ms\"");
    let report = stdout(&tune(directory.path(), &late, &["--on", "host", "--json"]));
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["machine"]["virtual"], false);
    let plan = &report["results"][0];
    let number = |row: &Value, key: &str| row[key].as_f64().unwrap();
    assert_eq!(plan["gap_percent"], 0.0);
    let flows = plan["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 2);
    let mut sum = 0.0;
    for flow in flows {
        let strategy = flow["strategy"].as_str().unwrap();
        assert!(strategy.parse::<narrows::strategy::Strategy>().is_ok(), "{strategy}");
        assert!(!strategy.contains("copy_engine"), "{strategy}");
        // A millisecond of work in 500.
        assert!(number(flow, "work_percent") >= 0.2, "{flow}");
        assert!(number(flow, "latency_bound_ms") >= 1.0, "{flow}");
        assert!(number(flow, "load_percent") > 0.0, "{flow}");
        sum += number(flow, "load_percent");
    }
    assert!((sum - number(plan, "load_percent")).abs() < 1e-6);
    let front = plan["front"].as_array().unwrap();
    for pair in front.windows(2) {
        assert!(number(&pair[0], "load_percent") > number(&pair[1], "load_percent"), "{pair:?}");
        assert!(number(&pair[0], "memory_bytes") < number(&pair[1], "memory_bytes"), "{pair:?}");
    }
}

#[test]
fn the_model_keeps_to_the_simulator() {
    let against = |which: &[&str]| -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_narrows"))
            .args(["bench", "tune", "--against", "simulator", "--on", "davinci", "--json"])
            .args(which)
            .output()
            .unwrap();
        serde_json::from_str(&stdout(&output)).unwrap()
    };
    let report = against(&["--cases", "20"]);
    let apart = against(&["--cases", "8", "--callees"]);
    let rows = report["results"].as_array().unwrap();
    let callees = apart["results"].as_array().unwrap();
    assert_eq!([rows, callees].map(Vec::len), [20, 8]);
    assert!(callees.iter().any(|row| row["strategies"].to_string().contains("/callee=")));
    let number = |row: &Value, key: &str| row[key].as_f64().unwrap();
    let (mut near, mut all) = (0, 0);
    for row in rows.iter().chain(callees) {
        for flow in row["flows"].as_array().unwrap() {
            assert!(number(flow, "longest_ms") <= number(flow, "bound_ms"), "{row}");
            assert!(number(flow, "answered") >= 100.0, "{row}");
        }
        if row["load_compared"] == true {
            let off = number(row, "load_percent") / number(row, "measured_load_percent") - 1.0;
            (near, all) = (near + u32::from(off.abs() <= 0.1), all + 1);
        }
    }
    assert!(all >= 10 && near * 10 >= all * 9, "{near} of {all}");
    // A case by itself is the same case.
    let again = against(&["--case", "5"]);
    assert_eq!(again["results"][0], rows[5]);
}

/// The core that calls is woken by its clock a thousand times a second, and has a call in 20 ms.
#[test]
fn ticks_are_part_of_the_load_and_of_no_call() {
    let workload = r#"name = "rare"
        duration = "5s"
        [[flow]]
        name = "audio"
        function = "busy"
        period = "20ms"
        request = 320
        response = 160
        busy = "1ms""#;
    let directory = tempfile::tempdir().unwrap();
    let by = "copy_batched/interrupt/external";
    let on = ["--on", "stm32h747", "--strategy", by, "--json"];
    let planned = stdout(&tune(directory.path(), workload, &on));
    let planned: Value = serde_json::from_str(&planned).unwrap();
    let file = directory.path().join("w.toml");
    let mut run = Command::new(env!("CARGO_BIN_EXE_narrows"));
    let run = stdout(&run.arg("run").arg(file).args(on).output().unwrap());
    let run: Value = serde_json::from_str(&run).unwrap();
    let found = run["results"][0]["cpu_percent"]["caller"].as_f64().unwrap();
    let number = |key: &str| planned["results"][0][key].as_f64().unwrap();
    let all = number("load_together_percent");
    assert!((all / found - 1.0).abs() < 0.1, "{all} {found}");
    // A thousand ticks a second, of 252 cycles at 480 MHz.
    assert!((all - number("load_percent") - 0.05).abs() < 0.01, "{planned}");
}

#[test]
fn the_models_error_that_a_platform_file_states_holds_for_other_workloads() {
    let narrows = |arguments: &[&str]| -> Value {
        let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
        let output = command.args(arguments).arg("--json").output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let chip = narrows(&["platform", "show", "davinci"]);
    let model = chip["results"][0]["model"].as_array().unwrap().clone();
    // Another seed than the one that the file's figures are of.
    let simulator = ["bench", "tune", "--against", "simulator", "--on", "davinci"];
    let report = narrows(&[&simulator[..], &["--seed", "7", "--cases", "40"]].concat());
    let (mut within, mut all) = (0, 0);
    for row in report["results"].as_array().unwrap() {
        let strategies = row["strategies"].as_array().unwrap();
        let kind = match strategies.as_slice() {
            [one] => one.as_str().unwrap().split('/').nth(1).unwrap().split('=').next().unwrap(),
            _ => "mixed",
        };
        let stated = model.iter().find(|one| one["notification"] == kind).expect(kind);
        let percent = |key: &str| stated[key].as_f64().unwrap();
        let off = |model: f64, found: f64| 100.0 * (model / found - 1.0).abs();
        let number = |row: &Value, key: &str| row[key].as_f64();
        if row["load_compared"] == true {
            let load = number(row, "load_percent").unwrap();
            let off = off(load, number(row, "measured_load_percent").unwrap());
            (within, all) = (within + u32::from(off <= percent("load_percent")), all + 1);
        }
        for flow in row["flows"].as_array().unwrap() {
            let Some(p99) = number(flow, "p99_ms") else { continue };
            let off = off(p99, number(flow, "measured_p99_ms").unwrap());
            (within, all) = (within + u32::from(off <= percent("p99_percent")), all + 1);
        }
    }
    assert!(all > 60 && within * 100 >= all * 85, "{within} of {all}");
}
