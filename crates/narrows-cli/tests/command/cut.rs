//! Requests that are cut into parts, on simulated chips: carried, told of by the model, and chosen.

use super::common::{stdout, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Frames that no block of davinci's 16 KiB of internal memory holds, and parts that one does.
const FRAMES: &str = r#"
name = "frames"
duration = "1s"
[[flow]]
name = "video"
function = "busy"
busy = "4ms"
request = "18KiB"
response = 4000
period = "50ms"
deadline = "50ms"
parts = 6
"#;

/// The file of a chip that is davinci without its copy engine, in a directory.
pub fn without_engine(directory: &Path) -> PathBuf {
    let davinci = include_str!("../../../../platforms/davinci.toml");
    let (before, engine) = davinci.split_once("[[engine]]").expect("davinci has an engine");
    let (_, after) = engine.split_once("\n[").expect("more of the chip");
    let chip = directory.join("plain.toml");
    std::fs::write(&chip, format!("{before}[{after}")).unwrap();
    chip
}

/// A directory with a chip that is davinci without its copy engine, and a workload.
struct Ground {
    directory: tempfile::TempDir,
    chip: PathBuf,
}

impl Ground {
    fn new() -> Ground {
        let directory = tempfile::tempdir().unwrap();
        let chip = without_engine(directory.path());
        Ground { directory, chip }
    }

    fn narrows(&self, command: &str, workload: &str, chip: &Path, more: &[&str]) -> Output {
        let path = self.directory.path().join("w.toml");
        std::fs::write(&path, workload).unwrap();
        Command::new(env!("CARGO_BIN_EXE_narrows"))
            .args([command, path.to_str().unwrap(), "--on", chip.to_str().unwrap()])
            .args(more)
            .output()
            .unwrap()
    }

    fn rows(&self, command: &str, workload: &str, chip: &Path, by: &str) -> Vec<Value> {
        let more = ["--strategy", by, "--json"];
        let report = stdout(&self.narrows(command, workload, chip, &more));
        let report: Value = serde_json::from_str(&report).unwrap();
        report["results"].as_array().unwrap().clone()
    }
}

fn number(row: &Value, key: &str) -> f64 {
    row.pointer(key).and_then(Value::as_f64).unwrap_or_else(|| panic!("{key} of {row}"))
}

#[test]
fn memory_that_holds_no_whole_frame_carries_one_in_parts() {
    let ground = Ground::new();
    let by = "copy/interrupt/internal,copy/interrupt/internal/parts=5,\
              copy_engine/interrupt/internal/parts=6,in_place/hybrid/external/parts=6:3,\
              copy/interrupt/internal/parts=7";
    let rows = ground.rows("run", FRAMES, Path::new("davinci"), by);
    let refused = |row: &Value| row["refused"].as_str().unwrap_or_default().to_owned();
    assert!(refused(&rows[0]).contains("the largest block of this memory has 4096 bytes"));
    assert!(refused(&rows[4]).contains("cut into 6 parts at most"), "{}", rows[4]);
    for row in &rows[1..4] {
        assert_eq!(row["refused"], Value::Null, "{row}");
        // Of whole frames.
        let counts = ["sent", "received", "lost", "wrong", "deadline_misses"];
        let counts = counts.map(|key| row[key].as_u64().unwrap());
        assert_eq!(counts, [20, 20, 0, 0, 0], "{row}");
        let bytes = number(row, "/bytes_per_second") / number(row, "/calls_per_second");
        assert_eq!(bytes.round(), 22432.0, "{row}");
        // From the first part's call until the last part is back.
        let trip = number(row, "/rtt_us/median");
        assert!(trip > 4000.0 && trip > 2.0 * number(row, "/phases_us/C/median"), "{row}");
        assert!(number(row, "/since_due_us/median") >= trip, "{row}");
    }
}

#[test]
fn a_flow_whose_requests_may_not_be_cut_is_refused_with_parts() {
    let ground = Ground::new();
    let whole = FRAMES.replace("parts = 6", "");
    let more = ["--strategy", "copy/interrupt/external/parts=2"];
    let output = ground.narrows("run", &whole, Path::new("davinci"), &more);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("the workload has no parts = 2 for it"), "{said}");
}

/// The model puts ways of cutting in the order in which the simulator does, where they differ by
/// more than it is wrong, and never says less than what comes.
#[test]
fn the_model_ranks_parts_as_the_simulator_does() {
    let ground = Ground::new();
    let ways = [
        "copy/interrupt/external",
        "copy/interrupt/external/parts=2",
        "copy/interrupt/external/parts=3:2",
        "copy/interrupt/internal/parts=5",
        "copy/interrupt/internal/parts=6",
        "copy/interrupt/external/parts=6",
        "copy/interrupt/external/parts=6:2",
    ];
    for chip in ["davinci", "nios2-dual"] {
        // What fits in parts only on davinci is shorter on the other.
        let fits = |by: &&&str| chip == "davinci" || !by.contains("internal");
        let mut made = Vec::new();
        for by in ways.iter().filter(fits) {
            let carried = ground.rows("run", FRAMES, Path::new(chip), by).remove(0);
            let plan = ground.rows("tune", FRAMES, Path::new(chip), by).remove(0);
            let plan = plan["flows"][0].clone();
            let loads = [number(&plan, "/load_percent"), number(&carried, "/cpu_percent/caller")];
            let times =
                [number(&plan, "/latency_p99_ms"), number(&carried, "/since_due_us/p99") / 1e3];
            let most = number(&carried, "/since_due_us/max") / 1e3;
            assert!(most <= number(&plan, "/latency_bound_ms"), "{chip} {by}: {most} {plan}");
            made.push((by, loads, times));
        }
        for (by, load, time) in &made {
            for (other, other_load, other_time) in &made {
                for ([said, found], [other_said, other_found]) in
                    [(load, other_load), (time, other_time)]
                {
                    if *found < 0.9 * other_found {
                        assert!(said < other_said, "{chip}: {by} before {other}: {made:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn frames_are_cut_where_that_is_cheaper_and_where_they_may_be() {
    let ground = Ground::new();
    let tuned = |workload: &str, chip: &Path, more: &[&str]| {
        let arguments = [&["--json"][..], more].concat();
        let report = stdout(&ground.narrows("tune", workload, chip, &arguments));
        let report: Value = serde_json::from_str(&report).unwrap();
        let plan = report["results"][0].clone();
        (plan["flows"][0]["strategy"].as_str().unwrap().to_owned(), number(&plan, "/load_percent"))
    };
    let (cut, load) = tuned(FRAMES, &ground.chip, &[]);
    assert!(cut.contains("/internal/parts=5"), "{cut}");
    let (whole, more) = tuned(&FRAMES.replace("parts = 6", ""), &ground.chip, &[]);
    assert!(!whole.contains("parts=") && load < more, "{cut} {load} {whole} {more}");
    // Parts so short that requests cost more than copying in external memory does.
    let (short, least) = tuned(FRAMES, &ground.chip, &["--memory", "512"]);
    assert!(!short.contains("parts=") && least == more, "{short} {least} {more}");
    // The engine moves whole frames for less.
    let (engine, _) = tuned(FRAMES, Path::new("davinci"), &[]);
    assert!(engine.starts_with("copy_engine") && !engine.contains("parts="), "{engine}");
}

#[test]
fn the_controller_cuts_frames_that_internal_memory_does_not_hold() {
    let ground = Ground::new();
    let row = ground.rows("run", FRAMES, &ground.chip, "auto").remove(0);
    assert_eq!(
        (&row["refused"], &row["wrong"], &row["lost"]),
        (&Value::Null, &0.into(), &0.into())
    );
    let more = ["--strategy", "auto", "--json"];
    let report = stdout(&ground.narrows("run", FRAMES, &ground.chip, &more));
    assert!(report.contains("internal/parts=5\""), "{report}");
}

/// Where parts in internal memory take least, `advise` tries them and says so; whole frames take
/// more of the core, as it says where they may not be cut.
#[test]
fn advise_chooses_parts_where_they_take_least() {
    let ground = Ground::new();
    let advised = |workload: &str| {
        let report = stdout(&ground.narrows("advise", workload, &ground.chip, &["--json"]));
        let report: Value = serde_json::from_str(&report).unwrap();
        report["results"][0].clone()
    };
    let cut = advised(FRAMES);
    assert!(cut["strategy"].as_str().unwrap().contains("/internal/parts=5"), "{cut}");
    let whole = advised(&FRAMES.replace("parts = 6", ""));
    assert!(!whole["strategy"].as_str().unwrap().contains("parts="), "{whole}");
    let load = |row: &Value| number(row, "/load_percent");
    assert!(load(&cut) < 0.9 * load(&whole), "{cut} {whole}");
}
