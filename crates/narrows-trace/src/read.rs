//! Reads a trace back.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead, Read as _};

use prost::Message as _;

use crate::schema::{
    Annotation, BEGIN, COUNTER, END, Event, INSTANT, PACKET, Packet, TrackDescriptor,
};
use crate::{Category, Message, Row};

/// Bytes of the longest packet that is read: those written here are far shorter.
const LONGEST: u64 = 1 << 20;

/// What a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A process of a machine or a core of a chip; it has no stretches of its own.
    Group,
    /// A thread, or a process of a core: its calls and messages.
    Thread,
    /// What belongs to the row above it: `state`, `interrupts`, or a bus.
    Part,
    /// Values over time.
    Counter,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// Its number in the file.
    pub row: Row,
    /// The row that it belongs to, by its place in [`Trace::tracks`].
    pub parent: Option<usize>,
    /// What it shows.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// The unit of its values, if it has any.
    pub unit: String,
}

/// A stretch of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The row, by its place in [`Trace::tracks`].
    pub track: u32,
    /// When it began, in nanoseconds.
    pub begin: u64,
    /// When it ended; the end of the trace if it did not.
    pub end: u64,
    /// How many stretches it lies within.
    pub depth: u16,
    /// What kind of thing it is.
    pub category: Category,
    /// Its name, by its place in [`Trace::names`].
    pub name: u32,
}

/// Something that happened at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    /// The row, by its place in [`Trace::tracks`].
    pub track: u32,
    /// When.
    pub at: u64,
    /// What kind of thing it is.
    pub category: Category,
    /// Its name, by its place in [`Trace::names`].
    pub name: u32,
    /// What more was said of it.
    pub values: Vec<(String, String)>,
}

/// A value of a counter from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The row, by its place in [`Trace::tracks`].
    pub track: u32,
    /// When.
    pub at: u64,
    /// The value.
    pub value: i64,
}

/// A message and what is known of its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journey {
    /// As its sender knows it.
    pub message: Message,
    /// The sender's row, and when it was published.
    pub sent: Option<(u32, u64)>,
    /// When its receiver took it off the ring.
    pub taken: Option<(u32, u64)>,
    /// The receiver's row, and when it had it.
    pub received: Option<(u32, u64)>,
}

impl std::ops::Deref for Journey {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.message
    }
}

impl Journey {
    /// The flow of a call, or the port that the message comes from.
    #[must_use]
    pub fn flow(&self) -> u32 {
        if self.kind == "response" { self.target } else { self.source }
    }

    /// From when it was begun to be sent until it was received, in nanoseconds, if both are known.
    #[must_use]
    pub fn latency(&self) -> Option<u64> {
        self.sent?;
        Some(self.received?.1.saturating_sub(self.message.began))
    }
}

/// A whole trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The rows, in the order in which the file introduces them.
    pub tracks: Vec<Track>,
    /// Names that others quote.
    pub names: Vec<String>,
    /// Stretches, by when they began.
    pub slices: Vec<Slice>,
    /// Moments, by when they were.
    pub moments: Vec<Happened>,
    /// Values, by when they were.
    pub counted: Vec<Counted>,
    /// Messages, by when they were begun to be sent.
    pub messages: Vec<Journey>,
    /// Events that could not be kept.
    pub dropped: u64,
    /// Whether the file ends in the middle of a packet, or a sealed part of it is not as it was
    /// written: what is behind that is not read.
    pub cut: bool,
    /// The first and the last time in it.
    pub span: (u64, u64),
}

/// Why a file could not be read as a trace.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The system says so.
    Io(io::Error),
    /// At this byte there is no packet.
    NoPacket(u64),
    /// It has no packet at all.
    Empty,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(error) => error.fmt(f),
            ReadError::NoPacket(at) => write!(f, "byte {at} begins no packet of a trace"),
            ReadError::Empty => f.write_str("there is nothing in it"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        ReadError::Io(error)
    }
}

/// Reads a trace. What other programs wrote in the same format is read as far as it says the same.
///
/// # Errors
/// See [`ReadError`]. A file that ends within a packet, as when its writer was killed, is none:
/// see [`Trace::cut`].
pub fn read(mut from: impl BufRead) -> Result<Trace, ReadError> {
    let mut reader = Reader::default();
    let mut at = 0;
    packets(&mut reader, &mut from, &mut at, false)?;
    if at == 0 {
        return Err(ReadError::Empty);
    }
    Ok(reader.done())
}

/// Reads packets up to the end, or up to one that is not whole.
fn packets(
    reader: &mut Reader,
    from: &mut impl BufRead,
    at: &mut u64,
    sealed: bool,
) -> Result<(), ReadError> {
    let mut packet = Vec::new();
    loop {
        let begins = *at;
        let Some(tag) = byte(from, at)? else { return Ok(()) };
        if tag != PACKET {
            return Err(ReadError::NoPacket(begins));
        }
        let Some(len) = length(from, at)? else {
            reader.trace.cut = true;
            return Ok(());
        };
        if len > LONGEST {
            return Err(ReadError::NoPacket(begins));
        }
        if !bytes(from, at, len, &mut packet)? {
            reader.trace.cut = true;
            return Ok(());
        }
        let read = Packet::decode(&packet[..]).map_err(|_| ReadError::NoPacket(begins))?;
        match read.seal {
            Some(seal) if !sealed && seal.len() <= LONGEST => {
                let whole = bytes(from, at, seal.len(), &mut packet)?;
                if !whole || !seal.holds(&packet) {
                    reader.trace.cut = true;
                    return Ok(());
                }
                packets(reader, &mut &packet[..], &mut begins.clone(), true)?;
            }
            Some(_) => return Err(ReadError::NoPacket(begins)),
            None => reader.packet(read),
        }
    }
}

/// Reads that many bytes. False if there are fewer.
fn bytes(
    from: &mut impl BufRead,
    at: &mut u64,
    len: u64,
    to: &mut Vec<u8>,
) -> Result<bool, ReadError> {
    to.clear();
    from.by_ref().take(len).read_to_end(to)?;
    *at += to.len() as u64;
    Ok(to.len() as u64 == len)
}

fn byte(from: &mut impl BufRead, at: &mut u64) -> Result<Option<u8>, ReadError> {
    let mut byte = [0];
    let read = loop {
        match from.read(&mut byte) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    *at += read as u64;
    Ok((read == 1).then_some(byte[0]))
}

/// A length of up to ten bytes; none if the file ends within it.
fn length(from: &mut impl BufRead, at: &mut u64) -> Result<Option<u64>, ReadError> {
    let begins = *at;
    let mut length = 0;
    for shift in (0..64).step_by(7) {
        let Some(byte) = byte(from, at)? else { return Ok(None) };
        length |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(Some(length));
        }
    }
    Err(ReadError::NoPacket(begins))
}

#[derive(Default)]
struct Reader {
    trace: Trace,
    tracks: HashMap<u64, usize>,
    parents: Vec<Option<u64>>,
    names: HashMap<String, u32>,
    /// The stretches of each row that have not ended.
    open: HashMap<u32, Vec<usize>>,
    journeys: HashMap<u64, usize>,
}

impl Reader {
    fn packet(&mut self, packet: Packet) {
        if let Some(track) = packet.track {
            self.describe(track);
        }
        let (Some(at), Some(event)) = (packet.timestamp, packet.event) else { return };
        let (first, last) = &mut self.trace.span;
        if *last == 0 && *first == 0 {
            *first = at;
        }
        (*first, *last) = ((*first).min(at), (*last).max(at));
        self.event(at, event);
    }

    fn describe(&mut self, track: TrackDescriptor) {
        let Some(uuid) = track.uuid else { return };
        let place = self.track(uuid) as usize;
        let (kind, name) = match (track.process, track.thread, &track.counter) {
            (Some(process), ..) => (Kind::Group, process.name),
            (_, Some(thread), _) => (Kind::Thread, thread.name),
            (_, _, Some(_)) => (Kind::Counter, track.name),
            _ => (Kind::Part, track.name),
        };
        let unit = track.counter.and_then(|counter| counter.unit).unwrap_or_default();
        let name = name.unwrap_or_default();
        let parent = self.trace.tracks.get(place).and_then(|track| track.parent);
        self.parents[place] = track.parent;
        self.trace.tracks[place] = Track { row: Row(uuid), parent, kind, name, unit };
    }

    /// The place of a row, which may not have been described.
    fn track(&mut self, uuid: u64) -> u32 {
        let place = *self.tracks.entry(uuid).or_insert_with(|| {
            let name = format!("row {uuid}");
            let (row, kind) = (Row(uuid), Kind::Thread);
            self.parents.push(None);
            self.trace.tracks.push(Track { row, parent: None, kind, name, unit: String::new() });
            self.trace.tracks.len() - 1
        });
        place as u32
    }

    fn name(&mut self, name: String) -> u32 {
        if let Some(&place) = self.names.get(&name) {
            return place;
        }
        let place = self.trace.names.len() as u32;
        self.trace.names.push(name.clone());
        self.names.insert(name, place);
        place
    }

    fn event(&mut self, at: u64, event: Event) {
        let track = self.track(event.track.unwrap_or(0));
        let category = event.categories.first().map_or(Category::Span, |name| Category::of(name));
        match event.kind {
            Some(BEGIN) => {
                let name = self.name(event.name.unwrap_or_default());
                let open = self.open.entry(track).or_default();
                let depth = u16::try_from(open.len()).unwrap_or(u16::MAX);
                open.push(self.trace.slices.len());
                self.trace.slices.push(Slice {
                    track,
                    begin: at,
                    end: u64::MAX,
                    depth,
                    category,
                    name,
                });
            }
            Some(END) => {
                let ended = self.open.get_mut(&track).and_then(Vec::pop);
                if let Some(slice) = ended.and_then(|place| self.trace.slices.get_mut(place)) {
                    slice.end = at.max(slice.begin);
                }
            }
            Some(INSTANT) if category == Category::Message => self.passes(track, at, event),
            Some(INSTANT) => {
                let values = event.annotations.iter().map(said).collect();
                let dropped = event.annotations.iter().find_map(|a| a.number).unwrap_or(0);
                let name = event.name.unwrap_or_default();
                if category == Category::Trace && name == "dropped" {
                    self.trace.dropped = self.trace.dropped.saturating_add(dropped);
                }
                let name = self.name(name);
                self.trace.moments.push(Happened { track, at, category, name, values });
            }
            Some(COUNTER) => {
                let value = event.value.unwrap_or(0);
                self.trace.counted.push(Counted { track, at, value });
            }
            _ => {}
        }
    }

    fn passes(&mut self, track: u32, at: u64, event: Event) {
        let Some(&id) = event.flows.first().or(event.ending_flows.first()) else { return };
        let place = *self.journeys.entry(id).or_insert_with(|| {
            let message = Message { id, ..Message::default() };
            let journey = Journey { message, sent: None, taken: None, received: None };
            self.trace.messages.push(journey);
            self.trace.messages.len() - 1
        });
        let journey = &mut self.trace.messages[place];
        match event.name.as_deref() {
            Some("send") => {
                journey.sent = Some((track, at));
                journey.message = message(id, at, &event.annotations);
                journey.message.payload = event.payload;
            }
            Some("take") => journey.taken = Some((track, at)),
            _ => journey.received = Some((track, at)),
        }
    }

    fn done(mut self) -> Trace {
        let (_, last) = self.trace.span;
        for (track, parent) in self.trace.tracks.iter_mut().zip(&self.parents) {
            track.parent = parent.and_then(|uuid| self.tracks.get(&uuid).copied());
        }
        for slice in &mut self.trace.slices {
            slice.end = slice.end.min(last);
        }
        self.trace.slices.sort_by_key(|slice| (slice.begin, slice.depth));
        self.trace.moments.sort_by_key(|moment| moment.at);
        self.trace.counted.sort_by_key(|counted| counted.at);
        let when = |j: &Journey| match (j.sent, j.taken, j.received) {
            (Some(_), ..) => j.message.began,
            (_, Some((_, at)), _) | (.., Some((_, at))) => at,
            _ => 0,
        };
        self.trace.messages.sort_by_key(when);
        self.trace
    }
}

fn said(annotation: &Annotation) -> (String, String) {
    let number = annotation.number.map(|number| number.to_string());
    let value = annotation.text.clone().or(number).unwrap_or_default();
    (annotation.name.clone().unwrap_or_default(), value)
}

fn message(id: u64, at: u64, annotations: &[Annotation]) -> Message {
    let mut message = Message { id, began: at, ..Message::default() };
    for annotation in annotations {
        let number = annotation.number.unwrap_or(0);
        let text = || annotation.text.clone().unwrap_or_default();
        match annotation.name.as_deref() {
            Some("began") => message.began = number.min(at),
            Some("number") => message.number = number as u32,
            Some("bytes") => message.bytes = number as u32,
            Some("kind") => message.kind = text(),
            Some("peer") => message.peer = text(),
            Some("source") => message.source = number as u32,
            Some("target") => message.target = number as u32,
            Some("priority") => message.priority = number as u8,
            Some("tag") => message.tag = number as u16,
            _ => {}
        }
    }
    message
}
