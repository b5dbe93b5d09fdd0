//! Each promise of the crate's page names tests, and every test that is named exists.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(directory: &Path, all: &mut String) {
    for entry in fs::read_dir(directory).expect("a directory of the workspace").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            all.push_str(&fs::read_to_string(&path).expect("a source file"));
        }
    }
}

#[test]
fn every_promise_names_tests_that_exist() {
    let page = fs::read_to_string(root().join("crates/narrows/src/lib.rs")).expect("the page");
    let page = page.split("# Promises").nth(1).expect("the promises");
    let page: String = page.lines().skip(1).map_while(|line| line.strip_prefix("//!")).collect();
    let promises: Vec<&str> = page.split("**P").skip(1).collect();
    assert!(promises.len() >= 10, "{} promises", promises.len());

    let mut code = String::new();
    for folder in ["crates/narrows", "crates/narrows-host", "crates/narrows-sim"] {
        sources(&root().join(folder), &mut code);
    }
    for (number, promise) in (1..).zip(promises) {
        assert!(promise.starts_with(&format!("{number}**")), "P{number} is out of order");
        let tests: Vec<&str> = promise.split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "P{number} names no test");
        for test in tests {
            let there = if test.ends_with(".rs") {
                root().join(test).is_file()
            } else {
                ["(", "<"].iter().any(|next| code.contains(&format!("fn {test}{next}")))
            };
            assert!(there, "P{number} names {test}, which does not exist");
        }
    }
}
