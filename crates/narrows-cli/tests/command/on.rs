//! `narrows run` and `narrows bench` with `--on`: the same, on a simulated chip.

use serde_json::Value;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const FAST: &str = "generic-amp";

fn narrows(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_narrows")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a command prints that succeeds.
fn printed(arguments: &[&str]) -> String {
    let output = narrows(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn report(arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(&[arguments, &["--json"]].concat())).unwrap()
}

/// The rows of a bench of one round on a platform.
fn rows(platform: &str, bench: &[&str]) -> Vec<Value> {
    let report = report(&[&["bench"], bench, &["--on", platform, "--rounds", "1"][..]].concat());
    assert_eq!(report["command"], format!("bench {}", bench[0]));
    let rows = report["results"].as_array().unwrap().clone();
    for row in &rows {
        assert!(
            row["value"].is_number() && row["bound"].is_null() && row["met"].is_null(),
            "{row}"
        );
    }
    rows
}

fn named<'a>(rows: &'a [Value], start: &str) -> Vec<&'a Value> {
    rows.iter().filter(|row| row["name"].as_str().unwrap().starts_with(start)).collect()
}

fn value(row: &Value) -> f64 {
    row["value"].as_f64().unwrap()
}

/// As [`printed`], with a text that comes through a pipe.
fn piped(arguments: &[&str], text_in: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
    let mut child = command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text_in.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn fails(arguments: &[&str], code: i32) -> String {
    let output = narrows(arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    assert!(said.starts_with("narrows: ") && output.stdout.is_empty(), "{arguments:?}: {said}");
    said
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, contents: &str) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, contents).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

fn root(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn voice() -> String {
    root("workloads/voice.toml").to_str().unwrap().to_owned()
}

#[test]
fn the_report_says_what_was_simulated() {
    let bench = ["bench", "pingpong", "--on", "nios2-dual", "--rounds", "1", "--bytes", "48"];
    let report = report(&[&bench[..], &["--notify", "spin"]].concat());
    let machine = &report["machine"];
    assert_eq!((&machine["platform"], &machine["virtual"]), (&"nios2-dual".into(), &true.into()));
    assert_eq!((&machine["cores"], &machine["virtualised"]), (&2.into(), &false.into()));
    assert!(machine["cpu"].as_str().unwrap().contains("cpu0"), "{machine}");
    let shown = printed(&[&bench[..], &["--notify", "spin"]].concat());
    assert!(shown.starts_with("on nios2-dual (simulated)\n"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn the_same_command_prints_the_same_bytes() {
    let voice = voice();
    let run = ["run", &voice, "--duration", "200ms", "--strategy", "copy,in_place/spin/internal"];
    for arguments in [
        &[&run[..], &["--on", "davinci"]].concat()[..],
        &["bench", "pingpong", "--on", FAST, "--bytes", "1024", "--notify", "hybrid"],
        &["bench", "phases", "--on", "davinci", "--bytes", "128", "--rounds", "2", "--json"],
    ] {
        assert_eq!(printed(arguments), printed(arguments));
    }
}

#[test]
fn round_trips_take_longer_the_more_there_is_to_do() {
    let rows = rows(FAST, &["pingpong", "--bytes", "48,1024,8192"]);
    assert_eq!(rows.len(), 2 * 3 * 3);
    for row in &rows {
        // The stack takes longer than what the chip allows without it.
        assert!(row["ratio"].as_f64().unwrap() > 1.0, "{row}");
    }
    for notify in ["spin", "interrupt", "hybrid"] {
        let of = |traffic: &str| {
            let name = format!("copy_batched/{notify}/external {traffic}");
            named(&rows, &name).into_iter().map(value).collect::<Vec<f64>>()
        };
        let (messages, calls) = (of("message"), of("call"));
        assert!(messages.is_sorted_by(|a, b| a < b), "{messages:?}");
        // By its file receiving a message takes what receiving a request or a response does.
        assert!((calls[0] / messages[0] - 1.0).abs() < 0.1, "{calls:?} {messages:?}");
    }
    let asleep = value(named(&rows, "copy_batched/interrupt/external message")[0]);
    assert!(asleep > value(named(&rows, "copy_batched/spin/external message")[0]));
}

#[test]
fn what_a_chip_allows_is_what_its_file_says() {
    let rows = rows(FAST, &["limit", "--bytes", "64,1024"]);
    let of = |start: &str| value(named(&rows, start)[0]);
    // Both rows of copies: internal and external memory, two sizes each.
    assert_eq!(named(&rows, "copy both ways, ").len(), 4);
    // A store and the look that sees it, each way, are four transfers of 4 bytes to its on-chip
    // memory: overhead, latency and a beat, of 2.5 ns. Looks in vain come on top.
    let transfers = 2.0 * 2.5 * f64::from((10 + 1 + 1) + (10 + 2 + 1));
    let line = of("line each way");
    assert!(line > transfers && line < 3.0 * transfers, "{line} {transfers}");
    // From ringing to the end of the service routine: 745 ns to the one core and 409 to the other.
    let doorbell = of("doorbell");
    assert!(doorbell > 745.0 + 409.0 && doorbell < 2.0 * (745.0 + 409.0), "{doorbell}");
    assert!(of("copy both ways, external") > of("copy, answered by a line, external"));
    assert!(named(&rows, "eventfd").is_empty());
}

#[test]
fn the_stack_is_beside_what_a_chip_allows_and_nothing_is_promised() {
    let rows = rows(FAST, &["bounds"]);
    let bounds =
        ["spinning", "thinking", "one way, slot", "batches, pool", "asleep", "hybrid, late"];
    for name in bounds {
        let row = named(&rows, name)[0];
        assert!(row["ratio"].as_f64().unwrap() > 0.0, "{row}");
    }
    // A wait that looks while answers are prompt takes what one takes that only looks.
    let prompt = named(&rows, "hybrid, prompt")[0];
    assert!((prompt["ratio"].as_f64().unwrap() - 1.0).abs() < 0.05, "{prompt}");
}

#[test]
fn a_core_that_dies_is_told_of_and_all_is_accounted_for() {
    // A survivor that sends is told at the latest when its ring is full, which takes a slow core
    // longer.
    for (platform, most) in [("davinci", 10.0), (FAST, 10.0), ("nios2-dual", 50.0)] {
        let storm = ["bench", "storm", "--on", platform, "--rounds", "24", "--seed", "5"];
        let first = report(&storm);
        let rows = first["results"].as_array().unwrap();
        let sum =
            |key: &str| -> u64 { rows.iter().map(|row| row["tally"][key].as_u64().unwrap()).sum() };
        assert_eq!(rows.iter().map(|row| row["kills"].as_u64().unwrap()).sum::<u64>(), 24);
        assert_eq!(sum("sent"), sum("delivered") + sum("returned") + sum("died_with_peer"));
        assert!(sum("delivered") > 0 && sum("delivered_here") > 0 && sum("answered") > 0);
        for row in rows {
            assert_eq!(row["broken"].as_array().unwrap().len(), 0, "{row}");
            let longest = row["told_ms"]["max"].as_f64().unwrap();
            assert!(longest >= 1.0 && longest < most, "{row}");
        }
        assert_eq!(first["results"], report(&storm)["results"], "{platform}");
    }
}

#[test]
fn a_soak_of_a_chip_is_flat() {
    // On the latter a side is interrupted for the first time when two fifths of the time have
    // passed, so a stack of the simulator's is mapped then.
    for (platform, time) in [("davinci", "1s"), ("generic-amp", "100ms")] {
        let soak = report(&["bench", "soak", "--on", platform, "--for", time]);
        let rows = soak["results"].as_array().unwrap();
        let of = |kind: &str| rows.iter().filter(|row| row["row"] == kind).collect::<Vec<_>>();
        let (checks, samples) = (of("check"), of("sample"));
        assert!(checks.iter().all(|check| check["flat"] == true), "{checks:?}");
        assert!(checks.iter().any(|check| check["what"] == "memory here"));
        let counts = checks.iter().filter(|check| check["unit"] == "");
        assert!(counts.into_iter().all(|check| check["allowed"].as_f64() < Some(32.0)));
        assert!(samples.len() >= 32 && samples.iter().all(|row| row["messages_per_second"] != 0.0));
    }
}

#[test]
fn every_transfer_carries_a_stream_that_arrives_whole() {
    let transfers = "copy,copy_lazy,copy_batched,single_copy,in_place,copy_engine";
    let bench = ["throughput", "--bytes", "48,4096", "--transfer", transfers, "--notify", "spin"];
    let rows = rows("davinci", &bench);
    assert_eq!(rows.len(), 6 * 2 * 2 * 2);
    assert!(rows.iter().all(|row| value(row) > 0.0));
}

#[test]
fn stamps_take_time_that_is_deducted_again() {
    let rows = rows("davinci", &["phases", "--bytes", "128,8192", "--notify", "spin"]);
    for bytes in [128, 8192] {
        let of = |start: &str| {
            let mut found = named(&rows, start).into_iter().filter(|row| row["bytes"] == bytes);
            found.next().unwrap()
        };
        let (without, with) = (value(of("call ")), value(of("stamped ")));
        assert!(with > without, "{with} {without}");
        let deducted = of("deducted ");
        assert_eq!(deducted["limit"], of("call ")["value"]);
        let ratio = deducted["ratio"].as_f64().unwrap();
        assert!((ratio - 1.0).abs() < 0.01, "{deducted}");
        let phases: f64 = ["A ", "B ", "C ", "D ", "E "].map(|name| value(of(name))).iter().sum();
        assert!(phases > 0.5 * without && phases < 1.01 * without, "{phases} {without}");
    }
    assert!(named(&rows, "a stamp").is_empty() && named(&rows, "spans").is_empty());
}

#[test]
fn the_three_experiments_leave_out_what_does_not_fit() {
    let rows = rows("davinci", &["sizes"]);
    assert_eq!(named(&rows, "1 A ").len(), 9);
    let internal = named(&rows, "2 A+E copy_batched/interrupt/internal");
    let longest = internal.iter().map(|row| row["bytes"].as_u64().unwrap()).max();
    assert_eq!(longest, Some(4096));
    assert_eq!(named(&rows, "1 32 x 1024").len(), 2);
    let parts = |parts: u32, bytes: u32| {
        value(named(&rows, &format!("1 {parts} x {bytes} copy_batched"))[0])
    };
    assert!(parts(32, 1024) > parts(2, 16384) && parts(2, 16384) > parts(1, 32768));
}

#[test]
fn more_links_take_longer_and_more_endpoints_do_not() {
    let rows = rows(FAST, &["scaling", "--notify", "interrupt"]);
    assert_eq!(rows.len(), 6);
    let times = |what: &str, numbers: [u32; 3]| {
        numbers.map(|number| value(named(&rows, &format!("{what} {number} "))[0]))
    };
    let links = times("links", [1, 8, 64]);
    assert!(links.is_sorted_by(|a, b| a < b), "{links:?}");
    let [one, some, many] = times("endpoints", [1, 16, 1024]);
    assert!(some < 1.1 * one && many < 1.1 * one, "{one} {some} {many}");
}

#[test]
fn a_workload_is_carried_in_virtual_time() {
    let place = Place::new();
    let file = place.file(
        "x.toml",
        "duration = '1s'\nstrategy = ['copy/interrupt', 'copy_engine', 'copy/region=3']\n\
         [[flow]]\nname = 'work'\nfunction = 'busy'\nbusy = '5ms'\nperiod = '20ms'\ncount = 9\n\
         [[flow]]\nname = 'deep'\nfunction = 'echo'\nrequest = 700\ndepth = 6\ncount = 100\n\
         [[flow]]\nname = 'after'\nfunction = 'echo'\nafter = 'deep'\n",
    );
    let report = report(&["run", &file, "--on", FAST]);
    let rows = report["results"].as_array().unwrap();
    assert_eq!(rows.len(), 9);
    for row in rows {
        if row["strategy"].as_str().unwrap().contains("region=3") {
            assert!(row["refused"].as_str().unwrap().contains("no memory of that placement"));
            continue;
        }
        let count = if row["flow"] == "work" { 9 } else { 100 };
        assert_eq!((&row["sent"], &row["received"]), (&count.into(), &count.into()), "{row}");
        assert_eq!((&row["lost"], &row["wrong"]), (&0.into(), &0.into()), "{row}");
        assert_eq!(row["phase_calls"], count, "{row}");
        let trip = row["rtt_us"]["median"].as_f64().unwrap();
        let on_the_other_core = row["phases_us"]["C"]["median"].as_f64().unwrap();
        if row["flow"] == "work" {
            // Whatever this machine does meanwhile.
            assert!((5_000.0..5_500.0).contains(&on_the_other_core), "{row}");
            assert!(trip > on_the_other_core && trip < 6_000.0, "{row}");
        }
        for side in ["caller", "callee"] {
            let load = row["cpu_percent"][side].as_f64().unwrap();
            assert!(load > 0.0 && load < 100.0, "{row}");
        }
    }
    let shown = printed(&["run", &file, "--on", FAST]);
    assert!(shown.starts_with("x on generic-amp (simulated): 3 strategies, 1s each\n"), "{shown}");
    let last = shown.lines().last().unwrap();
    assert!(last.starts_with("More: --details has "), "{shown}");
}

#[test]
fn audio_comes_back_as_the_codec_makes_it() {
    let voice = voice();
    let run = ["run", &voice, "--duration", "400ms", "--strategy", "copy,in_place/spin/internal"];
    let report = report(&[&run[..], &["--on", "davinci"]].concat());
    let rows = report["results"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        assert_eq!(row["sent"], row["received"], "{row}");
        assert_eq!(row["wrong"], 0, "{row}");
        if row["flow"] == "decode" {
            assert!(row["audio"]["samples"].as_u64() > Some(0), "{row}");
            assert_eq!(row["audio"]["differing"], 0, "{row}");
        }
    }
}

#[test]
fn a_platform_may_be_a_file_and_its_cores_be_chosen() {
    let place = Place::new();
    let text = std::fs::read_to_string(root("platforms/davinci.toml")).unwrap();
    let file = place.file("mine.toml", &text);
    let bench = ["bench", "pingpong", "--bytes", "1024", "--notify", "spin", "--rounds", "1"];
    let on = |more: &[&str]| report(&[&bench[..], more].concat());
    let (shipped, mine) = (on(&["--on", "davinci"]), on(&["--on", &file]));
    assert_eq!(mine["machine"]["platform"], "mine");
    assert_eq!(shipped["results"], mine["results"]);
    let swapped = on(&["--on", "davinci", "--cores", "1,0"]);
    assert_ne!(shipped["results"], swapped["results"]);
    let said = fails(&[&bench[..], &["--on", "davinci", "--cores", "0,2"]].concat(), 2);
    assert!(said.contains("davinci has 2 cores"), "{said}");
}

#[test]
fn what_a_chip_cannot_do_is_a_sentence_and_a_code() {
    let said = fails(&["bench", "sim", "--on", FAST], 2);
    assert!(said.contains("unexpected argument '--on'"), "{said}");
    let said = fails(&["bench", "tune", "--on", FAST], 2);
    assert!(said.contains("on this machine: leave --on out"), "{said}");
    let said = fails(&["run", &voice(), "--on", FAST, "--priority", "5"], 2);
    assert!(said.contains("--priority"), "{said}");
    let said = fails(&["bench", "sizes", "--on", FAST, "--lock-memory"], 2);
    assert!(said.contains("--lock-memory"), "{said}");
    let bytes = ["bench", "pingpong", "--on", "davinci", "--bytes", "8192"];
    let said = fails(&[&bytes[..], &["--placement", "internal"]].concat(), 2);
    assert!(said.contains("up to 4096 bytes"), "{said}");
    let said = fails(&["bench", "limit", "--on", "davinci", "--bytes", "64,65537"], 2);
    assert!(said.contains("65537 bytes") && said.contains("up to 65536"), "{said}");
}

#[test]
fn a_platform_that_is_none_is_named_with_those_there_are() {
    let voice = voice();
    let said = fails(&["run", &voice, "--on", "nothing"], 3);
    assert!(said.contains("no platform nothing") && said.contains("davinci"), "{said}");
    let place = Place::new();
    let file = place.file("wrong.toml", "about = 3\n");
    let said = fails(&["bench", "sizes", "--on", &file], 3);
    assert!(said.contains("wrong.toml:1:"), "{said}");
}

#[test]
fn round_trips_are_distributed_as_the_report_says() {
    let place = Place::new();
    let flow = "[[flow]]\nname = \"one\"\nfunction = \"echo\"\nrequest = 64\nperiod = \"1ms\"\n";
    let (workload, file) = (place.file("one.toml", flow), place.file("trips.hgrm", ""));
    let run = ["run", &workload, "--on", "davinci", "--duration", "400ms", "--hdr", &file];
    let row = &report(&[&run[..], &["--strategy", "copy"]].concat())["results"][0];
    let text = std::fs::read_to_string(&file).unwrap();
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows: Vec<Vec<f64>> = lines
        .filter(|words| words.len() >= 3 && words[0].parse::<f64>().is_ok())
        .map(|words| words.iter().map(|word| word.parse().unwrap()).collect())
        .collect();
    let (median, last) = (rows.iter().find(|row| row[1] == 0.5).unwrap(), rows.last().unwrap());
    assert_eq!(last[2] as u64, row["received"].as_u64().unwrap(), "{text}");
    for (found, told) in [(median[0], &row["rtt_us"]["median"]), (last[0], &row["rtt_us"]["max"])] {
        assert!((found - told.as_f64().unwrap()).abs() < 0.001, "{found} for {told}");
    }
    // Of several, each has a file of its own.
    std::fs::remove_file(&file).unwrap();
    report(&[&run[..], &["--strategy", "copy,in_place/spin"]].concat());
    let beside = std::path::Path::new(&file).parent().unwrap();
    let found = std::fs::read_dir(beside).unwrap().map(|one| one.unwrap().file_name());
    let found: Vec<String> = found.map(|name| name.into_string().unwrap()).collect();
    assert_eq!(found.iter().filter(|name| name.starts_with("trips-one-")).count(), 2, "{found:?}");
    assert!(found.iter().any(|name| name.contains("in_place_spin")), "{found:?}");
    assert!(!found.contains(&"trips.hgrm".to_owned()), "{found:?}");
}

#[test]
fn a_workload_that_comes_through_a_pipe_is_read_once() {
    let flow = "[[flow]]\nname = \"one\"\nfunction = \"echo\"\nrequest = 48\nperiod = \"1ms\"\n";
    let on = ["--on", FAST, "--json"];
    for command in [&["run", "/dev/stdin", "--duration", "20ms"][..], &["advise", "/dev/stdin"]] {
        let report: Value = serde_json::from_str(&piped(&[command, &on].concat(), flow)).unwrap();
        assert_eq!(report["results"][0]["flow"], "one", "{command:?}");
    }
    let image = "[susan]\ncpus = 2\nfind = \"edges\"\n";
    let rows = piped(&["run", "/dev/stdin", "--on", "bmm-clusters", "--json"], image);
    let report: Value = serde_json::from_str(&rows).unwrap();
    assert_eq!(report["results"][0]["cpus"], 2);
}

#[test]
fn no_request_waits_for_stamps_to_be_fetched() {
    // Something is always under way, so that nothing new may begin before they are fetched.
    let workload = "duration = '8s'\nstrategy = 'copy/poll=5ms/external'\n[[flow]]\nname = 'a'\n\
                    function = 'busy'\nbusy = '100us'\nrequest = 64\nresponse = 64\n\
                    period = '3ms'\ndepth = 6\n";
    let printed = piped(&["run", "/dev/stdin", "--on", "davinci", "--json"], workload);
    let report: Value = serde_json::from_str(&printed).unwrap();
    let row = &report["results"][0];
    assert!(row["sent"].as_u64() > Some(2400), "too few calls for stamps to be fetched: {row}");
    let due = &row["since_due_us"];
    let [median, max] = ["median", "max"].map(|key| due[key].as_f64().unwrap());
    // A response may come just after a look.
    assert!(max < median + 5000.0 + 1000.0, "{due}");
}
