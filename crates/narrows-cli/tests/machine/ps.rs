//! `narrows ps` and `narrows top` beside nodes that know nothing of them.

use super::common::documented::{assert_inner, assert_keys, assert_report};
use super::common::{fields, stdout, text, wait_for};
use narrows::endpoint::{Address, Select};
use narrows_host::{Node, Options};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SOON: Option<Duration> = Some(Duration::from_secs(20));

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
    command.args(arguments).env("NARROWS_DIR", directory);
    command
}

fn ps(directory: &Path, arguments: &[&str]) -> Output {
    command(directory, &[&["ps"], arguments].concat()).output().unwrap()
}

fn open(directory: &Path, name: &str) -> Node {
    let mut node = Options::new(name).domain("voice").directory(directory).node().unwrap();
    node.open(1).unwrap();
    node
}

/// Two nodes that send each other messages for as long as something is done beside them.
fn beside<T>(directory: &Path, act: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let echo = scope.spawn(|| {
            let mut node = open(directory, "dsp");
            node.platform().offer(&"square".parse().unwrap(), "call u32 u64").unwrap();
            let mut kept = None;
            while !over.load(Ordering::Acquire) {
                node.wait_any(Some(Duration::from_millis(1)));
                while let Some(message) = node.try_receive(1, &Select::default()).unwrap() {
                    node.send(1, message.from, b"back", SOON).unwrap();
                    if let Some(before) = kept.replace(message) {
                        node.release(before);
                    }
                }
            }
        });
        let traffic = scope.spawn(|| {
            let mut node = open(directory, "gpp");
            let link = node.hunt(&"dsp".parse().unwrap(), SOON).unwrap();
            let to = Address { link, port: 1 };
            let strategy = "in_place/poll=5ms/internal".parse().unwrap();
            node.open_flow_to(to, strategy, SOON).unwrap();
            let mut buffer = [0; 8];
            while !over.load(Ordering::Acquire) {
                node.send(1, to, &[7; 600], SOON).unwrap();
                node.receive_into(1, &mut buffer, SOON).unwrap();
            }
        });
        // A test that fails ends the threads as well.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_for(|| {
                let report: Value =
                    serde_json::from_slice(&ps(directory, &["voice", "--json"]).stdout).ok()?;
                let rows = report["results"].as_array()?;
                let busy = |row: &Value| row["messages_per_second"].as_f64() > Some(0.0);
                (rows.len() == 2 && rows.iter().all(busy)).then_some(())
            });
            act()
        }));
        over.store(true, Ordering::Release);
        traffic.join().unwrap();
        echo.join().unwrap();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Where docs/JSON.md has a node.
const ROW: &str = "A row of `ps`";

#[test]
fn nodes_at_work_have_their_rows_in_every_form() {
    let temporary = tempfile::tempdir().unwrap();
    let directory = temporary.path();
    beside(directory, || {
        let report = stdout(&ps(directory, &["voice", "--json"]));
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["command"], "ps");
        assert_report(&report, &[]);
        let rows = report["results"].as_array().unwrap();
        let [dsp, gpp] = [&rows[0], &rows[1]];
        assert_eq!([&dsp["node"], &gpp["node"]], ["dsp", "gpp"]);
        for row in rows {
            assert_keys(ROW, row);
            assert_eq!((&row["state"], &row["links"]), (&"alive".into(), &1.into()), "{row}");
            assert_eq!(row["pid"], std::process::id());
            assert_eq!(row["each_link"].as_array().unwrap().len(), 1);
            let link = format!("{ROW} > An entry of `each_link`");
            assert_keys(&link, &row["each_link"][0]);
            let sum = ["sent_per_second", "received_per_second"];
            let sum: f64 = sum.iter().map(|key| row[key].as_f64().unwrap()).sum();
            assert!((sum - row["messages_per_second"].as_f64().unwrap()).abs() < 1e-6);
        }
        // It keeps one of the blocks that it was lent.
        assert!(gpp["blocks_lent"].as_u64().unwrap() >= 1, "{gpp}");
        assert_keys(&format!("{ROW} > An entry of `each_flow`"), &gpp["each_flow"][0]);
        assert_inner(ROW, dsp, "each_service", &[]);
        assert_eq!(gpp["each_flow"][0]["strategy"], "in_place/poll=5ms/internal");
        assert_eq!(gpp["each_flow"][0]["port"], 1);
        let square = serde_json::json!([{ "service": "square", "text": "call u32 u64" }]);
        assert_eq!((&dsp["each_service"], &gpp["each_service"]), (&square, &Value::Array(vec![])));

        let table = stdout(&ps(directory, &["voice", "--details"]));
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        for words in [
            "messages/s",
            "alive",
            "link to",
            "port 1",
            "in_place/poll=5ms/internal",
            "offers square",
        ] {
            assert!(table.contains(words), "{words}: {table}");
        }
        let all = stdout(&ps(directory, &["--all"]));
        assert!(all.contains("voice/gpp") && all.contains("voice/dsp"), "{all}");

        let metrics = stdout(&ps(directory, &["voice", "--prometheus"]));
        let alive = "narrows_node_alive{domain=\"voice\",node=\"gpp\"} 1";
        assert!(metrics.lines().any(|line| line == alive), "{metrics}");
        for line in metrics.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with("narrows_") && name.ends_with('}'), "{line}");
            assert!(value.parse::<f64>().is_ok(), "{line}");
            let family = name.split('{').next().unwrap();
            assert!(metrics.contains(&format!("# TYPE {family} ")), "{line}");
        }

        let frames = command(directory, &["top", "voice", "--interval", "50ms", "--count", "2"]);
        let frames = stdout(&{ frames }.output().unwrap());
        assert_eq!(frames.matches("messages/s").count(), 2, "{frames}");
        assert!(!frames.contains('\x1b'), "no terminal: {frames}");
    });
}

#[test]
fn a_top_that_is_killed_leaves_nothing() {
    let temporary = tempfile::tempdir().unwrap();
    let directory = temporary.path();
    beside(directory, || {
        let files = || {
            let files = std::fs::read_dir(directory.join("voice")).unwrap();
            files.map(|file| file.unwrap().file_name()).collect::<BTreeSet<_>>()
        };
        let before = files();
        let mut top = command(directory, &["top", "voice", "--interval", "20ms"]);
        let mut top = top.stdout(Stdio::null()).spawn().unwrap();
        // It has mapped what it looks at.
        wait_for(|| {
            let maps = std::fs::read_to_string(format!("/proc/{}/maps", top.id())).ok()?;
            (maps.matches("memfd:narrows").count() >= 4).then_some(())
        });
        assert!(fields(top.id()).is_some());
        top.kill().unwrap();
        top.wait().unwrap();
        assert_eq!(files(), before);
        let rows = stdout(&ps(directory, &["voice"]));
        assert!(rows.contains("alive"), "{rows}");
    });
}

#[test]
fn what_is_not_there_or_lies_is_a_sentence() {
    let temporary = tempfile::tempdir().unwrap();
    let directory = temporary.path();
    for (arguments, code, sentence) in [
        (&["ps", "nobody"][..], 7, "no node of the domain nobody is running"),
        (&["top", "nobody"], 7, "no node of the domain nobody is running"),
        (&["ps", "--all"], 7, "no node of this user is running"),
        (&["ps", "a b"], 7, "'a b' cannot name a domain"),
        (&["ps", "--prometheus", "--json"], 2, "cannot be used with"),
        (&["ps", "x", "--all"], 2, "cannot be used with"),
    ] {
        let output = command(directory, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
        assert!(text(&output.stderr).contains(sentence), "{arguments:?}: {output:?}");
    }
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), 0, "looking makes nothing");
    let _nodes = [open(directory, "honest"), open(directory, "liar")];
    let note = directory.join("voice/.@status@liar");
    std::fs::remove_file(&note).unwrap();
    let descriptor = std::fs::read_link(directory.join("voice/.@status@honest")).unwrap();
    let descriptor = descriptor.to_str().unwrap().rsplit('/').next().unwrap().to_owned();
    // Another node's page is no page of its own.
    let place = format!("liar/{}/{descriptor}", std::process::id());
    std::os::unix::fs::symlink(place, note).unwrap();
    let table = stdout(&ps(directory, &["voice"]));
    assert!(
        table.contains("liar: its status page makes no sense (it is another node's)"),
        "{table}"
    );
    assert!(table.lines().any(|line| line.starts_with("honest") && line.contains("alive")));
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
}
