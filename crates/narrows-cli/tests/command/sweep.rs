//! `narrows sweep` as a user starts it, and interrupts it.

use crate::common::documented::{assert_report, assert_same, documented_in, keys};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Where the columns are, to which docs/JSON.md points.
const PAGE: &str = include_str!("../../../../sweeps/README.md");
/// Far longer than anything here takes.
const BOUND: Duration = Duration::from_secs(120);
const SWEEP: &str = "\
platform = 'generic-amp'
strategy = ['copy/spin', 'copy_engine/interrupt']
sizes = [64, 2048]
calls = 800
[set]
'memory.ddr.read' = ['80ns', '120ns', '160ns', '200ns']
";

struct Place(tempfile::TempDir);

impl Place {
    fn new(sweep: &str) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        fs::write(place.path("s.toml"), sweep).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
        command.args(["sweep", "s.toml"]).args(arguments).current_dir(self.0.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.start(arguments).wait_with_output().unwrap()
    }

    /// Starts it and waits until it has written some more rows, but not all of `all`.
    fn in_the_middle(&self, all: usize) -> Child {
        let lines = || match fs::read_to_string(self.path("rows.csv")) {
            Ok(text) => text.lines().count(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
            Err(error) => panic!("rows.csv: {error}"),
        };
        let before = lines();
        let mut child = self.start(&["--threads", "1", "--out", "rows.csv"]);
        let deadline = Instant::now() + BOUND;
        while lines() < before + 3 {
            assert!(Instant::now() < deadline, "no rows");
            assert!(child.try_wait().unwrap().is_none(), "it has ended");
            std::thread::yield_now();
        }
        assert!(lines() <= all, "it was too quick");
        child
    }
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let id = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(id, signal).unwrap();
}

#[test]
fn rows_are_the_same_by_any_number_of_threads_and_after_any_interruption() {
    let whole = Place::new(SWEEP);
    let output = whole.run(&["--threads", "1", "--out", "rows.csv", "--json-lines", "rows.jsonl"]);
    let (screen, errors) = said(&output);
    assert!(output.status.success(), "{errors}");
    assert!(screen.starts_with("s: 16 of 16 points, 0 from before; 16 rows in rows.csv and rows."));
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let (rows, lines) = (whole.read("rows.csv"), whole.read("rows.jsonl"));
    assert_eq!((rows.lines().count(), lines.lines().count()), (17, 16));

    let threads = Place::new(SWEEP);
    assert!(threads.run(&["--threads", "2", "--out", "rows.csv"]).status.success());
    assert!(threads.read("rows.csv") == rows, "two threads give other rows");

    // Killed, with a line torn off; then stopped; then killed once more.
    let torn = Place::new(SWEEP);
    let mut child = torn.in_the_middle(16);
    child.kill().unwrap();
    child.wait().unwrap();
    let some = torn.read("rows.csv");
    fs::write(torn.path("rows.csv"), &some[..some.len() - 20]).unwrap();
    let child = torn.in_the_middle(16);
    signal(&child, rustix::process::Signal::INT);
    let output = child.wait_with_output().unwrap();
    let (screen, errors) = said(&output);
    assert_eq!(output.status.code(), Some(130), "{errors}");
    assert!(errors.contains("the same command goes on there"), "{errors}");
    assert!(screen.starts_with("s: "), "{screen}");
    let kept = torn.read("rows.csv").lines().count() - 1;
    assert!((3..16).contains(&kept), "{kept}");
    let output = torn.run(&["--out", "rows.csv", "--json-lines", "rows.jsonl"]);
    let (screen, errors) = said(&output);
    assert!(output.status.success(), "{errors}");
    assert!(screen.contains(&format!("{kept} from before")), "{screen}");
    assert!(torn.read("rows.csv") == rows, "interruptions give other rows");
    assert!(torn.read("rows.jsonl") == lines, "interruptions give other lines");
}

#[test]
fn rows_of_another_sweep_are_neither_mixed_nor_lost() {
    let place = Place::new("platform = 'generic-amp'\nstrategy = 'copy/spin'\nsizes = [64]\n");
    assert!(place.run(&[]).status.success());
    let rows = place.read("s.csv");
    assert_eq!(rows.lines().count(), 2);
    fs::write(place.path("s.toml"), "platform = 'davinci'\nstrategy = 'copy'\nsizes = [64]\n")
        .unwrap();
    let output = place.run(&[]);
    let (screen, errors) = said(&output);
    assert_eq!((output.status.code(), screen.as_str()), (Some(5), ""));
    assert!(errors.contains("s.csv is not of this sweep: line 2 is a row of another"), "{errors}");
    assert_eq!(place.read("s.csv"), rows);
    fs::write(place.path("mine.csv"), "mine").unwrap();
    assert_eq!(place.run(&["--out", "mine.csv"]).status.code(), Some(5));
    assert_eq!(place.read("mine.csv"), "mine");
}

#[test]
fn what_a_chip_cannot_carry_is_a_row_that_says_why() {
    let place = Place::new(
        "platform = ['plain.toml', 'davinci']\nstrategy = ['copy/spin', 'copy_engine/spin']\n\
         sizes = [64, 1000000]\ncalls = 3\n",
    );
    // Without a copy engine.
    let amp = concat!(env!("CARGO_MANIFEST_DIR"), "/../../platforms/generic-amp.toml");
    let amp = fs::read_to_string(amp).unwrap();
    let (before, rest) = amp.split_once("[[engine]]").unwrap();
    let (_, link) = rest.split_once("[link]").unwrap();
    fs::write(place.path("plain.toml"), format!("{before}[link]{link}")).unwrap();
    let output = place.run(&["--json"]);
    let (screen, errors) = said(&output);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_str(&screen).unwrap();
    assert_eq!(report["command"], "sweep");
    assert_report(&report, &[]);
    let rows = report["results"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    for row in rows {
        assert_same("sweeps/README.md", &keys(row), &documented_in(PAGE, "Columns"));
        let possible = row["bytes"] == 64
            && (row["platform"] == "davinci" || row["strategy"] == "copy/spin/external");
        assert_eq!(row["refused"].is_null(), possible, "{row}");
        for figure in ["calls", "rtt_min_ns", "rtt_median_ns", "rtt_mean_ns", "rtt_max_ns"] {
            assert_eq!(row[figure].is_number(), possible, "{row}");
        }
        if possible {
            let figure = |name: &str| row[name].as_f64().unwrap();
            assert_eq!(figure("calls"), 3.0);
            assert!(figure("rtt_min_ns") <= figure("rtt_median_ns"));
            assert!(figure("rtt_median_ns") <= figure("rtt_max_ns"));
            assert!((99.0..=100.0).contains(&figure("caller_percent")), "{row}");
        }
        assert!(row["end_ns"].as_f64().unwrap() > 0.0);
        assert_eq!(row["hash"].as_str().unwrap().len(), 16);
    }
}

/// What the benches measure, under the same names; and a row that says why where packets never
/// come.
#[test]
fn packets_between_clusters_are_those_of_the_benches_after_any_interruption() {
    let place = Place::new(
        "platform = 'bmm-clusters-16'\ntransfer = 'packets'\nsizes = [64, 256]\n[set]\n\
         'buffer_manager.size' = ['128B', '16KiB']\n",
    );
    let output = place.run(&["--out", "rows.csv", "--json", "--report", "page.html"]);
    let (screen, errors) = said(&output);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_str(&screen).unwrap();
    let rows = report["results"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    let bench = |name: &str| -> Vec<Value> {
        let args = ["bench", name, "--on", "bmm-clusters-16", "--bytes", "64,256", "--json"];
        let text = crate::common::stdout(&crate::common::narrows(&args));
        let report: Value = serde_json::from_str(&text).unwrap();
        report["results"].as_array().unwrap().clone()
    };
    let (one_way, trips) = (bench("throughput"), bench("pingpong"));
    let near = |ours: &Value, theirs: &Value| {
        assert!(
            (ours.as_f64().unwrap() - theirs.as_f64().unwrap()).abs() < 0.001,
            "{ours} {theirs}"
        );
    };
    let mut refused = 0;
    // Before these are the keys that are set, and what tells a sweep, a point and a platform.
    let mut columns = documented_in(PAGE, "Columns > `mechanism`");
    let more = ["sweep", "point", "platform", "buffer_manager.size"];
    columns.extend(more.map(str::to_owned));
    for row in rows {
        assert_same("sweeps/README.md", &keys(row), &columns);
        let alike = |one: &&Value| {
            one["mechanism"] == row["mechanism"] && one["packet_bytes"] == row["packet_bytes"]
        };
        if row["buffer_manager.size"] == "128B" && row["packet_bytes"] == 256 {
            assert!(row["refused"].as_str().unwrap().contains("has no room for packets of 256"));
            assert!(row["throughput_mbit_s"].is_null() && row["hops"].is_null(), "{row}");
            refused += 1;
            continue;
        }
        assert!(row["refused"].is_null(), "{row}");
        if row["buffer_manager.size"] == "16KiB" {
            let one_way = one_way.iter().find(alike).unwrap();
            near(&row["throughput_mbit_s"], &one_way["throughput_mbit_s"]);
            near(&row["efficiency_percent"], &one_way["efficiency_percent"]);
            assert_eq!(row["hops"], one_way["hops"]);
            let one = |trip: &&Value| alike(trip) && trip["packets"] == 1;
            near(&row["round_trip_us"], &trips.iter().find(one).unwrap()["round_trip_us"]);
        }
    }
    assert_eq!(refused, 2);
    let page = place.read("page.html");
    for words in ["packets of 64 bytes", "Throughput by size of packets", "Round trip of one pack"]
    {
        assert!(page.contains(words), "{words}");
    }

    let whole = place.read("rows.csv");
    fs::write(place.path("rows.csv"), &whole[..whole.len() / 2]).unwrap();
    let output = place.run(&["--out", "rows.csv", "--threads", "1"]);
    let (screen, errors) = said(&output);
    assert!(output.status.success(), "{errors}");
    assert!(screen.starts_with("s: 8 of 8 points, ") && !screen.contains(" 0 from"), "{screen}");
    assert!(screen.contains("Mbit/s") && screen.contains("2 rows without figures"), "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    assert!(place.read("rows.csv") == whole, "an interruption gives other rows");

    let output = place.run(&["--cores", "0,1", "--out", "other.csv"]);
    let (_, errors) = said(&output);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("--cores 0,1 are both in cluster0"), "{errors}");
}

#[test]
fn workloads_have_a_row_for_each_flow() {
    let place = Place::new(
        "platform = 'generic-amp'\nstrategy = ['copy/interrupt', 'copy/poll=1ms']\n\
         workload = 'w.toml'\nduration = '50ms'\n",
    );
    let flow = |name: &str, bytes: usize| {
        format!("[[flow]]\nname = '{name}'\nfunction = 'echo'\nrequest = {bytes}\nperiod = '5ms'\n")
    };
    fs::write(place.path("w.toml"), flow("small", 16) + &flow("large", 4096)).unwrap();
    let output = place.run(&["--json", "--threads", "2"]);
    let (screen, errors) = said(&output);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_str(&screen).unwrap();
    let rows = report["results"].as_array().unwrap();
    let flows: Vec<&str> = rows.iter().map(|row| row["flow"].as_str().unwrap()).collect();
    assert_eq!(flows, ["small", "large", "small", "large"]);
    let trip = |at: usize| rows[at]["rtt_median_ns"].as_f64().unwrap();
    assert!(trip(0) < trip(1) && trip(0) < trip(2), "{screen}");
    assert!(rows.iter().all(|row| row["calls"] == 10), "{screen}");
}

#[test]
fn flags_that_mean_nothing_and_files_that_cannot_be_are_refused() {
    let place = Place::new("platform = 'generic-amp'\nstrategy = 'copy'\nsizes = [64]\n");
    for (arguments, code) in [
        (&["--priority", "3"][..], 2),
        (&["--cores", "0,7"], 2),
        (&["--threads", "0"], 2),
        (&["--out", "none/such.csv"], 5),
        (&["--out", "."], 5),
    ] {
        let output = place.run(arguments);
        let (screen, errors) = said(&output);
        assert_eq!((output.status.code(), screen.as_str()), (Some(code), ""), "{errors}");
        assert!(errors.starts_with("narrows: "), "{errors}");
    }
}
