//! Results that there is no room for: a sentence, an exit code, no half file, and both processes
//! gone in order.
//!
//! The small disks are file systems in memory, mounted where only the test sees them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const NARROWS: &str = env!("CARGO_BIN_EXE_narrows");

/// Runs a script with an empty file system at `$disk`, of which `room` says how small it is. Its
/// last lines say what is in there in the end.
fn on_a_small_disk(room: &str, script: &str) -> Output {
    let disk = tempfile::tempdir().unwrap();
    let script = format!(
        "mount -t tmpfs -o {room} none \"$disk\" || exit 99\n{script}\ncode=$?\n\
         find \"$disk\" -mindepth 1 | sed s/^/left:/\nexit $code"
    );
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
        .env("disk", disk.path())
        .env("narrows", NARROWS)
        .env("workload", workload())
        .output()
        .expect("unshare runs: install it with 'apt-get install util-linux mount'");
    assert!(
        !text(&output.stderr).contains("unshare:") && output.status.code() != Some(99),
        "a small disk cannot be mounted here: allow user namespaces with 'sysctl \
         kernel.unprivileged_userns_clone=1', or run as root: {}",
        text(&output.stderr)
    );
    output
}

fn workload() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/voice.toml")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The failure is said as one sentence with the code of results, and nobody panicked.
fn refused(output: &Output) -> String {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.starts_with("narrows: ") && said.contains("the disk is full"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    said
}

#[test]
fn audio_that_does_not_fit_is_no_half_file() {
    let output = on_a_small_disk(
        "size=16k",
        "$narrows run $workload --strategy copy --duration 2s --out $disk",
    );
    let said = refused(&output);
    assert!(said.contains("speech-returned-copy-hybrid-external.wav"), "{said}");
    let printed = text(&output.stdout);
    assert!(printed.contains("this is not the whole run"), "{printed}");
    assert!(!printed.contains("left:"), "{printed}");
}

#[test]
fn a_manual_that_does_not_fit_is_no_half_page() {
    let output = on_a_small_disk("size=4k", "$narrows man --out $disk");
    refused(&output);
    let half = text(&output.stdout);
    // A page that was written before the disk was full is whole; the one that was not is not there.
    assert!(!half.contains(".narrows-") && half.lines().count() < 2, "{half}");
}

#[test]
fn nodes_that_have_no_room_to_meet_say_so() {
    for room in ["nr_inodes=1", "nr_inodes=2", "nr_inodes=3", "nr_inodes=4"] {
        for command in ["bench storm --rounds 1", "bench pingpong --rounds 1", "run $workload"] {
            let output = on_a_small_disk(room, &format!("TMPDIR=$disk $narrows {command}"));
            let said = text(&output.stderr);
            assert!(output.status.code().is_some_and(|code| (5..=9).contains(&code)), "{said}");
            assert!(said.starts_with("narrows: ") && !said.contains("panicked"), "{said}");
            assert!(said.contains("No space left on device"), "{room}, {command}: {said}");
            assert!(text(&output.stdout).is_empty(), "{}", text(&output.stdout));
        }
    }
}

#[test]
fn a_report_that_nobody_can_read_is_a_failure_and_both_sides_are_gone() {
    let place = tempfile::tempdir().unwrap();
    let workload = workload();
    let workload = workload.to_str().unwrap();
    for arguments in [
        &["run", workload, "--strategy", "copy", "--duration", "100ms", "--json"][..],
        &["bench", "pingpong", "--bytes", "48", "--rounds", "1"],
        &["bench", "storm", "--rounds", "2"],
        &["bench", "soak", "--for", "100ms"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(NARROWS);
        let output = command.args(arguments).env("TMPDIR", place.path()).stdout(full).output();
        refused(&output.unwrap());
        let left: Vec<_> = std::fs::read_dir(place.path()).unwrap().flatten().collect();
        assert!(left.is_empty(), "{arguments:?}: {left:?}");
        assert_eq!(running(place.path()), 0, "{arguments:?}");
    }
}

/// Processes of ours that still run with a directory below `place` in their command line.
fn running(place: &Path) -> usize {
    let place = place.to_string_lossy();
    let commands = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some(text(&command))
    });
    commands.filter(|command| command.contains(&*place)).count()
}
