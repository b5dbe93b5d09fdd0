//! The C interfaces from C: each program of `tests/c`, `tests/linx`, `tests/mqx` and
//! `tests/native`, of the folders of `examples` and of `docs/C.md` is compiled as C11 and linked
//! with the static library, and compiled as C++17 and linked with the shared one, warnings as
//! errors; and run, in a directory of its own. Those of `tests/cpp` and of `docs/CPP.md` are C++17
//! alone. A program says itself what is wrong.
//!
//! `CASE=name cargo test -p narrows-capi --test programs c11::channels` runs one case of a program.

#[path = "c/across.rs"]
mod across;
#[path = "linx/attacker.rs"]
mod attacker;
#[path = "mqx/neighbour.rs"]
mod neighbour;
#[path = "c/observed.rs"]
mod observed;
#[path = "cpp/rust.rs"]
mod rust;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Seconds that a program may run. Each of its processes ends itself long before.
const LIMIT: &str = "300";

/// A language, with the compiler for it and the library to link with.
struct Language {
    compiler: &'static str,
    package: &'static str,
    standard: [&'static str; 3],
    library: &'static str,
}

const C11: Language = Language {
    compiler: "cc",
    package: "gcc",
    standard: ["-x", "c", "-std=c11"],
    library: "libnarrows_capi.a",
};
const CXX17: Language = Language {
    compiler: "c++",
    package: "g++",
    standard: ["-x", "c++", "-std=c++17"],
    library: "libnarrows_capi.so",
};

/// Where Cargo has put the libraries of this build: beside the test, which it links with them.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    test.parent().expect("a test is in a directory").to_path_buf()
}

fn compile(source: &Path, language: &Language, program: &Path) {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let libraries = libraries();
    let library = libraries.join(language.library);
    assert!(library.is_file(), "{} is missing: Cargo builds it with the test", library.display());
    let compiled = Command::new(language.compiler)
        .args(language.standard)
        .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-g", "-pthread", "-I"])
        .arg(own.join("include"))
        .arg("-o")
        .arg(program)
        .arg(source)
        .args(["-x", "none"])
        .arg(&library)
        .arg(format!("-Wl,-rpath,{}", libraries.display()))
        .args(sanitizer())
        .args(["-ldl", "-lm"])
        .output();
    let compiled = compiled.unwrap_or_else(|error| {
        panic!(
            "cannot start the compiler {}: {error}; run ci/setup, or install Debian's package {}",
            language.compiler, language.package
        )
    });
    assert!(compiled.status.success(), "{}", said(&compiled));
}

/// What a program is linked with besides, if the library was built for a sanitizer: `ci/sanitize`
/// says where its runtime is.
fn sanitizer() -> Vec<String> {
    let Ok(runtime) = std::env::var("NARROWS_SANITIZER_RUNTIME") else { return Vec::new() };
    ["-Wl,--whole-archive", &runtime, "-Wl,--no-whole-archive", "-lrt", "-lresolv", "-lstdc++"]
        .map(str::to_owned)
        .to_vec()
}

fn said(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}{}", text(&output.stdout), text(&output.stderr), output.status)
}

/// Compiles and runs a program; what it printed.
fn run(source: &Path, language: &Language) -> String {
    run_beside(source, language, |_| ())
}

/// As [`run`], and does something beside it with the directory that its nodes are in. What that
/// returns is kept until the program has ended.
fn run_beside<T>(source: &Path, language: &Language, beside: impl FnOnce(&Path) -> T) -> String {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let program = directory.path().join("program");
    compile(source, language, &program);
    let meeting = directory.path().join("nodes");
    std::fs::create_dir(&meeting).expect("a directory for the nodes");
    let ran = Command::new("timeout")
        .args(["--kill-after=5", LIMIT])
        .arg(&program)
        .env("NARROWS_DIR", &meeting)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("timeout, of Debian's package coreutils, can be started");
    let _beside = beside(&meeting);
    let ran = ran.wait_with_output().expect("it was started");
    assert!(ran.status.success(), "{}:\n{}", source.display(), said(&ran));
    print!("{}", said(&ran));
    String::from_utf8(ran.stdout).expect("text")
}

fn test(name: &str, language: &Language) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name);
    run(&source.with_extension("c"), language);
}

fn bridged(name: &str, language: &Language) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name);
    run_beside(&source.with_extension("c"), language, across::run);
}

fn linx_test(name: &str, language: &Language) {
    test(&format!("../linx/{name}"), language);
}

fn mqx_test(name: &str, language: &Language) {
    test(&format!("../mqx/{name}"), language);
}

fn mqx_beside(name: &str, language: &Language) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mqx").join(name);
    run_beside(&source.with_extension("c"), language, neighbour::run);
}

fn mqx_example(name: &str, language: &Language) {
    example(&format!("../mqx/{name}"), language);
}

fn native_test(name: &str, language: &Language) {
    test(&format!("../native/{name}"), language);
}

fn native_example(name: &str, language: &Language) {
    example(&format!("../native/{name}"), language);
}

fn cpp(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cpp");
    folder.join(name).with_extension("cpp")
}

fn cpp_test(name: &str, language: &Language) {
    run(&cpp(name), language);
}

fn cpp_beside(name: &str, language: &Language) {
    match name {
        "topics" => run_beside(&cpp(name), language, rust::topics),
        _ => run_beside(&cpp(name), language, rust::services),
    };
}

fn linx_attacked(name: &str, language: &Language) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/linx").join(name);
    run_beside(&source.with_extension("c"), language, attacker::run);
}

fn linx_example(name: &str, language: &Language) {
    example(&format!("../linx/{name}"), language);
}

/// Runs an example and compares what it prints with the output that its header expects: the lines
/// after " * Expected output:" that begin with " *     ". There, … stands for any text.
fn example(name: &str, language: &Language) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mcapi").join(name);
    let source = source.with_extension("c");
    let printed = run(&source, language);
    let text = std::fs::read_to_string(&source).expect("the example's source");
    let header = text.lines().skip_while(|line| *line != " * Expected output:").skip(2);
    let expected: Vec<_> = header.map_while(|line| line.strip_prefix(" *     ")).collect();
    assert!(!expected.is_empty(), "{name}.c: its header has no expected output");
    let printed: Vec<_> = printed.lines().collect();
    assert_eq!(printed.len(), expected.len(), "{name}: {printed:#?}");
    for (printed, expected) in printed.into_iter().zip(expected) {
        assert!(matches(printed, expected), "{name} printed '{printed}', not '{expected}'");
    }
}

fn matches(line: &str, pattern: &str) -> bool {
    let Some((before, after)) = pattern.split_once('…') else { return line == pattern };
    let Some(rest) = line.strip_prefix(before) else { return false };
    rest.char_indices().any(|(at, _)| matches(&rest[at..], after)) || matches("", after)
}

#[test]
fn an_expected_line_may_leave_a_part_open() {
    assert!(matches("one 17 us", "one … us") && matches("one", "…") && matches("", "…"));
    assert!(matches("a b c", "a … c") && matches("a b", "a b") && matches("12 us", "… us"));
    assert!(!matches("one 17 ms", "one … us") && !matches("one", "two") && !matches("", "x…"));
}

macro_rules! programs {
    ($language:ident, $($kind:ident: $($name:ident)*;)*) => {
        $($(
            #[test]
            fn $name() {
                super::$kind(stringify!($name), &super::$language);
            }
        )*)*
    };
}

macro_rules! in_each_language {
    ($($programs:tt)*) => {
        mod c11 {
            programs! { C11, $($programs)* }
        }
        mod cxx17 {
            programs! { CXX17, $($programs)* }
        }
        /// Every program in C that is there.
        const ALL: &str = stringify!($($programs)*);
    };
}

macro_rules! in_cpp_alone {
    ($($programs:tt)*) => {
        mod cpp17 {
            programs! { CXX17, $($programs)* }
        }
        /// Every program in C++ that is there.
        const IN_CPP: &str = stringify!($($programs)*);
    };
}

in_cpp_alone! {
    cpp_test: messages;
    cpp_beside: services topics;
}

in_each_language! {
    test: nodes endpoints attributes messages packets scalars channels closing requests threads many errors
        crash aftermath clients senders flooded idle passed version1 writable;
    bridged: distant;
    example: pingpong pipeline sensors;
    linx_test: calls peers crowd manual handed forked;
    linx_attacked: victim;
    linx_example: squares;
    mqx_test: pools queues sends processors reborn;
    mqx_beside: mixed;
    mqx_example: hops;
    native_test: refused started mail gone shared offered published;
    native_example: offload;
}

/// The program that a page shows, with what it prints, which the page shows behind it.
fn page(page: &str, kind: &str, language: &Language) {
    let block = |kind: &str| {
        let (_, rest) = page.split_once(&format!("```{kind}\n")).expect("the page has a block");
        rest.split_once("```").expect("the block ends").0
    };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let source = directory.path().join("page.c");
    std::fs::write(&source, block(kind)).expect("the program is written");
    assert_eq!(run(&source, language), block("text"));
}

#[test]
fn the_programs_of_the_pages_do_what_the_pages_say() {
    let c = include_str!("../../../docs/C.md");
    page(c, "c", &C11);
    page(c, "c", &CXX17);
    page(include_str!("../../../docs/CPP.md"), "cpp", &CXX17);
}

#[test]
fn every_program_is_run() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tests = ["c", "linx", "mqx", "native", "cpp"].map(|kind| format!("tests/{kind}"));
    let examples = ["mcapi", "linx", "mqx", "native"].map(|kind| format!("../../examples/{kind}"));
    for (ending, all) in [("c", ALL), ("cpp", IN_CPP)] {
        let words: Vec<_> = all.split(|c: char| !c.is_alphanumeric()).collect();
        let mut count = 0;
        for directory in tests.iter().chain(&examples) {
            for file in std::fs::read_dir(own.join(directory)).expect("a directory") {
                let path = file.expect("a file").path();
                if path.extension().is_some_and(|extension| extension == ending) {
                    let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
                    assert!(words.contains(&name), "{} is run by no test", path.display());
                    count += 1;
                }
            }
        }
        let kinds = [
            "", "test", "example", "linx", "mqx", "native", "attacked", "beside", "bridged", "cpp",
        ];
        assert_eq!(count, words.iter().filter(|word| !kinds.contains(word)).count());
    }
}

#[test]
fn programs_that_know_nothing_of_it_are_seen_by_whoever_looks() {
    // Of each interface one with processes that talk.
    for program in ["tests/c/scalars.c", "tests/linx/peers.c", "tests/mqx/processors.c"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(program);
        let onlooker = std::cell::Cell::new(None);
        run_beside(&source, &C11, |meeting| {
            onlooker.set(Some(observed::Onlooker::start(meeting)));
        });
        let found = onlooker.take().expect("it was started").end();
        let processes: std::collections::BTreeSet<u32> =
            found.nodes.iter().map(|(_, process)| *process).collect();
        assert!(processes.len() >= 2, "{program}: {found:?}");
        assert!(found.most > 0, "{program}: {found:?}");
        println!("{program}: {found:?}");
    }
}
