//! `--trace` on chips and `narrows why`, as a user starts them.

use crate::common::documented::{assert_keys, assert_report, documented};
use crate::common::{narrows, stdout, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const RUN: [&str; 7] =
    ["run", "--on", "davinci", "--duration", "200ms", "--strategy", "copy/interrupt"];

fn refused(args: &[&str], code: i32, said: &str) {
    let output = narrows(args);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
    assert!(error.contains(said), "{args:?}\nfound    {error}\nexpected {said}");
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&narrows(args))).unwrap()
}

/// A trace of a command, in a directory that goes with it, and what the command printed.
fn traced(args: &[&str]) -> (tempfile::TempDir, String, String) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.pftrace").to_str().unwrap().to_owned();
    let printed = stdout(&narrows(&[args, &["--trace", &path]].concat()));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing else is left");
    (place, path, printed)
}

/// Fields of a protobuf message: number, value of a number, bytes of anything else. This reads the
/// file as its format is published, and knows nothing of the code that wrote it.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let (number, nothing) = (tag >> 3, &bytes[..0]);
        match tag & 7 {
            0 => all.push((number, varint(&mut bytes), nothing)),
            1 | 5 | 2 => {
                let len = match tag & 7 {
                    1 => 8,
                    5 => 4,
                    _ => varint(&mut bytes) as usize,
                };
                let (one, behind) = bytes.split_at(len);
                let value = one.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
                all.push((number, value, one));
                bytes = behind;
            }
            kind => panic!("no such wire type: {kind}"),
        }
    }
    all
}

fn bytes_of<'a>(message: &[(u64, u64, &'a [u8])], number: u64) -> Option<&'a [u8]> {
    message.iter().find(|field| field.0 == number).map(|field| field.2)
}

/// Of each message that was sent: its kind, its bytes, and whether it was received.
fn messages(path: &str) -> Vec<(String, u64, bool)> {
    let file = fs::read(path).unwrap();
    let (mut sent, mut received) = (Vec::new(), BTreeSet::new());
    for (tag, _, packet) in fields(&file) {
        assert_eq!(tag, 1, "a packet");
        let packet = fields(packet);
        let Some(event) = bytes_of(&packet, 11) else { continue };
        assert!(packet.iter().any(|field| field.0 == 8), "an event has a time");
        assert!(packet.iter().any(|field| field.0 == 10), "viewers drop events of no sequence");
        let event = fields(event);
        let flow = |number| event.iter().find(|field| field.0 == number).map(|field| field.1);
        match (bytes_of(&event, 22), bytes_of(&event, 23)) {
            (Some(b"message"), Some(b"send")) => {
                let (mut kind, mut bytes) = (String::new(), 0);
                for (_, _, annotation) in event.iter().filter(|field| field.0 == 4) {
                    let annotation = fields(annotation);
                    let number = annotation.iter().find(|field| field.0 == 3);
                    match bytes_of(&annotation, 10) {
                        Some(b"kind") => kind = text(bytes_of(&annotation, 6).unwrap()),
                        Some(b"bytes") => bytes = number.unwrap().1,
                        _ => {}
                    }
                }
                sent.push((kind, bytes, flow(47).unwrap()));
            }
            (Some(b"message"), Some(b"receive")) => {
                received.insert(flow(48).unwrap());
            }
            _ => {}
        }
    }
    let ids: BTreeSet<u64> = sent.iter().map(|one| one.2).collect();
    assert_eq!(ids.len(), sent.len(), "each message has an id of its own");
    sent.into_iter().map(|(kind, bytes, id)| (kind, bytes, received.contains(&id))).collect()
}

#[test]
fn a_trace_has_the_messages_that_the_report_counts_and_changes_no_figure() {
    let args = [&RUN[..], &["--json"]].concat();
    let (_place, path, printed) = traced(&args);
    assert_eq!(printed, stdout(&narrows(&args)), "it is the same without a trace");
    let report: Value = serde_json::from_str(&printed).unwrap();
    let messages = messages(&path);
    // Speech of 16 bits there and of 8 back, and the other way round.
    for (row, request, response) in [(0, 320, 160), (1, 160, 320)] {
        let calls = report["results"][row]["sent"].as_u64().unwrap();
        assert!(calls > 0);
        for (kind, bytes) in [("request", request), ("response", response)] {
            let of = messages.iter().filter(|(k, b, _)| k == kind && *b == bytes);
            let of: Vec<_> = of.collect();
            assert_eq!(of.len() as u64, calls, "{kind} of {bytes}");
            assert!(of.iter().all(|(_, _, received)| *received), "{kind} of {bytes}");
        }
    }
}

#[test]
fn why_names_causes_that_add_up_and_every_key_is_documented() {
    let (_place, path, _) = traced(&RUN);
    let report = json(&["why", &path, "--slowest", "1000", "--json"]);
    let more = documented("The object of `why`");
    assert_report(&report, &more.iter().map(String::as_str).collect::<Vec<_>>());
    let rows = report["results"].as_array().unwrap();
    assert_eq!(rows.len() as u64, report["messages"].as_u64().unwrap());
    let nanos = |us: &Value| (us.as_f64().unwrap() * 1000.0).round() as u64;
    let mut all = 0;
    for row in rows {
        assert_keys("A row of `why`", row);
        let causes = row["causes"].as_array().unwrap();
        for cause in causes {
            assert_keys("A cause of `why`", cause);
            assert_ne!(cause["cause"], "unknown", "a chip knows everything: {row}");
        }
        let sum: u64 = causes.iter().map(|cause| nanos(&cause["us"])).sum();
        assert_eq!(sum, nanos(&row["latency_us"]), "{row}");
        all += sum;
    }
    let totals = report["totals"].as_array().unwrap();
    for total in totals {
        assert_keys("A total of `why`", total);
    }
    assert_eq!(totals.iter().map(|total| nanos(&total["us"])).sum::<u64>(), all);
    let shares: f64 = totals.iter().map(|total| total["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
}

#[test]
fn why_says_it_in_words_of_eighty_columns_and_takes_what_is_asked_for() {
    let poll = [&RUN[..6], &["copy/poll=5ms"]].concat();
    let (_place, path, _) = traced(&poll);
    let said = stdout(&narrows(&["why", &path, "--slowest", "2"]));
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    let first = said.split("\n\n").next().unwrap().replace('\n', " ");
    assert!(first.contains("messages took"), "{said}");
    assert!(first.ends_with("of all that time the receiver slept until its timer."), "{said}");
    assert_eq!(said.matches(", caller → callee) took").count(), 2, "{said}");
    assert!(said.contains("the receiver slept until its timer"), "{said}");
    let few = json(&["why", &path, "--flow", "1", "--json"]);
    let flows = few["results"].as_array().unwrap().iter().map(|row| row["flow"].clone());
    assert!(flows.clone().count() > 0 && flows.into_iter().all(|flow| flow == 1), "{few}");
    let slow = json(&["why", &path, "--over", "1ms", "--json"]);
    let rows = slow["results"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["latency_us"].as_f64().unwrap() > 1000.0));
    assert!(slow["messages"].as_u64() < few["messages"].as_u64().map(|few| few * 10));
    refused(&["why", &path, "--flow", "77"], 4, "has no such message");
    refused(&["why", &path, "--over", "1h"], 4, "has no such message");
}

#[test]
fn benches_on_chips_are_traced() {
    let rows = |name: &str, more: &[&str]| {
        let on = if name.starts_with('t') { "nios2-dual" } else { "generic-amp" };
        let (place, path, _) = traced(&[&["bench", name, "--on", on], more].concat());
        let _place = place;
        messages(&path)
    };
    let signals = rows("t1", &["--driver", "dma-ack", "--stack", "layered"]);
    // Ten requests, one of which has another before it, and their replies.
    assert_eq!(signals.len(), 22);
    assert!(signals.iter().all(|(kind, _, received)| kind == "signal" && *received));
    assert_eq!(signals.iter().filter(|(_, bytes, _)| *bytes == 1500).count(), 1);
    let all = rows("mcapi", &[]);
    // The node that leaves first says so in two words, which the other does not wait for.
    for (wanted, bytes, left) in [("scalar", 8, 2), ("packet", 48, 0), ("message", 48, 0)] {
        let of: Vec<_> = all.iter().filter(|row| row.0 == wanted && row.1 == bytes).collect();
        let received = of.iter().filter(|row| row.2).count();
        assert!(received > 16, "{received} {wanted}");
        assert_eq!(of.len() - received, left, "{wanted}");
    }
    let few = ["--bytes", "48", "--notify", "interrupt", "--rounds", "1"];
    for name in ["pingpong", "phases"] {
        let sent = rows(name, &few);
        assert!(sent.iter().filter(|(_, bytes, received)| *bytes == 48 && *received).count() > 16);
    }
}

#[test]
fn what_is_no_trace_is_refused_in_a_sentence() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let write = |name: &str, bytes: &[u8]| {
        fs::write(at(name), bytes).unwrap();
        at(name)
    };
    refused(&["why", &at("nothing")], 4, "cannot read");
    refused(&["why", place.path().to_str().unwrap()], 4, "cannot read");
    refused(&["why", &write("empty", b"")], 4, "there is nothing in it");
    refused(&["why", &write("text", b"{\"traceEvents\":[]}")], 4, "byte 0 begins no packet");
    refused(&["why", &write("long", &[10, 255, 255, 255, 255, 255, 1])], 4, "begins no packet");
    assert_eq!(narrows(&["why", "x", "--slowest", "0"]).status.code(), Some(2));
    // Of other packets than ours, all are skipped: there are no messages.
    refused(&["why", &write("foreign", &[10, 2, 0x18, 7])], 4, "has no messages");
    // They simulate, or reckon, and no node of this machine does anything.
    for bench in [&["sim"][..], &["tune"], &["advise", "--cases", "1"]] {
        refused(&[&["bench"], bench, &["--trace", &at("x")]].concat(), 2, "--trace says nothing");
    }
    let nowhere = at("no/where");
    refused(&[&RUN[..], &["--trace", &nowhere]].concat(), 5, "cannot write");
    assert!(!Path::new(&at("x")).exists());
}

#[test]
fn a_trace_that_is_cut_and_names_with_markup_are_read_all_the_same() {
    let (place, path, _) = traced(&RUN);
    let whole = fs::read(&path).unwrap();
    let cut = place.path().join("cut").to_str().unwrap().to_owned();
    fs::write(&cut, &whole[..whole.len() * 3 / 4 + 1]).unwrap();
    let said = stdout(&narrows(&["why", &cut]));
    assert!(said.contains("the file ends in the middle"), "{said}");
    let escape = b"\x1b[31m<b>";
    let mut marked = whole.clone();
    while let Some(at) = marked.windows(6).position(|window| window == b"caller") {
        marked[at..at + 6].copy_from_slice(&escape[..6]);
    }
    fs::write(&cut, marked).unwrap();
    let said = stdout(&narrows(&["why", &cut]));
    assert!(!said.contains('\x1b') && said.contains("[31m<"), "{said}");
}
