//! `narrows papers` as a user starts it.

use crate::common::documented::{assert_keys, assert_report};
use crate::common::{narrows, stdout};
use serde_json::Value;

fn ids(report: &str) -> Vec<String> {
    let report: Value = serde_json::from_str(report).unwrap();
    assert_eq!(report["command"], "papers");
    let rows = report["results"].as_array().unwrap();
    rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn two_runs_give_the_same_bytes() {
    let first = stdout(&narrows(&["papers", "--json"]));
    assert_eq!(first, stdout(&narrows(&["papers", "--json"])));
    let ids = ids(&first);
    assert!(ids.contains(&"S0.voip.workload.order.arm_percent".to_owned()), "{ids:?}");
    let known = |id: &String| {
        ["S0.", "S1.", "S2.", "S3.", "S4.", "TI."].iter().any(|source| id.starts_with(source))
    };
    assert!(ids.iter().all(known), "{ids:?}");
}

#[test]
fn rows_have_the_keys_that_are_documented() {
    let report = stdout(&narrows(&["papers", "--source", "S1", "--json"]));
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_report(&report, &[]);
    for row in report["results"].as_array().unwrap() {
        assert_keys("A row of `papers`", row);
    }
}

#[test]
fn a_source_is_asked_for_by_name() {
    let one = ids(&stdout(&narrows(&["papers", "--source", "s1", "--json"])));
    let expected = [
        "S1.notification.interrupt",
        "S1.notification.polling",
        "S1.notification.reduction",
        "S1.gateway.1K.1A.cut",
        "S1.gateway.1K.2A.cut",
        "S1.gateway.1K.2A+2V.static",
        "S1.gateway.1K.carried.1A.cut",
        "S1.gateway.1K.carried.2A.cut",
        "S1.gateway.1K.carried.2A+2V.static",
        "S1.gateway.unlimited.arm_percent",
        "S1.gateway.unlimited.memory_kib",
        "S1.gateway.unlimited.carried.arm_percent",
        "S1.gateway.unlimited.carried.memory_kib",
    ];
    assert_eq!(one, expected);
    let text = stdout(&narrows(&["papers", "--source", "S1"]));
    assert!(text.starts_with("0 of 10 checks are within 15 %."), "{text}");
    let line = text.replace('\n', " ");
    assert!(line.contains("3 inputs, 2 as they should be, 2 by construction"), "{text}");
    assert!(text.contains(" solved") && text.contains("check"), "{text}");
    let output = narrows(&["papers", "--source", "S9"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("S0"), "{output:?}");
}

#[test]
fn s2_has_its_tables_and_says_where_it_contradicts_itself() {
    let report = stdout(&narrows(&["papers", "--source", "S2", "--json"]));
    let ids = ids(&report);
    for id in
        ["S2.table1.rw.two", "S2.table2.order.long", "S2.table3.send.one", "S2.table4.sdram.read"]
    {
        assert!(ids.iter().any(|one| one == id), "{ids:?}");
    }
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["machine"]["platform"], "quatro67");
    // What misses is shown as a miss, and is no failure of the command.
    let missed = report["results"].as_array().unwrap().iter();
    let missed =
        missed.filter(|row| row["within"] == false).any(|row| row["id"] == "S2.table2.rw.two");
    assert!(missed, "{report}");
    let text = stdout(&narrows(&["papers", "--source", "S2"]));
    assert!(text.contains("S2 contradicts itself once"), "{text}");
    assert!(text.contains("If the Quatro67 had frames"), "{text}");
}
