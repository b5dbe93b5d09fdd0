//! `narrows gateway` where it can carry nothing.

use crate::common::text;
use std::path::Path;
use std::process::{Command, Output};

fn gateway(arguments: &[&str], path: Option<&Path>) -> Output {
    let nothing = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
    command.arg("gateway").args(arguments).current_dir(nothing.path());
    if let Some(path) = path {
        command.env("PATH", path);
    }
    command.output().unwrap()
}

#[track_caller]
fn refused(output: &Output, code: i32, parts: &[&str]) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for part in parts {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn packages_that_are_missing_are_named() {
    let nothing = tempfile::tempdir().unwrap();
    let output = gateway(&[], Some(nothing.path()));
    refused(&output, 4, &["gstreamer1.0-tools, ffmpeg", "install them with ci/setup gateway"]);
    assert_eq!(text(&output.stderr).lines().count(), 1);
}

#[test]
fn programs_that_are_not_built_are_named() {
    let place = tempfile::tempdir().unwrap();
    for program in ["gst-launch-1.0", "gst-inspect-1.0", "ffmpeg", "setpriv"] {
        // Each does nothing, well.
        std::os::unix::fs::symlink("/bin/true", place.path().join(program)).unwrap();
    }
    let output = gateway(&["--gateway", "/nowhere"], Some(place.path()));
    let parts = ["there is no /nowhere/narrows-gateway", "apps/gateway/Cargo.toml", "--gateway"];
    refused(&output, 4, &parts);
    // Every plug-in is missing where the program that asks for them fails.
    let inspect = place.path().join("gst-inspect-1.0");
    std::fs::remove_file(&inspect).unwrap();
    std::os::unix::fs::symlink("/bin/false", &inspect).unwrap();
    refused(&gateway(&[], Some(place.path())), 4, &["packages gstreamer1.0-plugins-good"]);
}

#[test]
fn what_cannot_be_carried_is_said() {
    let none: &[&str] = &["--audio", "0", "--video", "0"];
    refused(&gateway(none, None), 2, &["no session is asked for"]);
    let workload: &[&str] = &["--workload", "workloads/voice.toml"];
    refused(&gateway(workload, None), 3, &["is no workload of a gateway"]);
    refused(&gateway(&["--on", "nowhere"], None), 3, &["nowhere"]);
    for bad in [["--speed", "0"], ["--speed", "101"], ["--audio", "17"], ["--length", "0s"]] {
        assert_eq!(gateway(&bad, None).status.code(), Some(2), "{bad:?}");
    }
    assert_eq!(gateway(&["--until-late", "--kill", "1s"], None).status.code(), Some(2));
}
