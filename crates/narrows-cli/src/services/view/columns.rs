//! A trace as the page reads it: columns of numbers that the script uses where they lie.
//!
//! The bytes are, all numbers with the least byte first:
//!
//! | bytes | are |
//! |---|---|
//! | 8 | [`MAGIC`] |
//! | 4 | how long the header is |
//! | 4 | zeros |
//! | the header | JSON: [`Header`] |
//! | padding | zeros up to a multiple of 8 |
//! | each column | as the header lists them, each padded in the same way |
//!
//! Times are nanoseconds since the first event, as `f64`: exact for 104 days. A time that is not
//! known is NaN, a row that is not known [`NO_ROW`]. `web/view/data.ts` reads this.

use narrows_trace::{Category, Causes, Kind, Of, Step, Trace};
use serde::Serialize;
use std::collections::HashMap;

/// What the bytes begin with; its last character changes with the format.
const MAGIC: &[u8; 8] = b"narview1";
/// In place of a row.
const NO_ROW: u32 = u32::MAX;

/// What is no column.
#[derive(Serialize)]
struct Header<'a> {
    /// The name of the file.
    name: &'a str,
    /// The first time, in nanoseconds. As text, for it may have more digits than a script counts.
    first: String,
    /// The last time, since the first.
    last: f64,
    cut: bool,
    dropped: u64,
    tracks: Vec<Row<'a>>,
    /// Names and texts that columns quote by their place.
    strings: Vec<String>,
    /// Names of the categories that columns quote.
    categories: Vec<&'static str>,
    columns: Vec<Column>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    kind: &'static str,
    parent: Option<usize>,
    unit: &'a str,
}

#[derive(Serialize)]
struct Column {
    name: &'static str,
    /// `f64`, `u64`, `u32`, `u16` or `u8`.
    r#type: &'static str,
    length: usize,
}

/// Columns in the making.
#[derive(Default)]
struct Columns {
    listed: Vec<Column>,
    bytes: Vec<u8>,
}

impl Columns {
    fn add<const N: usize>(
        &mut self,
        name: &'static str,
        r#type: &'static str,
        values: impl Iterator<Item = [u8; N]>,
    ) {
        let before = self.bytes.len();
        values.for_each(|value| self.bytes.extend_from_slice(&value));
        let length = (self.bytes.len() - before) / N;
        pad(&mut self.bytes);
        self.listed.push(Column { name, r#type, length });
    }
    fn f64(&mut self, name: &'static str, values: impl Iterator<Item = f64>) {
        self.add(name, "f64", values.map(f64::to_le_bytes));
    }
    fn u64(&mut self, name: &'static str, values: impl Iterator<Item = u64>) {
        self.add(name, "u64", values.map(u64::to_le_bytes));
    }
    fn u32(&mut self, name: &'static str, values: impl Iterator<Item = u32>) {
        self.add(name, "u32", values.map(u32::to_le_bytes));
    }
    fn u16(&mut self, name: &'static str, values: impl Iterator<Item = u16>) {
        self.add(name, "u16", values.map(u16::to_le_bytes));
    }
    fn u8(&mut self, name: &'static str, values: impl Iterator<Item = u8>) {
        self.add(name, "u8", values.map(u8::to_le_bytes));
    }
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
}

/// Texts, each once.
struct Texts {
    all: Vec<String>,
    places: HashMap<String, u32>,
}

impl Texts {
    fn place(&mut self, text: &str) -> u32 {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = self.all.len() as u32;
        self.all.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Group => "group",
        Kind::Thread => "thread",
        Kind::Part => "part",
        Kind::Counter => "counter",
    }
}

/// The bytes of a trace that is called `name`.
pub(super) fn encode(name: &str, trace: &Trace) -> Vec<u8> {
    let (first, last) = trace.span;
    let since = |at: u64| (i128::from(at) - i128::from(first)) as f64;
    let mut texts = Texts { all: trace.names.clone(), places: HashMap::new() };
    let mut columns = Columns::default();

    let category = |category: Category| {
        Category::ALL.iter().position(|one| *one == category).unwrap_or_default() as u8
    };
    let slices = &trace.slices;
    columns.f64("slice.begin", slices.iter().map(|one| since(one.begin)));
    columns.f64("slice.end", slices.iter().map(|one| since(one.end)));
    columns.u32("slice.track", slices.iter().map(|one| one.track));
    columns.u32("slice.name", slices.iter().map(|one| one.name));
    columns.u16("slice.depth", slices.iter().map(|one| one.depth));
    columns.u8("slice.category", slices.iter().map(|one| category(one.category)));

    let moments = &trace.moments;
    columns.f64("moment.at", moments.iter().map(|one| since(one.at)));
    columns.u32("moment.track", moments.iter().map(|one| one.track));
    columns.u32("moment.name", moments.iter().map(|one| one.name));
    columns.u8("moment.category", moments.iter().map(|one| category(one.category)));
    // Where each one's values begin, and where the last one's end.
    let firsts = moments.iter().scan(0, |next, one| {
        *next += one.values.len() as u32;
        Some(*next)
    });
    columns.u32("moment.values", std::iter::once(0).chain(firsts));
    let said: Vec<(u32, u32)> = moments
        .iter()
        .flat_map(|one| &one.values)
        .map(|(name, text)| (texts.place(name), texts.place(text)))
        .collect();
    columns.u32("value.name", said.iter().map(|one| one.0));
    columns.u32("value.text", said.iter().map(|one| one.1));

    let counted = &trace.counted;
    columns.f64("count.at", counted.iter().map(|one| since(one.at)));
    columns.f64("count.value", counted.iter().map(|one| one.value as f64));
    columns.u32("count.track", counted.iter().map(|one| one.track));

    let messages = &trace.messages;
    let at = |place: Option<(u32, u64)>| place.map_or(f64::NAN, |(_, at)| since(at));
    let row = |place: Option<(u32, u64)>| place.map_or(NO_ROW, |(row, _)| row);
    columns.u64("message.id", messages.iter().map(|one| one.id));
    columns.f64(
        "message.began",
        messages.iter().map(|one| one.sent.map_or(f64::NAN, |_| since(one.began))),
    );
    columns.f64("message.sent", messages.iter().map(|one| at(one.sent)));
    columns.f64("message.taken", messages.iter().map(|one| at(one.taken)));
    columns.f64("message.received", messages.iter().map(|one| at(one.received)));
    columns.u32("message.from", messages.iter().map(|one| row(one.sent)));
    columns.u32("message.to", messages.iter().map(|one| row(one.received.or(one.taken))));
    columns.u32("message.number", messages.iter().map(|one| one.number));
    columns.u32("message.bytes", messages.iter().map(|one| one.bytes));
    columns.u32("message.source", messages.iter().map(|one| one.source));
    columns.u32("message.target", messages.iter().map(|one| one.target));
    let kinds: Vec<u32> = messages.iter().map(|one| texts.place(&one.kind)).collect();
    columns.u32("message.kind", kinds.into_iter());
    let peers: Vec<u32> = messages.iter().map(|one| texts.place(&one.peer)).collect();
    columns.u32("message.peer", peers.into_iter());
    columns.u16("message.tag", messages.iter().map(|one| one.tag));
    columns.u8("message.priority", messages.iter().map(|one| one.priority));

    // Where the causes of each one's latency begin, and where those of the last end.
    let causes = Causes::new(trace);
    let steps: Vec<Vec<Step>> = (0..messages.len()).map(|place| causes.steps(place)).collect();
    let firsts = steps.iter().scan(0, |next, own| {
        *next += own.len() as u32;
        Some(*next)
    });
    columns.u32("message.causes", std::iter::once(0).chain(firsts));
    let steps = || steps.iter().flatten();
    columns.f64("cause.ns", steps().map(|step| step.ns as f64));
    let names: Vec<u32> = steps().map(|step| texts.place(step.cause.name)).collect();
    columns.u32("cause.name", names.into_iter());
    // How many messages the receiver saw to first.
    columns.u32("cause.behind", steps().map(|step| step.behind.len() as u32));
    columns.u8("cause.receiver", steps().map(|step| u8::from(step.cause.of == Of::Receiver)));

    let tracks = trace.tracks.iter().map(|one| Row {
        name: &one.name,
        kind: kind(one.kind),
        parent: one.parent,
        unit: &one.unit,
    });
    let header = Header {
        name,
        first: first.to_string(),
        last: since(last),
        cut: trace.cut,
        dropped: trace.dropped,
        tracks: tracks.collect(),
        strings: texts.all,
        categories: Category::ALL.map(Category::name).to_vec(),
        columns: columns.listed,
    };
    // Of texts and finite numbers: nothing in it can fail.
    let header = serde_json::to_vec(&header).unwrap_or_default();
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(header.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&header);
    pad(&mut bytes);
    bytes.extend_from_slice(&columns.bytes);
    bytes
}
