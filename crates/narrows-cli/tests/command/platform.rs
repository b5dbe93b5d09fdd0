//! `narrows platform` as a user starts it.

use crate::common::documented::{
    assert_inner, assert_keys, assert_report, assert_same, inner, keys, without,
};
use crate::common::{narrows, stdout};
use serde_json::{Value, json};

const ROW: &str = "A row of `platform`";

#[test]
fn shipped_platforms_are_listed_and_shown_from_anywhere() {
    let list = stdout(&narrows(&["platform", "list"]));
    for name in [
        "am62p",
        "am64x",
        "bmm-clusters",
        "bmm-clusters-16",
        "davinci",
        "generic-amp",
        "imxrt1170",
        "nios2-dual",
        "nios2-quad",
        "pci44",
        "quatro67",
        "stm32h747",
    ] {
        assert!(list.lines().any(|line| line.starts_with(name)), "{list}");
        let shown = stdout(&narrows(&["platform", "show", name]));
        assert!(shown.starts_with(&format!("{name}: ")), "{shown}");
    }
    assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
}

#[test]
fn each_command_has_one_kind_of_row() {
    for (arguments, rows) in
        [(&["platform", "list"][..], 12), (&["platform", "show", "nios2-quad"], 1)]
    {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        let report: Value = serde_json::from_str(&stdout(&narrows(&arguments))).unwrap();
        assert_eq!(report["command"], arguments[..2].join(" "));
        assert_eq!(report["results"].as_array().unwrap().len(), rows);
        assert_report(&report, &[]);
        for row in report["results"].as_array().unwrap() {
            assert_keys(ROW, row);
            let cores = row["cores"].as_array().unwrap();
            assert!(cores.len() >= 2 && cores.iter().all(|core| core["clock_hz"].is_u64()));
        }
    }
}

/// What lies under a key of several objects, in one that has it of all. What is null is left out.
fn gathered<'a>(of: impl IntoIterator<Item = &'a Value>, key: &str) -> Value {
    let parts = of.into_iter().filter(|one| !one[key].is_null());
    let parts = parts.flat_map(|one| match &one[key] {
        Value::Array(all) => all.clone(),
        other => vec![other.clone()],
    });
    json!({ key: parts.collect::<Vec<Value>>() })
}

/// A chip may lack a part, and no chip has all of them: so the parts of all chips are looked at.
#[test]
fn every_part_of_a_chip_is_documented() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("mine.toml");
    let board = include_str!("../../../../platforms/quatro67.toml");
    // No chip that is shipped has any of these.
    let route = "\n[[route]]\nat = 'dsp0'\nto = ['dsp2']\nover = ['dsp3']\n";
    let stream = "[[memory]]\nstream = [{ from = 64, read = '5ns', write = '3ns' }]";
    let serve = "[[core]]\nfunctions = { echo = '1ns' }\n\
                 serve = [{ from = 64, copied = '1ns', in_place = '1ns' }]";
    let mine = board.replacen("[[memory]]", stream, 1).replacen("[[core]]", serve, 1) + route;
    std::fs::write(&file, mine).unwrap();
    let rows = |arguments: &[&str]| {
        let printed = stdout(&narrows(&[&["platform"], arguments, &["--json"]].concat()));
        let report: Value = serde_json::from_str(&printed).unwrap();
        report["results"].as_array().unwrap().clone()
    };
    let chips = [rows(&["list"]), rows(&["check", file.to_str().unwrap()])].concat();
    for (key, others) in [
        ("buses", &[][..]),
        ("memories", &[]),
        ("bridges", &[]),
        ("engines", &[]),
        ("link", &[]),
        ("ports", &["fifo", "comm"]),
        ("dmas", &["edge", "level"]),
        ("ipc", &["burst", "rw", "frame"]),
        ("routes", &[]),
        ("model", &[]),
    ] {
        assert_inner(ROW, &gathered(&chips, key), key, others);
    }

    let table = format!("{ROW} > key of `clusters`");
    let joined = gathered(&chips, "clusters")["clusters"].take();
    let joined = joined.as_array().unwrap();
    assert!(!joined.is_empty());
    joined.iter().for_each(|one| assert_keys(&table, one));
    for (key, others) in [
        ("noc", &[][..]),
        ("clusters", &[]),
        ("block_dma", &[]),
        ("buffer_manager", &["memory", "hardware"]),
        ("calls", &[]),
        ("accelerators", &[]),
    ] {
        assert_inner(&table, &gathered(joined, key), key, others);
    }

    let table = format!("{ROW} > key of a core");
    let cores = gathered(&chips, "cores")["cores"].take();
    let cores = cores.as_array().unwrap();
    cores.iter().for_each(|one| assert_keys(&table, one));
    for key in ["copy", "timer", "interrupt", "serve"] {
        assert_inner(&table, &gathered(cores, key), key, &[]);
    }
    let read_only = ["write_back", "allocate", "data", "second"];
    assert_inner(&table, &gathered(cores, "instructions"), "instructions", &read_only);
    for key in ["data", "second"] {
        assert_inner(&table, &gathered(cores, key), key, &["data", "second"]);
    }
    // Under names: of spans, of functions and of system calls.
    for key in ["span", "functions"] {
        let named: Vec<&Value> =
            cores.iter().flat_map(|core| core[key].as_object().unwrap().values()).collect();
        assert!(!named.is_empty(), "{key}");
        for one in named {
            assert_same(&table, &keys(one), &inner(&table, key, &[]));
        }
    }
    let mut of_calls = 0;
    for core in cores {
        let system = &core["system"];
        let own = without(&inner(&table, "system", &[]), &["takes_ns", "words"]);
        assert_same(&table, &keys(system), &own);
        for key in ["calls", "swapping"] {
            for call in system[key].as_object().unwrap().values() {
                assert_same(&table, &keys(call), &["takes_ns", "words"].map(str::to_owned).into());
                of_calls += 1;
            }
        }
    }
    assert!(of_calls > 0);
}

#[test]
fn a_file_is_checked_and_drawn() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("mine.toml");
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../platforms/generic-amp.toml");
    let text = std::fs::read_to_string(shipped).unwrap();
    std::fs::write(&file, &text).unwrap();
    let path = file.to_str().unwrap();
    let said = stdout(&narrows(&["platform", "check", path]));
    assert!(said.starts_with("mine: ") && said.contains("2 cores, 2 buses"), "{said}");
    let picture = place.path().join("mine.svg");
    stdout(&narrows(&["platform", "show", path, "--svg", picture.to_str().unwrap()]));
    assert!(std::fs::read_to_string(&picture).unwrap().starts_with("<svg "));

    std::fs::write(&file, text.replacen("clock = \"1GHz\"", "clock = 1000", 1)).unwrap();
    let line = text.lines().position(|line| line.starts_with("clock = \"1GHz\"")).unwrap() + 1;
    let output = narrows(&["platform", "check", path]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(3), true), "{said}");
    let expected = format!(
        "narrows: {path}:{line}:9: bus.clock is 1000; expected a frequency from \"1Hz\" to \"10GHz\", \
         such as \"297MHz\"\n"
    );
    assert_eq!(said, expected);
}

#[test]
fn a_picture_that_cannot_be_written_is_code_five() {
    let output = narrows(&["platform", "show", "davinci", "--svg", "/none/such/x.svg"]);
    assert_eq!(output.status.code(), Some(5));
    assert!(output.stdout.is_empty());
}
