//! The keys that docs/JSON.md has, beside those that the command prints. A key that only one of
//! both has is a failure, whichever it is.
//!
//! A table is named by its heading, and if it is not the first one there by a text: the table that
//! has the text, or the next one behind it. So `"A row of `ps` > An entry of `each_link`"`.

#![allow(dead_code, reason = "each test program has what another one needs as well")]

use serde_json::{Map, Value};
use std::collections::BTreeSet;

const JSON: &str = include_str!("../../../../docs/JSON.md");

/// What a cell has in backticks, if it can be a key.
fn words(cell: &str) -> BTreeSet<String> {
    let quoted = cell.split('`').skip(1).step_by(2);
    let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_ ".contains(c);
    quoted.filter(|word| word.chars().all(part)).map(str::to_owned).collect()
}

/// The rows of a table of a page: the first cell, and the others.
fn rows(page: &'static str, table: &str) -> Vec<(&'static str, &'static str)> {
    let (heading, text) = table.split_once(" > ").unwrap_or((table, "|"));
    let lines =
        page.lines().skip_while(|line| line.trim_start_matches('#') != format!(" {heading}"));
    let section: Vec<&str> = lines.skip(1).take_while(|line| !line.starts_with('#')).collect();
    let named = section.iter().position(|line| line.contains(text));
    let named = named.unwrap_or_else(|| panic!("the page has no {table}"));
    let before = section[..named].iter().rev().take_while(|line| line.starts_with('|')).count();
    let lines = section[named - before..].iter().skip_while(|line| !line.starts_with('|'));
    let lines = lines.take_while(|line| line.starts_with('|')).skip(2);
    lines.filter_map(|line| line.trim_matches('|').split_once('|')).collect()
}

/// The keys of a table of any page.
pub fn documented_in(page: &'static str, table: &str) -> BTreeSet<String> {
    let found: BTreeSet<String> =
        rows(page, table).into_iter().flat_map(|(first, _)| words(first)).collect();
    assert!(!found.is_empty(), "{table} has no keys");
    found
}

/// The keys of a table.
pub fn documented(table: &str) -> BTreeSet<String> {
    documented_in(JSON, table)
}

/// The keys that the description of a key names, without other words that stand there too.
pub fn inner(table: &str, key: &str, others: &[&str]) -> BTreeSet<String> {
    let all = rows(JSON, table);
    let row = all.iter().find(|(first, _)| words(first).contains(key));
    let (_, described) = row.unwrap_or_else(|| panic!("{table} has no {key}"));
    without(&words(described), others)
}

/// Keys without some of them, each of which has to be there.
pub fn without(all: &BTreeSet<String>, some: &[&str]) -> BTreeSet<String> {
    let mut left = all.clone();
    for one in some {
        assert!(left.remove(*one), "{one} is not among {all:?}");
    }
    left
}

/// The object that a value is.
fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap_or_else(|| panic!("an object is expected, and not {value}"))
}

/// The keys of an object.
pub fn keys(value: &Value) -> BTreeSet<String> {
    object(value).keys().cloned().collect()
}

/// The keys of an object, and of the objects in it.
fn all_keys(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Object(map) => {
            keys(value).into_iter().chain(map.values().flat_map(all_keys)).collect()
        }
        Value::Array(all) => all.iter().flat_map(all_keys).collect(),
        _ => BTreeSet::new(),
    }
}

/// What one of both lacks, as a sentence; none if they are the same.
pub fn difference(printed: &BTreeSet<String>, documented: &BTreeSet<String>) -> Option<String> {
    let lacks = |who: &str, ours: &BTreeSet<String>, theirs: &BTreeSet<String>| {
        let missing: Vec<&str> = theirs.difference(ours).map(String::as_str).collect();
        (!missing.is_empty()).then(|| format!("{who} lacks {}", missing.join(", ")))
    };
    let found = [
        lacks("docs/JSON.md", documented, printed),
        lacks("what the command prints", printed, documented),
    ];
    let found: Vec<String> = found.into_iter().flatten().collect();
    (!found.is_empty()).then(|| found.join("; "))
}

/// Demands that keys that are printed and documented are the same; `table` says where.
pub fn assert_same(table: &str, printed: &BTreeSet<String>, documented: &BTreeSet<String>) {
    if let Some(difference) = difference(printed, documented) {
        panic!("{table}: {difference}");
    }
}

/// Demands that an object has the keys of a table, and no others.
pub fn assert_keys(table: &str, value: &Value) {
    assert_keys_but(table, value, &[]);
}

/// As [`assert_keys`], of an object that by the page's own words has all but some of them.
pub fn assert_keys_but(table: &str, value: &Value, missing: &[&str]) {
    assert_same(table, &keys(value), &without(&documented(table), missing));
}

/// Demands that what lies under a key, an object or a list of them that is not empty, has the keys
/// that the description of the key names. `others` are words there that are no keys of it.
pub fn assert_inner(table: &str, value: &Value, key: &str, others: &[&str]) {
    let list = value[key].as_array();
    let each = list.map_or(vec![&value[key]], |list| list.iter().collect());
    assert!(!each.is_empty(), "{table}: nothing is under {key} that could be looked at");
    // Each has all keys, and those that lists in it may leave out one of them has.
    assert!(each.iter().all(|one| keys(one) == keys(each[0])), "{table}: {key} is not of one kind");
    let printed = each.into_iter().flat_map(all_keys).collect();
    assert_same(&format!("{table}, {key}"), &printed, &inner(table, key, others));
}

/// Demands of a report that it has the keys of every report, those of its machine, and `more`.
pub fn assert_report(report: &Value, more: &[&str]) {
    let mut expected = documented("The object");
    expected.extend(more.iter().map(|key| (*key).to_owned()));
    assert_same("The object", &keys(report), &expected);
    assert_keys("`machine`", &report["machine"]);
}
