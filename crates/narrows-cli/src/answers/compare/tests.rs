//! What is compared, what is refused, and how it is shown.

use super::*;
use crate::base::documented::assert_keys;
use crate::base::machine::Machine;
use crate::base::report::{BenchRow, FORMAT, RunRow};
use crate::base::statistics::Summary;
use serde_json::{Value, json};

fn bench(level: f64, name: &str) -> BenchRow {
    let rounds: Vec<f64> = (0..15).map(|n| level + f64::from(n % 5)).collect();
    BenchRow {
        name: name.into(),
        bytes: 48,
        unit: "ns".into(),
        value: level + 2.0,
        spread: 4.0,
        limit: None,
        ratio: None,
        bound: None,
        met: None,
        rounds,
    }
}

fn report(rows: Vec<BenchRow>) -> String {
    let report = Report::new("bench pingpong", Machine::default(), rows);
    serde_json::to_string(&report).unwrap()
}

fn measured(rows: Vec<BenchRow>) -> Measured {
    read::parse(&report(rows)).unwrap()
}

fn compared(before: Vec<BenchRow>, after: Vec<BenchRow>) -> Compared {
    let files = ["before.json".into(), "after.json".into()];
    compare(measured(before), measured(after), files).unwrap()
}

#[test]
fn what_changed_is_told_from_noise() {
    let before = vec![bench(100.0, "a"), bench(100.0, "b"), bench(100.0, "gone")];
    let after = vec![bench(150.0, "a"), bench(100.5, "b"), bench(100.0, "new")];
    let compared = compared(before, after);
    let [a, b] = compared.rows() else { panic!("{:?}", compared.rows()) };
    assert_eq!((a.name.as_str(), a.before, a.after), ("a, 48 B", 102.0, 152.0));
    assert_eq!((a.significant, a.better()), (Some(true), Some(false)));
    assert_eq!((b.significant, b.better()), (Some(false), None));
    let [low, high] = a.interval_percent.unwrap();
    assert!(low > 0.0 && low <= a.change_percent.unwrap() && a.change_percent.unwrap() <= high);
    assert_eq!(compared.summary(), "1 of 2 figures changed by more than noise: 0 better, 1 worse");
    assert_eq!(compared.only, [vec!["gone, 48 B".to_owned()], vec!["new, 48 B".to_owned()]]);
    let text = text::text(&compared);
    assert!(text.starts_with(&compared.summary()), "{text}");
    assert!(text.contains("only in before.json: gone, 48 B"), "{text}");
    assert!(text.find("WORSE").unwrap() < text.find("same").unwrap(), "{text}");
}

#[test]
fn reports_of_two_versions_say_so() {
    let files = || ["before.json".into(), "after.json".into()];
    let [before, mut after] = [(); 2].map(|()| measured(vec![bench(1.0, "a")]));
    let said = |compared: &Compared| {
        compared.report.notes.iter().any(|note| note.contains("different versions"))
    };
    assert!(!said(&compare(before.clone(), after.clone(), files()).unwrap()));
    after.version = "9.9.9".into();
    assert!(said(&compare(before, after, files()).unwrap()));
}

#[test]
fn the_rows_are_what_the_description_says() {
    let compared = compared(vec![bench(1.0, "a")], vec![bench(1.0, "a")]);
    let row = serde_json::to_value(&compared.rows()[0]).unwrap();
    assert_keys("A row of `compare`", &row);
    let row = Refused { name: String::new(), before: None, after: None };
    let row = serde_json::to_value(row).unwrap();
    assert_keys("`refused` of `compare`", &row);
}

#[test]
fn without_rounds_nobody_knows_and_a_chip_has_no_noise() {
    let few = |level: f64| BenchRow { rounds: vec![level; 3], ..bench(level, "a") };
    let row = compared(vec![few(1.0)], vec![few(9.0)]);
    assert_eq!(row.rows()[0].significant, None);
    assert!(row.rows()[0].reason.as_ref().unwrap().contains("it has 3 rounds"));
    assert!(row.summary().starts_with("of no figure is it known"), "{}", row.summary());
    let chip = |level: f64| Measured {
        machine: Machine { r#virtual: true, ..Machine::default() },
        ..measured(vec![few(level)])
    };
    let row = |after| compare(chip(1.0), chip(after), Default::default()).unwrap().report.results;
    assert_eq!(row(1.0)[0].significant, Some(false));
    assert_eq!(row(1.1)[0].significant, Some(true));
}

#[test]
fn figures_of_a_run_have_the_parts_as_rounds() {
    let run = |level: f64| {
        let row = RunRow {
            flow: "encode".into(),
            strategy: "copy/spin/external".into(),
            rtt_us: Summary { median: level, ..Summary::default() },
            parts_us: (0..20).map(|n| level + f64::from(n % 4)).collect(),
            received: 1000,
            ..RunRow::default()
        };
        let refused = RunRow { refused: Some("no memory".into()), ..RunRow::default() };
        let report = Report::new("run", Machine::default(), vec![row, refused]);
        read::parse(&serde_json::to_string(&report).unwrap()).unwrap()
    };
    let compared = compare(run(20.0), run(10.0), Default::default()).unwrap();
    let median = &compared.rows()[0];
    assert_eq!(median.name, "encode copy/spin/external, median");
    assert_eq!((median.significant, median.better()), (Some(true), Some(true)));
    assert!(compared.rows().iter().skip(1).all(|row| row.significant.is_none()));
    for line in text::text(&compared).lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

/// A flow by a strategy of which something was refused, or nothing, and the core's load.
fn flow(flow: &str, strategy: &str, load: f64) -> RunRow {
    let mut row = RunRow { flow: flow.into(), strategy: strategy.into(), ..RunRow::default() };
    (row.sent, row.received, row.cpu_percent.caller) = (100, 100, load);
    row
}

fn run_of(rows: Vec<RunRow>) -> Measured {
    let machine = Machine { r#virtual: true, ..Machine::default() };
    read::parse(&serde_json::to_string(&Report::new("run", machine, rows)).unwrap()).unwrap()
}

fn runs(before: Vec<RunRow>, after: Vec<RunRow>) -> Compared {
    let files = ["before.json".into(), "after.json".into()];
    compare(run_of(before), run_of(after), files).unwrap()
}

#[test]
fn loads_of_other_traffic_are_not_compared_and_what_was_refused_is_said() {
    let refused = RunRow {
        refused: Some("no memory".into()),
        sent: 0,
        received: 0,
        ..flow("video", "copy/spin/internal", 0.0)
    };
    let by = "copy/poll/external";
    let before = vec![
        flow("voice", "copy/spin/internal", 40.0),
        flow("video", "copy/spin/internal", 40.0),
        flow("voice", by, 30.0),
        flow("video", by, 30.0),
    ];
    let after = vec![
        flow("voice", "copy/spin/internal", 20.0),
        refused,
        flow("voice", by, 15.0),
        flow("video", by, 15.0),
    ];
    let compared = runs(before, after);
    for row in compared.rows() {
        let unlike = row.of.ends_with("internal");
        assert_eq!(row.same_traffic, !unlike, "{row:?}");
        // The load is there, but nothing is made of it.
        assert_eq!(row.significant.is_none() && row.change_percent.is_none(), unlike, "{row:?}");
        assert_eq!(row.better().is_some(), !unlike && row.what == "caller", "{row:?}");
    }
    let unlike = compared.rows().iter().find(|row| !row.same_traffic && row.what == "caller");
    assert_eq!(unlike.map(|row| (row.before, row.after)), Some((40.0, 20.0)));
    let why = Some("no memory".to_owned());
    let name = "video copy/spin/internal".to_owned();
    assert_eq!(compared.refused, [Refused { name, before: None, after: why }]);
    let json = serde_json::to_value(&compared).unwrap();
    assert_eq!(json["refused"][0]["after"], "no memory", "{json}");
    assert_eq!(json["results"].as_array().unwrap().len(), compared.rows().len());
    let text = text::text(&compared);
    assert!(
        compared.summary().ends_with("7 are of other traffic than before; refused: 1, see below")
    );
    let said = "video copy/spin/internal: before: not refused; after: no memory";
    assert!(text.contains(said), "{text}");
    let note = "by copy/spin/internal other traffic was carried, so nothing of it is compared: video \
                was carried in before.json and was refused in after.json (no memory)";
    assert!(compared.report.notes.iter().any(|said| said == note), "{:?}", compared.report.notes);
    assert!(compared.only.iter().all(Vec::is_empty), "{:?}", compared.only);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn runs_that_refused_the_same_are_compared() {
    let sessions = |refusals, load| RunRow {
        refusals,
        first_refusal: (refusals > 0).then(|| "no room".into()),
        ..flow("voice", "auto", load)
    };
    let same = runs(vec![sessions(2, 40.0)], vec![sessions(2, 20.0)]);
    assert!(same.rows().iter().any(|row| row.what == "caller" && row.better() == Some(true)));
    let text = text::text(&same);
    let said = "voice auto: before and after: 2 sessions, the first because no room";
    assert!(text.contains(said), "{text}");
    let less = runs(vec![sessions(0, 40.0)], vec![sessions(1, 20.0)]);
    assert!(less.rows().iter().all(|row| row.better().is_none() && !row.same_traffic));
    assert_eq!(less.refused[0].after.as_deref(), Some("1 session, the first because no room"));
    // A flow less is other traffic too.
    let two = vec![flow("voice", "auto", 40.0), flow("video", "auto", 40.0)];
    let less = runs(two, vec![flow("voice", "auto", 20.0)]);
    assert!(less.rows().iter().all(|row| !row.same_traffic));
    let last = less.report.notes.last().unwrap();
    assert!(last.ends_with("video was carried in before.json and is not in after.json"), "{last}");
}

#[test]
fn a_run_that_carried_nothing_is_compared_with_what_was_refused() {
    let none = RunRow { refused: Some("no\u{1b} room".into()), ..flow("a", "auto", 0.0) };
    let none = RunRow { received: 0, ..none };
    let compared = runs(vec![none], vec![flow("a", "auto", 1.0)]);
    assert_eq!(compared.summary(), "no figure can be compared; refused: 1, see below");
    let text = text::text(&compared);
    assert!(text.contains("a auto: before: no\u{fffd} room; after: not refused"), "{text}");
}

#[test]
fn what_is_no_such_report_is_refused() {
    let good: Value = serde_json::from_str(&report(vec![bench(1.0, "a")])).unwrap();
    let with = |key: &str, value: Value| {
        let mut other = good.clone();
        other[key] = value;
        other.to_string()
    };
    let mut old = good.clone();
    old.as_object_mut().unwrap().remove("format");
    for (text, why) in [
        (String::new(), "it is no JSON"),
        ("{\"results\": [".into(), "it is no JSON"),
        ("[]".into(), "JSON of another program"),
        ("{\"version\": 3, \"results\": []}".into(), "JSON of another program"),
        (old.to_string(), "an older narrows printed it"),
        (with("format", json!(FORMAT + 1)), "reads format 1"),
        (with("command", json!("tune")), "of \"tune\", have no rounds to compare"),
        (with("command", json!("a\n\u{1b}[2J")), "of \"a\\n\\u{1b}[2J\""),
        (with("command", json!("run")), "are none that can be compared"),
        (with("results", json!([{ "row": "kills" }])), "are none that can be compared"),
    ] {
        let said = read::parse(&text).unwrap_err();
        assert!(said.contains(why), "{text}: {said}");
    }
}

#[test]
fn two_commands_and_nothing_in_common_are_refused() {
    let other = Measured { command: "run".into(), ..measured(vec![bench(1.0, "a")]) };
    let files = || ["a.json".to_owned(), "b.json".to_owned()];
    let one = || measured(vec![bench(1.0, "a")]);
    let said = compare(one(), other, files()).err().unwrap().to_string();
    assert!(said.contains("a.json is of \"bench pingpong\", b.json is of \"run\""), "{said}");
    let none = compare(one(), measured(vec![bench(1.0, "z")]), files()).err().unwrap();
    assert!(none.to_string().contains("have no figure in common"), "{none}");
}

#[test]
fn names_are_fit_for_a_screen() {
    let name = "a\u{1b}[2J<b>".to_owned() + &"x".repeat(100);
    let compared = compared(vec![bench(1.0, &name)], vec![bench(2.0, &name)]);
    let text = text::text(&compared);
    assert!(!text.contains('\u{1b}'), "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}
