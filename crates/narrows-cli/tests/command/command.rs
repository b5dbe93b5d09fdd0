//! The command as a user starts it.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

fn narrows(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_narrows")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// One sentence on standard error, that exit code, and nothing on standard output.
fn fails(arguments: &[&str], code: i32) -> String {
    let output = narrows(arguments);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    assert!(text.starts_with("narrows: ") && text.lines().count() == 1, "{text}");
    assert!(output.stdout.is_empty());
    text
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, contents: &[u8]) -> String {
        std::fs::write(self.path(name), contents).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }
}

#[test]
fn help_has_examples_and_exit_codes() {
    let output = narrows(&["--help"]);
    assert!(output.status.success());
    let text = stdout(&output);
    assert!(text.contains("Examples:") && text.contains("Exit codes:"), "{text}");
    assert!(!text.contains("\n  callee"), "{text}");
    for name in ["run", "bench", "doctor", "papers", "platform", "tune", "man", "completions"] {
        assert!(stdout(&narrows(&[name, "--help"])).contains("Examples:"), "{name}");
    }
}

/// The first things that a reader of the help types, in a folder where nothing is.
#[test]
fn what_comes_with_the_program_is_found_from_any_folder() {
    let place = Place::new();
    let within = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
        command.args(arguments).current_dir(place.0.path()).output().unwrap()
    };
    let run = ["--on", "davinci", "--strategy", "copy/interrupt", "--duration", "1s"];
    for arguments in [
        &[&["run"][..], &run[..]].concat()[..],
        &[&["run", "gateway"][..], &run[..]].concat(),
        &["tune", "--on", "davinci"],
        &["tune", "workloads/voice.toml", "--on", "davinci"],
        &["help", "--help"],
        &["help", "-h"],
    ] {
        let output = within(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    }
    // One's own of that name comes first.
    std::fs::create_dir(place.path("workloads")).unwrap();
    place.write(
        "workloads/voice.toml",
        b"name = 'mine'\n[[flow]]\nname = 'a'\nfunction = 'echo'\nrequest = 8\n",
    );
    let output = within(&["tune", "voice", "--on", "davinci", "--json"]);
    assert!(stdout(&output).contains("\"mine\""), "{}", stdout(&output));
}

#[test]
fn a_core_that_is_not_there_is_a_wrong_command_line() {
    let said = fails(&["run", "--cores", "0,4000"], 2);
    assert!(said.contains("cannot run on core 4000, only on "), "{said}");
}

#[test]
fn a_wrong_command_line_is_code_two() {
    for arguments in [&["walk"][..], &["run", "--duration", "0s"], &[]] {
        let output = narrows(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).starts_with("narrows: "), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
}

#[test]
fn the_manual_is_on_the_screen_or_in_files() {
    let text = stdout(&narrows(&["man"]));
    assert!(text.contains(".TH NARROWS 1") && text.contains(".SH \"EXIT STATUS\""), "{text}");
    let place = Place::new();
    let directory = place.path("man1");
    let output = narrows(&["man", "--out", directory.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let mut pages: Vec<String> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    let names = [
        "-advise",
        "-bench-advise",
        "-bench-bounds",
        "-bench-clients",
        "-bench-grid",
        "-bench-limit",
        "-bench-mcapi",
        "-bench-phases",
        "-bench-pingpong",
        "-bench-scaling",
        "-bench-sim",
        "-bench-sizes",
        "-bench-soak",
        "-bench-sra",
        "-bench-storm",
        "-bench-susan",
        "-bench-t0",
        "-bench-t1",
        "-bench-t2",
        "-bench-t3",
        "-bench-t4",
        "-bench-t5",
        "-bench-t6",
        "-bench-throughput",
        "-bench-tune",
        "-bench",
        "-bridge",
        "-calibrate",
        "-compare",
        "-completions",
        "-doctor",
        "-gateway",
        "-man",
        "-mcapi",
        "-papers",
        "-platform-check",
        "-platform-list",
        "-platform-show",
        "-platform",
        "-ps",
        "-record",
        "-replay",
        "-run",
        "-sweep",
        "-top",
        "-tune",
        "-view",
        "-voip",
        "-why",
        "",
    ];
    assert_eq!(pages, names.map(|name| format!("narrows{name}.1")));
    for page in &pages {
        let text = std::fs::read_to_string(directory.join(page)).unwrap();
        assert!(!text.contains(".SH EXTRA"), "{page}: {text}");
        assert_eq!(text.matches("\n.nf\n").count(), text.matches("\n.fi\n").count(), "{page}");
    }
    let grid = std::fs::read_to_string(directory.join("narrows-bench-grid.1")).unwrap();
    let (described, examples) = grid.split_once(".SH EXAMPLES\n").expect("examples");
    let words = described.split_once(".SH DESCRIPTION\n").expect("a description").1;
    let words = words.split(".SH ").next().expect("words");
    assert!(words.contains("about an hour on two cores"), "{grid}");
    assert!(examples.contains("narrows bench grid") && !examples.contains("hour"), "{grid}");
    let show = std::fs::read_to_string(directory.join("narrows-platform-show.1")).unwrap();
    assert!(show.contains(".TH NARROWS-PLATFORM-SHOW 1") && show.contains("\\-\\-svg"), "{show}");
    let run = std::fs::read_to_string(directory.join("narrows-run.1")).unwrap();
    assert!(run.contains(".TH NARROWS-RUN 1") && run.contains(".SH EXAMPLES"), "{run}");
}

#[test]
fn a_bench_has_a_page_of_what_it_takes_itself() {
    let help = stdout(&narrows(&["bench", "pingpong", "--help"]));
    for flag in ["--transfer", "--notify", "--placement", "--bytes", "--rounds", "--on", "--cores"]
    {
        assert!(help.contains(flag), "no {flag} in {help}");
    }
    for flag in ["--seed", "--for", "--against", "--systemc", "--driver", "--nodes"] {
        assert!(!help.contains(flag), "{flag} in {help}");
        let output = narrows(&["bench", "pingpong", flag, "1"]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("unexpected argument '{flag}'")), "{said}");
    }
    assert!(stdout(&narrows(&["bench", "t5", "--help"])).contains("--nodes"));
}

#[test]
fn what_the_program_starts_itself_is_shown_to_nobody() {
    let place = Place::new();
    let directory = place.path("man1");
    narrows(&["man", "--out", directory.to_str().unwrap()]);
    let pages = std::fs::read_dir(&directory).unwrap();
    let pages = pages.map(|page| std::fs::read_to_string(page.unwrap().path()).unwrap());
    let mut shown: Vec<String> = pages.collect();
    for shell in ["bash", "fish", "zsh", "elvish", "powershell"] {
        shown.push(stdout(&narrows(&["completions", shell])));
    }
    shown.push(stdout(&narrows(&["--help"])));
    for typed in ["calle", "partne"] {
        shown.push(stderr(&narrows(&[typed, "--directory", "x"])));
    }
    for text in shown {
        assert!(!text.contains("--longest") && !text.contains("narrows-callee"), "{text}");
        assert!(!text.contains("'callee'") && !text.contains("partner"), "{text}");
    }
}

#[test]
fn completions_know_the_subcommands() {
    for shell in ["bash", "fish", "zsh"] {
        let text = stdout(&narrows(&["completions", shell]));
        assert!(text.contains("bench") && text.contains("strategy"), "{shell}");
        assert!(text.contains("platform") && text.contains("svg"), "{shell}");
    }
}

#[test]
fn completions_offer_what_comes_with_the_program_and_take_others() {
    for shell in ["bash", "fish", "zsh"] {
        let text = stdout(&narrows(&["completions", shell]));
        for word in ["davinci", "nios2-quad", "copy_lazy", "coalesced", "auto"] {
            assert!(text.contains(word), "{shell} does not offer {word}");
        }
    }
    let bash = stdout(&narrows(&["completions", "bash"]));
    assert!(
        bash.contains("gateway mixed susan voice") || bash.contains("voice gateway mixed susan"),
        "{bash}"
    );
    let zsh = stdout(&narrows(&["completions", "zsh"]));
    // `run` cuts images as well; `advise` and `tune` have flows alone.
    let lists = |words: &str| zsh.matches(&format!(":{{_files; compadd - {words}}}")).count();
    assert_eq!(lists("voice gateway mixed susan"), 1, "{zsh}");
    assert_eq!(lists("voice gateway mixed"), 2, "{zsh}");
    for command in ["advise", "tune"] {
        let said = fails(&[command, "susan", "--on", "davinci"], 3);
        assert!(said.contains("susan"), "{said}");
    }
    // What is offered is not all that is taken, and help does not list it again.
    let place = Place::new();
    let chip = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../platforms/davinci.toml"));
    let chip = place.write("mine.toml", &chip.unwrap());
    let run = ["run", "--duration", "40ms", "--strategy", "copy/poll=5ms/internal", "--on", &chip];
    let output = narrows(&run);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!stdout(&narrows(&["run", "--help"])).contains("possible values"));
}

#[test]
fn doctor_finds_something_on_every_machine() {
    let output = narrows(&["doctor"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("cores") && text.contains("counter"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let value: Value = serde_json::from_str(&stdout(&narrows(&["doctor", "--json"]))).unwrap();
    assert_eq!(value["command"], "doctor");
    assert!(value["machine"]["cores"].as_u64().unwrap() >= 1);
    let findings = value["results"].as_array().unwrap().len();
    assert!(findings > 10);
    let text = stdout(&narrows(&["doctor", "--memory"]));
    assert!(text.contains("shared: blocks") && text.contains("together"), "{text}");
    let with: Value =
        serde_json::from_str(&stdout(&narrows(&["doctor", "--memory", "--json"]))).unwrap();
    let rows = with["results"].as_array().unwrap();
    assert!(rows.len() > findings && rows[findings]["bytes"].as_u64() > Some(0));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_narrows"))
        .args(["completions", "zsh"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn a_full_disk_is_a_sentence() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let full = full.expect("/dev/full is there: make it with 'mknod -m 666 /dev/full c 1 7'");
    let output =
        Command::new(env!("CARGO_BIN_EXE_narrows")).arg("doctor").stdout(full).output().unwrap();
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(5), "{text}");
    assert!(text.contains("the disk is full"), "{text}");
}

#[test]
fn a_workload_that_is_wrong_is_code_three() {
    let place = Place::new();
    let file = place.write(
        "x.toml",
        b"[[flow]]\nname = \"a\"\nfunction = \"echo\"\nrequest = 8\nperiod = \"-3ms\"\n",
    );
    let text = fails(&["run", &file], 3);
    let expected = "5:10: flow.period is -3ms; expected a duration above zero, such as \"20ms\"";
    assert_eq!(text, format!("narrows: {file}:{expected}\n"));
    let missing = place.path("none.toml");
    assert!(fails(&["run", missing.to_str().unwrap()], 3).contains("no such file"));
}

#[test]
fn an_input_of_the_wrong_kind_is_code_four() {
    let place = Place::new();
    let workload = b"[[flow]]\nname = \"a\"\nfunction = \"g711.encode\"\ninput = \"a.wav\"\n";
    let file = place.write("x.toml", workload);
    assert!(fails(&["run", &file], 4).contains("a.wav: no such file or directory"));
    place.write("a.wav", b"this is no audio, whatever its name says; only text for the test");
    let text = fails(&["run", &file], 4);
    assert!(text.contains("it is not a WAV file") && text.contains("sox "), "{text}");
}

#[test]
fn an_output_directory_that_cannot_be_made_is_code_five() {
    let place = Place::new();
    let file = place.write("x", b"");
    let text = fails(&["run", "voice", "--out", &file], 5);
    assert!(text.contains("a file is in the way"), "{text}");
    let below = format!("{file}/out");
    assert!(fails(&["man", "--out", &below], 5).contains("a file is in the way"));
}
