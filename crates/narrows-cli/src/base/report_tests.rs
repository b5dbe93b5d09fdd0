//! The JSON object against its description, and the tables against the screen.

use super::*;
use crate::base::documented::{assert_inner, assert_keys, assert_report, assert_same, inner, keys};
use serde_json::Value;
use std::collections::BTreeSet;

fn machine() -> Machine {
    Machine {
        cpu: "Fast 1".into(),
        cores: 2,
        kernel: "6.1.0".into(),
        virtualised: true,
        carrier: Some("memory".into()),
        ..Machine::default()
    }
}

fn bench_row() -> BenchRow {
    BenchRow {
        name: "pingpong copy_engine/coalesced/external".into(),
        bytes: 16_777_215,
        unit: "MiB/s".into(),
        value: 12_345.6,
        spread: 123.4,
        limit: Some(11_000.0),
        ratio: Some(1.12),
        bound: Some(Bound::Most(1.15)),
        met: Some(true),
        rounds: vec![12_345.6],
    }
}

fn run_row(strategy: &str) -> RunRow {
    let summary =
        Summary { median: 123.456, p99: 12_345.6, p999: 54_321.0, p9999: 87_654.3, max: 98_765.4 };
    RunRow {
        flow: "encode".into(),
        strategy: strategy.into(),
        refused: None,
        refusals: 1,
        first_refusal: Some("no division of the flows among the DSPs fits".into()),
        since_due_us: summary,
        deadline_us: Some(20_000.0),
        phase_calls: 1000,
        overlaps: 3,
        stamps_us: 0.5,
        wrong: 0,
        switches: 5,
        phases_us: Some(Phases { a: summary, b: summary, c: summary, d: summary, e: summary }),
        rtt_us: summary,
        parts_us: vec![123.456],
        jitter_us: Jitter { median: 1.0, p99: 2.0, max: 3.0, deviation: 0.5 },
        cpu_percent: Load { caller: 100.0, callee: 99.9 },
        calls_per_second: 1_000_000.0,
        bytes_per_second: 5e9,
        sent: 1000,
        received: 999,
        lost: 1,
        deadline_misses: 2,
        audio: Some(Audio { file: Some("out/decoded.wav".into()), samples: 160, differing: 0 }),
    }
}

/// The keys of each of the percentiles of a run.
fn percentiles() -> BTreeSet<String> {
    inner("A row of `run`", "rtt_us", &["stamps_us"])
}

#[test]
fn the_object_is_what_the_description_says() {
    let mut report = Report::new("run", machine(), vec![run_row("copy/spin/internal")]);
    report.notes.push("a note".into());
    let value = serde_json::to_value(&report).unwrap();
    assert_report(&value, &[]);
    let (table, row) = ("A row of `run`", &value["results"][0]);
    assert_keys(table, row);
    assert_eq!(keys(&row["phases_us"]), ["A", "B", "C", "D", "E"].map(str::to_owned).into());
    let phases = row["phases_us"].as_object().unwrap().values();
    for one in phases.chain([&row["rtt_us"], &row["since_due_us"]]) {
        assert_same(table, &keys(one), &percentiles());
    }
    assert_same(table, &inner(table, "phases_us", &[]), &percentiles());
    for (key, others) in [("jitter_us", &[][..]), ("cpu_percent", &[]), ("audio", &["output"])] {
        assert_inner(table, row, key, others);
    }
    let bench = serde_json::to_value(bench_row()).unwrap();
    assert_keys("A row of `bench`", &bench);
    let finding = crate::base::checks::examine(&crate::base::machine::Root::default());
    let finding = serde_json::to_value(&finding).unwrap();
    assert_keys("A row of `doctor`", &finding[0]);
    assert_eq!(serde_json::from_value::<Report<RunRow>>(value).unwrap(), report);
}

#[test]
fn tables_fit_eighty_columns() {
    let bench = [bench_row(), BenchRow { limit: None, ratio: None, bytes: 0, ..bench_row() }];
    for line in bench_text(&bench).lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let unbound = BenchRow { bound: None, met: None, ..bench_row() };
    assert!(!bench_text(&[unbound]).contains("bound"));
}

#[test]
fn a_bound_is_met_up_to_itself() {
    assert!(Bound::Most(1.15).met(1.15) && !Bound::Most(1.15).met(1.16));
    assert!(Bound::Least(0.95).met(0.95) && !Bound::Least(0.95).met(0.94));
    let not = BenchRow { bound: Some(Bound::Least(0.95)), met: Some(false), ..bench_row() };
    let text = bench_text(&[bench_row(), not]);
    assert!(text.contains("≤ 1.15: met\n") && text.contains("≥ 0.95: not met\n"), "{text}");
    let json = serde_json::to_value(bench_row()).unwrap();
    assert_eq!((&json["bound"]["most"], &json["met"]), (&Value::from(1.15), &Value::from(true)));
}
