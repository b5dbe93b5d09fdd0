//! The two programs of the README, run as they are written there.

use std::process::{Child, Command, Stdio};

use crate::common::process::test_of;

mod gpp {
    include!("readme/gpp.rs");

    pub fn run() {
        main().expect("gpp");
    }
}

mod dsp {
    include!("readme/dsp.rs");

    pub fn run() {
        main().expect("dsp");
    }
}

#[test]
fn the_readme_shows_these_programs() {
    let readme = include_str!("../../../../README.md");
    let shown = readme.split("```rust,no_run\n").skip(1);
    let shown: Vec<&str> = shown.filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(shown, [include_str!("readme/gpp.rs"), include_str!("readme/dsp.rs")]);
}

#[test]
#[ignore = "a process of the test below"]
fn side_gpp() {
    gpp::run();
}

#[test]
#[ignore = "a process of the test below"]
fn side_dsp() {
    dsp::run();
}

#[test]
fn they_find_each_other_and_talk() {
    let directory = tempfile::tempdir().expect("a directory");
    let start = |side: &str| -> Child {
        Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", &test_of(module_path!(), side), "--ignored", "--nocapture"])
            .env("NARROWS_DIR", directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process")
    };
    let (gpp, dsp) = (start("side_gpp"), start("side_dsp"));
    let gpp = gpp.wait_with_output().expect("gpp's end");
    assert!(dsp.wait_with_output().expect("dsp's end").status.success(), "dsp");
    let said = String::from_utf8_lossy(&gpp.stdout);
    assert!(gpp.status.success() && said.contains("hello, gpp\n"), "{said}");
}
