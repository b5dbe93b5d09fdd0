//! The page against what a trace may have in it, and the columns against their description.

use super::flags::Align;
use super::{columns, page, summary};
use narrows_trace::{Category, Message, Row, Trace, Value, Writer, read};
use serde_json::Value as Json;

const WORST: &str = "</script><script>alert(1)</script>\"'&<b>\u{2028}";

/// A trace with one of everything; its names are `name`.
fn trace(name: &str) -> Trace {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file);
    writer.group(1, 1, name).unwrap();
    writer.thread(Row(2), 1, 1, 1, name).unwrap();
    writer.counter(Row(3), 1, name, name).unwrap();
    writer.begin(Row(2), 1_000, Category::Call, name).unwrap();
    writer.begin(Row(2), 1_100, Category::Call, "inner").unwrap();
    let message =
        Message { id: u64::MAX, began: 900, number: 5, peer: name.into(), ..Message::default() };
    writer.sent(Row(2), 1_500, &message).unwrap();
    writer.end(Row(2), 1_600).unwrap();
    writer.end(Row(2), 2_000).unwrap();
    let values = [(name, Value::Text(name)), ("number", Value::Number(7))];
    writer.instant(Row(2), 2_100, Category::Decision, name, &values).unwrap();
    writer.count(Row(3), 2_200, -3).unwrap();
    drop(writer);
    read(&file[..]).unwrap()
}

/// The header of encoded columns, and where each column begins.
fn parts(bytes: &[u8]) -> (Json, Vec<(String, usize, u64)>) {
    assert_eq!(&bytes[..8], b"narview1");
    let length = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
    let header: Json = serde_json::from_slice(&bytes[16..16 + length]).unwrap();
    let mut at = (16 + length).next_multiple_of(8);
    let mut found = Vec::new();
    for column in header["columns"].as_array().unwrap() {
        let length = column["length"].as_u64().unwrap();
        found.push((column["name"].as_str().unwrap().to_owned(), at, length));
        let size = match column["type"].as_str().unwrap() {
            "f64" | "u64" => 8,
            "u32" => 4,
            "u16" => 2,
            _ => 1,
        };
        at = (at + length as usize * size).next_multiple_of(8);
    }
    assert_eq!(at, bytes.len());
    (header, found)
}

#[test]
fn columns_are_where_their_header_says() {
    let bytes = columns::encode("a", &trace("codec"));
    let (header, columns) = parts(&bytes);
    let find = |name: &str| columns.iter().find(|one| one.0 == name).unwrap();
    let f64_at = |name: &str, row: usize| {
        let at = find(name).1 + 8 * row;
        f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
    };
    assert_eq!(find("slice.begin").2, 2);
    // Since the first event; a message may have been begun before it.
    assert_eq!((f64_at("slice.begin", 1), f64_at("slice.end", 1)), (100.0, 600.0));
    assert_eq!((f64_at("message.began", 0), f64_at("message.sent", 0)), (-100.0, 500.0));
    assert!(f64_at("message.received", 0).is_nan());
    assert_eq!(f64_at("count.value", 0), -3.0);
    assert_eq!((header["first"].as_str(), header["last"].as_f64()), (Some("1000"), Some(1200.0)));
    assert_eq!(header["tracks"][1]["parent"], 0);
    let texts: Vec<&str> =
        header["strings"].as_array().unwrap().iter().filter_map(Json::as_str).collect();
    assert!(texts.contains(&"codec") && texts.contains(&"7"), "{texts:?}");
}

#[test]
fn times_that_are_far_apart_are_encoded() {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file);
    writer.begin(Row(1), 5, Category::Call, "a").unwrap();
    writer.end(Row(1), u64::MAX).unwrap();
    drop(writer);
    let trace = read(&file[..]).unwrap();
    let (header, _) = parts(&columns::encode("a", &trace));
    assert_eq!(header["last"].as_f64(), Some((u64::MAX - 5) as f64));
    parts(&columns::encode("empty", &Trace::default()));
}

#[test]
fn names_with_markup_are_text() {
    let page = |name: &str| {
        let bytes = columns::encode(name, &trace(name));
        (page::whole(name, Align::Event, &[bytes]), page::served(name, Align::Message, 1))
    };
    let ((plain, plain_served), (worst, worst_served)) = (page("name"), page(WORST));
    for text in ["<script", "</script", "<b>", "<meta"] {
        let count = |page: &str| page.matches(text).count();
        assert_eq!(count(&plain), count(&worst), "{text}");
        assert_eq!(count(&plain_served), count(&worst_served), "{text}");
    }
    assert!(worst.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
}

#[test]
fn a_page_fetches_nothing_from_elsewhere() {
    let whole = page::whole("a", Align::Event, &[columns::encode("a", &trace("a"))]);
    let served = page::served("a", Align::Event, 1);
    for page in [&whole, &served] {
        assert!(page.contains("default-src &#39;none&#39;") || page.contains("default-src 'none'"));
        assert!(!page.contains("src=\"") && !page.contains("http://") && !page.contains("@import"));
    }
    assert!(!whole.contains("connect-src") && served.contains("connect-src"));
    assert!(page::served_policy().contains("frame-ancestors 'none'"));
}

#[test]
fn the_summary_says_what_is_missing() {
    let mut trace = trace("a");
    assert_eq!(summary(&trace), "3 rows, 4 events, 1 message");
    trace.dropped = 2;
    trace.cut = true;
    let says = summary(&trace);
    assert!(
        says.ends_with("; 2 events were dropped; the file ends in the middle of an event"),
        "{says}"
    );
}
