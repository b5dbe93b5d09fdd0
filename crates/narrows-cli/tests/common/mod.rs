//! What tests of the command share.

#![allow(dead_code, reason = "each test program has what another one needs as well")]

pub mod documented;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Far longer than what has to happen by itself takes.
pub const BOUND: Duration = Duration::from_secs(30);

/// Runs the command where none of its files is near: what is shipped is part of the program.
pub fn narrows(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_narrows"))
        .args(arguments)
        .current_dir(std::env::temp_dir())
        .output()
        .unwrap()
}

/// What a command printed that succeeded.
pub fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Looks until something is there.
pub fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + BOUND;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "it does not happen");
        std::thread::yield_now();
    }
}

/// A file of the system's about a process; none if the process has gone.
pub fn told(process: u32, file: &str) -> Option<String> {
    let gone = |error: &std::io::Error| {
        error.kind() == std::io::ErrorKind::NotFound
            || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
    };
    match fs::read_to_string(format!("/proc/{process}/{file}")) {
        Ok(text) => Some(text),
        Err(error) if gone(&error) => None,
        Err(error) => panic!("/proc/{process}/{file}: {error}"),
    }
}

/// What the system says of a process, from its state on; none if the process has gone.
pub fn fields(process: u32) -> Option<Vec<String>> {
    let text = told(process, "stat")?;
    let (_, after) = text.rsplit_once(") ").expect("a process has its name in brackets");
    Some(after.split_whitespace().map(str::to_owned).collect())
}

/// The processes that one has started.
pub fn children(of: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap();
    let all = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let of = of.to_string();
    all.filter(|process| fields(*process).is_some_and(|fields| fields[1] == of)).collect()
}

/// Nobody has a directory in a command line, and nothing is in it.
pub fn nothing_is_left(directory: &Path) {
    let named = directory.to_string_lossy().into_owned();
    let begun = Instant::now();
    while let Some(left) = process_with(&named) {
        assert!(begun.elapsed() < BOUND, "{left} is left");
    }
    assert_eq!(fs::read_dir(directory).unwrap().count(), 0, "files are left");
}

fn process_with(text: &str) -> Option<String> {
    let lines = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).into_owned())
    });
    lines.into_iter().find(|line| line.contains(text))
}
