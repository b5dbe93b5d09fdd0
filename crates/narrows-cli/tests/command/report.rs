//! Pages that `--report` writes, and `compare`.

use crate::common::{narrows, stdout, text};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

/// Runs a command that writes a page. What it printed, and the page.
fn page(arguments: &[&str]) -> (String, String) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("page.html");
    let report = ["--report", path.to_str().unwrap()];
    let output = narrows(&[arguments, &report].concat());
    let printed = stdout(&output);
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{arguments:?}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "{arguments:?}");
    (printed, page)
}

/// The text between two others.
fn between<'a>(page: &'a str, begin: &str, end: &str) -> &'a str {
    let rest = page.split_once(begin).unwrap().1;
    rest.split_once(end).unwrap().0
}

fn headline(page: &str) -> &str {
    between(page, "<h1>", "</h1>")
}

fn fails(output: &Output, code: i32) -> String {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.starts_with("narrows: ") && said.lines().count() == 1, "{said}");
    said
}

/// A run on a chip is the same on every machine, and so is what it says.
#[test]
fn a_run_says_which_strategy_won_and_why() {
    let strategies = "copy/interrupt/external,copy/poll=5ms/internal";
    let run = ["run", "voice", "--on", "davinci", "--strategy", strategies, "--duration", "1s"];
    let (printed, page) = page(&run);
    assert!(printed.starts_with("voice on davinci (simulated): 2 strategies"), "{printed}");
    assert!(
        headline(&page).starts_with("copy/interrupt/external is the fastest: encode"),
        "{page}"
    );
    let why = between(&page, "<p class=\"why\">", "</p>");
    assert!(why.contains("next is copy/poll=5ms/internal with 5.48 ms, 7.8"), "{why}");
    assert!(why.contains("Most of the difference is C, everything on the other core"), "{why}");
    for chart in ["stack", "spread", "lines", "scatter"] {
        assert!(page.contains(&format!("&quot;kind&quot;:&quot;{chart}&quot;")), "{chart}");
    }
    assert!(page.contains("davinci, simulated") && !page.contains("What spoils"), "{page}");
    assert!(page.contains("run voice --on davinci --strategy copy/interrupt/external,"), "{page}");
}

#[test]
fn each_command_has_a_page_with_its_finding() {
    for (arguments, finding) in [
        (
            &["run", "gateway", "--on", "davinci", "--strategy", "static,auto", "--duration", "2s"]
                [..],
            "of the calling core",
        ),
        (
            &["bench", "phases", "--on", "davinci", "--bytes", "128"],
            "is the fastest: call of 128 bytes",
        ),
        (
            &["bench", "throughput", "--on", "davinci", "--bytes", "48,1024"],
            "equally good: 48 bytes, 123389 msg/s",
        ),
        (
            &["bench", "sizes", "--on", "nios2-dual", "--rounds", "1", "--bytes", "128,256"],
            "of A to E",
        ),
        (&["bench", "bounds", "--rounds", "1"], "bounds are"),
        (&["bench", "t1", "--on", "nios2-dual"], "has the shortest latency"),
        (&["bench", "t2", "--on", "nios2-dual", "--stack", "layered"], "has the shortest latency"),
        (
            &["bench", "storm", "--on", "davinci", "--rounds", "3"],
            "3 kills, and no promise was broken",
        ),
        (&["bench", "soak", "--on", "generic-amp", "--for", "20us"], "too short for a verdict"),
        (&["tune", "voice", "--on", "davinci"], "of the calling core"),
        (&["papers", "--source", "S1"], "published figures"),
    ] {
        let (_, page) = page(arguments);
        let said = headline(&page);
        assert!(said.contains(finding), "{arguments:?}: {said}");
        assert!(page.contains("<figure class=\"card\""), "{arguments:?}");
    }
}

#[test]
fn a_sweep_has_a_page() {
    let place = tempfile::tempdir().unwrap();
    let rows = place.path().join("rows.csv");
    let (_, page) = page(&["sweep", "chips", "--out", rows.to_str().unwrap()]);
    assert!(headline(&page).contains("is the fastest"), "{}", headline(&page));
}

#[test]
fn a_page_that_cannot_be_written_is_known_before_the_run() {
    let place = tempfile::tempdir().unwrap();
    let missing = place.path().join("none").join("page.html");
    for (path, why) in [
        (missing.as_path(), "its directory does not exist; make it first"),
        (place.path(), "a directory is in the way; choose another name"),
    ] {
        // Longer than this test may take.
        for command in [&["run", "--duration", "1h"][..], &["bench", "soak"], &["tune"]] {
            let output = narrows(&[command, &["--report", path.to_str().unwrap()]].concat());
            let said = fails(&output, 5);
            assert!(said.contains("cannot write") && said.contains(why), "{said}");
            assert!(output.stdout.is_empty());
        }
    }
}

#[test]
fn a_full_disk_is_said_after_what_was_measured() {
    let arguments = ["run", "--on", "davinci", "--duration", "100ms", "--strategy", "copy"];
    let output = narrows(&[&arguments[..], &["--report", "/dev/full"]].concat());
    let said = fails(&output, 5);
    assert!(said.contains("cannot write /dev/full") && said.contains("the disk is full"), "{said}");
    assert!(text(&output.stdout).starts_with("voice on davinci"), "{}", text(&output.stdout));
}

fn measure(place: &Path, name: &str, arguments: &[&str]) -> String {
    let path = place.join(name);
    fs::write(&path, stdout(&narrows(&[arguments, &["--json"]].concat()))).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn two_runs_are_compared() {
    let place = tempfile::tempdir().unwrap();
    let run = |strategy| {
        ["run", "--on", "davinci", "--duration", "1s", "--strategy", strategy].map(str::to_owned)
    };
    let of = |name: &str, strategy| {
        let run = run(strategy);
        measure(place.path(), name, &run.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let (one, same) = (of("one.json", "copy/interrupt"), of("same.json", "copy/interrupt"));
    let other = of("other.json", "copy/poll");
    let said = stdout(&narrows(&["compare", &one, &same]));
    assert!(said.starts_with("0 of 14 figures changed by more than noise\n"), "{said}");
    let said = fails(&narrows(&["compare", &one, &other]), 4);
    assert!(said.contains("have no figure in common"), "{said}");
    // The same strategy took longer.
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&one).unwrap()).unwrap();
    value["results"][0]["rtt_us"]["median"] = 9999.5.into();
    value["results"][0]["flow"] = "encode".into();
    fs::write(&other, value.to_string()).unwrap();
    let json = stdout(&narrows(&["compare", &one, &other, "--json"]));
    let json: Value = serde_json::from_str(&json).unwrap();
    let row = &json["results"][0];
    assert_eq!((&json["command"], &row["significant"]), (&"compare".into(), &true.into()), "{row}");
    assert_eq!(row["after"], 9999.5, "{row}");
    let (_, page) = page(&["compare", &one, &other]);
    assert_eq!(headline(&page), "1 of 14 figures changed by more than noise: 0 better, 1 worse");
}

#[test]
fn names_with_markup_break_no_page() {
    let place = tempfile::tempdir().unwrap();
    let report = measure(
        place.path(),
        "a.json",
        &["run", "--on", "davinci", "--duration", "100ms", "--strategy", "copy"],
    );
    let text = fs::read_to_string(&report).unwrap();
    let name = r#"</script><script>alert(1)</script><img src=x onerror=\"alert(2)\">"#;
    fs::write(&report, text.replace("\"encode\"", &format!("\"{name}\""))).unwrap();
    let (printed, page) = page(&["compare", &report, &report]);
    assert!(printed.lines().all(|line| line.chars().count() <= 80), "{printed}");
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains("<img") && page.contains("&lt;img src=x"), "{page}");
}

#[test]
fn what_cannot_be_compared_is_a_sentence() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = place.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let run = measure(
        place.path(),
        "run.json",
        &["run", "--on", "davinci", "--duration", "100ms", "--strategy", "copy"],
    );
    let bench = measure(
        place.path(),
        "bench.json",
        &["bench", "pingpong", "--on", "davinci", "--bytes", "48"],
    );
    let newer = write(
        "newer.json",
        &fs::read_to_string(&run).unwrap().replace("\"format\": 1", "\"format\": 2"),
    );
    let missing = place.path().join("missing.json");
    for (other, why) in [
        (missing.to_str().unwrap(), "no such file"),
        (&write("empty.json", ""), "it is no JSON"),
        (&write("other.json", "{\"a\": 1}"), "it is JSON of another program"),
        (&newer, "it has format 2"),
        (&bench, "compare two reports of the same command"),
        (place.path().to_str().unwrap(), "is a directory"),
    ] {
        for order in [[run.as_str(), other], [other, run.as_str()]] {
            let said = fails(&narrows(&["compare", order[0], order[1]]), 4);
            assert!(said.contains(why) && said.contains(other), "{said}");
        }
    }
    fails(&narrows(&["compare", "-", "-"]), 2);
}
