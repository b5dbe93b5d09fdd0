//! `narrows platform` as a user starts it.

use crate::common::{narrows, stdout};
use serde_json::Value;

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
        for row in report["results"].as_array().unwrap() {
            let cores = row["cores"].as_array().unwrap();
            assert!(cores.len() >= 2 && cores.iter().all(|core| core["clock_hz"].is_u64()));
        }
    }
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
